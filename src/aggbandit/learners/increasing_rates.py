"""Algorithm 2: mirror descent behind a barrier, with a rate that grows when the hand is moved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggbandit import theory
from aggbandit._arrays import (
    FloatArray,
    all_finite,
    check_at_least_zero,
    check_finite,
    check_has,
    check_number,
    check_positive_int,
    check_rng,
    check_shape,
    first,
    place,
    read_only,
    real_array,
    reduce_frozen,
)
from aggbandit.geometry.protocol import Barrier, Ellipsoid
from aggbandit.learners import snapshots
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.rates import ConstantRate, IncreasingRate, RateSchedule

__all__ = ["IncreasingRateOMD", "IncreasingRateRound", "OMDState", "check_observation", "scrible"]

# How far, relatively, rounding may carry a center off its slice.
OFF_SLICE = 1e-8


@dataclass(frozen=True, eq=False)
class OMDState:
    """Where Algorithm 2 is between two rounds: all that it needs to go on.

    A value: its arrays are its own and read-only, and whoever holds it holds all there is.

    Args:
        center: x_t, in the shape of the barrier's points.
        dual: in the same shape, the sum of rate times estimate so far; x_t minimizes `R(x) + dual . x`.
        eta: the last rate, eta_{t-1}; the first one if nothing has been played.
        round: t, from 1: the next one.

    Raises:
        ValueError: for an entry that is not finite, two shapes, a rate that is not positive and finite, a
            round that is not a positive integer.

    Source:
        Algorithm 2, lines 2 and 7 to 10.
    """

    center: FloatArray
    dual: FloatArray
    eta: float
    round: int = 1

    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        center, dual = read_only(real_array("center", self.center)), read_only(real_array("dual", self.dual))
        check_finite("center", center)
        check_shape("dual", dual, center.shape, "the center's shape")
        check_finite("dual", dual)
        check_rate("eta", self.eta)
        check_positive_int("round", self.round)
        for name, value in (
            ("center", center),
            ("dual", dual),
            ("eta", float(self.eta)),
            ("round", int(self.round)),
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class IncreasingRateRound:
    """What happened in one round of Algorithm 2.

    Attributes:
        round: t, from 1.
        eta: the rate eta_t.
        clipped: whether it met its clip.
        x: the center x_t, in the shape of the barrier's points.
        y: the sample y_t, in the same shape.
        loss: the observed loss `l . z_hat`.
        z_hat_epsilon: `z_hat . eps`.
        estimate: l~, the estimate of the loss vector, in the shape of the barrier's points.
        next_x: the next center x_{t+1}.
        decrement: the Newton decrement that certifies it.
        iterations: the Newton steps that it took.
        damped: how many of these were damped.
    """

    round: int
    eta: float
    clipped: bool
    x: FloatArray
    y: FloatArray
    loss: float
    z_hat_epsilon: float
    estimate: FloatArray
    next_x: FloatArray
    decrement: float
    iterations: int
    damped: int

    __reduce__ = reduce_frozen


class IncreasingRateOMD:
    """Algorithm 2 against any barrier.

    In round t, with n the dimension::

        y_t uniform on the surface of the Dikin ellipsoid at x_t, within the slice
        l~_t = n (l_t . z_hat_t - b) H_t (y_t - x_t)
        1/eta_t = 1/eta_{t-1} - 2 n |z_hat_t . eps_t|
        x_{t+1} = argmin R(x) + (eta_1 l~_1 + ... + eta_t l~_t) . x

    from x_1 = argmin R. The estimator's form H(y - x) equals the paper's H^{1/2} u when the set has an
    interior, and stays unbiased on a slice. The step is the paper's, taken from the sum of all estimates, so
    that rounding does not accumulate.

    Where it is between two rounds is the value `state`. It may be set to another one, of a run of the same
    barrier: what was predicted is then forgotten.

    Args:
        barrier: of the decision set.
        rounds: T.
        loss_bound: H.
        budget: B, bounding `sum_t (z_hat_t . eps_t)^2`; it only enters through the theorem's rate.
        eta0: the first rate, by default the theorem's. It is lowered to `theory.eta0_cap` where it exceeds
            that, and `eta0_capped` says so.
        baseline: b, known beforehand, subtracted from every loss; 0 in the paper.
        schedule: how the rate goes on, by default `IncreasingRate()`.
        state: where to begin, by default at x_1 with the first rate.

    Raises:
        ValueError: for values out of range, or a state whose center is not strictly inside the set.
        TypeError: for an argument of another kind, saying what to write instead.
        LearnerInUse: from every method, when another thread is in one of them.

    Source:
        Algorithm 2; Section 4.2.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> rng = np.random.default_rng(0)
        >>> triangle = ab.LogBarrier(ab.simplex(3))
        >>> learner = ab.IncreasingRateOMD(triangle, rounds=500, loss_bound=1.0, eta0=0.05, baseline=0.5)
        >>> loss = np.array([0.2, 0.5, 0.8])
        >>> for _ in range(500):
        ...     y = learner.predict(rng)
        ...     record = learner.update(loss @ y, z_hat=y, epsilon=np.zeros(3))
        >>> learner.state.round
        501
        >>> int(learner.center.argmax())
        0
    """

    def __init__(
        self,
        barrier: Barrier,
        rounds: int,
        loss_bound: float,
        budget: float = 0.0,
        eta0: float | None = None,
        baseline: float = 0.0,
        schedule: RateSchedule | None = None,
        *,
        state: OMDState | None = None,
    ) -> None:
        check_positive_int("rounds", rounds)
        check_has(
            "barrier",
            barrier,
            ("analytic_center", "dikin", "minimize"),
            "a barrier, such as ab.LogBarrier(body)",
        )
        check_number("loss_bound", loss_bound)
        check_number("baseline", baseline)
        check_at_least_zero("budget", budget)
        schedule = IncreasingRate() if schedule is None else schedule
        check_has("schedule", schedule, ("next_rate",), "ab.IncreasingRate() or ab.ConstantRate(factor)")
        self.barrier = barrier
        self.dimension = barrier.dimension
        self.rounds = rounds
        self.loss_bound = float(loss_bound)
        self.baseline = float(baseline)
        self.schedule: RateSchedule = schedule
        cap = theory.eta0_cap(self.dimension, self.loss_bound, self.baseline)
        wished = (
            theory.eta0(self.dimension, barrier.theta, self.loss_bound, rounds, budget, self.baseline)
            if eta0 is None
            else eta0
        )
        check_rate("eta0", wished)
        self.eta0 = min(float(wished), cap)
        self.eta0_capped = bool(wished > cap)
        self._start: FloatArray = barrier.analytic_center()
        self._begin(OMDState(self._start, np.zeros_like(self._start), self.eta0))
        if state is not None:
            self.state = state

    def _begin(self, state: OMDState) -> None:
        self._state = state
        self._ellipsoid: Ellipsoid = self.barrier.dikin(state.center)
        self._y: FloatArray | None = None

    @property
    def state(self) -> OMDState:
        """Where it is between two rounds."""
        return self._state

    @state.setter
    def state(self, state: OMDState) -> None:
        if not isinstance(state, OMDState):
            raise TypeError(f"state is {state!r}; it must be OMDState(center, dual, eta, round)")
        self._check_center(state.center)
        self._begin(state)

    def _check_center(self, center: FloatArray) -> None:
        """Raise ValueError unless `center` is strictly inside the set, on its slice."""
        self.barrier.dikin(center)  # refuses a point of another shape, or outside the inequalities
        away, ellipsoid = center - self._start, self.barrier.dikin(self._start)
        # The u along the slice that minimizes -(H v) . u + u' H u / 2 is v itself, if v is along the slice.
        off = np.abs(away - ellipsoid.newton_step(-ellipsoid.apply(away)))
        if off.max() > OFF_SLICE * (1 + np.abs(center).max()):
            where = first(off == off.max())
            raise ValueError(
                f"{place('center', where)} is {off[where]:.3g} off the slice of the set; "
                f"at most {OFF_SLICE:g} is rounding"
            )

    @property
    def center(self) -> FloatArray:
        """x_t, in the shape of the barrier's points."""
        return self._state.center

    @property
    def dual(self) -> FloatArray:
        """The sum of rate times estimate so far, whose minimizer with the barrier is the center."""
        return self._state.dual

    @property
    def eta(self) -> float:
        """The last rate, eta_{t-1}."""
        return self._state.eta

    @property
    def round(self) -> int:
        """t, the next round."""
        return self._state.round

    @property
    def ellipsoid(self) -> Ellipsoid:
        """The Dikin ellipsoid at the center."""
        return self._ellipsoid

    @alone
    def predict(self, rng: np.random.Generator) -> FloatArray:
        """Choose y_t, uniform on the Dikin ellipsoid at x_t.

        Args:
            rng: the source of all randomness.

        Returns:
            The point, in the shape of the barrier's points.

        Raises:
            TypeError: unless `rng` is a generator.

        Source:
            Algorithm 2, lines 4 and 5.
        """
        check_rng(rng)
        self._y = self._ellipsoid.sample(rng)
        return self._y

    @alone
    def update(self, loss_value: float, z_hat: FloatArray, epsilon: FloatArray) -> IncreasingRateRound:
        """Learn from one round.

        Args:
            loss_value: `l_t . z_hat_t`, in [0, H].
            z_hat: what was played in the end, in the shape of the barrier's points.
            epsilon: eps_t >= 0, in the same shape.

        Returns:
            What happened.

        Raises:
            ValueError: for values out of range, or a schedule's rate that is not positive; nothing has
                changed then.
            RuntimeError: when nothing was predicted.

        Source:
            Algorithm 2, lines 7 to 10.
        """
        state, y = self._state, self._y
        if y is None:
            raise RuntimeError(f"round {state.round}: update was called before predict")
        x = state.center
        z_hat, epsilon = check_observation(loss_value, z_hat, epsilon, x.shape, self.loss_bound)
        # Line 8. E[y - x] = 0, so any baseline known beforehand leaves the estimate's mean alone.
        estimate = self.dimension * (loss_value - self.baseline) * self._ellipsoid.apply(y - x)
        # Line 9: the rate of this very round, which the proof pairs with this round's bias.
        z_hat_epsilon = float(np.vdot(z_hat, epsilon))
        rate = self.schedule.next_rate(state.eta, self.eta0, self.dimension, abs(z_hat_epsilon))
        if not (rate.eta > 0 and math.isfinite(rate.eta)):
            raise ValueError(f"the schedule gave eta {rate.eta}; it must be positive and finite")
        # Line 10, from the sum of all estimates.
        dual = state.dual + rate.eta * estimate
        dual.setflags(write=False)  # the state need not copy it
        step = self.barrier.minimize(dual, x)
        self._state = OMDState(step.x, dual, rate.eta, state.round + 1)
        self._ellipsoid, self._y = step.dikin, None
        return IncreasingRateRound(
            round=state.round,
            eta=self.eta,
            clipped=bool(rate.clipped),
            x=x,
            y=y,
            loss=float(loss_value),
            z_hat_epsilon=z_hat_epsilon,
            estimate=estimate,
            next_x=self.center,
            decrement=step.decrement,
            iterations=step.iterations,
            damped=step.damped,
        )

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; of the barrier, its kind and its numbers."""
        kind = type(self.barrier).__name__
        return (
            f"barrier={kind} of dimension {self.dimension}, theta {self.barrier.theta!r}",
            f"rounds={self.rounds!r}",
            f"loss_bound={self.loss_bound!r}",
            f"baseline={self.baseline!r}",
            f"eta0={self.eta0!r}",
            f"schedule={described(self.schedule)}",
        )

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The state between two rounds, as arrays; `restore` is its inverse."""
        state = self._state
        numbers = {"eta": np.array([state.eta]), "round": np.array([state.round])}
        return snapshots.written(self.arguments, center=state.center, dual=state.dual, **numbers)

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes; what was predicted is forgotten.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state, or its center is not strictly inside.
        """
        points, numbers = {"center": self.center.shape, "dual": self.dual.shape}, {"eta": (1,), "round": (1,)}
        arrays = snapshots.read(snapshot, self.arguments, **points, **numbers)
        eta, number = float(arrays["eta"][0]), float(arrays["round"][0])
        if not number.is_integer():
            raise ValueError(f"round is {number}; it must be an integer")
        self.state = OMDState(arrays["center"], arrays["dual"], eta, int(number))


def scrible(
    barrier: Barrier, rounds: int, loss_bound: float, eta0: float | None = None, baseline: float = 0.0
) -> IncreasingRateOMD:
    """SCRiBLe: Algorithm 2 when nobody moves the hand, that is, with budget 0 and one rate throughout.

    `eta = sqrt(theta log(HT) / (n^2 c^2 T))` unless given, with `c = max(b, H - b)`.

    Args:
        barrier: of the decision set.
        rounds: T.
        loss_bound: H.
        eta0: the rate.
        baseline: b, subtracted from every loss.

    Returns:
        The learner.

    Raises:
        ValueError: for values out of range.

    Source:
        Abernethy, Hazan and Rakhlin (2008); Algorithm 2 with B = 0.
    """
    return IncreasingRateOMD(
        barrier, rounds, loss_bound, budget=0.0, eta0=eta0, baseline=baseline, schedule=ConstantRate()
    )


# --- checks -------------------------------------------------------------------------------------------------


def check_rate(name: str, rate: float) -> None:
    """Refuse what is no learning rate.

    Args:
        name: what the rate is called where it came in.
        rate: a positive and finite number.

    Raises:
        TypeError: for what is no number.
        ValueError: for any other number.
    """
    if not (check_number(name, rate) > 0 and math.isfinite(rate)):
        raise ValueError(f"{name} is {rate}; a learning rate must be positive and finite")


def check_observation(
    loss_value: float, z_hat: FloatArray, epsilon: FloatArray, shape: tuple[int, ...], loss_bound: float
) -> tuple[FloatArray, FloatArray]:
    """Refuse an observation that the protocol does not allow.

    Args:
        loss_value: the observed loss, in [0, H].
        z_hat: (d,) what was played in the end.
        epsilon: (d,) the allowed distortion, nonnegative.
        shape: that of both.
        loss_bound: H.

    Returns:
        `z_hat` and `epsilon` as arrays.

    Raises:
        ValueError: naming the rule, the place and the value.

    Source:
        The protocol of distorted linear bandits, steps 3 and 4.
    """
    # A loss is a sum of products: it may leave [0, H] by rounding.
    check_number("loss_value", loss_value)
    slack = 1e-9 * loss_bound
    if not -slack <= loss_value <= loss_bound + slack:
        raise ValueError(f"loss_value is {loss_value}; the observed loss must lie in [0, {loss_bound}]")
    z_hat, epsilon = real_array("z_hat", z_hat), real_array("epsilon", epsilon)
    for name, vector in (("z_hat", z_hat), ("epsilon", epsilon)):
        if vector.shape != shape:
            raise ValueError(f"{name} has shape {vector.shape}; it must be {shape}")
        if not all_finite(vector):
            place = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise ValueError(f"{name}[{place}] = {vector.flat[place]}; every entry must be finite")
    if epsilon.min() < 0:
        place = int(epsilon.argmin())
        raise ValueError(f"epsilon[{place}] = {epsilon.flat[place]}; every entry must be nonnegative")
    return z_hat, epsilon
