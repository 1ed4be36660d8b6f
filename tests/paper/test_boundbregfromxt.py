"""Lemma boundbregfromxt: B(x||x_t) >= ||x - x_t||_{x_t} / 2 - 1."""

import math

import numpy as np
import pytest
from instances import instances

from aggbandit import LogBarrier, theory
from aggbandit.geometry import box


def test_the_divergence_is_at_least_half_the_local_distance_less_one(rng, record_property):
    least = np.inf
    for barrier, x, y in instances(rng, 100):
        distance = barrier.dikin(x).norm(y - x)
        divergence = barrier.bregman(y, x)
        assert theory.bregman_from_distance(distance) == pytest.approx(distance / 2 - 1)
        assert divergence >= distance / 2 - 1
        # what the proof gives before it is rounded: the tangent of rho at one
        assert divergence >= (distance + 1) / 2 - math.log(2) - 1e-12
        least = min(least, divergence - distance / 2 + 1)
    record_property("smallest margin", least)
    assert least < 0.85  # against 1.5 - log 2 = 0.807 at distance one from a lone wall


def test_the_tangent_is_touched_at_distance_one_from_a_lone_wall():
    divergence = LogBarrier(box([0.0], [1e6])).bregman([2.0], [1.0])
    assert divergence == pytest.approx(1 - math.log(2), rel=1e-5)
