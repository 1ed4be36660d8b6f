"""The compiled engine: Algorithms 3 and 2 on S_i with no Python and no allocation in an episode.

The mathematics is that of `geometry.occupancy_set` and `learners.reduction`, formula by formula and in the
same order, and so are the random numbers; the two agree to rounding. What differs is that a cell is visited
by a loop instead of a vector operation, and that the flow matrix is factorised by blocks instead of bands.
This module is imported only by `simulation.simulate`, and only when Numba is there. No fastmath: it would
gain nothing, and make results depend on the processor.

Names: c is a cell (h,s,a), h the step, i and j are states. Rows of the flow equations are in blocks: block 0
holds the start alone, block h the states of step h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from aggbandit._arrays import BoolArray, FloatArray, Int32Array, IntArray

# Compiled in as they are. The cache on disk only notices changes of this file: after changing one of them,
# touch it.
from aggbandit.geometry._newton import FULL_STEP, MOST_STEPS, ROUNDING_FLOOR
from aggbandit.geometry.occupancy_barrier import CHORD_LIMIT, QUADRATIC, ROUNDING

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=np.generic)

# Episodes a chunk times entries of x: some tens of milliseconds.
CHUNK_ENTRIES = 1 << 18
# The entries of `Learner.scalars` and `Learner.counters`.
ETA, ETA0, SUM_OF_TOTALS, TOTALS = 0, 1, 2, 3
CLIPPED, NEWTON_STEPS, DAMPED, FACTORISATIONS = 0, 1, 2, 3
# How a call of `play` ended.
DONE, EPOCH_ENDED, LEFT_THE_SET, NO_MINIMISER = 0, 1, 2, 3


def compiled(function: F, inline: str = "never") -> F:
    """Numba's njit, cached on disk, typed as the function itself."""
    options: dict[str, Any] = {"error_model": "numpy", "inline": inline}
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:
        # Neither beside this file nor in the user's cache may anything be written: every process compiles.
        return cast(F, numba.njit(**options)(function))


def inlined(function: F) -> F:
    """The same, made part of its caller: a call hands over some two hundred numbers, which takes its time."""
    return compiled(function, inline="always")


class World(NamedTuple):
    """What the world does: transitions (H, S, A, S), the tables (M, H, S, A, S) and their schedule (K,).

    cost (M, H, S, A) is the expected loss of an action, sum_s' P loss.
    """

    transitions: FloatArray
    tables: FloatArray
    schedule: Int32Array
    cost: FloatArray
    initial_state: int


class Body(NamedTuple):
    """The set S_i of the epoch, by cells."""

    P_hat: FloatArray  # (cells, S)
    radius: FloatArray  # (cells,)
    constrained: BoolArray  # (cells,)
    epsilon: FloatArray  # (cells,)
    visits: IntArray  # (cells,) N_i
    horizon: int
    n_actions: int


class Learner(NamedTuple):
    """What the learner carries from episode to episode; written in place."""

    x: FloatArray  # (cells, S)
    dual: FloatArray  # (cells, S)
    counts: IntArray  # (cells, S) n_i(h,s,a,s') of this epoch
    visits: IntArray  # (cells,) n_i(h,s,a)
    scalars: FloatArray  # at ETA, ETA0, SUM_OF_TOTALS, TOTALS
    counters: IntArray  # at CLIPPED, NEWTON_STEPS, DAMPED, FACTORISATIONS


class Rules(NamedTuple):
    """The learner's choices: the baseline, and the clip of the increasing rate or the factor of a constant
    one."""

    baseline: float
    running_mean: bool
    clip: float
    constant: float  # 0 for the increasing rate
    tolerance: float
    dimension: int


class Record(NamedTuple):
    """What happened, an entry an episode of the chunk that is played."""

    expected_loss: FloatArray
    total_loss: FloatArray


