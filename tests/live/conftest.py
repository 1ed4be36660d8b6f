"""The built book in a subfolder of 127.0.0.1, and a Chromium that can reach nothing else.

The server is the plain one of Python, without special headers, as on any host of static pages.
"""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Frame,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path[:0] = [str(TESTS), str(ROOT / "book" / "_tools")]
from live_contents import live_chapters  # noqa: E402

import browser as browsers  # noqa: E402  (the paths are set just above)

SITE = ROOT / "_build" / "html"
FOLDER = "/a/folder"
LIMIT = 600_000  # milliseconds after which a page is taken to hang, on a machine that is busy
CELL_LIMIT = 1_800_000  # and one cell; the longest takes about two minutes on a machine that is not
CHOSEN = ("01-only-the-total", "04-one-point-estimator")
HOSTS = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", f"--host-resolver-rules={HOSTS}"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-chapter", action="store_true", help="run every chapter, not only two of them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "once: what is the same in every chapter is tried in the first")
    expect.set_options(timeout=LIMIT)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chapter" in metafunc.fixturenames:
        chapters = list(CHOSEN)
        if metafunc.definition.get_closest_marker("once"):
            chapters = chapters[:1]
        elif metafunc.config.getoption("--every-chapter"):
            others = [chapter.stem for chapter in live_chapters() if chapter.stem != chapters[0]]
            chapters = [chapters[0], *others]
        metafunc.parametrize("chapter", chapters, scope="module")


class Plain(http.server.SimpleHTTPRequestHandler):
    """Python's server, with the book in a folder."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(FOLDER) if path.startswith(FOLDER) else "/nothing")

    def log_message(self, *_: object) -> None:
        """Say nothing: the tests read what the browser asked for."""


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The book's address, on a free port."""
    if not (SITE / "lite" / "run.html").is_file():
        raise pytest.UsageError(f"there are no live notebooks in {SITE}; `make book` says why")
    handler = functools.partial(Plain, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}{FOLDER}"
        running.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: the system's, or the one that Playwright installed. None at all is an error."""
    path = browsers.find()
    assert path, browsers.ADVICE
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that knows nothing of the book yet."""
    fresh = browser.new_context(viewport={"width": 1280, "height": 900})
    fresh.set_default_timeout(LIMIT)
    yield fresh
    fresh.close()


# What the notebook in the frame looks like: outputs of its cells, and how many of them wait or run.
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === "code")
    .map(cell => ({
        waits: /\\*/.test(cell.promptNode?.textContent || ""),
        source: cell.model.sharedModel.getSource(),
        outputs: cell.model.outputs.toJSON(),
    }))"""
ADD = """source => {
    const { content } = window.jupyterapp.shell.currentWidget;
    const shared = content.model.sharedModel;
    shared.insertCell(shared.cells.length, { cell_type: "code", source });
    content.activeCellIndex = shared.cells.length - 1;
}"""


@dataclass
class Wire:
    """What a browser asked for, from the moment at which one listens.

    Attributes:
        requests: Every address that was asked for, also by Python.
        failures: What was asked for in vain.
    """

    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, context: BrowserContext) -> Wire:
        wire = cls()
        context.on("request", lambda request: wire.requests.append(request.url))
        context.on("requestfailed", wire.note_failure)
        context.on("response", wire.note_response)
        return wire

    def note_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page itself gave it up, by a reload
            self.failures.append(request.url)

    def note_response(self, response: Response) -> None:
        if response.status >= 400:
            self.failures.append(f"{response.status} {response.url}")


@dataclass
class Notebook:
    """A chapter in the browser as a reader has it, and what went over the wire for it."""

    page: Page
    wire: Wire | None = None

    @property
    def frame(self) -> Frame:
        frame = self.page.query_selector("#notebook").content_frame()
        assert frame
        return frame

    def opened(self) -> None:
        """Wait until the chapter can be read and changed."""
        self.page.wait_for_selector("#download:enabled")
        self.frame.wait_for_function("jupyterapp.shell.currentWidget.content.widgets.length > 1")

    def ready(self) -> None:
        """Wait until Python is there and has nothing to do."""
        self.page.wait_for_selector("#status:text-matches('^Python is ready')")

    def cells(self) -> list[dict[str, Any]]:
        return self.frame.evaluate(CELLS)

    def finish(self) -> None:
        """Wait until no cell waits or runs. A cell that takes longer than its limit is an error."""
        while waiting := sum(cell["waits"] for cell in self.cells()):
            self.frame.wait_for_function(
                f"waiting => ({CELLS})().filter(cell => cell.waits).length < waiting",
                arg=waiting,
                polling=500,
                timeout=CELL_LIMIT,
            )

    def command(self, name: str) -> None:
        """Have the application do something, and do not wait for it."""
        self.frame.evaluate("name => void jupyterapp.commands.execute(name)", name)

    def add(self, source: str) -> None:
        """Write a cell at the end, and select it."""
        self.frame.evaluate(ADD, source)

    def run_added(self) -> None:
        self.command("notebook:run-cell")


@pytest.fixture(scope="module")
def notebook(context: BrowserContext, server: str, chapter: str) -> Iterator[Notebook]:
    """A chapter, opened by the link on its page."""
    page = context.new_page()
    page.goto(f"{server}/{chapter}.html", wait_until="load")
    page.click(".ab-launch > summary")
    wire = Wire.of(context)
    with context.expect_page() as opening:
        page.click(".ab-launch-go")
    page.close()
    notebook = Notebook(opening.value, wire)
    notebook.opened()
    yield notebook
    notebook.page.close()
