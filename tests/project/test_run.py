"""The program that runs the tests leaves nothing out unsaid."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
import run  # noqa: E402  (the path is set just above)


def test_every_folder_of_tests_is_in_some_step() -> None:
    stepped = {folder for group in run.ALL for folders, _ in group.values() for folder in folders}
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert folders <= stepped
    assert run.CHAPTERS in stepped


def test_steps_side_by_side_are_counted_together_and_one_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, body in (("good", "pass"), ("fine", "pass"), ("bad", "assert False")):
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / f"test_{name}.py").write_text(f"def test_{name}(): {body}\n")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    steps = {name: ([name], []) for name in ("good", "fine", "bad", "missing")}

    def outcome(*names: str) -> int | None:
        return run.pytest({name: steps[name] for name in names})

    assert outcome("good") == 1
    assert outcome("good", "fine") == 2
    assert outcome("good", "bad") is None
    assert outcome("good", "missing") is None
    said = capfd.readouterr()
    assert "== good, fine" in said.out
    assert "1 failed" in said.out
    assert "FAILED: bad" in said.err
    assert "FAILED: missing: there is nothing to test" in said.err
    assert "FAILED: good" not in said.err


@pytest.mark.parametrize("name", run.LONG)
def test_what_the_quick_tests_leave_out_exists(name: str) -> None:
    file, _, test = name.partition("::")
    assert f"def {test}" in (run.ROOT / file).read_text()


def test_one_command_that_fails_fails_the_step_and_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    says, fails = [sys.executable, "-c", "print('good')"], [sys.executable, "-c", "raise SystemExit('bad')"]
    assert run.side_by_side({"one": says, "two": says})
    assert not run.side_by_side({"one": says, "two": fails})
    said = capfd.readouterr()
    assert said.out.count("good") == 3
    assert "bad" in said.out
    assert "FAILED: two" in said.err
    assert "FAILED: one" not in said.err
