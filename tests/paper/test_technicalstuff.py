"""Lemma technicalstuff: y_t is in S, ||H(y - x)||* = 1, and ||l~_t||* = n |L - b| <= n H, on the slice."""

import numpy as np
import pytest
from enumeration import bodies, interior_point, sampled

from aggbandit import IncreasingRateOMD, LogBarrier, theory

BODIES = list(bodies(np.random.default_rng(0)))


@pytest.mark.parametrize("depth", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("name", BODIES)
def test_the_sample_and_its_direction(name, depth):
    rng = np.random.default_rng(1)
    body, vertices, _ = bodies(rng)[name]
    ellipsoid = LogBarrier(body).dikin(interior_point(rng, body, vertices, depth))
    for y in sampled(rng, ellipsoid):
        assert body.contains(y)
        assert body.slacks(y).min() > 0
        assert ellipsoid.norm(y - ellipsoid.center) == pytest.approx(1, abs=1e-9)
        assert ellipsoid.dual_norm(ellipsoid.apply(y - ellipsoid.center)) == pytest.approx(1, rel=1e-7)


@pytest.mark.parametrize("baseline_share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", BODIES)
def test_the_estimate_of_the_learner(name, baseline_share):
    rng = np.random.default_rng(2)
    body, _, loss_bound = bodies(rng)[name]
    barrier, baseline = LogBarrier(body), baseline_share * loss_bound
    learner = IncreasingRateOMD(barrier, 100, loss_bound, baseline=baseline)
    for _ in range(50):
        y = learner.predict(rng)
        assert body.contains(y)
        value = rng.uniform(0, loss_bound)
        record = learner.update(value, y, np.zeros(body.ambient_dimension))
        dual_norm = barrier.dikin(record.x).dual_norm(record.estimate)
        assert dual_norm == pytest.approx(barrier.dimension * abs(value - baseline), rel=1e-7)
        assert dual_norm <= barrier.dimension * theory.loss_range(loss_bound, baseline) * (1 + 1e-9)
        assert record.eta * dual_norm <= 0.5 * (1 + 1e-9)


def test_the_full_dual_norm_is_the_one_on_the_slice():
    """l~ = n L H(y - x) has dual norm n |L| in the whole space too, not only along the slice."""
    rng = np.random.default_rng(3)
    body, vertices, _ = bodies(rng)["four arms"]
    barrier = LogBarrier(body)
    x = interior_point(rng, body, vertices, 0.2)
    ellipsoid, hessian = barrier.dikin(x), barrier.hessian(x)
    for y in sampled(rng, ellipsoid):
        direction = ellipsoid.apply(y - x)
        assert direction @ np.linalg.solve(hessian, direction) == pytest.approx(1, rel=1e-9)
