"""Pictures of chapter 1: the night driver's city and its numbers, four ledgers, and what a total leaves open.

A trajectory is drawn on the layers of the world: columns are steps, rows are states. A solid line is the
first action (keep), a dashed one the second (turn).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import drawing, shapes
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    DASHES,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    PAPER,
    QUIET,
    REGION,
    WALL,
    axes,
)
from aggbandit.mdp import Trajectory
from aggbandit.worlds import World

__all__ = [
    "city_table",
    "consistent_picture",
    "hindsight_fan",
    "independent_totals",
    "ledgers",
    "meter",
    "plane_in_cube",
    "policy_strip",
    "regret_curves",
    "two_choices",
]


# The city


def two_choices(world: World) -> Figure:
    """All roads of a world, one panel an action: the wider a line, the likelier the move.

    Args:
        world: With at least two actions.

    Returns:
        The picture.
    """
    fig: Figure
    fig, panels = axes(1, world.mdp.n_actions, height=3.0)
    for a, (ax, name) in enumerate(zip(np.ravel(panels), world.action_names, strict=True)):
        for h in range(world.mdp.horizon):
            for s in np.flatnonzero(world.mdp.reachable[h]):
                for t, p in enumerate(world.mdp.transitions[h, s, a]):
                    if p > 0:
                        ax.plot(
                            [h, h + 1], [-s, -t], color=BASELINE, lw=7 * p, solid_capstyle="butt", zorder=1
                        )
        _nodes(ax, world, names=a == 0)
        ax.set_title(f"“{name}”")
    return fig


def _nodes(ax: Any, world: World, *, names: bool, size: float = 11) -> None:
    """The columns of states, with the start filled."""
    horizon, n_states = world.mdp.horizon, world.mdp.n_states
    for h in range(horizon + 1):
        for s in range(n_states):
            if h == 0 and s != world.mdp.initial_state:
                continue
            ax.plot(h, -s, "o", ms=size, mfc=INK if h == 0 else PAPER, mec=INK, mew=1.3, zorder=3)
    ax.set(xlim=(-0.3, horizon + 0.3), ylim=(-n_states + 0.7, 0.3))
    ax.set_xticks([h + 0.5 for h in range(horizon)], [f"leg {h + 1}" for h in range(horizon)])
    ax.set_yticks([-s for s in range(n_states)], world.state_names if names else [""] * n_states)
    _bare(ax)


def _bare(ax: Any) -> None:
    """No frame and no tick marks."""
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def city_table(world: World) -> str:
    """The numbers of a small world as a Markdown table: a row a choice, a column a place to come out.

    Args:
        world: With losses `rain` beside the ordinary ones; its numbers have one decimal.

    Returns:
        Markdown; a cell holds a probability, the loss on a dry night and the loss on a rainy one.
    """
    mdp, rain = world.mdp, world.other_losses["rain"]
    rows = [
        "| leg, place, choice | " + " | ".join(f"to {name}" for name in world.state_names) + " |",
        "|:--|" + ":-:|" * mdp.n_states,
    ]
    for h, s, a in np.ndindex(mdp.shape[:3]):
        if mdp.reachable[h, s]:
            cells = (
                f"**{mdp.transitions[h, s, a, t]:.1f}**\N{NO-BREAK SPACE}{world.loss[h, s, a, t]:.1f}"
                f"\N{NO-BREAK SPACE}{rain[h, s, a, t]:.1f}"
                for t in range(mdp.n_states)
            )
            choice = f"{h + 1}, {world.state_names[s]}, {world.action_names[a]}"
            rows.append(f"| {choice} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


# The ledgers

_LEFT, _COLUMN, _LEG = 112, 134, 32  # of the routes: where the first begins, from one to the next, a leg
_DASH = ("", "12 5", "3 5", "14 4 3 4")  # of the curves
_PLOT = (46, 430, 262, 450)  # left, right, top and foot of the averages
_RANGE = (0.5, 2.5)  # of the averages


def ledgers(
    world: World,
    tonight: Mapping[str, Trajectory],
    totals: Mapping[str, Sequence[float]],
    *,
    last_night: int,
) -> str:
    """What several drivers have seen: tonight's routes with their totals, and each one's average so far.

    Args:
        world: Gives the names of the places.
        tonight: A driver's name to the latest trajectory; at most four drivers.
        totals: The same names to all totals so far.
        last_night: The right end of the axis, the same in all frames.

    Returns:
        SVG.
    """
    nights = len(next(iter(totals.values())))
    parts = [drawing.words(4, 22, f"night {nights}", anchor="start", weight=700)]
    for s, name in enumerate(world.state_names):
        parts += [drawing.words(4, _height(s) + 7, name, anchor="start")]
    levels = [_height(s) for s in range(world.mdp.n_states)]
    parts += [drawing.grid([[(_LEFT, down), (640, down)] for down in levels], FAINT)]
    below = _height(world.mdp.n_states) + 12
    parts += [drawing.words(4, below, "the meter", anchor="start")]
    for column, (name, trajectory) in enumerate(tonight.items()):
        middle = _LEFT + _COLUMN * (column + 0.5)
        parts += [drawing.words(middle, 22, name), *_route(trajectory, middle)]
        parts += [drawing.words(middle, below, f"{totals[name][-1]:.1f}", LOSS, size=26, weight=700)]
    return drawing.document([*parts, *_averages(totals, last_night)], 482)


def _height(state: int) -> float:
    """Where a place is drawn in the upper half, from the top."""
    return 60 + 44 * state


def _route(trajectory: Trajectory, middle: float) -> list[str]:
    """One trajectory around a vertical line: a leg that was kept is solid, one that was turned is dashed."""
    along = middle + _LEG * (np.arange(trajectory.horizon + 1) - trajectory.horizon / 2)
    points = [(x, _height(int(s))) for x, s in zip(along, trajectory.states, strict=True)]
    legs = [
        drawing.polyline(points[h : h + 2], INK, width=4, dash="8 6" if a else "")
        for h, a in enumerate(trajectory.actions)
    ]
    return legs + [drawing.dot(x, y, INK) for x, y in points]


def _averages(totals: Mapping[str, Sequence[float]], last_night: int) -> list[str]:
    """The averages of all totals so far, a curve a driver, named at its end."""
    left, right, top, foot = _PLOT
    low, high = _RANGE

    def spot(night: float, average: float) -> tuple[float, float]:
        return left + (right - left) * night / last_night, foot - (foot - top) * (average - low) / (
            high - low
        )

    parts = [drawing.polyline([(left, top), (left, foot), (right, foot)], QUIET, width=1.5)]
    ticks = np.arange(low, high + 0.1, 0.5)
    parts += [drawing.grid([[spot(0, tick), spot(last_night, tick)] for tick in ticks[1:]], FAINT)]
    for tick in ticks:
        parts += [drawing.words(left - 6, spot(0, tick)[1] + 7, f"{tick:g}", anchor="end")]
    for night in range(10, last_night + 1, 10):
        parts += [drawing.words(spot(night, 0)[0], foot + 23, f"{night}")]
    parts += [drawing.words(left, top - 12, "average of all totals so far", anchor="start")]
    parts += [drawing.words(right + 20, foot + 23, "nights", anchor="start")]
    ends = []
    for dash, values in zip(_DASH, totals.values(), strict=False):
        averages = np.cumsum(values) / np.arange(1, len(values) + 1)
        run = [spot(k + 1, average) for k, average in enumerate(averages)]
        parts += [drawing.polyline(run, LEARNER, dash=dash)] if len(run) > 1 else []
        parts += [drawing.dot(*run[-1], LEARNER)]
        ends.append((run[-1], averages[-1]))
    heights = drawing.spread([end[1] for end, _ in ends], 24)
    leaders = [
        [end, (right + 8, down), (right + 16, down)] for (end, _), down in zip(ends, heights, strict=True)
    ]
    parts += [drawing.grid(leaders, FAINT)]
    for name, (_, average), down in zip(totals, ends, heights, strict=True):
        parts += [drawing.words(right + 20, down + 7, f"{name} {average:.2f}", LEARNER, "start")]
    return parts


def policy_strip(values: FloatArray, named: Mapping[str, float], best: float) -> Figure:
    """Expected totals of many policies as a histogram, some of them by name, and the best one.

    Args:
        values: One number a policy.
        named: Label to value.
        best: The least value there is.

    Returns:
        The picture.
    """
    fig: Figure
    fig, ax = axes(height=3.1)
    ax.hist(values, bins=np.linspace(0.9, 2.3, 29), color=FAINT, edgecolor=BASELINE, lw=0.6)
    top = ax.get_ylim()[1]
    # The further right, the lower: no line crosses another's name.
    order = sorted(named, key=lambda name: -named[name])
    heights = {name: top * (1.12 + 0.17 * i) for i, name in enumerate(order)}
    for name, value in named.items():
        ax.plot([value, value], [0, heights[name]], color=LEARNER, lw=1.6, ls="--")
        ax.text(value + 0.012, heights[name], f"{name} {value:.2f}", color=LEARNER, va="center")
    ax.plot([best, best], [0, top * 0.75], color=BEST, lw=2.4)
    ax.text(best + 0.012, top * 0.7, f"best {best:.2f}", color=BEST, va="center", weight="bold")
    ax.set(xlim=(0.9, 2.3), ylim=(0, top * (1.25 + 0.17 * len(named))), xlabel="expected total")
    ax.set_ylabel("number of policies")
    ax.set_yticks([0, 5, 10])
    return fig


# The cube of loss vectors

_VIEW = shapes.view(28.0, 24.0)


def plane_in_cube(total: float) -> FloatArray:
    """The corners of {l in [0, 1]^3 : l_1 + l_2 + l_3 = total}: a triangle, a hexagon or a point.

    Args:
        total: In [0, 3].

    Returns:
        (m, 3) in order around.

    Example:
        >>> len(plane_in_cube(0.4)), len(plane_in_cube(1.5))
        (3, 6)
    """
    corners = []
    for axis in range(3):
        others = [i for i in range(3) if i != axis]
        for ends in np.ndindex(2, 2):
            point = np.zeros(3)
            point[others] = ends
            point[axis] = total - sum(ends)
            if 0.0 <= point[axis] <= 1.0:
                corners.append(point)
    return _around(np.unique(np.round(corners, 12), axis=0))


def _around(points: FloatArray) -> FloatArray:
    """Points of the plane l_1 + l_2 + l_3 = constant in the order of their angle, each once."""
    basis = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])
    flat = (points - points.mean(axis=0)) @ basis.T
    return np.asarray(points[np.argsort(np.round(np.arctan2(flat[:, 1], flat[:, 0]), 9))])


def _cube(ax: Any) -> None:
    """The cube [0, 1]^3 and the names of its directions."""
    shapes.cube(ax, _VIEW)
    for axis, (dx, dy) in enumerate(((-0.13, -0.05), (0.12, -0.03), (0.0, 0.1))):
        x, y = 1.02 * np.eye(3)[axis] @ _VIEW.T + (dx, dy)
        ax.text(x, y, f"$\\ell_{axis + 1}$", ha="center", va="center", fontsize=14)
    ax.set_aspect("equal")
    ax.set(xlim=(-0.72, 1.12), ylim=(-0.72, 1.12))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


def _fill(ax: Any, polygon: FloatArray, *, faint: bool = False) -> None:
    flat = polygon @ _VIEW.T
    if faint:
        ax.fill(*flat.T, fc="none", ec=REGION, lw=1.2, ls="--", zorder=2)
    else:
        ax.fill(*flat.T, fc=REGION, ec=REGION, alpha=0.55, lw=1.5, zorder=2)


def _truth(ax: Any, losses: FloatArray) -> None:
    ax.plot(*(losses @ _VIEW.T), "o", ms=8, color=LOSS, mec=INK, zorder=4)


def meter(total: float) -> dict[str, Any]:
    """The dragged figure of what one reading of the meter leaves possible, all but its caption (`meter.js`).

    Args:
        total: The reading it opens on, in [0, 3].

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    corners = plane_in_cube(total)
    kind = {1: "a single corner", 3: "a triangle", 6: "a hexagon"}[len(corners)]
    alone = "may be anything from " if len(corners) > 1 else "is "
    return {
        "data": {"view": _VIEW},
        "start": {"total": total},
        "still": _reading(total),
        "alt": f"The meter says {total + 1e-9:.2f}. What is possible in the cube is {kind}. Each of the "
        f"three losses, taken alone, {alone}{_between(corners)}.",
    }


