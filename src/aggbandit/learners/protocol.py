"""What a learner is, and what it may also be: protocols, fulfilled by having the methods.

A learner plays episodes if it has `feedback`, `policy` and `observe` (`EpisodeLearner`); nobody inherits.
Three more abilities are optional, and `simulate`, `resume` and `History` ask for nothing else:

- `ChecksBeforehand` refuses a run that it cannot play before anything is drawn;
- `Resumable` can write its state down and go back to it, so that an interrupted run goes on;
- `HasEpochs` tells of what happened in parts, which the history keeps.

Example:
    A learner of one's own. It knows the dynamics and sees totals. The total of an episode is one linear
    equation for the table of losses; nine episodes in ten it plays the policy that would be best if the
    least-squares solution were true:

    >>> import numpy as np
    >>> import aggbandit as ab
    >>> class LeastSquares:
    ...     feedback = ab.AggregateFeedback
    ...
    ...     def __init__(self, mdp):
    ...         size = int(np.prod(mdp.shape))
    ...         self.mdp, self.seen, self.paid = mdp, np.eye(size), np.zeros(size)
    ...
    ...     def policy(self, rng):
    ...         if rng.random() < 0.1:
    ...             return ab.uniform_policy(self.mdp)
    ...         loss = np.linalg.solve(self.seen, self.paid).reshape(self.mdp.shape)
    ...         return self.mdp.best_policy(loss)[0]
    ...
    ...     def observe(self, feedback):
    ...         z_hat = feedback.trajectory.indicator().ravel()
    ...         self.seen += np.outer(z_hat, z_hat)
    ...         self.paid += feedback.total * z_hat
    ...
    ...     def snapshot(self):
    ...         return {"seen": self.seen.copy(), "paid": self.paid.copy()}
    ...
    ...     def restore(self, snapshot):
    ...         self.seen, self.paid = snapshot["seen"].copy(), snapshot["paid"].copy()
    >>> world = ab.night_driver()
    >>> losses = ab.losses.fixed(world.loss, 300)
    >>> history = ab.simulate(LeastSquares(world.mdp), world.mdp, losses, np.random.default_rng(0))
    >>> history.complete
    True
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import FloatArray
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["ChecksBeforehand", "EpisodeLearner", "HasEpochs", "Resumable", "VectorLearner"]

Feedback = TypeVar("Feedback", FullFeedback, StepFeedback, AggregateFeedback)


class VectorLearner(Protocol):
    """Plays vectors in the distorted linear bandit.

    Source:
        Section 3.2, the protocol.
    """

    def predict(self, rng: np.random.Generator) -> FloatArray:
        """Step 1 of the protocol: choose y_t.

        Args:
            rng: the source of all randomness.

        Returns:
            (d,) the vector.
        """
        ...

    def update(self, loss_value: float, z_hat: FloatArray, epsilon: FloatArray) -> Any:
        """Step 4 of the protocol: learn from what was seen.

        Args:
            loss_value: `l_t . z_hat_t`.
            z_hat: (d,) the action played in the end.
            epsilon: (d,) the allowed distortion.

        Returns:
            Whatever the learner likes, say a small record of what the step did; nobody needs it.
        """
        ...


class EpisodeLearner(Protocol[Feedback]):
    """Plays policies in a world, an episode at a time.

    Source:
        Section 3.
    """

    @property
    def feedback(self) -> type[Feedback]:
        """The one type of feedback this learner takes (a class attribute will do)."""
        ...

    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of the next episode.

        Args:
            rng: the source of all randomness.

        Returns:
            (H, S, A) probabilities of the actions.
        """
        ...

    def observe(self, feedback: Feedback) -> Any:
        """Learn from an episode.

        Args:
            feedback: of the type asked for, and all that is seen of the episode.

        Returns:
            Whatever the learner likes, say a small record of what the step did; nobody needs it.
        """
        ...


@runtime_checkable
class ChecksBeforehand(Protocol):
    """Refuses a run that it cannot play before anything is drawn or changed."""

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Raise an error, ValueError say, unless this run can be played from here.

        Args:
            mdp: the world of the run.
            episodes: how many episodes are to be played from now on.
        """
        ...


@runtime_checkable
class Resumable(Protocol):
    """Can write its state down as arrays, and go back to it."""

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state.

        Returns:
            Arrays of numbers, bools or text, by name; copies, which later episodes do not change.
        """
        ...

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that `snapshot` describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments; it is only read.

        Raises:
            ValueError: before anything changes, when it is no such state.
        """
        ...


@runtime_checkable
class HasEpochs(Protocol):
    """Tells of what happened in parts."""

    @property
    def epochs(self) -> tuple[Any, ...]:
        """One record an epoch, so far: instances of one dataclass of plain numbers, bools and strings."""
        ...