class Inverse(NamedTuple):
    """G, the inverse of the Hessian, by cells: see `geometry.occupancy_set`."""

    v: FloatArray  # (cells, S)
    over_a: FloatArray  # (cells,) 1/a
    p: FloatArray  # (cells, S)
    scale: FloatArray  # (cells,) delta/a
    s: FloatArray  # (cells, S)
    over_tau: FloatArray  # (cells,) 1/tau


class Factor(NamedTuple):
    """The block Cholesky factor of C G C'. Its diagonal is scaled to one for the factorisation only."""

    upper: FloatArray  # (H, S, S) R_h with R_h' R_h the h-th pivot block
    beside: FloatArray  # (H, S, S) [column state of step h, row state of step h + 1]
    over_pivot: FloatArray  # (H, S) one over the diagonal of R_h
    unit: FloatArray  # (H, S) scratch: the scaling


class Work(NamedTuple):
    """Scratch space, and the factorisation at x."""

    sigma: FloatArray  # (cells,)
    m: FloatArray  # (cells, S)
    z: FloatArray  # (cells, S)
    inverse_kappa: FloatArray  # (cells,)
    inverse: Inverse
    gradient: FloatArray  # (cells, S) at x
    residual: FloatArray  # (cells, S)
    direction: FloatArray  # (cells, S)
    target: FloatArray  # (cells, S)
    noise: FloatArray  # (cells, S) y - x, before it is scaled
    y: FloatArray  # (cells, S)
    rows: FloatArray  # (H, S) right-hand sides and multipliers
    factor: Factor
    normals: FloatArray
    mass: FloatArray  # (S,)
    next_mass: FloatArray  # (S,)
    distance: FloatArray  # (S,)
    episode: IntArray  # (H, 2) cell and next state of each step


def workspace(horizon: int, n_states: int, n_actions: int) -> Work:
    """Room for one world."""
    n_cells = n_actions * (1 + (horizon - 1) * n_states)
    per_cell, per_entry, rows = (n_cells,), (n_cells, n_states), (horizon, n_states)
    square = (horizon, n_states, n_states)
    return Work(
        sigma=np.ones(per_cell),
        m=np.zeros(per_entry),
        z=np.zeros(per_entry),
        inverse_kappa=np.ones(per_cell),
        inverse=Inverse(
            v=np.zeros(per_entry),
            over_a=np.ones(per_cell),
            p=np.zeros(per_entry),
            scale=np.ones(per_cell),
            s=np.zeros(per_entry),
            over_tau=np.ones(per_cell),
        ),
        gradient=np.zeros(per_entry),
        residual=np.zeros(per_entry),
        direction=np.zeros(per_entry),
        target=np.zeros(per_entry),
        noise=np.zeros(per_entry),
        y=np.zeros(per_entry),
        rows=np.zeros(rows),
        factor=Factor(np.zeros(square), np.zeros(square), np.zeros(rows), np.zeros(rows)),
        normals=np.zeros(n_cells * (2 * n_states + 1)),
        mass=np.zeros(n_states),
        next_mass=np.zeros(n_states),
        distance=np.zeros(n_states),
        episode=np.zeros((horizon, 2), dtype=np.int64),
    )


# --- the barrier, cell by cell ------------------------------------------------------------------------------


