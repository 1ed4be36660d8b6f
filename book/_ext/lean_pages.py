"""Sphinx extension: what leaves a page.

Scripts that were added twice are kept once, and those of Thebe (a remote kernel this book does not use, with
an address on a public network) are dropped. Of the names that every proof bears, the first proof keeps them.
"""

from __future__ import annotations

import re
from typing import Any

SHARED_NAME = re.compile(r' id="(proof|proof-content)"')


def tidy(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    scripts = context.get("script_files", [])
    context["script_files"] = list(_once(script for script in scripts if not _is_thebe(script)))
    if "body" in context:
        context["body"] = _named_once(context["body"])


def _named_once(body: str) -> str:
    seen: set[str] = set()

    def first(name: re.Match[str]) -> str:
        known = name[1] in seen
        seen.add(name[1])
        return "" if known else name[0]

    return SHARED_NAME.sub(first, body)


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
