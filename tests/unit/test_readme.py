"""The README's example runs, and gives what it promises."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    night, lake = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    assert "1_000_000" in night
    exec(compile(night.replace("1_000_000", "300"), str(README), "exec"), names)
    assert 0 < float(capsys.readouterr().out) < 3
    exec(compile(lake, str(README), "exec"), names)
    learned, best = map(float, re.findall(r"\d+\.\d+", capsys.readouterr().out))
    # The best policy pays 9, uniform play 9.9945.
    assert best == 9
    assert learned < 9.1


def test_every_folder_it_names_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    package = README.parent / "src" / "aggbandit"
    row = next(line for line in text.splitlines() if line.startswith("| `src/aggbandit`"))
    for room in re.findall(r"`(\w+)`", row):
        assert (package / room).is_dir() or (package / f"{room}.py").is_file(), room
