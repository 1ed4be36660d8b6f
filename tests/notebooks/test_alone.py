"""A downloaded chapter alone in an empty folder: it runs with the extra `student`, and says so without it."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import nbformat
import pytest
from execute import BOOK, execute

sys.path.append(str(BOOK / "_ext"))
sys.path.append(str(Path(__file__).resolve().parents[1]))
import downloads

from needed import modules_without, needed

HIDE = """import importlib.machinery, sys

HIDDEN = {hidden!r}


class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)


sys.meta_path[:] = [Finder if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
"""


def alone(name: str, folder: Path) -> Path:
    """A chapter as its page gives it, in a folder of its own."""
    chapter = folder / "empty" / name
    chapter.parent.mkdir()
    text = (BOOK / name).read_text(encoding="utf-8")
    chapter.write_text(downloads.hinted(text, downloads.hint(None)), encoding="utf-8")
    return chapter


def leave(packages: set[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide from the kernels that are started now what is not in these packages."""
    (folder / "sitecustomize.py").write_text(HIDE.format(hidden=sorted(modules_without(packages))))
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *([before] if before else [])]))


def test_with_the_students_extra_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortest chapter that needs more than figures."""
    chapter = alone("02-occupancy-measures.ipynb", tmp_path)
    leave(needed("aggbandit", "student"), tmp_path, monkeypatch)
    assert execute(chapter, chapter).error is None
    assert list(chapter.parent.iterdir()) == [chapter]


def test_with_the_plain_package_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chapter = alone("03-barriers.ipynb", tmp_path)
    before = chapter.read_bytes()
    leave(needed("aggbandit") | needed("ipykernel"), tmp_path, monkeypatch)
    missing = "matplotlib, ipywidgets, anywidget, pillow: pip install 'aggbandit[figures]'"
    error = f"cell 1 raised ModuleNotFoundError: aggbandit.figures needs {missing}"
    assert execute(chapter, chapter).error == error
    assert chapter.read_bytes() == before


def test_no_chapter_imports_what_a_student_does_not_have(chapter: Path) -> None:
    cells = nbformat.read(chapter, as_version=4).cells
    missing = modules_without(needed("aggbandit", "student"))
    for cell in cells:
        if cell.cell_type == "code":
            assert not imported(cell.source) & missing


def imported(source: str) -> set[str]:
    """The packages that a cell imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found
