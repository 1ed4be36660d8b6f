"""Pictures of chapter 8: bias and credit, a hand moved back at the wall, and the price of it a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    BOUND,
    DASHES,
    ESTIMATE,
    FAINT,
    INK,
    LEARNER,
    MARKERS,
    REGION,
    WALL,
    axes,
)

__all__ = [
    "debt_and_credit",
    "growth",
    "hiding_is_cheap",
    "line_below_rho",
    "price_per_round",
    "slow_motion",
]


def line_below_rho() -> Figure:
    """The divergence that a local distance guarantees, and the line that the proof uses instead."""
    r = np.linspace(0, 8, 200)
    fig: Figure
    fig, ax = axes(height=2.6)
    ax.plot(r, r - np.log1p(r), color=INK)
    ax.plot(r, r / 2 - 1, color=BOUND, ls="--")
    ax.text(8.1, 8 - np.log(9), r"$\rho(r)$", va="center", color=INK)
    ax.text(8.1, 3, r"$\frac{1}{2}r-1$", va="center", color=BOUND)
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    ax.set(xlim=(0, 9.2), ylim=(-1.1, 6), xlabel=r"local distance $r=\|u-x\|_x$", ylabel="divergence")
    ax.spines["bottom"].set_bounds(0, 8)
    ax.set_xticks(range(0, 9, 2))
    return fig


def debt_and_credit(bias: FloatArray, credit: FloatArray, allowance: FloatArray, *, top: float) -> Figure:
    """Round by round: what the bias may cost, upwards, and what the rate pays back, downwards.

    `bias`, `credit` and `allowance`, what the key inequality leaves over, have shape (T,). The bars stand on
    an axis that is logarithmic beyond 0.1, since they differ by a factor of a hundred. Below, the sum of
    bias minus credit, and the sum of the allowances. `top` is the largest bar.
    """
    rounds = np.arange(1, len(bias) + 1)
    fig: Figure
    fig, (bars, total) = axes(2, 1, height=4.6, sharex=True, height_ratios=(1.35, 1))
    bars.bar(rounds, bias, color=ESTIMATE, width=0.72)
    bars.bar(rounds, -credit, color=BEST, width=0.72, hatch="///", edgecolor="#FFFFFF", lw=0)
    bars.axhline(0, color=INK, lw=0.9)
    bars.set_yscale("symlog", linthresh=0.1, linscale=0.35)
    bars.set(ylim=(-4 * top, 4 * top), ylabel="this round")
    bars.set_yticks([-10, -1, -0.1, 0, 0.1, 1, 10], ["10", "1", "0.1", "0", "0.1", "1", "10"])
    bars.minorticks_off()
    bars.text(0.5, 2.6 * top, "bias", color=ESTIMATE, weight="bold", va="top")
    bars.text(0.5, -2.6 * top, "credit", color=BEST, weight="bold", va="bottom")
    total.plot(rounds, np.cumsum(allowance), color=BOUND, ls="--")
    total.plot(rounds, np.cumsum(bias - credit), color=LEARNER)
    total.axhline(0, color=FAINT, lw=1, zorder=0)
    total.set(xlim=(0, len(bias) + 1), ylim=(-3 * top, 1.9 * top), xlabel="round", ylabel="so far")
    total.text(0.5, 1.75 * top, "debt: bias minus credit", color=LEARNER, weight="bold", va="top")
    total.text(0.5, -2.85 * top, r"allowed: $2n\,|\hat z\cdot\epsilon|$ a round", color=BOUND, va="bottom")
    return fig


def hiding_is_cheap(allowances: Mapping[float, str]) -> Figure:
    """How far a learner tries, by its distance from the wall, against what a moved hand takes back.

    `allowances`: e/2, how far the hand may be moved, to its label.
    """
    p = np.geomspace(1e-3, 0.5, 200)
    radius = p * (1 - p) / np.sqrt(p**2 + (1 - p) ** 2)
    fig: Figure
    fig, ax = axes(height=3.0)
    ax.loglog(p, radius, color=LEARNER)
    ax.text(2.4e-2, 8e-3, "how far it tries", color=LEARNER, weight="bold", ha="left")
    for i, (half, label) in enumerate(allowances.items()):
        ax.axhline(half, color=WALL, ls=DASHES[1 + i % 3], lw=1.6)
        ax.text(0.62, half, label, color=WALL, va="center")
        hidden = radius <= half
        ax.fill_between(p[hidden], radius[hidden], half, color=REGION, alpha=0.25, lw=0)
    ax.set(
        xlim=(1e-3, 0.5), ylim=(8e-4, 0.6), xlabel="distance of $x$ from the wall", ylabel="in probability"
    )
    return fig


def slow_motion(
    path: FloatArray,
    free: FloatArray,
    rate: FloatArray,
    *,
    round: int,
    side: float,
    moved: float,
    phases: tuple[int, int, int],
) -> Figure:
    """One moment of a freezing game on two arms: where the learner stands, tries, and is moved to.

    `path` (T + 1,) is the probability of arm 1 at each center, from x_1, and `free` (T + 1,) the same with
    a hand that nobody moves; `rate` (T,) is eta_t/eta_0. `round` t is the moment, `side` +1 or -1 the
    direction tried, `moved` how far the hand is taken back at most. `phases`: the round of the change, the
    last round with a moved hand, T.
    """
    change, thaw, rounds = phases
    p = path[round - 1]
    radius = p * (1 - p) / np.sqrt(p * p + (1 - p) ** 2)
    shown = max(radius - moved, 0.0)
    y, z = p + side * radius, p + side * shown
    fig: Figure
    fig, (top, bottom) = axes(2, 1, height=4.2, height_ratios=(1, 1.5))
    for wall in (0, 1):
        top.plot([wall, wall], [-0.45, 0.45], color=WALL, lw=2.6)
    top.plot([0, 1], [0, 0], color=FAINT, lw=1, zorder=0)
    top.fill_between([p - radius, p + radius], -0.22, 0.22, color=REGION, alpha=0.55, lw=0)
    top.plot(p, 0, "o", color=LEARNER, ms=8, zorder=4)
    top.plot(y, 0, "o", mfc="#FFFFFF", mec=LEARNER, ms=8, mew=1.6, zorder=3)
    if moved > 0:
        shapes.arrow(top, np.array([y, -0.42]), np.array([z, -0.42]), WALL, shrinkA=2, shrinkB=2)
        top.plot(z, -0.42, "D", color=WALL, ms=5)
    better = "arm 2" if round <= change else "arm 1"
    left = 100 * shown / radius
    top.set_title(f"round {round}: {better} is better, signal left {left:.0f} %", fontsize=12)
    top.set(xlim=(-0.03, 1.03), ylim=(-0.7, 0.6))
    top.set_yticks([])
    top.spines[["left", "bottom"]].set_visible(False)
    top.set_xticks([0, 0.5, 1], ["arm 2", "", "arm 1"])
    top.tick_params(length=0)

    bottom.axvspan(0, change, color=FAINT, alpha=0.35, lw=0, zorder=0)
    if thaw > change:
        bottom.axvspan(change, thaw, color=WALL, alpha=0.12, lw=0, zorder=0)
        bottom.text((change + thaw) / 2, 1.02, "dimmed", color=WALL, ha="center", va="bottom")
    bottom.text(change / 2, 1.02, "arm 2 better", ha="center", va="bottom")
    bottom.plot(np.arange(1, rounds + 2), free, color=BASELINE, lw=1.2, ls="--")
    bottom.text(rounds, free[-1] + 0.03, "hand free ", color=BASELINE, ha="right", va="bottom")
    bottom.plot(np.arange(1, round + 1), path[:round], color=LEARNER)
    bottom.plot(round, p, "o", color=LEARNER, ms=7)
    bottom.set(xlim=(0, rounds), ylim=(0, 1), xlabel="round", ylabel="$x$: prob. of arm 1")
    bottom.text(
        rounds, 0.04, rf"$\eta_t={rate[round - 1]:.2f}\,\eta_0$ ", ha="right", va="bottom", color=LEARNER
    )
    return fig


def price_per_round(
    rounds: Sequence[int],
    curves: Mapping[str, tuple[FloatArray, FloatArray]],
    law: tuple[FloatArray, str],
    *,
    what: str,
    limits: tuple[float, float],
) -> Figure:
    """What is paid per round against T, with bands of two standard errors, and how a law would fall.

    `rounds` the values of T; `curves` label to (mean, standard error), each of that length, in the order
    constant, twice that, increasing; `law` values and label of the dotted curve; `what` is measured; `limits`
    of the vertical axis.
    """
    fig: Figure
    fig, ax = axes(height=3.6)
    values, label = law
    ax.semilogx(rounds, values, color=BOUND, ls=":")
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    gap = 0.075 * (limits[1] - limits[0])
    ends = {label: (float(values[-1]), BOUND)}
    for i, (name, (mean, error)) in enumerate(curves.items()):
        color = (BASELINE, INK, LEARNER)[i]
        ax.fill_between(rounds, mean - 2 * error, mean + 2 * error, color=color, alpha=0.22, lw=0)
        ax.plot(rounds, mean, color=color, ls=DASHES[(1, 2, 0)[i]], marker=MARKERS[i], ms=5)
        ends[name] = float(mean[-1]), color
    height = -np.inf
    for name, (end, color) in sorted(ends.items(), key=lambda item: item[1][0]):
        height = max(end, height + gap)
        ax.text(rounds[-1] * 1.18, height, name, color=color, va="center")
    ax.set(xlim=(rounds[0] / 1.4, rounds[-1] * 9), ylim=limits, xlabel="$T$", ylabel=what)
    named = rounds[::-2]  # every second one, or the labels would touch on a narrow page
    ax.set_xticks(list(rounds), [f"{t:,}" if t in named else "" for t in rounds])
    ax.spines["bottom"].set_bounds(rounds[0] / 1.4, rounds[-1])
    ax.minorticks_off()
    return fig


def growth(
    measured: Mapping[str, tuple[Sequence[int], FloatArray, FloatArray]],
    without_noise: Mapping[str, tuple[Sequence[int], FloatArray]],
) -> Figure:
    """Regret against T on logarithmic axes: measured points, and what the recursion without noise gives.

    `measured`: label to (T, mean, standard error); `without_noise`: the same labels to (T, regret).
    """
    fig: Figure
    fig, ax = axes(height=3.8)
    shades = (LEARNER, LEARNER, BASELINE, BASELINE)
    last = max(rounds[-1] for rounds, _ in without_noise.values())
    height = 0.0
    for label in sorted(without_noise, key=lambda label: float(without_noise[label][1][-1])):
        i = list(without_noise).index(label)
        rounds, regret = without_noise[label]
        ax.loglog(rounds, regret, color=shades[i % 4], ls=DASHES[i % 2])
        height = max(float(regret[-1]), 3.4 * height)
        ax.text(last * 1.4, height, label, va="center", color=shades[i % 4])
        few, mean, error = measured[label]
        ax.errorbar(few, mean, 2 * error, color=shades[i % 4], ls="", marker=MARKERS[i], ms=5, capsize=3)
    first = min(rounds[0] for rounds, _ in without_noise.values())
    guide = np.array([3e4, last])
    for power, start in ((1.0, 3e4), (0.5, 60.0)):
        ax.loglog(guide, start * (guide / guide[0]) ** power, color=FAINT, lw=1.4, zorder=0)
    ax.text(3e5, 6e5, "$T$", color=BASELINE, ha="right", va="bottom")
    ax.text(1e6, 250, r"$\sqrt{T}$", color=BASELINE, ha="left", va="top")
    ax.set(xlim=(first / 1.5, last * 90), xlabel="$T$", ylabel="regret")
    ax.set_xticks([1e3, 1e4, 1e5, 1e6, 1e7, 1e8])
    ax.minorticks_off()
    ax.spines["bottom"].set_bounds(first / 1.5, last)
    return fig
