"""From what a drawing function returns to a piece of HTML, the same bytes every time."""

from __future__ import annotations

import base64
import html
import io
import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image, features

from aggbandit.figures._svg import NARROW, WIDE, svg
from aggbandit.figures.style import DPI, house_style

GRID = 17
"""Color channels of a raster are rounded to multiples of this: it shrinks by a third, edges stay smooth."""

SHADES = 64
"""Colors of a still copy."""

LIGHT = 10_000
"""Bytes, compressed, up to which a drawing is taken as it is; a heavier one is compared with its raster."""

_VARIABLE = re.compile(r"var\(--[\w-]+, *([^()]+)\)")


@dataclass(frozen=True)
class Frame:
    """One drawing, ready to be shown.

    Attributes:
        html: The drawing with its alternative text, as HTML.
        drawing: A matplotlib figure, or the SVG or HTML string that was drawn.
        alt: The alternative text.
        size: Width and height in pixels on a wide page; None for a string.
    """

    html: str
    drawing: Figure | str
    alt: str
    size: tuple[int, int] | None = None

    def still(self) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """The drawing in a format that every viewer of notebooks knows, and its metadata.

        A figure as PNG in at most 64 plain colors, since few viewers know WebP or variables in SVG; a string
        as what it is.
        """
        if isinstance(self.drawing, str):
            if _is_svg(self.drawing):
                return {"image/svg+xml": _VARIABLE.sub(r"\1", self.drawing)}, {}
            return {"text/html": self.html}, {}
        pixels = _pixels(self.drawing)
        # No dithering: it would sprinkle even areas with dots, and make the file larger.
        few = pixels.quantize(SHADES, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        data = base64.b64encode(_bytes(few, "PNG", optimize=True)).decode("ascii")
        # Drawn for dense screens: shown at the width that the page gives a frame.
        height = round(WIDE.width * pixels.height / pixels.width)
        return {"image/png": data}, {"image/png": {"alt": self.alt, "width": WIDE.width, "height": height}}


def render(drawing: Figure | str, alt: str) -> Frame:
    """One drawing as HTML with its alternative text.

    A matplotlib figure becomes SVG in the page's colors, once for wide pages and once for narrow ones, and is
    closed; where its pixels weigh less than its lines, it becomes an `<img>`. A string is taken for SVG or
    HTML; SVG gets the alternative text as its label.

    Args:
        drawing: A matplotlib figure, or a string of SVG or HTML.
        alt: What the drawing shows, in words.

    Returns:
        The frame.

    Raises:
        TypeError: for any other drawing.
        ValueError: for an empty alternative text.
    """
    if not alt.strip():
        raise ValueError("alt is empty; every picture must say in words what it shows")
    if isinstance(drawing, str):
        body = _labeled(drawing, alt) if _is_svg(drawing) else f'<div class="ab-frame">{drawing}</div>'
        return Frame(body, drawing, alt)
    if not isinstance(drawing, Figure):
        raise TypeError(
            f"draw returned {type(drawing).__name__}; it must return a matplotlib Figure or an SVG string"
        )
    plt.close(drawing)
    wide, high = drawing.get_size_inches()
    size = WIDE.width, round(WIDE.width * high / wide)
    with house_style():
        lines = svg(drawing, WIDE) + svg(drawing, NARROW)
    weight = len(zlib.compress(lines.encode()))
    if weight > LIGHT:
        kind, data = _encode(_pixels(drawing))
        if len(data) < weight:
            return Frame(_image(kind, data, size, alt), drawing, alt, size)
    return Frame(_labeled(lines, alt), drawing, alt, size)


def _labeled(lines: str, alt: str) -> str:
    """SVG under its alternative text."""
    return f'<div role="img" class="ab-frame" aria-label="{html.escape(alt)}">{lines}</div>'


def _image(kind: str, data: bytes, size: tuple[int, int], alt: str) -> str:
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return (
        f'<img class="ab-frame" width="{size[0]}" height="{size[1]}" decoding="sync" '
        f'alt="{html.escape(alt)}" src="{source}">'
    )


def caption_html(caption: str) -> str:
    r"""The caption with `$…$` turned into `\(…\)`, which the page and the notebook both typeset.

    Where the page puts panels one over the other, it reads "Above:" for "Left:" and "Below:" for "Right:".
    """
    if not caption.strip():
        raise ValueError("caption is empty; a figure's caption says what to take away from it")
    typeset = re.sub(r"\$([^$]+)\$", r"\\(\1\\)", " ".join(caption.split()))
    return re.sub(r"\b(Left|Right)(?=:)", lambda side: _side(side[0]), typeset)


def _side(beside: str) -> str:
    """Where a panel is: at one side or, where panels are stacked, above or below; the page shows one."""
    stacked = {"Left": "Above", "Right": "Below"}[beside]
    return (
        f'<span class="ab-beside">{beside}</span>'
        f'<span class="ab-stacked" style="display:none">{stacked}</span>'
    )


def plain_caption(caption: str) -> str:
    """The caption without mark-up, for text outputs."""
    return " ".join(re.sub(r"<[^>]+>", "", caption).split())


def _is_svg(drawing: str) -> bool:
    return drawing.lstrip().startswith("<svg")


def _pixels(figure: Figure) -> Image.Image:
    """The figure's pixels, their channels rounded to the grid."""
    buffer: Any = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="png", dpi=DPI)
    with Image.open(buffer) as image:
        exact = np.asarray(image.convert("RGB")).astype(np.int64)
    return Image.fromarray(((exact + GRID // 2) // GRID * GRID).astype(np.uint8))


def _encode(pixels: Image.Image) -> tuple[str, bytes]:
    if features.check("webp"):
        return "webp", _bytes(pixels, "WEBP", lossless=True, quality=100, method=4)
    return "png", _bytes(pixels, "PNG", optimize=True)  # the browser's kernel may carry a Pillow without WebP


def _bytes(pixels: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    pixels.save(out, kind, **options)
    return out.getvalue()
