"""FTRL with the Q - V estimate: estimates by enumeration, steps by other solvers, bounds, state."""

import signal

import cvxpy as cp
import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory
from aggbandit.learners import FTRL, Regularizer, q_function, q_minus_v_estimate


@pytest.fixture
def world():
    rng = np.random.default_rng(7)
    mdp = ab.random_mdp(3, 2, 3, rng)
    return mdp, rng.random(mdp.shape)


def played(learner, mdp, losses, seed=0):
    return ab.simulate(learner, mdp, losses, np.random.default_rng(seed), engine="reference")


def moments(mdp, policy, loss):
    x = mdp.occupancy(policy).sum(axis=3)
    first, second = np.zeros(x.shape), np.zeros(x.shape)
    for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
        estimate = q_minus_v_estimate(trajectory, trajectory.total(loss), x)
        first += chance * estimate
        second += chance * estimate**2
    return x, first, second


def test_the_mean_of_the_estimate_is_q_minus_v(world):
    mdp, loss = world
    policy = np.random.default_rng(5).dirichlet(np.ones(2), size=(3, 3))
    x, first, _ = moments(mdp, policy, loss)
    q = q_function(mdp, policy, loss)
    advantage = q - (policy * q).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(first[x > 0], advantage[x > 0], atol=1e-12)


def test_the_second_moment_is_at_most_h_squared_over_the_chance(world):
    """`H² (1 - pi)/q`, reached when every step costs one."""
    mdp, loss = world
    policy = np.random.default_rng(5).dirichlet(np.ones(2), size=(3, 3))
    x, _, second = moments(mdp, policy, loss)
    most = 9 * (1 - policy[x > 0]) / x[x > 0]
    assert (second[x > 0] < most).all()
    _, _, second = moments(mdp, policy, np.ones(mdp.shape))
    np.testing.assert_allclose(second[x > 0], most, rtol=1e-12)


def test_the_mean_against_another_policy_is_the_difference_of_values(world):
    mdp, loss = world
    rng = np.random.default_rng(6)
    policy, other = rng.dirichlet(np.ones(2), size=(2, 3, 3))
    _, first, _ = moments(mdp, policy, loss)
    difference = mdp.expected_loss(other, loss) - mdp.expected_loss(policy, loss)
    assert (first * mdp.occupancy(other).sum(axis=3)).sum() == pytest.approx(difference, abs=1e-12)


def test_the_norms_of_the_proof(world):
    """`sum q² l^²` is at most 2 H³, its mean `H³ (1 - 1/A)`; that of `sum q^(3/2) l^²` `H³ sqrt(SA)`."""
    mdp, _ = world
    loss = np.ones(mdp.shape)
    for policy in np.random.default_rng(8).dirichlet([0.3, 0.3], size=(20, 3, 3)):
        x = mdp.occupancy(policy).sum(axis=3)
        squares, halves = 0.0, 0.0
        for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
            estimate = q_minus_v_estimate(trajectory, trajectory.total(loss), x)
            assert (x**2 * estimate**2).sum() <= 2 * 27 + 1e-9
            squares += chance * (x**2 * estimate**2).sum()
            halves += chance * (x**1.5 * estimate**2).sum()
        assert squares <= 27 / 2 + 1e-9
        assert halves <= 27 * np.sqrt(6)


def table(coordinates, point):
    x = np.zeros(coordinates.mdp.shape[:3])
    x[tuple(coordinates.cells.T)] = point
    return x


def after_some(mdp, regularizer, episodes, loss):
    learner = FTRL(mdp, regularizer)
    played(learner, mdp, ab.losses.fixed(loss, episodes))
    return learner


def test_with_a_log_barrier_it_is_the_barrier_of_the_polytope(world):
    mdp, loss = world
    learner = after_some(mdp, Regularizer(root=0.0, log=3.0), 30, loss)
    coordinates = ab.occupancy_coordinates(mdp)
    barrier = ab.LogBarrier(ab.known_occupancy_polytope(mdp))
    linear = learner.layers.widen(learner.sum_of_estimates)[tuple(coordinates.cells.T)] / 3
    other = table(coordinates, barrier.minimize(linear, barrier.analytic_center()).x)
    np.testing.assert_allclose(learner.occupancy, other, rtol=1e-6)


