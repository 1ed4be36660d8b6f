"""Checks of what a reader writes: which rule is violated, where, by how much; never the answer.

Each check is called with a function of the reader's own::

    from aggbandit import checks

    checks.occupancy(my_occupancy)

and says what the function breaks on instances made for this. The same checks mark problem sets.
"""

from aggbandit.checks.assignments import algorithm_2, occupancy_violations
from aggbandit.checks.barriers import barrier_gradient, barrier_hessian, bregman, dikin_point
from aggbandit.checks.bounds import worst_regret
from aggbandit.checks.descent import mirror_step, partial_minimum, regret_ledger
from aggbandit.checks.distortion import distorted_play
from aggbandit.checks.estimation import one_point_estimate, optimistic_loss
from aggbandit.checks.measuring import regret_slopes
from aggbandit.checks.occupancies import (
    best_policy,
    expected_total,
    induced_occupancy,
    occupancy,
    policy_of_occupancy,
)
from aggbandit.checks.reduction import confidence_radius, epoch_ends, increasing_rate, regret
from aggbandit.checks.report import Check, Fault, Report
from aggbandit.checks.totals import q_minus_v_estimate, u_estimate

ALL: dict[str, Check] = {
    made.name: made
    for made in (
        expected_total,
        best_policy,
        regret,
        occupancy,
        policy_of_occupancy,
        barrier_gradient,
        barrier_hessian,
        bregman,
        dikin_point,
        one_point_estimate,
        mirror_step,
        regret_ledger,
        distorted_play,
        optimistic_loss,
        increasing_rate,
        confidence_radius,
        epoch_ends,
        induced_occupancy,
        partial_minimum,
        worst_regret,
        regret_slopes,
        q_minus_v_estimate,
        u_estimate,
        occupancy_violations,
        algorithm_2,
    )
}

__all__ = [
    "ALL",
    "Check",
    "Fault",
    "Report",
    "algorithm_2",
    "barrier_gradient",
    "barrier_hessian",
    "best_policy",
    "bregman",
    "confidence_radius",
    "dikin_point",
    "distorted_play",
    "epoch_ends",
    "expected_total",
    "increasing_rate",
    "induced_occupancy",
    "mirror_step",
    "occupancy",
    "occupancy_violations",
    "one_point_estimate",
    "optimistic_loss",
    "partial_minimum",
    "policy_of_occupancy",
    "q_minus_v_estimate",
    "regret",
    "regret_ledger",
    "regret_slopes",
    "u_estimate",
    "worst_regret",
]
