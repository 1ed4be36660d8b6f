"""Shapes that several chapters draw: walls, a triangle of distributions, a cube, arrows, a view from 3D."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.figures.style import BASELINE, WALL

TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where three pure choices lie: a distribution p over them is drawn at `p @ TRIANGLE`."""


def closed(corners: FloatArray) -> FloatArray:
    """A polygon's corners with the first one repeated at the end.

    Args:
        corners: (m, d), in order.

    Returns:
        (m + 1, d), a closed line.
    """
    return np.vstack([corners, corners[:1]])


def circle(points: int) -> FloatArray:
    """The unit circle as a closed line.

    Args:
        points: How many, the last one being the first again.

    Returns:
        (points, 2).
    """
    angle = np.linspace(0, 2 * np.pi, points)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def bare(ax: Any) -> None:
    """Take away the frame, the ticks and their labels, and let both axes have one scale.

    Args:
        ax: The axes.
    """
    ax.set(aspect="equal")
    ax.axis("off")


def walls(ax: Any, corners: FloatArray, *, color: str = WALL, lw: float = 2.2, zorder: float = 3) -> None:
    """The edge of a convex set in the plane.

    Args:
        ax: The axes.
        corners: (m, 2), in order.
        color: Red, since it may not be crossed, unless it is something else.
        lw: Width of the line.
        zorder: What is drawn over what.
    """
    ax.plot(*closed(corners).T, color=color, lw=lw, solid_joinstyle="miter", zorder=zorder)


def triangle(ax: Any, names: Sequence[str], *, zorder: float = 3) -> None:
    """The set of all distributions over three choices, with a name at each corner.

    Args:
        ax: The axes.
        names: Three, left, right and top.
        zorder: What is drawn over what.
    """
    walls(ax, TRIANGLE, zorder=zorder)
    places = (("right", "top", -0.03), ("left", "top", -0.03), ("center", "bottom", 0.02))
    for (x, y), name, (across, upright, shift) in zip(TRIANGLE, names, places, strict=True):
        ax.text(x, y + shift, name, ha=across, va=upright, fontsize=11)
    bare(ax)


def arrow(ax: Any, start: FloatArray, end: FloatArray, color: str, **style: Any) -> None:
    """An arrow from one point to another.

    Args:
        ax: The axes.
        start: (2,) its foot.
        end: (2,) its tip.
        color: Of line and head.
        **style: What differs: `lw`, `ls`, `shrinkA` and `shrinkB` (gaps at foot and tip), `zorder`.
    """
    order = {"zorder": style.pop("zorder")} if "zorder" in style else {}
    look = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0} | style
    ax.annotate("", end, xytext=start, arrowprops=look, **order)


def view(azimuth: float, elevation: float) -> FloatArray:
    """The page's two directions in three dimensions, without perspective.

    Args:
        azimuth: Degrees around the vertical.
        elevation: Degrees above the horizon.

    Returns:
        (2, 3): a point p is drawn at `view @ p`.
    """
    a, e = np.radians(azimuth), np.radians(elevation)
    return np.array(
        [
            [-np.sin(a), np.cos(a), 0.0],
            [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)],
        ]
    )


def cube(ax: Any, seen: FloatArray, *, front: float = 1) -> None:
    """The edges of the cube [0, 1]^3; those behind are dotted.

    Args:
        ax: The axes.
        seen: (2, 3) from where, as `view` says it.
        front: The order in which the edges in front are drawn; those behind come first.
    """
    corners = np.array(list(np.ndindex(2, 2, 2)), dtype=np.float64)
    for p, q in itertools.combinations(corners, 2):
        if np.abs(p - q).sum() == 1:
            hidden = not (p.any() and q.any())
            look: dict[str, Any] = {"lw": 1.0, "ls": ":"} if hidden else {"lw": 1.4, "ls": "-"}
            line = np.array([p, q]) @ seen.T
            ax.plot(*line.T, color=BASELINE, zorder=1 if hidden else front, **look)
