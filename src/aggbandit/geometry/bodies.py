"""Ready-made sets: the simplex, boxes and polygons."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from aggbandit._arrays import (
    check_positive_int,
    check_rng,
    real_array,
)
from aggbandit.geometry.polytope import Polytope

__all__ = [
    "box",
    "cross_polytope",
    "random_polygon",
    "regular_polygon",
    "simplex",
]


def simplex(n: int) -> Polytope:
    """The probability vectors over n things, `{x : x >= 0, sum_i x_i = 1}`.

    Args:
        n: how many, at least 2. Points have shape (n,), the slice has dimension n - 1, theta is n.

    Raises:
        ValueError: for a smaller n.

    Example:
        >>> import aggbandit as ab
        >>> ab.simplex(3).dimension, ab.simplex(3).contains([0.2, 0.3, 0.5])
        (2, True)
    """
    _at_least("n", n, 2)
    return Polytope(-np.eye(n), np.zeros(n), np.ones((1, n)), np.ones(1))


def box(low: npt.ArrayLike, high: npt.ArrayLike) -> Polytope:
    """The box `{x : low <= x <= high}`, with theta = 2D.

    Args:
        low: (D,) the least corner.
        high: (D,) the largest corner.

    Raises:
        ValueError: if the shapes differ or some side of the box has no length.
    """
    low, high = real_array("low", low), real_array("high", high)
    if low.ndim != 1 or low.shape != high.shape:
        raise ValueError(f"low has shape {low.shape} and high {high.shape}; both must be (D,)")
    eye = np.eye(low.size)
    return Polytope(np.vstack([eye, -eye]), np.concatenate([high, -low]))


def cross_polytope(n: int) -> Polytope:
    """The unit ball of the L1 norm, `{x : sum_i |x_i| <= 1}`, as its 2^n inequalities.

    Args:
        n: the dimension, from 1 to 12. Points have shape (n,).

    Raises:
        ValueError: for another n.
    """
    _at_least("n", n, 1)
    if n > 12:
        raise ValueError(f"n is {n}; the cross-polytope has 2^n inequalities, so n is at most 12 here")
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=n)))
    return Polytope(signs, np.ones(len(signs)))


def regular_polygon(k: int) -> Polytope:
    """The regular polygon with its corners on the unit circle, the first at (1, 0).

    Args:
        k: how many corners, at least 3. Points have shape (2,); theta is k.

    Raises:
        ValueError: for a smaller k.
    """
    _at_least("k", k, 3)
    angle = (2 * np.arange(k) + 1) * np.pi / k
    return Polytope(np.column_stack([np.cos(angle), np.sin(angle)]), np.full(k, np.cos(np.pi / k)))


def random_polygon(n_sides: int, rng: np.random.Generator) -> Polytope:
    """A random polygon around the origin, each of its sides of positive length.

    The linear image of a polygon whose sides all touch the unit circle: normals at evenly spaced angles,
    each shifted at random by up to a fifth of the spacing; stretched by a factor uniform in [1, 3] along a
    uniform direction.

    Args:
        n_sides: how many sides, at least 3. Points have shape (2,).
        rng: the source of randomness; one call `rng.random(n_sides + 2)`.

    Raises:
        ValueError: for fewer sides.
        TypeError: unless `rng` is a generator.
    """
    _at_least("n_sides", n_sides, 3)
    check_rng(rng)
    uniform = rng.random(n_sides + 2)
    # Shifts of a fifth keep neighboring normals less than half a turn apart, which bounds a triangle too.
    angle = 2 * np.pi * (np.arange(n_sides) + 0.4 * (uniform[:n_sides] - 0.5)) / n_sides
    normals = np.column_stack([np.cos(angle), np.sin(angle)])
    direction, stretch = np.pi * uniform[-2], 1 + 2 * uniform[-1]
    along = np.array([np.cos(direction), np.sin(direction)])
    shrink = np.eye(2) - (1 - 1 / stretch) * np.outer(along, along)
    return Polytope(normals @ shrink, np.ones(n_sides))


def _at_least(name: str, value: int, least: int) -> None:
    check_positive_int(name, value)
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")
