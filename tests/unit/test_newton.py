"""The one rule of Newton's method: how long a step is, when the search ends, and when it is given up."""

import math

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.geometry._newton import FULL_STEP, newton, step_length


class Line:
    """-log x - log(1 - x) + slope x on (0, 1); the noise is added to every decrement but the first."""

    chord_limit = 0.0

    def __init__(self, slope=0.0, noise=0.0, chord_limit=0.0):
        self.slope, self.noise, self.chord_limit = slope, noise, chord_limit
        self.factorized = []

    def factorize(self, x):
        if not 0 < x < 1:
            raise ab.geometry.NoMinimizer("outside")
        self.factorized.append(x)
        return Point(x, 1 / x**2 + 1 / (1 - x) ** 2)

    def direction(self, x, at):
        gradient = -1 / x + 1 / (1 - x) + self.slope
        noise = self.noise if len(self.factorized) > 1 else 0.0
        return -gradient / at.hessian, abs(gradient) / math.sqrt(at.hessian) + noise


class Point:
    def __init__(self, center, hessian):
        self.center, self.hessian = center, hessian


def test_a_step_is_damped_from_a_quarter_on():
    assert step_length(0.2499) == 1.0
    assert step_length(FULL_STEP) == 0.8
    np.testing.assert_array_equal(step_length(np.array([0.1, 0.25, 3.0])), [1.0, 0.8, 0.25])


@pytest.mark.parametrize("chord_limit", [0.0, 0.05])
def test_it_ends_at_the_minimizer_with_a_certificate_taken_there(chord_limit):
    problem = Line(slope=30.0, chord_limit=chord_limit)
    step = newton(problem, 0.5, 1e-8)
    assert step.x == pytest.approx((2 + 30 - math.sqrt(4 + 900)) / 60, rel=1e-8)
    assert step.dikin.center == step.x == problem.factorized[-1]
    assert step.decrement <= 1e-8
    assert 0 < step.damped < step.iterations
    assert step.factorizations == len(problem.factorized) - 1
    assert (step.factorizations < step.iterations) == (chord_limit > 0)


def test_what_rounding_leaves_is_accepted_up_to_a_floor():
    step = newton(Line(slope=0.5, noise=1e-5), 0.5, 1e-8)
    assert 1e-5 <= step.decrement <= 1e-4
    assert step.iterations < 10


def test_what_rounding_leaves_above_the_floor_is_refused_at_once():
    problem = Line(slope=0.5, noise=1e-3)
    with pytest.raises(ab.geometry.NoMinimizer, match=r"rounding keeps the Newton decrement at 0\.001"):
        newton(problem, 0.5, 1e-8)
    assert len(problem.factorized) < 10
    with pytest.raises(ab.geometry.NoMinimizer, match="too close to a wall"):
        newton(Line(slope=0.5, noise=math.nan), 0.5, 1e-8)


def test_the_error_is_one_of_arithmetic():
    assert issubclass(ab.geometry.NoMinimizer, ArithmeticError)
