"""Algorithm 3, line by line."""

import copy
import functools
import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.learners.identity import NAMELESS, described
from aggbandit.learners.in_use import claimed

WORLD = ab.night_driver()
SHAPE = WORLD.mdp.shape
TUNED = {"rates": ab.tuned_rates()}


def learner(K, **choices):
    return ab.AggregateFeedbackLearner(3, 2, 3, K, initial_state=WORLD.mdp.initial_state, **(TUNED | choices))


def play(agent, episodes, rng, loss=WORLD.loss):
    for _ in range(episodes):
        trajectory = WORLD.mdp.rollout(agent.policy(rng), rng)
        yield agent.epoch, trajectory, agent.observe(ab.AggregateFeedback.observe(trajectory, loss))


def test_epochs_count_and_double_as_the_algorithm_says(rng):
    """Lines 1-14 replayed from the trajectories alone."""
    agent = learner(300)
    counts, in_epoch, index, first = np.zeros(SHAPE, int), np.zeros(SHAPE, int), 1, 0
    for k, (epoch, trajectory, _) in enumerate(play(agent, 300, rng)):
        assert (epoch.index, epoch.first_episode) == (index, first)
        np.testing.assert_array_equal(epoch.counts, counts)
        visits = np.maximum(counts.sum(axis=-1), 1)
        P_hat = counts / visits[..., None]
        seen = counts.sum(axis=-1) > 0
        np.testing.assert_allclose(epoch.body.P_hat[seen], P_hat[seen])
        np.testing.assert_allclose(
            epoch.epsilon, ab.theory.printed_epsilon(counts.astype(float), 300, 1 / 900)
        )
        np.testing.assert_allclose(epoch.body.radius[seen], epoch.epsilon[seen] / 6)
        in_epoch += trajectory.indicator().astype(int)
        if not (in_epoch.sum(axis=-1) < visits).all():
            counts, in_epoch, index, first = counts + in_epoch, np.zeros(SHAPE, int), index + 1, k + 1
    assert len(agent.epochs) == index <= ab.epochs.most_epochs(3, 2, 3, 300)
    assert sum(summary.episodes for summary in agent.epochs) == 300


def test_the_policy_is_that_of_a_point_of_the_set_drawn_by_algorithm_2(rng):
    """Lines 8 and 9: y_k from the Dikin ellipsoid of S_i at the minimizer, and its policy."""
    agent = learner(60)
    for _ in play(agent, 40, rng):
        pass
    center, barrier = agent.state.center, ab.OccupancyBarrier(agent.epoch.body)
    again = np.random.default_rng(5)
    y = barrier.dikin(center).sample(again)
    agent.epoch.body.check(y, tolerance=1e-12)
    np.testing.assert_allclose(agent.policy(np.random.default_rng(5)), ab.policy_of(y), atol=1e-12)


def test_the_estimate_and_the_step_are_those_of_algorithm_2(rng):
    agent = learner(200, between_epochs=ab.epochs.carry, baseline=ab.RunningMean())
    totals, dual = [], np.zeros(SHAPE)
    for epoch, trajectory, played in play(agent, 60, rng):
        baseline = np.mean(totals) if totals else 1.5
        total = trajectory.total(WORLD.loss)
        totals.append(total)
        barrier = ab.OccupancyBarrier(epoch.body)
        estimate = 35 * (total - baseline) * barrier.dikin(played.x).apply(played.y - played.x)
        np.testing.assert_allclose(played.estimate, estimate, atol=1e-9 * np.abs(estimate).max())
        assert played.z_hat_epsilon == pytest.approx(epoch.epsilon[trajectory.cells[:3]].sum())
        assert epoch.eta0 <= played.eta <= 2 * epoch.eta0 * (1 + 1e-12)
        dual = dual + played.eta * estimate
        best = barrier.minimize(dual, epoch.body.interior_point()).x
        np.testing.assert_allclose(played.next_x, best, atol=1e-6)


@pytest.mark.parametrize("between", [ab.epochs.restart, ab.epochs.carry])
def test_what_happens_between_epochs_is_what_was_chosen(rng, between):
    agent = learner(200, between_epochs=between)
    index, dual = 1, np.zeros(SHAPE)
    for epoch, _, played in play(agent, 30, rng):
        if epoch.index > index:
            dual = between(dual)
            start = ab.OccupancyBarrier(epoch.body).minimize(dual, epoch.body.interior_point()).x
            np.testing.assert_allclose(played.x, start, atol=1e-6)
            np.testing.assert_allclose(epoch.dual, dual, atol=1e-12)
        index, dual = epoch.index, dual + played.eta * played.estimate
    assert index > 5
    assert np.abs(ab.epochs.restart(dual)).max() == 0
    np.testing.assert_array_equal(ab.epochs.carry(dual), dual)


