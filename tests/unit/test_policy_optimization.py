"""The U-function learner: its functions by enumeration, its chances by brute force, its bound, its state."""

import dataclasses
import math

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory
from aggbandit.learners import (
    EmpiricalDynamics,
    KnownDynamics,
    PlausibleDynamics,
    PolicyOptimization,
    dilated_bonus,
    novelty,
    q_function,
    u_estimate,
    u_function,
)
from aggbandit.learners.visits import largest_mean


@pytest.fixture
def world():
    """A random world, a policy that hesitates, and losses."""
    rng = np.random.default_rng(7)
    mdp = ab.random_mdp(3, 2, 3, rng)
    policy = rng.dirichlet(np.ones(2), size=(3, 3))
    return mdp, policy, rng.random(mdp.shape)


def conditional_means(mdp, policy, values):
    """(H, S, A) the mean of a value of the trajectory, given that it passes (s, a) at step h."""
    sums, chances = np.zeros(mdp.shape[:3]), np.zeros(mdp.shape[:3])
    for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
        steps, states, actions, _ = trajectory.cells
        sums[steps, states, actions] += chance * values(trajectory)
        chances[steps, states, actions] += chance
    return np.divide(sums, chances, out=np.zeros_like(sums), where=chances > 0), chances


def test_u_is_the_mean_of_the_total_of_those_that_pass(world):
    mdp, policy, loss = world
    means, chances = conditional_means(mdp, policy, lambda trajectory: trajectory.total(loss))
    met = chances > 0
    np.testing.assert_allclose(u_function(mdp, policy, loss)[met], means[met], atol=1e-12)


def test_q_is_the_mean_of_the_loss_to_come(world):
    mdp, policy, loss = world
    means, chances = conditional_means(
        mdp, policy, lambda trajectory: np.cumsum(trajectory.losses(loss)[::-1])[::-1]
    )
    met = chances > 0
    np.testing.assert_allclose(q_function(mdp, policy, loss)[met], means[met], atol=1e-12)


def test_the_performance_difference_holds_with_u(world):
    """`V^pi - V^other = sum_h E_{s ~ other}< pi - other, U >`."""
    mdp, policy, loss = world
    other = np.random.default_rng(8).dirichlet(np.ones(2), size=(3, 3))
    met = mdp.occupancy(other).sum(axis=(2, 3))
    gap = ((policy - other) * u_function(mdp, policy, loss)).sum(axis=2)
    difference = mdp.expected_loss(policy, loss) - mdp.expected_loss(other, loss)
    assert (met * gap).sum() == pytest.approx(difference, abs=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_the_estimate_by_enumeration(world, gamma):
    """Mean `U q pi / (q pi + gamma)`; second moment at most `H²/(q pi + gamma)`."""
    mdp, policy, loss = world
    chances = KnownDynamics(mdp).bracket(policy).upper
    first, second = np.zeros(mdp.shape[:3]), np.zeros(mdp.shape[:3])
    for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
        estimate = u_estimate(trajectory, trajectory.total(loss), chances, policy, gamma)
        first += chance * estimate
        second += chance * estimate**2
    cells = chances[:, :, None] * policy
    met = cells > 0
    expected = u_function(mdp, policy, loss)[met] * (cells / (cells + gamma + ~met))[met]
    np.testing.assert_allclose(first[met], expected, atol=1e-12)
    assert (second[met] <= 9 / (cells[met] + gamma) + 1e-12).all()


def test_known_chances_are_those_of_the_occupancy_measure(world):
    mdp, policy, _ = world
    lower, upper = KnownDynamics(mdp).bracket(policy)
    np.testing.assert_allclose(upper, mdp.occupancy(policy).sum(axis=(2, 3)), atol=1e-14)
    assert (lower == upper).all()


def test_the_largest_mean_is_that_of_a_linear_program():
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    for radius in (0.0, 0.3, 1.1, 5.0):
        P_hat, value = rng.dirichlet(np.ones(4)), rng.random(4)
        # Variables P and t with |P - P_hat| <= t, sum t <= radius.
        eye = np.eye(4)
        above = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, 4)), np.ones((1, 4))]])
        best = linprog(
            np.concatenate([-value, np.zeros(4)]),
            A_ub=above,
            b_ub=np.concatenate([P_hat, -P_hat, [radius]]),
            A_eq=[[1, 1, 1, 1, 0, 0, 0, 0]],
            b_eq=[1],
        )
        assert largest_mean(P_hat, np.array(radius), value) == pytest.approx(-best.fun, abs=1e-9)


