"""Loss sequences fixed before the first episode: the oblivious adversary.

A sequence of K episodes is a small stack of loss tables and a schedule that says which episode uses which,
so that a million episodes take a few megabytes, sums over episodes are exact, and no learner can influence
its losses.

Source: Section 3 (losses l_k : [H] x S x A x S -> [0, 1], chosen by an oblivious adversary).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import (
    FloatArray,
    Int32Array,
    IntArray,
    check_positive_int,
    check_rows,
    check_unit_interval,
    place,
    read_only,
)
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["LossSequence", "against", "alternating", "bernoulli", "drifting", "fixed", "switching"]


@dataclass(frozen=True, eq=False, repr=False)
class LossSequence:
    """The losses of K episodes: episode k has the table `tables[schedule[k]]`.

    tables:   (M, H, S, A, S), entries in [0, 1]
    schedule: (K,) integers in 0..M-1, kept as int32

    Both are read-only. Raises ValueError, naming the entry, for a wrong shape, a NaN, a loss outside
    [0, 1], or a schedule that asks for a table that is not there. Source: Section 3.
    """

    tables: FloatArray
    schedule: Int32Array

    def __post_init__(self) -> None:
        tables = read_only(self.tables)
        shape = tables.shape
        if len(shape) != 5 or shape[2] != shape[4] or 0 in shape:
            raise ValueError(f"tables has shape {shape}; expected (M, H, S, A, S), each at least 1")
        check_unit_interval("tables", tables)
        given = np.asarray(self.schedule)
        if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(
                f"schedule has shape {given.shape} and type {given.dtype}; expected (K,) integers, K >= 1"
            )
        outside = (given < 0) | (given >= shape[0])
        if outside.any():
            k = int(np.argmax(outside))
            raise ValueError(f"{place('schedule', (k,))} is {given[k]}; it must be a table 0..{shape[0] - 1}")
        schedule = np.array(given, dtype=np.int32)
        schedule.setflags(write=False)
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "schedule", schedule)

    def __repr__(self) -> str:
        return f"LossSequence(episodes={len(self)}, tables={len(self.tables)}, shape={self.shape})"

    def __len__(self) -> int:
        """K, the number of episodes."""
        return len(self.schedule)

    def __getitem__(self, episode: int) -> FloatArray:
        """The loss table of one episode, (H, S, A, S), read-only."""
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
        """The sum of all K tables, by counts: sum_k l_k = sum_m counts[m] tables[m]. Shape (H, S, A, S)."""
        return np.tensordot(self.counts.astype(np.float64), self.tables, axes=1)

    def expected_losses(self, mdp: FiniteHorizonMDP, policy: ArrayLike) -> FloatArray:
        """The expected loss of one fixed policy in every episode: x . l_k.

        mdp: the world; policy: (H, S, A). Returns shape (K,).
        Raises ValueError if the shapes do not fit. Source: Section 3.
        """
        self.check_world(mdp)
        by_table = np.tensordot(self.tables, mdp.occupancy(policy), axes=4)
        return np.asarray(by_table[self.schedule], dtype=np.float64)

    def best_policy(self, mdp: FiniteHorizonMDP) -> tuple[FloatArray, float]:
        """The best fixed policy in hindsight, and its expected loss in all: min_pi sum_k x^pi . l_k.

        mdp: the world. Returns the policy, (H, S, A), and the value.
        Raises ValueError if the shapes do not fit. Source: the comparator of Section 3.
        """
        self.check_world(mdp)
        return mdp.best_policy(self.total_table())

    def check_world(self, mdp: FiniteHorizonMDP) -> None:
        """Raises ValueError unless the tables have the shape of this `mdp`."""
        if self.shape != mdp.shape:
            raise ValueError(
                f"losses have tables of shape {self.shape}; the world has (H, S, A, S) = {mdp.shape}"
            )


def fixed(loss: ArrayLike, episodes: int) -> LossSequence:
    """The same losses in every episode.

    loss: (H, S, A, S) in [0, 1]; episodes: K. Raises ValueError as `LossSequence` does, or if K < 1.
    """
    check_positive_int("episodes", episodes)
    return LossSequence(np.asarray(loss, dtype=np.float64)[None], np.zeros(episodes, dtype=np.int32))


def _stack(tables: ArrayLike) -> FloatArray:
    """The tables as one array (M, H, S, A, S), M >= 1; ValueError otherwise."""
    stack = np.asarray(tables, dtype=np.float64)
    if stack.ndim != 5 or 0 in stack.shape:
        raise ValueError(f"tables has shape {stack.shape}; expected (M, H, S, A, S), each at least 1")
    return stack


def bernoulli(mean: ArrayLike, episodes: int, rng: np.random.Generator, n_tables: int = 256) -> LossSequence:
    """Losses 0 and 1, drawn around a mean: Pr[l[h,s,a,s'] = 1] = mean[h,s,a,s'].

    `n_tables` tables are drawn, and each episode uses one of them at random: the regret of the sequence is
    exact, and its average is near `mean`, within about 1/sqrt(n_tables).

    mean: (H, S, A, S) in [0, 1]; episodes: K; rng: the source of randomness; n_tables: M, at most K.
    Raises ValueError as `LossSequence` does, or if K < 1 or M < 1.
    """
    check_positive_int("episodes", episodes)
    check_positive_int("n_tables", n_tables)
    probabilities = np.asarray(mean, dtype=np.float64)
    check_unit_interval("mean", probabilities)
    m = min(n_tables, episodes)
    tables = (rng.random((m, *probabilities.shape)) < probabilities).astype(np.float64)
    return LossSequence(tables, rng.integers(m, size=episodes, dtype=np.int32))


def switching(tables: ArrayLike, episodes: int, at: Sequence[int]) -> LossSequence:
    """One table after the other: the first from the start, the i-th from episode `at[i-1]` on.

    tables: (M, H, S, A, S) in [0, 1]; episodes: K; at: M - 1 increasing episodes in 1..K-1, counted from 0.
    Raises ValueError as `LossSequence` does, or if `at` is not of this form.
    """
    stack = _stack(tables)
    check_positive_int("episodes", episodes)
    switches = np.asarray(at)
    if switches.shape != (len(stack) - 1,):
        raise ValueError(f"at has shape {switches.shape}; {len(stack)} tables need {len(stack) - 1} switches")
    if switches.size and not np.issubdtype(switches.dtype, np.integer):
        raise ValueError(f"at is {switches.tolist()}; switches must be integers")
    bounds = np.concatenate(([0], switches.astype(np.int64), [episodes]))
    if (np.diff(bounds) < 1).any():
        raise ValueError(
            f"at is {switches.tolist()}; switches must increase strictly within 1..{episodes - 1}"
        )
    return LossSequence(stack, np.repeat(np.arange(len(stack), dtype=np.int32), np.diff(bounds)))


def alternating(tables: ArrayLike, episodes: int, period: int) -> LossSequence:
    """The tables in turn, each for `period` episodes, again and again.

    tables: (M, H, S, A, S) in [0, 1]; episodes: K; period: episodes before the next table.
    Raises ValueError as `LossSequence` does, or if K < 1 or the period < 1.
    """
    stack = _stack(tables)
    check_positive_int("episodes", episodes)
    check_positive_int("period", period)
    return LossSequence(stack, (np.arange(episodes) // period % len(stack)).astype(np.int32))


def drifting(start: ArrayLike, end: ArrayLike, episodes: int, n_tables: int = 101) -> LossSequence:
    """From one table to another in equal steps: l_k = (1 - w) start + w end, with w rising from 0 to 1.

    start, end: (H, S, A, S) in [0, 1]; episodes: K; n_tables: how many values w takes (at most K are made).
    Raises ValueError as `LossSequence` does, if the shapes differ, or if K < 1 or n_tables < 1.
    """
    check_positive_int("episodes", episodes)
    check_positive_int("n_tables", n_tables)
    first_table, last_table = (np.asarray(table, dtype=np.float64) for table in (start, end))
    if first_table.shape != last_table.shape:
        raise ValueError(f"start has shape {first_table.shape} and end has shape {last_table.shape}")
    m = min(n_tables, episodes)
    weights = np.linspace(0.0, 1.0, m).reshape(m, *(1,) * first_table.ndim)
    schedule = np.rint(np.linspace(0, m - 1, episodes)).astype(np.int32)
    return LossSequence((1.0 - weights) * first_table + weights * last_table, schedule)


def against(policy: ArrayLike, episodes: int) -> LossSequence:
    """Losses aimed at one policy: an action costs what the policy gives it, l[h,s,a,s'] = policy[h,s,a].

    A deterministic policy pays 1 at every step, H in all, while every step that avoids its action is free.
    The less a policy commits itself the less it can be hit: the uniform one pays H / A, whatever is done.

    policy: (H, S, A); episodes: K. Raises ValueError if the policy is not one, or if K < 1.
    """
    pi = np.asarray(policy, dtype=np.float64)
    if pi.ndim != 3 or 0 in pi.shape:
        raise ValueError(f"policy has shape {pi.shape}; expected (H, S, A), each at least 1")
    check_rows("policy", pi)
    # A probability may exceed one by the rounding that `check_rows` allows; a loss may not.
    return fixed(np.repeat(np.minimum(pi, 1.0)[..., None], pi.shape[1], axis=-1), episodes)
