"""The one-point estimator of Algorithm 2: unbiased along the slice, for every baseline known beforehand."""

import numpy as np
import pytest
from enumeration import bodies, interior_point, sampled

from aggbandit import IncreasingRateOMD, LogBarrier

BODIES = list(bodies(np.random.default_rng(0)))


def estimates(ellipsoid, loss, ys, n, baseline):
    return np.array([n * (loss @ y - baseline) * ellipsoid.apply(y - ellipsoid.center) for y in ys])


@pytest.mark.parametrize("baseline", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("depth", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("name", BODIES)
def test_unbiased_along_the_slice(name, depth, baseline):
    rng = np.random.default_rng(4)
    body, vertices, _ = bodies(rng)[name]
    ellipsoid = LogBarrier(body).dikin(interior_point(rng, body, vertices, depth))
    loss = rng.uniform(-1, 1, size=body.ambient_dimension)
    mean = estimates(ellipsoid, loss, sampled(rng, ellipsoid), body.dimension, baseline).mean(axis=0)
    scale = max(1.0, float(np.abs(ellipsoid.apply(sampled(rng, ellipsoid)[0] - ellipsoid.center)).max()))
    np.testing.assert_allclose(body.basis.T @ mean, body.basis.T @ loss, atol=1e-9 * scale)


def test_off_the_slice_it_says_nothing():
    """Along a row of C the estimate need not agree with the loss, and nothing depends on it."""
    rng = np.random.default_rng(5)
    body, vertices, _ = bodies(rng)["four arms"]
    ellipsoid = LogBarrier(body).dikin(interior_point(rng, body, vertices, 0.3))
    loss = np.ones(4)
    mean = estimates(ellipsoid, loss, sampled(rng, ellipsoid), body.dimension, 0.0).mean(axis=0)
    np.testing.assert_allclose(mean, 0, atol=1e-9)


@pytest.mark.parametrize("name", BODIES)
def test_the_learner_uses_it(name):
    rng = np.random.default_rng(6)
    body, _, loss_bound = bodies(rng)[name]
    barrier = LogBarrier(body)
    learner = IncreasingRateOMD(barrier, 100, loss_bound, baseline=0.25 * loss_bound)
    for _ in range(20):
        y = learner.predict(rng)
        value = rng.uniform(0, loss_bound)
        record = learner.update(value, y, np.zeros(body.ambient_dimension))
        hessian = barrier.hessian(record.x)
        expected = barrier.dimension * (value - learner.baseline) * hessian @ (y - record.x)
        np.testing.assert_allclose(record.estimate, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", BODIES)
def test_the_sample_has_the_moments_the_estimator_needs(name):
    """Monte Carlo, within four standard errors: E[y - x] = 0 and n E[(y-x)(y-x)'] H = I along the slice."""
    rng = np.random.default_rng(7)
    body, vertices, _ = bodies(rng)[name]
    barrier = LogBarrier(body)
    x = interior_point(rng, body, vertices, 0.3)
    ellipsoid = barrier.dikin(x)
    v = np.array([ellipsoid.sample(rng) - x for _ in range(4000)]) @ body.basis
    reduced = body.basis.T @ barrier.hessian(x) @ body.basis
    root = np.linalg.cholesky(reduced)
    u = v @ root  # uniform on the unit sphere, if the sample is right
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, rtol=1e-9)
    n = body.dimension
    assert np.all(np.abs(u.mean(axis=0)) <= 4 * np.sqrt(1 / n / len(u)))
    second = np.einsum("ki,kj->kij", u, u)
    errors = second.std(axis=0) / np.sqrt(len(u))
    assert np.all(np.abs(second.mean(axis=0) - np.eye(n) / n) <= 4 * errors + 1e-12)
