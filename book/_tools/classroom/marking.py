"""Mark one submission: its code runs in a jail, the checks run here and call it over a socket.

What a submission does to its own process cannot matter: the checks, their instances and their numpy are in
this process, and judge the numbers that come back. A cell or a call that hangs, dies or eats memory costs
that cell or that question; the process is then started anew without it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from aggbandit import checks
from classroom import frames
from classroom.jail import Limits, Process
from classroom.notebooks import Notebook, Question, answer_of, cell_names, code_number, source, writable

Status = Literal[
    "ok",
    "wrong",
    "not answered",
    "crashed",
    "timed out",
    "out of memory",
    "by hand",
    "unreadable",
    "wrong name",
    "unclear",
    "missing",
]
STATUS_OF: dict[str, Status] = {
    "right": "ok",
    "wrong": "wrong",
    "not answered": "not answered",
    "crashed": "crashed",
}
ENDINGS: dict[str, Status] = {"timed out": "timed out", "out of memory": "out of memory", "died": "crashed"}
OUTCOMES = {"done", "error", "not answered", "no function", "nothing", "no numbers", *ENDINGS}
GIVEN_UP = {True: "your notebook takes too long", False: "your code ended its process too often"}
PICTURES = 60  # figures of a submission that are kept
TEXT = 10_000  # characters of what a cell printed that are kept
MESSAGE = 300  # characters of anything else that the process says: a call has seen the instances that mark
COUNTED = re.compile(r"\(<?(?:code )?cell (\d{1,6})>?, line ")  # how Python and the worker place an error
RESTARTS = 10  # how often a submission may end its process; then what is left is not tried any more


@dataclass(frozen=True)
class Mark:
    """What one question earned.

    Attributes:
        question: its name.
        points: earned; None until a person has marked it.
        maximum: what it is worth.
        status: how the answer ended.
        note: what to tell the student.
    """

    question: str
    points: float | None
    maximum: float
    status: Status
    note: str = ""


@dataclass(frozen=True)
class Reply:
    """What the jailed process said: an outcome and its text, an array or none, and pictures."""

    outcome: str
    text: str = ""
    array: np.ndarray | None = None
    pictures: tuple[bytes, ...] = ()


class StudentError(Exception):
    """What a student's function raised, or how it ended instead of returning."""


class CannotCross(BaseException):
    """A check passes what is no number; a fault of ours, hence nothing that a check would report as a
    student's."""


class Session:
    """A submission at work: a process, started anew when the submission has ended it.

    Args:
        cells: the sources of its code cells.
        start: starts a worker.
        limits: what it may use.
    """

    def __init__(self, cells: list[str], start: Callable[[Limits], Process], limits: Limits) -> None:
        self.cells, self.start, self.limits = cells, start, limits
        self.runs: dict[int, Reply] = {}
        self.deadly: set[int] = set()
        self.process: Process | None = None
        self.starts = 0
        self.ending: Reply | None = None  # how the last call ended, where it neither returned nor raised
        self.late = False  # whether a cell or a call has used up its time
        self.until = time.monotonic() + limits.whole

    def ready(self) -> bool:
        """Have a process in which all cells have run but those that end it; False where there can be none."""
        while self.process is None and self.starts <= RESTARTS and time.monotonic() < self.until:
            self.starts += 1
            self.process = self.start(self.limits)
            for number in range(len(self.cells)):
                if number not in self.deadly:
                    self.run(number)
                if self.process is None:
                    self.deadly.add(number)
                    break
        return self.process is not None

    def run(self, number: int) -> None:
        """Run one cell and keep what it printed and drew."""
        said = self.ask({"cell": number + 1, "source": self.cells[number]})
        drawn = self.ask({"figures": True}) if self.process else Reply("died")
        kept = sum(len(run.pictures) for run in self.runs.values())
        self.runs[number] = Reply(said.outcome, said.text, None, drawn.pictures[: max(0, PICTURES - kept)])

    def ask(self, request: dict[str, object], arrays: Iterable[np.ndarray] = ()) -> Reply:
        """Ask the process; where it does not answer properly it is ended."""
        assert self.process is not None
        limits = self.limits.shorter if self.late else self.limits
        patience = min(limits.patience, max(0.01, self.until - time.monotonic()))
        try:
            reply = understood(
                self.process.ask(request | {"seconds": limits.seconds}, list(arrays), patience)
            )
            self.late |= reply.outcome == "timed out"
            return reply
        except frames.TooLate:
            reply, self.late = Reply("timed out"), True
        except frames.Closed:
            reply = Reply("died", "your code ended the process it runs in")
        except frames.Malformed as error:
            reply = Reply("died", f"your code answered with {error}")
        self.close()
        return reply

    def function(self, name: str) -> Callable[..., object]:
        """A function of the submission, as a check calls it; no code of ours that a report could name."""
        return partial(self.call, name)

    def call(self, name: str, *arguments: object) -> object:
        """Call a function of the submission."""
        values = [sendable(value) for value in arguments]
        if not self.ready():
            late = time.monotonic() >= self.until
            self.ending = Reply("timed out" if late else "died", GIVEN_UP[late])
        else:
            reply = self.ask({"call": name, "arguments": len(values)}, values)
            if reply.outcome not in ENDINGS:
                return returned(reply)
            self.ending = reply
        raise StudentError(self.ending.outcome)

    def why(self, ending: Reply) -> str:
        """What to tell a student about a cell or a call that came to no end of its own."""
        first, later = self.limits.seconds, self.limits.shorter.seconds
        less = f", and {later:g} after one that has used them up" if later < first else ""
        said = {
            "timed out": f"a cell or a call may take {first:g} seconds{less}; yours did not return",
            "out of memory": f"a notebook may use {self.limits.memory / 2**30:g} GB of memory",
        }
        return ending.text or said.get(ending.outcome, "")

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.close()
            self.process = None