def test_the_bracket_is_reached_and_never_passed():
    """All vertices of two-state balls, by brute force: the bracket is their smallest and largest chance."""
    from itertools import product

    confidence = ab.TightConfidence(delta=0.5)
    learner = PlausibleDynamics(2, 1, 3, episodes=10, confidence=confidence)
    rng = np.random.default_rng(0)
    truth = ab.random_mdp(2, 1, 3, rng)
    policy = ab.uniform_policy(truth)
    for _ in range(200):
        learner.observe(truth.rollout(policy, rng))
    ends = []
    for h, s in product(range(2), range(2)):  # the rows that matter: of the first two steps
        center, half = learner.P_hat[h, s, 0, 1], learner.radius[h, s, 0] / 2
        ends.append(sorted({max(0.0, center - half), min(1.0, center + half)}))
    chances = []
    for rows in product(*ends):
        P = np.zeros(truth.shape)
        P[2] = truth.transitions[2]
        for (h, s), p in zip(product(range(2), range(2)), rows, strict=True):
            P[h, s, 0] = 1 - p, p
        chances.append(KnownDynamics(ab.FiniteHorizonMDP(P)).bracket(policy).upper)
    lower, upper = learner.bracket(policy)
    np.testing.assert_allclose(lower, np.min(chances, axis=0), atol=1e-12)
    np.testing.assert_allclose(upper, np.max(chances, axis=0), atol=1e-12)
    exact = KnownDynamics(truth).bracket(policy).upper
    assert (lower <= exact + 1e-12).all()
    assert (exact <= upper + 1e-12).all()


def test_the_dilated_bonus_pays_for_what_it_costs(world):
    """`sum E_q*[b + (1/H) <pi, B> + <pi - other, B>] = (1 + 1/H) V_B(s_1) <= e sum E_q[b]`."""
    mdp, policy, _ = world
    other = np.random.default_rng(9).dirichlet(np.ones(2), size=(3, 3))
    known = KnownDynamics(mdp)
    bonus = np.random.default_rng(10).random(mdp.shape[:2])
    dilated = dilated_bonus(known.largest, policy, bonus)
    value = (policy * dilated).sum(axis=2)
    met = known.bracket(other).upper
    cost = (met * (bonus + value / 3 + ((policy - other) * dilated).sum(axis=2))).sum()
    assert cost == pytest.approx((1 + 1 / 3) * value[0, mdp.initial_state], abs=1e-12)
    assert cost <= math.e * (known.bracket(policy).upper * bonus).sum()


def played(learner, mdp, losses, seed=0):
    return ab.simulate(learner, mdp, losses, np.random.default_rng(seed), engine="reference")


def test_below_the_bound_where_it_is_less_than_all_there_is():
    """H = 1, one state: the bound is below K/2, what uniform play loses, and the regret below the bound."""
    episodes = 2_000
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 2, 1)))
    loss = np.array([[[0.0], [1.0]]])[None]
    bound = theory.u_function_bound(1, 2, 1, episodes)
    assert bound < episodes / 2  # what uniform play loses
    rates = ab.PolicyRates.theorem(1, 2, 1, episodes)
    learner = ab.UFunctionLearner(1, 2, 1, rates=rates, visits=KnownDynamics(mdp))
    history = played(learner, mdp, ab.losses.fixed(loss, episodes))
    assert history.expected_loss.sum() <= bound


def test_full_information_is_below_its_bound(world):
    mdp, _, loss = world
    episodes = 400
    losses = ab.losses.alternating(np.stack([loss, 1 - loss]), episodes, 7)
    learner = PolicyOptimization(mdp, theory.policy_optimization_eta(2, 3, episodes))
    history = played(learner, mdp, losses)
    bound = theory.policy_optimization_bound(2, 3, episodes)
    assert bound < 3 * episodes / 2
    assert history.expected_loss.sum() - history.best_value <= bound


