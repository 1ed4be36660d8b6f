"""Mark what was handed in: `make grade COURSE=../my-course SUBMISSIONS=…`.

Each submission is marked by itself, whatever it does; its record is written at once. A run that is
interrupted goes on where it stopped, and a run repeated marks only what has changed: a submission, a set, or
the checks. A student's latest submission counts. What a person has entered by hand stays, and is shown again
for marking if the submission has changed since. `OPTIONS="--again ada"` marks a student's work once more,
after an appeal or a change of rules; it gives the same marks for the same work, whichever the number of
processes that mark side by side.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from classroom import exports, feedback, gradebook, notebooks, records, roster
from classroom.course import Course
from classroom.exports import Result
from classroom.jail import HERE, PACKAGE, Limits, Process
from classroom.marking import Mark, Status, mark_notebook
from classroom.notebooks import Notebook, Question
from classroom.records import Record
from classroom.release import zipped
from classroom.roster import Submission


@dataclass(frozen=True)
class ProblemSet:
    """A set as it is marked.

    Attributes:
        name: its name.
        blank: what was released.
        questions: what it asks.
        seeds: for each question, where the instances that mark it come from.
        digest: of everything the marks follow from, but the submission.
    """

    name: str
    blank: Notebook
    questions: list[Question]
    seeds: dict[str, int]
    digest: bytes


def problem_set(course: Course, name: str) -> ProblemSet:
    """A set of a course."""
    questions = notebooks.questions(notebooks.read(course.source(name)))
    seeds = course.check_seeds(name, questions)
    digest = hashlib.sha256(course.source(name).read_bytes() + repr(seeds).encode() + code()).digest()
    return ProblemSet(name, notebooks.read(course.release(name)), questions, seeds, digest)


Task = tuple[Submission, ProblemSet]
KEPT = "these marks are of an earlier file"
PROBLEMS: dict[str, Status] = {"wrong name": "wrong name", "unclear": "unclear", "missing": "missing"}


def code() -> bytes:
    """A digest of the package and of these tools: other checks give other marks."""
    total = hashlib.sha256()
    for folder in (PACKAGE, HERE):
        for path in sorted(folder.rglob("*.py")):
            total.update(path.read_bytes())
    return total.digest()


@dataclass(frozen=True)
class Run:
    """How a course is marked: by which process, within which limits, and what is marked once more.

    Attributes:
        course: the course.
        start: starts a worker.
        limits: what a submission may use.
        again: students whose submissions are marked even if nothing has changed; `all` for everybody's.
        jobs: how many submissions are marked side by side, each in a process of its own where it is not one.
        now: what has not been handed in is missing for good where it was due before this moment.
    """

    course: Course
    start: Callable[[Limits], Process]
    limits: Limits
    again: frozenset[str] = frozenset()
    jobs: int = 1
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def kept(self, handed_in: Submission, asked: ProblemSet) -> Record | None:
        """The record there is of a submission, where it still holds and is not to be made once more."""
        before = records.earlier(self.course.folder, asked.name, handed_in.student)
        holds = before is not None and before.digest == digests(handed_in, asked)[0]
        return before if holds and not self.again & {"all", handed_in.student} else None

    def mark(self, handed_in: Submission, asked: ProblemSet) -> tuple[Record, bool]:
        """Mark a submission and keep its record; whether that replaces the record of another file.

        What cannot be marked, or is not there any more, takes away no marks that there are.
        """
        before = records.earlier(self.course.folder, asked.name, handed_in.student)
        digest, file = digests(handed_in, asked)
        who = (handed_in.student, asked.name, digest, file)
        record = self.marked(handed_in, asked, who, moment(handed_in))
        if record.status != "ok" and before is not None and stands(before, asked):
            note = f"{KEPT}; {record.note}" if record.status == "unreadable" else ""
            return replace(before, note=note), False
        records.save(self.course.folder, record)
        return record, before is not None and before.file != file

    def marked(
        self, handed_in: Submission, asked: ProblemSet, who: tuple[str, str, str, str], when: str | None
    ) -> Record:
        """Mark a submission."""
        if handed_in.path is None:
            status = PROBLEMS[handed_in.problem]
            return Record(*who, status, handed_in.note, when, nothing(asked, status))
        try:
            notebook = notebooks.read(handed_in.path)
        except notebooks.BadNotebook as error:
            note = f"{error}; hand the file in again, as Jupyter saves it"
            return Record(*who, "unreadable", note, when, nothing(asked, "unreadable"))
        marks, runs = mark_notebook(
            notebook, asked.blank, asked.questions, asked.seeds, self.start, self.limits
        )
        copy = self.course.folder / "autograded" / handed_in.student / asked.name / f"{asked.name}.ipynb"
        rubrics = {question.name: question.rubric for question in asked.questions if question.rubric}
        feedback.write_copy(notebook, asked.blank, rubrics, runs, copy)
        names = notebooks.cell_names(notebook, asked.questions)
        cells = tuple((names[number], run.outcome, run.text) for number, run in runs.items())
        return Record(*who, "ok", "", when, marks, cells)


def stands(before: Record, asked: ProblemSet) -> bool:
    """Whether these are marks of the questions as they are."""
    names = [question.name for question in asked.questions]
    return before.status == "ok" and [mark.question for mark in before.marks] == names


def digests(handed_in: Submission, asked: ProblemSet) -> tuple[str, str]:
    """Of everything the marks of a submission follow from, and of the file alone."""
    data = contents(handed_in)
    return records.digest(asked.digest, data, str(moment(handed_in)).encode()), records.digest(data)


def moment(handed_in: Submission) -> str | None:
    return handed_in.when.isoformat() if handed_in.when else None


def contents(handed_in: Submission) -> bytes:
    """What was handed in, to tell it from other submissions; of a file too large to be read, its size."""
    if handed_in.path is None:
        return (handed_in.problem + handed_in.note).encode()
    size = handed_in.path.stat().st_size
    return handed_in.path.read_bytes() if size <= notebooks.LARGEST else str(size).encode()


def nothing(asked: ProblemSet, status: Status) -> tuple[Mark, ...]:
    """No points for any question, for a reason that concerns them all."""
    return tuple(Mark(question.name, 0.0, question.points, status) for question in asked.questions)


def marked(run: Run, tasks: Iterable[Task], say: Callable[[str], None]) -> Iterator[tuple[Record, bool]]:
    """The record of each submission, as they are done, and whether it replaces that of another file; a line
    about each that is marked, and one about each student of whom there is nothing new in some sets."""
    left, unchanged = [], []
    for task in tasks:
        record = run.kept(*task)
        if record is None:
            left.append(task)
        else:
            unchanged.append(record)
            yield record, False
    for text in nothing_new(unchanged, {handed_in.student for handed_in, _ in left}):
        say(text)
    for record, replaces in side_by_side(run, left, say) if run.jobs > 1 else one_by_one(run, left, say):
        say(line(record))
        yield record, replaces


def nothing_new(unchanged: list[Record], others: set[str]) -> Iterator[str]:
    """A line about each student whose records hold, with the sets where others of the student's do not."""
    sets: dict[str, list[str]] = {}
    for record in unchanged:
        sets.setdefault(record.student, []).append(record.set)
    for student, names in sorted(sets.items()):
        yield f"{student}  unchanged" + (f"  {', '.join(names)}" if student in others else "")


