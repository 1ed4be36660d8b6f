"""Algorithm 2 as a learner: its lines, its rates, its refusals."""

import pickle

import numpy as np
import pytest

from aggbandit import (
    ConstantRate,
    DistortedBandit,
    IncreasingRate,
    IncreasingRateOMD,
    LogBarrier,
    OccupancyBarrier,
    OccupancySet,
    scrible,
    simplex,
    theory,
)
from aggbandit.game import DrawArm, TowardsWorstVertex, Undistorted
from aggbandit.learners.increasing_rates import OMDState
from aggbandit.learners.rates import Rate

BARRIER = LogBarrier(simplex(3))


def played(learner, rounds, rng, size=0.02):
    game = DistortedBandit(
        np.tile([0.2, 0.5, 0.8], (rounds, 1)),
        np.full((rounds, 3), size),
        TowardsWorstVertex(np.eye(3)) if size else Undistorted(),
        simplex(3),
        1.0,
        DrawArm(),
    )
    return [round_.record for round_ in game.rounds(learner, rng)]


def test_the_steps_are_the_papers(rng):
    """Each x_{t+1} solves grad R(x_{t+1}) = grad R(x_t) - eta_t l~_t along the slice, from the center on."""
    learner = IncreasingRateOMD(BARRIER, 200, 1.0, eta0=0.05)
    np.testing.assert_allclose(learner.center, 1 / 3)
    basis = simplex(3).basis
    for record in played(learner, 200, rng):
        left = basis.T @ (BARRIER.gradient(record.next_x) - BARRIER.gradient(record.x))
        np.testing.assert_allclose(left, -record.eta * basis.T @ record.estimate, atol=1e-6)
        assert record.decrement < 1e-6
        one_step = BARRIER.mirror_step(record.x, record.eta * record.estimate)
        np.testing.assert_allclose(record.next_x, one_step.x, atol=1e-9)


def test_rounding_does_not_accumulate(rng):
    """After many rounds the center still minimizes R + (sum of all steps)·x."""
    learner = IncreasingRateOMD(BARRIER, 3000, 1.0, eta0=0.05)
    records = played(learner, 3000, rng)
    dual = sum(record.eta * record.estimate for record in records)
    residual = BARRIER.dikin(learner.center).dual_norm(BARRIER.gradient(learner.center) + dual)
    assert residual < 1e-8


def test_rates_increase_by_what_is_seen_and_are_clipped(rng):
    learner = IncreasingRateOMD(BARRIER, 500, 1.0, eta0=0.047)
    records = played(learner, 500, rng)
    inverse = 1 / learner.eta0 - 2 * 2 * np.cumsum([record.z_hat_epsilon for record in records])
    free = inverse > 1 / (2 * learner.eta0)
    assert 0 < free.sum() < 500
    np.testing.assert_allclose([r.eta for r in records], np.where(free, 1 / inverse, 2 * learner.eta0))
    assert [r.clipped for r in records] == list(~free)
    assert [r.round for r in records] == list(range(1, 501))


def test_constant_rates_and_scrible(rng):
    for factor in (1.0, 2.0):
        learner = IncreasingRateOMD(BARRIER, 50, 1.0, eta0=0.05, schedule=ConstantRate(factor))
        assert {record.eta for record in played(learner, 50, rng)} == {factor * 0.05}
    increasing = IncreasingRateOMD(BARRIER, 50, 1.0, baseline=0.5)
    constant = scrible(BARRIER, 50, 1.0, baseline=0.5)
    assert constant.eta0 == increasing.eta0 == theory.scrible_eta0(2, 3.0, 1.0, 50, 0.5)
    same = [played(learner, 50, np.random.default_rng(0), size=0.0) for learner in (increasing, constant)]
    np.testing.assert_array_equal([r.next_x for r in same[0]], [r.next_x for r in same[1]])


def test_clipping_at_the_first_rate_is_a_constant_rate(rng):
    schedule = IncreasingRate(clip=1.0)
    rate = schedule.next_rate(0.1, 0.1, 2, 0.5)
    assert (rate.eta, rate.clipped) == (0.1, True)
    assert not schedule.next_rate(0.1, 0.1, 2, 0.0).clipped


