"""Eq. (scupperbound): R(y) - R(x) <= theta log(1/(1 - pi_x(y))), pi_x the Minkowski function."""

import math

import numpy as np
from instances import instances

from aggbandit import LogBarrier, simplex


def test_the_barrier_grows_at_most_like_theta_log(rng, record_property):
    least = np.inf
    for barrier, x, y in instances(rng, 100):
        bound = -barrier.theta * math.log1p(-barrier.body.minkowski(x, y))
        growth = barrier.value(y) - barrier.value(x)
        assert growth <= bound + 1e-6
        least = min(least, bound - growth)
    record_property("smallest margin", least)


def test_toward_a_corner_the_constant_is_the_number_of_walls_that_meet_there():
    """On the simplex n - 1 of the n walls meet: theta cannot be below n - 1."""
    for n in (2, 5, 20):
        barrier, center = LogBarrier(simplex(n)), np.full(n, 1 / n)
        for pi in (1 - 1e-3, 1 - 1e-6):
            y = center + pi * (np.eye(n)[0] - center)
            growth = barrier.value(y) - barrier.value(center)
            walls = (growth + math.log(n)) / -math.log1p(-pi)  # log n: the wall that moves away
            assert abs(walls - (n - 1)) < 1e-3
            assert walls < barrier.theta
