"""The first call of a compiled function in a process: said when it compiles, and done in spite of its cache.

Numba keeps what it has compiled in files. Where they cannot be written, or what is in them was cut off by a
full disk or a crash, the engine compiles all the same.
"""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

from numba.core import event

__all__ = ["call"]

# What compiling the engine takes, in seconds of processor time; `make bench` measures it.
SECONDS = 12
# What reading a file of the cache raises that was cut off.
UNREADABLE = (EOFError, pickle.UnpicklingError)

log = logging.getLogger("aggbandit")


class _Announcement(event.Listener):
    """Says that a function is being compiled; Numba asks nobody when it has loaded it from its cache."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] is not self.function:
            return
        if self.function.stats.cache_path is None:
            log.warning(
                "compiling the engine; about %d s, in every process, since no cache can be written: set "
                "NUMBA_CACHE_DIR to a folder that can be",
                SECONDS,
            )
        else:
            log.warning("compiling the engine, once; about %d s", SECONDS)

    def on_end(self, event: Any) -> None:
        pass


def call(function: Any, *arguments: Any) -> Any:
    """Call a compiled function; say so if that compiles it, and repair its cache if that is damaged.

    Args:
        function: what `numba.njit` has made.
        *arguments: its arguments.

    Returns:
        What it returns.

    Raises:
        RuntimeError: if its cache is damaged and cannot be removed, naming the folder.
    """
    if function.signatures:
        return function(*arguments)
    with event.install_listener("numba:compile", _Announcement(function)):
        try:
            return function(*arguments)
        except UNREADABLE as error:
            _discard(function, error)
        except OSError as error:
            log.warning("the compiled engine could not be kept in Numba's cache: %s", error)
        # Nothing has run yet: these errors come before the function does.
        return function(*arguments)


def _discard(function: Any, error: Exception) -> None:
    """Remove what the cache has of a function; what raised `error` anew if there is nothing."""
    folder = function.stats.cache_path
    name = f"{function.py_func.__module__.rpartition('.')[2]}.{function.py_func.__qualname__}-*.nb?"
    files = [] if folder is None else list(Path(folder).glob(name))
    if not files:
        raise error
    try:
        for file in files:
            file.unlink()
    except OSError as locked:
        raise RuntimeError(f"the compiled engine in Numba's cache is damaged: delete {folder}") from locked
    log.warning("the compiled engine in Numba's cache was damaged, and was removed from %s", folder)
