"""The set of plausible occupancy measures, its barrier and its Dikin ellipsoid, against independent
routes."""

from decimal import Decimal, localcontext
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import null_space

import aggbandit as ab
from aggbandit.geometry.occupancy_barrier import OccupancyDikin, _smallest_auxiliary

SHAPES = [(3, 3, 2), (2, 2, 2), (1, 3, 2), (3, 1, 2), (4, 3, 1), (3, 4, 2)]


def random_set(shape, rng, unseen=0.2):
    """A set with constrained, vacuous and unseen cells; the initial state is not the first one."""
    n_states = shape[1]
    P_hat = rng.dirichlet(np.ones(n_states), size=shape)
    radius = rng.uniform(0.1, 0.8, shape)
    radius[rng.random(shape) < unseen] = np.inf
    return ab.OccupancySet(P_hat, radius, initial_state=n_states - 1)


def interior(body, rng):
    """A point strictly inside, on the slice, and nowhere special."""
    barrier = ab.OccupancyBarrier(body)
    return 0.4 * body.interior_point() + 0.6 * barrier.dikin(body.interior_point()).sample(rng)


def coordinates(body):
    """The coordinates that can have mass, as a mask of the raveled table."""
    mask = np.zeros(body.shape, dtype=bool)
    mask[body.cells] = True
    return mask.ravel()


def equations(body):
    """The rows of start and flow, built entry by entry from their definition, on the coordinates."""
    horizon, n_states, _, _ = body.shape
    rows = []
    start = np.zeros(body.shape)
    start[0, body.initial_state] = 1
    rows.append(start)
    for h in range(1, horizon):
        for s in range(n_states):
            row = np.zeros(body.shape)
            row[h, s] = 1
            row[h - 1, :, :, s] -= 1
            rows.append(row)
    return np.array([row.ravel()[coordinates(body)] for row in rows])


@pytest.fixture(params=SHAPES, ids=str)
def body(request, rng):
    return random_set(request.param, rng)


# --- the set
# --------------------------------------------------------------------------------------------------


def test_dimension_is_coordinates_minus_independent_equations(body):
    C = equations(body)
    assert np.linalg.matrix_rank(C) == len(C)
    assert body.dimension == C.shape[1] - len(C)


def test_the_dimensions_of_the_running_examples():
    def dimension(H, S, A):
        return ab.OccupancySet(np.full((H, S, A, S), 1 / S), np.full((H, S, A), np.inf)).dimension

    assert dimension(3, 3, 2) == 35
    assert dimension(2, 2, 2) == 9


def test_a_constraint_is_left_out_exactly_when_no_distribution_violates_it(rng):
    P_hat = rng.dirichlet(np.ones(4), size=(1, 4, 2))
    farthest = np.abs(np.eye(4)[None, None, None] - P_hat[..., None, :]).sum(axis=-1).max(axis=-1)
    for factor, constrained in ((1 - 1e-9, True), (1 + 1e-9, False)):
        assert (ab.OccupancySet(P_hat, factor * farthest).constrained == constrained).all()
    assert not ab.OccupancySet(P_hat, np.full((1, 4, 2), np.inf)).constrained.any()


def test_the_interior_point_is_inside_every_inequality(body):
    x = body.interior_point()
    body.check(x, tolerance=1e-14)
    assert (x[body.cells] > 0).all()
    assert (body.excess(x)[body.cells] < -1e-3 * x[body.cells].sum(axis=-1)).all()


