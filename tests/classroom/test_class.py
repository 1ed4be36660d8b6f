"""A whole class, good, careless and hostile, marked together: everybody has the marks that the table says.

The marking is interrupted twice on its way, once with one process and once with two, and goes on.
"""

from __future__ import annotations

import copy
import csv
import json
import multiprocessing
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sample
from classroom.exports import Result
from classroom.grading import Run
from classroom.jail import Limits, Process

from classroom import course, grading, notebooks

ONE, TWO = "1-occupancy-measures", "2-barriers"
CODE = {
    ONE: {"set1-forward": 5, "set1-back": 5, "set1-violations": 6, "set1-best": 6},
    TWO: {"set2-gradient": 3, "set2-hessian": 4, "set2-bregman": 4, "set2-dikin": 8},
}
FORWARD, BACK, VIOLATIONS, BEST = CODE[ONE]
RULES = course.Rules(late_a_day=0.1, late_days=5)
DUE = "2027-01-31T23:59:00+01:00"
NOW = datetime(2027, 3, 1, tzinfo=UTC)
LIMITS = Limits(seconds=10, later=1, patience=120, memory=2**31)

# ------------------------------------------------------------------------------- what students do

Notebook = dict[str, Any]
Change = Callable[[Notebook], None]  # of a notebook whose functions are right, and all else blank


def slip(question: str, old: str, new: str) -> Change:
    """Write something else at a place of a right answer."""

    def change(notebook: Notebook) -> None:
        cell = cell_of(notebook, question)
        assert old in notebooks.source(cell), (question, old)
        cell["source"] = notebooks.source(cell).replace(old, new)

    return change


def body(question: str, text: str) -> Change:
    """Have a function do something else altogether."""

    def change(notebook: Notebook) -> None:
        cell = cell_of(notebook, question)
        head = notebooks.source(cell).split("\n")[0]
        cell["source"] = "\n".join([head, *(f"    {line}" for line in text.split("\n"))])

    return change


def first(text: str) -> Change:
    """Begin with a cell of one's own."""
    return lambda notebook: notebook["cells"].insert(0, sample.cell("code", text))


def last(text: str) -> Change:
    """End with a cell of one's own."""
    return lambda notebook: notebook["cells"].append(sample.cell("code", text))


def cell_of(notebook: Notebook, question: str) -> Notebook:
    return next(cell for cell in notebook["cells"] if notebooks.answers(cell, question))


def anonymous(notebook: Notebook) -> None:
    """Save with an editor that keeps no metadata."""
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def boast(notebook: Notebook) -> None:
    """Hand in blanks whose saved outputs and metadata say that all is right."""
    for cell in notebook["cells"]:
        entry = cell["metadata"].get("nbgrader")
        if cell["cell_type"] == "code":
            text = ["occupancy: right, on 8 instances."]
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
        if entry:
            entry |= {"points": 100, "locked": True, "score": 100}
    blank(notebook)


# In a jail these do nothing; outside of one they would read and delete the course.
READS = (
    "from pathlib import Path\nx = Path({course!r}, 'solutions').rglob('*.ipynb')\nexec(next(x).read_text())"
)
DELETES = """\
import os, shutil, sys
for place in ({course!r}, {handed_in!r}, os.path.dirname(np.__file__), sys.prefix, "/home", "/"):
    shutil.rmtree(place, ignore_errors=True)"""
PATCHES = """\
import builtins
from aggbandit.checks import occupancies, report
builtins.abs, builtins.sum, np.abs = (lambda x: 0), (lambda *x: 1.0), (lambda *x, **y: 0 * x[0])
np.allclose = np.array_equal = lambda *x, **y: True
report.close = occupancies.close = lambda *x, **y: iter(())
report.Check.__call__ = lambda *x, **y: report.Report('occupancy', 'right', (), 8, '')
report.Report.passed = True"""
FORGES = """\
import io, os
file = io.BytesIO()
np.save(file, np.ones(np.shape(transitions)))
for number in range(3, 64):
    try:
        os.write(number, b'A' + len(file.getvalue()).to_bytes(8, 'big') + file.getvalue())
    except OSError:
        pass
return np.ones(np.shape(transitions))"""