@compiled
def wall_and_gradient(x: FloatArray, body: Body, work: Work, keep: bool) -> bool:
    """The gradient at x into `work.gradient`; with `keep`, also the cell's part of the factorisation.

    False if x is not strictly inside.
    """
    n_cells, S = x.shape
    distance = work.distance
    m, z = work.m, work.z
    v, p, s = work.inverse.v, work.inverse.p, work.inverse.s
    for c in range(n_cells):
        for j in range(S):
            if not x[c, j] > 0.0:
                return False
        if not body.constrained[c]:
            for j in range(S):
                work.gradient[c, j] = -1.0 / x[c, j]
            if keep:
                a = 0.0
                for j in range(S):
                    v[c, j] = x[c, j] * x[c, j]
                    a += v[c, j]
                work.inverse.over_a[c] = 1.0 / a
            continue
        radius = body.radius[c]
        X = 0.0
        for j in range(S):
            X += x[c, j]
        total = 0.0
        for j in range(S):
            distance[j] = abs(x[c, j] - body.P_hat[c, j] * X)
            total += distance[j]
        slack = radius * X - total
        if not slack > 0.0:
            return False
        # sigma by Newton, from where it was if that is between its bounds: quadratic, and from the right
        # monotone.
        sigma = work.sigma[c]
        if not slack < sigma * (2 * S + 1) or not sigma * (S + 1) <= slack:
            sigma = slack / (S + 1)
        for _ in range(60):
            excess = (S + 1) * sigma - slack
            slope = S + 1.0
            for j in range(S):
                root = math.sqrt(sigma * sigma + distance[j] * distance[j])
                sum_ = root + distance[j]
                ratio = sigma / (root * sum_)
                excess += sigma * root * ratio
                slope += sum_ * ratio
            step = excess / slope
            sigma -= step
            if abs(step) <= QUADRATIC * sigma:
                break
        work.sigma[c] = sigma
        # m, z, kappa, and -1/x - J'(m r) - z/sigma, with m = 1/(root t) and q = -r/root.
        curvature = 0.0
        qP = 0.0
        mrP = 0.0
        over_sigma = 1.0 / sigma
        for j in range(S):
            P = body.P_hat[c, j]
            r = x[c, j] - P * X
            root = math.sqrt(sigma * sigma + r * r)
            t = sigma + root
            mj = 1.0 / (root * t)
            q = -mj * t * r
            curvature += mj * t * t
            qP += q * P
            mrP += mj * r * P
            work.gradient[c, j] = -1.0 / x[c, j] - mj * r - q * over_sigma
            if keep:
                m[c, j] = mj
                z[c, j] = q
        shift = mrP - (radius - qP) * over_sigma
        for j in range(S):
            work.gradient[c, j] += shift
        if not keep:
            continue
        inverse_kappa = sigma * sigma * (1.0 + curvature)
        work.inverse_kappa[c] = inverse_kappa
        a = 0.0
        b = 0.0
        cc = 0.0
        for j in range(S):
            z[c, j] += radius - qP
            P = body.P_hat[c, j]
            square = x[c, j] * x[c, j]
            shrink = 1.0 / (1.0 + m[c, j] * square)
            v[c, j] = square * shrink
            a += v[c, j]
            b += P * shrink
            cc += m[c, j] * P * P * shrink
        delta = a * cc + b * b
        over_a = 1.0 / a
        scale = delta * over_a
        over_delta = 1.0 / delta
        vz = 0.0
        pz = 0.0
        for j in range(S):
            p[c, j] = (a * m[c, j] * body.P_hat[c, j] + b) * v[c, j] * over_delta
            vz += v[c, j] * z[c, j]
            pz += p[c, j] * z[c, j]
        mean = vz * over_a
        tau = inverse_kappa + scale * pz * pz
        for j in range(S):
            spread = z[c, j] - mean
            s[c, j] = v[c, j] * spread + scale * pz * p[c, j]
            tau += v[c, j] * spread * spread
        work.inverse.over_a[c] = over_a
        work.inverse.scale[c] = scale
        work.inverse.over_tau[c] = 1.0 / tau
    return True


@inlined
def hessian_times(x: FloatArray, u: FloatArray, body: Body, work: Work, out: FloatArray) -> None:
    """H u = u/x² + J'(m J u) + kappa z (z·u)."""
    n_cells, S = x.shape
    m, z = work.m, work.z
    for c in range(n_cells):
        for j in range(S):
            out[c, j] = u[c, j] / (x[c, j] * x[c, j])
        if body.constrained[c]:
            U = 0.0
            along = 0.0
            for j in range(S):
                U += u[c, j]
                along += z[c, j] * u[c, j]
            along /= work.inverse_kappa[c]
            pull = 0.0
            for j in range(S):
                moved = m[c, j] * (u[c, j] - body.P_hat[c, j] * U)
                pull += moved * body.P_hat[c, j]
                out[c, j] += moved + along * z[c, j]
            for j in range(S):
                out[c, j] -= pull