def test_check_names_the_first_violated_condition(rng):
    body = ab.OccupancySet(np.full((2, 2, 1, 2), 0.5), np.full((2, 2, 1), 0.2))
    x = body.interior_point()
    body.check(x)
    assert body.contains(x)
    off = x.copy()
    off[0, 0, 0] = [0.9, 0.1]
    off[1, 0, 0], off[1, 1, 0] = 0.45, 0.05
    with pytest.raises(
        ValueError, match=r"radius fails at x\[0, 0, 0\]: .* 0\.8 away .* radius\[0, 0, 0\] is 0\.2"
    ):
        body.check(off)
    assert not body.contains(off)
    off = x.copy()
    off[1, 0] *= 1.1
    with pytest.raises(ValueError, match="flow fails at step 1, state 0"):
        body.check(off)
    with pytest.raises(ValueError, match=r"x has shape \(2, 2, 1\)"):
        body.check(x[..., 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radius": np.zeros((1, 2, 1))}, r"radius\[0, 0, 0\] is 0.0; it must be positive"),
        ({"radius": np.full((1, 2, 1), np.nan)}, r"radius\[0, 0, 0\] is nan"),
        ({"radius": np.ones((1, 2, 2))}, r"radius has shape \(1, 2, 2\)"),
        ({"P_hat": np.full((1, 2, 1, 2), 0.4)}, r"P_hat\[0, 0, 0\] sums to 0.8; each row must sum to one"),
        ({"P_hat": np.full((1, 2, 2), 0.5)}, r"P_hat has shape"),
        ({"initial_state": 2}, "initial_state is 2; it must be a state 0..1"),
    ],
)
def test_a_set_that_is_none_is_refused(change, message):
    arguments = {"P_hat": np.full((1, 2, 1, 2), 0.5), "radius": np.ones((1, 2, 1)), "initial_state": 0}
    with pytest.raises(ValueError, match=message):
        ab.OccupancySet(**(arguments | change))


def test_rows_that_were_never_seen_are_ignored():
    P_hat = np.zeros((1, 2, 1, 2))
    body = ab.OccupancySet(P_hat, np.full((1, 2, 1), np.inf))
    body.check(body.interior_point())


# --- the barrier
# ----------------------------------------------------------------------------------------------


def lifted(x, P_hat, radius):
    """One cell's L1 term by brute force: the log barrier in (x, t), minimized over t by Newton's method.

    Returns its value, and the gradient and the Hessian in x by the Schur complement over t.
    """
    n = len(x)
    J = np.eye(n) - np.outer(P_hat, np.ones(n))
    # Slacks are linear: t - r, t + r, w X - sum t.
    A = np.block([[-J, np.eye(n)], [J, np.eye(n)], [np.full((1, n), radius), np.full((1, n), -1.0)]])
    r = J @ x
    t = np.abs(r) + (radius * x.sum() - np.abs(r).sum()) / (2 * n + 1)
    for _ in range(200):
        slack = A @ np.concatenate([x, t])
        gradient = -A.T @ (1 / slack)
        hessian = A.T @ (A / slack[:, None] ** 2)
        step = -np.linalg.solve(hessian[n:, n:], gradient[n:])
        decrement = np.sqrt(-gradient[n:] @ step)
        if decrement < 1e-13:
            break
        t = t + step / (1 + decrement if decrement > 0.25 else 1)
    schur = hessian[:n, :n] - hessian[:n, n:] @ np.linalg.solve(hessian[n:, n:], hessian[n:, :n])
    return -np.log(slack).sum(), gradient[:n], schur


def test_the_barrier_is_the_lifted_one_minimized_over_its_auxiliaries(body, rng):
    barrier = ab.OccupancyBarrier(body)
    x = interior(body, rng)
    value, gradient, hessian = 0.0, np.zeros(body.shape), np.zeros(body.shape * 2)
    for c in zip(*body.cells, strict=True):
        value -= np.log(x[c]).sum()
        gradient[c] -= 1 / x[c]
        block = np.diag(1 / x[c] ** 2)
        if body.constrained[c]:
            v, g, H = lifted(x[c], body.P_hat[c], body.radius[c])
            value, gradient[c], block = value + v, gradient[c] + g, block + H
        hessian[(*c, slice(None), *c, slice(None))] = block
    assert barrier.value(x) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(barrier.gradient(x), gradient, rtol=1e-10, atol=1e-10 * np.abs(gradient).max())
    d = hessian.size**0.5
    hessian = hessian.reshape(int(d), int(d))
    np.testing.assert_allclose(barrier.hessian(x), hessian, rtol=1e-9, atol=1e-10 * np.abs(hessian).max())


