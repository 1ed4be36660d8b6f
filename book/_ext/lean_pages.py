"""Sphinx extension: what leaves a page.

Scripts that were added twice are kept once, and those of Thebe (a remote kernel this book does not use, with
an address on a public network) are dropped. Of the names that every proof, exercise and solution bears, the
first keeps them. Each formula in a line says how wide it will be, so that the line is not broken anew
when it is typeset.
"""

from __future__ import annotations

import html
import re
from typing import Any

from formulas import width

SHARED_NAME = re.compile(r' id="(proof|(?:proof|exercise|solution)-content)"')
FORMULA = re.compile(r'<span class="math notranslate nohighlight">\\\((.*?)\\\)</span>', re.DOTALL)


def tidy(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    scripts = context.get("script_files", [])
    context["script_files"] = list(_once(script for script in scripts if not _is_thebe(script)))
    if "body" in context:
        context["body"] = FORMULA.sub(_measured, _named_once(context["body"]))


def _named_once(body: str) -> str:
    seen: set[str] = set()

    def first(name: re.Match[str]) -> str:
        known = name[1] in seen
        seen.add(name[1])
        return "" if known else name[0]

    return SHARED_NAME.sub(first, body)


def _measured(formula: re.Match[str]) -> str:
    opening, rest = formula[0].split(">", 1)
    return f'{opening} style="--wide: {width(html.unescape(formula[1])):.2f}em">{rest}'


def _once(scripts: Any) -> Any:
    seen = set()
    for script in scripts:
        key = str(script), tuple(sorted((name, str(value)) for name, value in _attributes(script).items()))
        if key not in seen:
            seen.add(key)
            yield script


def _attributes(script: Any) -> dict[str, Any]:
    return getattr(script, "attributes", {})


def _is_thebe(script: Any) -> bool:
    return "thebe" in str(script) or "THEBE_JS_URL" in (_attributes(script).get("body") or "")


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", tidy, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