def test_rates_are_the_presets_and_the_cap_is_recorded():
    few, many = learner(50), learner(10**7)
    assert few.epoch.eta0_capped
    assert few.epoch.eta0 == pytest.approx(ab.theory.eta0_cap(35, 3.0))
    assert not many.epoch.eta0_capped
    theta = ab.OccupancyBarrier(many.epoch.body).theta
    assert many.epoch.eta0 == pytest.approx(np.sqrt(theta * np.log(3e7) / 1e7) / (35 * 3))
    triple = learner(10**7, rates=ab.tuned_rates(3.0))
    assert triple.epoch.eta0 == pytest.approx(3 * many.epoch.eta0)
    theorem = learner(10**7, rates=ab.theorem_rates())
    assert theorem.epoch.eta0 == ab.theory.eta0(35, theta, 3.0, 10**7, theorem.epoch.budget)
    assert theorem.epoch.eta0 < 1e-3 * many.epoch.eta0


def test_the_theorems_rate_never_meets_its_clip_and_a_tuned_one_does(rng):
    theorem, tuned = learner(200, rates=ab.theorem_rates()), learner(200)
    for agent in (theorem, tuned):
        for _ in play(agent, 200, rng):
            pass
    assert sum(summary.clipped for summary in theorem.epochs) == 0
    assert sum(summary.clipped for summary in tuned.epochs) > 100


def test_a_constant_schedule_stays_constant(rng):
    agent = learner(100, rates=ab.tuned_rates(1.0, ab.ConstantRate(2.0)))
    for epoch, _, played in play(agent, 40, rng):
        assert played.eta == 2 * epoch.eta0


def test_it_learns(rng):
    """With rates outside the theorem, the last tenth of twenty thousand episodes is cheaper than the
    first."""
    mdp = ab.random_mdp(2, 2, 2, rng)
    loss = rng.random(mdp.shape)
    K = 20_000
    agent = ab.AggregateFeedbackLearner(
        2, 2, 2, K, rates=ab.tuned_rates(3.0), between_epochs=ab.epochs.carry, baseline=ab.RunningMean()
    )
    history = ab.simulate(agent, mdp, ab.losses.fixed(loss, K), rng)
    tenths = history.expected_loss.reshape(10, -1).mean(axis=1)
    _, best = mdp.best_policy(loss)
    assert tenths[-1] - best < 0.7 * (tenths[0] - best)


@pytest.mark.parametrize("K", [1, 2])
def test_very_short_runs(rng, K):
    for rates in (ab.tuned_rates(), ab.theorem_rates()):
        agent = learner(K, rates=rates)
        assert (
            len(ab.simulate(agent, WORLD.mdp, ab.losses.fixed(WORLD.loss, K), rng, engine="reference")) == K
        )
    one = ab.AggregateFeedbackLearner(2, 2, 1, 1, **TUNED)
    ab.simulate(
        one, ab.random_mdp(2, 2, 1, rng), ab.losses.fixed(np.ones((1, 2, 2, 2)), 1), rng, engine="reference"
    )


def test_a_world_with_nothing_to_choose(rng):
    agent = ab.AggregateFeedbackLearner(1, 1, 2, 5, **TUNED)
    mdp = ab.FiniteHorizonMDP(np.ones((2, 1, 1, 1)))
    history = ab.simulate(agent, mdp, ab.losses.fixed(np.full(mdp.shape, 0.5), 5), rng, engine="reference")
    np.testing.assert_allclose(history.expected_loss, 1.0)
    assert len(agent.epochs) == 4  # visits 1, 2 and 4 end an epoch


def test_a_state_can_be_written_down_and_taken_up(rng):
    agent, fresh = learner(200, between_epochs=ab.epochs.carry), learner(200, between_epochs=ab.epochs.carry)
    for _ in play(agent, 70, rng):
        pass
    fresh.restore(agent.snapshot())
    assert fresh.epochs == agent.epochs
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    for (_, _, left), (_, _, right) in zip(play(agent, 20, one), play(fresh, 20, two), strict=True):
        np.testing.assert_array_equal(left.next_x, right.next_x)
        assert left.eta == right.eta
    with pytest.raises(ValueError, match=r"the state is of a learner with .*between_epochs=carry"):
        learner(200).restore(agent.snapshot())


