"""Pictures of chapter 10: the proof on one page, budgets, a run in time-lapse, and regret by schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.spatial import ConvexHull

from aggbandit._arrays import FloatArray, reduce_frozen
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    BOUND,
    DASHES,
    INK,
    LEARNER,
    MARKERS,
    REGION,
    WALL,
    axes,
    house_style,
)
from aggbandit.geometry import OccupancyBarrier, OccupancySet
from aggbandit.mdp import FiniteHorizonMDP, uniform_policy
from aggbandit.occupancy import policy_of
from aggbandit.worlds import World

__all__ = ["Moment", "budgets", "ellipse", "outline", "proof_map", "regret_by_learner", "time_lapse"]


# --- what can be seen of S_i in a plane -------------------------------------------------------------------


def _corner(body: OccupancySet, table: FloatArray) -> FloatArray:
    """The x in the set with the least x . table: backward induction with the luckiest row in every cell."""
    horizon, n_states, n_actions, _ = body.shape
    rest = np.zeros(n_states)
    rows, policy = np.zeros(body.shape), np.zeros((horizon, n_states, n_actions))
    for h in reversed(range(horizon)):
        cost = np.zeros((n_states, n_actions))
        for s, a in np.ndindex(n_states, n_actions):
            value = table[h, s, a] + rest
            row = rows[h, s, a] = _luckiest_row(body.P_hat[h, s, a], float(body.radius[h, s, a]), value)
            cost[s, a] = row @ value
        policy[h] = np.eye(n_actions)[cost.argmin(axis=1)]
        rest = cost.min(axis=1)
    return FiniteHorizonMDP(rows, body.initial_state).occupancy(policy)


def _luckiest_row(p: FloatArray, radius: float, value: FloatArray) -> FloatArray:
    """The distribution within `radius` of p under which `value` is least on average."""
    q, best = p.copy(), int(value.argmin())
    q[best] = min(1.0, p[best] + radius / 2)
    for s in np.argsort(-value, kind="stable"):
        if s != best:
            q[s] -= min(q[s], max(float(q.sum()) - 1.0, 0.0))
    return q


def outline(body: OccupancySet, tables: Sequence[FloatArray], directions: int = 36) -> FloatArray:
    """The shadow of a plausible set in the plane of two expected totals.

    Args:
        body: the set.
        tables: the two loss tables, (H, S, A, S) each.
        directions: corners are found by pushing in so many.

    Returns:
        (k, 2) a closed polygon.
    """
    points = _furthest(body, tables, directions)
    hull = points[ConvexHull(points).vertices]
    return np.vstack([hull, hull[:1]])


def _furthest(body: OccupancySet, tables: Sequence[FloatArray], directions: int) -> FloatArray:
    """(directions, 2) the corner of the shadow that lies furthest in each direction, all the way round."""
    corners = []
    for angle in np.linspace(0, 2 * np.pi, directions, endpoint=False):
        x = _corner(body, np.cos(angle) * tables[0] + np.sin(angle) * tables[1])
        corners.append(_totals(x, tables))
    return np.array(corners)


def _totals(x: FloatArray, tables: Sequence[FloatArray]) -> list[float]:
    return [float((x * table).sum()) for table in tables]


def ellipse(
    barrier: OccupancyBarrier, x: FloatArray, tables: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The shadow of the Dikin ellipsoid at x in the plane of two expected totals.

    For directions c of the plane the half-width is the dual norm of c, so the shadow is the ellipse of their
    inner products.

    Args:
        barrier: of the set.
        x: (H, S, A, S) the point.
        tables: the two loss tables, (H, S, A, S) each.

    Returns:
        (2,) its center, and (73, 2) its edge.
    """
    center = np.array(_totals(x, tables))
    return center, _ring(center, _covariance(barrier, x, tables))


def _covariance(barrier: OccupancyBarrier, x: FloatArray, tables: Sequence[FloatArray]) -> FloatArray:
    """The inner products of the two tables in the dual norm at x."""
    dikin = barrier.dikin(x)
    steps = [-dikin.newton_step(table) for table in tables]
    return np.array([[float((table * step).sum()) for step in steps] for table in tables])


