"""Pictures of chapter 7: six habits among three streets, and the estimates that flatter all of them.

Points are shares of three streets, y >= 0 with y_1 + y_2 + y_3 = 1, and are drawn in the triangle they fill.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.shapes import TRIANGLE
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    BOUND,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    LOSS_CMAP,
    MASS_CMAP,
    REGION,
    axes,
)
from aggbandit.figures.style import ESTIMATE as GUESS

__all__ = [
    "designs",
    "hidden_street",
    "how_wrong",
    "measured_and_promised",
    "six_habits",
    "surface",
    "where_weights_go",
    "width",
]


def width(points: FloatArray, moment: FloatArray, epsilon: FloatArray) -> FloatArray:
    """The optimistic term sqrt(r) ||y||_{M^+} ||eps||_M at some points.

    `points` (N, d) lie in the range of the second `moment` M (d, d), whose rank is r; `epsilon` (d,).
    """
    rank = np.linalg.matrix_rank(moment, tol=1e-9, hermitian=True)
    inverse = np.linalg.pinv(moment, rcond=1e-9, hermitian=True)
    norms = np.sqrt(np.einsum("ni,ij,nj->n", points, inverse, points))
    result: FloatArray = np.sqrt(rank) * norms * np.sqrt(epsilon @ moment @ epsilon)
    return result


def six_habits(points: FloatArray, loss: FloatArray) -> Figure:
    """The triangle of all shares of three streets, shaded by loss, and the `points` (N, 3) in it."""
    fig: Figure
    fig, ax = axes(height=3.0)
    grid, inside = _grid(TRIANGLE, 220)
    values = np.where(inside, grid @ loss, np.nan)
    ax.contourf(*_plane(grid), values, levels=np.linspace(0, 1, 11), cmap=LOSS_CMAP, alpha=0.75)
    _frame(ax)
    _outline(ax, points, INK)
    for name, y in enumerate(points, start=1):
        ax.annotate(f"{name}", y @ TRIANGLE, xytext=(6, 4), textcoords="offset points", weight="bold")
    return fig


def _plane(shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two coordinates in the picture of shares (..., 3)."""
    flat = shares @ TRIANGLE
    return flat[..., 0], flat[..., 1]


def _grid(corners: FloatArray, columns: int) -> tuple[FloatArray, Any]:
    """Shares (r, c, 3) on a grid over the triangle, and whether each lies in the convex polygon `corners`."""
    x, y = np.meshgrid(np.linspace(0, 1, columns), np.linspace(0, np.sqrt(0.75), int(0.87 * columns)))
    third = y / np.sqrt(0.75)
    second = x - 0.5 * third
    shares = np.stack([1 - second - third, second, third], axis=-1)
    closed = shapes.closed(corners)
    inside = np.ones(x.shape, dtype=bool)
    for a, b in itertools.pairwise(closed):
        inside &= (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) >= -1e-12
    return shares, inside


def _frame(ax: Any) -> None:
    """The triangle with the names of its corners, and nothing else on the axes."""
    ax.plot(*shapes.closed(TRIANGLE).T, color=BASELINE, lw=1)
    for k, (corner, shift, side) in enumerate(
        zip(TRIANGLE, [(-8, -4), (8, -4), (10, -4)], ["right", "left", "left"], strict=True), start=1
    ):
        ax.annotate(f"street {k}", corner, xytext=shift, textcoords="offset points", color=BASELINE, ha=side)
    ax.set(xlim=(-0.3, 1.3), ylim=(-0.06, 0.93), aspect="equal")
    ax.axis("off")


def _outline(ax: Any, points: FloatArray, color: str) -> None:
    ax.plot(*_plane(shapes.closed(points)), color=color, lw=1.4, zorder=3)
    ax.plot(*_plane(points), "o", color=color, ms=5, zorder=4)


def how_wrong(truth: FloatArray, low: FloatArray, high: FloatArray, allowed: FloatArray) -> Figure:
    """For each habit: its loss, what the mean estimate can be made to say, and what the lemma allows.

    `truth`, `low`, `high` and `allowed` have shape (N,): the estimate's mean lies between `low` and `high`,
    and the lemma allows `truth` ± `allowed`.
    """
    fig: Figure
    fig, ax = axes(height=3.0)
    place = np.arange(1, len(truth) + 1)
    ax.bar(place, 2 * allowed, 0.62, bottom=truth - allowed, fc="none", ec=BOUND, ls="--", lw=1.3)
    ax.bar(place, high - low, 0.34, bottom=low, color=GUESS, alpha=0.55)
    ax.plot(place, truth, "D", color=LOSS)
    ax.plot(place, truth - allowed, "v", color=GUESS, ms=8)
    low_end = (truth - allowed).min() - 0.15
    ax.set(xlabel="habit", ylabel="loss", xticks=place, ylim=(low_end, None))
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    return fig


