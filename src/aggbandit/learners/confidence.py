"""What counting says about the dynamics: empirical rows, how far they may be off, and when an epoch ends.

Counts are tables N[h,s,a,s'] of integers; visits are N(h,s,a) = sum_s' N[h,s,a,s'].

Source: Section A, Algorithm 3; Lemma concentration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit import theory
from aggbandit._arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "Confidence",
    "CorrectedConfidence",
    "TightConfidence",
    "empirical_dynamics",
    "epoch_budget",
    "epoch_over",
    "most_epochs",
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


def epoch_over(in_epoch: IntArray, counts: IntArray) -> BoolArray:
    """Which cells end the epoch: n_i(h,s,a) >= max(N_i(h,s,a), 1).

    in_epoch: n_i, (H, S, A, S), counted since the epoch began; counts: N_i, (H, S, A, S), counted before.
    Returns shape (H, S, A). Source: Algorithm 3, line 7.
    """
    return np.asarray(in_epoch.sum(axis=-1) >= np.maximum(counts.sum(axis=-1), 1), dtype=np.bool_)


def epoch_budget(counts: IntArray, epsilon: FloatArray, initial_state: int = 0) -> float:
    """What sum_k (z_hat_k·eps_i)² cannot exceed in this epoch: B_i = H sum over cells of max(N_i, 1) eps_i².

    By Cauchy-Schwarz, and because a cell is visited at most max(N_i, 1) times before the epoch ends. Cells of
    the first step other than the initial state's are never visited. With the printed eps it is at most
    `theory.printed_B`.

    counts: N_i, (H, S, A, S); epsilon: eps_i, (H, S, A); initial_state: s_1. Source: Lemma sumofepsilons.
    """
    terms = np.maximum(counts.sum(axis=-1), 1) * epsilon**2
    return float(counts.shape[0] * (terms[0, initial_state].sum() + terms[1:].sum()))


def most_epochs(n_states: int, n_actions: int, horizon: int, episodes: int) -> int:
    """How many epochs there can be: cells (1 + log2 K) + 1, with A + (H-1)SA cells.

    A cell ends an epoch at its first visit and then whenever its count has doubled; the last epoch may end
    with the run. At most the printed 2HSA log K, plus one, from K = 7 on.

    n_states S, n_actions A, horizon H, episodes K. Source: Section 3.3; Algorithm 3.
    """
    n_cells = n_actions + (horizon - 1) * n_states * n_actions
    # floor(log2 K) is the number of binary digits minus one.
    return n_cells * int(episodes).bit_length() + 1
