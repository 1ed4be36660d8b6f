"""A chapter that is downloaded says how to get the package, and is otherwise the chapter."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from execute import BOOK
from sphinx.errors import ConfigError

sys.path.append(str(BOOK / "_ext"))
import downloads

HINT = yaml.safe_load((BOOK.parent / "_config.yml").read_text())["sphinx"]["config"]["install_hint"]


def test_the_first_code_cell_says_how_to_get_the_package(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    before, after = json.loads(text), json.loads(downloads.hinted(text, HINT))
    first = next(cell for cell in after["cells"] if cell["cell_type"] == "code")
    line = first["source"].pop(0)
    assert line.startswith("#")
    assert "student" in line
    assert after == before


@pytest.mark.parametrize("hint", ["", "one\ntwo"])
def test_a_hint_is_one_line(hint: str) -> None:
    with pytest.raises(ConfigError, match="it must be one line that says how"):
        downloads.hinted('{"cells": []}', hint)
