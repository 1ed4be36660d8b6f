"""A file of named arrays and a header: written whole or not at all, and read once its sizes are right.

The format is NumPy's `.npz`, with one entry, `header`, that holds JSON.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import stat
import struct
import time
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from aggbandit._arrays import check_memory

# What a file is called while it is written, and after how many seconds without a change nobody writes it.
TEMPORARY = re.compile(r"\.aggbandit-[0-9a-f]{16}\.tmp")
ABANDONED = 86_400.0
# More than any header takes, in bytes: that of the archive, and that of one array in it.
LONGEST_HEADER, LONGEST_ARRAY_HEADER = 1 << 22, 1 << 14
# What zipfile, zlib, json and NumPy raise when bytes are not what they should be.
DAMAGED = (
    EOFError,
    MemoryError,  # a size that is no size
    NotImplementedError,  # a way of packing that this Python does not know
    OSError,  # a place before the beginning
    RuntimeError,  # an archive with a password, JSON nested too deep
    SyntaxError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


# --- Writing ---------------------------------------------------------------------------------------------


def write(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write everything under a temporary name in the same folder, then give it its name.

    A link is followed: the file it points to is replaced, and keeps its permissions. What an earlier process
    began in this folder and left a day ago is removed.

    Args:
        path: of the file.
        header: what JSON can hold.
        arrays: without objects, by name.

    Raises:
        ValueError: when `path` is something else than a file, a folder or a device say.
        OSError: when it cannot be written; what was there before is then still there.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written; there is no folder {target.parent}")
    before = target.stat() if os.path.lexists(target) else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise ValueError(f"{path} is no regular file; nothing else is replaced")
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is write-protected")
    _remove_abandoned(target.parent)
    entries: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    temporary = target.with_name(f".aggbandit-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            np.savez_compressed(file, **entries)
            # A power cut after the renaming must not find a name without content.
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            _inherit(temporary, before)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _inherit(path: Path, before: os.stat_result) -> None:
    """Give a file the owner, where that is allowed, and the permissions of the one it replaces."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) and os.geteuid() == 0:
        os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode))


def _remove_abandoned(folder: Path) -> None:
    """Remove what a process that was killed has left.

    A file being written changes all the time. One that has not changed for a day has no writer, on this
    machine or any other that sees the folder.
    """
    for entry in folder.iterdir():
        if TEMPORARY.fullmatch(entry.name):
            try:
                if time.time() - entry.stat().st_mtime > ABANDONED:
                    entry.unlink()
            except (FileNotFoundError, PermissionError):
                continue  # someone else's to remove


# --- Reading ---------------------------------------------------------------------------------------------


class Archive:
    """A file open for reading; an entry is expanded only when its size is what it has to be.

    Attributes:
        header: what `write` was given.
        names: of the arrays.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        if len(self._entries) < len(archive.infolist()):
            raise ValueError("a name occurs twice")
        if "header.npy" not in self._entries:
            raise ValueError("header is missing")
        if self._size("header") > LONGEST_HEADER:
            raise ValueError(f"its header has {self._size('header')} bytes; at most {LONGEST_HEADER} may be")
        header = json.loads(str(self.array("header")))
        if not isinstance(header, dict):
            raise ValueError("its header is no table of names and values")
        self.header: dict[str, Any] = header
        self.names = [name.removesuffix(".npy") for name in self._entries if name != "header.npy"]

    def _size(self, name: str) -> int:
        return self._entries[f"{name}.npy"].file_size

    def floats(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """An array of float64 whose shape is known.

        Args:
            name: of the array.
            shape: what it must be.

        Raises:
            ValueError: before anything is expanded, if it is another.
        """
        if name not in self.names:
            raise ValueError(f"{name} is missing")
        bytes_ = 8 * math.prod(shape)
        if self._size(name) > bytes_ + LONGEST_ARRAY_HEADER:
            raise ValueError(f"{name} has {self._size(name)} bytes; {shape} numbers have {bytes_}")
        array = self.array(name)
        if array.dtype != np.float64 or array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape} of {array.dtype}; expected {shape} of float64")
        return array

    def array(self, name: str) -> NDArray[Any]:
        """An array of any shape and type, without objects, read-only.

        Args:
            name: of the array.

        Raises:
            ValueError: when it holds objects, or more or fewer bytes than its shape says.
        """
        check_memory(f"{name} of {self._size(name)} bytes", self._size(name))
        with self._archive.open(f"{name}.npy") as stream:
            shape, fortran, dtype = _array_header(stream)
            if dtype.hasobject:
                raise ValueError(f"{name} holds objects; only numbers, bools and text are read")
            bytes_ = dtype.itemsize * math.prod(shape)
            if bytes_ > self._size(name):
                raise ValueError(f"{name} has {self._size(name)} bytes; its shape {shape} needs {bytes_}")
            content = stream.read(bytes_ + 1)  # and the end, where the check sum is compared
        if len(content) != bytes_:
            raise ValueError(f"{name} has {len(content)} bytes or more; its shape {shape} needs {bytes_}")
        array = np.ndarray(shape, dtype, content, order="F" if fortran else "C")
        native: NDArray[Any] = array.astype(dtype.newbyteorder("="), copy=False)
        native.setflags(write=False)
        return native


def _array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type, from the first bytes of an array."""
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"an array has version {version} of NumPy's format")
    shape, fortran, dtype = readers[version](stream)
    return shape, fortran, dtype


@contextmanager
def reading(path: str | Path, what: str) -> Iterator[Archive]:
    """Open a file that `write` wrote; whatever is wrong with it inside of the block is one error.

    Args:
        path: of the file.
        what: it should be.

    Raises:
        ValueError: naming the file and the rule.
        OSError: when there is no file, or it may not be read.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is no {what}: it is no regular file")
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield Archive(archive)
        except DAMAGED as error:
            raise ValueError(f"{path} is no {what}, or is damaged: {error}") from error
