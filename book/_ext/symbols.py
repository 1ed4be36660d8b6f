"""Sphinx extension: a symbol says what it means where it stands.

The notation page and the box *Symbols here* at the head of a chapter are the only places where a symbol is
explained. Two things are made of them:

- the fence ```` ```{symbols-by-chapter} ``` ```` on the notation page becomes one table of all the boxes, so
  that no symbol of a chapter can be missing there;
- in a chapter, a formula that is nothing but a known symbol becomes, at its first use in each section, a link
  to the symbol's row on the notation page. What the row says is then shown beside it, as for any other link
  (see previews.py). Only the first link of a page to a row is a stop of the Tab key.

A chapter's own box comes first, then the latest chapter up to this one that says something about the symbol.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from signs import readable

NOTATION = "notation"
FENCE = re.compile(r"^```\{symbols-by-chapter\} *\n```$", re.MULTILINE)
BOX = re.compile(r"^(:{3,})\{admonition\} Symbols here\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
CHAPTER = re.compile(r"(\d\d)-.*")
BAR = re.compile(r"(?<!\\)\|")
ACCENT = re.compile(r"\\(hat|tilde|bar)\s*(\{[^{}]*\}|\\[A-Za-z]+|[A-Za-z])")
BOXES = "symbols-by-chapter"  # the class of the table made of the boxes
SILENT = (nodes.reference, nodes.title, nodes.table, nodes.caption, nodes.term, nodes.rubric)
FOLDS = {"dropdown", "toggle", "sd-dropdown"}


@dataclass(frozen=True)
class Entry:
    """What one row of the notation page explains.

    Attributes:
        key: A symbol, in the form that `normal` gives it.
        chapter: The number of the chapter that the row speaks of.
        boxed: Whether the row comes from a chapter's box and holds in that chapter alone.
        exact: Whether the row has the key itself: the `x` of a row on `x(h,s)` gives way to a row on `x`.
        row: The row's id on the notation page.
    """

    key: str
    chapter: int
    boxed: bool
    exact: bool
    row: str


# ------------------------------------------------------------------ the table of all boxes


def fill(app: Any, page: str, source: list[str]) -> None:
    if page == NOTATION:
        source[0] = FENCE.sub(lambda _: "\n".join(table(Path(app.srcdir))), source[0])


def table(book: Path) -> Iterator[str]:
    """The Markdown of a table that holds every row of every box, in the chapters' order."""
    yield from (
        f":::{{table}}\n:class: {BOXES}",
        "",
        "| symbol | meaning in this chapter | chapter |",
        "|:--|:--|:-:|",
    )
    for number, rows in boxes(book).items():
        yield from (f"| {symbol} | {meaning} | {number} |" for symbol, meaning in rows)
    yield ":::"


