"""A chapter whose moving figures would be missing from its page is refused, and the old site stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build
import pytest
from execute import BOOK, chapters_of_the_book
from whole import STATE, VIEW, faults, reachable

from aggbandit.figures.explorable import _dimmed

MOVING = BOOK / "01-only-the-total.ipynb"
Damage = Callable[[dict[str, Any]], None]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def figures(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The data of the outputs that are moving figures."""
    outputs = (output for cell in code_cells(notebook) for output in cell["outputs"])
    return [output["data"] for output in outputs if VIEW in output.get("data", {})]


def models(notebook: dict[str, Any]) -> dict[str, Any]:
    return notebook["metadata"]["widgets"][STATE]["state"]


def first_parts(notebook: dict[str, Any], kind: str) -> list[str]:
    """The parts of the first moving figure that are of one kind."""
    state = models(notebook)
    parts = reachable(figures(notebook)[0][VIEW]["model_id"], state)
    return [part for part in parts if state[part]["model_name"] == kind]


def no_state(notebook: dict[str, Any]) -> None:
    del notebook["metadata"]["widgets"]


def state_of_colab(notebook: dict[str, Any]) -> None:
    notebook["metadata"]["widgets"] = models(notebook)


def run_again_elsewhere(notebook: dict[str, Any]) -> None:
    """The figure has new widgets, the notebook the state of the old ones."""
    figures(notebook)[0][VIEW]["model_id"] = "c0ffee"


def saved_as_text(notebook: dict[str, Any]) -> None:
    del figures(notebook)[0][VIEW]


def a_frame_lost(notebook: dict[str, Any]) -> None:
    del models(notebook)[first_parts(notebook, "HTMLModel")[-1]]


def a_part_without_a_kind(notebook: dict[str, Any]) -> None:
    del models(notebook)[first_parts(notebook, "LayoutModel")[0]]["model_module"]


def links_lost(notebook: dict[str, Any]) -> None:
    for name in [name for name, model in models(notebook).items() if model["model_name"] == "LinkModel"]:
        del models(notebook)[name]


def saved_while_drawing(notebook: dict[str, Any]) -> None:
    frame = models(notebook)[first_parts(notebook, "HTMLModel")[-1]]
    frame["state"]["value"] = _dimmed(frame["state"]["value"])


def more_frames_than_a_page_holds(notebook: dict[str, Any]) -> None:
    """As a notebook that lives may have them."""
    stack = models(notebook)[first_parts(notebook, "StackModel")[0]]["state"]
    stack["children"] = [stack["children"][0]] * 41


def heavier_than_a_page_holds(notebook: dict[str, Any]) -> None:
    frame = models(notebook)[first_parts(notebook, "HTMLModel")[-1]]
    frame["state"]["value"] += " " * 400_000


def outputs_cleared(notebook: dict[str, Any]) -> None:
    for cell in code_cells(notebook):
        cell.update(outputs=[], execution_count=None)


def run_out_of_order(notebook: dict[str, Any]) -> None:
    code_cells(notebook)[0]["execution_count"] = 17


def ended_in_an_error(notebook: dict[str, Any]) -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    code_cells(notebook)[0]["outputs"] = [error]


DAMAGES = {
    no_state: "no widget state was saved",
    state_of_colab: "laid out as Colab saves it",
    run_again_elsewhere: "that of another run",
    saved_as_text: "as text alone",
    a_frame_lost: "lacks 1 of its parts",
    a_part_without_a_kind: "lacks 1 of its parts",
    links_lost: "no saved link",
    saved_while_drawing: "1 of its pictures were not drawn",
    more_frames_than_a_page_holds: "has 41 pictures; at most 40",
    heavier_than_a_page_holds: "kB; at most 400 kB",
    outputs_cleared: "code cell 1 was not run",
    run_out_of_order: "top to bottom",
    ended_in_an_error: "code cell 1 ended in an error",
}


def damaged(damage: Damage, folder: Path) -> Path:
    notebook = json.loads(MOVING.read_text(encoding="utf-8"))
    damage(notebook)
    path = folder / MOVING.name
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def test_the_committed_chapter_is_whole(chapter: Path) -> None:
    assert list(faults(chapter)) == []


@pytest.mark.parametrize(
    ("damage", "sentence"), DAMAGES.items(), ids=lambda value: getattr(value, "__name__", "")
)
def test_a_chapter_that_would_lose_something_is_named(damage: Damage, sentence: str, tmp_path: Path) -> None:
    path = damaged(damage, tmp_path)
    assert any(sentence in fault for fault in faults(path)), list(faults(path))
    (complaint,) = build.unfit([path])
    assert f". Run `make execute CHAPTER={path}`, or " in complaint


def test_an_empty_cell_at_the_end_is_no_fault(tmp_path: Path) -> None:
    def open_a_new_cell(notebook: dict[str, Any]) -> None:
        empty = {"cell_type": "code", "source": [], "outputs": [], "execution_count": None}
        notebook["cells"].append(empty | {"id": "new", "metadata": {}})

    assert list(faults(damaged(open_a_new_cell, tmp_path))) == []


def test_nothing_is_built_and_the_old_site_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chapters = [*chapters_of_the_book(), damaged(run_again_elsewhere, tmp_path)]
    site = tmp_path / "_build" / "html"
    site.mkdir(parents=True)
    (site / "index.html").write_text("the old site")
    monkeypatch.setattr(build, "BUILD", site.parent)
    monkeypatch.setattr(build, "SITE", site)
    monkeypatch.setattr(build, "chapters_of_the_book", lambda: chapters)
    monkeypatch.setattr(build, "build", lambda scratch: pytest.fail("something was built"))
    assert build.main() == 1
    assert (site / "index.html").read_text() == "the old site"
    assert MOVING.name in capsys.readouterr().err
