"""Appendix "Efficient implementation": which of its identities hold on a slice, and what holds instead."""

import numpy as np
import pytest
from scipy.linalg import null_space, sqrtm

import aggbandit as ab


@pytest.fixture(params=[(2, 2, 2), (3, 3, 2)], ids=str)
def instance(request, rng):
    """A set S_i, its barrier at a point, and everything the appendix speaks of, as dense matrices."""
    shape = request.param
    S = shape[1]
    body = ab.OccupancySet(rng.dirichlet(np.ones(S), size=shape), rng.uniform(0.2, 0.8, shape))
    barrier = ab.OccupancyBarrier(body)
    x = barrier.minimize(8 * rng.standard_normal(body.shape), body.interior_point()).x
    at = np.zeros(body.shape, dtype=bool)
    at[body.cells] = True
    at = at.ravel()
    H = barrier.hessian(x)[np.ix_(at, at)]
    units = np.eye(at.sum())
    C = np.array([equation(body, at, unit) for unit in units]).T
    return body, barrier, x, at, H, null_space(C), len(C)


def equation(body, at, unit):
    """C times a unit vector, straight from the definition of start and flow."""
    table = np.zeros(body.shape)
    table.ravel()[at] = unit
    out, into = table.sum(axis=(2, 3)), table.sum(axis=(1, 2))
    return np.concatenate([[out[0, body.initial_state]], (out[1:] - into[:-1]).ravel()])


def root(M, power):
    values, vectors = np.linalg.eigh(M)
    return (vectors * values**power) @ vectors.T


def test_the_printed_square_roots_do_not_commute_with_the_slice(instance):
    """W'H^{-1/2}W >= (W'HW)^{-1/2} and W'H^{1/2}W <= (W'HW)^{1/2}, printed as equalities, both strict
    here."""
    *_, H, W, _ = instance
    G = W.T @ H @ W
    larger = W.T @ root(H, -0.5) @ W - root(G, -0.5)
    smaller = root(G, 0.5) - W.T @ root(H, 0.5) @ W
    for gap in (larger, smaller):
        values = np.linalg.eigvalsh(gap)
        assert values.min() >= -1e-9 * np.abs(values).max()
        assert values.max() > 1e-3
    assert np.allclose(sqrtm(G).real, root(G, 0.5), rtol=1e-6)


def test_the_printed_sample_is_outside_the_ellipsoid_on_average(instance):
    """E||y - x||_x² = tr(A G A)/n with A = W'H^{-1/2}W, above one; the corrected sample has norm one
    always."""
    body, barrier, x, at, H, W, _ = instance
    n = barrier.dimension
    G, A = W.T @ H @ W, W.T @ root(H, -0.5) @ W
    assert np.trace(A @ G @ A) / n > 1.001
    u = np.random.default_rng(1).standard_normal(n)
    u /= np.linalg.norm(u)
    corrected = np.zeros(body.shape)
    corrected.ravel()[at] = W @ root(G, -0.5) @ u
    assert barrier.dikin(x).norm(corrected) == pytest.approx(1, rel=1e-8)


def test_the_printed_factor_counts_equations_and_the_right_one_the_dimension(instance):
    """p equations leave a slice of dimension n = d - p; the two are different numbers."""
    _, barrier, _, at, _, W, p = instance
    assert W.shape[1] == barrier.dimension == at.sum() - p
    assert p != barrier.dimension


def test_the_printed_estimator_is_biased_and_the_corrected_one_is_not(instance):
    """Averaged over u, W' of the printed estimate is (p/n) W'H^{1/2}W W'H^{-1/2}W W'l, which is not W'l."""
    _, barrier, _, at, H, W, p = instance
    n = barrier.dimension
    loss = np.random.default_rng(2).random(at.sum())
    A, root_H = W.T @ root(H, -0.5) @ W, W.T @ root(H, 0.5) @ W
    printed = p * root_H @ A.T @ W.T @ loss / n
    assert np.linalg.norm(printed - W.T @ loss) > 0.1 * np.linalg.norm(loss)
    # n (l·(x + v)) H v with v = W G^{-1/2} u, averaged over u: E[uu'] = I/n.
    V = W @ root(W.T @ H @ W, -0.5)
    corrected = W.T @ H @ V @ V.T @ loss
    np.testing.assert_allclose(corrected, W.T @ loss, atol=1e-8)


def test_the_full_dual_norm_of_the_estimate(instance):
    """H(y - x) has full dual norm one; W G^{1/2} u, equal on the slice, has a larger one."""
    *_, H, W, _ = instance
    G = W.T @ H @ W
    u = np.random.default_rng(3).standard_normal(len(G))
    u /= np.linalg.norm(u)
    ours, other = H @ W @ root(G, -0.5) @ u, W @ root(G, 0.5) @ u
    np.testing.assert_allclose(W.T @ ours, W.T @ other, atol=1e-8 * np.abs(ours).max())
    assert np.sqrt(ours @ np.linalg.solve(H, ours)) == pytest.approx(1, rel=1e-8)
    assert np.sqrt(other @ np.linalg.solve(H, other)) > 1.001


