"""Learning rates: how they go on from round to round, and the presets of the reduction.

Constants of the theorem and tuned ones are two presets, never mixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit import theory
from aggbandit._arrays import BoolArray, FloatArray

# --- schedules ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """The learning rate ``eta`` of a round, and whether it was ``clipped``."""

    eta: float
    clipped: bool


class RateSchedule(Protocol):
    """How eta_t follows from eta_{t-1}."""

    def next_rate(self, previous: float, eta0: float, dimension: int, z_hat_epsilon: float) -> Rate:
        """The rate eta_t after ``previous``, given ``eta0``, ``dimension`` n and ``z_hat_epsilon`` >= 0."""


@dataclass(frozen=True)
class IncreasingRate:
    """The paper's schedule: 1/eta_t = 1/eta_{t-1} - 2 n |z_hat_t·eps_t|, never above ``clip`` times eta_0.

    The theorem's eta_0 never meets the clip at 2 (Lemma lr-relation); a tuned one may, and then the round's
    rate says so. Raises ``ValueError`` unless 1 <= clip <= 2. Source: Algorithm 2, line 9.
    """

    clip: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= self.clip <= 2:
            raise ValueError(f"clip = {self.clip}; the proof needs 1 <= clip <= 2")

    def next_rate(self, previous: float, eta0: float, dimension: int, z_hat_epsilon: float) -> Rate:
        """The rate eta_t after ``previous``, given ``eta0``, ``dimension`` n and ``z_hat_epsilon`` >= 0.

        Raises ``ValueError`` for a negative ``z_hat_epsilon``: the rule takes its absolute value.
        """
        if not z_hat_epsilon >= 0:
            raise ValueError(f"z_hat_epsilon = {z_hat_epsilon}; the rule takes |z_hat·eps|, which is >= 0")
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
            z_hat_epsilon: (N,) |z_hat_t·eps_t|.

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
    """``factor`` times eta_0 in every round: what the increasing rate is compared with.

    Raises ``ValueError`` unless 0 < factor <= 2, since the cap on eta_0 covers rates up to 2 eta_0.
    Source: Abernethy, Hazan and Rakhlin (2008).
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 2:
            raise ValueError(f"factor = {self.factor}; a rate is positive, and at most 2 eta_0")

    def next_rate(self, previous: float, eta0: float, dimension: int, z_hat_epsilon: float) -> Rate:
        """``factor`` times ``eta0``, whatever ``previous``, ``dimension`` and ``z_hat_epsilon``."""
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
    def schedule(self) -> IncreasingRate | ConstantRate:
        """How eta_t follows from eta_{t-1}."""

    def eta0(self, dimension: int, theta: float, loss_bound: float, episodes: int, budget: float) -> float:
        """eta_0 for a set of this `dimension` and `theta`, `loss_bound` H, K `episodes` and `budget` B."""
        ...


@dataclass(frozen=True)
class TheoremRates:
    """The theorem's first rate and its increasing schedule; see `theorem_rates`."""

    @property
    def schedule(self) -> IncreasingRate:
        """The paper's schedule; it never meets its clip."""
        return IncreasingRate()

    def eta0(self, dimension: int, theta: float, loss_bound: float, episodes: int, budget: float) -> float:
        """`theory.eta0` for `dimension` n, `theta`, `loss_bound` H, T = K `episodes` and `budget` B."""
        return theory.eta0(dimension, theta, loss_bound, episodes, budget)


@dataclass(frozen=True)
class TunedRates:
    """A first rate outside the theorem, with a schedule; see `tuned_rates`.

    Raises ValueError unless scale > 0.
    """

    scale: float
    schedule: IncreasingRate | ConstantRate

    def __post_init__(self) -> None:
        if not (self.scale > 0 and math.isfinite(self.scale)):
            raise ValueError(f"scale is {self.scale}; it must be positive and finite")

    def eta0(self, dimension: int, theta: float, loss_bound: float, episodes: int, budget: float) -> float:
        """scale sqrt(theta log(HK) / (n² H² K)), whatever the `budget`: `dimension` n, `loss_bound` H, K
        `episodes`."""
        # log(HK) is zero for H = K = 1, where no rate matters; it must still be a rate.
        logarithm = math.log(max(loss_bound * episodes, 2.0))
        return self.scale * math.sqrt(theta * logarithm / episodes) / (dimension * loss_bound)


def theorem_rates() -> TheoremRates:
    """The rates of the theorem: its regret bound holds, and at any K a person can run the learner stays at
    the centre.

    Source: Theorem inclrregret.
    """
    return TheoremRates()


def tuned_rates(scale: float = 1.0, schedule: IncreasingRate | ConstantRate | None = None) -> TunedRates:
    """Rates outside the theorem, at which something is learnt: eta_0 = scale sqrt(theta log(HK) / (n² H² K)).

    This is the theorem's rate without the term that pays for the perturbations. The increasing schedule then
    soon meets its clip at 2 eta_0, which the learner records.

    scale: a factor, positive; schedule: `IncreasingRate()` if None, or `ConstantRate(factor)`.
    Raises ValueError unless scale > 0.
    """
    return TunedRates(scale, IncreasingRate() if schedule is None else schedule)
