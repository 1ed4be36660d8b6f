"""Run every chapter once more and compare twice: by nbval, and what nbval does not look at.

nbval runs the cells of a chapter, and each cell is a test: it raises nothing and shows the committed text.
The kernel's messages about widgets, which nbval leaves aside, are kept meanwhile. When the last cell has run,
one more test of the chapter compares everything that it shows, every picture by its pixels and every frame of
the moving figures.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from comparison import code, differences
from nbclient import NotebookClient
from nbval.plugin import IPyNbCell, IPyNbFile


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Iterator[None]:
    """With `--nbval`, a notebook is a `Chapter` where nbval alone would make it an `IPyNbFile`."""
    files = yield
    return [Chapter.from_parent(parent, path=file_path) if isinstance(f, IPyNbFile) else f for f in files]


class Chapter(IPyNbFile):
    """A notebook run by nbval that keeps what its widgets say, and is compared as a whole at its end."""

    def collect(self) -> Iterator[pytest.Item]:
        self.cells: list[IPyNbCell] = list(super().collect())
        yield from self.cells
        yield Whole.from_parent(self, name="Pictures and widgets")

    def setup(self) -> None:
        super().setup()
        self.widgets = NotebookClient(nbformat.v4.new_notebook(), store_widget_state=True)

    def get_kernel_message(self, timeout: float | None = None, stream: str = "iopub") -> dict[str, Any]:
        message = super().get_kernel_message(timeout, stream)
        if message["msg_type"].startswith("comm"):
            self.widgets.handle_comm_msg([], message, 0)
        return message

    def shown(self) -> nbformat.NotebookNode:
        """The chapter with what this run showed.

        nbval asks the kernel not to count cells, so a result gets the number of its cell; that the committed
        cells are numbered from top to bottom is tested in test_hygiene.py.
        """
        notebook = copy.deepcopy(self.nb)
        for number, (cell, run) in enumerate(zip(code(notebook), self.cells, strict=True), start=1):
            cell.outputs = copy.deepcopy(run.test_outputs)
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
        self.widgets.nb = notebook
        notebook.metadata.pop("widgets", None)
        self.widgets.set_widgets_metadata()
        return notebook


class Whole(pytest.Item):
    """The test that a chapter, all of its cells run, shows what is committed."""

    def runtest(self) -> None:
        unrun = [cell.name for cell in self.parent.cells if cell.test_outputs is None]
        if unrun:
            pytest.fail(f"{self.path.name}: {unrun[0]} was not run", pytrace=False)
        found = differences(self.parent.nb, self.parent.shown())
        if found:
            lines = [f"{self.path.name} is stale; run `make execute`:", *found[:20]]
            pytest.fail("\n".join(lines), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.name}"
