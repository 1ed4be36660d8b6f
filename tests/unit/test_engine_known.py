"""Compiled learners that know the dynamics are the reference, only faster."""

import signal

import numpy as np
import pytest
from engine_worlds import deterministic, dirichlet, mixed, sparse

import aggbandit as ab
from aggbandit.engine import bridge, flow_kernels, plays
from aggbandit.geometry import NoMinimizer
from aggbandit.geometry.known_world import flow_equations, is_known_occupancy_polytope
from aggbandit.learners import (
    FTRL,
    OREPS,
    KnownDynamics,
    Regularizer,
    SemiBanditOREPS,
    potentials,
    scrible_on_occupancies,
)
from aggbandit.learners.occupancy_bandits import OccupancyBandit

WORLDS = {
    "running example": dirichlet(3, 3, 2),
    "deterministic dynamics": deterministic(4, 4, 3),
    "impossible transitions": sparse(3, 5, 2),
    "a grid": ab.layered_grid(3, 4).mdp,
    "states that cannot be met": ab.worlds.chain(5, 3).mdp,
    "a longer horizon": dirichlet(12, 3, 3),
    "one state": dirichlet(3, 1, 3),
    "one step": dirichlet(1, 4, 3),
    "one action": dirichlet(3, 3, 1),
}
KINDS = [OREPS, SemiBanditOREPS]


def scrible(mdp, eta0=0.05):
    return scrible_on_occupancies(mdp, 300, eta0, baseline=mdp.horizon / 2)


def by_u_functions(mdp, visits=None):
    return ab.UFunctionLearner(mdp.n_states, mdp.n_actions, mdp.horizon, visits=visits)


LEARNERS = {
    "O-REPS": lambda mdp: OREPS(mdp, 0.2),
    "O-REPS by steps": lambda mdp: SemiBanditOREPS(mdp, 0.1),
    "FTRL": lambda mdp: FTRL(mdp, Regularizer(20.0, 10.0)),
    "SCRiBLe": scrible,
    "U-functions": lambda mdp: by_u_functions(mdp, KnownDynamics(mdp)),
    "U-functions, counting": by_u_functions,
}


def by_both(make, mdp, losses):
    """The learner, the history and the generator's next number, by each engine."""
    for engine in ("reference", "compiled"):
        learner, rng = make(), np.random.default_rng(5)
        history = ab.simulate(learner, mdp, losses, rng, engine)
        yield learner, history, rng.random()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", WORLDS)
def test_both_engines_tell_the_same_story(name, kind):
    mdp = WORLDS[name]
    (one, slow, after), (two, fast, after_too) = by_both(lambda: kind(mdp, 0.05), mdp, mixed(mdp.shape, 60))
    assert after == after_too
    np.testing.assert_allclose(fast.total_loss, slow.total_loss, atol=1e-12)
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, atol=1e-11)
    met = one.iterate.layers.met  # where absolute errors of the logarithm are relative errors of q
    np.testing.assert_allclose(two.iterate.log_q[met], one.iterate.log_q[met], rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", WORLDS)
def test_a_long_step_is_the_same_from_the_same_place(name, kind):
    """Newton's method is damped then. A chain of such steps from estimates loss/q would magnify rounding."""
    mdp, rng = WORLDS[name], np.random.default_rng(3)
    losses = mixed(mdp.shape, 30)
    one, two = kind(mdp, 3.0), kind(mdp, 3.0)
    run = bridge.EntropyRun(two, mdp, losses)
    met = one.iterate.layers.met
    for k in range(30):
        state = rng.bit_generator.state
        trajectory = mdp.rollout(one.policy(rng), rng)
        one.observe(one.feedback.observe(trajectory, losses[k]))
        rng.bit_generator.state = state
        run.play(k, k + 1, rng)
        np.testing.assert_allclose(two.iterate.log_q[met], one.iterate.log_q[met], rtol=1e-10, atol=1e-10)
        two.restore(one.snapshot())
    assert one.iterate.log_q[met].min() < -10 or mdp.n_actions == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_learner_that_believes_in_another_world(kind):
    """The engine plays in the world that there is, and projects onto the one that the learner knows."""
    believed, truth = ab.worlds.chain(5, 4).mdp, dirichlet(4, 5, 2)
    assert believed.shape == truth.shape
    losses = mixed(truth.shape, 40)
    with np.errstate(divide="ignore"):  # where it believes that nobody comes
        (one, slow, _), (two, fast, _) = by_both(lambda: kind(believed, 0.1), truth, losses)
    np.testing.assert_allclose(fast.total_loss, slow.total_loss, atol=1e-12)
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, atol=1e-11)
    met = one.iterate.layers.met
    np.testing.assert_allclose(two.iterate.log_q[met], one.iterate.log_q[met], rtol=0, atol=1e-10)


