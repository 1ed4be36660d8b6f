"""What counting says about the dynamics: empirical rows, and how far they may be off.

Counts are tables N[h,s,a,s'] of integers; visits are `N(h,s,a) = sum_s' N[h,s,a,s']`.

Source: Section A, Algorithm 3; Lemma concentration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit import theory
from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_number,
)

__all__ = [
    "Confidence",
    "CorrectedConfidence",
    "TightConfidence",
    "empirical_dynamics",
]


class Confidence(Protocol):
    """How far the truth may be from what was counted, and how far a learner that believes it may be moved."""

    def radius(self, counts: IntArray, episodes: int) -> FloatArray:
        """L1 radii of S_i.

        Args:
            counts: (H, S, A, S) N_i, what was counted before the epoch.
            episodes: K.

        Returns:
            (H, S, A) the radii, infinite where nothing was counted.
        """
        ...

    def epsilon(self, counts: IntArray, episodes: int) -> FloatArray:
        """The perturbation eps_i.

        Args:
            counts: (H, S, A, S) N_i, what was counted before the epoch.
            episodes: K.

        Returns:
            (H, S, A) eps_i(h,s,a), finite and nonnegative.
        """
        ...


@dataclass(frozen=True)
class CorrectedConfidence:
    """The printed perturbation with the radius that its lemma needs.

    That is::

        eps(h,s,a) = 5H sqrt((S + log(HSAK/delta)) / max(N(h,s,a), 1)),    radius = eps/(2H).

    Two dynamics in a ball of radius w differ by up to 2w, which the printed radius eps/H forgets. Half of it
    still holds the truth: Weissman's inequality needs sqrt(2) where eps/(2H) has 5/2.

    Args:
        delta: the probability that some row is ever farther off; 1/(HK) if None.

    Raises:
        TypeError: for a delta that is no number.
        ValueError: unless 0 < delta < 1.

    Source:
        Eqs. (epsilon), (omconcentration) and Lemma boundocdiff, corrected.
    """

    delta: float | None = None

    def __post_init__(self) -> None:
        _check_delta(self.delta)

    def epsilon(self, counts: IntArray, episodes: int) -> FloatArray:
        """The perturbation.

        Args:
            counts: (H, S, A, S) N_i.
            episodes: K.

        Returns:
            (H, S, A) eps_i(h,s,a) as above.

        Raises:
            ValueError: for values out of range.
        """
        return theory.printed_epsilon(
            counts.astype(np.float64), episodes, _delta(self.delta, counts, episodes)
        )

    def radius(self, counts: IntArray, episodes: int) -> FloatArray:
        """The L1 radii.

        Args:
            counts: (H, S, A, S) N_i.
            episodes: K.

        Returns:
            (H, S, A) eps/(2H), infinite where nothing was counted.

        Raises:
            ValueError: for values out of range.
        """
        half = self.epsilon(counts, episodes) / (2 * counts.shape[0])
        return np.where(counts.sum(axis=-1) > 0, half, np.inf)


@dataclass(frozen=True)
class TightConfidence:
    """The smallest radius that Weissman's inequality gives, and what a step's error can cost until the end.

    That is, with steps h counted from 1::

        w(h,s,a) = sqrt(2 (S log 2 + log(HSAK/delta)) / N(h,s,a)),    eps(h,s,a) = (H - h + 1) min(2, 2w).

    Args:
        delta: the probability that some row is ever farther off; 1/(HK) if None.

    Raises:
        TypeError: for a delta that is no number.
        ValueError: unless 0 < delta < 1.

    Source:
        Weissman et al. (2003); Lemma boundocdiff, corrected.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> counts = np.full((2, 3, 2, 3), 400)
        >>> radius = ab.TightConfidence().radius(counts, episodes=10_000)
        >>> radius.shape, round(float(radius[0, 0, 0]), 3)
        ((2, 3, 2), 0.199)
    """

    delta: float | None = None

    def __post_init__(self) -> None:
        _check_delta(self.delta)

    def radius(self, counts: IntArray, episodes: int) -> FloatArray:
        """The L1 radii.

        Args:
            counts: (H, S, A, S) N_i.
            episodes: K.

        Returns:
            (H, S, A) w as above, infinite where nothing was counted.

        Raises:
            ValueError: for values out of range.
        """
        delta = _delta(self.delta, counts, episodes)
        return theory.confidence_radius(counts.astype(np.float64), episodes, delta)

    def epsilon(self, counts: IntArray, episodes: int) -> FloatArray:
        """The perturbation.

        Args:
            counts: (H, S, A, S) N_i.
            episodes: K.

        Returns:
            (H, S, A) eps_i(h,s,a) as above.

        Raises:
            ValueError: for values out of range.
        """
        return theory.epsilon(self.radius(counts, episodes))


def _check_delta(delta: float | None) -> None:
    """Raise unless delta is a probability, or None."""
    if delta is not None and not 0 < check_number("delta", delta) < 1:
        raise ValueError(f"delta is {delta}; it must be a probability in (0, 1)")


def _delta(delta: float | None, counts: IntArray, episodes: int) -> float:
    """delta, or the paper's 1/(HK); a half where that is no probability (H = K = 1)."""
    if delta is not None:
        return delta
    return min(0.5, 1.0 / (len(counts) * episodes))


def empirical_dynamics(counts: IntArray) -> FloatArray:
    """`P_hat[h,s,a,s'] = N[h,s,a,s'] / max(N(h,s,a), 1)`: zero rows where nothing was counted.

    Args:
        counts: (H, S, A, S) N.

    Returns:
        (H, S, A, S) P_hat.

    Source:
        Eq. (empirical-dynamics), Algorithm 3, line 3.
    """
    visits = counts.sum(axis=-1, keepdims=True)
    return np.asarray(counts / np.maximum(visits, 1), dtype=np.float64)
