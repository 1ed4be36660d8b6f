"""Open the chapters in JupyterLab, with settings under which a chapter keeps its figures.

The chapters are trusted first, or Lab would show their captions alone until every cell is run; a notebook is
saved with the state of its widgets; the first page is the book's own. A program's arguments are passed on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from execute import BOOK, TOOLS, chapters_of_the_book


def main() -> int:
    jupyter = str(Path(sys.executable).with_name("jupyter"))
    chapters = [str(chapter) for chapter in chapters_of_the_book()]
    trust = subprocess.run([jupyter, "trust", *chapters], capture_output=True, text=True, check=False)
    if trust.returncode != 0:
        print(f"lab: the chapters could not be trusted: {trust.stderr.strip()}", file=sys.stderr)
        return 1
    options = [f"--notebook-dir={BOOK}", f"--LabApp.app_settings_dir={TOOLS / 'lab'}"]
    options += ["--LabApp.default_url=/lab/tree/index.ipynb"]
    os.execv(jupyter, [jupyter, "lab", *options, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
