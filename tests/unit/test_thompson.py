"""Thompson sampling and optimistic value iteration: posteriors, optimism, an adversary."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

import aggbandit as ab
from aggbandit.learners import (
    EmpiricalDynamics,
    IntervalDynamics,
    KnownDynamics,
    OptimisticValueIteration,
    ThompsonSampling,
)
from aggbandit.learners.thompson import plan


@pytest.fixture
def world():
    rng = np.random.default_rng(7)
    mdp = ab.random_mdp(3, 2, 3, rng)
    return mdp, rng.random(mdp.shape)


def played(learner, mdp, losses, seed=0):
    return ab.simulate(learner, mdp, losses, np.random.default_rng(seed), engine="reference")


# --- Thompson sampling --------------------------------------------------------------------------------------


def test_the_posterior_is_that_of_all_equations_at_once(world):
    mdp, loss = world
    learner = ThompsonSampling(KnownDynamics(mdp), scale=0.7, ridge=0.5, growth=1.0)
    rng = np.random.default_rng(0)
    rows, totals = [], []
    for _ in range(60):
        trajectory = mdp.rollout(ab.uniform_policy(mdp), rng)
        learner.observe(ab.AggregateFeedback.observe(trajectory, loss))
        rows.append(trajectory.indicator().sum(axis=3).ravel())
        totals.append(trajectory.total(loss))
    X, y = np.array(rows), np.array(totals)
    A = 0.5 * np.eye(18) + X.T @ X
    np.testing.assert_allclose(learner.moment, A, atol=1e-12)
    np.testing.assert_allclose(learner.mean, np.linalg.solve(A, X.T @ y), atol=1e-10)
    np.testing.assert_allclose(learner.inverse, np.linalg.inv(A), atol=1e-10)
    normal = np.random.default_rng(3).standard_normal(18)
    draw = learner.mean + 0.7 * solve_triangular(np.linalg.cholesky(A), normal, lower=True, trans="T")
    best, _ = mdp.best_policy(draw.reshape(3, 3, 2))
    np.testing.assert_array_equal(learner.policy(np.random.default_rng(3)), best)


def test_the_draw_has_the_covariance_of_the_posterior(world):
    """A^-1 exactly: the map of the normals times its transpose."""
    mdp, loss = world
    learner = ThompsonSampling(KnownDynamics(mdp), scale=1.0, growth=1.0)
    played(learner, mdp, ab.losses.fixed(loss, 30))
    half = solve_triangular(learner.factor, np.eye(18), lower=True, trans="T")
    np.testing.assert_allclose(half @ half.T, np.linalg.inv(learner.moment), atol=1e-12)


def test_the_factor_is_made_anew_when_the_determinant_has_doubled(world, monkeypatch):
    mdp, loss = world
    switches = []
    switch = ThompsonSampling._switch
    monkeypatch.setattr(
        ThompsonSampling,
        "_switch",
        lambda self: (switches.append(np.linalg.slogdet(self.moment)[1]), switch(self)),
    )
    learner = ThompsonSampling(KnownDynamics(mdp), scale=0.5)
    played(learner, mdp, ab.losses.fixed(loss, 300))
    assert (np.diff(switches) >= np.log(2) - 1e-9).all()
    now = np.linalg.slogdet(learner.moment)[1]
    assert np.log(learner.grown) == pytest.approx(now - switches[-1], abs=1e-9)
    assert learner.grown < 2
    assert len(switches) < 1 + now / np.log(2)  # 300 episodes, a few dozen factors
    np.testing.assert_allclose(learner.inverse, np.linalg.inv(learner.moment), atol=1e-9)


def test_the_plan_is_the_best_policy(world):
    mdp, loss = world
    mean = (mdp.transitions * loss).sum(axis=3)
    np.testing.assert_array_equal(plan(mean, KnownDynamics(mdp)), mdp.best_policy(mean)[0])


def test_the_plan_is_optimistic_where_several_worlds_are_plausible():
    """Nothing is known: the plan goes where the cheapest state might be."""
    loss = np.zeros((2, 2, 2))
    loss[0, 0] = 0.0, 0.1
    loss[1] = [[0.9, 0.9], [0.2, 0.3]]
    visits = IntervalDynamics(2, 2, 2, episodes=10)
    visits.lower[0, 0, 0] = visits.upper[0, 0, 0] = 1.0, 0.0  # the cheap action is known to end in state 0
    assert plan(loss, visits)[0, 0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("knowledge", ["known", "counted", "intervals"])
def test_from_totals_it_finds_the_best_policy(knowledge):
    world, episodes = ab.night_driver(), 300
    visits = {
        "known": lambda: KnownDynamics(world.mdp),
        "counted": lambda: EmpiricalDynamics(3, 2, 3),
        "intervals": lambda: IntervalDynamics(3, 2, 3, episodes),
    }[knowledge]()
    learner = ThompsonSampling(visits, scale=0.5)
    losses = ab.losses.bernoulli(world.loss, episodes, np.random.default_rng(1))
    history = played(learner, world, losses)
    uniform = world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss)
    best = world.mdp.best_policy(world.loss)[1]
    share = 0.9 if knowledge == "intervals" else 0.4  # intervals are wide at 300 episodes
    means = [world.mdp.expected_loss(learner.policy(np.random.default_rng(s)), world.loss) for s in range(20)]
    assert np.mean(means) < best + share * (uniform - best)
    assert len(history) == episodes


# --- optimistic value iteration -----------------------------------------------------------------------------


def test_the_values_are_the_formula_by_hand(world):
    mdp, loss = world
    learner = OptimisticValueIteration(3, 2, 3, episodes=100, delta=0.1, bonus=0.3)
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(80):
        trajectory = mdp.rollout(ab.uniform_policy(mdp), rng)
        seen.append((trajectory, trajectory.losses(loss)))
        learner.observe(ab.StepFeedback.observe(trajectory, loss))
    V = np.zeros((4, 3))
    for h in (2, 1, 0):
        for s in range(3):
            q = []
            for a in range(2):
                here = [
                    paid[h] + V[h + 1, t.states[h + 1]]
                    for t, paid in seen
                    if (t.states[h], t.actions[h]) == (s, a)
                ]
                wide = (3 - h) * np.sqrt(np.log(3 * 3 * 2 * 100 / 0.1) / (2 * max(len(here), 1)))
                q.append(max(0.0, np.mean(here) - 0.3 * wide) if here else 0.0)
            V[h, s] = min(q)
            assert learner.policy(rng)[h, s, int(np.argmin(q))] == 1
    np.testing.assert_allclose(learner.value, V[:3], atol=1e-12)


def test_what_is_believed_is_never_above_the_truth(world):
    mdp, loss = world
    truth = np.zeros((4, 3))
    for h in (2, 1, 0):
        q = np.einsum("sat,sat->sa", mdp.transitions[h], loss[h] + truth[h + 1])
        truth[h] = q.min(axis=1)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        learner = OptimisticValueIteration(3, 2, 3, episodes=200, delta=0.1)
        losses = ab.losses.bernoulli(loss, 200, rng)
        for k in range(200):
            trajectory = mdp.rollout(learner.policy(rng), rng)
            learner.observe(ab.StepFeedback.observe(trajectory, losses.tables[losses.schedule[k]]))
            assert (learner.value <= truth[:3] + 1e-12).all()


def test_the_regret_is_below_the_bound_where_it_says_something():
    """H = S = 1: the bound is below K/2, what uniform play loses."""
    episodes = 5_000
    bound = ab.theory.optimistic_values_bound(1, 2, 1, episodes)
    assert bound < episodes / 2
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 2, 1)))
    losses = ab.losses.fixed(np.array([[[0.0], [1.0]]])[None], episodes)
    assert played(OptimisticValueIteration(1, 2, 1, episodes), mdp, losses).expected_loss.sum() <= bound


def test_it_learns_losses_from_a_distribution():
    world, episodes = ab.night_driver(), 400
    learner = OptimisticValueIteration(3, 2, 3, episodes, bonus=0.2)
    history = played(learner, world, ab.losses.bernoulli(world.loss, episodes, np.random.default_rng(1)))
    uniform = world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss)
    best = world.mdp.best_policy(world.loss)[1]
    assert (
        world.mdp.expected_loss(learner.policy(np.random.default_rng(0)), world.loss) < (uniform + best) / 2
    )
    assert history.complete


# --- both ---------------------------------------------------------------------------------------------------


def test_an_adversary_makes_what_is_foreseen_expensive():
    """One state, two actions: value iteration pays in every episode, the better action in half of them."""
    mdp, episodes = ab.FiniteHorizonMDP(np.ones((1, 1, 2, 1))), 400
    copy = OptimisticValueIteration(1, 2, 1, episodes)
    rng, schedule = np.random.default_rng(0), []
    tables = np.eye(2).reshape(2, 1, 1, 2, 1)  # table a charges action a
    for _ in range(episodes):
        action = int(copy.policy(rng)[0, 0].argmax())
        schedule.append(action)
        copy.observe(ab.StepFeedback.observe(mdp.rollout(copy.policy(rng), rng), tables[action]))
    losses = ab.LossSequence(tables, np.array(schedule, dtype=np.int32))
    regret = played(OptimisticValueIteration(1, 2, 1, episodes), mdp, losses).regret()[-1]
    assert regret >= episodes / 2
    hesitating = ab.learners.SemiBanditOREPS(mdp, ab.theory.semi_bandit_oreps_eta(1, 2, episodes))
    assert played(hesitating, mdp, losses).regret()[-1] <= ab.theory.semi_bandit_oreps_bound(
        1, 2, 1, episodes
    )


def learners(mdp):
    return [
        ThompsonSampling(KnownDynamics(mdp), scale=0.5),
        ThompsonSampling(EmpiricalDynamics(*mdp.shape[1:3], mdp.horizon), scale=0.5),
        OptimisticValueIteration(*mdp.shape[1:3], mdp.horizon, episodes=50),
    ]


def test_each_sees_its_feedback_and_nothing_else(world):
    mdp, loss = world
    trajectory = mdp.rollout(ab.uniform_policy(mdp), np.random.default_rng(0))
    kinds = {ab.FullFeedback, ab.StepFeedback, ab.AggregateFeedback}
    for learner in learners(mdp):
        before = learner.snapshot()
        for kind in kinds - {learner.feedback}:
            with pytest.raises(TypeError, match=learner.feedback.__name__):
                learner.observe(kind.observe(trajectory, loss))
        with pytest.raises(ValueError, match=r"total|losses"):
            learner.observe(learner.feedback.observe(trajectory, loss + 3))
        with pytest.raises(ValueError, match="the world has shape"):
            learner.check_run(ab.random_mdp(4, 2, 3, np.random.default_rng(0)), 1)
        assert all((learner.snapshot()[name] == array).all() for name, array in before.items())


@pytest.mark.parametrize("which", range(3))
def test_a_state_is_gone_back_to(world, which):
    mdp, loss = world
    losses = ab.losses.fixed(loss, 40)
    straight, again = learners(mdp)[which], learners(mdp)[which]
    played(straight, mdp, losses)
    again.restore(straight.snapshot())
    one, other = played(straight, mdp, losses, 1), played(again, mdp, losses, 1)
    np.testing.assert_array_equal(one.total_loss, other.total_loss)
    state = straight.snapshot()
    with pytest.raises(ValueError, match="the state is of a learner with"):
        straight.restore(state | {"arguments": np.array(["another"])})
    if which < 2:
        with pytest.raises(ValueError, match="the inverse of the state"):
            again.restore(state | {"inverse": 2 * state["inverse"]})


def test_values_out_of_range(world):
    mdp, _ = world
    for name, value in (("scale", 0.0), ("ridge", -1.0), ("growth", 0.5)):
        with pytest.raises(ValueError, match=name):
            ThompsonSampling(KnownDynamics(mdp), **({"scale": 1.0} | {name: value}))
    for name, value in (("delta", 0.0), ("bonus", 0.0), ("episodes", 0)):
        with pytest.raises(ValueError, match=name):
            OptimisticValueIteration(3, 2, 3, **({"episodes": 10} | {name: value}))
    with pytest.raises(TypeError, match="visits"):
        ThompsonSampling(mdp, 1.0)


def test_the_bound_is_the_sum_of_its_parts():
    iota = np.log(3 * 4 * 2 * 1000 * 3000)
    spread = np.sqrt(2 * iota) + np.sqrt(2 * (4 * np.log(2) + iota))
    bound = ab.theory.optimistic_values_bound(n_states=4, n_actions=2, horizon=3, episodes=1000)
    assert bound == pytest.approx(12 * np.sqrt(8 * 1000) * spread + 8 * 12 / 2 + 2)
    with pytest.raises(ValueError, match="episodes"):
        ab.theory.optimistic_values_bound(4, 2, 3, 0)
