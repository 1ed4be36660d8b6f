"""The book's problem sets in the jail: solutions earn all points, blanks none, whatever the seed."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom.course import ASSIGNMENTS, code_cells, drawn
from classroom.jail import Limits
from classroom.marking import Mark, Session, checked

from classroom import notebooks

SETS = [path for path in sorted(ASSIGNMENTS.glob("*.ipynb")) if '"check"' in path.read_text(encoding="utf-8")]
SEEDS = ("spring", "summer", "autumn")
LIMITS = Limits(patience=300)


def marks(jailed, notebook: notebooks.Notebook, questions: list[notebooks.Question]) -> list[Mark]:
    """The marks of all checked questions with three seeds; the notebook is run once."""
    session = Session([notebooks.source(cell) for cell in code_cells(notebook)], jailed, LIMITS)
    try:
        assert session.ready()
        return [
            checked(session, one, drawn(seed, one.name, "check"), notebooks.code_number(notebook, one.name))
            for seed in SEEDS
            for one in questions
        ]
    finally:
        session.close()


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_solutions_earn_all_and_blanks_nothing(jailed, path: Path) -> None:
    source = notebooks.read(path)
    questions = [question for question in notebooks.questions(source) if question.check]
    right = marks(jailed, notebooks.solved(source), questions)
    assert [(mark.status, mark.points) for mark in right] == [("ok", mark.maximum) for mark in right]
    blank = marks(jailed, notebooks.released(source), questions)
    assert [(mark.status, mark.points) for mark in blank] == [("not answered", 0.0) for _ in blank]


def test_every_set_with_checks_is_there() -> None:
    assert len(SETS) == 4  # the project has no question that a check marks