def _ring(center: FloatArray | Sequence[float], covariance: FloatArray) -> FloatArray:
    """(73, 2) the edge of {center + y : y . covariance^-1 y <= 1}."""
    angle = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(center + (np.linalg.cholesky(covariance) @ circle).T)


# --- pictures ---------------------------------------------------------------------------------------------

DIRECTIONS = 32
"""In so many directions the corners of a plausible set are sent."""

_PLANE = (0.5, 2.75)
_LENS = 0.11  # half the width of what is magnified, as in `time_lapse.js`


@dataclass(frozen=True)
class Moment:
    """What is kept of a run after one of its nights.

    Attributes:
        body: The plausible set.
        x: (H, S, A, S) the learner's point.
        regret: Until then.
    """

    body: OccupancySet
    x: FloatArray
    regret: float
    __reduce__ = reduce_frozen


def time_lapse(
    world: World, moments: Mapping[int, Moment], other: FloatArray, *, night: int
) -> dict[str, Any]:
    """The dragged figure of a run, all but its caption (`time_lapse.js`).

    Args:
        world: With the losses of the run.
        moments: What was kept of the run, by night, ascending; between them the page interpolates.
        other: (H, S, A, S) the loss table that opens the plane.
        night: One of those nights, on which it opens.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    mdp, tables = world.mdp, (world.loss, other)
    best, best_value = mdp.best_policy(world.loss)
    known = OccupancySet(mdp.transitions, np.full(mdp.shape[:3], 1e-9))
    kept = [_kept(world, tables, after, moment) for after, moment in moments.items()]
    data: dict[str, Any] = {name: [entry[name] for entry in kept] for name in kept[0]}
    data |= {
        "nights": list(moments),
        "city": outline(known, tables, 72)[:-1],
        "best": _totals(mdp.occupancy(best), tables),
        "coin": mdp.expected_loss(uniform_policy(mdp), world.loss) - best_value,
        "cells": len(known.cells[0]),
    }
    now = kept[list(moments).index(night)]
    plan, drive = now["plan"][0], now["drive"][0]
    return {
        "data": data,
        "start": {"night": night},
        "still": _time_lapse(data, night, now),
        "alt": f"After night {night:,}: the plan expects {_decimals(plan)} on dry nights, its policy pays "
        f"{_decimals(drive)}, the best one {_decimals(best_value)}. {now['rows']} of {data['cells']} rows "
        f"exclude something. The ellipse reaches {_decimals(np.sqrt(now['covariance'][0]), 3)} to each side. "
        f"So far the regret is {_decimals(now['regret'])} a night.",
    }


def _kept(world: World, tables: Sequence[FloatArray], night: int, moment: Moment) -> dict[str, Any]:
    """One moment in the plane of two totals."""
    body, x = moment.body, moment.x
    (a, b), (_, d) = _covariance(OccupancyBarrier(body), x, tables)
    return {
        "plan": _totals(x, tables),
        "drive": _totals(world.mdp.occupancy(policy_of(x)), tables),
        "covariance": [a, b, d],
        "set": _furthest(body, tables, DIRECTIONS).round(4),
        "rows": int(body.constrained[body.cells].sum()),
        "regret": moment.regret / night,
    }


def _decimals(value: float, digits: int = 2) -> str:
    """Halves go up, as on the page."""
    return f"{value + 1e-9:.{digits}f}"


def _time_lapse(data: Mapping[str, Any], night: int, now: Mapping[str, Any]) -> Figure:
    """The opening picture: the plane, what is magnified of it, and the regret below."""
    fig: Figure
    fig, panels = axes(2, 2, height=5.4, height_ratios=(2.3, 1))
    grid = panels[1, 0].get_gridspec()
    for panel in panels[1]:
        panel.remove()
    with house_style():
        curve = fig.add_subplot(grid[1, :])
    plane, lens = panels[0]
    (a, b, d), plan = now["covariance"], now["plan"]
    edge = _ring(plan, np.array([[a, b], [b, d]]))
    for panel, large in ((plane, False), (lens, True)):
        panel.fill(*np.transpose(now["set"]), fc=REGION, ec=WALL, lw=1.6, alpha=0.4)
        panel.plot(*np.transpose([*data["city"], data["city"][0]]), color=INK, lw=1.3)
        panel.fill(*edge.T, fc=REGION, ec=LEARNER, lw=1.4 if large else 0.8, alpha=0.8)
        panel.plot(*data["best"], "D", color=BEST, ms=7, zorder=5)
        panel.plot(*plan, "o", color=LEARNER, ms=6 if large else 2.5, zorder=5)
        panel.set_aspect("equal")
    plane.set(xlim=_PLANE, ylim=_PLANE, xlabel="expected total, dry", ylabel="in rain")
    plane.set(xticks=[1, 1.5, 2, 2.5], yticks=[1, 1.5, 2, 2.5], title=f"night {night:,}")
    lens.plot(*now["drive"], "x", color=INK, ms=8, mew=2.2, zorder=6)
    lens.set(xlim=(plan[0] - _LENS, plan[0] + _LENS), ylim=(plan[1] - _LENS, plan[1] + _LENS))
    lens.set(xticks=[], yticks=[], title=f"{(_PLANE[1] - _PLANE[0]) / (2 * _LENS):.1f} times as large")
    for side in lens.spines.values():
        side.set_visible(True)
        side.set_color(BASELINE)
    low = [coordinate - _LENS for coordinate in plan]
    plane.add_patch(Rectangle((low[0], low[1]), 2 * _LENS, 2 * _LENS, fc="none", ec=BASELINE, lw=1.2))
    curve.plot(data["nights"], data["regret"], color=LEARNER, lw=1.8)
    curve.axhline(data["coin"], color=BASELINE, lw=1.3, ls=":")
    curve.plot(night, now["regret"], "o", color=LEARNER, ms=9)
    curve.set(xscale="log", xlim=(data["nights"][0], data["nights"][-1]), ylim=(0, 0.75))
    curve.set(xlabel="nights driven", ylabel="regret a night")
    return fig


def budgets(ledgers: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]]) -> Figure:
    """What each epoch used of its budget, against its length, for one or two ways to choose eps.

    Args:
        ledgers: by name, the lengths of the epochs in nights, what they used, `sum (z_hat . eps)^2`, and
            what they were allowed, B_i.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=3.2)
    for (name, (lengths, used, allowed)), marker in zip(ledgers.items(), MARKERS, strict=False):
        ax.plot(lengths, allowed, "_", color=BOUND, ms=16, mew=2.2)
        ax.plot(lengths, used, marker, color=LEARNER, alpha=0.8)
        longest = int(lengths.argmax())
        words = f"allowed, {name}"
        ax.text(lengths[longest] * 1.2, allowed[longest] * 1.35, words, color=BOUND, ha="right", va="bottom")
    least = min(used.min() for _, used, _ in ledgers.values())
    most = max(allowed.max() for _, _, allowed in ledgers.values())
    ax.set(xscale="log", yscale="log", xlabel="length of the epoch, nights")
    ax.set(ylim=(least / 3, most * 5), ylabel=r"$\sum_k(\hat z_k\cdot\epsilon_i)^2$")
    return fig