@pytest.mark.parametrize("knowledge", ["known", "counted", "plausible"])
def test_it_learns_the_night_driver(knowledge):
    world = ab.night_driver()
    episodes = 300
    visits = {
        "known": lambda: KnownDynamics(world.mdp),
        "counted": lambda: EmpiricalDynamics(3, 2, 3),
        "plausible": lambda: PlausibleDynamics(3, 2, 3, episodes, ab.TightConfidence()),
    }[knowledge]()
    rates = ab.PolicyRates.practical(0.05)
    learner = ab.UFunctionLearner(3, 2, 3, rates=rates, visits=visits)
    history = played(learner, world.mdp, ab.losses.fixed(world.loss, episodes))
    uniform = world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss)
    best = history.best_value / episodes
    assert history.expected_loss[-100:].mean() < best + 0.5 * (uniform - best)


def test_the_learner_with_its_theorem_is_the_formula_by_hand(world):
    mdp, _, loss = world
    rates = ab.PolicyRates(eta=0.05, gamma=0.3, bonus=1.0, uniform=0.0, running_mean=False)
    learner = ab.UFunctionLearner(3, 2, 3, rates=rates, visits=KnownDynamics(mdp))
    policy = learner.policy(np.random.default_rng(0))
    trajectory = mdp.rollout(policy, np.random.default_rng(1))
    learner.observe(ab.AggregateFeedback.observe(trajectory, loss))
    q = mdp.occupancy(policy).sum(axis=(2, 3))
    b = np.zeros((3, 3))
    for h in range(3):
        for s in range(3):
            b[h, s] = sum(policy[h, s, a] * 3 * 0.3 * 3 / (q[h, s] * policy[h, s, a] + 0.3) for a in range(2))
    B = np.repeat(b[:, :, None], 2, axis=2)
    for h in (1, 0):
        for s in range(3):
            for a in range(2):
                to_come = sum(
                    mdp.transitions[h, s, a, t] * policy[h + 1, t, c] * B[h + 1, t, c]
                    for t in range(3)
                    for c in range(2)
                )
                B[h, s, a] += 4 / 3 * to_come
    expected = -0.05 * B
    for h in range(3):
        s, a = trajectory.states[h], trajectory.actions[h]
        expected[h, s, a] += 0.05 * trajectory.total(loss) / (q[h, s] * policy[h, s, a] + 0.3)
    np.testing.assert_allclose(learner.theta, expected, atol=1e-12)


def test_it_sees_totals_and_nothing_else(world):
    mdp, policy, loss = world
    learner = ab.UFunctionLearner(3, 2, 3)
    trajectory = mdp.rollout(policy, np.random.default_rng(0))
    for kind in (ab.FullFeedback, ab.StepFeedback):
        with pytest.raises(TypeError, match="AggregateFeedback"):
            learner.observe(kind.observe(trajectory, loss))
    with pytest.raises(TypeError, match="FullFeedback"):
        PolicyOptimization(mdp, 0.1).observe(ab.AggregateFeedback.observe(trajectory, loss))


def test_it_refuses_another_world(world):
    mdp = world[0]
    with pytest.raises(ValueError, match=r"the world has shape \(3, 3, 2, 3\); the learner was made for"):
        played(ab.UFunctionLearner(4, 2, 3), mdp, ab.losses.fixed(np.zeros(mdp.shape), 2))
    with pytest.raises(ValueError, match="visits are of a world"):
        ab.UFunctionLearner(4, 2, 3, visits=KnownDynamics(mdp))


