r"""Moving figures: draw every frame beforehand, and let the browser choose the one to show.

    from aggbandit import figures

    def draw(p):
        fig, ax = figures.axes(height=2.8)
        ax.bar(["left", "right"], [p, 1 - p], color=figures.LEARNER)
        ax.set(ylim=(0, 1), ylabel="probability")
        return fig

    figures.explorable(
        draw,
        p=[0, 0.25, 0.5, 0.75, 1],                # a parameter and its values; one or two of these
        labels={"p": "p, chance of turning left"},
        start={"p": 0.5},                         # the frame to open on
        caption="More left is less right. Where do the two bars meet?",
        alt="Two bars: left at {p}, right takes the rest.",
    )

Make the call the last expression of its cell.

- `draw` gets one value of each parameter by name and returns a matplotlib figure (or an SVG or HTML string).
  It must depend on nothing else that changes: make random numbers inside, from a fixed seed.
  Fix the limits of the axes, so that only what is meant to move moves.
- Values: numbers become a slider, strings become buttons. ``{value: "what to write"}`` labels them; numbers
  are otherwise written with ``:g``.
- `alt` is a format string over the parameters, or a function of them; each frame gets its own words.
- `caption`: the takeaway, and a question to move for. ``$…$`` is mathematics, inline HTML is allowed.
- At most 40 frames and 400 kB: a plain line plot is 6–10 kB, a busy double one 15–20 kB. A whole chapter must
  stay under 1 MB.

How it moves. Each frame is an ``HTML`` widget in a ``Stack``, and the control's index is linked to the
stack's in the browser (``jslink``): the built page needs no kernel. Two parameters make a stack of stacks.
``book.css`` and ``book.js`` give it its looks, names for screen readers, and buttons that need no kernel.

When it draws. Run for the book, the call draws everything at once, so that the notebook is complete. In a
live notebook (JupyterLab, or the kernel in the page) it draws the opening frame at once, any other when it
is first asked for, and the rest while the kernel is idle: a few seconds later everything is there, and
JupyterLab's "Save Widget State" keeps it. The environment variable ``AGGBANDIT_FRAMES`` (``all`` or ``live``)
overrides the guess.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
from ipywidgets.widgets.widget_string import HTMLStyle
from matplotlib.figure import Figure

from aggbandit.figures._render import caption_html, markup, plain_caption
from aggbandit.figures.style import house_style

MAX_FRAMES = 40
MAX_BYTES = 400_000

Values = Sequence[Any] | Mapping[Any, str]


@dataclass(frozen=True)
class Explorable:
    """A moving figure that a notebook cell shows when it is the cell's last expression.

    `frames` are the HTML widgets in order (last parameter fastest), `controls` the sliders or buttons by
    parameter name, `widget` the whole, `text` what a plain terminal shows.
    """

    widget: widgets.VBox
    controls: Mapping[str, Any]
    frames: tuple[widgets.HTML, ...]
    text: str

    @property
    def weight(self) -> int:
        """Bytes of the frames drawn so far."""
        return sum(len(frame.value.encode()) for frame in self.frames)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        view = self.widget._repr_mimebundle_()
        return {**view, "text/plain": self.text}


def explorable(
    draw: Callable[..., Figure | str],
    *,
    caption: str,
    alt: str | Callable[..., str],
    labels: Mapping[str, str] | None = None,
    start: Mapping[str, Any] | None = None,
    **values: Values,
) -> Explorable:
    """A figure of one or two parameters that moves in the browser, with or without a kernel.

    `draw(**parameters)` returns a matplotlib figure or an SVG or HTML string; each keyword in `values` is a
    parameter with its values. `labels` names the parameters in the text's symbols, `start` chooses the
    opening values (default: the first of each). `caption` is the takeaway; `alt`, a format string or
    a function of the parameters, writes each frame's words. See the module's docstring for an example.

    Raises `ValueError` for no or more than two parameters, a parameter without values, more than 40 frames,
    more than 400 kB, frames of different sizes, a starting value that is not among the values, an empty
    caption or alternative text; `TypeError` if `draw` returns something that is not a picture.
    """
    parameters = {name: _labelled(name, options) for name, options in values.items()}
    _check(parameters)
    names = list(parameters)
    opening = _opening(parameters, start or {})
    words = caption_html(caption)

    shared = {"layout": widgets.Layout(width="100%", margin="0"), "style": HTMLStyle()}
    frames = tuple(widgets.HTML(_waiting(), **shared) for _ in range(_count(parameters)))
    sizes: list[tuple[int, int]] = []
    drawn: set[int] = set()

    def draw_frame(index: int) -> None:
        if index in drawn:
            return
        point = dict(zip(names, _point(parameters, index), strict=True))
        with house_style():
            body, size = markup(draw(**point), alt.format(**point) if isinstance(alt, str) else alt(**point))
        if size is not None:
            sizes.append(size)
            if size != sizes[0]:
                raise ValueError(
                    f"frame {point} has {size[0]}x{size[1]} pixels, the first {sizes[0][0]}x{sizes[0][1]}; "
                    "all frames must have one size, or the page jumps"
                )
        frames[index].value = body
        drawn.add(index)

    controls = {
        name: _control(name, list(options.values()), (labels or {}).get(name, name), opening[name])
        for name, options in parameters.items()
    }
    stack = _stack(frames, [controls[name] for name in names])
    stack.add_class("ab-stage")
    whole = widgets.VBox(
        [
            stack,
            widgets.VBox([_row(control) for control in controls.values()]).add_class("ab-controls"),
            widgets.HTMLMath(words).add_class("ab-caption"),
        ]
    ).add_class("ab-explorable")
    result = Explorable(whole, controls, frames, f"Explorable: {plain_caption(caption)}")

    def current() -> int:
        return _index(parameters, [control.index for control in controls.values()])

    draw_frame(current())
    if _is_live():
        for control in controls.values():
            control.observe(lambda _: draw_frame(current()), "index")
        _when_idle(draw_frame, range(len(frames)))
    else:
        for index in range(len(frames)):
            draw_frame(index)
        _check_weight(result)
    return result


def _labelled(name: str, options: Values) -> dict[Any, str]:
    if isinstance(options, Mapping):
        return dict(options)
    if isinstance(options, str) or not isinstance(options, Iterable):
        raise ValueError(f"{name}={options!r} is not a list of values")
    return {value: value if isinstance(value, str) else f"{value:g}" for value in options}


def _check(parameters: Mapping[str, Mapping[Any, str]]) -> None:
    if not 1 <= len(parameters) <= 2:
        raise ValueError(
            f"{len(parameters)} parameters given ({', '.join(parameters)}); an explorable has one or two"
        )
    for name, options in parameters.items():
        if not options:
            raise ValueError(f"{name} has no values")
    if _count(parameters) > MAX_FRAMES:
        sizes = " x ".join(str(len(options)) for options in parameters.values())
        raise ValueError(f"{sizes} = {_count(parameters)} frames; at most {MAX_FRAMES} keep a page light")


def _check_weight(result: Explorable) -> None:
    if result.weight > MAX_BYTES:
        each = result.weight / len(result.frames) / 1000
        raise ValueError(
            f"{len(result.frames)} frames of {each:.1f} kB weigh {result.weight / 1000:.0f} kB; at most "
            f"{MAX_BYTES // 1000} kB: take fewer values, a lower figure, or fewer points and shades"
        )


def _opening(parameters: Mapping[str, Mapping[Any, str]], start: Mapping[str, Any]) -> dict[str, int]:
    for name, value in start.items():
        if name not in parameters:
            raise ValueError(f"start names {name}, which is not a parameter")
        if value not in parameters[name]:
            raise ValueError(f"start has {name}={value!r}, which is not among its values")
    return {
        name: list(options).index(start[name]) if name in start else 0 for name, options in parameters.items()
    }


def _count(parameters: Mapping[str, Mapping[Any, str]]) -> int:
    count = 1
    for options in parameters.values():
        count *= len(options)
    return count


def _point(parameters: Mapping[str, Mapping[Any, str]], index: int) -> tuple[Any, ...]:
    return list(itertools.product(*parameters.values()))[index]


def _index(parameters: Mapping[str, Mapping[Any, str]], indices: Sequence[int]) -> int:
    flat = 0
    for options, index in zip(parameters.values(), indices, strict=True):
        flat = flat * len(options) + index
    return flat


def _control(name: str, options: list[str], label: str, index: int) -> Any:
    """Buttons where every label is a word, a slider where the values are numbers."""
    pairs = [(text, position) for position, text in enumerate(options)]
    style = {"description_width": "initial"}
    layout = widgets.Layout(width="auto", flex="1 1 auto")
    if not any(any(sign.isdigit() for sign in text) for text in options) and len(options) <= 6:
        return widgets.ToggleButtons(
            options=pairs, index=index, description=label, style=style, layout=layout
        )
    slider = widgets.SelectionSlider(
        options=pairs, index=index, description=label, style=style, layout=layout
    )
    # The page keeps room for the longest value, so that the track does not move under the finger.
    return slider.add_class(f"ab-value-{min(max(map(len, options)), 24)}")


def _stack(frames: Sequence[widgets.HTML], controls: Sequence[Any]) -> widgets.Stack:
    """The frames behind their controls: for two parameters a stack of stacks."""
    first, *others = controls
    children: list[Any] = list(frames)
    if others:
        width = len(others[0].options)
        children = [_stack(frames[i : i + width], others) for i in range(0, len(frames), width)]
    stack = widgets.Stack(children, selected_index=first.index)
    widgets.jslink((first, "index"), (stack, "selected_index"))
    return stack


def _row(control: Any) -> Any:
    """A slider with its step and reset buttons; the page's script presses them where there is no kernel."""
    if isinstance(control, widgets.ToggleButtons):
        return widgets.HBox([control]).add_class("ab-row")
    home = control.index

    def step(by: int) -> Callable[[Any], None]:
        def move(_: Any) -> None:
            control.index = min(max(control.index + by, 0), len(control.options) - 1)

        return move

    def reset(_: Any) -> None:
        control.index = home

    buttons = []
    for text, tooltip, kind, action in (
        ("‹", "one step back", "ab-back", step(-1)),
        ("›", "one step forward", "ab-forward", step(+1)),
        ("reset", "back to the start", "ab-reset", reset),
    ):
        button = widgets.Button(description=text, tooltip=tooltip, layout=widgets.Layout(width="auto"))
        button.add_class(kind)
        button.on_click(action)
        buttons.append(button)
    return widgets.HBox([control, *buttons]).add_class("ab-row")


def _waiting() -> str:
    return '<p class="ab-frame">This frame is drawn when first shown: run the cell, and move here again.</p>'


def _is_live() -> bool:
    """Whether someone is at the other end: JupyterLab names the session, the page's kernel is WebAssembly."""
    wish = os.environ.get("AGGBANDIT_FRAMES", "")
    if wish not in ("", "all", "live"):
        raise ValueError(f"AGGBANDIT_FRAMES={wish}; it must be 'all' or 'live'")
    return wish == "live" or (
        wish == "" and ("JPY_SESSION_NAME" in os.environ or sys.platform == "emscripten")
    )


def _when_idle(draw_frame: Callable[[int], None], indices: Iterable[int]) -> None:
    """Draw the rest between the kernel's other tasks."""

    async def fill() -> None:
        for index in indices:
            await asyncio.sleep(0.05)
            draw_frame(index)

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # a plain interpreter: only what is asked for is drawn
        return
    task = loop.create_task(fill())
    _tasks.add(task)  # the loop itself holds tasks weakly
    task.add_done_callback(_tasks.discard)


_tasks: set[asyncio.Task[None]] = set()
