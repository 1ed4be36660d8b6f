"""The log barrier against finite differences, closed forms and an interior-point solver."""

import cvxpy as cp
import numpy as np
import pytest

import aggbandit as ab
from aggbandit.geometry import box, cross_polytope


def random_polytope(rng: np.random.Generator, n: int, p: int = 0) -> ab.Polytope:
    """A polytope of dimension n in n + p coordinates, around a point that is not the origin."""
    D = n + p
    A = rng.normal(size=(D + 4, D))
    A = np.vstack([A, -A.sum(axis=0)])
    inside = rng.normal(size=D)
    C = rng.normal(size=(p, D))
    equalities = (C, C @ inside) if p else (None, None)
    return ab.Polytope(A, A @ inside + rng.uniform(0.2, 2, len(A)), *equalities)


def inner_points(body: ab.Polytope, rng: np.random.Generator, count: int) -> np.ndarray:
    """Mixtures of the vertices, from the middle to a thousandth of the way from the boundary."""
    corners = body.vertices()
    alphas = rng.choice([0.1, 1, 10], count)
    weights = np.array([rng.dirichlet(np.full(len(corners), alpha)) for alpha in alphas])
    return 0.999 * weights @ corners + 0.001 * corners.mean(axis=0)


def cases(rng: np.random.Generator) -> list[ab.Polytope]:
    ready_made = [
        ab.simplex(2),
        ab.simplex(5),
        box([0, -1], [1, 3]),
        cross_polytope(3),
    ]
    polygons = [ab.regular_polygon(7), ab.random_polygon(4, rng)]
    return ready_made + polygons + [random_polytope(rng, n, p) for n, p in ((3, 0), (2, 2), (4, 1))]


def test_gradient_and_hessian_are_the_derivatives_of_the_value(rng):
    for body in cases(rng):
        barrier = ab.LogBarrier(body)
        for x in inner_points(body, rng, 3):
            ellipsoid = barrier.dikin(x)
            for v in body.basis.T:
                v = v / ellipsoid.norm(v)
                t = 1e-4
                slope = (barrier.value(x + t * v) - barrier.value(x - t * v)) / (2 * t)
                assert barrier.gradient(x) @ v == pytest.approx(slope, abs=1e-6)
                change = (barrier.gradient(x + t * v) - barrier.gradient(x - t * v)) / (2 * t)
                scale = np.abs(barrier.hessian(x) @ v).max()
                np.testing.assert_allclose(barrier.hessian(x) @ v, change, atol=1e-6 * scale)


def test_theta_is_the_barrier_parameter(rng):
    for body in cases(rng):
        barrier = ab.LogBarrier(body)
        assert barrier.theta == len(body.b)
        for x in inner_points(body, rng, 20):
            assert barrier.dikin(x).dual_norm(barrier.gradient(x)) ** 2 <= barrier.theta * (1 + 1e-12)
    # along a ray into a corner with n walls the quadratic form tends to n, which no parameter below n covers
    barrier = ab.LogBarrier(box(np.zeros(3), np.ones(3)))
    x = np.full(3, 1e-6)
    assert barrier.dikin(x).dual_norm(barrier.gradient(x)) ** 2 == pytest.approx(3, rel=1e-5)


def test_it_is_self_concordant(rng):
    for body in cases(rng):
        barrier = ab.LogBarrier(body)
        for x in inner_points(body, rng, 10):
            v = body.basis @ rng.normal(size=body.dimension)
            ratio = body.A @ v / body.slacks(x)
            third, second = 2 * (ratio**3).sum(), (ratio**2).sum()
            t = 1e-4 / np.sqrt(second)
            measured = (barrier.hessian(x + t * v) - barrier.hessian(x - t * v)) / (2 * t)
            assert v @ measured @ v == pytest.approx(third, abs=1e-5 * second**1.5)
            assert abs(third) <= 2 * second**1.5


