"""Arrays at the door: what comes in is real, checked and read-only, and stays so when it is copied or sent.

Errors name the place, the value and the rule. Every array that a user hands to the package comes in by
`real_array`, `integer_array` or `probability_rows`; what is kept is made `read_only`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

FLOAT64 = np.dtype(np.float64)
# How far a row of probabilities may be from summing to one: far above rounding, far below any typo.
ROW_SUM_TOLERANCE = 1e-9
# The same for rows in single or half precision, in units of their last place.
ROW_SUM_ULPS = 16
# How far an equation of an occupancy measure may be violated (solvers return points that are this good).
OCCUPANCY_TOLERANCE = 1e-8
# Asking the system how much memory there is takes longer than using this many bytes.
ALWAYS_THERE = 2.0**26


# --- The doors -------------------------------------------------------------------------------------------


def real_array(name: str, values: ArrayLike) -> FloatArray:
    """The values as float64, once they are real numbers in the shape of an array.

    What is float64 already is returned as it is. An axis along which a table is only repeated
    (`np.broadcast_to`) stays so.

    Args:
        name: what the values are called where they came in.
        values: booleans, integers or real numbers, of any shape.

    Returns:
        The array; it may share its memory with `values`.

    Raises:
        ValueError: for complex numbers, text, dates, objects, ragged lists, sparse matrices and masked
            entries; NaN and infinity pass (`check_finite`).
    """
    array = plain(name, values)
    if array.dtype == FLOAT64:
        return array
    if array.dtype.kind not in "biuf" and not (array.dtype == object and _all_real(array)):
        raise ValueError(f"{name} has entries of type {_type_of(array)}; they must be real numbers")
    try:
        return _as_often(_once(array).astype(np.float64), array.shape)
    except OverflowError as error:
        raise ValueError(f"{name} has an entry beyond float64: {error}") from error


def integer_array(name: str, values: ArrayLike) -> NDArray[np.integer[Any]]:
    """The values as an array of their own type, once they are integers; none at all may have any type.

    Args:
        name: what the values are called where they came in.
        values: integers, of any shape.

    Returns:
        The array; it may share its memory with `values`.

    Raises:
        ValueError: for anything else, also floats without a fraction.
    """
    array = plain(name, values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} has entries of type {_type_of(array)}; they must be integers")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)


def probability_rows(name: str, values: ArrayLike) -> FloatArray:
    """The values as float64, once their last axis holds probability distributions.

    Rows in single or half precision sum to one only as well as these can; they are divided by their sums.

    Args:
        name: what the values are called where they came in.
        values: (..., n) probabilities.

    Returns:
        The array; it may share its memory with `values`.

    Raises:
        ValueError: naming the first entry or row that is none.
    """
    given = plain(name, values)
    array = real_array(name, given)
    coarse = given.dtype.kind == "f" and given.dtype.itemsize < array.dtype.itemsize
    if not coarse:
        check_rows(name, array)
        return array
    check_rows(name, array, tolerance=ROW_SUM_ULPS * float(np.finfo(given.dtype).eps))
    return _as_often(_once(array) / _row_sums(array)[..., None], array.shape)


def read_only(values: ArrayLike) -> FloatArray:
    """A float64 array that nobody can write to.

    What nobody could write to before is kept as it is; anything else is copied, also a read-only view of
    memory that its owner may still change. An axis along which a table is only repeated (`np.broadcast_to`)
    is not copied out: a table that is the same at every step takes the memory of one step.
    """
    array = real_array("the array", values)
    if _frozen(array):
        return array
    copy = np.array(_once(array), dtype=np.float64, order="C")
    copy.setflags(write=False)
    return _as_often(copy, array.shape)


def spread_table(name: str, table: Any, shape: tuple[int, int, int, int]) -> FloatArray:
    """A loss table over the steps and next states on which it does not depend: see `losses.spread`.

    Args:
        name: what the table is called where it came in.
        table: (S, A), (H, S, A), (S, A, S) or (H, S, A, S), or sparse matrices.
        shape: (H, S, A, S).

    Returns:
        (H, S, A, S) float64, a view that repeats where the table does not depend on an axis.

    Raises:
        ValueError: for another shape, one with two readings, or entries that are no real numbers.
    """
    if holds_sparse(table):
        table = by_action(name, table)
    array = real_array(name, _dense(table))
    if array.shape == shape:
        return array
    horizon, n_states, n_actions, _ = shape
    # What each reading has for a shape, and the same with an axis of one where it is repeated.
    readings = {
        "(S, A)": ((n_states, n_actions), (1, n_states, n_actions, 1)),
        "(H, S, A)": ((horizon, n_states, n_actions), (horizon, n_states, n_actions, 1)),
        "(S, A, S)": ((n_states, n_actions, n_states), (1, n_states, n_actions, n_states)),
    }
    fits = [axes for axes, (given, _) in readings.items() if given == array.shape]
    if len(fits) > 1 and array.size > 1:
        raise ValueError(
            f"{name} has shape {array.shape}, which may be {' or '.join(fits)} here; "
            f"write {name}[..., None] for the first, {name}[None] for the second"
        )
    if fits:
        return np.broadcast_to(array.reshape(readings[fits[0]][1]), shape)
    if array.ndim == 4 and all(n in (1, m) for n, m in zip(array.shape, shape, strict=True)):
        return np.broadcast_to(array, shape)
    raise ValueError(
        f"{name} has shape {array.shape}; expected (H, S, A, S) = {shape}, "
        "or (S, A), (H, S, A) or (S, A, S) of it"
    )


def by_action(name: str, matrices: Any) -> NDArray[Any]:
    """One (S, S) matrix an action as one array (S, A, S).

    Args:
        name: what the matrices are called where they came in.
        matrices: A of them, sparse or dense.

    Returns:
        (S, A, S), entry [s, a, s'] being `matrices[a][s, s']`.

    Raises:
        ValueError: unless they are square and of one size.
        MemoryError: if the array, which is dense, would not fit.
    """
    n_states = matrices[0].shape[0]
    for a, matrix in enumerate(matrices):
        if matrix.shape != (n_states, n_states):
            expected = (
                "(S, S), one matrix an action" if a == 0 else f"that of {name}[0], {n_states} x {n_states}"
            )
            raise ValueError(f"{name}[{a}] has shape {matrix.shape}; expected {expected}")
    shape = (n_states, len(matrices), n_states)
    check_memory(f"{name} of shape {shape}, not sparse any more,", 16.0 * np.prod(shape, dtype=float))
    return np.stack([np.asarray(_dense(matrix)) for matrix in matrices], axis=1)


def _dense(matrix: Any) -> Any:
    """A sparse matrix as an array, anything else as it is."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def holds_sparse(values: Any) -> bool:
    """Is this a list or tuple of sparse matrices?"""
    return isinstance(values, (list, tuple)) and any(issparse(entry) for entry in values)


def plain(name: str, values: ArrayLike) -> NDArray[Any]:
    """`values` as NumPy reads them, or ValueError in our words."""
    if type(values) is np.ndarray:
        return values
    if issparse(values):
        raise ValueError(f"{name} is a sparse matrix; write {name}.toarray()")
    if holds_sparse(values):
        raise ValueError(f"{name} holds sparse matrices; expected an array")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; every entry must be there")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} is no array: {error}") from error


def _type_of(array: NDArray[Any]) -> str:
    """The type of the entries; of objects, the type of the first one that is no real number."""
    odd = (type(entry).__name__ for entry in array.flat if not isinstance(entry, Real))
    return next(odd, "object") if array.dtype == object else str(array.dtype)


def _all_real(array: NDArray[Any]) -> bool:
    """Are the objects numbers all the same, as fractions and long integers are?"""
    return all(isinstance(entry, Real) for entry in array.flat)


def _once(array: NDArray[Any]) -> NDArray[Any]:
    """A view without the repetitions: length one along every axis on which the entries are only repeated."""
    if 0 not in array.strides:
        return array
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]


def _as_often(once: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The repetitions again."""
    return once if once.shape == shape else np.broadcast_to(once, shape)


def _frozen(array: FloatArray) -> bool:
    """Is the array read-only, and so is the memory that it looks at?"""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None or isinstance(owner, bytes)


# --- Checks ----------------------------------------------------------------------------------------------


def place(name: str, index: tuple[int, ...]) -> str:
    """An entry as the reader would write it: `name[2, 0, 1]`."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name


def first(mask: BoolArray) -> tuple[int, ...]:
    """Index of the first true entry of a mask that has one."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def check_shape(name: str, array: NDArray[np.generic], shape: tuple[int, ...], axes: str) -> None:
    """Raise ValueError unless `array` has this shape; `axes` says what the axes are."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {axes} = {shape}")


def all_finite(array: FloatArray) -> bool:
    """Whether no entry is NaN or infinite."""
    # A finite sum of squares has finite terms, and is had at a fraction of the price for a short vector.
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def check_finite(name: str, array: FloatArray) -> None:
    """Raise ValueError naming the first entry that is NaN or infinite."""
    array = _once(array)
    if not all_finite(array):
        where = first(~np.isfinite(array))
        raise ValueError(f"{place(name, where)} is {array[where]}; every entry must be finite")


def check_nonnegative(name: str, array: FloatArray, what: str) -> None:
    """Raise ValueError naming the first negative entry; `what` says what the entries are."""
    array = _once(array)
    bad = array < 0
    if bad.any():
        where = first(bad)
        raise ValueError(f"{place(name, where)} is {array[where]:.6g}; {what} must not be negative")


def check_rows(name: str, array: FloatArray, *, tolerance: float = ROW_SUM_TOLERANCE) -> None:
    """Raise ValueError unless the last axis of `array` holds probability distributions.

    `tolerance` is how far their sums may be from one.
    """
    if not array.ndim:
        raise ValueError(f"{name} is a single number; expected rows of probabilities")
    check_finite(name, array)
    check_nonnegative(name, array, "a probability")
    sums = _row_sums(array)
    bad = np.abs(sums - 1.0) > tolerance
    if bad.any():
        where = first(bad)
        off = float(sums[where]) - 1.0
        single = ROW_SUM_ULPS * float(np.finfo(np.float32).eps)
        remedy = (
            f" ({off:+.2g} is beyond the tolerance {tolerance:g}; rows rounded to single precision "
            "can be passed as float32, or divided by their sums)"
            if abs(off) <= single
            else ""
        )
        raise ValueError(f"{place(name, where)} sums to {sums[where]:.12g}; each row must sum to one{remedy}")


def _row_sums(array: FloatArray) -> FloatArray:
    """The sums along the last axis, of what `_once` keeps of the others."""
    times = array.shape[-1] if array.strides[-1] == 0 else 1
    return np.asarray(_once(array).sum(axis=-1) * times)


def check_unit_interval(name: str, array: FloatArray) -> None:
    """Raise ValueError naming the first entry outside [0, 1]."""
    check_finite(name, array)
    array = _once(array)
    bad = (array < 0) | (array > 1)
    if bad.any():
        where = first(bad)
        value = float(array[where])
        # Rounding beyond one would be printed as one.
        shown = f"{value:.6g}" if float(f"{value:.6g}") != 1.0 else f"1 + {value - 1.0:.2g}"
        raise ValueError(f"{place(name, where)} is {shown}; losses must lie in [0, 1]")


def check_number(name: str, value: float) -> float:
    """The value as a float, or TypeError if it is no real number; TypeError also for a truth value."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} is {shown(value)}; it must be a number")
    return float(value)


def check_positive(name: str, value: float) -> float:
    """The value as a float, or ValueError unless it is positive and finite."""
    number = check_number(name, value)
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(f"{name} is {value}; it must be positive and finite")
    return number


def check_at_least_zero(name: str, value: float) -> float:
    """The value as a float, or ValueError unless it is nonnegative and finite."""
    number = check_number(name, value)
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError(f"{name} is {value}; it must be nonnegative and finite")
    return number


def check_has(name: str, value: object, methods: tuple[str, ...], remedy: str) -> None:
    """Raise TypeError unless the value is an object (no class, no function) with all of these attributes.

    `remedy` is what to write instead: `it must be` and then this.
    """
    if not isinstance(value, (type, FunctionType)) and all(hasattr(value, method) for method in methods):
        return
    raise TypeError(f"{name} is {shown(value)}; it must be {remedy}")


def check_function(name: str, value: object, remedy: str) -> None:
    """Raise TypeError unless the value can be called, and is no class; `remedy` is what to write instead."""
    if isinstance(value, type) or not callable(value):
        raise TypeError(f"{name} is {shown(value)}; it must be {remedy}")


def check_kind(name: str, value: object, kind: type, remedy: str) -> None:
    """Raise TypeError unless the value is of this type; `remedy` is what to write instead."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)}; it must be {remedy}")


def shown(value: object) -> str:
    """A short word for what was given, for an error."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    if isinstance(value, FunctionType):
        return f"the function {value.__name__} itself"
    if value is None or isinstance(value, (bool, int, float, complex, str, np.generic)):
        return repr(value)
    return f"of type {type(value).__name__}"


def check_state(name: str, value: int, n_states: int) -> None:
    """Raise ValueError unless `value` is a state: an integer in 0..n_states-1."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < n_states:
        raise ValueError(f"{name} is {shown(value)}; it must be a state 0..{n_states - 1}")


def check_positive_int(name: str, value: int) -> None:
    """Raise ValueError unless `value` is an integer of at least one."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {shown(value)}; it must be an integer of at least 1")


def check_rng(rng: np.random.Generator) -> None:
    """Raise TypeError, saying what to write, unless `rng` is a NumPy generator."""
    if isinstance(rng, np.random.Generator):
        return
    seed = int(rng) if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) else "seed"
    what = "None" if rng is None else f"a {type(rng).__name__}" if seed == "seed" else seed
    raise TypeError(f"rng is {what}; it must be a numpy Generator: rng=np.random.default_rng({seed})")


def check_memory(what: str, needed: float) -> None:
    """Raise MemoryError, before anything is allocated, if there is no room for `needed` bytes.

    `what` says what needs them, in words that a number of bytes can follow: `transitions of shape (9, 9)`.
    Where the system does not say how much there is, nothing is refused; it is not asked for a few megabytes.
    """
    available = available_memory() if needed > ALWAYS_THERE else None
    if available is not None and needed > available:
        raise MemoryError(f"{what} needs {_gigabytes(needed)}; {_gigabytes(available)} is available")


def available_memory() -> float | None:
    """Bytes of memory that can be had without swapping, or None where the system does not say."""
    limits = [_kilobytes_available(), _left_in_group()]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else _physical_memory()


def _kilobytes_available() -> float | None:
    """What Linux says is available, in bytes."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return None


def _left_in_group() -> float | None:
    """What a container may still take, in bytes; the cache of files does not count, it is given back."""
    limit, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if not limit or not used or limit[0] == "max":
        return None
    cache = [line.split()[1] for line in _lines("/sys/fs/cgroup/memory.stat") if line.startswith("file ")]
    return float(limit[0]) - float(used[0]) + sum(float(bytes_) for bytes_ in cache)


def _physical_memory() -> float | None:
    """All the memory of a machine that is not Linux."""
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return None
    pages = os.sysconf("SC_PHYS_PAGES")
    return float(pages * os.sysconf("SC_PAGE_SIZE")) if pages > 0 else None


def _lines(path: str) -> list[str]:
    """The lines of a file of the system, none where it is not there."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _gigabytes(bytes_: float) -> str:
    return f"{bytes_ / 1e9:,.1f} GB"


# --- Copies ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Packed:
    """An array without its repetitions, with what pickling forgets: the whole shape, and who may write."""

    once: NDArray[Any]
    shape: tuple[int, ...]
    writeable: bool


@dataclass(frozen=True)
class _PackedMapping:
    """A read-only mapping, which Python itself does not pickle."""

    items: dict[Any, Any]


def reduce_frozen(instance: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How a frozen dataclass that holds arrays is pickled and copied: compact, and read-only as it was.

    Written `__reduce__ = reduce_frozen` in the class. Pickle by itself gives writeable arrays back and
    copies out what `np.broadcast_to` only repeats. What a `cached_property` has kept is left behind.
    """
    kind = type(instance)
    names = list(getattr(instance, "__dict__", getattr(kind, "__dataclass_fields__", {})))
    kept = [name for name in names if not isinstance(getattr(kind, name, None), cached_property)]
    return _restore_frozen, (kind, {name: _packed(getattr(instance, name)) for name in kept})


def _restore_frozen(kind: type, state: dict[str, Any]) -> Any:
    instance: Any = object.__new__(kind)
    for name, value in state.items():
        object.__setattr__(instance, name, _unpacked(value))
    return instance


def _packed(value: Any) -> Any:
    if type(value) is np.ndarray and value.dtype != object:
        return _Packed(_once(value), value.shape, value.flags.writeable)
    if type(value) is tuple:
        return tuple(_packed(entry) for entry in value)
    if isinstance(value, MappingProxyType):
        return _PackedMapping({key: _packed(entry) for key, entry in value.items()})
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, _Packed):
        once = value.once
        if once.flags.writeable and not value.writeable:
            once.setflags(write=False)
        return _as_often(once, value.shape)
    if type(value) is tuple:
        return tuple(_unpacked(entry) for entry in value)
    if isinstance(value, _PackedMapping):
        items: Mapping[Any, Any] = {key: _unpacked(entry) for key, entry in value.items.items()}
        return MappingProxyType(items)
    return value
