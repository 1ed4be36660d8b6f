"""Pictures of chapter 11: a shadow and a section, a sampler that leaves the set, matrices, costs, digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aggbandit._arrays import FloatArray
from aggbandit.figures.style import BASELINE, BOUND, INK, LEARNER, MASS_CMAP, PAPER, REGION, WALL, axes

__all__ = [
    "costs",
    "digits",
    "lifted",
    "lifted_hessian",
    "lowest",
    "matrices",
    "multiplications",
    "sampler",
]


# --- one wall, lifted: |r| <= t <= rho ----------------------------------------------------------------------


def lifted(r: float, t: float) -> dict[str, Any]:
    """The dragged figure of a point of the triangle |r| <= t <= 1, all but its caption (`lifted.js`).

    Args:
        r: Where it opens on.
        t: The height it opens on, more than |r|.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    low, shadow, section, minimized = (
        f"{value + 1e-9:.2f} ρ" for value in (lowest(r, 1.0), *_widths(r, t), _widths(r, lowest(r, 1.0))[0])
    )
    return {
        "data": {"rho": 1.0},
        "start": {"r": r, "t": t},
        "still": _lifted(r, t),
        "alt": f"r is {r + 1e-9:.2f} ρ, the height t is {t + 1e-9:.2f} ρ. The ellipse's shadow reaches "
        f"±{shadow} around r, its section at that height ±{section}. With t minimized out, at {low}, the "
        f"interval is ±{minimized}. All three stay between −ρ and ρ.",
    }


def lowest(r: float, rho: float) -> float:
    """The height at which the barrier of one lifted wall is least.

    The t of `-log(t² - r²) - log(rho - t)` is `sigma + sqrt(sigma² + r²)`, where
    `2 sigma + sqrt(sigma² + r²) = rho`, a quadratic equation.

    Args:
        r: Where, less than `rho` in size.
        rho: The height of the triangle.

    Returns:
        The height.
    """
    sigma = (2 * rho - math.sqrt(rho**2 + 3 * r**2)) / 3
    return sigma + math.hypot(sigma, r)


def lifted_hessian(r: float, t: float, rho: float) -> FloatArray:
    """The Hessian of `-log(t² - r²) - log(rho - t)`.

    Args:
        r: Where, less than t in size.
        t: The height, less than `rho`.
        rho: The height of the triangle.

    Returns:
        (2, 2) second derivatives, r before t.
    """
    left, right, top = (t + r) ** -2, (t - r) ** -2, (rho - t) ** -2
    return np.array([[left + right, left - right], [left - right, left + right + top]])


def _widths(r: float, t: float) -> tuple[float, float]:
    """Half the widths of the Dikin ellipse's shadow on the axis of r and of its section at height t."""
    hessian = lifted_hessian(r, t, 1.0)
    return math.sqrt(np.linalg.inv(hessian)[0, 0]), 1 / math.sqrt(hessian[0, 0])


def _lifted(r: float, t: float) -> Figure:
    """The triangle, the ellipse at (r, t) and the one at the lowest height; below, what they give for r."""
    fig: Figure
    fig, ax = axes(height=4.0)
    ax.fill([0, -1, 1], [0, 1, 1], fc="none", ec=WALL, lw=1.8)
    grid = np.linspace(-0.999, 0.999, 81)
    low = lowest(r, 1.0)
    ax.plot(grid, [lowest(v, 1.0) for v in grid], color=INK, lw=1.1, ls="--")
    ax.text(-0.45, lowest(0.45, 1.0) - 0.03, "$t^\\star(r)$", color=INK, ha="center", va="top")
    angle = np.linspace(0, 2 * np.pi, 91)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    rings = [np.linalg.solve(np.linalg.cholesky(lifted_hessian(r, v, 1.0)).T, circle) for v in (low, t)]
    ax.plot(r + rings[0][0], low + rings[0][1], color=INK, lw=1.1, ls="--")
    ax.plot(r, low, "o", mfc=PAPER, color=INK, ms=5)
    ax.fill(r + rings[1][0], t + rings[1][1], fc=REGION, ec=LEARNER, lw=1.4, alpha=0.7)
    shadow, section = _widths(r, t)
    ax.plot([r - section, r + section], [t, t], color=BASELINE, lw=2.2)
    ax.plot(r, t, "o", color=LEARNER)
    bars = (
        (-0.12, shadow, "shadow", LEARNER),
        (-0.24, section, "section", BASELINE),
        (-0.36, _widths(r, low)[0], "minimized", INK),
    )
    for height, width, name, color in bars:
        ax.plot([r - width, r + width], [height, height], color=color, lw=5, solid_capstyle="butt")
        ax.text(-1.07, height, name, color=color, ha="right", va="center")
        ax.text(1.07, height, f"±{width + 1e-9:.2f} ρ", color=color, ha="left", va="center")
    for side in (-1, 1):
        ax.plot([side, side], [-0.42, 1], color=WALL, lw=0.8, ls=":")
    for place, name in (((-0.56, 0.46), "$t=-r$"), ((0.56, 0.46), "$t=r$"), ((0, 1.02), "$t=\\rho$")):
        ax.text(*place, name, color=WALL, ha=("right", "center", "left")[1 + int(np.sign(place[0]))])
    ax.set(xlim=(-1.42, 1.42), ylim=(-0.42, 1.1), xlabel="$r$")
    ax.set_xticks([-1, 0, 1], ["$-\\rho$", "0", "$\\rho$"])
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.tick_params(length=0)
    return fig