ALL = ("ok", "ok", "ok", "ok")
NONE = ("not answered",) * 4


def but(question: str, status: str, stem: str = ONE) -> tuple[str, ...]:
    """All answers are right but one."""
    return tuple(status if name == question else "ok" for name in CODE[stem])


@dataclass(frozen=True)
class Work:
    """What a student hands in, and what it earns.

    Attributes:
        student: the student's id.
        statuses: of the questions that checks mark.
        points: for these.
        changes: to a notebook whose functions are right and all else is blank.
        stem: the set.
        data: what the file holds where that is no notebook.
        place: where it lies in the folder of what was handed in.
        stamp: what stands in the timestamp.txt beside it.
        days: how late it is.
    """

    student: str
    statuses: tuple[str, ...]
    points: float
    changes: tuple[Change, ...] = ()
    stem: str = ONE
    data: bytes | None = None
    place: str = "{student}/{stem}/{stem}.ipynb"
    stamp: str = ""
    days: int = 0


def blank(notebook: Notebook) -> None:
    for question in [name for name in (*CODE[ONE], *CODE[TWO]) if notebooks.answer_of(notebook, name)]:
        body(question, "raise NotImplementedError")(notebook)


FLAT = "return np.where(here > 0, taken / np.where(here > 0, here, 1), uniform)"
CLASS = [
    # The good: all is answered, text and figure too; by the package's own functions; both sets.
    Work("ada", ALL, 22),
    Work(
        "bao",
        ALL,
        22,
        (body(FORWARD, "return ab.FiniteHorizonMDP(transitions, initial_state).occupancy(policy)"),),
    ),
    Work("bao", ALL, 19, stem=TWO),
    # The careless.
    Work("ben", NONE, 0, (blank,)),
    Work(
        "cai",
        but(FORWARD, "wrong"),
        17,
        (slip(FORWARD, "range(len(transitions))", "range(len(transitions) - 1)"),),
    ),
    Work(
        "dee",
        but(FORWARD, "wrong"),
        17,
        (slip(FORWARD, "* transitions[h]", "* transitions[h].swapaxes(0, 2)"),),
    ),
    Work("eli", but(FORWARD, "wrong"), 17, (slip(FORWARD, "[initial_state]", "[0]"),)),
    Work(
        "eva", but(FORWARD, "crashed"), 17, (body(FORWARD, "return mdp.occupancy(policy)"),)
    ),  # her city only
    Work("fay", but(BACK, "wrong"), 17, (slip(BACK, "taken / np.where(here > 0, here, 1)", "taken"),)),
    Work("gil", but(BACK, "wrong"), 17, (slip(BACK, FLAT, "return taken / here"),)),
    Work("hal", but(VIOLATIONS, "wrong"), 16, (slip(VIOLATIONS, ".max()", ".sum()"),)),
    Work("ida", but(VIOLATIONS, "wrong"), 16, (slip(VIOLATIONS, "arrives[:-1]", "arrives[1:]"),)),
    Work("jan", but(BEST, "wrong"), 16, (slip(BEST, "argmin", "argmax"),)),
    Work("kim", but(BEST, "wrong"), 16, (slip(BEST, "(loss[h] + value)", "loss[h]"),)),
    Work("kim", but("set2-gradient", "wrong", TWO), 16, (slip("set2-gradient", "A.T @", "-A.T @"),), TWO),
    Work("lea", but(BEST, "wrong"), 16, (slip(BEST, "reversed(range(horizon))", "range(horizon)"),)),
    Work("moe", but(FORWARD, "wrong"), 17, (slip(FORWARD, "return x", "return x.sum(axis=3)"),)),
    Work("nia", but(FORWARD, "not answered"), 17, (slip(FORWARD, "def occupancy", "def my_occupancy"),)),
    Work("oli", but(BEST, "crashed"), 16, (slip(BEST, "def best_policy(", "def best_policy)"),)),
    Work("pam", but(VIOLATIONS, "crashed"), 16, (slip(VIOLATIONS, "leaves[0]", "leaves[len(x)]"),)),
    Work(
        "quy",
        but(BEST, "timed out"),
        16,
        (slip(BEST, "for h in reversed(range(horizon)):", "while True:\n        h = 0"),),
    ),
    Work("ray", ALL, 22, (first("while True: pass"),)),
    Work("rex", ALL, 22, (anonymous,)),
    # The hostile.
    Work("sue", but(BACK, "out of memory"), 17, (body(BACK, "return np.ones(2**40)"),)),
    Work("tom", but(VIOLATIONS, "crashed"), 16, (body(VIOLATIONS, "import os\nos._exit(0)"),)),
    Work("una", ALL, 22, (last("import os\nos._exit(0)"),)),
    Work("vic", but(FORWARD, "crashed"), 17, (first(READS), body(FORWARD, READS))),
    Work("wes", ALL, 22, (last(DELETES),)),
    Work(
        "xia",
        ("wrong", "ok", "wrong", "ok"),
        11,
        (first("import numpy as np\n" + PATCHES), slip(FORWARD, "transitions[h]", "1")),
    ),
    Work("yan", ("not answered", "wrong", "wrong", "wrong"), 0, (body(FORWARD, FORGES),)),
    Work("zoe", NONE, 0, (boast,)),
    # What is no proper file, or is late, or comes another way.
    Work("abe", ("unreadable",) * 4, 0, data=b'{"cells": ['),
    Work("bea", ("unclear",) * 4, 0, place="{student}/homework1_final.ipynb"),
    Work("cem", ("unreadable",) * 4, 0, data=b"\x89PNG\r\n\x1a\n"),
    Work("dot", ALL, 22, stamp="2027-02-02 12:00:00 UTC", days=2),
    Work("eve", but(BEST, "wrong"), 16, (slip(BEST, "argmin", "argmax"),), stamp="2027-01-02 12:00:00 UTC"),
    Work(
        "eve", ALL, 22, place="{student}/again/{stem}.ipynb", stamp="2027-01-03 12:00:00 UTC"
    ),  # this one counts
    Work("gus", NONE, 0, (blank,), place="gus_LATE_4242_99881_{stem}-2.ipynb"),
    Work("hui", NONE, 0, (blank,), place="Hui Ng_7711_assignsubmission_file/{stem}.ipynb"),
    Work("nobody", NONE, 0, (blank,)),  # is not on the roster
]
MISSING = ["fox", "joy"]  # nothing at all, and a link to the work of another
HANDED_IN = {(work.student, work.stem): work for work in CLASS if work.student != "nobody"}
STUDENTS = sorted({student for student, _ in HANDED_IN} | set(MISSING))
WAITING = {"ada": 4, "rex": 4}  # answers in text that a person marks; of rex, because their cells are gone

