"""Pictures of chapter 3: walls, the ellipses that keep off them, and the divergence measured with both."""

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
    FAINT,
    INK,
    LEARNER,
    LOSS,
    PAPER,
    REGION,
    WALL,
    axes,
)
from aggbandit.geometry import DikinEllipsoid, LogBarrier, Polytope, box

__all__ = [
    "bowls",
    "discs_and_ellipses",
    "landscape",
    "one_wall",
    "plane_through_cube",
    "ruler",
    "ruler_on_a_path",
    "straying",
]


def discs_and_ellipses(body: Polytope, points: FloatArray) -> Figure:
    """A polygon, and around some points the largest disc and the Dikin ellipse.

    Args:
        body: A two-dimensional set.
        points: (k, 2) strictly inside.
    """
    fig: Figure
    fig, ax = axes(height=1.9)
    _polygon(ax, body)
    lengths = np.linalg.norm(body.A, axis=1)
    angle = np.linspace(0, 2 * np.pi, 121)
    for point in points:
        radius = float((body.slacks(point) / lengths).min())
        ax.fill(*LogBarrier(body).dikin(point).boundary().T, fc=REGION, ec=LEARNER, lw=1.5, alpha=0.6)
        ax.plot(point[0] + radius * np.cos(angle), point[1] + radius * np.sin(angle), color=BASELINE, ls="--")
        ax.plot(*point, "o", color=LEARNER, ms=5)
    return fig


def _polygon(ax: Any, body: Polytope) -> None:
    """The walls of a two-dimensional set, and nothing else on the axes."""
    corners = body.vertices()
    shapes.walls(ax, corners)
    margin = 0.03 * np.ptp(corners, axis=0).max()
    low, high = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    shapes.bare(ax)


