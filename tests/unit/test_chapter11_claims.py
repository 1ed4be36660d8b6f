"""Sentences of chapter 11 that a program can hold: counts, Option 2, sampling for a single equation."""

import numpy as np
import pytest

import aggbandit as ab

H, S, A, DELTA = 2, 2, 2, 0.01


@pytest.fixture
def thick():
    world = ab.random_mdp(S, A, H, np.random.default_rng(3))
    counts = np.random.default_rng(4).multinomial(np.full((H, S, A), 400), world.transitions)
    body = ab.OccupancySet(ab.empirical_dynamics(counts), ab.TightConfidence().radius(counts, 1000))
    return ab.geometry.ThickenedSet(body, DELTA)


def test_the_mass_of_a_thickened_point_lies_between_what_the_text_says(thick):
    """H (1 - delta) to H (1 + delta): the second is more than the game of chapter 6 allows."""
    every = np.ones(thick.polytope.ambient_dimension)
    assert every @ thick.polytope.minimize(every) == pytest.approx(H * (1 - DELTA))
    assert every @ thick.polytope.minimize(-every) == pytest.approx(H * (1 + DELTA))


def test_the_perturbation_of_option_2_is_the_formula_of_the_text(thick):
    epsilon = np.random.default_rng(0).random((H, S, A))
    moved = S * DELTA * H * (H + 1) / 2
    expected = epsilon[thick.body.cells] + moved * (1 + epsilon.max()) / (H * (1 - DELTA))
    np.testing.assert_allclose(thick.epsilon(epsilon), np.repeat(expected, S))


def test_up_to_six_places_plain_blocks_take_fewer_multiplications():
    """Blocks of S³/2, only added into M, against 13 S for the vectors and 3/2 S² for the products."""
    cheaper = [places for places in range(2, 20) if places**3 / 2 < 13 * places + 1.5 * places**2]
    assert cheaper == [2, 3, 4, 5, 6]


def test_for_one_equation_the_sampler_is_that_of_a_lifted_set():
    """Directions orthogonal to H^{-1/2} c, mapped by H^{-1/2}, have the covariance of the theorem."""
    rng = np.random.default_rng(1)
    root = rng.standard_normal((5, 5))
    metric, c = root @ root.T + np.eye(5), rng.standard_normal(5)
    values, vectors = np.linalg.eigh(metric)
    half = (vectors / np.sqrt(values)) @ vectors.T
    normal = half @ c / np.linalg.norm(half @ c)
    lifted = half @ (np.eye(5) - np.outer(normal, normal)) @ half
    G = np.linalg.inv(metric)
    ours = G - np.outer(G @ c, G @ c) / (c @ G @ c)
    np.testing.assert_allclose(lifted, ours, atol=1e-12)
