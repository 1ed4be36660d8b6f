"""Figures of the book: the house style, still pictures, and figures that move.

Four names are all a chapter needs::

    from aggbandit import figures

    fig, ax = figures.axes(height=2.8)                           # a figure of the house's width and style
    figures.picture(fig, caption="…", alt="…")                   # a still one, shown with its words
    figures.explorable(draw, p=[0, 0.5, 1], caption="…", alt="…")   # one that moves, with no kernel
    figures.draggable("direction", data, start=…, still=…, caption="…", alt="…")   # one that is dragged

and colors that mean the same everywhere: `figures.LEARNER`, `figures.BEST`, `figures.LOSS` and so on
(`aggbandit.figures.style`). Nothing in this package is imported by the algorithms.
"""

from aggbandit.figures import _needs  # noqa: F401  (first: it names what is missing)
from aggbandit.figures.draggable import Draggable, draggable
from aggbandit.figures.explorable import Explorable, explorable
from aggbandit.figures.picture import Picture, picture
from aggbandit.figures.style import (
    BASELINE,
    BEST,
    BOUND,
    DASHES,
    DPI,
    ESTIMATE,
    FAINT,
    INK,
    LEARNER,
    LOSS,
    LOSS_CMAP,
    MARKERS,
    MASS_CMAP,
    PAPER,
    REGION,
    STYLE,
    WALL,
    WIDTH,
    axes,
    house_style,
    use_style,
)

__all__ = [
    "BASELINE",
    "BEST",
    "BOUND",
    "DASHES",
    "DPI",
    "ESTIMATE",
    "FAINT",
    "INK",
    "LEARNER",
    "LOSS",
    "LOSS_CMAP",
    "MARKERS",
    "MASS_CMAP",
    "PAPER",
    "REGION",
    "STYLE",
    "WALL",
    "WIDTH",
    "Draggable",
    "Explorable",
    "Picture",
    "axes",
    "draggable",
    "explorable",
    "house_style",
    "picture",
    "use_style",
]
