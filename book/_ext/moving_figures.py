"""Sphinx extension: moving figures are drawn into the page, and wake where there is JavaScript.

A chapter holds the state of its widgets. From it each figure's opening frame, its controls and its caption
are written into the page as plain HTML, in their final size: they are there at once, nothing moves when the
figure wakes, and without JavaScript, on paper and in a search engine they are what there is. Right behind
each figure comes what only the moving needs, the other frames and the links between the models, as the state
of widgets in the format of ipywidgets; `js/figures.js` reads it. Without JavaScript a few more frames stand
below the first, each with the values it shows.

Drawn are the models that `aggbandit.figures` makes, and modules of anywidget, whose trait `still` (HTML)
stands in until they have drawn themselves. Any other is named in its place and in a warning: the build fails
rather than publish a chapter without its figures.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sphinx.util import logging

VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">(.*?)</script>', re.DOTALL)
STATE = "application/vnd.jupyter.widget-state+json"
REFERENCE = "IPY_MODEL_"
MORE = 3
"""Frames that stand below the opening one where there is no JavaScript."""

MOVING = {
    "HTMLModel": ("value",),
    "StackModel": ("children", "selected_index"),
    "SelectionSliderModel": ("_options_labels", "index"),
    "ToggleButtonsModel": ("_options_labels", "index"),
    "PlayModel": ("value", "min", "max", "interval"),
    "LinkModel": ("source", "target"),
}
"""The state of each model that the browser needs; of a module it is all that the module declares."""

MODULE = "AnyModel"
TYPESET = "tex2jax_process mathjax_process"

logger = logging.getLogger(__name__)


class CannotDrawError(Exception):
    """The name of a model that a page cannot draw."""


@dataclass
class Chapter:
    """The models of one chapter, and which of them have left for the page.

    Attributes:
        models: Each model by its name, as the notebook holds it.
        sent: Names of the models whose state is in the page already.
    """

    models: Mapping[str, dict[str, Any]]
    sent: set[str] = field(default_factory=set)

    def kind(self, name: str) -> str:
        return self.models[name]["model_name"] if name in self.models else "a model that was not saved"

    def state(self, name: str) -> dict[str, Any]:
        return self.models[name]["state"]

    def children(self, name: str) -> list[str]:
        return [_name(child) for child in self.state(name).get("children", [])]

    def leader(self, stack: str) -> str | None:
        """The control that a stack follows."""
        for model in self.models.values():
            if model["model_name"] == "LinkModel" and model["state"]["target"][0] == REFERENCE + stack:
                return _name(model["state"]["source"][0])
        return None


def fill(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Replace each place of a widget in the page by its drawing, and the state in the head by its parts."""
    scripts = context.get("script_files", [])
    saved = [script for script in scripts if getattr(script, "attributes", {}).get("type") == STATE]
    if not saved or "body" not in context:
        return
    chapter = Chapter(json.loads(saved[0].attributes["body"])["state"])
    context["script_files"] = [script for script in scripts if script not in saved]

    def drawn(view: re.Match[str]) -> str:
        name = json.loads(view[1])["model_id"]
        try:
            drawing = draw(name, chapter)
        except CannotDrawError as unknown:
            logger.warning("a page cannot draw %s: leave this widget out of the book", unknown, location=page)
            return (
                f'<p class="ab-missing">Here stands a widget ({html.escape(str(unknown))}) that a page '
                "cannot draw. Open this chapter as a notebook to see it.</p>"
            )
        return drawing + behind(name, chapter)

    context["body"] = VIEW.sub(drawn, context["body"])


# ------------------------------------------------------------------------------------ what is seen


def draw(name: str, chapter: Chapter) -> str:
    """A model and all that it is made of, as it stands when the page opens."""
    kind = chapter.kind(name)
    if kind not in DRAWN:
        raise CannotDrawError(kind)
    return DRAWN[kind](name, chapter)


