"""Sphinx extension: statements and exercises say their number themselves, and the page agrees.

In JupyterLab a notebook stands alone: what it numbers it counts from one, kind by kind. So every numbered
statement and exercise carries the number that it has on the page, as the option `number`. Here the option is
made known to the directives; where it differs from the number that the page shows, the build fails and says
what to write.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.util import logging
from sphinx_exercise.directive import ExerciseDirective
from sphinx_proof.directive import DEFAULT_REALTYP_TO_COUNTERTYP

OPTION = "number"
WRITTEN = "written-number"  # an attribute of the nodes that the directives make

logger = logging.getLogger(__name__)


def numbered(directive: type[Directive]) -> type[Directive]:
    """The directive with one more option, whose value its node keeps."""

    def run(self: Directive) -> list[nodes.Node]:
        made: list[nodes.Node] = directive.run(self)
        for node in made:
            if isinstance(node, nodes.Element):
                node[WRITTEN] = self.options.get(OPTION, "")
        return made

    known = {**(directive.option_spec or {}), OPTION: directives.unchanged_required}
    return type(directive.__name__, (directive,), {"run": run, "option_spec": known})


def compare(app: Any, doctree: nodes.document, page: str) -> None:
    """Name every statement and exercise whose number is not the one that its page shows."""
    standard, shown = app.env.get_domain("std"), app.env.toc_fignumbers.get(page, {})
    for node in doctree.findall(lambda node: isinstance(node, nodes.Element) and WRITTEN in node):
        label = node["label"]
        number = shown.get(standard.get_enumerable_node_type(node), {}).get(label, ())
        fault = complaint(label, node[WRITTEN], ".".join(map(str, number)))
        if fault:
            logger.warning(fault, location=node, type="numbering", subtype="differs")


def complaint(label: str, written: str, shown: str) -> str:
    """What is wrong with the number that is written, and how to mend it; nothing if it is right.

    Args:
        label: The statement's or exercise's.
        written: The number in its source, empty if there is none.
        shown: The number on its page, empty if it has none.
    """
    if written == shown:
        return ""
    says = f"says `:{OPTION}: {written}`" if written else f"says no `:{OPTION}:`"
    if not shown:
        return f"{label} has no number on the page and {says}; leave that out"
    return f"{label} is {shown} on the page and {says}; write `:{OPTION}: {shown}` below its label"


def setup(app: Any) -> dict[str, Any]:
    for extension in ("sphinx_proof", "sphinx_exercise"):
        app.setup_extension(extension)
    app.add_directive("exercise", numbered(ExerciseDirective), override=True)
    domain = app.registry.domains["prf"]
    for kind in DEFAULT_REALTYP_TO_COUNTERTYP:
        statement = numbered(domain.directives[kind])
        app.add_directive_to_domain("prf", kind, statement, override=True)
    app.connect("doctree-resolved", compare)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