def test_what_is_wrong_is_named_before_anything_changes(rng):
    agent = learner(3)
    trajectory = WORLD.mdp.rollout(ab.uniform_policy(WORLD.mdp), rng)
    with pytest.raises(RuntimeError, match="observe was called before policy"):
        agent.observe(ab.AggregateFeedback(trajectory, 1.0))
    agent.policy(rng)
    with pytest.raises(ValueError, match=r"loss_value is 3\.5; the observed loss must lie in \[0, 3\.0\]"):
        agent.observe(ab.AggregateFeedback(trajectory, 3.5))
    other = ab.Trajectory(np.zeros(3, int), np.zeros(2, int), 3, 2)
    with pytest.raises(ValueError, match=r"the trajectory has shape \(2, 3, 2, 3\)"):
        agent.observe(ab.AggregateFeedback(other, 1.0))
    assert agent.episode == 0
    assert agent.in_epoch.sum() == 0
    agent.observe(ab.AggregateFeedback(trajectory, 1.0))
    for _ in play(agent, 2, rng):
        pass
    with pytest.raises(RuntimeError, match="1 more episodes after 3; the learner was made for 3 in all"):
        agent.policy(rng)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_states": 0}, "n_states is 0; it must be an integer of at least 1"),
        ({"episodes": 2.5}, "episodes is 2.5"),
        ({"initial_state": 3}, "initial_state is 3; it must be a state 0..2"),
        ({"initial_state": 0.5}, "initial_state is 0.5; it must be a state 0..2"),
        ({"baseline": 4.0}, r"baseline is 4.0; it must lie in \[0, 3\]"),
    ],
)
def test_a_learner_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        ab.AggregateFeedbackLearner(
            **({"n_states": 3, "n_actions": 2, "horizon": 3, "episodes": 9} | TUNED | change)
        )


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf])
def test_a_rate_that_is_none_is_refused(scale):
    with pytest.raises(ValueError, match=r"scale is .*; it must be positive and finite"):
        ab.tuned_rates(scale)


@dataclass(frozen=True)
class GivenRate:
    """A preset of one's own: any first rate."""

    value: float
    schedule: object = ab.IncreasingRate()

    def eta0(self, dimension, theta, loss_bound, episodes, budget):
        return self.value


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_first_rate_that_is_none_is_refused_before_it_starts(value):
    with pytest.raises(ValueError, match=r"eta0 is .*; a learning rate must be positive and finite"):
        learner(9, rates=GivenRate(value))


class Shifted(ab.CorrectedConfidence):
    """Radii as they are, perturbations moved."""

    def __init__(self, epsilon):
        super().__init__()
        object.__setattr__(self, "moved", epsilon)

    def epsilon(self, counts, episodes):
        return self.moved

    def radius(self, counts, episodes):
        return ab.CorrectedConfidence().radius(counts, episodes)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (np.full((3, 3, 2), np.nan), r"epsilon\[0, 0, 0\] is nan; every entry must be finite"),
        (np.full((3, 3, 2), -1.0), r"epsilon\[0, 0, 0\] is -1; a perturbation must not be negative"),
        (np.ones((1, 3, 2)), r"epsilon has shape \(1, 3, 2\)"),
    ],
)
def test_a_perturbation_that_is_none_is_refused_before_it_starts(epsilon, message):
    with pytest.raises(ValueError, match=message):
        learner(9, confidence=Shifted(epsilon))


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_what_is_carried_between_epochs_is_checked(engine, rng):
    losses = ab.losses.fixed(WORLD.loss, 9)
    with pytest.raises(ValueError, match=r"between_epochs\(dual\)\[0, 0, 0, 0\] is nan; every entry must be"):
        ab.simulate(
            learner(9, between_epochs=lambda dual: dual * np.nan), WORLD.mdp, losses, rng, engine=engine
        )


def test_a_trajectory_from_elsewhere_is_refused(rng):
    agent = learner(3)
    agent.policy(rng)
    start = WORLD.mdp.initial_state
    states = np.full(4, (start + 1) % 3)
    with pytest.raises(ValueError, match=f"the trajectory starts in state {states[0]}; .* in {start}"):
        agent.observe(ab.AggregateFeedback(ab.Trajectory(states, np.zeros(3, int), 3, 2), 1.0))
    assert agent.episode == 0