def test_gradient_and_hessian_are_derivatives(body, rng):
    barrier = ab.OccupancyBarrier(body)
    x = interior(body, rng)
    u = rng.standard_normal(body.shape) * x
    h = 1e-5
    slope = (barrier.value(x + h * u) - barrier.value(x - h * u)) / (2 * h)
    assert slope == pytest.approx(np.vdot(barrier.gradient(x), u), rel=1e-6, abs=1e-6)
    change = (barrier.gradient(x + h * u) - barrier.gradient(x - h * u)) / (2 * h)
    expected = barrier.dikin(x).apply(u)
    np.testing.assert_allclose(change, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(
        barrier.hessian(x) @ u.ravel(), expected.ravel(), atol=1e-9 * np.abs(expected).max()
    )


def exact_bregman(body, y, x):
    """R(y) - R(x) - grad R(x)·(y - x) from its definition, in two hundred digits."""

    def l1(row, P_hat, radius):
        """Value and gradient of one cell's L1 term."""
        S, mass = len(row), sum(row)
        r = [a - p * mass for a, p in zip(row, P_hat, strict=True)]
        sigma = (radius * mass - sum(map(abs, r))) / (S + 1)
        for _ in range(100):
            roots = [(sigma * sigma + a * a).sqrt() for a in r]
            excess = (S + 1) * sigma + sum(roots) - radius * mass
            step = excess / ((S + 1) + sum(sigma / root for root in roots))
            sigma -= step
            if abs(step) < sigma * Decimal("1e-150"):
                break
        t = [sigma + (sigma * sigma + a * a).sqrt() for a in r]
        value = -(S + 1) * sigma.ln() - sum(a.ln() for a in t) - S * Decimal(2).ln()
        pull = [a / (sigma * b) for a, b in zip(r, t, strict=True)]
        shift = sum(a * p for a, p in zip(pull, P_hat, strict=True)) + radius / sigma
        return value, [a - shift for a in pull]

    with localcontext() as context:
        context.prec = 200
        total = Decimal(0)
        for cell in zip(*body.cells, strict=True):
            P_hat, before, after = ([Decimal(float(v)) for v in z[cell]] for z in (body.P_hat, x, y))
            step = [b - a for a, b in zip(before, after, strict=True)]
            total += sum(d / a - (1 + d / a).ln() for a, d in zip(before, step, strict=True))
            if body.constrained[cell]:
                radius = Decimal(float(body.radius[cell]))
                start, gradient = l1(before, P_hat, radius)
                linear = sum(g * d for g, d in zip(gradient, step, strict=True))
                total += l1(after, P_hat, radius)[0] - start - linear
        return float(total)


@pytest.mark.parametrize("distance", [10.0**-k for k in (0.3, 2, 4, 6, 8, 10, 12)])
def test_the_divergence_keeps_its_digits(distance, rng):
    """Nonnegative at any distance, and right up to the rounding of y - x, also from close to a wall."""
    body = random_set((2, 3, 2), rng)
    barrier = ab.OccupancyBarrier(body)
    for reach in (0.5, 0.999):
        center = barrier.dikin(body.interior_point())
        x = (1 - reach) * center.center + reach * center.sample(rng)
        dikin = barrier.dikin(x)
        for _ in range(3):
            y = x + distance * (dikin.sample(rng) - x)
            expected = exact_bregman(body, y, x)
            assert barrier.bregman(y, x) >= 0
            assert barrier.bregman(y, x) == pytest.approx(expected, rel=1e-11 + 1e-14 / distance)
    assert barrier.bregman(x, x) == 0


def test_theta_is_the_squared_length_of_the_gradient(body, rng):
    """grad' H^{-1} grad = theta exactly, since the barrier is logarithmically homogeneous."""
    barrier = ab.OccupancyBarrier(body)
    n_cells, n_walls = len(body.cells[0]), body.constrained[body.cells].sum()
    n_states = body.shape[1]
    assert barrier.theta == n_states * n_cells + (2 * n_states + 1) * n_walls
    at = coordinates(body)
    x = interior(body, rng)
    g = barrier.gradient(x).ravel()[at]
    H = barrier.hessian(x)[np.ix_(at, at)]
    assert g @ np.linalg.solve(H, g) == pytest.approx(barrier.theta, rel=1e-10)
    np.testing.assert_allclose(H @ x.ravel()[at], -g, rtol=1e-9, atol=1e-9 * np.abs(g).max())


def test_the_third_derivative_is_bounded_by_the_second(body, rng):
    """Self-concordance, |D³R[u,u,u]| <= 2 D²R[u,u]^{3/2}, by differences of the second along random
    directions."""
    barrier = ab.OccupancyBarrier(body)
    for _ in range(30):
        x = interior(body, rng)
        u = rng.standard_normal(body.shape) * x
        u /= barrier.dikin(x).norm(u)
        h = 1e-4
        third = (barrier.dikin(x + h * u).norm(u) ** 2 - barrier.dikin(x - h * u).norm(u) ** 2) / (2 * h)
        assert abs(third) <= 2 * (1 + 1e-6)


def test_without_radii_it_is_the_log_barrier_of_a_polytope(rng):
    body = random_set((3, 3, 2), rng, unseen=1.0)
    barrier, at = ab.OccupancyBarrier(body), coordinates(body)
    C = equations(body)
    d = np.zeros(len(C))
    d[0] = 1
    dense = ab.LogBarrier(ab.Polytope(-np.eye(C.shape[1]), np.zeros(C.shape[1]), C, d))
    assert (barrier.theta, barrier.dimension) == (dense.theta, dense.dimension)
    np.testing.assert_allclose(barrier.analytic_center().ravel()[at], dense.analytic_center(), atol=1e-8)
    linear = 5 * rng.standard_normal(body.shape)
    step = barrier.minimize(linear, body.interior_point())
    other = dense.minimize(linear.ravel()[at], dense.analytic_center())
    np.testing.assert_allclose(step.x.ravel()[at], other.x, atol=1e-8)
    e = rng.standard_normal(body.shape)
    assert step.dikin.dual_norm(e) == pytest.approx(other.dikin.dual_norm(e.ravel()[at]), rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_the_minimizer_satisfies_the_optimality_condition(body, rng, scale):
    """On the slice, the gradient of R + linear is a combination of the equations: the condition that has one
    solution."""
    barrier, at = ab.OccupancyBarrier(body), coordinates(body)
    linear = scale * rng.standard_normal(body.shape)
    step = barrier.minimize(linear, body.interior_point())
    body.check(step.x, tolerance=1e-13)
    assert (body.excess(step.x)[body.cells] < 0).all() or not body.constrained.any()
    W = null_space(equations(body))
    residual = W.T @ (barrier.gradient(step.x) + linear).ravel()[at]
    H = W.T @ barrier.hessian(step.x)[np.ix_(at, at)] @ W
    assert np.sqrt(residual @ np.linalg.solve(H, residual)) <= 2e-8
    assert step.decrement <= 1e-8


def test_a_mirror_step_against_cvxpy(rng):
    body = random_set((2, 2, 2), rng, unseen=0.0)
    barrier, at = ab.OccupancyBarrier(body), coordinates(body)
    n_cells, n_states = len(body.cells[0]), body.shape[1]
    x_t = interior(body, rng)
    g = 0.3 * rng.standard_normal(body.shape)
    x, t = cp.Variable((n_cells, n_states)), cp.Variable((n_cells, n_states))
    mass = cp.sum(x, axis=1, keepdims=True)
    r = x - cp.multiply(body.P_hat[body.cells], mass @ np.ones((1, n_states)))
    slack = cp.multiply(body.radius[body.cells][:, None], mass) - cp.sum(t, axis=1, keepdims=True)
    barrier_term = -cp.sum(cp.log(x)) - cp.sum(cp.log(t - r)) - cp.sum(cp.log(t + r)) - cp.sum(cp.log(slack))
    linear = (g - barrier.gradient(x_t))[body.cells]
    C = equations(body)
    d = np.zeros(len(C))
    d[0] = 1
    problem = cp.Problem(
        cp.Minimize(barrier_term + cp.sum(cp.multiply(linear, x))),
        [C @ cp.reshape(x, (at.sum(),), order="C") == d],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    np.testing.assert_allclose(barrier.mirror_step(x_t, g).x[body.cells], x.value, atol=1e-5)


@pytest.mark.parametrize(("radius", "reached"), [(1e-3, 1e-8), (1e-5, 1e-8), (1e-9, 1e-5)])
def test_thin_sets(radius, reached, rng):
    """A million times thinner than long: steps and samples stay inside; at 1e-9 rounding sets the
    decrement."""
    P_hat = rng.dirichlet(np.ones(3), size=(3, 3, 2))
    P_hat[0, 0, 0] = [1, 0, 0]  # and a row at a corner of the simplex
    body = ab.OccupancySet(P_hat, np.full((3, 3, 2), radius))
    barrier = ab.OccupancyBarrier(body)
    step = barrier.minimize(np.zeros(body.shape), body.interior_point())
    dual = np.zeros(body.shape)
    for _ in range(50):
        y = step.dikin.sample(rng)
        assert step.dikin.norm(y - step.x) == pytest.approx(1, rel=1e-5)
        assert (body.excess(y)[body.cells] < 0).all()
        dual = dual + 0.1 * step.dikin.apply(y - step.x)
        step = barrier.minimize(dual, step.x)
        assert step.decrement <= reached
        assert (body.excess(step.x)[body.cells] < 0).all()
    body.check(step.x, tolerance=1e-12)


def test_mirror_descent_and_its_lemma_run_on_it_unchanged(body, rng):
    """The regret of a run is within the three terms of the mirror-descent lemma."""
    barrier = ab.OccupancyBarrier(body)
    losses = rng.standard_normal((40, *body.shape))
    run = ab.mirror_descent(barrier, losses, np.full(40, 0.02))
    assert run.within_lemma
    for _ in range(5):
        u = interior(body, rng)
        bound = run.bound(u)
        assert run.regret(u) <= bound.first + bound.middle + bound.last + 1e-9


def test_points_that_are_not_inside_are_named(rng):
    body = ab.OccupancySet(np.full((1, 2, 2, 2), 0.5), np.full((1, 2, 2), 0.4), initial_state=1)
    barrier = ab.OccupancyBarrier(body)
    x = body.interior_point()
    off = x.copy()
    off[0, 1, 0, 1] = 0.0
    with pytest.raises(ValueError, match=r"x\[0, 1, 0, 1\] is 0; it must be positive inside the set"):
        barrier.value(off)
    off = x.copy()
    off[0, 1, 1] = [0.4, 0.1]
    with pytest.raises(ValueError, match=r"x\[0, 1, 1\] misses its L1 radius by 0\.1"):
        barrier.gradient(off)
    with pytest.raises(ValueError, match=r"linear\[0, 1, 0, 0\] is nan; every entry must be finite"):
        barrier.minimize(np.where(x > 0, [np.nan, 0.0], 0.0), x)
    with pytest.raises(ValueError, match=r"x has shape \(1, 2, 2\)"):
        barrier.dikin(x[..., 0])


# --- the Dikin ellipsoid
# --------------------------------------------------------------------------------------


def test_solves_are_those_of_dense_algebra(body, rng):
    barrier, at = ab.OccupancyBarrier(body), coordinates(body)
    dikin = barrier.dikin(interior(body, rng))
    H = barrier.hessian(dikin.center)[np.ix_(at, at)]
    W = null_space(equations(body))
    covariance = W @ np.linalg.solve(W.T @ H @ W, W.T)
    g = rng.standard_normal(body.shape) / np.maximum(dikin.center, 1e-3)
    step = -covariance @ g.ravel()[at]
    np.testing.assert_allclose(
        dikin.newton_step(g).ravel()[at], step, rtol=1e-10, atol=1e-10 * np.abs(step).max()
    )
    assert dikin.dual_norm(g) == pytest.approx(np.sqrt(-step @ g.ravel()[at]), rel=1e-10)
    v = rng.standard_normal(body.shape)
    assert dikin.norm(v) == pytest.approx(np.sqrt(v.ravel()[at] @ H @ v.ravel()[at]), rel=1e-10)
    # Multiples of the equations do not count.
    shifted = g.copy()
    shifted[body.cells] += (rng.standard_normal(len(equations(body))) @ equations(body)).reshape(
        -1, body.shape[1]
    )
    assert dikin.dual_norm(shifted) == pytest.approx(dikin.dual_norm(g), rel=1e-8)


def test_samples_are_uniform_on_the_ellipsoid_within_the_slice(rng):
    """In coordinates where the ellipsoid is a sphere: length one, mean zero, second moment I/n."""
    body = random_set((2, 2, 2), rng)
    barrier, at = ab.OccupancyBarrier(body), coordinates(body)
    dikin = barrier.dikin(interior(body, rng))
    W = null_space(equations(body))
    root = np.linalg.cholesky(W.T @ barrier.hessian(dikin.center)[np.ix_(at, at)] @ W)
    K, n = 6000, barrier.dimension
    samples = [dikin.sample(rng) for _ in range(K)]
    for y in samples[:50]:
        body.check(y, tolerance=1e-13)
        assert dikin.contains(y)
        assert not dikin.contains(dikin.center + 1.001 * (y - dikin.center))
        assert not dikin.contains(dikin.center * (1 + 1e-6))  # off the slice
    u = np.array([root.T @ W.T @ (y - dikin.center).ravel()[at] for y in samples])
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, rtol=1e-9)
    # Of u_i, mean 0 and variance 1/n; of u_i u_j, at most 3/n².
    assert np.abs(u.mean(axis=0)).max() <= 4 * np.sqrt(1 / (n * K))
    assert np.abs(u.T @ u / K - np.eye(n) / n).max() <= 4.5 * np.sqrt(3 / n**2 / K)


def test_the_estimator_is_unbiased_on_the_slice(body, rng):
    """E[n (l·y) H (y - x)]·e = l·e whenever Ce = 0, with y over ± the axes: they integrate quadratics
    exactly."""
    barrier, at = ab.OccupancyBarrier(body), coordinates(body)
    dikin = barrier.dikin(interior(body, rng))
    W, n = null_space(equations(body)), barrier.dimension
    root = np.linalg.cholesky(W.T @ barrier.hessian(dikin.center)[np.ix_(at, at)] @ W)
    axes = np.zeros((n, *body.shape))
    axes.reshape(n, -1)[:, at] = (W @ np.linalg.inv(root).T).T
    loss = rng.random(body.shape)
    for b in (0.0, 0.7):
        mean = sum(
            n * (np.vdot(loss, dikin.center + v) - b) * dikin.apply(v) for axis in axes for v in (axis, -axis)
        ) / (2 * n)
        np.testing.assert_allclose(W.T @ (mean - loss).ravel()[at], 0, atol=1e-8 * np.abs(mean).max())
    # The full dual norm of the estimate is n |l·y|, on the slice as well.
    y = dikin.center + axes[0]
    assert dikin.dual_norm(dikin.apply(axes[0])) == pytest.approx(1, rel=1e-9)
    body.check(y, tolerance=1e-12)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-5, 1e-6])
