"""Pictures of chapter 9: L1 balls on a triangle, a wedge, two rows in one ball, epochs on a time line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import BASELINE, BOUND, ESTIMATE, FAINT, INK, LEARNER, PAPER, REGION, WALL, axes

__all__ = ["ball_and_radius", "epoch_lines", "two_rows", "wedge"]

_CORNERS = shapes.TRIANGLE[[0, 2, 1]]


def _flat(p: Any) -> FloatArray:
    """Distributions over three places as points of the triangle."""
    return np.asarray(np.asarray(p, dtype=np.float64) @ _CORNERS)


def ball_corners(P_hat: FloatArray, radius: float) -> FloatArray:
    """The corners, in order, of the distributions within `radius` of `P_hat` in L1: (k, 3).

    Three coordinates with sum zero have an L1 norm of twice the largest of them, so the ball is where no
    coordinate moves by more than radius/2. The triangle is cut by these six half-planes, one after the other.
    `P_hat` has three entries.
    """
    polygon = list(np.eye(3))
    for i in range(3):
        for sign in (1.0, -1.0):
            polygon = _cut(polygon, sign * np.eye(3)[i], sign * P_hat[i] + radius / 2)
    return np.array(polygon)


def _cut(polygon: list[FloatArray], normal: FloatArray, offset: float) -> list[FloatArray]:
    """The part of a convex polygon where normal·p <= offset."""
    kept: list[FloatArray] = []
    for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        a, b = float(normal @ p - offset), float(normal @ q - offset)
        if a <= 0:
            kept.append(p)
        if a * b < 0:
            kept.append(p + a / (a - b) * (q - p))
    return kept


def _triangle(ax: Any, names: Sequence[str]) -> None:
    """The distributions over three places, a corner for each."""
    ax.fill(*_CORNERS.T, fc="none", ec=INK, lw=1.2, zorder=3)
    for corner, name, side, drop in zip(
        _CORNERS, names, ("left", "center", "right"), (-0.03, 0.03, -0.03), strict=True
    ):
        below = "top" if drop < 0 else "bottom"
        ax.text(corner[0], corner[1] + drop, name, ha=side, va=below, fontsize=10.5)
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.14, 1.0), aspect="equal")
    ax.axis("off")


def _ball(ax: Any, P_hat: FloatArray, radius: float, *, active: bool) -> None:
    corners = _flat(ball_corners(P_hat, radius))
    edge = WALL if active else "none"
    ax.fill(*corners.T, fc=REGION, ec=edge, alpha=0.45, lw=0)
    ax.fill(*corners.T, fc="none", ec=edge, lw=1.8, zorder=4)


def _magnified(ax: Any, P_hat: FloatArray, truth: FloatArray, radius: float) -> None:
    """The ball again in a corner of the picture, as large whatever its radius."""
    inset = ax.inset_axes((0.77, 0.6, 0.4, 0.4))
    _ball(inset, P_hat, radius, active=True)
    inset.plot(*_flat(P_hat), "D", color=ESTIMATE, ms=5, zorder=5)
    inset.plot(*_flat(truth), "o", color=INK, ms=4, zorder=6)
    middle, reach = _flat(P_hat), 0.65 * radius
    inset.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
    inset.set(xticks=[], yticks=[], aspect="equal")
    for spine in inset.spines.values():
        spine.set(visible=True, color=FAINT)


def ball_and_radius(
    P_hat: FloatArray,
    truth: FloatArray,
    visits: int,
    scale: float,
    names: Sequence[str],
    most: int = 4096,
) -> Figure:
    """Left, what one row might still be, magnified where it is small; right, the radius against the visits.

    `P_hat`, `truth` (3,); `visits` N; the radius is `scale`/sqrt(N); `names` of the three places; the right
    picture ends at `most` visits.
    """
    radius = scale / np.sqrt(visits)
    vacuous = 2 * (1 - P_hat.min())
    active = radius < vacuous
    fig: Figure
    fig, (ax, curve) = axes(1, 2, height=2.9, width_ratios=(1, 1.05))
    _triangle(ax, names)
    _ball(ax, P_hat, radius, active=active)
    ax.plot(*_flat(P_hat), "D", color=ESTIMATE, ms=7, zorder=5)
    ax.plot(*_flat(truth), "o", color=INK, ms=6, zorder=6)
    ax.set_title(f"N = {visits}: " + ("a wall" if active else "no wall at all"))
    if radius < 0.35:  # too small to be seen under its markers
        _magnified(ax, P_hat, truth, radius)
    grid = np.geomspace(1, most, 100)
    curve.plot(grid, scale / np.sqrt(grid), color=LEARNER)
    curve.axhline(vacuous, color=WALL, ls="--", lw=1.5)
    curve.text(most, vacuous * 1.06, r"$2(1-\min\hat P)$", color=WALL, ha="right", va="bottom", fontsize=11)
    curve.plot(visits, radius, "o", color=LEARNER, ms=9)
    distance = float(np.abs(P_hat - truth).sum())
    curve.plot(visits, max(distance, 0.021), "o", color=INK, ms=6)
    curve.text(1.1, 0.024, r"dot below: $\|\hat P-P\|_1$", color=INK, fontsize=10.5)
    curve.set(xscale="log", yscale="log", xlim=(0.8, most * 1.3), ylim=(0.02, 8), xlabel="visits $N$")
    curve.set_title(f"radius w = {radius:.2f}")
    return fig


def wedge(P_hat: float, radius: float, pair: tuple[FloatArray, FloatArray]) -> Figure:
    """One row of a table, two next states: what is plausible is a wedge, and holds averages.

    `P_hat` is the counted share of the first next state, `radius` w; `pair` are two tables' rows, (2,) each.
    """
    fig: Figure
    fig, ax = axes(height=3.0)
    low, high = P_hat - radius / 2, P_hat + radius / 2
    reach = 1.0
    ends = [(low * reach, (1 - low) * reach), (high * reach, (1 - high) * reach)]
    ax.fill(*zip((0, 0), *ends, strict=True), fc=REGION, alpha=0.45, lw=0)
    for end in ends:
        ax.plot((0, end[0]), (0, end[1]), color=WALL, lw=2)
    ax.plot((0, P_hat), (0, 1 - P_hat), color=ESTIMATE, ls="--", lw=1.6)
    ax.plot((0, 1), (1, 0), color=BASELINE, ls=":", lw=1.2)
    ax.text(0.93, 0.09, "$x(h,s,a)=1$", color=BASELINE, fontsize=10.5)
    ax.text(P_hat + 0.02, 1 - P_hat, r"$\hat P$", color=ESTIMATE, fontsize=13)
    x, y = pair
    middle = (x + y) / 2
    ax.plot(*np.stack([x, y]).T, color=LEARNER, lw=1.2)
    named = (
        (x, "$x$", "o", (-5, -17)),
        (y, "$y$", "o", (5, 6)),
        (middle, r"$\frac{1}{2}(x+y)$", "s", (12, 11)),
    )
    for point, name, marker, offset in named:
        ax.plot(*point, marker, color=LEARNER)
        ax.annotate(name, point, xytext=offset, textcoords="offset points", color=LEARNER, fontsize=10.5)
    ax.set(xlim=(0, 1.25), ylim=(0, 1.02), aspect="equal")
    ax.set(xlabel="$x(h,s,a,s'_1)$", ylabel="$x(h,s,a,s'_2)$")
    return fig


def two_rows(
    counted: FloatArray, believed: FloatArray, true: FloatArray, w: float, names: Sequence[str]
) -> dict[str, Any]:
    """The dragged figure of two rows that both fit the book, all but its caption (`two_rows.js`).

    Args:
        counted: (3,) the middle of the ball.
        believed: (3,) the row of the plan, in the ball.
        true: (3,) the row of the city, in the ball.
        w: The radius of the ball.
        names: Of the three places.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    apart, most = float(np.abs(believed - true).sum()), min(2.0, 2 * w)
    plan, truth = (
        f"{_shares(p)}, {_standing(p, counted, w)}" for p in (np.asarray(believed), np.asarray(true))
    )
    return {
        "data": {"counted": counted, "names": list(names)},
        "start": {"w": w, "plan": believed, "truth": true},
        "still": _two_rows(counted, believed, true, w, names),
        "alt": f"Radius w = {w + 1e-9:.2f}, shares of {', '.join(names)}. The plan believes {plan}; "
        f"the truth is {truth}. They are {apart + 1e-9:.2f} apart, "
        f"{'more than' if apart > w + 1e-9 else 'within'} w; "
        f"two rows of a ball can be {most + 1e-9:.2f} apart.",
    }


