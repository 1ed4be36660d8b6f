"""The built site on 127.0.0.1, and a Chromium that can reach nothing else."""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Response, sync_playwright

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
import browser as browsers  # noqa: E402  (the path is set just above)

SITE = TESTS.parent / "_build" / "html"
LIMIT = 120_000  # milliseconds after which a page is taken to hang, on a machine that is busy
NARROW = {"width": 360, "height": 800}
WIDE = {"width": 1280, "height": 900}


def pages() -> list[str]:
    """Every page of the book, largest first: not the theme's, nor the notebook application and slides."""
    found = (path.relative_to(SITE) for path in SITE.rglob("*.html"))
    book = sorted(
        str(page)
        for page in found
        if page.parts[0] not in ("lite", "slides") and not page.parts[0].startswith("_")
    )
    return sorted(book, key=tags, reverse=True)


def tags(page: str) -> int:
    """How many tags a page has: what it takes to look at it grows with them."""
    return (SITE / page).read_bytes().count(b"<")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that visits pages on all of them, one page after the other, each on one worker."""
    if "address" in metafunc.fixturenames:
        if not (SITE / "index.html").is_file():
            raise pytest.UsageError(f"there is no site in {SITE}; run `make book` first")
        addresses = [pytest.param(page, marks=pytest.mark.xdist_group(page)) for page in pages()]
        metafunc.parametrize("address", addresses, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    """What visits no page of its own stays with its file on one worker, so that its set-up is done once."""
    if item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that visit few pages first, then page by page: the smallest last, so that no worker waits."""
    items.sort(key=lambda item: "address" in getattr(item, "fixturenames", ()))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: the tests read what the browser asked for."""


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The site's address, on a free port."""
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: the system's, or the one that Playwright installed. None at all is an error."""
    path = browsers.find()
    assert path, browsers.ADVICE
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=browsers.FLAGS)
        yield running
        running.close()


# How far a page's contents moved by themselves, as the browser's own measure of layout shift counts it.
SHIFT = """window.shift = 0;
new PerformanceObserver(list => list.getEntries().forEach(one => { window.shift += one.value; }))
    .observe({ type: "layout-shift", buffered: true });"""


@dataclass
class Visit:
    """A page in the browser, and all that it asked for and complained of since it was opened.

    Attributes:
        shift: How much its contents moved by themselves until all was there.
    """

    page: Page
    shift: float = 0.0
    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failures.append(request.url))
        self.page.on("response", self.note_response)
        self.page.on("console", self.note_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def note_response(self, response: Response) -> None:
        if response.status >= 400:
            self.failures.append(f"{response.status} {response.url}")

    def note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def settle(self) -> None:
        """Wait until the mathematics is typeset and every moving figure is awake."""
        self.page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
        asleep = ".ab-explorable [data-model]:not([data-awake]), "
        asleep += ".ab-module:not([data-awake=drawn], [data-awake=still])"
        self.page.wait_for_function("asleep => !document.querySelector(asleep)", arg=asleep)


@pytest.fixture(scope="session")
def visit(address: str, browser: Browser, server: str) -> Iterator[Visit]:
    """The page at `address`, opened once for all tests, in a wide window and the light theme."""
    context = browser.new_context(viewport=WIDE, color_scheme="light")
    context.set_default_timeout(LIMIT)
    visit = Visit(context.new_page())
    visit.listen()
    visit.page.add_init_script(SHIFT)
    visit.page.goto(f"{server}/{address}", wait_until="load")
    visit.settle()
    visit.shift = visit.page.evaluate("window.shift")
    yield visit
    context.close()


@pytest.fixture
def plain_page(address: str, browser: Browser, server: str) -> Iterator[Page]:
    """The page at `address` in a browser without JavaScript."""
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    context.set_default_timeout(LIMIT)
    page = context.new_page()
    page.goto(f"{server}/{address}", wait_until="load")
    yield page
    context.close()
