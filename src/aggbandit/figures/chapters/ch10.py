"""Pictures of chapter 10: the proof on one page, budgets, a run in time-lapse, and regret by schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

from aggbandit._arrays import FloatArray
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
)
from aggbandit.geometry import OccupancyBarrier, OccupancySet
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["budgets", "ellipse", "outline", "proof_map", "regret_by_learner", "time_lapse"]


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
    corners = []
    for angle in np.linspace(0, 2 * np.pi, directions, endpoint=False):
        x = _corner(body, np.cos(angle) * tables[0] + np.sin(angle) * tables[1])
        corners.append([float((x * table).sum()) for table in tables])
    points = np.array(corners)
    hull = points[ConvexHull(points).vertices]
    return np.vstack([hull, hull[:1]])


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
    dikin = barrier.dikin(x)
    steps = [-dikin.newton_step(table) for table in tables]
    products = np.array([[float((table * step).sum()) for step in steps] for table in tables])
    angle = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    center = np.array([float((x * table).sum()) for table in tables])
    return center, center + (np.linalg.cholesky(products) @ circle).T


# --- pictures ---------------------------------------------------------------------------------------------


def time_lapse(
    title: str,
    shadows: Mapping[str, FloatArray],
    points: Mapping[str, FloatArray],
    turning: Mapping[str, tuple[float, float, int]],
    window: tuple[float, float, float, float],
) -> Figure:
    """A moment of a run. Left, the plane of two totals, with an inset; right, the policy place by place.

    Args:
        title: over the plane.
        shadows: polygons (k, 2) called "set", "city" and "ellipse".
        points: (2,) called "plan", "drive" and "best".
        turning: for every place its probability of turning, the best policy's, and the visits.
        window: left, right, bottom and top of the plane.

    Returns:
        The figure.
    """
    fig: Figure
    fig, (plane, bars) = axes(1, 2, height=3.7, width_ratios=(1.1, 1))
    plane.fill(*shadows["set"].T, fc=REGION, ec="none", alpha=0.25)
    plane.plot(*shadows["set"].T, color=WALL, lw=1.8)
    plane.plot(*shadows["city"].T, color=INK, lw=1.4)
    plane.fill(*shadows["ellipse"].T, fc=REGION, ec=LEARNER, lw=1.4, alpha=0.8)
    plane.plot(*points["plan"], "o", color=LEARNER, ms=6, zorder=5)
    plane.plot(*points["drive"], "x", color=INK, ms=8, mew=2.2, zorder=6)
    plane.plot(*points["best"], "D", color=BEST, ms=8, zorder=5)
    plane.set(xlim=window[:2], ylim=window[2:], xlabel="expected total, dry", ylabel="in rain", title=title)
    _magnify(plane, shadows, points, window)
    rows = np.arange(len(turning))[::-1]
    for row, (now, best, visits) in zip(rows, turning.values(), strict=True):
        bars.barh(row, now, height=0.6, color=LEARNER)
        bars.plot(best, row, "D", color=BEST, ms=8, clip_on=False, zorder=5)
        bars.text(1.83, row, f"{visits:,}", ha="right", va="center", fontsize=9.5)
    bars.text(1.83, len(turning) - 0.45, "visits", ha="right", va="bottom", fontsize=9.5)
    bars.set_yticks(rows, list(turning), fontsize=9.5)
    bars.set(xlim=(0, 1.85), ylim=(-0.6, len(turning) - 0.4), xlabel="probability of turning")
    bars.set_xticks([0, 0.5, 1])
    return fig


def _magnify(
    plane: Any,
    shadows: Mapping[str, FloatArray],
    points: Mapping[str, FloatArray],
    window: tuple[float, float, float, float],
) -> None:
    """In the corner below the city: the plan, its ellipse and the cross, as large as they fit."""
    edge, plan = shadows["ellipse"], points["plan"]
    half = 1.25 * float(np.abs(edge - plan).max())
    inset = plane.inset_axes((0.02, 0.02, 0.31, 0.31))
    inset.plot(*shadows["set"].T, color=WALL, lw=1.6)
    inset.plot(*shadows["city"].T, color=INK, lw=1.2)
    inset.fill(*edge.T, fc=REGION, ec=LEARNER, lw=1.4, alpha=0.8)
    inset.plot(*plan, "o", color=LEARNER, ms=6, zorder=5)
    inset.plot(*points["drive"], "x", color=INK, ms=8, mew=2.2, zorder=6)
    inset.plot(*points["best"], "D", color=BEST, ms=8, zorder=5)
    inset.set(xlim=(plan[0] - half, plan[0] + half), ylim=(plan[1] - half, plan[1] + half))
    inset.set(xticks=[], yticks=[])
    times = 0.31 * (window[1] - window[0]) / (2 * half)
    inset.set_title(f"{times:.1f} times", fontsize=9.5, pad=3)
    for side in inset.spines.values():
        side.set_visible(True)
        side.set_color(BASELINE)


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
    for x, y, width, color, words in boxes:
        tall = 15
        ax.add_patch(_rounded(x - width / 2, y - tall / 2, width, tall, color))
        ax.text(x, y, words, ha="center", va="center", fontsize=11)
    for start, end in (((17, 85), (17, 74.5)), ((50, 85), (50, 74.5)), ((17, 58), (17, 44.5)),
                       ((50, 58), (50, 44.5)), ((83, 58), (83, 44.5)), ((50, 28), (50, 17.5))):  # fmt: skip
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
    colors = (LEARNER, INK, REGION, LEARNER)
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