def test_off_the_slice_the_barrier_has_no_minimizer(instance):
    """The inequalities describe a cone: R(cx) = R(x) - theta log c falls without end."""
    _, barrier, x, *_ = instance
    for c in (0.5, 2.0, 1e3):
        assert barrier.value(c * x) == pytest.approx(barrier.value(x) - barrier.theta * np.log(c), rel=1e-9)


def test_the_l1_constraint_is_exponentially_many_inequalities_without_lifting(rng):
    """Since sum r = 0, sum |r| = 2 max over sets T of r(T): 2^S - 2 inequalities in x, against 2S + 1 with
    t."""
    for S in (2, 3, 4):
        r = rng.standard_normal(S)
        r -= r.mean()
        sets = [np.array([mask >> j & 1 for j in range(S)]) for mask in range(1, 2**S - 1)]
        assert len(sets) == 2**S - 2
        assert 2 * max(r @ T for T in sets) == pytest.approx(np.abs(r).sum())


def test_the_ellipsoid_is_the_shadow_of_the_lifted_one(rng):
    """Minimizing t out shrinks no direction of x: {v : v'H v <= 1} = {v : some w has (v,w)'F''(v,w) <= 1}."""
    P_hat, radius = np.array([0.5, 0.3, 0.2]), 0.5
    x = 0.4 * np.array([0.45, 0.33, 0.22])
    body = ab.OccupancySet(np.tile(P_hat, (1, 3, 1, 1)), np.full((1, 3, 1), radius))
    table = np.zeros((1, 3, 1, 3))
    table[0, 0, 0] = x
    at = slice(0, 3)
    H = ab.OccupancyBarrier(body).hessian(table)[at, at] - np.diag(1 / x**2)
    J = np.eye(3) - np.outer(P_hat, np.ones(3))
    A = np.block([[-J, np.eye(3)], [J, np.eye(3)], [np.full((1, 3), radius), np.full((1, 3), -1.0)]])
    r, t = J @ x, None
    sigma = ab.OccupancyBarrier(body).dikin(table).wall.sigma[0]
    t = sigma + np.hypot(sigma, r)
    slack = A @ np.concatenate([x, t])
    full = A.T @ (A / slack[:, None] ** 2)
    np.testing.assert_allclose((A.T @ (1 / slack))[3:], 0, atol=1e-8)  # t is the minimizer
    for v in rng.standard_normal((20, 3)):
        w = -np.linalg.solve(full[3:, 3:], full[3:, :3] @ v)
        both = np.concatenate([v, w])
        assert v @ H @ v == pytest.approx(both @ full @ both, rel=1e-8)


def test_a_vacuous_constraint_would_still_move_the_center():
    """Kept with a radius that excludes nothing, a wall changes the barrier: it must be left out, and is."""
    P_hat = np.tile([0.7, 0.3], (1, 2, 1, 1))
    vacuous, unseen = np.full((1, 2, 1), 1.41), np.full((1, 2, 1), np.inf)
    left_out = [ab.OccupancyBarrier(ab.OccupancySet(P_hat, radius)) for radius in (vacuous, unseen)]
    assert left_out[0].theta == left_out[1].theta == 2
    np.testing.assert_allclose(*(b.analytic_center() for b in left_out), atol=1e-9)
    kept = ab.OccupancyBarrier(ab.OccupancySet(P_hat, np.full((1, 2, 1), 1.39)))
    assert kept.theta == 2 + 5
    assert np.abs(kept.analytic_center() - left_out[0].analytic_center()).max() > 0.02


def test_option_2_needs_both_sides_of_each_equation():
    """-log(delta - |v|) has slopes ±1/delta at v = 0, just where the center lies; two smooth terms have a
    parameter."""
    delta, h = 1e-3, 1e-9
    printed = lambda v: -np.log(delta - abs(v))  # noqa: E731
    right, left = (printed(h) - printed(0)) / h, (printed(0) - printed(-h)) / h
    assert right - left == pytest.approx(2 / delta, rel=1e-3)
    v = np.linspace(-0.999, 0.999, 1999) * delta
    first = 1 / (delta - v) - 1 / (delta + v)
    second = 1 / (delta - v) ** 2 + 1 / (delta + v) ** 2
    third = 2 / (delta - v) ** 3 - 2 / (delta + v) ** 3
    assert (np.abs(third) <= 2 * second**1.5 * (1 + 1e-12)).all()
    assert (first**2 <= 2 * second * (1 + 1e-12)).all()
