"""Pictures of chapter 5: a gradient as a map, the paths it leads along, and the books of mirror descent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
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
from aggbandit.geometry import LogBarrier, Polytope
from aggbandit.learners.mirror_descent import MirrorDescentBound
from aggbandit.theory import rho_conjugate

__all__ = ["ledger", "long_step", "map_subtract_map_back", "three_units", "two_paths"]


def three_units(
    body: Polytope, start: FloatArray, plain: Mapping[str, FloatArray], mirrored: FloatArray
) -> Figure:
    """Where one step from `start` ends in the polygon `body`: subtracted in several units, and mirrored.

    Args:
        body: a polygon.
        start: (2,) the point from which the step is made.
        plain: for each system of units, where the loss leads that is subtracted in those units.
        mirrored: (2,) where the barrier's step leads, in all of them.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=2.2)
    shapes.walls(ax, body.vertices())
    shapes.bare(ax)
    reach = np.array([start, *plain.values()])
    low, high = body.vertices().min(axis=0), body.vertices().max(axis=0)
    low, high = np.minimum(low, reach.min(axis=0)) - 0.25, np.maximum(high, reach.max(axis=0)) + 0.25
    for name, end in plain.items():
        shapes.arrow(ax, start, end, LOSS, zorder=5)
        inside = body.contains(end)
        ax.plot(*end, "o" if inside else "X", color=LOSS if inside else WALL, ms=6 if inside else 9, zorder=6)
        ax.annotate(name, end, xytext=(8, -4), textcoords="offset points", color=LOSS, fontsize=11)
    shapes.arrow(ax, start, mirrored, LEARNER, zorder=5)
    ax.annotate(
        "mirrored", mirrored, xytext=(-2, -15), textcoords="offset points", color=LEARNER, fontsize=11
    )
    ax.plot(*start, "o", color=INK, ms=6, zorder=6)
    ax.set(xlim=(low[0], high[0] + 0.6), ylim=(low[1], high[1]))
    return fig


def map_subtract_map_back(p: float, losses: Sequence[float]) -> Figure:
    """The slope R'(p) of the barrier of the interval (0, 1), and steps of mirror descent along it.

    From p, up to the slope, down by each of the losses in turn, and back.

    Args:
        p: where the first step begins.
        losses: rate times loss, for each step.

    Returns:
        The figure.
    """
    grid = np.linspace(0.02, 0.98, 400)
    fig: Figure
    fig, ax = axes(height=3.5)
    ax.plot(grid, -1 / grid + 1 / (1 - grid), color=INK)
    for wall in (0, 1):
        ax.axvline(wall, color=WALL)
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    bottom = -13.0
    slope = -1 / p + 1 / (1 - p)
    ax.plot(p, bottom, "o", color=LEARNER, clip_on=False, zorder=6)
    _beside(ax, "$p_1$", (p, bottom), (5, 6), LEARNER)
    shapes.arrow(ax, np.array([p, bottom]), np.array([p, slope]), LEARNER, lw=1.6, zorder=5)
    _beside(ax, "up", (p, (bottom + slope) / 2), (6, 0), LEARNER)
    for t, loss in enumerate(losses, start=1):
        after = 2 / (2 - (slope - loss) + np.hypot(slope - loss, 2))
        ax.plot([p, after], [slope, slope], color=FAINT, lw=1.2)
        shapes.arrow(ax, np.array([after, slope]), np.array([after, slope - loss]), LOSS, zorder=5)
        shapes.arrow(
            ax, np.array([after, slope - loss]), np.array([after, bottom]), LEARNER, lw=1.6, zorder=5
        )
        ax.plot(after, bottom, "o", color=LEARNER, clip_on=False, zorder=6)
        _beside(ax, f"$p_{t + 1}$", (after, bottom), (5, 6), LEARNER)
        if t == 1:
            _beside(ax, "down, $\\eta\\,g$", (after, slope), (-14, 9), LOSS)
            _beside(ax, "back", (after, (slope - loss + bottom) / 2), (6, 0), LEARNER)
        p, slope = after, slope - loss
    ax.set(
        xlim=(-0.02, 1.02), ylim=(bottom, 11), xlabel="probability of turning, $p$", ylabel="slope $R'(p)$"
    )
    return fig