def test_the_theorems_rate_and_its_cap():
    learner = IncreasingRateOMD(BARRIER, 10_000, 1.0, budget=2.0)
    assert learner.eta0 == theory.eta0(2, 3.0, 1.0, 10_000, 2.0)
    assert not learner.eta0_capped
    bold = IncreasingRateOMD(BARRIER, 10_000, 1.0, eta0=5.0, baseline=0.5)
    assert bold.eta0_capped
    assert 2 * bold.eta0 * 2 * 0.5 == pytest.approx(0.5)


def test_a_constant_loss_is_learned():
    """Arm 1 is best: with a tuned rate the center goes there."""
    learner = IncreasingRateOMD(BARRIER, 2000, 1.0, eta0=0.03, baseline=0.5)
    played(learner, 2000, np.random.default_rng(1), size=0.0)
    assert learner.center[0] > 0.9


def test_extreme_losses_at_the_largest_rate(rng):
    """Losses at the ends of [0, H], arms drawn, the largest rate: strictly inside, never NaN."""
    rounds = 4000
    learner = IncreasingRateOMD(BARRIER, rounds, 1.0, eta0=1.0, schedule=ConstantRate(2.0))
    assert learner.eta0_capped
    game = DistortedBandit(
        rng.integers(0, 2, size=(rounds, 3)).astype(float),
        rng.uniform(0, 0.3, size=(rounds, 3)),
        TowardsWorstVertex(np.eye(3)),
        simplex(3),
        1.0,
        DrawArm(),
    )
    for played_round in game.rounds(learner, rng):
        x = played_round.record.next_x
        assert x.min() > 0
        assert abs(x.sum() - 1) < 1e-9
        assert played_round.record.decrement < 1e-6


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ((np.nan, np.eye(3)[0], np.zeros(3)), "loss_value is nan"),
        ((np.inf, np.eye(3)[0], np.zeros(3)), "loss_value is inf"),
        ((1.5, np.eye(3)[0], np.zeros(3)), r"loss_value is 1\.5; .* \[0, 1\.0\]"),
        ((-0.1, np.eye(3)[0], np.zeros(3)), r"loss_value is -0\.1"),
        ((0.5, np.ones(2), np.zeros(3)), r"z_hat has shape \(2,\); it must be \(3,\)"),
        ((0.5, np.array([0, np.nan, 0]), np.zeros(3)), r"z_hat\[1\] = nan"),
        ((0.5, np.eye(3)[0], np.zeros((1, 3))), r"epsilon has shape \(1, 3\)"),
        ((0.5, np.eye(3)[0], np.array([0, 0, -1.0])), r"epsilon\[2\] = -1\.0; .* nonnegative"),
        ((0.5, np.eye(3)[0], np.array([0, np.inf, 0])), r"epsilon\[1\] = inf"),
    ],
)
def test_bad_observations_change_nothing(observation, message):
    learners = [IncreasingRateOMD(BARRIER, 100, 1.0, eta0=0.1) for _ in range(2)]
    generators = [np.random.default_rng(2) for _ in range(2)]
    for learner, generator in zip(learners, generators, strict=True):
        learner.predict(generator)
    with pytest.raises(ValueError, match=message):
        learners[0].update(*observation)
    good = (0.5, np.eye(3)[0], np.full(3, 0.1))
    first, second = (learner.update(*good) for learner in learners)
    assert first.round == second.round == 1
    np.testing.assert_array_equal(first.next_x, second.next_x)
    assert first.eta == second.eta


