"""G-optimal designs against their theory, against known ones, and against cvxpy."""

import cvxpy as cp
import numpy as np
import pytest

from aggbandit.learners import g_optimal_design


def norms(points, weights):
    inverse = np.linalg.pinv(points.T @ (weights[:, None] * points), hermitian=True)
    return np.einsum("ni,ij,nj->n", points, inverse, points)


@pytest.mark.parametrize("seed", range(12))
def test_certificate(seed):
    rng = np.random.default_rng(seed)
    n_points, d = int(rng.integers(3, 60)), int(rng.integers(1, 7))
    points = rng.standard_normal((n_points, d)) * 10.0 ** rng.uniform(-3, 3, size=d)
    if seed % 3 == 0:  # not of full rank
        points = points @ rng.standard_normal((d, d + 3))
    design = g_optimal_design(points, tolerance=1e-4)
    assert design.rank == np.linalg.matrix_rank(points)
    assert design.weights.min() >= 0
    assert design.weights.sum() == pytest.approx(1)
    assert norms(points, design.weights).max() == pytest.approx(design.largest_norm, rel=1e-6)
    assert design.rank * (1 - 1e-9) <= design.largest_norm <= 1.0001 * design.rank


def test_whitening_makes_the_moment_the_identity(rng):
    points = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 5))
    design = g_optimal_design(points)
    coordinates = points @ design.whitening
    moment = coordinates.T @ (design.weights[:, None] * coordinates)
    np.testing.assert_allclose(moment, np.eye(3), atol=1e-9)
    np.testing.assert_allclose((coordinates**2).sum(axis=1), norms(points, design.weights), rtol=1e-7)


def test_the_vertices_of_a_simplex_are_measured_alike():
    np.testing.assert_allclose(g_optimal_design(3 * np.eye(5)).weights, 0.2)


def test_points_inside_get_nothing(rng):
    points = np.vstack([np.eye(3), 0.2 * rng.random((10, 3))])
    design = g_optimal_design(points, tolerance=1e-6)
    np.testing.assert_allclose(design.weights[:3], 1 / 3, atol=1e-5)
    assert design.weights[3:].max() < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_against_cvxpy(seed):
    """The same determinant as the D-optimal design of a convex solver (Kiefer and Wolfowitz)."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((15, 3))
    weights = cp.Variable(15, nonneg=True)
    moment = points.T @ cp.diag(weights) @ points
    problem = cp.Problem(cp.Maximize(cp.log_det(moment)), [cp.sum(weights) == 1])
    problem.solve(solver=cp.CLARABEL)
    ours = g_optimal_design(points, tolerance=1e-6).weights
    assert np.linalg.slogdet(points.T @ (ours[:, None] * points))[1] == pytest.approx(problem.value, abs=1e-5)


@pytest.mark.parametrize(
    ("points", "tolerance", "message"),
    [
        (np.zeros((3, 2)), 0.01, "points are all zero"),
        (np.zeros(3), 0.01, r"points has shape \(3,\)"),
        (np.array([[1.0, np.nan]]), 0.01, r"points\[0, 1\] = nan"),
        (np.eye(2), 0.0, r"tolerance is 0\.0"),
    ],
)
def test_bad_input_is_refused(points, tolerance, message):
    with pytest.raises(ValueError, match=message):
        g_optimal_design(points, tolerance)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_a_design_has_no_unit(scale):
    """Squares of very small or large entries must neither vanish nor overflow."""
    points = np.random.default_rng(0).standard_normal((10, 3))
    here, there = g_optimal_design(points), g_optimal_design(scale * points)
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-9)
    np.testing.assert_allclose((scale * points) @ there.whitening, points @ here.whitening, rtol=1e-6)


def test_no_lambda_for_occupancy_measures():
    """Why the paper's lambda is replaced: on points with ||y||_1 = H the least eigenvalue is at most H/d."""
    rng = np.random.default_rng(0)
    policies = np.array([[a, 1 - a, b, 1 - b] for a in (0, 1) for b in (0, 1)], dtype=float)
    for _ in range(20):
        mu = rng.dirichlet(np.ones(4))
        assert np.linalg.eigvalsh(policies.T @ (mu[:, None] * policies))[0] < 1e-12
    assert g_optimal_design(policies).rank == 3