def test_a_block_is_inverted_accurately_close_to_its_wall(distance, rng):
    """G u against exact rational arithmetic, on the block as the floating-point numbers define it."""
    P_hat = np.array([0.5, 0.3, 0.2])
    radius = 0.4
    # From the empirical row toward the wall, to this relative distance.
    away = (1 - distance) * radius / 2 * np.array([1.0, -0.6, -0.4])
    x = 0.37 * (P_hat + away)
    body = ab.OccupancySet(np.tile(P_hat, (1, 3, 1, 1)), np.full((1, 3, 1), radius))
    dikin = OccupancyDikin(ab.OccupancyBarrier(body), x[None])
    wall = dikin.wall
    exact = [[Fraction(0)] * 3 for _ in range(3)]
    X, P, m, z = ([Fraction(float(v)) for v in row] for row in (x, P_hat, wall.m[0], wall.z[0]))
    kappa = 1 / Fraction(float(wall.inverse_kappa[0]))
    for i in range(3):
        for j in range(3):
            J = [[Fraction(int(k == c)) - P[k] for c in (i, j)] for k in range(3)]
            exact[i][j] = sum(m[k] * J[k][0] * J[k][1] for k in range(3)) + kappa * z[i] * z[j]
        exact[i][i] += 1 / X[i] ** 2
    u = rng.standard_normal(3)
    solution = np.array([float(v) for v in solve_exactly(exact, [Fraction(float(v)) for v in u])])
    computed = dikin._inverse_times(u[None])[0]
    np.testing.assert_allclose(computed, solution, atol=1e-9 * np.abs(solution).max())