def boxes(book: Path) -> dict[int, list[tuple[str, str]]]:
    """By chapter, (symbol, meaning) of each row of its box; a chapter without a box has no entry."""
    found = {}
    for path in sorted(book.glob("[0-9][0-9]-*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        box = BOX.search(text)
        if box:
            found[int(path.name[:2])] = list(rows_of(box[2]))
    return found


def rows_of(box: str) -> Iterator[tuple[str, str]]:
    """(symbol, meaning) of each row of a Markdown table; what a third column says is put in brackets."""
    lines = [line.strip() for line in box.splitlines() if line.lstrip().startswith("|")]
    for line in lines[2:]:
        symbol, meaning, *elsewhere = (cell.strip() for cell in BAR.split(line)[1:-1])
        remark = elsewhere[0] if elsewhere else ""
        yield symbol, f"{meaning} ({remark})" if remark else meaning


# ---------------------------------------------------------------- the rows and their symbols


def name_rows(app: Any, document: nodes.document) -> None:
    """Give each row of the notation page that explains a symbol an id."""
    if app.env.docname != NOTATION:
        return
    taken: set[str] = set()
    for row, keys, chapter, boxed in explaining(document):
        first = next(iter(keys))
        name = nodes.make_id(f"symbol-{chapter}-{first}" if boxed else f"symbol-{first}")
        while name in taken:
            name += "-again"
        taken.add(name)
        row["ids"].append(name)


def explaining(document: nodes.document) -> Iterator[tuple[nodes.row, dict[str, bool], int, bool]]:
    """(row, its symbols and whether exactly, its chapter, whether boxed) for each row about symbols."""
    for row in document.findall(nodes.row):
        cells = list(row.findall(nodes.entry))
        chapter = cells[-1].astext().strip()
        keys = dict(pair for formula in cells[0].findall(nodes.math) for pair in symbols_in(formula.astext()))
        if keys and chapter.isdigit():
            table = row.parent.parent.parent
            yield row, keys, int(chapter), BOXES in {*table["classes"], *table.parent.get("classes", ())}


def symbols_in(formula: str) -> Iterator[tuple[str, bool]]:
    r"""(symbol, whether exactly) of a first column: `x(h,s), L = …` are `x(h,s)`, loosely `x`, and `L`."""
    for part in re.split(r"\\to\b", formula):
        for piece in top_level(part):
            key = normal(piece.partition("=")[0])
            if key and not key.startswith(("(", r"\dots")):
                yield key, True
                without = re.sub(r"\(.*\)$", "", key)
                if without and without != key:
                    yield without, False


def top_level(formula: str) -> Iterator[str]:
    """The formula, cut at the commas that are outside all brackets."""
    depth, piece = 0, ""
    for letter in formula:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            if piece.endswith("\\"):  # a thin space
                piece += letter
                continue
            yield piece
            piece = ""
        else:
            piece += letter
    yield piece


def normal(formula: str) -> str:
    r"""One spelling of each symbol: no spaces, no braces round a single letter or command."""
    bare = re.sub(r"\\[,;:! ]|[\s~]", "", formula)
    return re.sub(r"\{(\\?[A-Za-z0-9]|\\[A-Za-z]+)\}", r"\1", bare)


# ------------------------------------------------------------------------ links in chapters


def link(app: Any, document: nodes.document, page: str) -> None:
    """Link the first use of each known symbol in each section of a chapter to its row."""
    number = CHAPTER.fullmatch(page)
    if number is None or NOTATION not in app.env.all_docs:
        return
    known = entries(app, int(number[1]))
    seen: set[str] = set()
    for section in sections(document):
        here: set[str] = set()
        for formula in list(formulas(section)):
            entry = known.get(normal(formula.astext()))
            if entry is None or entry.row in here:
                continue
            here.add(entry.row)
            classes = ["ab-symbol"] if entry.row not in seen else ["ab-symbol", "ab-again"]
            seen.add(entry.row)
            formula.replace_self(
                nodes.reference(
                    "",
                    "",
                    formula.deepcopy(),
                    refuri=f"{app.builder.get_relative_uri(page, NOTATION)}#{entry.row}",
                    reftitle=name(formula.astext()),
                    internal=True,
                    classes=classes,
                )
            )


def entries(app: Any, chapter: int) -> dict[str, Entry]:
    """By symbol, what it means in a chapter."""
    book = app.env.get_doctree(NOTATION)
    rows = (
        Entry(key, number, boxed, exact, row["ids"][0])
        for row, keys, number, boxed in explaining(book)
        for key, exact in keys.items()
        if (number == chapter if boxed else number <= chapter)
    )
    return {entry.key: entry for entry in sorted(rows, key=rank)}


def rank(entry: Entry) -> tuple[bool, int, bool]:
    """What comes later counts more: a chapter's own box, then the latest chapter."""
    return entry.boxed, entry.chapter, entry.exact


def name(formula: str) -> str:
    """A symbol as it is called where it cannot be seen; its accents are words."""
    return readable(ACCENT.sub(r"\2{} \1", formula))


def sections(document: nodes.document) -> Iterator[nodes.Element]:
    """The chapter's sections of the first rank; what stands before them is not looked at."""
    for section in document.findall(nodes.section):
        if isinstance(section.parent, nodes.section) and isinstance(section.parent.parent, nodes.document):
            yield section


def formulas(section: nodes.Element) -> Iterator[nodes.math]:
    """The formulas in running text, outside links, titles, tables and folds."""
    for formula in section.findall(nodes.math):
        above = formula.parent
        while above is not section:
            if isinstance(above, SILENT) or FOLDS & set(above.get("classes", ())):
                break
            above = above.parent
        else:
            yield formula


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", fill)
    app.connect("doctree-read", name_rows)
    app.connect("doctree-resolved", link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
