"""A real JupyterLab on 127.0.0.1 with a copy of the book, and a Chromium that can reach nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import nbformat.v4 as nbf
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

TESTS = Path(__file__).resolve().parents[1]
BOOK = TESTS.parent / "book"
sys.path[:0] = [str(TESTS), str(BOOK / "_tools")]
from execute import chapters_of_the_book, execute_all  # noqa: E402

import browser as browsers  # noqa: E402  (the path is set just above)

LIMIT = 240_000
CHAPTERS = [chapter.name for chapter in chapters_of_the_book()]

# One more chapter of the copy, small, and executed on this machine to the last byte.
EMPTY = "*Your answer:* (select this cell and press Enter to write; Shift+Enter when done)"
OWN = "a-chapter.ipynb"

# Frames that take their time: nobody who runs the cell and moves the slider finds them all drawn.
MOVES = """
import time
from aggbandit import figures

def draw(p):
    time.sleep(0.2)
    fig, ax = figures.axes(height=2)
    ax.bar([0, 1], [p, 1 - p])
    return fig

figures.explorable(
    draw, p=[k / 20 for k in range(21)], start={"p": 0.5}, play="p",
    caption="Two bars.", alt="Two bars, the left at {p}.",
)
"""
DRAGS = """
import numpy as np
from aggbandit.figures.chapters import ch04

figures.draggable(
    "thales", **ch04.guessing(np.array([0.9, 0.4]), angle=75), caption="Drag $u$ round its circle."
)
"""
# And a cell that binds anew a name of the first, whose frames are not all drawn by then.
PRINTS = "time = None\nprint(sorted({'a', 'b'}), list({'a', 'b', 'c'}))"

# The notebook that is shown. Lab keeps others in the page, hidden.
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden)"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests with an argument `name` run once for every notebook of the book, one notebook after the other."""
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", CHAPTERS, ids=[Path(name).stem for name in CHAPTERS], scope="module")


@dataclass
class Lab:
    """A JupyterLab that runs, with a page in which it is open.

    Attributes:
        page: The page.
        book: The folder of the chapters that it shows, a copy.
    """

    page: Page
    book: Path

    def open(self, name: str) -> None:
        """Open a notebook and wait until all of its text is rendered and its kernel is at rest."""
        self.command("docmanager:open", path=name)
        self.wait_for(name)

    def wait_for(self, name: str) -> None:
        """Wait until a notebook is shown, with all of its text rendered, and its kernel is at rest."""
        cells = json.loads((self.book / name).read_text(encoding="utf-8"))["cells"]
        texts = sum(cell["cell_type"] == "markdown" and bool(cell["source"]) for cell in cells)
        self.page.wait_for_function(
            """([name, shown, texts]) => {
              const current = jupyterapp.shell.currentWidget;
              const rendered = document.querySelectorAll(`${shown} .jp-MarkdownCell .myst`);
              const kernel = current?.sessionContext?.session?.kernel;
              return current?.context?.path === name && rendered.length >= texts &&
                kernel?.connectionStatus === "connected" && kernel.status === "idle";
            }""",
            arg=[name, SHOWN, texts],
        )

    def command(self, name: str, **arguments: Any) -> None:
        """One of Lab's commands, as from its palette; back when it is done."""
        self.page.evaluate(
            "([name, arguments]) => jupyterapp.commands.execute(name, arguments).then(() => null)",
            [name, arguments],
        )

    def run(self) -> None:
        """Run all cells of the notebook that is shown, and wait until the last has run."""
        self.command("notebook:clear-all-cell-outputs")
        self.command("notebook:run-all-cells")
        self.page.wait_for_function(
            """() => jupyterapp.shell.currentWidget.content.widgets
              .every(cell => cell.model.type !== "code" || cell.model.executionCount)"""
        )

    def close(self) -> None:
        """Put away what is open, saved or not, and end its kernels."""
        self.page.evaluate(
            """() => {
              [...jupyterapp.shell.widgets("main")].forEach(widget => widget.dispose());
              return jupyterapp.serviceManager.sessions.shutdownAll();
            }"""
        )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium: the system's, or the one that Playwright installed. None at all is an error."""
    path = browsers.find()
    assert path, browsers.ADVICE
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=browsers.FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as `make lab` starts it, on a copy of the book, with nobody's settings."""
    folder = tmp_path_factory.mktemp("lab")
    book = folder / "book"
    shutil.copytree(BOOK, book, ignore=shutil.ignore_patterns("node_modules", ".ipynb_checkpoints"))
    add_a_chapter(book)
    own = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    environment |= {f"JUPYTER_{name}": str(folder / path) for name, path in own.items()}
    environment |= {f"JUPYTERLAB_{name}_DIR": str(folder / name) for name in ("SETTINGS", "WORKSPACES")}
    command = [sys.executable, str(book / "_tools" / "lab.py"), "--no-browser", "--ip=127.0.0.1", "--port=0"]
    command += ["--allow-root", "--expose-app-in-browser"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(LIMIT)
        page = context.new_page()
        page.goto(address(server, folder / "runtime", folder / "log"))
        page.wait_for_function("window.jupyterapp")
        page.evaluate("jupyterapp.restored.then(() => null)")
        lab = Lab(page, book)
        lab.wait_for("index.ipynb")  # where nothing was open, the front page is
        lab.close()
        yield lab
        context.close()
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="session")
def committed(lab: Lab) -> bytes:
    """Our own chapter, as it was written at the start."""
    return (lab.book / OWN).read_bytes()


@pytest.fixture
def chapter(lab: Lab, committed: bytes) -> Iterator[Path]:
    """Our own chapter, as at the start whatever the test before it saved, open in Lab."""
    path = lab.book / OWN
    path.write_bytes(committed)
    lab.open(OWN)
    yield path
    lab.close()


def add_a_chapter(book: Path) -> None:
    """Write our own chapter, its outputs as `make execute` leaves them, and list it with the others."""
    title = nbf.new_markdown_cell("# A chapter", id="chapter")
    answer = nbf.new_markdown_cell(EMPTY, id="answer")
    code = [nbf.new_code_cell(text, id=f"code-{i}") for i, text in enumerate((MOVES, DRAGS, PRINTS))]
    nbformat.write(nbf.new_notebook(cells=[title, *code, answer]), book / OWN)
    (outcome,) = execute_all([(book / OWN, book / OWN)], report=lambda outcome: None)
    assert outcome.error is None, outcome.error
    with (book / "_toc.yml").open("a") as contents:
        contents.write(f"  - caption: More\n    chapters:\n      - file: {Path(OWN).stem}\n")


def address(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Where Lab is to be found: its server writes it down, and answers there a moment later."""
    while server.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            written = file.read_text(encoding="utf-8")
            said = json.loads(written) if written else {}
            if said and answers(f"{said['url']}api"):
                return f"{said['url']}lab?token={said['token']}"
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}", pytrace=False)


def answers(url: str) -> bool:
    """Whether a server can be reached."""
    try:
        with urllib.request.urlopen(url):
            return True
    except urllib.error.URLError:
        return False
