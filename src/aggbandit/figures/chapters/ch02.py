"""Pictures of chapter 2: mass that flows through the city, the shadow of a polytope, and a frozen lake.

A band is one cell (h, s, a, s') of an occupancy measure, as wide as its mass. Bands of the first action
(keep) are dark, those of the second (turn) are pale with a dark edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

from aggbandit._arrays import FloatArray, IntArray
from aggbandit.figures import drawing, shapes
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    MARKERS,
    MASS_CMAP,
    PAPER,
    REGION,
    WALL,
    axes,
)
from aggbandit.worlds import World

__all__ = ["dials", "direction", "flow", "lake", "mixing", "shadow"]


# The flow: an SVG string, which stays sharp and takes the theme's colors

_WIDTH, _HEIGHT = 640, 392
_LEFT, _STEP = 122, 162  # where the first bar stands, and the distance between bars
_TOP, _GAP, _MASS = 104, 110, 96  # the middle of the first place, from place to place, the height of mass one
_HALF = 8  # half the width of the bar that stands for a place


def flow(
    world: World, x: FloatArray, *, title: str = "", dials: Mapping[tuple[int, int], str] | None = None
) -> str:
    """An occupancy measure as a flow from left to right: every cell a band as wide as its mass.

    Args:
        world: For names and shape, with three places and three steps.
        x: (H, S, A, S) an occupancy measure.
        title: What it pays.
        dials: Letters to write on some places (h, s), the steps counted from zero.

    Returns:
        SVG.
    """
    horizon, n_states, n_actions, _ = world.mdp.shape
    mass = np.vstack([x.sum(axis=(2, 3)), x[-1].sum(axis=(0, 1))])
    middle = _TOP + _GAP * np.arange(n_states)
    parts = [drawing.words(_LEFT - _HALF, 24, title, LOSS, "start", weight=700), *_key(world)]
    for h in range(horizon):
        # What leaves a place is stacked by action, what arrives is stacked by where it came from.
        leaving, arriving = middle - _MASS * mass[h] / 2, middle - _MASS * mass[h + 1] / 2
        for s, a, t in np.ndindex(n_states, n_actions, n_states):
            width = _MASS * x[h, s, a, t]
            if width > 1e-9:
                parts.append(_band(h, leaving[s], arriving[t], width, pale=a > 0))
            leaving[s] += width
            arriving[t] += width
    for h, s in np.ndindex(horizon + 1, n_states):
        if mass[h, s] > 1e-9:
            along, tall = _LEFT + _STEP * h, _MASS * float(mass[h, s])
            high = float(middle[s]) - tall / 2
            parts.append(
                f'<rect x="{along - _HALF}" y="{drawing.number(high)}" width="{2 * _HALF}" '
                f'height="{drawing.number(tall)}" fill="currentColor"/>'
            )
            parts.append(drawing.words(along, high - 5, _hundredths(float(mass[h, s])), size=20))
    for (h, s), letter in (dials or {}).items():
        along = _LEFT + _STEP * h
        parts.append(
            f'<circle cx="{along}" cy="{middle[s]}" r="14" stroke="currentColor" stroke-width="2" '
            f'fill="{PAPER}"/>'
        )
        parts.append(drawing.words(along, middle[s] + 6, letter, weight=700))
    for s, name in enumerate(world.state_names):
        words = name.split(" ")
        for i, word in enumerate(words):
            below = middle[s] + 6 + 20 * (i - (len(words) - 1) / 2)
            parts.append(drawing.words(_LEFT - 26, below, word, anchor="end"))
    for h in range(horizon):
        parts.append(drawing.words(_LEFT + _STEP * (h + 0.5), _HEIGHT - 8, f"leg {h + 1}"))
    return drawing.document(parts, _HEIGHT)


def dials(
    world: World, policy: FloatArray, places: tuple[tuple[int, int], tuple[int, int]], *, p: float, q: float
) -> dict[str, Any]:
    """The dragged figure of two probabilities and the flow they make, all but its caption (`dials.js`).

    Args:
        world: With three places and two actions.
        policy: (H, S, A) what is done at all other places.
        places: Where p and q are the probabilities of the second action, as (h, s) from zero.
        p: The first, as it opens.
        q: The second.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    opening = policy.copy()
    for place, turn in zip(places, (p, q), strict=True):
        opening[place] = 1 - turn, turn
    x = world.mdp.occupancy(opening)
    total = f"{(x * world.loss).sum() + 1e-9:.3f}"
    at, old, ring = map(_hundredths, x[1].sum(axis=(1, 2)))
    return {
        "data": {
            "P": world.mdp.transitions,
            "loss": world.loss,
            "policy": policy,
            "dials": places,
            "names": {"states": world.state_names, "actions": world.action_names},
        },
        "start": {"p": p, "q": q},
        "still": flow(world, x, title=f"expected total {total}", dials=dict(zip(places, "pq", strict=True))),
        "alt": f"p = {_hundredths(p)}, q = {_hundredths(q)}. On leg 2 the shares at riverside, in the old "
        f"town and on the ring road are {at}, {old} and {ring}. Expected total {total}.",
    }