def test_bregman_is_its_definition_and_keeps_its_digits(rng):
    for body in cases(rng):
        barrier = ab.LogBarrier(body)
        for y, x in zip(inner_points(body, rng, 5), inner_points(body, rng, 5), strict=True):
            direct = barrier.value(y) - barrier.value(x) - barrier.gradient(x) @ (y - x)
            assert barrier.bregman(y, x) == pytest.approx(direct, rel=1e-9, abs=1e-9)
        x = body.interior_point
        v = body.basis[:, 0] / barrier.dikin(x).norm(body.basis[:, 0])
        # half the squared local norm, which the three terms of the definition lose to cancellation
        assert barrier.bregman(x + 1e-7 * v, x) == pytest.approx(0.5e-14, rel=1e-5)
        assert barrier.bregman(x, x) == 0


def minimizer_by_cvxpy(body: ab.Polytope, linear: np.ndarray) -> np.ndarray:
    x = cp.Variable(body.ambient_dimension)
    equalities = [body.C @ x == body.d] if len(body.C) else []
    problem = cp.Problem(cp.Minimize(linear @ x - cp.sum(cp.log(body.b - body.A @ x))), equalities)
    problem.solve(solver=cp.CLARABEL)
    return x.value


def test_centers_and_minimizers_are_those_of_an_interior_point_solver(rng):
    for body in cases(rng):
        barrier = ab.LogBarrier(body)
        center = barrier.analytic_center()
        assert barrier.dikin(center).dual_norm(barrier.gradient(center)) < 1e-9
        assert barrier.dikin(center).norm(center - minimizer_by_cvxpy(body, np.zeros(len(center)))) < 1e-4
        for size in (1, 30):
            linear = size * rng.normal(size=body.ambient_dimension)
            assert barrier.minimize(linear, center).decrement <= 1e-8
            step = barrier.minimize(linear, center, tolerance=1e-9)
            assert step.decrement <= 1e-9
            assert step.dikin.norm(step.x - minimizer_by_cvxpy(body, linear)) < 1e-3


def test_the_center_of_known_sets(rng):
    np.testing.assert_allclose(ab.LogBarrier(ab.simplex(4)).analytic_center(), 0.25, atol=1e-12)
    np.testing.assert_allclose(ab.LogBarrier(box([0, 1], [2, 5])).analytic_center(), [1, 3], atol=1e-12)
    np.testing.assert_allclose(ab.LogBarrier(cross_polytope(3)).analytic_center(), 0, atol=1e-12)
    # repeating a wall moves the center away from it: x = argmin -2 log x - log(1 - x) = 2/3
    doubled = ab.LogBarrier(ab.Polytope([[1.0], [-1], [-1]], [1.0, 0, 0]))
    np.testing.assert_allclose(doubled.analytic_center(), 2 / 3, atol=1e-12)
    barrier = ab.LogBarrier(ab.random_polygon(5, rng))
    assert barrier.analytic_center() is barrier.analytic_center()
    with pytest.raises(ValueError, match="read-only"):
        barrier.analytic_center()[0] = 0


def test_the_mirror_step_undoes_the_gradient_along_the_slice(rng):
    for body in cases(rng):
        barrier = ab.LogBarrier(body)
        for x in inner_points(body, rng, 3):
            g = 0.3 * barrier.hessian(x) @ body.basis @ rng.normal(size=body.dimension)
            step = barrier.mirror_step(x, g)
            # grad R(x') = grad R(x) - g along the slice: the printed update plus the projection
            residual = barrier.gradient(step.x) - barrier.gradient(x) + g
            assert step.dikin.dual_norm(residual) < 1e-7
            np.testing.assert_allclose(body.C @ step.x, body.d, atol=1e-12)
            same = barrier.minimize(g - barrier.gradient(x), x)
            np.testing.assert_array_equal(step.x, same.x)
            still = barrier.mirror_step(x, np.zeros_like(x))
            assert still.iterations == 0
            np.testing.assert_array_equal(still.x, x)


