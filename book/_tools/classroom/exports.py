"""The marks as tables: one with everything, one for Canvas, one for Moodle."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from classroom.course import Rules
from classroom.records import Record
from classroom.roster import Student, days_late


class Entry(Protocol):
    """A question as the database has it: points, or None while it waits, and a person's comment."""

    @property
    def points(self) -> float | None: ...

    @property
    def comment(self) -> str: ...


@dataclass(frozen=True)
class Result:
    """What a student has for a set.

    Attributes:
        student: who.
        record: what marking found.
        entries: for each question what counts.
        maximum: what the set is worth.
        days_late: days begun after the due date.
        penalty: the share of the points that lateness takes away.
    """

    student: Student
    record: Record
    entries: Mapping[str, Entry]
    maximum: float
    days_late: int
    penalty: float

    @property
    def waiting(self) -> int:
        """How many questions wait for a person."""
        return sum(entry.points is None for entry in self.entries.values())

    @property
    def total(self) -> float:
        """Points earned so far, less what lateness costs."""
        return sum(entry.points or 0.0 for entry in self.entries.values()) * (1 - self.penalty)


def result(
    student: Student,
    record: Record,
    entries: Mapping[str, Entry],
    maximum: float,
    due: str | None,
    rules: Rules,
) -> Result:
    """What a student has, by the rules of the course."""
    when = datetime.fromisoformat(record.when) if record.when else None
    days = days_late(when, due, student.extra_days)
    penalty = 1.0 if days > rules.late_days else min(1.0, days * rules.late_a_day)
    return Result(student, record, entries, maximum, days, penalty)


def everything(results: Iterable[Result]) -> str:
    """A line a question: student, set, question, points, maximum, status, what was said."""
    head = ["id", "name", "set", "question", "points", "maximum", "status", "by hand", "days late", "note"]
    lines = [head]
    for one in results:
        who = [one.student.id, one.student.name, one.record.set]
        for mark in one.record.marks:
            entry = one.entries[mark.question]
            points = "" if entry.points is None else f"{entry.points:g}"
            by_hand = "yes" if entry.points != mark.points else ""
            said = " ".join(filter(None, [one.record.note or mark.note, entry.comment]))
            lines.append(
                [
                    *who,
                    mark.question,
                    points,
                    f"{mark.maximum:g}",
                    mark.status,
                    by_hand,
                    str(one.days_late),
                    said,
                ]
            )
    return table(lines)


def canvas(results: list[Result]) -> str:
    """What Canvas imports: a line a student, a column a set; the ids of its assignments are matched by
    name."""
    sets = sorted({one.record.set for one in results})
    maxima = {one.record.set: one.maximum for one in results}
    totals = {(one.student.id, one.record.set): f"{one.total:.2f}" for one in results}
    students = {one.student.id: one.student for one in results}
    lines = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *sets]]
    lines.append(["    Points Possible", "", "", "", "", *(f"{maxima[name]:g}" for name in sets)])
    for one in sorted(students.values(), key=lambda student: student.id):
        points = [totals.get((one.id, name), "") for name in sets]
        lines.append([one.name or one.id, one.canvas_id, "", one.id, "", *points])
    return table(lines)


def moodle(results: Iterable[Result]) -> str:
    """What Moodle imports for one assignment: a line a student, by participant and by address."""
    lines = [["Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Feedback comments"]]
    for one in results:
        identifier = f"Participant {one.student.moodle_id}" if one.student.moodle_id else ""
        statuses = "; ".join(f"{mark.question}: {mark.status}" for mark in one.record.marks)
        name = one.student.name or one.student.id
        lines.append([identifier, name, one.student.email, f"{one.total:.2f}", f"{one.maximum:g}", statuses])
    return table(lines)


def table(lines: Iterable[Iterable[str]]) -> str:
    """Lines as CSV; what a spreadsheet would take for a formula is quoted."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([plain(value) for value in line] for line in lines)
    return file.getvalue()


def plain(value: str) -> str:
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
