"""Make a teacher's course from the problem sets: `make course INTO=../my-course SEED=…`.

A **source notebook** is one file `book/assignments/SET.ipynb`; everything else is made from it. Its cells are
told apart by `metadata.tags` and by two entries of `metadata`: `nbgrader` (its schema 3) and `marking`
(ours).

text, no tag
    Markdown, released as it is. Each task states its minutes and its difficulty here.
coding answer, tag `answer`
    A code cell that defines one function. `nbgrader`: `{"schema_version": 3, "cell_type": "code", "grade":
    true, "solution": true, "locked": false, "task": false, "grade_id": "occupancy", "points": 6}`. `marking`:
    `{"check": "occupancy"}`, a name in `aggbandit.checks.ALL`, and `"function": "my_occupancy"` where the
    function is not called as the check is. The solution stands between lines `### BEGIN SOLUTION` and `###
    END SOLUTION`; the release has `raise NotImplementedError` there, indented as the first marker is.
text or figure answer, tag `answer`
    A Markdown cell, or a code cell that draws, marked by hand: the same `nbgrader` entry with its own
    `cell_type`, and no check. The model answer stands between the same two marker lines; the release has
    *Your answer:* there, or `# your code here`.
rubric, tag `rubric`
    Markdown, `marking`: `{"rubric": "the grade_id it belongs to"}`. Never released.
instance, tag `instance`
    A code cell with one line `seed = 0`. A course has a number of its own there. The cell may `assert` that
    what it draws is well-posed; where that fails, another number is drawn.
variants, on cells of any kind
    `marking`: `{"variants": "name", "variant": "a"}`. Of all cells with the same `variants` a course keeps
    those of one `variant`, drawn from its seed.
other code, no tag
    Imports, figures, `checks.occupancy(occupancy)`: released as they are.

A `grade_id` is unique in its notebook and made of letters, digits, `-` and `_`. Marking runs all code cells
from top to bottom in a process without network or files, goes on after a cell that fails, and then calls the
functions by name. Arguments and results are numbers and arrays of numbers. A check gives all its points or
none: a law holds or it does not; where parts are worth points of their own they are functions of their own.

A course is a folder outside of this repository, laid out as nbgrader's are. `course.json` says its name, its
seed, and for each set when it is due; `roster.csv` has a line a student; these may be edited. `source/` has
the sets with this course's variants and numbers, `release/` what students get, `solutions/` what teachers
get, and `NAME.zip` all that students need. Made again from the same seed, it is the same byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from classroom import notebooks, roster
from classroom.jail import HERE, PACKAGE, Limits, unsafe
from classroom.marking import Reply, mark_notebook
from classroom.notebooks import Notebook, Question

BOOK = Path(__file__).resolve().parents[2]
ASSIGNMENTS = BOOK / "assignments"
DRAWS = 20  # how many numbers are tried until a set is well-posed
OURS = Limits(seconds=300, patience=900)  # for our own notebooks
A_MOMENT = "2027-01-31T23:59:00+01:00"
SHORT = 16  # characters; a shorter seed can be guessed, from the numbers that a release shows


class BadCourse(Exception):
    """There is no course here, or none can be made."""


@dataclass(frozen=True)
class Rules:
    """What lateness costs.

    Attributes:
        late_a_day: share of the points earned that each day begun after the due date takes away.
        late_days: after so many days nothing is earned any more.
    """

    late_a_day: float = 0.1
    late_days: int = 5


@dataclass(frozen=True)
class Course:
    """A teacher's course.

    Attributes:
        folder: where it is.
        name: a short name, also that of its release.
        seed: what its instances, its variants and the instances of its checks are drawn from; secret.
        due: the moment each set is due, as `2027-01-31T23:59:00+01:00`, or None.
        rules: what lateness costs.
    """

    folder: Path
    name: str
    seed: str
    due: dict[str, str | None]
    rules: Rules

    @property
    def sets(self) -> list[str]:
        return list(self.due)

    def source(self, name: str) -> Path:
        return self.folder / "source" / name / f"{name}.ipynb"

    def release(self, name: str) -> Path:
        return self.folder / "release" / name / f"{name}.ipynb"

    def solution(self, name: str) -> Path:
        return self.folder / "solutions" / name / f"{name}.ipynb"

    def check_seeds(self, name: str, questions: Iterable[Question]) -> dict[str, int]:
        """For each question, where the instances that mark it come from."""
        return {one.name: drawn(self.seed, name, one.name, "check") for one in questions}


def drawn(seed: str, *purpose: str) -> int:
    """A number for a purpose; who knows some of them knows nothing of the others, nor of the seed."""
    text = json.dumps([seed, *purpose])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def load(folder: Path) -> Course:
    """The course in a folder.

    Raises:
        BadCourse: where there is none.
    """
    file = folder / "course.json"
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        rules = Rules(**entries["late"])
        for name, due in entries["due"].items():
            check_due(file, name, due)
        return Course(folder, entries["name"], entries["seed"], dict(entries["due"]), rules)
    except FileNotFoundError as error:
        raise BadCourse(
            f"{folder} is no course: it has no course.json; `make course INTO={folder}` makes one"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadCourse(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def check_due(file: Path, name: str, due: str | None) -> None:
    """Refuse what is no moment, or one that leaves open in which time zone."""
    if due is None:
        return
    try:
        zone = datetime.fromisoformat(due).tzinfo
    except (ValueError, TypeError):
        zone = None
    if zone is None:
        raise BadCourse(
            f"{file}: due of {name} is {due!r}; it is written like {A_MOMENT!r}, with the"
            " offset of its time zone"
        )


def save(course: Course) -> None:
    entries = {"name": course.name, "seed": course.seed, "due": course.due, "late": asdict(course.rules)}
    (course.folder / "course.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def make(
    folder: Path,
    seed: str | None = None,
    assignments: Path = ASSIGNMENTS,
    say: Callable[[str], None] = lambda line: None,
) -> Course:
    """Make a course, or make it again after the sets have changed.

    Args:
        folder: where; outside of this repository.
        seed: what everything is drawn from; None for that of the course there, or a new one for a new course.
        assignments: where the source notebooks are.
        say: told a line before each set is tried.

    Raises:
        BadCourse: where the folder will not do, holds a course of another seed, or a set is not right.
    """
    if folder.resolve().is_relative_to(BOOK.parent):
        raise BadCourse(f"{folder} is inside of the book's repository; a course is private, and lies outside")
    sources = sorted(assignments.glob("*.ipynb"))
    if not sources:
        raise BadCourse(f"there are no problem sets in {assignments}")
    course = begun(folder, seed)
    course = replace(course, due={source.stem: course.due.get(source.stem) for source in sources})
    for source in sources:
        name, stamp = source.stem, course.source(source.stem).with_name("made")
        if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of(course, source):
            say(f"{name}: unchanged")
            continue
        say(f"{name}: drawing its city, trying its solution and its blank")
        write_set(course, name, well_posed(course.seed, name, notebooks.read(source)))
        stamp.write_text(made_of(course, source), encoding="utf-8")
    save(course)
    roster.write_blank(course.folder / "roster.csv")
    return course


def made_of(course: Course, source: Path) -> str:
    """A digest of what a set of the course is made of, and of what was made: where it is the same, nothing is
    to be made again."""
    name, total = source.stem, hashlib.sha256(course.seed.encode())
    code = [path for folder in (PACKAGE, HERE) for path in sorted(folder.rglob("*.py"))]
    made = [course.source(name), course.release(name), course.solution(name)]
    for path in [source, *code, *made]:
        total.update(hashlib.sha256(path.read_bytes()).digest() if path.exists() else b"none")
    return total.hexdigest()


def begun(folder: Path, seed: str | None) -> Course:
    """The course of a folder, a new one where there is none; its seed stays."""
    if not (folder / "course.json").exists():
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-.") or "course"
        folder.mkdir(parents=True, exist_ok=True)
        return Course(folder, name, seed or secrets.token_hex(16), {}, Rules())
    course = load(folder)
    if seed not in (None, course.seed):
        raise BadCourse(f"{folder} holds a course of another seed; make another folder, or leave SEED out")
    return course


def write_set(course: Course, name: str, notebook: Notebook) -> None:
    notebooks.write(notebook, course.source(name))
    notebooks.write(notebooks.released(notebook), course.release(name))
    notebooks.write(notebooks.solved(notebook), course.solution(name))


def well_posed(seed: str, name: str, notebook: Notebook) -> Notebook:
    """A set with variants and numbers of this course, for which the solution is right and the blank is not.

    Raises:
        BadCourse: where none is found, or where the set is wrong whatever is drawn.
    """
    groups = notebooks.variants(notebook)
    chosen = {
        group: names[drawn(seed, name, group, "variant") % len(names)] for group, names in groups.items()
    }
    notebook = notebooks.with_variants(notebook, chosen)
    for draw in range(DRAWS):
        made = notebooks.with_seed(notebook, drawn(seed, name, str(draw), "instance") % 10**6)
        if tried(seed, name, made):
            return made
    raise BadCourse(
        f"{name}: none of {DRAWS} numbers gives a well-posed instance; loosen the assertions of its cell"
    )


def tried(seed: str, name: str, notebook: Notebook) -> bool:
    """Whether the instances are well-posed; raises BadCourse where the set itself is at fault."""
    asked = notebooks.questions(notebook)
    seeds = {one.name: drawn(seed, name, one.name, "check") for one in asked}
    solution, blank = notebooks.solved(notebook), notebooks.released(notebook)
    marks, runs = mark_notebook(solution, blank, asked, seeds, unsafe, OURS)
    if any(is_ill_posed(cell, run) for cell, run in zip(code_cells(solution), runs.values(), strict=True)):
        return False
    for number, run in runs.items():
        if run.outcome != "done":
            raise BadCourse(
                f"{name}: code cell {number + 1} of the solution ends with: {run.outcome} {run.text}"
            )
    for mark in marks:
        if mark.status not in ("ok", "by hand"):
            raise BadCourse(f"{name}: the solution of {mark.question} is {mark.status}: {mark.note}")
    earned = [mark for mark in mark_notebook(blank, blank, asked, seeds, unsafe, OURS)[0] if mark.points != 0]
    if earned:
        raise BadCourse(f"{name}: the blank of {earned[0].question} is not worth nothing: {earned[0].note}")
    return True


def code_cells(notebook: Notebook) -> list[notebooks.Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def is_ill_posed(cell: notebooks.Cell, run: Reply) -> bool:
    """Whether this is a cell that draws an instance, and refuses what it drew."""
    return "instance" in notebooks.tags(cell) and run.text.startswith("AssertionError")
