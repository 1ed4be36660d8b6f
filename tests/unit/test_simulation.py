"""Playing a learner against a world."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import simulation

WORLD = ab.night_driver()
DRY, RAIN = WORLD.loss, WORLD.other_losses["rain"]
MIXED = ab.losses.switching([DRY, RAIN], 60, at=[25])


class Recorder:
    """Plays a random policy and keeps what it was shown."""

    def __init__(self, feedback):
        self.feedback = feedback
        self.seen = []
        self.played = []

    def policy(self, rng):
        self.played.append(rng.dirichlet([1.0, 1.0], size=(3, 3)))
        return self.played[-1]

    def observe(self, feedback):
        self.seen.append(feedback)


@pytest.mark.parametrize("kind", [ab.AggregateFeedback, ab.StepFeedback, ab.FullFeedback])
def test_an_episode_is_policy_trajectory_feedback(kind):
    """The history is recomputed from the definitions, and the randomness is drawn in the promised order."""
    learner = Recorder(kind)
    history = ab.simulate(learner, WORLD.mdp, MIXED, np.random.default_rng(4))
    again = np.random.default_rng(4)
    replay = Recorder(kind)
    best, value = WORLD.mdp.best_policy(25 * DRY + 35 * RAIN)
    assert history.best_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(history.best_policy, best)
    for k, feedback in enumerate(learner.seen):
        assert type(feedback) is kind
        policy = replay.policy(again)
        np.testing.assert_array_equal(policy, learner.played[k])
        trajectory = WORLD.mdp.rollout(policy, again)
        np.testing.assert_array_equal(trajectory.states, feedback.trajectory.states)
        loss = DRY if k < 25 else RAIN
        assert history.total_loss[k] == trajectory.total(loss)
        assert history.expected_loss[k] == pytest.approx(WORLD.mdp.expected_loss(policy, loss), abs=1e-13)
        assert history.comparator_loss[k] == pytest.approx(WORLD.mdp.expected_loss(best, loss), abs=1e-13)
    assert len(history) == len(learner.seen) == 60
    np.testing.assert_allclose(history.regret()[-1], history.expected_loss.sum() - value, rtol=1e-12)
    assert repr(history).startswith("History(episodes=60, regret=")


def test_the_same_seed_gives_the_same_bits():
    first, second = (
        ab.simulate(Recorder(ab.AggregateFeedback), WORLD.mdp, MIXED, np.random.default_rng(9))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.total_loss, second.total_loss)
    np.testing.assert_array_equal(first.regret(), second.regret())


def test_the_best_policy_has_no_regret_and_the_uniform_one_pays_each_time():
    losses = ab.losses.fixed(DRY, 100)
    best, value = WORLD.mdp.best_policy(DRY)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(
        ab.simulate(ab.FixedPolicy(best), WORLD.mdp, losses, rng).regret(), 0.0, atol=1e-12
    )
    uniform = ab.uniform_policy(WORLD.mdp)
    gap = WORLD.mdp.expected_loss(uniform, DRY) - value
    history = ab.simulate(ab.FixedPolicy(uniform), WORLD.mdp, losses, rng)
    np.testing.assert_allclose(history.regret(), gap * np.arange(1, 101), rtol=1e-12)


def test_realized_losses_average_to_expected_ones():
    losses = ab.losses.fixed(DRY, 4000)
    history = ab.simulate(
        ab.FixedPolicy(ab.uniform_policy(WORLD.mdp)), WORLD.mdp, losses, np.random.default_rng(11)
    )
    error = history.total_loss.std(ddof=1) / np.sqrt(4000)
    assert abs(history.total_loss.mean() - history.expected_loss.mean()) <= 4 * error


def test_the_leader_does_well_when_nobody_aims_at_it():
    losses = ab.losses.fixed(DRY, 200)
    history = ab.simulate(ab.FollowTheLeader(WORLD.mdp), WORLD.mdp, losses, np.random.default_rng(1))
    assert history.regret()[-1] == pytest.approx(history.regret()[0], abs=1e-9)


def test_the_leader_is_ruined_by_losses_aimed_at_it():
    """It pays H in every episode, and the best fixed policy at most H / A: linear regret."""
    losses = ab.learners.losses_against_the_leader(WORLD.mdp, 400)
    rng = np.random.default_rng(1)
    history = ab.simulate(ab.FollowTheLeader(WORLD.mdp), WORLD.mdp, losses, rng)
    np.testing.assert_allclose(history.expected_loss, 3.0, atol=1e-12)
    np.testing.assert_allclose(history.total_loss, 3.0, atol=1e-12)
    assert history.regret()[-1] >= (1 - 1 / 2) * 3 * 400 - 1e-9
    tossing = ab.simulate(ab.FixedPolicy(ab.uniform_policy(WORLD.mdp)), WORLD.mdp, losses, rng)
    np.testing.assert_allclose(tossing.expected_loss, 1.5, atol=1e-12)


def test_what_cannot_be_played_is_refused_before_it_starts():
    rng, untouched = np.random.default_rng(0), np.random.default_rng(0)
    learner = Recorder(ab.AggregateFeedback)
    with pytest.raises(
        ValueError, match="engine is 'fast'; it must be one of 'auto', 'compiled', 'reference'"
    ):
        ab.simulate(learner, WORLD.mdp, MIXED, rng, engine="fast")
    with pytest.raises(ValueError, match=r"losses have tables of shape \(2, 3, 2, 3\)"):
        ab.simulate(learner, WORLD.mdp, ab.losses.fixed(DRY[:2], 5), rng)
    with pytest.raises(ValueError, match=r"learner\.feedback is <class 'float'>; it must be one of"):
        ab.simulate(Recorder(float), WORLD.mdp, MIXED, rng)
    assert not learner.played
    assert not learner.seen
    assert rng.bit_generator.state == untouched.bit_generator.state


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_learner_made_for_something_else_is_refused_before_it_starts(engine):
    mdp = ab.random_mdp(2, 2, 2, np.random.default_rng(0))
    elsewhere = ab.FiniteHorizonMDP(mdp.transitions, initial_state=1)
    losses = ab.losses.fixed(np.full(mdp.shape, 0.5), 5)
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    for world, episodes, error, words in (
        (elsewhere, 5, ValueError, "from state 0; the world has .* from state 1"),
        (mdp, 4, RuntimeError, "5 more episodes after 0; the learner was made for 4 in all"),
    ):
        learner = ab.AggregateFeedbackLearner(2, 2, 2, episodes, rates=ab.tuned_rates())
        with pytest.raises(error, match=words):
            ab.simulate(learner, world, losses, rng, engine)
        assert learner.episode == 0
    assert rng.bit_generator.state == before


def test_a_learner_that_returns_no_policy_is_stopped():
    class Careless:
        feedback: ClassVar = ab.AggregateFeedback

        def policy(self, rng):
            return np.ones((3, 3, 2))

        def observe(self, feedback):
            raise AssertionError("nothing was played")

    with pytest.raises(ValueError, match=r"policy\[0, 0\] sums to 2; each row must sum to one"):
        ab.simulate(Careless(), WORLD.mdp, MIXED, np.random.default_rng(0))


def test_bad_fixed_policies_and_losses_are_named():
    with pytest.raises(ValueError, match=r"policy has shape \(3, 2\)"):
        ab.FixedPolicy(np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match=r"policy\[0, 0\] sums to 2"):
        ab.FixedPolicy(np.ones((3, 3, 2)))
    leader = ab.FollowTheLeader(WORLD.mdp)
    short = ab.FullFeedback(ab.Trajectory([0, 0, 0], [0, 0], 3, 2), DRY[:2])
    with pytest.raises(ValueError, match=r"loss has shape \(2, 3, 2, 3\)"):
        leader.observe(short)
    assert not leader.total_loss.any()


# --- likely slips ----------------------------------------------------------------------------------------


def test_a_world_is_as_good_as_its_mdp():
    coin = ab.FixedPolicy(ab.uniform_policy(WORLD.mdp))
    one = ab.simulate(coin, WORLD, MIXED, np.random.default_rng(3))
    two = ab.simulate(coin, WORLD.mdp, MIXED, np.random.default_rng(3))
    np.testing.assert_array_equal(one.total_loss, two.total_loss)


@pytest.mark.parametrize(
    ("slip", "error", "words"),
    [
        (
            {"learner": ab.FixedPolicy},
            TypeError,
            r"learner is the class FixedPolicy; make one: FixedPolicy\(\.\.\.\)",
        ),
        (
            {"learner": WORLD, "world": Recorder(ab.AggregateFeedback)},
            TypeError,
            "has no feedback; a learner has",
        ),
        ({"learner": None}, TypeError, "learner is None, a NoneType, which has no feedback"),
        (
            {"world": "night driver"},
            TypeError,
            "world is 'night driver', a str; it must be a FiniteHorizonMDP",
        ),
        ({"world": WORLD.mdp.transitions}, TypeError, "world is a ndarray; it must be a FiniteHorizonMDP"),
        ({"losses": DRY}, TypeError, r"losses is a ndarray; .*: ab\.losses\.fixed\(losses, episodes\)"),
        (
            {"losses": MIXED.tables},
            TypeError,
            r"losses is a ndarray; .*: ab\.LossSequence\(losses, schedule\)",
        ),
        ({"losses": 60}, TypeError, r"losses is 60, a int; it must be a LossSequence"),
        ({"rng": 0}, TypeError, r"rng=np\.random\.default_rng\(0\)"),
        ({"rng": None}, TypeError, r"rng is None; .*rng=np\.random\.default_rng\(seed\)"),
        (
            {"rng": np.random.RandomState(0)},
            TypeError,
            r"a RandomState; .*rng=np\.random\.default_rng\(seed\)",
        ),
        ({"engine": None}, ValueError, "engine is None; it must be one of 'auto', 'compiled', 'reference'"),
        ({"engine": ["auto"]}, ValueError, r"engine is \['auto'\]; it must be one of"),
        ({"every": 2.0}, ValueError, r"every is 2\.0; it must be an integer of at least 1"),
    ],
)
def test_a_slip_is_told_what_to_write(slip, error, words):
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    arguments = {
        "learner": Recorder(ab.AggregateFeedback),
        "world": WORLD,
        "losses": MIXED,
        "rng": rng,
    } | slip
    with pytest.raises(error, match=words):
        ab.simulate(**arguments)
    assert rng.bit_generator.state == before


def test_a_path_is_no_history():
    with pytest.raises(TypeError, match=r"history is 'run\.npz', a str; write ab\.History\.load\(path\)"):
        ab.resume("run.npz", Recorder(ab.AggregateFeedback), WORLD, MIXED)


def test_what_a_learner_refuses_is_not_begun():
    class Choosy(Recorder):
        def check_run(self, mdp, episodes):
            raise ValueError(f"{episodes} episodes of {mdp.horizon} steps are too much")

    rng = np.random.default_rng(0)
    before, learner = rng.bit_generator.state, Choosy(ab.AggregateFeedback)
    with pytest.raises(ValueError, match="60 episodes of 3 steps are too much"):
        ab.simulate(learner, WORLD, MIXED, rng)
    assert not learner.played
    assert rng.bit_generator.state == before


def test_a_policy_that_its_learner_goes_on_writing_to_is_charged_as_it_was_played():
    class InPlace(Recorder):
        def __init__(self):
            super().__init__(ab.AggregateFeedback)
            self.now = np.empty((3, 3, 2))

        def policy(self, rng):
            self.now[:] = super().policy(rng)
            return self.now

        def observe(self, feedback):
            self.now[:] = 0.5

    one = ab.simulate(InPlace(), WORLD, MIXED, np.random.default_rng(4))
    two = ab.simulate(Recorder(ab.AggregateFeedback), WORLD, MIXED, np.random.default_rng(4))
    np.testing.assert_array_equal(one.expected_loss, two.expected_loss)


# --- one run at a time -----------------------------------------------------------------------------------


class Waiting(Recorder):
    """Says when it has begun, and waits."""

    def __init__(self):
        super().__init__(ab.AggregateFeedback)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def policy(self, rng):
        self.begun.set()
        assert self.go_on.wait(60)
        return super().policy(rng)


def test_learner_and_generator_serve_one_run_at_a_time():
    alone = ab.simulate(Recorder(ab.AggregateFeedback), WORLD, MIXED, np.random.default_rng(4))
    learner, rng = Waiting(), np.random.default_rng(4)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(ab.simulate, learner, WORLD, MIXED, rng)
        assert learner.begun.wait(60)
        with pytest.raises(
            RuntimeError, match="this Waiting is being played by another run; each run needs its own"
        ):
            ab.simulate(learner, WORLD, MIXED, np.random.default_rng(0))
        other = Recorder(ab.AggregateFeedback)
        shared = np.random.Generator(rng.bit_generator)
        with pytest.raises(RuntimeError, match=r"this generator is being used by a run in another thread"):
            ab.simulate(other, WORLD, MIXED, shared)
        assert not other.played
        learner.go_on.set()
        np.testing.assert_array_equal(run.result().total_loss, alone.total_loss)
    # Both are free again.
    assert ab.simulate(learner, WORLD, MIXED, rng).complete


def test_a_run_may_hold_a_run_of_another_learner():
    """Somebody plans ahead with the same generator: one thread, so the order of the draws is certain."""

    class Planning(Recorder):
        def policy(self, rng):
            ab.simulate(Recorder(ab.AggregateFeedback), WORLD, ab.losses.fixed(DRY, 2), rng)
            return super().policy(rng)

    one, two = (
        ab.simulate(Planning(ab.AggregateFeedback), WORLD, MIXED, np.random.default_rng(4)) for _ in range(2)
    )
    np.testing.assert_array_equal(one.total_loss, two.total_loss)


def test_a_learner_whose_run_failed_is_free_again():
    class Failing(Recorder):
        def observe(self, feedback):
            raise ArithmeticError("once")

    learner, rng = Failing(ab.AggregateFeedback), np.random.default_rng(0)
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="once"):
            ab.simulate(learner, WORLD, MIXED, rng)


# --- a long run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "stopping"),
    [
        ("linux", "Ctrl-C keeps what was played until then"),
        ("emscripten", "stopped before its end, this run keeps nothing"),
    ],
)
def test_a_long_run_says_so_once(monkeypatch, caplog, platform, stopping):
    """A clock that goes a second an episode: the 600 that are left after two take about ten minutes."""
    monkeypatch.setattr(simulation.sys, "platform", platform)
    clock = itertools.count()
    monkeypatch.setattr(simulation.time, "monotonic", lambda: float(next(clock)))
    learner = Recorder(ab.AggregateFeedback)
    ab.simulate(learner, WORLD, MIXED, np.random.default_rng(0))
    assert not caplog.records
    ab.simulate(learner, WORLD, ab.losses.fixed(DRY, 602), np.random.default_rng(0))
    assert [record.getMessage() for record in caplog.records] == [
        f"600 episodes will take about 10 minutes, at 1 seconds each; {stopping}"
    ]


def test_a_long_run_of_the_reduction_says_so_before_it_begins(caplog):
    """Its cost is known: a hundred million episodes take hours, and not one need be played to say so."""

    def stop(dual):
        raise KeyboardInterrupt

    for episodes, said in ((1_000, 0), (10_000_000, 1)):
        mdp = ab.random_mdp(2, 2, 2, np.random.default_rng(0))
        losses = ab.LossSequence(np.full((1, *mdp.shape), 0.5), np.zeros(episodes, dtype=np.int32))
        learner = ab.AggregateFeedbackLearner(2, 2, 2, episodes, rates=ab.tuned_rates())
        learner.between_epochs = stop
        caplog.clear()
        with pytest.raises(KeyboardInterrupt):
            ab.simulate(learner, mdp, losses, np.random.default_rng(0), "reference")
        assert len(caplog.records) == said
    assert "10,000,000 episodes will take about" in caplog.text