def test_update_needs_predict(rng):
    learner = IncreasingRateOMD(BARRIER, 100, 1.0)
    with pytest.raises(RuntimeError, match="round 1: update was called before predict"):
        learner.update(0.5, np.eye(3)[0], np.zeros(3))
    learner.predict(rng)
    learner.update(0.5, np.eye(3)[0], np.zeros(3))
    with pytest.raises(RuntimeError, match="round 2"):
        learner.update(0.5, np.eye(3)[0], np.zeros(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta0": 0.0}, r"eta0 is 0\.0; a learning rate must be positive"),
        ({"eta0": -1.0}, r"eta0 is -1\.0"),
        ({"eta0": np.nan}, "eta0 is nan"),
        ({"rounds": 0}, "rounds is 0"),
        ({"loss_bound": 0.0}, r"loss_bound is 0\.0"),
        ({"budget": -1.0}, r"budget is -1\.0"),
        ({"budget": np.nan, "eta0": 0.1}, "budget is nan"),
        ({"rounds": 2.5, "eta0": 0.1}, r"rounds is 2\.5"),
        ({"baseline": 2.0}, r"baseline is 2\.0; it must lie in \[0, loss_bound\]"),
    ],
)
def test_bad_learners_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        IncreasingRateOMD(**{"barrier": BARRIER, "rounds": 100, "loss_bound": 1.0, **arguments})


@pytest.mark.parametrize("bad", [0.5, 3.0, np.nan])
def test_bad_clips_are_refused(bad):
    with pytest.raises(ValueError, match=f"clip is {bad}"):
        IncreasingRate(clip=bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, 3.0, np.nan])
def test_bad_factors_are_refused(bad):
    with pytest.raises(ValueError, match=f"factor is {bad}"):
        ConstantRate(bad)


def test_a_rate_takes_an_absolute_value():
    for bad in (-0.1, np.nan):
        with pytest.raises(ValueError, match=f"z_hat_epsilon is {bad}"):
            IncreasingRate().next_rate(0.1, 0.1, 2, bad)


def test_a_schedule_without_a_rate_is_refused_before_anything_changes(rng):
    class Broken:
        def next_rate(self, previous, eta0, dimension, z_hat_epsilon):
            return Rate(-1.0, clipped=False)

    learner = IncreasingRateOMD(BARRIER, 100, 1.0, schedule=Broken())
    learner.predict(rng)
    center, eta = learner.center, learner.eta
    with pytest.raises(ValueError, match=r"the schedule gave eta -1\.0"):
        learner.update(0.5, np.eye(3)[0], np.full(3, 0.1))
    assert learner.center is center
    assert (learner.eta, learner.round) == (eta, 1)
    np.testing.assert_array_equal(learner.dual, 0.0)


MIDDLE = {"center": np.full(3, 1 / 3), "dual": np.zeros(3), "eta": 0.1, "round": 5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"center": np.array([0.5, np.nan, 0.5])}, r"center\[1\] is nan"),
        ({"dual": np.zeros(2)}, r"dual has shape \(2,\); expected the center's shape = \(3,\)"),
        ({"dual": 0.0}, r"dual has shape \(\)"),
        ({"dual": np.array([0.0, np.inf, 0.0])}, r"dual\[1\] is inf"),
        ({"dual": np.array([0.0, np.nan, 0.0])}, r"dual\[1\] is nan"),
        ({"eta": 0.0}, r"eta is 0\.0"),
        ({"eta": np.nan}, r"eta is nan"),
        ({"round": 0}, "round is 0"),
        ({"round": 2.5}, r"round is 2\.5"),
    ],
)
def test_a_state_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        OMDState(**(MIDDLE | change))


@pytest.mark.parametrize(
    ("center", "message"),
    [
        (np.eye(3)[0], "not strictly inside"),
        (np.full(3, 0.3), "slice|equalit|off"),
        (np.array([1.2, -0.1, -0.1]), "not strictly inside"),
        (np.full(2, 0.5), "shape"),
    ],
)
def test_a_state_of_another_set_is_refused_before_anything_changes(center, message):
    learner = IncreasingRateOMD(BARRIER, 100, 1.0)
    before = learner.state
    with pytest.raises(ValueError, match=message):
        learner.state = OMDState(center, np.zeros_like(center), 0.1)
    with pytest.raises(ValueError, match=message):
        IncreasingRateOMD(BARRIER, 100, 1.0, state=OMDState(center, np.zeros_like(center), 0.1))
    assert learner.state is before