def understood(answer: list[frames.Frame]) -> Reply:
    """What came over the socket, believed no further than its form.

    Raises:
        Malformed: where it is no answer.
    """
    pictures, last = tuple(frame for frame in answer[:-1] if isinstance(frame, bytes)), answer[-1]
    if isinstance(last, np.ndarray):
        return Reply("array", "", last, pictures)
    try:
        report = json.loads(str(last))
        outcome, text = report["outcome"], report["text"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise frames.Malformed("what is no report") from error
    if outcome not in OUTCOMES or not isinstance(text, str):
        raise frames.Malformed("what is no report")
    most = TEXT if outcome == "done" else MESSAGE
    return Reply(outcome, writable(text[:most]), None, pictures)


def returned(reply: Reply) -> object:
    """What the function returned, or the error that it raised, under its own name."""
    if reply.outcome == "array":
        return reply.array
    if reply.outcome == "nothing":
        return None
    if reply.outcome == "no numbers":
        return named(reply.text, object)()
    if reply.outcome == "error":
        name, _, message = reply.text.partition(": ")
        raise named(name, StudentError)(message)
    raise NotImplementedError


def named(name: str, base: type) -> type:
    """A class of that name: a check tells a student the name of what came back."""
    return type(name if name.isidentifier() else base.__name__, (base,), {})


def sendable(value: object) -> np.ndarray:
    """An argument as an array of numbers; raises CannotCross where it is none."""
    array = np.asarray(value)
    if array.dtype.kind not in frames.NUMBERS:
        raise CannotCross(
            f"a check passes a {type(value).__name__}; only numbers and arrays of numbers cross"
        )
    return array


def mark_notebook(
    notebook: Notebook,
    blank: Notebook,
    asked: Iterable[Question],
    seeds: dict[str, int],
    start: Callable[[Limits], Process],
    limits: Limits,
) -> tuple[tuple[Mark, ...], dict[int, Reply]]:
    """The marks of a submission, and what each of its code cells did.

    Args:
        notebook: what was submitted.
        blank: what was released.
        asked: the questions.
        seeds: for each checked question, where its instances come from.
        start: starts a worker.
        limits: what it may use.
    """
    asked = list(asked)
    cells = [source(cell) for cell in notebook["cells"] if cell.get("cell_type") == "code"]
    names = cell_names(notebook, asked)
    session = Session(cells, start, limits)
    try:
        session.ready()
        marks = tuple(
            checked(session, question, seeds[question.name], code_number(notebook, question.name))
            if question.check
            else by_hand(notebook, blank, question)
            for question in asked
        )
        placed = tuple(replace(mark, note=with_names(mark.note, names)) for mark in marks)
        runs = {number: run_with_names(run, names) for number, run in sorted(session.runs.items())}
        return placed, runs
    finally:
        session.close()


def with_names(text: str, names: list[str]) -> str:
    """What was said of an error, with the name of its cell in place of the number."""

    def named(found: re.Match[str]) -> str:
        number = int(found[1]) - 1
        return f"({names[number]}, line " if 0 <= number < len(names) else found[0]

    return COUNTED.sub(named, text)


def run_with_names(run: Reply, names: list[str]) -> Reply:
    """What a cell did; what it printed stays as it is."""
    return run if run.outcome == "done" else replace(run, text=with_names(run.text, names))


def checked(session: Session, question: Question, seed: int, number: int | None) -> Mark:
    """A question that a check marks: all its points, or none.

    Args:
        session: the submission at work.
        question: the question.
        seed: where its instances come from.
        number: which of the code cells is its answer, from 0, or None.
    """
    assert question.check is not None
    session.ending = None
    report = checks.ALL[question.check](session.function(question.function), seed=seed)
    if session.ending is not None:
        status = ENDINGS[session.ending.outcome]
        return Mark(question.name, 0.0, question.points, status, session.why(session.ending))
    run = session.runs.get(number, Reply("not run")) if number is not None else Reply("not run")
    if report.verdict == "not answered" and run.outcome in {"error", *ENDINGS}:
        status = ENDINGS.get(run.outcome, "crashed")
        note = f"its cell did not run to its end: {session.why(run)}"
        return Mark(question.name, 0.0, question.points, status, note)
    points = question.points if report.passed else 0.0
    return Mark(question.name, points, question.points, STATUS_OF[report.verdict], str(report))


def by_hand(notebook: Notebook, blank: Notebook, question: Question) -> Mark:
    """A question that a person marks; nothing to do where the answer is as blank as it was."""
    answer, before = answer_of(notebook, question.name), answer_of(blank, question.name)
    if answer is None:
        return Mark(
            question.name, None, question.points, "by hand", "its cell is gone; look at the whole notebook"
        )
    if answer.split() == (before or "").split():
        return Mark(question.name, 0.0, question.points, "not answered")
    return Mark(question.name, None, question.points, "by hand")