@pytest.mark.parametrize("knowledge", [EmpiricalDynamics, None])
def test_interrupted_and_resumed_it_is_the_same(world, knowledge):
    import signal

    mdp, _, loss = world
    losses = ab.losses.fixed(loss, 60)
    visits = (lambda: knowledge(3, 2, 3)) if knowledge else lambda: KnownDynamics(mdp)

    class Pressing(ab.UFunctionLearner):
        def observe(self, feedback):
            if self.episode == 24:
                signal.raise_signal(signal.SIGINT)
            return super().observe(feedback)

    part = ab.simulate(Pressing(3, 2, 3, visits=visits()), mdp, losses, np.random.default_rng(0))
    assert not part.complete
    whole = ab.resume(part, ab.UFunctionLearner(3, 2, 3, visits=visits()), mdp, losses)
    straight = played(ab.UFunctionLearner(3, 2, 3, visits=visits()), mdp, losses)
    np.testing.assert_array_equal(whole.expected_loss, straight.expected_loss)


def test_a_state_of_other_arguments_is_refused():
    state = ab.UFunctionLearner(3, 2, 3).snapshot()
    with pytest.raises(ValueError, match="the state is of a learner with"):
        ab.UFunctionLearner(3, 2, 3, rates=ab.PolicyRates.practical(0.02)).restore(state)
    learner = ab.UFunctionLearner(3, 2, 3)
    with pytest.raises(ValueError, match="theta"):
        learner.restore({**state, "theta": np.full((3, 3, 2), np.nan)})
    with pytest.raises(ValueError, match="the state lacks counts"):
        learner.restore({name: array for name, array in state.items() if name != "counts"})
    assert learner.episode == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eta", 0.0),
        ("gamma", -0.1),
        ("bonus", -1.0),
        ("uniform", 1.0),
        ("curiosity", -1.0),
        ("eta", math.nan),
    ],
)
def test_rates_out_of_range(name, value):
    rates = {
        "eta": 0.1,
        "gamma": 0.2,
        "bonus": 0.0,
        "uniform": 0.0,
        "running_mean": True,
        name: value,
    }
    with pytest.raises(ValueError, match=name):
        ab.PolicyRates(**rates)


@pytest.mark.parametrize("knowledge", [EmpiricalDynamics, KnownDynamics])
@pytest.mark.parametrize("rates", [ab.PolicyRates.practical(), ab.PolicyRates.curious()], ids=["", "curious"])
@pytest.mark.parametrize("kind", ["random", "sparse"])
def test_the_engines_agree(knowledge, kind, rates):
    """Both play the same episodes, and stand at the same theta and counts."""
    world = ab.layered_grid(2, 3) if kind == "sparse" else None
    mdp = world.mdp if world else ab.random_mdp(4, 3, 5, np.random.default_rng(1))
    tables = np.random.default_rng(2).random((3, *mdp.shape))
    losses = ab.LossSequence(tables, np.random.default_rng(3).integers(0, 3, 200).astype(np.int32))
    runs = {}
    for engine in ("reference", "compiled"):
        visits = KnownDynamics(mdp) if knowledge is KnownDynamics else None
        learner = ab.UFunctionLearner(
            *mdp.shape[1:3], mdp.horizon, rates=rates, visits=visits, initial_state=mdp.initial_state
        )
        rng = np.random.default_rng(0)
        runs[engine] = learner, ab.simulate(learner, mdp, losses, rng, engine), rng.random()
    (reference, slow, after), (compiled, fast, after_too) = runs["reference"], runs["compiled"]
    np.testing.assert_array_equal(fast.total_loss, slow.total_loss)
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, atol=1e-11)
    np.testing.assert_allclose(compiled.theta, reference.theta, atol=1e-9)
    if knowledge is EmpiricalDynamics:
        np.testing.assert_array_equal(compiled.visits.counts, reference.visits.counts)
    assert (compiled.episode, after) == (reference.episode, after_too)
    np.testing.assert_allclose(compiled.novelty, reference.novelty, atol=1e-12)
    np.testing.assert_allclose(compiled.totals, reference.totals)
    np.testing.assert_array_equal(compiled.visited, reference.visited)


