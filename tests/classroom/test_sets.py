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


SLIPS = {
    "occupancy": [
        Slip("transitions[h]\n", "transitions[h].swapaxes(0, 2)\n", "P(s'|s,a,h)"),
        Slip("[initial_state]", "[0]", "all mass leaves the initial state"),
        Slip("x[h].sum(axis=(0, 1))", "x[h].sum(axis=(1, 2))", "what flows into a state"),
        Slip("policy[h][:, :, None]", "policy[h].mean(axis=0)[None, :, None]", "pi(a|s,h)"),
        Slip("share[:, None, None] * ", "", "sum to one"),
        Slip("transitions[h]\n", "transitions[0]\n", "P(s'|s,a,h)"),
        Slip("return x", "return x.sum(axis=3)", "the result has shape"),
    ],
    "policy_of_occupancy": [
        Slip("return np.where(", "return taken / here\n    return np.where(", "nobody is ever there"),
        Slip("1 / taken.shape[2]", "0.0", "sums to one"),
        Slip("uniform)", "uniform) * here", "sums to one"),
        Slip("taken.sum(axis=2,", "taken.sum(axis=(1, 2),", "sums to one"),
        Slip("taken / np", "taken[..., ::-1] / np", "pi(a|s,h)"),
        Slip("return np", "return x / 1\n    return np", "the result has shape"),
    ],
    "occupancy_violations": [
        Slip("x.sum(axis=(2, 3)), x.sum(axis=(1, 2))", "x.sum(axis=(1, 2)), x.sum(axis=(2, 3))", "start"),
        Slip("[initial_state]", "[0]", "the number for start"),
        Slip("leaves[1:] - arrives[:-1]", "leaves[:-1] - arrives[:-1]", "the number for flow"),
        Slip("x.sum(axis=3, keepdims=True) * ", "", "the number for dynamics"),
        Slip("np.abs(law).max()", "law.max()", "off by"),
        Slip("np.abs(law).max()", "np.abs(law).sum()", "off by"),
        Slip("(start, flow, dynamics)", "(flow, start, dynamics)", "it obeys this law"),
    ],
    "best_policy": [
        Slip("reversed(range(horizon))", "range(horizon)", "more than the best"),
        Slip("(loss[h] + value)", "loss[h]", "more than the best"),
        Slip("argmin", "argmax", "more than the best"),
        Slip("(loss[h] + value)", "(loss[h] + value[:, None, None])", "more than the best"),
        Slip("price.min(axis=1)", "price.mean(axis=1)", "more than the best"),
        Slip("policy[h] = ", "policy[horizon - 1 - h] = ", "more than the best"),
        Slip("transitions[h] * (loss[h]", "(loss[h]", "more than the best"),
    ],
    "barrier_gradient": [
        Slip("A.T @", "-A.T @", "R rises toward a wall"),
        Slip("1 / slacks", "1 / slacks**2", "twice as long"),
        Slip("1 / slacks", "slacks", "twice as long"),
        Slip("b - A @ x", "b", "slope of R"),
        Slip("A.T @", "np.sign(A).T @", "slope of R"),
        Slip("1 / slacks", "np.log(slacks)", "twice as long"),
        Slip("return A.T @ (1 / slacks)", "return 1 / slacks", "the result has shape"),
    ],
    "barrier_hessian": [
        Slip("(b - A @ x)", "np.sqrt(b - A @ x)", "four times as large"),
        Slip("(b - A @ x)[:, None]", "(b - A @ x)[:, None] ** 2", "four times as large"),
        Slip("reports.T @ reports", "-reports.T @ reports", "strictly convex"),
        Slip("reports.T @ reports", "np.diag((reports**2).sum(axis=0))", "derivative of the gradient"),
        Slip("reports.T @ reports", "reports.T @ np.abs(reports)", "symmetric"),
        Slip("reports.T @ reports", "2 * reports.T @ reports", "derivative of the gradient"),
        Slip("reports.T @ reports", "reports @ reports.T", "the result has shape"),
    ],
    "bregman": [
        Slip("(A, b, y, x)", "(A, b, x, y)", "tangent at y"),
        Slip(" - (A.T @ (1 / at_x)) @ (y - x)", "", "B(y||x)"),
        Slip("@ (y - x)", "@ (x - y)", "B(y||x)"),
        Slip("1 / at_x", "1 / at_y", "B(y||x)"),
        Slip("np.log(at_x).sum() - np.log(at_y).sum()", "np.log(at_y / at_x).sum()", "B(y||x)"),
        Slip("np.log(at_x).sum() - ", "", "B(x||x) = 0"),
    ],
    "dikin_point": [
        Slip("np.linalg.solve(lower.T, u)", "np.linalg.solve(lower, u)", "local norm"),
        Slip("np.linalg.solve(lower.T, u)", "(lower.T @ u)", "local norm"),
        Slip("np.linalg.solve(lower.T, u)", "u", "local norm"),
        Slip("basis.T @ H @ basis", "np.linalg.inv(basis.T @ np.linalg.inv(H) @ basis)", "local norm"),
        Slip("np.linalg.solve(lower.T, u)", "np.linalg.solve(lower.T, u) / 2", "local norm"),
        Slip("np.linalg.svd(C)[2][len(C) :].T", "np.eye(len(center))[:, : len(u)]", "C y = C center"),
        Slip("lower.T, u)", "lower.T, u**3 / np.linalg.norm(u**3))", "to the inverse of H"),
    ],
    "one_point_estimate": [
        Slip("n * total", "total", "times l"),
        Slip("H @ (y - center)", "(y - center)", "the mean of the estimates"),
        Slip("H @", "np.linalg.cholesky(H) @", "the mean of the estimates"),
        Slip("n * total", "(n + 2) * total", "times l"),
        Slip("y - center", "center - y", "times l"),
        Slip("n * total", "len(y) * total", "times l"),
        Slip("n * total", "n", "the mean of the estimates"),
    ],
    "mirror_step": [
        Slip("y = x\n", "return x - eta_loss\n", "slice"),
        Slip("linear = eta_loss", "linear = -eta_loss", "goes the other way"),
        Slip("range(100)", "range(1)", "vanishes along the slice"),
        Slip("np.linalg.svd(C)[2][len(C) :].T", "np.eye(len(x))", "stays on the slice"),
        Slip("eta_loss - A.T @ (1 / (b - A @ x))", "eta_loss", "vanishes along the slice"),
        Slip("decrement < 1e-9", "decrement < 1e-1", "vanishes along the slice"),
        Slip("y = x\n", "return x\n", "vanishes along the slice"),
    ],
    "regret_ledger": [
        Slip("np.diff(1 / rates)", "-np.diff(1 / rates)", "second term"),
        Slip("divergences[1:]", "divergences[:-1]", "second term"),
        Slip("divergences[0] / rates[0]", "divergences[-1] / rates[-1]", "first term"),
        Slip("dual_norms**2", "dual_norms", "movement"),
        Slip("rates @ dual", "(1 / rates) @ dual", "movement"),
        Slip("np.diff(1 / rates)", "np.diff(rates)", "second term"),
        Slip("divergences[0] / rates[0]", "divergences[0] * rates[0]", "first term"),
    ],
    "increasing_rate": [
        Slip("z_hat @ epsilon", "y @ epsilon", "yours takes y"),
        Slip("2 * n", "2", "2 n |z_hat.epsilon|"),
        Slip("2 * n", "n", "2 n |z_hat.epsilon|"),
        Slip("1 / eta -", "1 / eta +", "the rate never falls"),
        Slip(
            "1 / (1 / eta - 2 * n * abs(z_hat @ epsilon))",
            "eta + 2 * n * abs(z_hat @ epsilon)",
            "1/eta falls",
        ),
        Slip("abs(z_hat @ epsilon)", "(z_hat @ epsilon)", "the rate never falls"),
        Slip("1 / eta -", "eta -", "with epsilon = 0"),
    ],
    "confidence_radius": [
        Slip("np.inf", "0.0", "no row is excluded"),
        Slip("np.inf", "1.0", "no row is excluded"),
        Slip(
            "np.sqrt(scale / np.maximum(visits, 1))",
            "np.sqrt(scale) / np.maximum(visits, 1)",
            "half the radius",
        ),
        Slip("scale = 2 *", "scale =", "w^2 N / 2"),
        Slip("cells * episodes / delta", "episodes / delta", "w^2 N / 2"),
        Slip("n_states * np.log(2)", "np.log(2)", "w^2 N / 2"),
        Slip("counts.sum(axis=3)", "counts.max(axis=3)", "w^2 N / 2"),
    ],
    "epoch_ends": [
        Slip("np.maximum(before, 1)", "before", "an epoch goes on until"),
        Slip("before + during", "during", "an epoch"),
        Slip("during >= ", "during > ", "an epoch ends when"),
        Slip("np.maximum(before, 1)", "np.maximum(before, 2)", "an epoch ends when"),
        Slip(".any()", ".all()", "an epoch ends when"),
        Slip("during += tonight", "during += tonight\n        before += tonight", "an epoch"),
        Slip("ends[k] = 1", "ends[k - 1] = 1", "an epoch"),
        Slip("ends[k] = 1", "ends[k] = 2", "zero or one"),
    ],
    "regret": [
        Slip(
            "city.best_policy(losses.mean(axis=0))[1] * len(losses)",
            "sum(city.best_policy(loss)[1] for loss in losses)",
            "one policy for all episodes",
        ),
        Slip("losses.mean(axis=0)", "losses[0]", "regret"),
        Slip(" * len(losses)", "", "constant"),
        Slip("return paid - ", "return -paid + ", "the regret is what was paid"),
        Slip(
            "transitions, initial_state)\n    paid",
            "transitions, 0)\n    paid",
            "the regret is what was paid",
        ),
        Slip("zip(policies, losses", "zip(policies[::-1], losses", "the regret is what was paid"),
        Slip("return paid - ", "return paid / len(losses) - ", "constant"),
    ],
    "algorithm_2": [
        Slip("eta = 1 / max(fallen, 1 / (2 * eta0))", "eta = eta0", "the rate is raised in the round itself"),
        Slip("max(fallen, 1 / (2 * eta0))", "fallen", "never more than 2 eta0"),
        Slip("z_hat @ epsilon", "y @ epsilon", "not by what was chosen"),
        Slip("2 * n * abs", "2 * abs", "with the factor n"),
        Slip("loss @ z_hat", "loss @ y", "the loss that is read"),
        Slip("H @ (y - x)", "H @ (z_hat - x)", "the direction that was tried"),
        Slip("guess = n * total", "guess = total", "the estimate has the factor n"),
        Slip("v / np.sqrt(v @ H @ v)", "v / np.linalg.norm(v)", "vanishes along the slice"),
        Slip("(x, eta * guess)", "(x, -eta * guess)", "against the estimate"),
        Slip("points[-1]", "points[0]", "vanishes along the slice"),
        Slip("np.array(points)", "np.array(points[1:])", "the result has shape"),
    ],
}


@pytest.mark.parametrize(("stem", "check"), CODING)
def test_enough_slips(stem: str, check: str) -> None:
    assert len(SLIPS[check]) >= 6


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