def test_the_step_of_the_two_armed_game_has_a_closed_form():
    barrier = ab.LogBarrier(ab.simplex(2))
    for slope in (-1e7, -30.0, -0.1, 0.2, 5.0, 1e4):
        # -1/p + 1/(1-p) + slope = 0
        p = (
            2 / (2 + slope + np.sqrt(4 + slope**2))
            if slope > 0
            else 1 - 2 / (2 - slope + np.sqrt(4 + slope**2))
        )
        x = barrier.minimize(np.array([slope, 0]), barrier.analytic_center()).x
        np.testing.assert_allclose(x, [p, 1 - p], rtol=1e-8)


def test_far_targets_thin_sets_and_small_ones(rng):
    squeeze = np.array([[0.6, -0.8e-6], [0.8, 0.6e-6]])  # aspect 1e6, turned
    round_ = ab.random_polygon(6, rng)
    flat = ab.Polytope(round_.A @ np.linalg.inv(squeeze), round_.b)
    sliver = ab.Polytope([[1, 0], [-0.5e-6, 1], [-0.5e-6, -1]], [1, 0, 0])
    for body in (
        round_,
        flat,
        sliver,
        box([1e-9, 1e-9], [2e-9, 3e-9]),
        ab.simplex(5),
        cross_polytope(4),
    ):
        barrier, linear = ab.LogBarrier(body), rng.normal(size=body.ambient_dimension)
        linear /= np.ptp(body.vertices() @ linear)
        for size in (10, 1e3, 1e6):
            step = barrier.minimize(size * linear, barrier.analytic_center())
            assert (body.slacks(step.x) > 0).all()
            assert step.decrement < 1e-3 * size / 1e6 + 1e-8  # what rounding leaves grows with the slope
            # a known gap: at the minimizer of R + linear·x, linear is within theta of its least value
            gap = size * linear @ (step.x - body.minimize(linear))
            assert 0 < gap <= barrier.theta * (1 + 1e-2)
    # both descriptions of the squeezed set have the same minimizers
    for slope in ([1.0, 2], [-30, 5]):
        there = ab.LogBarrier(flat).minimize(np.linalg.solve(squeeze.T, slope), flat.interior_point).x
        here = ab.LogBarrier(round_).minimize(np.array(slope), round_.interior_point).x
        np.testing.assert_allclose(np.linalg.solve(squeeze, there), here, atol=1e-8)


def test_steps_are_damped_until_newtons_method_converges_quadratically(rng):
    barrier = ab.LogBarrier(ab.random_polygon(6, rng))
    center = barrier.analytic_center()
    far = barrier.minimize(np.array([1e6, 0]), center)
    assert 0 < far.damped < far.iterations < 60
    direction = barrier.hessian(center) @ [1, 0] / barrier.dikin(center).norm([1, 0])
    near = barrier.minimize(0.1 * direction, center)
    assert near.damped == 0
    assert near.iterations <= 4
    # one damped step, by hand: along the Newton direction, shortened by one plus the decrement
    linear = 3 * direction
    E = barrier.dikin(center)
    step = E.newton_step(barrier.gradient(center) + linear)
    moved = center + step / (1 + E.norm(step))
    start = barrier.value(center) + linear @ center
    fall = E.norm(step) - np.log1p(E.norm(step))
    assert barrier.value(moved) + linear @ moved <= start - fall + 1e-12
    rest = barrier.minimize(linear, moved)
    assert barrier.minimize(linear, center).iterations == rest.iterations + 1


def test_beyond_double_precision_it_says_so():
    narrow = ab.LogBarrier(box([0, 1], [1, 1 + 1e-6]))
    with pytest.raises(ab.geometry.NoMinimizer, match="too close to a wall for double precision"):
        narrow.minimize(np.array([0, -1e25]), narrow.analytic_center())


