"""Dragged figures, Python's half: one file of JavaScript, numbers a page can hold, a still, and words."""

from __future__ import annotations

import importlib
import re

import ipywidgets as widgets
import numpy as np
import pytest

from aggbandit import figures
from aggbandit.figures import style

draggable_module = importlib.import_module("aggbandit.figures.draggable")  # the name means the function

SVG = '<svg viewBox="0 0 10 10"><circle cx="5" cy="5" r="2"/></svg>'
WORDS = {"caption": "Turn the arrow to $\\theta$.", "alt": "An arrow."}


def made(data=None, **words):
    return figures.draggable("direction", data or {}, start={"theta": 1.0}, still=SVG, **(WORDS | words))


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A folder of modules instead of the real ones."""
    monkeypatch.setattr(draggable_module, "_MODULES", tmp_path)
    draggable_module.source.cache_clear()

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")

    yield write
    draggable_module.source.cache_clear()


def test_it_shows_the_drawing_over_its_caption_and_a_still_behind():
    figure = made()
    drawing, caption = figure.widget.children
    assert drawing is figure.drawing
    assert caption.value == "Turn the arrow to \\(\\theta\\)."
    assert "ab-explorable" in figure.widget._dom_classes
    bundle, _ = figure._repr_mimebundle_()
    assert bundle["image/svg+xml"] == SVG
    assert bundle["text/plain"] == repr(figure) == "Draggable: Turn the arrow to $\\theta$."
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == figure.widget.model_id
    assert 'aria-label="An arrow."' in drawing.still
    assert re.search(r'class="ab-drag-still" style="--wide: \d+px; --narrow: \d+px"', drawing.still)


def test_the_saved_state_holds_all_that_a_page_without_kernel_needs():
    figure = made()
    state = widgets.Widget.get_manager_state(widgets=[figure.drawing])["state"][figure.drawing.model_id]
    assert state["model_module"] == "anywidget"
    names = {"_view_name", "_view_module", "_view_module_version", "_esm", "_css", "data", "start", "still"}
    assert names <= set(figure.drawing.get_state())
    assert state["state"]["_esm"] == draggable_module.source("direction")


def test_numbers_are_rounded_and_arrays_become_lists():
    data = made(
        {"x": np.array([[1 / 3, 2.0]]), "n": np.int64(3), "w": ("a", True), "t": {1: 1e-7}}
    ).drawing.data
    assert data == {"x": [[0.333333333333, 2.0]], "n": 3, "w": ["a", True], "t": {"1": 1e-7}}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"x": [1.0, np.nan]}, r"data\['x'\]\[1\] is nan"),
        ({"x": np.inf}, r"data\['x'\] is inf"),
        ({"x": None}, r"data\['x'\] is None"),
        ({"x": {"y": 1j}}, r"data\['x'\]\['y'\] is 1j"),
    ],
)
def test_what_a_page_cannot_hold_is_refused_by_its_place(data, place):
    with pytest.raises(ValueError, match=place + "; a page holds"):
        made(data)


def test_tables_modules_words_and_weight_are_checked():
    with pytest.raises(TypeError, match="data"):
        made([1.0])
    with pytest.raises(ValueError, match=r"no module wheel\.js; there are .*direction\.js"):
        figures.draggable("wheel", {}, start={}, still=SVG, **WORDS)
    with pytest.raises(ValueError, match="caption is empty"):
        made(caption=" ")
    with pytest.raises(ValueError, match="alt is empty"):
        made(alt="")
    with pytest.raises(ValueError, match="at most 400 kB"):
        made({"x": np.zeros(100_000)})


def test_the_colors_are_those_of_the_house():
    text = draggable_module._read("drag")
    table = dict(re.findall(r'^  (\w+): "var\(.*(#[0-9A-F]{6})\)+",$', text, re.MULTILINE))
    assert len(table) == 12
    assert table == {name: getattr(style, name.upper()) for name in table}


def test_modules_become_one_file_in_which_no_names_meet(modules):
    modules(
        low="export const one = 1;\nconst hidden = 1;\nexport function two() {\n  return 2;\n}\n",
        mid='import { one } from "./low.js";\n/* A comment\n * of lines. */\nexport const three = one;\n',
        top=(
            'import {\n  one,\n  two,\n} from "./low.js";\nimport { three } from "./mid.js";\n\n'
            "// Gone.\nconst hidden = 2; // stays\nexport const maths = { one };\n"
            "export default one + two() + three;\n"
        ),
    )
    text = draggable_module.source("top")
    assert "import" not in text
    assert "Gone" not in text
    assert "A comment" not in text
    assert text.count("const low =") == text.count("const mid =") == 1
    assert text.index("const low =") < text.index("const mid =") < text.index("const { one, two, } = low;")
    assert "return { one, two };" in text
    assert "export default one + two() + three;" in text


def test_other_imports_and_modules_that_are_no_figure_are_refused(modules):
    modules(other='import three from "./drag.js";\nexport default 1;\n', shared="export const one = 1;\n")
    with pytest.raises(ValueError, match="no statement of the form import"):
        draggable_module.source("other")
    with pytest.raises(ValueError, match="no figure"):
        draggable_module.source("shared")
    modules(flat="const one = 1;\nexport default one;\n")
    with pytest.raises(ValueError, match=r"flat\.js does not say its room"):
        figures.draggable("flat", {}, start={}, still=SVG, **WORDS)


def test_the_bytes_of_a_figure_are_the_same_every_time():
    states = [made({"x": np.linspace(0, 1, 7)}).drawing.get_state(["_esm", "_css", "data", "start", "still"])]
    draggable_module.source.cache_clear()
    states += [
        made({"x": np.linspace(0, 1, 7)}).drawing.get_state(["_esm", "_css", "data", "start", "still"])
    ]
    assert states[0] == states[1]