def proof_map() -> Figure:
    """The proof of the main theorem as boxes and arrows: from counting to the rules of the game to regret."""
    fig: Figure
    fig, ax = axes(height=4.6)
    ax.set(xlim=(0, 100), ylim=(0, 100))
    ax.axis("off")
    boxes = (
        (50, 91, 92, INK, "stacks of cards, Hoeffding, a union bound:\n"
            "the city is in all balls, except with probability $1/(HK)$"),
        (17, 65, 31, BEST, "$x^\\star\\in\\mathcal{S}_i$:\nthe comparator\ncan be chosen"),
        (50, 65, 31, WALL, "$\\|z-y\\|_1\\leq$\n$\\min\\{\\epsilon_i\\cdot z,\\ \\epsilon_i\\cdot y\\}$"),
        (83, 65, 31, BOUND, "doubling: $n_i\\leq N_i$\n$\\sum(\\hat z\\cdot\\epsilon_i)^2\\leq B$"),
        (50, 36, 92, LEARNER, "an epoch is a distorted linear bandit on $\\mathcal{S}_i$:\n"
            "Algorithm 2 pays at most $\\mathrm{bound}(K)\\sim\\sqrt{K}$"),
        (50, 9, 92, LEARNER, "at most $c\\,(1+\\log_2K)+1$ epochs:\n"
            "$E[\\mathrm{Reg}_K]\\leq$ epochs $\\times$ $\\mathrm{bound}(K)+1$"),
    )  # fmt: skip
    tall = 15
    for x, y, width, color, words in boxes:
        ax.add_patch(_rounded(x - width / 2, y - tall / 2, width, tall, color))
        ax.text(x, y, words, ha="center", va="center", fontsize=11)
    # From the lower edge of one box to the upper edge of another.
    joined = ((17, 91, 65), (50, 91, 65), (17, 65, 36), (50, 65, 36), (83, 65, 36), (50, 36, 9))
    for x, above, below in joined:
        start, end = (x, above - tall / 2), (x, below + tall / 2)
        shapes.arrow(ax, np.array(start), np.array(end), BASELINE, lw=1.6, shrinkA=2, shrinkB=2)
    return fig