def _band(h: int, start: float, end: float, width: float, *, pale: bool) -> str:
    """A band from step h to h + 1 whose upper edge runs from height `start` to `end`."""
    left, right = _LEFT + _STEP * h + _HALF, _LEFT + _STEP * (h + 1) - _HALF
    bend = (left + right) // 2
    a, b, c, d = (drawing.number(v) for v in (start, end, end + width, start + width))
    path = f"M{left} {a}C{bend} {a} {bend} {b} {right} {b}V{c}C{bend} {c} {bend} {d} {left} {d}Z"
    return f'<path d="{path}" {_look(pale=pale)}/>'


def _look(*, pale: bool) -> str:
    if pale:
        return f'fill="{LEARNER}" fill-opacity=".25" stroke="{LEARNER}"'
    return f'fill="{LEARNER}"'


def _key(world: World) -> list[str]:
    """The actions and their looks, at the upper right."""
    parts = []
    for a, name in enumerate(world.action_names):
        along = _WIDTH - 124 * (world.mdp.n_actions - a)
        parts.append(f'<rect x="{along}" y="12" width="32" height="13" {_look(pale=a > 0)}/>')
        parts.append(drawing.words(along + 40, 24, f"“{name}”", anchor="start"))
    return parts


def _hundredths(value: float) -> str:
    """Two decimals, ties upwards as in `drawing.number`."""
    return f"{value + 1e-9:.2f}"


# The shadow of the polytope


_UNIT = 168  # the length of one unit of expected total
_PLANE_LEFT, _PLANE_FOOT, _PLANE_TOP = 62, 338, 30
_LOW, _WIDE = 0.75, 1.66  # where the axes begin, and how far the horizontal one runs


