"""Marks of what students hand in, friendly or not: each gets its own status, and nothing else changes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import sample
from classroom.jail import Limits
from classroom.marking import CannotCross, Mark, Session, StudentError, mark_notebook, sendable

from classroom import feedback, notebooks

LIMITS = Limits(seconds=4, patience=30, memory=2**30)
SOURCE = sample.problem_set()
QUESTIONS = notebooks.questions(SOURCE)
BLANK = notebooks.released(SOURCE)
FRAME = "letter + len(body).to_bytes(8, 'big') + body"
FORGED = f"""\
import io, os
file = io.BytesIO()
np.save(file, np.ones((3, 2, 2, 2)))
letter, body = b'A', file.getvalue()
for number in range(3, 64):
    try:
        os.write(number, {FRAME})
    except OSError:
        pass
"""
PATCHES = """\
import builtins, math
from aggbandit import checks
from aggbandit.checks import occupancies, report
builtins.abs = lambda x: 0
builtins.sum = lambda *x: 1.0
np.abs = np.allclose = lambda *x, **y: True
report.close = occupancies.close = lambda *x, **y: iter(())
report.Check.__call__ = lambda *x, **y: report.Report('occupancy', 'right', (), 8, '')
report.Report.passed = True
"""


def marked(jailed, notebook: notebooks.Notebook, seed: int = 1, limits: Limits = LIMITS) -> Mark:
    """The mark of the function."""
    seeds = {question.name: seed for question in QUESTIONS}
    return mark_notebook(notebook, BLANK, QUESTIONS, seeds, jailed, limits)[0][0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_solution_earns_all_and_the_blank_nothing(jailed, seed: int) -> None:
    right = marked(jailed, notebooks.solved(SOURCE), seed)
    assert (right.points, right.status) == (6, "ok")
    blank = marked(jailed, BLANK, seed)
    assert (blank.points, blank.status) == (0, "not answered")


def body(text: str) -> str:
    return "def occupancy(policy, transitions, initial_state):\n    " + text.replace("\n", "\n    ")


@pytest.mark.parametrize(
    ("function", "status", "note"),
    [
        (sample.WRONG, "wrong", "x(h,s,a,s') = x(h,s,a) P(s'|s,a,h)"),
        (sample.SOLUTION.replace("range(horizon)", "range(horizon - 1)"), "wrong", "sum to one. At h = "),
        (body("return transitions[0]"), "wrong", "the result has shape"),
        (body("return np.full(transitions.shape, np.nan)"), "wrong", "every entry is a finite number"),
        (body("return {'a': 1}"), "wrong", "ours is a dict"),
        (body("return np.full(transitions.shape, {}, dtype=object)"), "wrong", "ours is a ndarray"),
        (body("return None"), "not answered", ""),
        ("ocupancy = 3", "not answered", ""),
        (body("return 1 / 0"), "crashed", "ZeroDivisionError: division by zero (1. Forward, line 2)"),
        ("import os\nos._exit(0)", "crashed", "its cell did not run to its end: your code ended the process"),
        ("def occupancy(", "crashed", "its cell did not run to its end: SyntaxError"),
        (body("raise SystemExit(0)"), "crashed", "SystemExit"),
        (body("return occupancy(policy, transitions, initial_state)"), "crashed", "RecursionError"),
        (body("while True: pass"), "timed out", "a call may take 4 seconds; yours did not return"),
        (body("return np.ones(2**40)"), "out of memory", "a notebook may use 1 GB of memory"),
        (body("much = []\nwhile True: much.append(bytearray(2**25))"), "out of memory", ""),
        (body("import os\nos._exit(0)"), "crashed", "ended the process"),
        (body("import ctypes\nctypes.string_at(0)"), "crashed", "ended the process"),
    ],
)
def test_a_wrong_function_has_its_status(jailed, function: str, status: str, note: str) -> None:
    mark = marked(jailed, sample.handed_in(function))
    assert (mark.points, mark.status) == (0, status)
    assert note in mark.note


def test_a_crash_is_placed_in_the_students_cell_and_in_no_line_of_ours(jailed) -> None:
    note = marked(jailed, sample.handed_in(body("return 1 / 0"))).note
    assert "your function raised an error. ZeroDivisionError: division by zero (1. Forward, line 2)." in note
    assert "of its cell" not in note


def test_a_cell_is_called_by_its_question_or_by_how_it_begins(jailed) -> None:
    before = ("raise ValueError('(code cell 9, line 1)')",)
    notebook = sample.handed_in("raise KeyError", "\nx = 1 / 0  \ny = 2", "x = 1 +", "", before=before)
    asked = QUESTIONS[:1]
    names = ["import numpy as np", *before, None, "x = 1 / 0", "x = 1 +", None]
    called = notebooks.cell_names(notebook, asked)
    assert called[2] == "1. Forward"
    assert called[5] == "an empty cell"
    for name, begins in zip(called, names, strict=True):
        assert begins is None or name == f'the cell that begins "{begins}"'
    assert notebooks.beginning("x" * 61).endswith('x…"')
    (mark,), runs = mark_notebook(notebook, BLANK, asked, {"occupancy": 1}, jailed, LIMITS)
    assert mark.note == "its cell did not run to its end: KeyError:  (1. Forward, line 1)"
    assert runs[3].text == 'ZeroDivisionError: division by zero (the cell that begins "x = 1 / 0", line 2)'
    assert runs[4].text == 'SyntaxError: invalid syntax (the cell that begins "x = 1 +", line 1)'


LEAK = "text = 'x' * 5000"
LEAKS = {
    "an error": body(f"{LEAK}\nraise ValueError(text)"),
    "a type": body(f"{LEAK}\nreturn type(text, (), {{}})()"),
    "the name of an error": body(f"{LEAK}\nraise type(text, (Exception,), {{}})"),
    "a worker that has been changed": body(
        f"{LEAK}\nimport sys, json\nworker = sys._getframe(1).f_globals\n"
        "while 'report' not in worker: worker = sys._getframe(2).f_globals\n"
        "worker['report'] = lambda *said: json.dumps({'outcome': 'error', 'text': text})\nraise ValueError"
    ),
}


@pytest.mark.parametrize("way", LEAKS)
def test_what_a_call_has_seen_does_not_come_back(jailed, way: str) -> None:
    mark = marked(jailed, sample.handed_in(LEAKS[way]))
    assert mark.note
    assert mark.note.count("x") <= 320


def test_formulas_are_shown_to_who_marks_and_html_does_nothing() -> None:
    said = feedback.cleaned("$h<H$, $x<a $ and $$a & b > c$$ <script>x</script> $<script>$ $&lt;script&gt;$")
    assert r"$h\lt H$, $x\lt a $ and $$a & b \gt  c$$" in said
    assert "<script" not in said


@pytest.mark.parametrize(
    "cell",
    [
        "raise ValueError",
        "this is no Python",
        "%matplotlib inline\n!rm -rf /",
        "%%bash\nrm -rf /",
        "import sys\nsys.exit()",
        "import os\nos._exit(0)",
        "while True: pass",
        "np.ones(2**40)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "print('x' * 10**6)",
        "import shutil\nshutil.rmtree(np.__path__[0])",
        "import os\nos.fork()",
    ],
)
def test_a_bad_cell_costs_itself_alone(jailed, cell: str) -> None:
    mark = marked(jailed, sample.handed_in(sample.SOLUTION, cell, before=(cell,)))
    assert (mark.points, mark.status) == (6, "ok")


def test_nothing_patched_in_there_matters_here(jailed) -> None:
    wrong = sample.handed_in(sample.WRONG, PATCHES, before=(PATCHES,))
    assert marked(jailed, wrong).status == "wrong"


@pytest.mark.parametrize("cell", [FORGED, FORGED.replace("b'A'", "b'T'"), FORGED.replace("b'A'", "b'?'")])
def test_what_is_forged_earns_nothing(jailed, cell: str) -> None:
    in_a_cell = marked(jailed, sample.handed_in(sample.WRONG, cell))
    in_a_call = marked(jailed, sample.handed_in(body(cell + "return transitions")))
    assert in_a_cell.points == in_a_call.points == 0


def test_a_submission_that_always_ends_its_process_ends(jailed) -> None:
    cells = ["import os\nos._exit(0)"] * 40
    session = Session(cells, jailed, LIMITS)
    assert not session.ready()
    assert session.starts == 11


class Recorded:
    """A process that runs nothing: it says how it ends, and remembers how long it would have been given."""

    def __init__(self, *outcomes: str) -> None:
        self.outcomes, self.given = list(outcomes), []

    def ask(self, request: dict[str, Any], arrays: list[np.ndarray], patience: float) -> list[str]:
        if "figures" in request:
            return ['{"outcome": "done", "text": ""}']
        self.given.append((request["seconds"], patience))
        return [json.dumps({"outcome": self.outcomes.pop(0), "text": ""})]

    def close(self) -> None:
        pass


def test_what_has_used_up_its_time_once_has_less_from_then_on() -> None:
    limits = Limits(seconds=60, later=20, patience=180)
    process = Recorded("done", "timed out", "done", "timed out")
    session = Session(["1", "2", "3"], lambda limits: process, limits)
    assert session.ready()
    with pytest.raises(StudentError):
        session.function("occupancy")(1.0)
    assert process.given == [(60, 180), (60, 180), (20, 60), (20, 60)]
    told = "a cell or a call may take 60 seconds, and 20 after one"
    assert session.why(session.ending).startswith(told)
    small = Limits(seconds=4, later=20, patience=30).shorter.seconds
    assert small == 4


def test_a_submission_that_takes_too_long_ends(jailed) -> None:
    limits = dataclasses.replace(LIMITS, seconds=60, whole=3.0)
    mark = marked(
        jailed, sample.handed_in(sample.SOLUTION, before=("import time\ntime.sleep(60)",)), limits=limits
    )
    assert (mark.points, mark.status) == (0, "timed out")


@pytest.mark.parametrize(
    "change",
    [
        {"source": ["x = 1\n", 3, None]},
        {"source": {"a": 1}},
        {"source": "text = '\ud800'\nprint(text)\nraise ValueError(text)"},
        {"source": "null = '\0'"},
        {"metadata": ["answer"]},
        {"metadata": {"nbgrader": "occupancy", "tags": 3}},
        {"metadata": {"nbgrader": {"grade_id": ["why"]}}},
        {"outputs": "many"},
    ],
)
def test_a_notebook_of_odd_cells_is_marked_and_shown(jailed, change: dict[str, Any], tmp_path: Path) -> None:
    notebook = sample.handed_in(sample.SOLUTION, "1")
    for cell in notebook["cells"]:
        if notebooks.source(cell) in ("1", "*Your answer:*"):
            cell |= change
    seeds = {question.name: 1 for question in QUESTIONS}
    marks, runs = mark_notebook(notebook, BLANK, QUESTIONS, seeds, jailed, LIMITS)
    assert marks[0].status == "ok"
    feedback.write_copy(notebook, BLANK, {}, runs, tmp_path / "copy.ipynb")
    nbformat.validate(nbformat.read(tmp_path / "copy.ipynb", as_version=4))
    json.dumps([run.text for run in runs.values()], ensure_ascii=False).encode()


def test_what_it_printed_and_drew_is_kept(jailed) -> None:
    drawing = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('here')\n'last'"
    session = Session([drawing], jailed, dataclasses.replace(LIMITS, seconds=60, patience=120, memory=2**31))
    assert session.ready()
    session.close()
    assert session.runs[0].text == "here\n'last'\n"
    assert [picture[:4] for picture in session.runs[0].pictures] == [b"\x89PNG"]


def test_text_waits_for_a_person_unless_it_is_blank(jailed) -> None:
    seeds = {question.name: 1 for question in QUESTIONS}
    for why, status, points in (("*Your answer:* ", "not answered", 0), ("Mass.", "by hand", None)):
        notebook = sample.handed_in(sample.SOLUTION, why=why)
        mark = mark_notebook(notebook, BLANK, QUESTIONS, seeds, jailed, LIMITS)[0][1]
        assert (mark.status, mark.points) == (status, points)


def test_a_check_that_passes_what_cannot_cross_is_our_fault() -> None:
    assert np.array_equal(sendable([1, 2]), [1, 2])
    with pytest.raises(CannotCross, match="a check passes a dict"):
        sendable({})
