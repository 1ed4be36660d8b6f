"""Lemma boundlossbias: (x_t - x)·l <= E_t (x_t - x)·l~_t + n ||x_t - x||_{x_t} E_t |z_hat·eps|."""

import numpy as np
import pytest
from enumeration import adversaries, bodies, interior_point, moves, sampled

from aggbandit import LogBarrier, theory

BODIES = list(bodies(np.random.default_rng(0)))


def sides(rng, body, vertices, loss_bound, depth, who, size, baseline=0.0):
    """The lemma's left side less E_t (x_t - x)·l~, and its last term, for a random x; z_hat = z."""
    barrier = LogBarrier(body)
    ellipsoid = barrier.dikin(interior_point(rng, body, vertices, depth))
    x_t, n = ellipsoid.center, body.dimension
    x = interior_point(rng, body, vertices, 0.05)
    loss = rng.random(body.ambient_dimension)
    epsilon = size * rng.random(body.ambient_dimension)
    ys = sampled(rng, ellipsoid)
    zs = moves(ellipsoid, loss, epsilon, ys, adversaries(x, vertices)[who], loss_bound)
    directions = np.array([ellipsoid.apply(y - x_t) for y in ys])
    estimate = (n * (zs @ loss - baseline)[:, None] * directions).mean(axis=0)
    price = theory.bias_bound(n, ellipsoid.norm(x_t - x), np.abs(zs @ epsilon).mean())
    return (x_t - x) @ (loss - estimate), price


@pytest.mark.parametrize("who", ["nobody", "worst vertex", "freezing", "against the estimator"])
@pytest.mark.parametrize("name", BODIES)
def test_bias_is_paid_for(name, who):
    rng = np.random.default_rng(8)
    body, vertices, loss_bound = bodies(rng)[name]
    shares = []
    for depth in (1.0, 0.3, 0.03):
        for size in (0.01, 0.3, 2.0):
            for baseline in (0.0, 0.5):
                gap, price = sides(rng, body, vertices, loss_bound, depth, who, size, baseline)
                assert gap <= price + 1e-8 * (1 + price)
                shares.append(gap / price)
    if who == "nobody":  # then the estimate is unbiased
        assert np.abs(shares).max() < 1e-6


def test_on_the_interval_the_price_can_be_paid_in_full():
    """n = 1, l = (0, 1) against (1, 0): hiding costs what the lemma says, up to a factor two and a little."""
    rng = np.random.default_rng(9)
    body, vertices, loss_bound = bodies(rng)["two arms"]
    barrier = LogBarrier(body)
    ellipsoid = barrier.dikin(np.array([0.01, 0.99]))
    x_t, x, loss, epsilon = ellipsoid.center, np.array([0.9, 0.1]), np.array([0.0, 1.0]), np.full(2, 0.01)
    ys = sampled(rng, ellipsoid)
    zs = moves(ellipsoid, loss, epsilon, ys, adversaries(x, vertices)["freezing"], loss_bound)
    directions = np.array([ellipsoid.apply(y - x_t) for y in ys])
    estimate = ((zs @ loss)[:, None] * directions).mean(axis=0)
    gap = (x_t - x) @ (loss - estimate)
    price = theory.bias_bound(1, ellipsoid.norm(x_t - x), 0.01)
    assert 0.45 * price < gap <= price


def test_needs_z_hat_to_have_mean_z_given_y_too():
    """With E[z_hat | z] = z alone z_hat may correlate with y, and the estimate may say the opposite."""
    body, _, _ = bodies(np.random.default_rng(0))["two arms"]
    ellipsoid = LogBarrier(body).dikin(np.array([0.5, 0.5]))
    x_t, x, loss = ellipsoid.center, np.array([0.1, 0.9]), np.array([1.0, 0.0])
    ys = x_t + np.array([1.0, -1.0])[:, None] * ellipsoid.axes()
    distance = np.abs(ys[0] - x_t).sum()
    # The budget eps = (distance, distance) is just enough to freeze: z = x_t for both y.
    z_hats = np.eye(2)[np.argmin(ys, axis=1)]  # the arm y leans away from: mean x_t = z, but not given y
    np.testing.assert_allclose(z_hats.mean(axis=0), x_t)
    estimate = np.mean(
        [(loss @ z) * ellipsoid.apply(y - x_t) for y, z in zip(ys, z_hats, strict=True)], axis=0
    )
    price = theory.bias_bound(1, ellipsoid.norm(x_t - x), distance)
    assert (x_t - x) @ (loss - estimate) > price + 0.1


@pytest.mark.parametrize("seed", range(20))
def test_key_inequality(seed):
    """The cancellation: what hiding costs is at most what the rate pays back, plus 2 n |z_hat·eps|."""
    rng = np.random.default_rng(seed)
    name = BODIES[seed % len(BODIES)]
    body, vertices, _ = bodies(rng)[name]
    barrier, n = LogBarrier(body), body.dimension
    x_t, u = interior_point(rng, body, vertices, 0.1), interior_point(rng, body, vertices, 0.01)
    e, previous = rng.uniform(0, 0.1), rng.uniform(0.01, 1)
    rate = 1 / (1 / previous - 2 * n * e) if 2 * n * e * previous < 1 else np.inf
    if np.isfinite(rate):
        credit = theory.rate_credit(previous, rate, barrier.bregman(u, x_t))
        assert theory.bias_bound(n, barrier.dikin(x_t).norm(u - x_t), e) <= credit + 2 * n * e + 1e-9
