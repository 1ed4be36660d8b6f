"""Eq. (dikininbody): ||y - x||_x < 1 implies that y is in the interior."""

import numpy as np
import pytest
from instances import instances

from aggbandit import LogBarrier, simplex
from aggbandit.geometry import box


def test_the_open_ellipsoid_is_inside(rng, record_property):
    least = np.inf
    for barrier, x, y in instances(rng, 60):
        E = barrier.dikin(x)
        v = (y - x) / E.norm(y - x)
        for r in (0.5, 0.99, 1 - 1e-9):
            # every slack keeps at least the part 1 - r of itself: the statement with its margin
            kept = 1 - r * (barrier.body.A @ v) / barrier.body.slacks(x)
            assert kept.min() >= (1 - r) * (1 - 1e-6)
            least = min(least, kept.min() - (1 - r))
        assert (barrier.body.slacks(x + 0.999 * v) > 0).all()
    record_property("smallest part of a slack kept beyond 1 - r", float(least))


def test_on_a_bounded_polytope_the_surface_is_inside_too(rng):
    for barrier, x, _ in instances(rng, 30):
        assert (barrier.body.slacks(barrier.dikin(x).sample(rng)) > 0).all()


def test_no_larger_ellipsoid_would_do():
    """Beside one wall, far from the others, the wall itself is at local distance hardly above one."""
    for distance in (1e-1, 1e-2, 1e-3):
        barrier = LogBarrier(box([0, 0], [1, 1]))
        x = np.array([distance, 0.5])
        reach = barrier.dikin(x).norm(np.array([0, 0.5]) - x)
        assert 1 < reach <= 1 + (distance / (1 - distance)) ** 2


def test_the_slice_is_part_of_the_statement():
    """With equalities, y must keep them: the ball of the whole space leaves the slice, not the walls."""
    body = simplex(3)
    x = np.full(3, 1 / 3)
    E = LogBarrier(body).dikin(x)
    y = x + 0.5 * np.ones(3) / E.norm(np.ones(3))
    assert E.norm(y - x) == pytest.approx(0.5)
    assert (body.slacks(y) > 0).all()
    assert not body.contains(y)
    assert not E.contains(y)
