"""Slides: what a chapter shows, each on a slide of its own, with its widgets and its addresses intact."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

TOOLS = Path(__file__).resolve().parents[2] / "book" / "_tools"
sys.path.insert(0, str(TOOLS))
import slides  # noqa: E402  (the path is set just above)

WIDGET = "00000000000000000000000000000003"
PAGE = f"""<!DOCTYPE html><html><head>
<link rel="stylesheet" href="_static/css/figures.css"><link rel="stylesheet" href="_static/togglebutton.css">
<script src="_static/js/figures.js"></script><script src="_static/togglebutton.js"></script></head>
<body><article><section id="one"><h1>1. One<a class="headerlink" href="#one">#</a></h1><p><em>Why?</em></p>
<div class="admonition tip"><p>What you will learn</p><ul><li>this</li></ul></div>
<section id="a-figure"><h2>1.1. A figure</h2><p>Prose.</p><div class="cell_input">code</div>
<figure class="ab-explorable"><div data-model="{WIDGET}"><svg></svg></div></figure>
<script type="x">{{"IPY_MODEL_{WIDGET}": "a < b"}}</script><script>figures.wake()</script></section>
<section id="a-theorem"><h2>1.2. A theorem</h2><p>Prose.</p>
<div class="proof theorem admonition"><section><p>So it is, <a href="#one">says one</a>.</p></section></div>
<div class="proof admonition"><p>Because.</p></div></section>
<section id="words"><h2>1.3. Words</h2><p>Only <a href="two.html">words</a>.</p></section>
<section id="exercises"><h2>1.4. Exercises</h2><p>Try.</p></section></section></article></body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "_static" / "reveal").mkdir(parents=True)
    (tmp_path / "_static" / "reveal" / "reveal.js").write_text("")
    for name in ("one", "two"):
        (tmp_path / f"{name}.html").write_text(PAGE, encoding="utf-8")
    return tmp_path


def deck(site: Path) -> BeautifulSoup:
    path = slides.write(slides.Part("The setting", ("one", "two")), site)
    assert path == site / "slides" / "the-setting.html"
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_what_is_shown_is_on_a_slide_of_its_own(site: Path) -> None:
    pages = deck(site).select(".slides > section")
    headings = [page.find(["h1", "h2"]).get_text() for page in pages]
    chapter = ["1. One", "What you will learn", "1.1. A figure", "1.2. A theorem", "1.3. Words"]
    assert headings == ["The setting", *chapter, *chapter]
    assert not any(page.find("section") for page in pages)  # to reveal.js that would be a slide below
    text = " ".join(page.get_text(" ") for page in pages)
    assert "So it is" in text
    assert not re.search("Because|code|Try", text)


def test_widgets_of_two_chapters_stay_apart(site: Path) -> None:
    """Names are counted anew in each chapter; in a deck they are not the same, and states go with figures."""
    names = [tag["data-model"] for tag in deck(site).select("[data-model]")]
    assert len(set(names)) == 2
    text = str(deck(site))
    assert all(f'"IPY_MODEL_{name}": "a < b"' in text for name in names)
    assert WIDGET not in text


def test_addresses_lead_out_of_the_folder(site: Path) -> None:
    found = deck(site)
    own = ("../_static/", "../one.html", "../two.html")
    assert all(tag["src"].startswith(own) for tag in found.select("[src]"))
    assert all(tag["href"].startswith(own) for tag in found.select("[href]"))
    assert not found.select("[src*=togglebutton], [href*=togglebutton]")


def test_without_a_book_there_are_no_slides(site: Path) -> None:
    (site / "two.html").unlink()
    with pytest.raises(slides.NoBook, match=r"two\.html is not there; run `make book` first"):
        deck(site)


def test_parts_are_those_of_the_book() -> None:
    names = [part.deck for part in slides.parts()]
    assert names == ["the-setting", "the-geometry", "the-game", "the-reduction", "what-happens"]
    chapters = [chapter for part in slides.parts() for chapter in part.chapters]
    assert {path.stem for path in slides.BOOK.glob("[0-9][0-9]-*.ipynb")} <= set(chapters)
