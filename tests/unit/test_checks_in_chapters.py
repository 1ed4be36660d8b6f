"""Every exercise of the chapters has a place to answer; a solution in code passes the check."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from aggbandit import checks

BOOK = Path(__file__).resolve().parents[2] / "book"
CHAPTERS = sorted(BOOK.glob("[01][0-9]-*.ipynb"))
TAGS = ["answer", "remove-cell"]  # the second keeps a cell off the page
YOURS = "# Your code. If Python is new: first Run > Run All Above Selected Cell."
WORDS = "*Your answer:* (select this cell and press Enter to write; Shift+Enter when done)"
# Words of an exercise that ask for more than paper and pencil.
COMPUTED = re.compile(
    r"`ab\.|`run\.|`moved_towards`|Build it as|Play it|Play the|Write it as|Write a program|Search with"
    r"|[Tt]ry it|Find the best policy under|Sort the rows|Stop Newton|Toss a fair|Check it in"
    r"|and estimate the factor|Check unbiasedness|tabulate|```python|run the two cells|How many epochs end"
)


def cells(chapter: Path) -> list[dict]:
    return json.loads(chapter.read_text(encoding="utf-8"))["cells"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def is_exercise(cell: dict) -> bool:
    return source(cell).startswith(":::{exercise}")


CODING = [
    pytest.param(chapter, cell, id=cell["id"])
    for chapter in CHAPTERS
    for cell in cells(chapter)
    if cell["id"].endswith("-answer") and cell["cell_type"] == "code"
]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem[:2])
def test_every_exercise_is_followed_by_its_answer_and_its_solution(chapter):
    found = cells(chapter)
    places = [place for place, cell in enumerate(found) if is_exercise(cell)]
    assert len(places) >= 5
    n_answers = 0
    for place in places:
        exercise, answer, *rest = found[place : place + 4]
        label = exercise["id"]
        solution = next(cell for cell in rest if source(cell).startswith(":::{solution}"))
        more = rest[: rest.index(solution)]
        n_answers += 1 + len(more)
        # What is to be computed has a place for code; a function that is asked for is the answer itself,
        # and if the exercise asks besides, there is a place for words.
        if answer["cell_type"] == "markdown":
            assert source(answer) == WORDS
            wanted = [(f"{label}-code", "code", YOURS)] if COMPUTED.search(source(exercise)) else []
        else:
            wanted = [(f"{label}-words", "markdown", WORDS)] if "?" in source(exercise) else []
        assert [(cell["id"], cell["cell_type"], source(cell)) for cell in more] == wanted, label
        assert all(cell["metadata"] == {"tags": TAGS} for cell in (answer, *more))
        assert answer["id"] == f"{label}-answer"
        assert source(solution).startswith(f":::{{solution}} {label}\n")
    assert sum("answer" in cell["metadata"].get("tags", []) for cell in found) == n_answers


def test_every_chapter_asks_for_a_function():
    asked = {chapter.stem[:2] for chapter in CHAPTERS if any(param.values[0] == chapter for param in CODING)}
    assert asked >= {f"{number:02}" for number in range(1, 13)}


@pytest.mark.parametrize(("chapter", "cell"), CODING)
def test_an_answer_cell_waits_for_the_function_that_its_exercise_names(chapter, cell):
    exercise = next(other for other in cells(chapter) if f"{other['id']}-answer" == cell["id"])
    name, signature = re.search(r"^def (\w+)\((.*)\):", source(cell), re.MULTILINE).groups()
    assert f"`{name}({signature})`" in source(exercise)
    assert f"`checks.{name}`" in source(exercise)
    # As the page's readers see the notebook: one line, not answered yet.
    namespace = {}
    *definition, call = source(cell).splitlines()
    exec("\n".join(definition), namespace)
    assert call == f"checks.{name}({name})"
    report = eval(call, namespace)
    assert report.verdict == "not answered"
    assert [source({"source": output["data"]["text/plain"]}) for output in cell["outputs"]] == [repr(report)]


@pytest.mark.parametrize(("chapter", "cell"), CODING)
def test_the_solution_passes_the_check_of_its_exercise(chapter, cell):
    label = cell["id"].removesuffix("-answer")
    solution = next(source(other) for other in cells(chapter) if other["id"] == f"{label}-solution")
    name = re.search(r"^def (\w+)\(", source(cell), re.MULTILINE)[1]
    blocks = re.findall(r"```python\n(.*?)```", solution, re.DOTALL)
    code = next(block for block in blocks if f"def {name}(" in block)
    namespace = {"np": np}
    exec(code, namespace)
    report = checks.ALL[name](namespace[name], instances=20)
    assert report.passed, report


def test_chapters_name_only_checks_that_exist():
    named = {
        name for chapter in CHAPTERS for name in re.findall(r"`checks\.(\w+)`", chapter.read_text("utf-8"))
    }
    assert named <= set(checks.ALL)
    assert len(named) >= 12
