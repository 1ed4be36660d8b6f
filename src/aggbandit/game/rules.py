"""The rules of a round: what an adversary sees, how far it may move the hand, and what is refused.

Everything here works on one point, shape (d,), and on one point a seed, shape (N, d), alike. A move keeps

    ||z - y||_1 <= min(|z·eps|, |y·eps|)   and   ||z||_1 <= H,

and what is played and paid keeps ||z_hat||_1 <= H and l·z_hat in [0, H].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aggbandit._arrays import BoolArray, FloatArray, all_finite, first

__all__ = ["RuleViolation", "View", "allowance", "largest_step", "moved_towards"]

TOLERANCE = 1e-9  # of H: how far rounding may carry a move beyond its rule
ROUNDING = 1e-12  # of H: how far the norm of a point of S may exceed H by rounding
TINY = 1e-300  # in place of a length of zero


class RuleViolation(ValueError):
    """A move the protocol does not allow; the message names the rule, the round and the values."""


def some(wrong: BoolArray | np.bool_) -> bool:
    """Whether one point is wrong, or any of many; the method `any` of a single truth value is slow."""
    return bool(wrong.any() if wrong.ndim else wrong)


class View(NamedTuple):
    """What an adversary sees before it moves.

    Attributes:
        round: t, from 1.
        y: (d,) the point chosen; with many seeds at once (N, d).
        loss: (d,) the loss vector l_t.
        epsilon: (d,) the perturbation vector eps_t.
        loss_bound: H.
        learner: the learner with its public state: x_t is a function of the past, so an adversary may know
            `learner.center`, in the shape of `y`.

    Source:
        Section 3.2, the protocol, step 2.
    """

    round: int
    y: FloatArray
    loss: FloatArray
    epsilon: FloatArray
    loss_bound: float
    learner: Any


# --- How far the hand may move -----------------------------------------------------------------------------


def allowance(y: ArrayLike, z: ArrayLike, epsilon: ArrayLike) -> FloatArray:
    """How far the hand may be moved from y to z: min(|z·eps|, |y·eps|), to be compared with ||z - y||_1.

    Args:
        y: (..., d) the point chosen.
        z: (..., d) where it is moved to.
        epsilon: (d,) the perturbation vector.

    Returns:
        (...) the allowance; a number for a single point.

    Source:
        The protocol, step 2.
    """
    e = np.asarray(epsilon, dtype=np.float64)
    return np.minimum(np.abs(np.asarray(z) @ e), np.abs(np.asarray(y) @ e))


def largest_step(y: FloatArray, direction: FloatArray, epsilon: FloatArray, loss_bound: float) -> FloatArray:
    """The largest s in [0, 1] for which z = y + s v keeps the rules of a move.

    The rules are piecewise linear in s, and solved exactly::

        s ||v||_1 <= |y·eps|,   s ||v||_1 <= |y·eps + s v·eps|,   ||y + s v||_1 <= H.

    The second leaves out one interval of s at most, and that only where beta > 1.

    Args:
        y: (..., d) the point chosen, ||y||_1 <= H.
        direction: (..., d) v.
        epsilon: (d,) the perturbation vector.
        loss_bound: H.

    Returns:
        (...) the step; a number for a single point.

    Source:
        The protocol, step 2.
    """
    length = np.abs(direction).sum(axis=-1)
    at_y, slope = y @ epsilon, direction @ epsilon
    if some(at_y < 0):  # only |y·eps + s v·eps| matters
        slope = np.where(at_y < 0, -slope, slope)
        at_y = np.abs(at_y)
    within = _largest_within_norm(y, direction, loss_bound)
    steps = np.minimum(at_y / np.maximum(np.maximum(length, length - slope), TINY), within)
    leaps = slope < -length
    if some(leaps):  # beyond the interval left out
        gap_end = at_y / np.where(leaps, -slope - length, 1.0)
        last = np.minimum(at_y / np.maximum(length, TINY), within)
        steps = np.where(leaps & (last >= gap_end), last, steps)
    return np.asarray(steps, dtype=np.float64)[()]


def _largest_within_norm(y: FloatArray, direction: FloatArray, loss_bound: float) -> FloatArray | float:
    """The largest s in [0, 1] with ||y + s v||_1 <= H: a convex, piecewise linear function of s."""
    bound = loss_bound * (1 + ROUNDING)
    leaves = np.abs(y + direction).sum(axis=-1) > bound
    if not some(leaves):
        return 1.0
    d = y.shape[-1]
    y, v = (
        np.broadcast_to(a, np.broadcast(y, direction).shape)[leaves].reshape(-1, d) for a in (y, direction)
    )
    # The function bends where a coordinate changes its sign.
    bends = np.divide(-y, v, out=np.ones_like(y), where=v != 0)
    bends = np.sort(np.where((bends > 0) & (bends < 1), bends, 1.0), axis=1)
    places = np.concatenate([np.zeros((len(y), 1)), bends, np.ones((len(y), 1))], axis=1)
    norms = np.abs(y[:, None] + places[:, :, None] * v[:, None]).sum(axis=2)
    norms[:, 0] = np.minimum(norms[:, 0], bound)
    last, row = np.argmax(norms > bound, axis=1), np.arange(len(y))
    start, below, above = places[row, last - 1], norms[row, last - 1], norms[row, last]
    steps = np.ones(leaves.shape)
    steps[leaves] = start + (bound - below) / (above - below) * (places[row, last] - start)
    return steps


def moved_towards(view: View, target: FloatArray) -> FloatArray:
    """y moved toward a target as far as the rules allow; stays in S when the target is in it.

    Args:
        view: what the adversary sees.
        target: (d,) the target, or one a seed, (N, d).

    Returns:
        z, in the shape of `view.y`; `view.y` itself where eps_t = 0.

    Source:
        The protocol, step 2.

    Example:
        >>> import numpy as np
        >>> from aggbandit import game
        >>> y, epsilon = np.array([0.5, 0.3, 0.2]), np.full(3, 0.1)
        >>> view = game.View(1, y, np.array([0.0, 0.5, 1.0]), epsilon, loss_bound=1.0, learner=None)
        >>> game.moved_towards(view, np.array([0.0, 0.0, 1.0])).round(4)
        array([0.4688, 0.2812, 0.25  ])
    """
    if not view.epsilon.any():
        return view.y
    direction = target - view.y
    step = largest_step(view.y, direction, view.epsilon, view.loss_bound)
    return view.y + step[..., None] * direction


# --- What is refused ---------------------------------------------------------------------------------------


def check_prediction(
    t: int, y: FloatArray, dimension: int, inside: Callable[[FloatArray], ArrayLike], bound: float
) -> None:
    """Refuse a point that is not in the decision set, or with ||y||_1 > H.

    Args:
        t: the round, from 1.
        y: (d,) or (N, d) what the learner chose.
        dimension: d.
        inside: says of points which are in the decision set.
        bound: H.

    Raises:
        RuleViolation: naming the rule, the round and the values.
    """
    if y.ndim not in (1, 2) or y.shape[-1] != dimension or not y.size or not all_finite(y):
        raise RuleViolation(f"round {t}: y = {y} is not a finite vector of shape ({dimension},)")
    if some(outside := ~np.asarray(inside(y))):
        raise _violation(t, outside, "y = {} is not in the decision set", y)
    norm = np.abs(y).sum(axis=-1)
    if some(long := norm > bound * (1 + TOLERANCE)):
        raise _violation(t, long, f"||y||_1 = {{}} exceeds H = {bound}", norm)


def check_move(t: int, y: FloatArray, z: FloatArray, epsilon: FloatArray, bound: float) -> None:
    """Refuse a move of the hand that the rules do not allow.

    Args:
        t: the round, from 1.
        y: (d,) or (N, d) what the learner chose.
        z: where the adversary moved it, in the shape of y; nothing is to be checked where it is y itself.
        epsilon: (d,) the perturbation vector.
        bound: H.

    Raises:
        RuleViolation: naming the rule, the round and the values.
    """
    if z is y:
        return
    if z.shape != y.shape:
        raise RuleViolation(f"round {t}: z = {z} is not a finite vector of shape {y.shape}")
    distance, norm = np.abs(z - y).sum(axis=-1), np.abs(z).sum(axis=-1)
    at_y, at_z = np.abs(y @ epsilon), np.abs(z @ epsilon)
    slack = TOLERANCE * bound
    far = (distance > at_y + slack) | (distance > at_z + slack)
    long = ~(norm <= bound * (1 + TOLERANCE))  # a NaN is too long
    if not some(far | long):
        return
    if not all_finite(z):
        raise RuleViolation(f"round {t}: z = {z} is not a finite vector of shape {y.shape}")
    if some(far):
        rule = "||z - y||_1 = {:.6g} exceeds min(|z·eps|, |y·eps|) = min({:.6g}, {:.6g})"
        raise _violation(t, far, rule, distance, at_z, at_y)
    raise _violation(t, long, f"||z||_1 = {{}} exceeds H = {bound}", norm)


def check_draw(t: int, z_hat: FloatArray, shape: tuple[int, ...], bound: float) -> None:
    """Refuse a draw of another shape, or with ||z_hat||_1 > H.

    Args:
        t: the round, from 1.
        z_hat: what is played.
        shape: what its shape must be.
        bound: H.

    Raises:
        RuleViolation: naming the rule, the round and the values.
    """
    if z_hat.shape != shape:
        raise RuleViolation(f"round {t}: z_hat = {z_hat} is not a vector of shape {shape}")
    norm = np.abs(z_hat).sum(axis=-1)
    if some(long := ~(norm <= bound * (1 + TOLERANCE))):
        raise _violation(t, long, f"||z_hat||_1 = {{}} exceeds H = {bound}", norm)


def check_paid(t: int, values: FloatArray, bound: float) -> FloatArray:
    """Refuse losses outside [0, H].

    Args:
        t: the round, from 1.
        values: () or (N,) what is paid, l·z_hat.
        bound: H.

    Returns:
        The values.

    Raises:
        RuleViolation: naming the rule, the round and the value.
    """
    outside = ~((values >= -TOLERANCE * bound) & (values <= bound * (1 + TOLERANCE)))
    if some(outside):
        raise _violation(t, outside, f"the loss l·z_hat = {{}} is outside [0, H] = [0, {bound}]", values)
    return values


def _violation(t: int, wrong: BoolArray | np.bool_, message: str, *values: NDArray[Any]) -> RuleViolation:
    """What was violated, with the values of the first seed that is `wrong`."""
    seed = first(np.asarray(wrong))
    where = f"round {t}, seed {seed[0]}" if seed else f"round {t}"
    return RuleViolation(f"{where}: {message.format(*(value[seed] for value in values))}")
