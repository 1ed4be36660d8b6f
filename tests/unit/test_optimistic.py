"""Algorithm 1 as a learner: its lines against dense formulas, its refusals."""

import numpy as np
import pytest

from aggbandit import DistortedBandit, OptimisticEXP2, theory
from aggbandit.game import DrawArm, Undistorted
from aggbandit.learners import g_optimal_design

POINTS = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1.0]])  # rank 3
RATES = theory.OptimisticRates(0.05, 0.2)


def learner(**change):
    return OptimisticEXP2(
        **{"points": POINTS, "rounds": 10, "loss_bound": 2.0, "epsilon_bound": 1.0, "rates": RATES, **change}
    )


def test_the_lines_of_the_algorithm(rng):
    """Against dense linear algebra in the whole space, the pseudo-inverse, and plain weights."""
    played = learner()
    weights = np.ones(4)
    for t in range(1, 30):
        p = weights / weights.sum()
        q = 0.8 * p + 0.2 * played.design.weights
        np.testing.assert_allclose(played.weights, p, rtol=1e-9)
        np.testing.assert_allclose(played.probabilities, q, rtol=1e-9)
        np.testing.assert_allclose(played.center, q @ POINTS)
        y = played.predict(rng)
        value, epsilon = rng.uniform(0, 2), rng.random(4)
        record = played.update(value, y, epsilon)
        moment = sum(q_i * np.outer(point, point) for q_i, point in zip(q, POINTS, strict=True))
        inverse = np.linalg.pinv(moment, hermitian=True)
        estimate = value * inverse @ y
        values = [
            estimate @ point
            - np.sqrt(3) * np.sqrt(point @ inverse @ point) * np.sqrt(epsilon @ moment @ epsilon)
            for point in POINTS
        ]
        assert record.round == t
        np.testing.assert_allclose(record.second_moment, moment)
        np.testing.assert_allclose(record.estimate, estimate, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(record.values, values, rtol=1e-7, atol=1e-9)
        assert record.epsilon_norm == pytest.approx(np.sqrt(epsilon @ moment @ epsilon))
        weights = weights * np.exp(-0.05 * np.array(values))


def test_points_are_drawn_from_q(rng):
    played = learner()
    for _ in range(10):
        played.predict(rng)
        played.update(2.0, POINTS[0], np.zeros(4))
    draws = np.array([played.predict(rng) for _ in range(4000)])
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - played.center) <= 4 * error)


def test_long_games_do_not_overflow(rng):
    """Weights live in logarithms: a million units of loss apart is no trouble."""
    played = learner(rates=theory.OptimisticRates(50.0, 0.5))
    for _ in range(300):
        y = played.predict(rng)
        played.update(2.0 if y[0] else 0.0, y, np.ones(4))
    assert np.isfinite(played.probabilities).all()
    assert played.probabilities.sum() == pytest.approx(1)


def test_the_default_rates():
    played = OptimisticEXP2(POINTS, 10_000, 2.0, 0.3)
    expected = theory.optimistic_rates(3, 4, 2.0, 0.3, 10_000, played.design.largest_norm)
    assert (played.eta, played.gamma) == expected
    assert played.rank == 3


def test_a_constant_loss_is_learned():
    rounds = 3000
    played = OptimisticEXP2(np.eye(3), rounds, 1.0)
    game = DistortedBandit(
        np.tile([0.0, 0.5, 1.0], (rounds, 1)), np.zeros((rounds, 3)), Undistorted(), np.eye(3), 1.0, DrawArm()
    )
    game.play(played, np.random.default_rng(4))
    assert played.weights[0] > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss_bound": 1.0}, r"\|\|y\|\|_1 = 2\.0; it must be at most loss_bound = 1\.0"),
        ({"rates": theory.OptimisticRates(0.0, 0.1)}, r"eta is 0\.0"),
        ({"rates": theory.OptimisticRates(0.1, 0.0)}, r"gamma is 0\.0"),
        ({"rates": theory.OptimisticRates(0.1, 1.5)}, r"gamma is 1\.5"),
        ({"rates": None, "rounds": 3}, r"gamma is .* rounds = 3; it must be <= 1/2 \(rounds >= "),
        ({"rounds": 0}, "rounds is 0"),
        ({"loss_bound": np.inf}, "loss_bound is inf"),
        ({"loss_bound": np.nan}, "loss_bound is nan"),
        ({"epsilon_bound": -1.0}, r"epsilon_bound is -1\.0"),
        ({"epsilon_bound": np.nan}, "epsilon_bound is nan"),
        ({"design": g_optimal_design(np.eye(4)[:3])}, "design has 3 weights for 4 points"),
        ({"design": g_optimal_design(np.eye(4)[:, :3] + 1)}, "design has d = 3, points d = 4"),
        ({"design": g_optimal_design(2 * POINTS)}, "design is of other points"),
        ({"design": g_optimal_design(np.eye(4))}, "design is of other points"),
        ({"points": np.zeros((2, 4))}, "points are all zero"),
    ],
)
def test_bad_learners_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        learner(**change)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ((np.nan, POINTS[0], np.zeros(4)), "loss_value is nan"),
        ((2.5, POINTS[0], np.zeros(4)), r"loss_value is 2\.5"),
        ((1.0, np.ones(3), np.zeros(4)), r"z_hat has shape \(3,\)"),
        ((1.0, POINTS[0], -np.ones(4)), r"epsilon\[0\] = -1\.0"),
        ((1.0, POINTS[0], np.full(4, 1.5)), r"epsilon has the entry 1\.5, above epsilon_bound = 1\.0"),
    ],
)
def test_bad_observations_change_nothing(rng, observation, message):
    played = learner()
    y = played.predict(rng)
    before = played.probabilities.copy()
    with pytest.raises(ValueError, match=message):
        played.update(*observation)
    np.testing.assert_array_equal(played.probabilities, before)
    record = played.update(1.0, y, np.zeros(4))
    assert record.round == 1


def test_what_it_hands_out_cannot_be_changed(rng):
    mine = POINTS.copy()
    played = learner(points=mine)
    mine[:] = 99.0
    np.testing.assert_array_equal(played.points, POINTS)
    for array in (played.predict(rng), played.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.0


def test_update_needs_predict():
    with pytest.raises(RuntimeError, match="before predict"):
        learner().update(1.0, POINTS[0], np.zeros(4))
