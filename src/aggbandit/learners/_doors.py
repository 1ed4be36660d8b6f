"""Checks of what learners are made with: a likely slip is answered with what to write instead."""

from __future__ import annotations

import math
from types import FunctionType

from aggbandit._arrays import check_number, shown


def check_positive(name: str, value: float) -> float:
    """The value as a float, or ValueError unless it is positive and finite."""
    number = check_number(name, value)
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(f"{name} is {value}; it must be positive and finite")
    return number


def check_nonnegative_number(name: str, value: float) -> float:
    """The value as a float, or ValueError unless it is at least zero and finite."""
    number = check_number(name, value)
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError(f"{name} = {value}; it must be nonnegative and finite")
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