@inlined
def square_norm(x: FloatArray, u: FloatArray, body: Body, work: Work) -> float:
    """u'H u, as a sum of squares."""
    n_cells, S = x.shape
    total = 0.0
    for c in range(n_cells):
        for j in range(S):
            ratio = u[c, j] / x[c, j]
            total += ratio * ratio
        if body.constrained[c]:
            U = 0.0
            along = 0.0
            for j in range(S):
                U += u[c, j]
                along += work.z[c, j] * u[c, j]
            for j in range(S):
                moved = u[c, j] - body.P_hat[c, j] * U
                total += work.m[c, j] * moved * moved
            total += along * along / work.inverse_kappa[c]
    return total


@compiled
def inverse_times(u: FloatArray, constrained: BoolArray, work: Inverse, out: FloatArray) -> None:
    """G u; `u` and `out` may be the same array."""
    n_cells, S = u.shape
    v, p, s = work.v, work.p, work.s
    for c in range(n_cells):
        if not constrained[c]:
            for j in range(S):
                out[c, j] = v[c, j] * u[c, j]
            continue
        vu = 0.0
        pu = 0.0
        su = 0.0
        for j in range(S):
            vu += v[c, j] * u[c, j]
            pu += p[c, j] * u[c, j]
            su += s[c, j] * u[c, j]
        vu *= work.over_a[c]
        pu *= work.scale[c]
        su *= work.over_tau[c]
        for j in range(S):
            out[c, j] = v[c, j] * (u[c, j] - vu) + pu * p[c, j] - su * s[c, j]


# --- the flow equations -------------------------------------------------------------------------------------


@compiled
def flow_balance(u: FloatArray, H: int, A: int, rows: FloatArray) -> None:
    """C u by blocks, (H, S): what leaves minus what arrives."""
    S = u.shape[1]
    for h in range(H):
        for i in range(S):
            rows[h, i] = 0.0
    for a in range(A):
        for j in range(S):
            rows[0, 0] += u[a, j]
            if H > 1:
                rows[1, j] -= u[a, j]
    c = A
    for h in range(1, H):
        last = h + 1 == H
        for i in range(S):
            out = 0.0
            for _ in range(A):
                for j in range(S):
                    out += u[c, j]
                    if not last:
                        rows[h + 1, j] -= u[c, j]
                c += 1
            rows[h, i] += out