def _box(name: str, chapter: Chapter) -> str:
    """A figure, the row of a control, or a plain box."""
    classes = chapter.state(name).get("_dom_classes", [])
    tag = "figure" if "ab-explorable" in classes else "div"
    parts = "".join(draw(child, chapter) for child in chapter.children(name))
    more = said(name, chapter) if "ab-explorable" in classes else ""
    return f"<{tag}{_classes(classes)}>{parts}{more}</{tag}>"


def said(figure: str, chapter: Chapter) -> str:
    """Where a screen reader hears what a moved figure shows."""
    moves = any(chapter.kind(part) == "StackModel" for part in reachable(figure, chapter))
    return '<p class="ab-said" role="status"></p>' if moves else ""


def _text(name: str, chapter: Chapter) -> str:
    return chapter.state(name)["value"]


def _mathematics(name: str, chapter: Chapter) -> str:
    state = chapter.state(name)
    classes = state.get("_dom_classes", [])
    tag = "figcaption" if "ab-caption" in classes else "div"
    return f"<{tag}{_classes([*classes, TYPESET])}>{state['value']}</{tag}>"


def _stack(name: str, chapter: Chapter) -> str:
    """The frame that is shown, and for readers without JavaScript a few of the others."""
    state = chapter.state(name)
    parts = list(leaves(name, chapter))
    for leaf, _ in parts:
        if chapter.kind(leaf) != "HTMLModel":
            raise CannotDrawError(f"{chapter.kind(leaf)} in a StackModel")
    stage = f"<div{_classes(state.get('_dom_classes', []))}>{_shown(name, chapter)}</div>"
    opening = shown_leaf(name, chapter)
    values = dict(parts)
    others = [leaf for leaf in values if leaf != opening]
    count = min(MORE, len(others))
    chosen = [others[round(i * (len(others) - 1) / max(count - 1, 1))] for i in range(count)]
    more = "".join(
        f"<figure>{_text(leaf, chapter)}<figcaption>{html.escape(values[leaf])}</figcaption></figure>"
        for leaf in chosen
    )
    return (
        f'{stage}<noscript><p class="ab-values">{html.escape(values[opening])}</p>'
        f'<div class="ab-multiples">{more}</div></noscript>'
    )


def _shown(name: str, chapter: Chapter) -> str:
    """A stack with the frame that it shows, or a frame."""
    if chapter.kind(name) != "StackModel":
        return _text(name, chapter)
    child = chapter.children(name)[chapter.state(name)["selected_index"]]
    return f'<div class="ab-stack" data-model="{name}">{_shown(child, chapter)}</div>'


def shown_leaf(name: str, chapter: Chapter) -> str:
    """The frame that a stack of stacks shows."""
    while chapter.kind(name) == "StackModel":
        name = chapter.children(name)[chapter.state(name)["selected_index"]]
    return name


def leaves(name: str, chapter: Chapter, values: str = "") -> Iterator[tuple[str, str]]:
    """(frame, the values that it shows in words) for each frame of a stack of stacks."""
    if chapter.kind(name) != "StackModel":
        yield name, values
        return
    leader = chapter.leader(name)
    control = chapter.state(leader) if leader else None
    for index, child in enumerate(chapter.children(name)):
        here = f"{control['description']}: {control['_options_labels'][index]}" if control else ""
        yield from leaves(child, chapter, "; ".join(filter(None, (values, here))))


def _slider(name: str, chapter: Chapter) -> str:
    state = chapter.state(name)
    label, labels, index = html.escape(state["description"]), state["_options_labels"], state["index"]
    shown, room, last = html.escape(labels[index]), max(map(len, labels)), len(labels) - 1
    return (
        f'<label class="ab-name" for="slider-{name}">{label}</label>'
        f'<input class="ab-track" type="range" id="slider-{name}" data-model="{name}" autocomplete="off" '
        f'min="0" max="{last}" value="{index}" style="--at: {index / max(last, 1):.4g}" '
        f'aria-valuetext="{shown}">'
        f'<span class="ab-value" aria-hidden="true" style="min-width: {room}.4ch">{shown}</span>'
    )