def _between(corners: FloatArray) -> str:
    """The least and the greatest that a single loss can be."""
    low, high = corners.min() + 1e-9, corners.max() + 1e-9
    return f"{low:.2f} to {high:.2f}" if len(corners) > 1 else f"{low:.2f}"


def _reading(total: float) -> str:
    """The slice of the cube of losses that a total leaves possible, and the range of each loss alone."""
    corners = plane_in_cube(total)
    parts = [*_drawn_cube(), drawing.words(20, 30, f"L = {total + 1e-9:.2f}", LOSS, "start", weight=700)]
    flat = _on_page(corners)
    if len(corners) > 1:
        parts += [drawing.polygon(flat, REGION, opacity=0.5, edge=LEARNER, width=3)]
    else:
        parts += [drawing.dot(flat[0, 0], flat[0, 1], LEARNER, radius=8)]
    parts += [drawing.words(446, 66, "each loss alone")]
    low, high = float(corners.min()), float(corners.max())
    for leg in range(3):
        down = 122 + 56 * leg
        parts += [drawing.words(386, down + 7, f"ℓ{'₁₂₃'[leg]}", anchor="end")]
        parts += [drawing.polyline([(398, down), (494, down)], FAINT, width=3)]
        ends = [(398 + 96 * low - 3, down), (398 + 96 * high + 3, down)]
        parts += [drawing.polyline(ends, REGION, width=14)]
        parts += [drawing.words(506, down + 7, _between(corners), anchor="start")]
    parts += [drawing.polyline([(24, 330), (616, 330)], FAINT, width=3)]
    parts += [drawing.words(24 + 592 * tick / 3, 360, str(tick)) for tick in range(4)]
    parts += [drawing.dot(24 + 592 * total / 3, 330, LOSS, radius=13)]
    parts += [drawing.words(320, 384, "the meter, L = ℓ₁ + ℓ₂ + ℓ₃")]
    return drawing.document(parts, 396)


