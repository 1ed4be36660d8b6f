"""A chapter in the page: it runs to its end in the browser, and what the reader writes is safe there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ViewportSize, expect

from conftest import LIMIT, SITE, Notebook

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
STORED = """file => new Promise(resolve => {
    const opening = indexedDB.open("Only the Total");
    opening.onsuccess = () => {
        const get = opening.result.transaction("files").objectStore("files").get(file);
        get.onsuccess = () => resolve(JSON.stringify(get.result ?? null));
        opening.result.close();
    };
})"""


# Says that the copy was begun from another edition, and whether its text was changed.
AGE = """([chapter, edited]) =>
    localStorage.setItem(`Only the Total: ${chapter}`, JSON.stringify({ edition: "old", edited }))"""


# Whether the copy is known as edited; first says so, if told to.
NOTED = """([chapter, edited]) => {
    const key = `Only the Total: ${chapter}`;
    const known = JSON.parse(localStorage.getItem(key));
    if (edited !== null) localStorage.setItem(key, JSON.stringify({ ...known, edited }));
    return edited ?? known.edited;
}"""


# The picture of the figure that a slider belongs to, unless it is only being drawn.
PICTURE = """slider => {
    const figure = slider.closest(".ab-explorable");
    const pictures = [...figure.querySelectorAll("svg, img")];
    const wide = pictures.find(picture => picture.getBoundingClientRect().width > 200);
    return wide && !figure.innerText.includes("being drawn") ? wide.outerHTML : null;
}"""


SOURCES = "jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel.getSource())"


def errors(notebook: Notebook) -> list[str]:
    found = []
    for cell in notebook.cells():
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                found.append(f"{output['ename']}: {output['evalue']}\n  in {cell['source'][:80]!r}")
    return found


def remarks(notebook: Notebook) -> list[str]:
    """What stands on red, as an error does; not the word that a run is long, which depends on the machine."""
    outputs = [output for cell in notebook.cells() for output in cell["outputs"]]
    texts = ["".join(output["text"]) for output in outputs if output.get("name") == "stderr"]
    lines = [line for text in texts for line in text.splitlines()]
    return [line for line in lines if "episodes will take about" not in line]


def await_stored(notebook: Notebook, file: str, words: str) -> None:
    """Wait until the browser's storage holds a copy with the words."""
    while words not in notebook.page.evaluate(STORED, file):
        notebook.page.wait_for_timeout(500)


def test_every_cell_runs_to_its_end(notebook: Notebook) -> None:
    notebook.ready()
    notebook.page.click("#run")
    notebook.page.wait_for_selector("#status:text-is('Python is at work …')")
    notebook.finish()
    assert errors(notebook) == []
    assert remarks(notebook) == []


@pytest.mark.once
def test_a_slider_has_python_draw(notebook: Notebook) -> None:
    """The first slider of the chapter goes to its end; Python draws the picture of that place."""
    handle = notebook.frame.wait_for_selector(".ab-explorable .noUi-handle", state="attached")
    assert handle
    handle.evaluate("slider => slider.scrollIntoView({ block: 'center' })")
    before = notebook.frame.wait_for_function(PICTURE, arg=handle).json_value()
    handle.evaluate("slider => slider.focus()")
    notebook.page.keyboard.press("End")
    notebook.frame.wait_for_function(
        f"([slider, before]) => ![null, before].includes(({PICTURE})(slider))", arg=[handle, before]
    )
    assert float(handle.get_attribute("aria-valuenow")) == float(handle.get_attribute("aria-valuemax"))


def test_nothing_leaves_this_machine(notebook: Notebook) -> None:
    """Nor is anything asked for in vain, by the page or by Python."""
    assert notebook.wire
    asked = [address for address in notebook.wire.requests if not address.startswith(("data:", "blob:"))]
    assert [address for address in asked if not address.startswith("http://127.0.0.1:")] == []
    assert any(address.endswith(".wasm") for address in asked)
    assert notebook.wire.failures == []


