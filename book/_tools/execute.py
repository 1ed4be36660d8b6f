"""Run chapters from nothing and keep what they show; the same chapter gives the same bytes every time.

`execute.py` runs every chapter of book/_toc.yml in place, `execute.py book/name.ipynb` the ones named. A
chapter is written back only after its last cell has run: an error leaves the notebook as it was.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from settle import KERNELSPEC, settle

TOOLS = Path(__file__).resolve().parent
BOOK = TOOLS.parent
CELL_LIMIT = 900  # seconds after which a cell is taken to hang; on a fresh clone one of them compiles
CHAPTER_LIMIT = 60  # seconds of one processor a chapter should take; above it, a remark
PROCESSES = 2

# Two runs of a kernel with these variables do the same thing: no random hashes, no date in a picture, and one
# thread for linear algebra, since the order of a sum decides its last digits.
DETERMINISTIC = {
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}

# Start-up files of those kernels.
STARTUP = ("counted_ids.py", "silent_log.py")


@dataclass(frozen=True)
class Outcome:
    """What came of one chapter: seconds by the clock and of the processor, or what stopped it."""

    chapter: Path
    seconds: float
    processor: float  # what a chapter costs: it depends little on what else is running
    error: str | None = None

    def line(self) -> str:
        if self.error:
            return f"{shown(self.chapter)}  {self.error}"
        slow = "; too long for a chapter" if self.processor > CHAPTER_LIMIT else ""
        return f"{shown(self.chapter)}  {self.seconds:.1f} s ({self.processor:.1f} s of a processor{slow})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", type=Path, help="notebooks to run (default: the whole book)")
    named = parser.parse_args().chapters
    missing = [chapter for chapter in named if not chapter.is_file()]
    if missing:
        print(f"execute: there is no {missing[0]}", file=sys.stderr)
        return 1
    chapters = [chapter.resolve() for chapter in named] or list(chapters_of_the_book())
    outcomes = execute_all(((chapter, chapter) for chapter in chapters), report)
    return 1 if any(outcome.error for outcome in outcomes) else 0


def report(outcome: Outcome) -> None:
    """One line a chapter; an error says that the notebook was not touched."""
    if outcome.error:
        print(f"execute: {outcome.line()}; the notebook is left as it was", file=sys.stderr, flush=True)
    else:
        print(outcome.line(), flush=True)


def chapters_of_the_book() -> Iterator[Path]:
    """The notebooks that _toc.yml lists, in its order."""

    def files(entry: dict[str, object]) -> Iterator[str]:
        for key in ("root", "file"):
            if key in entry:
                yield str(entry[key])
        for key in ("parts", "chapters", "sections"):
            for child in entry.get(key, ()):  # type: ignore[attr-defined]
                yield from files(child)

    for name in files(yaml.safe_load((BOOK / "_toc.yml").read_text())):
        path = BOOK / f"{name.removesuffix('.ipynb')}.ipynb"
        if path.is_file():
            yield path


def execute_all(jobs: Iterable[tuple[Path, Path]], report: Callable[[Outcome], None]) -> list[Outcome]:
    """Run each (chapter, where to write it), two at a time; the outcomes in the order of finishing."""
    outcomes = []
    with deterministic_kernels(), ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(execute, *job) for job in jobs]):
            outcomes.append(done.result())
            report(outcomes[-1])
    return outcomes


def execute(chapter: Path, destination: Path) -> Outcome:
    """Run one chapter from nothing, in its own folder, and write it out; or say where it stopped."""
    notebook = nbformat.read(chapter, as_version=4)
    forget(notebook)
    reached = 0  # index of the cell that is being run

    def note_cell(cell: nbformat.NotebookNode, cell_index: int) -> None:
        nonlocal reached
        reached = cell_index

    client = NotebookClient(
        notebook,
        timeout=CELL_LIMIT,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=True,
        coalesce_streams=True,  # how a stream was cut into messages is a matter of timing
        resources={"metadata": {"path": str(chapter.parent)}},
        on_cell_execute=note_cell,
    )
    start, before = time.perf_counter(), os.times().children_user
    error = None
    try:
        client.execute()
    except CellExecutionError as raised:
        reason = f"{raised.ename}: {raised.evalue}".splitlines()[0]
        error = f"cell {cell_number(notebook, reached)} raised {reason}"
    except CellTimeoutError:
        error = f"cell {cell_number(notebook, reached)} took over {CELL_LIMIT} s"
    except DeadKernelError:
        error = f"the kernel died in cell {cell_number(notebook, reached)}"
    seconds, processor = time.perf_counter() - start, os.times().children_user - before
    if error is None:
        write(notebook, destination)
    return Outcome(chapter, seconds, processor, error)


def cell_number(notebook: nbformat.NotebookNode, index: int) -> int:
    """The number a reader sees beside a code cell, [1] for the first."""
    return sum(cell.cell_type == "code" for cell in notebook.cells[: index + 1])


def forget(notebook: nbformat.NotebookNode) -> None:
    """Take out everything an earlier run left."""
    notebook.metadata.clear()
    notebook.metadata.update(kernelspec=dict(KERNELSPEC))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None


def write(notebook: nbformat.NotebookNode, destination: Path) -> None:
    """Settle a notebook, write it beside its destination, and rename it into place."""
    settle(notebook)
    scratch = destination.with_name(f".{destination.stem}.running.ipynb")
    try:
        nbformat.write(notebook, scratch)
        scratch.replace(destination)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def deterministic_kernels(
    startup_files: Iterable[str] = STARTUP, frames: str = "all"
) -> Iterator[dict[str, str]]:
    """Kernels started inside this block are deterministic: by their environment and their IPython profile.

    Args:
        startup_files: What they run first.
        frames: "all" where moving figures draw all their frames beforehand, as a page needs them; "live"
            where someone waits, and they draw the others as soon as the kernel has time.

    Yields:
        The environment they start in.
    """
    chosen = {**DETERMINISTIC, "AGGBANDIT_FRAMES": frames}
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="ipython-") as profiles:
        startup = Path(profiles, "profile_default", "startup")
        startup.mkdir(parents=True)
        for file in startup_files:
            shutil.copy(TOOLS / "kernel" / file, startup)
        shutil.copy(TOOLS / "kernel" / "ipython_kernel_config.py", startup.parent)
        chosen["IPYTHONDIR"] = profiles
        os.environ.update(chosen)
        try:
            yield chosen
        finally:
            os.environ.clear()
            os.environ.update(before)


def shown(path: Path) -> str:
    """A path as one would type it at the top of the project."""
    return str(path.relative_to(BOOK.parent)) if path.is_relative_to(BOOK.parent) else str(path)


if __name__ == "__main__":
    sys.exit(main())