# --------------------------------------------------------------------------------- their marking


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> course.Course:
    """A course of two of the book's sets, with a roster and a due date."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "assignments").mkdir()
    for stem in CODE:
        shutil.copy(course.ASSIGNMENTS / f"{stem}.ipynb", folder / "assignments")
    made = course.make(folder / "autumn", "a long and secret seed", folder / "assignments")
    lines = [
        f"{name},{name.capitalize()},{name}@example.org,," for name in STUDENTS if name not in ("gus", "hui")
    ]
    lines += ["gus,Gus,,4242,", "hui,Hui Ng,,,"]
    (made.folder / "roster.csv").write_text("\n".join(["id,name,email,canvas_id,extra_days", *lines, ""]))
    entries = json.loads((made.folder / "course.json").read_text())
    entries["due"][ONE] = DUE
    (made.folder / "course.json").write_text(json.dumps(entries))
    (made.folder / "moodle").mkdir()
    (made.folder / "moodle" / f"{ONE}.csv").write_text(WORKSHEET)
    return course.load(made.folder)


WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments
Participant 7711,Hui Ng,,Submitted,,40.00,-,
Participant 7712,Cai,cai@example.org,Submitted,,40.00,-,
Participant 7713,Ada,ada@example.org,Submitted,,40.00,-,
"""


