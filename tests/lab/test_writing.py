"""A student's way to an answer: a double click on the text that waits for it, then the keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import OWN, SHOWN, Lab

SOURCES = "jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel.getSource())"

# How to write is selected, so that what one writes takes its place.
SELECTED = "jupyterapp.shell.currentWidget.content.activeCell.editor?.getSelection().end.column > 70"


def test_a_double_click_lets_one_write(lab: Lab, chapter: Path) -> None:
    before = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    lab.page.locator(f"{SHOWN} .jp-MarkdownCell .myst p", has_text="Your answer").dblclick()
    lab.page.wait_for_function(SELECTED)
    lab.page.keyboard.type("x, a half")
    sources = lab.page.evaluate(SOURCES)
    assert len(sources) == len(before)  # `x` in command mode cuts the cell
    assert sources[-1] == "*Your answer:* x, a half"


@pytest.mark.parametrize("figure", [".noUi-handle", ".ab-drag [tabindex='0']"], ids=["slider", "handle"])
def test_what_was_written_is_saved_from_within_a_figure(lab: Lab, chapter: Path, figure: str) -> None:
    lab.run()
    lab.page.evaluate(
        f"jupyterapp.shell.currentWidget.content.model.cells.get(4).sharedModel.setSource({figure!r})"
    )
    lab.page.locator(f"{SHOWN} {figure}").first.focus()
    lab.page.keyboard.press("Control+s")
    lab.page.wait_for_function("!jupyterapp.shell.currentWidget.content.model.dirty")
    assert json.loads(chapter.read_text(encoding="utf-8"))["cells"][4]["source"] == [figure]


def test_only_the_chapters_pages_are_listed(lab: Lab) -> None:
    names = lab.page.evaluate(
        """jupyterapp.serviceManager.contents.get("").then(folder => folder.content.map(file => file.name))"""
    )
    assert {OWN, "notation.md"} <= set(names)
    assert lab.page.get_by_text("Nbgrader").count() == 0  # that is for teachers: `make mark`
    assert not {"jupyterhub.md", "_tools", "references.bib"} & set(names)


def test_it_goes_on_with_what_was_open(lab: Lab) -> None:
    lab.open(OWN)
    lab.page.wait_for_timeout(3000)  # Lab keeps what is open a little later than it is opened
    lab.page.reload()
    lab.page.wait_for_function("window.jupyterapp")
    lab.page.evaluate("jupyterapp.restored.then(() => null)")
    lab.wait_for(OWN)
    lab.page.wait_for_timeout(5000)  # and what would come before it comes late
    shown = lab.page.evaluate("[...jupyterapp.shell.widgets('main')].map(widget => widget.context.path)")
    assert shown == [OWN]
    lab.close()