def _buttons(name: str, chapter: Chapter) -> str:
    state = chapter.state(name)
    buttons = "".join(
        f'<button type="button" aria-pressed="{"true" if index == state["index"] else "false"}">'
        f"{html.escape(label)}</button>"
        for index, label in enumerate(state["_options_labels"])
    )
    return (
        f'<span class="ab-name" id="choice-{name}">{html.escape(state["description"])}</span>'
        f'<div class="ab-choices" role="group" aria-labelledby="choice-{name}" data-model="{name}">'
        f"{buttons}</div>"
    )


def _play(name: str, chapter: Chapter) -> str:
    spoken = html.escape(chapter.state(name).get("tooltip") or "play")
    return (
        f'<button type="button" class="ab-play" data-model="{name}" aria-pressed="false" '
        f'aria-label="{spoken}"></button>'
    )


def _button(name: str, chapter: Chapter) -> str:
    """A button of a slider's row; any other would need Python behind it."""
    state = chapter.state(name)
    kinds = [kind for kind in state.get("_dom_classes", []) if kind in ("ab-back", "ab-forward", "ab-reset")]
    if not kinds:
        raise CannotDrawError("a ButtonModel that asks Python")
    words, name_ = html.escape(state["description"]), html.escape(state["tooltip"] or state["description"])
    return f'<button type="button" class="{kinds[0]}" aria-label="{name_}">{words}</button>'


def _module(name: str, chapter: Chapter) -> str:
    """A module of anywidget: what stands there until it has drawn itself."""
    return f'<div class="ab-module" data-model="{name}">{chapter.state(name).get("still", "")}</div>'


DRAWN = {
    "VBoxModel": _box,
    "HBoxModel": _box,
    "HTMLModel": _text,
    "HTMLMathModel": _mathematics,
    "StackModel": _stack,
    "SelectionSliderModel": _slider,
    "ToggleButtonsModel": _buttons,
    "PlayModel": _play,
    "ButtonModel": _button,
    MODULE: _module,
}


def _classes(names: list[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


# ------------------------------------------------------------------------------ what stands behind


def behind(figure: str, chapter: Chapter) -> str:
    """The state that the figure needs to move and that is not in the page yet, and the call that wakes it."""
    parts = [name for name in reachable(figure, chapter) if name not in chapter.sent]
    stacks = [name for name in parts if chapter.kind(name) == "StackModel"]
    inner = {child for stack in stacks for child in chapter.children(stack)}
    drawn = {shown_leaf(stack, chapter) for stack in stacks if stack not in inner}
    chapter.sent.update(parts)
    links = [
        name
        for name, model in chapter.models.items()
        if model["model_name"] == "LinkModel"
        and name not in chapter.sent
        and {_name(model["state"][end][0]) for end in ("source", "target")} <= chapter.sent
    ]
    chapter.sent.update(links)
    moving = {
        name: _slim(chapter.models[name], without=("value",) if name in drawn else ())
        for name in [*parts, *links]
        if chapter.kind(name) in MOVING or chapter.kind(name) == MODULE
    }
    if not moving:
        return ""
    state = json.dumps({"version_major": 2, "version_minor": 0, "state": moving}, separators=(",", ":"))
    state = state.replace("<", "\\u003c")  # no frame can end the script
    return f'<script type="{STATE}">{state}</script><script>figures.wake()</script>'


def _slim(model: dict[str, Any], without: tuple[str, ...]) -> dict[str, Any]:
    """A model with what the browser needs of its state."""
    state, kind = model["state"], model["model_name"]
    if kind == MODULE:
        kept = [name for name in state if name not in ("layout", "still", "tabbable", "tooltip")]
    else:
        kept = [name for name in MOVING[kind] if name in state and name not in without]
    return {
        "model_name": kind,
        "model_module": model["model_module"],
        "model_module_version": model["model_module_version"],
        "state": {name: state[name] for name in kept},
    }


def reachable(start: str, chapter: Chapter) -> Iterator[str]:
    """A model and all that it shows, in the order in which they stand."""
    yield start
    for child in chapter.children(start):
        yield from reachable(child, chapter)


def _name(reference: str) -> str:
    return reference.removeprefix(REFERENCE)


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", fill, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