# How light the notebook, its paper in a figure, and the bar above are: 0 is black, 1 is white.
LIGHTNESS = """() => {
    const inside = document.getElementById("notebook").contentDocument;
    const papers = [
        inside.querySelector(".jp-Notebook"),
        inside.querySelector(".jp-OutputArea svg.ab-wide"),
        document.body,
    ];
    return papers.map(paper => {
        const [red, green, blue] = getComputedStyle(paper).backgroundColor.match(/[0-9.]+/g).map(Number);
        return (red + green + blue) / 765;
    });
}"""


@pytest.mark.parametrize(("scheme", "least", "most"), [("light", 0.9, 1), ("dark", 0, 0.2)])
def test_the_notebook_and_its_figures_are_on_the_side_of_the_system(
    browser: Browser, server: str, scheme: Literal["light", "dark"], least: float, most: float
) -> None:
    page = browser.new_page(viewport=WIDE, color_scheme=scheme)
    page.set_default_timeout(LIMIT)
    page.goto(f"{server}/lite/run.html?chapter=01-only-the-total")
    notebook = Notebook(page)
    notebook.opened()
    notebook.frame.wait_for_selector(
        f"html[data-theme={scheme}] .jp-OutputArea svg.ab-wide", state="attached"
    )
    lightness = page.evaluate(LIGHTNESS)
    assert min(lightness) >= least
    assert max(lightness) <= most
    other = "dark" if scheme == "light" else "light"
    page.emulate_media(color_scheme=other)  # as at sunset
    notebook.frame.wait_for_selector(f"html[data-theme={other}]", state="attached")
    page.close()


FIRST_CELL = """() => {
    const cell = document.querySelector(".jp-Cell").getBoundingClientRect();
    return cell.top + frameElement.getBoundingClientRect().top;
}"""


@pytest.mark.once
def test_a_narrow_screen_is_for_the_chapter(notebook: Notebook) -> None:
    """What stands above the first cell, the bar and the application's own rows, is a fifth of the screen."""
    wide = notebook.page.viewport_size
    assert wide
    notebook.page.set_viewport_size(NARROW)
    notebook.frame.evaluate("document.querySelector('.jp-Cell').scrollIntoView({ block: 'end' })")
    assert notebook.frame.evaluate(FIRST_CELL) < NARROW["height"] / 5
    assert "Last Checkpoint" not in notebook.frame.inner_text("body")
    notebook.page.set_viewport_size(wide)


@pytest.mark.once
def test_a_loop_that_does_not_end_is_ended(notebook: Notebook) -> None:
    """The page stays, the text stays, and Python starts again."""
    notebook.add("kept = 1\nwhile True:\n    pass")
    notebook.run_added()
    notebook.page.wait_for_selector("#status:text-is('Python is at work …')")
    notebook.page.wait_for_timeout(1000)
    notebook.page.click("#stop")
    notebook.page.wait_for_selector("#status:text-is('Python is ready. Run the cells above again.')")
    notebook.add("6 * 7, 'kept' in globals()")
    notebook.run_added()
    notebook.frame.wait_for_selector("text=(42, False)")
    numbers = [cell["outputs"][0]["execution_count"] for cell in notebook.cells()[-1:]]
    assert numbers == [1]  # of the first cell that this Python runs
    assert "while True" in notebook.cells()[-2]["source"]


# What stands beside the formulas, where something does.
BESIDE = """() => [...document.querySelectorAll('.myst [title="Link to this Equation"]')]
    .filter(number => getComputedStyle(number).display !== "none").map(number => number.textContent)"""


@pytest.mark.once
def test_a_formula_has_the_number_of_its_page(notebook: Notebook) -> None:
    assert notebook.frame.evaluate(BESIDE) == ["(1.1)", "(1.2)"]


