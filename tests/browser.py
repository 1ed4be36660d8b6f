"""Find a Chromium for the tests in a browser: the system's, or the one that Playwright installed.

Run as a program it says whether there is one, before anything that takes longer is begun.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CACHES = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
APPLICATIONS = ("Google Chrome", "Chromium")
# What it is started with: nothing that asks any host but this machine.
HOSTS = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", f"--host-resolver-rules={HOSTS}"]
ADVICE = """make test: no Chromium or Chrome was found, and the book is tested in one. To get one:
  Debian, Ubuntu, WSL:  sudo apt-get install chromium
  macOS:                brew install --cask google-chrome
  anywhere:             make book && .venv/bin/playwright install chromium
`make quick` runs the tests that need none."""


def find() -> Path | None:
    """The browser's program, if there is one."""
    return next((path for path in candidates() if os.access(path, os.X_OK)), None)


def candidates() -> Iterator[Path]:
    for name in NAMES:
        found = shutil.which(name)
        if found:
            yield Path(found)
    for application in APPLICATIONS:
        yield Path("/Applications", f"{application}.app", "Contents", "MacOS", application)
    chosen = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    for cache in [chosen] if chosen else CACHES:
        for pattern in ("chrom*/chrome-linux*/chrome", "chrom*/chrome-mac*/*.app/Contents/MacOS/*"):
            yield from sorted(Path(cache).expanduser().glob(pattern), reverse=True)


if __name__ == "__main__":
    sys.exit(None if find() else ADVICE)
