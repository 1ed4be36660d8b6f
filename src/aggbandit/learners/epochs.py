"""Epochs of Algorithm 3: what is fixed in one, when it is over, how many there can be, what the next begins
with.

Counts are tables N[h,s,a,s'] of integers; visits are `N(h,s,a) = sum_s' N[h,s,a,s']`. A function for
`between_epochs` takes the sum of rate times estimate with which Algorithm 2 ends an epoch, and returns the
one with which it begins the next: `restart` and `carry`, or one of your own.

Source: Section A, Algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggbandit._arrays import BoolArray, FloatArray, IntArray, reduce_frozen
from aggbandit.geometry.occupancy_set import OccupancySet

__all__ = [
    "Epoch",
    "EpochSummary",
    "carry",
    "epoch_budget",
    "epoch_over",
    "most_epochs",
    "restart",
]


# --- records ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Epoch:
    """What is fixed during an epoch.

    Attributes:
        index: i, counted from 1.
        first_episode: k_i, counted from 0.
        counts: (H, S, A, S) N_i, what was counted before.
        body: the set S_i.
        epsilon: (H, S, A) the perturbation eps_i.
        budget: B_i, what `sum_k (z_hat_k . eps_i)^2` cannot exceed.
        theta: the parameter of the barrier of S_i.
        eta0: the first rate.
        eta0_capped: whether it was lowered to `theory.eta0_cap`.
        dual: (H, S, A, S) the sum of rate times estimate that Algorithm 2 begins with; zero in the paper.

    Source:
        Algorithm 3, lines 3-6.
    """

    index: int
    first_episode: int
    counts: IntArray
    body: OccupancySet
    epsilon: FloatArray
    budget: float
    theta: float
    eta0: float
    eta0_capped: bool
    dual: FloatArray

    __reduce__ = reduce_frozen


@dataclass(frozen=True)
class EpochSummary:
    """What happened in an epoch.

    Attributes:
        index: i, counted from 1.
        first_episode: k_i, counted from 0.
        episodes: how many were played in it.
        constrained: cells whose L1 constraint excludes something.
        eta0: the first rate.
        eta0_capped: whether it was lowered to `theory.eta0_cap`.
        clipped: episodes whose rate met the clip.
        newton_steps: taken in all mirror steps.
        damped: how many of these were damped.
    """

    index: int
    first_episode: int
    episodes: int
    constrained: int
    eta0: float
    eta0_capped: bool
    clipped: int
    newton_steps: int
    damped: int


# --- from one to the next -----------------------------------------------------------------------------------


def restart(dual: FloatArray) -> FloatArray:
    """Start every epoch at the center, as in the paper: what was estimated is forgotten.

    Args:
        dual: (H, S, A, S) the sum of rate times estimate at the end of an epoch.

    Returns:
        (H, S, A, S) zeros.

    Source:
        Algorithm 3, line 6.
    """
    return np.zeros_like(dual)


def carry(dual: FloatArray) -> FloatArray:
    """Go on, in the new set, from what was estimated in the old one; outside the theorem.

    Args:
        dual: (H, S, A, S) the sum of rate times estimate at the end of an epoch.

    Returns:
        (H, S, A, S) the same.
    """
    return dual


# --- counting -----------------------------------------------------------------------------------------------


def epoch_over(in_epoch: IntArray, counts: IntArray) -> BoolArray:
    """Which cells end the epoch: `n_i(h,s,a) >= max(N_i(h,s,a), 1)`.

    Args:
        in_epoch: (H, S, A, S) n_i, counted since the epoch began.
        counts: (H, S, A, S) N_i, counted before.

    Returns:
        (H, S, A) true where a cell has been visited often enough.

    Source:
        Algorithm 3, line 7.
    """
    return np.asarray(in_epoch.sum(axis=-1) >= np.maximum(counts.sum(axis=-1), 1), dtype=np.bool_)


def epoch_budget(counts: IntArray, epsilon: FloatArray, initial_state: int = 0) -> float:
    """What `sum_k (z_hat_k . eps_i)^2` cannot exceed in an epoch: `B_i = H sum max(N_i, 1) eps_i^2`.

    By Cauchy-Schwarz, and because a cell is visited at most max(N_i, 1) times before the epoch ends. The sum
    is over cells; those of the first step other than the initial state's are never visited. With the printed
    eps it is at most `theory.printed_B`.

    Args:
        counts: (H, S, A, S) N_i.
        epsilon: (H, S, A) eps_i.
        initial_state: s_1.

    Returns:
        B_i.

    Source:
        Lemma sumofepsilons.
    """
    terms = np.maximum(counts.sum(axis=-1), 1) * epsilon**2
    return float(counts.shape[0] * (terms[0, initial_state].sum() + terms[1:].sum()))


def most_epochs(n_states: int, n_actions: int, horizon: int, episodes: int) -> int:
    """How many epochs there can be: cells (1 + floor(log2 K)) + 1, with A + (H-1)SA cells.

    A cell ends an epoch at its first visit and then whenever its count has doubled; the last epoch may end
    with the run. At most the printed 2HSA log K, plus one, from K = 7 on.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        The largest number of epochs.

    Source:
        Section 3.3; Algorithm 3.

    Example:
        >>> import aggbandit as ab
        >>> ab.epochs.most_epochs(n_states=3, n_actions=2, horizon=3, episodes=1000)
        141
    """
    n_cells = int(n_actions) + (int(horizon) - 1) * int(n_states) * int(n_actions)
    # floor(log2 K) is the number of binary digits minus one.
    return n_cells * int(episodes).bit_length() + 1