_FOOT, _UNIT = (180.0, 196.0), 150.0  # where the cube's corner 0 is on the page, and the length of an edge


def _on_page(points: FloatArray) -> FloatArray:
    """Points of space as units from the left and from the top."""
    return np.asarray(_FOOT) + _UNIT * (points @ _VIEW.T) * (1, -1)


def _drawn_cube() -> list[str]:
    """The edges of the cube, those behind dotted, and the names of its three directions."""
    ends = np.array(list(np.ndindex(2, 2, 2)), dtype=np.float64)
    edges = [(p, q) for p, q in combinations(ends, 2) if np.abs(p - q).sum() == 1]
    seen = [_on_page(np.array([p, q])) for p, q in edges if p.any() and q.any()]
    hidden = [_on_page(np.array([p, q])) for p, q in edges if not (p.any() and q.any())]
    parts = [drawing.grid(seen, BASELINE, width=2)]
    parts += [drawing.polyline(edge, BASELINE, width=1.5, dash="2 5") for edge in hidden]
    for axis, (dx, dy) in enumerate(((-20, 16), (18, 12), (0, -14))):
        x, y = _on_page(np.eye(3)[axis])
        parts.append(drawing.words(x + dx, y + dy, f"ℓ{'₁₂₃'[axis]}", size=24))
    return parts


