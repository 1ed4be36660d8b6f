"""A notebook as the book keeps it, whoever saved it.

`make execute` and `make lab` both write a chapter through this, so that a chapter that was run in JupyterLab
and saved holds the same bytes as one that was executed: what differs is what the reader wrote.

JupyterLab saves the state of the widgets that the kernel holds, also of those whose cell was run again and
which nobody can see any more; it leaves out what is a widget's default; a slider stays where it was moved;
and frames that the kernel had no time for are missing. A moving figure that is otherwise the one which the
file held before is kept as it was there: it opens where it shall open, with all its frames. So is one that
JupyterLab knows nothing of, as before it has found a kernel: it saves by itself every two minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import anywidget
import ipywidgets
from whole import REFERENCE, STATE, VIEW, Models, drawn, reachable, references

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# The extension is what `nbconvert --to script` writes; the version of Python is left out.
LANGUAGE = {"file_extension": ".py", "name": "python", "pygments_lexer": "ipython3"}
# What stays of a cell's metadata. Whether it is trusted is for Jupyter alone, which takes it out itself.
KEPT = ("tags", "mystnb", "trusted")
# What a reader moves, by model.
MOVED = {
    "SelectionSliderModel": "index",
    "ToggleButtonsModel": "index",
    "StackModel": "selected_index",
    "PlayModel": "value",
}
# How the package's remarks (it compiles, it will take long) begin in the kernels that `make lab` starts.
REMARK = "aggbandit: "
VERSION = {"version_major": 2, "version_minor": 0}  # of the form in which widgets are saved


def settle(notebook: dict[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Bring a notebook into the form in which the book keeps it, in place.

    Args:
        notebook: Format 4, as it comes from nbclient or from JupyterLab.
        before: The notebook that it replaces, if any.
    """
    metadata = notebook["metadata"]
    widgets = metadata.get("widgets", {})
    metadata.clear()
    metadata.update(kernelspec=dict(KERNELSPEC), language_info=dict(LANGUAGE))
    for cell in notebook["cells"]:
        for name in set(cell["metadata"]) - set(KEPT):
            del cell["metadata"][name]
        if cell["cell_type"] == "code":
            cell["outputs"] = [output for output in cell["outputs"] if not is_remark(output)]
    saved = saved_models(before) if before else {}
    models = widgets.get(STATE, {}).get("state", {})
    whole = settled(notebook, models, saved)
    if STATE in widgets or whole:
        metadata["widgets"] = {STATE: {**VERSION, **widgets.get(STATE, {}), "state": whole}}


def is_remark(output: Mapping[str, Any]) -> bool:
    """Whether an output is nothing but remarks of the package, which depend on the machine."""
    if output.get("name") != "stderr":
        return False
    lines = "".join(output["text"]).splitlines()
    return all(line.startswith(REMARK) for line in lines)


def saved_models(notebook: Mapping[str, Any]) -> Models:
    return notebook["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})


def settled(notebook: dict[str, Any], models: Models, before: Models) -> dict[str, Any]:
    """The models that the outputs show, numbered from one, whole, and where they stood."""
    models = {**before, **models}
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    views = [output["data"][VIEW] for output in outputs if VIEW in output.get("data", {})]
    seen = {part for view in views for part in reachable(view["model_id"], models)} & set(models)
    names = {name: f"{number:032x}" for number, name in enumerate(sorted(seen | ties(seen, models)), start=1)}
    whole = {new: {**models[old], "state": whole_state(models[old], names)} for old, new in names.items()}
    for view in views:
        view["model_id"] = names.get(view["model_id"], view["model_id"])
        parts = list(reachable(view["model_id"], whole))
        if all(part in whole and part in before and is_same(whole[part], before[part]) for part in parts):
            whole.update({part: before[part] for part in parts})
    return whole


def ties(seen: set[str], models: Models) -> set[str]:
    """The links between models that are seen, with all that they are made of."""
    links = {
        name
        for name, model in models.items()
        if model["model_name"] == "LinkModel"
        and seen.issuperset(references(model["state"].get("target", [])))
    }
    return {part for link in links for part in reachable(link, models)} & set(models)


def whole_state(model: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A model's state with its defaults, its references under new names."""
    state = {key: renamed(value, names) for key, value in model["state"].items()}
    return {**defaults(model["model_module"], model["model_name"]), **state}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A piece of state with the models that it refers to under new names."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        old = value.removeprefix(REFERENCE)
        return REFERENCE + names.get(old, old)
    if isinstance(value, dict):
        return {key: renamed(part, names) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(part, names) for part in value]
    return value


def is_same(part: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a part of a figure is what it was, wherever it stands, or is still to be drawn."""

    def rest(model: Mapping[str, Any]) -> dict[str, Any]:
        moves = MOVED.get(model["model_name"], "")
        return {key: value for key, value in model["state"].items() if key != moves}

    waits = part["model_name"] == before["model_name"] == "HTMLModel" and not drawn(part)
    return waits or {**part, "state": rest(part)} == {**before, "state": rest(before)}


@cache
def kinds() -> dict[tuple[str, str], type[ipywidgets.Widget]]:
    """The classes of widgets by module and name of their models."""
    found: dict[tuple[str, str], type[ipywidgets.Widget]] = {}
    waiting = [ipywidgets.Widget]
    while waiting:
        kind = waiting.pop()
        found.setdefault((kind._model_module.default_value, kind._model_name.default_value), kind)
        waiting += kind.__subclasses__()
    return {**found, ("anywidget", "AnyModel"): anywidget.AnyWidget}


@cache
def defaults(module: str, name: str) -> Mapping[str, Any]:
    """What a kernel says of a new model: the plain values of its class; no class, no defaults."""
    kind = kinds().get((module, name))
    traits = kind.class_traits(sync=True) if kind else {}
    found = {key: trait.default() for key, trait in traits.items()}
    plain = {key: [] if value == () else value for key, value in found.items()}
    return {
        key: value
        for key, value in plain.items()
        if value is None or isinstance(value, str | bool | int | float | list)
    }
