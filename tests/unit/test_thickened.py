"""Option 2: a thickened set on which Algorithm 2 runs unchanged."""

import numpy as np
import pytest
import scipy.optimize

import aggbandit as ab

WORLD = ab.random_mdp(2, 2, 2, np.random.default_rng(3))
COUNTS = np.random.default_rng(4).multinomial(np.full((2, 2, 2), 400), WORLD.transitions).astype(np.int64)
EPSILON = ab.TightConfidence().epsilon(COUNTS, 1000)
BODY = ab.OccupancySet(ab.empirical_dynamics(COUNTS), ab.TightConfidence().radius(COUNTS, 1000))


@pytest.fixture(params=[0.1, 1e-3, 1e-6])
def thick(request):
    return ab.geometry.ThickenedSet(BODY, request.param)


def test_it_is_full_dimensional_and_contains_the_set(thick, rng):
    body = thick.polytope
    assert body.dimension == body.ambient_dimension == 12
    barrier = ab.OccupancyBarrier(BODY)
    center = barrier.analytic_center()
    for _ in range(20):
        y = barrier.dikin(center).sample(rng)
        assert body.contains(thick.vector(y))
        np.testing.assert_array_equal(thick.table(thick.vector(y)), y)
    # The inequalities are those of S_i: leave its radius, or an equation by more than delta, and be out.
    off = center.copy()
    off[0, 0, 0] = center[0, 0, 0].sum() * np.array([1.0, 0.0])
    assert not body.contains(thick.vector(off))
    assert not body.contains(thick.vector(center * (1 + 1.1 * thick.delta)))
    assert body.contains(thick.vector(center * (1 + 0.9 * thick.delta)))


def test_algorithm_2_runs_on_it_and_the_game_keeps_its_rules(thick, rng):
    """||y - z||_1 <= min(eps·y, eps·z) in every round, with the true occupancy measure z of the policy of
    y."""
    learner = ab.IncreasingRateOMD(ab.LogBarrier(thick.polytope), rounds=1000, loss_bound=2.0, eta0=0.02)
    assert learner.dimension == 12
    epsilon = thick.epsilon(EPSILON)
    loss = rng.random(WORLD.shape)
    farthest = 0.0
    for _ in range(150):
        y = learner.predict(rng)
        played = thick.project(y)
        BODY.check(played, tolerance=1e-9)
        farthest = max(farthest, np.abs(thick.table(y) - played).sum())
        policy = ab.policy_of(thick.table(y))
        np.testing.assert_allclose(policy, ab.policy_of(played), atol=1e-6)
        z = thick.vector(WORLD.occupancy(policy))
        assert np.abs(y - z).sum() <= min(epsilon @ y, epsilon @ z)
        trajectory = WORLD.rollout(policy, rng)
        learner.update(trajectory.total(loss), thick.vector(trajectory.indicator()), epsilon)
    assert 0 < farthest <= thick.displacement


def test_the_displacement_is_bounded_and_not_by_much(rng):
    """At vertices of the thickened set in random directions: within S delta H (H + 1)/2, and up to a third of
    it."""
    thick = ab.geometry.ThickenedSet(BODY, 0.01)
    largest = 0.0
    for _ in range(60):
        y = np.maximum(thick.polytope.minimize(rng.standard_normal(12)), 0)
        largest = max(largest, np.abs(thick.table(y) - thick.project(y)).sum())
    assert thick.displacement == pytest.approx(2 * 0.01 * 3)
    assert thick.displacement / 3 < largest <= thick.displacement + 1e-9


def test_it_costs_dimension(thick):
    """The slice has 9 dimensions, the thickened set 12; its barrier has two terms an equation more."""
    assert ab.OccupancyBarrier(BODY).dimension == 9
    assert ab.LogBarrier(thick.polytope).theta == 12 + 6 * 2 + 2 * (2 + 2)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="delta is 0; it must lie strictly between 0 and 1"):
        ab.geometry.ThickenedSet(BODY, 0)
    thick = ab.geometry.ThickenedSet(BODY, 0.1)
    with pytest.raises(ValueError, match=r"table has shape \(2, 2\)"):
        thick.vector(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"vector has shape \(3,\)"):
        thick.table(np.ones(3))
    with pytest.raises(ValueError, match=r"epsilon has shape \(2, 2\)"):
        thick.epsilon(np.ones((2, 2)))


def test_the_largest_measure_is_a_little_more_than_the_horizon():
    """max ||y||_1 is H(1 + delta), by a linear program: the rows x(h) = 1 are among those loosened."""
    body = ab.geometry.ThickenedSet(BODY, 0.01).polytope
    largest = scipy.optimize.linprog(
        -np.ones(body.ambient_dimension), A_ub=body.A, b_ub=body.b, bounds=(None, None)
    )
    np.testing.assert_allclose(-largest.fun, 2 * 1.01, atol=1e-9)
