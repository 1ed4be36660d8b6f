"""The moving figures of every page: there at once, light, moved by keys and by touch, told in words."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from conftest import SITE, Visit

MAX_EXPLORABLE = 400_000
STATE = re.compile(r'<script type="application/vnd\.jupyter\.widget-state\+json">(.*?)</script>', re.DOTALL)


def test_moving_figures_move_by_keyboard_and_by_drag(visit: Visit) -> None:
    for figure in visit.page.locator(".ab-explorable").all():
        figure.scroll_into_view_if_needed()
        height = figure.bounding_box()["height"]
        for control in figure.locator(".ab-row").all():
            slides = control.locator(".ab-track").count() == 1
            moves = move_slider if slides else move_buttons
            for before, after in itertools.pairwise([shown(figure), *moves(visit.page, control)]):
                assert before != after, f"{control.inner_text()!r} does not change the picture"
                assert figure.bounding_box()["height"] == pytest.approx(height, abs=0.6), "the page jumps"
        if figure.locator(".ab-stage").count():
            expect(figure.locator(".ab-said")).to_have_text(words(figure))
    assert visit.errors == []


def shown(moved: Locator) -> str:
    """What the figure that holds this shows now: its picture and the picture's words."""
    return moved.evaluate(
        "one => one.closest('.ab-explorable').querySelector('.ab-stage .ab-frame').outerHTML"
    )


def words(figure: Locator) -> str:
    """The alternative text of the picture that a figure shows, as a browser writes it."""
    frame = figure.locator(".ab-stage .ab-frame")
    return " ".join((frame.get_attribute("alt") or frame.get_attribute("aria-label")).split())


def move_slider(page: Page, control: Locator) -> Iterator[str]:
    """Press an arrow key, drag to the farther end, step back by the button; what is shown each time."""
    handle, readout = control.locator(".ab-track"), control.locator(".ab-value")
    last = int(handle.get_attribute("max"))
    handle.focus()
    page.keyboard.press("ArrowLeft" if index(handle) == last else "ArrowRight")
    assert handle.get_attribute("aria-valuetext") == readout.inner_text()
    yield shown(control)

    up = index(handle) < last
    rail = handle.bounding_box()
    height, half, free = rail["y"] + rail["height"] / 2, 11, rail["width"] - 22
    page.mouse.move(rail["x"] + half + free * index(handle) / last, height)
    page.mouse.down()
    page.mouse.move(rail["x"] + (rail["width"] + 9 if up else -9), height, steps=6)
    page.mouse.up()
    assert index(handle) == (last if up else 0)
    assert handle.get_attribute("aria-valuetext") == readout.inner_text()
    yield shown(control)

    control.locator(".ab-back" if up else ".ab-forward").click()
    yield shown(control)


def index(handle: Locator) -> int:
    return int(handle.input_value())


def move_buttons(page: Page, control: Locator) -> Iterator[str]:
    """Press an arrow key on the chosen button, then click another; what is shown each time."""
    buttons = control.locator(".ab-choices button")
    pressed = [button.get_attribute("aria-pressed") for button in buttons.all()]
    assert pressed.count("true") == 1
    at, last = pressed.index("true"), len(pressed) - 1
    now = at - 1 if at == last else at + 1
    buttons.nth(at).focus()
    page.keyboard.press("ArrowLeft" if at == last else "ArrowRight")
    assert buttons.nth(now).get_attribute("aria-pressed") == "true"
    yield shown(control)

    buttons.nth(last if now != last else 0).click()
    yield shown(control)


def test_reset_brings_the_opening_frame_back(visit: Visit) -> None:
    """The figures have been moved by the test above; those with sliders alone can be reset."""
    if not visit.page.locator(".ab-explorable, .ab-module").count():
        return  # nothing has been moved
    visit.page.reload(wait_until="load")
    visit.settle()
    for figure in visit.page.locator(".ab-explorable:has(.ab-reset)").all():
        opening = shown(figure)
        for handle in figure.locator(".ab-track").all():
            handle.focus()
            visit.page.keyboard.press("Home" if index(handle) > 0 else "End")
        for button in figure.locator(".ab-reset").all():
            button.click()
        assert shown(figure) == opening


def test_moving_figures_are_light(address: str) -> None:
    for state in STATE.findall((SITE / address).read_text()):
        models = json.loads(state)["state"].values()
        values = [model["state"].get("value") for model in models]
        assert sum(len(value) for value in values if isinstance(value, str)) < MAX_EXPLORABLE


def test_without_script_more_frames_stand_below_each_first_one(
    address: str, request: pytest.FixtureRequest
) -> None:
    if not re.search("ab-controls|ab-explorable", (SITE / address).read_text()):
        return  # without script a page is what is in its file
    plain_page: Page = request.getfixturevalue("plain_page")
    assert plain_page.locator(".ab-controls:visible").count() == 0
    for figure in plain_page.locator(".ab-explorable").all():
        assert figure.locator(".ab-frame").first.is_visible()
        assert figure.locator("figcaption").last.inner_text().strip()
        for more in figure.locator(".ab-multiples > figure").all():
            assert more.locator(".ab-frame").is_visible()
            assert ": " in more.locator("figcaption").inner_text()
