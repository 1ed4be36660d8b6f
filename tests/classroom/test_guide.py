"""The guide for teachers: the minutes, exercises and figures that it names are those of the chapters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
GUIDE = (BOOK / "teaching.md").read_text(encoding="utf-8")
NAME = re.compile(r"\*([^*]+)\*")
CHAPTER = re.compile(r"\[\d+\]\((\d\d-[a-z-]+)\.ipynb\)")
CLASS = 90  # minutes
EXERCISE = re.compile(r":::\{exercise\} (.+)\n(?::.*\n)*\n?\*★+ · (\d+) minutes\.\*")


def text_of(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def rows(number_of_cells: int) -> Iterator[list[str]]:
    """The lines of the guide's tables that begin with a week."""
    for line in GUIDE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == number_of_cells and cells[0].isdecimal():
            yield cells


CHAPTERS = {path.stem: text_of(path) for path in BOOK.glob("[0-9][0-9]-*.ipynb")}
WEEKS = [row for row in rows(5) if CHAPTER.search(row[1])]
SECOND = [row for row in rows(3) if re.match(r"chapter \d+: \*", row[1])]


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: f"week-{week[0]}")
def test_a_week_takes_as_long_as_its_chapters_and_its_set_say(week: list[str]) -> None:
    reading = [
        int(re.search(r"\*\*Reading time:\*\* (\d+) minutes", CHAPTERS[name])[1])
        for name in CHAPTER.findall(week[1])
    ]
    minutes = [int(number) for number in week[4].split(",")]
    assert minutes[0] == sum(reading)
    if len(minutes) > 1:
        (path,) = (BOOK / "assignments").glob(f"{week[3][0]}-*.ipynb")
        assert minutes[1] == int(re.search(r"About (\d+) minutes", text_of(path))[1])


def test_there_are_six_weeks_two_of_them_without_sets() -> None:
    assert [week[0] for week in WEEKS] == list("123456")
    assert [week[0] for week in SECOND] == ["5", "6"]


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: f"week-{week[0]}")
def test_what_is_shown_in_class_is_a_section_of_the_chapters(week: list[str]) -> None:
    headings = {
        heading
        for name in CHAPTER.findall(week[1])
        for heading in re.findall(r"^## (.+)$", CHAPTERS[name], re.MULTILINE)
    }
    assert set(NAME.findall(week[2])) <= headings


@pytest.mark.parametrize("week", SECOND, ids=lambda week: f"week-{week[0]}")
def test_the_exercises_of_a_second_class_fit_into_it(week: list[str]) -> None:
    total = 0
    for part in week[1].split("; "):
        number = int(re.match(r"chapter (\d+): ", part)[1])
        (chapter,) = (text for name, text in CHAPTERS.items() if name.startswith(f"{number:02d}-"))
        stated = {name.strip(): int(minutes) for name, minutes in EXERCISE.findall(chapter)}
        for name, minutes in re.findall(r"\*([^*]+)\* (\d+)", part):
            assert stated[name] == int(minutes), name
            total += int(minutes)
    assert total == int(week[2])
    assert total <= CLASS - 15, "something is left for the project"
