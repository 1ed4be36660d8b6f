"""The chapters as the live notebooks hold them: what leads to other pages says by itself what it is.

A notebook by itself cannot resolve a reference to another chapter or to the bibliography. In these copies
such a reference is replaced by the words that the built page shows for it; one to another chapter is a link
to its notebook.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from execute import BOOK, chapters_of_the_book
from pybtex.database import Entry, parse_file

LINK = re.compile(r'<a class="reference internal" href="([^"#]*)#([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)
NUMBERED = re.compile(
    r'<div class="[^"]*" id="([^"]+)">\s*<p class="admonition-title">\s*<span class="caption-number">(.*?)<'
)
TAG = re.compile(r"<[^>]+>")
ROLE = re.compile(r"\{(prf:ref|numref|ref|eq)\}`(?:([^`<]*?)\s*<)?([^`<>]+)>?`")
CITATION = re.compile(r"\{cite:([tp])\}`([^`]+)`")
PAGE = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)\s]+\.md(?:#[^)]*)?\)")
TARGET = re.compile(r"^:label: (\S+)$|^\((\S+)\)=$|\$\$ ?\((\S+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Words:
    """What the built book says for its labels.

    Attributes:
        links: The words of a reference to each label.
        notebooks: The notebook that each label is in, where a live one has it.
        numbers: The number of each statement and exercise.
        references: The bibliography.
    """

    links: Mapping[str, str]
    notebooks: Mapping[str, str]
    numbers: Mapping[str, str]
    references: Mapping[str, Entry]


def notebooks(book: Path) -> dict[str, dict[str, Any]]:
    """Each chapter by its file's name, for a book that was built in the folder."""
    words = read(book)
    return {chapter.name: rewritten(with_whole_texts(chapter), words) for chapter in live_chapters()}


def with_whole_texts(chapter: Path) -> dict[str, Any]:
    """A notebook whose texts are not cut into lines, between which JupyterLite shows commas."""
    notebook: dict[str, Any] = nbformat.reads(chapter.read_text(encoding="utf-8"), as_version=4)
    return notebook


def live_chapters() -> Iterator[Path]:
    """Every notebook of the book but its front page."""
    return (chapter for chapter in chapters_of_the_book() if chapter.stem != "index")


def read(book: Path) -> Words:
    """Look up what the pages say."""
    links: dict[str, str] = {}
    notebooks: dict[str, str] = {}
    numbers: dict[str, str] = {}
    chapters = {chapter.stem: chapter.name for chapter in live_chapters()}
    for chapter in live_chapters():
        page = (book / f"{chapter.stem}.html").read_text(encoding="utf-8")
        for there, name, words in LINK.findall(page):
            label, stem = name.removeprefix("equation-"), there.removesuffix(".html") or chapter.stem
            links.setdefault(label, plain(words))
            if stem in chapters:
                notebooks[label] = chapters[stem]
        for label, words in NUMBERED.findall(page):
            numbers[label] = plain(words).split()[-1]
    return Words(links, notebooks, numbers, bibliography())


def bibliography() -> Mapping[str, Entry]:
    """What the book cites, by key."""
    entries: Mapping[str, Entry] = parse_file(str(BOOK / "references.bib")).entries
    return entries


def plain(words: str) -> str:
    return " ".join(html.unescape(TAG.sub("", words)).split())


def rewritten(notebook: dict[str, Any], words: Words) -> dict[str, Any]:
    """A chapter whose references can all be read, and whose figures are shown before anything is run."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    own = {label for cell in cells for found in TARGET.findall("".join(cell["source"])) for label in found}
    for cell in cells:
        cell["source"] = resolved("".join(cell["source"]), own, words).splitlines(keepends=True)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True
    return notebook


def resolved(text: str, own: set[str], words: Words) -> str:
    """The text of a cell, for a notebook that has the labels `own`."""

    def reference(role: re.Match[str]) -> str:
        kind, given, label = role.groups()
        if label in own and kind != "ref":
            return role[0]
        shown = given or words.links.get(label, label)
        there = words.notebooks.get(label)
        return f"[{shown}]({there})" if there and label not in own else shown

    text = ROLE.sub(reference, text)
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
