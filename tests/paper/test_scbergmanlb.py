"""Eq. (scbergmanlb): B(y||x) >= rho(||y - x||_x), rho(z) = z - log(1 + z)."""

import numpy as np
import pytest
from instances import instances

from aggbandit import LogBarrier, theory
from aggbandit.geometry import box


def test_the_divergence_is_at_least_rho_of_the_local_distance(rng, record_property):
    ratios = []
    for barrier, x, y in instances(rng, 100):
        bound = theory.rho(barrier.dikin(x).norm(y - x))
        divergence = barrier.bregman(y, x)
        assert divergence >= bound * (1 - 1e-9)
        ratios.append(divergence / bound)
    record_property("smallest ratio of divergence to bound", min(ratios))
    assert min(ratios) < 1.5  # the instances come near


def test_and_at_most_the_conjugate_inside_the_ellipsoid(rng):
    """The companion the mirror-descent lemma uses: B(y||x) <= -z - log(1 - z) for z = ||y - x||_x < 1."""
    for barrier, x, y in instances(rng, 60):
        E = barrier.dikin(x)
        for z in (1e-3, 0.3, 0.9):
            inside = x + z * (y - x) / E.norm(y - x)
            z = E.norm(inside - x)
            assert barrier.bregman(inside, x) <= theory.rho_conjugate(z) * (1 + 1e-5) + 1e-12


def test_it_is_tight_away_from_a_lone_wall():
    barrier = LogBarrier(box([0.0], [1e6]))
    for z in (0.1, 1.0, 5.0):
        divergence = barrier.bregman([1 + z], [1.0])
        assert divergence == pytest.approx(theory.rho(z), rel=1e-5)
        assert divergence >= theory.rho(barrier.dikin([1.0]).norm(np.array([z])))
