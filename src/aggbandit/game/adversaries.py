"""Who moves the hand: each adversary once, for one point and for many seeds at once.

An adversary is an object with the method `move`, which is shown a `View` and returns z. What it may do is
checked by the game; `moved_towards` goes as far toward a target as the rules allow.

Example:
    An adversary of one's own: it moves the hand toward the arm that was tried least. Written on the last
    axis, it works for one point, (d,), and for many seeds at once, (N, d):

    >>> import numpy as np
    >>> import aggbandit as ab
    >>> class TowardsLeastTried:
    ...     def move(self, view, rng):
    ...         least = np.eye(view.y.shape[-1])[np.argmin(view.y, axis=-1)]
    ...         return ab.game.moved_towards(view, least)
    >>> arms, rounds = ab.simplex(3), 200
    >>> losses = np.tile([0.1, 0.5, 0.9], (rounds, 1))
    >>> epsilons = np.full((rounds, 3), 0.2)
    >>> game = ab.DistortedBandit(losses, epsilons, TowardsLeastTried(), arms, loss_bound=1.0)
    >>> learner = ab.scrible(ab.LogBarrier(arms), rounds, loss_bound=1.0, eta0=0.1, baseline=0.5)
    >>> history = game.play(learner, np.random.default_rng(0))
    >>> bool(np.abs(history.z - history.y).sum(axis=1).max() <= 0.2 + 1e-9)
    True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit._arrays import FloatArray, check_positive_int, read_only, reduce_frozen
from aggbandit.game.rules import View, moved_towards

__all__ = [
    "Adversary",
    "AgainstEstimator",
    "Freezing",
    "RandomMove",
    "Silencing",
    "TowardsWorstVertex",
    "Undistorted",
]


class Adversary(Protocol):
    """Whoever moves the hand.

    Source:
        Section 3.2, the protocol, step 2.
    """

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """Choose z_t.

        Args:
            view: what the adversary sees; nothing in it may be written to.
            rng: for the adversary's own coins.

        Returns:
            The point z_t, in the shape of `view.y`: (d,), or (N, d) in a game with many seeds at once.
        """


@dataclass(frozen=True)
class Undistorted:
    """Nobody moves the hand: z = y, an ordinary linear bandit.

    Source:
        The protocol, step 2.
    """

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """`view.y` itself.

        Args:
            view: what the adversary sees.
            rng: not used.

        Returns:
            z, in the shape of `view.y`.
        """
        return view.y


@dataclass(frozen=True, eq=False)
class RandomMove:
    """The hand is moved toward a point drawn at random, as far as the rules allow.

    Args:
        points: (M, d) points of S, its vertices, say.

    Raises:
        ValueError: for points of another shape.

    Source:
        Ours; the protocol, step 2.
    """

    points: FloatArray
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _points(self.points))

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved toward one of the points, for every seed another.

        Args:
            view: what the adversary sees.
            rng: one integer is drawn for each seed.

        Returns:
            z, in the shape of `view.y`.
        """
        return moved_towards(view, self.points[rng.integers(len(self.points), size=view.y.shape[:-1])])


