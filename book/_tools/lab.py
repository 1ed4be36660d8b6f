"""Open the chapters in JupyterLab, and keep them as the book does.

The chapters are trusted first, or Lab would show no figure that moves until every cell is run. The kernels
are those of `make execute`, but for their figures, which draw the frames that nobody has asked for while the
kernel rests. A chapter is saved in the form in which the book keeps it (`settle.py`), so that after *Run All*
and *Save* Git sees answers and nothing else. Lab's settings are in `lab/`; a program's arguments are passed
on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from execute import TOOLS, chapters_of_the_book, deterministic_kernels
from jupyterlab.labapp import LabApp

STARTUP = ("counted_ids.py", "spoken_log.py")
CONFIG = TOOLS / "lab" / "jupyter_lab_config.py"


def main() -> int:
    print("Opening the chapters in JupyterLab ...", flush=True)
    jupyter = str(Path(sys.executable).with_name("jupyter"))
    chapters = [str(chapter) for chapter in chapters_of_the_book()]
    trust = subprocess.run([jupyter, "trust", *chapters], capture_output=True, text=True, check=False)
    if trust.returncode != 0:
        print(f"lab: the chapters could not be trusted: {trust.stderr.strip()}", file=sys.stderr)
        return 1
    LabApp.raise_config_file_errors = True  # rather than begin with half of the settings
    with deterministic_kernels(STARTUP, frames="live"):
        LabApp.launch_instance([f"--config={CONFIG}", *sys.argv[1:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