def _inside(body: Polytope, columns: int = 160) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A grid over a polygon's bounding box, and for each point its slacks, NaN outside: (r, c, m).

    A point of the grid on a wall has a slack that is zero up to rounding, of either sign as the processor
    has it; it counts as outside.
    """
    corners = body.vertices()
    (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
    rows = max(24, int(columns * (high - low) / (right - left)))
    x, y = np.meshgrid(np.linspace(left, right, columns), np.linspace(low, high, rows))
    slacks = body.b - np.stack([x, y], axis=-1) @ body.A.T
    slacks[(slacks <= 1e-9 * np.nanmax(slacks, axis=(0, 1))).any(axis=-1)] = np.nan
    return x, y, slacks


def landscape(body: Polytope, points: FloatArray, length: float = 0.5) -> Figure:
    """Level sets of the log barrier of a polygon, and at some points the push -grad R.

    Args:
        body: A two-dimensional set.
        points: (k, 2) where the push is drawn.
        length: Of each arrow.
    """
    barrier = LogBarrier(body)
    fig: Figure
    fig, ax = axes(height=1.9)
    x, y, slacks = _inside(body, 320)
    values = -np.log(slacks).sum(axis=-1)
    center = barrier.analytic_center()
    bottom = barrier.value(center)
    levels = bottom + np.array([0.2, 0.6, 1.2, 2, 3.5, 5.5])  # within the first is room for a word
    ax.contour(x, y, values, levels=levels, colors=BASELINE, linewidths=1, linestyles="-")
    _polygon(ax, body)
    ax.plot(*center, "s", color=INK, ms=7)
    ax.annotate("center", center, xytext=(7, -6), textcoords="offset points", color=INK, va="center")
    for point in points:
        push = -barrier.gradient(point)
        shapes.arrow(ax, point, point + length * push / np.linalg.norm(push), LEARNER)
        ax.plot(*point, "o", color=LEARNER, ms=5)
    return fig


def one_wall(points: Sequence[float]) -> Figure:
    """The barrier of the interval (0, 1), and one below the other the balls of its local norm.

    Args:
        points: Where the balls have their centers; the last one's is drawn highest.
    """
    grid = np.linspace(0.003, 0.997, 400)
    fig: Figure
    fig, (top, bottom) = axes(2, 1, height=3.4, height_ratios=(2.6, 1), sharex=True)
    top.plot(grid, _two_walls(grid), color=INK)
    for ax in (top, bottom):
        for wall in (0, 1):
            ax.axvline(wall, color=WALL)
    reach = [1 / np.sqrt(1 / x**2 + 1 / (1 - x) ** 2) for x in points]
    for row, (x, r) in enumerate(zip(points, reach, strict=True)):
        bottom.fill_between([x - r, x + r], row - 0.3, row + 0.3, color=REGION, alpha=0.6, lw=0)
        top.plot([x, x], [0.4, _two_walls(x)], color=LEARNER, ls=":", lw=1.2)
        bottom.plot([x, x], [row, len(points)], color=LEARNER, ls=":", lw=1.2)
        top.plot(x, _two_walls(x), "o", color=LEARNER)
        bottom.plot(x, row, "o", color=LEARNER, ms=5)
    top.set(xlim=(-0.02, 1.02), ylim=(0.4, 5.5), ylabel="$R(p)$")
    bottom.set(ylim=(-0.6, len(points) - 0.4), xlabel="probability of turning, $p$")
    bottom.set_yticks(range(len(points)), [f"± {r:.4g}" for r in reach])
    bottom.tick_params(axis="y", length=0)
    return fig


def _two_walls(p: Any) -> Any:
    """The log barrier of the interval (0, 1)."""
    return -np.log(p) - np.log1p(-p)


def bowls(x: float, y: float) -> Figure:
    """The barrier of the interval (0, 1), its tangent at a point, and the gap at another: the divergence.

    Args:
        x: Where the tangent touches.
        y: Where the gap is measured.
    """
    grid = np.linspace(0.01, 0.99, 400)
    slope = -1 / x + 1 / (1 - x)
    tangent = _two_walls(x) + slope * (grid - x)
    fig: Figure
    fig, ax = axes(height=2.9)
    ax.plot(grid, _two_walls(grid), color=INK)
    ax.plot(grid, tangent, color=LEARNER, ls="--", lw=1.6)
    for wall in (0, 1):
        ax.axvline(wall, color=WALL)
    foot, top = _two_walls(x) + slope * (y - x), _two_walls(y)
    ax.plot([y, y], [foot, top], color=BOUND, lw=3)
    ax.plot(x, _two_walls(x), "o", color=LEARNER)
    ax.plot(y, top, "D", color=BEST)
    ax.annotate(
        "$x$", (x, _two_walls(x)), xytext=(-4, 8), textcoords="offset points", color=LEARNER, ha="right"
    )
    ax.annotate("$y$", (y, top), xytext=(-9, 4), textcoords="offset points", color=BEST, ha="right")
    ax.text(y - 0.02, (foot + top) / 2, "$B_R(y\\,\\|\\,x)$", color=BOUND, ha="right", va="center")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.2, 4.4), xlabel="probability of turning, $p$", ylabel="$R(p)$")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    return fig


# The first dragged figure

_LEVELS = {0.25: "¼", 1.0: "1", 3.0: "3"}


def ruler(body: Polytope, goals: Mapping[str, FloatArray], share: float) -> dict[str, Any]:
    """The dragged figure of a point that runs to the edge, all but its caption (`ruler.js`).

    Args:
        body: A two-dimensional set.
        goals: Points on its edge, by name; it opens on the way to the first.
        share: How much of that way the point has gone.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    center = LogBarrier(body).analytic_center()
    end = next(iter(goals.values()))
    way = end - center
    ellipse = LogBarrier(body).dikin(center + share * way)
    long, short = sorted(np.linalg.norm(ellipse.axes(), axis=1), reverse=True)
    ahead = ellipse.norm(way) / (body.A @ way / ellipse.slacks).max()
    corners = body.vertices()
    return {
        "data": {
            "walls": {"A": body.A, "b": body.b},
            "corners": corners[ConvexHull(corners).vertices],
            "center": center,
            "goals": list(goals.items()),
            "levels": list(_LEVELS),
            "named": list(_LEVELS.values()),
        },
        "start": {"angle": np.arctan2(way[1], way[0]), "share": share},
        "still": ruler_on_a_path(body, center, end, share),
        "alt": f"x has gone {100 * share:.1f} % of the way from the center to the edge. Its ellipse has half "
        f"axes {long:#.2g} and {short:#.2g}, ratio {long / short:.1f}. The edge ahead is at local distance "
        f"{ahead:.2f}.",
    }


def ruler_on_a_path(body: Polytope, start: FloatArray, end: FloatArray, share: float) -> Figure:
    """A point on its way through a polygon: its ellipse, the same magnified, and the divergence on the way.

    Args:
        body: A two-dimensional set.
        start: (2,) strictly inside.
        end: (2,) on the edge.
        share: How much of the way the point has gone, less than all of it.
    """
    point = start + share * (end - start)
    ellipse = LogBarrier(body).dikin(point)
    sets = [_level_set(body, ellipse, level) for level in _LEVELS]
    fig: Figure
    fig, panels = axes(3, 1, height=5.6, height_ratios=(1.1, 1.05, 1.2))
    for ax in panels[:2]:
        _polygon(ax, body)
        ax.plot(*np.array([start, end]).T, color=BASELINE, ls=":", lw=1.3)
        for outline in sets:
            ax.plot(*outline.T, color=BOUND, lw=1)
        ax.fill(*ellipse.boundary().T, fc=REGION, ec=LEARNER, lw=1.4, alpha=0.6, zorder=4)
        ax.plot(*point, "o", color=LEARNER, ms=5, zorder=6)
    _magnify(panels[1], sets)
    _what_is_guaranteed(panels[2])
    _along_the_path(panels[2], body, ellipse, end - start)
    return fig


