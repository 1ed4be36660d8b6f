"""The marks in nbgrader's database, where a person adds theirs in its form grader.

What our checks found is the automatic score of a question; what a person enters is the manual score and wins.
The database is copied to `backups/` before every run, and only this module speaks to it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import Comment, Grade, Gradebook, MissingEntry
from sqlalchemy.exc import SAWarning

from classroom.notebooks import Question
from classroom.records import Record
from classroom.roster import Student

BACKUPS = 20  # how many copies are kept
CONFIG = """c = get_config()  # noqa: F821
c.CourseDirectory.course_id = {name!r}
c.Exchange.root = {exchange!r}
"""


@dataclass(frozen=True)
class Entry:
    """A question as the database has it.

    Attributes:
        points: earned, by hand where a person has marked it, or None while it waits for one.
        comment: what a person wrote to the student.
        earlier: whether a person gave the points to an answer that has been replaced since.
    """

    points: float | None
    comment: str
    earlier: bool = False


def database(folder: Path) -> Path:
    return folder / "gradebook.db"


def back_up(folder: Path) -> None:
    """Copy the database as it is, and forget the oldest copies."""
    if not database(folder).exists():
        return
    copies = folder / "backups"
    copies.mkdir(exist_ok=True)
    kept = sorted(copies.glob("gradebook-*.db"))
    number = int(kept[-1].stem.removeprefix("gradebook-")) + 1 if kept else 1
    source, copy = sqlite3.connect(database(folder)), sqlite3.connect(copies / f"gradebook-{number:06d}.db")
    try:
        source.backup(copy)
    finally:
        source.close()
        copy.close()
    for old in kept[: max(0, len(kept) + 1 - BACKUPS)]:
        old.unlink()


def open_book(folder: Path, course: str) -> Gradebook:
    """The database, for a `with` block; nbgrader starts alembic for a new one, and finds it beside Python."""
    config = folder / "nbgrader_config.py"
    if not config.exists():
        exchange = folder.resolve() / "exchange"  # the form grader wants one, and nothing else uses it
        exchange.mkdir(exist_ok=True)
        config.write_text(CONFIG.format(name=course, exchange=str(exchange)), encoding="utf-8")
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ["PATH"]])
    return Gradebook(f"sqlite:///{database(folder).resolve()}", course_id=course)


def enter_set(book: Gradebook, name: str, questions: Iterable[Question], due: str | None) -> None:
    """Have a problem set and its questions in the database."""
    book.update_or_create_assignment(name, duedate=utc(due))
    book.update_or_create_notebook(name, name)
    for question in questions:
        kind = "code" if question.check else "markdown"
        book.update_or_create_grade_cell(question.name, name, name, max_score=question.points, cell_type=kind)
        book.update_or_create_solution_cell(question.name, name, name)


def enter_student(book: Gradebook, student: Student) -> None:
    book.update_or_create_student(
        student.id, first_name=student.name, last_name="", email=student.email, lms_user_id=student.canvas_id
    )


def enter(book: Gradebook, record: Record, replaces: bool) -> None:
    """Have the marks of a submission in the database.

    What a person has entered stays; where the submission replaces the one it was entered for, the answer
    waits for that person once more.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # nbgrader makes a submission before it adds it
        submission = book.update_or_create_submission(record.set, record.student)
    submission.timestamp = utc(record.when)
    kept = answers(book, record)
    for mark in record.marks:
        grade, comment = kept[mark.question]
        grade.auto_score = mark.points
        if mark.points is not None or replaces or grade.manual_score is None:
            grade.needs_manual_grade = mark.points is None
        comment.auto_comment = f"{mark.status}. {mark.note}".strip()
    book.db.commit()


def answers(book: Gradebook, record: Record) -> dict[str, tuple[Grade, Comment]]:
    """For each question of a submission what the database has, found in one go."""
    notebook = book.find_submission_notebook(record.set, record.set, record.student)
    comments = {comment.name: comment for comment in notebook.comments}
    return {grade.name: (grade, comments[grade.name]) for grade in notebook.grades}


def utc(moment: str | None) -> datetime | None:
    """The moment as nbgrader keeps it: in UTC, without saying so."""
    if moment is None:
        return None
    when = datetime.fromisoformat(moment)
    return when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo else when


def entries(book: Gradebook, record: Record) -> dict[str, Entry]:
    """For each question of a submission what counts: a person's mark before a check's."""
    found = {}
    kept = answers(book, record)
    for mark in record.marks:
        grade, comment = kept[mark.question]
        points = mark.points if grade.manual_score is None else grade.manual_score + (grade.extra_credit or 0)
        earlier = grade.manual_score is not None and bool(grade.needs_manual_grade)
        found[mark.question] = Entry(points, comment.manual_comment or "", earlier)
    return found


def forget(folder: Path, course: str, student: str) -> bool:
    """Take a student out of the database and out of every copy of it; whether it was in any."""
    known = False
    for path in [database(folder), *sorted((folder / "backups").glob("*.db"))]:
        if path.exists():
            with Gradebook(f"sqlite:///{path.resolve()}", course_id=course) as book:
                try:
                    book.remove_student(student)
                    known = True
                except MissingEntry:  # this copy is older than the student
                    continue
    return known