def one_by_one(run: Run, tasks: Iterable[Task], say: Callable[[str], None]) -> Iterator[tuple[Record, bool]]:
    for task in tasks:
        say(begun(task))
        yield run.mark(*task)


def side_by_side(
    run: Run, tasks: Iterable[Task], say: Callable[[str], None]
) -> Iterator[tuple[Record, bool]]:
    """Several processes mark; where the run stops they are ended, and with them what they had started."""
    fresh = multiprocessing.get_context("spawn")  # a fork would have this process's database open
    with ProcessPoolExecutor(run.jobs, fresh, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        at_work: set[Future[tuple[Record, bool]]] = set()
        try:
            for task in tasks:
                if len(at_work) == run.jobs:
                    done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
                    yield from (one.result() for one in done)
                say(begun(task))
                at_work.add(pool.submit(run.mark, *task))
            yield from (one.result() for one in as_completed(at_work))
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def begun(task: Task) -> str:
    handed_in, asked = task
    return f"{handed_in.student}  {asked.name} …"


def grade(run: Run, submissions: Path, say: Callable[[str], None]) -> list[Result]:
    """Mark everything handed in, and write the database, the tables and the feedback.

    Args:
        run: how it is marked.
        submissions: the folder of what was handed in.
        say: told a line about each submission.
    """
    course = run.course
    students = {one.id: one for one in roster.read(course.folder / "roster.csv")}
    sets = {name: problem_set(course, name) for name in course.sets}
    before = {one.set for one in records.every(course.folder) if one.status == "ok"}
    found = roster.submissions(submissions, list(students.values()), course.sets, before)
    somebodys = any(
        roster.claimed(submissions, list(students.values())).values()
    )  # or it is the wrong folder
    tasks = [(handed_in, sets[handed_in.set]) for handed_in in found if somebodys]
    gradebook.back_up(course.folder)
    results = {}
    with (
        gradebook.open_book(course.folder, course.name) as book,
        contextlib.closing(marked(run, tasks, say)) as done,
    ):
        for student in students.values():
            gradebook.enter_student(book, student)
        for name, one in sets.items():
            gradebook.enter_set(book, name, one.questions, course.due[name])
        for record, replaces in done:
            gradebook.enter(book, record, replaces)
            entries = gradebook.entries(book, record)
            student, asked = students[record.student], sets[record.set].questions
            results[record.student, record.set] = exports.result(
                student, record, entries, asked, course.due[record.set], course.rules, run.now
            )
    ordered = [
        replace(
            results[handed_in.student, asked.name],
            late=handed_in.late,
            moodle=roster.moodle_folder(handed_in.path, submissions),
        )
        for handed_in, asked in tasks
    ]
    if ordered:
        publish(course, ordered)
    everybody = list(students.values())
    unclaimed = roster.unclaimed(submissions, everybody)
    strays = roster.strays(submissions, everybody, course.sets)
    for text in [*attention(course, ordered, unclaimed, strays), *kept(tasks, ordered)]:
        say(text)
    return ordered


def attention(
    course: Course, results: list[Result], unclaimed: list[str], strays: list[str]
) -> Iterator[str]:
    """What somebody should look at, a line each."""
    yield from (f"nobody's: {text}" for text in unclaimed)
    yield from (f"no set's: {text}: rename it as its set, if it is meant for one" for text in strays)
    for status in ("unreadable", "wrong name", "missing"):
        who = [f"{one.student.id} {one.record.set}" for one in results if one.record.status == status]
        if who:
            yield f"{status}: {', '.join(who)}"
    for name, due in course.due.items():
        timeless = [one for one in results if one.record.set == name and one.record.when is None]
        count = sum(one.record.status not in PROBLEMS for one in timeless)
        if due and count:
            yield f"{name}: when {count} were handed in is not known; nothing is taken off for lateness"
    for name in sorted({one.record.set for one in results}):
        waiting = sum(one.record.set == name and one.waiting > 0 for one in results)
        if waiting:
            yield f"{name}: {waiting} wait for a person; the tables for Canvas and Moodle leave them out"


def kept(tasks: list[Task], results: list[Result]) -> Iterator[str]:
    """Whose earlier marks stay, and why: a line a reason."""
    reasons: dict[str, list[str]] = {}
    for (handed_in, _), one in zip(tasks, results, strict=True):
        reason = handed_in.problem or ("unreadable" if one.record.note else "")
        if one.record.status == "ok" and reason:
            reasons.setdefault(reason, []).append(f"{one.student.id} {one.record.set}")
    for reason, who in reasons.items():
        yield f"{reason} now, earlier marks kept: {', '.join(who)}"


def worksheet(course: Course, name: str) -> Path:
    """Where a teacher puts Moodle's grading worksheet of a set."""
    return course.folder / "moodle" / f"{name}.csv"


def line(record: Record) -> str:
    """A submission in a line."""
    if record.status != "ok":
        return f"{record.student}  {record.set}  {record.status}"
    marks = ", ".join(
        f"{mark.question} {feedback.shown(mark.points)} ({mark.status})" for mark in record.marks
    )
    return f"{record.student}  {record.set}  {marks}"


def forget(course: Course, student: str) -> list[Path]:
    """Delete what there is of a student: records, copies, feedback, marks. What was handed in lies elsewhere.

    Args:
        course: the course.
        student: the student's id.

    Returns:
        what was deleted, besides entries of the database; the next marking writes the tables anew.

    Raises:
        BadRoster: where this is no id, or nobody's.
    """
    if not roster.ID.fullmatch(student):
        raise roster.BadRoster(f"id {student!r}; it is made of letters, digits, . _ @ -")
    known = gradebook.forget(course.folder, course.name, student)
    folders = [course.folder / name / student for name in ("autograded", "feedback", "submitted")]
    found = [*course.folder.glob(f"records/*/{student}.json"), *filter(Path.exists, folders)]
    if not (known or found):
        raise roster.BadRoster(f"nothing is kept of anybody with the id {student!r}")
    there = [*found, *course.folder.glob("marks/*.csv"), *course.folder.glob("marks/*.zip")]
    for path in there:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return there


def publish(course: Course, results: list[Result]) -> None:
    """Write the tables, a feedback page a submission, and for Moodle a zip of those that are final."""
    tables = course.folder / "marks"
    records.write_whole(tables / "marks.csv", exports.everything(results))
    records.write_whole(tables / "canvas.csv", exports.canvas(results))
    for name in {one.record.set for one in results}:
        mine = [one for one in results if one.record.set == name]
        sheet = worksheet(course, name)
        if sheet.exists():
            try:
                text = sheet.read_text(encoding="utf-8-sig")
            except UnicodeDecodeError as error:
                raise roster.BadRoster(f"{sheet} cannot be read: {error}; it is CSV in UTF-8") from error
            filled = exports.moodle(mine, text, sheet)
            records.write_whole(tables / f"moodle-{name}.csv", filled)
    for one in results:
        place = course.folder / "feedback" / one.student.id / f"{one.record.set}.html"
        records.write_whole(place, feedback.page(one))
    for name in {one.record.set for one in results}:
        pages = {
            f"{one.moodle}/{name}.html": feedback.page(one).encode()
            for one in results
            if one.record.set == name and one.moodle and one.final
        }
        archive = tables / f"moodle-feedback-{name}.zip"
        archive.unlink(missing_ok=True)
        if pages:
            archive.write_bytes(zipped(pages))
