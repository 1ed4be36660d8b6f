"""Pictures of chapter 15: the past that cancels, a lake being learned, twenty seeds, two kinds of prices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray, IntArray, reduce_frozen
from aggbandit.figures.drawing import box, document, number, words
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    DASHES,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    MASS_CMAP,
    QUIET,
    WALL,
    axes,
)

__all__ = ["GridMap", "against_and_with", "past_and_future", "seeds", "walking"]


# --- past and future ----------------------------------------------------------------------------------------


def past_and_future(
    past: FloatArray, future: FloatArray, state_names: Sequence[str], action_names: Sequence[str]
) -> Figure:
    """U at every place, stacked: what was paid before, the same for all actions, and what is to come.

    Args:
        past: (H, S) W; NaN where nobody comes.
        future: (H, S, A) Q, at most three legs and three states to be readable.
        state_names: S names.
        action_names: A names.

    Returns:
        The figure.
    """
    horizon, n_states, n_actions = future.shape
    fig: Figure
    fig, ax = axes(height=3.6)
    width = 0.8 / n_actions
    at, names = 0.0, []
    for h in range(horizon):
        for s in range(n_states):
            if np.isnan(past[h, s]):
                continue
            for a in range(n_actions):
                left = at + (a - (n_actions - 1) / 2) * width
                ax.bar(left, past[h, s], 0.9 * width, color=FAINT, ec=QUIET, lw=0.8)
                ax.bar(left, future[h, s, a], 0.9 * width, bottom=past[h, s], color=LOSS, ec=INK, lw=0.8)
                ax.text(left, 0.04, action_names[a][0], ha="center", va="bottom", fontsize=10, color=INK)
            names.append((at, f"leg {h + 1}\n{state_names[s].replace(' ', chr(10), 1)}"))
            at += 1.15
        at += 0.35
    ax.set_xticks([x for x, _ in names], [name for _, name in names], fontsize=9.5)
    ax.set(ylim=(0, 3), ylabel="the whole night costs", xlim=(-0.7, at - 0.8))
    ax.plot([], [], "s", color=FAINT, mec=QUIET, label="before, $W$")
    ax.plot([], [], "s", color=LOSS, mec=INK, label="to come, $Q$")
    fig.legend(loc="outside upper right", ncols=2, fontsize=10.5, frameon=False)
    return fig


# --- a world on a grid --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GridMap:
    """A world whose states are the cells of a grid.

    Attributes:
        letters: rows of letters, one a cell: `S` start, `G` goal, `H` a hole, `C` the cliff, anything else is
            ground.
        moves: (A, 2) where an action means to go, rows and columns.
    """

    letters: tuple[str, ...]
    moves: IntArray
    __reduce__ = reduce_frozen

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.letters), len(self.letters[0])


HEIGHT = 356
"""Units from top to bottom of every map."""


def walking(grid: GridMap, x: FloatArray, line: str) -> str:
    """Where a walker goes: how likely each cell is met, and which way it is left.

    Args:
        grid: the map.
        x: (H, S, A) the occupancy measure of what is played.
        line: written above.

    Returns:
        SVG.
    """
    rows, columns = grid.size
    side = min(600 / columns, (HEIGHT - 52) / rows)
    left, top = (640 - columns * side) / 2, 44.0
    # Once at the goal or in a hole the walker stays; elsewhere a cell may be met more than once.
    met = np.minimum(x.sum(axis=2).sum(axis=0), 1.0)
    leaving = x.sum(axis=0)
    ended = {"G", "H"}
    for cell in range(rows * columns):
        if grid.letters[cell // columns][cell % columns] in ended:
            met[cell] = x[-1, cell].sum()
    parts = [words(320, 28, line)]
    for cell in range(rows * columns):
        r, c = divmod(cell, columns)
        letter = grid.letters[r][c]
        shade = MASS_CMAP.colors[round(8 * 0.6 * float(met[cell]))]  # type: ignore[index]
        edge = WALL if letter in "HC" else BASELINE
        line_width = 2.6 if letter in "HC" else 1.0
        inset = 2.0 if letter in "HC" else 0.5
        at = (left + c * side + inset, top + r * side + inset)
        parts.append(box(*at, side - 2 * inset, side - 2 * inset, str(shade), edge=edge, line=line_width))
    arrows = []
    for cell, a in np.ndindex(*leaving.shape):
        r, c = divmod(cell, columns)
        letter = grid.letters[r][c]
        often = min(float(leaving[cell, a]), 1.0)
        if letter in "GHC" or often < 0.03:
            continue
        middle = np.array([left + (c + 0.5) * side, top + (r + 0.5) * side])
        arrows.append(_arrow(middle, grid.moves[a], side, often))
    parts.append(f'<path d="{"".join(arrows)}" fill="{LEARNER}"/>')
    for cell in range(rows * columns):
        r, c = divmod(cell, columns)
        letter = grid.letters[r][c]
        if letter in "SGH":
            spot = (left + (c + 0.5) * side, top + (r + 0.5) * side + 8)
            if letter == "S":
                spot = (left + c * side + 12, top + r * side + 23)
            parts.append(words(*spot, letter, INK, weight=700))
    return document(parts, HEIGHT)


def _arrow(middle: FloatArray, move: IntArray, side: float, often: float) -> str:
    """A triangle that points the way of a move, as broad as it is often: an SVG path."""
    along, across = np.array([move[1], move[0]], float), np.array([-move[0], move[1]], float)
    base, half = middle + 0.16 * side * along, 0.26 * side * math.sqrt(often) * across
    corners = (base + half, middle + 0.42 * side * along, base - half)
    return "M" + "L".join(f"{number(p[0])} {number(p[1])}" for p in corners) + "Z"


# --- many seeds ---------------------------------------------------------------------------------------------


def seeds(
    runs: Mapping[str, tuple[IntArray, FloatArray]], references: Mapping[str, tuple[float, float]]
) -> Figure:
    """What many seeds paid, world by world: every seed, and their mean.

    Args:
        runs: by world, (N,) after how many episodes, and (R, N) what R seeds paid on average up to there
            since the entry before.
        references: by world, what the best policy pays, and uniform play.

    Returns:
        The figure.
    """
    fig: Figure
    fig, panels = axes(1, len(runs), height=3.3)
    first, last = min(at[0] for at, _ in runs.values()) * 0.9, max(at[-1] for at, _ in runs.values()) * 1.15
    named = [ten for ten in (10, 100, 1000, 10_000, 100_000) if first <= ten <= last]
    for ax, (name, (at, paid)) in zip(panels, runs.items(), strict=True):
        best, uniform = references[name]
        ax.axhline(uniform, color=BASELINE, lw=1.4, ls=DASHES[3])
        ax.axhline(best, color=BEST, lw=1.6, ls=DASHES[1])
        ax.plot(at, paid.T, color=LEARNER, lw=0.6, alpha=0.4)
        ax.plot(at, paid.mean(axis=0), color=LEARNER, lw=2.4)
        room = 0.07 * (uniform - best)
        top = max(uniform, float(paid.max()))
        ax.text(last, uniform + 0.3 * room, "uniform", ha="right", va="bottom", color=BASELINE, fontsize=10)
        ax.text(first, best - 0.3 * room, " best", ha="left", va="top", color=BEST, fontsize=10)
        ax.set(title=name, xscale="log", ylim=(best - 2 * room, top + 2.5 * room), xlabel="episodes")
        ax.set_xlim(first, last)
        ax.set_xticks(named, [f"{ten:,}" for ten in named])
        ax.minorticks_off()
    panels[0].set(ylabel="an episode costs")
    return fig


def against_and_with(runs: Mapping[str, Mapping[str, FloatArray]]) -> Figure:
    """Regret of several learners on two kinds of prices; bands hold the middle eighty percent of the seeds.

    Args:
        runs: by kind of prices, by learner, (R, K) the regret of R seeds.

    Returns:
        The figure.
    """
    fig: Figure
    fig, panels = axes(1, len(runs), height=3.3, sharey=True)
    colors = (LEARNER, BASELINE, LOSS)
    for ax, (kind, learners) in zip(panels, runs.items(), strict=True):
        for i, (name, regret) in enumerate(learners.items()):
            many = regret.shape[1]
            at = np.unique(np.geomspace(10, many, 60).astype(int)) - 1
            low, high = np.quantile(regret[:, at], (0.1, 0.9), axis=0)
            ax.fill_between(at + 1, low, high, color=colors[i], alpha=0.15, lw=0)
            ax.plot(at + 1, regret[:, at].mean(axis=0), color=colors[i], ls=DASHES[i], label=name)
        ax.set(title=kind, xlabel="nights", xscale="log")
    panels[0].set(ylabel="regret")
    handles, labels = panels[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=10.5, frameon=False)
    return fig
