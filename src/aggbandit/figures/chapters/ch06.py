"""Pictures of chapter 6: the hand that is moved, what this does to an estimate, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
    BOUND,
    DASHES,
    ESTIMATE,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    PAPER,
    REGION,
    axes,
)
from aggbandit.geometry import DikinEllipsoid

__all__ = ["believed_and_true", "moved_hands", "one_round", "regret_curves"]

REACH = 3.3
"""Half the width of the frame around the true loss, in lengths of that loss."""


def _arms(ax: Any) -> None:
    """The set of all distributions over three arms."""
    shapes.triangle(ax, ("arm 1", "arm 2", "arm 3"), zorder=2)
    ax.set(xlim=(-0.1, 1.1), ylim=(-0.12, 0.98))


def _flat(points: FloatArray) -> FloatArray:
    """Distributions over three arms, in the coordinates of the page, one a column."""
    flat: FloatArray = (points @ shapes.TRIANGLE).T
    return flat


def one_round(
    ellipse: DikinEllipsoid, y: FloatArray, allowed: FloatArray, z: FloatArray, z_hat: FloatArray
) -> Figure:
    """A round of the game on three arms: the ellipse, y on it, the places allowed around y, z, and z_hat.

    Args:
        ellipse: the Dikin ellipsoid on which y was drawn.
        y: (3,) the point chosen.
        allowed: (k, 3) the corners of the region the hand may be moved in, in order.
        z: (3,) where it is moved to.
        z_hat: (3,) the arm that is drawn.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=3.4)
    _arms(ax)
    ax.fill(*_flat(ellipse.boundary()), fc=REGION, ec=LEARNER, lw=1.2, alpha=0.5)
    ax.fill(*_flat(allowed), fc=FAINT, ec=BASELINE, ls="--", lw=1.2, alpha=0.8, zorder=3)
    shapes.arrow(ax, _flat(y), _flat(z), INK, lw=1.8, shrinkA=2, shrinkB=3, zorder=6)
    shapes.arrow(ax, _flat(z), _flat(z_hat), INK, lw=1.8, shrinkA=2, shrinkB=3, ls=":", zorder=5)
    marks = (
        (ellipse.center, "s", LEARNER, "$x_t$", (-22, -4)),
        (y, "o", LEARNER, "$y_t$", (9, -6)),
        (z, "D", INK, "$z_t$", (9, 0)),
        (z_hat, "*", INK, "$\\hat z_t$", (10, 2)),
    )
    for point, marker, color, name, shift in marks:
        size = 13 if marker == "*" else 7
        ax.plot(*_flat(point), marker, color=color, ms=size, zorder=7)
        ax.annotate(name, _flat(point), xytext=shift, textcoords="offset points", color=color, fontsize=14)
    return fig


def moved_hands(
    ellipse: DikinEllipsoid, y: FloatArray, z: FloatArray, loss: FloatArray, mean: FloatArray, radius: float
) -> Figure:
    """Where the hand is moved for every y tried, and what the mean of the estimate becomes.

    The losses are drawn in the local coordinates of the ellipse, in which dual norms are lengths.

    Args:
        ellipse: the Dikin ellipsoid on which y is drawn.
        y: (k, 3) what is tried.
        z: (k, 3) what is made of it.
        loss: (3,) the true loss.
        mean: (3,) the mean of the estimate.
        radius: of a disc around the truth, what the bound allows.

    Returns:
        The figure, of two panels.

    Raises:
        ValueError: for a disc that does not fit into the frame.
    """
    reach = REACH * ellipse.dual_norm(loss)
    if radius > reach:
        raise ValueError(f"radius is {radius:g}; the disc must not leave the frame")
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.3, width_ratios=(1.15, 1))
    _arms(left)
    left.fill(*_flat(ellipse.boundary()), fc=REGION, ec=LEARNER, lw=1.0, alpha=0.45)
    for tried, shown in zip(y[::15], z[::15], strict=True):
        left.plot(*_flat(np.array([tried, shown])), color=INK, lw=1.1, zorder=4)
    left.plot(*_flat(y[::15]), "o", color=LEARNER, ms=4, zorder=5)
    left.plot(*_flat(z[::15]), "D", color=INK, ms=4, zorder=6)
    left.plot(*_flat(ellipse.center), "s", color=LEARNER, ms=6, zorder=3)

    truth, believed = ellipse.axes() @ loss, ellipse.axes() @ mean
    angle = np.linspace(0, 2 * np.pi, 121)
    disc = truth[:, None] + radius * np.stack([np.cos(angle), np.sin(angle)])
    right.plot(*disc, color=BOUND, ls="--", lw=1.4)
    right.axhline(0, color=FAINT, lw=1, zorder=0)
    right.axvline(0, color=FAINT, lw=1, zorder=0)
    right.plot(*np.array([truth, believed]).T, color=ESTIMATE, lw=2, zorder=4)
    right.plot(*truth, "o", color=LOSS, ms=9, zorder=5, label="$\\ell$")
    right.plot(*believed, "X", color=ESTIMATE, ms=9, zorder=6, label="mean of $\\tilde\\ell$")
    for axis, middle in zip(("x", "y"), truth, strict=True):
        right.set(**{f"{axis}lim": (middle - reach, middle + reach), f"{axis}ticks": []})
    right.set_aspect("equal")
    right.set_title("loss, in local coordinates")
    below = {"loc": "upper left", "bbox_to_anchor": (-0.05, 0.02), "ncols": 2}
    right.legend(**below, fontsize=10.5, handlelength=1)
    return fig


