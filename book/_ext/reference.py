"""Sphinx extension: the pages of the reference, made from the docstrings.

A page names modules in fences; each is replaced by the public names that the module defines, each under the
name that one would type::

    ```{names} aggbandit.mdp
    ```

What `aggbandit` itself exports appears as `aggbandit.X`; what a room exports, as `aggbandit.room.X`; anything
else, under its module. Of a module whose own name is private, only what is exported appears.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from sphinx.ext.napoleon import GoogleDocstring

FENCE = re.compile(r"^```\{names\} *([\w.]+) *\n```$", re.MULTILINE)
LETTER = re.compile(r"^( +\w+: )([A-Z]\.)")
CODE = re.compile(r"(`+[^`]+`+)")
LONG_SIGNATURE = re.compile(
    r'<dl>\n((?:<dd><(?:em|span) class="(?:sig-param|optional).*?</dd>\n)+)</dl>', re.DOTALL
)
ARRAYS = {"FloatArray", "IntArray", "Int32Array", "BoolArray"}


def fill(app: Any, page: str, source: list[str]) -> None:
    source[0] = FENCE.sub(lambda fence: "\n".join(entries(fence[1])), source[0])


def entries(module_name: str) -> Iterator[str]:
    """The directives for one module."""
    module = importlib.import_module(module_name)
    yield "```{eval-rst}"
    for name, thing in defined(module):
        if inspect.isclass(thing):
            yield from (f".. autoclass:: {name}", "   :members:", "")
        else:
            yield from (f".. autofunction:: {name}", "")
    yield "```"


def defined(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """(name to type, thing) of the public classes and functions defined in a module, in the file's order."""
    private = module.__name__.rpartition(".")[2].startswith("_")
    for name, thing in vars(module).items():
        plain = inspect.isclass(thing) or inspect.isroutine(thing)
        if name.startswith("_") or not plain or getattr(thing, "__module__", None) != module.__name__:
            continue
        path = exported(name, thing, module.__name__)
        if path or not private:
            yield path or f"{module.__name__}.{name}", thing


def exported(name: str, thing: Any, module_name: str) -> str | None:
    """The shortest path at which a room or the package itself exports the thing."""
    parts = module_name.split(".")
    for length in range(1, len(parts)):
        room = importlib.import_module(".".join(parts[:length]))
        if name in getattr(room, "__all__", ()) and getattr(room, name) is thing:
            return f"{room.__name__}.{name}"
    return None


def prepare(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let docstrings be read as they are meant, before napoleon sees them.

    A bar outside code is a bar, as in |x|, not reST's substitution; an argument that is described as "S." is
    S, not the nineteenth entry of a list. A property has sections as a method has;
    left to itself, napoleon would read none and take the first line up to a colon for a type, so that it is
    given what is already converted, behind an empty comment.
    """
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            lines[i] = LETTER.sub(r"\1\\\2", bars_escaped(line))
    if what == "property":
        converted = GoogleDocstring(lines, app.config, app, "method", name, thing, options).lines()
        lines[:] = ["..", "", *converted]


def bars_escaped(line: str) -> str:
    """The line with each `|` that is outside backticks escaped."""
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in CODE.split(line))


def resolve(app: Any, environment: Any, node: Any, text: Any) -> Any:
    """Link the names of array types, which stand in signatures without a module, to their explanation.

    Variables that stand for a type, and private classes, stay plain text.
    """
    if node.get("refdomain") != "py":
        return None
    target, module = node["reftarget"], node.get("py:module")
    if target in ARRAYS:
        python = environment.get_domain("py")
        return python.resolve_xref(environment, node["refdoc"], app.builder, "type", target, node, text)
    path, _, name = target.rpartition(".")
    stands_for = getattr(sys.modules.get(path or module), name, None)
    return text if name.startswith("_") or isinstance(stands_for, TypeVar | ParamSpec) else None


def flatten(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Make the parameters of a long signature, one a line, of what may stand in a definition's term."""
    if "body" in context:
        context["body"] = LONG_SIGNATURE.sub(
            lambda found: (
                '<span class="ab-parameters">'
                + found[1].replace("<dd>", "<span>").replace("</dd>", "</span>")
                + "</span>"
            ),
            context["body"],
        )


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", prepare, priority=100)
    app.connect("missing-reference", resolve)
    app.connect("html-page-context", flatten)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
