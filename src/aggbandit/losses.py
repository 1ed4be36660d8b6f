"""Loss sequences fixed before the first episode: the oblivious adversary.

A sequence of K episodes is a small stack of loss tables and a schedule that says which episode uses which,
so that a million episodes take a few megabytes, sums over episodes are exact, and no learner can influence
its losses.

Source: Section 3 (losses `l_k : [H] x S x A x S -> [0, 1]`, chosen by an oblivious adversary).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import (
    FloatArray,
    Int32Array,
    IntArray,
    check_memory,
    check_positive_int,
    check_rng,
    check_unit_interval,
    integer_array,
    place,
    probability_rows,
    read_only,
    real_array,
    reduce_frozen,
    spread_table,
)
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["LossSequence", "against", "alternating", "bernoulli", "drifting", "fixed", "spread", "switching"]


def spread(table: ArrayLike | Sequence[Any], shape: tuple[int, int, int, int]) -> FloatArray:
    """A loss table over the steps and next states on which it does not depend: `table[s,a]`, say.

    `FiniteHorizonMDP.best_policy`, `FiniteHorizonMDP.expected_loss`, `Trajectory.total` and `World` do this
    by themselves. A `LossSequence` does not know the world it is for, so there it is written out.

    Args:
        table: (S, A), (H, S, A), (S, A, S) or (H, S, A, S) losses, where an axis of (H, S, A, S) may have
            length one; a sparse matrix (S, A); or a list of A sparse matrices (S, S).
        shape: (H, S, A, S), as in `mdp.shape`.

    Returns:
        (H, S, A, S) losses, a view that repeats where the table does not depend on an axis.

    Raises:
        ValueError: for another shape, entries that are no real numbers, or a shape with two readings: where
            H = S = A, (H, S, A) is written `table[..., None]` and (S, A, S) is written `table[None]`.

    Example:
        >>> import aggbandit as ab
        >>> mdp = ab.night_driver().mdp
        >>> toll = ab.losses.spread([[0.0, 0.5], [0.0, 0.5], [0.0, 0.5]], mdp.shape)  # turning costs 0.5
        >>> toll.shape
        (3, 3, 2, 3)
        >>> ab.losses.fixed(toll, episodes=1000)
        LossSequence(episodes=1000, tables=1, shape=(3, 3, 2, 3))
    """
    return spread_table("table", table, shape)


@dataclass(frozen=True, eq=False, repr=False)
class LossSequence:
    """The losses of K episodes: episode k has the table `tables[schedule[k]]`.

    Both are kept read-only; tables that `np.broadcast_to` only repeats are not copied out.

    Args:
        tables: (M, H, S, A, S) losses in [0, 1]; see `spread` for losses that depend on less.
        schedule: (K,) integers in 0..M-1, kept as int32.

    Raises:
        ValueError: naming the entry, for a wrong shape, entries that are no real numbers, a NaN, a loss
            outside [0, 1], or a schedule that asks for a table that is not there.

    Source:
        Section 3.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> week = ab.LossSequence([world.loss, world.other_losses["rain"]], [0, 0, 1, 0, 0, 0, 1])
        >>> week.counts
        array([5, 2])
        >>> _, best = week.best_policy(world.mdp)
        >>> round(best, 3)
        9.528
    """

    tables: FloatArray
    schedule: Int32Array
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        tables = _stack(self.tables)
        shape = tables.shape
        check_unit_interval("tables", tables)
        given = integer_array("schedule", self.schedule)
        if given.ndim != 1 or not given.size:
            raise ValueError(f"schedule has shape {given.shape}; expected (K,), K >= 1")
        outside = (given < 0) | (given >= shape[0])
        if outside.any():
            k = int(np.argmax(outside))
            raise ValueError(f"{place('schedule', (k,))} is {given[k]}; it must be a table 0..{shape[0] - 1}")
        schedule = np.array(given, dtype=np.int32)
        schedule.setflags(write=False)
        object.__setattr__(self, "tables", read_only(tables))
        object.__setattr__(self, "schedule", schedule)

    def __repr__(self) -> str:
        return f"LossSequence(episodes={len(self)}, tables={len(self.tables)}, shape={self.shape})"

    def __len__(self) -> int:
        """K, the number of episodes."""
        return len(self.schedule)

    def __getitem__(self, episode: int) -> FloatArray:
        """The loss table of one episode (from 0), (H, S, A, S), read-only."""
        table: FloatArray = self.tables[self.schedule[episode]]
        return table

    @property
    def shape(self) -> tuple[int, ...]:
        """(H, S, A, S), the shape of one table."""
        return self.tables.shape[1:]

    @property
    def counts(self) -> IntArray:
        """(M,) how many episodes use each table."""
        # In pieces: NumPy counts 64-bit integers, and a copy of a long schedule would be twice its size.
        counts = np.zeros(len(self.tables), dtype=np.int64)
        for first in range(0, len(self.schedule), 1 << 20):
            counts += np.bincount(self.schedule[first : first + (1 << 20)], minlength=len(self.tables))
        return counts

    def total_table(self) -> FloatArray:
        """The sum of all K tables, by counts: `sum_k l_k = sum_m counts[m] tables[m]`.

        Returns:
            (H, S, A, S) sums.
        """
        return np.tensordot(self.counts.astype(np.float64), self.tables, axes=1)

    def expected_losses(self, mdp: FiniteHorizonMDP, policy: ArrayLike) -> FloatArray:
        """The expected loss of one fixed policy in every episode: `x . l_k`.

        Args:
            mdp: the world.
            policy: (H, S, A) probabilities.

        Returns:
            (K,) expectations.

        Raises:
            ValueError: if the shapes do not fit.

        Source:
            Section 3.
        """
        self.check_world(mdp)
        by_table = np.tensordot(self.tables, mdp.occupancy(policy), axes=4)
        return np.asarray(by_table[self.schedule], dtype=np.float64)

    def best_policy(self, mdp: FiniteHorizonMDP) -> tuple[FloatArray, float]:
        """The best fixed policy in hindsight, and its expected loss in all: `min_pi sum_k x^pi . l_k`.

        Args:
            mdp: the world.

        Returns:
            The policy, (H, S, A) zeros and ones, and the value.

        Raises:
            ValueError: if the shapes do not fit.

        Source:
            The comparator of Section 3.
        """
        self.check_world(mdp)
        return mdp.best_policy(self.total_table())

    def check_world(self, mdp: FiniteHorizonMDP) -> None:
        """Do the tables have the shape of this world?

        Args:
            mdp: the world.

        Raises:
            ValueError: if not.
        """
        if self.shape != mdp.shape:
            raise ValueError(
                f"losses have tables of shape {self.shape}; the world has (H, S, A, S) = {mdp.shape}"
            )


def fixed(loss: ArrayLike, episodes: int) -> LossSequence:
    """The same losses in every episode.

    Args:
        loss: (H, S, A, S) in [0, 1]; a table that depends on less is `spread` first.
        episodes: K.

    Returns:
        K episodes of one table.

    Raises:
        ValueError: as `LossSequence` does, or if K < 1.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> losses = ab.losses.fixed(world.loss, episodes=1000)
        >>> losses
        LossSequence(episodes=1000, tables=1, shape=(3, 3, 2, 3))
        >>> policy, best = losses.best_policy(world.mdp)
        >>> round(best, 1)
        1014.0
    """
    check_positive_int("episodes", episodes)
    table = real_array("loss", loss)
    if table.ndim != 4:
        raise ValueError(f"loss has shape {table.shape}; expected (H, S, A, S), {_SPREAD}")
    return LossSequence(table[None], np.zeros(episodes, dtype=np.int32))


_SPREAD = "see losses.spread(table, mdp.shape) for losses that depend on less"


def _stack(tables: ArrayLike) -> FloatArray:
    """The tables as one array (M, H, S, A, S), M >= 1; ValueError otherwise."""
    stack = real_array("tables", tables)
    shape = stack.shape
    if len(shape) != 5 or shape[2] != shape[4] or 0 in shape:
        raise ValueError(f"tables has shape {shape}; expected (M, H, S, A, S), each at least 1, {_SPREAD}")
    return stack


def bernoulli(mean: ArrayLike, episodes: int, rng: np.random.Generator, n_tables: int = 256) -> LossSequence:
    """Losses 0 and 1, drawn around a mean: `Pr[l[h,s,a,s'] = 1] = mean[h,s,a,s']`.

    `n_tables` tables are drawn, and each episode uses one of them at random: the regret of the sequence is
    exact, and its average is near `mean`, within about `1/sqrt(n_tables)`.

    Args:
        mean: (H, S, A, S) in [0, 1].
        episodes: K.
        rng: the source of randomness.
        n_tables: M, at most K are drawn.

    Returns:
        K episodes of at most M tables.

    Raises:
        ValueError: as `LossSequence` does, or if K < 1 or M < 1.
        TypeError: if `rng` is no generator.
        MemoryError: if the tables do not fit.
    """
    check_positive_int("episodes", episodes)
    check_positive_int("n_tables", n_tables)
    check_rng(rng)
    probabilities = real_array("mean", mean)
    check_unit_interval("mean", probabilities)
    m = min(n_tables, episodes)
    _check_tables(m, probabilities.shape)
    tables = (rng.random((m, *probabilities.shape)) < probabilities).astype(np.float64)
    return LossSequence(tables, rng.integers(m, size=episodes, dtype=np.int32))


def switching(tables: ArrayLike, episodes: int, at: Sequence[int]) -> LossSequence:
    """One table after the other: the first from the start, the i-th from episode `at[i-1]` on.

    Args:
        tables: (M, H, S, A, S) in [0, 1].
        episodes: K.
        at: M - 1 increasing episodes in 1..K-1, counted from 0.

    Returns:
        K episodes of M tables.

    Raises:
        ValueError: as `LossSequence` does, or if `at` is not of this form.
    """
    stack = _stack(tables)
    check_positive_int("episodes", episodes)
    switches = integer_array("at", at)
    if switches.shape != (len(stack) - 1,):
        raise ValueError(f"at has shape {switches.shape}; {len(stack)} tables need {len(stack) - 1} switches")
    bounds = np.concatenate(([0], switches.astype(np.int64), [episodes]))
    if (np.diff(bounds) < 1).any():
        raise ValueError(
            f"at is {switches.tolist()}; switches must increase strictly within 1..{episodes - 1}"
        )
    return LossSequence(
        stack, np.repeat(np.arange(len(stack), dtype=np.int32), np.diff(bounds).astype(np.intp))
    )


def alternating(tables: ArrayLike, episodes: int, period: int) -> LossSequence:
    """The tables in turn, each for `period` episodes, again and again.

    Args:
        tables: (M, H, S, A, S) in [0, 1].
        episodes: K.
        period: episodes before the next table.

    Returns:
        K episodes of M tables.

    Raises:
        ValueError: as `LossSequence` does, or if K < 1 or the period < 1.
    """
    stack = _stack(tables)
    check_positive_int("episodes", episodes)
    check_positive_int("period", period)
    return LossSequence(stack, (np.arange(episodes) // period % len(stack)).astype(np.int32))


def drifting(start: ArrayLike, end: ArrayLike, episodes: int, n_tables: int = 101) -> LossSequence:
    """From one table to another in equal steps: `l_k = (1 - w) start + w end`, with w rising from 0 to 1.

    Args:
        start: (H, S, A, S) in [0, 1], the losses of the first episode.
        end: (H, S, A, S) in [0, 1], the losses of the last one.
        episodes: K.
        n_tables: how many values w takes; at most K are made.

    Returns:
        K episodes of at most `n_tables` tables.

    Raises:
        ValueError: as `LossSequence` does, if the shapes differ, or if K < 1 or n_tables < 1.
        MemoryError: if the tables do not fit.
    """
    check_positive_int("episodes", episodes)
    check_positive_int("n_tables", n_tables)
    first_table, last_table = real_array("start", start), real_array("end", end)
    if first_table.shape != last_table.shape:
        raise ValueError(f"start has shape {first_table.shape} and end has shape {last_table.shape}")
    m = min(n_tables, episodes)
    _check_tables(m, first_table.shape)
    weights = np.linspace(0.0, 1.0, m).reshape(m, *(1,) * first_table.ndim)
    schedule = np.rint(np.linspace(0, m - 1, episodes)).astype(np.int32)
    return LossSequence((1.0 - weights) * first_table + weights * last_table, schedule)


def against(policy: ArrayLike, episodes: int) -> LossSequence:
    """Losses aimed at one policy: an action costs what the policy gives it, `l[h,s,a,s'] = policy[h,s,a]`.

    A deterministic policy pays 1 at every step, H in all, while every step that avoids its action is free.
    The less a policy commits itself the less it can be hit: the uniform one pays H / A, whatever is done.

    Args:
        policy: (H, S, A) probabilities.
        episodes: K.

    Returns:
        K episodes of one table.

    Raises:
        ValueError: if the policy is not one, or if K < 1.
    """
    pi = probability_rows("policy", policy)
    if pi.ndim != 3 or 0 in pi.shape:
        raise ValueError(f"policy has shape {pi.shape}; expected (H, S, A), each at least 1")
    # A probability may exceed one by the rounding that is allowed in a sum; a loss may not.
    horizon, n_states, n_actions = pi.shape
    return fixed(spread(np.minimum(pi, 1.0)[..., None], (horizon, n_states, n_actions, n_states)), episodes)


def _check_tables(n_tables: int, shape: tuple[int, ...]) -> None:
    """Raise MemoryError if so many tables, and the copy that is kept of them, do not fit."""
    check_memory(f"{n_tables} loss tables of shape {shape}", 16.0 * n_tables * np.prod(shape, dtype=float))
