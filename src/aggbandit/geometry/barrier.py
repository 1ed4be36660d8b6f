"""Barriers: functions that know where the walls are, and the steps taken under them.

`LogBarrier` is the logarithmic barrier of a polytope. A learner needs only what the protocol
`Barrier` lists, so that the same learner plays a triangle on a page and a set of occupancy measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aggbandit._arrays import FloatArray, check_finite, check_kind, real_array
from aggbandit.geometry._newton import TOLERANCE, TOO_CLOSE, NoMinimizer, newton
from aggbandit.geometry.dikin import DikinEllipsoid, dikin_ellipsoid
from aggbandit.geometry.polytope import Polytope
from aggbandit.geometry.protocol import Step

DRIFT = 1e-4  # an equality broken by more than this part of what is allowed is mended


@dataclass(frozen=True, eq=False)
class LogBarrier:
    """The logarithmic barrier of a polytope.

    Minus the sum of the logarithms of the slacks::

        R(x) = - sum_i log(b_i - a_i·x)

    It is a theta-self-concordant barrier with theta the number of inequalities. Every method raises
    `ValueError` for a point of another shape, not finite, not strictly inside or off the slice, naming the
    rule that is broken.

    Args:
        body: the set.

    Raises:
        TypeError: for anything else than a `Polytope`.

    Source:
        Section 2 (self-concordant barriers) and the appendix on efficient implementation.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> barrier = ab.LogBarrier(ab.simplex(3))
        >>> barrier.analytic_center().round(3)
        array([0.333, 0.333, 0.333])
        >>> step = barrier.minimize(np.array([6.0, 0.0, 0.0]), barrier.analytic_center())
        >>> step.x.round(3), step.decrement <= 1e-8
        (array([0.121, 0.44 , 0.44 ]), True)
        >>> y = barrier.dikin(step.x).sample(np.random.default_rng(0))
        >>> round(step.dikin.norm(y - step.x), 6), bool((y > 0).all())
        (1.0, True)
    """

    body: Polytope

    def __post_init__(self) -> None:
        check_kind("body", self.body, Polytope, "a polytope: ab.Polytope(A, b)")

    @property
    def theta(self) -> float:
        """The barrier parameter: the number m of inequalities."""
        return float(self.body.n_inequalities)

    @property
    def dimension(self) -> int:
        """The dimension n of the slice."""
        return self.body.dimension

    def value(self, x: npt.ArrayLike) -> float:
        """The value `R(x) = - sum_i log(b_i - a_i·x)`.

        Args:
            x: (D,) a point.
        """
        return -float(np.log(self._slacks("x", x)).sum())

    def gradient(self, x: npt.ArrayLike) -> FloatArray:
        """The gradient `A'(1/s)` in the whole space, `s = b - A x`.

        Args:
            x: (D,) a point.

        Returns:
            (D,) the gradient.
        """
        gradient: FloatArray = (1 / self._slacks("x", x)) @ self.body.A
        return gradient

    def hessian(self, x: npt.ArrayLike) -> FloatArray:
        """The Hessian `A' diag(1/s^2) A` in the whole space.

        Args:
            x: (D,) a point.

        Returns:
            (D, D) the Hessian.
        """
        scaled = self.body.A / self._slacks("x", x)[:, None]
        hessian: FloatArray = scaled.T @ scaled
        return hessian

    def bregman(self, y: npt.ArrayLike, x: npt.ArrayLike) -> float:
        """The Bregman divergence `R(y) - R(x) - grad R(x)·(y - x)`.

        Computed without cancellation as `sum_i (q_i - log(1 + q_i))`, q_i the part by which slack i grows
        from x to y; no term is negative.

        Args:
            y: (D,) a point strictly inside.
            x: (D,) another.

        Source:
            Section 2.
        """
        before, after = self._slacks("x", x), self._slacks("y", y)
        difference = real_array("x", x) - real_array("y", y)
        return divergence(self.body.A @ difference / before, after / before)

    def analytic_center(self) -> FloatArray:
        """The minimizer of R on the slice; computed once.

        Returns:
            (D,) the center, read-only.
        """
        return self._center

    def dikin(self, x: npt.ArrayLike) -> DikinEllipsoid:
        """The Dikin ellipsoid at a point.

        Args:
            x: (D,) the point.
        """
        x = np.array(real_array("x", x))
        return dikin_ellipsoid(self.body, x, self._slacks("x", x))

    def minimize(self, linear: npt.ArrayLike, start: npt.ArrayLike, tolerance: float = TOLERANCE) -> Step:
        """The minimizer of `R(x) + linear·x` on the slice, by Newton's method.

        Steps are damped by `1/(1 + decrement)` while the decrement is at least 1/4 and full afterward; both
        stay strictly inside. It ends when the decrement is at most `tolerance`, or when a full step no longer
        halves it, which in exact arithmetic it always does: rounding then has the last word. The decrement in
        the result says which.

        Args:
            linear: (D,) the linear function.
            start: (D,) where to start, strictly inside.
            tolerance: the decrement at which to stop.

        Raises:
            ValueError: for a start that is not inside, or if `linear` is not finite.
            NoMinimizer: if the minimizer is too close to a wall for double precision.

        Source:
            Algorithm 2, line 10, with the projection on the slice in the same step.
        """
        linear = self.body._vector("linear", linear)
        check_finite("linear", linear)
        return newton(_Objective(self.body, linear), self._begin(start), tolerance)

    def mirror_step(self, x: npt.ArrayLike, g: npt.ArrayLike) -> Step:
        """One step of mirror descent: the minimizer of `R + (g - grad R(x))·x` on the slice.

        Args:
            x: (D,) where the step starts.
            g: (D,) the learning rate times the loss vector.

        Raises:
            ValueError: as `minimize`.
            NoMinimizer: as `minimize`.

        Source:
            Section 2, Eq. (ALG:OMD), with the projection on the slice in the same step.
        """
        return self.minimize(self.body._vector("g", g) - self.gradient(x), x)

    @cached_property
    def _center(self) -> FloatArray:
        center = self.minimize(np.zeros(self.body.ambient_dimension), self.body.interior_point).x
        center.setflags(write=False)
        return center

    def _slacks(self, name: str, x: npt.ArrayLike) -> FloatArray:
        return self.body.slacks(self.body.require_interior(name, x))

    def _begin(self, start: npt.ArrayLike) -> FloatArray:
        """The start, projected on C x = d again if the rounding of many steps has carried it off.

        A copy of our own: without a step to make, the start is the result.
        """
        body = self.body
        x = np.array(body._vector("start", start))
        on_slice = not len(body.C) or (np.abs(body.C @ x - body.d) <= DRIFT * body.slice_tolerance).all()
        if on_slice and (body.b - body.A @ x).min() > 0:
            return x
        body.require_interior("start", x)
        projected: FloatArray = body.interior_point + body.basis @ (body.basis.T @ (x - body.interior_point))
        return projected if (body.b - body.A @ projected).min() > 0 else x


def divergence(growth: FloatArray, ratio: FloatArray) -> float:
    """The Bregman divergence of a sum of -log slack: sum (q - log(1 + q)), without cancellation.

    Args:
        growth: q, by what part of itself each slack grows; any shape.
        ratio: 1 + q, the new slack over the old one, wanted where q is close to -1.

    Returns:
        The sum, whose terms are all nonnegative.
    """
    # With z = q/(2 + q), log(1 + q) = 2 artanh z and q - 2 z = q z: close to q = 0, q z less a small series.
    z = growth / (2.0 + growth)
    z2 = z * z
    series = z * z2 * (1 / 3 + z2 * (1 / 5 + z2 * (1 / 7 + z2 * (1 / 9 + z2 / 11))))
    near, middle = np.abs(growth) < 0.05, np.abs(growth) < 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(middle, np.log1p(growth), np.log(ratio))
    return float(np.where(near, growth * z - 2.0 * series, growth - log).sum())


@dataclass(frozen=True, eq=False)
class _Objective:
    """R + linear·x, as Newton's method sees it. Every step factorizes: a chord would save next to nothing."""

    body: Polytope
    linear: FloatArray
    chord_limit: float = 0.0

    def factorize(self, x: FloatArray) -> DikinEllipsoid:
        slacks = self.body.b - self.body.A @ x
        if not slacks.min() > 0:
            raise NoMinimizer(TOO_CLOSE)
        return dikin_ellipsoid(self.body, x, slacks)

    def direction(self, x: FloatArray, at: DikinEllipsoid) -> tuple[FloatArray, float]:
        return at._newton((1 / at.slacks) @ self.body.A + self.linear)
