"""The house style: one look, one color and one meaning for each quantity, in every chapter.

Pictures are drawn dark on white. In the dark theme the page turns lightness around and keeps hue
(`invert` and `hue-rotate` in `book.css`), so blue stays blue and one picture serves both themes.
Every color here has channels that are multiples of 17 (`#0077BB` is `#07B`): frames are rounded to that
grid before they are compressed, and the house colors survive it exactly.

========== ============ =====================================================================
name       color       means, in every figure of the book
========== ============ =====================================================================
INK        near black   the world as it is: true dynamics, axes, a trajectory that happened
LEARNER    blue         what the learner plays: its policy, its iterate x, its regret
BEST       teal         what it is compared with: the best policy in hindsight, y*
LOSS       orange       losses, totals on the meter
ESTIMATE   magenta      anything estimated: estimated losses, empirical dynamics
REGION     sky blue     a region of what is plausible or safe: Dikin ellipsoid, confidence set (a fill)
WALL       red          a constraint: the edge of the set, what may not be crossed
BASELINE   gray         another algorithm, a reference line, the average
BOUND      purple       a theorem's upper bound
========== ============ =====================================================================

The colors stay apart under the common kinds of color blindness (after Paul Tol's *vibrant* scheme), and
color is never alone: give lines a label, a dash (`DASHES`) or a marker (`MARKERS`) too.
States, actions and steps have no color: write their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap, ListedColormap

INK = "#222222"
LEARNER = "#0077BB"
BEST = "#008877"
LOSS = "#DD5500"
ESTIMATE = "#EE3377"
REGION = "#33BBEE"
WALL = "#BB1111"
BASELINE = "#777777"
BOUND = "#8844AA"
FAINT = "#DDDDDD"
PAPER = "#FFFFFF"

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

WIDTH = 6.0
"""Width of a figure in inches; at `DPI` that is 780 pixels, shown at most 640 CSS pixels wide."""
DPI = 130

# Ramps of one hue, each step on the grid and darker than the one before, so that rounding a frame's colors
# to the grid cannot change their order.
MASS_CMAP = ListedColormap(
    [
        "#FFFFFF",
        "#DDEEFF",
        "#BBDDFF",
        "#99CCEE",
        "#77BBDD",
        "#55AADD",
        "#3399CC",
        "#1188CC",
        "#0077BB",
        "#0066AA",
        "#005588",
        "#004477",
        "#003366",
    ],
    name="aggbandit_mass",
)
"""White to blue: probability, occupancy."""
LOSS_CMAP = ListedColormap(
    [
        "#FFFFFF",
        "#FFEEDD",
        "#FFDDBB",
        "#FFCC99",
        "#FFBB77",
        "#FFAA55",
        "#EE8833",
        "#DD5500",
        "#BB4400",
        "#993300",
        "#772200",
    ],
    name="aggbandit_loss",
)
"""White to orange: losses."""
SIGNED_CMAP = LinearSegmentedColormap.from_list(
    "aggbandit_signed", ["#004488", "#77BBDD", PAPER, "#FFAA77", "#AA3300"]
)
"""Blue through white to orange: signed quantities, centered at zero by the caller."""

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
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.9,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "axes.prop_cycle": cycler(color=[LEARNER, LOSS, BEST, ESTIMATE, BASELINE, BOUND]),
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
    "lines.solid_capstyle": "round",
    "patch.linewidth": 1.0,
    "image.cmap": "gray_r",
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