def _needs_three_legs(world: World) -> None:
    """The cube has a direction a leg."""
    if world.mdp.horizon != 3:
        raise ValueError(f"the world has {world.mdp.horizon} steps; the cube of losses is drawn for three")


def independent_totals(world: World) -> int:
    """How many totals, at most, say something new: the dimension that all trajectories span.

    One unknown loss for each step that can be made, less one for each place and time that is passed through:
    what comes in there goes out again, whatever is driven.

    Args:
        world: The world; its structure is known, its losses are not.

    Returns:
        The number of linearly independent trajectories.
    """
    mdp = world.mdp
    passed = mdp.reachable[: mdp.horizon]
    return int(np.count_nonzero(mdp.transitions[passed])) - int(np.count_nonzero(passed[1:]))


def consistent_picture(
    *,
    world: World,
    nights: int,
    first_total: float,
    polygon: FloatArray,
    truth: FloatArray,
    ranges: Mapping[str, tuple[float, float]],
    equations: int,
) -> Figure:
    """What some nights of totals leave open: of the first night's three losses, and of what policies pay.

    Args:
        world: Gives the number of legs, three, and how many totals there can be to learn from.
        nights: How many.
        first_total: The meter of the first night.
        polygon: (m, 3) corners, in any order, of the possible (l_1, l_2, l_3).
        truth: (3,) the losses of the first night.
        ranges: Name to the least and the largest possible expected total.
        equations: How many totals were new information.

    Returns:
        The picture.

    Raises:
        ValueError: if the world does not have three steps.
    """
    _needs_three_legs(world)
    horizon = world.mdp.horizon
    fig: Figure
    fig, (cube, ax) = axes(1, 2, height=3.7, width_ratios=(1, 1.15))
    _cube(cube)
    _fill(cube, plane_in_cube(first_total), faint=True)
    _fill(cube, _around(polygon))
    _truth(cube, truth)
    cube.set_title("losses of night 1", fontsize=11.5)
    for row, (name, ends) in enumerate(ranges.items()):
        low, high = (round(end, 9) + 0.0 for end in ends)  # no negative zero
        ax.plot([low, high], [-row, -row], color=REGION, lw=9, solid_capstyle="butt", zorder=1)
        for end in (low, high):
            ax.plot([end, end], [-row - 0.13, -row + 0.13], color=WALL, lw=1.8, zorder=2)
        text = f"{low:.2f} to {high:.2f}" if high - low > 5e-3 else f"{low:.2f}"
        ax.text(0.0, -row + 0.33, name, va="center")
        ax.text(horizon, -row + 0.33, text, va="center", ha="right", color=INK, weight="bold")
    ax.set(xlim=(-0.05, horizon + 0.05), ylim=(-len(ranges) + 0.6, 0.6), xlabel="possible expected total")
    ax.set_yticks([])
    ax.set_xticks(range(horizon + 1))
    ax.spines["left"].set_visible(False)
    night = "night" if nights == 1 else "nights"
    ax.set_title(f"{nights} {night}, {equations} of {independent_totals(world)} equations", fontsize=11.5)
    return fig


