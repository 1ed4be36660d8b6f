"""What the pictures of chapter 13 show: means and their intervals in place, curves cut at the switch."""

import numpy as np
import pytest

from aggbandit.figures.chapters import ch13

LENGTHS = np.array([500.0, 2000.0, 8000.0])
K = np.geomspace(100, 1e12, 50)


def bands(values):
    """Mean and both ends."""
    return np.array([values, np.array(values) - 0.05, np.array(values) + 0.05])


def test_frames_of_one_size_that_differ():
    pixels = []
    for power in (0.6, 0.9):
        figure = ch13.growth(K, K ** (power - 1), np.full(50, power), "nights", (0.75,))
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    assert pixels[0].shape == pixels[1].shape
    assert (pixels[0] != pixels[1]).any()


def test_a_mark_is_where_the_slope_first_falls_below():
    falling = np.linspace(1, 0.5, 50)
    below = ch13.growth(K, K**-0.1, falling, "nights", (0.75, 0.4)).axes[1]
    (dot,) = [line for line in below.lines if line.get_marker() == "o"]
    assert dot.get_xdata()[0] == K[np.argmax(falling < 0.75)]
    assert [text.get_text() for text in below.texts] == ["0.75"]


def test_shares_are_drawn_at_their_lengths_and_slopes_between_them():
    shares = {"one": bands([1.0, 0.8, 0.6]), "two": bands([1.0, 0.9])}
    slopes = {"one": bands([0.9, 0.8]), "two": bands([0.95])}
    ideal = (LENGTHS, np.array([0.9, 0.7, 0.5]), np.array([0.9, 0.8, 0.7]))
    above, below = ch13.measured(LENGTHS, shares, slopes, ideal).axes
    drawn = {line.get_marker(): line for line in above.lines if line.get_marker() not in ("None", "")}
    assert len(drawn) == 2
    longest = max(drawn.values(), key=lambda line: len(line.get_xdata()))
    np.testing.assert_allclose(longest.get_xdata(), LENGTHS)
    np.testing.assert_allclose(longest.get_ydata(), [1.0, 0.8, 0.6])
    dots = next(line for line in below.lines if line.get_label() == "one")
    np.testing.assert_allclose(dots.get_ydata(), [0.9, 0.8])
    assert np.all((LENGTHS[:-1] < dots.get_xdata()) & (dots.get_xdata() < LENGTHS[1:]))


def test_differences_have_a_dot_for_each_city_and_two_intervals():
    each = np.array([-0.2, 0.1, -0.1])
    ax = ch13.differences({"a − b": (each, 0.05, 0.3)}).axes[0]
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(dots.get_xdata(), each)
    widths = [np.ptp(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert sorted(widths)[-2:] == pytest.approx([0.1, 0.6])


def test_no_line_crosses_the_switch():
    nights = (np.arange(8) + 0.5) * 100
    curve = np.where(nights < 600, 0.3, 0.7)
    ax = ch13.turned(nights, {"one": (curve, np.full(8, 0.02))}, 600, np.full(8, 0.5)).axes[0]
    for line in ax.lines:
        x = np.asarray(line.get_xdata(), dtype=float)
        if line.get_linestyle() != "None" and len(x) > 2:
            assert x.max() < 600 or x.min() > 600
