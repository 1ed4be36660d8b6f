"""What JupyterLab asks of the book: how a chapter is saved, as `make execute` does it, and what it says."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from execute import BOOK, chapters_of_the_book
from labels import places
from live_contents import authors, bibliography
from pybtex.richtext import Text
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


def words() -> dict[str, Any]:
    """What our extension has a chapter say: who is cited by each key, and what each label names."""
    references = {
        key: (authors(entry), entry.fields["year"], str(Text.from_latex(entry.fields["title"])))
        for key, entry in bibliography().items()
    }
    return {"references": references, "places": {label: asdict(place) for label, place in places().items()}}
