"""O-REPS: its projection against cvxpy, its estimates by enumeration, its bounds, its state."""

import signal

import cvxpy as cp
import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory
from aggbandit.geometry import NoMinimizer
from aggbandit.learners.oreps import EntropyCells, KnownIterate, importance_weighted
from aggbandit.learners.potentials import Layers, Reply, minimize_over_potentials


@pytest.fixture
def world():
    rng = np.random.default_rng(7)
    mdp = ab.random_mdp(3, 2, 3, rng)
    return mdp, rng.random(mdp.shape)


def by_cvxpy(mdp, loss, before):
    """argmin <q, loss> + KL(q || before) over the occupancy measures, by an interior-point method."""
    ways, coordinates = ab.known_occupancy_polytope(mdp), ab.occupancy_coordinates(mdp)
    h, s, a = coordinates.cells.T
    q = cp.Variable(len(h))
    objective = loss[h, s, a] @ q + cp.sum(cp.kl_div(q, before[h, s, a]))
    problem = cp.Problem(cp.Minimize(objective), [ways.C @ q == ways.d])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    table = np.zeros(mdp.shape[:3])
    table[h, s, a] = q.value
    return table


@pytest.mark.parametrize(
    "mdp",
    [
        ab.night_driver().mdp,
        ab.layered_grid(3, 4).mdp,
        ab.random_mdp(4, 3, 2, np.random.default_rng(1)),
        ab.random_mdp(1, 3, 4, np.random.default_rng(1)),
    ],
    ids=["night driver", "grid", "random", "one state"],
)
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_a_step_is_the_one_of_cvxpy(mdp, scale):
    rng = np.random.default_rng(2)
    iterate = KnownIterate(mdp)
    for _ in range(2):
        before, loss = iterate.occupancy, scale * rng.random(mdp.shape[:3])
        iterate.step(loss)
        # Its value is within 1e-10 of the least, its point so within the root of that.
        np.testing.assert_allclose(iterate.occupancy, by_cvxpy(mdp, loss, before), atol=2e-5)


def test_with_one_step_and_one_state_it_is_exponential_weights():
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 3, 1)))
    iterate, loss = KnownIterate(mdp), np.array([[[0.1, 0.7, 2.0]]])
    iterate.step(loss)
    np.testing.assert_allclose(iterate.policy, np.exp(-loss) / np.exp(-loss).sum(), rtol=1e-12)


def test_many_small_steps_are_one_large_one(world):
    """Without constraints of inequality, mirror descent is the leader with a regularizer."""
    mdp, _ = world
    rng = np.random.default_rng(3)
    losses = rng.random((200, *mdp.shape[:3]))
    small, large = KnownIterate(mdp), KnownIterate(mdp)
    for loss in losses:
        small.step(loss)
    large.step(losses.sum(axis=0))
    np.testing.assert_allclose(small.log_q, large.log_q, rtol=1e-8, atol=1e-8)
    assert small.log_q.min() < -20  # entries far below what an interior-point method can tell from zero


def test_the_iterate_is_the_occupancy_measure_of_its_policy(world):
    mdp, _ = world
    iterate = KnownIterate(mdp)
    rng = np.random.default_rng(4)
    for scale in (0.01, 1.0, 100.0, 1e4):
        iterate.step(scale * rng.random(mdp.shape[:3]))
        x = mdp.occupancy(iterate.policy).sum(axis=3)
        np.testing.assert_allclose(iterate.occupancy, x, atol=1e-12)


def test_layers_number_the_states_that_can_be_met():
    mdp = ab.worlds.chain(5, 3).mdp
    layers = Layers.of(mdp)
    assert layers.states.shape[1] < mdp.n_states
    assert (layers.widen(np.ones((*layers.states.shape, 1)))[..., 0] == mdp.reachable).all()
    table = np.random.default_rng(0).random(mdp.shape[:3]) * mdp.reachable[:, :, None]
    assert (layers.widen(layers.narrow(table)) == table).all()


def test_the_estimate_by_enumeration(world):
    """Mean the loss, second moment the mean of the loss squared, over the chance."""
    mdp, loss = world
    policy = np.random.default_rng(5).dirichlet(np.ones(2), size=(3, 3))
    x = mdp.occupancy(policy).sum(axis=3)
    first, second = np.zeros(x.shape), np.zeros(x.shape)
    for trajectory, chance in ab.enumerate_trajectories(mdp, policy):
        estimate = importance_weighted(ab.StepFeedback.observe(trajectory, loss), x)
        first += chance * estimate
        second += chance * estimate**2
    mean = (mdp.transitions * loss).sum(axis=3)
    square = (mdp.transitions * loss**2).sum(axis=3)
    np.testing.assert_allclose(first[x > 0], mean[x > 0], atol=1e-12)
    np.testing.assert_allclose(second[x > 0], (square[x > 0] / x[x > 0]), rtol=1e-12)


