"""What JupyterLab does when it saves a chapter: the same as `make execute`."""

from __future__ import annotations

import json
from typing import Any

from execute import BOOK, chapters_of_the_book
from settle import settle


def settle_chapter(model: dict[str, Any], path: str, **_: Any) -> None:
    """Settle the content of a notebook that is about to be saved, if it is a chapter of the book.

    Args:
        model: What is saved, as Jupyter's contents managers describe it; changed in place.
        path: Where, below the book.
    """
    chapter = BOOK / path
    if model["type"] == "notebook" and chapter in list(chapters_of_the_book()):
        settle(model["content"], json.loads(chapter.read_text(encoding="utf-8")))
