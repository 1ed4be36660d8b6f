"""What Numba compiles for learners that know the dynamics: O-REPS, FTRL, and SCRiBLe on occupancy measures.

The mathematics is that of `learners.potentials`, `learners.oreps`, `learners.ftrl` and `geometry.dikin`,
formula by formula, and so are the random numbers; the engines agree to rounding. What differs is that rows
are lists of the next states they can lead to, that states are numbered among those that can be met, and that
the Hessian of the flow equations is factorized by blocks: a step costs what its own states cost.

All solve the same equations, `C diag(curvature) C' u = right`, C the equations of flow: the Hessian of the
dual function for the first two, the slice of the Dikin ellipsoid for SCRiBLe.

As in `kernels`, nothing is imported from other files that would matter to Numba's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from aggbandit._arrays import FloatArray, Int32Array, IntArray

__all__: list[str] = []

F = TypeVar("F", bound=Callable[..., Any])

# Planes of `Room.rows`, (H, W) each: right-hand sides and their solutions, one over the diagonal of the
# factor, the potentials, and what flows out of a state less what flows in.
RIGHT, OVER_PIVOT, POTENTIAL, EXCESS = range(4)
# Planes of `Room.cells`, (H, W, A) each: the curvature; for O-REPS the weights, by logarithm; for SCRiBLe the
# iterate, the linear term up to C'lambda, gradient plus linear term, what C is applied to, and what is drawn.
# For FTRL the estimates are LINEAR, the slopes before the episode RESIDUAL, the mass IMAGE.
CURVATURE, LOG_WEIGHT, ITERATE, LINEAR, RESIDUAL, IMAGE, NOISE = range(7)
CELL_PLANES = 7
# How a call of `play` ended.
DONE, LEFT_THE_SET, NO_MINIMIZER = 0, 1, 2


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
    """The same, made part of its caller."""
    return cast(F, numba.njit(error_model="numpy", inline="always")(function))


class Rows(NamedTuple):
    """Dynamics as lists: where a cell can lead, and how likely.

    Attributes:
        many: (H, S, A) how many next states a cell has.
        to: (H, S, A, N) they themselves, ascending, the first `many` of each row.
        weight: (H, S, A, N) their probabilities.
    """

    many: Int32Array
    to: Int32Array
    weight: FloatArray


class World(NamedTuple):
    """What the world does.

    Attributes:
        rows: its dynamics.
        tables: (M, H, S, A, S) the losses.
        schedule: (K,) which table an episode has.
        cost: (M, H, S, A) the expected loss of an action, `sum_s' P loss`.
        initial_state: s_1.
    """

    rows: Rows
    tables: FloatArray
    schedule: Int32Array
    cost: FloatArray
    initial_state: int


class Flow(NamedTuple):
    """What the learner knows of the world, its states numbered step by step (`learners.potentials.Layers`).

    Attributes:
        rows: (H, W, A, N) the dynamics by number; nothing leads on from the last step.
        width: (H,) how many states a step has.
        states: (H, W) which state has this number.
        number: (H, S) which number a state has; -1 if it cannot be met.
    """

    rows: Rows
    width: IntArray
    states: IntArray
    number: IntArray


class Room(NamedTuple):
    """Scratch space.

    Attributes:
        blocks: (H, W, 2W) a row a state: the Cholesky factor within its step, and behind the `width` of this
            one, by the states of the next.
        rows: (4, H, W) planes RIGHT to EXCESS.
        cells: (7, H, W, A) planes CURVATURE to NOISE.
        policy: (H, S, A) what is played; uniform where no state can be met.
        mass: (H, S) how likely a state is.
        path: (3, H) states, actions and next states of an episode.
        losses: (H,) of its steps.
    """

    blocks: FloatArray
    rows: FloatArray
    cells: FloatArray
    policy: FloatArray
    mass: FloatArray
    path: IntArray
    losses: FloatArray


class Tolerances(NamedTuple):
    """What Newton's method goes by; see `learners.potentials` and `geometry._newton`.

    Attributes:
        last_step: by what the last step in potentials changes an entry at most, relatively.
        longest_step: by what any of them does.
        no_mass: below which the equation of a state is none.
        most_steps_in_potentials: of Newton's method in potentials.
        decrement: at which a mirror step counts as taken.
        full_step: the decrement from which on a step is damped.
        rounding_floor: below which a decrement that does not halve is accepted.
        most_steps: of Newton's method behind a barrier.
    """

    last_step: float
    longest_step: float
    no_mass: float
    most_steps_in_potentials: int
    decrement: float
    full_step: float
    rounding_floor: float
    most_steps: int


def room(shape: tuple[int, int, int, int], width: int) -> Room:
    """Room for one world.

    Args:
        shape: (H, S, A, S).
        width: W.

    Returns:
        The room, empty; the policy is uniform.
    """
    H, S, A, _ = shape
    return Room(
        blocks=np.zeros((H, width, 2 * width)),
        rows=np.zeros((4, H, width)),
        cells=np.zeros((CELL_PLANES, H, width, A)),
        policy=np.full((H, S, A), 1 / A),
        mass=np.zeros((H, S)),
        path=np.zeros((3, H), dtype=np.int64),
        losses=np.zeros(H),
    )


# --- an episode ---------------------------------------------------------------------------------------------


@_inner
def expected_loss(world: World, table: int, policy: FloatArray, mass: FloatArray) -> float:
    """What the policy costs on average, by one pass forwards."""
    H, S, A = policy.shape
    rows = world.rows
    mass[:] = 0.0
    mass[0, world.initial_state] = 1.0
    total = 0.0
    for h in range(H):
        for s in range(S):
            if mass[h, s] == 0.0:
                continue
            for a in range(A):
                passing = mass[h, s] * policy[h, s, a]
                total += passing * world.cost[table, h, s, a]
                if h + 1 < H:
                    for place in range(rows.many[h, s, a]):
                        mass[h + 1, rows.to[h, s, a, place]] += passing * rows.weight[h, s, a, place]
    return total


@_inner
def episode(world: World, table: int, room: Room, rng: np.random.Generator) -> float:
    """Play the policy: `FiniteHorizonMDP.rollout`, into the path and the losses. Returns the total."""
    H, _, A = room.policy.shape
    rows, policy = world.rows, room.policy
    s = world.initial_state
    total = 0.0
    for h in range(H):
        u = rng.random()
        reached = 0.0
        a = 0
        for b in range(A):
            if policy[h, s, b] > 0.0:
                a = b
            reached += policy[h, s, b]
            if reached > u:
                break
        u = rng.random()
        reached = 0.0
        t = rows.to[h, s, a, 0]
        for place in range(rows.many[h, s, a]):
            t = rows.to[h, s, a, place]
            reached += rows.weight[h, s, a, place]
            if reached > u:
                break
        room.path[0, h], room.path[1, h], room.path[2, h] = s, a, t
        room.losses[h] = world.tables[table, h, s, a, t]
        total += room.losses[h]
        s = t
    return total


# --- the equations of flow ----------------------------------------------------------------------------------


@_inlined
def onward(rows: Rows, potential: FloatArray, h: int, i: int, a: int) -> float:
    """`sum_s' p(s'|s,a,h) V_{h+1}(s')`."""
    total = 0.0
    for place in range(rows.many[h, i, a]):
        total += rows.weight[h, i, a, place] * potential[h + 1, rows.to[h, i, a, place]]
    return total


@_inner
def outflow_less_inflow(flow: Flow, cells: FloatArray, start: float, right: FloatArray) -> None:
    """C times the cells, less `start`, which flows in at the start: into `right`."""
    H, _, A = cells.shape
    for h in range(H):
        for i in range(flow.width[h]):
            right[h, i] = 0.0
    right[0, 0] = -start
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                passing = cells[h, i, a]
                right[h, i] += passing
                for place in range(flow.rows.many[h, i, a]):
                    weight = flow.rows.weight[h, i, a, place]
                    right[h + 1, flow.rows.to[h, i, a, place]] -= passing * weight


@_inlined
def subtract(target: FloatArray, row: FloatArray, weight: float) -> None:
    """`target -= weight row`, from views that begin at zero: the compiler takes several entries at a time."""
    for j in range(len(target)):
        target[j] -= weight * row[j]


@_inner
def factorize(flow: Flow, room: Room, no_mass: float) -> bool:
    """The Cholesky factor of C diag(CURVATURE) C', step by step. False if a pivot is not positive.

    A state with less curvature than `no_mass` has the equation u = 0.
    """
    f, r, curvature, rows = room.blocks, room.rows, room.cells[CURVATURE], flow.rows
    H, _, A = curvature.shape
    for h in range(H):
        n = flow.width[h]
        following = flow.width[h + 1] if h + 1 < H else 0
        for i in range(n):
            for j in range(i, n + following):
                f[h, i, j] = 0.0
    for h in range(H):
        n = flow.width[h]
        for i in range(n):
            for a in range(A):
                here = curvature[h, i, a]
                f[h, i, i] += here
                many = rows.many[h, i, a]
                for place in range(many):
                    j = rows.to[h, i, a, place]
                    passing = here * rows.weight[h, i, a, place]
                    f[h, i, n + j] -= passing
                    for other in range(place, many):
                        f[h + 1, j, rows.to[h, i, a, other]] += passing * rows.weight[h, i, a, other]
    for h in range(H):
        n = flow.width[h]
        for i in range(n):
            if f[h, i, i] < no_mass:
                f[h, i, i] = 1.0
                r[RIGHT, h, i] = 0.0
        # What the states of the step before have left to say of this one.
        if h > 0:
            before = flow.width[h - 1]
            for k in range(before):
                row = f[h - 1, k, before : before + n]
                for i in range(n):
                    subtract(f[h, i, i:n], row[i:], row[i])
        end = n + (flow.width[h + 1] if h + 1 < H else 0)
        for k in range(n):
            pivot = f[h, k, k]
            if not pivot > 0.0:
                return False
            over = 1.0 / math.sqrt(pivot)
            r[OVER_PIVOT, h, k] = over
            row = f[h, k, k:end]
            for j in range(len(row)):
                row[j] *= over
            for i in range(k + 1, n):
                subtract(f[h, i, i:end], row[i - k :], row[i - k])
    return True


@_inner
def solve(flow: Flow, room: Room) -> None:
    """(C diag(CURVATURE) C')^{-1} times the plane RIGHT of the rows, in place."""
    f, r = room.blocks, room.rows
    H = len(flow.width)
    for h in range(H):
        n = flow.width[h]
        following = flow.width[h + 1] if h + 1 < H else 0
        for k in range(n):
            above = r[RIGHT, h, k] * r[OVER_PIVOT, h, k]
            r[RIGHT, h, k] = above
            for j in range(k + 1, n):
                r[RIGHT, h, j] -= f[h, k, j] * above
            for j in range(following):
                r[RIGHT, h + 1, j] -= f[h, k, n + j] * above
    for h in range(H - 1, -1, -1):
        n = flow.width[h]
        following = flow.width[h + 1] if h + 1 < H else 0
        for k in range(n - 1, -1, -1):
            total = r[RIGHT, h, k]
            for j in range(following):
                total -= f[h, k, n + j] * r[RIGHT, h + 1, j]
            for j in range(k + 1, n):
                total -= f[h, k, j] * r[RIGHT, h, j]
            r[RIGHT, h, k] = total * r[OVER_PIVOT, h, k]


@_inner
def newton_direction(flow: Flow, room: Room, mass: FloatArray, tolerances: Tolerances) -> tuple[float, float]:
    """Newton's direction for the dual function, into RIGHT, from the mass and CURVATURE of the cells.

    Returns the slope along it, and by what it changes an entry at most, relatively: infinite if it is none.
    """
    excess, direction, curvature = room.rows[EXCESS], room.rows[RIGHT], room.cells[CURVATURE]
    H, _, A = mass.shape
    outflow_less_inflow(flow, mass, 1.0, excess)
    for h in range(H):
        for i in range(flow.width[h]):
            direction[h, i] = -excess[h, i]
    if not factorize(flow, room, tolerances.no_mass):
        return 0.0, math.inf
    solve(flow, room)
    slope, largest = 0.0, 0.0
    for h in range(H):
        for i in range(flow.width[h]):
            slope += excess[h, i] * direction[h, i]
            for a in range(A):
                if mass[h, i, a] > 0.0:
                    change = abs(direction[h, i] - onward(flow.rows, direction, h, i, a))
                    change *= curvature[h, i, a] / mass[h, i, a]
                    if not change < math.inf:
                        return slope, math.inf
                    largest = max(largest, change)
    return slope, largest


# --- O-REPS -------------------------------------------------------------------------------------------------


@_inlined
def log_sum(flow: Flow, table: FloatArray, potential: FloatArray, h: int, i: int, lead: float) -> float:
    """`log sum_a exp(table(h,i,a) - lead * onward(h,i,a))`."""
    A = table.shape[2]
    top = -math.inf
    for a in range(A):
        top = max(top, table[h, i, a] - lead * onward(flow.rows, potential, h, i, a))
    if not -math.inf < top < math.inf:
        return top
    total = 0.0
    for a in range(A):
        total += math.exp(table[h, i, a] - lead * onward(flow.rows, potential, h, i, a) - top)
    return top + math.log(total)


@_inner
def answer(flow: Flow, room: Room, potential: FloatArray) -> float:
    """`EntropyCells.answer`: the mass, which is the curvature too; returns its sum."""
    log_weight, mass = room.cells[LOG_WEIGHT], room.cells[CURVATURE]
    H, _, A = mass.shape
    value = 0.0
    for h in range(H):
        in_step = 0.0  # sums of sums: rounding does not grow with the size of the world
        for i in range(flow.width[h]):
            in_state = 0.0
            for a in range(A):
                x = potential[h, i] - onward(flow.rows, potential, h, i, a)
                mass[h, i, a] = math.exp(log_weight[h, i, a] + x)
                in_state += mass[h, i, a]
            in_step += in_state
        value += in_step
    return value


@_inner
def project(flow: Flow, room: Room, log_q: FloatArray, tolerances: Tolerances) -> bool:
    """`entropy_projection` of LOG_WEIGHT, begun at the visits of log_q, which it replaces.

    False if none is found; log_q stays as it is then.
    """
    log_weight, mass = room.cells[LOG_WEIGHT], room.cells[CURVATURE]
    V, direction = room.rows[POTENTIAL], room.rows[RIGHT]
    H, _, A = log_q.shape
    for h in range(H - 1, -1, -1):
        for i in range(flow.width[h]):
            visits = log_sum(flow, log_q, V, h, i, 0.0)
            out = log_sum(flow, log_weight, V, h, i, 1.0)
            V[h, i] = visits - out if math.isfinite(visits) and math.isfinite(out) else 0.0
    value = answer(flow, room, V)
    if not math.isfinite(value):
        return False
    for _ in range(tolerances.most_steps_in_potentials):
        slope, largest = newton_direction(flow, room, mass, tolerances)
        if not largest < math.inf:
            return False
        if largest <= tolerances.last_step:
            for h in range(H):
                for i in range(flow.width[h]):
                    V[h, i] += direction[h, i]
            for h in range(H):
                for i in range(flow.width[h]):
                    for a in range(A):
                        log_q[h, i, a] = log_weight[h, i, a] + (V[h, i] - onward(flow.rows, V, h, i, a))
            return True
        length = min(1.0, tolerances.longest_step / largest)
        before = value - V[0, 0]
        rounding = 1e-13 * (1.0 + abs(value) + abs(V[0, 0]))
        gone = 0.0
        while True:
            for h in range(H):
                for i in range(flow.width[h]):
                    V[h, i] += (length - gone) * direction[h, i]
            gone = length
            value = answer(flow, room, V)
            if value - V[0, 0] <= before + 1e-4 * length * slope + rounding:
                break
            length /= 2.0
            if length < 1e-12:
                return False
    return False


@_compiled
def play_oreps(
    world: World,
    flow: Flow,
    room: Room,
    tolerances: Tolerances,
    cost: FloatArray,
    log_q: FloatArray,
    eta: float,
    by_steps: bool,
    expected: FloatArray,
    totals: FloatArray,
    first: int,
    last: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Episodes first..last-1 of O-REPS, from the losses of the steps or from all.

    Returns the next episode, and how it ended. One whose projection is not found leaves log_q as it was.
    `expected` and `totals` begin with the entry of episode `first`; `cost` is (M, H, W, A), the expected loss
    of an action by number, as the learner knows the dynamics.
    """
    log_weight = room.cells[LOG_WEIGHT]
    H, _, A = log_q.shape
    for k in range(first, last):
        table = world.schedule[k]
        for h in range(H):
            for i in range(flow.width[h]):
                s = flow.states[h, i]
                top = log_q[h, i, 0]
                for a in range(1, A):
                    top = max(top, log_q[h, i, a])
                total = 0.0
                for a in range(A):
                    room.policy[h, s, a] = math.exp(log_q[h, i, a] - top)
                    total += room.policy[h, s, a]
                for a in range(A):
                    room.policy[h, s, a] /= total
        expected[k - first] = expected_loss(world, table, room.policy, room.mass)
        totals[k - first] = episode(world, table, room, rng)
        for h in range(H):
            for i in range(flow.width[h]):
                for a in range(A):
                    loss = 0.0 if by_steps else eta * cost[table, h, i, a]
                    log_weight[h, i, a] = log_q[h, i, a] - loss
            if by_steps:
                i, a = flow.number[h, room.path[0, h]], room.path[1, h]
                if i >= 0:
                    log_weight[h, i, a] -= eta * (room.losses[h] / math.exp(log_q[h, i, a]))
        if not project(flow, room, log_q, tolerances):
            return k, NO_MINIMIZER
    return last, DONE


# --- FTRL ---------------------------------------------------------------------------------------------------


@_inlined
def slope_of(flow: Flow, loss: FloatArray, potential: FloatArray, h: int, i: int, a: int) -> float:
    """`RegularizedCells.slope` of a cell: `theta = loss - x`."""
    theta: float = loss[h, i, a] - (potential[h, i] - onward(flow.rows, potential, h, i, a))
    return theta


@_inner
def answer_regularized(flow: Flow, room: Room, potential: FloatArray, half: float, log: float) -> float:
    """`RegularizedCells.answer`, of half the weight of the roots and that of the logarithms.

    The mass goes into IMAGE. Returns the conjugate, which is infinite where a slope is not positive.
    """
    loss, mass, curvature = room.cells[LINEAR], room.cells[IMAGE], room.cells[CURVATURE]
    H, _, A = loss.shape
    value = 0.0
    for h in range(H):
        in_step = 0.0
        for i in range(flow.width[h]):
            in_state = 0.0
            for a in range(A):
                theta = slope_of(flow, loss, potential, h, i, a)
                if not theta > 0.0:
                    return math.inf
                root = (half + math.sqrt(half * half + 4.0 * log * theta)) / (2.0 * theta)
                q = root * root
                mass[h, i, a] = q
                curvature[h, i, a] = 2.0 * q * root / (2.0 * log / root + half)
                in_state += 2.0 * half * root - theta * q + 2.0 * log * math.log(root)
            in_step += in_state
        value += in_step
    return value


@_inner
def follow(flow: Flow, room: Room, tolerances: Tolerances, half: float, log: float) -> bool:
    """`minimize_over_potentials` of regularized cells, from POTENTIAL, which it replaces; the mass is IMAGE.

    False if no minimum is found.
    """
    V, direction, mass = room.rows[POTENTIAL], room.rows[RIGHT], room.cells[IMAGE]
    H = len(V)
    value = answer_regularized(flow, room, V, half, log)
    if not math.isfinite(value):
        return False
    for _ in range(tolerances.most_steps_in_potentials):
        slope, largest = newton_direction(flow, room, mass, tolerances)
        if not largest < math.inf:
            return False
        last = largest <= tolerances.last_step
        length = 1.0 if last else min(1.0, tolerances.longest_step / largest)
        before = value - V[0, 0]
        rounding = 1e-13 * (1.0 + abs(value) + abs(V[0, 0]))
        gone = 0.0
        while True:
            for h in range(H):
                for i in range(flow.width[h]):
                    V[h, i] += (length - gone) * direction[h, i]
            gone = length
            value = answer_regularized(flow, room, V, half, log)
            if last:
                return math.isfinite(value)
            if value - V[0, 0] <= before + 1e-4 * length * slope + rounding:
                break
            length /= 2.0
            if length < 1e-12:
                return False
    return False


@_compiled
def play_ftrl(
    world: World,
    flow: Flow,
    room: Room,
    tolerances: Tolerances,
    estimates: FloatArray,
    potential: FloatArray,
    q: FloatArray,
    half: float,
    log: float,
    expected: FloatArray,
    totals: FloatArray,
    first: int,
    last: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Episodes first..last-1 of FTRL, whose sum of estimates and q are (H, W, A), its potential (H, W).

    Returns the next episode, and how it ended. One whose minimum is not found leaves the three as they were.
    `expected` and `totals` begin with the entry of episode `first`; `half` is half the weight of the roots.
    """
    loss, slope, V = room.cells[LINEAR], room.cells[RESIDUAL], room.rows[POTENTIAL]
    H, _, A = q.shape
    for k in range(first, last):
        for h in range(H):
            for i in range(flow.width[h]):
                s = flow.states[h, i]
                visits = 0.0
                for a in range(A):
                    visits += q[h, i, a]
                for a in range(A):
                    room.policy[h, s, a] = q[h, i, a] / visits if visits > 0.0 else 1.0 / A
        table = world.schedule[k]
        expected[k - first] = expected_loss(world, table, room.policy, room.mass)
        total = episode(world, table, room, rng)
        totals[k - first] = total
        for h in range(H):
            for i in range(flow.width[h]):
                V[h, i] = potential[h, i]
                for a in range(A):
                    loss[h, i, a] = estimates[h, i, a]
                    slope[h, i, a] = slope_of(flow, estimates, potential, h, i, a)
        for h in range(H):
            i, taken = flow.number[h, room.path[0, h]], room.path[1, h]
            if i >= 0:
                visits = 0.0
                for a in range(A):
                    visits += q[h, i, a]
                for a in range(A):
                    loss[h, i, a] += (total / q[h, i, a] if a == taken else 0.0) - total / visits
        # `RegularizedCells.inside`: potentials at which no slope is below half of what it was.
        for h in range(H - 1, -1, -1):
            for i in range(flow.width[h]):
                for a in range(A):
                    highest = loss[h, i, a] + onward(flow.rows, V, h, i, a) - slope[h, i, a] / 2.0
                    V[h, i] = min(V[h, i], highest)
        if not follow(flow, room, tolerances, half, log):
            return k, NO_MINIMIZER
        for h in range(H):
            for i in range(flow.width[h]):
                potential[h, i] = V[h, i]
                for a in range(A):
                    estimates[h, i, a] = loss[h, i, a]
                    q[h, i, a] = room.cells[IMAGE][h, i, a]
    return last, DONE


# --- SCRiBLe ------------------------------------------------------------------------------------------------


@_inner
def sample(flow: Flow, room: Room, x: FloatArray, rng: np.random.Generator) -> float:
    """`DikinEllipsoid.sample`: y - x is -x NOISE over what is returned.

    NOISE is a normal vector less its part across the slice; x must be factorized in the room.
    """
    noise, image, right = room.cells[NOISE], room.cells[IMAGE], room.rows[RIGHT]
    H, _, A = x.shape
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                noise[h, i, a] = rng.standard_normal()
                image[h, i, a] = x[h, i, a] * noise[h, i, a]
    outflow_less_inflow(flow, image, 0.0, right)
    solve(flow, room)
    square = 0.0
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                across = right[h, i] - onward(flow.rows, right, h, i, a)
                noise[h, i, a] -= x[h, i, a] * across
                square += noise[h, i, a] * noise[h, i, a]
    return math.sqrt(square)


@_inner
def newton_step(flow: Flow, room: Room) -> float:
    """The decrement at ITERATE, which must be factorized; the Newton step is -CURVATURE RESIDUAL.

    The linear term takes up C'lambda, so that what is left of the gradient is small. What rounding has
    carried off the slice comes back.
    """
    x, linear, residual = room.cells[ITERATE], room.cells[LINEAR], room.cells[RESIDUAL]
    curvature, image, right = room.cells[CURVATURE], room.cells[IMAGE], room.rows[RIGHT]
    H, _, A = x.shape
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                residual[h, i, a] = linear[h, i, a] - 1.0 / x[h, i, a]
                image[h, i, a] = x[h, i, a] - curvature[h, i, a] * residual[h, i, a]
    outflow_less_inflow(flow, image, 1.0, right)
    solve(flow, room)
    square = 0.0
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                potential = right[h, i] - onward(flow.rows, right, h, i, a)
                linear[h, i, a] += potential
                residual[h, i, a] += potential
                moved = x[h, i, a] * residual[h, i, a]
                square += moved * moved
    return math.sqrt(square)


@_inlined
def settle(flow: Flow, room: Room) -> bool:
    """Factorize at ITERATE. False if that is not strictly inside."""
    x, curvature = room.cells[ITERATE], room.cells[CURVATURE]
    H, _, A = x.shape
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                if not x[h, i, a] > 0.0:
                    return False
                curvature[h, i, a] = x[h, i, a] * x[h, i, a]
    return factorize(flow, room, 0.0)


@_inner
def minimize(flow: Flow, room: Room, tolerances: Tolerances) -> int:
    """`geometry._newton.newton` for the barrier plus LINEAR, from ITERATE, which must be factorized."""
    x, residual, curvature = room.cells[ITERATE], room.cells[RESIDUAL], room.cells[CURVATURE]
    H, _, A = x.shape
    previous = math.inf
    for _ in range(tolerances.most_steps):
        decrement = newton_step(flow, room)
        if not decrement < math.inf:
            return NO_MINIMIZER
        stalled = previous < tolerances.full_step and decrement > 0.5 * previous
        if decrement <= (tolerances.rounding_floor if stalled else tolerances.decrement):
            return DONE
        if stalled:
            return NO_MINIMIZER
        previous = decrement
        length = 1.0 / (1.0 + decrement) if decrement >= tolerances.full_step else 1.0
        for h in range(H):
            for i in range(flow.width[h]):
                for a in range(A):
                    x[h, i, a] -= length * curvature[h, i, a] * residual[h, i, a]
        if not settle(flow, room):
            return LEFT_THE_SET
    return NO_MINIMIZER


@_compiled
def play_scrible(
    world: World,
    flow: Flow,
    room: Room,
    tolerances: Tolerances,
    x: FloatArray,
    dual: FloatArray,
    eta: float,
    dimension: int,
    baseline: float,
    expected: FloatArray,
    totals: FloatArray,
    first: int,
    last: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Episodes first..last-1 of SCRiBLe, whose center x and dual are (H, W, A).

    Returns the next episode, and how it ended. One that fails leaves x and the dual as they were. `expected`
    and `totals` begin with the entry of episode `first`.
    """
    iterate, linear, noise = room.cells[ITERATE], room.cells[LINEAR], room.cells[NOISE]
    H, _, A = x.shape
    for h in range(H):
        for i in range(flow.width[h]):
            for a in range(A):
                iterate[h, i, a] = x[h, i, a]
                linear[h, i, a] = dual[h, i, a]
    if not settle(flow, room):
        return first, LEFT_THE_SET
    for k in range(first, last):
        length = sample(flow, room, x, rng)
        for h in range(H):
            for i in range(flow.width[h]):
                s = flow.states[h, i]
                visits = 0.0
                for a in range(A):
                    y = x[h, i, a] - x[h, i, a] * (noise[h, i, a] / length)
                    if not y > 0.0:
                        return k, LEFT_THE_SET
                    room.policy[h, s, a] = y
                    visits += y
                for a in range(A):
                    room.policy[h, s, a] /= visits
        table = world.schedule[k]
        expected[k - first] = expected_loss(world, table, room.policy, room.mass)
        totals[k - first] = episode(world, table, room, rng)
        # H (y - x) is -NOISE over x and the length.
        weight = eta * dimension * (totals[k - first] - baseline) / length
        for h in range(H):
            for i in range(flow.width[h]):
                for a in range(A):
                    linear[h, i, a] -= weight * noise[h, i, a] / x[h, i, a]
        status = minimize(flow, room, tolerances)
        if status != DONE:
            return k, status
        for h in range(H):
            for i in range(flow.width[h]):
                for a in range(A):
                    dual[h, i, a] -= weight * noise[h, i, a] / x[h, i, a]
                    x[h, i, a] = iterate[h, i, a]
    return last, DONE
