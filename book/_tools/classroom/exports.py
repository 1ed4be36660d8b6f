"""The marks as tables: one with everything, one for Canvas, one for Moodle."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from classroom.course import Rules
from classroom.marking import Mark
from classroom.notebooks import Question
from classroom.records import Record
from classroom.roster import BadRoster, Student, days_late, folded, is_over

WORKSHEET = ("Identifier", "Full name", "Grade", "Last modified (grade)")  # what Moodle wants back
LATE = "Late by Canvas."
EARLIER = "Marked by hand for an answer that has been replaced since; to be looked at again."


class Entry(Protocol):
    """A question as the database has it: points, or None while it waits, a person's comment, and whether the
    points were given to an earlier answer."""

    @property
    def points(self) -> float | None: ...

    @property
    def comment(self) -> str: ...

    @property
    def earlier(self) -> bool: ...


@dataclass(frozen=True)
class Result:
    """What a student has for a set.

    Attributes:
        student: who.
        record: what marking found.
        entries: for each question what counts.
        titles: for each question what students know it by.
        maximum: what the set is worth.
        days_late: days begun after the due date.
        penalty: the share of the points that lateness takes away.
        open: why the total is not final, whatever a person has marked; or empty.
        late: whether Canvas says that it was late.
        moodle: the folder in which Moodle gave what was handed in; or empty.
    """

    student: Student
    record: Record
    entries: Mapping[str, Entry]
    titles: Mapping[str, str]
    maximum: float
    days_late: int
    penalty: float
    open: str = ""
    late: bool = False
    moodle: str = ""

    @property
    def waiting(self) -> int:
        """How many questions wait for a person."""
        return sum(entry.points is None or entry.earlier for entry in self.entries.values())

    @property
    def final(self) -> bool:
        """Whether the total may go to Canvas and Moodle."""
        return not (self.waiting or self.open)

    @property
    def total(self) -> float:
        """Points earned so far, less what lateness costs."""
        return sum(entry.points or 0.0 for entry in self.entries.values()) * (1 - self.penalty)


def result(
    student: Student,
    record: Record,
    entries: Mapping[str, Entry],
    questions: Collection[Question],
    due: str | None,
    rules: Rules,
    now: datetime,
) -> Result:
    """What a student has, by the rules of the course."""
    when = datetime.fromisoformat(record.when) if record.when else None
    days = days_late(when, due, student.extra_days)
    penalty = 1.0 if days > rules.late_days else min(1.0, days * rules.late_a_day)
    titles = {question.name: question.title for question in questions}
    maximum = sum(question.points for question in questions)
    over = is_over(due, student.extra_days, now)
    return Result(student, record, entries, titles, maximum, days, penalty, still_open(record, over))


def still_open(record: Record, over: bool) -> str:
    """Why a total is not final: nothing was handed in and it is not due, or what was could not be marked."""
    if record.status == "missing":
        return "" if over else "it may still be handed in"
    return "" if record.status == "ok" else "what was handed in could not be marked"


def everything(results: Iterable[Result]) -> str:
    """A line a question: student, set, question, points, maximum, status, what was said."""
    head = ["id", "name", "set", "question", "points", "maximum", "status", "by hand", "final", "days late"]
    head.append("note")
    lines = [head]
    for one in results:
        who = [one.student.id, one.student.name, one.record.set]
        for mark in one.record.marks:
            entry = one.entries[mark.question]
            points = "" if entry.points is None else f"{entry.points:g}"
            by_hand = "yes" if entry.points != mark.points else ""
            final = "no" if entry.points is None or entry.earlier or one.open else "yes"
            before = EARLIER if entry.earlier else ""
            late = LATE if one.late else ""
            said = " ".join(filter(None, [late, one.record.note, mark.note, entry.comment, before]))
            lines.append(
                [
                    *who,
                    mark.question,
                    points,
                    f"{mark.maximum:g}",
                    mark.status,
                    by_hand,
                    final,
                    str(one.days_late) if one.record.when else "",
                    said,
                ]
            )
    return table(lines)


def canvas(results: list[Result]) -> str:
    """What Canvas imports: a line a student, a column a set; the ids of its assignments are matched by
    name. A total that is not final is left empty."""
    sets = sorted({one.record.set for one in results})
    maxima = {one.record.set: one.maximum for one in results}
    totals = {(one.student.id, one.record.set): f"{one.total:.2f}" for one in results if one.final}
    students = {one.student.id: one.student for one in results}
    lines = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *sets]]
    lines.append(["    Points Possible", "", "", "", "", *(f"{maxima[name]:g}" for name in sets)])
    for one in sorted(students.values(), key=lambda student: student.id):
        points = [totals.get((one.id, name), "") for name in sets]
        lines.append([one.name or one.id, one.canvas_id, "", one.id, "", *points])
    return table(lines)


def moodle(results: Iterable[Result], worksheet: str, path: Path) -> str:
    """Moodle's own grading worksheet of one assignment, with grades and remarks filled in.

    Moodle knows a student by another number in every assignment, and refuses a table without them and without
    its own dates; so everything else stays as Moodle wrote it. A total that is not final is left as it was.

    Args:
        results: of one set.
        worksheet: the text of the worksheet.
        path: where it is, to be told.

    Raises:
        BadRoster: where it has no column that is needed.
    """
    reader = csv.DictReader(io.StringIO(worksheet))
    names, lines = list(reader.fieldnames or []), list(reader)
    for needed in WORKSHEET:
        if needed not in names:
            raise BadRoster(
                f"{path} has no column {needed!r}; download the grading worksheet from Moodle in English"
            )
    final = [one for one in results if one.final]
    of_email = {one.student.email.casefold(): one for one in final if one.student.email}
    known = [folded(one.student.name) for one in final]
    of_name = {name: one for name, one in zip(known, final, strict=True) if known.count(name) == 1}
    for line in lines:
        email, name = (line.get("Email address") or "").casefold(), folded(line["Full name"])
        one = of_email.get(email) or of_name.get(name)
        if one is not None:
            line["Grade"] = f"{one.total:.2f}"
            if "Feedback comments" in names:
                line["Feedback comments"] = plain("; ".join(said(one, mark) for mark in one.record.marks))
    file = io.StringIO()
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def said(one: Result, mark: Mark) -> str:
    """A question in a few words: its points, what became of an answer that is not right, a person's
    comment."""
    entry = one.entries[mark.question]
    status = "" if mark.status in ("ok", "by hand") else f" ({mark.status})"
    earned = f"{one.titles[mark.question]}: {entry.points or 0:g} of {mark.maximum:g}{status}"
    return f"{earned}. {entry.comment}" if entry.comment else earned


def table(lines: Iterable[Iterable[str]]) -> str:
    """Lines as CSV; what a spreadsheet would take for a formula is quoted."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([plain(value) for value in line] for line in lines)
    return file.getvalue()


def plain(value: str) -> str:
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
