"""No stale output: every chapter, run again from nothing, shows what is committed."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from comparison import differences
from execute import Outcome, chapters_of_the_book, execute_all


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, tuple[Outcome, Path]]:
    """Every chapter executed once into a scratch folder, the committed notebooks untouched."""
    folder = tmp_path_factory.mktemp("run")
    copies = {chapter: folder / chapter.name for chapter in chapters_of_the_book()}
    outcomes = execute_all(copies.items(), report=lambda outcome: None)
    return {outcome.chapter: (outcome, copies[outcome.chapter]) for outcome in outcomes}


def test_a_chapter_run_again_shows_the_same(chapter: Path, runs: dict[Path, tuple[Outcome, Path]]) -> None:
    outcome, copy = runs[chapter]
    assert outcome.error is None, outcome.line()
    committed, again = (nbformat.read(path, as_version=4) for path in (chapter, copy))
    found = differences(committed, again)
    assert not found, "\n".join([f"{chapter.name} is stale; run `make execute`:", *found[:20]])
