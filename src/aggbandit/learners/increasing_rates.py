"""Algorithm 2: mirror descent behind a barrier, with a rate that grows when the hand is moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray, check_finite, check_positive_int
from aggbandit.geometry.protocol import Barrier, Ellipsoid
from aggbandit.learners.rates import ConstantRate, IncreasingRate, RateSchedule


@dataclass(frozen=True, slots=True)
class IncreasingRateRound:
    """What happened in one round of Algorithm 2.

    ``round`` t from 1; the rate ``eta`` and whether it was ``clipped``; the centre ``x`` and the sample
    ``y``, in the shape of the barrier's points; the observed ``loss`` l·z_hat; ``z_hat_epsilon`` z_hat·eps;
    the ``estimate`` l~ of the loss vector; the next centre ``next_x`` with the Newton ``decrement`` and
    ``iterations`` that certify it, and how many of these were ``damped``.
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


class IncreasingRateOMD:
    """Algorithm 2 against any barrier.

    x_1 = argmin R;  y_t uniform on the surface of the Dikin ellipsoid at x_t, within the slice;
    l~_t = n (l_t·z_hat_t - b) H_t (y_t - x_t);  1/eta_t = 1/eta_{t-1} - 2 n |z_hat_t·eps_t|;
    x_{t+1} = argmin R(x) + (eta_1 l~_1 + ... + eta_t l~_t)·x.

    The estimator's form H(y - x) equals the paper's H^{1/2} u when the set has an interior, and stays
    unbiased on a slice. The step is the paper's, taken from the sum of all estimates, so that rounding does
    not accumulate.

    ``barrier`` of the decision set; ``rounds`` T and ``loss_bound`` H; ``budget`` B bounding sum
    (z_hat·eps)²; ``eta0`` the first rate, by default the theorem's; ``baseline`` b, known beforehand,
    subtracted from every loss (0 in the paper); ``schedule`` how the rate goes on. A given ``eta0`` is
    lowered to ``theory.eta0_cap`` where it exceeds that, and ``eta0_capped`` says so. ``budget`` only enters
    through the theorem's rate.

    Raises ``ValueError`` for values out of range. Source: Algorithm 2; Section 4.2.
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
    ) -> None:
        check_positive_int("rounds", rounds)
        if not (budget >= 0 and np.isfinite(budget)):
            raise ValueError(f"budget = {budget}; it must be nonnegative and finite")
        if isinstance(schedule, type) or not (schedule is None or hasattr(schedule, "next_rate")):
            raise ValueError(f"schedule is {schedule!r}; it must be an object with the method next_rate")
        self.barrier = barrier
        self.dimension = barrier.dimension
        self.rounds = rounds
        self.loss_bound = float(loss_bound)
        self.baseline = float(baseline)
        self.schedule: RateSchedule = IncreasingRate() if schedule is None else schedule
        cap = theory.eta0_cap(self.dimension, self.loss_bound, self.baseline)
        wished = (
            theory.eta0(self.dimension, barrier.theta, self.loss_bound, rounds, budget, self.baseline)
            if eta0 is None
            else float(eta0)
        )
        if not (wished > 0 and np.isfinite(wished)):
            raise ValueError(f"eta0 = {eta0}; a learning rate must be positive and finite")
        self.eta0 = min(wished, cap)
        self.eta0_capped = wished > cap
        self.eta = self.eta0
        self.round = 1
        self.center: FloatArray = barrier.analytic_center()
        self.ellipsoid: Ellipsoid = barrier.dikin(self.center)
        self._dual: FloatArray = np.zeros_like(self.center)
        self._y: FloatArray | None = None

    @property
    def dual(self) -> FloatArray:
        """The sum of rate times estimate so far, whose minimiser with the barrier is the centre."""
        return self._dual

    def resume(self, center: FloatArray, dual: FloatArray, eta: float, round: int) -> None:
        """Go on from a recorded state: ``center``, ``dual``, last rate ``eta`` and next ``round``.

        Raises ``ValueError`` if the centre is not strictly inside the set, the dual has another shape or an
        entry that is not finite, the rate is not positive, or the round is not; nothing has changed then.
        """
        if not (eta > 0 and np.isfinite(eta)):
            raise ValueError(f"eta = {eta}; a learning rate must be positive and finite")
        check_positive_int("round", round)
        center, dual = np.array(center, dtype=np.float64), np.array(dual, dtype=np.float64)
        if dual.shape != self.center.shape:
            raise ValueError(f"dual has shape {dual.shape}; it must be {self.center.shape}")
        check_finite("dual", dual)
        self.ellipsoid = self.barrier.dikin(center)
        self.center, self._dual, self.eta, self.round, self._y = center, dual, eta, round, None

    def predict(self, rng: np.random.Generator) -> FloatArray:
        """The point y_t to play, uniform on the Dikin ellipsoid at x_t, drawn with ``rng``; shape (d,).

        Source: Algorithm 2, lines 4 and 5.
        """
        self._y = self.ellipsoid.sample(rng)
        return self._y

    def update(self, loss_value: float, z_hat: FloatArray, epsilon: FloatArray) -> IncreasingRateRound:
        """Learn from one round, and say what happened.

        ``loss_value`` l_t·z_hat_t in [0, H]; ``z_hat`` and ``epsilon`` >= 0, shape (d,). Raises
        ``ValueError`` for values out of range or a schedule's rate that is not positive, ``RuntimeError``
        when nothing was predicted; nothing has changed then. Source: Algorithm 2, lines 7 to 10.
        """
        y = self._y
        if y is None:
            raise RuntimeError(f"round {self.round}: update was called before predict")
        z_hat, epsilon = check_observation(loss_value, z_hat, epsilon, self.center.shape, self.loss_bound)
        x = self.center
        # Line 8. E[y - x] = 0, so any baseline known beforehand leaves the estimate's mean alone.
        estimate = self.dimension * (loss_value - self.baseline) * self.ellipsoid.apply(y - x)
        # Line 9: the rate of this very round, which the proof pairs with this round's bias.
        z_hat_epsilon = float(np.vdot(z_hat, epsilon))
        rate = self.schedule.next_rate(self.eta, self.eta0, self.dimension, abs(z_hat_epsilon))
        if not (rate.eta > 0 and np.isfinite(rate.eta)):
            raise ValueError(f"the schedule gave eta = {rate.eta}; it must be positive and finite")
        # Line 10, from the sum of all estimates.
        dual = self._dual + rate.eta * estimate
        step = self.barrier.minimize(dual, x)
        record = IncreasingRateRound(
            round=self.round,
            eta=rate.eta,
            clipped=rate.clipped,
            x=x,
            y=y,
            loss=float(loss_value),
            z_hat_epsilon=z_hat_epsilon,
            estimate=estimate,
            next_x=step.x,
            decrement=step.decrement,
            iterations=step.iterations,
            damped=step.damped,
        )
        self._dual, self._y = dual, None
        self.eta, self.center, self.ellipsoid = rate.eta, step.x, step.dikin
        self.round += 1
        return record


def scrible(
    barrier: Barrier, rounds: int, loss_bound: float, eta0: float | None = None, baseline: float = 0.0
) -> IncreasingRateOMD:
    """SCRiBLe: Algorithm 2 when nobody moves the hand, that is, with budget 0 and one rate throughout.

    eta = sqrt(theta log(HT) / (n² c² T)) unless ``eta0`` is given, c = max(b, H - b). ``barrier`` of the
    decision set, ``rounds`` T, ``loss_bound`` H, ``baseline`` b. Raises ``ValueError`` for values out of
    range. Source: Abernethy, Hazan and Rakhlin (2008); Algorithm 2 with B = 0.
    """
    return IncreasingRateOMD(
        barrier, rounds, loss_bound, budget=0.0, eta0=eta0, baseline=baseline, schedule=ConstantRate()
    )


def check_observation(
    loss_value: float, z_hat: FloatArray, epsilon: FloatArray, shape: tuple[int, ...], loss_bound: float
) -> tuple[FloatArray, FloatArray]:
    """Refuse an observation the protocol does not allow; return ``z_hat`` and ``epsilon`` as arrays.

    ``loss_value`` must be in [0, ``loss_bound``]; ``z_hat`` and ``epsilon`` finite and of the given
    ``shape``, ``epsilon`` nonnegative. Raises ``ValueError`` naming the rule, the place and the value.
    Source: the protocol of distorted linear bandits, steps 3 and 4.
    """
    # A loss is a sum of products: it may leave [0, H] by rounding.
    slack = 1e-9 * loss_bound
    if not -slack <= loss_value <= loss_bound + slack:
        raise ValueError(f"loss_value = {loss_value}; the observed loss must lie in [0, {loss_bound}]")
    z_hat = np.asarray(z_hat, dtype=np.float64)
    epsilon = np.asarray(epsilon, dtype=np.float64)
    for name, vector in (("z_hat", z_hat), ("epsilon", epsilon)):
        if vector.shape != shape:
            raise ValueError(f"{name} has shape {vector.shape}; it must be {shape}")
        if not np.isfinite(vector).all():
            place = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise ValueError(f"{name}[{place}] = {vector.flat[place]}; every entry must be finite")
    if epsilon.min() < 0:
        place = int(epsilon.argmin())
        raise ValueError(f"epsilon[{place}] = {epsilon.flat[place]}; every entry must be nonnegative")
    return z_hat, epsilon
