"""Every page of the book in a real browser: nothing from elsewhere, no error, light, readable by all."""

from __future__ import annotations

import functools
import gzip
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from accessibility import complaints

from conftest import NARROW, SITE, WIDE, Visit

MAX_HTML = 1_500_000
MAX_TRANSFER = 3_000_000

# Pictures that are wider than the card they are on.
STICKING_OUT = """() => [...document.querySelectorAll(".ab-frame")].filter(frame => {
    const inner = frame.getBoundingClientRect();
    const card = frame.closest(".ab-explorable, .ab-figure").getBoundingClientRect();
    return inner.left < card.left || inner.right > card.right;
}).map(frame => frame.alt)"""


@functools.cache
def compressed(file: str) -> int:
    """Bytes of a file of the site as hosts send it; most pages ask for the same ones."""
    return len(gzip.compress((SITE / file).read_bytes(), compresslevel=6))


def test_nothing_from_elsewhere_and_light(address: str, visit: Visit, server: str) -> None:
    local = (f"{server}/", "data:", "blob:")
    assert [url for url in visit.requests if not url.startswith(local)] == []
    files = {unquote(urlsplit(url).path).lstrip("/") for url in visit.requests if url.startswith(server)}
    transfer = sum(compressed(file) for file in files)
    assert (SITE / address).stat().st_size < MAX_HTML
    assert transfer < MAX_TRANSFER


def test_every_picture_says_what_it_shows(visit: Visit) -> None:
    silent = visit.page.eval_on_selector_all(
        "img, [role=img]:not([aria-hidden=true])",
        """all => all
            .filter(one => !["alt", "aria-label", "aria-labelledby"].some(name => one.getAttribute(name)))
            .map(one => one.outerHTML.slice(0, 200))""",
    )
    assert silent == []


def test_every_formula_is_there_for_screen_readers(visit: Visit) -> None:
    """Beside the drawn formula, which is hidden from them, stands its MathML."""
    silent = visit.page.eval_on_selector_all(
        "mjx-container",
        """all => all
            .filter(one => !one.querySelector("mjx-assistive-mml > math")?.textContent.trim())
            .map(one => one.parentElement.textContent)""",
    )
    assert silent == []


@pytest.mark.parametrize(
    ("theme", "window", "only"),
    [
        ("light", WIDE, []),
        ("light", NARROW, ["scrollable-region-focusable", "aria-hidden-focus", "button-name", "link-name"]),
        ("dark", WIDE, ["color-contrast"]),
    ],
    ids=["wide", "narrow", "dark"],
)
def test_is_accessible_and_fits(visit: Visit, theme: str, window: Any, only: list[str]) -> None:
    """No rule of axe is left out; narrow and dark, those are checked that width and colors can change."""
    page = visit.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size(window)
    page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=theme)
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, f"{overflow} pixels stick out of a window {window['width']} wide"
    assert page.evaluate(STICKING_OUT) == []
    assert complaints(page, only) == []


def test_no_error_and_no_failed_request(visit: Visit) -> None:
    """Last, when everything has been moved: nothing went wrong."""
    assert visit.failures == []
    assert visit.errors == []


# Folds open; then the formulas in a line that something cuts off, by how much the page scrolls sideways, and
# the formulas that are stops of the Tab key without need.
CUT = """() => {
    document.querySelectorAll("article details").forEach(fold => { fold.open = true; });
    document.querySelectorAll(".toggle-hidden").forEach(fold => fold.classList.remove("toggle-hidden"));
    window.dispatchEvent(new Event("resize"));
    const cut = [];
    for (const glyphs of document.querySelectorAll("article span.math mjx-container")) {
        const { right, width } = glyphs.getBoundingClientRect();
        for (let box = glyphs.parentElement; width && box.matches("article *"); box = box.parentElement) {
            const style = getComputedStyle(box);
            if (style.display === "inline") continue;
            if (/auto|scroll/.test(style.overflowX)) break;
            if (style.overflowX !== "visible" && right > box.getBoundingClientRect().right + 1) {
                cut.push(glyphs.parentElement.textContent);
                break;
            }
        }
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    const stops = [...document.querySelectorAll("article :is(mjx-container, span.math)[tabindex='0']")];
    const idle = stops.filter(stop => stop.scrollWidth <= stop.clientWidth + 1).map(stop => stop.textContent);
    return [cut, Math.max(0, scrollWidth - clientWidth), idle];
}"""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_formula_is_cut_and_only_those_that_scroll_are_stops(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    try:
        assert visit.page.evaluate(CUT) == [[], 0, []]
    finally:
        visit.page.set_viewport_size(WIDE)
