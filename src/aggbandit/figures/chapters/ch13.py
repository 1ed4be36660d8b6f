"""Pictures of chapter 13: shares of the coin's regret, slopes, differences in pairs, and a late switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from aggbandit._arrays import FloatArray
from aggbandit.figures.style import BASELINE, BEST, DASHES, FAINT, INK, LEARNER, MARKERS, QUIET, axes

__all__ = ["differences", "growth", "measured", "turned"]

LOOKS = ((BASELINE, "D"), (LEARNER, "o"), (INK, "^"), (LEARNER, "s"))
"""Color and marker of each learner of `measured`; they differ in their markers too."""


def growth(
    episodes: FloatArray, share: FloatArray, slope: FloatArray, axis: str, levels: Sequence[float]
) -> Figure:
    """A curve of regret without noise, as a share of the coin's, and the slope of the regret below it.

    Args:
        episodes: (k,) lengths, from 100 to 10^12.
        share: (k,) regrets, divided by the coin's.
        slope: (k,) the slopes of the regret, both in logarithms.
        axis: the words under the axis.
        levels: slopes to mark, where the curve first falls below them.

    Returns:
        The figure.
    """
    fig: Figure
    fig, (above, below) = axes(2, 1, height=5.4, sharex=True)
    above.plot(episodes, share, color=LEARNER)
    above.axhline(1, color=BASELINE, ls=":", lw=1.4)
    for start in np.geomspace(1e-2, 1e5, 8):  # what falls like 1/sqrt(K)
        above.plot(episodes, start * (episodes / episodes[0]) ** -0.5, color=FAINT, lw=0.9, zorder=0)
    above.set(xscale="log", yscale="log", ylim=(1e-6, 3), ylabel="share of the coin's")
    above.text(episodes[-1], 1.15, "the coin", ha="right", va="bottom", color=QUIET, fontsize=10.5)
    below.plot(episodes, slope, color=LEARNER)
    for level in (0.0, 0.5, 1.0):
        below.axhline(level, color=BASELINE, ls=":", lw=1.2)
    for level in levels:
        under = np.flatnonzero(slope < level)
        if under.size and under[0]:
            below.plot(episodes[under[0]], slope[under[0]], "o", color=LEARNER, zorder=4)
            below.text(episodes[under[0]], slope[under[0]] + 0.06, f"{level:g}", ha="center", fontsize=10.5)
    below.set(ylim=(-0.05, 1.1), ylabel="slope", xlabel=axis, xlim=(episodes[0], episodes[-1]))
    below.set_yticks([0, 0.5, 1])
    for ax in (above, below):
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_locator(NullLocator())
    return fig


def measured(
    lengths: FloatArray,
    shares: Mapping[str, FloatArray],
    slopes: Mapping[str, FloatArray],
    ideal: tuple[FloatArray, FloatArray, FloatArray],
) -> Figure:
    """Shares of the coin's regret by learner, with intervals, and below the slopes with theirs.

    Args:
        lengths: (N,) numbers of episodes.
        shares: by learner, at most four, (3, m): mean, lower and upper end at the first m lengths.
        slopes: by learner, (3, m - 1): slope between neighboring lengths, lower and upper end.
        ideal: (k,) lengths, and (k,) shares and slopes without noise.

    Returns:
        The figure.
    """
    fig: Figure
    fig, (above, below) = axes(2, 1, height=6.4, sharex=True, height_ratios=(1.15, 1))
    above.plot(ideal[0], ideal[1], color=BEST, ls=DASHES[1], lw=1.6)
    below.plot(ideal[0], ideal[2], color=BEST, ls=DASHES[1], lw=1.6, label="without noise")
    above.axhline(1, color=BASELINE, ls=":", lw=1.4)
    for start in (1, 2, 4, 8):  # what falls like 1/sqrt(K)
        above.plot(lengths, start * (lengths / lengths[0]) ** -0.5, color=FAINT, lw=0.9, zorder=0)
    between = np.sqrt(lengths[1:] * lengths[:-1])
    width = len(shares)
    for i, (name, (mean, low, high)) in enumerate(shares.items()):
        color, marker = LOOKS[i]
        at, dash = lengths[: len(mean)], DASHES[i % len(DASHES)]
        above.fill_between(at, low, high, color=color, alpha=0.2, lw=0)
        above.plot(at, mean, color=color, marker=marker, ls=dash, lw=1.6)
        slope, least, most = slopes[name]
        beside = between[: len(slope)] * 1.13 ** (i - (width - 1) / 2)
        below.vlines(beside, least, most, color=color, lw=2.2)
        below.plot(beside, slope, marker, color=color, ms=6.5, label=name)
    for level in (0.5, 1.0):
        below.axhline(level, color=BASELINE, ls=":", lw=1.2)
    above.set(xscale="log", yscale="log", ylim=(0.3, 1.15), ylabel="share of the coin's")
    above.set_yticks([0.3, 0.4, 0.5, 0.6, 0.8, 1])
    above.set_yticklabels(["0.3", "0.4", "0.5", "0.6", "0.8", "1"])
    below.set(ylim=(0.45, 1.08), ylabel="slope", xlabel="nights K")
    below.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1])
    below.set_xticks(lengths)
    below.set_xticklabels([f"{length:,.0f}" for length in lengths])
    for ax in (above, below):
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_minor_locator(NullLocator())
    fig.legend(*below.get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=10.5)
    return fig


def differences(pairs: Mapping[str, tuple[FloatArray, float, float]]) -> Figure:
    """Differences city by city, and the mean with two intervals: in pairs, and as if not paired.

    Args:
        pairs: by name, (C,) differences, the half-width of the interval in pairs and that without.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=1.4 + 0.85 * len(pairs))
    for row, (each, paired, apart) in enumerate(pairs.values()):
        mean = float(each.mean())
        ax.plot(each, np.full(len(each), row + 0.2), "o", color=LEARNER, ms=5, alpha=0.55)
        ax.plot([mean - apart, mean + apart], [row - 0.22] * 2, color=BASELINE, lw=2, ls=DASHES[1])
        ax.plot([mean - paired, mean + paired], [row - 0.08] * 2, color=INK, lw=3)
        ax.plot(mean, row - 0.08, "|", color=INK, ms=11, mew=2)
    ax.axvline(0, color=BASELINE, ls=":", lw=1.3)
    ax.set(ylim=(len(pairs) - 0.5, -0.6), xlabel="difference of the shares")
    ax.set_yticks(range(len(pairs)), list(pairs), fontsize=10.5)
    return fig