def test_a_total_is_checked_also_where_there_is_nothing_to_learn():
    agent = ab.AggregateFeedbackLearner(1, 1, 2, 5, **TUNED)
    trajectory = ab.Trajectory(np.zeros(3, int), np.zeros(2, int), 1, 1)
    with pytest.raises(ValueError, match=r"loss_value is 7\.0; the observed loss must lie in \[0, 2\.0\]"):
        agent.observe(ab.AggregateFeedback(trajectory, 7.0))
    assert agent.episode == 0


def test_sizes_may_be_numpys_integers(rng):
    """They say the same, also in a state that was written down."""
    sizes = np.array([3, 2, 3, 9])
    agent = ab.AggregateFeedbackLearner(*sizes, **TUNED, initial_state=np.int64(1))
    ab.AggregateFeedbackLearner(3, 2, 3, 9, **TUNED, initial_state=1).restore(agent.snapshot())


# --- what a learner was made with ---------------------------------------------------------------------------


def halve(dual):
    return dual / 2


def third(dual):
    return dual / 3


@dataclass(frozen=True)
class OwnRate:
    """A schedule of one's own."""

    factor: float = 1.0

    def next_rate(self, previous, eta0, dimension, z_hat_epsilon):
        return ab.ConstantRate(self.factor).next_rate(previous, eta0, dimension, z_hat_epsilon)


@pytest.mark.parametrize(
    "choices",
    [
        ({"rates": ab.tuned_rates(3)}, {"rates": ab.tuned_rates(np.float64(3.0))}),
        ({"baseline": 1}, {"baseline": np.float32(1.0)}),
        ({"between_epochs": halve}, {"between_epochs": halve}),
        ({"rates": ab.tuned_rates(1, OwnRate(1))}, {"rates": ab.tuned_rates(1.0, OwnRate(1.0))}),
        ({"confidence": None}, {"confidence": ab.CorrectedConfidence()}),
    ],
)
def test_the_same_by_value_is_the_same(choices):
    one, two = (learner(9, **choice) for choice in choices)
    assert one.arguments == two.arguments
    two.restore(one.snapshot())


@pytest.mark.parametrize(
    "choices",
    [
        ({"rates": ab.tuned_rates(3)}, {"rates": ab.tuned_rates(3.1)}),
        ({"rates": ab.tuned_rates(1, OwnRate(1))}, {"rates": ab.tuned_rates(1, OwnRate(2))}),
        ({"between_epochs": halve}, {"between_epochs": third}),
        ({"between_epochs": halve}, {"between_epochs": ab.epochs.carry}),
        ({"confidence": ab.TightConfidence(0.1)}, {"confidence": ab.TightConfidence(0.2)}),
        ({"baseline": 0.0}, {"baseline": ab.RunningMean()}),
    ],
)
def test_something_else_is_something_else(choices):
    one, two = (learner(9, **choice) for choice in choices)
    with pytest.raises(ValueError, match=r"the state is of a learner with .*; this one has "):
        two.restore(one.snapshot())


def test_two_lambdas_do_not_pass_for_one_another():
    """Nor does what `functools.wraps` gave another's name, or what a function has made: nobody can tell."""

    def local(dual):
        return dual

    for between in (lambda dual: dual / 2, local, functools.wraps(ab.epochs.carry)(lambda dual: 0 * dual)):
        assert NAMELESS in described(between)
        agent = learner(9, between_epochs=between)
        with pytest.raises(ValueError, match=r"nobody can tell .* top level of a module or notebook"):
            agent.restore(agent.snapshot())


def test_a_function_is_known_by_its_code():
    """The same name with another body, as after an edit, is another function."""
    before = described(halve)
    code = halve.__code__
    try:
        halve.__code__ = third.__code__
        assert described(halve) != before
    finally:
        halve.__code__ = code
    assert described(halve) == before


