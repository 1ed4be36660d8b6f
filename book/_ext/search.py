"""Sphinx extension: the book's own search, which lands at the place and can read formulas.

After the pages are written, their text is cut at every heading, numbered statement, exercise and documented
name, and stored in `_static/search.js`, a formula as the signs that one would type: `λ`, `q_t`, `ε·z`. Being
a script, it is there from the disk too. The search page (_templates/search.html, js/search.js) looks for
words in it; the index that Sphinx would make, of whole pages with the source text of their formulas, is not
published.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bs4 import NavigableString, Tag
from signs import readable
from written import articles, chapter_numbers

INDEX = "search.js"
UNUSED = ("searchindex.js", "_static/searchtools.js", "_static/language_data.js")
PLACES = ("proof", "exercise", "solution")
SILENT = ("script", "style", "button", "svg", "summary")
SILENT_CLASSES = {"headerlink", "viewcode-link", "eqno", "cell_output", "linenos", "toctree-wrapper"}
BLOCKS = ("p", "div", "li", "td", "th", "tr", "dd", "dt", "pre", "section", "figcaption")
TEX = re.compile(r"\\\((.+?)\\\)|\$([^$\n]+)\$")  # in a caption, or in the code that makes one
SPACE = re.compile(r"\s+")


class Place:
    """A part of a page that a search can land at."""

    def __init__(self, anchor: str, title: str) -> None:
        self.anchor = anchor
        self.title = title
        self.words: list[str] = []

    def text(self) -> str:
        words = TEX.sub(
            lambda found: readable((found[1] or found[2]).replace(r"\\", "\\")), "".join(self.words)
        )
        return SPACE.sub(" ", words).strip()


def write(app: Any, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    numbers = chapter_numbers(app)
    pages = [
        [
            address,
            name(article, numbers.get(address, "")),
            [[p.anchor, p.title, p.text()] for p in places(article)],
        ]
        for address, article in articles(app).items()
    ]
    body = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "_static", INDEX).write_text(f"window.abPages = {body};\n", encoding="utf-8")
    for file in UNUSED:
        Path(app.outdir, file).unlink(missing_ok=True)


def name(article: Tag, number: str) -> str:
    """What a page is called in a list: its heading, and its number if it has one."""
    title = heading(article.find("h1"))
    return title if not number or title.startswith(f"{number}.") else f"{number}. {title}"


def places(article: Tag) -> Iterator[Place]:
    """The parts of a page in order, each with the text up to the next; the first is the page itself."""
    found = [Place("", heading(article.find("h1")))]
    gather(article, found)
    return (place for place in found if place.title or place.text())


def gather(element: Tag, found: list[Place]) -> None:
    """Add an element's text to the last place; begin another where one can land."""
    around = found[-1]
    begun = begin(element)
    if begun:
        found.append(begun)
    for child in element.children:
        if isinstance(child, Tag):
            if is_silent(child) or (begun and is_title(child)) or re.fullmatch("h[1-6]", child.name):
                continue
            if "math" in (child.get("class") or ()):
                found[-1].words.append(formula(child))
            else:
                gather(child, found)
        elif type(child) is NavigableString:
            found[-1].words.append(str(child))
    if element.name in BLOCKS:
        found[-1].words.append(" ")
    if begun and element.name != "section" and found[-1] is not around:
        found.append(Place(around.anchor, around.title))  # the section goes on behind a statement


def begin(element: Tag) -> Place | None:
    """The place that begins with an element, if one does."""
    anchor, classes = str(element.get("id") or ""), set(element.get("class") or ())
    if not anchor:
        return None
    if element.name == "section":
        title = heading(element.find(re.compile("h[2-6]"), recursive=False))
        return Place(anchor, title) if title else None
    if element.name == "div" and classes & set(PLACES):
        return Place(anchor, heading(element.find(class_="admonition-title")))
    if element.name == "dt" and "sig" in classes:
        return Place(anchor, anchor)
    return None


def is_silent(element: Tag) -> bool:
    return element.name in SILENT or bool(SILENT_CLASSES & set(element.get("class") or ()))


def is_title(element: Tag) -> bool:
    return "admonition-title" in (element.get("class") or ())


def heading(element: Tag | None) -> str:
    """The words of a heading, with formulas made readable."""
    if element is None:
        return ""
    place = Place("", "")
    gather_words(element, place)
    return place.text()


def gather_words(element: Tag, place: Place) -> None:
    for child in element.children:
        if isinstance(child, Tag):
            if "math" in (child.get("class") or ()):
                place.words.append(formula(child))
            elif not is_silent(child):
                gather_words(child, place)
        elif type(child) is NavigableString:
            place.words.append(str(child))


def formula(element: Tag) -> str:
    """A formula as signs, without the marks that tell MathJax where it begins and ends."""
    parts = (str(part) for part in element.children if type(part) is NavigableString)
    return readable(re.sub(r"\\[()\[\]]", " ", "".join(parts)))


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
