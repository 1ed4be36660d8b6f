"""Arrays and their checks: types, tolerances, and errors that name a rule, a place and a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

# How far a row of probabilities may be from summing to one: far above rounding, far below any typo.
ROW_SUM_TOLERANCE = 1e-9
# How far an equation of an occupancy measure may be violated (solvers return points that are this good).
OCCUPANCY_TOLERANCE = 1e-8


def place(name: str, index: tuple[int, ...]) -> str:
    """An entry as the reader would write it: `name[2, 0, 1]`."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def first(mask: BoolArray) -> tuple[int, ...]:
    """Index of the first true entry of a mask that has one."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def read_only(values: ArrayLike) -> FloatArray:
    """A float64 array that nobody can write to.

    What nobody could write to before is kept as it is; anything else is copied, also a read-only view of
    memory that its owner may still change. An axis along which a table is only repeated (`np.broadcast_to`)
    is not copied out: a table that is the same at every step takes the memory of one step.
    """
    array = np.asarray(values, dtype=np.float64)
    if _frozen(array):
        return array
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)
    copy = np.array(array[once], dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy if copy.shape == array.shape else np.broadcast_to(copy, array.shape)


def _frozen(array: FloatArray) -> bool:
    """Is the array read-only, and so is the memory that it looks at?"""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None


def check_shape(name: str, array: NDArray[np.generic], shape: tuple[int, ...], axes: str) -> None:
    """Raise ValueError unless `array` has this shape; `axes` says what the axes are."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {axes} = {shape}")


def check_finite(name: str, array: FloatArray) -> None:
    """Raise ValueError naming the first entry that is NaN or infinite."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = first(bad)
        raise ValueError(f"{place(name, where)} is {array[where]}; every entry must be finite")


def check_nonnegative(name: str, array: FloatArray, what: str) -> None:
    """Raise ValueError naming the first negative entry; `what` says what the entries are."""
    bad = array < 0
    if bad.any():
        where = first(bad)
        raise ValueError(f"{place(name, where)} is {array[where]:.6g}; {what} must not be negative")


def check_rows(name: str, array: FloatArray) -> None:
    """Raise ValueError unless the last axis of `array` holds probability distributions."""
    check_finite(name, array)
    check_nonnegative(name, array, "a probability")
    sums = array.sum(axis=-1)
    bad = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if bad.any():
        where = first(bad)
        raise ValueError(f"{place(name, where)} sums to {sums[where]:.12g}; each row must sum to one")


def check_unit_interval(name: str, array: FloatArray) -> None:
    """Raise ValueError naming the first entry outside [0, 1]."""
    check_finite(name, array)
    bad = (array < 0) | (array > 1)
    if bad.any():
        where = first(bad)
        raise ValueError(f"{place(name, where)} is {array[where]:.6g}; losses must lie in [0, 1]")


def check_state(name: str, value: int, n_states: int) -> None:
    """Raise ValueError unless `value` is a state: an integer in 0..n_states-1."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < n_states:
        raise ValueError(f"{name} is {value!r}; it must be a state 0..{n_states - 1}")


def check_positive_int(name: str, value: int) -> None:
    """Raise ValueError unless `value` is an integer of at least one."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be an integer of at least 1")
