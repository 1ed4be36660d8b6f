"""From what a drawing function returns to a piece of HTML, the same bytes every time."""

from __future__ import annotations

import base64
import html
import io
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image, features

from aggbandit.figures.style import DPI

GRID = 17
"""Color channels are rounded to multiples of this: edges stay smooth, a frame shrinks by a third."""

SHADES = 64
"""Colors of a still copy."""


@dataclass(frozen=True)
class Frame:
    """One drawing, ready to be shown.

    Attributes:
        html: The drawing with its alternative text, as HTML.
        drawing: The pixels of a matplotlib figure, or the SVG or HTML string that was drawn.
        alt: The alternative text.
    """

    html: str
    drawing: Image.Image | str
    alt: str

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels; None for a string."""
        return None if isinstance(self.drawing, str) else self.drawing.size

    def still(self) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """The drawing in a format that every viewer of notebooks knows, and its metadata.

        PNG in at most 64 colors for pixels, since few viewers know WebP; a string as what it is.
        """
        if isinstance(self.drawing, str):
            if _is_svg(self.drawing):
                return {"image/svg+xml": self.drawing}, {}
            return {"text/html": self.html}, {}
        width, height = self.drawing.size
        # No dithering: it would sprinkle even areas with dots, and make the file larger.
        few = self.drawing.quantize(SHADES, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        data = base64.b64encode(_bytes(few, "PNG", optimize=True)).decode("ascii")
        # Drawn for dense screens: shown at the width that the page gives a frame.
        shown = {"alt": self.alt, "width": 640, "height": round(640 * height / width)}
        return {"image/png": data}, {"image/png": shown}


def render(drawing: Figure | str, alt: str) -> Frame:
    """One drawing as HTML with its alternative text.

    A matplotlib figure becomes an `<img>` with its bytes inside, and is closed. A string is taken for
    SVG or HTML; SVG gets the alternative text as its label.

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
        if _is_svg(drawing):
            label = html.escape(alt)
            body = f'<div role="img" class="ab-frame" aria-label="{label}">{drawing}</div>'
        else:
            body = f'<div class="ab-frame">{drawing}</div>'
        return Frame(body, drawing, alt)
    if not isinstance(drawing, Figure):
        raise TypeError(
            f"draw returned {type(drawing).__name__}; it must return a matplotlib Figure or an SVG string"
        )
    pixels = _pixels(drawing)
    kind, data = _encode(pixels)
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    image = (
        f'<img class="ab-frame" width="{pixels.width}" height="{pixels.height}" decoding="sync" '
        f'alt="{html.escape(alt)}" src="{source}">'
    )
    return Frame(image, pixels, alt)


def caption_html(caption: str) -> str:
    r"""The caption with `$…$` turned into `\(…\)`, which the page and the notebook both typeset."""
    if not caption.strip():
        raise ValueError("caption is empty; a figure's caption says what to take away from it")
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", " ".join(caption.split()))


def plain_caption(caption: str) -> str:
    """The caption without mark-up, for text outputs."""
    return " ".join(re.sub(r"<[^>]+>", "", caption).split())


def _is_svg(drawing: str) -> bool:
    return drawing.lstrip().startswith("<svg")


def _pixels(figure: Figure) -> Image.Image:
    """The figure's pixels, their channels rounded to the grid; the figure is closed."""
    buffer: Any = io.BytesIO()
    try:
        figure.savefig(buffer, format="png", dpi=DPI)
    finally:
        plt.close(figure)
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
