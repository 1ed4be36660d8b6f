"""Every name that the package or one of its rooms exports is on a page of the reference, and on one only."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import Counter
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
from reference import FENCE, bars_escaped, defined  # noqa: E402  (the path is set just above)

PAGES = sorted((BOOK / "reference").glob("*.md"))
NAMED = [module for page in PAGES for module in FENCE.findall(page.read_text(encoding="utf-8"))]
ROOMS = ("aggbandit", "aggbandit.engine", "aggbandit.figures", "aggbandit.game", "aggbandit.geometry")
ROOMS += ("aggbandit.checks", "aggbandit.learners")


def test_no_module_is_on_two_pages() -> None:
    assert [module for module, times in Counter(NAMED).items() if times > 1] == []


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_exported_is_explained(room: str) -> None:
    shown = {id(thing) for module in NAMED for _, thing in defined(importlib.import_module(module))}
    package = importlib.import_module(room)
    things = {name: getattr(package, name) for name in getattr(package, "__all__", ())}
    explained = {
        name: thing for name, thing in things.items() if inspect.isclass(thing) or inspect.isroutine(thing)
    }
    assert [name for name, thing in explained.items() if id(thing) not in shown] == []


def test_a_bar_is_a_bar_and_code_stays() -> None:
    assert bars_escaped("|x| and `|y|`") == r"\|x\| and `|y|`"


def test_every_check_is_on_its_page() -> None:
    page = (BOOK / "reference" / "checks.md").read_text(encoding="utf-8")
    assert [
        name for name in importlib.import_module("aggbandit.checks").ALL if f"* - `{name}`\n" not in page
    ] == []
