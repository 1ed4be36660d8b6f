"""Newton's method for a self-concordant function on a slice: one rule for every barrier.

A step is damped by 1/(1 + decrement) while the decrement is at least 1/4 and full afterward. Both stay
strictly inside, and a full step more than halves the decrement: from d to at most (d/(1 - d))². A decrement
that does not halve is made of rounding. The compiled engine keeps its own copy of this rule.
"""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

from aggbandit._arrays import FloatArray
from aggbandit.geometry.protocol import Ellipsoid, Step

TOLERANCE = 1e-8  # the decrement at which a point counts as the minimizer
FULL_STEP = 0.25  # below this decrement a step is full
ROUNDING_FLOOR = 1e-4  # a decrement that rounding keeps above the tolerance is accepted below this
MOST_STEPS = 10_000

TOO_CLOSE = "rounding carried a point out of the set: it is too close to a wall for double precision"

P = TypeVar("P", bound=Ellipsoid)
F = TypeVar("F", float, FloatArray)


class NoMinimizer(ArithmeticError):
    """Double precision is not enough: the minimizer, or a point on the way, is too close to a wall."""


class Objective(Protocol[P]):
    """A barrier plus a linear function on a slice, as Newton's method sees it."""

    @property
    def chord_limit(self) -> float:
        """The decrement up to which further steps are taken with the factorization at hand.

        Such a step multiplies the decrement by about the first one. 0 where a factorization is cheap.
        """

    def factorize(self, x: FloatArray) -> P:
        """The Hessian at `x`, factorized. Raises `NoMinimizer` unless x is strictly inside."""

    def direction(self, x: FloatArray, at: P) -> tuple[FloatArray, float]:
        """The Newton direction at `x` with the Hessian of `at`, and its decrement."""


def step_length(decrement: F) -> F:
    """By what a Newton step of this `decrement` is multiplied: 1/(1 + decrement) from 1/4 on, one below."""
    length: F = 1.0 / (1.0 + decrement * (decrement >= FULL_STEP))
    return length


def newton(objective: Objective[P], x: FloatArray, tolerance: float) -> Step:
    """The minimizer of `objective`, from `x`.

    It ends at a decrement of at most `tolerance`, by a factorization at the point itself; or, where rounding
    keeps it above that, of at most 1e-4. Raises `NoMinimizer` if rounding keeps it above that as well.
    """
    at, fresh = objective.factorize(x), True
    steps = damped = factorizations = 0
    first = previous = math.inf  # the decrement when `at` was factorized, and at the last step
    while steps < MOST_STEPS:
        direction, decrement = objective.direction(x, at)
        if not math.isfinite(decrement):
            raise NoMinimizer(TOO_CLOSE)
        if fresh:
            stalled = first < FULL_STEP and decrement > first / 2
            if decrement <= (ROUNDING_FLOOR if stalled else tolerance):
                return Step(at.center, at, decrement, steps, damped, factorizations)
            if stalled:
                raise NoMinimizer(
                    f"rounding keeps the Newton decrement at {decrement:.3g}: the minimizer is too close to a"
                    " wall for double precision"
                )
            first = decrement
        elif decrement > previous / 2:
            at, fresh = objective.factorize(x), True
            factorizations += 1
            continue
        length = step_length(decrement)
        damped += length < 1.0
        steps += 1
        x = x + length * direction
        previous = decrement
        fresh = first > objective.chord_limit or first * decrement <= tolerance
        if fresh:
            at = objective.factorize(x)
            factorizations += 1
    raise NoMinimizer(f"after {MOST_STEPS} Newton steps the decrement is still {previous:.3g}")
