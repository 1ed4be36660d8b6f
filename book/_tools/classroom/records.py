"""What marking found, one file a submission: written as soon as it is marked, so that a run that stops goes
on.

`records/SET/STUDENT.json` in the course's folder. A record holds the digest of everything the marks follow
from; a submission whose digest is unchanged is not marked again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from classroom.marking import Mark, Status


@dataclass(frozen=True)
class Record:
    """The marks of one submission.

    Attributes:
        student: the student's id.
        set: the problem set.
        digest: of everything the marks follow from: the submission, the set, the checks.
        file: the digest of the submission alone.
        status: `ok`, or why nothing could be marked.
        note: what to tell the student about that.
        when: when it was handed in, as ISO 8601, or None where that is not known.
        marks: one a question.
        cells: for each code cell that has run its name, `done` or how else it ended, and its text.
    """

    student: str
    set: str
    digest: str
    file: str
    status: Status
    note: str
    when: str | None
    marks: tuple[Mark, ...]
    cells: tuple[tuple[str, str, str], ...] = ()


def path_of(folder: Path, set_name: str, student: str) -> Path:
    return folder / "records" / set_name / f"{student}.json"


def digest(*parts: bytes) -> str:
    """A digest of several pieces, each with its length."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def save(folder: Path, record: Record) -> None:
    """Write a record: all of it or nothing."""
    write_whole(
        path_of(folder, record.set, record.student),
        json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n",
    )


def write_whole(path: Path, text: str) -> None:
    """Write a text beside its place, and move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.writing")
    scratch.write_text(text, encoding="utf-8")
    os.replace(scratch, path)


def load(path: Path) -> Record:
    entries = json.loads(path.read_text(encoding="utf-8"))
    entries["marks"] = tuple(Mark(**mark) for mark in entries["marks"])
    entries["cells"] = tuple(map(tuple, entries["cells"]))
    return Record(**entries)


def earlier(folder: Path, set_name: str, student: str) -> Record | None:
    """The record of what a student had handed in when it was last marked."""
    path = path_of(folder, set_name, student)
    return load(path) if path.exists() else None


def every(folder: Path) -> Iterator[Record]:
    """All records of a course, by set and student."""
    for path in sorted((folder / "records").glob("*/*.json")):
        yield load(path)
