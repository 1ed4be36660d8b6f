"""The pictures of chapters 5 and 6 show what their names say: points, ends and lengths, not looks."""

import numpy as np
import pytest
from labels import crossed

from aggbandit import LogBarrier, Polytope, simplex
from aggbandit.figures.chapters import ch05, ch06
from aggbandit.geometry import box
from aggbandit.learners import MirrorDescentBound

FIELD = Polytope([[-1, 0], [0, -1], [1, 3], [-1, 2]], [0, 0, 6, 2])


def lines(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def test_the_steps_in_slope_land_where_the_barrier_s_step_lands():
    barrier = LogBarrier(box([0.0], [1.0]))
    first = barrier.mirror_step(np.array([0.5]), np.array([4.0])).x
    second = barrier.mirror_step(first, np.array([2.0])).x
    (ax,) = ch05.map_subtract_map_back(0.5, [4, 2]).axes
    drawn = [float(line.get_xdata()[0]) for line in lines(ax, "o")]
    assert drawn == pytest.approx([0.5, first[0], second[0]])


def test_the_places_of_map_subtract_map_back_are_named_beside_the_lines():
    assert crossed(ch05.map_subtract_map_back(0.5, [4, 4])) == []


def test_a_step_that_is_subtracted_stops_at_the_wall_in_the_picture():
    start, end = np.array([3.6, 0.45]), np.array([4.6, 1.45])
    assert not FIELD.contains(end)
    crossing = ch05._last_inside(FIELD, start, end)
    assert FIELD.slacks(crossing).min() == pytest.approx(0, abs=1e-12)
    # on the segment, and before its end
    share = (crossing - start) / (end - start)
    assert share[0] == pytest.approx(share[1])
    assert 0 < share[0] < 1


def test_the_ledger_s_bars_are_the_terms_of_the_bound():
    rising = MirrorDescentBound(first=10.0, middle=-3.0, last=2.0)
    falling = MirrorDescentBound(first=10.0, middle=4.0, last=2.0)
    (ax,) = ch05.ledger({"rising": rising, "falling": falling}, {"rising": 1.0, "falling": 5.0}).axes
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx([10, 2, -3, 10, 2, 4])
    sums = [float(line.get_xdata()[0]) for line in ax.lines if line.get_linewidth() == 3]
    assert sums == pytest.approx([rising.total, falling.total])
    regrets = [float(line.get_xdata()[0]) for line in lines(ax, "o")]
    assert regrets == pytest.approx([1, 5])
    starts = [bar for bar in ax.patches if bar.get_width() == 10]
    assert all(bar.get_facecolor()[3] > 0.3 for bar in starts)  # seen to its end, under the credit too
    credit = ax.patches[2]
    assert (credit.get_x(), credit.get_facecolor()[3]) == (12, 0)


def test_the_paths_show_rounds_up_to_the_one_asked_for():
    rng = np.random.default_rng(0)
    barrier, entropy = rng.dirichlet(np.ones(3), size=(2, 9))
    _, right = ch05._two_paths(barrier, entropy, 5, 4).axes
    curves = [line for line in right.lines if len(line.get_xdata()) == 5]
    assert [list(line.get_ydata()) for line in curves] == [
        list(path[:5].min(axis=1)) for path in (entropy, barrier)
    ]


@pytest.mark.parametrize("angle", [90, 230])
def test_the_still_of_a_long_step_shows_where_it_ends_and_its_fee(angle):
    x, barrier = np.array([2.5, 0.12]), LogBarrier(FIELD)
    ruler = np.linalg.cholesky(barrier.hessian(x)).T
    way = 0.9 * np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
    landed = barrier.mirror_step(x, -barrier.hessian(x) @ np.linalg.solve(ruler, way)).x
    whole, costs, near = ch05.long_step(FIELD, x, angle, 0.9)["still"].axes
    (dot,) = lines(whole, "o")
    np.testing.assert_allclose(dot.get_xydata()[0], landed)
    (dot,) = lines(near, "o")
    np.testing.assert_allclose(dot.get_xydata()[0], ruler @ (landed - x))
    (dot,) = lines(costs, "o")
    np.testing.assert_allclose(dot.get_xydata()[0], (0.9, barrier.bregman(x, landed) / 0.9**2))


def test_the_bias_is_drawn_in_coordinates_whose_lengths_are_dual_norms():
    ellipse = LogBarrier(simplex(3)).dikin(np.array([0.5, 0.28, 0.22]))
    loss, mean = np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.4, 0.6])
    tried = np.tile(ellipse.center, (360, 1))
    _, right = ch06.moved_hands(ellipse, tried, tried, loss, mean, 0.1).axes
    (truth,), (believed,) = lines(right, "o"), lines(right, "X")
    at = np.array([truth.get_xydata()[0], believed.get_xydata()[0]])
    assert np.linalg.norm(at[0]) == pytest.approx(ellipse.dual_norm(loss))
    assert np.linalg.norm(at[1] - at[0]) == pytest.approx(ellipse.dual_norm(mean - loss))
    disc = right.lines[0].get_xydata() - at[0]
    np.testing.assert_allclose(np.linalg.norm(disc, axis=1), 0.1)


@pytest.mark.parametrize("e", [0.0, 0.2, 0.6])
def test_the_disc_of_what_the_bound_allows_is_in_the_frame(e):
    ellipse = LogBarrier(simplex(3)).dikin(np.array([0.5, 0.28, 0.22]))
    loss, tried = np.array([0.2, 0.5, 0.9]), np.tile(ellipse.center, (360, 1))
    right = ch06.moved_hands(ellipse, tried, tried, loss, loss, e / 2**0.5).axes[1]
    (left, width), (bottom, height) = right.get_xlim(), right.get_ylim()
    disc = right.lines[0].get_xydata()
    assert np.all(disc > [left, bottom])
    assert np.all(disc < [width, height])


def test_a_disc_larger_than_the_frame_is_refused():
    ellipse = LogBarrier(simplex(3)).dikin(np.array([0.5, 0.28, 0.22]))
    loss, tried = np.array([0.2, 0.5, 0.9]), np.tile(ellipse.center, (360, 1))
    with pytest.raises(ValueError, match="radius is 2; the disc must not leave the frame"):
        ch06.moved_hands(ellipse, tried, tried, loss, loss, 2.0)


def test_the_regret_curves_are_means_over_seeds_with_bands():
    rows = np.arange(40.0).reshape(2, 20)
    curves = {name: rows + i for i, name in enumerate("abcde")}
    (ax,) = ch06.regret_curves(curves, "a").axes
    np.testing.assert_allclose(ax.lines[0].get_ydata(), rows.mean(axis=0)[9::10])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    error = rows.std(axis=0, ddof=1)[9::10] / 2**0.5
    assert band.min() == pytest.approx((rows.mean(axis=0)[9::10] - 2 * error).min())
    assert band.max() == pytest.approx((rows.mean(axis=0)[9::10] + 2 * error).max())


def test_names_at_the_ends_of_lines_keep_apart():
    heights = ch06._apart({"high": 5.0, "low": 1.0, "near": 1.1}, 0.5)
    assert heights == {"low": 1.0, "near": 1.5, "high": 5.0}


def test_believed_and_true_frequencies_are_the_bars():
    believed, true = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.5, 0.5], [0.1, 0.9]])
    figure = ch06.believed_and_true(believed, true, np.eye(2), ["old town", "ring road"])
    for leg, ax in enumerate(figure.axes):
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == pytest.approx([*believed[leg], *true[leg]])
        (star,) = lines(ax, "*")
        assert list(star.get_xdata()) == [leg]
