"""What a page can draw of saved widgets, on a page of its own that is opened from the disk."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets as widgets
import pytest
from ipywidgets.embed import embed_data
from playwright.sync_api import Browser, Page, expect

from aggbandit import figures

BOOK = Path(__file__).resolve().parents[2] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
import moving_figures  # noqa: E402  (the path is set just above)

PAGE = """<!DOCTYPE html><html class="ab-script"><head><meta charset="utf-8"><title>figures</title>
<link rel="stylesheet" href="{assets}/css/controls.css"><script src="{assets}/js/figures.js"></script></head>
<body>{body}</body></html>"""
VIEW = '<script type="application/vnd.jupyter.widget-view+json">{"model_id": "%s"}</script>'

MODULE = """
let started = 0;
export default {
  initialize({ model }) { started += 1; model.set("started", started); },
  render({ model, el }) {
    const button = document.createElement("button");
    const show = () => { button.textContent = `${model.get("count")} of ${model.get("data").top}`; };
    button.addEventListener("click", () => {
      model.set("count", model.get("count") + 1);
      model.save_changes();
    });
    model.on("change:count", show);
    model.on("change", () => { el.dataset.changes = Number(el.dataset.changes ?? 0) + 1; });
    show();
    el.append(button);
  },
};
"""


def page_of(saved: dict[str, Any], names: list[str]) -> str:
    """The page that a chapter with these widgets gets."""
    script = SimpleNamespace(
        attributes={"type": moving_figures.STATE, "body": json.dumps({"state": saved})}, filename=None
    )
    context = {"script_files": [script], "body": "".join(VIEW % name for name in names)}
    moving_figures.fill(None, "chapter", "page.html", context, None)
    assert context["script_files"] == []
    return PAGE.format(assets=(BOOK / "_assets").as_uri(), body=context["body"])


def state_of(*shown: widgets.Widget) -> tuple[dict[str, Any], list[str]]:
    data = embed_data(views=shown, drop_defaults=False)
    return data["manager_state"]["state"], [widget.model_id for widget in shown]


@pytest.fixture
def visitor(browser: Browser, tmp_path: Path):
    """Opens a page from the disk; whatever it complains of fails the test."""
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def open_page(html: str) -> Page:
        (tmp_path / "page.html").write_text(html)
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    page.close()
    assert errors == []


def bar(p: float, side: str = "left") -> str:
    return f'<svg viewBox="0 0 100 10"><rect width="{100 * p:g}" height="10" class="{side}"/></svg>'


def explorable(play: str | None = None, **values: Any) -> figures.Explorable:
    spoken = ", ".join(f"{name} {{{name}}}" for name in values)
    caption = "A bar of length $p$."
    return figures.explorable(bar, caption=caption, alt=spoken, start={"p": 0.5}, play=play, **values)


def test_two_figures_move_apart_from_each_other(visitor) -> None:
    first, second = explorable(p=[0, 0.5, 1], side=["left", "right"]), explorable(p=[0.25, 0.5])
    page = visitor(page_of(*state_of(first.widget, second.widget)))
    spoken = page.locator(".ab-stage .ab-frame")
    page.get_by_role("slider", name="p").press("ArrowRight")
    page.get_by_role("button", name="right").click()
    assert [frame.get_attribute("aria-label") for frame in spoken.all()] == ["p 1, side right", "p 0.5"]
    expect(page.locator(".ab-said").first).to_have_text("p 1, side right")
    page.get_by_role("button", name="left").click()
    expect(spoken.first).to_have_attribute("aria-label", "p 1, side left")
    page.get_by_role("button", name="reset: p").click()
    page.get_by_role("button", name="0.25").click()
    assert [frame.get_attribute("aria-label") for frame in spoken.all()] == ["p 0.5, side left", "p 0.25"]
    assert page.locator("[id]").evaluate_all("all => all.length === new Set(all.map(one => one.id)).size")


def test_a_slider_that_was_moved_while_it_slept_is_followed(visitor) -> None:
    html = page_of(*state_of(explorable(p=[0, 0.5, 1]).widget))
    early = "<script>document.querySelector('.ab-track').value = 2</script><script type="
    page = visitor(html.replace("<script type=", early, 1))
    assert page.locator(".ab-stage .ab-frame").get_attribute("aria-label") == "p 1"


HEARD = """said => {
    window.heard = [];
    new MutationObserver(() => heard.push(said.textContent)).observe(said, { childList: true });
}"""


def test_time_plays_to_its_end_and_is_told_there(visitor) -> None:
    shown = explorable(p=[0, 0.25, 0.5, 0.75, 1], side=["left", "right"], play="p")
    page = visitor(page_of(*state_of(shown.widget)))
    button = page.get_by_role("button", name="play: p")
    spoken = page.locator(".ab-stage .ab-frame")
    said = page.locator(".ab-said")
    said.evaluate(HEARD)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(said).to_have_text("p 1, side left")
    assert page.evaluate("heard") == ["p 1, side left"]
    button.click()  # from the end it begins again
    expect(spoken).to_have_attribute("aria-label", "p 0, side left")
    page.get_by_role("slider", name="p").press("ArrowRight")  # whoever takes the slider has it
    expect(button).to_have_attribute("aria-pressed", "false")


def test_nothing_plays_where_motion_is_not_wanted(visitor) -> None:
    shown = explorable(p=[0, 0.25, 0.5, 0.75, 1], play="p")
    page = visitor(page_of(*state_of(shown.widget)))
    page.emulate_media(reduced_motion="reduce")
    expect(page.locator(".ab-play")).to_be_hidden()
    page.get_by_role("button", name="one step forward").click()
    expect(page.locator(".ab-stage .ab-frame")).to_have_attribute("aria-label", "p 0.75")


def module(name: str, **state: Any) -> dict[str, Any]:
    """The state of a widget of anywidget."""
    own = {"_esm": MODULE, "_css": "button { color: rgb(1, 2, 3) }", "_anywidget_id": "x.Y", "layout": None}
    return {
        name: {
            "model_name": "AnyModel",
            "model_module": "anywidget",
            "model_module_version": "~0.11.*",
            "state": {**own, **state},
        }
    }


def test_modules_draw_themselves_in_place_of_their_stills(visitor) -> None:
    first = module("a", count=3, data={"top": 9}, still=bar(0.3))
    page = visitor(page_of({**first, **module("b", count=5, data={"top": 7})}, ["a", "b"]))
    buttons = page.locator(".ab-module button")
    expect(buttons).to_have_text(["3 of 9", "5 of 7"])
    assert page.locator(".ab-module svg").count() == 0
    buttons.first.click()
    expect(buttons).to_have_text(["4 of 9", "5 of 7"])
    assert page.locator(".ab-module > div").first.get_attribute("data-changes") == "1"
    assert buttons.first.evaluate("one => getComputedStyle(one).color") == "rgb(1, 2, 3)"
    assert page.evaluate("() => document.querySelectorAll('[data-awake=drawn]').length") == 2


BROKEN = {
    "import": "throw new Error('broken')",
    "syntax": "export default {",
    "nothing": "export const render = 1",
    "initialize": "export default { initialize() { throw new Error('broken') }, render() {} }",
    "render": "export default { render({ el }) { el.append('half'); throw new Error('broken') } }",
    "later": "export default { async render({ el }) { el.append('half'); await 0; throw Error('broken') } }",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_module_that_fails_leaves_its_still_and_a_sentence(broken, visitor) -> None:
    first = module("a", _esm=broken, still=bar(0.3))
    page = visitor(page_of({**first, **module("b", count=5, data={"top": 7})}, ["a", "b"]))
    expect(page.locator(".ab-module .ab-missing")).to_contain_text("does not move here")
    assert page.locator("[data-awake=still] svg").count() == 1
    assert "half" not in page.locator("[data-awake=still]").inner_text()
    expect(page.locator(".ab-module button")).to_have_text("5 of 7")


def test_a_module_keeps_its_still_in_the_page_alone() -> None:
    html = page_of(module("a", count=3, data={"top": 9}, still=bar(0.3)), ["a"])
    assert html.count(bar(0.3)) == 1
    assert html.count("viewBox") == 1


@pytest.mark.parametrize(
    ("widget", "named"),
    [
        (widgets.FloatSlider(), "FloatSliderModel"),
        (widgets.Button(description="ask"), "a ButtonModel that asks Python"),
        (widgets.Stack([widgets.FloatSlider()]), "FloatSliderModel in a StackModel"),
        (widgets.VBox([widgets.HTML("x"), widgets.IntText()]), "IntTextModel"),
    ],
    ids=["slider", "button", "stack", "inside"],
)
def test_a_widget_that_no_page_can_draw_is_named(widget, named, caplog, monkeypatch, visitor) -> None:
    said: list[str] = []
    monkeypatch.setattr(moving_figures.logger, "warning", lambda text, *words, **_: said.append(text % words))
    page = visitor(page_of(*state_of(widget)))
    assert [sentence for sentence in said if named in sentence]
    assert re.search(f"Here stands a widget .{named}.", page.locator(".ab-missing").inner_text())
