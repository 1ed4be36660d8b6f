"""Learners: one file an algorithm, each the paper's lines in the paper's order.

What most runs need stands at the top, as `aggbandit.IncreasingRateOMD`; here are the records and helpers
beside it.
"""

from aggbandit.learners.ftrl import FTRL, Regularizer, q_minus_v_estimate
from aggbandit.learners.in_use import LearnerInUse
from aggbandit.learners.increasing_rates import OMDState
from aggbandit.learners.leader import losses_against_the_leader
from aggbandit.learners.mirror_descent import MirrorDescentBound, MirrorDescentRun
from aggbandit.learners.occupancy_bandits import (
    OccupancyBandit,
    exp2_on_occupancies,
    occupancy_vertices,
    scrible_on_occupancies,
)
from aggbandit.learners.optimal_design import OptimalDesign, g_optimal_design
from aggbandit.learners.oreps import OREPS, SemiBanditOREPS
from aggbandit.learners.policy_optimization import (
    PolicyOptimization,
    dilated_bonus,
    novelty,
    q_function,
    u_estimate,
    u_function,
)
from aggbandit.learners.thompson import OptimisticValueIteration, ThompsonSampling
from aggbandit.learners.uob_reps import UCOREPS, UOBREPS
from aggbandit.learners.visits import (
    EmpiricalDynamics,
    IntervalDynamics,
    KnownDynamics,
    PlausibleDynamics,
    Visits,
)

__all__ = [
    "FTRL",
    "OREPS",
    "UCOREPS",
    "UOBREPS",
    "EmpiricalDynamics",
    "IntervalDynamics",
    "KnownDynamics",
    "LearnerInUse",
    "MirrorDescentBound",
    "MirrorDescentRun",
    "OMDState",
    "OccupancyBandit",
    "OptimalDesign",
    "OptimisticValueIteration",
    "PlausibleDynamics",
    "PolicyOptimization",
    "Regularizer",
    "SemiBanditOREPS",
    "ThompsonSampling",
    "Visits",
    "dilated_bonus",
    "exp2_on_occupancies",
    "g_optimal_design",
    "losses_against_the_leader",
    "novelty",
    "occupancy_vertices",
    "q_function",
    "q_minus_v_estimate",
    "scrible_on_occupancies",
    "u_estimate",
    "u_function",
]
