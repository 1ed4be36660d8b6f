r"""Dragged figures: drawn in the reader's browser, moved by hand, continuously, with no kernel.

A dragged figure is a module of JavaScript in `figures/modules`, the data that Python computed for it, and
a still picture of its opening state. A whole one, `modules/lever.js`::

    import { axes, color, decimals, figure, line, plane } from "./drag.js";

    /** Pixels it takes up, 640 wide and 367 wide (on a phone): a page keeps them free. */
    export const room = [346, 286];

    /** What is compared with Python. */
    export const maths = { cost: (p, [keep, turn]) => (1 - p) * keep + p * turn };

    const view = ({ width, height }) =>
      plane({ x: [0, 1], y: [0, 2], box: [60, 20, width - 20, height - 50] });

    export default figure({
      plan: (width) => ({ width, height: width < 520 ? 240 : 300 }),
      draw({ p }, layout, { prices }) {
        const { at, box } = view(layout);
        const edge = line([at([0, prices[0]]), at([1, prices[1]])], { stroke: color.loss });
        return axes({ at, box }, { x: [0, 1], y: [0, 2], across: "p, turn", up: "cost" }) + edge;
      },
      words: ({ p }, { prices }) =>
        `Turning with probability ${decimals(p, 2)} costs ${decimals(maths.cost(p, prices), 2)}.`,
      readout: ({ p }, { prices }) => [
        ["<i>p</i>", decimals(p, 2)],
        ["cost", decimals(maths.cost(p, prices), 2)],
      ],
      handles: () => [
        {
          name: "p, probability of turning",
          range: [0, 1],
          number: ({ p }) => p,
          value: ({ p }) => `p = ${decimals(p, 2)}`,
          place: ({ p }, layout, { prices }) => view(layout).at([p, maths.cost(p, prices)]),
          drag: (place, state, layout) =>
            ({ p: Math.min(Math.max(view(layout).back(place)[0], 0), 1) }),
          step: ([dx, dy], size, { p }) => ({ p: Math.min(Math.max(p + 0.05 * size * (dx + dy), 0), 1) }),
        },
      ],
    });

and in the chapter, as the last expression of a cell::

    figures.draggable(
        "lever",
        {"prices": [1.5, 0.6]},                   # numbers, words, lists, arrays
        start={"p": 0.5},                         # the state it opens on, and returns to
        still=picture,                            # SVG (or a matplotlib figure) of that state
        caption="Drag the dot. Where is turning worth as much as keeping?",
        alt="Turning with probability 0.50 costs 1.05.",   # the module's `words` on the opening state
    )

What a module may use is said in `modules/drag.js`: colors, shapes, coordinates, `figure` with its handles,
buttons and a play button. A reader drags a handle, or focuses it and presses the arrows (Shift: finer,
Page Up and Down: coarser, Home: back); its place is announced.

What a reader sees is computed twice, in JavaScript and in Python. So a module holds only what a page can:
closed forms, a corner of a polygon, a small Newton iteration, from numbers that Python sends; its `maths`
are compared with Python in `tests/site/test_draggable.py`.

The figure is an anywidget: JupyterLab, VS Code and the book's page draw it by the same module. Viewers
without widgets, print, and pages without JavaScript show the still.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from numbers import Integral, Real
from typing import Any

import anywidget
import ipywidgets as widgets
import numpy as np
import traitlets
from matplotlib.figure import Figure

from aggbandit._arrays import check_kind
from aggbandit.figures._render import caption_html, plain_caption, render
from aggbandit.figures.explorable import MAX_BYTES

DIGITS = 12
"""Significant digits of the numbers that are sent: the last bits differ between machines."""

_MODULES = files("aggbandit.figures") / "modules"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:const|function) (\w+)", re.MULTILINE)
_ROOM = re.compile(r"^export const room = \[(\d+), (\d+)\];$", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*.*?\*/)\n", re.MULTILINE | re.DOTALL)


class _Drawing(anywidget.AnyWidget):
    """The widget of a dragged figure; the browser draws it by its module.

    Attributes:
        module: The name of its module.
        data: What Python computed for it.
        start: The state it opens on.
        still: The opening picture as HTML, for a page that has not drawn it yet.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)


@dataclass(frozen=True)
class Draggable:
    """A dragged figure that a notebook cell shows when it is the cell's last expression.

    Attributes:
        widget: The whole, with its caption.
        drawing: The widget that the browser draws.
        still: The opening picture, by MIME type, for viewers without widgets.
        still_metadata: The same picture's alternative text and size, by MIME type.
        text: What a plain terminal shows.
    """

    widget: widgets.VBox
    drawing: anywidget.AnyWidget
    still: Mapping[str, str]
    still_metadata: Mapping[str, Mapping[str, Any]]
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        view = self.widget._repr_mimebundle_()
        return {**view, **self.still, "text/plain": self.text}, dict(self.still_metadata)


