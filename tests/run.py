"""Run the project's tests, step by step, and stop at the first that fails.

`run.py all` is what `make test` runs, `run.py quick` what `make quick` runs. Each step says its name and its
time; the last line says how many tests passed. A test that did not run did not pass: with the environment
variable CI set, a skipped test is a failure.

nbval runs a chapter again only where something has changed since the chapter last passed: the chapter, the
package, the pinned versions, this Python. The step says which it left out; with CI set it leaves out none.
The chapters are run once more by the next step in any case, and compared to the last pixel.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT / "book" / "_tools"))

from execute import CELL_LIMIT, chapters_of_the_book, deterministic_kernels  # noqa: E402  (the path is set just above)

PARALLEL = ["-n", "2", "--dist", "loadfile"]
COVERAGE = ["--cov=aggbandit", "--cov-report=term:skip-covered"]
SANITIZE = ROOT / "tests" / "notebooks" / "sanitize.cfg"
NBVAL = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_LIMIT}", *PARALLEL]
NBVAL += [f"--nbval-sanitize-with={SANITIZE}"]
STAMPS = ROOT / "_build" / "nbval.json"  # by chapter: the fingerprint with which it last passed
CHAPTERS = ["(the chapters)"]  # stands for the notebooks of the book where a step names its folders

LINT = {
    "style (ruff)": ["ruff", "check", "--quiet", "."],
    "format (ruff)": ["ruff", "format", "--quiet", "--check", "."],
    "types (mypy)": ["mypy", "--no-error-summary"],
}
# A step of pytest: its folders, or the chapters, and its options. Every folder of tests/ is in some step.
EXAMPLES = {"examples in docstrings": (["../src/aggbandit"], ["--doctest-modules"])}
QUICK = {
    "units and properties": (["unit", "property"], PARALLEL),
    **EXAMPLES,
}
ALL = {
    "units, properties, paper": (["unit", "property", "paper"], [*PARALLEL, *COVERAGE]),
    **EXAMPLES,
    "project": (["project"], []),
    "chapters, by nbval": (CHAPTERS, NBVAL),
    "chapters, run again": (["notebooks"], []),
    "site, in a browser": (["site"], ["-n", "2", "--dist", "loadgroup"]),
}
PLANS = {"lint": {}, "quick": QUICK, "all": ALL}


def main() -> int:
    plan = sys.argv[1] if len(sys.argv) == 2 else ""
    if plan not in PLANS:
        print(f"usage: run.py {'|'.join(PLANS)}", file=sys.stderr)
        return 2
    total = 0
    for name, command in LINT.items():
        if not step(name, [str(BIN / command[0]), *command[1:]]):
            return 1
    for name, (folders, options) in PLANS[plan].items():
        passed = pytest(name, folders, options)
        if passed is None:
            return 1
        total += passed
    print(f"\n{plan}: all good" + (f", {total} tests passed" if total else ""))
    return 0


def step(name: str, command: list[str]) -> bool:
    """Run one command; say which step it is, how long it took, and whether it failed."""
    print(f"\n== {name}", flush=True)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode != 0:
        print(f"\nFAILED: {name} (the lines above say why; exit status {done.returncode})", file=sys.stderr)
        return False
    print(f"   {time.perf_counter() - start:.1f} s", flush=True)
    return True


def pytest(name: str, folders: list[str], options: list[str]) -> int | None:
    """Run pytest on folders of tests/, or on the chapters; the number of tests passed, None at a failure."""
    chapters = folders == CHAPTERS
    paths = list(chapters_of_the_book()) if chapters else [ROOT / "tests" / folder for folder in folders]
    paths = [path for path in paths if path.exists()]
    if chapters and paths and not os.environ.get("CI"):
        paths = changed(paths)
        if not paths:
            print(f"\n== {name}\n   nothing has changed since every chapter last passed (CI=1 runs them all)")
            return 0
    if not paths:
        print(f"\nFAILED: {name}: there is nothing to test", file=sys.stderr)
        return None
    with (
        tempfile.TemporaryDirectory() as scratch,
        deterministic_kernels() if chapters else nullcontext(),
    ):
        report = Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *options, *map(str, paths)]
        if not step(name, command):
            return None
        suites = list(counts(report))
    if chapters:
        STAMPS.parent.mkdir(exist_ok=True)
        STAMPS.write_text(json.dumps(stamps() | fingerprints(paths), indent=1))
    passed, skipped = (sum(column) for column in zip(*suites, strict=True))
    if skipped and os.environ.get("CI"):
        print(f"\nFAILED: {name}: {skipped} tests were skipped, and with CI set none may be", file=sys.stderr)
        return None
    return passed


def changed(chapters: list[Path]) -> list[Path]:
    """The chapters that nbval has not passed as they are now; says which are left out."""
    before, now = stamps(), fingerprints(chapters)
    left = [chapter.stem for chapter in chapters if before.get(chapter.name) == now[chapter.name]]
    if left and len(left) < len(chapters):
        print(f"\nnbval leaves out what has not changed since it passed: {', '.join(left)} (CI=1 runs all)")
    return [chapter for chapter in chapters if chapter.stem not in left]


def stamps() -> dict[str, str]:
    return json.loads(STAMPS.read_text()) if STAMPS.is_file() else {}


def fingerprints(chapters: Iterable[Path]) -> dict[str, str]:
    """By chapter, a hash of everything that decides what running it shows."""
    tools = ROOT / "book" / "_tools"
    sources = [*(ROOT / "src").rglob("*.py"), *(tools / "kernel").glob("*.py"), tools / "execute.py"]
    shared = hashlib.sha256(f"{sys.version} {platform.platform()} {platform.processor()}".encode())
    for path in [*sorted(sources), SANITIZE, ROOT / "constraints.txt", Path(__file__)]:
        shared.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    seed = shared.digest()
    return {chapter.name: hashlib.sha256(seed + chapter.read_bytes()).hexdigest() for chapter in chapters}


def counts(report: Path) -> Iterator[tuple[int, int]]:
    """(passed, skipped) of every suite in a JUnit report without failures."""
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        skipped = int(suite.get("skipped", "0"))
        yield int(suite.get("tests", "0")) - skipped, skipped


if __name__ == "__main__":
    sys.exit(main())