def _shares(p: FloatArray) -> str:
    return f"({', '.join(f'{share + 1e-9:.2f}' for share in p)})"


def _standing(p: FloatArray, counted: FloatArray, w: float) -> str:
    """Where a row is in the ball, in words."""
    if np.abs(p - counted).sum() > w - 1e-9:
        return "on the edge of the ball"
    return "on the edge of the triangle" if p.min() < 1e-9 else "in the ball"


def _two_rows(
    counted: FloatArray, believed: FloatArray, true: FloatArray, w: float, names: Sequence[str]
) -> Figure:
    """A believed and a true row in one ball, and the ball around the believed one; below, their distance."""
    fig: Figure
    fig, (ax, bar) = axes(2, 1, height=4.6, height_ratios=(5, 0.5))
    _triangle(ax, names)
    _ball(ax, counted, w, active=bool(w < 2 * (1 - counted.min())))
    ax.fill(*_flat(ball_corners(believed, w)).T, fc="none", ec=LEARNER, ls="--", lw=1.4, zorder=4)
    ax.plot(*np.stack([_flat(believed), _flat(true)]).T, color=LEARNER, lw=2.4, zorder=5)
    ax.plot(*_flat(counted), "D", color=ESTIMATE, ms=7, zorder=6)
    for p, color, name in ((believed, LEARNER, r"$\tilde P$"), (true, INK, "$P$")):
        ax.plot(*_flat(p), "o", color=color, ms=17, zorder=6)
        ax.text(*_flat(p), name, color=PAPER, ha="center", va="center", fontsize=10, zorder=7)
    bar.barh([0], [np.abs(believed - true).sum()], height=0.8, color=LEARNER, alpha=0.75)
    for bound, color, name in ((w, WALL, "$w$"), (min(2, 2 * w), BOUND, "$2w$" if w < 1 else "$2$")):
        bar.axvline(bound, color=color)
        bar.text(bound, 0.62, name, color=color, ha="center", va="bottom")
    bar.set(xlim=(0, 2), ylim=(-0.5, 0.5), yticks=[], xlabel="how far apart the two rows are")
    return fig


