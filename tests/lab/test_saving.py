"""A chapter that is run in JupyterLab and saved is the one that `make execute` wrote, and stays alive."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import EMPTY, OWN, SHOWN, Lab

FRAME = f"{SHOWN} .ab-explorable .ab-frame:visible"
SLIDER = f"{SHOWN} .ab-explorable .noUi-handle"


def test_it_moves_before_anything_is_run(lab: Lab, chapter: Path) -> None:
    lab.page.locator(f"{FRAME}[aria-label*='left at 0.5.']").wait_for()
    lab.page.locator(SLIDER).press("End")
    lab.page.locator(f"{FRAME}[aria-label*='left at 1.0.']").wait_for()
    assert lab.page.locator(f"{SHOWN} .ab-explorable").count() == 2


def test_run_moved_and_saved_it_is_what_it_was(lab: Lab, chapter: Path, committed: bytes) -> None:
    lab.run()
    lab.page.locator(SLIDER).press("End")  # before that frame can have been drawn
    lab.command("docmanager:save")
    assert chapter.read_bytes() == committed
    lab.page.locator(f"{FRAME}[aria-label*='left at 1.0.']").wait_for()
    lab.run()  # a second time: other widgets, the same chapter
    lab.command("docmanager:save")
    again = json.loads(chapter.read_text())
    first = json.loads(committed)
    assert again["metadata"] == first["metadata"]


def test_an_answer_is_all_that_git_sees(lab: Lab, chapter: Path, committed: bytes) -> None:
    lab.page.evaluate(
        "jupyterapp.shell.currentWidget.content.model.cells.get(4).sharedModel.setSource('Half.')"
    )
    lab.run()
    lab.command("docmanager:save")
    assert chapter.read_text() == committed.decode().replace(EMPTY, "Half.")
    lab.close()
    lab.open(OWN)  # and all is there, trusted
    lab.page.locator(f"{FRAME}[aria-label*='left at 0.5.']").wait_for()
    lab.page.locator(f"{SHOWN} .ab-drag svg").first.wait_for()