def solve_exactly(matrix, right):
    """Gauss-Jordan over the rationals."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def test_the_root_sigma_solves_its_equation_over_sixteen_orders_of_magnitude(rng):
    distance = 10.0 ** rng.uniform(-12, 0, (200, 4))
    slack = 10.0 ** rng.uniform(-16, 0, 200)
    sigma = _smallest_auxiliary(distance, slack)
    assert (sigma > 0).all()
    left = 5 * sigma + (sigma[:, None] ** 2 / (np.hypot(sigma[:, None], distance) + distance)).sum(axis=1)
    np.testing.assert_allclose(left, slack, rtol=1e-13)


def test_a_set_that_is_a_single_point(rng):
    body = ab.OccupancySet(np.ones((3, 1, 1, 1)), np.full((3, 1, 1), np.inf))
    barrier = ab.OccupancyBarrier(body)
    assert barrier.dimension == 0
    np.testing.assert_allclose(barrier.analytic_center(), np.ones((3, 1, 1, 1)))
    np.testing.assert_allclose(barrier.dikin(body.interior_point()).sample(rng), np.ones((3, 1, 1, 1)))


def test_the_sampler_draws_the_normals_it_promises(rng):
    body = random_set((3, 3, 2), rng)
    barrier = ab.OccupancyBarrier(body)
    one, two = np.random.default_rng(8), np.random.default_rng(8)
    barrier.dikin(body.interior_point()).sample(one)
    two.standard_normal(len(body.cells[0]) * 3)
    assert one.bit_generator.state == two.bit_generator.state


@pytest.mark.parametrize("distance", [1e-1, 1e-4, 1e-7])
def test_the_normals_become_a_square_root_of_the_inverse(rng, distance):
    """L L' = G for every cell, where L is what the sampler does to S normals; also close to an L1 wall."""
    body = random_set((2, 3, 2), rng)
    barrier = ab.OccupancyBarrier(body)
    # From the center almost all the way to the wall.
    center = barrier.analytic_center()
    linear = rng.standard_normal(body.shape)
    far = barrier.minimize(linear / distance, center).x
    dikin = barrier.dikin(far)
    n_cells, n_states = dikin.x.shape
    for j in range(n_states):
        unit = np.zeros((n_cells, n_states))
        unit[:, j] = 1.0
        column = np.zeros_like(unit)
        for k in range(n_states):
            xi = np.zeros_like(unit)
            xi[:, k] = 1.0
            root = dikin._gaussian(xi)
            column += root * root[:, j : j + 1]
        exact = dikin._inverse_times(unit)
        scale = dikin.x * dikin.x[:, j : j + 1]
        np.testing.assert_allclose(column / scale, exact / scale, rtol=0, atol=1e-13)


