"""What the kernel in a page can import: Pyodide's packages, those of live/packages.json, and ours.

Pyodide reads a lock, `pyodide-lock.json`, that names a file, its hash and the names it is imported by for
each package; `import` then loads the file. From the official lock only what this book needs is kept.
"""

from __future__ import annotations

import hashlib
import io
import re
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# What the chapters, the kernel and IPython ask for; what these stand on follows from the lock.
NEEDED = ("numpy", "scipy", "matplotlib", "pillow", "joblib", "ipython", "jedi", "micropip", "packaging")
NEEDED += ("ssl", "sqlite3", "pyodide-unix-timezones")
OF_THE_BOOK = ("numpy", "scipy", "matplotlib", "pillow", "ipywidgets", "anywidget", "joblib", "tqdm")
"""What `aggbandit` needs, and the extras that work without a compiler."""

STAND_IN = ROOT / "book" / "_tools" / "live" / "_multiprocessing.py"
"""A module that Gymnasium cannot be imported without."""

EPOCH = (1980, 1, 1, 0, 0, 0)


def official_packages(lock: Mapping[str, Any], replaced: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Of Pyodide's own packages those that the book needs, with what they depend on."""
    entries = {plain(name): (name, entry) for name, entry in lock["packages"].items()}
    found: dict[str, dict[str, Any]] = {}
    waiting = [plain(name) for name in NEEDED]
    skipped = {plain(name) for name in replaced}
    while waiting:
        name, entry = entries[waiting.pop()]
        if name not in found and plain(name) not in skipped:
            found[name] = entry
            waiting += map(plain, entry["depends"])
    return found


def plain(name: str) -> str:
    """One spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(
    lock: Mapping[str, Any], official: Mapping[str, Any], pure: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    """The lock of this book."""
    added = {name: full(name, entry) for name, entry in {**pure, **own}.items()}
    return {"info": lock["info"], "packages": dict(sorted({**official, **added}.items()))}


def full(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with what Pyodide reads of every wheel."""
    return {
        **entry,
        "name": name,
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }


def own_wheels(folder: Path) -> dict[str, dict[str, Any]]:
    """Write the wheels that this project makes into a folder; their entries of a lock by name."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    package = {str(path.relative_to(ROOT / "src")): path.read_bytes() for path in package_files()}
    stand_in = {STAND_IN.name: STAND_IN.read_bytes()}
    own = written("aggbandit", version, package, folder)
    no_processes = written("no-processes", version, stand_in, folder)
    return {
        "aggbandit": {**own, "imports": ["aggbandit"], "depends": list(OF_THE_BOOK)},
        "no-processes": {**no_processes, "imports": [STAND_IN.stem], "depends": []},
    }


def written(name: str, version: str, files: Mapping[str, bytes], folder: Path) -> dict[str, str]:
    """Write a wheel into a folder; its version, file and hash.

    The file's name bears its hash as the build number: a browser that kept the wheel of an earlier edition
    does not take it for this one. The same files give the same bytes.
    """
    body = wheel(name, version, files)
    sha256 = hashlib.sha256(body).hexdigest()
    file = folder / f"{name.replace('-', '_')}-{version}-0_{sha256[:12]}-py3-none-any.whl"
    file.write_bytes(body)
    return {"version": version, "file_name": file.name, "sha256": sha256}


def wheel(name: str, version: str, files: Mapping[str, bytes]) -> bytes:
    """A wheel of the files."""
    about = f"{name.replace('-', '_')}-{version}.dist-info"
    everything = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [*everything, f"{about}/RECORD"]
    everything[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in record).encode()
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in everything.items():
            archive.writestr(zipfile.ZipInfo(path, EPOCH), content, zipfile.ZIP_DEFLATED)
    return body.getvalue()


def package_files() -> list[Path]:
    """The sources of `aggbandit`, in one order."""
    files = (ROOT / "src" / "aggbandit").rglob("*")
    return sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts)
