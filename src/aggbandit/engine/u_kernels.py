"""What Numba compiles for the U-function learner without bonus: an episode costs what it can reach.

The mathematics is that of `learners.policy_optimization` and `learners.visits`, formula by formula, and so
are the random numbers; the two agree to rounding. What differs is that rows are lists of the next states they
can lead to, and that only the H rows of the policy that an episode has changed are computed anew, unless what
is new has been looked at again.

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


def _compiled(function: F) -> F:
    """Numba's njit, cached on disk, typed as the function itself."""
    try:
        return cast(F, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:
        # Neither beside this file nor in the user's cache may anything be written: every process compiles.
        return cast(F, numba.njit(error_model="numpy")(function))


def _inlined(function: F) -> F:
    """The same, made part of its caller."""
    return cast(F, numba.njit(error_model="numpy", inline="always")(function))


class Rows(NamedTuple):
    """Dynamics as lists: where a cell can lead, and how likely.

    Attributes:
        many: (H, S, A) how many next states a cell has.
        to: (H, S, A, S) they themselves, the first `many` of each row.
        weight: (H, S, A, S) by place in the list: their probabilities, or how often they were counted.
        total: (H, S, A) what the weights are divided by.
    """

    many: Int32Array
    to: Int32Array
    weight: FloatArray
    total: FloatArray


class World(NamedTuple):
    """What the world does.

    Attributes:
        tables: (M, H, S, A, S) the losses.
        schedule: (K,) which table an episode has.
        cost: (M, H, S, A) the expected loss of an action, `sum_s' P loss`.
        initial_state: s_1.
    """

    tables: FloatArray
    schedule: Int32Array
    cost: FloatArray
    initial_state: int


class Learner(NamedTuple):
    """What the learner carries from episode to episode.

    Attributes:
        theta: (H, S, A).
        policy: (H, S, A), that of theta and the novelty.
        novelty: (H, S, A).
        visited: (H, S, A) how often.
        totals: (H, S) sums of totals.
    """

    theta: FloatArray
    policy: FloatArray
    novelty: FloatArray
    visited: FloatArray
    totals: FloatArray


class Settings(NamedTuple):
    """How the learner learns.

    Attributes:
        eta: the learning rate.
        gamma: what is added to every chance.
        uniform: the share of uniform play.
        running_mean: whether the mean of the totals so far is subtracted.
        state_means: whether the mean of the totals at a state so far is subtracted.
        curiosity: the factor of the novelty in the exponent.
        counts: whether the dynamics are counted, not known.
    """

    eta: float
    gamma: float
    uniform: float
    running_mean: bool
    state_means: bool
    curiosity: float
    counts: bool


@_inlined
def soften(learner: Learner, h: int, s: int, uniform: float, curiosity: float) -> None:
    """`pi_h(.|s)` from theta and the novelty."""
    theta, policy, novelty = learner.theta, learner.policy, learner.novelty
    A = theta.shape[2]
    least = theta[h, s, 0] - curiosity * novelty[h, s, 0]
    for a in range(1, A):
        least = min(least, theta[h, s, a] - curiosity * novelty[h, s, a])
    total = 0.0
    for a in range(A):
        policy[h, s, a] = math.exp(least - (theta[h, s, a] - curiosity * novelty[h, s, a]))
        total += policy[h, s, a]
    for a in range(A):
        policy[h, s, a] = (1.0 - uniform) * (policy[h, s, a] / total) + uniform / A


@_inlined
def passed(visited: FloatArray, h: int, s: int) -> float:
    """How many episodes have passed s at h."""
    total = 0.0
    for a in range(visited.shape[2]):
        total += visited[h, s, a]
    return total


@_inlined
def look_for_news(rows: Rows, learner: Learner, settings: Settings) -> None:
    """The novelty of all cells, by the dynamics that the learner believes in, and the policy that follows."""
    novelty, visited = learner.novelty, learner.visited
    H, S, A = novelty.shape
    newest = np.zeros(S)  # of the next step
    here = np.zeros(S)
    for step in range(H):
        h = H - 1 - step
        for s in range(S):
            here[s] = 0.0
            for a in range(A):
                new = 1.0 / (1.0 + visited[h, s, a])
                if h < H - 1 and rows.many[h, s, a] > 0:
                    mean = 0.0
                    for place in range(rows.many[h, s, a]):
                        mean += rows.weight[h, s, a, place] * newest[rows.to[h, s, a, place]]
                    new += mean / rows.total[h, s, a]
                novelty[h, s, a] = new
                here[s] = max(here[s], new)
            # Elsewhere all actions are alike still, unless the dynamics are known.
            if not settings.counts or passed(visited, h, s) > 0.0:
                soften(learner, h, s, settings.uniform, settings.curiosity)
        newest[:] = here


@_inlined
def count(rows: Rows, h: int, s: int, a: int, t: int) -> None:
    """One more transition from (s, a) to t at step h."""
    rows.total[h, s, a] += 1.0
    for place in range(rows.many[h, s, a]):
        if rows.to[h, s, a, place] == t:
            rows.weight[h, s, a, place] += 1.0
            return
    place = rows.many[h, s, a]
    rows.to[h, s, a, place] = t
    rows.weight[h, s, a, place] = 1.0
    rows.many[h, s, a] = place + 1


@_inlined
def forwards(rows: Rows, policy: FloatArray, q: FloatArray, initial_state: int) -> None:
    """`q_h(s) = Pr[s_h = s]` into q."""
    H, S, A = policy.shape
    q[:] = 0.0
    q[0, initial_state] = 1.0
    for h in range(H - 1):
        for s in range(S):
            if q[h, s] == 0.0:
                continue
            for a in range(A):
                many = rows.many[h, s, a]
                if many == 0:
                    continue
                mass = q[h, s] * policy[h, s, a] / rows.total[h, s, a]
                for place in range(many):
                    q[h + 1, rows.to[h, s, a, place]] += mass * rows.weight[h, s, a, place]


@_compiled
def play(
    world: World,
    truth: Rows,
    counted: Rows,
    learner: Learner,
    settings: Settings,
    expected: FloatArray,
    totals: FloatArray,
    path: IntArray,
    first: int,
    last: int,
    rng: np.random.Generator,
) -> None:
    """Episodes first..last-1. `expected` and `totals` begin with the entry of episode `first`.

    `path` is (3, H) scratch: states, actions and next states.
    """
    theta, policy, visited, totals_at = learner.theta, learner.policy, learner.visited, learner.totals
    H, S, A = theta.shape
    q = np.zeros((H, S))
    believed = np.zeros((H, S))
    for k in range(first, last):
        table = world.schedule[k]
        forwards(truth, policy, q, world.initial_state)
        cost = 0.0
        for h in range(H):
            for s in range(S):
                if q[h, s] > 0.0:
                    for a in range(A):
                        cost += q[h, s] * policy[h, s, a] * world.cost[table, h, s, a]
        expected[k - first] = cost
        # The trajectory.
        total = 0.0
        s = world.initial_state
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
            t = truth.to[h, s, a, 0]
            for place in range(truth.many[h, s, a]):
                t = truth.to[h, s, a, place]
                reached += truth.weight[h, s, a, place]
                if reached > u:
                    break
            total += world.tables[table, h, s, a, t]
            path[0, h], path[1, h], path[2, h] = s, a, t
            s = t
        totals[k - first] = total
        # One total is an observation of U at the H steps it passed.
        if settings.counts:
            forwards(counted, policy, believed, world.initial_state)
        else:
            believed[:] = q
        episodes = passed(visited, 0, world.initial_state)
        mean = totals_at[0, world.initial_state] / episodes if episodes > 0.0 else H / 2
        for h in range(H):
            s, a = path[0, h], path[1, h]
            paid = total
            if settings.state_means:
                before = passed(visited, h, s)
                paid -= totals_at[h, s] / before if before > 0.0 else mean
            elif settings.running_mean:
                paid -= mean
            theta[h, s, a] += settings.eta * (paid / (believed[h, s] * policy[h, s, a] + settings.gamma))
        news = False
        for h in range(H):
            s, a = path[0, h], path[1, h]
            if settings.counts:
                count(counted, h, s, a, path[2, h])
            totals_at[h, s] += total
            visited[h, s, a] += 1.0
            times = int(visited[h, s, a])
            news = news or times & (times - 1) == 0
        if news and settings.curiosity > 0.0:
            look_for_news(counted if settings.counts else truth, learner, settings)
        # The rows of theta that have changed; after a look for news all rows are new already.
        else:
            for h in range(H):
                soften(learner, h, path[0, h], settings.uniform, settings.curiosity)
