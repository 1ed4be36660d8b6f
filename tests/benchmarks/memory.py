"""How much memory a student's chapter takes: what a JupyterHub has to give, written to `book/memory.md`.

`memory.py` measures every chapter but the front page, one after the other (ten minutes), `memory.py
book/name.ipynb` the ones named; the table keeps its other lines. Linux alone, where a process knows its peak.

A kernel is started as a hub starts it, from the environment that runs this, and every cell is run with all
the frames of its figures. Its peak is the kernel's own (`VmHWM`); what the processes it starts hold at the
same time is not in it, and no chapter starts one.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_tools"))
from execute import CELL_LIMIT, forget  # noqa: E402  (the path is set just above)
from live_contents import live_chapters  # noqa: E402

TABLE = ROOT / "book" / "memory.md"
ROW = re.compile(
    r"^\| \[[^\]]*\]\((?P<file>[^)]+)\) \| (?P<peak>\d+) MB \| (?P<processor>\d+) s \|$", re.MULTILINE
)
HEAD = """Measured on {today} by `tests/benchmarks/memory.py`, with Python {python}.
The server itself takes {server} MB, before it starts a kernel.

| chapter | a kernel, at its peak | of a processor |
|---|---|---|
"""


@dataclass(frozen=True)
class Cost:
    """What one chapter takes.

    Attributes:
        peak: Megabytes of its kernel, at most.
        processor: Seconds of one processor until its last cell has run.
    """

    peak: int
    processor: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "chapters", nargs="*", type=Path, help="notebooks to measure (default: the whole book)"
    )
    named = [chapter.resolve() for chapter in parser.parse_args().chapters]
    os.environ["AGGBANDIT_FRAMES"] = "all"
    costs, server = read(), server_alone()
    for chapter in named or list(live_chapters()):
        costs[chapter.name] = measure(chapter)
        print(f"{chapter.name}  {costs[chapter.name].peak} MB", flush=True)
        write(costs, server)
    return 0


def measure(chapter: Path) -> Cost:
    """Run a chapter in a kernel of its own, and ask the system about that kernel before it ends."""
    notebook = nbformat.read(chapter, as_version=4)
    forget(notebook)
    folder = {"metadata": {"path": str(chapter.parent)}}
    client = NotebookClient(notebook, timeout=CELL_LIMIT, kernel_name="python3", resources=folder)
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        kernel = psutil.Process(client.km.provisioner.pid)
        times = kernel.cpu_times()
        return Cost(peak_of(kernel.pid), round(times.user + times.system))


def peak_of(process: int) -> int:
    """The most memory that a process has held, in megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return round(int(kibibytes) * 1024 / 1e6)


def server_alone() -> int:
    """Megabytes of a JupyterLab's server that has answered, and has no kernel."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(next(live_chapters()), scratch)
        jupyter = str(Path(sys.executable).with_name("jupyter"))
        command = [
            jupyter,
            "lab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0",
        ]
        command += ["--IdentityProvider.token=", "--ServerApp.port_retries=0"]
        with subprocess.Popen(command, cwd=scratch, stderr=subprocess.PIPE, text=True) as running:
            try:
                assert running.stderr is not None
                address = next(
                    found[0] for line in running.stderr if (found := re.search(r"http://\S+", line))
                )
                for page in ("lab", "api/contents"):
                    ask(address.split("/lab")[0] + f"/{page}")
                return peak_of(running.pid)
            finally:
                running.terminate()


def ask(address: str) -> None:
    """Ask until there is an answer."""
    while True:
        try:
            with urllib.request.urlopen(address) as answer:
                answer.read()
            return
        except urllib.error.URLError:
            time.sleep(0.2)


def read() -> dict[str, Cost]:
    """What the table holds."""
    text = TABLE.read_text(encoding="utf-8") if TABLE.is_file() else ""
    return {row["file"]: Cost(int(row["peak"]), int(row["processor"])) for row in ROW.finditer(text)}


def write(costs: Mapping[str, Cost], server: int) -> None:
    """The table, in the order of the book."""
    python = ".".join(map(str, sys.version_info[:2]))
    head = HEAD.format(today=datetime.date.today(), python=python, server=server)
    TABLE.write_text(head + "".join(rows(costs)), encoding="utf-8")


def rows(costs: Mapping[str, Cost]) -> Iterator[str]:
    for chapter in live_chapters():
        if chapter.name in costs:
            cost = costs[chapter.name]
            yield f"| [{title(chapter)}]({chapter.name}) | {cost.peak} MB | {cost.processor} s |\n"


def title(chapter: Path) -> str:
    first = nbformat.read(chapter, as_version=4).cells[0].source
    return next(line for line in first.splitlines() if line.startswith("# ")).removeprefix("# ")


if __name__ == "__main__":
    sys.exit(main())
