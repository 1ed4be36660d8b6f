"""Pictures of chapter 5: a gradient as a map, the paths it leads along, and the books of mirror descent."""

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
    BOUND,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    REGION,
    WALL,
    axes,
)
from aggbandit.geometry import LogBarrier, Polytope
from aggbandit.learners.mirror_descent import MirrorDescentBound

__all__ = ["ledger", "map_subtract_map_back", "one_long_step", "three_units", "two_paths"]


def three_units(
    body: Polytope, start: FloatArray, plain: Mapping[str, FloatArray], mirrored: FloatArray
) -> Figure:
    """Where one step from `start` ends in the polygon `body`: subtracted in several units, and mirrored.

    `plain` gives for each system of units where the loss, subtracted in those units, leads; `mirrored`
    is where the barrier's step leads, in all of them.
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
        beside = (13, 5) if inside else (7, -4)  # inside, the wall runs close above the point
        ax.annotate(name, end, xytext=beside, textcoords="offset points", color=LOSS, fontsize=11)
    shapes.arrow(ax, start, mirrored, LEARNER, zorder=5)
    ax.annotate(
        "mirrored", mirrored, xytext=(-2, -15), textcoords="offset points", color=LEARNER, fontsize=11
    )
    ax.plot(*start, "o", color=INK, ms=6, zorder=6)
    ax.set(xlim=(low[0], high[0] + 0.6), ylim=(low[1], high[1]))
    return fig


def map_subtract_map_back(p: float, losses: Sequence[float]) -> Figure:
    """The slope R'(p) of the barrier of the interval (0, 1), and steps of mirror descent along it.

    From `p`, up to the slope, down by each of the `losses` (rate times loss) in turn, and back.
    """
    grid = np.linspace(0.02, 0.98, 400)
    fig: Figure
    fig, ax = axes(height=3.5)
    ax.plot(grid, -1 / grid + 1 / (1 - grid), color=INK)
    for wall in (0, 1):
        ax.axvline(wall, color=WALL)
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    bottom = -13.0
    dashed = {"color": LEARNER, "ls": ":", "lw": 1.4}
    slope = -1 / p + 1 / (1 - p)
    ax.plot([p, p], [bottom, slope], **dashed)
    ax.plot(p, bottom, "o", color=LEARNER, clip_on=False, zorder=6)
    for t, loss in enumerate(losses, start=1):
        after = 2 / (2 - (slope - loss) + np.hypot(slope - loss, 2))
        ax.plot([p, after], [slope, slope], color=FAINT, lw=1.2)
        shapes.arrow(ax, np.array([after, slope]), np.array([after, slope - loss]), LOSS, zorder=5)
        ax.plot([after, after], [bottom, slope - loss], **dashed)
        ax.plot(after, bottom, "o", color=LEARNER, clip_on=False, zorder=6)
        _beside(ax, f"$p_{t + 1}$", after, bottom)
        if t == 1:
            words = "$\\eta\\,g$"
            middle = (after, slope - loss / 2)
            ax.annotate(words, middle, xytext=(-8, 0), textcoords="offset points", color=LOSS, ha="right")
            _beside(ax, "$p_1$", p, bottom)
        p, slope = after, slope - loss
    ax.set(
        xlim=(-0.02, 1.02), ylim=(bottom, 11), xlabel="probability of turning, $p$", ylabel="slope $R'(p)$"
    )
    return fig


def _beside(ax: Any, words: str, x: float, y: float) -> None:
    """The name of a point, to its right and a little higher."""
    ax.annotate(words, (x, y), xytext=(4, 6), textcoords="offset points", color=LEARNER)


# The first explorable


def two_paths(barrier: FloatArray, entropy: FloatArray, shown: int, change: int) -> Figure:
    """Two paths in the triangle of three arms, up to round `shown`, and each one's smallest probability.

    `barrier` and `entropy` (T + 1, 3) hold the points of all rounds; the losses change after round `change`.
    """
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


# The second explorable


def one_long_step(body: Polytope, start: FloatArray, loss: FloatArray, size: float) -> Figure:
    """One step from `start` with dual length `size`, and what it costs in divergence against its bounds.

    `loss` gives the direction (its length does not matter); `body` is two-dimensional.
    """
    barrier = LogBarrier(body)
    ellipse = barrier.dikin(start)
    loss = loss / ellipse.dual_norm(loss)
    fig: Figure
    fig, (top, bottom) = axes(2, 1, height=4.5, height_ratios=(1, 1.25))
    shapes.walls(top, body.vertices())
    shapes.bare(top)
    top.fill(*ellipse.boundary().T, fc=REGION, ec=LEARNER, lw=1.2, alpha=0.6)
    straight = start + size * ellipse.newton_step(loss)
    if body.contains(straight):
        top.plot(*straight, "D", color=LOSS, ms=6, zorder=5)
    else:
        top.plot(*_last_inside(body, start, straight), "X", color=LOSS, ms=10, zorder=7)
    step = barrier.mirror_step(start, size * loss).x
    path = np.array([barrier.mirror_step(start, z * loss).x for z in np.linspace(0, size, 25)])
    top.plot(*path.T, color=LEARNER, lw=2)
    top.plot(*step, "o", color=LEARNER, ms=8, zorder=6)
    top.plot(*start, "o", color=INK, ms=5, zorder=6)

    z = np.linspace(0, 2, 201)
    cost = [barrier.bregman(start, barrier.mirror_step(start, value * loss).x) for value in z]
    bottom.plot(z, z**2, color=BOUND, ls="--", label="$z^2$")
    inner = z[z < 0.999]
    bottom.plot(inner, -inner - np.log1p(-inner), color=BOUND, ls=":", label="$\\rho^\\star(z)$")
    bottom.plot(z, cost, color=INK, label="cost $B_R(x_t\\|x_{t+1})$")
    bottom.plot(size, barrier.bregman(start, step), "o", color=LEARNER, ms=8, zorder=5)
    for value, name in ((0.5, "lemma: ½"), (1.0, "1")):
        bottom.axvline(value, color=BASELINE, lw=1, ls="-")
        bottom.text(value + 0.02, 2.42, name, color=BASELINE, fontsize=10.5, va="top")
    bottom.set(
        xlim=(0, 2), ylim=(0, 2.5), xlabel="$z=\\eta_t\\,\\|\\ell_t\\|^{\\star}_{x_t}$", ylabel="divergence"
    )
    bottom.legend(loc="lower left", bbox_to_anchor=(-0.08, 1.0), ncols=3, fontsize=10.5, frameon=False)
    return fig


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

    `bounds` and `regrets` have one entry a schedule, by its name.
    """
    fig: Figure
    fig, ax = axes(height=0.75 + 0.62 * len(bounds))
    colors = {"start": "#AA88CC", "movement": BOUND, "credit": BEST}
    for i, (name, bound) in enumerate(bounds.items()):
        left = 0.0
        parts = [(bound.first, colors["start"], ""), (bound.last, colors["movement"], "")]
        parts += [(bound.middle, "#DDBBDD", "////")] if bound.middle > 0 else []
        for value, color, hatch in parts:
            ax.barh(-i, value, left=left, height=0.5, color=color, hatch=hatch, ec="white")
            left += value
        if bound.middle < 0:
            ax.barh(-i, bound.middle, left=left, height=0.5, fc="white", ec=colors["credit"], hatch="////")
        ax.plot([bound.total] * 2, [-i - 0.36, -i + 0.36], color=INK, lw=3, solid_capstyle="butt")
        ax.plot(regrets[name], -i, "o", color=LEARNER, ms=9, mec="white", zorder=5)
    ax.set_yticks([-i for i in range(len(bounds))], list(bounds))
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color=FAINT, lw=1)
    ax.set(ylim=(-len(bounds) + 0.4, 0.6), xlabel="loss")
    return fig
