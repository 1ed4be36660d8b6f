"""Pictures written as SVG by hand: light, sharp, in the page's own letters and colors.

A drawing is a list of strings, made by the functions below or by hand, that `document` puts into a frame.
Lengths are in units of a picture 640 wide. On the narrowest pages a unit is little more than half a pixel, so
words are at least 21 units high.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.figures.style import INK, css

WIDTH = 640
"""Units from left to right."""

WORDS = 21
"""Height of letters that can be read on a phone."""


def document(parts: Sequence[str], height: float) -> str:
    """A picture of its parts; the house's colors in it become those of the page.

    Args:
        parts: SVG elements, colors as `#RRGGBB`.
        height: Units from top to bottom; the width is `WIDTH`.

    Returns:
        SVG.

    Example:
        >>> from aggbandit.figures.style import LEARNER
        >>> svg = document([polyline([[0, 0], [9, 5]], LEARNER)], 10)
        >>> svg[svg.index("stroke=") : -8]
        'stroke="var(--ab-learner,#07b)" stroke-width="3"'
    """
    body = re.sub(r"#[0-9A-Fa-f]{6}\b", lambda found: css(found.group()), "".join(parts))
    return (
        f'<svg viewBox="0 0 {WIDTH} {number(height)}" xmlns="http://www.w3.org/2000/svg" '
        f'fill="none" text-anchor="middle" font-size="{WORDS}" '
        f'style="display:block;width:100%;max-width:{WIDTH}px;margin:0 auto;color:{css(INK)};'
        f'font-family:var(--ab-sans,sans-serif)">{body}</svg>'
    )


def words(
    along: float,
    down: float,
    text: str,
    color: str = "currentColor",
    anchor: str = "middle",
    *,
    size: float = WORDS,
    weight: int = 400,
) -> str:
    """A line of text.

    Args:
        along: Where its anchor is, from the left.
        down: Its baseline, from the top.
        text: The words; they are escaped.
        color: Of the letters.
        anchor: `start`, `middle` or `end`.
        size: Height of the letters.
        weight: 400 is plain, 700 bold.

    Returns:
        SVG.
    """
    look = f' fill="{color}"'
    if anchor != "middle":
        look += f' text-anchor="{anchor}"'
    if size != WORDS:
        look += f' font-size="{number(size)}"'
    if weight != 400:
        look += f' font-weight="{weight}"'
    return f'<text x="{number(along)}" y="{number(down)}"{look}>{escape(text)}</text>'


def polyline(
    points: FloatArray | Sequence[Sequence[float]], color: str, *, width: float = 3, dash: str = ""
) -> str:
    """A line through points.

    Args:
        points: (m, 2), from the left and from the top.
        color: Of the line.
        width: Of the line.
        dash: Lengths of dashes and gaps, as SVG takes them; nothing for a line without gaps.

    Returns:
        SVG.
    """
    run = " ".join(f"{number(x)},{number(y)}" for x, y in np.asarray(points, dtype=np.float64))
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{run}" stroke="{color}" stroke-width="{number(width)}"{dashed}/>'


def grid(lines: Sequence[FloatArray | Sequence[Sequence[float]]], color: str, *, width: float = 1) -> str:
    """Several lines of one look as one element.

    Args:
        lines: Each (m, 2), from the left and from the top.
        color: Of the lines.
        width: Of the lines.

    Returns:
        SVG.
    """
    runs = ("M" + "L".join(f"{number(x)} {number(y)}" for x, y in line) for line in lines)
    return f'<path d="{"".join(runs)}" stroke="{color}" stroke-width="{number(width)}"/>'


def polygon(
    points: FloatArray | Sequence[Sequence[float]],
    fill: str,
    *,
    opacity: float = 1.0,
    edge: str = "none",
    width: float = 2,
) -> str:
    """A filled polygon.

    Args:
        points: (m, 2) its corners in order, from the left and from the top.
        fill: Color inside, or `none`.
        opacity: Of the inside.
        edge: Color of the edge, or `none`.
        width: Of the edge.

    Returns:
        SVG.
    """
    run = " ".join(f"{number(x)},{number(y)}" for x, y in np.asarray(points, dtype=np.float64))
    return (
        f'<polygon points="{run}" fill="{fill}" fill-opacity="{opacity:g}" stroke="{edge}" '
        f'stroke-width="{number(width)}"/>'
    )


def box(
    along: float,
    down: float,
    width: float,
    height: float,
    fill: str,
    *,
    edge: str = "none",
    line: float = 2,
) -> str:
    """A rectangle.

    Args:
        along: Its left side.
        down: Its upper side.
        width: From left to right.
        height: From top to bottom.
        fill: Color inside, or `none`.
        edge: Color of the edge, or `none`.
        line: Width of the edge.

    Returns:
        SVG.
    """
    drawn = "" if edge == "none" else f' stroke="{edge}" stroke-width="{number(line)}"'
    return (
        f'<rect x="{number(along)}" y="{number(down)}" width="{number(width)}" height="{number(height)}" '
        f'fill="{fill}"{drawn}/>'
    )


def dot(along: float, down: float, color: str, *, radius: float = 5) -> str:
    """A filled circle.

    Args:
        along: Its center, from the left.
        down: Its center, from the top.
        color: Of the inside.
        radius: Of the circle.

    Returns:
        SVG.
    """
    return f'<circle cx="{number(along)}" cy="{number(down)}" r="{number(radius)}" fill="{color}"/>'


def number(value: float) -> str:
    """A coordinate with one decimal, ties always upwards, so that rounding errors do not show.

    Args:
        value: The coordinate.

    Returns:
        At most one decimal.

    Example:
        >>> number(2.25), number(3.0)
        ('2.3', '3')
    """
    return f"{np.floor(10 * value + 0.5 + 1e-6) / 10:g}"


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights moved apart, as little as their order allows, so that labels there do not overlap.

    Args:
        heights: Where labels would like to be.
        gap: The least distance between two.

    Returns:
        Where they are put, in the order given.

    Example:
        >>> spread([10.0, 0.0, 11.0], 4)
        [8.5, 0.0, 12.5]
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []  # labels that touch: the first one's height, and how many they are
    for i in order:
        group = [float(heights[i]), 1.0]
        while groups and groups[-1][0] + groups[-1][1] * gap > group[0] + 1e-9:
            before = groups.pop()
            count = before[1] + group[1]
            # The middle of the merged labels is the mean of where they would like to be.
            middle = (
                before[1] * (before[0] + (before[1] - 1) * gap / 2)
                + group[1] * (group[0] + (group[1] - 1) * gap / 2)
            ) / count
            group = [middle - (count - 1) * gap / 2, count]
        groups.append(group)
    placed = [start + k * gap for start, count in groups for k in range(int(count))]
    result = [0.0] * len(placed)
    for i, height in zip(order, placed, strict=True):
        result[int(i)] = height
    return result