@pytest.mark.once
def test_a_link_to_another_chapter_opens_it_live(notebook: Notebook) -> None:
    """In a tab of its own: Python and its variables stay where they are."""
    link = notebook.frame.wait_for_selector("a:text-is('chapter 2')", state="attached")
    with notebook.page.context.expect_page() as opening:
        link.evaluate("link => link.click()")
    other = opening.value
    expect(other.locator("#read")).to_have_text("Occupancy measures")
    assert other.url.endswith("/lite/run.html?chapter=02-occupancy-measures")
    other.close()


@pytest.mark.once
def test_a_double_click_lets_one_write(notebook: Notebook) -> None:
    before = notebook.frame.evaluate(SOURCES)
    answer = next(i for i, source in enumerate(before) if source.startswith("*Your answer:*"))
    notebook.frame.locator(".jp-MarkdownCell .myst p", has_text="Your answer").first.dblclick()
    selected = "jupyterapp.shell.currentWidget.content.activeCell.editor?.getSelection().end.column > 70"
    notebook.frame.wait_for_function(selected)  # how to write: what one writes takes its place
    notebook.page.keyboard.type("x, a half")  # in command mode `x` cuts what is selected
    written = [*before[:answer], "*Your answer:* x, a half", *before[answer + 1 :]]
    assert notebook.frame.evaluate(SOURCES) == written


@pytest.mark.once
def test_what_was_written_is_saved_from_within_a_figure_and_known_as_mine(
    notebook: Notebook, chapter: str
) -> None:
    """By Ctrl+S, before the page itself would have saved it; a copy that was only run is given up one day."""
    notebook.ready()  # and saved, by the page, what was changed until then
    notebook.frame.wait_for_function("!jupyterapp.shell.currentWidget.content.model.dirty")
    notebook.page.evaluate(NOTED, [chapter, False])
    notebook.frame.locator(".ab-explorable .noUi-handle").first.focus()
    notebook.add("# by a key")
    notebook.frame.locator(".ab-explorable .noUi-handle").first.focus()
    notebook.page.keyboard.press("Control+s")
    notebook.frame.wait_for_function("!jupyterapp.shell.currentWidget.content.model.dirty")
    assert notebook.page.evaluate(NOTED, [chapter, None]) is True


@pytest.mark.once
def test_an_edited_copy_survives_a_reload(notebook: Notebook, chapter: str) -> None:
    notebook.add("# a line of my own")
    file = f"{chapter}.ipynb"
    await_stored(notebook, file, "line of my own")
    notebook.page.reload()
    notebook.opened()
    assert notebook.cells()[-1]["source"] == "# a line of my own"
    expect(notebook.page.locator("#news")).to_be_hidden()


@pytest.mark.once
def test_a_new_edition_spares_an_edited_copy_and_says_so(notebook: Notebook, chapter: str) -> None:
    notebook.page.evaluate(AGE, [chapter, True])
    notebook.page.reload()
    notebook.opened()
    expect(notebook.page.locator("#news")).to_be_visible()
    assert notebook.cells()[-1]["source"] == "# a line of my own"


@pytest.mark.once
def test_a_copy_can_be_downloaded(notebook: Notebook, chapter: str, tmp_path: Path) -> None:
    with notebook.page.expect_download() as started:
        notebook.page.click("#download")
    assert started.value.suggested_filename == f"{chapter}.ipynb"
    started.value.save_as(tmp_path / "mine.ipynb")
    cells = json.loads((tmp_path / "mine.ipynb").read_text())["cells"]
    assert "".join(cells[-1]["source"]) == "# a line of my own"


@pytest.mark.once
def test_the_way_back_asks_first(notebook: Notebook, chapter: str) -> None:
    served = json.loads((SITE / "lite" / "files" / f"{chapter}.ipynb").read_text())
    last = "".join([cell for cell in served["cells"] if cell["cell_type"] == "code"][-1]["source"])
    notebook.page.click("#original")
    notebook.page.click("#ask button[value=keep]")
    assert notebook.cells()[-1]["source"] == "# a line of my own"
    notebook.page.click("#original")
    notebook.page.click("#ask button[value=delete]")
    expect(notebook.page.locator("#news")).to_be_hidden()
    notebook.frame.wait_for_function(
        "last => jupyterapp.shell.currentWidget.content.widgets"
        ".filter(cell => cell.model.type === 'code').at(-1)?.model.sharedModel.getSource() === last",
        arg=last,
    )


