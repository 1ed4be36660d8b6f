"""Shared shapes of the figures: what they measure, and that chapters take them from one place."""

import ast
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

from aggbandit.figures import chapters, shapes

FILES = sorted(Path(chapters.__file__).parent.glob("*.py"))


@pytest.mark.parametrize(("azimuth", "elevation"), [(0, 0), (28, 24), (-40, 80)])
def test_a_view_does_not_stretch(azimuth, elevation):
    seen = shapes.view(azimuth, elevation)
    np.testing.assert_allclose(seen @ seen.T, np.eye(2), atol=1e-15)
    assert seen[1, 2] == pytest.approx(np.cos(np.radians(elevation)))


def test_a_cube_has_twelve_edges_of_which_three_are_hidden():
    ax = plt.figure().subplots()
    shapes.cube(ax, shapes.view(28, 24))
    assert len(ax.lines) == 12
    assert [line.get_linestyle() for line in ax.lines].count(":") == 3


def test_walls_are_closed_and_the_triangle_has_equal_sides():
    ax = plt.figure().subplots()
    shapes.triangle(ax, ("one", "two", "three"))
    drawn = ax.lines[0].get_xydata()
    np.testing.assert_allclose(np.linalg.norm(np.diff(drawn, axis=0), axis=1), 1.0)
    np.testing.assert_allclose(drawn[0], drawn[-1])
    names = {text.get_text(): text.get_position() for text in ax.texts}
    assert names["three"][1] > max(names["one"][1], names["two"][1])
    assert names["one"][0] < names["two"][0]


def test_an_arrow_goes_from_foot_to_tip():
    ax = plt.figure().subplots()
    shapes.arrow(ax, np.array([0.1, 0.2]), np.array([0.7, 0.9]), "#123456", lw=3, zorder=5)
    (drawn,) = ax.texts
    assert tuple(drawn.xy) == (0.7, 0.9)
    assert tuple(drawn.xyann) == (0.1, 0.2)
    assert drawn.arrow_patch.get_linewidth() == 3
    assert drawn.get_zorder() == 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_chapter_draws_without_another_chapters_file(file):
    for node in ast.walk(ast.parse(file.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert not any(name.startswith("aggbandit.figures.chapters") for name in names)
