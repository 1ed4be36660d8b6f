"""Problem sets as notebooks: what they ask, what students get of them, and what teachers get.

The format is described in `classroom.course`. Everything here is plain JSON, read and written as it is.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
NAME = re.compile(r"[A-Za-z0-9_-]+")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
SEED = re.compile(r"^seed = \d+$", re.MULTILINE)
BLANKS = {"checked": "raise NotImplementedError", "code": "# your code here", "markdown": "*Your answer:*"}
PRIVATE = ("check", "function", "rubric", "variants", "variant")  # entries of `marking` that are not released

KINDS = ("code", "markdown", "raw")
LARGEST = 2 * 10**7  # bytes of a notebook
BEGINNING = 60  # characters of a cell, to tell it from others

Notebook = dict[str, Any]
Cell = dict[str, Any]


class BadNotebook(Exception):
    """What should be a notebook, or a problem set, is none."""


@dataclass(frozen=True)
class Question:
    """What a problem set asks and what it is worth.

    Attributes:
        name: its grade_id.
        title: the heading that it stands under; where two do, with what each wants.
        points: what a right answer earns.
        check: the name of the check that marks it, None where a person does.
        function: the function that the check calls.
        rubric: how a person marks it.
    """

    name: str
    title: str
    points: float
    check: str | None
    function: str
    rubric: str


def read(path: Path) -> Notebook:
    """A notebook, or BadNotebook with the reason why it cannot be read."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadNotebook(f"{path.name} has {path.stat().st_size} bytes; at most {LARGEST} are read")
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadNotebook(f"{path.name} cannot be read: {error}") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise BadNotebook(f"{path.name} has no cells")
    if not all(isinstance(cell, dict) and cell.get("cell_type") in KINDS for cell in notebook["cells"]):
        raise BadNotebook(f"{path.name} has cells that are none")
    return notebook


def write(notebook: Notebook, path: Path) -> None:
    """Write a notebook in the one form that this project's notebooks have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def source(cell: Cell) -> str:
    """The text of a cell, of characters that can be written; empty where it is none."""
    text = cell.get("source", "")
    lines = text if isinstance(text, list) else [text]
    return writable("".join(line for line in lines if isinstance(line, str)))


def writable(text: str) -> str:
    """The text with a question mark for each half of a character, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def with_source(cell: Cell, text: str) -> Cell:
    """The cell with another text."""
    return cell | {"source": text.splitlines(keepends=True)}


def tags(cell: Cell) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def marking(cell: Cell) -> dict[str, str]:
    return cell.get("metadata", {}).get("marking", {})


def questions(notebook: Notebook) -> list[Question]:
    """What a source notebook asks, in its order.

    Raises:
        BadNotebook: where a grade_id is malformed or stands twice, or a solution is missing.
    """
    rubrics = {
        marking(cell)["rubric"]: source(cell) for cell in notebook["cells"] if "rubric" in marking(cell)
    }
    found: list[Question] = []
    titles = headings(notebook)
    for cell in notebook["cells"]:
        if "answer" not in tags(cell):
            continue
        entry, ours = cell["metadata"].get("nbgrader", {}), marking(cell)
        name, points = entry.get("grade_id", ""), entry.get("points")
        if not NAME.fullmatch(name):
            raise BadNotebook(f"grade_id {name!r}; it is made of letters, digits, - and _")
        if name in [other.name for other in found]:
            raise BadNotebook(f"grade_id {name!r} stands twice; each question has its own")
        if not isinstance(points, int | float) or points <= 0:
            raise BadNotebook(f"{name} is worth {points}; a question is worth some points")
        if BEGIN not in source(cell):
            raise BadNotebook(f"{name} has no line {BEGIN}; a question has a solution")
        check = ours.get("check")
        function = ours.get("function", check or "")
        found.append(Question(name, titles[name], float(points), check, function, rubrics.get(name, "")))
    return found


def headings(notebook: Notebook) -> dict[str, str]:
    """For each question its title, as students know it."""
    heading, found = "", {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and not tags(cell):
            heading = (HEADING.findall(source(cell)) or [heading])[-1]
        elif "answer" in tags(cell):
            name = str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))
            found[name] = (heading or name, marking(cell).get("function") or wanted(cell))
    given = [heading for heading, _ in found.values()]
    return {
        name: heading if given.count(heading) == 1 else f"{heading} ({wants})"
        for name, (heading, wants) in found.items()
    }


def wanted(cell: Cell) -> str:
    """What an answer is, in a word."""
    return marking(cell).get("check") or {"code": "figure", "markdown": "text"}[cell["cell_type"]]


def code_number(notebook: Notebook, name: str) -> int | None:
    """Which of the code cells answers a question, counted from 0; None where none does."""
    code = (cell for cell in notebook["cells"] if cell.get("cell_type") == "code")
    return next((number for number, cell in enumerate(code) if answers(cell, name)), None)