@pytest.fixture(scope="module")
def handed_in(made: course.Course) -> Path:
    """What the class hands in."""
    folder = made.folder.parent / "handed-in"
    for work in CLASS:
        path = folder / work.place.format(student=work.student, stem=work.stem)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(written(work, made, folder)).encode() if work.data is None else work.data
        path.write_bytes(text)
        if work.stamp:
            path.with_name("timestamp.txt").write_text(work.stamp)
    (folder / "joy").symlink_to(folder / "ada")
    (folder / "README.txt").write_text("all of them")
    return folder


def written(work: Work, made: course.Course, folder: Path) -> Notebook:
    """The notebook of a student; Ada's is the solution, all others leave text and figures blank."""
    solved, notebook = (notebooks.read(path(work.stem)) for path in (made.solution, made.release))
    if work.student == "ada":
        return solved | {"cells": [cell for cell in solved["cells"] if "rubric" not in notebooks.tags(cell)]}
    for question in CODE[work.stem]:
        cell_of(notebook, question)["source"] = copy.copy(cell_of(solved, question)["source"])
    for change in work.changes:
        change(notebook)
    for cell in notebook["cells"]:
        places = {"{course!r}": repr(str(made.folder)), "{handed_in!r}": repr(str(folder))}
        for name, place in places.items():
            cell["source"] = notebooks.source(cell).replace(name, place)
    return notebook


@pytest.fixture(scope="module")
def graded(jailed, made: course.Course, handed_in: Path) -> list[Result]:
    """The class, marked by a run that a person stops twice."""
    before = files(made.folder), files(handed_in)
    with pytest.raises(KeyboardInterrupt):
        grading.grade(Run(made, interrupted(jailed), LIMITS, now=NOW), handed_in, print)
    assert {path.stem for path in kept(made)} == {"abe", "ada", "bao", "bea"}
    with pytest.raises(KeyboardInterrupt):
        grading.grade(Run(made, jailed, LIMITS, jobs=2, now=NOW), handed_in, Impatient(made))
    assert 9 <= len(kept(made)) < len(HANDED_IN)
    assert multiprocessing.active_children() == []
    results = grading.grade(Run(made, jailed, LIMITS, jobs=2, now=NOW), handed_in, print)
    assert {name: text for name, text in files(made.folder).items() if name in before[0]} == before[0]
    assert files(handed_in) == before[1]
    return results


def interrupted(start: Callable[[Limits], Process]) -> Callable[[Limits], Process]:
    """A start that a person interrupts at the third submission."""
    started: list[int] = []

    def begin(limits: Limits) -> Process:
        started.append(1)
        if len(started) == 3:
            raise KeyboardInterrupt
        return start(limits)

    return begin


class Impatient:
    """Somebody who is told a line about each submission, and stops the run when nine are marked."""

    def __init__(self, made: course.Course) -> None:
        self.made = made

    def __call__(self, line: str) -> None:
        if len(kept(self.made)) >= 9:
            raise KeyboardInterrupt