def designs(points: FloatArray, weights: Mapping[str, FloatArray]) -> Figure:
    """Two ways to explore: the set of points that are measured at least as well as the worst of `points`.

    `weights` names distributions (N,) over the `points` (N, 3); a corner's dot is as large as its weight.
    """
    fig: Figure
    fig, panels = axes(1, len(weights), height=2.9)
    for ax, (name, mu) in zip(panels, weights.items(), strict=True):
        inverse = np.asarray(np.linalg.inv(points.T @ (mu[:, None] * points)), dtype=np.float64)
        worst = float(np.einsum("ni,ij,nj->n", points, inverse, points).max())
        ax.fill(*_ellipse(inverse, worst), fc=REGION, ec=LEARNER, lw=1.4, alpha=0.5)
        ax.plot(*_plane(shapes.closed(points)), color=INK, lw=1.4)
        ax.scatter(*_plane(points), s=20 + 420 * mu, color=LEARNER, zorder=4)
        ax.set_title(f"{name}: {worst:.2f}", fontsize=12)
        ax.set(xlim=(-0.14, 1.08), ylim=(-0.2, 0.98), aspect="equal")
        ax.axis("off")
    return fig


def _ellipse(inverse: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The outline of {y : y_1 + y_2 + y_3 = 1, y' inverse y <= level} in the picture."""
    basis = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])
    quadratic, ones = basis @ inverse @ basis.T, np.full(3, 1 / 3)
    middle = ones - np.linalg.solve(quadratic, basis @ inverse @ ones) @ basis
    radius = np.sqrt(max(level - float(middle @ inverse @ middle), 0.0))
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return _plane(middle + circle @ np.linalg.inv(np.linalg.cholesky(quadratic)) @ basis)


# The first explorable

_LOWEST = -2.0


def surface(
    points: FloatArray,
    weights: FloatArray,
    mu: FloatArray,
    gamma: float,
    loss: FloatArray,
    epsilon: FloatArray,
) -> Figure:
    """The loss over the polygon of `points` (N, 3), and under it the mean of the optimistic estimate.

    `weights` p and exploration `mu`, shape (N,), are mixed with share `gamma`; `loss` and `epsilon` (3,).
    Left in perspective, right along a line through the polygon. At gamma = 0 with `weights` on one point
    there is no surface, and the picture says why.
    """
    q = (1 - gamma) * weights + gamma * mu
    moment = points.T @ (q[:, None] * points)
    rank = int(np.linalg.matrix_rank(moment, tol=1e-9, hermitian=True))
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.5, width_ratios=(1.25, 1))
    flat = np.column_stack(_plane(points))
    left.fill(*_tilted(flat, np.full(len(flat), _LOWEST)), fc=(FAINT, 0.5), ec=BASELINE, lw=1)
    left.fill(*_tilted(flat, points @ loss), fc="#FFCC99", ec=LOSS, lw=1.4, alpha=0.7, zorder=5)
    ways = np.linspace(0, 1, 61)[:, None]
    line = points[0] + ways * ((points[3] + points[4]) / 2 - points[0])
    right.plot(ways, line @ loss, color=LOSS)
    if rank == np.linalg.matrix_rank(points):
        _dome(left, points, moment, loss, epsilon)
        values = line @ loss - width(line, moment, epsilon)
        right.plot(ways, values, color=GUESS)
        right.plot([0, 1], values[[0, -1]], color=BASELINE, ls="--", lw=1.2)
    else:
        words = (
            "only habit 1 is ever\nplayed: of the others\nnothing is known,\nand they look\ninfinitely good"
        )
        right.text(0.5, -1.0, words, ha="center", va="center", fontsize=11)
    left.scatter(
        *_tilted(flat, np.full(len(flat), _LOWEST)), s=8 + 160 * q, color=LEARNER, zorder=3, clip_on=False
    )
    left.set(xlim=(0.05, 1.12), ylim=(_LOWEST - 0.15, 1.55))
    left.axis("off")
    left.set_title(f"rank of $M$: {rank}")
    right.set(xlim=(0, 1), ylim=(_LOWEST, 1), xlabel="from habit 1 across", xticks=[])
    return fig


