"""Pictures written by hand: coordinates, colors, labels that keep apart."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from aggbandit.figures import drawing, style


def test_house_colors_become_the_pages_and_others_stay() -> None:
    svg = drawing.document([drawing.dot(1, 2, style.LOSS), drawing.dot(1, 2, "#123456")], 30)
    assert style.css(style.LOSS) in svg
    assert style.css(style.LOSS).startswith("var(")
    assert 'fill="#123456"' in svg


def test_a_document_is_well_formed_whatever_the_words() -> None:
    parts = [
        drawing.words(0, 20, "a < b & c", weight=700),
        drawing.polyline([[0, 0], [1, 1]], style.INK, dash="2 3"),
        drawing.polygon([[0, 0], [1, 1], [0, 1]], "none", edge=style.WALL),
    ]
    root = ElementTree.fromstring(drawing.document(parts, 40))
    assert root.get("viewBox") == "0 0 640 40"
    assert root[0].text == "a < b & c"


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_moved_apart_in_order_and_no_further_than_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted = rng.random(6) * rng.choice([1, 10])
    placed = np.array(drawing.spread(wanted, 1.0))
    order = np.argsort(wanted)
    assert (np.diff(placed[order]) > 1 - 1e-9).all()
    # Least squares: nothing moves that touches no other label, and groups keep their mean.
    free = [i for i in range(6) if np.sort(abs(placed - placed[i]))[1] > 1 + 1e-6]
    np.testing.assert_allclose(placed[free], wanted[free], atol=1e-9)
    assert placed.mean() == pytest.approx(wanted.mean())
