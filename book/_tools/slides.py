"""Make slides of the built book, one deck a part: `make slides`.

A slide is what a chapter shows: the headings, the numbered statements, the figures with their captions. They
are taken from the pages in _build/html as they stand, so that figures move in a deck as on their page, by the
same script, from the same site. reveal.js turns the slides; it lies beside MathJax in `_static`.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag

BOOK = Path(__file__).resolve().parents[1]
SITE = BOOK.parent / "_build" / "html"
DECKS = "slides"  # a folder of the site

LEFT_OUT = {"exercises", "check-yourself", "where-this-is-in-the-code", "notes-and-sources"}
STATEMENTS = ", ".join(
    f"div.proof.{kind}"
    for kind in ("definition", "theorem", "lemma", "corollary", "proposition", "algorithm")
)
FIGURES = "figure.ab-explorable, figure.ab-figure, div.ab-picture"
STYLES = (
    "theme",
    "pydata",
    "pygments",
    "sphinx-book-theme",
    "mystnb",
    "proof",
    "book",
    "figures",
    "controls",
)
COUNTED = re.compile(
    r"(?<![0-9a-f])0{24}[0-9a-f]{8}(?![0-9a-f])"
)  # the name of a widget, counted anew in each chapter
ELSEWHERE = re.compile(r"^(?!https?:|#|data:|mailto:)")


class NoBook(Exception):
    """There is nothing to make slides of."""


@dataclass(frozen=True)
class Part:
    """A part of the book: its caption, and its chapters' names."""

    caption: str
    chapters: tuple[str, ...]

    @property
    def deck(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.caption.lower()).strip("-")


def main() -> int:
    try:
        decks = [write(part, SITE) for part in parts()]
    except NoBook as error:
        print(f"slides: {error}", file=sys.stderr)
        return 1
    for deck in decks:
        print(f"slides: {deck.relative_to(BOOK.parent)}")
    print(
        "`make serve` shows them: add /slides/NAME.html to its address. F is full screen, ESC the overview."
    )
    return 0


def parts(toc: Path = BOOK / "_toc.yml") -> list[Part]:
    """The numbered parts of the book, in order."""
    contents = yaml.safe_load(toc.read_text(encoding="utf-8"))["parts"]
    return [
        Part(part["caption"], tuple(chapter["file"] for chapter in part["chapters"]))
        for part in contents
        if part.get("numbered")
    ]


def write(part: Part, site: Path) -> Path:
    """Write the deck of a part, and say where it is.

    Args:
        part: the part.
        site: the built book.

    Raises:
        NoBook: where one of its pages is missing.
    """
    pages = [site / f"{chapter}.html" for chapter in part.chapters]
    for page in pages:
        if not page.is_file():
            raise NoBook(f"{page.name} is not there; run `make book` first")
    if not (site / "_static" / "reveal" / "reveal.js").is_file():
        raise NoBook("_static/reveal is not there; run `make book` again")
    chapters = [read(page, number) for number, page in enumerate(pages, start=1)]
    body = "\n".join(["".join(cover(part, chapters)), *("".join(slides(chapter)) for chapter in chapters)])
    deck = site / DECKS / f"{part.deck}.html"
    deck.parent.mkdir(exist_ok=True)
    deck.write_text(document(part.caption, head(chapters[0]), body), encoding="utf-8")
    return deck


# ----------------------------------------------------------------------------------------- reading


def read(page: Path, number: int) -> BeautifulSoup:
    """A page whose widgets have names of their own in the deck, and whose addresses lead out of it."""
    text = COUNTED.sub(lambda name: f"{number:02d}" + name[0][2:], page.read_text(encoding="utf-8"))
    soup = BeautifulSoup(text, "html.parser")
    for attribute in ("href", "src"):
        for tag in soup.find_all(attrs={attribute: ELSEWHERE}):
            tag[attribute] = f"../{tag[attribute]}"
    for link in soup.select("a.headerlink, .cell_input, noscript"):
        link.decompose()
    for link in soup.select("a[href]"):
        link["target"] = "_blank"
        if link["href"].startswith("#"):
            link["href"] = f"../{page.name}{link['href']}"
    return soup


