"""What a learner needs of a set: a barrier, the ellipsoid at a point, and a step that says how good it is.

The same learner plays a triangle on a page and a set of occupancy measures: points may be arrays of any one
shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit._arrays import FloatArray, reduce_frozen

__all__ = ["Barrier", "Ellipsoid", "Step"]


class Ellipsoid(Protocol):
    """What a learner needs of a Dikin ellipsoid, whatever the set."""

    @property
    def center(self) -> FloatArray:
        """The point x the ellipsoid belongs to."""

    def norm(self, v: FloatArray) -> float:
        """The local norm sqrt(v' H v) of `v`."""

    def dual_norm(self, loss: FloatArray) -> float:
        """The largest loss·v over the v along the slice with local norm one; `loss` has a point's shape."""

    def apply(self, v: FloatArray) -> FloatArray:
        """The product H `v`."""

    def newton_step(self, gradient: FloatArray) -> FloatArray:
        """The v along the slice that minimizes `gradient`·v + v' H v / 2."""

    def contains(self, y: FloatArray) -> bool:
        """Whether `y` lies on the slice and at local distance at most one from the center."""

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A point uniform on the surface, drawn with `rng`."""


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """Where a minimization under a barrier ended, and the certificate that it did.

    Attributes:
        x: the point, in a point's shape.
        dikin: the ellipsoid there, which holds the factorization.
        decrement: the Newton decrement of the minimized function at x; below 1/4 it bounds the local
            distance from the exact minimizer by `decrement / (1 - decrement)`.
        iterations: the number of Newton steps.
        damped: how many of them were damped.
        factorizations: how many Hessians were factorized after the one at the start.
    """

    x: FloatArray
    dikin: Ellipsoid
    decrement: float
    iterations: int
    damped: int = 0
    factorizations: int = 0
    __reduce__ = reduce_frozen


class Barrier(Protocol):
    """What a learner needs of a barrier R on a set."""

    @property
    def theta(self) -> float:
        """The barrier parameter."""

    @property
    def dimension(self) -> int:
        """The dimension n of the slice the set lives in."""

    def value(self, x: FloatArray) -> float:
        """R(`x`)."""

    def gradient(self, x: FloatArray) -> FloatArray:
        """The gradient of R at `x`, in a point's shape."""

    def analytic_center(self) -> FloatArray:
        """The minimizer of R on the slice."""

    def bregman(self, y: FloatArray, x: FloatArray) -> float:
        """The divergence `R(y) - R(x) - grad R(x)·(y - x)`."""

    def dikin(self, x: FloatArray) -> Ellipsoid:
        """The Dikin ellipsoid at `x`."""

    def minimize(self, linear: FloatArray, start: FloatArray) -> Step:
        """The minimizer of `R + linear·x` on the slice, by Newton's method from `start`."""

    def mirror_step(self, x: FloatArray, g: FloatArray) -> Step:
        """The minimizer of `R + (g - grad R(x))·x` on the slice, from `x`; `g` is rate times loss."""
