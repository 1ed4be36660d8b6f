"""The chapters as the live notebooks hold them: what leads to other pages says by itself what it is.

A notebook by itself cannot resolve a reference to another chapter or to the bibliography. In these copies
such a reference is replaced by the words that the book's pages show for it; one to another chapter is a link
to its notebook.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from execute import BOOK, chapters_of_the_book
from labels import Place, places
from pybtex.database import Entry, parse_file

ROLE = re.compile(r"\{(?:prf:ref|numref|ref|eq)\}`(?:([^`<]*?)\s*<)?([^`<>]+)>?`")
LABEL = re.compile(r"\[([^\]]+)\]\(#([^)\s]+)\)")
CITATION = re.compile(r"\{cite:([tp])\}`([^`]+)`")
PAGE = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)\s]+\.md(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Words:
    """What the book says for its labels.

    Attributes:
        places: What each label names.
        references: The bibliography.
    """

    places: Mapping[str, Place]
    references: Mapping[str, Entry]


def words_of_the_book() -> Words:
    """Look up what the chapters and the bibliography say."""
    return Words(places(), bibliography())


def notebooks() -> dict[str, dict[str, Any]]:
    """Each chapter by its file's name."""
    words = words_of_the_book()
    return {
        chapter.name: rewritten(with_whole_texts(chapter), chapter.name, words) for chapter in live_chapters()
    }


def with_whole_texts(chapter: Path) -> dict[str, Any]:
    """A notebook whose texts are not cut into lines, between which JupyterLite shows commas."""
    notebook: dict[str, Any] = nbformat.reads(chapter.read_text(encoding="utf-8"), as_version=4)
    return notebook


def live_chapters() -> Iterator[Path]:
    """Every notebook of the book but its front page."""
    return (chapter for chapter in chapters_of_the_book() if chapter.stem != "index")


def bibliography() -> Mapping[str, Entry]:
    """What the book cites, by key."""
    entries: Mapping[str, Entry] = parse_file(str(BOOK / "references.bib")).entries
    return entries


def rewritten(notebook: dict[str, Any], name: str, words: Words) -> dict[str, Any]:
    """A chapter whose references can all be read, and whose figures are shown before anything is run."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = resolved("".join(cell["source"]), words, name).splitlines(keepends=True)
        elif cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True
    return notebook


def resolved(text: str, words: Words, notebook: str | None = None) -> str:
    """The text of a cell, for the chapter of that file's name, or for one that leads nowhere (None)."""

    def reference(found: re.Match[str]) -> str:
        given, label = found.groups()
        place = words.places.get(label)
        if place and place.notebook == notebook:
            return found[0]
        shown: str = given or (place.words if place else label)
        return f"[{shown}]({place.notebook})" if place and notebook else shown

    text = LABEL.sub(reference, ROLE.sub(reference, text))
    text = CITATION.sub(lambda found: cited(found[1], found[2].split(","), words.references), text)
    return PAGE.sub(r"\1", text)


def cited(kind: str, keys: list[str], references: Mapping[str, Entry]) -> str:
    """A citation by authors and years, in the sentence (`t`) or in brackets (`p`)."""
    entries = [references[key.strip()] for key in keys]
    if kind == "t":
        return ", ".join(f"{authors(entry)} ({entry.fields['year']})" for entry in entries)
    return "(" + "; ".join(f"{authors(entry)}, {entry.fields['year']}" for entry in entries) + ")"


def authors(entry: Entry) -> str:
    """One or two last names, or the first of several."""
    names = [" ".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
    return " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
