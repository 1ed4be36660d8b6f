"""Viewers without widgets, and what nbconvert makes of a chapter, show every figure, standing still."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from execute import BOOK
from nbconvert import MarkdownExporter, ScriptExporter, SlidesExporter
from whole import VIEW

PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
# A chapter with sliders and dragged figures, and one whose first frames are pixels.
CONVERTED = [BOOK / "02-occupancy-measures.ipynb", BOOK / "08-increasing-rates.ipynb"]


def moving(chapter: Path) -> list[nbformat.NotebookNode]:
    """The outputs that are moving figures."""
    cells = nbformat.read(chapter, as_version=4).cells
    return [output for cell in cells for output in cell.get("outputs", []) if VIEW in output.get("data", {})]


def test_a_picture_stands_behind_every_moving_figure(chapter: Path) -> None:
    for output in moving(chapter):
        assert len(PICTURES.keys() & output.data) == 1


@pytest.mark.parametrize("converted", CONVERTED, ids=lambda chapter: chapter.stem)
def test_markdown_shows_them(converted: Path) -> None:
    text, resources = MarkdownExporter().from_filename(converted)
    figures = moving(converted)
    assert len(figures) > 1
    assert len(resources["outputs"]) >= len(figures)
    for name in resources["outputs"]:
        assert name in text
    assert not re.search(r"^ *(Explorable|Draggable|Picture):", text, re.MULTILINE)


@pytest.mark.parametrize("converted", CONVERTED, ids=lambda chapter: chapter.stem)
def test_a_script_is_a_program_in_python(converted: Path) -> None:
    text, resources = ScriptExporter().from_filename(converted)
    assert resources["output_extension"] == ".py"
    compile(text, converted.name, "exec")


def test_slides_hold_the_widgets_and_their_state() -> None:
    text, _ = SlidesExporter().from_filename(CONVERTED[0])
    assert text.count(VIEW) >= len(moving(CONVERTED[0]))
    assert "application/vnd.jupyter.widget-state+json" in text
