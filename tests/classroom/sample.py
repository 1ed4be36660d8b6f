"""A problem set in small: a function that a check marks, a text that a person marks, variants, a number."""

from __future__ import annotations

import copy
from typing import Any

Notebook = dict[str, Any]
Cell = dict[str, Any]

SOLUTION = """\
def occupancy(policy, transitions, initial_state):
    horizon, n_states, _, _ = transitions.shape
    x = np.zeros(transitions.shape)
    here = np.eye(n_states)[initial_state]
    for h in range(horizon):
        x[h] = (here[:, None] * policy[h])[:, :, None] * transitions[h]
        here = x[h].sum((0, 1))
    return x
"""
WRONG = SOLUTION.replace("transitions[h]\n", "transitions[0]\n")
ANSWER = SOLUTION.replace("    horizon,", "    ### BEGIN SOLUTION\n    horizon,") + "    ### END SOLUTION"
INSTANCE = """\
seed = 0
rng = np.random.default_rng(seed)
prices = rng.integers(1, 9, size=4)
assert len(set(prices)) == 4
prices.tolist()"""


def cell(kind: str, text: str, **metadata: Any) -> Cell:
    made: Cell = {"cell_type": kind, "metadata": metadata, "source": text.splitlines(keepends=True)}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def answer(kind: str, text: str, name: str, points: float, **marking: str) -> Cell:
    entry = {"schema_version": 3, "cell_type": kind, "grade": True, "solution": True, "locked": False}
    entry |= {"task": False, "grade_id": name, "points": points}
    return cell(kind, text, tags=["answer"], nbgrader=entry, **({"marking": marking} if marking else {}))


def problem_set() -> Notebook:
    """The source notebook."""
    cells = [
        cell("markdown", "# A small set\n\n## 1. Forward\n\nWrite the occupancy measure. (10 minutes, easy)"),
        cell("code", "import numpy as np"),
        cell("code", INSTANCE, tags=["instance"]),
        answer("code", ANSWER, "occupancy", 6, check="occupancy"),
        cell("markdown", "## 2. Why\n\nWhy do they sum to H?", marking={"variants": "why", "variant": "a"}),
        cell(
            "markdown",
            "## 2. Why\n\nWhy is none negative?",
            marking={"variants": "why", "variant": "b"},
        ),
        answer("markdown", "### BEGIN SOLUTION\nEach step has mass one.\n### END SOLUTION", "why", 4),
        cell("markdown", "Two points for the word *mass*.", tags=["rubric"], marking={"rubric": "why"}),
    ]
    for number, made in enumerate(cells):
        made["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def handed_in(
    function: str, *more: str, why: str = "*Your answer:*", before: tuple[str, ...] = ()
) -> Notebook:
    """What a student hands in: cells before, the function, cells after it, and an answer in text."""
    notebook = copy.deepcopy(problem_set())
    cells = notebook["cells"]
    cells[3]["source"], cells[6]["source"] = function, why
    notebook["cells"] = [
        *cells[:2],
        *(cell("code", text) for text in before),
        cells[3],
        *(cell("code", text) for text in more),
        cells[6],
    ]
    return notebook