def _level_set(body: Polytope, ellipse: DikinEllipsoid, level: float) -> FloatArray:
    """Points where the divergence from an ellipse's center is `level`, one in each direction: (k, 2)."""
    ways = ellipse.boundary() - ellipse.center
    told = ways @ body.A.T / ellipse.slacks
    low, high = np.zeros(len(ways)), 1 / told.max(axis=1)
    for _ in range(46):  # bisection: the divergence grows from 0 to infinity on the way to the wall
        middle = (low + high) / 2
        growth = -middle[:, None] * told
        less = (growth - np.log1p(growth)).sum(axis=1) < level
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    outline: FloatArray = ellipse.center + low[:, None] * ways
    return outline


def _magnify(ax: Any, sets: Sequence[FloatArray]) -> None:
    """The axes' window around the outermost set, and the names of the sets where they are far apart."""
    (left, low), (right, high) = sets[-1].min(axis=0), sets[-1].max(axis=0)
    x, y = 0.09 * (right - left), 0.25 * (high - low)
    ax.set(xlim=(left - x, right + x), ylim=(low - y, high + y))
    apart = np.argmax(np.linalg.norm(sets[-1] - sets[-2], axis=1))
    for outline, name in zip(sets, _LEVELS.values(), strict=True):
        ax.annotate(
            name,
            outline[apart],
            xytext=(-4, 0),
            textcoords="offset points",
            color=BOUND,
            ha="right",
            va="center",
            zorder=7,
        )


def _what_is_guaranteed(ax: Any) -> None:
    """The axes of the lowest panel, with the bounds of the theorem on the divergence."""
    d = np.linspace(-6, 3, 361)
    ax.plot(d, np.abs(d) - np.log1p(np.abs(d)), color=BOUND, ls="--", label="lower: $\\rho(r)$")
    inner = d[np.abs(d) < 0.999]
    upper = -np.abs(inner) - np.log1p(-np.abs(inner))
    ax.plot(inner, upper, color=BOUND, ls=":", label="upper: $\\rho(-r)$")
    ax.plot([], [], color=INK, label="divergence")
    ax.axvspan(-1, 1, color=REGION, alpha=0.35, lw=0, zorder=0)
    ax.plot(0, 0, "o", color=LEARNER, ms=6, clip_on=False, zorder=5)
    ax.set(xlim=(-6, 3), ylim=(0, 5), ylabel="divergence")
    ax.set_yticks([*_LEVELS, 5], [*_LEVELS.values(), "5"])
    ax.set_xlabel("local distance from $x$, backward (−) and onward (+)")
    place = {"loc": "lower left", "bbox_to_anchor": (-0.08, 1.0), "ncols": 3}
    ax.legend(**place, fontsize=10.5, handlelength=1.3, columnspacing=0.8, frameon=False)


def _along_the_path(ax: Any, body: Polytope, ellipse: DikinEllipsoid, direction: FloatArray) -> None:
    """Divergence against signed local distance along a line, and the walls on it."""
    unit = direction / ellipse.norm(direction)
    told = body.A @ unit / ellipse.slacks
    ahead, behind = 1 / told.max(), 1 / told.min()
    d = np.linspace(max(-6, behind + 1e-6), min(3, ahead - 1e-6), 721)
    growth = -np.outer(d, told)
    ax.plot(d, (growth - np.log1p(growth)).sum(axis=1), color=INK)
    for wall in (ahead, behind):
        if -6 < wall < 3:
            ax.axvline(wall, color=WALL, lw=2)
    ax.text(-5.85, 0.3, f"edge ahead\nat {ahead:.2f}", color=WALL, fontsize=10.5)


# The explorables

_VIEW = shapes.view(26.0, 28.0)


