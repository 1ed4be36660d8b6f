"""Contests: a game, a first rate and a schedule each, played with many seeds, several of them at once.

A growth rate, or a comparison of schedules, is an average over many games. So there are players of their own
for two families of games, `play_freezing` in closed form and `play_polygons` with Newton's method in the
plane. They take contests of the same form and give histories of the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from aggbandit import theory
from aggbandit._arrays import FloatArray, IntArray, check_positive_int, reduce_frozen
from aggbandit.learners.rates import RateSchedule

__all__ = ["Contest", "ContestHistory"]


class Bounded(Protocol):
    """What every game has."""

    @property
    def loss_bound(self) -> float:
        """H."""


Game = TypeVar("Game", bound=Bounded)


@dataclass(frozen=True, eq=False)
class Contest(Generic[Game]):
    """A game, and the rates with which Algorithm 2 plays it.

    Args:
        game: a `FreezingGame` for `play_freezing`, a `DistortedBandit` on a polygon for `play_polygons`.
        eta0: the first rate.
        schedule: how it goes on.

    Raises:
        TypeError: for a schedule that is none.
        ValueError: for a rate that is not positive and finite.
    """

    game: Game
    eta0: float
    schedule: RateSchedule

    def __post_init__(self) -> None:
        if isinstance(self.schedule, type):
            name = self.schedule.__name__
            raise TypeError(f"schedule is the class {name}; it must be an object, {name}()")
        if not callable(getattr(self.schedule, "next_rate", None)):
            raise TypeError(f"schedule is {self.schedule!r}; it must be an object with the method next_rate")
        if not (self.eta0 > 0 and np.isfinite(self.eta0)):
            raise ValueError(f"eta0 is {self.eta0}; a learning rate must be positive and finite")


@dataclass(frozen=True, eq=False)
class ContestHistory:
    """A contest played with N seeds, looked at after C of its rounds.

    Attributes:
        at: (C,) the rounds after which it was looked at, from 1.
        center: (C, N, d) the next centers.
        eta: (C, N) the rates.
        regret: (C, N) the regret so far against the best fixed point, with the losses l·z_hat suffered.
        pseudo_regret: (C, N) the same with l·z, the mean of l·z_hat given z: less noise.
        spent: (N,) sum_t (z_hat_t·eps_t)².
        hidden: (N,) how much of what was tried was taken back: the mean over all rounds of
            -(z_t - y_t)·H_t(y_t - x_t), the share of the information that is lost.
        clipped: the share of the rounds with z_hat·eps > 0 in which the rate met its clip (0 when there is
            none).
    """

    at: IntArray
    center: FloatArray
    eta: FloatArray
    regret: FloatArray
    pseudo_regret: FloatArray
    spent: FloatArray
    hidden: FloatArray
    clipped: float
    __reduce__ = reduce_frozen


def check_contests(
    contests: Sequence[Contest[Any]], kind: type[Any], dimension: int, baseline: float
) -> None:
    """Refuse what is no list of contests in games of one kind, or a rate above `theory.eta0_cap`.

    Args:
        contests: what is to be played.
        kind: the class of the games.
        dimension: n.
        baseline: b, subtracted from every loss.

    Raises:
        TypeError: for what is no contest, or a contest in another game.
        ValueError: for no contests, or a rate above the cap.
    """
    if isinstance(contests, Contest) or not isinstance(contests, Sequence):
        raise TypeError(f"contests is a {type(contests).__name__}; it must be a list of contests")
    if not contests:
        raise ValueError("contests is empty; there is nothing to play")
    for i, contest in enumerate(contests):
        if not isinstance(contest, Contest):
            raise TypeError(f"contests[{i}] is a {type(contest).__name__}; it must be a Contest")
        if not isinstance(contest.game, kind):
            name = type(contest.game).__name__
            raise TypeError(f"contests[{i}].game is a {name}; it must be a {kind.__name__}")
        cap = theory.eta0_cap(dimension, contest.game.loss_bound, baseline)
        if contest.eta0 > cap * (1 + 1e-12):
            raise ValueError(
                f"contests[{i}].eta0 is {contest.eta0}; it must lie in (0, {cap:.6g}], the cap for"
                f" baseline {baseline}"
            )


def evenly_spaced(rounds: int, n_looks: int) -> IntArray:
    """The rounds after which a contest is looked at, the last one among them.

    Args:
        rounds: T.
        n_looks: how many, at most.

    Returns:
        (C,) the rounds, increasing.

    Raises:
        ValueError: unless `n_looks` is at least 1.
    """
    check_positive_int("n_looks", n_looks)
    looks = np.unique(np.linspace(0, rounds, n_looks + 1).round().astype(np.int64))
    return looks[looks > 0]
