"""What the pictures of chapter 14 draw: every run where it was, worst gaps in rings, prices on their axes."""

import itertools

import numpy as np
import pytest

from aggbandit.figures.chapters import ch14

ROWS = [
    ch14.Row("one", "sees all", {"coins": [0.1, 0.3], "turning": [0.4, 0.6]}),
    ch14.Row("two", "sees all", {"coins": [0.5], "turning": [-0.2]}),
    ch14.Row("three", "sees little", {"coins": [0.9, 1.1], "turning": [1.0, 1.2]}),
]


def test_every_learner_has_its_means_and_its_runs():
    ax = ch14.everybody(ROWS).axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["one", "two", "three"]
    marked = [line.get_xdata() for line in ax.lines if line.get_marker() in ("o", "D")]
    means = sorted(float(x[0]) for x in marked if len(x))  # those without points are in the legend
    assert means == pytest.approx([-0.2, 0.2, 0.5, 0.5, 1.0, 1.1])
    runs = [tuple(line.get_xdata()) for line in ax.lines if line.get_marker() == "|"]
    assert {(0.1, 0.3), (1.0, 1.2)} <= set(runs)
    low, high = ax.get_xlim()
    assert low < -0.2
    assert high > 1.2


def test_a_heading_stands_above_its_learners():
    ax = ch14.everybody(ROWS).axes[0]
    headings = {text.get_text(): text.get_position()[1] for text in ax.texts}
    first, _, third = ax.get_yticks()
    assert headings["sees all"] < first < headings["sees little"] < third


def test_rings_are_at_the_worst_gaps():
    gaps, one, total = [0.25, 0.5, 1.0], np.array([1.0, 3.0, 2.0]), np.array([2.0, 4.0, 8.0])
    ax = ch14.over_the_gap(gaps, one, total, nights=4, legs=2).axes[0]
    rings = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_markersize() > 10]
    assert rings == [(0.5, 1.5), (1.0, 2.0)]


def test_frames_of_one_size_that_differ():
    gaps, one = [0.25, 0.5, 1.0], np.array([1.0, 3.0, 2.0])
    pixels = []
    for total in (np.array([2.0, 4.0, 8.0]), np.array([9.0, 4.0, 8.0])):
        figure = ch14.over_the_gap(gaps, one, total, nights=4, legs=2)
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    for before, after in itertools.pairwise(pixels):
        assert before.shape == after.shape
        assert (before != after).any()


def test_prices_have_their_intervals():
    factor = np.array([1.0, 2.0])
    ax = ch14.price([1, 2], {"own": (factor, factor - 0.25, factor + 0.5)}).axes[0]
    (bars,) = ax.containers
    points, _, (segments,) = bars.lines
    np.testing.assert_allclose(points.get_ydata(), factor)
    np.testing.assert_allclose([piece[:, 1] for piece in segments.get_segments()], [[0.75, 1.5], [1.75, 2.5]])
