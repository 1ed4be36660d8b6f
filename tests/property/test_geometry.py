"""Barriers on random polytopes, thin ones too: nothing leaves the set, nothing is NaN."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aggbandit as ab

ASPECTS = st.floats(0, 6).map(lambda exponent: 10.0**exponent)


@st.composite
def polytopes(draw):
    """A random polytope of dimension n, squeezed by up to 1e6 each way, turned, moved, perhaps sliced."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 4))
    normals = rng.normal(size=(n + draw(st.integers(0, 4)), n))
    normals = np.vstack([normals, -normals.sum(axis=0)])
    walls = rng.uniform(0.5, 1.5, len(normals))
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    squeeze = turn / np.array(draw(st.lists(ASPECTS, min_size=n, max_size=n)))
    shift = rng.normal(size=n) * draw(st.sampled_from([0.0, 1.0]))
    A = normals @ np.linalg.inv(squeeze)
    b = walls + A @ shift
    if not draw(st.booleans()):
        return ab.Polytope(A, b)
    # the same set as a slice of a space with one dimension more
    C = np.append(rng.normal(size=n), 1.0)[None]
    return ab.Polytope(np.column_stack([A, np.zeros(len(A))]), b, C, [0.3])


@given(polytopes(), st.integers(0, 2**32 - 1))
def test_the_ellipsoid_at_any_point_is_sound(body, seed):
    rng = np.random.default_rng(seed)
    barrier = ab.LogBarrier(body)
    center = barrier.analytic_center()
    E = barrier.dikin(center)
    assert E.dual_norm(barrier.gradient(center)) < 1e-6
    x = center + rng.uniform(0.5, 0.999) * (E.sample(rng) - center)
    E = barrier.dikin(x)
    y = E.sample(rng)
    assert (body.slacks(y) > 0).all()
    assert E.contains(y)
    assert E.norm(y - x) == pytest.approx(1, abs=1e-6)
    gradient = barrier.gradient(x)
    assert E.dual_norm(gradient) ** 2 <= barrier.theta * (1 + 1e-9)
    step = E.newton_step(gradient)
    assert E.norm(step) == pytest.approx(E.dual_norm(gradient), rel=1e-6, abs=1e-9)
    assert gradient @ step <= 0
    # opposite corners of the ellipsoid: E[y - x] = 0 is a symmetry
    assert (body.slacks(2 * x - y) > 0).all()


@given(polytopes(), st.integers(0, 2**32 - 1), st.floats(0.01, 50))
def test_iterates_stay_strictly_inside(body, seed, size):
    """Steps of any size, most of them far beyond what the lemma allows."""
    rng = np.random.default_rng(seed)
    barrier = ab.LogBarrier(body)
    E = barrier.dikin(barrier.analytic_center())
    losses = np.array([E.apply(E.sample(rng) - E.center) for _ in range(30)])
    run = ab.mirror_descent(barrier, losses, size * rng.uniform(0.1, 1, 30))
    assert np.isfinite(run.iterates).all()
    for x in run.iterates:
        body.require_interior("x", x)
    assert (run.decrements < 1e-4).all()


@given(polytopes(), st.integers(0, 2**32 - 1))
def test_minimizer_and_mirror_step_agree_wherever_they_start(body, seed):
    rng = np.random.default_rng(seed)
    barrier = ab.LogBarrier(body)
    center = barrier.analytic_center()
    E = barrier.dikin(center)
    linear = 3 * E.apply(E.sample(rng) - center)
    far = barrier.minimize(linear, E.sample(rng))
    assert far.dikin.norm(far.x - barrier.minimize(linear, center).x) < 1e-5
    assert far.dikin.norm(far.x - barrier.mirror_step(center, linear).x) < 1e-5


def test_ten_thousand_rounds_on_a_thin_triangle():
    """Estimates from one number a round drive the point to a wall and back; every iterate stays inside."""
    rng = np.random.default_rng(2)
    squeeze = np.array([[0.6, -0.8e-6], [0.8, 0.6e-6]])
    round_ = ab.regular_polygon(3)
    body = ab.Polytope(round_.A @ np.linalg.inv(squeeze), round_.b)
    barrier = ab.LogBarrier(body)
    x = barrier.analytic_center()
    E, total, loss = barrier.dikin(x), np.zeros(2), np.linalg.solve(squeeze.T, [0.3, 0.4])
    least, most = np.inf, 0.0
    for t in range(10_000):
        sign = 1.0 if (t // 2500) % 2 == 0 else -1.0
        y = E.sample(rng)
        total = total + 0.1 * body.dimension * (sign * (loss @ y)) * E.apply(y - x)
        step = barrier.minimize(total, x)
        x, E = step.x, step.dikin
        least, most = min(least, E.slacks.min()), max(most, step.decrement)
    assert 0 < least < 0.1 * body.slacks(barrier.analytic_center()).min()  # it did go to a wall
    assert np.isfinite(x).all()
    assert np.isfinite(total).all()
    assert most < 1e-4