@pytest.mark.once
def test_a_new_edition_replaces_a_copy_that_was_only_run(notebook: Notebook, chapter: str) -> None:
    notebook.command("docmanager:save")
    await_stored(notebook, f"{chapter}.ipynb", "cells")
    notebook.page.evaluate(AGE, [chapter, False])
    notebook.page.goto("about:blank")
    notebook.page.go_back()
    notebook.opened()
    expect(notebook.page.locator("#news")).to_be_hidden()
    kept = notebook.page.evaluate("chapter => localStorage.getItem(`Only the Total: ${chapter}`)", chapter)
    assert json.loads(kept)["edition"] != "old"


def test_from_the_disk_the_panel_says_what_to_do(browser: Browser) -> None:
    page = browser.new_page()
    page.goto((SITE / "01-only-the-total.html").as_uri(), wait_until="load")
    page.click(".ab-launch > summary")
    expect(page.locator(".ab-launch-go")).to_be_hidden()
    expect(page.get_by_text("make serve")).to_be_visible()
    page.close()


def test_a_chapter_that_is_not_there_is_named_as_such(browser: Browser, server: str) -> None:
    page = browser.new_page()
    page.goto(f"{server}/lite/run.html?chapter=12-nothing")
    expect(page.locator("#status")).to_have_text("There is no such chapter. Go back to the book.")
    page.close()


PLACE = "() => document.querySelector('main').getBoundingClientRect().top"
SAY = "words => { document.getElementById('status').textContent = words; }"
WORDS = ["Python is ready.", "Python is starting … 120 s", "Python is ready. Run the cells above again."]


@pytest.mark.parametrize(("view", "rows"), [(WIDE, 50), (NARROW, 90)], ids=["wide", "narrow"])
def test_the_bar_is_low_and_what_it_says_moves_nothing(
    browser: Browser, server: str, view: ViewportSize, rows: int
) -> None:
    page = browser.new_page(viewport=view)
    page.goto(f"{server}/lite/run.html?chapter=12-nothing")
    page.get_by_text("There is no such chapter").wait_for()
    page.evaluate("document.getElementById('read').textContent = 'The one-point estimator'")
    places = []
    for words in WORDS:
        page.evaluate(SAY, words)
        places.append(page.evaluate(PLACE))
    assert len(set(places)) == 1
    assert places[0] < rows
    assert page.evaluate("() => document.documentElement.scrollWidth") == view["width"]
    for name in ("Run all cells", "Stop Python", "Download my notebook", "Back to the original"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_bar_is_accessible(
    browser: Browser, server: str, view: ViewportSize, scheme: Literal["light", "dark"]
) -> None:
    """With all that it can show; the notebook application is not ours to judge."""
    page = browser.new_page(viewport=view, color_scheme=scheme)
    page.goto(f"{server}/lite/run.html?chapter=12-nothing")
    page.click("summary")
    page.evaluate("document.getElementById('news').hidden = false")
    assert Axe().run(page).response["violations"] == []
    page.evaluate("document.getElementById('ask').showModal()")
    assert Axe().run(page).response["violations"] == []
    page.close()


@pytest.mark.parametrize("opened", [False, True])
def test_the_panel_is_not_printed_and_fetches_nothing(browser: Browser, server: str, opened: bool) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server}/03-barriers.html", wait_until="load")
    if opened:
        page.click(".ab-launch > summary")
    assert [address for address in asked if "/lite/" in address] == []
    page.emulate_media(media="print")
    expect(page.locator(".ab-launch")).to_be_hidden()
    page.close()