@pytest.mark.parametrize("regularizer", [Regularizer(8.0, 1.0), Regularizer(30.0, 0.0)], ids=str)
@pytest.mark.parametrize("kind", ["random", "grid"])
def test_with_roots_it_is_the_minimizer_of_cvxpy(world, kind, regularizer):
    mdp = world[0] if kind == "random" else ab.layered_grid(3, 3).mdp
    loss = np.random.default_rng(1).random(mdp.shape)
    learner = after_some(mdp, regularizer, 30, loss)
    ways, coordinates = ab.known_occupancy_polytope(mdp), ab.occupancy_coordinates(mdp)
    linear = learner.layers.widen(learner.sum_of_estimates)[tuple(coordinates.cells.T)]
    q = cp.Variable(len(linear))
    objective = linear @ q - regularizer.root * cp.sum(cp.sqrt(q)) - regularizer.log * cp.sum(cp.log(q))
    cp.Problem(cp.Minimize(objective), [ways.C @ q == ways.d]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(learner.occupancy, table(coordinates, q.value), atol=5e-5)


def test_its_point_is_the_occupancy_measure_of_its_policy(world):
    mdp, loss = world
    for regularizer in (
        Regularizer.log_barrier(3, 2, 3, 50),
        Regularizer.tsallis(3, 50),
        Regularizer(3.0, 0.0),
    ):
        learner = after_some(mdp, regularizer, 50, loss)
        x = mdp.occupancy(learner.policy(np.random.default_rng(0))).sum(axis=3)
        np.testing.assert_allclose(learner.occupancy, x, atol=1e-10)


def test_the_regret_is_below_the_bounds_where_they_say_something():
    """H = S = 1: both bounds are below K/2, what uniform play loses."""
    episodes = 1_000
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 2, 1)))
    loss = np.array([[[0.0], [1.0]]])[None]
    for regularizer, bound in (
        (Regularizer.log_barrier(1, 2, 1, episodes), theory.q_minus_v_bound(1, 2, 1, episodes)),
        (Regularizer.tsallis(1, episodes), theory.q_minus_v_tsallis_bound(1, 2, 1, episodes)),
    ):
        assert bound < episodes / 2
        history = played(FTRL(mdp, regularizer), mdp, ab.losses.fixed(loss, episodes))
        assert history.expected_loss.sum() <= bound


def test_it_learns_from_totals(world):
    mdp, loss = world
    history = played(FTRL(mdp, Regularizer(5.0, 2.0)), mdp, ab.losses.fixed(loss, 400))
    best, uniform = history.best_value / 400, mdp.expected_loss(ab.uniform_policy(mdp), loss)
    assert history.expected_loss[-100:].mean() < best + 0.6 * (uniform - best)


def test_it_sees_totals_and_nothing_else(world):
    mdp, loss = world
    learner = FTRL(mdp, Regularizer(1.0, 1.0))
    trajectory = mdp.rollout(ab.uniform_policy(mdp), np.random.default_rng(0))
    before = learner.snapshot()
    for kind in (ab.FullFeedback, ab.StepFeedback):
        with pytest.raises(TypeError, match="AggregateFeedback"):
            learner.observe(kind.observe(trajectory, loss))
    with pytest.raises(ValueError, match="the total is"):
        learner.observe(ab.AggregateFeedback(trajectory, 3.5))
    with pytest.raises(ValueError, match="the world has shape"):
        learner.check_run(ab.random_mdp(4, 2, 3, np.random.default_rng(0)), 1)
    assert all((learner.snapshot()[name] == array).all() for name, array in before.items())


@pytest.mark.parametrize(("root", "log"), [(-1.0, 1.0), (1.0, -1.0), (0.0, 0.0), (np.nan, 1.0)])
def test_weights_out_of_range(root, log):
    with pytest.raises(ValueError, match=r"root|log"):
        Regularizer(root, log)


def test_interrupted_and_resumed_it_is_the_same(world):
    mdp, loss = world
    losses, regularizer = ab.losses.fixed(loss, 40), Regularizer(1.0, 1.0)

    class Pressing(FTRL):
        def observe(self, feedback):
            if self.sum_of_estimates.any() and not hasattr(self, "pressed"):
                self.pressed = True
                signal.raise_signal(signal.SIGINT)
            return super().observe(feedback)

    learner = Pressing(mdp, regularizer)
    part = played(learner, mdp, losses)
    assert not part.complete
    whole = ab.resume(part, FTRL(mdp, regularizer), mdp, losses)
    straight = played(FTRL(mdp, regularizer), mdp, losses)
    np.testing.assert_array_equal(whole.expected_loss, straight.expected_loss)
    state = learner.snapshot()
    with pytest.raises(ValueError, match="the state is of a learner with"):
        FTRL(mdp, Regularizer(2.0, 1.0)).restore(state)
    with pytest.raises(ValueError, match="the occupancy of the state"):
        learner.restore(state | {"occupancy": state["occupancy"] * 0.9})


def test_the_bounds_are_the_sums_of_their_parts():
    """And least at the rates that they are stated with."""
    eta = theory.q_minus_v_eta(3, 2, 3, 10_000)
    best = theory.q_minus_v_bound(3, 2, 3, 10_000)
    assert best == pytest.approx(2 * 9 * np.sqrt(3 * 1 * 10_000 * np.log(30_000)) + 1)
    assert min(theory.q_minus_v_bound(3, 2, 3, 10_000, eta * factor) for factor in (0.9, 1.1)) > best
    root, log = theory.q_minus_v_tsallis_weights(3, 10_000)
    roots = 3 * np.sqrt(6)
    parts = root * roots + 4 / root * 27 * np.sqrt(6) * 10_000 + log * 18 * np.log(30_000) + 1
    assert theory.q_minus_v_tsallis_bound(3, 2, 3, 10_000) == pytest.approx(parts)
    with pytest.raises(ValueError, match="the bound is proved for rates"):
        theory.q_minus_v_bound(3, 2, 3, 10_000, eta=1.0)
    with pytest.raises(ValueError, match="the rate needs"):
        theory.q_minus_v_eta(3, 2, 1, 1)