def shadow(
    world: World,
    corners: FloatArray,
    *,
    angle: float,
    actions: IntArray,
    names: tuple[str, str] = ("dry", "rain"),
) -> str:
    """The polytope seen from the side of two losses, a loss that turns, and the policy at its best corner.

    world: for names; corners: (M, 2), what each deterministic policy pays under the two tables
    angle: theta in degrees, the loss is cos(theta) times the first table plus sin(theta) times the second
    actions: (H, S), the best deterministic policy for it; names: of the two tables
    Returns an SVG string.
    """
    theta = np.deg2rad(angle)
    direction = np.array([np.cos(theta), np.sin(theta)])
    best = corners[np.argmin(corners @ direction)]
    middle = (corners.max(axis=0) + corners.min(axis=0)) / 2
    across = 3.0 * np.array([-direction[1], direction[0]])
    hull = _points(corners[ConvexHull(corners).vertices])
    dots = "".join(f"M{point}h0" for point in _points(corners))
    tail, head = _points(np.array([middle - 0.3 * direction, middle + 0.3 * direction]))
    line = "L".join(_points(np.array([best - across, best + across])))
    x, y = _points(best[None])[0].split()
    wide, tall = round(_UNIT * _WIDE), _PLANE_FOOT - _PLANE_TOP
    parts = [
        *_axes(names),
        f'<path d="M{"L".join(hull)}Z" fill="{REGION}" fill-opacity=".3" stroke="{WALL}" stroke-width="2"/>',
        f'<path d="{dots}" stroke="{BASELINE}" stroke-width="4" stroke-linecap="round"/>',
        # An inner picture, so that the line ends where the plane does.
        f'<svg x="{_PLANE_LEFT}" y="{_PLANE_TOP}" width="{wide}" height="{tall}" '
        f'viewBox="{_PLANE_LEFT} {_PLANE_TOP} {wide} {tall}">'
        f'<path d="M{line}" stroke="{LOSS}" stroke-width="2.4" stroke-dasharray="9 6"/></svg>',
        f'<path d="M{tail}L{head}" stroke="{LOSS}" stroke-width="4"/>',
        _arrow_head(head, direction),
        f'<circle cx="{x}" cy="{y}" r="9" fill="{BEST}" stroke="{PAPER}" stroke-width="2"/>',
        drawing.words(_PLANE_LEFT + 4, 22, f"θ = {angle:.0f}°", LOSS, "start", weight=700),
        *_decisions(world, actions),
        drawing.words(
            520, 22, f"{names[0]} {_hundredths(best[0])}, {names[1]} {_hundredths(best[1])}", BEST, weight=700
        ),
    ]
    return drawing.document(parts, _HEIGHT)


def direction(
    world: World,
    corners: FloatArray,
    plans: IntArray,
    *,
    theta: float,
    names: tuple[str, str] = ("dry", "rain"),
) -> dict[str, Any]:
    """The dragged figure of the loss direction, all but its caption (`direction.js`).

    Args:
        world: For the names of states and actions.
        corners: (M, 2) what each deterministic policy pays under two tables.
        plans: (M, H, S) the actions of those policies.
        theta: Degrees; the direction it opens on.
        names: Of the two tables.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    cells = np.argwhere(world.mdp.reachable)
    best = np.argmin(corners @ (np.cos(np.deg2rad(theta)), np.sin(np.deg2rad(theta))))
    does = "; ".join(
        f"leg {h + 1}, {world.state_names[s]}: {world.action_names[plans[best, h, s]]}" for h, s in cells
    )
    dry, rain = map(_hundredths, corners[best])
    return {
        "data": {
            "corners": corners,
            "edge": ConvexHull(corners).vertices,
            "cells": cells,
            "actions": plans[:, cells[:, 0], cells[:, 1]],
            "names": {"tables": names, "states": world.state_names, "actions": world.action_names},
        },
        "start": {"theta": theta},
        "still": shadow(world, corners, angle=theta, actions=plans[best], names=names),
        "alt": f"Loss direction {theta:.1f}°. The best corner pays {dry} when {names[0]}, {rain} in "
        f"{names[1]}. {does}.",
    }


def _points(points: FloatArray) -> list[str]:
    """Points of the plane of expected totals as SVG coordinates."""
    along = _PLANE_LEFT + _UNIT * (points[:, 0] - _LOW)
    down = _PLANE_FOOT - _UNIT * (points[:, 1] - _LOW)
    return [f"{drawing.number(a)} {drawing.number(d)}" for a, d in zip(along, down, strict=True)]


def _axes(names: tuple[str, str]) -> list[str]:
    right = _PLANE_LEFT + _UNIT * _WIDE
    parts = [
        f'<path d="M{_PLANE_LEFT} {_PLANE_TOP}V{_PLANE_FOOT}H{drawing.number(right)}" fill="none" '
        'stroke="currentColor" stroke-opacity=".6"/>',
        drawing.words((_PLANE_LEFT + right) / 2, _HEIGHT - 8, f"expected total, {names[0]}", size=17),
        f'<g transform="translate(16 {(_PLANE_TOP + _PLANE_FOOT) / 2:g}) rotate(-90)">'
        + drawing.words(0, 0, f"expected total, {names[1]}", size=17)
        + "</g>",
    ]
    for tick in (1.0, 1.5, 2.0, 2.5):
        along, down = (float(v) for v in _points(np.array([[tick, tick]]))[0].split())
        parts.append(drawing.words(_PLANE_LEFT - 8, down + 5, f"{tick:g}", anchor="end", size=15))
        if tick < _LOW + _WIDE:
            parts.append(drawing.words(along, _PLANE_FOOT + 20, f"{tick:g}", size=15))
    return parts


def _arrow_head(head: str, direction: FloatArray) -> str:
    """A triangle at the end of an arrow; the page's vertical axis points down."""
    tip = np.array([float(v) for v in head.split()])
    ahead = 18 * direction * (1, -1)
    side = 9 * direction[::-1]
    corners = (tip + ahead, tip + side, tip - side)
    triangle = "L".join(f"{drawing.number(a)} {drawing.number(d)}" for a, d in corners)
    return f'<path d="M{triangle}Z" fill="{LOSS}"/>'


