"""A class in small, marked together: tables, worksheets, marks by hand, lateness, and who is forgotten."""

from __future__ import annotations

import csv
import shutil
import sqlite3
import sys
import zipfile
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nbformat
import pytest
import sample
from classroom.exports import Result
from classroom.grading import Run
from classroom.jail import Limits, Process

from classroom import course, exports, gradebook, grading, notebooks, roster

LONG_AFTER = datetime(2030, 1, 1, tzinfo=UTC)
LIMITS = Limits(seconds=4, patience=30, memory=2**30)
ROSTER = """\
id,name,email,canvas_id,extra_days
ada,Ada,ada@example.org,11,
bob,=Bob,,12,
cyd,Cyd,,13,2
dan,Dan,,14,
eve,<Eve>,,15,
fay,Fay,,16,
gus,Gus,,17,
"""
LOOP = "def occupancy(*arguments):\n    while True: pass"
CLASS = {
    "ada": sample.handed_in(sample.SOLUTION, why="Mass."),
    "bob": sample.handed_in("def occupancy(*arguments):\n    raise NotImplementedError"),
    "cyd": sample.handed_in(sample.WRONG, why="<script>alert(1)</script>"),
    "eve": sample.handed_in(LOOP),
}
STATUSES = {"ada": "ok", "bob": "not answered", "cyd": "wrong", "dan": "unreadable", "eve": "timed out"}
STATUSES |= {"fay": "wrong name", "gus": "missing"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> course.Course:
    """A course as it is made."""
    assignments = tmp_path_factory.mktemp("assignments")
    notebooks.write(sample.problem_set(), assignments / "set-1.ipynb")
    made = course.make(tmp_path_factory.mktemp("made") / "autumn", "a long and secret seed", assignments)
    (made.folder / "roster.csv").write_text(ROSTER)
    return made


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the class hands in."""
    folder = tmp_path_factory.mktemp("handed-in")
    for student, notebook in CLASS.items():
        notebooks.write(notebook, folder / student / "set-1" / "set-1.ipynb")
    (folder / "dan" / "set-1").mkdir(parents=True)
    (folder / "dan" / "set-1" / "set-1.ipynb").write_text('{"cells": [')
    notebooks.write(CLASS["ada"], folder / "fay" / "set-1" / "final version (2).ipynb")
    return folder


@pytest.fixture(scope="module")
def graded(jailed, template: course.Course, handed_in: Path) -> tuple[course.Course, list[Result]]:
    """The course with everything marked."""
    return template, grading.grade(Run(template, jailed, LIMITS), handed_in, print)


def copied(graded: tuple[course.Course, list[Result]], tmp_path: Path) -> course.Course:
    shutil.copytree(graded[0].folder, tmp_path / "autumn")
    return course.load(tmp_path / "autumn")


def no_process(limits: Limits) -> Process:
    raise AssertionError("nothing is to be marked")


def statuses(results: list[Result]) -> dict[str, str]:
    return {one.student.id: one.record.marks[0].status for one in results}


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in [*folder.glob("marks/*"), *folder.glob("feedback/*/*")]}


def test_each_has_a_status_and_nobody_harms_another(graded: tuple[course.Course, list[Result]]) -> None:
    assert statuses(graded[1]) == STATUSES
    assert {one.student.id: one.total for one in graded[1] if one.total} == {"ada": 6}


def test_what_a_person_enters_counts_and_stays(
    jailed, graded: tuple[course.Course, list[Result]], handed_in: Path, tmp_path: Path
) -> None:
    copy = copied(graded, tmp_path)
    with gradebook.open_book(copy.folder, copy.name) as book:
        grade = book.find_grade("why", "set-1", "set-1", "ada")
        grade.manual_score, grade.needs_manual_grade = 3.5, False  # as the form grader does
        book.find_comment("why", "set-1", "set-1", "ada").manual_comment = "Almost <all>."
        book.db.commit()
    results = {one.student.id: one for one in grading.grade(Run(copy, no_process, LIMITS), handed_in, print)}
    assert (results["ada"].total, results["ada"].waiting) == (9.5, 0)
    page = (copy.folder / "feedback/ada/set-1.html").read_text()
    assert "Almost &lt;all&gt;." in page
    assert "<td>marked</td>" in page
    assert "<td>by hand</td>" not in page

    shutil.copytree(handed_in, tmp_path / "handed-in")
    notebooks.write(sample.handed_in(sample.WRONG, why="Each."), tmp_path / "handed-in/ada/set-1/set-1.ipynb")
    results = {
        one.student.id: one for one in grading.grade(Run(copy, jailed, LIMITS), tmp_path / "handed-in", print)
    }
    assert (results["ada"].total, results["ada"].waiting) == (3.5, 1)
    assert "Not final: 1 still" in (copy.folder / "feedback/ada/set-1.html").read_text()
    row = next(row for row in lines_of(copy.folder / "marks/marks.csv") if row["question"] == "why")
    assert (row["points"], row["final"]) == ("3.5", "no")
    assert "replaced since" in row["note"]
    with gradebook.open_book(copy.folder, copy.name) as book:
        assert book.find_grade("why", "set-1", "set-1", "ada").needs_manual_grade


@pytest.mark.parametrize("hours", [-1, 1, 50])
def test_what_is_missing_is_nothing_once_it_is_due(
    graded: tuple[course.Course, list[Result]], handed_in: Path, tmp_path: Path, hours: int
) -> None:
    copy = replace(copied(graded, tmp_path), due={"set-1": "2027-01-10T00:00:00+00:00"})
    now = datetime(2027, 1, 10, tzinfo=UTC) + timedelta(hours=hours)
    text = (copy.folder / "roster.csv").read_text()
    (copy.folder / "roster.csv").write_text(text + "hal,Hal,,18,2\n")
    grading.grade(Run(copy, no_process, LIMITS, now=now), handed_in, print)
    rows = csv.reader((copy.folder / "marks" / "canvas.csv").read_text().splitlines())
    cells = {row[3]: row[-1] for row in rows}
    assert cells["gus"] == ("0.00" if hours > 0 else "")
    assert cells["hal"] == ("0.00" if hours > 48 else "")
    finals = {row["id"]: row["final"] for row in lines_of(copy.folder / "marks/marks.csv")}
    assert finals["hal"] == ("yes" if hours > 48 else "no")


@pytest.mark.parametrize("file", ["", '{"cells": ['])
def test_marks_stay_where_a_file_is_gone_or_cannot_be_read(
    graded: tuple[course.Course, list[Result]], tmp_path: Path, file: str
) -> None:
    copy = copied(graded, tmp_path)
    with gradebook.open_book(copy.folder, copy.name) as book:
        grade = book.find_grade("why", "set-1", "set-1", "ada")
        grade.manual_score, grade.needs_manual_grade = 3.5, False
        book.db.commit()
    folder = tmp_path / "next-week"
    (folder / "ada").mkdir(parents=True)
    if file:
        (folder / "ada" / "set-1.ipynb").write_text(file)
    for _ in range(2):
        said: list[str] = []
        results = grading.grade(Run(copy, no_process, LIMITS), folder, said.append)
        ada = next(one for one in results if one.student.id == "ada")
        assert (ada.total, ada.final) == (9.5, True)
        reason = "unreadable" if file else "missing"
        assert any(line.startswith(f"{reason} now, earlier marks kept: ada set-1") for line in said)
        assert ("cannot be read" in (copy.folder / "feedback/ada/set-1.html").read_text()) == bool(file)
    assert statuses(results)["cyd"] == "wrong"


def test_who_is_marked_again_has_a_line_with_the_marks(
    jailed, graded: tuple[course.Course, list[Result]], handed_in: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    grading.grade(Run(copied(graded, tmp_path), jailed, LIMITS, frozenset({"bob"})), handed_in, said.append)
    assert "bob  set-1  occupancy 0 (not answered), why 0 (not answered)" in said
    assert "bob  unchanged" not in said
    assert "ada  unchanged" in said


def test_what_is_unchanged_of_a_student_is_told_by_set_where_not_all_is(
    graded: tuple[course.Course, list[Result]],
) -> None:
    ada, bob = (one.record for one in graded[1][:2])
    assert list(grading.nothing_new([ada, replace(ada, set="set-2"), bob], {"ada"})) == [
        "ada  unchanged  set-1, set-2",
        "bob  unchanged",
    ]


@pytest.mark.parametrize("name", ["set-1", "set-1-1", "set-1-12"])
def test_a_set_whose_name_ends_in_a_number_is_found_in_canvas(tmp_path: Path, name: str) -> None:
    (tmp_path / f"ada_11_98_{name}.ipynb").write_text("{}")
    (found,) = roster.submissions(tmp_path, [roster.Student("ada", canvas_id="11")], ["set-1", "set-2"])
    assert (found.set, found.problem) == ("set-1", "")


def test_what_canvas_calls_late_is_noted(jailed, template: course.Course, tmp_path: Path) -> None:
    folder = tmp_path / "handed-in"
    notebooks.write(CLASS["bob"], folder / "bob_LATE_12_99_set-1.ipynb")
    notebooks.write(CLASS["bob"], folder / "ada_11_98_set-1.ipynb")
    shutil.copytree(template.folder, tmp_path / "autumn")
    copy = course.load(tmp_path / "autumn")
    shutil.rmtree(copy.folder / "records", ignore_errors=True)
    grading.grade(Run(copy, jailed, LIMITS), folder, print)
    rows = [row for row in lines_of(copy.folder / "marks/marks.csv") if row["question"] == "occupancy"]
    notes = {row["id"]: (row["note"].startswith("Late by Canvas."), row["days late"]) for row in rows}
    assert (notes["bob"], notes["ada"]) == ((True, ""), (False, ""))


def test_final_pages_are_packed_as_moodle_takes_them_back(
    jailed, template: course.Course, tmp_path: Path
) -> None:
    """In the folders that Moodle gave: after the full name stands the participant's number."""
    folder = tmp_path / "handed-in"
    done, waits = "=Bob_906_assignsubmission_file", "Ada_907_assignsubmission_file_"
    notebooks.write(CLASS["bob"], folder / done / "set-1.ipynb")
    notebooks.write(CLASS["ada"], folder / waits / "set-1.ipynb")
    notebooks.write(CLASS["bob"], folder / "cyd" / "set-1.ipynb")
    shutil.copytree(template.folder, tmp_path / "autumn")
    copy = course.load(tmp_path / "autumn")
    shutil.rmtree(copy.folder / "records", ignore_errors=True)
    grading.grade(Run(copy, jailed, LIMITS), folder, print)
    with zipfile.ZipFile(copy.folder / "marks" / "moodle-feedback-set-1.zip") as archive:
        assert archive.namelist() == [f"{done}/set-1.html"]
        page = (copy.folder / "feedback" / "bob" / "set-1.html").read_bytes()
        assert archive.read(f"{done}/set-1.html") == page
    grading.forget(copy, "bob")
    assert list((copy.folder / "marks").iterdir()) == []


def test_a_student_is_forgotten(
    graded: tuple[course.Course, list[Result]], handed_in: Path, tmp_path: Path
) -> None:
    copy = copied(graded, tmp_path)
    gradebook.back_up(copy.folder)
    assert grading.forget(copy, "cyd")
    left = [path for path in copy.folder.rglob("*") if path.is_file() and path.name != "roster.csv"]
    assert not [path for path in left if "cyd" in str(path.relative_to(copy.folder))]
    for path in [*copy.folder.glob("*.db"), *copy.folder.glob("backups/*.db")]:
        with sqlite3.connect(path) as database:
            assert database.execute("select count(*) from student where id = 'cyd'").fetchone() == (0,)
            assert database.execute("select count(*) from student").fetchone() == (6,)
        database.close()
    with pytest.raises(roster.BadRoster, match=r"id '\.\./ada'"):
        grading.forget(copy, "../ada")
    with pytest.raises(roster.BadRoster, match="nothing is kept of anybody with the id 'cyd'"):
        grading.forget(copy, "cyd")
    assert [*graded[0].folder.glob("marks/*.csv")]


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_tables(graded: tuple[course.Course, list[Result]]) -> None:
    folder = graded[0].folder / "marks"
    rows = list(csv.reader((folder / "canvas.csv").read_text().splitlines()))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "set-1"]
    assert rows[1][-1] == "10"
    assert rows[2] == ["Ada", "11", "", "ada", "", ""]  # her text waits for a person
    assert rows[3] == ["'=Bob", "12", "", "bob", "", "0.00"]
    left_open = {row[3] for row in rows[2:] if row[-1] == ""}
    assert {"dan", "fay", "gus"} <= left_open  # unreadable, misnamed, and not due
    everything = lines_of(folder / "marks.csv")
    assert [row["status"] for row in everything if row["question"] == "occupancy"] == list(STATUSES.values())


WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments
Participant 906,Bob B.,=bob@example.org,Submitted,,10.00,"Monday, 1 February 2027",
Participant 907,Ada Byron,ada@example.org,Submitted,,10.00,-,
Participant 908,CYD,,Submitted,7.00,10.00,-,Before.
"""


def test_the_worksheet_of_moodle_is_filled_in(graded: tuple[course.Course, list[Result]]) -> None:
    results = {one.student.id: one for one in graded[1]}
    bob = replace(results["bob"], student=roster.Student("bob", "Bob", "=Bob@example.org"))
    typed = gradebook.Entry(3.5, "Where is H?")
    done = replace(results["ada"], entries={"occupancy": gradebook.Entry(6.0, ""), "why": typed})
    cyd = replace(results["cyd"], entries={"why": gradebook.Entry(None, "")})
    filled = exports.moodle([bob, done, cyd], WORKSHEET, Path("set-1.csv")).splitlines()
    before = WORKSHEET.splitlines()
    said = "1. Forward: 0 of 6 (not answered); 2. Why: 0 of 4 (not answered)"
    marked = "1. Forward: 6 of 6; 2. Why: 3.5 of 4. Where is H?"
    assert filled[0] == before[0]
    assert filled[1] == before[1].replace(",,10.00", ",0.00,10.00") + said
    assert filled[2] == before[2].replace(",,10.00", ",9.50,10.00") + marked
    assert filled[3] == before[3]
    with pytest.raises(roster.BadRoster, match="no column 'Last modified"):
        exports.moodle([bob], WORKSHEET.replace("Last modified (grade)", "Zuletzt"), Path("set-1.csv"))


def test_the_worksheet_is_taken_from_the_course(
    graded: tuple[course.Course, list[Result]], tmp_path: Path
) -> None:
    copy = copied(graded, tmp_path)
    (copy.folder / "moodle").mkdir()
    sheet = copy.folder / "moodle" / "set-1.csv"
    sheet.write_text("\ufeff" + WORKSHEET)
    grading.publish(copy, graded[1])
    rows = lines_of(copy.folder / "marks" / "moodle-set-1.csv")
    assert [(row["Identifier"], row["Grade"]) for row in rows] == [
        ("Participant 906", ""),  # nobody on the roster
        ("Participant 907", ""),  # not final
        ("Participant 908", "7.00"),  # not final: as it was
    ]
    sheet.write_bytes("Identifier,Grade\n1,\xfc".encode("latin-1"))
    with pytest.raises(roster.BadRoster, match="it is CSV in UTF-8"):
        grading.publish(copy, graded[1])


def test_what_is_nobodys_is_listed(tmp_path: Path) -> None:
    students = [roster.Student("ada", "Ada L"), roster.Student("bob", "Same"), roster.Student("cyd", "same")]
    for name in ("ada", "zoe", "Ada L_7_assignsubmission_file_", "Same_8_assignsubmission_file_"):
        (tmp_path / name).mkdir()
    for name in ("vasca_LATE_4242_99_set-1.ipynb", "README.txt", ".DS_Store"):
        (tmp_path / name).write_text("")
    assert [line.split(":")[0] for line in roster.unclaimed(tmp_path, students)] == [
        "README.txt",
        "Same_8_assignsubmission_file_",
        "vasca_LATE_4242_99_set-1.ipynb",
        "zoe",
    ]
    assert "nobody has the canvas_id 4242" in roster.unclaimed(tmp_path, students)[2]


def test_at_the_end_stands_who_needs_attention(
    graded: tuple[course.Course, list[Result]], handed_in: Path, tmp_path: Path
) -> None:
    copy = copied(graded, tmp_path)
    said: list[str] = []
    grading.grade(Run(copy, no_process, LIMITS), handed_in, said.append)
    assert [line for line in said if "unchanged" in line] == [f"{student}  unchanged" for student in STATUSES]
    assert not [line for line in said if "occupancy" in line]
    assert {"unreadable: dan set-1", "wrong name: fay set-1", "missing: gus set-1"} <= set(said[-6:])
    due = replace(copy, due={"set-1": "2027-01-31T23:59:00+01:00"})
    lines = list(grading.attention(due, graded[1], ["zoe: nobody"], ["ada/x.ipynb"]))
    assert lines[0] == "nobody's: zoe: nobody"
    assert lines[1].startswith("no set's: ada/x.ipynb: rename it")
    assert any("handed in is not known" in line for line in lines)


def test_a_folder_of_nobodys_work_is_an_error(
    jailed,
    graded: tuple[course.Course, list[Result]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    import grade

    copy = copied(graded, tmp_path)
    (tmp_path / "handed-in" / "zoe").mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", ["grade.py", str(copy.folder), str(tmp_path / "handed-in")])
    before = tables(copy.folder)
    assert grade.main() == 1
    assert "is the work of a student on roster.csv" in capsys.readouterr().err
    monkeypatch.setattr(grading, "grade", lambda *run: graded[1])
    assert grade.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 file or folder is nobody's (see above)"
    assert tables(copy.folder) == before


def test_a_person_who_marks_sees_the_rubric_and_what_ran(graded: tuple[course.Course, list[Result]]) -> None:
    copy = notebooks.read(graded[0].folder / "autograded/ada/set-1/set-1.ipynb")
    texts = [notebooks.source(cell) for cell in copy["cells"]]
    assert texts[texts.index("Mass.") + 1] == "Two points for the word *mass*."
    nbformat.validate(nbformat.from_dict(copy))


def test_nothing_a_student_wrote_runs_where_it_is_read(graded: tuple[course.Course, list[Result]]) -> None:
    folder = graded[0].folder
    for path in [*folder.glob("feedback/*/*.html"), folder / "autograded/cyd/set-1/set-1.ipynb"]:
        assert "<script" not in path.read_text()
        assert "<Eve>" not in path.read_text()
    page = (folder / "feedback/fay/set-1.html").read_text()
    assert "the file must be named set-1.ipynb" in page


def test_questions_have_their_titles_where_students_read_of_them(
    graded: tuple[course.Course, list[Result]],
) -> None:
    page = (graded[0].folder / "feedback/ada/set-1.html").read_text()
    assert "<td>1. Forward</td>" in page
    assert "<td>2. Why</td>" in page


def test_two_questions_under_one_heading_are_told_apart() -> None:
    source = sample.problem_set()
    source["cells"][4]["source"] = source["cells"][5]["source"] = "Why?"
    titles = [question.title for question in notebooks.questions(source)]
    assert titles == ["1. Forward (occupancy)", "1. Forward (text)"]
    source["cells"][0]["source"] = "# A set"
    assert [question.title for question in notebooks.questions(source)] == ["occupancy", "why"]


def test_lateness_costs_what_the_rules_say(
    graded: tuple[course.Course, list[Result]], handed_in: Path, tmp_path: Path
) -> None:
    for when, days in (
        ("2027-01-31 22:59:00 UTC", 0),
        ("2027-01-31 23:01:00", 1),
        ("2027-02-02 23:01:00", 3),
    ):
        stamp = tmp_path / "timestamp.txt"
        stamp.write_text(when)
        moment = roster.handed_in(tmp_path / "set-1.ipynb")
        assert roster.days_late(moment, "2027-02-01T00:00:00+01:00", 0) == days
        assert roster.days_late(moment, "2027-02-01T00:00:00+01:00", 2) == max(0, days - 2)


@pytest.mark.parametrize(("days", "left"), [(0, 6.0), (1, 5.4), (5, 3.0), (6, 0.0)])
def test_a_late_total_is_less(graded: tuple[course.Course, list[Result]], days: int, left: float) -> None:
    ada = next(one for one in graded[1] if one.student.id == "ada")
    late = replace(ada.record, when=f"2027-01-{10 + days:02d}T00:00:00+00:00")
    due, rules = "2027-01-10T00:00:00+00:00", course.Rules(late_a_day=0.1, late_days=5)
    assert exports.result(ada.student, late, ada.entries, [], due, rules, LONG_AFTER).total == pytest.approx(
        left
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name\n,Ada\n", "line 2: id ''"),
        ("name\nAda\n", "has no column id; its first line is 'name' and should be 'id,name,email,"),
        ("name;id\nAda;ada\n", "has no column id; its first line is 'name;id'"),
        ("id\n../ada\n", "line 2: id '../ada'"),
        ("id\nada\nada\n", "id ada stands twice"),
        ("id,extra_days\nada,some\n", "extra_days is 'some'"),
    ],
)
def test_a_roster_that_cannot_be_used_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(roster.BadRoster, match=message.replace(".", r"\.")):
        roster.read(tmp_path / "roster.csv")


def test_what_canvas_and_moodle_give_is_found(tmp_path: Path) -> None:
    students = [roster.Student("ada", "Ada Lovelace", canvas_id="11"), roster.Student("bob", canvas_id="12")]
    (tmp_path / "lovelaceada_LATE_11_999_set-1-2.ipynb").write_text("{}")
    (tmp_path / "Ada Lovelace_21_assignsubmission_file").mkdir()
    (tmp_path / "Ada Lovelace_21_assignsubmission_file" / "set-2.ipynb").write_text("{}")
    (tmp_path / "bob").symlink_to(tmp_path / "Ada Lovelace_21_assignsubmission_file")
    found = {
        (one.student, one.set): one
        for one in roster.submissions(tmp_path, students, ["set-1", "set-2", "set-3"])
    }
    assert found["ada", "set-1"].path
    assert found["ada", "set-2"].path
    assert found["bob", "set-2"].problem == "missing"
    assert ("ada", "set-3") not in found


def test_a_second_download_is_found_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "set-1 (1).ipynb").write_text("{}")
    (found,) = roster.submissions(tmp_path, [roster.Student("ada")], ["set-1"])
    assert (found.problem, found.path) == ("", tmp_path / "ada" / "set-1 (1).ipynb")
    (tmp_path / "ada" / "set-1.ipynb").write_text("{}")
    (found,) = roster.submissions(tmp_path, [roster.Student("ada")], ["set-1"])
    assert found.path == tmp_path / "ada" / "set-1.ipynb"


@pytest.mark.parametrize("name", ["ada/set-1 (1).ipynb", "x_11_22_set-1 (1).ipynb"])
def test_a_second_download_starts_no_other_set(tmp_path: Path, name: str) -> None:
    students = [roster.Student("ada", canvas_id="11"), roster.Student("bob")]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("{}")
    sets = ["set-1", "set-2", "set-3"]
    found = [(one.student, one.set, one.problem) for one in roster.submissions(tmp_path, students, sets)]
    assert found == [("ada", "set-1", ""), ("bob", "set-1", "missing")]
    assert roster.strays(tmp_path, students, sets) == []


def test_a_file_of_no_sets_name_starts_none_and_is_told_once(tmp_path: Path) -> None:
    students, sets = [roster.Student("ada"), roster.Student("bob")], ["set-1", "set-2", "set-3"]
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "homework.ipynb").write_text("{}")
    assert list(roster.submissions(tmp_path, students, sets)) == []
    assert roster.strays(tmp_path, students, sets) == ["ada/homework.ipynb"]
    (tmp_path / "bob" / "set-2").mkdir(parents=True)
    (tmp_path / "bob" / "set-2" / "final.ipynb").write_text("{}")
    found = [(one.student, one.set, one.problem) for one in roster.submissions(tmp_path, students, sets)]
    assert found == [("ada", "set-2", "unclear"), ("bob", "set-2", "wrong name")]
    assert roster.strays(tmp_path, students, sets) == ["ada/homework.ipynb"]


def test_without_a_jail_nothing_is_run(
    graded: tuple[course.Course, list[Result]], handed_in: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    import grade

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["grade.py", str(graded[0].folder), str(handed_in)])
    assert grade.main() == 1
    said = capsys.readouterr().err
    for words in ("bubblewrap (the command bwrap) is not installed", "docker run", "`--unsafe`"):
        assert words in said


@pytest.mark.parametrize(
    ("stopped", "status", "said"),
    [
        (BrokenProcessPool, 1, "was ended from outside, perhaps for want of memory"),
        (KeyboardInterrupt, 130, "interrupted; what is marked is kept"),
    ],
)
def test_a_run_that_is_stopped_says_what_to_do(
    jailed,
    graded: tuple[course.Course, list[Result]],
    stopped: type[BaseException],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    import grade

    def stops(run: Run, *rest: object) -> None:
        assert run.jobs == grade.side_by_side(None, LIMITS.memory)[0]
        raise stopped

    monkeypatch.setattr(grading, "grade", stops)
    monkeypatch.setattr(sys, "argv", ["grade.py", str(graded[0].folder), "."])
    assert grade.main() == status
    assert said in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["grade.py", str(graded[0].folder), ".", "--jobs", "0"])
    with pytest.raises(SystemExit):
        grade.main()
    assert "--jobs is 0; at least one marks" in capsys.readouterr().err


GB = 2**30


@pytest.mark.parametrize(
    ("asked", "free", "jobs", "said"),
    [
        (None, 9 * GB, 4, ""),
        (None, None, 4, ""),
        (None, 5 * GB, 2, "marking 2 side by side, not 4: 5.0 GB of memory are free, and each may use 2"),
        (None, GB, 1, "marking 1 side by side, not 4: 1.0 GB of memory are free, and each may use 2"),
        (
            3,
            5 * GB,
            3,
            "marking 3 side by side as you say, though 5.0 GB of memory are free, and each may use 2",
        ),
        (2, 5 * GB, 2, ""),
    ],
)
def test_no_more_are_marked_side_by_side_than_there_is_memory_for(
    asked: int | None, free: int | None, jobs: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grade

    monkeypatch.setattr(grade, "available", lambda: free)
    monkeypatch.setattr(grade, "processors", lambda: 4)
    assert grade.side_by_side(asked, 2 * GB) == (jobs, said)


@pytest.mark.parametrize(
    ("meminfo", "limit", "free"),
    [
        ("MemTotal: 9 kB\nMemAvailable:   6 kB\n", "max\n", 6144),
        ("MemTotal: 9 kB\nMemAvailable:   6 kB\n", "2048\n", 2048),
        ("MemTotal: 9 kB\n", "2048\n", None),
        (None, None, None),
    ],
)
def test_memory_that_is_free_is_that_of_the_container(
    meminfo: str | None, limit: str | None, free: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grade

    for name, text in (("MEMORY", meminfo), ("LIMIT", limit)):
        monkeypatch.setattr(grade, name, tmp_path / name)
        if text is not None:
            (tmp_path / name).write_text(text)
    assert grade.available() == free