@dataclass(frozen=True, eq=False)
class TowardsWorstVertex:
    """The hand is moved toward the point that loses most this round, as far as the rules allow.

    Args:
        points: (M, d) the vertices of S.

    Raises:
        ValueError: for points of another shape.

    Source:
        Ours; the protocol, step 2.

    Example:
        >>> import numpy as np
        >>> from aggbandit import game
        >>> y, loss = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.9, 0.4])
        >>> view = game.View(1, y, loss, np.full(3, 0.2), loss_bound=1.0, learner=None)
        >>> game.TowardsWorstVertex(np.eye(3)).move(view, np.random.default_rng(0)).round(4)
        array([0.4286, 0.4   , 0.1714])
    """

    points: FloatArray
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _points(self.points))

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved toward the point of largest loss.

        Args:
            view: what the adversary sees.
            rng: not used.

        Returns:
            z, in the shape of `view.y`.
        """
        return moved_towards(view, self.points[np.argmax(self.points @ view.loss)])


@dataclass(frozen=True)
class Freezing:
    """The hand is moved back to where the learner's exploration began: z from y toward x_t.

    Where z reaches x_t the loss says nothing of the direction tried, the estimate has mean zero and the
    learner learns nothing; where the allowance is smaller the signal is dimmed. Near a wall exploration is
    small, so this is cheap. It acts where eps_t is not zero: how long it lasts is settled beforehand, by the
    game's `epsilons`.

    Args:
        first_round: when it begins, from 1.

    Raises:
        ValueError: for a round below 1.

    Source:
        Ours.
    """

    first_round: int = 1

    def __post_init__(self) -> None:
        check_positive_int("first_round", self.first_round)

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y, and from `first_round` on y moved toward `view.learner.center`.

        Args:
            view: what the adversary sees.
            rng: not used.

        Returns:
            z, in the shape of `view.y`.
        """
        return view.y if view.round < self.first_round else moved_towards(view, view.learner.center)


@dataclass(frozen=True)
class Silencing:
    """The hand is moved so as to hide the loss alone: z loses what x_t loses, and is as near to y as can be.

    As much is moved between the coordinates where l_t is largest and smallest: among the points with the sum
    of y none with the loss of x_t is nearer to y in L1. The target may lie outside the set, which the
    protocol allows.

    Source:
        Ours.
    """

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved toward what loses as much as `view.learner.center`.

        Args:
            view: what the adversary sees.
            rng: not used.

        Returns:
            z, in the shape of `view.y`.
        """
        dear, cheap = int(np.argmax(view.loss)), int(np.argmin(view.loss))
        spread = view.loss[dear] - view.loss[cheap]
        if spread == 0:
            return view.y
        moved = ((view.y - view.learner.center) @ view.loss) / spread
        target = view.y.copy()
        target[..., dear] -= moved
        target[..., cheap] += moved
        return moved_towards(view, target)


@dataclass(frozen=True, eq=False)
class AgainstEstimator:
    """The hand is moved so that the estimate lies most about how x_t compares with a given point u.

    The estimate of `(x_t - u)·l` gains `n l·(z - y) (x_t - u)·H(y - x_t)` by a move, so the sign of the last
    factor says which loss to show: a smaller one where it is positive. Then u looks worse than it is. The
    hand goes to the vertex of smallest or largest loss.

    Args:
        comparator: (d,) u.
        points: (M, d) the vertices of S.

    Raises:
        ValueError: for points or a comparator of another shape.

    Source:
        Ours; the bias term (3) in the proof of Lemma boundlossbias.
    """

    comparator: FloatArray
    points: FloatArray
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _points(self.points))
        object.__setattr__(self, "comparator", read_only(self.comparator))
        if self.comparator.shape != self.points.shape[1:]:
            raise ValueError(
                f"comparator has shape {self.comparator.shape}; it must be that of a point,"
                f" {self.points.shape[1:]}"
            )

    def move(self, view: View, rng: np.random.Generator) -> FloatArray:
        """y moved to show a misleading loss.

        Args:
            view: what the adversary sees; it reads `learner.center` and `learner.ellipsoid`.
            rng: not used.

        Returns:
            z, in the shape of `view.y`.
        """
        x = view.learner.center
        lever = (x - self.comparator) * view.learner.ellipsoid.apply(view.y - x)
        values = self.points @ view.loss
        lowest, highest = self.points[np.argmin(values)], self.points[np.argmax(values)]
        return moved_towards(view, np.where(lever.sum(axis=-1, keepdims=True) > 0, lowest, highest))


def _points(points: FloatArray) -> FloatArray:
    """The points of an adversary, once they are some, (M, d)."""
    points = read_only(points)
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"points has shape {points.shape}; it must be (M, d), M >= 1, with finite entries")
    return points
