"""A course made of problem sets: well-posed, made again the same, its release gives nothing away."""

from __future__ import annotations

import copy
import functools
import io
import json
import runpy
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import sample

from classroom import course, notebooks, release, roster


@pytest.fixture(scope="module")
def assignments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assignments")
    notebooks.write(sample.problem_set(), folder / "set-1.ipynb")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, assignments: Path) -> course.Course:
    return course.make(tmp_path_factory.mktemp("made") / "autumn", "a long and secret seed", assignments)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_made_again_it_is_the_same(made: course.Course, assignments: Path) -> None:
    release.pack(made, 20)
    before = files(made.folder)
    again = course.make(made.folder, None, assignments)
    release.pack(again, 20)
    assert again == made
    assert files(made.folder) == before


def test_what_a_teacher_has_edited_stays(made: course.Course, assignments: Path, tmp_path: Path) -> None:
    folder = tmp_path / "course"
    folder.mkdir()
    text = (made.folder / "course.json").read_text().replace("null", '"2027-01-31T23:59:00+01:00"')
    (folder / "course.json").write_text(text)
    assert course.make(folder, None, assignments).due == {"set-1": "2027-01-31T23:59:00+01:00"}


def test_a_set_that_is_unchanged_is_not_tried_again(
    made: course.Course, assignments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made.folder, tmp_path / "course")
    said: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(course, "well_posed", None)  # would be called
        course.make(tmp_path / "course", None, assignments, said.append)
    assert said == ["set-1: unchanged"]
    release_there = tmp_path / "course" / "release" / "set-1" / "set-1.ipynb"
    release_there.write_text("{}")
    course.make(tmp_path / "course", None, assignments, said.append)
    assert said[1].startswith("set-1: drawing its city")
    assert release_there.read_bytes() == made.release("set-1").read_bytes()


@pytest.mark.parametrize(
    ("due", "said"),
    [
        ("2026-11-26T23:59:00+01:00", "due Thursday 26 November 2026, 23:59 (UTC+01:00)"),
        ("2027-02-01T08:00:00Z", "due Monday 1 February 2027, 08:00 (UTC)"),
    ],
)
def test_students_read_dates_in_words(made: course.Course, due: str, said: str) -> None:
    assert f"- `set-1.ipynb`, {said}\n" in release.readme(replace(made, due={"set-1": due}), 60)


def test_make_course_says_what_is_left_to_fill_in(made: course.Course, tmp_path: Path) -> None:
    left = runpy.run_path(str(course.BOOK / "_tools" / "course.py"))["left_to_do"]
    there = replace(made, folder=tmp_path)
    (tmp_path / "roster.csv").write_text("id\n")
    assert [line.split(":")[0] for line in left(there)][:2] == ["next", "no due date yet"]
    (tmp_path / "roster.csv").write_text("id\nada\n")
    assert list(left(replace(there, due={"set-1": "2027-01-31T23:59:00+01:00"}))) == []


def test_another_seed_gives_other_numbers_and_variants() -> None:
    numbers = {course.drawn(seed, "set-1", "0", "instance") for seed in ("a", "b")}
    assert len(numbers) == 2
    variants = {course.drawn(str(seed), "set-1", "why", "variant") % 2 for seed in range(20)}
    assert variants == {0, 1}


def test_an_instance_that_is_not_well_posed_is_drawn_again(
    assignments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "DRAWS", 2)
    source = notebooks.read(assignments / "set-1.ipynb")
    first = course.drawn("a", "set-1", "0", "instance") % 10**6
    source["cells"][2]["source"] = f"seed = 0\nassert seed != {first}"
    second = course.drawn("a", "set-1", "1", "instance") % 10**6
    assert f"seed = {second}\n" in notebooks.source(course.well_posed("a", "set-1", source)["cells"][2])
    source["cells"][2]["source"] = "seed = 0\nassert False"
    with pytest.raises(course.BadCourse, match="none of 2 numbers gives a well-posed instance"):
        course.well_posed("a", "set-1", source)


@pytest.mark.parametrize(
    ("cell", "text", "message"),
    [
        (
            3,
            sample.ANSWER.replace("transitions[h]\n", "transitions[0]\n"),
            "the solution of occupancy is wrong",
        ),
        (
            3,
            sample.SOLUTION + "    ### BEGIN SOLUTION\n    ### END SOLUTION",
            "the blank of occupancy is not worth nothing",
        ),
        (1, "import numpi", "code cell 1 of the solution ends with: error ModuleNotFoundError"),
        (3, sample.SOLUTION, "occupancy has no line ### BEGIN SOLUTION"),
        (3, "### BEGIN SOLUTION", "### END SOLUTION is missing"),
        (2, "1", "has 0 lines `seed = 0`"),
    ],
)
def test_a_set_that_is_wrong_makes_no_course(cell: int, text: str, message: str) -> None:
    source = copy.deepcopy(sample.problem_set())
    source["cells"][cell]["source"] = text
    with pytest.raises((course.BadCourse, notebooks.BadNotebook), match=message):
        course.well_posed("a", "set-1", source)