def test_rounding_does_not_add_up_over_many_steps(rng):
    """Start and flow hold to rounding after two thousand mirror steps, and every iterate is strictly
    inside."""
    body = random_set((2, 2, 2), rng, unseen=0.0)
    barrier = ab.OccupancyBarrier(body)
    x, dual = barrier.analytic_center(), np.zeros(body.shape)
    for _ in range(2000):
        dual = dual + 0.05 * rng.standard_normal(body.shape)
        step = barrier.minimize(dual, x)
        x = step.x
        assert step.decrement <= 1e-8
        assert (x[body.cells] > 0).all()
        assert (body.excess(x)[body.cells] < 0).all()
    body.check(x, tolerance=1e-14)


@pytest.mark.parametrize("radius", [1e-13, 1e-15, 1e-18])
def test_a_set_too_thin_for_double_precision_is_refused_at_once(radius):
    body = ab.OccupancySet(np.full((3, 3, 2, 3), 1 / 3), np.full((3, 3, 2), radius))
    with pytest.raises(ValueError, match=r"radius\[0, 0, 0\] is 1e-1\d; a barrier needs at least 1e-12"):
        ab.OccupancyBarrier(body)


def test_a_decrement_that_rounding_keeps_up_ends_the_search():
    """At a radius of 1e-12 the minimizer is refused after tens of steps, not after ten thousand."""
    body = ab.OccupancySet(
        np.random.default_rng(0).dirichlet(np.ones(3), size=(3, 3, 2)), np.full((3, 3, 2), 1e-12)
    )
    barrier, made = ab.OccupancyBarrier(body), []
    counted = barrier._wall
    barrier._wall = lambda x: made.append(1) or counted(x)
    with pytest.raises(ab.geometry.NoMinimizer, match="rounding keeps the Newton decrement at"):
        barrier.analytic_center()
    assert len(made) < 100


