"""Pictures of chapter 4: a number times a direction, and what its average knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    ESTIMATE,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    axes,
)

__all__ = ["every_policy", "guessing", "running_mean", "thales", "two_paths"]


def guessing(loss: FloatArray, angle: float) -> dict[str, Any]:
    """The dragged figure of a vector that is guessed from one number, all but its caption (`thales.js`).

    Args:
        loss: (2,) the vector looked for.
        angle: Of the direction asked, in degrees.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    direction = np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
    told = float(loss @ direction)
    x, y = 2 * told * direction
    return {
        "data": {},
        "start": {"angle": angle, "loss": loss},
        "still": thales(loss, np.deg2rad([angle])),
        "alt": f"The direction points to {angle:.0f}°; the answer is {told:.2f}. The guess "
        f"({x:.2f}, {y:.2f}) is off by {np.linalg.norm(loss):.2f}, as far as the vector "
        f"({loss[0]:.2f}, {loss[1]:.2f}) is long.",
    }


def thales(loss: FloatArray, angles: FloatArray) -> Figure:
    """In the plane: directions u on the unit circle, and the estimates 2 (loss·u) u, which lie on a circle.

    The feet of the perpendiculars, (loss·u) u, lie on the circle of Thales.

    Args:
        loss: (2,) the vector looked for.
        angles: (k,) which directions to draw, in radians.
    """
    fig: Figure
    fig, ax = axes(height=3.4)
    circle = np.linspace(0, 2 * np.pi, 181)
    ax.plot(np.cos(circle), np.sin(circle), color=FAINT, lw=1.5)
    radius = np.linalg.norm(loss)
    ring = loss[:, None] + radius * np.array([np.cos(circle), np.sin(circle)])
    ax.plot(*ring, color=ESTIMATE, ls="--", lw=1.4)
    ax.plot(*ring / 2, color=LOSS, ls=":", lw=1.2)
    for angle in angles:
        u = np.array([np.cos(angle), np.sin(angle)])
        estimate = 2 * (loss @ u) * u
        ax.plot(*np.array([-u, u]).T, color=FAINT, lw=1, zorder=0)
        ax.plot(*u, "o", color=LEARNER, ms=6)
        ax.plot(*np.array([loss, estimate / 2]).T, color=LOSS, lw=1.4)
        ax.plot(*np.array([[0, 0], estimate]).T, color=ESTIMATE, lw=1.6)
        ax.plot(*estimate, "s", color=ESTIMATE, ms=6)
    shapes.arrow(ax, np.zeros(2), loss, LOSS, lw=2.5, shrinkA=2)
    ax.text(loss[0] + 0.05, loss[1] - 0.07, "$\\ell$", color=LOSS, fontsize=14, va="top")
    ax.plot(0, 0, "o", color=INK, ms=4)
    ax.set(xlim=(-1.5, 2.4), ylim=(-1.08, 1.52), aspect="equal")
    ax.axis("off")
    return fig


def running_mean(
    target: FloatArray, offset: float, directions: FloatArray, shown: int, size: float
) -> Figure:
    """Estimates 2 (offset + target·u) u of a vector in the plane, their mean, and how far it is off.

    Args:
        target: (2,) the vector looked for.
        offset: What the total has besides target·u, after the baseline.
        directions: (N, 2) all the draws.
        shown: How many of them to show.
        size: Half the width of the left panel.
    """
    estimates = 2 * (offset + directions @ target)[:, None] * directions
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.3, width_ratios=(1.1, 1))
    circle = np.linspace(0, 2 * np.pi, 241)
    u = np.column_stack([np.cos(circle), np.sin(circle)])
    left.plot(*(2 * (offset + u @ target)[:, None] * u).T, color=ESTIMATE, ls=":", lw=1.3)
    left.plot(*estimates[:shown].T, "s", color=ESTIMATE, ms=4, alpha=0.5, mec="none")
    left.plot(*target, "*", color=LOSS, ms=16, mec=INK, zorder=5)
    left.plot(*estimates[:shown].mean(axis=0), "X", color=ESTIMATE, ms=11, mec=INK, zorder=6)
    left.plot(0, 0, "o", color=INK, ms=4)
    left.set(xlim=(-size, size), ylim=(-size, size), aspect="equal")
    left.set_xticks([-4, -2, 0, 2, 4])
    left.set_yticks([-4, -2, 0, 2, 4])
    left.set_title("guesses, and their mean ✕", fontsize=11)

    means = np.cumsum(estimates, axis=0) / np.arange(1, len(directions) + 1)[:, None]
    error = np.linalg.norm(means - target, axis=1)
    # At places evenly spread on a logarithmic axis, or the frames are too heavy for the page.
    count = np.unique(np.append(np.geomspace(1, len(directions), 80).astype(int), [shown, len(directions)]))
    right.plot(count, error[count - 1], color=FAINT, lw=1.5)
    past = count[count <= shown]
    right.plot(past, error[past - 1], color=ESTIMATE)
    right.plot(shown, error[shown - 1], "X", color=ESTIMATE, ms=9, mec=INK)
    typical = np.sqrt(4 * offset**2 + target @ target)
    ends = count[[0, -1]]
    right.plot(ends, typical / np.sqrt(ends), color=BASELINE, ls="--", lw=1.3)
    right.set(xscale="log", yscale="log", xlim=(0.8, 1.4 * len(directions)), ylim=(0.01, 6), xlabel="draws")
    right.set_xticks([1, 10, 100], ["1", "10", "100"])
    right.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    right.minorticks_off()
    right.set_title("distance of ✕ from the star", fontsize=11)
    return fig