# --- the rest -----------------------------------------------------------------------------------------------


def sampler(nights: Sequence[int], outside: FloatArray, length: FloatArray) -> Figure:
    """How often the printed sampler leaves the set, and how long its steps are, after so many `nights`.

    `outside` (k,) shares of samples outside the set; `length` (k,) the mean local norm of a step, 1 if right.
    """
    fig: Figure
    fig, (share, norm) = axes(1, 2, height=2.7)
    at = np.arange(len(nights))
    labels = [f"{night:,}" for night in nights]
    share.bar(at, outside, color=WALL, width=0.6)
    for place, value in zip(at, outside, strict=True):
        share.text(place, value + 0.02, f"{value:.0%}", ha="center", va="bottom", fontsize=10)
    share.set(ylim=(0, 1.12), title="outside the set")
    share.set_yticks([0, 0.5, 1])
    norm.axhline(1, color=LEARNER, lw=1.4, ls="--")
    norm.plot(at, length, "o-", color=WALL)
    norm.set(yscale="log", ylim=(0.45, 200), title="mean length of a step")
    norm.text(-0.35, 0.85, "should be 1", color=LEARNER, ha="left", va="top", fontsize=10)
    for ax in (share, norm):
        ax.set_xticks(at, labels, rotation=45, ha="right", fontsize=9.5)
        ax.set(xlim=(-0.5, len(nights) - 0.4), xlabel="nights driven")
    return fig


def matrices(parts: Mapping[str, FloatArray]) -> Figure:
    """Where matrices have entries: a panel each, to one scale, and the last once more, magnified.

    `parts`: a title for every square matrix, the smallest last. Dark is where an entry is not zero.
    """
    fig: Figure
    sizes = [len(matrix) for matrix in parts.values()]
    tall = max(sizes)
    magnified = max(sizes[-1], round(0.6 * tall))
    fig, panels = axes(1, len(parts), height=3.3, width_ratios=[*sizes[:-1], magnified])
    for ax, (title, matrix), size in zip(panels, parts.items(), sizes, strict=True):
        full = np.abs(matrix) > 1e-13 * np.abs(matrix).max()
        boxes = [(0, 0, size)]
        if size == sizes[-1]:
            boxes.append((0, tall - magnified, magnified))
        for left, top, width in boxes:
            ax.imshow(
                full,
                extent=(left, left + width, top + width, top),
                cmap=MASS_CMAP,
                vmin=0,
                vmax=1.5,
            )
            right, low = left + width, top + width
            corners = ((left, right, right, left, left), (top, top, low, low, top))
            ax.plot(*corners, color=INK, lw=0.8)
        if len(boxes) > 1:
            words = f"× {magnified / size:.1f}"
            ax.text(size + 0.05 * tall, size / 2, words, color=INK, ha="left", va="center", fontsize=10.5)
            ax.plot([0, 0], [size, tall - magnified], color=BASELINE, lw=0.8, ls=":")
            ax.plot([size, magnified], [size, tall - magnified], color=BASELINE, lw=0.8, ls=":")
        ax.set_title(title, fontsize=11.5)
        ax.set(xlim=(-0.02 * tall, (magnified if len(boxes) > 1 else size) + 0.02 * tall))
        ax.set_ylim(1.02 * tall, -0.02 * tall)
        ax.set_xlabel(f"{size} rows\n{full.mean():.0%} filled", fontsize=10.5)
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_visible(False)
    return fig


def multiplications(H: int, S: float, A: int) -> dict[str, float]:
    """How many multiplications one factorization takes, to leading order, the dearest way first.

    Args:
        H: Steps of an episode, at least 2.
        S: States.
        A: Actions.

    Returns:
        A count by way: `dense` on a basis, `blocks` one by one, `rank three` beside a diagonal.

    Example:
        >>> print({way: f"{count:.0e}" for way, count in multiplications(10, 20, 4).items()})
        {'dense': '5e+11', 'blocks': '3e+06', 'rank three': '7e+05'}
    """
    cells = A * (1 + (H - 1) * S)
    flow = (H - 1) * S**3 * 7 / 6
    n = cells * S - 1 - (H - 1) * S
    return {
        "dense": n**3 / 6,
        "blocks": cells * S**3 / 2 + flow,
        "rank three": cells * (13 * S + 1.5 * S**2) + flow,
    }


