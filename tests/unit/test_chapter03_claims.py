"""What chapter 3 says beside its theorems: the pull in a shadow, the sharp line, where the edge is."""

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory

FIELD = ab.Polytope([[-1, 0], [0, -1], [1, 3], [-1, 2]], [0, 0, 6, 2])
SHARP = np.log(2) - 0.5


def pulled(x, center, gamma):
    return (1 - gamma) * x + gamma * center


@pytest.mark.parametrize("radius", [0.1, 0.4])
def test_the_pull_holds_for_the_barrier_of_a_city_that_is_nearly_known(radius, rng):
    mdp = ab.night_driver().mdp
    barrier = ab.OccupancyBarrier(ab.OccupancySet(mdp.transitions, np.full((3, 3, 2), radius)))
    center = barrier.analytic_center()
    for policy in list(ab.deterministic_policies(mdp))[::97]:
        # The rows at the edge of what is plausible: as much mass as may be, moved to one state.
        rows = (1 - radius / 2) * mdp.transitions
        rows[..., rng.integers(3)] += radius / 2
        corner = ab.FiniteHorizonMDP(rows, mdp.initial_state).occupancy(policy)
        for gamma in (0.5, 1e-2, 1e-4):
            divergence = barrier.bregman(pulled(corner, center, gamma), center)
            assert 0 < divergence <= theory.bregman_from_center(barrier.theta, gamma)


def shadow_barrier(lifted, x):
    """The least value of the log barrier of {(x, t) : A (x, t) <= b} over t, and where it is attained."""
    k, upright = len(x), np.abs(lifted.A[:, len(x) :]).sum(axis=1) == 0  # walls that no t comes nearer
    left = lifted.b - lifted.A[:, :k] @ x
    fiber = ab.LogBarrier(ab.Polytope(lifted.A[~upright, k:], left[~upright]))
    t = fiber.analytic_center()
    return fiber.value(t) - np.log(left[upright]).sum(), t


@pytest.mark.parametrize("gamma", [0.5, 0.05, 1e-3])
def test_the_pull_in_the_lifted_barrier_step_by_step(gamma, rng):
    A = np.vstack([rng.standard_normal((9, 4)), -np.ones((1, 4))])
    A[:9] /= np.linalg.norm(A[:9], axis=1, keepdims=True)
    A = np.vstack([A, np.eye(4), -np.eye(4)])
    lifted = ab.Polytope(A, np.full(len(A), 1.0))
    F = ab.LogBarrier(lifted)
    least = F.analytic_center()
    x1, t1 = least[:2], least[2:]
    value, t = shadow_barrier(lifted, x1)
    np.testing.assert_allclose(t, t1, atol=1e-6)  # the center lies over the shadow's center
    for _ in range(10):
        corner = lifted.minimize(rng.standard_normal(4))
        y = pulled(corner[:2], x1, gamma)
        below = shadow_barrier(lifted, y)[0]
        between = F.value(pulled(corner, least, gamma))
        above = F.value(least) + theory.bregman_from_center(F.theta, gamma)
        assert below <= between + 1e-9
        assert between <= above
        assert below - value <= theory.bregman_from_center(F.theta, gamma)


def test_the_line_may_be_a_fifth_instead_of_one_and_no_less(rng):
    barrier, corners = ab.LogBarrier(FIELD), FIELD.vertices()
    center = barrier.analytic_center()
    for _ in range(300):
        x, y = (pulled(p, center, 1e-3) for p in rng.dirichlet(np.full(4, 0.2), 2) @ corners)
        assert barrier.bregman(y, x) >= barrier.dikin(x).norm(y - x) / 2 - SHARP
    reached = []
    for height in (1e-2, 1e-4):
        x, y = np.array([2.5, height]), np.array([2.5, 2 * height])
        reached.append(barrier.dikin(x).norm(y - x) / 2 - barrier.bregman(y, x))
    assert reached[0] < reached[1] < SHARP
    assert reached[1] == pytest.approx(SHARP, abs=1e-6)
    assert 2 * SHARP < 0.39


@pytest.mark.parametrize(("goal", "ahead"), [((6.0, 0.0), np.sqrt(2)), ((1.2, 1.6), np.sqrt(2)), (None, 1.0)])
def test_the_edge_is_at_one_at_a_wall_and_at_root_two_in_a_corner(goal, ahead):
    barrier = ab.LogBarrier(FIELD)
    center = barrier.analytic_center()
    goal = np.array([center[0], 0.0] if goal is None else goal)
    distances = []
    for left in (0.2, 1e-2, 1e-5):
        x = pulled(goal, center, left)
        distances.append(barrier.dikin(x).norm(goal - x))
        assert distances[-1] > 1
    assert distances[-1] == pytest.approx(ahead, abs=1e-3)


def test_without_an_infinite_edge_the_ellipsoid_leaves():
    """-log x on (1/2, 1) meets both inequalities with parameter one; its ball at 0.6 is [0, 1.2]."""
    for x in np.linspace(0.51, 0.99, 9):
        first, second, third = -1 / x, 1 / x**2, -2 / x**3
        assert abs(third) <= 2 * second**1.5 * (1 + 1e-12)
        assert abs(first) <= second**0.5 * (1 + 1e-12)
    reach = 1 / np.sqrt(1 / 0.6**2)
    assert (0.6 - reach, 0.6 + reach) == pytest.approx((0, 1.2))