def test_the_compiled_run_goes_on_from_a_state(world):
    """Stopped where a chunk ends, and in two pieces by hand."""
    from aggbandit.engine.bridge import UFunctionRun

    mdp, _, loss = world
    losses = ab.losses.fixed(loss, 500)
    whole, parts = ab.UFunctionLearner(3, 2, 3), ab.UFunctionLearner(3, 2, 3)
    straight, _ = UFunctionRun(whole, mdp, losses).play(0, 500, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    one, _ = UFunctionRun(parts, mdp, losses).play(0, 200, rng)
    again = ab.UFunctionLearner(3, 2, 3)
    again.restore(parts.snapshot())
    two, _ = UFunctionRun(again, mdp, losses).play(200, 500, rng)
    np.testing.assert_allclose(np.concatenate([one, two]), straight, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(again.visits.counts, whole.visits.counts)


def test_a_state_subtracts_the_mean_of_the_totals_that_passed_it(world):
    """And a state that none has passed the mean of all; before the first episode, H/2."""
    mdp, policy, loss = world
    learner = ab.UFunctionLearner(3, 2, 3, rates=ab.PolicyRates.curious())
    steps, states = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    np.testing.assert_array_equal(learner.baseline(steps, states), np.full(9, 1.5))
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(4):
        trajectory = mdp.rollout(policy, rng)
        learner.observe(ab.AggregateFeedback.observe(trajectory, loss))
        seen.append((trajectory, trajectory.total(loss)))
    everything = np.mean([total for _, total in seen])
    means = learner.baseline(steps, states)
    for h, s, mean in zip(steps, states, means, strict=True):
        passed = [total for trajectory, total in seen if trajectory.states[h] == s]
        assert mean == pytest.approx(np.mean(passed) if passed else everything)
    assert len(np.unique(means)) > 2


def lock(length, n_actions):
    """A lock: one action a step goes on, all others back for good; only what went on to the end is free."""
    transitions = np.zeros((length, 2, n_actions, 2))
    transitions[:, :, :, 1] = 1.0
    right = np.arange(length) % n_actions
    transitions[np.arange(length), 0, right] = [1.0, 0.0]
    loss = np.zeros((length, 2, n_actions, 2))
    loss[-1] = 1.0
    loss[-1, 0, right[-1], 0] = 0.0
    return ab.FiniteHorizonMDP(transitions), loss


@pytest.mark.parametrize("knowledge", ["known", "counted"])
def test_the_curious_open_a_lock_that_uniform_play_does_not(knowledge):
    """By chance it opens once in 3^9 episodes; what is new leads to it."""
    mdp, loss = lock(9, 3)
    last = {}
    for curiosity in (0.0, 1.0):
        rates = dataclasses.replace(ab.PolicyRates.curious(), curiosity=curiosity)
        visits = KnownDynamics(mdp) if knowledge == "known" else None
        learner = ab.UFunctionLearner(2, 3, 9, rates=rates, visits=visits)
        losses = ab.losses.fixed(loss, 10_000)
        history = ab.simulate(learner, mdp, losses, np.random.default_rng(0), "compiled", every=100)
        last[curiosity] = history.expected_loss[-1] / 100
    assert last[0.0] > 0.99
    assert last[1.0] < 0.1


def test_what_is_new_by_hand():
    mdp = ab.random_mdp(2, 2, 2, np.random.default_rng(0))
    visited = np.array([[[3, 1], [0, 0]], [[0, 2], [1, 1]]])
    found = novelty(KnownDynamics(mdp).largest, visited)
    np.testing.assert_allclose(found[1], [[1, 1 / 3], [1 / 2, 1 / 2]])
    to_come = mdp.transitions[0] @ np.array([1, 1 / 2])
    np.testing.assert_allclose(found[0], 1 / (1 + visited[0]) + to_come)


def test_a_state_that_no_run_can_have_is_refused():
    learner = ab.UFunctionLearner(3, 2, 3)
    state = learner.snapshot()
    with pytest.raises(ValueError, match="visited is not of 0 episodes at every step"):
        learner.restore({**state, "visited": np.eye(3, 6, dtype=np.int64).reshape(3, 3, 2)[::-1]})
    with pytest.raises(ValueError, match=r"totals holds a mean outside \[0, H\]"):
        learner.restore({**state, "totals": np.full((3, 3), 0.5)})
