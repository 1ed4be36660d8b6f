"""The learner that does not learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aggbandit._arrays import FloatArray, check_rows, read_only, real_array, reduce_frozen
from aggbandit.feedback import AggregateFeedback

__all__ = ["FixedPolicy"]


@dataclass(frozen=True, eq=False)
class FixedPolicy:
    """Plays the same policy in every episode: what every learner is measured against.

    Args:
        fixed: (H, S, A) the policy.

    Raises:
        ValueError: if it is none.
    """

    fixed: FloatArray
    feedback: ClassVar[type[AggregateFeedback]] = AggregateFeedback
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        fixed = read_only(real_array("policy", self.fixed))
        if fixed.ndim != 3 or 0 in fixed.shape:
            raise ValueError(f"policy has shape {fixed.shape}; expected (H, S, A), each at least 1")
        check_rows("policy", fixed)
        object.__setattr__(self, "fixed", fixed)

    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.
        """
        return self.fixed

    def observe(self, feedback: AggregateFeedback) -> None:
        """Learn nothing.

        Args:
            feedback: not looked at.
        """
