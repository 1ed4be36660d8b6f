"""States of learners, written down and read: what every `snapshot` and `restore` has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import FloatArray, check_shape, real_array

__all__ = ["read", "written"]


def written(arguments: tuple[str, ...], **arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """A snapshot.

    Args:
        arguments: what the learner was made with, by value (`aggbandit.learners.identity`).
        **arrays: its state.

    Returns:
        Copies, by name.
    """
    return {"arguments": np.array(arguments)} | {name: np.array(array) for name, array in arrays.items()}


def read(
    snapshot: Mapping[str, NDArray[Any]], arguments: tuple[str, ...], **shapes: tuple[int, ...]
) -> dict[str, FloatArray]:
    """The arrays of a snapshot, once it is of a learner made with the same arguments.

    Args:
        snapshot: what `written` returned; it is only read.
        arguments: those of the learner that is to be restored.
        **shapes: of the arrays, by name; numbers that are not NaN.

    Returns:
        Copies, by name.

    Raises:
        ValueError: if something is missing, of another shape or NaN, or the arguments are others.
    """
    missing = {"arguments", *shapes} - snapshot.keys()
    if missing:
        raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
    theirs = tuple(str(text) for text in np.ravel(snapshot["arguments"]))
    if theirs != arguments:
        raise ValueError(f"the state is of a learner with {theirs}; this one has {arguments}")
    arrays = {}
    for name, shape in shapes.items():
        array = np.array(real_array(name, snapshot[name]))
        check_shape(name, array, shape, "that of the learner")
        if np.isnan(array).any():
            raise ValueError(f"{name} has an entry that is not a number")
        arrays[name] = array
    return arrays
