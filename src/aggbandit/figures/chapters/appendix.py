"""Pictures of the appendix: chords, tangents, pairs of unit balls, shadows, sections and moving weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures import shapes
from aggbandit.figures.style import (
    BASELINE,
    BOUND,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    MASS_CMAP,
    PAPER,
    REGION,
    axes,
)

__all__ = ["chord_and_tangent", "dual_pair", "hedge", "norm_and_dual", "shadow_and_section"]

NORMS = ("sum", "largest", "round", "ellipse")
SHAPE = np.array([[2.0, 0.8], [0.8, 1.0]])
"""The matrix H of the norm called "ellipse", sqrt(v'Hv)."""


def chord_and_tangent(x: float, y: float) -> Figure:
    """A convex function, its chord between `x` and `y`, and its tangent at their middle."""
    grid = np.linspace(0.05, 3.2, 300)
    middle = (x + y) / 2
    fig: Figure
    fig, ax = axes(height=2.7)
    ax.plot(grid, _bowl(grid), color=INK)
    ax.plot([x, y], [_bowl(x), _bowl(y)], "o-", color=BOUND, lw=1.6)
    slope = middle - 1 / middle
    ax.plot(grid, _bowl(middle) + slope * (grid - middle), color=LEARNER, ls="--", lw=1.6)
    ax.plot(middle, _bowl(middle), "o", color=LEARNER)
    ax.plot([middle, middle], [_bowl(middle), (_bowl(x) + _bowl(y)) / 2], color=BASELINE, lw=1.2, ls=":")
    ax.text(0.2, 2.2, "$f$", color=INK)
    ax.text(0.9 * x + 0.1 * y, 0.9 * _bowl(x) + 0.1 * _bowl(y) + 0.25, "chord", color=BOUND)
    ax.text(0.25, _bowl(middle) + slope * (0.25 - middle) - 0.4, "tangent", color=LEARNER)
    ax.set(ylim=(-1.3, 4), xlim=(0, 3.3), xticks=[x, middle, y], yticks=[])
    ax.set_xticklabels(["$x$", "$(x+y)/2$", "$y$"])
    return fig


def _bowl(x: Any) -> Any:
    return 0.5 * x**2 - np.log(x)


def norm_and_dual(norm: str, loss: FloatArray) -> tuple[float, FloatArray]:
    """The dual norm of `loss` (2,), and a step of length one that attains it.

    `norm` is one of `NORMS`: "sum" and "largest" of absolute values, "round" (Euclidean) and "ellipse".
    """
    if norm == "sum":
        step = np.where(np.arange(2) == np.argmax(np.abs(loss)), np.sign(loss), 0.0)
    elif norm == "largest":
        step = np.where(loss >= 0, 1.0, -1.0)
    else:
        shape = np.eye(2) if norm == "round" else SHAPE
        step = np.linalg.solve(shape, loss)
        step = step / np.sqrt(step @ shape @ step)
    return float(loss @ step), np.asarray(step, dtype=np.float64)


def dual_pair(norm: str, degrees: float) -> Figure:
    """The unit ball of a norm with the step that a loss vector likes least, and the ball of the dual norm.

    `norm` is one of `NORMS`; the loss vector of Euclidean length one has the angle `degrees`.
    """
    angle = np.radians(degrees)
    loss = np.array([np.cos(angle), np.sin(angle)])
    size, step = norm_and_dual(norm, loss)
    around = np.radians(np.arange(361))
    rays = np.column_stack([np.cos(around), np.sin(around)])
    dual = rays / np.array([norm_and_dual(norm, ray)[0] for ray in rays])[:, None]
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.3)
    left.fill(*_ball(norm).T, fc=REGION, ec=LEARNER, alpha=0.5)
    across = np.array([-loss[1], loss[0]])
    left.plot(*np.array([step - 4 * across, step + 4 * across]).T, color=LOSS, ls="--", lw=1.3)
    shapes.arrow(left, np.zeros(2), loss, LOSS)
    left.plot(*step, "o", color=LEARNER)
    left.set_title("steps: $\\|v\\|\\leq1$")
    right.fill(*dual.T, fc="#FFCC99", ec=LOSS, alpha=0.6)
    shapes.arrow(right, np.zeros(2), loss, LOSS)
    right.plot(*(loss / size), "o", color=LOSS)
    right.set_title(f"losses: $\\|\\ell\\|^\\star\\leq1$;  here {size:.2f}")
    for ax in (left, right):
        ax.axhline(0, color=FAINT, lw=1, zorder=0)
        ax.axvline(0, color=FAINT, lw=1, zorder=0)
        ax.set(xlim=(-1.75, 1.75), ylim=(-1.75, 1.75), aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    return fig


def _ball(norm: str) -> FloatArray:
    if norm == "sum":
        return np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    if norm == "largest":
        return np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    around = np.radians(np.arange(361))
    circle = np.column_stack([np.cos(around), np.sin(around)])
    if norm == "round":
        return circle
    return np.asarray(circle @ np.linalg.inv(np.linalg.cholesky(SHAPE)), dtype=np.float64)


def shadow_and_section(matrix: FloatArray) -> Figure:
    """The ellipse {w : w'Hw <= 1} for a `matrix` H (2, 2), its section with the axis and its shadow on it."""
    around = np.radians(np.arange(361))
    circle = np.column_stack([np.cos(around), np.sin(around)])
    outline = circle @ np.linalg.inv(np.linalg.cholesky(matrix))
    section = 1 / np.sqrt(matrix[0, 0])
    shadow = 1 / np.sqrt(matrix[0, 0] - matrix[0, 1] ** 2 / matrix[1, 1])
    fig: Figure
    fig, ax = axes(height=2.9)
    ax.fill(*outline.T, fc=REGION, ec=LEARNER, alpha=0.5)
    ax.axhline(0, color=FAINT, lw=1, zorder=0)
    ax.plot([-section, section], [0, 0], color=LEARNER, lw=4)
    floor = outline[:, 1].min() - 0.25
    ax.plot([-shadow, shadow], [floor, floor], color=BASELINE, lw=4)
    for side in (-1, 1):
        touch = -matrix[0, 1] / matrix[1, 1] * side * shadow
        ax.plot([side * shadow] * 2, [floor, touch], color=BASELINE, ls=":", lw=1.3)
    ax.text(0, 0.1, "section", color=LEARNER, ha="center")
    ax.text(0, floor + 0.09, "shadow", color=INK, ha="center")
    ax.set(xlim=(-1.9, 1.9), ylim=(floor - 0.15, outline[:, 1].max() + 0.1), aspect="equal")
    ax.axis("off")
    return fig


def hedge(weights: FloatArray, regret: FloatArray, bound: float) -> Figure:
    """The weights of Hedge as bands over the rounds, and its regret.

    `weights` has shape (T, N), `regret` (T,); the `bound` holds after the last round.
    """
    rounds = np.arange(1, len(regret) + 1)
    fig: Figure
    fig, (left, right) = axes(1, 2, height=3.1)
    shades = MASS_CMAP(np.linspace(0.15, 0.75, weights.shape[1]))
    edges = np.hstack([np.zeros((len(rounds), 1)), np.cumsum(weights, axis=1)])
    for i in range(weights.shape[1]):
        left.fill_between(rounds, edges[:, i], edges[:, i + 1], color=shades[i], lw=0)
        share, middle = (
            np.convolve(curve, np.full(9, 1 / 9), mode="valid")
            for curve in (weights[:, i], (edges[:, i] + edges[:, i + 1]) / 2)
        )
        widest = int(np.argmax(share))
        if share[widest] > 0.12:
            color = INK if i < weights.shape[1] - 1 else PAPER
            left.text(widest + 5, middle[widest], f"{i + 1}", ha="center", va="center", color=color)
    left.set(xlim=(1, len(rounds)), ylim=(0, 1), xlabel="round", title="weights")
    right.plot(rounds, regret, color=LEARNER)
    right.axhline(bound, color=BOUND, ls="--")
    right.axhline(0, color=FAINT, lw=1)
    right.set(xlim=(1, len(rounds)), ylim=(-44, 58), xlabel="round", title="regret")
    return fig
