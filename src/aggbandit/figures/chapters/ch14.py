"""Pictures of chapter 14: every learner in one list, regret over the gap, and the price of a total."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures.style import BASELINE, BEST, BOUND, DASHES, FAINT, INK, LEARNER, LOSS, QUIET, axes

__all__ = ["Row", "everybody", "over_the_gap", "price"]


@dataclass(frozen=True)
class Row:
    """A learner in the list.

    Attributes:
        name: Of the learner.
        sees: What it is shown: the heading it stands under.
        shares: By kind of prices, the regret of each run as a share of the coin's.
    """

    name: str
    sees: str
    shares: Mapping[str, Sequence[float]]


def everybody(rows: Sequence[Row]) -> Figure:
    """All learners under what they see: the mean of the runs by kind of prices, and each run.

    Args:
        rows: Those that see the same stand together; at most two kinds of prices.

    Returns:
        The figure.
    """
    looks = (("o", LEARNER, LEARNER), ("D", LOSS, "none"))
    kinds = list(rows[0].shares)
    groups = list(dict.fromkeys(row.sees for row in rows))
    fig: Figure
    fig, ax = axes(height=1.4 + 0.3 * (len(rows) + len(groups)))
    places, names, place = [], [], 0.0
    for group in groups:
        where = {"ha": "right", "va": "center", "transform": ax.get_yaxis_transform()}
        ax.text(-0.012, place, group, color=QUIET, fontsize=10.5, style="italic", **where)
        place += 1
        for row in rows:
            if row.sees != group:
                continue
            ax.axhline(place, color=FAINT, lw=0.8, zorder=0)
            for shift, kind, (marker, color, face) in zip((-0.16, 0.16), kinds, looks, strict=False):
                runs = np.asarray(row.shares[kind])
                ax.plot(runs, np.full(len(runs), place + shift), "|", color=color, ms=6, mew=1.1)
                mean = float(runs.mean())
                ax.plot(mean, place + shift, marker, color=color, mfc=face, ms=7, mew=1.6, zorder=3)
            places.append(place)
            names.append(row.name)
            place += 1
    for kind, (marker, color, face) in zip(kinds, looks, strict=False):
        ax.plot([], [], marker, color=color, mfc=face, ms=7, mew=1.6, label=kind)
    ax.axvline(1, color=BASELINE, lw=1.3, ls=DASHES[1], label="the coin")
    ax.axvline(0, color=BEST, lw=1.3)
    fig.legend(loc="outside upper right", ncols=3, fontsize=10.5, frameon=False)
    ax.set(ylim=(place - 0.4, -0.7), xlabel="regret, as a share of the coin's")
    low = min(0.0, *(min(runs) for row in rows for runs in row.shares.values()))
    high = max(1.0, *(max(runs) for row in rows for runs in row.shares.values()))
    ax.set_xlim(low - 0.06, high + 0.06)
    ax.set_yticks(places, names, fontsize=10.5)
    ax.tick_params(axis="y", length=0)
    return fig


def over_the_gap(
    gaps: Sequence[float], one_leg: FloatArray, total: FloatArray, nights: int, legs: int
) -> Figure:
    """Regret a leg in units of sqrt(K), over the gap: who sees each leg, who sees the total, and the coin.

    Args:
        gaps: (G,) differences between the two lanes.
        one_leg: (G,) regret of a single leg.
        total: (G,) regret of all legs.
        nights: K.
        legs: H.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=3.6)
    root = math.sqrt(nights)
    fine = np.geomspace(min(gaps), max(gaps), 40)
    ax.plot(fine, fine * root / 2, color=BASELINE, ls=DASHES[3], lw=1.8, label="the coin")
    for values, color, dash, marker, name in (
        (np.asarray(one_leg), BEST, DASHES[1], "s", "sees each leg"),
        (np.asarray(total) / legs, LEARNER, DASHES[0], "o", "sees the total"),
    ):
        ax.plot(gaps, values / root, color=color, ls=dash, marker=marker, ms=6, label=name)
        top = int(values.argmax())
        ax.plot(gaps[top], values[top] / root, marker, color=color, mfc="none", ms=14, mew=1.6)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(gaps), [f"1/{round(1 / gap)}" if gap < 1 else "1" for gap in gaps])
    ax.minorticks_off()
    ax.set(xlabel="gap between the lanes", ylabel="regret a leg / √K", ylim=(0, 6.5))
    fig.legend(loc="outside upper right", ncols=3, fontsize=10.5, frameon=False)
    return fig


def price(legs: Sequence[int], measured: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]]) -> Figure:
    """What the total costs, against the number of legs, on two logarithmic axes.

    Args:
        legs: (n,) H.
        measured: By kind of prices, (n,) each: the factor, and the ends of its interval.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=3.9)
    line = np.array([legs[0], legs[-1]], dtype=float)
    ax.plot(line, line, color=BOUND, ls=DASHES[1], lw=1.8)
    ax.plot(line, np.sqrt(line), color=INK, ls=DASHES[3], lw=1.8)
    ax.text(line[1] * 1.06, line[1], "H", color=BOUND, va="center")
    ax.text(line[1] * 1.06, math.sqrt(line[1]), "√H", color=INK, va="center")
    looks = (("o", LEARNER), ("D", LOSS), ("^", BASELINE))
    for (kind, (factor, low, high)), (marker, color) in zip(measured.items(), looks, strict=False):
        spread = np.array([factor - low, high - factor]).clip(min=0)
        ax.errorbar(legs, factor, spread, fmt=marker, color=color, ms=7, lw=1.6, capsize=3, label=kind)
    ax.set(xscale="log", yscale="log", xlabel="legs H", ylabel="price of the total")
    ax.set_xlim(0.85 * line[0], 1.35 * line[1])
    ax.set_xticks(list(legs), [str(h) for h in legs])
    ax.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    ax.minorticks_off()
    fig.legend(loc="outside upper right", ncols=2, fontsize=10.5, frameon=False)
    return fig
