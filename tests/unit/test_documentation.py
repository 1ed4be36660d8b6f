"""Every public name says what it is, in one style: Google's, as the reference is made from it."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
from dataclasses import is_dataclass

import pytest

import aggbandit


def public_modules():
    for module in pkgutil.walk_packages(aggbandit.__path__, "aggbandit."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield importlib.import_module(module.name)


def public_objects():
    """Public classes and functions where they are defined, and the public methods of those classes."""
    for module in public_modules():
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(thing):
                yield f"{module.__name__}.{name}", thing
                for method_name, method in vars(thing).items():
                    if isinstance(method, (classmethod, staticmethod)):
                        method = method.__func__
                    if isinstance(method, property):
                        method = method.fget
                    if not method_name.startswith("_") and inspect.isfunction(method):
                        yield f"{module.__name__}.{name}.{method_name}", method
            elif inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing


OBJECTS = dict(public_objects())

BRITISH = re.compile(
    r"\b\w*(minimis|maximis|normalis|factoris|initialis|generalis|optimis[ei]|colour|centre[sd]?\b|behaviour"
    r"|neighbour|favour|labelled|modelled|licence|catalogue|grey)\w*",
    re.IGNORECASE,
)


def documentation(thing) -> str:
    """The docstring as written: not inherited, not made up by `dataclass`."""
    return (
        textwrap.dedent(vars(thing).get("__doc__") or "") if inspect.isclass(thing) else thing.__doc__ or ""
    )


def parameters(thing) -> list[str]:
    if inspect.isclass(thing):
        if hasattr(thing, "_fields"):
            return list(thing._fields)
        if is_dataclass(thing):
            return [name for name in inspect.signature(thing).parameters if not name.startswith("_")]
        # A class without an __init__ of its own (a protocol, an error) takes nothing that needs explaining.
        if "__init__" not in vars(thing) or getattr(thing, "_is_protocol", False):
            return []
        thing = thing.__init__
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def raises(thing) -> bool:
    """Is there a `raise` of its own: in a function, or in a class's __init__ or __post_init__?"""
    if inspect.isclass(thing):
        # The __init__ of a dataclass is made, not written.
        own = vars(thing).get("__post_init__" if is_dataclass(thing) else "__init__")
        return inspect.isfunction(own) and not getattr(thing, "_is_protocol", False) and raises(own)
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    return any(isinstance(node, ast.Raise) for node in ast.walk(tree))


def sections_of(text: str) -> dict[str, list[str]]:
    """The names listed in each section of a docstring in Google style."""
    sections, current = {}, None
    for line in inspect.cleandoc(text).splitlines():
        if re.fullmatch(r"[A-Z][a-z]+:", line):
            current = sections.setdefault(line.removesuffix(":"), [])
        elif line and not line.startswith(" "):
            current = None
        elif current is not None and (entry := re.match(r"    \**(\w+)(?: \([^)]*\))?:(?: |$)", line)):
            current.append(entry[1])
    return sections


@pytest.mark.parametrize("module", list(public_modules()), ids=lambda module: module.__name__)
def test_modules_say_what_they_are(module):
    assert (module.__doc__ or "").strip(), f"{module.__name__} has no docstring"


@pytest.mark.parametrize("name", list(OBJECTS))
def test_public_names_are_documented(name):
    thing = OBJECTS[name]
    text = documentation(thing)
    assert text.strip(), f"{name} has no docstring"
    assert not is_dataclass(thing) or not text.startswith(f"{thing.__name__}("), f"{name} has no docstring"
    missing = [p for p in parameters(thing) if not re.search(rf"(?<!\w){re.escape(p)}(?!\w)", text)]
    assert not missing, f"the docstring of {name} does not mention {', '.join(missing)}"
    if raises(thing):
        assert re.search(r"\b[Rr]aise[sd]?\b", text), f"{name} raises, and its docstring does not say so"


@pytest.mark.parametrize("name", list(OBJECTS))
def test_sections_say_what_the_code_does(name):
    """A list of arguments is exact; what is short enough may name them in its first sentences."""
    text = documentation(OBJECTS[name])
    sections = sections_of(text)
    listed = sections.get("Args", []) or sections.get("Attributes", [])
    assert re.match(r".+[.?]\n?(\n|$)", inspect.cleandoc(text)), f"{name}: the first line is not a sentence"
    if listed:
        assert listed == parameters(OBJECTS[name]), f"{name}: the arguments documented are {listed}"


@pytest.mark.parametrize("name", list(OBJECTS))
def test_words_and_markup(name):
    text = documentation(OBJECTS[name])
    assert "``" not in text, f"{name}: code and formulas stand in single backticks"
    found = BRITISH.search(text)
    assert not found, f"{name}: {found[0]} is British spelling"


def test_the_contract_of_public_names():
    assert aggbandit.__all__ == sorted(aggbandit.__all__, key=str)
    for name in aggbandit.__all__:
        assert hasattr(aggbandit, name), f"aggbandit.{name} is promised and missing"


def test_the_core_needs_numpy_and_scipy_alone():
    """`import aggbandit` loads nothing of the extras."""
    code = "import sys, aggbandit; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    extras = {
        "numba",
        "matplotlib",
        "ipywidgets",
        "IPython",
        "joblib",
        "tqdm",
        "gymnasium",
        "PIL",
        "cvxpy",
        "pandas",
    }
    assert not extras & set(run.stdout.split())