def learners(mdp, episodes):
    _, n_states, n_actions, _ = mdp.shape
    return [
        ab.learners.OREPS(mdp, theory.oreps_eta(n_states, n_actions, episodes)),
        ab.learners.SemiBanditOREPS(mdp, theory.semi_bandit_oreps_eta(n_states, n_actions, episodes)),
    ]


def played(learner, mdp, losses, seed=0):
    return ab.simulate(learner, mdp, losses, np.random.default_rng(seed), engine="reference")


def test_the_regret_is_below_the_bounds_where_they_say_something(world):
    mdp, loss = world
    episodes = 400
    losses = ab.losses.alternating(np.stack([loss, 1 - loss]), episodes, 7)
    bounds = [theory.oreps_bound(3, 2, 3, episodes), theory.semi_bandit_oreps_bound(3, 2, 3, episodes)]
    for learner, bound in zip(learners(mdp, episodes), bounds, strict=True):
        assert bound < 3 * episodes / 3
        history = played(learner, mdp, losses)
        assert history.expected_loss.sum() - history.best_value <= bound


def test_the_bounds_are_least_at_their_rates():
    eta = theory.oreps_eta(3, 2, 1000)
    best = theory.oreps_bound(3, 2, 3, 1000)
    assert best == pytest.approx(3 * np.sqrt(2 * 1000 * np.log(6)))
    assert min(theory.oreps_bound(3, 2, 3, 1000, eta * factor) for factor in (0.9, 1.1)) > best
    eta = theory.semi_bandit_oreps_eta(3, 2, 1000)
    best = theory.semi_bandit_oreps_bound(3, 2, 3, 1000)
    assert best == pytest.approx(3 * np.sqrt(2 * 6 * 1000 * np.log(6)))
    assert min(theory.semi_bandit_oreps_bound(3, 2, 3, 1000, eta * factor) for factor in (0.9, 1.1)) > best


def test_each_sees_its_feedback_and_nothing_else(world):
    mdp, loss = world
    trajectory = mdp.rollout(ab.uniform_policy(mdp), np.random.default_rng(0))
    kinds = {ab.FullFeedback, ab.StepFeedback, ab.AggregateFeedback}
    for learner in learners(mdp, 10):
        before = learner.snapshot()["log_q"]
        for kind in kinds - {learner.feedback}:
            with pytest.raises(TypeError, match=learner.feedback.__name__):
                learner.observe(kind.observe(trajectory, loss))
        with pytest.raises(ValueError, match="loss"):
            learner.observe(learner.feedback.observe(trajectory, loss + 1))
        assert (learner.snapshot()["log_q"] == before).all()


def test_they_refuse_another_world(world):
    mdp, _ = world
    other = ab.random_mdp(4, 2, 3, np.random.default_rng(0))
    for learner in learners(mdp, 10):
        with pytest.raises(ValueError, match="the world has shape"):
            played(learner, other, ab.losses.fixed(np.zeros(other.shape), 2))
    with pytest.raises(ValueError, match="eta"):
        ab.learners.OREPS(mdp, 0.0)
    with pytest.raises(TypeError, match="mdp"):
        ab.learners.SemiBanditOREPS(ab.night_driver(), 0.1)


@pytest.mark.parametrize("which", [0, 1], ids=["full", "semi-bandit"])
def test_interrupted_and_resumed_it_is_the_same(world, which, monkeypatch):
    mdp, loss = world
    losses = ab.losses.fixed(loss, 40)
    straight = played(learners(mdp, 40)[which], mdp, losses)
    learner = learners(mdp, 40)[which]
    step, count = learner.iterate.step, [0]

    def pressing(estimate):
        count[0] += 1
        if count[0] == 15:
            signal.raise_signal(signal.SIGINT)
        step(estimate)

    monkeypatch.setattr(learner.iterate, "step", pressing)
    part = played(learner, mdp, losses)
    assert not part.complete
    whole = ab.resume(part, learners(mdp, 40)[which], mdp, losses)
    assert (whole.expected_loss == straight.expected_loss).all()
    with pytest.raises(ValueError, match="the state is of a learner with"):
        learners(mdp, 41)[which].restore(learner.snapshot())
    with pytest.raises(ValueError, match="log_q"):
        learner.restore(learner.snapshot() | {"log_q": np.zeros((2, 3, 2))})


def test_what_has_no_minimizer_is_said():
    class Falling:
        """A function that falls less than its slope says."""

        def answer(self, potential):
            one = np.ones((1, 1, 1))
            return Reply(0.0 if not potential.any() else 1.0, 5 * one, 0 * one[..., None], one, None)

    with pytest.raises(NoMinimizer, match="does not fall"):
        minimize_over_potentials(Falling(), np.zeros((1, 1)))
    cells = EntropyCells(np.full((1, 1, 2), np.nan), np.zeros((1, 1, 2, 1)))
    with pytest.raises(NoMinimizer):
        minimize_over_potentials(cells, np.zeros((1, 1)))