@compiled
def factorise_flow(constrained: BoolArray, H: int, A: int, inverse: Inverse, factor: Factor) -> bool:
    """Block Cholesky of C G C', its diagonal scaled to one. False if a pivot is not positive."""
    S = inverse.v.shape[1]
    v, p, s = inverse.v, inverse.p, inverse.s
    upper, beside, over_pivot, unit = factor.upper, factor.beside, factor.over_pivot, factor.unit
    for h in range(H):
        for i in range(S):
            for j in range(S):
                upper[h, i, j] = 0.0
                beside[h, i, j] = 0.0
    c = 0
    for h in range(H):
        last = h + 1 == H
        for i in range(1 if h == 0 else S):
            for _ in range(A):
                if constrained[c]:
                    scale = inverse.scale[c]
                    over_a = inverse.over_a[c]
                    over_tau = inverse.over_tau[c]
                    S_sum = 0.0
                    for j in range(S):
                        S_sum += s[c, j]
                    upper[h, i, i] += 1.0 / scale - S_sum * S_sum * over_tau
                    if not last:
                        for j in range(S):
                            beside[h, i, j] -= p[c, j] - S_sum * over_tau * s[c, j]
                        for k in range(S):
                            pk = scale * p[c, k]
                            vk = over_a * v[c, k]
                            sk = over_tau * s[c, k]
                            upper[h + 1, k, k] += v[c, k]
                            for j in range(k, S):
                                upper[h + 1, k, j] += pk * p[c, j] - vk * v[c, j] - sk * s[c, j]
                else:
                    upper[h, i, i] += 1.0 / inverse.over_a[c]
                    if not last:
                        for j in range(S):
                            beside[h, i, j] -= v[c, j]
                            upper[h + 1, j, j] += v[c, j]
                c += 1
    for h in range(H):
        for i in range(1 if h == 0 else S):
            unit[h, i] = 1.0 / math.sqrt(upper[h, i, i])
    for h in range(H):
        n = 1 if h == 0 else S
        for i in range(n):
            for j in range(i, n):
                upper[h, i, j] *= unit[h, i] * unit[h, j]
            if h + 1 < H:
                for j in range(S):
                    beside[h, i, j] *= unit[h, i] * unit[h + 1, j]
    for h in range(H):
        n = 1 if h == 0 else S
        if h > 0:
            for k in range(1 if h == 1 else S):
                for i in range(n):
                    weight = beside[h - 1, k, i]
                    for j in range(i, n):
                        upper[h, i, j] -= weight * beside[h - 1, k, j]
        for k in range(n):
            pivot = upper[h, k, k]
            if not pivot > 0.0:
                return False
            over = 1.0 / math.sqrt(pivot)
            over_pivot[h, k] = over
            for j in range(k, n):
                upper[h, k, j] *= over
            for i in range(k + 1, n):
                weight = upper[h, k, i]
                for j in range(i, n):
                    upper[h, i, j] -= weight * upper[h, k, j]
            if h + 1 < H:
                for j in range(S):
                    beside[h, k, j] *= over
                for i in range(k + 1, n):
                    weight = upper[h, k, i]
                    for j in range(S):
                        beside[h, i, j] -= weight * beside[h, k, j]
    # Undo the scaling: the factor of C G C' itself.
    for h in range(H):
        for k in range(1 if h == 0 else S):
            over_pivot[h, k] *= unit[h, k]
            for j in range(k, 1 if h == 0 else S):
                upper[h, k, j] /= unit[h, j]
            if h + 1 < H:
                for j in range(S):
                    beside[h, k, j] /= unit[h + 1, j]
    return True


@compiled
def multipliers(factor: Factor, rows: FloatArray) -> None:
    """(C G C')^{-1} times `rows`, (H, S), in place."""
    H, S = rows.shape
    upper, beside, over_pivot = factor.upper, factor.beside, factor.over_pivot
    for h in range(H):
        n = 1 if h == 0 else S
        if h > 0:
            for k in range(1 if h == 1 else S):
                for j in range(S):
                    rows[h, j] -= beside[h - 1, k, j] * rows[h - 1, k]
        for k in range(n):
            rows[h, k] *= over_pivot[h, k]
            for j in range(k + 1, n):
                rows[h, j] -= upper[h, k, j] * rows[h, k]
    for h in range(H - 1, -1, -1):
        n = 1 if h == 0 else S
        if h + 1 < H:
            for i in range(n):
                total = 0.0
                for j in range(S):
                    total += beside[h, i, j] * rows[h + 1, j]
                rows[h, i] -= total
        for k in range(n - 1, -1, -1):
            total = rows[h, k]
            for j in range(k + 1, n):
                total -= upper[h, k, j] * rows[h, j]
            rows[h, k] = total * over_pivot[h, k]


@compiled
def add_potential(u: FloatArray, rows: FloatArray, A: int, out: FloatArray) -> None:
    """out = u + C'lambda, with lambda in `rows`, (H, S)."""
    H, S = rows.shape
    c = 0
    for h in range(H):
        for i in range(1 if h == 0 else S):
            here = rows[h, i]
            for _ in range(A):
                if h + 1 < H:
                    for j in range(S):
                        out[c, j] = u[c, j] + (here - rows[h + 1, j])
                else:
                    for j in range(S):
                        out[c, j] = u[c, j] + here
                c += 1