def _tilted(flat: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points of the plane with a height, seen from the side and a little from above."""
    return flat[..., 0] + 0.25 * flat[..., 1], 0.8 * flat[..., 1] + height


def _dome(ax: Any, points: FloatArray, moment: FloatArray, loss: FloatArray, epsilon: FloatArray) -> None:
    """Rings and spokes of the optimistic surface."""
    middle = points.mean(axis=0)
    closed = shapes.closed(points)
    along = np.linspace(0, 1, 13)[:, None]
    rim = np.vstack([a + along * (b - a) for a, b in itertools.pairwise(closed)])
    curves = [middle + share * (rim - middle) for share in (0.25, 0.5, 0.75, 1.0)]
    curves += [middle + along * (y - middle) for y in points]
    for curve in curves:
        height = curve @ loss - width(curve, moment, epsilon)
        ax.plot(*_tilted(np.column_stack(_plane(curve)), height), color=GUESS, lw=1.1, zorder=4)


# The second explorable


def where_weights_go(
    points: FloatArray, moment: FloatArray, loss: FloatArray, size: float, eta: float
) -> Figure:
    """The density exp(-eta l~(y)) over the polygon of `points` (N, 3), for eps of one `size` in all streets.

    `moment` M (3, 3), `loss` (3,), `eta` the rate times the number of rounds.
    """
    fig: Figure
    fig, ax = axes(height=3.0)
    grid, inside = _grid(np.column_stack(_plane(points)), 110)
    shares = grid.reshape(-1, 3)
    value = shares @ loss - width(shares, moment, np.full(3, size))
    log_density = np.where(inside, -eta * value.reshape(inside.shape), -np.inf)
    density = np.where(inside, np.exp(log_density - log_density.max()), np.nan)
    levels = [0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1]
    ax.contourf(*_plane(grid), density, levels=levels, colors=MASS_CMAP(np.linspace(0.05, 0.9, 7)))
    ax.plot(*shapes.closed(TRIANGLE).T, color=FAINT, lw=1)
    _outline(ax, points, INK)
    corners = np.exp(-eta * (points @ loss - width(points, moment, np.full(3, size))))
    middle = points.mean(axis=0)
    for k, (y, share) in enumerate(zip(points, corners / corners.max(), strict=True), start=1):
        flat = (y + 0.36 * (y - middle)) @ TRIANGLE
        ax.text(*flat, f"$\\mathbf{{{k}}}$: {share:.2f}", ha="center", va="center", fontsize=11)
    ax.set(xlim=(-0.35, 1.35), ylim=(-0.12, 0.93), aspect="equal")
    ax.axis("off")
    return fig


def hidden_street(
    chances: Mapping[str, FloatArray], regrets: Mapping[str, FloatArray], switch: int, gone: Mapping[str, int]
) -> Figure:
    """How often the learners try the hidden street, and their regrets.

    `chances` and `regrets` map two names to curves (T,); `switch` is the round in which the hiding begins,
    `gone` the round in which each learner has used up the budget for it, marked by a dot.
    """
    fig: Figure
    fig, panels = axes(1, 2, height=3.1)
    for ax, curves, label in zip(
        panels, (chances, regrets), ("probability of street 1", "regret"), strict=True
    ):
        for (name, curve), color, dash in zip(curves.items(), (BASELINE, LEARNER), ("--", "-"), strict=True):
            at = np.unique(np.append(np.linspace(0, len(curve) - 1, 400).astype(int), gone[name]))
            ax.plot(at + 1, curve[at], color=color, ls=dash, zorder=2)
            ax.plot(gone[name] + 1, curve[gone[name]], "o", color=color, ms=8, zorder=3)
            place = int(0.55 * len(curve))
            ax.annotate(
                name, (place, curve[place]), xytext=(0, 8), textcoords="offset points", color=color,
                ha="right", va="bottom",
            )  # fmt: skip
        ax.axvline(switch, color=INK, lw=1, ls=":")
        ax.set(xlabel="round", title=label, xlim=(0, len(curve)), xticks=np.linspace(0, len(curve), 3))
    panels[0].set(ylim=(0, 1.08))
    return fig


def measured_and_promised(regrets: Mapping[str, Sequence[float]], bound: float, reference: float) -> Figure:
    """The `regrets` of some games, a dot a seed, under the theorem's `bound`.

    `reference` is what a learner that never learns loses.
    """
    fig: Figure
    fig, ax = axes(height=2.5)
    for row, values in enumerate(regrets.values()):
        ax.plot(values, np.full(len(values), -row), "o", color=LEARNER, alpha=0.7)
    ax.axvline(bound, color=BOUND, ls="--", label="bound")
    ax.axvline(reference, color=BASELINE, ls=":", label="uniform play")
    ax.axvline(0, color=BEST, lw=1)
    ax.set_yticks(range(0, -len(regrets), -1), list(regrets))
    ax.set(xlim=(0, 1.08 * max(bound, reference)), ylim=(-len(regrets) + 0.4, 0.6), xlabel="regret")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=11)
    return fig
