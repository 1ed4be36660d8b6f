"""Polytopes and the ready-made sets."""

import itertools

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.geometry import box, cross_polytope

SQUARE = (np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))


def thin(body: ab.Polytope, aspect: float, angle: float) -> ab.Polytope:
    """A polygon squeezed by `aspect` in one direction, then turned."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return ab.Polytope(body.A @ np.linalg.inv(turn @ np.diag([1, 1 / aspect])), body.b)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0], [-1.0]], [0.0, -1.0]), r"empty: no point .* broken by 0\.5"),
        (([[1.0, 0], [-1, 0]], [-1.0, -1.0]), "empty"),  # empty comes first, though it is unbounded as well
        ((*SQUARE, [[1.0, 0], [2, 0]], [0.0, 1.0]), r"empty: equality 1 contradicts those above it, by 1"),
        ((*SQUARE, [[1.0, 0]], [2.0]), "empty: inequality 0 has slack -1 on all of the slice"),
        ((*SQUARE, [[1.0, 0]], [1.0]), r"inequality 0 is constant on the slice \(its slack is always 0\)"),
        (([[1.0], [-1.0]], [0.0, 0.0]), "flat: no ball of radius"),
        (([[1.0, 1], [-1, -1], [1, 0], [-1, 0]], [1.0, -1, 1, 1]), "flat"),
        ((*SQUARE, np.eye(2), np.zeros(2)), "flat: the equalities C x = d leave a single point"),
        (([[1.0, 0], [-1, 0]], [1.0, 1.0]), r"unbounded: .* direction \[0\. 1\.\]"),  # a strip
        (
            ([[1.0, 0], [-1, 0], [0, 1]], [1.0, 1, 1]),
            r"unbounded: .* direction \[ 0\. -1\.\]",
        ),  # half a strip
        (([[1.0, 0]], [1.0]), "unbounded"),  # a half-plane
        (([[1.0, 1, 0], [-1, 0, 0], [0, -1, 0]], [1.0, 0, 0]), "unbounded"),  # a prism without ends
    ],
)
def test_a_set_without_a_center_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        ab.Polytope(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), np.ones(3)), r"A has shape \(3,\); it must be a matrix"),
        ((np.ones((0, 2)), np.ones(0)), r"A has shape \(0, 2\)"),
        ((np.ones((3, 2)), np.ones(2)), r"b has shape \(2,\); A has 3 rows, so \(3,\) is needed"),
        (([[1.0], [np.nan]], [1.0, 1.0]), r"A\[1, 0\] is nan; every entry must be finite"),
        (([[1.0], [-1.0]], [1.0, np.inf]), r"b\[1\] is inf"),
        ((*SQUARE, np.ones((1, 2)), None), "C and d belong together"),
        ((*SQUARE, np.ones((1, 3)), np.ones(1)), "C has 3 columns and A has 2"),
        ((*SQUARE, np.ones((1, 2)), np.ones(2)), r"d has shape \(2,\)"),
    ],
)
def test_bad_arrays_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ab.Polytope(*arguments)


def test_the_slice_has_an_orthonormal_basis_and_redundant_equalities_add_nothing(rng):
    for _ in range(20):
        D, p = int(rng.integers(3, 8)), int(rng.integers(1, 3))
        C, inside = rng.normal(size=(p, D)), rng.normal(size=D)
        once = ab.Polytope(*_around(inside, D), C, C @ inside)
        mixed = rng.normal(size=(4, p)) @ C
        again = ab.Polytope(*_around(inside, D), np.vstack([C, mixed]), np.append(C, mixed, 0) @ inside)
        assert once.dimension == again.dimension == D - p
        np.testing.assert_allclose(once.basis, again.basis, atol=1e-12)
        np.testing.assert_allclose(once.basis.T @ once.basis, np.eye(D - p), atol=1e-13)
        np.testing.assert_allclose(C @ once.basis, 0, atol=1e-13)
        np.testing.assert_allclose(C @ once.interior_point, C @ inside, atol=1e-12)


def test_no_rows_are_no_equalities():
    square = box(-np.ones(2), np.ones(2))
    again = ab.Polytope(square.A, square.b, square.C, square.d)
    assert again.C.shape == (0, 2)
    np.testing.assert_array_equal(again.interior_point, square.interior_point)


def _around(center, D):
    return np.vstack([np.eye(D), -np.eye(D)]), np.concatenate([1 + center, 1 - center])


def test_the_interior_point_is_the_middle_of_a_largest_ball():
    assert box([0, 0], [4, 2]).inner_radius == pytest.approx(1)
    assert ab.simplex(3).inner_radius == pytest.approx(1 / np.sqrt(6))
    assert ab.regular_polygon(5).inner_radius == pytest.approx(np.cos(np.pi / 5))
    assert cross_polytope(3).inner_radius == pytest.approx(1 / np.sqrt(3))
    np.testing.assert_allclose(ab.simplex(4).interior_point, 0.25)


def test_thin_sets_are_accepted_and_their_radius_is_right(rng):
    for k in (3, 4, 9):
        body = thin(ab.random_polygon(k, rng), 1e6, rng.uniform(0, np.pi))
        normals = body.A / np.linalg.norm(body.A, axis=1)[:, None]
        room = body.slacks(body.interior_point) / np.linalg.norm(body.A, axis=1)
        # optimal: the walls the ball touches hold it from all sides (zero is among their normals' mixtures)
        touching = normals[room < body.inner_radius * (1 + 1e-6)]
        assert 0 < body.inner_radius < 3e-6
        assert ((touching @ touching.T).min(axis=1) < -0.99).all()
        assert len(body.vertices()) == k
    sliver = ab.Polytope([[1, 0], [-0.5e-6, 1], [-0.5e-6, -1]], [1, 0, 0])
    np.testing.assert_allclose(sorted(sliver.vertices()[:, 0]), [0, 1, 1], atol=1e-9)


def test_rows_of_any_scale_describe_the_same_set():
    A, b = SQUARE
    scales = np.array([1e-12, 1, 1e12, 1e-6])
    body = ab.Polytope(A * scales[:, None], b * scales)
    assert body.inner_radius == pytest.approx(1)
    np.testing.assert_allclose(ab.LogBarrier(body).analytic_center(), 0, atol=1e-12)
    assert cross_polytope(10).inner_radius == pytest.approx(1 / np.sqrt(10))


def test_slacks_and_containment():
    body = ab.simplex(3)
    np.testing.assert_array_equal(body.slacks([0.2, 0.3, 0.5]), [0.2, 0.3, 0.5])
    assert body.contains([0, 0.5, 0.5])
    assert not body.contains([-1e-6, 0.5, 0.5 + 1e-6])
    assert body.contains([-1e-6, 0.5, 0.5 + 1e-6], tolerance=1e-5)
    assert not body.contains([0.3, 0.3, 0.3])
    assert not body.contains([np.nan, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"x has shape \(2,\); this set's points have shape \(3,\)"):
        body.contains([0.5, 0.5])


def test_vertices_are_all_intersections_of_walls_that_lie_in_the_set(rng):
    for n in (1, 2, 3, 4):
        A = rng.normal(size=(n + 4, n))
        A = np.vstack([A, -A.sum(axis=0)])
        body = ab.Polytope(A, rng.uniform(0.5, 1, len(A)))
        corners = [
            np.linalg.solve(A[list(i)], body.b[list(i)]) for i in itertools.combinations(range(len(A)), n)
        ]
        corners = np.array([v for v in corners if body.contains(v, 1e-9)])
        found = body.vertices()
        assert len(found) == len(corners)
        assert all(np.abs(found - v).max(axis=1).min() < 1e-9 for v in corners)
        for _ in range(5):
            linear = rng.normal(size=n)
            assert linear @ body.minimize(linear) == pytest.approx((corners @ linear).min(), abs=1e-9)
    assert len(cross_polytope(4).vertices()) == 8
    assert len(box(np.zeros(4), np.ones(4)).vertices()) == 16


def test_vertices_of_a_polygon_run_around_it(rng):
    for body in (ab.regular_polygon(7), ab.random_polygon(6, rng), ab.simplex(3)):
        around = body.vertices() @ body.basis
        edges = np.roll(around, -1, axis=0) - around
        turns = edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)
        assert (turns > 0).all()


def test_minkowski_is_the_largest_share_of_the_way_to_a_wall(rng):
    body = ab.random_polygon(6, rng)
    for _ in range(50):
        x, y = 0.6 * rng.dirichlet(np.ones(6), 2) @ body.vertices()
        y = y * rng.uniform(0.1, 3)
        pi = body.minkowski(x, y)
        assert body.contains(x + (y - x) / (pi * (1 + 1e-9)))
        assert not body.contains(x + (y - x) / (pi * (1 - 1e-9)))
    assert body.minkowski(x, x) == 0
    assert [body.minkowski(x, v) for v in body.vertices()] == pytest.approx([1] * 6)
    with pytest.raises(ValueError, match="x is not strictly inside"):
        body.minkowski(1.001 * body.vertices()[0], x)
    with pytest.raises(ValueError, match="y is off the slice"):
        ab.simplex(2).minkowski([0.5, 0.5], [0.5, 0.6])


def test_ready_made_sets_are_what_they_say(rng):
    corners = ab.regular_polygon(5).vertices()
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1)
    assert np.abs(corners - [1, 0]).max(axis=1).min() < 1e-12
    np.testing.assert_allclose(
        np.sort(ab.simplex(3).vertices(), axis=0), np.sort(np.eye(3), axis=0), atol=1e-12
    )
    for k in range(3, 12):
        polygon = ab.random_polygon(k, rng)
        assert len(polygon.vertices()) == k
        assert polygon.contains([0, 0])
    first, second = (ab.random_polygon(5, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.A, second.A)
    used, counted = np.random.default_rng(3), np.random.default_rng(3)
    ab.random_polygon(5, used)
    counted.random(7)
    assert used.random() == counted.random()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ab.simplex(1), "n is 1; it must be at least 2"),
        (lambda: cross_polytope(13), "at most 12"),
        (lambda: ab.regular_polygon(2), "k is 2"),
        (lambda: ab.random_polygon(2, np.random.default_rng(0)), "n_sides is 2"),
        (lambda: box([0, 0], [1, 0]), "flat"),
        (lambda: box([0, 0], [1]), r"low has shape \(2,\) and high \(1,\)"),
        (lambda: box([0, 2], [1, 1]), "empty"),
    ],
)
def test_ready_made_sets_name_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_known_occupancy_measures_are_those_of_the_policies():
    world = ab.night_driver()
    mdp = world.mdp
    body, coordinates = ab.known_occupancy_polytope(mdp), ab.occupancy_coordinates(mdp)
    assert body.ambient_dimension == len(coordinates.cells)
    assert body.dimension == len(coordinates.cells) * (mdp.n_actions - 1) // mdp.n_actions
    policies = [mdp.occupancy(pi) for pi in ab.deterministic_policies(mdp)]
    points = np.array([coordinates.from_table(x) for x in policies])
    for x, point in zip(policies, points, strict=True):
        assert body.contains(point, 1e-12)
        np.testing.assert_allclose(coordinates.to_table(point), x, atol=1e-14)
    vertices = body.vertices()
    assert all(np.abs(points - v).max(axis=1).min() < 1e-9 for v in vertices)
    loss = coordinates.loss_vector(world.loss)
    assert loss @ body.minimize(loss) == pytest.approx(mdp.best_policy(world.loss)[1], abs=1e-9)
    pi = ab.uniform_policy(mdp)
    uniform = coordinates.from_table(mdp.occupancy(pi))
    assert loss @ uniform == pytest.approx(mdp.expected_loss(pi, world.loss), abs=1e-12)
    body.require_interior("the uniform policy", uniform)


def test_coordinates_without_mass_are_left_out(rng):
    mdp = ab.layered_grid(2, 3, 0.1).mdp
    body, coordinates = ab.known_occupancy_polytope(mdp), ab.occupancy_coordinates(mdp)
    occupied = mdp.occupancy(ab.uniform_policy(mdp)).sum(axis=-1) > 0
    np.testing.assert_array_equal(np.argwhere(occupied), coordinates.cells)
    assert 0 < len(coordinates.cells) < occupied.size
    ab.check_occupancy(coordinates.to_table(ab.LogBarrier(body).analytic_center()), mdp.initial_state)
    with pytest.raises(ValueError, match="flat: with a single action"):
        ab.known_occupancy_polytope(ab.random_mdp(2, 1, 2, rng))
    with pytest.raises(ValueError, match=r"x has shape \(3,\)"):
        coordinates.to_table(np.ones(3))