# --- Newton's method ----------------------------------------------------------------------------------------


@inlined
def newton_direction(x: FloatArray, body: Body, work: Work) -> float:
    """`OccupancyDikin.solve` for gradient + target: the direction, the target plus C'lambda, the
    decrement."""
    n_cells, S = x.shape
    g, direction, target, rows = work.residual, work.direction, work.target, work.rows
    for c in range(n_cells):
        for j in range(S):
            g[c, j] = work.gradient[c, j] + target[c, j]
    inverse_times(g, body.constrained, work.inverse, direction)
    for c in range(n_cells):
        for j in range(S):
            direction[c, j] = x[c, j] - direction[c, j]
    flow_balance(direction, body.horizon, body.n_actions, rows)
    rows[0, 0] -= 1.0
    multipliers(work.factor, rows)
    add_potential(target, rows, body.n_actions, target)
    add_potential(g, rows, body.n_actions, g)
    inverse_times(g, body.constrained, work.inverse, direction)
    square = 0.0
    for c in range(n_cells):
        for j in range(S):
            square += g[c, j] * direction[c, j]
            direction[c, j] = -direction[c, j]
    # Not max(0, square), which would turn a NaN into a decrement of zero.
    return math.sqrt(abs(square))


@compiled
def factorise(x: FloatArray, body: Body, work: Work, counters: IntArray) -> bool:
    """The gradient and the Dikin ellipsoid at x. False if x is not strictly inside."""
    counters[FACTORISATIONS] += 1
    if not wall_and_gradient(x, body, work, True):
        return False
    return factorise_flow(body.constrained, body.horizon, body.n_actions, work.inverse, work.factor)


@compiled
def minimise(
    x: FloatArray, body: Body, work: Work, known: float, tolerance: float, counters: IntArray
) -> int:
    """`OccupancyBarrier.minimize` of R + `work.target`, from x in place.

    x must be factorised, and is at the end. If `known` is not negative, it is the decrement of the first
    direction, which is in `work.direction` already.
    """
    n_cells, S = x.shape
    fresh = True
    contraction = 0.0
    previous = math.inf
    best = math.inf
    for iteration in range(MOST_STEPS):
        decrement = known if iteration == 0 and known >= 0.0 else newton_direction(x, body, work)
        length = 1.0
        if fresh:
            if decrement <= tolerance or ROUNDING_FLOOR >= decrement > 0.5 * best:
                return DONE
            if not decrement < math.inf:
                return NO_MINIMISER
            best = min(best, decrement)
            if decrement >= FULL_STEP:
                counters[DAMPED] += 1
                length = 1.0 / (1.0 + decrement)
            contraction = decrement
        if fresh or decrement <= 0.5 * previous:
            counters[NEWTON_STEPS] += 1
            for c in range(n_cells):
                for j in range(S):
                    x[c, j] += length * work.direction[c, j]
            previous = decrement
            fresh = contraction > CHORD_LIMIT or contraction * decrement <= tolerance
        else:
            fresh = True
        if fresh:
            if not factorise(x, body, work, counters):
                return LEFT_THE_SET
        elif not wall_and_gradient(x, body, work, False):
            return LEFT_THE_SET
    return NO_MINIMISER


# --- an episode ---------------------------------------------------------------------------------------------