def plane_through_cube(body: Polytope, point: FloatArray) -> Figure:
    """A plane through a cube, the cube's ellipsoid at a point of it, and both once more within the plane.

    Left: the ellipsoid's outline and its section. Right, the plane seen face on: the section, and the
    shadow that the ellipsoid would throw on it.

    Args:
        body: The slice {p in [0, 1]^3 : p_1 + p_2 + p_3 = const}.
        point: (3,) strictly inside it.
    """
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.4)
    ellipse = LogBarrier(body).dikin(point)
    solid = LogBarrier(box(np.zeros(3), np.ones(3))).hessian(point)
    corners = body.vertices()
    _cube(left)
    left.fill(*(corners @ _VIEW.T).T, fc=(WALL, 0.15), ec=WALL, lw=2, zorder=2)
    left.plot(*_shadow(point, solid, _VIEW).T, color=BASELINE, lw=1.3, zorder=5)
    left.fill(*(ellipse.boundary() @ _VIEW.T).T, fc=REGION, ec=LEARNER, lw=1.4, alpha=0.75, zorder=4)
    left.plot(*(_VIEW @ point), "o", ms=5, color=LEARNER, zorder=6)
    left.set_title("in the cube")
    for axis, end in enumerate(1.12 * np.eye(3)):
        left.text(*(_VIEW @ end), f"$p_{axis + 1}$", ha="center", va="center", color=INK)

    flat = np.array([[1.0, -1.0, 0.0], [-1.0, -1.0, 2.0]]) / np.sqrt([[2.0], [6.0]])
    origin = np.full(3, point.sum() / 3)
    right.fill(*((corners - origin) @ flat.T).T, fc="none", ec=WALL, lw=2.2)
    right.fill(*((ellipse.boundary() - origin) @ flat.T).T, fc=REGION, ec=LEARNER, lw=1.4, alpha=0.75)
    right.plot(*(_shadow(point, solid, flat) - origin @ flat.T).T, color=BASELINE, ls="--", lw=1.5)
    right.plot(*((point - origin) @ flat.T), "o", ms=5, color=LEARNER)
    right.set(xlim=(-0.98, 0.98), ylim=(-0.98, 0.98), aspect="equal")
    right.axis("off")
    right.set_title("in the plane")
    return fig


def _shadow(point: FloatArray, hessian: FloatArray, view: FloatArray) -> FloatArray:
    """The outline of {y : (y - point)' hessian (y - point) <= 1} after the linear map view (2, D)."""
    spread = np.linalg.cholesky(view @ np.linalg.inv(hessian) @ view.T)
    outline: FloatArray = view @ point + shapes.circle(121) @ spread.T
    return outline


def _cube(ax: Any) -> None:
    """The cube [0, 1]^3, and nothing else on the axes."""
    shapes.cube(ax, _VIEW, front=3)
    ax.set(xlim=(-0.76, 1.14), ylim=(-0.8, 1.1), aspect="equal")
    ax.axis("off")


def straying(
    ranges: Mapping[str, tuple[float, float, float]],
    total: tuple[float, float, float],
    extremes: tuple[float, float],
) -> Figure:
    """What policies the Dikin ellipsoid holds, and what they pay.

    Args:
        ranges: For each decision point the probability of turning at the center, and the least and the
            largest in the ellipsoid.
        total: The same of the expected total.
        extremes: The expected totals of the best and the worst of all policies.
    """
    fig: Figure
    fig, (top, bottom) = axes(2, 1, height=4.5, height_ratios=(len(ranges), 1.5))
    for i, (at, low, high) in enumerate(ranges.values()):
        _interval(top, -i, at, low, high)
    for wall in (0, 1):
        top.axvline(wall, color=WALL)
    top.set_yticks([-i for i in range(len(ranges))], list(ranges))
    top.set(xlim=(-0.02, 1.02), ylim=(-len(ranges) + 0.4, 0.7), xlabel="probability of turning there")
    top.tick_params(axis="y", length=0)
    center, least, largest = total
    _interval(bottom, 0, center, least, largest, color=LOSS)
    for value in extremes:
        bottom.axvline(value, color=BASELINE, ls="--", lw=1.4)
    margin = 0.03 * (extremes[1] - extremes[0])
    bottom.set(xlim=(extremes[0] - margin, extremes[1] + margin), ylim=(-0.6, 0.7))
    bottom.set_yticks([0], ["total"])
    bottom.tick_params(axis="y", length=0)
    bottom.set_xlabel("expected total (dashed: best and worst policy)")
    return fig


def _interval(ax: Any, y: int, at: float, low: float, high: float, color: str = LEARNER) -> None:
    """A bar with its ends in figures beside it, and above it a triangle where the center is.

    Close to a wall a bar is a few pixels wide; then its outline and the figures are what one sees.
    """
    ax.axhline(y, color=FAINT, lw=1, zorder=0)
    ax.barh(y - 0.08, high - low, left=low, height=0.42, fc=REGION, ec=color, lw=1, alpha=0.7)
    ax.plot(at, y + 0.28, "v", ms=7, color=color, mec=PAPER, zorder=4, clip_on=False)
    digits = 2 if high - low >= 0.1 else 3
    words = f"{_off_the_walls(low, digits)} – {_off_the_walls(high, digits)}"
    ax.text(1.015, y, words, transform=ax.get_yaxis_transform(), va="center", fontsize=10)


def _off_the_walls(value: float, digits: int) -> str:
    """A number with so many decimals, or as many more as tell it from 0 and 1."""
    while digits < 8 and round(value, digits) in (0, 1):
        digits += 1
    return f"{value:.{digits}f}"
