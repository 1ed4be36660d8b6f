"""The problem sets: each can be solved, no blank and no slip passes, and each task says what it asks for."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from aggbandit import checks

ASSIGNMENTS = Path(__file__).resolve().parents[2] / "book" / "assignments"
SETS = sorted(path.stem for path in ASSIGNMENTS.glob("*.ipynb"))
TASK = re.compile(r"^## \d+\. .+\n\n(★{1,3}) · (\d+) (?:minutes|hours) · (\d+) points\n", re.MULTILINE)
WHOLE = re.compile(r"About (\d+) (?:minutes|hours), (\d+) points")
CRITERION = re.compile(r"^- \*\*(\d+)\*\* ", re.MULTILINE)
SOLUTION = re.compile(r"( *)### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """A cell of a source notebook, its metadata under short names."""

    name: str
    kind: str
    source: str
    tags: tuple[str, ...]
    points: int
    marking: dict[str, Any]

    @property
    def solution(self) -> str:
        found = SOLUTION.search(self.source)
        return found[2].strip() if found else ""

    @property
    def blank(self) -> str:
        stub = {"code": "raise NotImplementedError", "markdown": "*Your answer:*"}[self.kind]
        return SOLUTION.sub(lambda found: found[1] + stub, self.source)


@cache
def cells(stem: str) -> tuple[Cell, ...]:
    notebook = nbformat.read(ASSIGNMENTS / f"{stem}.ipynb", as_version=4)
    return tuple(
        Cell(
            cell.metadata.get("nbgrader", {}).get("grade_id", cell.id),
            cell.cell_type,
            cell.source,
            tuple(cell.metadata.get("tags", ())),
            cell.metadata.get("nbgrader", {}).get("points", 0),
            dict(cell.metadata.get("marking", {})),
        )
        for cell in notebook.cells
    )


def answers(stem: str) -> list[Cell]:
    return [cell for cell in cells(stem) if "answer" in cell.tags]


def coding(stem: str) -> list[Cell]:
    return [cell for cell in answers(stem) if "check" in cell.marking]


CODING = [(stem, cell.marking["check"]) for stem in SETS for cell in coding(stem)]


@cache
def defined_above(stem: str, name: str) -> dict[str, Any]:
    """What the code above a cell defines; lines that examine an answer are left out."""
    namespace: dict[str, Any] = {}
    for cell in cells(stem):
        if cell.name == name:
            break
        if cell.kind == "code" and not cell.source.startswith("checks."):
            exec(compile(cell.source, f"{stem}:{cell.name}", "exec"), namespace)
    return namespace


def function_in(stem: str, cell: Cell, source: str) -> Callable[..., object]:
    """The function of a coding answer, from this source in its place."""
    namespace = dict(defined_above(stem, cell.name))
    exec(compile(source, f"{stem}:{cell.name}", "exec"), namespace)
    function: Callable[..., object] = namespace[str(cell.marking.get("function", cell.marking["check"]))]
    return function


def report(stem: str, cell: Cell, source: str) -> checks.Report:
    function = function_in(stem, cell, source)
    with np.errstate(all="ignore"):  # what a slip divides by zero is for the check to find
        return checks.ALL[cell.marking["check"]](function)


def answer_to(stem: str, check: str) -> Cell:
    return next(cell for cell in coding(stem) if cell.marking["check"] == check)


def test_there_are_sets() -> None:
    assert SETS


@pytest.mark.parametrize("stem", SETS)
def test_source_is_clean(stem: str) -> None:
    """Valid, without outputs, and every answer under a name of its own."""
    path = ASSIGNMENTS / f"{stem}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    names = Counter(cell.name for cell in answers(stem))
    assert max(names.values()) == 1
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in names)


@pytest.mark.parametrize("stem", SETS)
def test_every_task_states_difficulty_minutes_and_points(stem: str) -> None:
    stated: list[tuple[int, int]] = []
    worth: list[int] = []
    skipped = other_variants(stem)
    for cell in cells(stem):
        if cell in skipped:
            continue
        if cell.source.startswith("## ") and cell.kind == "markdown" and not cell.tags:
            task = TASK.match(cell.source)
            assert task, f"{cell.name}: no line such as ★★ · 15 minutes · 6 points"
            stated.append((int(task[2]), int(task[3])))
            worth.append(0)
        elif "answer" in cell.tags:
            worth[-1] += cell.points
    assert [points for _, points in stated] == worth
    whole = WHOLE.search(cells(stem)[0].source)
    assert whole
    assert (sum(minutes for minutes, _ in stated), sum(worth)) == (int(whole[1]), int(whole[2]))
    assert 60 <= int(whole[1]) <= 120 or stem.startswith("project")


def other_variants(stem: str) -> list[Cell]:
    return [cell for cell in cells(stem) if cell.marking.get("variant", "a") != "a"]


@pytest.mark.parametrize("stem", SETS)
def test_what_a_person_marks_has_an_answer_and_a_rubric(stem: str) -> None:
    """A model answer that is not released, and criteria that add up to the points."""
    rubrics = {cell.marking["rubric"]: cell.source for cell in cells(stem) if "rubric" in cell.tags}
    by_hand = [cell for cell in answers(stem) if "check" not in cell.marking]
    assert set(rubrics) == {cell.name for cell in by_hand}
    for cell in by_hand:
        assert cell.solution, cell.name
        assert sum(map(int, CRITERION.findall(rubrics[cell.name]))) == cell.points, cell.name


@pytest.mark.parametrize("stem", SETS)
def test_variants_are_worth_the_same(stem: str) -> None:
    worth: dict[str, Counter[str]] = {}
    for cell in cells(stem):
        if "variants" in cell.marking:
            worth.setdefault(cell.marking["variants"], Counter())[cell.marking["variant"]] += cell.points
    assert worth or stem.startswith("project")
    for name, points in worth.items():
        assert len(points) >= 2, name
        assert len(set(points.values())) == 1, name


@pytest.mark.parametrize(("stem", "check"), CODING)
def test_solution_passes(stem: str, check: str) -> None:
    cell = answer_to(stem, check)
    for seed in range(3):
        found = checks.ALL[check](function_in(stem, cell, cell.source), seed=seed)
        assert found.passed, found


@pytest.mark.parametrize(("stem", "check"), CODING)
def test_blank_is_not_answered(stem: str, check: str) -> None:
    cell = answer_to(stem, check)
    assert report(stem, cell, cell.blank).verdict == "not answered"


@pytest.mark.parametrize("stem", SETS)
def test_whole_notebook_runs(stem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells in order, with the solutions: figures are drawn, nothing warns, every report is good."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.get_fignums()) or plt.close("all"))
    namespace: dict[str, Any] = {}
    for cell in cells(stem):
        if cell.kind != "code" or cell.marking.get("variant", "a") != "a":
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{stem}:{cell.name}", "exec"), namespace)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), f"{stem}:{cell.name}", "eval"), namespace)
            assert not isinstance(shown, checks.Report) or shown.passed, shown
    assert all(drawn)
    assert drawn


@pytest.mark.parametrize("stem", SETS)
def test_blank_notebook_holds_no_solution(stem: str) -> None:
    released = "\n".join(cell.blank for cell in cells(stem) if "rubric" not in cell.tags)
    assert "SOLUTION" not in released
    for cell in answers(stem):
        lines = [line.strip() for line in cell.solution.splitlines()]
        assert not any(line in released for line in lines if len(line) > 25), cell.name


@dataclass(frozen=True)
class Slip:
    """One slip in a right solution: what is replaced by what, and words of the message that must name it."""

    old: str
    new: str
    said: str


# Wrong answers to what the chapters ask for, too, are in tests/unit/answers.py.
SLIPS = {
    "occupancy_violations": [
        Slip("x.sum(axis=(2, 3)), x.sum(axis=(1, 2))", "x.sum(axis=(1, 2)), x.sum(axis=(2, 3))", "start"),
        Slip("[initial_state]", "[0]", "the number for start"),
        Slip("leaves[1:] - arrives[:-1]", "leaves[:-1] - arrives[:-1]", "the number for flow"),
        Slip("x.sum(axis=3, keepdims=True) * ", "", "the number for dynamics"),
        Slip("np.abs(law).max()", "law.max()", "off by"),
        Slip("np.abs(law).max()", "np.abs(law).sum()", "off by"),
        Slip("(start, flow, dynamics)", "(flow, start, dynamics)", "it obeys this law"),
    ],
    "algorithm_2": [
        Slip("eta = 1 / max(fallen, 1 / (2 * eta0))", "eta = eta0", "the rate is raised in the round itself"),
        Slip("max(fallen, 1 / (2 * eta0))", "fallen", "never more than 2 eta0"),
        Slip("z_hat @ epsilon", "y @ epsilon", "not by what was chosen"),
        Slip("2 * n * abs", "2 * abs", "the inverse of the rate, falls by as much as"),
        Slip("loss @ z_hat", "loss @ y", "the loss that is read"),
        Slip("H @ (y - x)", "H @ (z_hat - x)", "the direction that was tried"),
        Slip("guess = n * total", "guess = total", "the estimate has the factor n"),
        Slip("v / np.sqrt(v @ H @ v)", "v / np.linalg.norm(v)", "vanishes along the slice"),
        Slip("(x, eta * guess)", "(x, -eta * guess)", "against the estimate"),
        Slip("points[-1]", "points[0]", "vanishes along the slice"),
        Slip("np.array(points)", "np.array(points[1:])", "the result has shape"),
    ],
}


def test_what_only_the_sets_ask_for_has_enough_slips() -> None:
    asked = {check for _, check in CODING if checks.ALL[check].examine.__module__.endswith(".assignments")}
    assert set(SLIPS) == asked
    assert min(map(len, SLIPS.values())) >= 6


@pytest.mark.parametrize(
    ("stem", "check", "slip"),
    [
        pytest.param(stem, check, slip, id=f"{check}-{i}")
        for stem, check in CODING
        for i, slip in enumerate(SLIPS.get(check, ()))
    ],
)
def test_a_slip_is_found_and_named(stem: str, check: str, slip: Slip) -> None:
    cell = answer_to(stem, check)
    assert cell.source.count(slip.old) >= 1, "the slip is not in the solution"
    found = report(stem, cell, cell.source.replace(slip.old, slip.new))
    assert found.verdict == "wrong", found
    assert slip.said.lower() in str(found).lower(), found
    assert "2 n" not in str(found), "the report writes the formula that is asked for"
