"""Every page of the book in a real browser: nothing from elsewhere, no error, light, readable by all."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from conftest import NARROW, SITE, WIDE, Visit

MAX_HTML = 1_500_000
MAX_TRANSFER = 3_000_000
MAX_EXPLORABLE = 400_000

STATE = re.compile(r'<script type="application/vnd\.jupyter\.widget-state\+json">(.*?)</script>', re.DOTALL)
VIEW = "application/vnd.jupyter.widget-view+json"

# Pictures that are wider than the card they are on.
STICKING_OUT = """() => [...document.querySelectorAll(".ab-frame")].filter(frame => {
    const inner = frame.getBoundingClientRect();
    const card = frame.closest(".ab-explorable, .ab-figure").getBoundingClientRect();
    return inner.left < card.left || inner.right > card.right;
}).map(frame => frame.alt)"""


def test_nothing_from_elsewhere_and_light(address: str, visit: Visit, server: str) -> None:
    local = (f"{server}/", "data:", "blob:")
    assert [url for url in visit.requests if not url.startswith(local)] == []
    files = {unquote(urlsplit(url).path).lstrip("/") for url in visit.requests if url.startswith(server)}
    transfer = sum(len(gzip.compress((SITE / file).read_bytes(), compresslevel=6)) for file in files)
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


def test_moving_figures_move_by_keyboard_and_by_drag(visit: Visit) -> None:
    for figure in visit.page.locator(".ab-explorable").all():
        figure.scroll_into_view_if_needed()
        height = figure.bounding_box()["height"]
        for control in figure.locator(".ab-row").all():
            slides = control.locator(".noUi-handle").count() == 1
            moves = move_slider if slides else move_buttons
            for before, after in itertools.pairwise([shown(figure), *moves(visit.page, figure, control)]):
                assert before != after, f"{control.inner_text()!r} does not change the picture"
                assert figure.bounding_box()["height"] == pytest.approx(height, abs=0.6), "the page jumps"
    assert visit.errors == []


def shown(figure: Locator) -> str:
    """What the figure shows now: its picture and the picture's words."""
    return figure.locator(".ab-stage .ab-frame").evaluate("frame => frame.outerHTML")


def move_slider(page: Page, figure: Locator, control: Locator) -> Iterator[str]:
    """Press an arrow key, drag to the farther end, step back by the button; what is shown each time."""
    handle, readout = control.locator(".noUi-handle"), control.locator(".widget-readout")
    last = index(handle, "max")
    handle.focus()
    page.keyboard.press("ArrowLeft" if index(handle) == last else "ArrowRight")
    assert handle.get_attribute("aria-label") == control.locator(".widget-label").inner_text()
    assert handle.get_attribute("aria-valuetext") == readout.inner_text()
    yield shown(figure)

    up = index(handle) < last
    grip, rail = handle.bounding_box(), control.locator(".noUi-base").bounding_box()
    height = grip["y"] + grip["height"] / 2
    page.mouse.move(grip["x"] + grip["width"] / 2, height)
    page.mouse.down()
    page.mouse.move(rail["x"] + (rail["width"] + 9 if up else -9), height, steps=6)
    page.mouse.up()
    assert index(handle) == (last if up else 0)
    assert handle.get_attribute("aria-valuetext") == readout.inner_text()
    yield shown(figure)

    control.locator(".ab-back" if up else ".ab-forward").click()
    yield shown(figure)


def index(handle: Locator, which: str = "now") -> float:
    return float(handle.get_attribute(f"aria-value{which}"))


def move_buttons(page: Page, figure: Locator, control: Locator) -> Iterator[str]:
    """Press an arrow key on the chosen button, then click another; what is shown each time."""
    buttons = control.locator(".widget-toggle-button")
    pressed = [button.get_attribute("aria-pressed") for button in buttons.all()]
    assert pressed.count("true") == 1
    at, last = pressed.index("true"), len(pressed) - 1
    now = at - 1 if at == last else at + 1
    buttons.nth(at).focus()
    page.keyboard.press("ArrowLeft" if at == last else "ArrowRight")
    assert buttons.nth(now).get_attribute("aria-pressed") == "true"
    yield shown(figure)

    buttons.nth(last if now != last else 0).click()
    yield shown(figure)


def test_reset_brings_the_opening_frame_back(visit: Visit) -> None:
    """The figures have been moved by the test above; those with sliders alone can be reset."""
    visit.page.reload(wait_until="load")
    visit.settle()
    for figure in visit.page.locator(".ab-explorable").all():
        opening = shown(figure)
        for handle in figure.locator(".noUi-handle").all():
            handle.focus()
            visit.page.keyboard.press("Home" if index(handle) > 0 else "End")
        for button in figure.locator(".ab-reset").all():
            button.click()
        assert shown(figure) == opening


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
    """No rule of axe is left out; narrow and dark, those are checked that width and colors can change.

    Typeset formulas are not looked into: MathJax brings its own accessible copy, and their thousands of parts
    would take most of the time.
    """
    page = visit.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size(window)
    page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=theme)
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, f"{overflow} pixels stick out of a window {window['width']} wide"
    assert page.evaluate(STICKING_OUT) == []
    options = {"resultTypes": ["violations"], "preload": False, **({"runOnly": only} if only else {})}
    found = Axe().run(page, context={"exclude": [["mjx-container"]]}, options=options).response["violations"]
    complaints = [
        f"{rule['id']}: {node['html'][:200]} | {node['failureSummary'].splitlines()[-1].strip()}"
        for rule in found
        for node in rule["nodes"][:3]
    ]
    assert complaints == []


def test_moving_figures_are_light(address: str) -> None:
    for state in STATE.findall((SITE / address).read_text()):
        models = {name: model["state"] for name, model in json.loads(state)["state"].items()}
        for model in models.values():
            if "ab-explorable" in model.get("_dom_classes", []):
                assert sum(map(len, frames(model, models))) < MAX_EXPLORABLE


def frames(model: dict[str, Any], models: dict[str, Any]) -> Iterator[str]:
    """The HTML of all frames under a widget."""
    if model["_model_name"] == "HTMLModel":
        yield model["value"]
    for child in model.get("children", []):
        yield from frames(models[child.removeprefix("IPY_MODEL_")], models)


def test_without_script_a_page_shows_small_multiples(address: str, plain_page: Page) -> None:
    moving = (SITE / address).read_text().count(VIEW)
    figures = plain_page.locator(".ab-fallback")
    assert figures.count() == moving
    for figure in figures.all():
        assert figure.is_visible()
        assert figure.locator(".ab-frame").count() >= 2
        assert figure.locator("figcaption").inner_text().strip()


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
