"""The house style: one look, one color and one meaning for each quantity, in every chapter.

Pictures are drawn in the colors of a light page, and every color that has a name here is written into the
SVG as a variable with that color to fall back on: `var(--ab-learner,#07b)`. The book's `css/figures.css`
gives each variable a value for the light page and one for the dark page (`DARK`), chosen for it; nothing is
inverted. Where no page sets the variables (a notebook, an export), the light colors are seen on white.

========== ============== ============ ================================================================
name       variable       color        means, in every figure of the book
========== ============== ============ ================================================================
INK        --ab-ink       near black   the world as it is: true dynamics, a trajectory that happened
LEARNER    --ab-learner   blue         what the learner plays: its policy, its iterate x, its regret
BEST       --ab-best      teal         what it is compared with: the best policy in hindsight, y*
LOSS       --ab-loss      orange       losses, totals on the meter
ESTIMATE   --ab-estimate  magenta      anything estimated: estimated losses, empirical dynamics
REGION     --ab-region    sky blue     a region, plausible or safe: Dikin ellipsoid, confidence set (a fill)
WALL       --ab-wall      red          a constraint: the edge of the set, what may not be crossed
BASELINE   --ab-baseline  gray         another algorithm, a reference line, the average
BOUND      --ab-bound     purple       a theorem's upper bound
QUIET      --ab-quiet     dark gray    axes and their ticks
FAINT      --ab-faint     light gray   grids, and what was there before
PAPER      --ab-card      white        the paper itself: halos, the inside of open markers
========== ============== ============ ================================================================

The colors stay apart under the common kinds of color blindness as far as ten colors can, and color is never
alone: give lines a label, a dash (`DASHES`) or a marker (`MARKERS`) too. Words have a contrast of at least
4.5 to 1 in every color but REGION and FAINT, on both pages. A caption names shape, place or label: "darker"
and "red" mean something else on the other page.
States, actions and steps have no color: write their names.

Shades (`MASS_CMAP`, `LOSS_CMAP`) begin at the paper and end far from it: on the light page more is darker,
on the dark page more is brighter. Their colors are variables too: `--ab-mass-1` to `--ab-mass-12`, and
`--ab-loss-1` to `--ab-loss-11`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_hex

INK = "#222222"
LEARNER = "#0077BB"
BEST = "#007766"
LOSS = "#BB5500"
ESTIMATE = "#CC2277"
REGION = "#33BBEE"
WALL = "#AA0011"
BASELINE = "#666666"
BOUND = "#8844AA"
QUIET = "#555555"
FAINT = "#DDDDDD"
PAPER = "#FFFFFF"

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

WIDTH = 6.0
"""Width of a figure in inches, shown at most 640 pixels wide."""
DPI = 130
"""Of rasters."""

# Scales of one hue. On the light page each step is darker than the one before and on the grid to which
# rasters are rounded, so that rounding cannot change their order; step 8 is the quantity's own color.
_MASS = (
    *(PAPER, "#DDEEFF", "#BBDDFF", "#99CCEE", "#77BBDD", "#55AADD", "#3399CC", "#1188CC"),
    *(LEARNER, "#0066AA", "#005588", "#004477", "#003366"),
)
_LOSS = (
    *(PAPER, "#FFEEDD", "#FFDDBB", "#FFCC99", "#FFBB77", "#EEAA55", "#DD8833", "#CC6611"),
    *(LOSS, "#994400", "#773300", "#552200"),
)
MASS_CMAP = ListedColormap(_MASS, name="aggbandit_mass")
"""Paper to blue: probability, occupancy."""
LOSS_CMAP = ListedColormap(_LOSS, name="aggbandit_loss")
"""Paper to orange: losses."""


def _brighter(steps: int, stops: Sequence[str]) -> list[str]:
    """Colors of a scale on the dark page, through stops at its first, its 4th, its 8th and its last step."""
    places = np.array([0, 4, 8, steps - 1])
    nodes = list(zip(places / (steps - 1), stops, strict=True))
    scale = LinearSegmentedColormap.from_list("", nodes, steps)
    return [to_hex(color).upper() for color in scale(np.arange(steps))]


_SCALES = {
    "mass": (_MASS, _brighter(len(_MASS), ("#1B1E25", "#1D4464", "#4AA3EA", "#D8ECFF"))),
    "loss": (_LOSS, _brighter(len(_LOSS), ("#1B1E25", "#5A3A1A", "#F5A550", "#FFE9D0"))),
}
_QUANTITIES = {  # name of the variable: on the light page, on the dark one
    "ink": (INK, "#E4E2DC"),
    "learner": (LEARNER, "#4AA3EA"),
    "best": (BEST, "#45CDAF"),
    "loss": (LOSS, "#F5A550"),
    "estimate": (ESTIMATE, "#FF7FC0"),
    "region": (REGION, "#1E7FA8"),
    "wall": (WALL, "#FF5A5A"),
    "baseline": (BASELINE, "#8E94A0"),
    "bound": (BOUND, "#CDB0FF"),
    "quiet": (QUIET, "#A9ADB6"),
    "faint": (FAINT, "#3A404C"),
    "card": (PAPER, "#1B1E25"),
}


def _variables(page: int) -> dict[str, str]:
    """Every variable and its color, on the light page (0) or on the dark one (1)."""
    quantities = {f"--ab-{name}": colors[page] for name, colors in _QUANTITIES.items()}
    shades = {
        f"--ab-{name}-{i}": color
        for name, pages in _SCALES.items()
        for i, color in enumerate(pages[page])
        if pages[0][i] not in (PAPER, LEARNER, LOSS)  # which have their variables already
    }
    return quantities | shades


LIGHT: Mapping[str, str] = _variables(0)
"""The variables of the house's colors: what they are on the light page, and where no page sets them."""