def _beside(ax: Any, words: str, at: tuple[float, float], shift: tuple[float, float], color: str) -> None:
    """Words beside a point, shifted by so many points of type."""
    ax.annotate(words, at, xytext=shift, textcoords="offset points", color=color, va="center")


# The dragged figure


def two_paths(
    barrier: FloatArray, entropy: FloatArray, losses: FloatArray, *, rate: float, shown: int, change: int
) -> dict[str, Any]:
    """The dragged figure of two bowls on three arms, all but its caption (`two_paths.js`).

    Args:
        barrier: (T + 1, 3) the points of all rounds behind a barrier, at the rate it opens on.
        entropy: (T + 1, 3) those with entropy, at a third of the rate.
        losses: (T, 3) what the arms cost.
        rate: The rate it opens on.
        shown: The round it opens on, from 1.
        change: The round after which the losses change.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    points = [path[shown - 1] for path in (barrier, entropy)]
    places = [", ".join(f"{p + 1e-9:.3f}" for p in point) for point in points]
    least = [f"one in {round(1 / point.min()):,}" for point in points]
    paid = [f"{(path[:-1] * losses).sum() + 1e-9:.2f}" for path in (barrier, entropy)]
    return {
        "data": {"losses": losses, "change": change, "rates": [0.1, 2.0]},
        "start": {"rate": rate, "shown": shown},
        "still": _two_paths(barrier, entropy, shown, change),
        "alt": f"Rate {rate:.2f}, round {shown}. The barrier's point is at {places[0]}, its smallest "
        f"probability {least[0]}; entropy's is at {places[1]}, smallest {least[1]}. In all rounds the "
        f"barrier pays {paid[0]}, entropy {paid[1]}.",
    }


def _two_paths(barrier: FloatArray, entropy: FloatArray, shown: int, change: int) -> Figure:
    """The two paths in the triangle up to round `shown`, and each one's smallest probability."""
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.1, width_ratios=(1, 1.25))
    shapes.triangle(left, ("arm 1", "arm 2", "arm 3"), zorder=2)
    left.set(xlim=(-0.12, 1.12), ylim=(-0.12, 1.0))
    rounds = np.arange(1, len(barrier) + 1)
    looks = (
        (entropy, BASELINE, "--", "s", "entropy"),
        (barrier, LEARNER, "-", "o", "barrier"),
    )
    for path, color, dash, marker, name in looks:
        left.plot(*(path[:shown] @ shapes.TRIANGLE).T, color=color, ls=dash, lw=1.8)
        left.plot(*(path[shown - 1] @ shapes.TRIANGLE), marker, color=color, ms=7, zorder=5)
        least = path.min(axis=1)
        right.semilogy(rounds[:shown], least[:shown], color=color, ls=dash, label=name)
        right.plot(shown, least[shown - 1], marker, color=color, ms=7, clip_on=False, zorder=5)
    right.axvline(change, color=LOSS, lw=1.2, ls=":")
    right.text(change + 1, 1.1, "losses change", color=LOSS, fontsize=10, va="top")
    right.set(xlim=(0, len(barrier)), ylim=(1e-9, 1.5), xlabel="round $t$", ylabel="smallest probability")
    right.set_yticks([1, 1e-2, 1e-4, 1e-6, 1e-8])
    right.minorticks_off()
    right.legend(loc="lower left", bbox_to_anchor=(-0.05, 1.0), ncols=2, fontsize=11, frameon=False)
    return fig


# One long step


