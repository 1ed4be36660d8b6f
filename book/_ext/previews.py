"""Sphinx extension: what a link leads to is shown beside it.

After the pages are written, the statement, equation, exercise, reference, section, name or row of a table
that a link inside the book leads to is cut out of its page and stored with its neighbors in
`_static/previews/PAGE.js`. The script previews.js shows it when a link is pointed at or reached by keys. A
file is asked for only then, and as a script, so that it works from the disk too.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

from bs4 import Tag
from written import articles, target

FOLDER = "previews"
WHOLE = ("proof", "exercise", "solution", "math", "citation", "admonition")
REMOVED = {"script", "style", "button", "img", "svg", "video", "headerlink", "viewcode-link", "backrefs"}
LOST = ("id", "title", "role", "aria-level", "tabindex", "href")
SPACE = re.compile(r"\s*\n\s*")


def write(app: Any, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    pages = articles(app)
    named = {
        address: {part["id"]: part for part in article.find_all(id=True)}
        for address, article in pages.items()
    }
    wanted: dict[str, dict[str, str]] = {}
    for address, article in pages.items():
        for link in article.find_all("a", href=True):
            place = target(address, link["href"])
            if place is None or place[0] not in pages or place[1] in wanted.get(place[0], {}):
                continue
            there, fragment = place
            shown = preview(named[there].get(fragment)) if fragment else opening(pages[there])
            wanted.setdefault(there, {})[fragment] = shown
    for address, found in wanted.items():
        previews = {fragment: shown for fragment, shown in found.items() if shown}
        file = Path(app.outdir, "_static", FOLDER, f"{address}.js")
        file.parent.mkdir(parents=True, exist_ok=True)
        body = json.dumps(previews, ensure_ascii=False, sort_keys=True, indent=0)
        file.write_text(f"abPreviews[{json.dumps(address)}] = {body};\n", encoding="utf-8")


def opening(article: Tag) -> str:
    """The HTML that stands for a page: its title and its first paragraph."""
    return cleaned(article.find("h1")) + cleaned(article.find("p"))


def preview(place: Tag | None) -> str:
    """The HTML that stands for a place on a page, or nothing."""
    if place is None:
        return ""
    if place.name == "span" and not place.get_text(strip=True):  # a label stands before what it names
        following = place.find_next(["section", "div", "figure", "dl"])
        place = place.parent if place.parent and place.parent.name == "section" else following or place
    classes = set(place.get("class") or ())
    if place.name == "tr":
        return row(place)
    if place.name == "dt":
        described = place.find_next_sibling("dd")
        return cleaned(place, "div") + cleaned(described.find("p") if described else None)
    if place.name == "section":
        return cleaned(place.find(re.compile("h[1-6]"))) + cleaned(place.find("p"))
    if place.name in ("figure", "table") or classes & set(WHOLE):
        return cleaned(place)
    return ""


def row(place: Tag) -> str:
    """A row of the notation page: the symbol and its meaning, its name in the code, its chapter."""
    cells = [inline(cell) for cell in strip(place).find_all(["td", "th"])]
    if len(cells) < 3:
        return ""
    symbol, meaning, *code, chapter = cells
    called = f"{code[0]} in the code; " if code and code[0].strip() else ""
    return f'<p>{symbol}: {meaning}</p><p class="ab-where">{called}notation, chapter {chapter}</p>'


def inline(cell: Tag) -> str:
    """What a cell holds, without the paragraph round it."""
    return " ".join(part.decode_contents() for part in cell.find_all("p") or [cell])


def cleaned(place: Tag | None, name: str = "") -> str:
    """The HTML of a place without what only works there: ids, buttons, links; headings are plain words."""
    if place is None:
        return ""
    piece = strip(place)
    if name:
        piece.name = name
    if re.fullmatch("h[1-6]", piece.name):
        piece.name = "p"
        piece["class"] = "ab-heading"
    return SPACE.sub("\n", str(piece))


def strip(place: Tag) -> Tag:
    """A copy of a place, without what is removed: links are plain words, sections plain boxes."""
    piece = copy.copy(place)
    for part in [piece, *piece.find_all(True)]:
        if part.name in REMOVED or REMOVED & set(part.get("class") or ()):
            part.extract()
            continue
        for attribute in LOST:
            part.attrs.pop(attribute, None)
        if part.name == "section":
            part.name = "div"
        elif part.name == "a":
            part.name = "span"
            part.attrs.clear()
    return piece


def setup(app: Any) -> dict[str, Any]:
    app.add_js_file("js/previews.js", loading_method="defer")
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