def test_a_snapshot_shares_nothing(rng):
    agent = learner(60, between_epochs=ab.epochs.carry)
    for _ in play(agent, 20, rng):
        pass
    agent.policy(rng)
    mine = [agent.epoch.counts, agent.in_epoch, agent.epoch.dual, agent.state.center, agent.state.dual]
    for value in agent.snapshot().values():
        assert not any(np.shares_memory(value, array) for array in mine)
    snapshot = agent.snapshot()
    fresh = learner(60, between_epochs=ab.epochs.carry)
    fresh.restore(snapshot)
    for value in snapshot.values():
        if value.dtype.kind in "if":
            value[...] = 7
    np.testing.assert_array_equal(fresh.state.dual, agent.state.dual)
    np.testing.assert_array_equal(fresh.epoch.counts, agent.epoch.counts)


def add(where, much):
    def change(value):
        value[where] += much
        return value

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("dual", lambda value: value * np.nan, r"dual\[0, 0, 0, 0\] is nan"),
        ("dual", lambda value: np.array(0.0), r"dual has shape \(\)"),
        ("first_dual", lambda value: value * np.nan, r"first_dual\[0, 0, 0, 0\] is nan"),
        ("center", add((1, 0, 0, 0), 1e-6), "flow|mass|leaves|arrives"),
        ("center", lambda value: -value, "must not be negative|positive"),
        ("center", lambda value: np.zeros(0), "the center is missing after"),
        ("counts", add((1, 0, 0, 0), 1), r"counts has .* visits of state 0 in step 1"),
        ("counts", lambda value: -value, r"counts\["),
        ("counts", lambda value: value.astype(float), "counts has entries of type float64"),
        ("in_epoch", add((2, 0, 0, 0), 1), "in_epoch has .* visits of state"),
        ("counters", add(0, 1), "visits in the first step"),
        ("counters", add(0, 10_000), "an epoch from .* cannot be"),
        ("counters", add(2, 10_000), "rates clipped in .* cannot be"),
        ("counters", add(4, 10_000), "Newton steps damped"),
        ("counters", lambda value: value[:-1], r"counters has shape \(4,\)"),
        ("scalars", lambda value: np.array([np.nan, value[1]]), "eta is nan"),
        ("scalars", lambda value: np.array([value[0], 1e9]), "sum_of_totals is 1000000000"),
        ("finished", lambda value: value[1:], r"finished\[0\] is epoch 2"),
        ("finished", lambda value: value[:-1], "the finished epochs have"),
        ("finished", lambda value: value * np.nan, r"finished\[0, 0\] is nan"),
        ("arguments", lambda value: value[:-1], "a learner with 8 arguments; expected 9"),
    ],
)
def test_a_state_that_no_run_has_left_is_refused_before_anything_changes(name, change, message):
    agent, rng = learner(200, between_epochs=ab.epochs.carry), np.random.default_rng(4)
    for _ in play(agent, 60, rng):
        pass
    while agent.episode == agent.epoch.first_episode:  # in the middle of an epoch
        list(play(agent, 1, rng))
    wrong, before = agent.snapshot(), agent.snapshot()
    wrong[name] = change(wrong[name])
    with pytest.raises(ValueError, match=message):
        agent.restore(wrong)
    for key, value in agent.snapshot().items():
        np.testing.assert_array_equal(value, before[key])


# --- one learner, one run -----------------------------------------------------------------------------------


def test_a_learner_is_not_shared_by_two_threads():
    """Another thread's step is refused by name, while a run lasts and while a step lasts."""
    agent, entered, go_on, seen = learner(50), threading.Event(), threading.Event(), []

    def wait(dual):
        entered.set()
        go_on.wait(60)
        return dual

    agent.between_epochs = wait

    def work():
        seen.extend(episode for episode in play(agent, 1, np.random.default_rng(0)))

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(60)
    refused = []
    for step in (lambda: agent.policy(np.random.default_rng(1)), agent.snapshot):
        try:
            step()
        except ab.learners.LearnerInUse as error:
            refused.append(str(error))
    go_on.set()
    thread.join()
    assert len(refused) == 2
    assert "AggregateFeedbackLearner is being played by another run; each run needs its own" in refused[0]
    assert (len(seen), agent.episode) == (1, 1)
    agent.policy(np.random.default_rng(1))


def test_a_run_keeps_its_learner(rng):
    agent, errors = learner(50), []

    def elsewhere():
        try:
            agent.policy(np.random.default_rng(0))
        except ab.learners.LearnerInUse as error:
            errors.append(error)

    with claimed(agent):
        agent.policy(rng)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with pytest.raises(ab.learners.LearnerInUse), claimed(agent):
            pass
        copies = copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))
        for other in copies:
            with claimed(other):
                assert other.arguments == agent.arguments
    assert len(errors) == 1
    with claimed(agent):
        pass


