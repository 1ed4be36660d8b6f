"""What something is, as text: to tell whether a learner was made with the same arguments as another.

A state that was written down may only be taken up by a learner made alike, maybe years later in another
process. So what it was made with is written down too, by value:

- numbers by their value (3, 3.0 and `np.float64(3)` are the same), arrays by shape and content;
- functions and classes of this package by name;
- a function of your own by its name and its code, if it stands at the top level of a module (or notebook);
- an object by its class, with the code of its methods if it is not of this package, and its attributes.

What cannot be told from another like it is *nameless*: a lambda, a function or class made inside a function.
A learner made with such a thing plays as any other; only its state cannot be taken up by another learner.
Code is compared as Python compiles it, so a state with a function of your own goes with one Python version.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Real
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

__all__ = ["NAMELESS", "described"]

# Marks what cannot be told from another like it.
NAMELESS = "nameless "


def described(value: object) -> str:
    """A text that two values share when they are the same, and `NAMELESS` in it when nobody can tell.

    Args:
        value: what a learner was made with.

    Returns:
        The text.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> described(3) == described(np.float64(3.0))
        True
        >>> described(ab.ConstantRate(2))
        'ConstantRate(factor=2)'
        >>> described(ab.epochs.carry)
        'carry'
        >>> described(lambda dual: dual / 2)
        'nameless <lambda>'
    """
    if value is None or isinstance(value, (bool, np.bool_, str, bytes)):
        return repr(value.item() if isinstance(value, np.bool_) else value)
    if isinstance(value, Real):
        number = float(value)
        return repr(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype == object else np.ascontiguousarray(value).tobytes()
        return f"array{value.shape}:{value.dtype.str}:{_digest(content)}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(described(entry) for entry in value)}]"
    if isinstance(value, (Mapping, MappingProxyType)):
        return f"{{{', '.join(f'{described(k)}: {described(v)}' for k, v in value.items())}}}"
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return _named(value)
    if isinstance(value, functools.partial):
        return f"partial({described(value.func)}, {described(value.args)}, {described(value.keywords)})"
    attributes = ", ".join(f"{name}={described(entry)}" for name, entry in _attributes(value).items())
    return f"{_named(type(value))}({attributes})"


def _attributes(value: object) -> dict[str, Any]:
    """What an object holds, without what a `cached_property` has kept."""
    kind = type(value)
    own = [field.name for field in fields(value)] if is_dataclass(value) else []
    names = [*own, *(name for name in getattr(value, "__dict__", {}) if name not in own)]
    return {
        name: getattr(value, name)
        for name in names
        if not isinstance(getattr(kind, name, None), functools.cached_property)
    }


def _named(thing: Any) -> str:
    """The name of a class or function, with a digest of its code unless it is of this package."""
    module, name = str(getattr(thing, "__module__", "")), str(thing.__qualname__)
    # What `functools.wraps` has made has another's name.
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing or getattr(thing, "__closure__", None):
        return f"{NAMELESS}{name}"
    if module.partition(".")[0] in ("aggbandit", "builtins", "numpy"):
        return name
    return f"{module}.{name}#{_digest(_code(thing))}"


def _code(thing: Any) -> object:
    """What a function or class does, as far as it is its own."""
    if isinstance(thing, type):
        bases = [base for base in thing.__mro__[1:] if base is not object]
        functions = {name: _function(entry) for name, entry in vars(thing).items()}
        return [(name, _code(f)) for name, f in sorted(functions.items()) if f is not None], [
            f"{base.__module__}.{base.__qualname__}" if base.__module__ == "typing" else _named(base)
            for base in bases
        ]
    if not isinstance(thing, FunctionType):
        return thing.__qualname__
    return _instructions(thing.__code__), described(thing.__defaults__), described(thing.__kwdefaults__)


def _function(entry: object) -> FunctionType | None:
    """The function behind an entry of a class, if there is one."""
    if isinstance(entry, (staticmethod, classmethod)):
        entry = entry.__func__
    if isinstance(entry, property):
        entry = entry.fget
    if isinstance(entry, functools.cached_property):
        entry = entry.func
    return entry if isinstance(entry, FunctionType) else None


def _instructions(code: CodeType) -> object:
    """Code without where it was written."""
    constants = [
        _instructions(constant)
        if isinstance(constant, CodeType)
        else sorted(map(repr, constant))
        if isinstance(constant, frozenset)  # whose order changes from process to process
        else repr(constant)
        for constant in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, constants


def _digest(content: object) -> str:
    data = content if isinstance(content, bytes) else repr(content).encode()
    return hashlib.sha256(data).hexdigest()[:16]
