"""Pictures of chapter 1: the night driver's city, its ledger, and what a total leaves open.

A trajectory is drawn on the layers of the world: columns are steps, rows are states. A solid line is the
first action (keep), a dashed one the second (turn).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    DASHES,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    MARKERS,
    PAPER,
    REGION,
    WALL,
    axes,
)
from aggbandit.history import History
from aggbandit.mdp import Trajectory
from aggbandit.worlds import World

__all__ = [
    "consistent_picture",
    "feedback_picture",
    "hindsight_fan",
    "independent_totals",
    "ledger",
    "plane_in_cube",
    "policy_strip",
    "regret_curves",
    "two_choices",
    "two_standards",
]


# The city


def two_choices(world: World) -> Figure:
    """All roads of a world, one panel an action: the wider a line, the likelier the move."""
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


def _path(ax: Any, trajectory: Trajectory, *, x0: float = 0.0, width: float = 1.0, lw: float = 3.0) -> None:
    """One trajectory: a line a leg, its dash the action."""
    x = x0 + width * np.arange(trajectory.horizon + 1)
    y = -trajectory.states
    for h, a in enumerate(trajectory.actions):
        ax.plot(x[h : h + 2], y[h : h + 2], color=INK, lw=lw, ls=DASHES[a], zorder=2, dash_capstyle="butt")


# The ledger


def ledger(
    world: World, trajectories: Sequence[Trajectory], totals: FloatArray, *, last_night: int
) -> Figure:
    """What the driver has seen: the last six routes with their totals, and the average of all totals so far.

    world: gives the names; trajectories, totals: all the nights played; last_night: the right end of the
    lower axis, the same in all frames.
    """
    played = len(trajectories)
    horizon, n_states = world.mdp.horizon, world.mdp.n_states
    pitch = horizon + 1.3
    fig: Figure
    fig, (top, bottom) = axes(2, 1, height=4.3, height_ratios=(1.15, 1))
    shown = list(range(max(0, played - 6), played))
    for column, k in enumerate(shown):
        x0 = column * pitch
        _path(top, trajectories[k], x0=x0, lw=2.4)
        top.plot(x0 + np.arange(horizon + 1), -trajectories[k].states, "o", ms=5, color=INK, zorder=3)
        top.text(x0 + horizon / 2, 1.05, f"night {k + 1}", ha="center", va="center", fontsize=10.5)
        top.text(
            x0 + horizon / 2,
            -n_states - 0.15,
            f"{totals[k]:.1f}",
            ha="center",
            va="center",
            color=LOSS,
            fontsize=15,
            weight="bold",
        )
    for s in range(n_states):
        top.axhline(-s, color=FAINT, lw=0.8, zorder=0)
    top.set(xlim=(-0.6, 6 * pitch - 0.7), ylim=(-n_states - 0.7, 1.5))
    top.set_xticks([])
    top.set_yticks([*range(0, -n_states, -1), -n_states - 0.15], [*world.state_names, "the meter"])
    _bare(top)

    nights = np.arange(1, played + 1)
    average = np.cumsum(totals) / nights
    bottom.plot(nights, totals, MARKERS[0], color=LOSS, ms=4.5, alpha=0.6, mew=0)
    bottom.plot(nights, average, color=LEARNER, marker="o" if played == 1 else None)
    bottom.annotate(
        f"average {average[-1]:.2f}",
        (played, average[-1]),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        color=LEARNER,
        weight="bold",
    )
    bottom.set(xlim=(0, last_night * 1.3), ylim=(0, horizon), xlabel="night", ylabel="total")
    bottom.set_yticks(range(horizon + 1))
    return fig


def policy_strip(values: FloatArray, named: Mapping[str, float], best: float) -> Figure:
    """Expected totals of many policies as a histogram, some of them by name, and the best one.

    values: one number a policy; named: label to value; best: the least value there is.
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
    """The corners, in order, of {l in [0, 1]^3 : l_1 + l_2 + l_3 = total}: a triangle, a hexagon or a point.

    total: in [0, 3]. Returns shape (m, 3).
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


def feedback_picture(world: World, trajectory: Trajectory, loss: FloatArray, *, seen: str) -> Figure:
    """One trajectory, the numbers that a kind of feedback shows, and the loss vectors that remain possible.

    world: gives the names; trajectory: what happened; loss: (H, S, A, S), the table of the night;
    seen: "the total", "each leg" or "the whole table".
    """
    _needs_three_legs(world)
    losses = trajectory.losses(loss)
    fig: Figure
    fig, (ax, cube) = axes(1, 2, height=3.7, width_ratios=(1.25, 1))
    for h in range(world.mdp.horizon):
        for s in np.flatnonzero(world.mdp.reachable[h]):
            for t in range(world.mdp.n_states):
                ax.plot([h, h + 1], [-s, -t], color=FAINT, lw=1.2, zorder=0)
                if seen == "the whole table":
                    mean = loss[h, s, :, t].mean()
                    ax.plot([h, h + 1], [-s, -t], color=LOSS, lw=4.5 * mean, alpha=0.35, zorder=0)
    _nodes(ax, world, names=True)
    _path(ax, trajectory)
    for h, value in enumerate(losses):
        y = -(trajectory.states[h] + trajectory.states[h + 1]) / 2
        label = f"$\\ell_{h + 1}$" if seen == "the total" else f"{value:.1f}"
        ax.text(
            h + 0.5,
            y,
            label,
            ha="center",
            va="center",
            fontsize=12.5,
            color=LOSS,
            weight="bold",
            zorder=5,
            bbox={"boxstyle": "round,pad=0.18", "fc": PAPER, "ec": FAINT},
        )
    ax.set_title(f"meter: {losses.sum():.1f}", color=LOSS, weight="bold")
    ax.tick_params(axis="x", labelsize=10)
    _cube(cube)
    if seen == "the total":
        _fill(cube, plane_in_cube(losses.sum()))
        cube.set_title("possible: a whole slice", fontsize=11)
    else:
        _truth(cube, losses)
        cube.set_title("possible: one point", fontsize=11)
    return fig


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
    """Regret over nights, curves named at their right ends: label to (values, color)."""
    fig: Figure
    fig, ax = axes(height=3.0)
    _curves(ax, curves)
    ax.set(ylabel="regret")
    return fig


def two_standards(played: Mapping[str, tuple[History, str]]) -> Figure:
    """What learners pay more than a standard: nothing at all (left) and the best fixed policy (right).

    played: label to (history, color). The best policy of each night is supposed to pay nothing.
    """
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.2)
    _curves(left, {name: (np.cumsum(run.expected_loss), color) for name, (run, color) in played.items()})
    _curves(right, {name: (run.regret(), color) for name, (run, color) in played.items()})
    left.set_title("behind the best\nof each night")
    right.set_title("behind the best\nfixed policy: regret")
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

    shares: (m,) from 0 to 1; lines: (number of policies, m), the expected total per night.
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
