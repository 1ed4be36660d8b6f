"""What the drawings of chapters 3 and 4 show is what the text says: curves are measured on the axes."""

from itertools import pairwise

import numpy as np
import pytest

from aggbandit import LogBarrier, Polytope
from aggbandit.figures.chapters import ch03, ch04
from aggbandit.figures.style import BASELINE, BOUND, FAINT, INK

FIELD = Polytope([[-1, 0], [0, -1], [1, 3], [-1, 2]], [0, 0, 6, 2])
CORNER = np.array([6.0, 0.0])


def the_line(ax, color):
    """The longest line of a color."""
    return max(
        (line for line in ax.lines if line.get_color() == color), key=lambda line: len(line.get_xdata())
    )


@pytest.mark.parametrize("share", [0.0, 0.8, 0.99])
def test_the_curve_of_divergence_is_the_divergence(share):
    barrier = LogBarrier(FIELD)
    start = barrier.analytic_center()
    fig = ch03.ruler_on_a_path(FIELD, start, CORNER, share)
    d, divergence = the_line(fig.axes[2], INK).get_data()
    point = start + share * (CORNER - start)
    unit = (CORNER - start) / barrier.dikin(point).norm(CORNER - start)
    for i in range(5, len(d) - 5, 60):
        assert divergence[i] == pytest.approx(barrier.bregman(point + d[i] * unit, point), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("angle", np.linspace(0.1, 3.0, 7))
def test_no_point_of_a_grid_is_inside_by_rounding_alone(angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    normals = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]) @ turn.T
    for body in (FIELD, Polytope(normals, np.full(4, 1 / 3)), Polytope(normals, np.full(4, 1e-6))):
        _, _, slacks = ch03._inside(body, 41)
        assert np.nanmin(slacks) > 1e-10 * np.nanmax(slacks)


@pytest.mark.parametrize("share", [0.0, 0.8, 0.99])
def test_the_sets_of_small_divergence_are_that(share):
    barrier = LogBarrier(FIELD)
    start = barrier.analytic_center()
    point = start + share * (CORNER - start)
    glass = ch03.ruler_on_a_path(FIELD, start, CORNER, share).axes[1]
    sets = [line.get_xydata() for line in glass.lines if line.get_color() == BOUND]
    for outline, level in zip(sets, (0.25, 1, 3), strict=True):
        divergence = [barrier.bregman(y, point) for y in outline[::10]]
        np.testing.assert_allclose(divergence, level, rtol=1e-6)
    # However close to the corner, the glass shows the outermost set, and fills with it.
    width = np.ptp(glass.get_xlim())
    assert 0.5 * width < np.ptp(sets[-1][:, 0]) < width


def test_the_discs_touch_a_wall_and_the_ellipses_do_not():
    points = np.array([[5.2, 0.12], [2.5, 0.06]])
    ax = ch03.discs_and_ellipses(FIELD, points).axes[0]
    circles = [line.get_xydata() for line in ax.lines if line.get_linestyle() == "--"]
    ellipses = [patch.get_xy() for patch in ax.patches]
    for circle, ellipse in zip(circles, ellipses, strict=True):
        assert min(FIELD.slacks(y).min() for y in circle) == pytest.approx(0, abs=2e-3)
        assert min(FIELD.slacks(y).min() for y in ellipse) > 0


def test_section_and_shadow_of_the_cubes_ellipsoid():
    point = np.array([0.07, 0.035, 0.595])
    body = Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.repeat([1.0, 0.0], 3), np.ones((1, 3)), [0.7])
    right = ch03.plane_through_cube(body, point).axes[1]
    section = right.patches[1].get_xy()
    shadow = right.lines[0].get_xydata()
    flat = np.array([[1.0, -1.0, 0.0], [-1.0, -1.0, 2.0]]) / np.sqrt([[2.0], [6.0]])
    origin = np.full(3, point.sum() / 3)
    inside = [(origin + xy @ flat).min() > 0 for xy in section]
    outside = [(origin + xy @ flat).min() < 0 for xy in shadow]
    assert all(inside)
    assert any(outside)
    # The section lies within the shadow: no direction of the plane sees further into it.
    directions = np.column_stack([np.cos(np.linspace(0, 6, 50)), np.sin(np.linspace(0, 6, 50))])
    assert np.all((section @ directions.T).max(axis=0) <= (shadow @ directions.T).max(axis=0) + 1e-3)


def test_the_tangent_leaves_the_gap_that_is_the_divergence():
    x, y = 0.3, 0.9
    ax = ch03.bowls(x, y).axes[0]
    gap = next(line for line in ax.lines if line.get_color() == BOUND).get_ydata()
    interval = LogBarrier(Polytope([[1.0], [-1.0]], [1.0, 0.0]))
    assert gap[1] - gap[0] == pytest.approx(interval.bregman([y], [x]))