@pytest.mark.parametrize("size", [1e10, 1e12, 1e16, 1e200])
def test_a_minimizer_closer_to_a_wall_than_rounding_is_refused(size):
    """A point that left the set, or a decrement of noise, is never handed out as the minimizer."""
    rng = np.random.default_rng(2)
    body = ab.OccupancySet(rng.dirichlet(np.ones(3), size=(3, 3, 2)), np.full((3, 3, 2), 0.3))
    barrier = ab.OccupancyBarrier(body)
    linear = rng.standard_normal(body.shape)
    step = barrier.minimize(1e7 * linear, body.interior_point())
    assert step.decrement <= 1e-8
    assert (body.excess(step.x)[body.cells] < 0).all()
    with pytest.raises(ab.geometry.NoMinimizer, match="it is too close to a wall for double precision"):
        barrier.minimize(size * linear, body.interior_point())


@pytest.mark.parametrize("state", [0.5, True, 2, -1])
def test_an_initial_state_is_a_state(state):
    with pytest.raises(ValueError, match=r"initial_state is .*; it must be a state 0\.\.1"):
        ab.OccupancySet(np.full((1, 2, 1, 2), 0.5), np.ones((1, 2, 1)), state)


def test_negative_entries_within_the_tolerance_can_violate_a_radius_without_mass():
    body = ab.OccupancySet(np.full((1, 2, 2, 2), 0.5), np.full((1, 2, 2), 0.1))
    x = np.zeros(body.shape)
    x[0, 0, 0] = 0.5
    assert body.contains(x)
    x[0, 0, 1] = [1e-8, -1e-8]
    with pytest.raises(ValueError, match=r"radius fails at x\[0, 0, 1\]"):
        body.check(x)
    assert not body.contains(x)
