"""UC-O-REPS and UOB-REPS: rows and projections by cvxpy, chances by brute force, estimates by enumeration."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import aggbandit as ab
from aggbandit import theory
from aggbandit.geometry import NoMinimizer
from aggbandit.learners import (
    UCOREPS,
    UOBREPS,
    IntervalDynamics,
    KnownDynamics,
    PlausibleDynamics,
    uob_reps,
)
from aggbandit.learners.oreps import KnownIterate, importance_weighted
from aggbandit.learners.uob_reps import Bounds, interval_projection, nearest_rows, upper_chances
from aggbandit.learners.visits import largest_mean_between


def random_bounds(rng, shape, width):
    P = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    return P, np.clip(P - width * rng.random(shape), 0, 1), np.clip(P + width * rng.random(shape), 0, 1)


# --- rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.0, 0.05, 0.4, 2.0])
@pytest.mark.parametrize("spread", [0.5, 5.0, 300.0])
def test_the_nearest_row_has_one_factor_between_its_bounds(width, spread):
    """The conditions of Karush, Kuhn and Tucker, which say that it is the maximum."""
    rng = np.random.default_rng(int(10 * width + spread))
    _, lower, upper = random_bounds(rng, (200, 5), width)
    log_weight = spread * rng.standard_normal((200, 5))
    value, log_p, free = nearest_rows(log_weight, Bounds.of(lower, upper))
    p = np.exp(log_p)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-10)
    assert (p >= lower - 1e-12).all()
    assert (p <= upper + 1e-12).all()
    inside = (p > lower * (1 + 1e-9) + 1e-300) & (p < upper * (1 - 1e-9))
    assert (free | ~inside).all()
    factor = log_p - log_weight
    for row in range(200):
        here = factor[row, inside[row]]
        if len(here):
            assert np.ptp(here) <= 1e-9 * (1 + abs(here).max())
            at_lower = (p[row] <= lower[row]) & (lower[row] < upper[row]) & (lower[row] > 0)
            at_upper = (p[row] >= upper[row]) & (lower[row] < upper[row])
            assert (factor[row, at_lower] >= here.max() - 1e-9 * (1 + abs(here).max())).all()
            assert (factor[row, at_upper] <= here.min() + 1e-9 * (1 + abs(here).max())).all()
    terms = np.where(p > 0, p * (log_weight - np.where(p > 0, log_p, 0)), 0)
    np.testing.assert_allclose(value, terms.sum(axis=1), rtol=1e-9, atol=1e-9)


def test_a_row_that_meets_no_bound_is_that_of_the_weights_and_the_others_are_found_beside_it():
    rng = np.random.default_rng(4)
    log_weight = rng.standard_normal((2, 4))
    lower, upper = np.zeros((2, 4)), np.ones((2, 4))
    lower[1, 0] = 0.9
    value, log_p, free = nearest_rows(log_weight, Bounds.of(lower, upper))
    weight = np.exp(log_weight)
    np.testing.assert_allclose(np.exp(log_p[0]), weight[0] / weight[0].sum(), rtol=1e-14)
    assert value[0] == pytest.approx(np.log(weight[0].sum()), rel=1e-14)
    rest = weight[1] * [0, 0.1, 0.1, 0.1] / weight[1, 1:].sum() + [0.9, 0, 0, 0]
    np.testing.assert_allclose(np.exp(log_p[1]), rest, rtol=1e-14)
    np.testing.assert_array_equal(free, [[True] * 4, [False, True, True, True]])


def test_the_largest_mean_is_that_of_a_linear_program():
    rng = np.random.default_rng(3)
    for width in (0.0, 0.1, 0.5, 2.0):
        _, lower, upper = random_bounds(rng, (4,), width)
        value = rng.random(4)
        best = linprog(-value, A_eq=[np.ones(4)], b_eq=[1], bounds=list(zip(lower, upper, strict=True)))
        assert largest_mean_between(lower, upper, value) == pytest.approx(-best.fun, abs=1e-9)


# --- the projection -----------------------------------------------------------------------------------------


def by_cvxpy(weight, lower, upper):
    """argmin KL(q || weight) over the occupancy measures of dynamics between bounds, from state 0."""
    horizon, n_states, n_actions, _ = weight.shape
    q = [cp.Variable((n_states * n_actions, n_states), nonneg=True) for _ in range(horizon)]
    rules, cost = [], 0
    for h in range(horizon):
        mass = cp.reshape(cp.sum(q[h], axis=1), (n_states * n_actions, 1), order="C") @ np.ones((1, n_states))
        rows = n_states * n_actions, n_states
        rules += [q[h] >= cp.multiply(lower[h].reshape(rows), mass)]
        rules += [q[h] <= cp.multiply(upper[h].reshape(rows), mass)]
        for s in range(n_states):
            out = cp.sum(q[h][s * n_actions : (s + 1) * n_actions])
            rules += [out == (float(s == 0) if h == 0 else cp.sum(q[h - 1][:, s]))]
        here = slice(0, n_actions) if h == 0 else slice(None)
        cost += cp.sum(cp.kl_div(q[h][here], weight[h].reshape(rows)[here]))
    cp.Problem(cp.Minimize(cost), rules).solve(solver=cp.CLARABEL)
    return np.array([step.value.reshape(weight.shape[1:]) for step in q])


@pytest.mark.parametrize("width", [0.02, 0.3, 2.0])
def test_the_projection_is_that_of_cvxpy(width):
    rng = np.random.default_rng(5)
    shape = 3, 2, 2, 2
    _, lower, upper = random_bounds(rng, shape, width)
    weight = np.exp(rng.standard_normal(shape) - 2)
    met = np.ones(shape[:2], dtype=bool)
    met[0, 1:] = False
    log_q = interval_projection(np.log(weight), lower, upper, np.full(shape[:2], -1.0), met)
    q = np.exp(log_q) * met[:, :, None, None]
    np.testing.assert_allclose(q, by_cvxpy(weight, lower, upper), atol=2e-5)


def test_between_equal_bounds_it_is_the_projection_of_a_known_world():
    rng = np.random.default_rng(6)
    mdp = ab.random_mdp(3, 2, 3, rng)
    known = KnownIterate(mdp)
    met = np.ones((3, 3), dtype=bool)
    met[0, 1:] = False
    log_q = interval_projection(np.zeros(mdp.shape), mdp.transitions, mdp.transitions, -np.ones((3, 3)), met)
    for _ in range(3):
        q = (np.exp(log_q) * met[:, :, None, None]).sum(axis=3)
        # The entropy of the rows is another weight: compare the steps, from the same point.
        loss = rng.random(mdp.shape[:3])
        known.log_q = np.where(met[:, :, None], np.log(np.where(q > 0, q, 1)), -np.inf)
        known.step(loss)
        guess = np.logaddexp.reduce(log_q, axis=(2, 3))
        log_q = interval_projection(log_q - loss[..., None], mdp.transitions, mdp.transitions, guess, met)
        now = (np.exp(log_q) * met[:, :, None, None]).sum(axis=3)
        np.testing.assert_allclose(now, known.occupancy, atol=1e-10)


# --- chances and estimates ----------------------------------------------------------------------------------


def counted(episodes=400, seed=0, shape=(2, 1, 3)):
    n_states, n_actions, horizon = shape
    rng = np.random.default_rng(seed)
    truth = ab.random_mdp(n_states, n_actions, horizon, rng)
    visits = IntervalDynamics(n_states, n_actions, horizon, episodes=10, delta=0.5)
    for _ in range(episodes):
        visits.observe(truth.rollout(ab.uniform_policy(truth), rng))
    return truth, visits


def test_the_bracket_is_reached_and_never_passed():
    """All vertices of two-state intervals, by brute force."""
    truth, visits = counted(1_000)
    policy = ab.uniform_policy(truth)
    ends = []
    for h, s in product(range(2), range(2)):  # the rows that matter: of the first two steps
        low = max(visits.lower[h, s, 0, 1], 1 - visits.upper[h, s, 0, 0])
        high = min(visits.upper[h, s, 0, 1], 1 - visits.lower[h, s, 0, 0])
        ends.append([low, high])
    chances = []
    for rows in product(*ends):
        P = np.array(truth.transitions)
        for (h, s), p in zip(product(range(2), range(2)), rows, strict=True):
            P[h, s, 0] = 1 - p, p
        chances.append(KnownDynamics(ab.FiniteHorizonMDP(P)).bracket(policy).upper)
    lower, upper = visits.bracket(policy)
    assert (upper < 0.95).any()
    np.testing.assert_allclose(lower, np.min(chances, axis=0), atol=1e-12)
    np.testing.assert_allclose(upper, np.max(chances, axis=0), atol=1e-12)


def test_the_intervals_are_the_formula_by_hand():
    _, visits = counted(50, shape=(2, 2, 2))
    iota = np.log(2 * 2 * 2 * 10 / 0.5)
    for h, s, a, t in product(range(2), repeat=4):
        n = visits.counts.before[h, s, a].sum()
        p = visits.counts.before[h, s, a, t] / max(n, 1)
        width = 2 * np.sqrt(p * iota / max(1, n - 1)) + 14 * iota / (3 * max(1, n - 1))
        assert visits.upper[h, s, a, t] == pytest.approx(min(1, p + width))
        assert visits.lower[h, s, a, t] == pytest.approx(max(0, p - width))


def test_the_estimate_is_too_small_on_average_by_enumeration():
    """Mean `l q / (u pi + gamma)`, second moment at most `1/(u pi + gamma)`."""
    truth, visits = counted(400, shape=(2, 2, 3))
    loss = np.random.default_rng(1).random((*truth.shape[:3], 1)) * np.ones(truth.shape)
    policy = np.random.default_rng(2).dirichlet(np.ones(2), size=(3, 2))
    gamma = 0.1
    first, second = np.zeros(truth.shape[:3]), np.zeros(truth.shape[:3])
    for trajectory, chance in ab.enumerate_trajectories(truth, policy):
        feedback = ab.StepFeedback.observe(trajectory, loss)
        estimate = importance_weighted(feedback, upper_chances(visits, policy, feedback) + gamma)
        first += chance * estimate
        second += chance * estimate**2
    upper = visits.bracket(policy).upper[:, :, None] * policy
    x = truth.occupancy(policy).sum(axis=3)
    assert (x <= upper + 1e-12).all()
    np.testing.assert_allclose(first, loss[..., 0] * x / (upper + gamma), atol=1e-12)
    assert (second <= 1 / (upper + gamma)).all()


# --- learners -----------------------------------------------------------------------------------------------


def played(learner, mdp, losses, seed=0):
    return ab.simulate(learner, mdp, losses, np.random.default_rng(seed), engine="reference")


def learners(episodes, initial_state=0):
    return [
        UCOREPS(3, 2, 3, episodes, theory.oreps_eta(3, 2, episodes), initial_state=initial_state),
        UOBREPS(3, 2, 3, episodes, initial_state=initial_state),
    ]


@pytest.mark.parametrize("which", [0, 1], ids=["full", "semi-bandit"])
def test_it_learns_the_night_driver_without_knowing_the_city(which):
    world, episodes = ab.night_driver(), 200
    learner = learners(episodes)[which]
    history = played(learner, world, ab.losses.fixed(world.loss, episodes))
    uniform = world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss)
    best = history.best_value / episodes
    assert history.expected_loss[-50:].mean() < best + (0.5, 0.7)[which] * (uniform - best)
    iterate = learner.iterate
    q = np.exp(iterate.log_q) * iterate.met[:, :, None, None]
    np.testing.assert_allclose(q.sum(axis=(1, 2, 3)), 1, atol=1e-10)
    np.testing.assert_allclose(q[1:].sum(axis=(2, 3)), q[:-1].sum(axis=(1, 2)), atol=1e-10)
    rows = q / np.maximum(q.sum(axis=3, keepdims=True), 1e-300)
    inside = (rows >= iterate.visits.lower - 1e-9) & (rows <= iterate.visits.upper + 1e-9)
    assert inside[q.sum(axis=3) > 0].all()


@pytest.mark.parametrize("which", [0, 1], ids=["full", "semi-bandit"])
def test_from_another_state_it_is_the_same_in_a_world_numbered_anew(which):
    world, episodes = ab.night_driver(), 20
    turned = np.roll(np.arange(3), 1)  # the initial state becomes 1
    P = np.array(world.mdp.transitions)[:, turned][:, :, :, turned]
    mdp = ab.FiniteHorizonMDP(P, initial_state=1)
    loss = np.array(world.loss)[:, turned][:, :, :, turned]
    one, other = learners(episodes)[which], learners(episodes, initial_state=1)[which]
    rng = np.random.default_rng(0)
    for _ in range(episodes):
        policy = one.policy(rng)
        np.testing.assert_allclose(other.policy(rng), policy[:, turned], atol=1e-8)
        trajectory = world.mdp.rollout(policy, rng)
        moved = ab.Trajectory((trajectory.states + 1) % 3, trajectory.actions, 3, 2)
        one.observe(one.feedback.observe(trajectory, world.loss))
        other.observe(other.feedback.observe(moved, loss))
    other.check_run(mdp, 1)


def test_each_sees_its_feedback_and_nothing_else():
    world = ab.night_driver()
    trajectory = world.mdp.rollout(ab.uniform_policy(world.mdp), np.random.default_rng(0))
    kinds = {ab.FullFeedback, ab.StepFeedback, ab.AggregateFeedback}
    for learner in learners(10):
        before = learner.snapshot()
        for kind in kinds - {learner.feedback}:
            with pytest.raises(TypeError, match=learner.feedback.__name__):
                learner.observe(kind.observe(trajectory, world.loss))
        with pytest.raises(ValueError, match="loss"):
            learner.observe(learner.feedback.observe(trajectory, 2 + np.array(world.loss)))
        with pytest.raises(ValueError, match="the world has shape"):
            learner.check_run(ab.random_mdp(4, 2, 3, np.random.default_rng(0)), 1)
        assert all((learner.snapshot()[name] == array).all() for name, array in before.items())


@pytest.mark.parametrize("which", [0, 1], ids=["full", "semi-bandit"])
def test_a_state_is_gone_back_to(which):
    world = ab.night_driver()
    losses = ab.losses.fixed(world.loss, 15)
    straight = learners(30)[which]
    rng = np.random.default_rng(0)
    played(straight, world, losses)
    again = learners(30)[which]
    again.restore(straight.snapshot())
    np.testing.assert_array_equal(again.policy(rng), straight.policy(rng))
    assert (played(again, world, losses).total_loss == played(straight, world, losses).total_loss).all()
    with pytest.raises(ValueError, match="the state is of a learner with"):
        learners(31)[which].restore(straight.snapshot())
    with pytest.raises(ValueError, match="in_epoch"):
        again.restore({name: a for name, a in straight.snapshot().items() if name != "in_epoch"})


@pytest.mark.parametrize("which", [0, 1], ids=["full", "semi-bandit"])
def test_a_projection_that_is_not_found_leaves_everything_as_it_was(which, monkeypatch):
    """The counts too, which the projection needs beforehand: also where they end an epoch."""

    def not_found(*arguments):
        raise NoMinimizer("not in double precision")

    world, learner = ab.night_driver(), learners(30)[which]
    played(learner, world, ab.losses.fixed(world.loss, 3))
    before, bounds = learner.snapshot(), (learner.iterate.visits.lower, learner.iterate.visits.upper)
    monkeypatch.setattr(uob_reps, "_projection", not_found)
    rng = np.random.default_rng(1)
    for _ in range(10):
        trajectory = world.mdp.rollout(ab.uniform_policy(world.mdp), rng)
        with pytest.raises(NoMinimizer):
            learner.observe(learner.feedback.observe(trajectory, world.loss))
        after = learner.snapshot()
        assert all((after[name] == array).all() for name, array in before.items())
        assert all(
            now is then
            for now, then in zip(
                (learner.iterate.visits.lower, learner.iterate.visits.upper), bounds, strict=True
            )
        )


@pytest.mark.parametrize("kind", ["balls", "intervals"])
def test_counts_are_values_and_begin_anew_when_one_has_doubled(kind):
    mdp, rng = ab.night_driver().mdp, np.random.default_rng(0)
    visits = (
        PlausibleDynamics(3, 2, 3, 100, ab.TightConfidence())
        if kind == "balls"
        else IntervalDynamics(3, 2, 3, 100)
    )
    total, epochs = np.zeros(mdp.shape, dtype=int), 0
    for _ in range(100):
        trajectory = mdp.rollout(ab.uniform_policy(mdp), rng)
        then, copies = visits.counts, visits.snapshot()
        visits.observe(trajectory)
        total[trajectory.cells] += 1
        np.testing.assert_array_equal(then.before, copies["counts"])
        np.testing.assert_array_equal(then.in_epoch, copies["in_epoch"])
        np.testing.assert_array_equal(visits.counts.before + visits.counts.in_epoch, total)
        n_before, n_in = then.before.sum(axis=3), then.in_epoch.copy()
        n_in[trajectory.cells] += 1
        over = (n_in.sum(axis=3) >= np.maximum(n_before, 1)).any()
        assert over == (not visits.counts.in_epoch.any())
        epochs += over
    assert 10 < epochs < 100


def test_values_out_of_range():
    with pytest.raises(ValueError, match="delta"):
        IntervalDynamics(3, 2, 3, 10, delta=1.0)
    with pytest.raises(ValueError, match="eta"):
        UCOREPS(3, 2, 3, 10, eta=0.0)
    with pytest.raises(ValueError, match="gamma"):
        UOBREPS(3, 2, 3, 10, gamma=-1.0)
