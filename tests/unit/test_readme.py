"""The README's example runs, and gives what it promises."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert "1_000_000" in example
    exec(compile(example.replace("1_000_000", "300"), str(README), "exec"), {})
    assert 0 < float(capsys.readouterr().out) < 3


def test_every_folder_it_names_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    package = README.parent / "src" / "aggbandit"
    row = next(line for line in text.splitlines() if line.startswith("| `src/aggbandit`"))
    for room in re.findall(r"`(\w+)`", row):
        assert (package / room).is_dir() or (package / f"{room}.py").is_file(), room
