"""What the pictures of chapter 15 show: pairs on one foot, wedges, seeds, two panels."""

import itertools
import re

import numpy as np
import pytest

from aggbandit.figures.chapters import ch15

MOVES = np.array([[0, -1], [1, 0], [0, 1], [-1, 0]])  # left, down, right, up
GRID = ch15.GridMap(("SF", "HG"), MOVES)


def occupancy(often):
    """(H, S, A) of two steps on two by two cells: right with some chance, else down."""
    x = np.zeros((2, 4, 4))
    x[0, 0, 2], x[0, 0, 1] = often, 1 - often
    x[1, 1, 1], x[1, 2, 0] = often, 1 - often
    return x


def test_a_pair_of_bars_stands_on_one_foot():
    past = np.array([[0.0, np.nan], [0.4, 0.7]])
    future = np.array([[[1.0, 1.2], [9.0, 9.0]], [[0.5, 0.2], [0.3, 0.1]]])
    ax = ch15.past_and_future(past, future, ("one", "two"), ("keep", "turn")).axes[0]
    lower, upper = ax.patches[::2], ax.patches[1::2]
    assert [bar.get_height() for bar in lower] == [0, 0, 0.4, 0.4, 0.7, 0.7]
    assert [bar.get_height() for bar in upper] == pytest.approx([1.0, 1.2, 0.5, 0.2, 0.3, 0.1])
    assert [bar.get_y() for bar in upper] == [bar.get_height() for bar in lower]


def test_wedges_show_where_the_walker_goes():
    def wedges(often):
        return ch15.walking(GRID, occupancy(often), "a line").count("Z")

    assert wedges(1.0) == 2  # right, then down
    assert wedges(0.5) == 3  # right, down; none out of a hole
    assert wedges(0.01) == 1


def test_cells_of_the_map_have_their_letters_and_frames_one_height():
    frames = [ch15.walking(GRID, occupancy(often), f"{often}") for often in (0.2, 0.9)]
    for frame in frames:
        assert re.findall(r'font-weight="700">(\w)<', frame) == ["S", "H", "G"]
    heights = {re.search(r'viewBox="([^"]+)"', frame)[1] for frame in frames}
    assert len(heights) == 1
    assert frames[0] != frames[1]


def test_a_map_knows_its_size():
    assert GRID.size == (2, 2)


def test_every_seed_and_the_mean_are_drawn():
    at, paid = np.array([10, 100]), np.array([[3.0, 1.0], [2.0, 2.0]])
    fig = ch15.seeds({"one": (at, paid), "two": (at, paid)}, {"one": (0.5, 3.0), "two": (0.5, 3.0)})
    for ax in fig.axes:
        thick = max(ax.lines, key=lambda line: line.get_linewidth())
        np.testing.assert_allclose(thick.get_ydata(), [2.5, 1.5])
        assert sum(len(line.get_xdata()) == 2 and line.get_linewidth() < 1 for line in ax.lines) == 2


@pytest.mark.parametrize("many", [50, 200])
def test_regret_ends_where_it_does(many):
    regret = np.cumsum(np.ones((3, many)), axis=1)
    fig = ch15.against_and_with({"a": {"x": regret, "y": 2 * regret}, "b": {"x": regret, "y": regret}})
    ends = [line.get_ydata()[-1] for ax in fig.axes for line in ax.lines]
    assert ends == [many, 2 * many, many, many]


def test_frames_of_one_size_that_differ():
    pixels = []
    for p in (0.0, 1.0):
        q = np.full((3, 3, 2), 0.5 + 0.2 * p)
        figure = ch15.past_and_future(np.zeros((3, 3)), q, ("a", "b", "c"), ("keep", "turn"))
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    for one, other in itertools.pairwise(pixels):
        assert one.shape == other.shape
        assert (one != other).any()
