"""Play a learner against a world, an episode at a time, and keep what the regret needs.

Source: the protocol and the regret of Section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.learners.protocol import EpisodeLearner
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["History", "simulate"]

ENGINES = ("auto", "reference")
FEEDBACKS = (AggregateFeedback, FullFeedback, StepFeedback)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """What happened in K episodes, and what the best fixed policy would have paid.

    expected_loss:   (K,) x^{pi_k} . l_k, what the policy of the episode pays on average
    total_loss:      (K,) z_hat_k . l_k, what the trajectory of the episode paid
    comparator_loss: (K,) x^{pi*} . l_k, what the best fixed policy pays on average
    best_policy:     (H, S, A), pi*, best for all K episodes together
    best_value:      sum_k x^{pi*} . l_k

    Source: Section 3.
    """

    expected_loss: FloatArray
    total_loss: FloatArray
    comparator_loss: FloatArray
    best_policy: FloatArray
    best_value: float

    def __len__(self) -> int:
        """K, the number of episodes."""
        return len(self.expected_loss)

    def __repr__(self) -> str:
        return f"History(episodes={len(self)}, regret={self.regret()[-1]:.6g})"

    def regret(self) -> FloatArray:
        """The regret after each episode: sum_{j<=k} (x^{pi_j} - x^{pi*}) . l_j, shape (K,).

        pi* is the best policy for all K episodes, so that only the last entry is compared with its own
        optimum (an earlier entry may be negative). Expectations are over the trajectories. Source: Section 3.
        """
        return np.cumsum(self.expected_loss - self.comparator_loss)


def simulate(
    learner: EpisodeLearner[Any],
    mdp: FiniteHorizonMDP,
    losses: LossSequence,
    rng: np.random.Generator,
    engine: str = "auto",
) -> History:
    """Play `learner` in the world `mdp` for all episodes of `losses`.

    In each episode: the learner chooses a policy, the policy is played, and the learner sees what its type of
    feedback shows, no more. From `rng` are drawn, in this order, what the policy needs and then the 2H
    uniforms of the trajectory (see `FiniteHorizonMDP.rollout`).

    learner: an `EpisodeLearner`; mdp: the world, known to the learner only if it was made with it;
    losses: a `LossSequence` of the shape of the world; rng: the source of all randomness;
    engine: "reference" plays one episode at a time in NumPy, "auto" takes the fastest way there is.

    Raises ValueError before the first episode if the losses do not fit the world, the learner's feedback is
    not one of the three types, or the engine is unknown; and as soon as a learner returns no policy.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it must be one of {', '.join(map(repr, ENGINES))}")
    if learner.feedback not in FEEDBACKS:
        raise ValueError(
            f"learner.feedback is {learner.feedback!r}; "
            f"it must be one of {', '.join(f.__name__ for f in FEEDBACKS)}"
        )
    best_policy, best_value = losses.best_policy(mdp)
    expected_loss = np.empty(len(losses))
    total_loss = np.empty(len(losses))
    for k in range(len(losses)):
        loss = losses[k]
        policy = learner.policy(rng)
        trajectory = mdp.rollout(policy, rng)
        learner.observe(learner.feedback.observe(trajectory, loss))
        expected_loss[k] = mdp.expected_loss(policy, loss)
        total_loss[k] = trajectory.total(loss)
    comparator_loss = losses.expected_losses(mdp, best_policy)
    return History(expected_loss, total_loss, comparator_loss, best_policy, best_value)
