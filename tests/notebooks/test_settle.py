"""A notebook saved in JupyterLab becomes the one that `make execute` writes, but for what a reader wrote."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import contents
import pytest
from execute import BOOK
from settle import defaults, settle
from whole import STATE, VIEW

from aggbandit.figures.explorable import _dimmed

CHAPTER = BOOK / "06-distorted-bandits.ipynb"  # sliders, buttons, a slider that plays


def read(chapter: Path) -> dict[str, Any]:
    return json.loads(chapter.read_text(encoding="utf-8"))


def models(notebook: dict[str, Any]) -> dict[str, Any]:
    return notebook["metadata"]["widgets"][STATE]["state"]


def of_kind(notebook: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [model["state"] for model in models(notebook).values() if model["model_name"] == kind]


def without_defaults(notebook: dict[str, Any]) -> None:
    for model in models(notebook).values():
        usual = defaults(model["model_module"], model["model_name"])
        state = model["state"].items()
        model["state"] = {key: value for key, value in state if key not in usual or usual[key] != value}


def of_another_run(notebook: dict[str, Any], number: int = 1000) -> None:
    """The widgets get later numbers, as in a kernel in which everything was run before."""
    names = {name: f"{int(name, 16) + number:032x}" for name in models(notebook)}
    text = json.dumps(notebook)
    for old, new in names.items():
        text = text.replace(old, new)
    notebook.update(json.loads(text))


def with_what_nobody_sees(notebook: dict[str, Any]) -> None:
    """Widgets of an output that is there no more, with smaller numbers."""
    earlier = copy.deepcopy(notebook)
    of_another_run(notebook)
    models(notebook).update(models(earlier))


def with_jupyters_marks(notebook: dict[str, Any]) -> None:
    notebook["metadata"]["language_info"]["version"] = "3.99"
    notebook["metadata"]["toc-showcode"] = True
    for cell in notebook["cells"]:
        cell["metadata"]["collapsed"] = True


def moved(notebook: dict[str, Any]) -> None:
    for control in of_kind(notebook, "SelectionSliderModel"):
        control["index"] = 0
    for stack in of_kind(notebook, "StackModel"):
        stack["selected_index"] = 0


def hardly_drawn(notebook: dict[str, Any]) -> None:
    for frame in of_kind(notebook, "HTMLModel")[1::2]:
        frame["value"] = _dimmed(frame["value"])


def without_widgets(notebook: dict[str, Any]) -> None:
    """As Lab saves by itself before it has found a kernel."""
    models(notebook).clear()


def without_state(notebook: dict[str, Any]) -> None:
    del notebook["metadata"]["widgets"]


def with_remarks(notebook: dict[str, Any]) -> None:
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    text = ["aggbandit: compiling the engine, once; about 12 s\n"]
    cell["outputs"].append({"output_type": "stream", "name": "stderr", "text": text})


def test_a_committed_chapter_is_settled(chapter: Path) -> None:
    notebook = read(chapter)
    settle(notebook)
    assert notebook == read(chapter)


@pytest.mark.parametrize(
    "saved",
    [
        without_defaults,
        of_another_run,
        with_what_nobody_sees,
        with_jupyters_marks,
        moved,
        hardly_drawn,
        without_widgets,
        without_state,
        with_remarks,
    ],
)
def test_what_jupyterlab_changes_is_changed_back(saved: Any) -> None:
    notebook, committed = read(CHAPTER), read(CHAPTER)
    saved(notebook)
    assert notebook != committed
    settle(notebook, committed)
    assert notebook == committed


def test_what_the_reader_changed_stays() -> None:
    notebook, committed = read(CHAPTER), read(CHAPTER)
    frame = of_kind(notebook, "HTMLModel")[0]
    frame["value"] = '<svg viewBox="0 0 1 1"></svg>'
    slider = of_kind(notebook, "SelectionSliderModel")[0]
    slider["index"] = 1
    notebook["cells"][1]["source"] = ["x = 1"]
    settle(notebook, committed)
    assert notebook["cells"][1]["source"] == ["x = 1"]
    assert of_kind(notebook, "HTMLModel")[0]["value"] == frame["value"]
    assert of_kind(notebook, "SelectionSliderModel")[0]["index"] == 1  # another figure, opened elsewhere


def test_a_warning_of_anything_else_stays() -> None:
    notebook = read(CHAPTER)
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    warning = {"output_type": "stream", "name": "stderr", "text": ["RuntimeWarning: overflow\n"]}
    cell["outputs"].append(warning)
    settle(notebook)
    assert warning in cell["outputs"]


def test_a_figure_whose_widgets_were_lost_is_left_to_be_found(tmp_path: Path) -> None:
    notebook = read(CHAPTER)
    view = next(
        output["data"][VIEW]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if VIEW in output.get("data", {})
    )
    view["model_id"] = "c0ffee"
    settle(notebook, read(CHAPTER))
    assert view["model_id"] == "c0ffee"


def test_only_chapters_are_settled() -> None:
    mine = {"type": "notebook", "content": {"metadata": {"mine": True}, "cells": []}}
    contents.settle_chapter(mine, "my-own.ipynb")
    assert mine["content"]["metadata"] == {"mine": True}
    theirs = {"type": "notebook", "content": read(CHAPTER)}
    with_jupyters_marks(theirs["content"])
    contents.settle_chapter(theirs, CHAPTER.name)
    assert theirs["content"] == read(CHAPTER)
