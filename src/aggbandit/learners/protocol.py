"""What a learner is: two protocols, one for the game on vectors and one for episodes of a world."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback

__all__ = ["EpisodeLearner", "VectorLearner"]

Feedback = TypeVar("Feedback", FullFeedback, StepFeedback, AggregateFeedback)


class VectorLearner(Protocol):
    """Plays vectors in the distorted-linear-bandit game. Source: Section 3.2, the protocol."""

    def predict(self, rng: np.random.Generator) -> FloatArray:
        """Step 1 of the protocol: choose y_t, shape (d,), with randomness from `rng`."""
        ...

    def update(self, loss_value: float, z_hat: FloatArray, epsilon: FloatArray) -> Any:
        """Step 4 of the protocol: learn from what was seen.

        loss_value: l_t . z_hat_t; z_hat: (d,), the action played in the end; epsilon: (d,), the allowed
        distortion. May return a small record of what the step did.
        """
        ...


class EpisodeLearner(Protocol[Feedback]):
    """Plays policies in a world, an episode at a time. Source: Section 3."""

    @property
    def feedback(self) -> type[Feedback]:
        """The one type of feedback this learner takes (a class attribute will do)."""
        ...

    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of the next episode, pi[h,s,a], shape (H, S, A), with randomness from `rng`."""
        ...

    def observe(self, feedback: Feedback) -> Any:
        """Learn from an episode: `feedback` is of the type asked for, and is all that is seen of it.

        May return a small record of what the step did.
        """
        ...