def test_what_has_no_projection_is_said_and_changes_nothing(monkeypatch):
    """One Newton step is not enough for a long way; the learner stands where the reference leaves it."""
    mdp = dirichlet(3, 3, 2)
    tables = np.stack([np.zeros(mdp.shape), np.random.default_rng(0).random(mdp.shape)])
    losses = ab.LossSequence(tables, np.array([0, 0, 0, 1]))
    learners = OREPS(mdp, 5.0), OREPS(mdp, 5.0)
    monkeypatch.setattr(potentials, "MOST_STEPS", 1)
    said, left = {"reference": "after 1 Newton steps", "compiled": "episode 3: the projection"}, []
    for learner, (engine, message) in zip(learners, said.items(), strict=True):
        with pytest.raises(NoMinimizer, match=message):
            ab.simulate(learner, mdp, losses, np.random.default_rng(0), engine)
        left.append(learner.snapshot()["log_q"])
    np.testing.assert_allclose(left[0], left[1], rtol=1e-12, atol=1e-12)


def test_what_is_not_finite_has_no_projection():
    mdp = dirichlet(2, 2, 2)
    learner = OREPS(mdp, 1.0)
    learner.iterate.log_q[0, 0, 0] = np.nan
    with pytest.raises(NoMinimizer, match="episode 0"):
        bridge.EntropyRun(learner, mdp, mixed(mdp.shape, 3)).play(0, 3, np.random.default_rng(0))


def test_a_change_of_ones_own_is_played_by_the_reference():
    class Lazy(OREPS):
        """It never learns."""

        def observe(self, feedback):
            pass

    mdp = dirichlet(2, 2, 2)
    assert plays(OREPS(mdp, 0.1))
    assert plays(SemiBanditOREPS(mdp, 0.1))
    assert not plays(Lazy(mdp, 0.1))
    history = ab.simulate(Lazy(mdp, 0.1), mdp, mixed(mdp.shape, 3), np.random.default_rng(0))
    assert history.engine == "reference"


