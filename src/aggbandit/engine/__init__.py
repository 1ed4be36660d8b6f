"""The compiled engine: `kernels`, `u_kernels` and `flow_kernels` are what Numba compiles, `bridge` is what
stands between them and a learner, and `first_call` what goes with compiling.

Asking whether the engine plays a learner needs no Numba; the modules do.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard

from aggbandit.learners.oreps import OREPS, SemiBanditOREPS
from aggbandit.learners.policy_optimization import UFunctionLearner
from aggbandit.learners.rates import ConstantRate, IncreasingRate
from aggbandit.learners.reduction import AggregateFeedbackLearner
from aggbandit.learners.visits import EmpiricalDynamics, KnownDynamics

__all__ = ["Played", "plays"]

Played: TypeAlias = AggregateFeedbackLearner | UFunctionLearner | OREPS | SemiBanditOREPS

# The schedules that the kernels know.
SCHEDULES = (IncreasingRate, ConstantRate)


def plays(
    learner: object,
) -> TypeGuard[Played]:
    """Does the compiled engine do what this learner does?

    It plays Algorithm 3 as it stands, and calls back for what happens between epochs, for nothing else; the
    U-function learner without bonus, its dynamics known or counted; and O-REPS in a known world. A subclass
    that changes a method, or a schedule of one's own, is played by the reference.

    Args:
        learner: anything.

    Returns:
        Whether it may be handed to `bridge.run_of`.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> plays(ab.AggregateFeedbackLearner(2, 2, 2, 10, rates=ab.tuned_rates()))
        True
        >>> plays(ab.FixedPolicy(ab.uniform_policy(ab.random_mdp(2, 2, 2, np.random.default_rng(0)))))
        False
    """
    if type(learner) is UFunctionLearner:
        return learner.rates.bonus == 0 and type(learner.visits) in (EmpiricalDynamics, KnownDynamics)
    if type(learner) in (OREPS, SemiBanditOREPS):
        return True
    return type(learner) is AggregateFeedbackLearner and type(learner.rates.schedule) in SCHEDULES
