"""A chapter that is downloaded says how to get the package, and is otherwise the chapter."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from execute import BOOK

sys.path.append(str(BOOK / "_ext"))
import downloads
from repository import Repository

PLACE = Repository("https://github.com/OWNER/NAME", "main", "book")


@pytest.mark.parametrize("public", [None, PLACE], ids=["no address", "an address"])
def test_the_first_code_cell_says_how_to_get_the_package(chapter: Path, public: Repository | None) -> None:
    text = chapter.read_text(encoding="utf-8")
    before, after = json.loads(text), json.loads(downloads.hinted(text, downloads.hint(public)))
    first = next(cell for cell in after["cells"] if cell["cell_type"] == "code")
    line = first["source"].pop(0)
    assert line.startswith("#")
    assert "student" in line
    assert ("git+https://github.com/OWNER/NAME" in line) == (public is not None)
    assert after == before