def _decisions(world: World, actions: IntArray) -> list[str]:
    """A deterministic policy as a small table: a row a place, a column a step."""
    horizon, n_states = actions.shape
    left, top, size, pitch = 440, 60, 62, 67
    parts = []
    for h, s in zip(*world.mdp.reachable.nonzero(), strict=True):
        later = actions[h, s] > 0
        along, down = left + pitch * h, top + pitch * s
        parts.append(
            f'<rect x="{along}" y="{down}" width="{size}" height="{size}" rx="6" stroke="{BEST}" '
            f'stroke-width="2" fill="{BEST if later else "none"}"/>'
        )
        parts.append(
            drawing.words(
                along + size / 2,
                down + size / 2 + 6,
                world.action_names[actions[h, s]],
                PAPER if later else "currentColor",
                weight=700 if later else 400,
            )
        )
    for s, name in enumerate(world.state_names):
        words = name.split(" ")
        for i, word in enumerate(words):
            below = top + pitch * s + size / 2 + 6 + 19 * (i - (len(words) - 1) / 2)
            parts.append(drawing.words(left - 8, below, word, anchor="end", size=16))
    for h in range(horizon):
        parts.append(
            drawing.words(left + pitch * h + size / 2, top + pitch * n_states + 16, f"leg {h + 1}", size=16)
        )
    return parts


def _polygon(ax: Any, corners: FloatArray, names: tuple[str, str]) -> None:
    """The convex hull of the corners in the plane of two expected totals."""
    hull = corners[ConvexHull(corners).vertices]
    ax.fill(*hull.T, fc=REGION, alpha=0.3, lw=0, zorder=1)
    shapes.walls(ax, hull, lw=1.6, zorder=2)
    ax.plot(*corners.T, MARKERS[0], color=BASELINE, ms=2.8, mew=0, zorder=2)
    ax.set(xlim=(0.75, 2.4), ylim=(0.75, 2.6), xticks=(1, 1.5, 2), yticks=(1, 1.5, 2, 2.5))
    ax.set(xlabel=f"expected total, {names[0]}", ylabel=f"expected total, {names[1]}")
    ax.set_aspect("equal")


