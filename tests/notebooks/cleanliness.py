"""Whether a notebook is clean by nb-clean's measure, which knows nothing of how the book cleans its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What stays in a committed notebook: sources, outputs, counts, widget state, and these fields of a cell.
KEPT = ["--preserve-cell-outputs", "--preserve-execution-counts"]
KEPT += ["--preserve-cell-metadata-field", "tags", "--preserve-cell-metadata-field", "mystnb"]


def check(notebook: Path) -> None:
    """Raise CalledProcessError, with what nb-clean says, if something else is left."""
    command = [str(Path(sys.executable).with_name("nb-clean")), "check", *KEPT, str(notebook)]
    subprocess.run(command, check=True, capture_output=True, text=True)
