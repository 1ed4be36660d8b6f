"""What the pictures of chapter 12 compute: thresholds, and frames of one size."""

import itertools
import math

import numpy as np
import pytest

from aggbandit.figures.chapters import ch12


def root_of(K):
    return 30 * K**0.5


def jumping(K):
    """Falls between powers of two, and jumps up at them, as the number of epochs does."""
    return 7 * (1 + math.floor(math.log2(K))) * K**0.5


@pytest.mark.parametrize("bound", [root_of, jumping])
@pytest.mark.parametrize("per_episode", [1, 3])
def test_a_threshold_is_where_the_bound_falls_below_for_good(bound, per_episode):
    first = ch12.threshold(bound, per_episode)
    assert bound(first - 1) >= per_episode * (first - 1)
    assert all(bound(K) < per_episode * K for K in range(first, 4 * first))


def test_a_bound_that_never_speaks_is_refused():
    with pytest.raises(ValueError, match="it must fall below it"):
        ch12.threshold(lambda K: 2.0 * K, 1)


def test_frames_of_one_size_that_differ():
    pixels = []
    for horizon in (2, 5):
        bounds = {"one": root_of, "two": lambda K: 1e9 * K**0.5}
        figure = ch12.shares(bounds, horizon)
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    for one, other in itertools.pairwise(pixels):
        assert one.shape == other.shape
        assert (one != other).any()


def test_dots_are_at_the_thresholds():
    above, below = ch12.shares({"one": root_of}, 3).axes
    for ax in (above, below):
        dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
        assert dots == [pytest.approx(math.log10(ch12.threshold(root_of, 3)))]


def test_digits_add_up():
    ax = ch12.digits({"world": {"a": 100.0, "b": 1000.0}}).axes[0]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([2, 3])
    assert "world: $10^{5.0}$" in [text.get_text() for text in ax.texts]


def test_what_was_paid_is_drawn_where_it_was():
    ax = ch12.meanwhile([2.0], [np.array([0.1, 0.3])], ["one"], {"H": 3.0}).axes[0]
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(dots.get_xdata(), [0.1, 0.3])
