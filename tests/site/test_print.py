"""On paper: a page with its folds open and in the colors of paper, and the book as one PDF."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from pypdf import PdfReader
from pypdf.generic import IndirectObject

from conftest import SITE, TESTS, WIDE

sys.path.insert(0, str(TESTS.parent / "book" / "_tools"))
import pdf

CHAPTERS = ["notation.html", "08-increasing-rates.html", "bibliography.html"]

# What a page looks like when a printer asks for it: folds shut, what can be pressed and seen, colors.
ON_PAPER = """() => {
    const seen = part => part.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const all = selector => [...document.querySelectorAll(selector)];
    const pressed = part => part.getAttribute("aria-pressed") === "true";  // the chosen value of a control
    return {
        shut: all("article details:not([open])").length,
        hidden: all("article .toggle > :not(.admonition-title)").filter(part => !seen(part)).length,
        idle: all("button, input, .bd-sidebar-primary").filter(part => seen(part) && !pressed(part))
            .map(part => part.outerHTML.slice(0, 90)),
        values: all(".ab-row .ab-value").filter(seen).length,
        color: getComputedStyle(document.querySelector("article h2")).color,
        paper: getComputedStyle(document.documentElement).getPropertyValue("--ab-ink").trim(),
        uncut: all("article pre").filter(code => {  // code that cannot be cut where a page ends
            for (let part = code; part.tagName !== "ARTICLE"; part = part.parentElement) {
                if (getComputedStyle(part).breakInside === "avoid") return true;
            }
            return false;
        }).length,
        addresses: getComputedStyle(document.querySelector("article p a[href]"), "::after").content,
    };
}"""


def test_a_page_is_printed_with_its_folds_open_and_in_light_colors(browser: Browser) -> None:
    with browser.new_context(viewport=WIDE, color_scheme="dark") as context:
        page = context.new_page()
        page.set_default_timeout(120_000)  # milliseconds, on a busy machine
        page.goto((SITE / CHAPTERS[1]).as_uri(), wait_until="load")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        paper = page.evaluate(ON_PAPER)
        assert paper.pop("values") >= 2
        assert paper == {
            "shut": 0,
            "hidden": 0,
            "idle": [],
            "color": "rgb(0, 0, 0)",
            "paper": "#24272c",
            "uncut": 0,
            "addresses": "none",
        }
        page.emulate_media(media="screen")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.locator("article details[open]").count() == 0


@pytest.fixture(scope="module")
def printed(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    file = tmp_path_factory.mktemp("pdf") / "some.pdf"
    pdf.print_in(browser, pdf.pick(CHAPTERS), file)
    return PdfReader(file)


def test_the_pdf_has_an_outline_of_its_chapters_and_sections(printed: PdfReader) -> None:
    def titles(entries: list, depth: int = 0) -> list[tuple[int, str]]:
        return [
            found
            for entry in entries
            for found in (titles(entry, depth + 1) if isinstance(entry, list) else [(depth, entry.title)])
        ]

    outline = titles(printed.outline)
    assert [title for depth, title in outline if depth == 0] == [
        "Notation",
        "8. Step bigger when you are misled",
        "Bibliography",
    ]
    assert (1, "8.4. Algorithm 2") in outline
    assert printed.metadata.title == "Only the Total"


def test_every_link_in_the_pdf_leads_to_a_place_in_it_or_to_the_web(printed: PdfReader) -> None:
    places = printed.named_destinations
    inner = outer = 0
    for page in printed.pages:
        for reference in page.get("/Annots") or ():
            annotation = reference.get_object()
            action = annotation.get("/A")
            if action is not None and "/URI" in action:
                assert re.match(r"https?://", action["/URI"]), action["/URI"]
                outer += 1
            elif annotation.get("/Subtype") == "/Link":
                place = annotation["/Dest"] if "/Dest" in annotation else action["/D"]
                assert isinstance(place, (list, IndirectObject)) or str(place) in places, place
                inner += 1
    assert inner > 100
    assert outer > 20


def test_the_pdf_is_typeset_and_holds_what_was_folded(printed: PdfReader) -> None:
    texts = [page.extract_text() for page in printed.pages]
    text = "\n".join(texts)
    assert not re.search(r"\\[([]|\\(?:eta|ell|frac)\b", text)
    assert "Solution to Exercise 8.4" in text
    assert len(printed.pages) > 15
    sizes = [len(text) for text in texts[2:]]
    assert (
        sum(size < 150 and not page.images for size, page in zip(sizes, printed.pages[2:], strict=True)) <= 2
    )


def test_every_page_of_the_contents_is_in_the_book_once() -> None:
    pages = pdf.leaves()
    assert len({page.address for page in pages}) == len(pages) == len({page.name for page in pages})
    assert all((SITE / page.address).is_file() for page in pages)


def test_without_a_browser_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf.browsers, "find", lambda: None)
    complaint = pdf.write(pdf.pick(CHAPTERS), tmp_path / "none.pdf")
    assert complaint is not None
    assert "apt-get install chromium" in complaint
