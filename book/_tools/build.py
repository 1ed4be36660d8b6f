"""Build the book in a scratch folder, and put it in place of the old one only when it is whole.

Every warning is an error and every reference must be found (`-W -n`). A failed build leaves the old book as
it was, says in one line what broke, and names the log that holds the rest.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"
LOG = BUILD / "book.log"
SITE = BUILD / "html"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def main() -> int:
    BUILD.mkdir(exist_ok=True)
    clear_scratch()
    scratch = Path(tempfile.mkdtemp(prefix=".book-", dir=BUILD))
    try:
        if not build(scratch):
            print(f"book: {first_complaint(LOG.read_text())}", file=sys.stderr)
            print(f"book: not built, the old one is untouched; all of it is in {shown(LOG)}", file=sys.stderr)
            return 1
        swap(scratch / "_build" / "html", SITE)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    page = SITE / "index.html"
    print(f"The book is at {shown(page)}. To read it: `make serve`, or open {page.as_uri()}")
    return 0


def build(scratch: Path) -> bool:
    """Run Jupyter Book into the scratch folder, its output into the log. True if the site is whole."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [str(jupyter_book), "build", "book", "--config", "_config.yml", "--path-output", str(scratch)]
    command += ["-W", "-n", "--keep-going"]
    with LOG.open("w") as log:
        done = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0 and (scratch / "_build" / "html" / "index.html").is_file()


def first_complaint(log: str) -> str:
    """The first warning or error in a log, and how many others there are."""
    lines = [COLOUR.sub("", line).strip() for line in log.splitlines()]
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


def clear_scratch() -> None:
    """Remove what an interrupted build left behind."""
    for left in BUILD.glob(".book-*"):
        shutil.rmtree(left, ignore_errors=True)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