DARK: Mapping[str, str] = _variables(1)
"""What they are on the dark page."""

_NAMES = {color: name for name, color in LIGHT.items()}


def css(color: str) -> str:
    """A color of the house as what a page's own palette makes of it; any other color as it is.

    Args:
        color: `#RRGGBB`.

    Returns:
        A color for SVG and CSS.

    Example:
        >>> css(LEARNER)
        'var(--ab-learner,#07b)'
        >>> css("#123456")
        '#123456'
    """
    name, short = _NAMES.get(color.upper()), color.lower()
    if short[1::2] == short[2::2]:
        short = short[::2]
    return short if name is None else f"var({name},{short})"


STYLE: Any = {
    "figure.figsize": (WIDTH, 3.4),
    "figure.dpi": DPI,
    "figure.facecolor": PAPER,
    "figure.constrained_layout.use": True,
    "savefig.dpi": DPI,
    "savefig.bbox": "standard",
    "savefig.facecolor": PAPER,
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "font.size": 12,
    "axes.titlesize": 12.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.9,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "axes.prop_cycle": cycler(color=[LEARNER, LOSS, BEST, ESTIMATE, BASELINE, BOUND]),
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
    "lines.solid_capstyle": "round",
    "patch.linewidth": 1.0,
    "image.cmap": "gray_r",
    "image.interpolation": "none",
    "svg.hashsalt": "aggbandit",
    "svg.fonttype": "path",
}
"""The rcParams of the house."""


def use_style() -> None:
    """Set the house style for the rest of the process (the first code cell of a chapter)."""
    matplotlib.rcParams.update(STYLE)


@contextmanager
def house_style() -> Iterator[None]:
    """The house style inside a `with` block, and the former one after it."""
    with matplotlib.rc_context(STYLE):
        yield


def axes(rows: int = 1, columns: int = 1, *, height: float = 3.4, **options: Any) -> tuple[Any, Any]:
    """A figure of the house's width and its axes: `plt.subplots` with the width decided.

    `rows` by `columns` panels; `height` in inches for the whole figure; `options` go to `plt.subplots`.
    Returns `(figure, axes)` as `plt.subplots` does.
    """
    with house_style():
        return plt.subplots(rows, columns, figsize=(WIDTH, height), **options)