@inlined
def sample(x: FloatArray, body: Body, work: Work, dimension: int, rng: np.random.Generator) -> bool:
    """`OccupancyDikin.sample` into `work.y`. False if the sample is not in the set."""
    n_cells, S = x.shape
    normals, v, y = work.normals, work.noise, work.y
    walls = 0
    for c in range(n_cells):
        walls += body.constrained[c]
    count = n_cells * S + walls * (S + 1)
    for i in range(count):
        normals[i] = rng.standard_normal()
    if dimension == 0:
        for c in range(n_cells):
            for j in range(S):
                y[c, j] = x[c, j]
        return True
    along_r = n_cells * S
    for c in range(n_cells):
        for j in range(S):
            v[c, j] = normals[c * S + j] / x[c, j]
        if body.constrained[c]:
            pull = 0.0
            for j in range(S):
                move = math.sqrt(work.m[c, j]) * normals[along_r + j]
                pull += move * body.P_hat[c, j]
                v[c, j] += move
            for j in range(S):
                v[c, j] -= pull
            along_r += S
    inverse_times(v, body.constrained, work.inverse, v)
    # G kappa^{1/2} z noise = s noise / (kappa^{1/2} tau), kept apart because kappa may be huge.
    along_z = along_r
    for c in range(n_cells):
        if body.constrained[c]:
            noise = normals[along_z] * math.sqrt(work.inverse_kappa[c]) * work.inverse.over_tau[c]
            for j in range(S):
                v[c, j] += noise * work.inverse.s[c, j]
            along_z += 1
    flow_balance(v, body.horizon, body.n_actions, work.rows)
    multipliers(work.factor, work.rows)
    # y serves as scratch for G C'lambda.
    for c in range(n_cells):
        for j in range(S):
            y[c, j] = 0.0
    add_potential(y, work.rows, body.n_actions, y)
    inverse_times(y, body.constrained, work.inverse, y)
    for c in range(n_cells):
        for j in range(S):
            v[c, j] -= y[c, j]
    length = math.sqrt(square_norm(x, v, body, work))
    for c in range(n_cells):
        for j in range(S):
            y[c, j] = x[c, j] + v[c, j] / length
            if not y[c, j] > -ROUNDING * x[c, j]:
                return False
            y[c, j] = max(y[c, j], 0.0)
    return True


@compiled
def first_cell(h: int, s: int, S: int, A: int) -> int:
    """The cell (h, s, 0)."""
    if h == 0:
        return 0
    return A + ((h - 1) * S + s) * A


@inlined
def expected_loss(world: World, k: int, body: Body, work: Work) -> float:
    """x^{pi, P} · loss of the policy of `work.y`, by one pass forwards."""
    S = work.y.shape[1]
    A = body.n_actions
    y, mass, next_mass = work.y, work.mass, work.next_mass
    table = world.schedule[k]
    total = 0.0
    for i in range(S):
        mass[i] = 0.0
    mass[world.initial_state] = 1.0
    for h in range(body.horizon):
        for i in range(S):
            next_mass[i] = 0.0
        for i in range(S):
            if mass[i] == 0.0:
                continue
            c = first_cell(h, i, S, A)
            here = 0.0
            for a in range(A):
                for j in range(S):
                    here += y[c + a, j]
            for a in range(A):
                chosen = 0.0
                for j in range(S):
                    chosen += y[c + a, j]
                weight = mass[i] * (chosen / here if here > 0.0 else 1.0 / A)
                total += weight * world.cost[table, h, i, a]
                for j in range(S):
                    next_mass[j] += weight * world.transitions[h, i, a, j]
        for i in range(S):
            mass[i] = next_mass[i]
    return total


@inlined
def rollout(world: World, body: Body, work: Work, rng: np.random.Generator) -> None:
    """`FiniteHorizonMDP.rollout` under the policy of `work.y`: cells and next states into `work.episode`."""
    S = work.y.shape[1]
    A = body.n_actions
    y = work.y
    i = world.initial_state
    for h in range(body.horizon):
        c = first_cell(h, i, S, A)
        here = 0.0
        for a in range(A):
            mass_a = 0.0
            for j in range(S):
                mass_a += y[c + a, j]
            here += mass_a
        u = rng.random()
        total = 0.0
        action = -1
        last = 0
        for a in range(A):
            chosen = 0.0
            for j in range(S):
                chosen += y[c + a, j]
            chosen = chosen / here if here > 0.0 else 1.0 / A
            total += chosen
            if chosen > 0.0:
                last = a
            if total > u:
                action = a
                break
        if action < 0:
            action = last
        u = rng.random()
        total = 0.0
        landed = -1
        for j in range(S):
            chosen = world.transitions[h, i, action, j]
            total += chosen
            if chosen > 0.0:
                last = j
            if total > u:
                landed = j
                break
        if landed < 0:
            landed = last
        work.episode[h, 0] = c + action
        work.episode[h, 1] = landed
        i = landed