def _rounded(x: float, y: float, width: float, height: float, color: str) -> Any:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=2"
    return FancyBboxPatch((x, y), width, height, boxstyle=style, fc="none", ec=color, lw=1.8)


def regret_by_learner(
    at: FloatArray,
    curves: Mapping[str, Mapping[str, tuple[FloatArray, FloatArray]]],
    idle: FloatArray,
    top: float,
) -> Figure:
    """The regret of several learners, one panel a setting, each curve with a band of one standard error.

    Args:
        at: (k,) episodes.
        curves: by panel and learner, mean and standard error (k,), as shares of what the uniform policy has
            in the end.
        idle: (k,) the regret of the uniform policy, in such shares.
        top: end of the regret's axis.

    Returns:
        The figure.
    """
    colors = (LEARNER, BASELINE, LEARNER, LEARNER)  # told apart by dashes and markers
    fig: Figure
    fig, panels = axes(1, len(curves), height=3.6, sharey=True)
    for ax, (title, learners) in zip(panels, curves.items(), strict=True):
        ax.plot(at, idle, color=BASELINE, lw=1.4, ls=":")
        heights = _apart([float(mean[-1]) for mean, _ in learners.values()], 0.075 * top)
        for i, (name, (mean, error)) in enumerate(learners.items()):
            ax.fill_between(at, mean - error, mean + error, color=colors[i], alpha=0.2, lw=0)
            ax.plot(at, mean, color=colors[i], ls=DASHES[i], lw=1.8)
            ax.plot(at[-1], mean[-1], MARKERS[i], color=colors[i], clip_on=False)
            ax.plot(at[-1] * 1.09, heights[i], MARKERS[i], color=colors[i], ms=5, clip_on=False)
            ax.text(at[-1] * 1.14, heights[i], name, va="center", fontsize=9.5)
        ax.set(xlim=(0, at[-1] * 1.62), ylim=(0, top), xlabel="nights", title=title)
        ax.set_xticks([0, at[-1]])
        ax.set_xticklabels([f"{t:,.0f}" for t in (0, at[-1])])
    panels[0].set_ylabel("regret, as a share")
    return fig


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, in the same order from below, pushed upwards until neighbors are a gap apart."""
    placed, last = list(heights), -np.inf
    for i in np.argsort(heights, kind="stable"):
        placed[i] = last = max(heights[i], last + gap)
    return placed