def test_intervals_of_length_one_stay_between_the_walls():
    ax = ch03.one_wall([0.5, 0.85, 0.97]).axes[1]
    boxes = [collection.get_paths()[0].get_extents() for collection in ax.collections]
    for box, x in zip(boxes, (0.5, 0.85, 0.97), strict=True):
        reach = (1 / x**2 + 1 / (1 - x) ** 2) ** -0.5
        assert (box.x0, box.x1) == pytest.approx((x - reach, x + reach))
        assert 0 < box.x0 < box.x1 < 1
    for below, above in pairwise(boxes):  # one below the other, so that none hides another
        assert below.y1 < above.y0


def test_guesses_lie_on_a_circle_around_the_vector():
    loss = np.array([0.95, 0.42])
    ax = ch04.thales(loss, np.radians([5, 60, 110, 150])).axes[0]
    guesses = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "s"]
    assert len(guesses) == 4
    for guess in guesses:
        assert np.linalg.norm(guess - loss) == pytest.approx(np.linalg.norm(loss))


@pytest.mark.parametrize("offset", [-1.5, 0.0, 0.75])
def test_the_typical_distance_is_the_root_mean_square(offset):
    """By quadrature over 64 even angles, exact for trigonometric polynomials of this degree."""
    star = np.array([0.7, 0.4])
    angle = 2 * np.pi * np.arange(64) / 64
    u = np.column_stack([np.cos(angle), np.sin(angle)])
    guesses = 2 * (offset + u @ star)[:, None] * u
    mean_square = ((guesses - star) ** 2).sum(axis=1).mean()
    right = ch04.running_mean(star, offset, u, 10, 4.7).axes[1]
    count, typical = the_line(right, BASELINE).get_data()
    np.testing.assert_allclose(typical, np.sqrt(mean_square / count))
    count, error = the_line(right, FAINT).get_data()
    assert error[-1] == pytest.approx(0, abs=1e-12)


def test_points_outside_the_frame_are_drawn_on_its_edge():
    truth = np.array([1.0, 1.5, 2.0])
    ax = ch04.every_policy(truth, np.array([-4.0, 1.5, 9.0]), 1.6, 0).axes[0]
    shown = {line.get_marker(): line for line in ax.lines if len(line.get_xdata()) == 1}
    assert shown["s"].get_xydata().tolist() == [[1.5, 1.5]]
    assert shown["v"].get_xdata() == [1.0]
    assert shown["^"].get_xdata() == [2.0]


@pytest.mark.parametrize("worst", [-4.0, 9.0])
def test_the_circle_around_the_policy_that_looks_best_is_not_cut(worst):
    fig = ch04.every_policy(np.array([1.0, 2.0]), np.array([worst, 1.5]), 1.6, 0)
    fig.draw_without_rendering()
    ax = fig.axes[0]
    ring = next(line for line in ax.lines if line.get_marker() == "o")
    radius = ring.get_markersize() / 2 * fig.dpi / 72
    y = ax.transData.transform(ring.get_xydata())[0, 1]
    assert ax.bbox.y0 < y - radius
    assert y + radius < ax.bbox.y1


def test_bars_of_straying_are_the_ranges():
    ranges = {"here": (0.5, 0.26, 0.74), "there": (0.9, 0.8, 0.95)}
    top, bottom = ch03.straying(ranges, (1.45, 1.3, 1.6), (1.0, 2.1)).axes
    for bar, (_, low, high) in zip(top.patches, ranges.values(), strict=True):
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((low, high))
    assert bottom.patches[0].get_width() == pytest.approx(0.3)


def test_what_is_a_few_pixels_wide_is_said_in_figures():
    ranges = {"here": (0.5, 0.26, 0.74), "there": (0.99, 0.9866, 0.9934), "near": (5e-3, 2e-5, 0.01)}
    top = ch03.straying(ranges, (1.45, 1.3, 1.6), (1.0, 2.1)).axes[0]
    assert [text.get_text() for text in top.texts] == ["0.26 – 0.74", "0.987 – 0.993", "0.00002 – 0.010"]
    # The mark of the center stands above its bar and hides no part of it.
    for bar, mark in zip(top.patches, [line for line in top.lines if line.get_marker() == "v"], strict=True):
        assert mark.get_ydata()[0] > bar.get_y() + bar.get_height()


def test_landscape_and_two_paths_draw():
    fig = ch03.landscape(FIELD, np.array([[4.0, 0.5]]))
    assert fig.axes[0].collections
    shares = np.linspace(0, 1, 5)
    lines = ch04.two_paths(shares, 1 + shares * (1 - shares), 1 + 0 * shares).axes[0].lines
    assert len(lines) == 2