def head(page: BeautifulSoup) -> str:
    """The styles and scripts of a page that its figures and formulas need."""
    styles = [
        tag for tag in page.select("head link[rel=stylesheet]") if any(s in tag["href"] for s in STYLES)
    ]
    scripts = [
        tag
        for tag in page.select("head script")
        if any(name in tag.get("src", "") for name in ("mathjax/", "figures.js", "js/book.js"))
        or "window.MathJax" in tag.get_text()
    ]
    return "\n".join(map(str, [*styles, *scripts]))


# ----------------------------------------------------------------------------------------- slides


def cover(part: Part, chapters: list[BeautifulSoup]) -> Iterator[str]:
    """The first slide of a deck."""
    titles = "".join(f"<li>{title(chapter)}</li>" for chapter in chapters)
    yield slide("cover", f"<h1>{html.escape(part.caption)}</h1><ul>{titles}</ul><p>Only the Total</p>")


def title(chapter: BeautifulSoup) -> str:
    heading = chapter.select_one("article h1")
    return heading.decode_contents() if heading else ""


def slides(chapter: BeautifulSoup) -> Iterator[str]:
    """The slides of a chapter: its question, what it teaches, and what each section shows."""
    opening = chapter.select_one("article h1 ~ p")
    yield slide("opening", f"<h1>{title(chapter)}</h1>{opening or ''}")
    learned = chapter.select_one("article .admonition.tip ul")
    if learned:
        yield slide("text", f"<h2>What you will learn</h2>{learned}")
    for section in chapter.select("article section > section"):
        if section.find_parent(class_="proof") is None and section.get("id") not in LEFT_OUT:
            yield from slides_of(section)


def slides_of(section: Tag) -> Iterator[str]:
    """A slide for each statement and each figure of a section; its first paragraph where there is neither."""
    heading = section.find("h2", recursive=False)
    if heading is None:
        return
    shown = section.select(f"{STATEMENTS}, {FIGURES}")
    # A figure in a figure, or in a statement, is shown with it.
    outermost = [tag for tag in shown if not any(other in tag.parents for other in shown)]
    for tag in outermost:
        for inner in tag.select("section"):
            inner.name = "div"  # to reveal.js a section in a section is a slide
        yield slide("figure" if tag.select_one("svg, img") else "text", f"{heading}{tag}{behind(tag)}")
    if not outermost:
        paragraph = section.find("p")
        yield slide("text", f"{heading}{paragraph or ''}")


def behind(figure: Tag) -> str:
    """The scripts that stand behind a moving figure: the state of its widgets, and what wakes it."""
    scripts = []
    for sibling in figure.next_siblings:
        if isinstance(sibling, Tag) and sibling.name != "script":
            break
        if isinstance(sibling, Tag):
            scripts.append(str(sibling))
    return "".join(scripts)


def slide(kind: str, content: str) -> str:
    return f'<section class="ab-slide-{kind}">{content}</section>\n'


def document(caption: str, head: str, body: str) -> str:
    """The page of a deck."""
    name = html.escape(caption)
    return f"""<!DOCTYPE html>
<html lang="en" data-mode="light" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name} — Only the Total</title>
<link rel="icon" href="../_static/favicon.svg">
{head}
<link rel="stylesheet" href="../_static/reveal/reveal.css">
<link rel="stylesheet" href="../_static/css/slides.css">
</head>
<body class="ab-deck">
<main class="reveal"><article class="slides">
{body}</article></main>
<script src="../_static/reveal/reveal.js"></script>
<script src="../_static/js/deck.js"></script>
</body>
</html>
"""


if __name__ == "__main__":
    sys.exit(main())
