"""Which words of a picture lie on one of its lines."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.figure import Figure


def crossed(figure: Figure) -> list[str]:
    """The words that a line of their own panel runs through; thin helping lines do not count.

    Args:
        figure: The picture.

    Returns:
        The words, without those that are empty.
    """
    figure.canvas.draw()
    found = []
    for ax in figure.axes:
        runs = [
            np.vstack([np.linspace(p, q, 50) for p, q in itertools.pairwise(points)])
            for line in ax.lines
            if line.get_linewidth() > 1.2
            and len(points := line.get_path().transformed(line.get_transform()).vertices) > 1
        ]
        for words in ax.texts:
            if words.get_text():
                box = words.get_window_extent()
                if any(box.count_contains(run) for run in runs):
                    found.append(words.get_text())
    return found
