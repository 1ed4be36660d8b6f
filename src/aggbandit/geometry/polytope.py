"""Polytopes: {x : A x <= b, C x = d}, checked once, when they are made.

Everything a barrier needs of the set is here: the slacks of its walls, an orthonormal basis of
the directions along the slice {C x = d}, and a point well inside. A set that is empty, unbounded
or flat has no barrier with a minimizer; it is refused when it is made, by two linear programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aggbandit._arrays import FloatArray, all_finite, check_finite, real_array, reduce_frozen
from aggbandit.geometry._newton import NoMinimizer

RANK_TOLERANCE = 1e-10  # a row of C this close to the span of the rows above it adds no equation
FLAT_TOLERANCE = 1e-10  # an inscribed ball this small beside the set's coordinates is no interior
SLICE_TOLERANCE = 1e-9  # a point this far off C x = d, relative to the terms of the equation, is still on it
LP_TOLERANCES = (1e-10, 1e-7)  # the tightest the solver takes, and what it falls back on if it gives up there


@dataclass(frozen=True, eq=False, init=False)
class Polytope:
    """A bounded polytope with an interior in its slice, `{x : A x <= b, C x = d}`.

    Redundant equalities are allowed, contradictory ones are not. Arrays are copied and read-only. Besides
    its arguments a polytope has `basis` W (D, n), orthonormal, which spans `{v : C v = 0}`; `slice_rows`
    (m, n), which is A W; `interior_point` (D,), the center of a largest ball of the slice inside the set (a
    Chebyshev center), and `inner_radius`, that ball's radius; `slice_tolerance` (p,), how far off an equality
    rounding may be.

    Args:
        A: (m, D) one row an inequality.
        b: (m,) their right-hand sides.
        C: (p, D) one row an equality; None or no rows for none.
        d: (p,) their right-hand sides.

    Raises:
        ValueError: for an array of the wrong shape or not finite; equalities that contradict each other or
            leave a single point; an inequality that is constant on the slice; a set that is empty or flat
            (the largest inscribed ball, found by a linear program, has no positive radius); a set that is
            unbounded (a second linear program finds a direction v with C v = 0, A v <= 0, v != 0).

    Source:
        The sets S of Section 2 and of the appendix on efficient implementation.

    Example:
        >>> import aggbandit as ab
        >>> half = ab.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
        >>> half.dimension, half.n_inequalities, round(half.inner_radius, 3)
        (2, 3, 0.293)
        >>> half.contains([0.2, 0.3]), half.contains([0.8, 0.3])
        (True, False)
        >>> half.minimize([-1.0, -2.0]).round(3) + 0.0
        array([0., 1.])
    """

    A: FloatArray
    b: FloatArray
    C: FloatArray
    d: FloatArray
    basis: FloatArray = field(repr=False)
    slice_rows: FloatArray = field(repr=False)
    interior_point: FloatArray = field(repr=False)
    inner_radius: float = field(repr=False)
    slice_tolerance: FloatArray = field(repr=False)
    __reduce__ = reduce_frozen

    def __init__(
        self,
        A: npt.ArrayLike,
        b: npt.ArrayLike,
        C: npt.ArrayLike | None = None,
        d: npt.ArrayLike | None = None,
    ) -> None:
        A, b = _rows("A", A, "b", b)
        ambient = A.shape[1]
        if (C is None) != (d is None):
            raise ValueError("C and d belong together; give both or neither")
        if C is None or d is None or (np.shape(C), np.shape(d)) == ((0, ambient), (0,)):
            C, d = np.zeros((0, ambient)), np.zeros(0)
        else:
            C, d = _rows("C", C, "d", d)
            if C.shape[1] != ambient:
                raise ValueError(f"C has {C.shape[1]} columns and A has {ambient}; they must be equal")
        basis, origin = _slice(C, d)
        slice_rows = A @ basis
        _refuse_constant_rows(A, slice_rows, b - A @ origin)
        point, radius = _refuse_without_center(slice_rows, b - A @ origin, basis)
        center = origin + basis @ point
        reach = ((b - A @ center) / np.linalg.norm(slice_rows, axis=1)).max()  # of the set's own size
        terms = np.abs(C) @ np.abs(center) + np.abs(d) + np.linalg.norm(C, axis=1) * reach
        arrays = {"A": A, "b": b, "C": C, "d": d, "basis": basis, "slice_rows": slice_rows}
        arrays |= {"interior_point": center, "slice_tolerance": SLICE_TOLERANCE * terms}
        for name, value in arrays.items():
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "inner_radius", radius)

    @property
    def dimension(self) -> int:
        """The dimension n of the slice: D minus the rank of C."""
        return int(self.basis.shape[1])

    @property
    def ambient_dimension(self) -> int:
        """The number D of coordinates of a point."""
        return int(self.A.shape[1])

    @property
    def n_inequalities(self) -> int:
        """The number m of rows of A."""
        return int(self.A.shape[0])

    def slacks(self, x: npt.ArrayLike) -> FloatArray:
        """How far every inequality is from being tight, `b - A x`.

        Args:
            x: (D,) a point.

        Returns:
            (m,) the slacks.

        Raises:
            ValueError: if x has another shape.
        """
        slacks: FloatArray = self.b - self.A @ self._vector("x", x)
        return slacks

    def contains(self, x: npt.ArrayLike, tolerance: float = 0.0) -> bool:
        """Whether `A x <= b + tolerance` and, to rounding, `C x = d`.

        Args:
            x: (D,) a point; one that is not finite is not contained.
            tolerance: how far an inequality may be broken.

        Raises:
            ValueError: if x has another shape.
        """
        x = self._vector("x", x)
        if not all_finite(x):
            return False
        return bool((self.b - self.A @ x).min() >= -tolerance) and self._off_slice(x) is None

    def require_interior(self, name: str, x: npt.ArrayLike) -> FloatArray:
        """The point as a float array, if it lies strictly inside: `A x < b` and, to rounding, `C x = d`.

        Args:
            name: what an error calls the point.
            x: (D,) the point.

        Raises:
            ValueError: naming the first broken rule: the shape, a coordinate that is not finite, an
                inequality without slack, an equality that does not hold.
        """
        x = self._vector(name, x)
        check_finite(name, x)
        slacks = self.b - self.A @ x
        if slacks.min() <= 0:
            i = int(slacks.argmin())
            raise ValueError(
                f"{name} is not strictly inside: inequality {i} has slack {slacks[i]:.6g};"
                " every slack must be positive"
            )
        if self.C.shape[0] and (i_off := self._off_slice(x)) is not None:
            raise ValueError(self._off_by(name, x, i_off))
        return x

    def minimize(self, linear: npt.ArrayLike) -> FloatArray:
        """A vertex where `linear·x` is smallest on the set, by linear programming.

        Args:
            linear: (D,) the linear function.

        Returns:
            (D,) the vertex.

        Raises:
            ValueError: if `linear` has another shape or is not finite.
            NoMinimizer: if the solver gives up.
        """
        linear = self._vector("linear", linear)
        check_finite("linear", linear)
        normals, to_slice = self._round_coordinates()
        cost = linear @ self.basis @ to_slice
        best = _solve(cost / (np.abs(cost).max() or 1.0), A_ub=normals, b_ub=np.ones(len(normals)))
        assert best is not None  # the interior point is feasible
        vertex: FloatArray = self.interior_point + self.basis @ (to_slice @ best)
        return vertex

    def minkowski(self, x: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The Minkowski function of the set seen from x: how far y is on the way from x to the wall.

        0 at y = x, 1 on the boundary, above 1 outside::

            pi_x(y) = inf {t > 0 : x + (y - x)/t in S} = max(0, max_i a_i·(y - x) / (b_i - a_i·x))

        Args:
            x: (D,) a point strictly inside.
            y: (D,) a point on the slice.

        Raises:
            ValueError: if they are not.

        Source:
            After Eq. (scupperbound), appendix on self-concordant barriers.
        """
        x = self.require_interior("x", x)
        y = self._vector("y", y)
        check_finite("y", y)
        if (i := self._off_slice(y)) is not None:
            raise ValueError(self._off_by("y", y, i))
        return max(0.0, float(((self.A @ (y - x)) / self.slacks(x)).max()))

    def vertices(self) -> FloatArray:
        """All vertices, in order around the set if it is two-dimensional.

        For small sets: the number of vertices grows fast with the dimension.

        Returns:
            (number of vertices, D) one vertex a row.
        """
        normals, to_slice = self._round_coordinates()
        if self.dimension == 1:
            ends = np.array([[(1 / normals[normals < 0]).max()], [(1 / normals[normals > 0]).min()]])
        else:
            from scipy.spatial import HalfspaceIntersection

            halfspaces = np.hstack([normals, -np.ones((len(normals), 1))])
            ends = _distinct(HalfspaceIntersection(halfspaces, np.zeros(self.dimension)).intersections)
        if self.dimension == 2:
            middle = ends.mean(axis=0)
            ends = ends[np.argsort(np.arctan2(ends[:, 1] - middle[1], ends[:, 0] - middle[0]))]
        vertices: FloatArray = self.interior_point + ends @ to_slice.T @ self.basis.T
        return vertices

    def _round_coordinates(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates q of the slice in which a thin set is round, for the solvers.

        The set is {q : normals q <= 1}, normals (m, n) with orthonormal columns; the point is
        interior_point + basis (to_slice q).
        """
        normals, r = np.linalg.qr(self.slice_rows / self.slacks(self.interior_point)[:, None])
        return normals, np.linalg.inv(r)

    def _vector(self, name: str, x: npt.ArrayLike) -> FloatArray:
        x = real_array(name, x)
        if x.shape != (self.A.shape[1],):
            raise ValueError(f"{name} has shape {x.shape}; this set's points have shape ({self.A.shape[1]},)")
        return x

    def _off_slice(self, x: FloatArray) -> int | None:
        """The first equality that x breaks by more than rounding, or None."""
        off = np.abs(self.C @ x - self.d) > self.slice_tolerance
        return int(off.argmax()) if off.any() else None

    def _off_by(self, name: str, x: FloatArray, i: int) -> str:
        """What to say of a point that breaks equality i."""
        return (
            f"{name} is off the slice: C[{i}] @ {name} is {self.d[i]:.6g} {self.C[i] @ x - self.d[i]:+.3g};"
            f" it may be off by {self.slice_tolerance[i]:.3g}"
        )


def _rows(
    matrix_name: str, matrix: npt.ArrayLike, vector_name: str, vector: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """The rows of a system of (in)equalities as our own arrays, shapes and entries checked."""
    rows = np.array(real_array(matrix_name, matrix))
    sides = np.array(real_array(vector_name, vector))
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
        raise ValueError(
            f"{matrix_name} has shape {rows.shape}; it must be a matrix with at least one row and column"
        )
    if sides.shape != (rows.shape[0],):
        raise ValueError(
            f"{vector_name} has shape {sides.shape}; {matrix_name} has {rows.shape[0]} rows,"
            f" so ({rows.shape[0]},) is needed"
        )
    check_finite(matrix_name, rows)
    check_finite(vector_name, sides)
    return rows, sides


def _slice(C: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis of {v : C v = 0} and the point of {x : C x = d} nearest to the origin.

    Rows are taken in order and a row that adds nothing is passed over, so that the basis is the
    same on every machine (an SVD's is not: any rotation of it would do as well).
    """
    ambient = C.shape[1]
    kept, sides = np.zeros((0, ambient)), np.zeros(0)  # orthonormal rows, same solutions as C x = d
    for i, (row, side) in enumerate(zip(C, d, strict=True)):
        length = float(np.linalg.norm(row))
        unit, offset = (row / length, side / length) if length else (row, side)
        rest, rest_side = unit, offset
        for _ in range(2):  # twice is enough: the second pass removes what rounding left of the first
            along = kept @ rest
            rest, rest_side = rest - along @ kept, rest_side - along @ sides
        size = float(np.linalg.norm(rest))
        if size > RANK_TOLERANCE:
            kept, sides = np.vstack([kept, rest / size]), np.append(sides, rest_side / size)
        elif abs(rest_side) > SLICE_TOLERANCE * max(1.0, float(np.abs(sides).max(initial=0.0))):
            raise ValueError(
                f"the set is empty: equality {i} contradicts those above it,"
                f" by {rest_side * (length or 1):.6g}"
            )
    rank = len(kept)
    if rank == ambient:
        raise ValueError("the set is flat: the equalities C x = d leave a single point")
    if rank == 0:
        return np.eye(ambient), np.zeros(ambient)
    q, _ = np.linalg.qr(kept.T, mode="complete")
    basis = np.ascontiguousarray(q[:, rank:])
    return basis, sides @ kept


def _refuse_constant_rows(A: FloatArray, slice_rows: FloatArray, slacks: FloatArray) -> None:
    """Refuse an inequality that says the same at all points of the slice."""
    constant = np.linalg.norm(slice_rows, axis=1) <= RANK_TOLERANCE * np.linalg.norm(A, axis=1)
    if constant.any():
        i = int(constant.argmax())
        if slacks[i] < 0:
            raise ValueError(
                f"the set is empty: inequality {i} has slack {slacks[i]:.6g} on all of the slice"
            )
        raise ValueError(
            f"inequality {i} is constant on the slice (its slack is always {slacks[i]:.6g}); drop it"
        )


def _refuse_without_center(
    rows: FloatArray, slacks: FloatArray, basis: FloatArray
) -> tuple[FloatArray, float]:
    """Center and radius of a largest ball in {u : rows u <= slacks}; refuses a set that has no center.

    Both programs see the unit normals as N = Q T with orthonormal columns Q, and work in the
    coordinates T u: a thin set, whose normals are nearly parallel, looks to the solver like a round one.
    """
    lengths = np.linalg.norm(rows, axis=1)
    few = len(rows) < rows.shape[1]  # then the directions no row sees are wanted as well
    q, singular, directions = np.linalg.svd(rows / lengths[:, None], full_matrices=few)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum())
    to_slice = directions[:rank].T / singular[:rank]
    center, radius = _inscribed_ball(q[:, :rank], slacks / lengths)
    ray = _ray(q[:, :rank])
    if rank < rows.shape[1]:
        ray = directions[-1]
    elif ray is not None:
        ray = to_slice @ ray
    if ray is not None:
        along = basis @ ray
        shown = np.array2string(along / np.abs(along).max(), precision=3)
        raise ValueError(f"the set is unbounded: it contains a ray in the direction {shown}")
    return to_slice @ center, radius


