r"""Moving figures: draw every frame beforehand, and let the browser choose the one to show.

::

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
- Values: numbers become a slider, a few words or two values of any kind become buttons.
  `{value: "what to write"}` labels them; numbers are otherwise written with as few digits as tell them apart.
- Where a parameter is time, `play="p"` adds a button that moves its slider to the end, step by step.
- `alt` is a format string over the parameters, or a function of them; each frame gets its own words.
- `caption`: the takeaway, and a question to move for. `$…$` is mathematics, inline HTML is allowed.
- On a page, at most 40 frames and 400 kB: a plain plot is 6–8 kB, a busy double one 13–17 kB. A whole
  chapter must stay under 1 MB. In a live notebook there is no limit.

How it moves. Each frame is an `HTML` widget in a `Stack`, and the control's index is linked to the
stack's in the browser (`jslink`): the built page needs no kernel. Two parameters make a stack of stacks.
The page is drawn from the widgets' saved state by the book itself (`book/_ext/moving_figures.py`), and
`figures.js` moves it.
Where the kernel lives, it follows the controls too, for front ends in which links between widgets are dead.

What stands behind it. The output carries the opening frame once more as a plain picture (PNG or SVG), which
is what viewers without widgets show: an untrusted notebook, GitHub, an export to Markdown or LaTeX.

When it draws. Run for the book, the call draws everything at once, so that the notebook is complete. In a
live notebook (JupyterLab, or the kernel in the page) it draws the opening frame at once, any other when it
is first asked for, and the rest while the kernel is idle: a few seconds later everything is there. `make lab`
keeps it when a chapter is saved; elsewhere JupyterLab's "Save Widget State" does. Until a frame is drawn, the
last one stands in its place, dimmed. Whenever it is drawn, `draw` finds the notebook's names bound as they
were at the call: a later cell may have bound one anew.
The environment variable `AGGBANDIT_FRAMES` (`all` or `live`) overrides the guess.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from string import Formatter
from typing import Any

import ipywidgets as widgets
from ipywidgets.widgets.widget_string import HTMLStyle
from matplotlib.figure import Figure

from aggbandit._arrays import check_kind
from aggbandit.figures._render import Frame, caption_html, plain_caption, render
from aggbandit.figures.style import house_style

MAX_FRAMES = 40
MAX_BYTES = 400_000
PATIENCE = 0.25
"""Seconds that the kernel leaves the front end to move a figure by itself."""
INTERVAL = 500
"""Milliseconds from frame to frame of a figure that plays."""

Values = Sequence[Any] | Mapping[Any, str]
Link = tuple[Any, str, Any, str]
"""A widget and a trait of it, and the widget and trait that follow."""


@dataclass(frozen=True)
class Explorable:
    """A moving figure that a notebook cell shows when it is the cell's last expression.

    Attributes:
        widget: The whole.
        controls: The sliders or buttons, by parameter name.
        frames: The HTML widgets in order, the last parameter fastest.
        still: The opening frame as a picture, by MIME type, for viewers without widgets.
        still_metadata: The same picture's alternative text and size, by MIME type.
        text: What a plain terminal shows.
    """

    widget: widgets.VBox
    controls: Mapping[str, Any]
    frames: tuple[widgets.HTML, ...]
    still: Mapping[str, str]
    still_metadata: Mapping[str, Mapping[str, Any]]
    text: str

    @property
    def weight(self) -> int:
        """Bytes of the frames drawn so far."""
        return sum(len(frame.value.encode()) for frame in self.frames)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        view = self.widget._repr_mimebundle_()
        return {**view, **self.still, "text/plain": self.text}, dict(self.still_metadata)


def explorable(
    draw: Callable[..., Figure | str],
    *,
    caption: str,
    alt: str | Callable[..., str],
    labels: Mapping[str, str] | None = None,
    start: Mapping[str, Any] | None = None,
    play: str | None = None,
    **values: Values,
) -> Explorable:
    """A figure of one or two parameters that moves in the browser, with or without a kernel.

    Args:
        draw: Called as `draw(**parameters)`; returns a matplotlib figure, or a string of SVG or HTML.
        caption: What to take away, and a question to move for; `$…$` is mathematics.
        alt: The words of each frame: a format string over the parameters, or a function of them.
        labels: Names of the parameters in the text's symbols; by default their own.
        start: Values to open on; by default the first of each. Numbers need only be close.
        play: The parameter that is time, which a button moves forward; it must have a slider.
        **values: One or two parameters, each with its values: a list, or a mapping of values to labels.

    Returns:
        The figure, which shows itself as the last expression of a cell.

    Raises:
        ValueError: for no or more than two parameters; values that are missing, given twice or written
            alike; a start that is not among them; a `play` that is no slider's parameter; an empty caption
            or alternative text; words in braces that are no parameter; frames of different sizes; and, unless
            the notebook is live, more than 40 frames or 400 kB.
        TypeError: if `draw` returns something that is not a picture, or `start` is no table of values.

    Example:
        >>> from aggbandit import figures
        >>> def draw(p):
        ...     return f'<svg viewBox="0 0 100 10"><rect width="{100 * p}" height="10"/></svg>'
        >>> figures.explorable(draw, p=[0, 0.5, 1], caption="A bar of length $p$.", alt="A bar, {p} long.")
        Explorable: A bar of length $p$.
    """
    parameters = {name: _labeled(name, options) for name, options in values.items()}
    _check(parameters)
    live = _is_live()
    if not live:
        _check_count(parameters)
    if isinstance(alt, str):
        _check_braces(alt, parameters)
    opening = _opening(parameters, {} if start is None else start)
    words = caption_html(caption)
    controls = {
        name: _control(list(options.values()), (labels or {}).get(name, name), opening[name])
        for name, options in parameters.items()
    }
    _check_play(play, controls)

    def rendered(index: int) -> Frame:
        point = _point(parameters, index)
        with house_style():
            return render(draw(**point), alt.format(**point) if isinstance(alt, str) else alt(**point))

    home = _index(parameters, list(opening.values()))
    first = rendered(home)
    shared = {"layout": widgets.Layout(width="100%", margin="0"), "style": HTMLStyle()}
    waiting = _dimmed(first.html) if live else ""
    frames = tuple(
        widgets.HTML(first.html if index == home else waiting, **shared)
        for index in range(_count(parameters))
    )
    drawn = {home}

    bindings = dict(_notebook()) if live else {}

    def draw_frame(index: int) -> None:
        if index not in drawn:
            with _bound(bindings):
                frame = rendered(index)
            _check_size(_point(parameters, index), frame, first)
            frames[index].value = frame.html
            drawn.add(index)
        if len(drawn) == len(frames):
            bindings.clear()  # what the notebook has let go is not kept for longer

    stack, stacks = _stack(frames, list(controls.values()))
    players = {play: _player(controls[play])} if play is not None else {}
    links = [*stacks, *((player, "value", controls[name], "index") for name, player in players.items())]
    for source, key, target, follower in links:
        widgets.jslink((source, key), (target, follower))
    stack.add_class("ab-stage")
    rows = [_row(control, players.get(name)) for name, control in controls.items()]
    whole = widgets.VBox(
        [
            stack,
            widgets.VBox(rows).add_class("ab-controls"),
            widgets.HTMLMath(words).add_class("ab-caption"),
        ]
    ).add_class("ab-explorable")
    still, still_metadata = first.still()
    text = f"Explorable: {plain_caption(caption)}"
    result = Explorable(whole, controls, frames, still, still_metadata, text)

    if live:
        shown = home

        def move(_: Any) -> None:
            nonlocal shown
            index = _index(parameters, [control.index for control in controls.values()])
            if index not in drawn:  # what is on the screen until this one is drawn
                frames[index].value = _dimmed(frames[shown].value) if shown in drawn else waiting
            draw_frame(index)
            shown = index

        for control in controls.values():
            control.observe(move, "index")
        for link in links:
            _follow(*link)
        _when_idle(draw_frame, range(len(frames)))
    else:
        for index in range(len(frames)):
            draw_frame(index)
        _check_weight(result)
    return result


def _labeled(name: str, options: Values) -> dict[Any, str]:
    """The values of a parameter, each with what is written for it; refuses two that are equal or look it."""
    if isinstance(options, str) or not isinstance(options, Iterable):
        raise ValueError(f"{name}={options!r} is not a list of values")
    if isinstance(options, Mapping):
        labels = dict(options)
    else:
        listed = list(options)
        for value, times in Counter(listed).items():
            if times > 1:
                raise ValueError(f"{name}={value!r} is given {times} times; each value has one frame")
        labels = dict(zip(listed, _written(listed), strict=True))
    for label, times in Counter(labels.values()).items():
        if times > 1:
            raise ValueError(f"{times} values of {name} are written {label!r}; each needs its own label")
    return labels


def _written(values: Sequence[Any]) -> list[str]:
    """The values in words: numbers with as few digits, six or more, as tell them apart."""
    for digits in range(6, 18):
        words = [value if isinstance(value, str) else f"{value:.{digits}g}" for value in values]
        if len(set(words)) == len(words):
            break
    return words


def _check(parameters: Mapping[str, Mapping[Any, str]]) -> None:
    if not 1 <= len(parameters) <= 2:
        raise ValueError(
            f"{len(parameters)} parameters given ({', '.join(parameters)}); an explorable has one or two"
        )
    for name, options in parameters.items():
        if not options:
            raise ValueError(f"{name} has no values")


def _check_count(parameters: Mapping[str, Mapping[Any, str]]) -> None:
    if _count(parameters) > MAX_FRAMES:
        sizes = " x ".join(str(len(options)) for options in parameters.values())
        raise ValueError(f"{sizes} = {_count(parameters)} frames; at most {MAX_FRAMES} keep a page light")


def _check_braces(alt: str, parameters: Mapping[str, Mapping[Any, str]]) -> None:
    """What stands in braces in the alternative text must begin with the name of a parameter."""
    try:
        fields = [field for _, field, _, _ in Formatter().parse(alt) if field is not None]
    except ValueError as broken:
        raise ValueError(f"alt has an open brace ({broken}); write {{{{ and }}}} for braces") from None
    for field in fields:
        if re.split(r"[.\[]", field)[0] not in parameters:
            raise ValueError(
                f"alt has {{{field}}}, which is not a parameter ({', '.join(parameters)}); "
                f"write {{{{{field}}}}} for braces"
            )


def _check_play(play: str | None, controls: Mapping[str, Any]) -> None:
    sliders = [name for name, control in controls.items() if isinstance(control, widgets.SelectionSlider)]
    if play is not None and play not in sliders:
        raise ValueError(f"play={play!r} has no slider; it must be one of {sliders}")


def _check_size(point: Mapping[str, Any], frame: Frame, first: Frame) -> None:
    if frame.size is None or first.size is None or frame.size == first.size:
        return
    raise ValueError(
        f"frame {dict(point)} has {frame.size[0]}x{frame.size[1]} pixels, "
        f"the first {first.size[0]}x{first.size[1]}; all frames must have one size, or the page jumps"
    )


def _check_weight(result: Explorable) -> None:
    if result.weight > MAX_BYTES:
        each = result.weight / len(result.frames) / 1000
        raise ValueError(
            f"{len(result.frames)} frames of {each:.1f} kB weigh {result.weight / 1000:.0f} kB; at most "
            f"{MAX_BYTES // 1000} kB: take fewer values, a lower figure, or fewer points and shades"
        )


def _opening(parameters: Mapping[str, Mapping[Any, str]], start: Mapping[str, Any]) -> dict[str, int]:
    check_kind("start", start, Mapping, "a dictionary of parameters and values: start={'p': 0.5}")
    for name in start:
        if name not in parameters:
            raise ValueError(f"start names {name}, which is not a parameter")
    return {
        name: _place(name, list(options), start[name]) if name in start else 0
        for name, options in parameters.items()
    }


def _place(name: str, options: Sequence[Any], value: Any) -> int:
    """Where a value stands among the options: the same one, or for numbers the one that rounding moved."""
    for index, option in enumerate(options):
        if option == value:
            return index
    if isinstance(value, Real):
        for index, option in enumerate(options):
            if isinstance(option, Real) and math.isclose(option, value, rel_tol=1e-9, abs_tol=1e-12):
                return index
    raise ValueError(f"start has {name}={value!r}, which is not among its values")


def _count(parameters: Mapping[str, Mapping[Any, str]]) -> int:
    return math.prod(map(len, parameters.values()))


def _point(parameters: Mapping[str, Mapping[Any, str]], index: int) -> dict[str, Any]:
    """The values that a frame shows, by name."""
    return dict(zip(parameters, list(itertools.product(*parameters.values()))[index], strict=True))


def _index(parameters: Mapping[str, Mapping[Any, str]], indices: Sequence[int]) -> int:
    flat = 0
    for options, index in zip(parameters.values(), indices, strict=True):
        flat = flat * len(options) + index
    return flat


def _control(options: list[str], label: str, index: int) -> Any:
    """Buttons for up to six words or two values of any kind, else a slider."""
    pairs = [(text, position) for position, text in enumerate(options)]
    style = {"description_width": "initial"}
    layout = widgets.Layout(width="auto", flex="1 1 auto")
    words = not any(sign.isdigit() for text in options for sign in text)
    if len(options) <= 2 or (words and len(options) <= 6):
        return widgets.ToggleButtons(
            options=pairs, index=index, description=label, style=style, layout=layout
        )
    return widgets.SelectionSlider(options=pairs, index=index, description=label, style=style, layout=layout)


def _stack(frames: Sequence[widgets.HTML], controls: Sequence[Any]) -> tuple[widgets.Stack, list[Link]]:
    """The frames behind their controls, and which control moves which stack.

    For two parameters a stack of stacks.
    """
    first, *others = controls
    children: list[Any] = list(frames)
    links: list[Link] = []
    if others:
        width = len(others[0].options)
        inner = [_stack(frames[i : i + width], others) for i in range(0, len(frames), width)]
        children = [stack for stack, _ in inner]
        links = [link for _, below in inner for link in below]
    stack = widgets.Stack(children, selected_index=first.index)
    return stack, [*links, (first, "index", stack, "selected_index")]


def _player(control: Any) -> Any:
    """Moves a slider forward, until the end."""
    return widgets.Play(
        value=control.index,
        max=len(control.options) - 1,
        interval=INTERVAL,
        show_repeat=False,
        tooltip=f"play: {control.description}",
    )


def _follow(source: Any, key: str, target: Any, follower: str) -> None:
    """Move a stack with its control, or a slider with its player, where the front end has not done it.

    A little later than the front end, which is asked first: what it has already moved is not sent back, so
    that a slider that is being dragged does not jump.
    """

    def catch_up() -> None:
        setattr(target, follower, getattr(source, key))

    def moved(_: Any) -> None:
        try:
            asyncio.get_running_loop().call_later(PATIENCE, catch_up)
        except RuntimeError:  # no loop, no front end that could be faster
            catch_up()

    source.observe(moved, key)


def _row(control: Any, player: Any) -> Any:
    """A slider with its player, if it has one, and its step and reset buttons.

    The page's script presses them where there is no kernel.
    """
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
    for text, words, kind, action in (
        ("‹", "one step back", "ab-back", step(-1)),
        ("›", "one step forward", "ab-forward", step(+1)),
        ("reset", "reset", "ab-reset", reset),
    ):
        spoken = f"{words}: {control.description}"
        button = widgets.Button(description=text, tooltip=spoken, layout=widgets.Layout(width="auto"))
        button.add_class(kind)
        button.on_click(action)
        buttons.append(button)
    players = [] if player is None else [player]
    return widgets.HBox([control, *players, *buttons]).add_class("ab-row")


def _dimmed(picture: str) -> str:
    """The last picture, faint, in the place of one that is not drawn yet: the figure keeps its height."""
    words = "This frame is being drawn. If it stays like this, run the cell again."
    return (
        '<div style="position: relative" aria-busy="true">'
        f'<div style="opacity: 0.3" aria-hidden="true">{picture}</div>'
        '<p style="position: absolute; inset: 40% 0 auto; margin: 0; text-align: center">'
        f"{words}</p></div>"
    )


def _is_live() -> bool:
    """Whether someone is at the other end: JupyterLab names the session, the page's kernel is WebAssembly."""
    wish = os.environ.get("AGGBANDIT_FRAMES", "")
    if wish not in ("", "all", "live"):
        raise ValueError(f"AGGBANDIT_FRAMES={wish}; it must be 'all' or 'live'")
    return wish == "live" or (
        wish == "" and ("JPY_SESSION_NAME" in os.environ or sys.platform == "emscripten")
    )


def _notebook() -> dict[str, Any]:
    """The names of the notebook, and what they are bound to."""
    return vars(sys.modules["__main__"])


@contextmanager
def _bound(bindings: Mapping[str, Any]) -> Iterator[None]:
    """The notebook's names bound as they once were, for the time of one frame."""
    names, absent = _notebook(), object()
    anew = {name: names.get(name, absent) for name in bindings}
    anew = {name: value for name, value in anew.items() if value is not bindings[name]}
    try:
        names.update((name, bindings[name]) for name in anew)
        yield
    finally:
        names.update((name, value) for name, value in anew.items() if value is not absent)
        for name in [name for name, value in anew.items() if value is absent]:
            names.pop(name, None)


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