def test_a_step_cannot_be_taken_within_a_step(rng):
    agent = learner(50)
    agent.between_epochs = lambda dual: agent.policy(rng)
    with pytest.raises(ab.learners.LearnerInUse, match="policy: this AggregateFeedbackLearner"):
        list(play(agent, 1, rng))


# --- slips --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: learner(9, rates=ab.theorem_rates),
            r"rates is the function theorem_rates itself; it must be ab\.theorem_rates\(\) or",
        ),
        (lambda: learner(9, rates=None), r"rates is None; it must be ab\.theorem_rates\(\) or"),
        (lambda: learner(9, rates=0.1), r"rates is 0\.1; it must be"),
        (lambda: learner(9, rates=GivenRate(0.1, 2.0)), r"rates\.schedule is 2\.0; it must be"),
        (
            lambda: learner(9, confidence=0.5),
            r"confidence is 0\.5; it must be ab\.CorrectedConfidence\(delta\)",
        ),
        (lambda: learner(9, confidence=ab.TightConfidence), "confidence is the class TightConfidence itself"),
        (
            lambda: learner(9, baseline=ab.RunningMean),
            r"baseline is the class RunningMean itself; it must be a number or ab\.RunningMean\(\)",
        ),
        (lambda: learner(9, baseline="mean"), "baseline is 'mean'; it must be a number or"),
        (
            lambda: learner(9, between_epochs="carry"),
            r"between_epochs is 'carry'; it must be ab\.epochs\.restart or ab\.epochs\.carry",
        ),
        (lambda: learner(9, between_epochs=None), "between_epochs is None; it must be"),
        (lambda: ab.tuned_rates(1, "x"), r"schedule is 'x'; it must be ab\.IncreasingRate\(\) or"),
        (lambda: ab.tuned_rates(1, ab.IncreasingRate), "schedule is the class IncreasingRate itself"),
        (lambda: ab.tuned_rates("x"), "scale is 'x'; it must be a number"),
        (lambda: ab.CorrectedConfidence("x"), "delta is 'x'; it must be a number"),
        (lambda: ab.TightConfidence(True), "delta is True; it must be a number"),
        (lambda: ab.FollowTheLeader(WORLD), "mdp is of type World; it must be a FiniteHorizonMDP: world.mdp"),
        (lambda: ab.learners.losses_against_the_leader(WORLD, 9), "mdp is of type World"),
        (lambda: ab.OptimisticEXP2(np.eye(3), "x", 1.0), "rounds is 'x'; it must be a number"),
        (lambda: ab.OptimisticEXP2(np.eye(3), 9, 1.0, rates=0.1), r"rates is 0\.1; it must be theory"),
        (lambda: ab.OptimisticEXP2(np.eye(3), 9, 1.0, design=np.ones(3)), "design is of type ndarray"),
        (lambda: ab.learners.g_optimal_design(np.eye(3), "x"), "tolerance is 'x'; it must be a number"),
        (lambda: ab.mirror_descent(ab.simplex(3), np.ones((2, 3)), [1, 1]), "barrier is of type Polytope"),
    ],
)
def test_a_slip_is_answered_with_what_to_write(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("make", [ab.TightConfidence, ab.CorrectedConfidence])
@pytest.mark.parametrize("delta", [5.0, 0.0, 1.0, -0.1, np.nan])
def test_a_delta_that_is_no_probability_is_refused_where_it_is_written(make, delta):
    with pytest.raises(ValueError, match=r"delta is .*; it must be a probability in \(0, 1\)"):
        make(delta)


@pytest.mark.parametrize("bad", [np.ones((3, 3, 2)) * 1j, [["a"]]])
def test_what_is_no_array_of_numbers_is_named(bad):
    with pytest.raises(ValueError, match=r"policy .* real numbers"):
        ab.FixedPolicy(bad)
    with pytest.raises(ValueError, match=r"points .* real numbers"):
        ab.learners.g_optimal_design(bad)


def test_what_does_not_fit_into_memory_is_refused_before_it_is_allocated():
    with pytest.raises(MemoryError, match=r"a learner of 100 steps, 100000 states .* is available"):
        ab.AggregateFeedbackLearner(100_000, 10, 100, 9, **TUNED)
