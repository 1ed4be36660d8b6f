"""Lemma boundbregfromx1: B(y||x_1) <= theta log(1/gamma) for y = (1 - gamma) x + gamma x_1, x in S.

The statement is right. A line of its proof is not: the Minkowski function of y carries an extra factor
(1 - gamma) there. It reads pi(y) = inf {t : x_1 + (1 - gamma)(y - x_1)/t in S}, which is (1 - gamma) pi(y).
"""

import math

import numpy as np
import pytest
from instances import bodies, points

from aggbandit import LogBarrier, simplex, theory


def shrunk(barrier, rng, gamma):
    """Points (1 - gamma) x + gamma x_1, x on the boundary (where the lemma is hardest) or inside."""
    center = barrier.analytic_center()
    for x in points(barrier, rng, 20):
        boundary = center + (x - center) / barrier.body.minkowski(center, x)
        for end in (x, boundary):
            yield (1 - gamma) * end + gamma * center


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.5, 0.1, 1e-3, 1e-6])
def test_the_statement(gamma, rng, record_property):
    least = np.inf
    for body in bodies(rng):
        barrier = LogBarrier(body)
        bound = theory.bregman_from_center(barrier.theta, gamma)
        assert bound == pytest.approx(barrier.theta * math.log(1 / gamma))
        for y in shrunk(barrier, rng, gamma):
            divergence = barrier.bregman(y, barrier.analytic_center())
            assert divergence <= bound + 1e-9
            least = min(least, bound - divergence)
    record_property("smallest margin", least)


def test_the_corrected_line_of_the_proof(rng):
    """pi(y) = inf {t : x_1 + (y - x_1)/t in S} = (1 - gamma) pi(x) <= 1 - gamma."""
    for body in bodies(rng):
        barrier = LogBarrier(body)
        center = barrier.analytic_center()
        for gamma in (0.9, 0.5, 0.01):
            for x in points(barrier, rng, 10):
                y = (1 - gamma) * x + gamma * center
                pi = body.minkowski(center, y)
                assert pi == pytest.approx((1 - gamma) * body.minkowski(center, x), rel=1e-6)
                assert pi <= 1 - gamma
                # the gradient at the center vanishes on the slice: the proof's first step is an equality
                growth = barrier.value(y) - barrier.value(center)
                assert barrier.bregman(y, center) == pytest.approx(growth, abs=1e-6)


def test_the_printed_line_would_prove_too_much():
    """A counterexample to pi <= (1 - gamma)^2, and so to B <= theta log(1/(gamma (2 - gamma)))."""
    barrier = LogBarrier(simplex(5))
    body, center, corner = barrier.body, np.full(5, 0.2), np.eye(5)[0]
    gamma = 0.5
    y = (1 - gamma) * corner + gamma * center
    printed = body.minkowski(center, center + (1 - gamma) * (y - center))
    assert body.minkowski(center, y) == pytest.approx(0.5)
    assert printed == pytest.approx(0.25)

    gamma = 0.9
    y = (1 - gamma) * corner + gamma * center
    divergence = barrier.bregman(y, barrier.analytic_center())
    assert divergence > 1.3 * barrier.theta * math.log(1 / (gamma * (2 - gamma)))
    assert divergence < 0.2 * theory.bregman_from_center(barrier.theta, gamma)
