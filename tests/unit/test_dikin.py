"""The Dikin ellipsoid: norms, steps, samples and outlines."""

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.geometry import box


def ellipsoids(rng: np.random.Generator, count: int = 4):
    """Ellipsoids at points all over bodies with and without equalities, with the dense Hessian there."""
    A = rng.normal(size=(9, 5))
    A = np.vstack([A, -A.sum(axis=0)])
    sliced = ab.Polytope(A, np.ones(10), rng.normal(size=(2, 5)), np.zeros(2))
    for body in (
        ab.simplex(4),
        box([0, 0], [1, 1e-3]),
        ab.regular_polygon(6),
        ab.random_polygon(5, rng),
        sliced,
    ):
        corners, barrier = body.vertices(), ab.LogBarrier(body)
        for _ in range(count):
            x = rng.dirichlet(np.ones(len(corners))) @ corners
            yield barrier.dikin(x), barrier.hessian(x)


class Given:
    """Stands in for a generator: the next `standard_normal` is this vector."""

    def __init__(self, normal):
        self.normal = normal

    def standard_normal(self, size):
        assert size == len(self.normal)
        return self.normal


def test_norm_and_product_are_those_of_the_hessian(rng):
    for E, H in ellipsoids(rng):
        for v in rng.normal(size=(3, len(E.center))):
            assert E.norm(v) == pytest.approx(np.sqrt(v @ H @ v), rel=1e-10)
            np.testing.assert_allclose(E.apply(v), H @ v, rtol=1e-9, atol=1e-9 * np.abs(H).max())
            assert E.dual_norm(E.apply(E.body.basis @ E.body.basis.T @ v)) == pytest.approx(
                E.norm(E.body.basis @ E.body.basis.T @ v), rel=1e-9
            )


def test_the_dual_norm_is_the_largest_value_on_the_ellipsoid(rng):
    for E, _ in ellipsoids(rng):
        loss = rng.normal(size=len(E.center))
        steps = np.array([E.sample(rng) for _ in range(200)]) - E.center
        values = steps @ loss
        assert values.max() <= E.dual_norm(loss) * (1 + 1e-9)
        best = -E.newton_step(loss)
        assert loss @ best / E.norm(best) == pytest.approx(E.dual_norm(loss), rel=1e-9)
        # on the slice: a combination of the equalities' rows changes nothing
        shifted = loss + E.body.C.T @ rng.normal(size=len(E.body.C))
        assert E.dual_norm(shifted) == pytest.approx(E.dual_norm(loss), rel=1e-9)
        assert E.norm(E.newton_step(loss)) == pytest.approx(E.dual_norm(loss), rel=1e-9)


def test_the_newton_step_solves_the_dense_optimality_conditions(rng):
    for E, H in ellipsoids(rng):
        g, C = rng.normal(size=len(E.center)), E.body.C
        p = len(C)
        dense = np.linalg.solve(np.block([[H, C.T], [C, np.zeros((p, p))]]), np.append(-g, np.zeros(p)))
        step = E.newton_step(g)
        np.testing.assert_allclose(step, dense[: len(g)], atol=1e-8 * np.abs(step).max())
        np.testing.assert_allclose(C @ step, 0, atol=1e-13)


def test_samples_lie_on_the_surface_in_the_slice_and_strictly_inside(rng):
    for E, _ in ellipsoids(rng):
        for _ in range(20):
            y = E.sample(rng)
            assert E.norm(y - E.center) == pytest.approx(1, abs=1e-9)
            assert E.contains(y)
            assert not E.contains(E.center + 1.001 * (y - E.center))
            assert E.contains(E.center + 0.3 * (y - E.center))
            np.testing.assert_allclose(E.body.C @ y, E.body.d, atol=1e-12)
            assert (E.body.slacks(y) > 0).all()
        assert not E.contains(np.full_like(E.center, np.nan))


def test_samples_are_uniform(rng):
    """Exactly: the normal before scaling is a linear image of xi with covariance W (W'HW)^-1 W'.

    The image of xi = e_i has local norm sqrt(P_ii), P the projection on the slacks' possible changes. A
    normal with that covariance has a spherical law in the local norm, so scaled to norm one it is uniform.
    """
    for E, H in ellipsoids(rng):
        W, m = E.body.basis, E.body.n_inequalities
        inverse = W @ np.linalg.inv(W.T @ H @ W) @ W.T
        rows = E.body.A / E.slacks[:, None]
        covariance = np.zeros_like(H)
        for i, e in enumerate(np.eye(m)):
            v = E.sample(Given(e)) - E.center
            covariance += (rows[i] @ inverse @ rows[i]) * np.outer(v, v)
        np.testing.assert_allclose(covariance, inverse, atol=1e-8 * np.abs(inverse).max())
        # and it is linear before scaling: opposite and rescaled normals give opposite and equal points
        xi = rng.normal(size=m)
        v = E.sample(Given(xi)) - E.center
        np.testing.assert_allclose(E.sample(Given(-3 * xi)) - E.center, -v, atol=1e-9 * np.abs(v).max())


