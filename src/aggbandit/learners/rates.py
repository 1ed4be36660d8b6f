"""Learning rates: how they go on from round to round, and the presets of the reduction.

Constants of the theorem and tuned ones are two presets, never mixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit import theory
from aggbandit._arrays import (
    BoolArray,
    FloatArray,
    check_has,
    check_number,
    check_positive,
)

# --- schedules ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """The learning rate of a round.

    Args:
        eta: the rate.
        clipped: whether it met its clip.
    """

    eta: float
    clipped: bool


class RateSchedule(Protocol):
    """How eta_t follows from eta_{t-1}."""

    def next_rate(self, previous: float, eta0: float, dimension: int, z_hat_epsilon: float) -> Rate:
        """The rate eta_t.

        Args:
            previous: eta_{t-1}.
            eta0: the first rate.
            dimension: n.
            z_hat_epsilon: `|z_hat_t . eps_t|`, >= 0.

        Returns:
            The rate, positive.
        """
        ...


@dataclass(frozen=True)
class IncreasingRate:
    """The paper's schedule: `1/eta_t = 1/eta_{t-1} - 2 n |z_hat_t . eps_t|`, never above clip times eta_0.

    The theorem's eta_0 never meets the clip at 2 (Lemma lr-relation); a tuned one may, and then the round's
    rate says so.

    Args:
        clip: the largest rate, as a multiple of eta_0.

    Raises:
        TypeError: for a clip that is no number.
        ValueError: unless 1 <= clip <= 2.

    Source:
        Algorithm 2, line 9.

    Example:
        >>> import aggbandit as ab
        >>> ab.IncreasingRate().next_rate(0.1, eta0=0.1, dimension=2, z_hat_epsilon=0.5)
        Rate(eta=0.125, clipped=False)
        >>> ab.IncreasingRate().next_rate(0.1, eta0=0.1, dimension=2, z_hat_epsilon=2.5)
        Rate(eta=0.2, clipped=True)
    """

    clip: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= check_number("clip", self.clip) <= 2:
            raise ValueError(f"clip is {self.clip}; the proof needs 1 <= clip <= 2")

    def next_rate(self, previous: float, eta0: float, dimension: int, z_hat_epsilon: float) -> Rate:
        """The rate eta_t.

        Args:
            previous: eta_{t-1}.
            eta0: the first rate.
            dimension: n.
            z_hat_epsilon: `|z_hat_t . eps_t|`.

        Returns:
            The rate, and whether it was clipped.

        Raises:
            ValueError: for a negative z_hat_epsilon: the rule takes the absolute value.
        """
        if not z_hat_epsilon >= 0:
            raise ValueError(f"z_hat_epsilon is {z_hat_epsilon}; the rule takes |z_hat . eps|, which is >= 0")
        if z_hat_epsilon == 0:
            return Rate(previous, clipped=False)
        largest = self.clip * eta0
        inverse = 1 / previous - 2 * dimension * z_hat_epsilon
        if inverse * largest < 1:
            return Rate(largest, clipped=True)
        return Rate(1 / inverse, clipped=False)

    def next_rates(
        self, previous: FloatArray, eta0: float, dimension: int, z_hat_epsilon: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """`next_rate` for many seeds at once.

        Args:
            previous: (N,) the rates eta_{t-1}.
            eta0: the first rate.
            dimension: n.
            z_hat_epsilon: (N,) `|z_hat_t . eps_t|`.

        Returns:
            (N,) the rates eta_t, and (N,) which of them were clipped.
        """
        largest = self.clip * eta0
        moved = z_hat_epsilon > 0
        inverse = 1 / previous - 2 * dimension * z_hat_epsilon
        clipped = moved & (inverse * largest < 1)
        free = 1 / np.where(clipped, 1.0, inverse)
        return np.where(clipped, largest, np.where(moved, free, previous)), clipped


@dataclass(frozen=True)
class ConstantRate:
    """The same rate in every round: what the increasing rate is compared with.

    Args:
        factor: the rate, as a multiple of eta_0.

    Raises:
        TypeError: for a factor that is no number.
        ValueError: unless 0 < factor <= 2, since the cap on eta_0 covers rates up to 2 eta_0.

    Source:
        Abernethy, Hazan and Rakhlin (2008).
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < check_number("factor", self.factor) <= 2:
            raise ValueError(f"factor is {self.factor}; a rate is positive, and at most 2 eta_0")

    def next_rate(self, previous: float, eta0: float, dimension: int, z_hat_epsilon: float) -> Rate:
        """`factor` times `eta0`, whatever happened.

        Args:
            previous: not used.
            eta0: the first rate.
            dimension: not used.
            z_hat_epsilon: not used.

        Returns:
            The rate, not clipped.
        """
        return Rate(self.factor * eta0, clipped=False)

    def next_rates(
        self, previous: FloatArray, eta0: float, dimension: int, z_hat_epsilon: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """`next_rate` for many seeds at once: `factor` times `eta0`, clipped nowhere.

        Args:
            previous: (N,) the rates eta_{t-1}; they only say how many seeds there are.
            eta0: the first rate.
            dimension: not used.
            z_hat_epsilon: not used.

        Returns:
            (N,) the rates eta_t, and (N,) False.
        """
        return np.full(previous.shape, self.factor * eta0), np.zeros(previous.shape, dtype=bool)


# --- presets ------------------------------------------------------------------------------------------------


class Rates(Protocol):
    """The first rate of an epoch, and how it goes on."""

    @property
    def schedule(self) -> RateSchedule:
        """How eta_t follows from eta_{t-1}."""
        ...

    def eta0(self, dimension: int, theta: float, loss_bound: float, episodes: int, budget: float) -> float:
        """The first rate eta_0 of an epoch.

        Args:
            dimension: n, of the set S_i.
            theta: the parameter of its barrier.
            loss_bound: H.
            episodes: K.
            budget: B_i.

        Returns:
            The rate, positive and finite.
        """
        ...


@dataclass(frozen=True)
class TheoremRates:
    """The theorem's first rate and its increasing schedule; see `theorem_rates`."""

    @property
    def schedule(self) -> IncreasingRate:
        """The paper's schedule; it never meets its clip."""
        return IncreasingRate()

    def eta0(self, dimension: int, theta: float, loss_bound: float, episodes: int, budget: float) -> float:
        """`theory.eta0` with T = K.

        Args:
            dimension: n.
            theta: the parameter of the barrier.
            loss_bound: H.
            episodes: K.
            budget: B_i.

        Returns:
            The first rate.
        """
        return theory.eta0(dimension, theta, loss_bound, episodes, budget)


@dataclass(frozen=True)
class TunedRates:
    """A first rate outside the theorem, with a schedule; see `tuned_rates`.

    Args:
        scale: a factor, positive.
        schedule: how the rate goes on.

    Raises:
        TypeError: for a scale that is no number or a schedule without the method `next_rate`.
        ValueError: unless the scale is positive and finite.
    """

    scale: float
    schedule: RateSchedule

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_has("schedule", self.schedule, ("next_rate",), "ab.IncreasingRate() or ab.ConstantRate(factor)")

    def eta0(self, dimension: int, theta: float, loss_bound: float, episodes: int, budget: float) -> float:
        """`scale sqrt(theta log(HK) / (n^2 H^2 K))`.

        Args:
            dimension: n.
            theta: the parameter of the barrier.
            loss_bound: H.
            episodes: K.
            budget: not used.

        Returns:
            The first rate.
        """
        # log(HK) is zero for H = K = 1, where no rate matters; it must still be a rate.
        logarithm = math.log(max(loss_bound * episodes, 2.0))
        return self.scale * math.sqrt(theta * logarithm / episodes) / (dimension * loss_bound)


def theorem_rates() -> TheoremRates:
    """The rates of the theorem: its regret bound holds.

    At any K that a person can run the learner then stays at the center.

    Returns:
        The preset.

    Source:
        Theorem inclrregret.

    Example:
        >>> import aggbandit as ab
        >>> ab.theorem_rates().schedule
        IncreasingRate(clip=2.0)
    """
    return TheoremRates()


def tuned_rates(scale: float = 1.0, schedule: RateSchedule | None = None) -> TunedRates:
    """Rates outside the theorem, at which something is learned.

    They begin with `eta_0 = scale sqrt(theta log(HK) / (n^2 H^2 K))`, the theorem's rate without the term
    that pays for the perturbations. The increasing schedule then soon meets its clip at 2 eta_0, which the
    learner records.

    Args:
        scale: a factor, positive.
        schedule: `IncreasingRate()` if None, or `ConstantRate(factor)`, or one of your own.

    Returns:
        The preset.

    Raises:
        TypeError: for a scale that is no number or a schedule without the method `next_rate`.
        ValueError: unless the scale is positive and finite.

    Example:
        >>> import aggbandit as ab
        >>> ab.tuned_rates(3.0, ab.ConstantRate(2))
        TunedRates(scale=3.0, schedule=ConstantRate(factor=2))
        >>> rates = ab.tuned_rates()
        >>> round(rates.eta0(dimension=35, theta=42.0, loss_bound=3.0, episodes=10_000, budget=0.0), 5)
        0.00198
    """
    return TunedRates(scale, IncreasingRate() if schedule is None else schedule)
