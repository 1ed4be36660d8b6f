"""What a learner may see at the end of an episode: three types, each made from one trajectory.

A learner names the type it takes and is handed exactly that one, so that it cannot look at more.
Source: Section 3 (aggregate feedback); earlier work assumes full or per-step ("semi-bandit") feedback.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import FloatArray, check_finite, check_shape, read_only
from aggbandit.mdp import Trajectory

__all__ = ["AggregateFeedback", "FullFeedback", "StepFeedback"]


@dataclass(frozen=True, eq=False)
class FullFeedback:
    """The trajectory and the whole loss function of the episode, also where the trajectory did not go.

    trajectory: what happened
    loss:       (H, S, A, S)

    Raises ValueError if the shape does not fit the trajectory or an entry is not finite.
    """

    trajectory: Trajectory
    loss: FloatArray

    def __post_init__(self) -> None:
        loss = read_only(self.loss)
        check_shape("loss", loss, self.trajectory.shape, "(H, S, A, S)")
        check_finite("loss", loss)
        object.__setattr__(self, "loss", loss)

    @classmethod
    def observe(cls, trajectory: Trajectory, loss: ArrayLike) -> FullFeedback:
        """What is seen of `trajectory` when the episode has the losses `loss`, (H, S, A, S): all of it."""
        return cls(trajectory, read_only(loss))


@dataclass(frozen=True, eq=False)
class StepFeedback:
    """The trajectory and the loss of each of its steps: semi-bandit feedback.

    trajectory: what happened
    losses:     (H,), losses[h] = loss[h, s_h, a_h, s_{h+1}]

    Raises ValueError if there is not one loss a step or an entry is not finite.
    """

    trajectory: Trajectory
    losses: FloatArray

    def __post_init__(self) -> None:
        losses = read_only(self.losses)
        check_shape("losses", losses, (self.trajectory.horizon,), "(H,)")
        check_finite("losses", losses)
        object.__setattr__(self, "losses", losses)

    @classmethod
    def observe(cls, trajectory: Trajectory, loss: ArrayLike) -> StepFeedback:
        """What is seen of `trajectory` when the episode has the losses `loss`, (H, S, A, S): H numbers."""
        return cls(trajectory, trajectory.losses(loss))


@dataclass(frozen=True, eq=False)
class AggregateFeedback:
    """The trajectory and one number: the total loss. This is the feedback of the paper.

    trajectory: what happened
    total:      sum_h loss[h, s_h, a_h, s_{h+1}] = loss . z_hat

    Raises ValueError if the total is not a finite number. Source: Section 3.
    """

    trajectory: Trajectory
    total: float

    def __post_init__(self) -> None:
        if not isinstance(self.total, Real) or not np.isfinite(self.total):
            raise ValueError(f"total is {self.total!r}; it must be a finite number")
        object.__setattr__(self, "total", float(self.total))

    @classmethod
    def observe(cls, trajectory: Trajectory, loss: ArrayLike) -> AggregateFeedback:
        """What is seen of `trajectory` when the episode has the losses `loss`, (H, S, A, S): one number."""
        return cls(trajectory, trajectory.total(loss))