# Regret


def regret_curves(curves: Mapping[str, tuple[FloatArray, str]]) -> Figure:
    """Regret over nights, curves named at their right ends.

    Args:
        curves: Label to values and color.

    Returns:
        The picture.
    """
    fig: Figure
    fig, ax = axes(height=3.0)
    _curves(ax, curves)
    ax.set(ylabel="regret")
    return fig


def _curves(ax: Any, curves: Mapping[str, tuple[FloatArray, str]]) -> None:
    """Curves over nights, each with its name at its right end, the names kept apart."""
    longest = max(len(values) for values, _ in curves.values())
    for i, (values, color) in enumerate(curves.values()):
        ax.plot(np.arange(1, len(values) + 1), values, color=color, ls=DASHES[i % len(DASHES)])
    ax.plot([0, longest], [0, 0], color=FAINT, lw=1, zorder=0)
    low, high = ax.get_ylim()
    height = -np.inf
    for name, (values, color) in sorted(curves.items(), key=lambda item: float(item[1][0][-1])):
        height = max(values[-1], height + 0.1 * (high - low))
        ax.text(longest * 1.03, height, name, color=color, va="center")
    ax.set(xlim=(0, longest * 1.42), xlabel="night")
    ax.set_xticks(np.linspace(0, longest, 3))
    ax.spines["bottom"].set_bounds(0, longest)


def hindsight_fan(shares: FloatArray, lines: FloatArray) -> Figure:
    """Policies as lines over the share of rainy nights, their lower envelope, and its chord.

    Args:
        shares: (m,) from 0 to 1.
        lines: (number of policies, m) the expected total per night.

    Returns:
        The picture.
    """
    fig: Figure
    fig, ax = axes(height=3.3)
    ax.plot(shares, lines.T, color=FAINT, lw=0.7)
    envelope = lines.min(axis=0)
    ax.plot(shares, envelope, color=BEST, lw=2.8)
    ax.plot(shares[[0, -1]], envelope[[0, -1]], color=BASELINE, ls="--")
    middle = len(shares) // 2
    for y, text, color, dy in (
        (envelope[middle], "best fixed policy in hindsight", BEST, 9),
        ((envelope[0] + envelope[-1]) / 2, "best policy of each night", BASELINE, -13),
    ):
        ax.annotate(
            text,
            (0.5, y),
            xytext=(0, dy),
            textcoords="offset points",
            ha="center",
            va="center",
            color=color,
            weight="bold",
            bbox={"boxstyle": "round,pad=0.15", "fc": PAPER, "ec": "none", "alpha": 0.85},
        )
    ax.set(xlim=(0, 1), ylim=(0.6, 2.6), xlabel="share of rainy nights", ylabel="expected total per night")
    return fig
