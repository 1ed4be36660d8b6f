"""The Dikin ellipsoid: the unit ball of the barrier's local norm, always inside the set.

    E(x) = {y : ||y - x||_x <= 1, C y = d},    ||v||_x = sqrt(v' H v),    H = A' S^-2 A,  S = diag(b - A x)

Everything is computed from one QR factorization of the rows of A, each divided by its slack, along
the slice. H itself is never formed: near a wall, or in a thin set, forming it loses half the digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from aggbandit._arrays import FloatArray, real_array, reduce_frozen
from aggbandit.geometry._newton import NoMinimizer
from aggbandit.geometry.polytope import SLICE_TOLERANCE, Polytope

SURFACE_TOLERANCE = 1e-9  # a sampled point has local norm one only to rounding


@dataclass(frozen=True, eq=False)
class DikinEllipsoid:
    """The Dikin ellipsoid of a log barrier at a point; made by `LogBarrier.dikin`.

    Attributes:
        body: the set.
        center: (D,) the point.
        slacks: (m,) its distances b - A x from the walls.
        qr: (m, n) with `tau` the QR factorization (LAPACK's layout) of the rows of A W, each divided by its
            slack, where W is the body's basis of the slice.
        tau: (n,) see `qr`.

    Source:
        Section 2, Eq. (dikininbody); the slice as in the appendix on efficient implementation.
    """

    body: Polytope
    center: FloatArray
    slacks: FloatArray
    qr: FloatArray
    tau: FloatArray
    __reduce__ = reduce_frozen

    def norm(self, v: npt.ArrayLike) -> float:
        """The local norm, `||v||_x = sqrt(v' H v) = ||S^-1 A v||`.

        Args:
            v: (D,) a vector, which need not lie along the slice.

        Raises:
            ValueError: if the shape is another.
        """
        scaled = self._scaled(v)
        return math.sqrt(scaled @ scaled)

    def dual_norm(self, loss: npt.ArrayLike) -> float:
        """The dual local norm on the slice, the largest `loss·v` over `||v||_x <= 1, C v = 0`.

        It is `sqrt(l' W (W' H W)^-1 W' l)`, unchanged by adding a combination of the rows of C.

        Args:
            loss: (D,) the vector l.

        Raises:
            ValueError: if the shape is another.
        """
        reduced = self._reduced(self.body._vector("loss", loss))
        return math.sqrt(reduced @ reduced)

    def apply(self, v: npt.ArrayLike) -> FloatArray:
        """The product `H v = A' S^-2 A v`, in the coordinates of the whole space.

        With v = y - x it is the direction of the one-point estimator (Algorithm 2, line 8).

        Args:
            v: (D,) a vector.

        Returns:
            (D,) the product.

        Raises:
            ValueError: if the shape is another.
        """
        product: FloatArray = (self._scaled(v) / self.slacks) @ self.body.A
        return product

    def newton_step(self, gradient: npt.ArrayLike) -> FloatArray:
        """The step that minimizes `gradient·v + v' H v / 2` over C v = 0.

        It is `v = -W (W' H W)^-1 W' gradient`; its local norm is the dual norm of the gradient, the Newton
        decrement.

        Args:
            gradient: (D,) the gradient.

        Returns:
            (D,) the step.

        Raises:
            ValueError: if the shape is another.
        """
        return self._newton(self.body._vector("gradient", gradient))[0]

    def contains(self, y: npt.ArrayLike) -> bool:
        """Whether `||y - x||_x <= 1` and C (y - x) = 0, both to rounding.

        Args:
            y: (D,) a point.

        Raises:
            ValueError: if the shape is another.
        """
        y = self.body._vector("y", y)
        return self.norm(y - self.center) <= 1 + SURFACE_TOLERANCE and self.body._off_slice(y) is None

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A point drawn uniformly from the surface, `||y - x||_x = 1, C y = d`.

        A standard normal of all m scaled slacks is projected onto those a move along the slice can make,
        which leaves `N(0, W (W' H W)^-1 W')`; scaled to local norm one it is uniform. The law and the draw do
        not depend on the basis W, nor on the coordinates of the set.

        Args:
            rng: the source of randomness; one call `rng.standard_normal(m)`, m the number of inequalities.

        Returns:
            (D,) the point, strictly inside the set.

        Raises:
            NoMinimizer: if rounding put it on a wall: x is then closer to that wall than about 1e-8 of the
                way to the next.

        Source:
            Algorithm 2, lines 4-5, corrected for the slice (the printed sampler of the appendix's Option 1
            leaves the ellipsoid).
        """
        normal = rng.standard_normal(self.slacks.size)
        projected, _, _ = lapack.dormqr("L", "T", self.qr, self.tau, normal[:, None], normal.size)
        reduced = projected[: self.qr.shape[1], 0]
        v, _ = lapack.dtrtrs(self.qr[: reduced.size], reduced)
        y: FloatArray = self.center + self.body.basis @ (v / math.sqrt(reduced @ reduced))
        # In exact arithmetic y is strictly inside: two slacks at least change along any v, so none
        # changes by all of itself. Clipping here would only hide that this has failed.
        slacks = self.body.b - self.body.A @ y
        if not slacks.min() > 0:
            i = int(slacks.argmin())
            raise NoMinimizer(
                f"the sampled point is on wall {i}: the center's slack there is {self.slacks[i]:.3g},"
                " too small beside the others for double precision"
            )
        return y

    def axes(self) -> FloatArray:
        """The half axes, the longest first: `x + u @ axes` with |u| = 1 runs over the surface.

        Signs are fixed by making the largest coordinate of each positive.

        Returns:
            (n, D) one half axis a row.
        """
        _, singular, directions = np.linalg.svd(np.triu(self.qr[: self.qr.shape[1]]))
        axes = (directions / singular[:, None])[::-1] @ self.body.basis.T
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        signed: FloatArray = axes * np.sign(largest)
        return signed

    def boundary(self, plane: npt.ArrayLike | None = None, n_points: int = 181) -> FloatArray:
        """The closed curve in which a plane through the center cuts the surface, for drawing.

        Args:
            plane: (2, D) two independent directions along the slice; None takes the whole slice, if that is
                two-dimensional.
            n_points: how many points.

        Returns:
            (n_points, D) the curve, its last point the first.

        Raises:
            ValueError: if the plane is missing, has another shape, or is not a plane of the slice.
        """
        if plane is None:
            if self.body.dimension != 2:
                raise ValueError(
                    f"the slice has dimension {self.body.dimension}; give the plane to cut it with"
                )
            directions = self.body.basis.T
        else:
            directions = real_array("plane", plane)
            if directions.shape != (2, self.body.ambient_dimension):
                raise ValueError(
                    f"plane has shape {directions.shape}; expected (2, {self.body.ambient_dimension})"
                )
            off = np.abs(directions @ self.body.C.T)
            if (
                off.size
                and off.max() > SLICE_TOLERANCE * np.abs(directions).max() * np.abs(self.body.C).max()
            ):
                raise ValueError(
                    f"plane leaves the slice: C times a direction is {off.max():.3g}; it must be 0"
                )
        r: FloatArray = np.linalg.qr((self.body.A @ directions.T) / self.slacks[:, None])[1]
        if np.abs(np.diag(r)).min() <= SLICE_TOLERANCE * np.abs(r).max():
            raise ValueError("plane holds two parallel directions; they must be independent")
        angle = np.linspace(0, 2 * np.pi, n_points)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        circle[:, -1] = circle[:, 0]
        curve: FloatArray = self.center + np.linalg.solve(r, circle).T @ directions
        return curve

    def _scaled(self, v: npt.ArrayLike) -> FloatArray:
        """S^-1 A v: by what part of itself every slack shrinks along v."""
        scaled: FloatArray = (self.body.A @ self.body._vector("v", v)) / self.slacks
        return scaled

    def _reduced(self, covector: FloatArray) -> FloatArray:
        """R'^-1 W' covector, with W' H W = R' R; its Euclidean length is the dual norm."""
        reduced: FloatArray
        reduced, _ = lapack.dtrtrs(self.qr[: self.qr.shape[1]], self.body.basis.T @ covector, trans=1)
        return reduced

    def _newton(self, gradient: FloatArray) -> tuple[FloatArray, float]:
        """The Newton step and its decrement."""
        reduced = self._reduced(gradient)
        v, _ = lapack.dtrtrs(self.qr[: reduced.size], reduced)
        return -(self.body.basis @ v), math.sqrt(reduced @ reduced)


def dikin_ellipsoid(body: Polytope, center: FloatArray, slacks: FloatArray) -> DikinEllipsoid:
    """The Dikin ellipsoid at a point whose slacks are already known; nothing is checked here.

    Args:
        body: the set.
        center: (D,) the point.
        slacks: (m,) its slacks b - A x, positive.

    Source:
        Section 2, Eq. (dikininbody).
    """
    qr, tau, _, _ = lapack.dgeqrf(body.slice_rows / slacks[:, None])
    return DikinEllipsoid(body, center, slacks, qr, tau)
