"""*Check yourself*: a few questions a chapter, several answers each, one right, all of them explained."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from execute import BOOK

CHAPTERS = sorted(BOOK.glob("[0-9][0-9]-*.ipynb"))
QUESTION = re.compile(r"^\*\*(\d+)\. (.+)\*\*$", re.MULTILINE)
ANSWER = re.compile(r"^:::\{dropdown\} \(([a-z])\) (.+)\n((?:(?!:::).*\n)*):::$", re.MULTILINE)
RIGHT, WRONG = "**Right.** ", "*Not quite.* "  # bold and italics: answers.css tells them apart by that
LINK = re.compile(r"\{(?:prf:ref|ref|numref|eq|cite:?\w*)\}|\]\(")
FEWEST_WORDS = 4


@dataclass(frozen=True)
class Question:
    """One question of a chapter.

    Attributes:
        number: As printed.
        text: What is asked.
        answers: (letter, answer, explanation) of each answer, in order.
    """

    number: int
    text: str
    answers: list[tuple[str, str, str]]


def read(chapter: Path) -> str:
    """The cell's Markdown."""
    cells = nbformat.read(chapter, as_version=4).cells
    (found,) = [cell.source for cell in cells if cell.get("id") == "check-yourself"]
    return found + "\n"


def questions(source: str) -> list[Question]:
    _, *parts = QUESTION.split(source)
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [Question(int(number), text, ANSWER.findall(rest)) for number, text, rest in triples]


def faults(source: str) -> list[str]:
    """What is wrong with a cell of questions, in words."""
    found = questions(source)
    wrong = []
    if not 3 <= len(found) <= 5:
        wrong.append(f"{len(found)} questions")
    if [one.number for one in found] != list(range(1, len(found) + 1)):
        wrong.append("questions are not numbered from one")
    if source.count("{dropdown}") != sum(len(one.answers) for one in found):
        wrong.append("a fold that is no answer")
    for one in found:
        letters = "".join(letter for letter, _, _ in one.answers)
        if any(LINK.search(answer) for _, answer, _ in one.answers):
            wrong.append(f"question {one.number} has a link in an answer, which is a button itself")
        explained = [why for _, _, why in one.answers]
        if len(letters) < 3 or letters != "abcdef"[: len(letters)]:
            wrong.append(f"question {one.number} has the answers {letters or 'none'}")
        if sum(why.startswith(RIGHT) for why in explained) != 1:
            wrong.append(f"question {one.number} needs exactly one right answer")
        for letter, why in zip(letters, explained, strict=True):
            verdict = next((begin for begin in (RIGHT, WRONG) if why.startswith(begin)), None)
            if verdict is None:
                wrong.append(f"answer {one.number}({letter}) says neither right nor not quite")
            elif len(why.removeprefix(verdict).split()) < FEWEST_WORDS:
                wrong.append(f"answer {one.number}({letter}) is not explained")
    return wrong


@pytest.mark.parametrize("path", CHAPTERS, ids=[path.stem for path in CHAPTERS])
def test_each_answer_is_explained_and_one_is_right(path: Path) -> None:
    assert not faults(read(path))


def test_the_right_answer_has_no_favorite_place() -> None:
    places = [
        [why.startswith(RIGHT) for _, _, why in one.answers].index(True)
        for path in CHAPTERS
        for one in questions(read(path))
    ]
    for place in range(3):
        assert 1 / 6 <= places.count(place) / len(places) <= 1 / 2


GOOD = (
    "\n".join(
        f"**{number}. Is it?**\n\n"
        f":::{{dropdown}} (a) Yes.\n{RIGHT}So it is, as one sees.\n:::\n\n"
        f":::{{dropdown}} (b) No.\n{WRONG}It only looks like that.\n:::\n\n"
        f":::{{dropdown}} (c) Perhaps.\n{WRONG}One can be quite sure.\n:::\n"
        for number in (1, 2, 3)
    )
    + "\n"
)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (GOOD.replace("**3. Is it?**", "3. Is it?"), "2 questions"),
        (GOOD.replace("**2.", "**4."), "not numbered"),
        (GOOD.replace(WRONG, RIGHT, 1), "exactly one right"),
        (GOOD.replace(RIGHT, WRONG, 1), "exactly one right"),
        (GOOD.replace(WRONG, "**Wrong.** ", 1), "neither"),
        (GOOD.replace("It only looks like that.", "No.", 1), "not explained"),
        (GOOD.replace("(c) Perhaps", "Perhaps", 1), "no answer"),
        (GOOD.replace("(b) No", "(d) No", 1), "the answers adc"),
        (GOOD.replace("(b) No", "(b) See {prf:ref}`thm`", 1), "a link in an answer"),
    ],
)
def test_what_is_missing_is_named(broken: str, complaint: str) -> None:
    assert not faults(GOOD)
    assert any(complaint in fault for fault in faults(broken)), faults(broken)
