"""Occupancy measures `x[h,s,a,s']` and the maps between them and pairs (policy, dynamics).

A nonnegative x is the occupancy measure of some policy and some dynamics exactly when (Eq. (1), with the
start that the paper adds in Appendix B)::

    start   sum_{a,s'} x[0,s,a,s'] = 1{s = s_1}
    flow    sum_{a,s'} x[h+1,s,a,s'] = sum_{s'',a} x[h,s'',a,s]      for every s and h = 0..H-2

and then every step has mass one. `FiniteHorizonMDP.occupancy` goes from policy to x; this module goes back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array

from aggbandit._arrays import (
    OCCUPANCY_TOLERANCE,
    FloatArray,
    check_at_least_zero,
    check_finite,
    check_nonnegative,
    check_shape,
    check_state,
    first,
    place,
    real_array,
)
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["check_occupancy", "dynamics_of", "free_occupancy_lp", "occupancy_lp", "policy_of"]

# HiGHS stops when no constraint and no reduced cost is violated by more than this (its smallest setting).
SOLVER_TOLERANCE = 1e-10


def _table(x: ArrayLike) -> FloatArray:
    """x as an array (H, S, A, S) of finite entries; ValueError otherwise."""
    array = real_array("x", x)
    if array.ndim != 4 or array.shape[1] != array.shape[3] or 0 in array.shape:
        raise ValueError(f"x has shape {array.shape}; expected (H, S, A, S), each at least 1")
    check_finite("x", array)
    return array


def _nonnegative(x: ArrayLike) -> FloatArray:
    """`_table`, with zeros for negative entries within `OCCUPANCY_TOLERANCE`; ValueError for larger ones."""
    table = _table(x)
    check_nonnegative("x", np.where(table < -OCCUPANCY_TOLERANCE, table, 0.0), "an occupancy measure")
    return np.maximum(table, 0.0)


def _normalize(rows: FloatArray) -> FloatArray:
    """Rows divided by their sums; a row without mass becomes uniform."""
    sums = rows.sum(axis=-1, keepdims=True)
    uniform = np.full(rows.shape, 1.0 / rows.shape[-1])
    np.divide(rows, sums, out=uniform, where=sums > 0)
    return uniform


def policy_of(x: ArrayLike) -> FloatArray:
    """The policy that an occupancy measure plays.

    With `x(h,s,a) = sum_s' x[h,s,a,s']` and `x(h,s) = sum_a x(h,s,a)` it is::

        pi[h,s,a] = x(h,s,a) / x(h,s)

    Where `x(h,s) = 0` the policy is uniform: x says nothing there, and no choice changes x.

    Args:
        x: (H, S, A, S), nonnegative; what is negative by at most `OCCUPANCY_TOLERANCE` (a solver's zero)
            counts as zero.

    Returns:
        (H, S, A) probabilities.

    Raises:
        ValueError: for a wrong shape, entries that are no real numbers, a NaN or a negative entry.

    Source:
        Eq. (2).

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> mdp = ab.night_driver().mdp
        >>> policy = np.broadcast_to([0.25, 0.75], (3, 3, 2))
        >>> ab.policy_of(mdp.occupancy(policy))[1].round(6)
        array([[0.25, 0.75],
               [0.25, 0.75],
               [0.25, 0.75]])
        >>> ab.policy_of(mdp.occupancy(policy))[0, 2]  # never met at the first step
        array([0.5, 0.5])
    """
    table = _nonnegative(x)
    return _normalize(table.sum(axis=-1))


def dynamics_of(x: ArrayLike) -> FloatArray:
    """The dynamics under which an occupancy measure moves.

    With `x(h,s,a) = sum_s' x[h,s,a,s']` they are::

        P[h,s,a,s'] = x[h,s,a,s'] / x(h,s,a)

    Where `x(h,s,a) = 0` the row is uniform.

    Args:
        x: (H, S, A, S), nonnegative; what is negative by at most `OCCUPANCY_TOLERANCE` (a solver's zero)
            counts as zero.

    Returns:
        (H, S, A, S) probabilities.

    Raises:
        ValueError: for a wrong shape, entries that are no real numbers, a NaN or a negative entry.

    Source:
        Eq. (2).
    """
    table = _nonnegative(x)
    return _normalize(table)


def check_occupancy(
    x: ArrayLike,
    initial_state: int = 0,
    *,
    transitions: ArrayLike | None = None,
    tolerance: float = OCCUPANCY_TOLERANCE,
) -> None:
    """Is x an occupancy measure? If not, say which equation fails, where, and by how much.

    Args:
        x: (H, S, A, S).
        initial_state: s_1.
        transitions: (H, S, A, S) or None; when given, x must also move under these dynamics:
            `x[h,s,a,s'] = transitions[h,s,a,s'] x(h,s,a)`.
        tolerance: how far an equation may be off.

    Raises:
        ValueError: on the first of: shape, NaN, negative entry, start, flow, mass of a step, dynamics; and
            for an initial state that does not exist or a tolerance that is negative or not finite.

    Source:
        Eq. (1) and the definition of S_i in Appendix B.

    Example:
        >>> import aggbandit as ab
        >>> mdp = ab.night_driver().mdp
        >>> x = mdp.occupancy(ab.uniform_policy(mdp))
        >>> ab.check_occupancy(x, transitions=mdp.transitions)
        >>> ab.check_occupancy(x, initial_state=2)
        Traceback (most recent call last):
        ValueError: start fails: x[0, 0] has mass 1; it must be 0 (the initial state is 2)
    """
    table = _table(x)
    n_states = table.shape[1]
    check_state("initial_state", initial_state, n_states)
    check_at_least_zero("tolerance", tolerance)
    negative = table < -tolerance
    if negative.any():
        where = first(negative)
        raise ValueError(
            f"nonnegativity fails: {place('x', where)} is {table[where]:.6g}; "
            "an occupancy measure must not be negative"
        )
    leaving = table.sum(axis=(2, 3))
    arriving = table.sum(axis=(1, 2))
    for s in range(n_states):
        start = float(s == initial_state)
        if abs(leaving[0, s] - start) > tolerance:
            raise ValueError(
                f"start fails: x[0, {s}] has mass {leaving[0, s]:.6g}; it must be {start:g} "
                f"(the initial state is {initial_state}){_off(leaving[0, s] - start, tolerance)}"
            )
    for h in range(1, table.shape[0]):
        for s in range(n_states):
            if abs(leaving[h, s] - arriving[h - 1, s]) > tolerance:
                raise ValueError(
                    f"flow fails at step {h}, state {s}: mass {arriving[h - 1, s]:.6g} arrives, "
                    f"but mass {leaving[h, s]:.6g} leaves"
                    f"{_off(leaving[h, s] - arriving[h - 1, s], tolerance)}"
                )
    # Implied by start and flow; rounding may add up over many steps, so it is looked at on its own.
    for h, mass in enumerate(table.sum(axis=(1, 2, 3))):
        if abs(mass - 1.0) > n_states * tolerance:
            raise ValueError(
                f"mass fails: x[{h}] sums to {mass:.6g}; each step must have mass one"
                f"{_off(mass - 1.0, n_states * tolerance)}"
            )
    if transitions is not None:
        rows = real_array("transitions", transitions)
        check_shape("transitions", rows, table.shape, "(H, S, A, S)")
        expected = rows * table.sum(axis=3, keepdims=True)
        wrong = ~(np.abs(table - expected) <= tolerance)
        if wrong.any():
            where = first(wrong)
            raise ValueError(
                f"dynamics fail: {place('x', where)} is {table[where]:.6g}; "
                f"transitions times the mass of {place('x', where[:3])} is {expected[where]:.6g}"
                f"{_off(table[where] - expected[where], tolerance)}"
            )


def _off(difference: float, tolerance: float) -> str:
    """What two numbers that print alike do not show; nothing where they print differently."""
    return f"; off by {difference:.2g}, the tolerance is {tolerance:g}" if abs(difference) < 1e-3 else ""


def occupancy_lp(mdp: FiniteHorizonMDP, loss: ArrayLike) -> tuple[FloatArray, float]:
    """The least expected loss as a linear program over the occupancy measures of a known world.

    Solved by SciPy's HiGHS, a way to the optimum that shares nothing with backward induction::

        minimize   x . loss   over x(h,s,a) >= 0
        subject to start and flow, with x[h,s,a,s'] = P[h,s,a,s'] x(h,s,a)

    Args:
        mdp: the world.
        loss: (H, S, A, S), possibly summed over episodes, or a table that `losses.spread` takes.

    Returns:
        An optimal x, (H, S, A, S), and its value.

    Raises:
        ValueError: if the loss has the wrong shape or entries.
        RuntimeError: if the solver gives up.

    Source:
        Section 2, Eq. (1).

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> x, value = ab.occupancy.occupancy_lp(world.mdp, world.loss)
        >>> round(value, 3)
        1.014
    """
    table = mdp.check_loss(loss)
    horizon, n_states, n_actions, _ = mdp.shape
    cell = np.arange(horizon * n_states * n_actions).reshape(horizon, n_states, n_actions)
    row = np.arange(horizon * n_states).reshape(horizon, n_states)
    # What leaves (h, s), minus what arrives there from step h - 1.
    h, s, a = np.indices(cell.shape)
    leaving = coo_array((np.ones(cell.size), (row[h, s].ravel(), cell.ravel())), shape=(row.size, cell.size))
    h, s, a, t = np.nonzero(mdp.transitions[:-1])
    arriving = coo_array(
        (mdp.transitions[h, s, a, t], (row[h + 1, t], cell[h, s, a])), shape=(row.size, cell.size)
    )
    cost = np.einsum("hsat,hsat->hsa", mdp.transitions, table)
    mass, value = _solve(cost, csr_array(leaving) - csr_array(arriving), mdp.initial_state)
    return mass.reshape(cell.shape)[..., None] * mdp.transitions, value


def free_occupancy_lp(loss: ArrayLike, initial_state: int = 0) -> tuple[FloatArray, float]:
    """The least expected loss when the dynamics are free too: a linear program over all occupancy measures.

    The vertices of this set are the single trajectories, so the optimum is the cheapest one::

        minimize   x . loss   over x[h,s,a,s'] >= 0   subject to start and flow

    Args:
        loss: (H, S, A, S), possibly summed over episodes.
        initial_state: s_1.

    Returns:
        An optimal x, (H, S, A, S), and its value.

    Raises:
        ValueError: for a loss of the wrong shape or with a NaN, or a state that does not exist.
        RuntimeError: if the solver gives up.

    Source:
        Section 2, Eq. (1).
    """
    table = real_array("loss", loss)
    if table.ndim != 4 or table.shape[1] != table.shape[3] or 0 in table.shape:
        raise ValueError(f"loss has shape {table.shape}; expected (H, S, A, S), each at least 1")
    check_finite("loss", table)
    horizon, n_states, _, _ = table.shape
    check_state("initial_state", initial_state, n_states)
    column = np.arange(table.size).reshape(table.shape)
    row = np.arange(horizon * n_states).reshape(horizon, n_states)
    shape = (row.size, column.size)
    h, s, t = (np.indices(table.shape)[axis] for axis in (0, 1, 3))
    leaving = coo_array((np.ones(column.size), (row[h, s].ravel(), column.ravel())), shape=shape)
    inner = column[:-1]
    arriving = coo_array((np.ones(inner.size), (row[h[:-1] + 1, t[:-1]].ravel(), inner.ravel())), shape=shape)
    x, value = _solve(table, csr_array(leaving) - csr_array(arriving), initial_state)
    return x.reshape(table.shape), value


def _solve(cost: FloatArray, flow: Any, initial_state: int) -> tuple[FloatArray, float]:
    """Minimize `cost . v` over `v >= 0` with `flow v = 1{first step, initial state}`."""
    from scipy.optimize import linprog  # a third of what it takes to import the package, and seldom needed

    start = np.zeros(flow.shape[0])
    start[initial_state] = 1.0
    # The solver's tolerances are absolute: a loss summed over a million episodes is brought to size one.
    scale = float(np.abs(cost).max()) or 1.0
    result = linprog(
        cost.ravel() / scale,
        A_eq=flow,
        b_eq=start,
        bounds=(0, None),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": SOLVER_TOLERANCE,
            "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        },
    )
    if not result.success or result.x is None or result.fun is None:
        raise RuntimeError(f"the linear program was not solved: {result.message}")
    # The solver's zeros may be negative by its tolerance.
    return np.maximum(result.x, 0.0), scale * float(result.fun)