def kept(made: course.Course) -> list[Path]:
    return list(made.folder.glob("records/*/*.json"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in [*folder.glob("marks/*"), *folder.glob("feedback/*/*")]}


def no_process(limits: Limits) -> Process:
    raise AssertionError("nothing is to be marked")


# ----------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("work", HANDED_IN.values(), ids=lambda work: f"{work.student}-{work.stem[0]}")
def test_each_has_the_marks_of_the_table(graded: list[Result], work: Work) -> None:
    one = next(one for one in graded if (one.student.id, one.record.set) == (work.student, work.stem))
    checked = [mark for mark in one.record.marks if mark.question in CODE[work.stem]]
    assert tuple(mark.status for mark in checked) == work.statuses
    assert sum(mark.points for mark in checked) == work.points
    assert one.days_late == work.days
    assert one.total == pytest.approx(work.points * (1 - 0.1 * work.days))
    assert one.waiting == WAITING.get(work.student, 0)


def test_there_are_thirty_and_all_are_marked(graded: list[Result]) -> None:
    assert len(STUDENTS) >= 30
    assert {(one.student.id, one.record.set) for one in graded} == {
        (name, stem) for name in STUDENTS for stem in CODE
    }
    absent = [one for one in graded if (one.student.id, one.record.set) not in HANDED_IN]
    assert {one.student.id for one in absent if one.record.status != "missing"} == {
        "bea"
    }  # any set's, perhaps
    assert sum(one.total for one in absent) == 0


def test_the_table_for_canvas(graded: list[Result], made: course.Course) -> None:
    rows = list(csv.reader((made.folder / "marks" / "canvas.csv").read_text().splitlines()))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", ONE, TWO]
    assert rows[1] == ["    Points Possible", "", "", "", "", "40", "40"]
    assert [row[3] for row in rows[2:]] == STUDENTS
    for row in rows[2:]:
        for stem, cell in zip(CODE, row[5:], strict=True):
            work = HANDED_IN.get((row[3], stem))
            total = work.points * (1 - 0.1 * work.days) if work else 0.0
            not_due = stem == TWO and work is None  # it has no date
            open_one = row[3] in {"abe", "bea", "cem"} or not_due or (row[3] in WAITING and work)
            assert cell == ("" if open_one else f"{total:.2f}"), row
    assert rows[2 + STUDENTS.index("gus")][1] == "4242"


def test_the_table_for_moodle(graded: list[Result], made: course.Course) -> None:
    with (made.folder / "marks" / f"moodle-{ONE}.csv").open(newline="") as file:
        rows = {row["Full name"]: row for row in csv.DictReader(file)}
    assert list(rows["Cai"]) == WORKSHEET.split("\n")[0].split(",")
    assert {name: row["Grade"] for name, row in rows.items()} == {"Hui Ng": "0.00", "Cai": "17.00", "Ada": ""}
    assert rows["Cai"]["Feedback comments"].startswith("1. Forward: 0 of 5 (wrong); 2. Back: 5 of 5; ")


def test_everybody_has_a_page_of_their_own(graded: list[Result], made: course.Course) -> None:
    folder = made.folder / "feedback"
    assert sorted(path.name for path in folder.iterdir()) == STUDENTS
    for work in HANDED_IN.values():
        page = (folder / work.student / f"{work.stem}.html").read_text()
        shown = f"{work.points * (1 - 0.1 * work.days):g} of 40 points."
        assert f"<h1>{work.stem}: " in page
        assert shown in page
        assert all(f"<td>{status}</td>" in page for status in work.statuses)
    said = (folder / "dee" / f"{ONE}.html").read_text()
    assert "<td>1. Forward</td><td>0 of 5</td><td>wrong</td>" in said


def test_run_again_it_marks_nothing_and_says_the_same(
    graded: list[Result], made: course.Course, handed_in: Path
) -> None:
    before = tables(made.folder)
    said: list[str] = []
    assert grading.grade(Run(made, no_process, LIMITS, now=NOW), handed_in, said.append) == graded
    assert tables(made.folder) == before
    for words in (
        "nobody's: joy: a link",
        "nobody's: nobody: nobody has the id 'nobody'",
        "nobody's: README.txt: no student's",
        f"unreadable: abe {ONE}, cem {ONE}",
        "no set's: bea/homework1_final.ipynb",
        f"missing: fox {ONE}, joy {ONE}, abe {TWO}",
        f"{ONE}: 2 wait for a person",
    ):
        assert [line for line in said[-10:] if line.startswith(words)], words


def test_one_process_gives_the_marks_that_two_have_given(
    jailed, graded: list[Result], made: course.Course, handed_in: Path
) -> None:
    before, records = tables(made.folder), files(made.folder / "records")
    again = frozenset({"dee", "pam", "sue", "vic", "xia", "yan"})
    assert grading.grade(Run(made, jailed, LIMITS, again, now=NOW), handed_in, print) == graded
    assert tables(made.folder) == before
    assert files(made.folder / "records") == records
