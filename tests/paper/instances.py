"""Bodies and points for the statements about barriers: round and thin, with and without equalities."""

import numpy as np

from aggbandit import (
    LogBarrier,
    Polytope,
    known_occupancy_polytope,
    night_driver,
    random_polygon,
    regular_polygon,
    simplex,
)
from aggbandit.geometry import box, cross_polytope


def bodies(rng):
    A = rng.normal(size=(9, 5))
    A = np.vstack([A, -A.sum(axis=0)])
    polygon, squeeze = random_polygon(6, rng), np.array([[0.6, -0.8e-6], [0.8, 0.6e-6]])
    return [
        simplex(2),
        simplex(5),
        box([0, -1], [1, 3]),
        cross_polytope(3),
        regular_polygon(7),
        random_polygon(3, rng),
        Polytope(A, np.ones(10), rng.normal(size=(2, 5)), np.zeros(2)),
        Polytope(polygon.A @ np.linalg.inv(squeeze), polygon.b),  # a million times longer than wide
        known_occupancy_polytope(night_driver().mdp),
    ]


def points(barrier, rng, count):
    """Points on the way from the center to random boundary points, some of them very near the end."""
    center, body = barrier.analytic_center(), barrier.body
    found = []
    for _ in range(count):
        boundary = body.basis @ rng.normal(size=body.dimension)
        boundary = boundary / ((body.A @ boundary) / body.slacks(center)).max()
        found.append(center + (1 - 10 ** rng.uniform(-5, 0)) * boundary)
    return found


def instances(rng, count):
    """(barrier, x, y) on every body."""
    for body in bodies(rng):
        barrier = LogBarrier(body)
        for x, y in zip(points(barrier, rng, count), points(barrier, rng, count), strict=True):
            yield barrier, x, y