def long_step(body: Polytope, x: FloatArray, angle: float, z: float) -> dict[str, Any]:
    """The dragged figure of one step and its fee, all but its caption (`long_step.js`).

    Args:
        body: A polygon whose lower wall is the first axis.
        x: (2,) a point near that wall, where the step is made.
        angle: In degrees, where the straight step leads on the ruler at `x`; 90 is away from the wall.
        z: Its length there.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    barrier = LogBarrier(body)
    step = _straight(barrier, x, angle, z)
    landed = _mirrored(barrier, x, step)
    corners = body.vertices()
    star = f"{rho_conjugate(z) + 1e-9:.3f}" if z < 1 else "∞"
    return {
        "data": {
            "walls": {"A": body.A, "b": body.b},
            "corners": corners[ConvexHull(corners).vertices],
            "x": x,
        },
        "start": {"angle": angle, "z": z},
        "still": _long_step(barrier, x, angle, z),
        "alt": f"A straight step of length z = {z + 1e-9:.2f}, in direction {angle + 1e-9:.0f}° on the ruler "
        f"at x, {'stays inside' if body.contains(x + step) else 'leaves the field'}. The mirrored step has "
        f"length {barrier.dikin(x).norm(landed - x) + 1e-9:.2f} and ends at ({landed[0] + 1e-9:.2f}, "
        f"{landed[1] + 1e-9:.2f}). Its fee is {barrier.bregman(x, landed) + 1e-9:.3f}; z² is "
        f"{z**2 + 1e-9:.3f}, ρ*(z) is {star}.",
    }


def _ruler(barrier: LogBarrier, x: FloatArray) -> FloatArray:
    """(2, 2), takes steps to a map where the ellipse at `x` is a disc and the horizontal is horizontal."""
    return np.asarray(np.linalg.cholesky(barrier.hessian(x)).T, dtype=np.float64)


def _straight(barrier: LogBarrier, x: FloatArray, angle: float, z: float) -> FloatArray:
    """The straight step of that direction and length on the ruler at `x`."""
    way = z * np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
    return np.asarray(np.linalg.solve(_ruler(barrier, x), way), dtype=np.float64)


def _mirrored(barrier: LogBarrier, x: FloatArray, step: FloatArray) -> FloatArray:
    """Where the loss leads whose straight step is `step`, when it is taken from the gradient at `x`."""
    return barrier.mirror_step(x, -barrier.hessian(x) @ step).x


def _long_step(barrier: LogBarrier, x: FloatArray, angle: float, z: float) -> Figure:
    """The step on the ruler at `x` and in the polygon; its fee and the bounds as multiples of z²."""
    step = _straight(barrier, x, angle, z)
    lengths = np.linspace(0.05, 2, 61)
    landed = np.array([_mirrored(barrier, x, _straight(barrier, x, angle, length)) for length in lengths])
    tip = _mirrored(barrier, x, step)
    path = np.vstack([x, landed[lengths < z], tip])
    fig: Figure
    fig, panels = axes(2, 2, height=3.9, width_ratios=(1, 1.7), height_ratios=(1, 1.7))
    grid = panels[0, 0].get_gridspec()
    for ax in panels[:, 0]:
        ax.remove()
    ruler, (whole, costs) = fig.add_subplot(grid[:, 0]), panels[:, 1]
    to_ruler = _ruler(barrier, x).T
    _both_steps(whole, barrier, x, step, path, lambda points: points)
    _both_steps(ruler, barrier, x, step, path, lambda points: (points - x) @ to_ruler)
    ruler.set(xlim=(-2.15, 2.15), ylim=(-2.15, 3.8), title="on the ruler at $x$", aspect="equal")
    for radius, name in ((0.5, "½"), (1, "1"), (2, "2")):
        ruler.plot(*(radius * shapes.circle(97)).T, color=BASELINE, lw=0.8, ls=":")
        ruler.text(0.8 * radius, -0.75 * radius, name, color=INK, fontsize=10.5, va="top")

    inner = np.linspace(0.02, 0.98, 97)
    fee = np.array([barrier.bregman(x, point) for point in landed])
    costs.axhline(1, color=BOUND, ls="--", label="$z^2$")
    costs.plot(
        inner, [rho_conjugate(v) / v**2 for v in inner], color=BOUND, ls=":", label="$\\rho^\\star(z)$"
    )
    costs.plot(lengths, fee / lengths**2, color=INK, label="fee")
    costs.plot(z, barrier.bregman(x, tip) / z**2, "o", color=LEARNER, ms=7, zorder=5)
    for value in (0.5, 1.0):
        costs.axvline(value, color=FAINT, lw=1, zorder=0)
    costs.set(xlim=(0, 2), ylim=(0, 3), xlabel="length $z$", ylabel="multiple of $z^2$")
    costs.legend(loc="lower right", fontsize=10, frameon=False, ncols=3, bbox_to_anchor=(1.02, 0.98))
    return fig


def _both_steps(
    ax: Any,
    barrier: LogBarrier,
    x: FloatArray,
    step: FloatArray,
    path: FloatArray,
    seen: Callable[[FloatArray], FloatArray],
) -> None:
    """Walls, ellipse, the straight step and the mirrored ones up to its length, where `seen` sees them."""
    body: Polytope = barrier.body
    shapes.walls(ax, seen(body.vertices()))
    shapes.bare(ax)
    ax.fill(*seen(barrier.dikin(x).boundary()).T, fc=REGION, ec=LEARNER, lw=1.2, alpha=0.6)
    ax.plot(*seen(path).T, color=LEARNER, lw=2, zorder=4)
    ax.plot(*seen(path[-1]), "o", color=LEARNER, ms=7, zorder=6)
    if body.contains(x + step):
        shapes.arrow(ax, seen(x), seen(x + step), LOSS, zorder=5)
    else:
        stop = _last_inside(body, x, x + step)
        ax.plot(*np.array([seen(x), seen(stop)]).T, color=LOSS, lw=2, zorder=5)
        ax.plot(*seen(stop), "X", color=LOSS, ms=9, zorder=7)
    ax.plot(*seen(x), "s", color=INK, ms=5, zorder=6)


def _last_inside(body: Polytope, start: FloatArray, end: FloatArray) -> FloatArray:
    """Where the way from a point inside to one outside meets the first wall."""
    speed = body.A @ (end - start)
    ahead = speed > 0
    share: float = (body.slacks(start)[ahead] / speed[ahead]).min()
    crossing: FloatArray = start + share * (end - start)
    return crossing


# The ledger


def ledger(bounds: Mapping[str, MirrorDescentBound], regrets: Mapping[str, float]) -> Figure:
    """The three terms of the mirror-descent lemma as stacked bars, and the regret they bound.

    A credit lies over the end of the bar from which it is taken, a charge is put at its end.

    Args:
        bounds: for each schedule, by its name, what the lemma promises.
        regrets: for each schedule, what was paid.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=0.85 + 0.66 * len(bounds))
    named = set()

    def name(words: str, x: float, row: int, color: str = INK, below: bool = False) -> None:
        if words not in named:
            named.add(words)
            y, va = (-row - 0.3, "top") if below else (-row, "center")
            ax.text(x, y, words, color=color, fontsize=10.5, ha="center", va=va, zorder=6)

    for i, bound in enumerate(bounds.values()):
        whole = bound.first + bound.last
        ax.barh(-i, bound.first, height=0.5, fc=BOUND, alpha=0.35)
        ax.barh(-i, bound.last, left=bound.first, height=0.5, fc=BOUND)
        name("start", bound.first / 3, i)
        name("movement", bound.first, i, BOUND, below=True)
        if bound.middle:
            ax.barh(-i, bound.middle, left=whole, height=0.5, fc="none", ec=BOUND, hatch="////")
            name("credit" if bound.middle < 0 else "charge", whole + bound.middle / 2, i, BOUND, below=True)
        ax.plot([bound.total] * 2, [-i - 0.36, -i + 0.36], color=INK, lw=3, solid_capstyle="butt")
        regret = regrets[list(bounds)[i]]
        ax.plot(regret, -i, "o", color=LEARNER, ms=9, mec=PAPER, zorder=5)
        if i == 0:
            _beside(ax, "regret", (regret, -i), (9, 0), LEARNER)
            ax.annotate(
                "sum", (bound.total, 0.36), xytext=(0, 3), textcoords="offset points", ha="center", color=INK
            )
    ax.set_yticks([-i for i in range(len(bounds))], list(bounds))
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color=FAINT, lw=1)
    end = max(max(bound.total, bound.first + bound.last) for bound in bounds.values())
    ax.set(xlim=(0, 1.08 * end), ylim=(-len(bounds) + 0.4, 0.75), xlabel="loss")
    return fig
