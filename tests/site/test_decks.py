"""The decks of slides, in a browser: every slide holds what is on it, and its figures move."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page

from conftest import LIMIT, SITE, TESTS, Visit

sys.path.insert(0, str(TESTS.parent / "book" / "_tools"))
import slides

PROJECTOR = {"width": 1280, "height": 720}
MAX_TRANSFER = 3_000_000
PARTS = [
    pytest.param(part, marks=pytest.mark.xdist_group(part.deck), id=part.deck) for part in slides.parts()
]

# What does not fit on the slide, and the pictures that are not there.
FAULTS = """() => {
    const slide = Reveal.getCurrentSlide();
    const found = [...slide.querySelectorAll("img")]
        .filter((picture) => !(picture.complete && picture.naturalWidth))
        .map((picture) => `no picture ${picture.src}`);
    if (slide.scrollHeight > slide.clientHeight + 1) found.push("too tall");
    if (slide.scrollWidth > slide.clientWidth + 1) found.push("too wide");
    const frame = slide.getBoundingClientRect();
    if (frame.left < 0 || frame.top < 0 || frame.right > innerWidth || frame.bottom > innerHeight)
        found.push("out of the window");
    for (const caption of slide.querySelectorAll(".ab-slide-figure > figure > figcaption:not(.ab-said)")) {
        const size = parseFloat(getComputedStyle(caption).fontSize) * Reveal.getScale();
        if (size < 18) found.push("small caption");
        const [picture, said] = getComputedStyle(caption.parentNode).gridTemplateColumns.split(" ");
        if (Math.abs(parseFloat(picture) / (parseFloat(picture) + parseFloat(said)) - 0.6) > 0.02)
            found.push("the picture has not three fifths");
    }
    return found;
}"""


@dataclass
class Deck:
    """A deck in the browser.

    Attributes:
        part: of the book.
        visit: its page, and what it asked for and complained of.
    """

    part: slides.Part
    visit: Visit

    @property
    def page(self) -> Page:
        return self.visit.page

    @property
    def number(self) -> int:
        """Which slide is shown, from 0."""
        return int(self.page.evaluate("Reveal.getIndices().h"))

    @property
    def total(self) -> int:
        return int(self.page.evaluate("Reveal.getTotalSlides()"))

    def turn_all(self) -> Iterator[Locator]:
        """Each slide, one after the other, turned by the key."""
        self.page.evaluate("Reveal.slide(0)")
        for number in range(self.total):
            assert self.number == number
            yield self.page.locator("section.present")
            self.page.evaluate("document.activeElement.blur()")
            self.page.keyboard.press("ArrowRight")


@pytest.fixture(scope="module", params=PARTS)
def deck(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Deck]:
    """A deck made of the site as it is, on a projector, by somebody whose system is dark."""
    part = request.param
    slides.write(part, SITE)
    context = browser.new_context(viewport=PROJECTOR, color_scheme="dark")
    context.set_default_timeout(LIMIT)
    visit = Visit(context.new_page())
    visit.listen()
    visit.page.goto(f"{server}/{slides.DECKS}/{part.deck}.html", wait_until="load")
    visit.page.wait_for_function("window.Reveal && Reveal.isReady()")
    visit.settle()
    yield Deck(part, visit)
    context.close()


def test_every_slide_holds_what_is_on_it(deck: Deck) -> None:
    text = (SITE / slides.DECKS / f"{deck.part.deck}.html").read_text(encoding="utf-8")
    assert deck.total == text.count('<section class="ab-slide-')
    assert deck.page.locator("section.ab-slide-cover li").count() == len(deck.part.chapters)
    assert deck.page.locator("section.ab-slide-opening").count() == len(deck.part.chapters)
    for slide in deck.turn_all():
        assert deck.page.evaluate(FAULTS) == [], f"slide {deck.number}: {slide.inner_text()[:80]}"


@pytest.mark.parametrize("control", [".ab-track", ".ab-forward"])
def test_the_keys_of_a_remote_control_turn_the_slide_whatever_has_the_focus(deck: Deck, control: str) -> None:
    row = deck.page.locator("section.ab-slide-figure .ab-row:has(.ab-track)").first
    home, before = int(row.evaluate(SLIDE_OF)), row.locator(".ab-track").input_value()
    for key, step in (("PageDown", 1), ("PageUp", -1), ("Space", 1), ("Shift+Space", -1)):
        deck.page.evaluate(f"Reveal.slide({home})")
        row.locator(control).focus()
        deck.page.keyboard.press(key)
        assert deck.number == home + step, key
        assert row.locator(".ab-track").input_value() == before, key


def test_escape_lets_a_control_go(deck: Deck) -> None:
    track = deck.page.locator("section.ab-slide-figure .ab-track").first
    home = int(track.evaluate(SLIDE_OF))
    deck.page.evaluate(f"Reveal.slide({home})")
    track.focus()
    deck.page.keyboard.press("Escape")
    assert deck.page.evaluate("document.activeElement === document.body")
    assert not deck.page.evaluate("Reveal.isOverview()")
    deck.page.keyboard.press("ArrowRight")
    assert deck.number == home + 1


SLIDE_OF = "one => Reveal.getSlides().indexOf(one.closest('section'))"


def test_figures_move_by_click_and_by_key(deck: Deck) -> None:
    for slide in deck.turn_all():
        number = deck.number
        for row in slide.locator(".ab-explorable .ab-row").all():
            before = shown(row)
            press(row, deck.page)
            after = shown(row)
            assert before != after, f"slide {number}: no key moves {row.inner_text()!r}"
            click(row)
            assert shown(row) != after, f"slide {number}: no click moves {row.inner_text()!r}"
        for handle in slide.locator(".ab-module[data-awake=drawn] svg [role=slider]").all():
            before = handle.evaluate(MODULE)
            handle.focus()
            deck.page.keyboard.press("ArrowLeft")
            deck.page.keyboard.press("ArrowUp")
            assert handle.evaluate(MODULE) != before, f"slide {number}: no key moves a handle"
        assert deck.number == number, "a key for a figure has turned the slide"


SHOWN = "one => one.closest('.ab-explorable').querySelector('.ab-stage .ab-frame').outerHTML"
MODULE = "one => one.closest('.ab-module').innerHTML"


def shown(row: Locator) -> str:
    return str(row.evaluate(SHOWN))


def press(row: Locator, page: Page) -> None:
    """Move a control with an arrow key, away from its end."""
    track = row.locator(".ab-track")
    if track.count():
        track.focus()
        at_end = track.input_value() == track.get_attribute("max")
    else:
        buttons = row.locator(".ab-choices button")
        at_end = buttons.last.get_attribute("aria-pressed") == "true"
        row.locator(".ab-choices [aria-pressed=true]").focus()
    page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")


def click(row: Locator) -> None:
    """Move a control with the mouse, away from its end."""
    track = row.locator(".ab-track")
    if track.count():
        at_end = track.input_value() == track.get_attribute("max")
        row.locator(".ab-back" if at_end else ".ab-forward").click()
    else:
        row.locator(".ab-choices [aria-pressed=false]").first.click()


def test_a_deck_is_quiet_light_and_asks_for_nothing_elsewhere(deck: Deck, server: str) -> None:
    """After all of its slides have been seen and moved by the tests above."""
    visit = deck.visit
    assert visit.errors == []
    assert visit.failures == []
    assert [url for url in visit.requests if not url.startswith((f"{server}/", "data:", "blob:"))] == []
    files = {unquote(urlsplit(url).path).lstrip("/") for url in visit.requests if url.startswith(server)}
    assert sum(len(gzip.compress((SITE / file).read_bytes(), 6)) for file in files) < MAX_TRANSFER
    background = deck.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert all(int(part) > 230 for part in background.removeprefix("rgb(").removesuffix(")").split(","))
