"""What students get: one zip file that needs nothing but Python.

It has the notebooks, the package as a wheel, the versions it was tested with, and how to install it on Linux,
macOS and Windows. It is the same byte for byte whenever it is made of the same sources.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tomllib
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from classroom.course import BOOK, Course
from classroom.jail import PACKAGE

MACHINE = BOOK / "is-my-machine-ready.ipynb"
CONSTRAINTS = BOOK.parent / "constraints.txt"
LONG_AGO = (1980, 1, 1, 0, 0, 0)

README = """# {name}

Python 3.11 or later is all that is needed beforehand (https://www.python.org). Unpack this file, open a
terminal in the folder, and install what the notebooks use, once; it takes a minute or two.

Linux and macOS:

    python3 -m venv .venv
    .venv/bin/python -m pip install -r requirements.txt
    .venv/bin/jupyter lab

Windows:

    py -m venv .venv
    .venv\\Scripts\\python -m pip install -r requirements.txt
    .venv\\Scripts\\jupyter lab

{ready}## The sets

{sets}

Write your answers where a cell says so. A line such as `checks.occupancy(occupancy)` tells which rule your
function breaks, where and by how much, on instances of its own; marks are given by the same checks, on
others. Functions take and return numbers and arrays of numbers, use nothing from the network or from files,
and start no processes. A call has {seconds:.0f} seconds. Keep the names of functions and files. Before
handing in, choose *Restart kernel and run all cells*; then hand in the notebook, in the way of your
course. Text and figures are marked by a person.
"""
READY = """## Is my machine ready?

Open `is-my-machine-ready.ipynb` and run all of its cells.

"""


def pack(course: Course, seconds: float) -> Path:
    """Write the zip of a course's release, and say where it is.

    Args:
        course: its release is made.
        seconds: what a call may take, to be told.
    """
    wheel_name, wheel_bytes = wheel()
    contents = {
        "README.md": readme(course, seconds).encode(),
        "requirements.txt": f"-c constraints.txt\n./{wheel_name}[student]\n".encode(),
        "constraints.txt": CONSTRAINTS.read_bytes(),
        wheel_name: wheel_bytes,
        **{f"{name}.ipynb": course.release(name).read_bytes() for name in course.sets},
        **({MACHINE.name: MACHINE.read_bytes()} if MACHINE.exists() else {}),
    }
    path = course.folder / f"{course.name}.zip"
    path.write_bytes(zipped({f"{course.name}/{name}": data for name, data in contents.items()}))
    return path


def readme(course: Course, seconds: float) -> str:
    sets = "\n".join(
        f"- `{name}.ipynb`" + (f", due {in_words(due)}" if due else "") for name, due in course.due.items()
    )
    ready = READY if MACHINE.exists() else ""
    return README.format(name=course.name, ready=ready, sets=sets, seconds=seconds)


def in_words(due: str) -> str:
    """A moment as a person writes it, with its time zone."""
    moment = datetime.fromisoformat(due)
    return f"{moment:%A} {moment.day} {moment:%B %Y, %H:%M} ({moment.tzname()})"


def wheel() -> tuple[str, bytes]:
    """The package as a wheel: its name, and the file."""
    project = tomllib.loads((BOOK.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    info = f"aggbandit-{version}.dist-info"
    contents = {
        f"aggbandit/{path.relative_to(PACKAGE).as_posix()}": path.read_bytes()
        for path in sorted(PACKAGE.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    contents[f"{info}/METADATA"] = "\n".join([*metadata(project), ""]).encode()
    contents[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: book\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = [f"{name},{digest(data)},{len(data)}" for name, data in contents.items()]
    contents[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    return f"aggbandit-{version}-py3-none-any.whl", zipped(contents)


def metadata(project: dict[str, Any]) -> Iterator[str]:
    """What a wheel says of itself, from pyproject.toml: what it needs, and what each extra needs."""
    yield "Metadata-Version: 2.1"
    yield f"Name: {project['name']}"
    yield f"Version: {project['version']}"
    yield f"Requires-Python: {project['requires-python']}"
    yield from (f"Requires-Dist: {needed}" for needed in project["dependencies"])
    for extra, needs in project["optional-dependencies"].items():
        yield f"Provides-Extra: {extra}"
        yield from (f'Requires-Dist: {needed}; extra == "{extra}"' for needed in needs)


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def zipped(contents: dict[str, bytes]) -> bytes:
    """A zip of these files, without dates."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()
