"""What the pictures of chapter 11 compute: a barrier of one lifted wall, and frames of one size."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize_scalar

from aggbandit.figures.chapters import ch11


def lifted(point, rho):
    r, t = point
    return -np.log(t**2 - r**2) - np.log(rho - t)


@pytest.mark.parametrize("r", [0.0, 0.5, -0.8, 0.99])
def test_the_lowest_height_is_where_the_barrier_is_least(r):
    for rho in (1.0, 2.5):
        found = minimize_scalar(
            lambda t, rho=rho: lifted((r, t), rho),
            bounds=(abs(r), rho),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert ch11.lowest(r, rho) == pytest.approx(found.x, abs=1e-6)


def test_the_hessian_is_that_of_the_lifted_barrier():
    point, rho = np.array([0.3, 0.7]), 1.2
    columns = [
        approx_fprime(point, lambda p, i=i: approx_fprime(p, lifted, 1e-5, rho)[i], 1e-5) for i in range(2)
    ]
    np.testing.assert_allclose(ch11.lifted_hessian(*point, rho), columns, rtol=1e-3)


def test_the_shadow_stays_inside_and_is_that_of_the_minimized_barrier_at_its_lowest():
    for r in (0.0, 0.4, 0.9):
        for t in np.linspace(r + 0.01, 0.99, 7):
            hessian = ch11.lifted_hessian(r, t, 1.0)
            shadow, section = np.sqrt(np.linalg.inv(hessian)[0, 0]), 1 / np.sqrt(hessian[0, 0])
            assert section <= shadow * (1 + 1e-12)
            assert r + shadow < 1

        # Finite differences of min_t F, against the shadow at the lowest height.
        def value(s):
            return lifted((s, ch11.lowest(s, 1.0)), 1.0)

        curvature = (value(r + 1e-4) - 2 * value(r) + value(r - 1e-4)) / 1e-8
        shadow = np.linalg.inv(ch11.lifted_hessian(r, ch11.lowest(r, 1.0), 1.0))[0, 0]
        assert 1 / curvature == pytest.approx(shadow, rel=1e-3)


DISTANCES = 10.0 ** -np.arange(1, 4)
SIZES = {name: np.array([1e2, 1e4, 1e6]) for name in ("diagonal", "second", "third")}
ERRORS = {name: np.array([1e-14, 1e-12, 1e-10]) for name in ("first", "second")}


def test_frames_of_a_moving_figure_have_one_size_and_differ():
    pixels = []
    for here in range(3):
        figure = ch11.digits(DISTANCES, SIZES, ERRORS, here)
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    for one, other in itertools.pairwise(pixels):
        assert one.shape == other.shape
        assert (one != other).any()


def test_the_place_singled_out_is_the_one_asked_for():
    for here in range(3):
        parts, lost = ch11.digits(DISTANCES, SIZES, ERRORS, here).axes
        assert [bar.get_width() for bar in parts.patches] == pytest.approx([2 * here + 2] * 3)
        marked = [line.get_xydata()[0] for line in lost.lines if len(line.get_xdata()) == 1]
        expected = [(DISTANCES[here], error[here]) for error in ERRORS.values()]
        np.testing.assert_allclose(marked, expected)


def test_costs_are_what_was_counted():
    ax = ch11.costs(10, 20, 4)["still"].axes[0]
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    counted = ch11.multiplications(10, 20, 4)
    for curve, (name, count) in zip(curves, counted.items(), strict=True):
        exact = [ch11.multiplications(10, int(S), 4)[name] for S in curve.get_xdata()]
        np.testing.assert_allclose(curve.get_ydata(), exact)
        assert [20, count] in [line.get_xydata()[0].tolist() for line in ax.lines]


def test_the_sampler_and_the_matrices_are_drawn_as_measured():
    share, norm = ch11.sampler([0, 10], np.array([0.0, 0.5]), np.array([1.0, 2.0])).axes
    assert [bar.get_height() for bar in share.patches] == [0.0, 0.5]
    np.testing.assert_allclose(norm.lines[-1].get_ydata(), [1.0, 2.0])
    panels = ch11.matrices({"one": np.eye(20), "two": np.ones((5, 5))}).axes
    assert [ax.get_xlabel() for ax in panels] == ["20 rows\n5% filled", "5 rows\n100% filled"]


def test_matrices_are_drawn_to_one_scale():
    """A row is as high in each, apart from the last panel's second, magnified picture."""
    figure = ch11.matrices({"one": np.eye(20), "two": np.ones((5, 5))})
    figure.canvas.draw()

    def side(ax, image):
        (left, top), (right, bottom) = ax.transData.transform(np.reshape(image.get_extent(), (2, 2)).T)
        assert abs(right - left) == pytest.approx(abs(bottom - top), rel=1e-6)
        return abs(right - left)

    first, last = figure.axes
    assert side(first, first.images[0]) == pytest.approx(4 * side(last, last.images[0]), rel=0.02)
    assert side(last, last.images[1]) > 2 * side(last, last.images[0])
