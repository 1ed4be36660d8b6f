"""From what a drawing function returns to a piece of HTML, the same bytes every time."""

from __future__ import annotations

import base64
import html
import io
import re
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image, features

from aggbandit.figures.style import DPI

GRID = 17
"""Colour channels are rounded to multiples of this: edges stay smooth, a frame shrinks by a third."""


def markup(drawing: Figure | str, alt: str) -> tuple[str, tuple[int, int] | None]:
    """HTML of one drawing with its alternative text, and its size in pixels (None for a string).

    A matplotlib figure becomes an ``<img>`` with its bytes inside, and is closed. A string is taken for
    SVG or HTML; SVG gets the alternative text as its label.
    Raises `TypeError` for anything else and `ValueError` for an empty alternative text.
    """
    if not alt.strip():
        raise ValueError("alt is empty; every picture must say in words what it shows")
    if isinstance(drawing, str):
        if drawing.lstrip().startswith("<svg"):
            return f'<div role="img" class="ab-frame" aria-label="{html.escape(alt)}">{drawing}</div>', None
        return f'<div class="ab-frame">{drawing}</div>', None
    if not isinstance(drawing, Figure):
        raise TypeError(
            f"draw returned {type(drawing).__name__}; it must return a matplotlib Figure or an SVG string"
        )
    kind, data, (width, height) = _encode(drawing)
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    image = (
        f'<img class="ab-frame" width="{width}" height="{height}" decoding="sync" '
        f'alt="{html.escape(alt)}" src="{source}">'
    )
    return image, (width, height)


def caption_html(caption: str) -> str:
    r"""The caption with ``$…$`` turned into ``\(…\)``, which the page and the notebook both typeset."""
    if not caption.strip():
        raise ValueError("caption is empty; a figure's caption says what to take away from it")
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", " ".join(caption.split()))


def plain_caption(caption: str) -> str:
    """The caption without mark-up, for text outputs."""
    return " ".join(re.sub(r"<[^>]+>", "", caption).split())


def _encode(figure: Figure) -> tuple[str, bytes, tuple[int, int]]:
    buffer: Any = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    plt.close(figure)
    with Image.open(buffer) as image:
        pixels = np.asarray(image.convert("RGB")).astype(np.int64)
    rounded = Image.fromarray(((pixels + GRID // 2) // GRID * GRID).astype(np.uint8))
    out = io.BytesIO()
    if features.check("webp"):
        rounded.save(out, "WEBP", lossless=True, quality=100, method=4)
        return "webp", out.getvalue(), rounded.size
    rounded.save(out, "PNG", optimize=True)  # the browser's kernel may carry a Pillow without WebP
    return "png", out.getvalue(), rounded.size
