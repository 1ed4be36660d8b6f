"""Follow the leader, and why a learner must randomize or hesitate.

The leader is the policy that would have been best so far. An adversary who knows the rule knows the policy
of the next episode, and charges exactly what it will play: the leader pays the most there is, for ever.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from aggbandit._arrays import FloatArray, Int32Array, check_kind, check_positive_int
from aggbandit.feedback import FullFeedback
from aggbandit.losses import LossSequence, against
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["FollowTheLeader", "losses_against_the_leader"]


class FollowTheLeader:
    """Plays the policy that would have been best in the episodes so far: `argmin_pi sum_{j<k} x^pi . l_j`.

    It knows the world and sees the whole loss function of every episode. At first everything is a tie.

    Args:
        mdp: the world, its dynamics known to the learner.

    Raises:
        TypeError: for anything else.
    """

    feedback: ClassVar[type[FullFeedback]] = FullFeedback

    def __init__(self, mdp: FiniteHorizonMDP) -> None:
        check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
        self.mdp = mdp
        self.total_loss = np.zeros(mdp.shape)

    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The best policy so far, ties to the smallest action.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.
        """
        return self.mdp.best_policy(self.total_loss)[0]

    def observe(self, feedback: FullFeedback) -> None:
        """Add the losses of the episode.

        Args:
            feedback: whose `loss` is added.

        Raises:
            ValueError: if it does not fit the world.
        """
        self.total_loss = self.total_loss + self.mdp.check_loss(feedback.loss)


def losses_against_the_leader(mdp: FiniteHorizonMDP, episodes: int) -> LossSequence:
    """The losses that ruin `FollowTheLeader`: each episode's are aimed at the policy it is about to play.

    The leader does not randomize, so its policies can be computed beforehand and the sequence is oblivious.
    It pays H in every episode, while the uniform policy pays H / A: its regret is at least (1 - 1/A) H K,
    linear in K.

    Args:
        mdp: the world that the leader knows.
        episodes: K.

    Returns:
        The losses, an oblivious sequence.

    Raises:
        ValueError: if K < 1.
        TypeError: if `mdp` is no world.
    """
    check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
    check_positive_int("episodes", episodes)
    tables: list[FloatArray] = []
    number: dict[bytes, int] = {}
    schedule: Int32Array = np.empty(episodes, dtype=np.int32)
    total = np.zeros(mdp.shape)
    for k in range(episodes):
        policy = mdp.best_policy(total)[0]
        key = policy.tobytes()
        if key not in number:
            number[key] = len(tables)
            tables.append(against(policy, 1).tables[0])
        schedule[k] = number[key]
        total += tables[schedule[k]]
    return LossSequence(np.array(tables), schedule)