def _inscribed_ball(normals: FloatArray, distances: FloatArray) -> tuple[FloatArray, float]:
    """Center and radius of a largest ball in {u : normals u <= distances}; refuses an empty or a flat set.

    The normals have length one in the coordinates of the slice, where the ball is round.
    """
    scale = float(np.abs(distances).max()) or 1.0
    dimension = normals.shape[1]
    # maximize r subject to  normals u + r <= distances / scale,  r <= 1 (a larger ball is no better a proof)
    best = _solve(
        np.append(np.zeros(dimension), -1.0),
        A_ub=np.vstack(
            [np.column_stack([normals, np.ones(len(normals))]), np.append(np.zeros(dimension), 1.0)]
        ),
        b_ub=np.append(distances / scale, 1.0),
    )
    assert best is not None  # a ball of very negative radius fits anywhere
    center = best[:dimension]
    # the solver's point may break a wall by its tolerance: take the radius the point itself has
    radius = float((distances / scale - normals @ center).min())
    if radius <= FLAT_TOLERANCE:
        tightest = int((distances / scale - normals @ center).argmin())
        if radius < -FLAT_TOLERANCE:
            raise ValueError(
                "the set is empty: no point satisfies all inequalities; at best one is broken"
                f" by {-radius * scale:.6g} (inequality {tightest} is among them)"
            )
        raise ValueError(
            f"the set is flat: no ball of radius above {FLAT_TOLERANCE * scale:.3g} fits in its slice"
            f" (inequality {tightest} is tight at its middle)"
        )
    return center * scale, radius * scale