def every_policy(truth: FloatArray, estimate: FloatArray, played: float, chosen: int) -> Figure:
    """What many policies really pay, and what the estimated loss vector says of them.

    Args:
        truth: (N,) the expected totals.
        estimate: (N,) what is estimated; values out of the frame are drawn as triangles on its edge.
        played: The expected total of the point played.
        chosen: Which policy looks best.
    """
    fig: Figure
    fig, ax = axes(height=3.9)
    low, high = 0.9, 2.25
    floor, ceiling = 0.0, 3.2
    ax.plot([low, high], [low, high], color=BASELINE, ls="--", lw=1.3)
    shown = np.clip(estimate, floor, ceiling)
    for marker, these in (
        ("s", (estimate >= floor) & (estimate <= ceiling)),
        ("v", estimate < floor),
        ("^", estimate > ceiling),
    ):
        ax.plot(truth[these], shown[these], marker, color=ESTIMATE, ms=5, alpha=0.55, mec="none")
    best = int(truth.argmin())
    ax.plot(truth[chosen], shown[chosen], "o", ms=13, mfc="none", mec=INK, mew=1.8, zorder=5)
    ax.plot(truth[best], shown[best], "*", ms=14, color=BEST, zorder=5)
    ax.axvline(played, color=LEARNER, ls=":", lw=1.4)
    ax.text(played + 0.01, 0.12, "what she plays", color=LEARNER, fontsize=10.5)
    ax.set(xlim=(low, high), ylim=(floor - 0.18, ceiling + 0.18), xlabel="expected total of a policy")
    ax.set_yticks([0, 1, 2, 3])
    ax.set_ylabel("what the estimate says")
    return fig


def two_paths(shares: FloatArray, by_policy: FloatArray, by_occupancy: FloatArray) -> Figure:
    """The expected total on the way between two policies: mixing their probabilities, or their occupancies.

    Args:
        shares: (m,) of the way.
        by_policy: (m,) the expected totals when probabilities are mixed.
        by_occupancy: (m,) the same when occupancies are.
    """
    fig: Figure
    fig, ax = axes(height=2.9)
    ax.plot(shares, by_policy, color=BASELINE, ls="--")
    ax.plot(shares, by_occupancy, color=LEARNER)
    peak = int(by_policy.argmax())
    _label(ax, shares[peak], by_policy[peak], "mixing the probabilities $\\pi(a|s,h)$", BASELINE, 7)
    middle = len(shares) // 2
    _label(ax, shares[middle], by_occupancy[middle], "mixing the occupancies $x$", LEARNER, -17)
    ax.set(xlim=(0, 1), xlabel="share of the way from one policy to the other", ylabel="expected total")
    ax.margins(y=0.18)
    return fig


def _label(ax: Any, x: float, y: float, text: str, color: str, above: float) -> None:
    ax.annotate(
        text, (x, y), xytext=(0, above), textcoords="offset points", color=color, ha="center", weight="bold"
    )
