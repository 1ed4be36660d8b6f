"""The house's colors: two palettes in which everything can be read, and the same ones in the style sheet."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colors as mpl_colors

from aggbandit.figures import style

CSS = Path(__file__).parents[2] / "book" / "_assets" / "css"
FILLS = ("--ab-region", "--ab-faint", "--ab-card")
QUANTITIES = [name for name in style.LIGHT if not name[-1].isdigit() and name not in FILLS]
OF_THE_PAGE = ("--ab-ink", "--ab-quiet", "--ab-card")


def luminance(color):
    channels = np.array(mpl_colors.to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def rules(selector, css):
    """The variables that the style sheet sets under a selector."""
    found = {}
    for body in re.findall(re.escape(selector) + r"\s*\{([^}]*)\}", css):
        found |= dict(re.findall(r"(--ab-[\w-]+):\s*(#[0-9a-f]{6})\b", body))
    return found


BOOK, FIGURES = ((CSS / name).read_text() for name in ("book.css", "figures.css"))
PAGE = {
    "light": rules('html:not([data-theme]), html[data-theme="light"]', BOOK),
    "dark": rules('html[data-theme="dark"]', BOOK),
}


@pytest.mark.parametrize(
    ("palette", "selector"), [(style.LIGHT, "\nhtml"), (style.DARK, 'html[data-theme="dark"]')]
)
def test_the_style_sheet_has_the_same_colors(palette, selector):
    ours = {name: color.lower() for name, color in palette.items() if name not in OF_THE_PAGE}
    assert rules(selector, FIGURES) == ours


@pytest.mark.parametrize("name", QUANTITIES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_stand_out_from_the_paper(name, theme):
    """4.5 to 1, which is more than the 3 to 1 that a line needs, on the paper that the page really has."""
    color = PAGE[theme].get(name) or {"light": style.LIGHT, "dark": style.DARK}[theme][name]
    assert contrast(color, PAGE[theme]["--ab-card"]) >= 4.5


@pytest.mark.parametrize("scale", ["mass", "loss"])
@pytest.mark.parametrize("palette", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_more_is_farther_from_the_paper(scale, palette):
    names = [name for name in palette if name.startswith(f"--ab-{scale}-")]
    away = [contrast(palette[name], palette["--ab-card"]) for name in names]
    assert away == sorted(away)
    assert away[-1] > 9


@pytest.mark.parametrize("cmap", [style.MASS_CMAP, style.LOSS_CMAP], ids=["mass", "loss"])
def test_every_shade_has_a_variable(cmap):
    for shade in cmap(np.linspace(0, 1, 200)):
        assert mpl_colors.to_hex(shade).upper() in style.LIGHT.values()


def test_a_color_has_one_variable():
    assert len(set(style.LIGHT.values())) == len(style.LIGHT)
    assert set(style.LIGHT) == set(style.DARK)
