"""What Numba compiles: Algorithms 3 and 2 on S_i with no Python and no allocation in an episode.

The mathematics is that of `geometry.occupancy_barrier` and `learners.reduction`, formula by formula, and so
are the random numbers; the two agree to rounding. What differs is that a cell is visited by a loop instead of
a vector operation, that the flow matrix is factorized by blocks instead of bands, and that sigma starts from
where its derivative says. No fastmath: it would gain nothing, and make results depend on the processor.

All kernels stay in this file and import no numbers from others: Numba's cache notices changes of this file
alone. What belongs to Newton's method comes in as `Tolerances`.

A cell c is a triple (h, s, a); h is the step, i and j are states. Rows of the flow equations are in blocks:
block 0 holds the start alone, block h the states of step h. Arrays are few, and planes of them have names,
since every array that is handed to a kernel is ten numbers to compile and to pass: `e[X, c, j]` is
x(h, s, a, s'), `q[SIGMA, c]` the sigma of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from aggbandit._arrays import BoolArray, FloatArray, Int32Array, IntArray

__all__: list[str] = []

F = TypeVar("F", bound=Callable[..., Any])

# Planes of `Room.entries`, (cells, S) each: the iterate and the sum of the estimates; the rows of P_hat; m, z
# and the v, p, s of the inverse (see `geometry.occupancy_barrier`); the linear term of the mirror step, which
# is the dual up to C'lambda; gradient plus linear term; the Newton step; y - x and H (y - x), still to be
# scaled; and what G and C are applied to.
X, DUAL, P_HAT, M, Z, V, P, GZ, LINEAR, RESIDUAL, STEP, NOISE, FORCE, IMAGE = range(14)
ENTRY_PLANES = 14
# Planes of `Room.cells`, (cells,) each: radius, epsilon, sigma, 1/kappa, 1/a, delta/a, 1/tau, 1'G 1, and the
# mass of y.
RADIUS, EPSILON, SIGMA, INVERSE_KAPPA, OVER_A, SCALE, OVER_TAU, MASS, TAKEN = range(9)
CELL_PLANES = 9
# Planes of `Room.blocks`, (H, S, S) each: the Cholesky factor R_h of the h-th pivot block, and what stands
# beside it, [state of step h, state of step h + 1].
UPPER, BESIDE = 0, 1
# Planes of `Room.rows`, (H, S) each: right-hand sides and multipliers, one over the diagonal of R_h, scaling.
RIGHT, OVER_PIVOT, UNIT = 0, 1, 2
# Planes of `Room.scratch`: the mass of the states of a step and of the next one, and what is drawn from.
MASS_HERE, MASS_NEXT, CHANCES = 0, 1, 2
# Planes of `Room.visits`, (cells,) each: N_i and n_i.
BEFORE, NOW = 0, 1
# Entries of `Room.scalars` and `Room.counters`.
ETA, ETA0, SUM_OF_TOTALS, TOTALS = range(4)
CLIPPED, NEWTON_STEPS, DAMPED, FACTORIZATIONS = range(4)
# How a call of `play` ended.
DONE, EPOCH_ENDED, LEFT_THE_SET, NO_MINIMIZER = range(4)
# Where `play` begins: at a start of an epoch, at a known center, in the middle of an epoch.
TO_THE_CENTER, TO_THE_DUAL, ON_THE_WAY = range(3)
# A Halley step for sigma this small, relatively, leaves an error of its cube.
CUBIC = 4e-6


def _compiled(function: F) -> F:
    """Numba's njit, cached on disk, typed as the function itself."""
    try:
        return cast(F, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:
        # Neither beside this file nor in the user's cache may anything be written: every process compiles.
        return cast(F, numba.njit(error_model="numpy")(function))


def _inner(function: F) -> F:
    """The same for what only other kernels call: no way in from Python, which takes time to compile."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(error_model="numpy", **options)(function))


def _inlined(function: F) -> F:
    """The same, made part of its caller: for what is short, or called once."""
    return cast(F, numba.njit(error_model="numpy", inline="always")(function))


class World(NamedTuple):
    """What the world does.

    Attributes:
        transitions: (H, S, A, S).
        tables: (M, H, S, A, S) the losses.
        schedule: (K,) which table an episode has.
        cost: (M, H, S, A) the expected loss of an action, `sum_s' P loss`.
        initial_state: s_1.
    """

    transitions: FloatArray
    tables: FloatArray
    schedule: Int32Array
    cost: FloatArray
    initial_state: int


class Room(NamedTuple):
    """The set of an epoch, what the learner carries from episode to episode, and scratch space.

    Attributes:
        entries: (14, cells, S) planes X to IMAGE.
        cells: (9, cells) planes RADIUS to TAKEN.
        constrained: (cells,) whether the L1 ball excludes anything.
        counts: (cells, S) n_i(h,s,a,s') of this epoch.
        visits: (2, cells) N_i and n_i of (h,s,a).
        blocks: (2, H, S, S) the factor of C G C'.
        rows: (3, H, S) right-hand sides, pivots, scaling.
        scratch: (3, max(S, A)) planes MASS_HERE, MASS_NEXT and CHANCES.
        scalars: (4,) at ETA, ETA0, SUM_OF_TOTALS, TOTALS.
        counters: (4,) at CLIPPED, NEWTON_STEPS, DAMPED, FACTORIZATIONS.
    """

    entries: FloatArray
    cells: FloatArray
    constrained: BoolArray
    counts: IntArray
    visits: IntArray
    blocks: FloatArray
    rows: FloatArray
    scratch: FloatArray
    scalars: FloatArray
    counters: IntArray


class Tolerances(NamedTuple):
    """What Newton's method goes by; see `geometry._newton` and `geometry.occupancy_barrier`.

    Attributes:
        decrement: at which a mirror step counts as taken.
        full_step: the decrement from which on a step is damped.
        rounding_floor: below which a decrement that does not halve is accepted.
        most_steps: of Newton's method.
        chord_limit: the decrement up to which a factorization is worth further steps.
        rounding: how far beyond a wall a sample may be, relatively.
    """

    decrement: float
    full_step: float
    rounding_floor: float
    most_steps: int
    chord_limit: float
    rounding: float


class Rules(NamedTuple):
    """The learner's choices.

    Attributes:
        baseline: what is subtracted from a total; with a running mean, from the first one.
        running_mean: whether it is the mean of all totals so far.
        clip: of the increasing rate, as a multiple of the first one.
        constant: the factor of a constant rate; 0 for the increasing one.
        dimension: n, of the slice.
    """

    baseline: float
    running_mean: bool
    clip: float
    constant: float
    dimension: int


def room(horizon: int, n_states: int, n_actions: int) -> Room:
    """Room for one world.

    Args:
        horizon: H.
        n_states: S.
        n_actions: A.

    Returns:
        The room, empty.
    """
    n_cells = n_actions * (1 + (horizon - 1) * n_states)
    return Room(
        entries=np.zeros((ENTRY_PLANES, n_cells, n_states)),
        cells=np.ones((CELL_PLANES, n_cells)),
        constrained=np.zeros(n_cells, dtype=np.bool_),
        counts=np.zeros((n_cells, n_states), dtype=np.int64),
        visits=np.zeros((2, n_cells), dtype=np.int64),
        blocks=np.zeros((2, horizon, n_states, n_states)),
        rows=np.zeros((3, horizon, n_states)),
        scratch=np.zeros((3, max(n_states, n_actions))),
        scalars=np.zeros(4),
        counters=np.zeros(4, dtype=np.int64),
    )


# --- a cell -------------------------------------------------------------------------------------------------


@_inlined
def residual(e: FloatArray, q: FloatArray, constrained: bool, c: int) -> bool:
    """Gradient plus linear term, m, z and kappa of a cell. False if x is not strictly inside."""
    S = e.shape[2]
    X_sum = 0.0
    for j in range(S):
        if not e[X, c, j] > 0.0:
            return False
        X_sum += e[X, c, j]
    if not constrained:
        for j in range(S):
            e[RESIDUAL, c, j] = e[LINEAR, c, j] - 1.0 / e[X, c, j]
        return True
    radius = q[RADIUS, c]
    slack = radius * X_sum
    for j in range(S):
        r = e[X, c, j] - e[P_HAT, c, j] * X_sum
        e[RESIDUAL, c, j] = r
        slack -= abs(r)
    if not slack > 0.0:
        return False
    # sigma by Halley, from where it should be if that is between its bounds. The left side minus the slack is
    # convex and increases.
    sigma = q[SIGMA, c]
    if not slack < sigma * (2 * S + 1) or not sigma * (S + 1) <= slack:
        sigma = slack / (S + 1)
    for _ in range(60):
        excess = (S + 1) * sigma - slack
        slope = S + 1.0
        bend = 0.0
        for j in range(S):
            distance = abs(e[RESIDUAL, c, j])
            root = math.sqrt(sigma * sigma + distance * distance)
            sum_ = root + distance
            ratio = sigma / (root * sum_)
            over = sum_ * ratio
            excess += sigma * root * ratio
            slope += over
            bend += over - over * over * over
        step = 2.0 * excess * slope / (2.0 * slope * slope - excess * bend / sigma)
        sigma -= step
        if abs(step) <= CUBIC * sigma:
            break
    q[SIGMA, c] = sigma
    # With m = 1/(root t): q = -m t r, and the derivative by r is r/(sigma t).
    over_sigma = 1.0 / sigma
    curvature = 0.0
    qP = 0.0
    pull = radius * over_sigma
    for j in range(S):
        r = e[RESIDUAL, c, j]
        root = math.sqrt(sigma * sigma + r * r)
        t = sigma + root
        m = 1.0 / (root * t)
        along = -m * t * r
        by_r = m * root * r * over_sigma
        curvature += m * t * t
        qP += along * e[P_HAT, c, j]
        pull += by_r * e[P_HAT, c, j]
        e[M, c, j] = m
        e[Z, c, j] = along
        e[RESIDUAL, c, j] = e[LINEAR, c, j] - 1.0 / e[X, c, j] + by_r
    for j in range(S):
        e[Z, c, j] += radius - qP
        e[RESIDUAL, c, j] -= pull
    q[INVERSE_KAPPA, c] = sigma * sigma * (1.0 + curvature)
    return True


@_inlined
def invert(e: FloatArray, q: FloatArray, constrained: bool, c: int) -> None:
    """G, the inverse of a cell's Hessian: v, p and s."""
    S = e.shape[2]
    a = 0.0
    if not constrained:
        for j in range(S):
            e[V, c, j] = e[X, c, j] * e[X, c, j]
            a += e[V, c, j]
        q[MASS, c] = a
        return
    b = 0.0
    d = 0.0
    for j in range(S):
        square = e[X, c, j] * e[X, c, j]
        shrink = 1.0 / (1.0 + e[M, c, j] * square)
        P_shrunk = e[P_HAT, c, j] * shrink
        e[V, c, j] = square * shrink
        a += square * shrink
        b += P_shrunk
        d += e[M, c, j] * e[P_HAT, c, j] * P_shrunk
    delta = a * d + b * b
    over_a = 1.0 / a
    over_delta = 1.0 / delta
    scale = delta * over_a
    vz = 0.0
    pz = 0.0
    for j in range(S):
        p = (a * e[M, c, j] * e[P_HAT, c, j] + b) * e[V, c, j] * over_delta
        e[P, c, j] = p
        vz += e[V, c, j] * e[Z, c, j]
        pz += p * e[Z, c, j]
    mean = vz * over_a
    tau = q[INVERSE_KAPPA, c] + scale * pz * pz
    sum_ = 0.0
    for j in range(S):
        spread = e[Z, c, j] - mean
        s = e[V, c, j] * spread + scale * pz * e[P, c, j]
        e[GZ, c, j] = s
        sum_ += s
        tau += e[V, c, j] * spread * spread
    q[OVER_A, c] = over_a
    q[SCALE, c] = scale
    q[OVER_TAU, c] = 1.0 / tau
    q[MASS, c] = a * over_delta - sum_ * sum_ / tau


@_inner
def inverse_times(e: FloatArray, q: FloatArray, constrained: bool, c: int) -> None:
    """G times IMAGE, in place, of a cell."""
    S = e.shape[2]
    if not constrained:
        for j in range(S):
            e[IMAGE, c, j] *= e[V, c, j]
        return
    vu = 0.0
    pu = 0.0
    su = 0.0
    for j in range(S):
        u = e[IMAGE, c, j]
        vu += e[V, c, j] * u
        pu += e[P, c, j] * u
        su += e[GZ, c, j] * u
    vu *= q[OVER_A, c]
    pu *= q[SCALE, c]
    su *= q[OVER_TAU, c]
    for j in range(S):
        e[IMAGE, c, j] = e[V, c, j] * (e[IMAGE, c, j] - vu) + pu * e[P, c, j] - su * e[GZ, c, j]


@_inlined
def hessian_times(e: FloatArray, q: FloatArray, constrained: bool, c: int) -> float:
    """H times NOISE, into FORCE, of a cell; and the square of its norm, as a sum of squares."""
    S = e.shape[2]
    square = 0.0
    for j in range(S):
        over_x = 1.0 / e[X, c, j]
        ratio = e[NOISE, c, j] * over_x
        e[FORCE, c, j] = ratio * over_x
        square += ratio * ratio
    if constrained:
        U = 0.0
        along = 0.0
        for j in range(S):
            U += e[NOISE, c, j]
            along += e[Z, c, j] * e[NOISE, c, j]
        weight = along / q[INVERSE_KAPPA, c]
        square += weight * along
        pull = 0.0
        for j in range(S):
            r = e[NOISE, c, j] - e[P_HAT, c, j] * U
            moved = e[M, c, j] * r
            square += moved * r
            pull += moved * e[P_HAT, c, j]
            e[FORCE, c, j] += moved + weight * e[Z, c, j]
        for j in range(S):
            e[FORCE, c, j] -= pull
    return square


@_inlined
def gaussian(e: FloatArray, q: FloatArray, constrained: bool, c: int, rng: np.random.Generator) -> None:
    """A normal vector of covariance G, into IMAGE, of a cell; see `OccupancyDikin.sample`."""
    S = e.shape[2]
    if not constrained:
        for j in range(S):
            e[IMAGE, c, j] = e[X, c, j] * rng.standard_normal()
        return
    total = 0.0
    for j in range(S):
        noise = math.sqrt(e[V, c, j]) * rng.standard_normal()
        e[IMAGE, c, j] = noise
        total += noise
    mean = total * q[OVER_A, c]
    lift = total * math.sqrt(q[SCALE, c] * q[OVER_A, c])
    along = 0.0
    for j in range(S):
        e[IMAGE, c, j] += lift * e[P, c, j] - mean * e[V, c, j]
        along += e[Z, c, j] * e[IMAGE, c, j]
    along *= q[OVER_TAU, c] / (1.0 + math.sqrt(q[INVERSE_KAPPA, c] * q[OVER_TAU, c]))
    for j in range(S):
        e[IMAGE, c, j] -= along * e[GZ, c, j]


# --- the flow equations -------------------------------------------------------------------------------------


@_inlined
def first_cell(h: int, s: int, S: int, A: int) -> int:
    """The cell (h, s, 0)."""
    if h == 0:
        return 0
    return A + ((h - 1) * S + s) * A


@_inner
def factorize(
    e: FloatArray,
    q: FloatArray,
    walls: BoolArray,
    f: FloatArray,
    r: FloatArray,
    A: int,
) -> bool:
    """G by cells, and the block Cholesky factor of C G C', its diagonal scaled to one.

    False if a pivot is not positive.
    """
    _, H, S = r.shape
    for h in range(H):
        for i in range(S):
            for j in range(S):
                f[UPPER, h, i, j] = 0.0
                f[BESIDE, h, i, j] = 0.0
    for h in range(H):
        last = h + 1 == H
        for i in range(1 if h == 0 else S):
            first = first_cell(h, i, S, A)
            for c in range(first, first + A):
                invert(e, q, walls[c], c)
                f[UPPER, h, i, i] += q[MASS, c]
                if last:
                    pass
                elif walls[c]:
                    over_tau = q[OVER_TAU, c]
                    total = 0.0
                    for j in range(S):
                        total += e[GZ, c, j]
                    total *= over_tau
                    for j in range(S):
                        f[BESIDE, h, i, j] -= e[P, c, j] - total * e[GZ, c, j]
                    for k in range(S):
                        pk = q[SCALE, c] * e[P, c, k]
                        vk = q[OVER_A, c] * e[V, c, k]
                        sk = over_tau * e[GZ, c, k]
                        f[UPPER, h + 1, k, k] += e[V, c, k]
                        for j in range(k, S):
                            f[UPPER, h + 1, k, j] += pk * e[P, c, j] - vk * e[V, c, j] - sk * e[GZ, c, j]
                else:
                    for j in range(S):
                        f[BESIDE, h, i, j] -= e[V, c, j]
                        f[UPPER, h + 1, j, j] += e[V, c, j]
    for h in range(H):
        for i in range(1 if h == 0 else S):
            r[UNIT, h, i] = 1.0 / math.sqrt(f[UPPER, h, i, i])
    for h in range(H):
        n = 1 if h == 0 else S
        for i in range(n):
            here = r[UNIT, h, i]
            for j in range(i, n):
                f[UPPER, h, i, j] *= here * r[UNIT, h, j]
            if h + 1 < H:
                for j in range(S):
                    f[BESIDE, h, i, j] *= here * r[UNIT, h + 1, j]
        if h > 0:
            for k in range(1 if h == 1 else S):
                for i in range(n):
                    weight = f[BESIDE, h - 1, k, i]
                    for j in range(i, n):
                        f[UPPER, h, i, j] -= weight * f[BESIDE, h - 1, k, j]
        for k in range(n):
            pivot = f[UPPER, h, k, k]
            if not pivot > 0.0:
                return False
            over = 1.0 / math.sqrt(pivot)
            r[OVER_PIVOT, h, k] = over
            for j in range(k, n):
                f[UPPER, h, k, j] *= over
            for i in range(k + 1, n):
                weight = f[UPPER, h, k, i]
                for j in range(i, n):
                    f[UPPER, h, i, j] -= weight * f[UPPER, h, k, j]
            if h + 1 < H:
                for j in range(S):
                    f[BESIDE, h, k, j] *= over
                for i in range(k + 1, n):
                    weight = f[UPPER, h, k, i]
                    for j in range(S):
                        f[BESIDE, h, i, j] -= weight * f[BESIDE, h, k, j]
    return True


@_inner
def multipliers(f: FloatArray, r: FloatArray) -> None:
    """(C G C')^{-1} times the plane RIGHT of the rows, in place."""
    _, H, S = r.shape
    for h in range(H):
        n = 1 if h == 0 else S
        for k in range(n):
            r[RIGHT, h, k] *= r[UNIT, h, k]
        if h > 0:
            for k in range(1 if h == 1 else S):
                above = r[RIGHT, h - 1, k]
                for j in range(S):
                    r[RIGHT, h, j] -= f[BESIDE, h - 1, k, j] * above
        for k in range(n):
            r[RIGHT, h, k] *= r[OVER_PIVOT, h, k]
            above = r[RIGHT, h, k]
            for j in range(k + 1, n):
                r[RIGHT, h, j] -= f[UPPER, h, k, j] * above
    for h in range(H - 1, -1, -1):
        n = 1 if h == 0 else S
        if h + 1 < H:
            for i in range(n):
                total = 0.0
                for j in range(S):
                    total += f[BESIDE, h, i, j] * r[RIGHT, h + 1, j]
                r[RIGHT, h, i] -= total
        for k in range(n - 1, -1, -1):
            total = r[RIGHT, h, k]
            for j in range(k + 1, n):
                total -= f[UPPER, h, k, j] * r[RIGHT, h, j]
            r[RIGHT, h, k] = total * r[OVER_PIVOT, h, k]
    for h in range(H):
        for k in range(1 if h == 0 else S):
            r[RIGHT, h, k] *= r[UNIT, h, k]


@_inlined
def clear(r: FloatArray) -> None:
    """The plane RIGHT of the rows is zero."""
    for h in range(r.shape[1]):
        for i in range(r.shape[2]):
            r[RIGHT, h, i] = 0.0


@_inner
def balance(e: FloatArray, r: FloatArray, h: int, i: int, c: int) -> None:
    """Add IMAGE of a cell (h, i, a) to C times it, in RIGHT: it leaves i at h, and arrives at h + 1."""
    _, H, S = r.shape
    total = 0.0
    for j in range(S):
        total += e[IMAGE, c, j]
    r[RIGHT, h, i] += total
    if h + 1 < H:
        for j in range(S):
            r[RIGHT, h + 1, j] -= e[IMAGE, c, j]


# --- Newton's method ----------------------------------------------------------------------------------------


@_inner
def newton_step(
    e: FloatArray, q: FloatArray, walls: BoolArray, f: FloatArray, r: FloatArray, A: int
) -> float:
    """`OccupancyDikin.solve` for RESIDUAL: the STEP, the linear term plus C'lambda, the decrement."""
    _, H, S = r.shape
    clear(r)
    r[RIGHT, 0, 0] = -1.0
    for h in range(H):
        for i in range(1 if h == 0 else S):
            first = first_cell(h, i, S, A)
            for c in range(first, first + A):
                for j in range(S):
                    e[IMAGE, c, j] = e[RESIDUAL, c, j]
                inverse_times(e, q, walls[c], c)
                for j in range(S):
                    e[IMAGE, c, j] = e[X, c, j] - e[IMAGE, c, j]
                balance(e, r, h, i, c)
    multipliers(f, r)
    square = 0.0
    for h in range(H):
        for i in range(1 if h == 0 else S):
            here = r[RIGHT, h, i]
            first = first_cell(h, i, S, A)
            for c in range(first, first + A):
                for j in range(S):
                    potential = here - r[RIGHT, h + 1, j] if h + 1 < H else here
                    e[LINEAR, c, j] += potential
                    e[RESIDUAL, c, j] += potential
                    e[IMAGE, c, j] = e[RESIDUAL, c, j]
                inverse_times(e, q, walls[c], c)
                for j in range(S):
                    square += e[RESIDUAL, c, j] * e[IMAGE, c, j]
                    e[STEP, c, j] = -e[IMAGE, c, j]
    # Not max(0, square), which would turn a NaN into a decrement of zero.
    return math.sqrt(abs(square))


@_inner
def advance(e: FloatArray, q: FloatArray, walls: BoolArray, length: float) -> bool:
    """x plus `length` times STEP, and what `residual` says there. False if that is not strictly inside."""
    _, n_cells, S = e.shape
    for c in range(n_cells):
        along = 0.0
        for j in range(S):
            e[X, c, j] += length * e[STEP, c, j]
            along += e[Z, c, j] * e[STEP, c, j]
        if walls[c]:
            # -1/sigma is the derivative of the barrier by rho, so its derivative is kappa z.
            sigma = q[SIGMA, c]
            q[SIGMA, c] = sigma + length * along * (sigma * sigma / q[INVERSE_KAPPA, c])
        if not residual(e, q, walls[c], c):
            return False
    return True


@_inner
def minimize(
    e: FloatArray,
    q: FloatArray,
    walls: BoolArray,
    f: FloatArray,
    r: FloatArray,
    A: int,
    known: float,
    tolerances: Tolerances,
    counters: IntArray,
) -> tuple[int, float]:
    """`geometry._newton.newton` for R + LINEAR, from x in place. Returns how it ended, and the decrement.

    x must be factorized, and is at the end. If `known` is not negative, it is the decrement of the first
    step, which is in STEP already.
    """
    fresh = True
    steps = 0
    first = math.inf  # the decrement at the last factorization, and at the last step
    previous = math.inf
    decrement = known
    while steps < tolerances.most_steps:
        if steps > 0 or known < 0.0:
            decrement = newton_step(e, q, walls, f, r, A)
        if not decrement < math.inf:
            return NO_MINIMIZER, decrement
        if fresh:
            stalled = first < tolerances.full_step and decrement > 0.5 * first
            if decrement <= (tolerances.rounding_floor if stalled else tolerances.decrement):
                return DONE, decrement
            if stalled:
                return NO_MINIMIZER, decrement
            first = decrement
        if fresh or decrement <= 0.5 * previous:
            length = 1.0
            if decrement >= tolerances.full_step:
                counters[DAMPED] += 1
                length = 1.0 / (1.0 + decrement)
            steps += 1
            counters[NEWTON_STEPS] += 1
            if not advance(e, q, walls, length):
                return LEFT_THE_SET, decrement
            previous = decrement
            fresh = first > tolerances.chord_limit or first * decrement <= tolerances.decrement
        else:
            fresh = True
        if fresh:
            counters[FACTORIZATIONS] += 1
            if not factorize(e, q, walls, f, r, A):
                return LEFT_THE_SET, decrement
    return NO_MINIMIZER, decrement


# --- an episode ---------------------------------------------------------------------------------------------


@_inner
def sample(
    e: FloatArray,
    q: FloatArray,
    walls: BoolArray,
    f: FloatArray,
    r: FloatArray,
    A: int,
    rounding: float,
    rng: np.random.Generator,
) -> float:
    """`OccupancyDikin.sample`: y - x is NOISE over what is returned; its mass by cells is in TAKEN.

    Also H (y - x), which the estimate needs, is FORCE over that length. It is zero if the sample is not in
    the set.
    """
    _, H, S = r.shape
    clear(r)
    for h in range(H):
        for i in range(1 if h == 0 else S):
            first = first_cell(h, i, S, A)
            for c in range(first, first + A):
                gaussian(e, q, walls[c], c, rng)
                balance(e, r, h, i, c)
                for j in range(S):
                    e[NOISE, c, j] = e[IMAGE, c, j]
    multipliers(f, r)
    square = 0.0
    for h in range(H):
        for i in range(1 if h == 0 else S):
            here = r[RIGHT, h, i]
            first = first_cell(h, i, S, A)
            for c in range(first, first + A):
                for j in range(S):
                    e[IMAGE, c, j] = here - r[RIGHT, h + 1, j] if h + 1 < H else here
                inverse_times(e, q, walls[c], c)
                for j in range(S):
                    e[NOISE, c, j] -= e[IMAGE, c, j]
                square += hessian_times(e, q, walls[c], c)
    length = math.sqrt(square)
    over = 1.0 / length
    for c in range(e.shape[1]):
        mass = 0.0
        for j in range(S):
            x = e[X, c, j]
            y = x + over * e[NOISE, c, j]
            if not y > -rounding * x:
                return 0.0
            mass += max(y, 0.0)
        q[TAKEN, c] = mass
    return length


@_inlined
def expected_loss(world: World, table: int, q: FloatArray, scratch: FloatArray) -> float:
    """x^{pi, P} · loss of the policy of y, by one pass forwards."""
    H, S, A, _ = world.transitions.shape
    total = 0.0
    for i in range(S):
        scratch[MASS_HERE, i] = 0.0
    scratch[MASS_HERE, world.initial_state] = 1.0
    for h in range(H):
        for i in range(S):
            scratch[MASS_NEXT, i] = 0.0
        for i in range(S):
            mass = scratch[MASS_HERE, i]
            if mass == 0.0:
                continue
            c = first_cell(h, i, S, A)
            here = 0.0
            for a in range(A):
                here += q[TAKEN, c + a]
            for a in range(A):
                weight = mass * (q[TAKEN, c + a] / here if here > 0.0 else 1.0 / A)
                total += weight * world.cost[table, h, i, a]
                for j in range(S):
                    scratch[MASS_NEXT, j] += weight * world.transitions[h, i, a, j]
        for i in range(S):
            scratch[MASS_HERE, i] = scratch[MASS_NEXT, i]
    return total


@_inner
def draw(scratch: FloatArray, n: int, u: float) -> int:
    """Which of n chances, in CHANCES, the uniform u falls on."""
    reached = 0.0
    last = 0
    for k in range(n):
        reached += scratch[CHANCES, k]
        if scratch[CHANCES, k] > 0.0:
            last = k
        if reached > u:
            return k
    return last


@_inlined
def next_rate(scalars: FloatArray, counters: IntArray, rules: Rules, z_hat_epsilon: float) -> float:
    """Algorithm 2, line 9, clipped; or a constant rate."""
    eta, eta0 = scalars[ETA], scalars[ETA0]
    if rules.constant > 0.0:
        return float(rules.constant * eta0)
    if z_hat_epsilon == 0.0:
        return float(eta)
    largest = rules.clip * eta0
    inverse = 1.0 / eta - 2 * rules.dimension * z_hat_epsilon
    if inverse * largest < 1.0:
        counters[CLIPPED] += 1
        return float(largest)
    return float(1.0 / inverse)


@_compiled
def play(
    world: World,
    room: Room,
    rules: Rules,
    tolerances: Tolerances,
    expected: FloatArray,
    totals: FloatArray,
    begin: int,
    first: int,
    last: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Episodes first..last-1, or until the epoch ends. Returns the next episode and how it ended.

    `expected` and `totals` end with the entry of episode last-1. Unless it begins ON_THE_WAY, x is an
    interior point and is carried to the minimum first. ON_THE_WAY, x must be factorized in the room, and the
    minimizer for DUAL, which LINEAR equals up to C'lambda; STEP holds the Newton step that was too short to
    be taken.
    """
    e, q, walls, f, r = room.entries, room.cells, room.constrained, room.blocks, room.rows
    scratch = room.scratch
    H, S, A, _ = world.transitions.shape
    n_cells = e.shape[1]
    dimension = rules.dimension
    chunk = last - len(totals)
    left = 0.0
    # At the start of an epoch to the center first, as `IncreasingRateOMD` does.
    for stage in range(begin, ON_THE_WAY):
        for c in range(n_cells):
            for j in range(S):
                e[LINEAR, c, j] = stage * e[DUAL, c, j]
        if not advance(e, q, walls, 0.0) or not factorize(e, q, walls, f, r, A):
            return first, LEFT_THE_SET
        if dimension > 0:
            uncounted = np.zeros(4, np.int64)
            status, left = minimize(e, q, walls, f, r, A, -1.0, tolerances, uncounted)
            if status != DONE:
                return first, status
    for k in range(first, last):
        # Algorithm 3, lines 8 and 9; Algorithm 2, lines 4 and 5.
        length = 1.0
        if dimension > 0:
            length = sample(e, q, walls, f, r, A, tolerances.rounding, rng)
            if length == 0.0:
                return k, LEFT_THE_SET
        else:
            for c in range(n_cells):
                q[TAKEN, c] = 1.0
                rng.standard_normal()
        # Line 10, and line 12.
        table = world.schedule[k]
        total = 0.0
        z_hat_epsilon = 0.0
        ended = False
        i = world.initial_state
        for h in range(H):
            c = first_cell(h, i, S, A)
            here = 0.0
            for a in range(A):
                here += q[TAKEN, c + a]
            for a in range(A):
                scratch[CHANCES, a] = q[TAKEN, c + a] / here if here > 0.0 else 1.0 / A
            a = draw(scratch, A, rng.random())
            for j in range(S):
                scratch[CHANCES, j] = world.transitions[h, i, a, j]
            j = draw(scratch, S, rng.random())
            total += world.tables[table, h, i, a, j]
            c += a
            z_hat_epsilon += q[EPSILON, c]
            room.counts[c, j] += 1
            room.visits[NOW, c] += 1
            ended = ended or room.visits[NOW, c] >= max(room.visits[BEFORE, c], 1)
            i = j
        expected[k - chunk] = expected_loss(world, table, q, scratch)
        totals[k - chunk] = total
        # Line 11, which is Algorithm 2, lines 8 to 10.
        if dimension > 0:
            baseline = rules.baseline
            if rules.running_mean and room.scalars[TOTALS] > 0.0:
                baseline = room.scalars[SUM_OF_TOTALS] / room.scalars[TOTALS]
            eta = next_rate(room.scalars, room.counters, rules, z_hat_epsilon)
            room.scalars[ETA] = eta
            # The Newton step is what the last one left over, and this episode's -eta n (L - b) (y - x), whose
            # norm is eta n |L - b|.
            pace = eta * dimension * (total - baseline)
            weight = pace / length
            between = 0.0
            for c in range(n_cells):
                for j in range(S):
                    between += e[FORCE, c, j] * e[STEP, c, j]
                    force = weight * e[FORCE, c, j]
                    e[DUAL, c, j] += force
                    e[LINEAR, c, j] += force
                    e[STEP, c, j] -= weight * e[NOISE, c, j]
            decrement = math.sqrt(abs(pace * pace - 2.0 * weight * between + left * left))
            status, left = minimize(e, q, walls, f, r, A, decrement, tolerances, room.counters)
            if status != DONE:
                return k, status
        room.scalars[SUM_OF_TOTALS] += total
        room.scalars[TOTALS] += 1.0
        if ended:
            return k + 1, EPOCH_ENDED
    return last, DONE
