"""What a committed chapter must hold so that its page shows what its author saw.

A page has no kernel: it shows the outputs that the notebook holds, and a moving figure only where the
notebook also holds the state of each of its widgets. A notebook that was saved elsewhere than by
`make execute` may lack that state, or hold that of an earlier run, and the figure would then silently be
missing from the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aggbandit.figures.explorable import MAX_BYTES, MAX_FRAMES

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
REFERENCE = "IPY_MODEL_"
FIGURE = ("Explorable: ", "Draggable: ")  # the text that stands for it where no widget can be shown
WHOLE_MODEL = {"model_name", "model_module", "state"}
PICTURES = ("<img", "<svg", 'role="img"')
WAITING = 'aria-busy="true"'  # a frame that stands in for one that is still to be drawn

Models = Mapping[str, Mapping[str, Any]]


def faults(chapter: Path) -> Iterator[str]:
    """What would be missing from the chapter's page, one sentence for each kind of fault."""
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    cells = [cell for cell in code if "".join(cell["source"]).strip()]
    yield from unexecuted(cells)
    yield from unmoving(views(cells), notebook["metadata"].get("widgets", {}))


def unexecuted(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Cells that were not run, not run in order, or that ended in an error."""
    counts = [cell.get("execution_count") for cell in cells]
    if None in counts:
        yield f"code cell {counts.index(None) + 1} was not run"
    elif counts != list(range(1, len(counts) + 1)):
        yield "its cells were not run once each from top to bottom"
    for number, cell in enumerate(cells, start=1):
        if any(output["output_type"] == "error" for output in cell["outputs"]):
            yield f"code cell {number} ended in an error"


def views(cells: list[dict[str, Any]]) -> Iterator[tuple[int, str | None]]:
    """(number of the cell, model id) of each moving figure; no id where only its text was saved."""
    for number, cell in enumerate(cells, start=1):
        for output in cell["outputs"]:
            data = output.get("data", {})
            if VIEW in data:
                yield number, data[VIEW]["model_id"]
            elif "".join(data.get("text/plain", "")).startswith(FIGURE):
                yield number, None


def unmoving(shown: Iterator[tuple[int, str | None]], saved: Mapping[str, Any]) -> Iterator[str]:
    """Moving figures that would not move, or not be there at all."""
    figures = list(shown)
    if not figures:
        return
    if STATE not in saved:
        flat = any("model_name" in entry for entry in saved.values() if isinstance(entry, dict))
        reason = "its widget state is laid out as Colab saves it" if flat else "no widget state was saved"
        yield f"{reason}, so that none of its {len(figures)} moving figures would be shown"
        return
    models: Models = saved[STATE]["state"]
    for number, model in figures:
        reason = "it was saved as text alone" if model is None else lost(model, models)
        if reason:
            yield f"the moving figure of code cell {number} would not be shown whole: {reason}"
        elif reason := too_much(model, models):
            yield f"the moving figure of code cell {number} has {reason}"


def lost(view: str, models: Models) -> str | None:
    """Why the figure with this model would not be shown as it was, if it would not be."""
    if view not in models:
        return "the saved widget state is that of another run"
    parts = set(reachable(view, models))
    missing = [part for part in parts if not set(models.get(part, ())) >= WHOLE_MODEL]
    if missing:
        return f"the saved widget state lacks {len(missing)} of its parts"
    stacks = {part for part in parts if models[part]["model_name"] == "StackModel"}
    if stacks - linked(models):
        return "no saved link ties its pictures to their controls"
    undrawn = [frame for stack in stacks for frame in frames(stack, models) if not drawn(models[frame])]
    if undrawn:
        return f"{len(undrawn)} of its pictures were not drawn when it was saved"
    return None


def too_much(view: str, models: Models) -> str | None:
    """How the figure with this model exceeds what a page holds; a notebook that lives may."""
    stacks = [part for part in reachable(view, models) if models[part]["model_name"] == "StackModel"]
    pictures = [models[frame]["state"]["value"] for stack in stacks for frame in frames(stack, models)]
    weight = sum(len(picture.encode()) for picture in pictures)
    if len(pictures) > MAX_FRAMES:
        return f"{len(pictures)} pictures; at most {MAX_FRAMES} keep a page light"
    if weight > MAX_BYTES:
        return f"pictures of {weight / 1000:.0f} kB; at most {MAX_BYTES // 1000} kB keep a page light"
    return None


def reachable(start: str, models: Models) -> Iterator[str]:
    """A model and all that it is made of: children, layout, style."""
    waiting, seen = [start], set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name
            waiting += references(models.get(name, {}).get("state", {}))


def references(value: Any) -> Iterator[str]:
    """The models that a piece of state refers to."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        yield value.removeprefix(REFERENCE)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from references(part)


def linked(models: Models) -> set[str]:
    """The models that follow another one in the browser."""
    links = (model["state"] for model in models.values() if model.get("model_name", "").endswith("LinkModel"))
    return {name for link in links for name in references(link.get("target", []))}


def frames(stack: str, models: Models) -> Iterator[str]:
    """The models of the pictures of which a stack shows one at a time."""
    for child in references(models[stack]["state"].get("children", [])):
        if models[child]["model_name"] == "HTMLModel":
            yield child


def drawn(frame: Mapping[str, Any]) -> bool:
    value = frame["state"].get("value", "")
    return WAITING not in value and any(mark in value for mark in PICTURES)