@pytest.mark.parametrize("name", LEARNERS)
def test_the_engines_can_take_turns(name):
    make, mdp = LEARNERS[name], dirichlet(3, 3, 2)
    losses = mixed(mdp.shape, 100)
    turns, straight = make(mdp), make(mdp)
    one, two = np.random.default_rng(2), np.random.default_rng(2)
    for engine in ("compiled", "reference", "compiled"):
        left = ab.simulate(turns, mdp, losses, one, engine)
        right = ab.simulate(straight, mdp, losses, two, "reference")
        np.testing.assert_allclose(left.expected_loss, right.expected_loss, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", LEARNERS)
def test_interrupted_and_resumed_it_is_the_same_to_the_last_bit(name, monkeypatch, tmp_path):
    make, mdp = LEARNERS[name], dirichlet(3, 3, 2)
    losses = mixed(mdp.shape, 300)
    for cells in ("FLOW_CHUNK_CELLS", "U_CHUNK_CELLS"):
        monkeypatch.setattr(bridge, cells, 64 * 18)
    straight = ab.simulate(make(mdp), mdp, losses, np.random.default_rng(0))
    assert straight.engine == "compiled", name
    again = ab.simulate(make(mdp), mdp, losses, np.random.default_rng(0))
    np.testing.assert_array_equal(again.expected_loss, straight.expected_loss, err_msg=name)
    kind = type(bridge.run_of(make(mdp), mdp, losses))
    play, calls = kind.play, []

    def pressing(run, first, last, rng):
        calls.append((first, last))
        if first == 128:
            signal.raise_signal(signal.SIGINT)
        return play(run, first, last, rng)

    monkeypatch.setattr(kind, "play", pressing)
    part = ab.simulate(make(mdp), mdp, losses, np.random.default_rng(0))
    assert (len(part), part.complete, calls) == (192, False, [(0, 64), (64, 128), (128, 192)]), name
    part.save(tmp_path / "run.npz")
    whole = ab.resume(ab.History.load(tmp_path / "run.npz"), make(mdp), mdp, losses)
    np.testing.assert_array_equal(whole.expected_loss, straight.expected_loss, err_msg=name)
    np.testing.assert_array_equal(whole.total_loss, straight.total_loss, err_msg=name)


def test_no_world_makes_it_compile_twice():
    for mdp in (dirichlet(2, 2, 2), WORLDS["a grid"], WORLDS["one state"]):
        for kind in KINDS:
            ab.simulate(kind(mdp, 0.1), mdp, mixed(mdp.shape, 2), np.random.default_rng(0))
            ab.simulate(kind(mdp, 1), mdp, ab.losses.fixed(np.zeros(mdp.shape), 2), np.random.default_rng(0))
        for regularizer in (Regularizer(1, 2), Regularizer(0.0, 2.0)):
            ab.simulate(FTRL(mdp, regularizer), mdp, mixed(mdp.shape, 2), np.random.default_rng(0))
        if mdp.n_actions > 1:
            ab.simulate(scrible(mdp), mdp, mixed(mdp.shape, 2), np.random.default_rng(0))
    assert len(flow_kernels.play_oreps.signatures) == 1
    assert len(flow_kernels.play_ftrl.signatures) == 1
    assert len(flow_kernels.play_scrible.signatures) == 1


# --- FTRL ---------------------------------------------------------------------------------------------------

REGULARIZERS = {
    "log barrier": Regularizer(root=0.0, log=30.0),
    "roots": Regularizer(root=30.0, log=0.0),
    "both": Regularizer(root=20.0, log=10.0),
}


def same_leader(one, two):
    """The same q, and the same sum of estimates and potentials where states are met."""
    met = one.layers.met
    np.testing.assert_allclose(two.occupancy, one.occupancy, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(two.sum_of_estimates[met], one.sum_of_estimates[met], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(two.potential[met], one.potential[met], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("name", WORLDS)
def test_both_engines_tell_the_same_story_of_ftrl(name, regularizer):
    mdp = WORLDS[name]
    (one, slow, after), (two, fast, after_too) = by_both(
        lambda: FTRL(mdp, REGULARIZERS[regularizer]), mdp, mixed(mdp.shape, 40)
    )
    assert (slow.engine, fast.engine) == ("reference", "compiled")
    assert after == after_too
    np.testing.assert_allclose(fast.total_loss, slow.total_loss, atol=1e-12)
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, atol=1e-9)
    same_leader(one, two)


@pytest.mark.parametrize("name", ["running example", "a grid"])
def test_a_long_step_of_ftrl_is_the_same_from_the_same_place(name):
    """Newton's method is damped then, and potentials are brought inside first."""
    mdp, rng = WORLDS[name], np.random.default_rng(3)
    losses = mixed(mdp.shape, 30)
    one, two = (FTRL(mdp, Regularizer(0.3, 0.1)) for _ in range(2))
    run = bridge.LeaderRun(two, mdp, losses)
    for k in range(30):
        state = rng.bit_generator.state
        trajectory = mdp.rollout(one.policy(rng), rng)
        one.observe(one.feedback.observe(trajectory, losses[k]))
        rng.bit_generator.state = state
        run.play(k, k + 1, rng)
        same_leader(one, two)
        two.restore(one.snapshot())
    assert one.occupancy[one.occupancy > 0].min() < 1e-2


def test_ftrl_that_believes_in_another_world():
    believed, truth = ab.worlds.chain(5, 4).mdp, dirichlet(4, 5, 2)
    with np.errstate(divide="ignore", invalid="ignore"):  # where it believes that nobody comes
        (one, slow, _), (two, fast, _) = by_both(
            lambda: FTRL(believed, Regularizer(20.0, 10.0)), truth, mixed(truth.shape, 40)
        )
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, atol=1e-9)
    same_leader(one, two)


def test_a_leader_that_is_not_found_leaves_the_last_one(monkeypatch):
    """Without losses one Newton step is enough, with them it is not."""
    mdp = dirichlet(3, 3, 2)
    tables = np.stack([np.zeros(mdp.shape), np.ones(mdp.shape)])
    losses = ab.LossSequence(tables, np.array([0, 0, 0, 1]))
    learners = [FTRL(mdp, Regularizer(1.0, 0.1)) for _ in range(2)]
    monkeypatch.setattr(potentials, "MOST_STEPS", 1)
    said = {"reference": "after 1 Newton steps", "compiled": "episode 3: the regularized leader"}
    for learner, (engine, message) in zip(learners, said.items(), strict=True):
        with pytest.raises(NoMinimizer, match=message):
            ab.simulate(learner, mdp, losses, np.random.default_rng(0), engine)
    same_leader(*learners)
    assert not learners[1].sum_of_estimates[learners[1].layers.met].any()


def test_a_leader_of_ones_own_is_played_by_the_reference():
    class Lazy(FTRL):
        """It never learns."""

        def observe(self, feedback):
            pass

    mdp = dirichlet(2, 2, 2)
    assert plays(FTRL(mdp, Regularizer(1.0, 1.0)))
    assert not plays(Lazy(mdp, Regularizer(1.0, 1.0)))


# --- SCRiBLe ------------------------------------------------------------------------------------------------

CHOICES = {name: mdp for name, mdp in WORLDS.items() if mdp.n_actions > 1}


@pytest.mark.parametrize("eta0", [0.02, 1e6], ids=["a small rate", "the largest rate"])
@pytest.mark.parametrize("name", CHOICES)
def test_both_engines_tell_the_same_story_of_scrible(name, eta0):
    mdp = CHOICES[name]
    (one, slow, after), (two, fast, after_too) = by_both(
        lambda: scrible(mdp, eta0), mdp, mixed(mdp.shape, 120)
    )
    assert (slow.engine, fast.engine) == ("reference", "compiled")
    assert after == after_too
    np.testing.assert_allclose(fast.total_loss, slow.total_loss, atol=1e-12)
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, atol=1e-9)
    left, right = one.vectors.state, two.vectors.state
    assert (left.eta, left.round) == (right.eta, right.round)
    np.testing.assert_allclose(right.dual, left.dual, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(right.center, left.center, rtol=1e-9, atol=1e-12)


def test_scrible_stays_on_its_slice_and_is_the_same_twice(monkeypatch):
    """Chunks end at the same episodes in every run, whether one looks at it or not."""
    mdp = dirichlet(3, 3, 2)
    losses = mixed(mdp.shape, 20_000)
    one, two = scrible(mdp), scrible(mdp)
    histories = [ab.simulate(learner, mdp, losses, np.random.default_rng(0)) for learner in (one, two)]
    np.testing.assert_array_equal(histories[0].expected_loss, histories[1].expected_loss)
    flow, start = flow_equations(mdp)
    np.testing.assert_allclose(flow @ one.vectors.center, start, rtol=0, atol=1e-14)
    step = one.vectors.barrier.minimize(one.vectors.dual, one.vectors.center)
    np.testing.assert_allclose(one.vectors.center, step.x, rtol=1e-8)


def test_a_step_of_scrible_that_fails_leaves_the_last_one(monkeypatch):
    """Without losses one step is enough, with them it is not."""
    mdp = dirichlet(3, 3, 2)
    tables = np.stack([np.full(mdp.shape, 0.5), np.random.default_rng(0).random(mdp.shape)])
    losses = ab.LossSequence(tables, np.array([0, 0, 0, 1]))
    learner = scrible(mdp)
    center = learner.vectors.center
    monkeypatch.setattr(bridge._newton, "MOST_STEPS", 1)
    with pytest.raises(NoMinimizer, match="episode 3: the mirror step was not found"):
        ab.simulate(learner, mdp, losses, np.random.default_rng(0), "compiled")
    assert learner.vectors.round == 4
    np.testing.assert_allclose(learner.vectors.center, center, atol=1e-9)


def test_what_only_looks_like_scrible_is_played_by_the_reference():
    mdp = dirichlet(2, 2, 2)
    body = ab.known_occupancy_polytope(mdp)
    barrier, flow = ab.LogBarrier(body), flow_equations(mdp)[0]
    other = ab.known_occupancy_polytope(dirichlet(2, 2, 3))
    twice = ab.Polytope(2 * body.A, body.b, body.C, body.d)

    def learner(barrier=barrier, bound=2.0, schedule=None):
        schedule = ab.ConstantRate() if schedule is None else schedule
        return OccupancyBandit(mdp, ab.IncreasingRateOMD(barrier, 10, bound, eta0=0.1, schedule=schedule))

    assert plays(learner())
    assert not plays(learner(schedule=ab.IncreasingRate()))
    assert not plays(learner(bound=3.0))
    assert not plays(learner(barrier=ab.LogBarrier(twice)))
    assert not plays(ab.learners.exp2_on_occupancies(mdp, 5_000))
    assert flow.shape == (3, 6)
    assert is_known_occupancy_polytope(body, mdp)
    assert not is_known_occupancy_polytope(other, mdp)