def draggable(
    module: str,
    data: Mapping[str, Any],
    *,
    start: Mapping[str, Any],
    still: Figure | str,
    caption: str,
    alt: str,
) -> Draggable:
    """A figure that is drawn in the browser by a module of `figures/modules`, and dragged.

    Args:
        module: The module's name, without `.js`.
        data: What the module draws from: numbers, words, lists, tables, arrays of any shape.
        start: The state it opens on, and returns to: values by name.
        still: That state as a picture: SVG, or a matplotlib figure.
        caption: What to drag and what to watch; `$…$` is mathematics.
        alt: That state in words.

    Returns:
        The figure, which shows itself as the last expression of a cell.

    Raises:
        ValueError: if there is no such module, or it does not say its room; naming the entry, if `data` or
            `start` holds what is no finite number, word, list or table; for an empty caption or alternative
            text; if module and data weigh more than 400 kB.
        TypeError: if `data` or `start` is no table, or `still` is no picture.

    Example:
        >>> from aggbandit import figures
        >>> figures.draggable(
        ...     "direction",
        ...     {"corners": [[1.0, 2.0], [2.0, 1.0]]},
        ...     start={"theta": 40.0},
        ...     still='<svg viewBox="0 0 10 10"><circle cx="5" cy="5" r="2"/></svg>',
        ...     caption="Turn the arrow.",
        ...     alt="An arrow.",
        ... )
        Draggable: Turn the arrow.
    """
    for name, table in (("data", data), ("start", start)):
        check_kind(name, table, Mapping, "a dictionary")
    frame = render(still, alt)
    drawing = _Drawing(
        still=_roomy(module, frame.html),
        _esm=source(module),
        _css=(_MODULES / "drag.css").read_text(encoding="utf-8"),
        module=module,
        data=_plain("data", data),
        start=_plain("start", start),
    )
    weight = len(drawing._esm.encode()) + len(json.dumps(drawing.data))
    if weight > MAX_BYTES:
        raise ValueError(
            f"module {module} and its data weigh {weight / 1000:.0f} kB; at most {MAX_BYTES // 1000} kB"
        )
    whole = widgets.VBox(
        [drawing.add_class("ab-stage"), widgets.HTMLMath(caption_html(caption)).add_class("ab-caption")]
    ).add_class("ab-explorable")
    picture, metadata = frame.still()
    return Draggable(whole, drawing, picture, metadata, f"Draggable: {plain_caption(caption)}")


def _roomy(module: str, still: str) -> str:
    """The still in a box that is as high as what will be drawn in its place (`css/figures.css`)."""
    found = _ROOM.search(_read(module))
    if not found:
        raise ValueError(
            f"{module}.js does not say its room: export const room = [height, height on a phone];"
        )
    return f'<div class="ab-drag-still" style="--wide: {found[1]}px; --narrow: {found[2]}px">{still}</div>'


@cache
def source(module: str) -> str:
    """A module as the browser gets it: one file, with all that it imports inside.

    Args:
        module: The module's name, without `.js`.

    Returns:
        JavaScript that imports nothing.

    Raises:
        ValueError: if there is no such module, if it is no figure (it has no default export), or if it
            imports otherwise than by `import { … } from "./other.js";`.
    """
    own = _read(module)
    if "\nexport default " not in own:
        raise ValueError(f"{module}.js is no figure; a figure has a default export")
    needed = _needed(module)
    parts = [_closed(name, _read(name)) for name in needed]
    return _COMMENT.sub("", "".join(parts) + _bound(own))


def _needed(module: str) -> list[str]:
    """The modules that this one imports, itself or through others; each after those it imports."""
    names: list[str] = []
    for _, other in _IMPORT.findall(_read(module)):
        names += [name for name in [*_needed(other), other] if name not in names]
    return names


def _closed(name: str, text: str) -> str:
    """A shared module as one object of its exports, so that no name of it meets another's."""
    exported = ", ".join(_EXPORT.findall(text))
    inside = _EXPORT.sub(lambda found: found[0].removeprefix("export "), _bound(text))
    return f"const {name} = (() => {{\n{inside}return {{ {exported} }};\n}})();\n"


def _bound(text: str) -> str:
    """The text with its imports taken from those objects."""
    bound = _IMPORT.sub(lambda found: f"const {{ {' '.join(found[1].split())} }} = {found[2]};\n", text)
    if stray := re.search(r"^import\b.*", bound, re.MULTILINE):
        raise ValueError(f'{stray[0]!r} is no statement of the form import {{ … }} from "./other.js";')
    return bound


def _read(module: str) -> str:
    path = _MODULES / f"{module}.js"
    if not path.is_file():
        there = sorted(path.name for path in _MODULES.iterdir() if path.name.endswith(".js"))
        raise ValueError(f"there is no module {module}.js; there are {', '.join(there)}")
    return path.read_text(encoding="utf-8")


def _plain(place: str, value: Any) -> Any:
    """The value as JSON has it, its numbers rounded; names the place of what JSON does not have."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(f"{place}[{name!r}]", entry) for name, entry in value.items()}
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Sequence):
        return [_plain(f"{place}[{index}]", entry) for index, entry in enumerate(value)]
    raise ValueError(f"{place} is {value!r}; a page holds finite numbers, words, lists and tables")
