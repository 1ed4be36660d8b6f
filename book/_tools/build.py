"""Build the book in a scratch folder, and put it in place of the old one only when it is whole.

A chapter that was not run, or whose moving figures would be missing from its page, is named before anything
is built, with the command that mends it. Every warning is an error and every reference must be found
(`-W -n`). A failed build leaves the old book as it was, says in one line what broke, and names the log that
holds the rest. The live notebooks are built beside the pages; where their files cannot be had, the book is
built without them, and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from execute import chapters_of_the_book
from live_files import WrongHashError
from whole import faults

import live

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"
LOG = BUILD / "book.log"
SITE = BUILD / "html"
LIVE = "ONLY_THE_TOTAL_LIVE"  # read by book/_ext/launch.py
COLOR = re.compile(r"\x1b\[[0-9;]*m")


def main() -> int:
    complaints = list(unfit(chapters_of_the_book()))
    if complaints:
        print(*complaints, "book: not built, the old one is untouched", sep="\n", file=sys.stderr)
        return 1
    BUILD.mkdir(exist_ok=True)
    clear_leftovers()
    try:
        kernel = live.gather()
    except WrongHashError as wrong:
        print(f"book: {wrong}", "book: not built, the old one is untouched", sep="\n", file=sys.stderr)
        return 1
    if isinstance(kernel, str):
        print(f"book: built without live notebooks: {kernel}", file=sys.stderr)
    print("building the book ...", flush=True)
    scratch = Path(tempfile.mkdtemp(prefix=".book-", dir=BUILD))
    try:
        whole, log = build(scratch, {} if isinstance(kernel, str) else {LIVE: str(kernel.megabytes)})
        LOG.write_text(log)
        if whole and not isinstance(kernel, str):
            problem = live.add(scratch / "_build" / "html", kernel)
            whole, log = problem is None, f"ERROR: {problem}"
        if not whole:
            print(f"book: {first_complaint(log)}", file=sys.stderr)
            print(f"book: not built, the old one is untouched; all of it is in {shown(LOG)}", file=sys.stderr)
            return 1
        swap(scratch / "_build" / "html", SITE)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    page = SITE / "index.html"
    print(f"The book is at {shown(page)}. To read it: `make serve`, or open {page.as_uri()}")
    return 0


def unfit(chapters: Iterable[Path]) -> Iterator[str]:
    """What keeps each chapter from being published, and how to mend it."""
    for chapter in chapters:
        found = list(faults(chapter))
        if found:
            name = shown(chapter)
            yield (
                f"book: {name}: {'; '.join(found)}. Run `make execute CHAPTER={name}`, "
                "or Restart Kernel and Run All Cells in JupyterLab and save"
            )


def build(scratch: Path, said: Mapping[str, str]) -> tuple[bool, str]:
    """Run Jupyter Book into the scratch folder; whether the site is whole, and all that was said.

    Args:
        scratch: Where the site goes.
        said: What the book's extensions are told, as environment variables.
    """
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [str(jupyter_book), "build", "book", "--config", "_config.yml", "--path-output", str(scratch)]
    command += ["-W", "-n", "--keep-going"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **said},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    whole = done.returncode == 0 and (scratch / "_build" / "html" / "index.html").is_file()
    return whole, COLOR.sub("", done.stdout)


def first_complaint(log: str) -> str:
    """The first warning or error in a log, and how many others there are."""
    lines = [line.strip() for line in log.splitlines()]
    complaints = [line for line in lines if re.search(r"\b(WARNING|ERROR|CRITICAL|SEVERE)\b", line)]
    if not complaints:
        complaints = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)] or lines[-1:]
    others = len(complaints) - 1
    first = complaints[0].replace(f"{ROOT}/", "") if complaints else "Jupyter Book said nothing"
    return first + (f" (and {others} more)" if others > 0 else "")


def swap(new: Path, old: Path) -> None:
    """Put the new folder where the old one was: two renames, then the old one goes."""
    away = old.with_name(".old-" + old.name)
    shutil.rmtree(away, ignore_errors=True)
    if old.exists():
        old.rename(away)
    new.rename(old)
    shutil.rmtree(away, ignore_errors=True)


def clear_leftovers() -> None:
    """Remove what interrupted builds left behind; one younger than an hour may still be running."""
    for left in BUILD.glob(".book-*"):
        if time.time() - left.stat().st_mtime > 3600:
            shutil.rmtree(left, ignore_errors=True)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