def regret_curves(curves: Mapping[str, FloatArray], undisturbed: str) -> Figure:
    """Regret against rounds, one line a name, with bands of two standard errors.

    Args:
        curves: for each name the regret so far, (seeds, T); its mean is drawn.
        undisturbed: the name of the line that the others are compared with.

    Returns:
        The figure.
    """
    fig: Figure
    fig, ax = axes(height=3.6)
    ends = {name: float(rows[:, -1].mean()) for name, rows in curves.items()}
    heights = _apart(ends, 0.07 * max(ends.values()))
    for (name, rows), dash in zip(curves.items(), DASHES, strict=True):
        mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        rounds = np.arange(1, mean.size + 1)[9::10]
        color = BASELINE if name == undisturbed else LEARNER
        band = (mean - 2 * error)[9::10], (mean + 2 * error)[9::10]
        ax.fill_between(rounds, *band, color=color, alpha=0.2, lw=0)
        ax.plot(rounds, mean[9::10], color=color, ls=dash, label=name)
        ax.text(1.02 * mean.size, heights[name], name, color=color, fontsize=10.5, va="center")
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    ax.set(xlim=(0, 1.38 * mean.size), xlabel="round $t$", ylabel="regret so far")
    ax.set_xticks(np.linspace(0, mean.size, 4))
    return fig


def _apart(ends: Mapping[str, float], gap: float) -> dict[str, float]:
    """Heights for the names at the ends of lines: those of the ends, moved up until none is too near."""
    heights: dict[str, float] = {}
    last = -np.inf
    for name in sorted(ends, key=lambda name: ends[name]):
        last = max(ends[name], last + gap)
        heights[name] = last
    return heights


def believed_and_true(
    believed: FloatArray, true: FloatArray, night: FloatArray, places: Sequence[str]
) -> Figure:
    """How often each place is met, leg by leg: as believed, as it is, and in one night.

    Args:
        believed: (legs, places) the distributions of y.
        true: (legs, places) those of z.
        night: (legs, places) the visits of z_hat.
        places: their names.

    Returns:
        The figure, one panel a leg.
    """
    fig: Figure
    fig, panels = axes(1, len(believed), height=3.0, sharey=True)
    at = np.arange(len(places))
    for leg, (ax, b, t, seen) in enumerate(zip(panels, believed, true, night, strict=True), start=1):
        ax.bar(at - 0.2, b, width=0.38, fc="none", ec=LEARNER, hatch="///", label="believed, $y$")
        ax.bar(at + 0.2, t, width=0.38, color=INK, label="true, $z$")
        ax.plot(
            at[seen > 0],
            seen[seen > 0],
            "*",
            color=INK,
            mec=PAPER,
            ms=14,
            clip_on=False,
            label="one night, $\\hat z$",
        )
        ax.set_xticks(at, places, fontsize=10, rotation=40, ha="right", rotation_mode="anchor")
        ax.set(ylim=(0, 1.05), title=f"after leg {leg}")
    panels[0].set_ylabel("probability")
    handles, labels = panels[-1].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=10.5, frameon=False)
    return fig