def test_the_blank_is_what_nbgrader_would_make() -> None:
    import nbformat
    from nbgrader.preprocessors import ClearSolutions

    notebook = nbformat.reads(json.dumps(sample.problem_set()), as_version=4)
    clear = ClearSolutions(
        code_stub={"python": "raise NotImplementedError"}, text_stub="*Your answer:*", enforce_metadata=False
    )
    theirs, _ = clear.preprocess(notebook, {})
    ours = notebooks.released(sample.problem_set())
    for name in ("occupancy", "why"):
        assert notebooks.answer_of(ours, name) == notebooks.answer_of(theirs, name)


def test_the_release_gives_nothing_away(made: course.Course) -> None:
    archive = zipfile.ZipFile(release.pack(made, 20))
    texts = {name: archive.read(name).decode() for name in archive.namelist() if not name.endswith(".whl")}
    hidden = [
        made.seed,
        "SOLUTION",
        "here[:, None]",
        "Each step has mass one",
        "Two points",
        "rubric",
        "marking",
    ]
    hidden += [
        str(seed) for seed in made.check_seeds("set-1", notebooks.questions(sample.problem_set())).values()
    ]
    for secret in hidden:
        assert not [name for name, text in texts.items() if secret in text], secret
    assert {Path(name).name for name in texts} >= {
        "README.md",
        "requirements.txt",
        "constraints.txt",
        "set-1.ipynb",
    }
    assert all(system in texts["autumn/README.md"] for system in ("Linux", "macOS", "Windows"))


def test_the_wheel_is_the_package(made: course.Course, tmp_path: Path) -> None:
    archive = zipfile.ZipFile(release.pack(made, 20))
    name = next(name for name in archive.namelist() if name.endswith(".whl"))
    zipfile.ZipFile(io.BytesIO(archive.read(name))).extractall(tmp_path)
    code = "import aggbandit, importlib.metadata as m; print(aggbandit.__file__, m.version('aggbandit'))"
    code += "; print(m.metadata('aggbandit').get_all('Provides-Extra'))"
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "'student'" in said.stdout
    assert said.stdout.split()[:2] == [str(tmp_path / "aggbandit" / "__init__.py"), name.split("-")[1]]
    pieces = {
        path.relative_to(tmp_path).suffix for path in tmp_path.rglob("aggbandit/**/*") if path.is_file()
    }
    assert pieces >= {".py", ".js", ".css", ".typed"}
    assert not [
        file for file in zipfile.ZipFile(io.BytesIO(archive.read(name))).namelist() if "cache" in file
    ]


def test_a_course_lies_outside_of_the_repository_and_keeps_its_seed(
    made: course.Course, assignments: Path, tmp_path: Path
) -> None:
    with pytest.raises(course.BadCourse, match="inside of the book's repository"):
        course.make(course.BOOK / "my-course", "seed", assignments)
    with pytest.raises(course.BadCourse, match="a course of another seed"):
        course.make(made.folder, "other", assignments)
    (tmp_path / "course.json").write_text((made.folder / "course.json").read_text().replace("null", '"soon"'))
    with pytest.raises(course.BadCourse, match="due of set-1 is 'soon'; it is written like '2027-"):
        course.load(tmp_path)
    with pytest.raises(course.BadCourse, match="is no course"):
        course.load(made.folder / "source")


@pytest.mark.parametrize("due", ["5 December 2026", "2027-01-31T23:59:00", "2027-01-31", 3])
def test_a_due_date_is_a_moment_with_its_time_zone(made: course.Course, tmp_path: Path, due: object) -> None:
    text = (made.folder / "course.json").read_text().replace("null", json.dumps(due))
    (tmp_path / "course.json").write_text(text)
    with pytest.raises(course.BadCourse, match=r"due of set-1 is .*; it is written like '2027-01-31T23:59"):
        course.load(tmp_path)


def test_a_course_has_a_roster_to_fill_in_and_keeps_it(made: course.Course, assignments: Path) -> None:
    path = made.folder / "roster.csv"
    assert path.read_text() == "id,name,email,canvas_id,extra_days\n"
    assert roster.read(path) == []
    path.write_text("id\nada\n")
    course.make(made.folder, None, assignments)
    assert path.read_text() == "id\nada\n"
    path.write_text("id,name,email,canvas_id,extra_days\n")


def test_make_course_says_what_it_does_and_warns_of_a_short_seed(
    assignments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = runpy.run_path(str(course.BOOK / "_tools" / "course.py"))
    monkeypatch.setattr(course, "make", functools.partial(course.make, assignments=assignments))
    for arguments, words in (
        ([], "a secret seed has been drawn"),
        (["--seed", "autumn-2026"], "WARNING: the seed has 11 characters"),
    ):
        folder = tmp_path / f"course-{len(arguments)}"
        monkeypatch.setattr(sys, "argv", ["course.py", str(folder), *arguments])
        assert tool["main"]() == 0
        said = capsys.readouterr().out
        assert said.startswith("set-1: drawing its city")
        assert words in said
        assert "roster.csv" in said
        assert ("WARNING" in said) == bool(arguments)
