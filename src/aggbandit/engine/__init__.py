"""The compiled engine: `kernels`, `u_kernels` and `flow_kernels` are what Numba compiles, `bridge` is what
stands between them and a learner, and `first_call` what goes with compiling.

Asking whether the engine plays a learner needs no Numba; the modules do.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard

from aggbandit.geometry.barrier import LogBarrier
from aggbandit.geometry.known_world import is_known_occupancy_polytope
from aggbandit.learners.ftrl import FTRL
from aggbandit.learners.increasing_rates import IncreasingRateOMD
from aggbandit.learners.occupancy_bandits import OccupancyBandit
from aggbandit.learners.oreps import OREPS, SemiBanditOREPS
from aggbandit.learners.policy_optimization import UFunctionLearner
from aggbandit.learners.rates import ConstantRate, IncreasingRate
from aggbandit.learners.reduction import AggregateFeedbackLearner
from aggbandit.learners.visits import EmpiricalDynamics, KnownDynamics

__all__ = ["Played", "plays"]

Played: TypeAlias = (
    AggregateFeedbackLearner | UFunctionLearner | OREPS | SemiBanditOREPS | FTRL | OccupancyBandit
)

# The schedules that the kernels know.
SCHEDULES = (IncreasingRate, ConstantRate)


def plays(
    learner: object,
) -> TypeGuard[Played]:
    """Does the compiled engine do what this learner does?

    It plays Algorithm 3 as it stands, and calls back for what happens between epochs, for nothing else; the
    U-function learner without bonus, its dynamics known or counted; O-REPS and FTRL in a known world; and
    SCRiBLe on the occupancy measures of one. A subclass that changes a method, or a schedule of one's own, is
    played by the reference.

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
    if type(learner) in (OREPS, SemiBanditOREPS, FTRL):
        return True
    if type(learner) is OccupancyBandit:
        return _is_scrible(learner)
    return type(learner) is AggregateFeedbackLearner and type(learner.rates.schedule) in SCHEDULES


def _is_scrible(learner: OccupancyBandit) -> bool:
    """Algorithm 2 at a constant rate, behind the log barrier of the polytope of a known world."""
    bandit = learner.vectors
    return (
        type(bandit) is IncreasingRateOMD
        and type(bandit.schedule) is ConstantRate
        and bandit.loss_bound == learner.mdp.horizon
        and type(bandit.barrier) is LogBarrier
        and is_known_occupancy_polytope(bandit.barrier.body, learner.mdp)
    )