def costs(H: int, S: int, A: int) -> dict[str, Any]:
    """The dragged figure of these counts, all but its caption (`multiplications.js`).

    Args:
        H: The steps that it opens on.
        S: The states.
        A: The actions.

    Returns:
        `data`, `start`, `still` and `alt` of `figures.draggable`.
    """
    dense, blocks, three = multiplications(H, S, A).values()
    around = [multiplications(H, S * np.exp(way), A).values() for way in (-1e-4, 1e-4)]
    slopes = [math.log(right / left) / 2e-4 for left, right in zip(*around, strict=True)]
    return {
        "data": {},
        "start": {"S": S, "H": H, "A": A},
        "still": _costs(H, S, A),
        "alt": f"{H} steps, {A} {'actions' if A > 1 else 'action'}, {S} states. A dense factorization takes "
        f"{_told(dense)} multiplications, block by block {_told(blocks)}, with rank three {_told(three)}: "
        f"{'fewer' if three < blocks else 'more'} than the blocks. The slopes are "
        f"{', '.join(f'{slope + 1e-9:.1f}' for slope in slopes)}.",
    }


def _told(value: float) -> str:
    """A number as 1.2·10³."""
    exponent = math.floor(math.log10(value) + 1e-12)
    raised = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10**exponent + 1e-9:.1f}·10{raised}"


def _costs(H: int, S: int, A: int) -> Figure:
    """Multiplications of one factorization against the number of states, a curve a way."""
    fig: Figure
    fig, ax = axes(height=4.0)
    states = np.unique(np.geomspace(2, 40, 20).round().astype(int))
    table = [multiplications(H, int(s), A) for s in states]
    looks = ((BASELINE, ":"), (BASELINE, "--"), (LEARNER, "-"))
    for (name, here), (color, dash) in zip(multiplications(H, S, A).items(), looks, strict=True):
        ax.plot(states, [row[name] for row in table], color=color, ls=dash)
        ax.plot(S, here, "o", color=color)
        ax.text(43, table[-1][name], name, color=color, va="center")
    ax.axvline(S, color=BASELINE, lw=0.8, ls=":")
    ax.set(xscale="log", yscale="log", xlim=(1.9, 110), ylim=(1, 1e17), xlabel="states $|S|$")
    ax.set(ylabel="multiplications", title=f"$H={H}$, $|A|={A}$")
    ax.set_xticks([2, 5, 10, 20, 40], ["2", "5", "10", "20", "40"])
    ax.set_xticks([], minor=True)
    ax.set_yticks([1e2, 1e6, 1e10, 1e14])
    return fig


def digits(
    distances: FloatArray, sizes: Mapping[str, FloatArray], errors: Mapping[str, FloatArray], here: int
) -> Figure:
    """Near a wall: how large the parts of a block are, and how wrong its inverse is.

    `distances` (k,) to the wall, relative to the radius; `sizes` (k,) of each part of the block; `errors`
    (k,) of each way to invert it; `here` is the index of the distance that is singled out.
    """
    fig: Figure
    fig, (parts, lost) = axes(1, 2, height=3.1)
    colors = (BASELINE, (WALL, 0.5), WALL)
    for row, ((name, size), color) in enumerate(zip(sizes.items(), colors, strict=True)):
        exponent = math.log10(size[here])
        parts.barh(-row, exponent, height=0.55, color=color)
        parts.text(0.2, -row + 0.34, name, ha="left", va="bottom", fontsize=10.5)
    limit = math.log10(sizes["diagonal"][here]) + 16
    words = "$10^{16}$ times\nthe diagonal"
    parts.axvline(limit, color=BOUND, lw=1.4, ls="--")
    parts.text(limit - 0.4, -2.62, words, color=BOUND, ha="right", va="center", fontsize=9.5)
    parts.set(xlim=(0, 21.5), ylim=(-3.0, 0.85), xlabel="largest entry")
    parts.set_xticks([0, 8, 16], ["1", "$10^{8}$", "$10^{16}$"])
    parts.set_yticks([])
    for (name, error), color, marker in zip(errors.items(), (BASELINE, LEARNER), ("s", "o"), strict=True):
        lost.plot(distances, error, marker=marker, ms=4, color=color, lw=1.4)
        lost.plot(distances[here], error[here], marker, ms=10, color=color)
        lost.text(
            distances[-1] * 2e-2, error[-1] * 6, name, color=color, ha="right", va="bottom", fontsize=10.5
        )
    lost.set(xscale="log", yscale="log", xlim=(0.4, distances[-1] / 60), ylim=(1e-17, 400))
    lost.set(xlabel="distance to the wall", ylabel="relative error")
    lost.set_yticks([1e-16, 1e-8, 1])
    lost.set_xticks([1e-1, 1e-4, 1e-7])
    return fig
