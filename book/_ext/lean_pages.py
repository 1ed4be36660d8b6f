"""Sphinx extension: what leaves a page, and what stands in for a moving figure where there is no JavaScript.

- Scripts that were added twice are kept once, and those of Thebe (a remote kernel this book does not use,
  with an address on a public network) are dropped.
- Behind each moving figure a ``<noscript>`` shows up to four of its frames side by side, with the caption.
"""

from __future__ import annotations

import json
import re
from typing import Any

VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">(.*?)</script>', re.DOTALL)
STATE = "application/vnd.jupyter.widget-state+json"
MULTIPLES = 4


def tidy(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    scripts = context.get("script_files", [])
    context["script_files"] = list(_once(script for script in scripts if not _is_thebe(script)))
    states = [json.loads(script.attributes["body"])["state"] for script in scripts if _kind(script) == STATE]
    models = {name: model["state"] for state in states for name, model in state.items()}
    if models and "body" in context:
        context["body"] = VIEW.sub(
            lambda view: view[0] + _fallback(json.loads(view[1]), models), context["body"]
        )


def _once(scripts: Any) -> Any:
    seen = set()
    for script in scripts:
        key = str(script), tuple(sorted((name, str(value)) for name, value in _attributes(script).items()))
        if key not in seen:
            seen.add(key)
            yield script


def _attributes(script: Any) -> dict[str, Any]:
    return getattr(script, "attributes", {})


def _kind(script: Any) -> str | None:
    return _attributes(script).get("type")


def _is_thebe(script: Any) -> bool:
    return "thebe" in str(script) or "THEBE_JS_URL" in (_attributes(script).get("body") or "")


def _fallback(view: dict[str, Any], models: dict[str, Any]) -> str:
    model = models.get(view["model_id"], {})
    if "ab-explorable" not in model.get("_dom_classes", []):
        return ""
    stage, _, words = (models[_id(child)] for child in model["children"])
    frames = _leaves(stage, models)
    count = min(MULTIPLES, len(frames))
    chosen = [frames[round(i * (len(frames) - 1) / max(count - 1, 1))] for i in range(count)]
    multiples = f'<div class="ab-multiples">{"".join(chosen)}</div>'
    caption = f'<figcaption class="tex2jax_process mathjax_process">{words["value"]}</figcaption>'
    return f'<noscript><figure class="ab-fallback">{multiples}{caption}</figure></noscript>'


def _leaves(stack: dict[str, Any], models: dict[str, Any]) -> list[str]:
    if "children" not in stack:
        return [stack["value"]]
    return [leaf for child in stack["children"] for leaf in _leaves(models[_id(child)], models)]


def _id(reference: str) -> str:
    return reference.removeprefix("IPY_MODEL_")


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", tidy, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
