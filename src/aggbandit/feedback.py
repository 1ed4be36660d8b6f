"""What a learner may see at the end of an episode: three types, each made from one trajectory.

A learner names the type it takes and is handed exactly that one, so that it cannot look at more.

Source: Section 3 (aggregate feedback); earlier work assumes full or per-step ("semi-bandit") feedback.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import (
    FloatArray,
    check_finite,
    check_shape,
    read_only,
    real_array,
    reduce_frozen,
    spread_table,
)
from aggbandit.mdp import Trajectory

__all__ = ["AggregateFeedback", "FullFeedback", "StepFeedback"]


@dataclass(frozen=True, eq=False)
class FullFeedback:
    """The trajectory and the whole loss function of the episode, also where the trajectory did not go.

    Args:
        trajectory: what happened.
        loss: (H, S, A, S), or a table that `losses.spread` takes.

    Raises:
        ValueError: if the shape does not fit the trajectory, or an entry is no real number or not finite.

    Example:
        >>> import aggbandit as ab
        >>> trajectory = ab.Trajectory(states=[0, 1, 1], actions=[1, 0], n_states=2, n_actions=2)
        >>> ab.FullFeedback.observe(trajectory, [[0.5, 0.25], [0.125, 0.0]]).loss.shape
        (2, 2, 2, 2)
    """

    trajectory: Trajectory
    loss: FloatArray
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        loss = spread_table("loss", self.loss, self.trajectory.shape)
        check_finite("loss", loss)
        object.__setattr__(self, "loss", read_only(loss))

    @classmethod
    def observe(cls, trajectory: Trajectory, loss: ArrayLike) -> FullFeedback:
        """What is seen of an episode: all of it.

        Args:
            trajectory: what happened.
            loss: (H, S, A, S) losses of the episode, or a table that `losses.spread` takes.

        Returns:
            The feedback.
        """
        return cls(trajectory, spread_table("loss", loss, trajectory.shape))


@dataclass(frozen=True, eq=False)
class StepFeedback:
    """The trajectory and the loss of each of its steps: semi-bandit feedback.

    Args:
        trajectory: what happened.
        losses: (H,), `losses[h] = loss[h, s_h, a_h, s_{h+1}]`.

    Raises:
        ValueError: if there is not one loss a step, or an entry is no real number or not finite.

    Example:
        >>> import aggbandit as ab
        >>> trajectory = ab.Trajectory(states=[0, 1, 1], actions=[1, 0], n_states=2, n_actions=2)
        >>> ab.StepFeedback.observe(trajectory, [[0.5, 0.25], [0.125, 0.0]]).losses
        array([0.25 , 0.125])
    """

    trajectory: Trajectory
    losses: FloatArray
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        losses = real_array("losses", self.losses)
        check_shape("losses", losses, (self.trajectory.horizon,), "(H,)")
        check_finite("losses", losses)
        object.__setattr__(self, "losses", read_only(losses))

    @classmethod
    def observe(cls, trajectory: Trajectory, loss: ArrayLike) -> StepFeedback:
        """What is seen of an episode: H numbers.

        Args:
            trajectory: what happened.
            loss: (H, S, A, S) losses of the episode, or a table that `losses.spread` takes.

        Returns:
            The feedback.
        """
        return cls(trajectory, trajectory.losses(loss))


@dataclass(frozen=True, eq=False)
class AggregateFeedback:
    """The trajectory and one number: the total loss. This is the feedback of the paper.

    Args:
        trajectory: what happened.
        total: `sum_h loss[h, s_h, a_h, s_{h+1}] = loss . z_hat`.

    Raises:
        ValueError: if the total is not a finite number.

    Source:
        Section 3.

    Example:
        >>> import aggbandit as ab
        >>> trajectory = ab.Trajectory(states=[0, 1, 1], actions=[1, 0], n_states=2, n_actions=2)
        >>> ab.AggregateFeedback.observe(trajectory, [[0.5, 0.25], [0.125, 0.0]]).total
        0.375
    """

    trajectory: Trajectory
    total: float

    def __post_init__(self) -> None:
        if not isinstance(self.total, Real) or not np.isfinite(self.total):
            raise ValueError(f"total is {self.total!r}; it must be a finite number")
        object.__setattr__(self, "total", float(self.total))

    @classmethod
    def observe(cls, trajectory: Trajectory, loss: ArrayLike) -> AggregateFeedback:
        """What is seen of an episode: one number.

        Args:
            trajectory: what happened.
            loss: (H, S, A, S) losses of the episode, or a table that `losses.spread` takes.

        Returns:
            The feedback.
        """
        return cls(trajectory, trajectory.total(loss))