def _ray(normals: FloatArray) -> FloatArray | None:
    """A direction v != 0 with normals v <= 0, in which the set has no end, or None if there is none.

    Stiemke's alternative: for normals of full column rank there is no such v exactly if weights >= 1
    make the normals cancel, weights' normals = 0. The weights are the proof; a ray is looked for only to
    be named.
    """
    n_rows, dimension = normals.shape
    weights = _solve(np.ones(n_rows), A_eq=normals.T, b_eq=np.zeros(dimension), bounds=(1, None))
    if weights is not None:
        return None
    return _solve(
        normals.sum(axis=0), A_ub=np.vstack([normals, -normals]), b_ub=np.repeat([0.0, 1.0], n_rows)
    )


def _solve(cost: FloatArray, **constraints: Any) -> FloatArray | None:
    """A vertex that minimizes cost·u under `constraints` (as in scipy's linprog), None if there is none.

    Entries of u are free unless `constraints` bounds them.
    """
    from scipy.optimize import linprog

    for tolerance in LP_TOLERANCES:
        result = linprog(
            cost,
            **{"bounds": (None, None), **constraints},
            method="highs-ds",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if result.status == 0:
            return np.asarray(result.x, dtype=np.float64)
        if result.status == 2:
            return None
    raise NoMinimizer(f"the linear program was not solved: {result.message}")


def _distinct(points: FloatArray) -> FloatArray:
    """The rows of `points`, each once; rows closer than rounding count as one."""
    kept: list[FloatArray] = []
    scale = float(np.abs(points).max())
    for point in points:
        if all(np.abs(point - other).max() > 1e-9 * scale for other in kept):
            kept.append(point)
    return np.array(kept)