def mixing(
    corners: FloatArray,
    chord: FloatArray,
    curve: FloatArray,
    ends: tuple[str, str],
    *,
    names: tuple[str, str] = ("dry", "rain"),
) -> Figure:
    """Two ways from one policy to another: through the occupancy measures and through the policies.

    Args:
        corners: (M, 2) what each deterministic policy pays.
        chord: (m, 2) what averages of the occupancy measures pay, from the first policy to the second.
        curve: (m, 2) the same for averages of the policies.
        ends: The names of the two policies.
        names: The names of the two tables.

    Returns:
        The picture.
    """
    fig: Figure
    fig, ax = axes(height=4.0)
    _polygon(ax, corners, names)
    half = len(chord) // 2
    for line, color, marker, dash in (
        (chord, LEARNER, MARKERS[0], "-"),
        (curve, BASELINE, MARKERS[1], "--"),
    ):
        ax.plot(*line.T, color=color, lw=2.6, ls=dash, zorder=3)
        ax.plot(*line[half], marker, color=color, ms=10, mec=PAPER, mew=1.4, zorder=5)
    for point in (chord[0], chord[-1]):
        ax.plot(*point, MARKERS[0], color=INK, ms=8, mec=PAPER, mew=1.2, zorder=5)
    for point, text, color in (
        (chord[0], ends[0], INK),
        (chord[-1], ends[1], INK),
        (chord[half], "average of the\noccupancies", LEARNER),
        (curve[half], "average of the\npolicies", BASELINE),
    ):
        right = text != ends[1] and color != LEARNER
        ax.annotate(
            text,
            point,
            xytext=(10 if right else -10, 6 if color == INK else 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            color=color,
            fontsize=10.5,
            weight="bold",
            bbox={"boxstyle": "round,pad=0.12", "fc": PAPER, "ec": "none", "alpha": 0.8},
            zorder=6,
        )
    return fig


# The frozen lake

_ARROWS = ("←", "↓", "→", "↑")
_SQUARE, _PANEL = 74, 334  # a square's side, and from one panel to the next


def lake(
    grid: Sequence[str],
    shades: Mapping[str, FloatArray],
    labels: Mapping[str, Sequence[str]],
    *,
    top: float = 1.0,
    arrows: Mapping[str, IntArray] | None = None,
    title: str = "",
) -> str:
    """A frozen lake, one square a state, for several policies side by side.

    Args:
        grid: The rows of the map in the letters S, F, H, G.
        shades: A policy's name to (S,) numbers between 0 (paper) and `top`.
        labels: The policy's name to what is written in each square.
        top: The number that gets the strongest shade.
        arrows: A policy's name to (S,) actions, as 0..3 for left, down, right, up.
        title: Over everything.

    Returns:
        SVG.
    """
    head = 66 if title else 30
    parts = [drawing.words(8, 24, title, anchor="start", weight=700)] if title else []
    for panel, (name, values) in enumerate(shades.items()):
        left = 4 + _PANEL * panel
        parts += [drawing.words(left + 4, head - 9, name, anchor="start")]
        actions = (arrows or {}).get(name)
        holes = []
        for s, letter in enumerate("".join(grid)):
            row, column = divmod(s, len(grid[0]))
            along, down = left + _SQUARE * column, head + _SQUARE * row
            share = min(float(values[s]) / top, 1.0)
            step = int(MASS_CMAP.N * min(np.sqrt(share), 1 - 1e-9))  # a root, so that small numbers show
            parts += [drawing.box(along, down, _SQUARE, _SQUARE, _shade(step), edge=FAINT, line=1)]
            # The shades turn around on a dark page, and so do ink and paper.
            ink = PAPER if step > MASS_CMAP.N // 2 else INK
            lines = labels[name][s].split("\n")
            for i, line in enumerate(lines):
                height = down + _SQUARE / 2 + 14 + 21 * (i - (len(lines) - 1) / 2)
                parts += [drawing.words(along + _SQUARE / 2, height, line, ink)] if line else []
            if letter != "F":
                parts += [drawing.words(along + 8, down + 20, letter, ink, "start", size=18, weight=700)]
            if letter == "H":
                holes.append(drawing.box(along + 2, down + 2, _SQUARE - 4, _SQUARE - 4, "none", edge=WALL))
            if actions is not None and letter in "SF":
                parts += [drawing.words(along + _SQUARE - 14, down + 22, _ARROWS[actions[s]], ink)]
        parts += holes
    return drawing.document(parts, head + _SQUARE * len(grid) + 4)


def _shade(step: int) -> str:
    return to_hex(MASS_CMAP(step)).upper()