def turned(
    nights: FloatArray, curves: Mapping[str, tuple[FloatArray, FloatArray]], switch: float, coin: FloatArray
) -> Figure:
    """Where learners are between the best and the worst policy, before and after prices are turned round.

    Args:
        nights: (k,) middles of the stretches of nights.
        curves: by learner, mean and standard error (k,) of the place: 0 the best, 1 the worst.
        switch: the night of the switch.
        coin: (k,) the place of the coin.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=3.9)
    ax.axvline(switch, color=BASELINE, ls=":", lw=1.3)
    for part in (nights < switch, nights > switch):
        ax.plot(nights[part], coin[part], color=BASELINE, lw=1.4, ls=DASHES[2])
        for i, (mean, error) in enumerate(curves.values()):
            band = (mean - error)[part], (mean + error)[part]
            ax.fill_between(nights[part], *band, color=LEARNER, alpha=0.2, lw=0)
            ax.plot(nights[part], mean[part], color=LEARNER, ls=DASHES[i], lw=2)
    for i, (name, (mean, _)) in enumerate(curves.items()):
        ax.plot(nights[3::9], mean[3::9], MARKERS[i], color=LEARNER, ms=6, ls="", label=name)
    ax.text(switch - nights[0], coin[0] + 0.015, "the coin", ha="right", color=QUIET, fontsize=10.5)
    ax.text(switch - nights[0], 0.84, "prices turned round", ha="right", va="top", color=QUIET, fontsize=10.5)
    ax.set(xlabel="nights", ylabel="0 the best, 1 the worst", xlim=(0, 2 * nights[-1] - nights[-2]))
    ax.set(ylim=(0.15, 0.85))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize=10.5)
    return fig
