"""G-optimal designs: the exploration that leaves no point of a finite set badly measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggbandit._arrays import (
    FloatArray,
    check_number,
    real_array,
    reduce_frozen,
)

RANK_TOLERANCE = 1e-10  # singular values below this share of the largest count as zero
MAX_ITERATIONS = 100_000


@dataclass(frozen=True)
class OptimalDesign:
    """A distribution over a finite set, with the certificate of its quality.

    Attributes:
        weights: (N,) mu.
        rank: r, of the set's span.
        largest_norm: the largest squared norm of a point in the pseudo-inverse of `M = sum mu(y) y y'`; at
            least r for every mu, and at most (1 + tolerance) r here.
        whitening: (d, r) W, which maps the set to coordinates W'y in which M is the identity.
        iterations: how many steps it took.
    """

    weights: FloatArray
    rank: int
    largest_norm: float
    whitening: FloatArray
    iterations: int
    __reduce__ = reduce_frozen


def g_optimal_design(points: FloatArray, tolerance: float = 0.01) -> OptimalDesign:
    """A design mu under which no point of a finite set is badly measured.

    With `M = sum mu(y) y y'` and r the rank of the set, `y' M^+ y <= (1 + tolerance) r` for all its points.
    By Kiefer and Wolfowitz it is the design that maximizes det M: Frank-Wolfe steps with away steps, each
    with its exact step length, in the span of the set. The paper's lambda > 0 needs a set that spans the
    space; this does not.

    Args:
        points: (N, d) the set.
        tolerance: how far from the best design, relatively.

    Returns:
        The design, with the certificate of its quality.

    Raises:
        ValueError: when the points are not a finite array of that shape or are all zero, or the tolerance is
            not positive.
        TypeError: when the tolerance is no number.
        ArithmeticError: when rounding keeps the tolerance from being met.

    Source:
        Kiefer and Wolfowitz (1960); Todd, Minimum-Volume Ellipsoids (2016), chapter 3.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> design = ab.learners.g_optimal_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
        >>> design.rank, design.weights.round(2).tolist()
        (2, [0.5, 0.5, 0.0])
    """
    points = real_array("points", points)
    if points.ndim != 2 or points.size == 0:
        raise ValueError(f"points has shape {points.shape}; it must be (N, d) with N >= 1")
    if not np.isfinite(points).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(points))[0])
        raise ValueError(f"points[{place[0]}, {place[1]}] = {points[place]}; every entry must be finite")
    if not check_number("tolerance", tolerance) > 0:
        raise ValueError(f"tolerance is {tolerance}; it must be positive")
    scale = float(np.abs(points).max())  # a design has no unit: squares shall neither over- nor underflow
    if scale == 0:
        raise ValueError("points are all zero; they measure nothing")
    points = points / scale
    span, rank = _span(points)
    coordinates = points @ span
    weights = np.full(len(points), 1 / len(points))
    for iteration in range(MAX_ITERATIONS):
        moment = coordinates.T @ (weights[:, None] * coordinates)
        norms = _squared_norms(coordinates, moment)
        worst = int(norms.argmax())
        if norms[worst] <= (1 + tolerance) * rank:
            root = np.linalg.cholesky(moment)
            whitening = np.linalg.solve(root, span.T).T / scale
            return OptimalDesign(weights, rank, float(norms[worst]), whitening, iteration)
        best = int(np.where(weights > 0, norms, np.inf).argmin())
        if norms[worst] - rank >= rank - norms[best]:
            chosen, share = worst, _share(norms[worst], rank)
        else:
            chosen, share = best, max(_share(norms[best], rank), -weights[best] / (1 - weights[best]))
        weights *= 1 - share
        weights[chosen] += share
        weights = np.maximum(weights, 0.0)
        weights /= weights.sum()
    raise ArithmeticError(
        f"after {MAX_ITERATIONS} steps max ||y||² = {norms.max():.6g}; wished (1 + {tolerance}) * {rank}"
    )


def _span(points: FloatArray) -> tuple[FloatArray, int]:
    """An orthonormal basis of the span of the points, shape (d, r), and r."""
    _, singular, rows = np.linalg.svd(points, full_matrices=False)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum())
    return np.asarray(rows[:rank].T, dtype=np.float64), rank


def _squared_norms(coordinates: FloatArray, moment: FloatArray) -> FloatArray:
    """||y||² in the inverse of ``moment``, for every row of ``coordinates``."""
    return np.asarray(np.einsum("ni,ni->n", coordinates, np.linalg.solve(moment, coordinates.T).T))


def _share(squared_norm: float, rank: int) -> float:
    """The share of a point that maximizes det((1 - share) M + share y y'); negative takes weight away."""
    if squared_norm <= 1:  # taking weight away helps without end: take all of it
        return -np.inf
    return (squared_norm - rank) / (rank * (squared_norm - 1))
