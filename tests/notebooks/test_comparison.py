"""The comparison itself: it lets rounding pass, and nothing that a reader could see."""

from __future__ import annotations

import base64
import io

import nbformat.v4 as nbf
import numpy as np
import pytest
from comparison import WIDGET_STATE, differences
from nbformat import NotebookNode
from PIL import Image


def encoded(pixels: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "WEBP", lossless=True)
    return base64.b64encode(file.getvalue()).decode()


def chapter(text: str = "0.5\n", picture: np.ndarray | None = None, svg: str = "<svg/>") -> NotebookNode:
    """A notebook that prints, draws, and holds one widget frame."""
    frame = encoded(blank() if picture is None else picture)
    data = {"image/webp": frame, "image/svg+xml": svg, "text/html": embedded(frame)}
    outputs = [nbf.new_output("stream", text=text), nbf.new_output("display_data", data=data)]
    notebook = nbf.new_notebook(cells=[nbf.new_code_cell("draw()", outputs=outputs)])
    notebook.metadata["widgets"] = {WIDGET_STATE: {"state": {"1": {"value": embedded(frame)}}}}
    return notebook


def embedded(frame: str) -> str:
    return f'<img alt="a bar" src="data:image/webp;base64,{frame}">'


def blank() -> np.ndarray:
    return np.full((100, 200, 3), 240)


def marked(size: int) -> np.ndarray:
    """The blank picture with a dark square of the given side."""
    picture = blank()
    picture[40 : 40 + size, 60 : 60 + size] = 30
    return picture


def test_equal_chapters_have_no_differences() -> None:
    assert differences(chapter(), chapter()) == []


def test_a_shift_of_one_gray_level_in_some_pixels_passes() -> None:
    nudged = blank()
    nudged[::3] += 1
    assert differences(chapter(picture=blank()), chapter(picture=nudged)) == []


@pytest.mark.parametrize("size", [7, 20])
def test_a_lost_marker_is_seen_in_output_html_and_widget(size: int) -> None:
    found = differences(chapter(picture=blank()), chapter(picture=marked(size)))
    assert sum("image/webp" in line for line in found) >= 1
    assert sum("text/html" in line for line in found) >= 1
    assert sum("widget state" in line for line in found) >= 1


def test_a_pale_wash_is_seen() -> None:
    assert differences(chapter(picture=blank()), chapter(picture=blank() + 1))


def test_another_size_is_seen() -> None:
    assert differences(chapter(picture=blank()), chapter(picture=blank()[:90]))


def test_another_digit_of_text_is_seen() -> None:
    assert differences(chapter(text="0.5\n"), chapter(text="0.6\n")) == [
        "cell 1, output 0 text: '0.5\\n', now '0.6\\n'"
    ]


def test_other_alt_text_is_seen() -> None:
    other = chapter()
    html = other.cells[0].outputs[1].data["text/html"]
    other.cells[0].outputs[1].data["text/html"] = html.replace("a bar", "two bars")
    assert len(differences(chapter(), other)) == 1


def test_a_drawing_may_move_by_rounding_alone() -> None:
    line = '<svg><path d="M {} 2.0"/></svg>'
    assert differences(chapter(svg=line.format("1.0001")), chapter(svg=line.format("1.0002"))) == []
    assert differences(chapter(svg=line.format("1.0001")), chapter(svg=line.format("1.4001")))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('<path d="M1 2l3.1 4 5 5h2z"/>', '<path d="M1 2l3 4 5.1 5h2z"/>', True),
        ('<path d="M1 2l3 4 5 5"/>', '<path d="M1 2l3 4 5 5h.1"/>', True),
        ('<path d="M1 2l3 4 5 5"/>', '<path d="M1 2l3 4 5 6"/>', False),
        ('<path d="M1 2v3a2 2 0 1 0 4 0"/>', '<path d="M1 2v3a2 2 0 1 0 5 0"/>', False),
        ('<text x="1" y="2">1.6</text>', '<text x="1.1" y="2">1.6</text>', True),
        ('<text x="1" y="2">1.6</text>', '<text x="1" y="2">1.7</text>', False),
        ('<path stroke-width="1" d="M0 0"/>', '<path stroke-width="2" d="M0 0"/>', False),
    ],
)
def test_a_drawing_within_a_page_is_compared_by_where_it_is(old: str, new: str, same: bool) -> None:
    pages = [chapter() for _ in range(2)]
    for page, drawing in zip(pages, (old, new), strict=True):
        page.cells[0].outputs[1].data["text/html"] = f'<div aria-label="a">{"<svg>" + drawing}</svg></div>'
    assert (differences(*pages) == []) is same


def test_a_missing_widget_is_seen() -> None:
    other = chapter()
    other.metadata["widgets"] = {}
    assert differences(chapter(), other)
