"""Who takes a course, and which of their files are submissions: nbgrader's folders, Canvas's and Moodle's.

`roster.csv` in the course's folder has a line a student. `id` is needed; `name`, `email`, `canvas_id` and
`extra_days` may be there. `canvas_id` is the number Canvas gives a student. Moodle gives a student another
number in every assignment; its folders are told apart by the full names that they begin with.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from classroom.notebooks import writable

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
CANVAS = re.compile(r"[^_]+_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<name>.+)")
MOODLE = re.compile(r"(?P<name>.+)_\d+_assignsubmission_file.*")
AGAIN = re.compile(r"-\d+(?=\.ipynb$)")  # what Canvas appends to a file handed in once more
COPY = re.compile(r" ?\(\d+\)(?=\.ipynb$)")  # what a browser appends to a file downloaded once more
COLUMNS = ("id", "name", "email", "canvas_id", "extra_days")


class BadRoster(Exception):
    """The list of students cannot be used."""


@dataclass(frozen=True)
class Student:
    """A student.

    Attributes:
        id: the name of the student's folder.
        name: as it is shown, and as Moodle writes it.
        email: as Moodle knows it.
        canvas_id: the number that Canvas gives the student, or empty.
        extra_days: days after the due date that are not late.
    """

    id: str
    name: str = ""
    email: str = ""
    canvas_id: str = ""
    extra_days: int = 0


@dataclass(frozen=True)
class Submission:
    """A file handed in, or one that should have been.

    Attributes:
        student: the id of who handed it in.
        set: the name of the problem set.
        path: the notebook; None where it is missing or misnamed.
        when: when it was handed in, where that is known.
        problem: `missing`, `wrong name` or, of a file that may be meant for any set, `unclear`; or empty.
        note: what to tell the student about the problem.
        late: whether Canvas says that it is late.
    """

    student: str
    set: str
    path: Path | None
    when: datetime | None = None
    problem: str = ""
    note: str = ""
    late: bool = False


def read(path: Path) -> list[Student]:
    """The students of a course, in the order of their ids.

    Raises:
        BadRoster: where a column or an id is missing, malformed or doubled.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names, lines = reader.fieldnames or [], list(reader)
    except FileNotFoundError as error:
        raise BadRoster(
            f"{path} is missing: a line a student, with the columns {', '.join(COLUMNS)}"
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadRoster(f"{path} cannot be read: {error}; it is CSV in UTF-8") from error
    if "id" not in names:
        raise BadRoster(
            f"{path.name} has no column id; its first line is {','.join(names)!r} and should be"
            f" {','.join(COLUMNS)!r}, with commas"
        )
    students = [student(number, line) for number, line in enumerate(lines, start=2)]
    for column in ("id", "canvas_id"):
        values = [getattr(one, column) for one in students if getattr(one, column)]
        doubled = {value for value in values if values.count(value) > 1}
        if doubled:
            raise BadRoster(f"{path.name}: {column} {min(doubled)} stands twice; each is one student's")
    return sorted(students, key=lambda one: one.id)


def write_blank(path: Path) -> None:
    """Write a roster of nobody, to be filled in, where there is none."""
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")


def student(number: int, line: dict[str, str]) -> Student:
    values = {name: (line.get(name) or "").strip() for name in COLUMNS}
    if not ID.fullmatch(values["id"]):
        raise BadRoster(
            f"roster.csv, line {number}: id {values['id']!r}; it is made of letters, digits, . _ @ -"
        )
    days = values.pop("extra_days") or "0"
    if not days.isdecimal():
        raise BadRoster(f"roster.csv, line {number}: extra_days is {days!r}; it is a number of days")
    return Student(**values, extra_days=int(days))


def submissions(
    folder: Path, students: list[Student], sets: list[str], begun: Collection[str] = ()
) -> Iterator[Submission]:
    """One for each student and each set of which anybody has handed in something: a file of its name, or a
    file in a folder of its name.

    Args:
        folder: what was handed in: `STUDENT/SET/SET.ipynb` or `STUDENT/SET.ipynb`, or what Canvas or Moodle
        gives. students: the roster. sets: the names of the problem sets. begun: those of which something has
        been marked before.
    """
    whose = claimed(folder, students)
    files = {one.id: list(files_of(folder, whose, one, sets)) for one in students}
    for name in sets:
        found = [submission(one, name, files[one.id], sets) for one in students]
        if name in begun or any(one.problem in ("", "wrong name") for one in found):
            yield from found


def submission(one: Student, name: str, files: list[tuple[str, Path]], sets: list[str]) -> Submission:
    """What a student has handed in for a set."""
    right = [path for shown, path in files if shown == f"{name}.ipynb"]
    if right:
        latest = max(right, key=lambda path: (handed_in(path) or datetime.min.replace(tzinfo=UTC), path.name))
        return Submission(one.id, name, latest, handed_in(latest), late=late_by_canvas(latest))
    copies = [path for shown, path in files if COPY.sub("", shown) == f"{name}.ipynb"]
    if copies:
        latest = max(copies, key=lambda path: path.name)
        return Submission(one.id, name, latest, handed_in(latest), late=late_by_canvas(latest))
    strays = [(shown, path) for shown, path in files if is_stray(shown, sets)]
    here = [shown for shown, path in strays if path.parent.name == name]
    loose = [shown for shown, path in strays if path.parent.name not in sets]
    if here or loose:
        note = f"{writable((here or loose)[0])} was handed in; the file must be named {name}.ipynb"
        return Submission(one.id, name, None, None, "wrong name" if here else "unclear", note)
    return Submission(one.id, name, None, None, "missing", "nothing was handed in")


def late_by_canvas(path: Path) -> bool:
    """Whether Canvas has given a file the mark of what is late."""
    canvas = CANVAS.fullmatch(path.name)
    return canvas is not None and canvas["late"] is not None


def moodle_folder(path: Path | None, folder: Path) -> str:
    """The folder that Moodle has given a file, which says for whom it was handed in; empty where it has
    not."""
    top = path.relative_to(folder).parts[0] if path else ""
    return top if MOODLE.fullmatch(top) else ""


def is_stray(shown: str, sets: list[str]) -> bool:
    """Whether a file has the name of no set."""
    return COPY.sub("", shown).removesuffix(".ipynb") not in sets


def strays(folder: Path, students: list[Student], sets: list[str]) -> list[str]:
    """Each file of a student that belongs to no set: it has the name of none, and lies in the folder of
    none."""
    whose = claimed(folder, students)
    return [
        str(path.relative_to(folder))
        for one in students
        for shown, path in files_of(folder, whose, one, sets)
        if is_stray(shown, sets) and path.parent.name not in sets
    ]


def claimed(folder: Path, students: list[Student]) -> dict[Path, str]:
    """For each file and folder handed in whose it is, by id, or empty where it is nobody's."""
    ids = {one.id for one in students}
    of_canvas = {one.canvas_id: one.id for one in students if one.canvas_id}
    names = [folded(one.name) for one in students]
    of_moodle = {
        folded(one.name): one.id for one in students if one.name and names.count(folded(one.name)) == 1
    }
    return {
        path: owner(path, ids, of_canvas, of_moodle)
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }


def owner(path: Path, ids: set[str], of_canvas: dict[str, str], of_moodle: dict[str, str]) -> str:
    """The id of whose file or folder this is, or empty."""
    if path.is_symlink():
        return ""
    if path.is_dir():
        moodle = MOODLE.fullmatch(path.name)
        by_name = of_moodle.get(folded(moodle["name"]), "") if moodle else ""
        return path.name if path.name in ids else by_name
    canvas = CANVAS.fullmatch(path.name)
    return of_canvas.get(canvas["id"], "") if canvas else ""


def folded(name: str) -> str:
    """A name as it is compared: upper and lower case, underscores and blanks are the same."""
    return " ".join(name.replace("_", " ").casefold().split())


def unclaimed(folder: Path, students: list[Student]) -> list[str]:
    """A line for each file or folder that is nobody's, with what would make it somebody's."""
    return [f"{path.name}: {remedy(path)}" for path, whose in claimed(folder, students).items() if not whose]


def remedy(path: Path) -> str:
    """What would make this file or folder somebody's."""
    moodle, canvas = MOODLE.fullmatch(path.name), CANVAS.fullmatch(path.name)
    if path.is_symlink():
        return "a link; what it leads to is not read"
    if path.is_dir() and moodle:
        return f"nobody, or more than one, has the name {moodle['name']!r} on roster.csv"
    if path.is_dir():
        return f"nobody has the id {path.name!r} on roster.csv"
    if canvas:
        return f"nobody has the canvas_id {canvas['id']} on roster.csv"
    return "no student's; work lies in a folder called like the student's id"


def files_of(
    folder: Path, whose: dict[Path, str], one: Student, sets: list[str]
) -> Iterator[tuple[str, Path]]:
    """The files that a student has handed in: the name that the student gave each, and where it is."""
    for path in (path for path, whom in whose.items() if whom == one.id):
        canvas = CANVAS.fullmatch(path.name)
        if path.is_dir():
            inside = (file for file in sorted(path.rglob("*")) if ".ipynb_checkpoints" not in file.parts)
            yield from (
                (file.name, file)
                for file in inside
                if file.name != "timestamp.txt" and is_plain(file, folder)
            )
        elif canvas and is_plain(path, folder):
            yield given(canvas["name"], sets), path


def given(name: str, sets: list[str]) -> str:
    """The name that a file had before Canvas appended to it: a set's own name may end in a number, too."""
    return name if name.removesuffix(".ipynb") in sets else AGAIN.sub("", name)


def is_plain(path: Path, folder: Path) -> bool:
    """Whether this is a file of the folder itself, and no link to what lies elsewhere."""
    return path.is_file() and path.resolve() == folder.resolve() / path.relative_to(folder)


def handed_in(path: Path) -> datetime | None:
    """When a file was handed in: nbgrader writes it beside the file."""
    stamp = path.with_name("timestamp.txt")
    try:
        moment = datetime.fromisoformat(stamp.read_text().strip().removesuffix(" UTC"))
    except (OSError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_over(due: str | None, extra_days: int, now: datetime) -> bool:
    """Whether nothing can be handed in in time any more."""
    return due is not None and days_late(now, due, extra_days) > 0


def days_late(when: datetime | None, due: str | None, extra_days: int) -> int:
    """How many days after its due date something was handed in, each day begun counted."""
    if when is None or due is None:
        return 0
    moment = datetime.fromisoformat(due)
    over = when - (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - timedelta(days=extra_days)
    return max(0, -(-over // timedelta(days=1)))
