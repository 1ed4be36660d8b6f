"""What a link leads to is shown beside it, and a symbol says what it means: by mouse and by keys, offline."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from accessibility import complaints
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Locator, Page, expect

from conftest import NARROW, SITE, TESTS, WIDE

sys.path.insert(0, str(TESTS.parent / "book" / "_ext"))
import symbols

CHAPTER = "08-increasing-rates.html"
PATIENCE = 120_000  # milliseconds, on a busy machine
expect.set_options(timeout=PATIENCE)

PREVIEW = "#ab-preview.ab-shown"


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    """A chapter, opened from the disk, with its mathematics typeset and its folds open."""
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((SITE / CHAPTER).as_uri(), wait_until="load")
    page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
    page.evaluate("MathJax.startup.promise")
    page.evaluate("document.querySelectorAll('article details').forEach(fold => { fold.open = true; })")
    yield page
    context.close()


@pytest.fixture
def chapter(opened: Page) -> Page:
    """The chapter with nothing pointed at, and nothing shown."""
    opened.mouse.move(3, 3)
    opened.keyboard.press("Escape")
    expect(opened.locator(PREVIEW)).to_have_count(0)
    return opened


def visible(page: Page, link: str) -> Locator:
    return page.locator(f"article p a{link}").locator("visible=true").first


def point(page: Page, link: Locator) -> None:
    """Move the mouse onto the first line of a link."""
    link.evaluate("a => a.scrollIntoView({block: 'center'})")
    x, y = link.evaluate(
        "a => { const box = a.getClientRects()[0]; return [box.x + box.width / 2, box.y + box.height / 2]; }"
    )
    page.mouse.move(x, y)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("[href*='#thm-']", r"^Theorem \d+\.\d+ .+\n"),
        ("[href*='#def-']", r"^Definition \d+\.\d+ .+\n"),
        ("[href*='#ex-']", r"^Exercise \d+\.\d+ .+\n"),
        ("[href*='#equation-']:not(.headerlink)", r"\(\d+\.\d+\)"),
        ("[href*='bibliography.html#']", r"\d{4}\b"),
        ("[href='04-one-point-estimator.html']", r"^4\. One number, a whole vector\n"),
        (".ab-symbol", r"notation, chapter \d+$"),
    ],
)
def test_pointing_at_a_link_shows_what_it_leads_to(chapter: Page, link: str, words: str) -> None:
    point(chapter, visible(chapter, link))
    shown = chapter.locator(PREVIEW)
    expect(shown).to_have_role("tooltip")
    expect(shown).to_have_text(re.compile(".+"))
    assert re.search(words, shown.inner_text().strip())
    left, right, top, bottom = shown.evaluate(
        "box => { const b = box.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; }"
    )
    assert left >= 0
    assert top >= 0
    assert right <= WIDE["width"]
    assert bottom <= WIDE["height"]
    assert shown.evaluate("box => box.querySelectorAll('.math:not(:has(mjx-container))').length") == 0


def test_one_can_move_onto_a_preview_and_away_from_it(chapter: Page) -> None:
    point(chapter, visible(chapter, "[href*='#thm-']"))
    shown = chapter.locator(PREVIEW)
    expect(shown).to_be_visible()
    box = shown.bounding_box()
    chapter.mouse.move(box["x"] + 20, box["y"] + 20, steps=3)
    chapter.wait_for_timeout(400)  # longer than it takes to go
    expect(shown).to_be_visible()
    chapter.mouse.move(3, 3)
    expect(shown).to_have_count(0)


def test_keys_show_a_preview_and_escape_closes_it(chapter: Page) -> None:
    symbol = visible(chapter, ".ab-symbol:not(.ab-again)")
    chapter.keyboard.press("Shift")  # so that the page knows that keys are in use
    symbol.focus()
    shown = chapter.locator(PREVIEW)
    expect(shown).to_be_visible()
    expect(symbol).to_have_attribute("aria-describedby", "ab-preview")
    # The page as a whole is looked at elsewhere (test_site.py).
    assert complaints(chapter, within=["#ab-preview", "article p"]) == []
    chapter.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    expect(symbol).to_be_focused()
    assert symbol.get_attribute("aria-describedby") is None


def test_on_a_touch_screen_a_link_is_a_link(browser: Browser) -> None:
    with browser.new_context(has_touch=True, is_mobile=True, viewport=NARROW) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto((SITE / CHAPTER).as_uri(), wait_until="domcontentloaded")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        visible(page, ".ab-symbol").tap()
        page.wait_for_url("**/notation.html#symbol-*", wait_until="commit")
        assert not [url for url in asked if "/previews/" in url]


def test_a_symbol_is_one_stop_a_page(chapter: Page) -> None:
    stops = chapter.eval_on_selector_all(
        "a.ab-symbol", "all => all.filter(a => a.tabIndex >= 0).map(a => a.hash)"
    )
    assert len(stops) > 8
    assert max(Counter(stops).values()) == 1


def test_every_preview_exists_that_a_symbol_asks_for() -> None:
    file = (SITE / "_static" / "previews" / "notation.html.js").read_text(encoding="utf-8")
    rows = json.loads(file.partition(" = ")[2].rstrip(";\n"))
    chapters = [page.read_text(encoding="utf-8") for page in SITE.glob("[01]*.html")]
    links = [link for text in chapters for link in re.findall(r"notation\.html#(symbol-[^\"]+)", text)]
    assert len(links) > 200
    assert set(links) <= set(rows)


def test_the_notation_page_has_every_row_of_every_box() -> None:
    """And no letter is in a box twice, so that each has one meaning in a chapter."""
    boxes = symbols.boxes(TESTS.parent / "book")
    assert set(boxes) >= {7, 8, 9, 10, 11}
    page = (SITE / "notation.html").read_text(encoding="utf-8")
    table = BeautifulSoup(page, "html.parser").select_one("table.symbols-by-chapter tbody")
    rows = Counter(row.find_all("td")[-1].get_text(strip=True) for row in table.find_all("tr"))
    assert rows == {str(chapter): len(box) for chapter, box in boxes.items()}
    for chapter, box in boxes.items():
        formulas = [formula for symbol, _ in box for formula in re.findall(r"\$([^$]+)\$", symbol)]
        keys = Counter(key for formula in formulas for key, exact in symbols.symbols_in(formula) if exact)
        assert [key for key, times in keys.items() if times > 1] == [], f"chapter {chapter}"