@inlined
def next_rate(learner: Learner, rules: Rules, z_hat_epsilon: float) -> float:
    """Algorithm 2, line 9, clipped; or a constant rate."""
    eta, eta0 = float(learner.scalars[ETA]), float(learner.scalars[ETA0])
    if rules.constant > 0.0:
        return rules.constant * eta0
    if z_hat_epsilon == 0.0:
        return eta
    largest = rules.clip * eta0
    inverse = 1.0 / eta - 2 * rules.dimension * z_hat_epsilon
    if inverse * largest < 1.0:
        learner.counters[CLIPPED] += 1
        return largest
    return 1.0 / inverse


@compiled
def play(
    world: World,
    body: Body,
    learner: Learner,
    rules: Rules,
    work: Work,
    record: Record,
    first: int,
    last: int,
    chunk: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Episodes first..last-1, or until the epoch ends. Returns the next episode and how it ended.

    `record` starts with the episode `chunk`.

    x must be factorised in `work`, and the minimiser for `learner.dual`, which `work.target` equals up to
    C'lambda; `work.direction` holds the Newton step that was too short to be taken.
    """
    n_cells, S = learner.x.shape
    x, dimension = learner.x, rules.dimension
    for k in range(first, last):
        # Algorithm 3, lines 8 and 9; Algorithm 2, lines 4 and 5.
        if not sample(x, body, work, dimension, rng):
            return k, LEFT_THE_SET
        # Line 10.
        rollout(world, body, work, rng)
        record.expected_loss[k - chunk] = expected_loss(world, k, body, work)
        total = 0.0
        z_hat_epsilon = 0.0
        ended = False
        i = world.initial_state
        for h in range(body.horizon):
            c = work.episode[h, 0]
            j = work.episode[h, 1]
            action = c - first_cell(h, i, S, body.n_actions)
            total += world.tables[world.schedule[k], h, i, action, j]
            z_hat_epsilon += body.epsilon[c]
            # Line 12.
            learner.counts[c, j] += 1
            learner.visits[c] += 1
            ended = ended or learner.visits[c] >= max(body.visits[c], 1)
            i = j
        record.total_loss[k - chunk] = total
        # Line 11, which is Algorithm 2, lines 8 to 10.
        if dimension > 0:
            baseline = rules.baseline
            if rules.running_mean and learner.scalars[TOTALS] > 0.0:
                baseline = learner.scalars[SUM_OF_TOTALS] / learner.scalars[TOTALS]
            for c in range(n_cells):
                for j in range(S):
                    work.y[c, j] -= x[c, j]
            hessian_times(x, work.y, body, work, work.noise)
            eta = next_rate(learner, rules, z_hat_epsilon)
            learner.scalars[ETA] = eta
            weight = dimension * (total - baseline)
            # The Newton direction is what the last one left over, and this episode's -eta n (L - b) (y - x).
            for c in range(n_cells):
                for j in range(S):
                    step = eta * (weight * work.noise[c, j])
                    learner.dual[c, j] += step
                    work.target[c, j] += step
                    work.direction[c, j] -= eta * weight * work.y[c, j]
            decrement = math.sqrt(square_norm(x, work.direction, body, work))
            status = minimise(x, body, work, decrement, rules.tolerance, learner.counters)
            if status != DONE:
                return k, status
        learner.scalars[SUM_OF_TOTALS] += total
        learner.scalars[TOTALS] += 1.0
        if ended:
            return k + 1, EPOCH_ENDED
    return last, DONE
