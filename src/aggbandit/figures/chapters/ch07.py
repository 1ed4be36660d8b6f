"""Pictures of chapter 7: six habits among three streets, and the estimates that flatter all of them.

Points are shares of three streets, y >= 0 with y_1 + y_2 + y_3 = 1, and are drawn in the triangle they fill.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import BoolArray, FloatArray
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
    PAPER,
    REGION,
    axes,
)
from aggbandit.figures.style import ESTIMATE as GUESS

__all__ = [
    "concave",
    "designs",
    "hidden_street",
    "how_wrong",
    "measured_and_promised",
    "peaks",
    "six_habits",
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


def peaks(points: FloatArray, moment: FloatArray, loss: FloatArray, epsilon: FloatArray) -> BoolArray:
    """(N,) the corners of a polygon from which the optimistic estimate rises along every way to another.

    The estimate, loss . y - `width`, is concave: where it rises along the ways to all other corners,
    `points` (N, d), it rises along every way. `moment`, `epsilon` as in `width`; `loss` (d,).
    """
    step = 1e-6  # of the way to another corner; large beside rounding, short beside the polygon
    near = points[:, None] + step * (points[None] - points[:, None])
    there = near @ loss - width(near.reshape(-1, near.shape[-1]), moment, epsilon).reshape(near.shape[:2])
    here = points @ loss - width(points, moment, epsilon)
    result: BoolArray = np.all(there >= here[:, None], axis=1)
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


# The first moving figure


def concave(
    points: FloatArray,
    mu: FloatArray,
    gamma: float,
    loss: FloatArray,
    epsilon: FloatArray,
    to: FloatArray,
) -> dict[str, Any]:
    """The dragged figure of the loss and the optimistic estimate's mean along a line, all but its caption.

    It opens on a learner who has settled on habit 1 (`concave.js`).

    Args:
        points: (6, 3) the habits as shares of three streets, counterclockwise in the picture.
        mu: (6,) how she explores.
        gamma: The share of exploration that it opens on, positive.
        loss: (3,) of the streets.
        epsilon: (3,) how far each street's loss may be moved.
        to: (3,) where the line ends that begins at habit 1.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    q = (1 - gamma) * np.eye(len(points))[0] + gamma * mu
    ends = np.stack([points[0], to])
    (first, second), deepest = (
        width(ys, points.T @ (q[:, None] * points), epsilon) + 1e-9 for ys in (ends, points)
    )
    start, stop = (f"({', '.join(f'{share + 1e-9:.2f}' for share in y)})" for y in ends)
    return {
        "data": {"points": points, "mu": mu, "loss": loss, "epsilon": epsilon},
        "start": {
            "gamma": gamma,
            "settled": True,
            "from": ends[0] @ TRIANGLE,
            "to": ends[1] @ TRIANGLE,
        },
        "still": _concave(points, q, loss, epsilon, ends),
        "alt": f"She is settled on habit 1, gamma = {gamma + 1e-9:.3f}. The line runs from shares {start}, "
        f"where the estimate lies {first:.2f} below the loss, to {stop}, where it lies {second:.2f} below. "
        f"Between them it is above its chord. At a habit it lies at most {deepest.max():.2f} below.",
    }


def _concave(
    points: FloatArray, q: FloatArray, loss: FloatArray, epsilon: FloatArray, ends: FloatArray
) -> Figure:
    """Left, the habits as large as `q`, rings of equal depth and a line; right, loss and estimate on it."""
    moment = points.T @ (q[:, None] * points)
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.4, width_ratios=(1.1, 1))
    grid, inside = _grid(np.column_stack(_plane(points)), 160)
    depth = np.where(inside, width(grid.reshape(-1, 3), moment, epsilon).reshape(inside.shape), np.nan)
    for level in (0.25, 0.5, 1, 2, 4, 8):
        if (shallow := depth <= level).any():
            left.contourf(
                *_plane(grid), np.where(shallow, 1.0, np.nan), levels=[0, 2], colors=[GUESS], alpha=0.13
            )
    left.plot(*_plane(shapes.closed(points)), color=INK, lw=1.2)
    left.scatter(*_plane(points), s=20 + 420 * q, color=LEARNER, alpha=0.8, zorder=4)
    left.plot(*_plane(ends), color=INK, lw=1.8, zorder=5)
    middle = points.mean(axis=0)
    for k, y in enumerate(points, start=1):
        left.text(*(y + 0.26 * (y - middle)) @ TRIANGLE, f"{k}", ha="center", va="center", weight="bold")
    for letter, y in zip("AB", ends, strict=True):
        left.plot(*(y @ TRIANGLE), "o", color=INK, ms=15, zorder=6)
        left.text(*(y @ TRIANGLE), letter, color=PAPER, ha="center", va="center", fontsize=10, zorder=7)
    left.set(xlim=(0.02, 0.95), ylim=(-0.05, 0.73), aspect="equal")
    left.axis("off")
    ways = np.linspace(0, 1, 61)
    along = ends[0] + ways[:, None] * (ends[1] - ends[0])
    values = along @ loss - width(along, moment, epsilon)
    right.plot(ways, along @ loss, color=LOSS)
    right.plot(ways, values, color=GUESS)
    right.plot([0, 1], values[[0, -1]], color=BASELINE, ls="--", lw=1.2)
    right.set(xlim=(0, 1), ylim=(min(-2.0, 1.05 * values.min()), 1.05), ylabel="loss")
    right.set_xticks([0, 1], ["A", "B"])
    return fig


# The second moving figure


def where_weights_go(
    points: FloatArray, moment: FloatArray, loss: FloatArray, size: float, eta: float
) -> Figure:
    """The density exp(-eta l~(y)) over the polygon of `points` (N, 3), for eps of one `size` in all streets.

    Its `peaks` are ringed. `moment` M (3, 3), `loss` (3,), `eta` the rate times the number of rounds.
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
    summits = points[peaks(points, moment, loss, np.full(3, size))]
    ax.plot(*_plane(summits), "o", mfc="none", mec=INK, mew=1.4, ms=11)
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
        # The second curve is named at its end, where neither figure has the first one near it.
        looks = ((BASELINE, "--", 0.55), (LEARNER, "-", 0.98))
        for (name, curve), (color, dash, share) in zip(curves.items(), looks, strict=True):
            at = np.unique(np.append(np.linspace(0, len(curve) - 1, 400).astype(int), gone[name]))
            ax.plot(at + 1, curve[at], color=color, ls=dash, zorder=2)
            ax.plot(gone[name] + 1, curve[gone[name]], "o", color=color, ms=8, zorder=3)
            place = int(share * len(curve))
            ax.annotate(
                name, (place, curve[place]), xytext=(0, 8), textcoords="offset points", color=color,
                ha="right", va="bottom",
            )  # fmt: skip
        ax.axvline(switch, color=INK, lw=1, ls=":")
        ax.set(xlabel="round", title=label, xlim=(0, len(curve)), xticks=np.linspace(0, len(curve), 3))
        ax.xaxis.set_major_formatter("{x:,.0f}")
    panels[0].set(ylim=(0, 1.08))
    panels[1].yaxis.set_major_formatter("{x:,.0f}")
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