def test_a_center_off_the_flow_equations_is_refused():
    """The barrier of S_i is defined there too, so nothing but the learner can tell."""
    body = OccupancySet(np.full((2, 2, 2, 2), 0.5), np.ones((2, 2, 2)))
    barrier = OccupancyBarrier(body)
    learner = IncreasingRateOMD(barrier, 100, 2.0)
    before, off = learner.state, learner.center.copy()
    off[1] *= 1 + 1e-6
    with pytest.raises(ValueError, match=r"center\[1, .* off the slice"):
        learner.state = OMDState(off, learner.dual, learner.eta)
    assert learner.state is before


def test_a_state_is_a_value(rng):
    """It shares nothing with what it was made from, cannot be written to, and survives pickling."""
    center, dual = np.full(3, 1 / 3), np.zeros(3)
    state = OMDState(center, dual, 0.1)
    center[0] = dual[0] = 9.0
    assert state.center.max() < 1
    assert state.dual.max() == 0
    with pytest.raises(ValueError, match="read-only"):
        state.center[0] = 1.0
    again = pickle.loads(pickle.dumps(state))
    np.testing.assert_array_equal(again.center, state.center)
    assert not again.dual.flags.writeable
    learner = IncreasingRateOMD(BARRIER, 100, 1.0, eta0=0.1)
    kept = learner.state
    played(learner, 5, rng)
    assert (kept.round, learner.state.round) == (1, 6)
    np.testing.assert_allclose(kept.center, 1 / 3)


def test_one_state_starts_many_chains():
    """From a state on, a learner at it plays as the one it was taken from: nothing else matters."""
    learner = IncreasingRateOMD(BARRIER, 100, 1.0, eta0=0.1)
    played(learner, 20, np.random.default_rng(0))
    copies = [IncreasingRateOMD(BARRIER, 100, 1.0, eta0=0.1, state=learner.state) for _ in range(2)]
    copies[1].predict(np.random.default_rng(9))
    copies[1].state = learner.state
    with pytest.raises(RuntimeError, match="update was called before predict"):
        copies[1].update(0.5, np.eye(3)[0], np.zeros(3))
    ends = [played(one, 20, np.random.default_rng(1))[-1] for one in (learner, *copies)]
    for end in ends[1:]:
        np.testing.assert_array_equal(end.next_x, ends[0].next_x)
        assert (end.round, end.eta) == (40, ends[0].eta)


def test_a_state_is_no_tuple():
    learner = IncreasingRateOMD(BARRIER, 100, 1.0)
    with pytest.raises(TypeError, match=r"it must be OMDState\(center, dual, eta, round\)"):
        learner.state = (np.full(3, 1 / 3), np.zeros(3), 0.1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: IncreasingRateOMD(BARRIER, 9, 1.0, schedule=IncreasingRate),
            r"schedule is the class IncreasingRate itself; it must be ab\.IncreasingRate\(\) or",
        ),
        (lambda: IncreasingRateOMD(BARRIER, 9, 1.0, schedule=0.1), r"schedule is 0\.1; it must be"),
        (lambda: IncreasingRateOMD(BARRIER, 9, 1.0, eta0="small"), "eta0 is 'small'; it must be a number"),
        (lambda: IncreasingRateOMD(BARRIER, 9, 1.0, budget=None), "budget is None; it must be a number"),
        (lambda: IncreasingRateOMD(BARRIER, 9, "one"), "loss_bound is 'one'; it must be a number"),
        (lambda: IncreasingRateOMD(BARRIER, 9, 1.0, baseline=1j), "baseline is 1j; it must be a number"),
        (
            lambda: IncreasingRateOMD(simplex(3), 9, 1.0),
            r"barrier is of type Polytope; it must be a barrier, such as ab\.LogBarrier\(body\)",
        ),
        (lambda: IncreasingRateOMD(LogBarrier, 9, 1.0), "barrier is the class LogBarrier itself"),
        (lambda: scrible(simplex(3), 9, 1.0), "barrier is of type Polytope"),
        (lambda: IncreasingRate("x"), "clip is 'x'; it must be a number"),
        (lambda: ConstantRate("x"), "factor is 'x'; it must be a number"),
        (lambda: OMDState(np.ones(2), np.ones(2), "x"), "eta is 'x'; it must be a number"),
    ],
)
def test_a_slip_is_answered_with_what_to_write(make, message):
    with pytest.raises(TypeError, match=message):
        make()
