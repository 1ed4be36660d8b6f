"""What counting says about the dynamics: empirical rows, and how far they may be off.

Counts are tables N[h,s,a,s'] of integers; visits are N(h,s,a) = sum_s' N[h,s,a,s'].

Source: Section A, Algorithm 3; Lemma concentration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray, IntArray

__all__ = [
    "Confidence",
    "CorrectedConfidence",
    "TightConfidence",
    "empirical_dynamics",
]


class Confidence(Protocol):
    """How far the truth may be from what was counted, and how far a learner that believes it may be moved."""

    def radius(self, counts: IntArray, episodes: int) -> FloatArray:
        """L1 radii of S_i, (H, S, A), infinite where nothing was counted; `counts` (H, S, A, S), K
        `episodes`."""
        ...

    def epsilon(self, counts: IntArray, episodes: int) -> FloatArray:
        """The perturbation eps_i(h,s,a), (H, S, A), finite; `counts` (H, S, A, S), K `episodes`."""
        ...


@dataclass(frozen=True)
class CorrectedConfidence:
    """The printed perturbation with the radius that its lemma needs.

    eps(h,s,a) = 5H sqrt((S + log(HSAK/delta)) / max(N(h,s,a), 1)),    radius = eps/(2H).

    Two dynamics in a ball of radius w differ by up to 2w, which the printed radius eps/H forgets. Half of it
    still holds the truth: Weissman's inequality needs sqrt(2) where eps/(2H) has 5/2.

    delta: the probability that some row is ever farther off; 1/(HK) if None.
    Source: Eqs. (epsilon), (omconcentration) and Lemma boundocdiff, corrected.
    """

    delta: float | None = None

    def epsilon(self, counts: IntArray, episodes: int) -> FloatArray:
        """eps_i(h,s,a) as above, (H, S, A); `counts` (H, S, A, S), K `episodes`. Raises ValueError out of
        range."""
        return theory.printed_epsilon(
            counts.astype(np.float64), episodes, _delta(self.delta, counts, episodes)
        )

    def radius(self, counts: IntArray, episodes: int) -> FloatArray:
        """eps/(2H), (H, S, A), infinite where N = 0; `counts` (H, S, A, S), K `episodes`. Raises as
        `epsilon`."""
        half = self.epsilon(counts, episodes) / (2 * counts.shape[0])
        return np.where(counts.sum(axis=-1) > 0, half, np.inf)


@dataclass(frozen=True)
class TightConfidence:
    """The smallest radius that Weissman's inequality gives, and what a step's error can cost until the end.

    radius w(h,s,a) = sqrt(2 (S log 2 + log(HSAK/delta)) / N(h,s,a)),    eps(h,s,a) = (H - h + 1) min(2, 2w).

    delta: the probability that some row is ever farther off; 1/(HK) if None.
    Source: Weissman et al. (2003); Lemma boundocdiff, corrected.
    """

    delta: float | None = None

    def radius(self, counts: IntArray, episodes: int) -> FloatArray:
        """w as above, (H, S, A), infinite where N = 0; `counts` (H, S, A, S), K `episodes`. Raises
        ValueError."""
        delta = _delta(self.delta, counts, episodes)
        return theory.confidence_radius(counts.astype(np.float64), episodes, delta)

    def epsilon(self, counts: IntArray, episodes: int) -> FloatArray:
        """eps_i(h,s,a) as above, (H, S, A); `counts` (H, S, A, S), K `episodes`. Raises ValueError as
        `radius`."""
        return theory.epsilon(self.radius(counts, episodes))


def _delta(delta: float | None, counts: IntArray, episodes: int) -> float:
    """delta, or the paper's 1/(HK); a half where that is no probability (H = K = 1)."""
    if delta is not None:
        return delta
    return min(0.5, 1.0 / (len(counts) * episodes))


def empirical_dynamics(counts: IntArray) -> FloatArray:
    """P_hat[h,s,a,s'] = N[h,s,a,s'] / max(N(h,s,a), 1): zero rows where nothing was counted.

    counts: (H, S, A, S). Returns the same shape. Source: Eq. (empirical-dynamics), Algorithm 3, line 3.
    """
    visits = counts.sum(axis=-1, keepdims=True)
    return np.asarray(counts / np.maximum(visits, 1), dtype=np.float64)