def test_affine_maps_carry_everything_along(rng):
    for body in cases(rng):
        D = body.ambient_dimension
        M, shift = rng.normal(size=(D, D)) + 2 * np.eye(D), rng.normal(size=D)
        inverse = np.linalg.inv(M)  # y = M x + shift
        equalities = (body.C @ inverse, body.d + body.C @ inverse @ shift) if len(body.C) else (None, None)
        image = ab.Polytope(body.A @ inverse, body.b + body.A @ inverse @ shift, *equalities)
        here, there = ab.LogBarrier(body), ab.LogBarrier(image)
        np.testing.assert_allclose(there.analytic_center(), M @ here.analytic_center() + shift, atol=1e-9)
        x, y = inner_points(body, rng, 2)
        assert there.value(M @ x + shift) == pytest.approx(here.value(x), abs=1e-9)
        assert there.bregman(M @ y + shift, M @ x + shift) == pytest.approx(here.bregman(y, x), rel=1e-8)
        g = rng.normal(size=D)
        there_x = there.mirror_step(M @ x + shift, g @ inverse).x
        np.testing.assert_allclose(there_x, M @ here.mirror_step(x, g).x + shift, atol=1e-7)


def test_rounding_does_not_carry_iterates_off_the_slice(rng):
    body = random_polytope(rng, 2, 2)
    barrier = ab.LogBarrier(body)
    x, total = barrier.analytic_center(), np.zeros(4)
    for _ in range(2000):
        total = total + 0.1 * rng.normal(size=4)
        x = barrier.minimize(total, x).x
    assert np.abs(body.C @ x - body.d).max() < 1e-12
    # a start that is off by rounding is mended
    off = barrier.analytic_center() + 1e-11 * body.C[0]
    assert (
        np.abs(body.C @ barrier.minimize(total, off).x - body.d).max()
        < 1e-13 * (1 + np.abs(body.d).max()) * 4
    )


def test_a_step_that_goes_nowhere_is_a_point_of_its_own():
    barrier = ab.LogBarrier(ab.simplex(3))
    x = np.array([0.2, 0.3, 0.5])
    step = barrier.mirror_step(x, np.zeros(3))
    x[:] = 0
    np.testing.assert_array_equal(step.x, [0.2, 0.3, 0.5])


def test_bad_points_are_named():
    barrier = ab.LogBarrier(ab.simplex(3))
    inside = np.array([0.2, 0.3, 0.5])
    for method in (
        barrier.value,
        barrier.gradient,
        barrier.hessian,
        barrier.dikin,
        lambda x: barrier.bregman(x, inside),
        lambda x: barrier.bregman(inside, x),
        lambda x: barrier.minimize(inside, x),
        lambda x: barrier.mirror_step(x, inside),
    ):
        with pytest.raises(ValueError, match=r"inequality 1 has slack -0\.1; every slack must be positive"):
            method([0.6, -0.1, 0.5])
        with pytest.raises(ValueError, match="inequality 0 has slack 0"):
            method([0.0, 0.5, 0.5])
        with pytest.raises(ValueError, match=r"has shape \(2,\); this set's points have shape \(3,\)"):
            method([0.5, 0.5])
        with pytest.raises(ValueError, match=r"\[2\] is nan; every entry must be finite"):
            method([0.5, 0.5, np.nan])
        with pytest.raises(ValueError, match=r"\[0\] is inf"):
            method([np.inf, 0.5, 0.2])
        with pytest.raises(
            ValueError, match=r"is off the slice: C\[0\] @ \w+ is 1 \+0\.1; it may be off by 2"
        ):
            method([0.3, 0.3, 0.5])
    for bad in ([1.0, np.inf, 0], [np.nan, 0, 0]):
        with pytest.raises(ValueError, match=r"linear\[\d\] is (inf|nan)"):
            barrier.minimize(bad, inside)
    with pytest.raises(ValueError, match=r"linear has shape \(4,\)"):
        barrier.minimize(np.ones(4), inside)
    with pytest.raises(ValueError, match=r"g has shape \(\)"):
        barrier.mirror_step(inside, 1.0)