def cell_names(notebook: Notebook, asked: Iterable[Question]) -> list[str]:
    """For each code cell what it is called: by the question it answers, or else by how it begins; a student's
    notebook does not count its cells."""
    titles = {code_number(notebook, one.name): one.title for one in asked}
    code = [source(cell) for cell in notebook["cells"] if cell.get("cell_type") == "code"]
    return [titles.get(number, beginning(text)) for number, text in enumerate(code)]


def beginning(text: str) -> str:
    """A cell by its first line."""
    lines = text.strip().splitlines()
    if not lines:
        return "an empty cell"
    more = "…" if len(lines[0].strip()) > BEGINNING else ""
    return f'the cell that begins "{lines[0].strip()[:BEGINNING]}{more}"'


def answer_of(notebook: Notebook, question: str) -> str | None:
    """What stands in the cell of a question, None where there is no such cell."""
    return next((source(cell) for cell in notebook["cells"] if answers(cell, question)), None)


def answers(cell: Cell, question: str) -> bool:
    """Whether a cell says that it is the answer to a question, in a notebook that may say anything."""
    metadata = cell.get("metadata")
    entry = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return isinstance(entry, dict) and entry.get("grade_id") == question


def released(notebook: Notebook) -> Notebook:
    """What students get: no solution, no rubric, nothing of how it is marked, no outputs."""
    cells = [cell for cell in notebook["cells"] if "rubric" not in marking(cell)]
    return reduced(notebook, cells, blank)


def solved(notebook: Notebook) -> Notebook:
    """What teachers get: solutions and rubrics, without the lines that mark them."""
    return reduced(notebook, notebook["cells"], revealed)


def reduced(notebook: Notebook, cells: list[Cell], change: Callable[[Cell], Cell]) -> Notebook:
    """A notebook of these cells, each changed, without outputs and without the entries that only we need."""
    return copy.deepcopy(notebook) | {"cells": [public(change(copy.deepcopy(cell))) for cell in cells]}


def public(cell: Cell) -> Cell:
    """A cell without outputs, and without what says how it is marked."""
    ours = {key: value for key, value in marking(cell).items() if key not in PRIVATE}
    metadata = {key: value for key, value in cell.get("metadata", {}).items() if key != "marking"}
    cell = cell | {"metadata": metadata | ({"marking": ours} if ours else {})}
    return cell | {"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell


def blank(cell: Cell) -> Cell:
    """The cell with a blank where each solution stands."""
    kind = "checked" if marking(cell).get("check") else cell["cell_type"]
    return (
        with_source(cell, "\n".join(without_solutions(source(cell), BLANKS[kind])))
        if solvable(cell)
        else cell
    )


def revealed(cell: Cell) -> Cell:
    """The cell with its solutions, without the lines that mark them."""
    if not solvable(cell):
        return cell
    lines = [line for line in source(cell).split("\n") if line.strip() not in (BEGIN, END)]
    return with_source(cell, "\n".join(lines))


def solvable(cell: Cell) -> bool:
    return BEGIN in source(cell)


def without_solutions(text: str, instead: str) -> Iterator[str]:
    """The lines of a text; a blank where a solution stands, indented as its first marker.

    Raises:
        BadNotebook: where a solution does not end, or ends without a beginning.
    """
    inside = False
    for line in text.split("\n"):
        if line.strip() == BEGIN and not inside:
            yield line[: len(line) - len(line.lstrip())] + instead
            inside = True
        elif line.strip() == END and inside:
            inside = False
        elif line.strip() in (BEGIN, END):
            raise BadNotebook(f"a line {line.strip()} has no counterpart")
        elif not inside:
            yield line
    if inside:
        raise BadNotebook(f"a solution begins and does not end: {END} is missing")


def with_seed(notebook: Notebook, seed: int) -> Notebook:
    """The notebook with a number of the course's own in its cells tagged `instance`."""

    def change(cell: Cell) -> Cell:
        if "instance" not in tags(cell):
            return cell
        text, count = SEED.subn(f"seed = {seed}", source(cell))
        if count != 1:
            raise BadNotebook(f"a cell tagged instance has {count} lines `seed = 0`; it has one")
        return with_source(cell, text)

    return notebook | {"cells": [change(cell) for cell in notebook["cells"]]}


def variants(notebook: Notebook) -> dict[str, list[str]]:
    """Each group of variants and the names in it, sorted."""
    groups: dict[str, set[str]] = {}
    for cell in notebook["cells"]:
        if "variants" in marking(cell):
            groups.setdefault(marking(cell)["variants"], set()).add(marking(cell)["variant"])
    return {group: sorted(names) for group, names in sorted(groups.items())}


def with_variants(notebook: Notebook, chosen: dict[str, str]) -> Notebook:
    """The notebook with one variant of each group."""

    def stays(cell: Cell) -> bool:
        ours = marking(cell)
        return "variants" not in ours or ours["variant"] == chosen[ours["variants"]]

    return notebook | {"cells": [cell for cell in notebook["cells"] if stays(cell)]}
