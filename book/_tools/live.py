"""Put a live notebook beside the book: JupyterLite with a Python that runs in the reader's browser.

`gather` finds the kernel's files, each checked against its hash, and says what is missing; `add` builds the
notebook site from the chapters into the folder `lite` of a built book. Whatever that site asks for comes from
itself. What was built once is kept in _build/live: the second build asks no network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import assets
from labels import places
from live_contents import notebooks
from live_files import OWN_FOLDER, collect
from live_lock import locked, official_packages, own_wheels

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parents[1]
OWN = TOOLS / "live"
CHAPTER = TOOLS / "extensions" / "chapter"  # as in JupyterLab
KEPT = ROOT / "_build" / "live"
CORE, WHEELS, SITE = KEPT / "core", KEPT / "wheels", KEPT / "site"
CORE_FILES = ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
FOLDER = "lite"
FIGURES = ROOT / "book" / "_assets" / "css" / "figures.css"  # their colors, light and dark
SHELL = (*(OWN / name for name in ("run.html", "run.js", "run.css", "frame.css")), FIGURES)
APPLICATION = 11  # megabytes of JupyterLite that a first visit fetches, as measured
INSTALLED = Path(sys.prefix, "share", "jupyter", "labextensions")
EXTENSIONS = [
    INSTALLED / "@jupyter-widgets/jupyterlab-manager",
    INSTALLED / "@jupyterlite/pyodide-kernel-extension",
]
EXTENSIONS += [INSTALLED / "anywidget", INSTALLED / "jupyterlab-myst", CHAPTER]
BUILDERS = ("jupyterlite-core", "jupyterlite-pyodide-kernel", "jupyterlab-myst", "anywidget", "ipywidgets")


@dataclass(frozen=True)
class Kernel:
    """The files that a page needs to run Python, all of them checked.

    Attributes:
        lock: What Pyodide can load, and the hash of each file.
        megabytes: How much a browser fetches at most, the notebook application included.
    """

    lock: Mapping[str, Any]
    megabytes: int


def gather() -> Kernel | str:
    """The kernel, or why there is none.

    Raises:
        live_files.WrongHashError: a file that was found is not the one that the lock names.
    """
    problem = fetch_core()
    if problem:
        return problem
    official = json.loads((CORE / LOCK).read_text())
    pure = json.loads((OWN / "packages.json").read_text())
    wanted = official_packages(official, replaced=pure)
    WHEELS.mkdir(parents=True, exist_ok=True)
    absent = collect(wanted, pure, official["info"]["version"], WHEELS)
    if absent:
        return (
            f"{len(absent)} packages of Pyodide were found nowhere, {absent[0]} among them "
            f"(is the network there? {OWN_FOLDER} may name a folder that has them)"
        )
    for old in WHEELS.glob("*-0_*.whl"):  # ours, of earlier builds
        old.unlink()
    lock = locked(official, wanted, pure, own_wheels(WHEELS))
    return Kernel(lock, APPLICATION + round(sum(file.stat().st_size for file in kernel_files(lock)) / 1e6))


def fetch_core() -> str | None:
    """Lay out Pyodide itself, from npm; what went wrong, if it did."""
    stamp, recipe = CORE / "recipe.txt", fingerprint(OWN / name for name in assets.LOCKS)
    if stamp.is_file() and stamp.read_text() == recipe:
        return None
    with tempfile.TemporaryDirectory(prefix="npm-") as scratch:
        problem = assets.install(Path(scratch), OWN)
        if problem:
            return f"Pyodide was not fetched: {problem}"
        shutil.rmtree(CORE, ignore_errors=True)
        CORE.mkdir(parents=True)
        for name in (*CORE_FILES, LOCK):
            shutil.copy(Path(scratch, "node_modules", "pyodide", name), CORE)
    stamp.write_text(recipe)
    return None


def fingerprint(files: Iterator[Path]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def kernel_files(lock: Mapping[str, Any]) -> list[Path]:
    """Every file that the kernel can ask for."""
    wheels = [WHEELS / entry["file_name"] for entry in lock["packages"].values()]
    return [*(CORE / name for name in CORE_FILES), *wheels]


# ------------------------------------------------------------------------------------ the notebook site


def add(book: Path, kernel: Kernel) -> str | None:
    """Build the notebook site and put it into a built book; what went wrong, if it did."""
    chapters = {name: json.dumps(notebook, ensure_ascii=False) for name, notebook in notebooks().items()}
    stamp, recipe = SITE / "recipe.txt", everything(kernel, chapters)
    if not (stamp.is_file() and stamp.read_text() == recipe):
        problem = build(kernel, chapters)
        if problem:
            return problem
        stamp.write_text(recipe)
    shutil.copytree(SITE, book / FOLDER, copy_function=linked, ignore=shutil.ignore_patterns("recipe.txt"))
    return None


def everything(kernel: Kernel, chapters: Mapping[str, str]) -> str:
    """A fingerprint of all that decides what the site holds."""
    own = sorted(path for folder in (OWN, CHAPTER) for path in folder.rglob("*") if path.is_file())
    tools = [TOOLS / "labels.py", *sorted(TOOLS.glob("live*.py"))]
    versions = " ".join(map(version, BUILDERS))
    parts = (
        fingerprint(iter([*own, *tools, FIGURES])),
        versions,
        json.dumps(kernel.lock),
        json.dumps(chapters),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def linked(source: str, target: str) -> None:
    """A second name for a file where the disk allows it, a copy where not."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def build(kernel: Kernel, chapters: Mapping[str, str]) -> str | None:
    """Run JupyterLite in a scratch folder and keep what it made; what went wrong, if it did.

    The folder is fresh each time: the record of an earlier build would have it leave out steps.
    """
    with tempfile.TemporaryDirectory(prefix=".live-", dir=KEPT) as name:
        scratch = Path(name)
        lay_out(scratch / "lite", kernel)
        (scratch / "chapters").mkdir()
        for file, notebook in chapters.items():
            (scratch / "chapters" / file).write_text(notebook, encoding="utf-8")
        done = subprocess.run(
            command(scratch),
            cwd=scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        site = scratch / "site"
        if done.returncode != 0 or not (site / "notebooks" / "index.html").is_file():
            return "JupyterLite: " + (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
        for part in SHELL:
            shutil.copy(part, site)
        (site / "editions.json").write_text(json.dumps(editions(chapters), ensure_ascii=False, indent=1))
        shutil.rmtree(SITE, ignore_errors=True)
        site.rename(SITE)
    return None


def command(scratch: Path) -> list[str]:
    """`jupyter lite build`: one application, the extensions that chapters use, nothing of this machine."""
    line = [str(Path(sys.executable).with_name("jupyter")), "lite", "build", "--apps=notebooks"]
    line += ["--lite-dir=lite", "--contents=chapters", "--output-dir=site", "--no-sourcemaps"]
    line += ["--no-unused-shared-packages", "--ignore-sys-prefix"]
    line += [f"--LiteBuildConfig.federated_extensions={folder}" for folder in EXTENSIONS]
    return line


def lay_out(folder: Path, kernel: Kernel) -> None:
    """What `jupyter lite build` starts from: settings and Pyodide."""
    pyodide = folder / "static" / "pyodide"
    pyodide.mkdir(parents=True)
    for file in kernel_files(kernel.lock):
        linked(str(file), str(pyodide / file.name))
    (pyodide / LOCK).write_text(json.dumps(kernel.lock))
    shutil.copy(OWN / "overrides.json", folder)
    settings = json.loads((OWN / "jupyter-lite.json").read_text())
    settings["jupyter-config-data"]["places"] = {label: asdict(place) for label, place in places().items()}
    (folder / "jupyter-lite.json").write_text(json.dumps(settings))


def editions(chapters: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Of each chapter its title and a name for its present wording."""
    found = {}
    for file, notebook in chapters.items():
        sources = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"]]
        title = next(line for line in sources[0].splitlines() if line.startswith("# "))[2:]
        edition = hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]
        found[Path(file).stem] = {"title": title, "edition": edition}
    return found
