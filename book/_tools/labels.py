"""What the labels of the book name, read from its chapters, in the words that its pages show.

A statement and an exercise say their number, which the build holds against their page's; a section has its
title; formulas with a label are counted, chapter by chapter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from execute import chapters_of_the_book

STATEMENT = re.compile(r"^:{3,}\{(?:prf:)?(\w+)\}.*\n:label: (\S+)\n:number: (\S+)$", re.MULTILINE)
SECTION = re.compile(r"^\((\S+)\)=\n#+ (.*)$", re.MULTILINE)
FORMULA = re.compile(r"^```\{math\}\n:label: (\S+)$|\$\$ ?\((\S+)\)$", re.MULTILINE)
CHAPTER = re.compile(r"0?(\d+)-")


@dataclass(frozen=True)
class Place:
    """What a label names.

    Attributes:
        words: What a reference to it says: "Theorem 3.2", "(9.1)", "The city".
        notebook: The chapter that it is in, by its file's name.
    """

    words: str
    notebook: str


def places() -> dict[str, Place]:
    """Every label of the chapters."""
    return {
        label: Place(words, chapter.name)
        for chapter in chapters_of_the_book()
        for label, words in named(text_of(chapter), chapter.name)
    }


def text_of(chapter: Path) -> str:
    cells = nbformat.reads(chapter.read_text(encoding="utf-8"), as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def named(text: str, notebook: str) -> Iterator[tuple[str, str]]:
    """Each label in the text of a chapter, with its words."""
    for kind, label, number in STATEMENT.findall(text):
        yield label, f"{kind.capitalize()} {number}"
    yield from SECTION.findall(text)
    chapter = CHAPTER.match(notebook)
    before = f"{chapter[1]}." if chapter else ""
    for number, labels in enumerate(FORMULA.findall(text), start=1):
        yield "".join(labels), f"({before}{number})"
