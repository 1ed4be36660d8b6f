"""Pictures of chapter 12: bounds as shares of HK, the digits of a threshold, and what is paid meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures.style import BASELINE, BOUND, DASHES, FAINT, INK, LEARNER, MARKERS, QUIET, axes

__all__ = ["Bound", "digits", "meanwhile", "shares", "threshold"]

Bound = Callable[[int], float]
"""What the regret of K episodes cannot exceed."""

END = 44
"""Powers of ten of the episodes that `shares` draws."""


def threshold(bound: Bound, per_episode: float) -> int:
    """From which number of episodes on a bound is below what is certain anyway.

    The bound over K must fall between powers of two, and from one to the next; it may jump up at them.

    Args:
        bound: Of K episodes.
        per_episode: What is certain anyway, per episode: H, or less.

    Returns:
        The first K from which on `bound(K) < per_episode K`.

    Raises:
        ValueError: if there is none up to 2^400.

    Example:
        >>> threshold(lambda K: 30 * K**0.5, per_episode=3)
        101
    """

    def speaks(episodes: int) -> bool:
        return bound(episodes) < per_episode * episodes

    power = next((power for power in range(1, 401) if speaks(2**power)), None)
    if power is None:
        raise ValueError("bound is above per_episode K at all K up to 2^400; it must fall below it")
    # The power before is silent; between the two the bound over K falls.
    high: int = 2**power
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if speaks(middle) else (middle, high)
    return high


def shares(bounds: Mapping[str, Bound], horizon: int) -> Figure:
    """Bounds as shares of HK, and from which K on each is below it.

    Args:
        bounds: By name, at most seven.
        horizon: H.

    Returns:
        The figure.
    """
    fig: Figure
    fig, (above, below) = axes(2, 1, height=5.6, height_ratios=(1, 1.15), sharex=True)
    powers = np.linspace(1, END, 60)
    above.axhspan(0, 6, color=FAINT, lw=0)
    above.axhline(0, color=INK, lw=1.2)
    above.text(END - 0.5, 5.6, "forbids nothing", ha="right", va="top", color=QUIET)
    for row, (name, bound) in enumerate(bounds.items()):
        first = math.log10(threshold(bound, horizon))
        episodes = [round(10**power) for power in powers]
        heights = np.array([math.log10(bound(K) / (horizon * K)) for K in episodes])
        look = {"color": BOUND, "ls": DASHES[row % len(DASHES)]}
        above.plot(powers, heights, lw=1.6, **look)
        above.plot(first, 0, MARKERS[row], color=BOUND, ms=6, zorder=4)
        below.plot([first, END], [row, row], lw=2.4, **look)
        below.plot(first, row, MARKERS[row], color=BOUND, ms=7, zorder=4)
        left = first > 0.6 * END
        at, side = (first - 0.9, "right") if left else (first + 0.9, "left")
        words = f"{name}: $10^{{{first:.1f}}}$"
        below.text(at, row - 0.18, words, ha=side, va="bottom", fontsize=10.5)
    above.set(xlim=(1, END), ylim=(-6, 6), ylabel="bound / HK")
    above.set_yticks([-6, -3, 0, 3, 6])
    above.set_yticklabels(["$10^{-6}$", "$10^{-3}$", "1", "$10^3$", "$10^6$"])
    below.set(ylim=(len(bounds) - 0.5, -0.9), yticks=[], xlabel="episodes K", ylabel="says something")
    ticks = range(5, END, 5)
    below.set_xticks(list(ticks))
    below.set_xticklabels([f"$10^{{{power}}}$" for power in ticks])
    return fig


def digits(worlds: Mapping[str, Mapping[str, float]]) -> Figure:
    """Of what factors a threshold is made: bars of powers of ten that add up to it.

    Args:
        worlds: By world, the factors by name; their product is the threshold.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=0.9 + 0.95 * len(worlds))
    for row, (world, factors) in enumerate(worlds.items()):
        end, wide = 0.0, min(factors.values()) > 1e4
        if not wide:  # all names in one line
            ax.text(0, row - 0.24, " times ".join(factors), ha="left", va="bottom", fontsize=9.5)
        for i, (name, factor) in enumerate(factors.items()):
            size = math.log10(factor)
            ax.barh(row, size, left=end, height=0.36, color=BOUND, alpha=0.9 - 0.2 * (i % 4), ec=INK, lw=0.8)
            if wide:
                ax.text(end + size / 2, row - 0.24, name, ha="center", va="bottom", fontsize=9.5)
            ax.text(end + size / 2, row, f"{size:.1f}", ha="center", va="center", fontsize=9.5)
            end += size
        ax.text(end + 0.4, row, f"{world}: $10^{{{end:.1f}}}$", va="center", fontsize=10.5)
    ax.set(ylim=(len(worlds) - 0.6, -0.75), xlim=(0, 34), yticks=[])
    ax.set_xlabel("powers of ten")
    return fig


def meanwhile(
    bounds: Sequence[float], paid: Sequence[FloatArray], names: Sequence[str], references: Mapping[str, float]
) -> Figure:
    """What theorems promise a night, and what their learners had, on one logarithmic axis.

    Args:
        bounds: (m,) bounds on the regret a night.
        paid: (m,) of each learner the regret a night of its runs.
        names: (m,) of the learners.
        references: By name, regrets a night to compare with.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=1.5 + 0.75 * len(names))
    for row, (bound, runs) in enumerate(zip(bounds, paid, strict=True)):
        ax.plot([float(np.mean(runs)), bound], [row, row], color=FAINT, lw=5, solid_capstyle="butt")
        ax.plot(runs, np.full(len(runs), row), "o", color=LEARNER, ms=5, alpha=0.6)
        ax.plot(bound, row, "|", color=BOUND, ms=20, mew=3)
    for i, (name, value) in enumerate(references.items()):
        ax.axvline(value, color=BASELINE, lw=1.3, ls=DASHES[1 + i], label=name)
    fig.legend(loc="outside upper right", ncols=len(references), fontsize=10.5, frameon=False)
    ax.set(xscale="log", xlim=(3e-2, 1e8), ylim=(len(names) - 0.5, -0.6))
    ax.set_yticks(range(len(names)), names, fontsize=10.5)
    ax.set(xlabel="regret a night")
    return fig
