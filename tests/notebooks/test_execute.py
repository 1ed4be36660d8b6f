"""The tool that runs chapters: the same bytes twice, and an error that leaves a notebook as it was."""

from __future__ import annotations

from pathlib import Path

import nbformat
import nbformat.v4 as nbf
import pytest
from cleanliness import check
from comparison import WIDGET_STATE, differences
from execute import Outcome, execute_all
from settle import KERNELSPEC, LANGUAGE

PRINTS = """
import sys, time
for line in ("one", "two", "three"):
    print(line)
    sys.stdout.flush()
    time.sleep(0.1)
print(sorted({"a", "b", "c", "d"}), list({"a", "b", "c", "d"}))
"""
DRAWS = """
import matplotlib.pyplot as plt
plt.plot([1, 3, 2])
plt.show()
"""
MOVES = """
from aggbandit import figures

def draw(p):
    fig, ax = figures.axes(height=2)
    ax.bar([0, 1], [p, 1 - p])
    return fig

figures.explorable(draw, p=[0.25, 0.5, 0.75], caption="Two bars.", alt="Two bars, the left at {p}.")
"""


def notebook(path: Path, *sources: str) -> Path:
    """Write a notebook with the given code cells, their ids fixed."""
    cells = [nbf.new_code_cell(source, id=f"cell-{index}") for index, source in enumerate(sources)]
    nbformat.write(nbf.new_notebook(cells=[nbf.new_markdown_cell("# Title", id="title"), *cells]), path)
    return path


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One chapter with text, a picture and a moving figure, run twice side by side."""
    folder = tmp_path_factory.mktemp("twice")
    source = notebook(folder / "source.ipynb", PRINTS, DRAWS, MOVES)
    first, second = folder / "first.ipynb", folder / "second.ipynb"
    outcomes = execute_all([(source, first), (source, second)], report=lambda outcome: None)
    assert [outcome.error for outcome in outcomes] == [None, None]
    return first, second


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Outcome(Path("a.ipynb"), 12.34, 5.0), "a.ipynb  12.3 s (5.0 s of a processor)"),
        (
            Outcome(Path("a.ipynb"), 80.0, 70.0),
            "a.ipynb  80.0 s (70.0 s of a processor; too long for a chapter)",
        ),
        (Outcome(Path("a.ipynb"), 1.0, 1.0, "cell 2 raised"), "a.ipynb  cell 2 raised"),
    ],
    ids=["done", "long", "stopped"],
)
def test_a_chapter_is_reported_in_one_line(outcome: Outcome, line: str) -> None:
    assert outcome.line() == line


def test_twice_gives_the_same_bytes(twice: tuple[Path, Path]) -> None:
    first, second = twice
    assert first.read_bytes() == second.read_bytes()


def test_result_is_clean_and_whole(twice: tuple[Path, Path]) -> None:
    done = nbformat.read(twice[0], as_version=4)
    assert [cell.get("execution_count") for cell in done.cells] == [None, 1, 2, 3]
    assert done.cells[1].outputs[0].text.startswith("one\ntwo\nthree\n['a', 'b', 'c', 'd']")
    assert len(done.cells[1].outputs) == 1
    assert done.metadata["kernelspec"] == KERNELSPEC
    assert done.metadata["language_info"] == LANGUAGE
    check(twice[0])


def test_every_frame_is_kept_with_its_own_words(twice: tuple[Path, Path]) -> None:
    text = twice[0].read_text()
    assert WIDGET_STATE in text
    for value in ("0.25", "0.5", "0.75"):
        assert f"Two bars, the left at {value}." in text


def test_nothing_but_the_chapter_is_left_in_its_folder(twice: tuple[Path, Path]) -> None:
    names = {path.name for path in twice[0].parent.iterdir()}
    assert names == {"source.ipynb", "first.ipynb", "second.ipynb"}


def test_running_a_result_again_changes_nothing(twice: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.ipynb"
    copy.write_bytes(twice[0].read_bytes())
    (outcome,) = execute_all([(copy, copy)], report=lambda outcome: None)
    assert outcome.error is None
    assert copy.read_bytes() == twice[0].read_bytes()


def test_an_error_names_cell_and_reason_and_touches_nothing(tmp_path: Path) -> None:
    path = notebook(tmp_path / "broken.ipynb", "x = 1", "raise ValueError(f'x is {x}; it must be two')", "x")
    before = path.read_bytes()
    (outcome,) = execute_all([(path, path)], report=lambda outcome: None)
    assert outcome.error == "cell 2 raised ValueError: x is 1; it must be two"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["broken.ipynb"]


def test_a_dead_kernel_is_said_to_be_one(tmp_path: Path) -> None:
    path = notebook(tmp_path / "dead.ipynb", "import os\nos._exit(1)")
    (outcome,) = execute_all([(path, path)], report=lambda outcome: None)
    assert outcome.error == "the kernel died in cell 1"


def test_another_result_would_be_seen(twice: tuple[Path, Path]) -> None:
    first, other = (nbformat.read(path, as_version=4) for path in twice)
    assert differences(first, other) == []
    other.cells[1].outputs[0].text += "four\n"
    assert len(differences(first, other)) == 1