def test_second_moments_by_monte_carlo(rng):
    E, _ = next(iter(ellipsoids(rng, 1)))
    n, draws = E.body.dimension, 20_000
    steps = np.array([E.sample(rng) for _ in range(draws)]) - E.center
    u = steps @ E.body.basis @ np.triu(E.qr[:n]).T  # coordinates in which the ellipsoid is the unit sphere
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, atol=1e-9)
    mean, second = u.mean(axis=0), u.T @ u / draws
    spread = np.sqrt(np.array([[np.var(u[:, i] * u[:, j]) for j in range(n)] for i in range(n)]) / draws)
    assert (np.abs(mean) <= 4 * u.std(axis=0) / np.sqrt(draws)).all()
    assert (np.abs(second - np.eye(n) / n) <= 4 * spread).all()


def test_sampling_takes_one_normal_an_inequality_and_follows_affine_maps(rng):
    body = ab.random_polygon(5, rng)
    M, shift = rng.normal(size=(2, 2)), rng.normal(size=2)
    image = ab.Polytope(body.A @ np.linalg.inv(M), body.b + body.A @ np.linalg.inv(M) @ shift)
    x = 0.4 * body.vertices()[0]
    here, there, plain = (np.random.default_rng(5) for _ in range(3))
    y = ab.LogBarrier(body).dikin(x).sample(here)
    np.testing.assert_allclose(
        ab.LogBarrier(image).dikin(M @ x + shift).sample(there), M @ y + shift, atol=1e-9
    )
    plain.standard_normal(5)
    assert plain.random() == here.random() == there.random()


def test_a_sample_that_rounding_puts_on_a_wall_is_refused():
    E = ab.LogBarrier(box([0.0], [1.0])).dikin([1e-17])
    with pytest.raises(ab.geometry.NoMinimizer, match=r"on wall 1: the center's slack there is 1e-17"):
        E.sample(Given(np.array([1.0, 1.0])))


def test_axes_and_outlines(rng):
    for E, _ in ellipsoids(rng):
        n = E.body.dimension
        axes = E.axes()
        assert axes.shape == (n, len(E.center))
        gram = axes @ axes.T
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10 * gram.max())
        assert (np.diff(np.diag(gram)) <= 1e-12 * gram.max()).all()
        for u in rng.normal(size=(5, n)):
            assert E.norm(u @ axes) == pytest.approx(np.linalg.norm(u), rel=1e-9)
        plane = E.body.basis[:, :2].T
        curve = E.boundary(plane, 17)
        assert curve.shape == (17, len(E.center))
        assert [E.norm(y - E.center) for y in curve] == pytest.approx([1] * 17)
        np.testing.assert_array_equal(curve[0], curve[-1])
        if n == 2:
            # the outline alone: the same curve, whichever directions span the plane
            assert E.boundary(n_points=9).shape == (9, len(E.center))
            assert all(
                E.norm(y - E.center) == pytest.approx(1) for y in E.boundary(rng.normal(size=(2, 2)) @ plane)
            )


def test_bad_input_is_named():
    E = ab.LogBarrier(ab.simplex(4)).dikin(np.full(4, 0.25))
    for call, name in (
        (E.norm, "v"),
        (E.apply, "v"),
        (E.dual_norm, "loss"),
        (E.newton_step, "gradient"),
        (E.contains, "y"),
    ):
        with pytest.raises(
            ValueError, match=rf"{name} has shape \(3,\); this set's points have shape \(4,\)"
        ):
            call(np.ones(3))
    with pytest.raises(ValueError, match="the slice has dimension 3; give the plane"):
        E.boundary()
    with pytest.raises(ValueError, match=r"plane has shape \(4,\); expected \(2, 4\)"):
        E.boundary(np.ones(4))
    with pytest.raises(ValueError, match="plane leaves the slice"):
        E.boundary(np.eye(4)[:2])
    with pytest.raises(ValueError, match="two parallel directions"):
        E.boundary([[1, -1, 0, 0], [-2, 2, 0, 0]])
    with pytest.raises(ValueError, match="two parallel directions"):
        E.boundary([[0, 0, 0, 0], [-2, 2, 0, 0]])