def epoch_lines(
    labels: Sequence[str],
    visits: FloatArray,
    ends: Mapping[int, Sequence[int]],
    nights: int,
    total: int,
) -> Figure:
    """Epochs on a time line: a row a cell, a mark where the cell has doubled and so ends an epoch.

    `labels` of the cells; `visits` (cells,) after `nights` nights; `ends`: for the last night of each epoch,
    the cells that ended it; `nights` played so far, of a `total`.
    """
    fig: Figure
    fig, ax = axes(height=4.1)
    rows = np.arange(len(labels))[::-1]
    past = [k for k in ends if k <= nights]
    for k in past:
        ax.axvline(k, color=FAINT, lw=1)
        for cell in ends[k]:
            ax.plot(k, rows[cell], "o", color=LEARNER, ms=6)
    for row, count in zip(rows, visits, strict=True):
        ax.text(total * 2.6, row, f"{count:.0f}", ha="right", va="center", fontsize=10.5)
    ax.text(total * 2.6, len(labels) - 0.2, "visits", ha="right", va="bottom", fontsize=10.5)
    ax.axvline(nights, color=INK, lw=1.5)
    ax.set_title(f"night {nights}, epoch {len(past) + 1}")
    ax.set(xscale="log", xlim=(0.85, total * 2.8), ylim=(-0.7, len(labels) - 0.3), xlabel="night")
    ax.set_yticks(rows, labels, fontsize=9.5)
    ax.set_xticks([t for t in (1, 10, 100, 1000) if t <= total])
    ax.set_xticklabels([f"{t:,}" for t in (1, 10, 100, 1000) if t <= total])
    ax.minorticks_off()
    return fig
