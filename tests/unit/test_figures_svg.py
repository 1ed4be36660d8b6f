"""Figures as SVG: in the page's colors, without ids, small, the same every time, readable on a telephone."""

from __future__ import annotations

import re
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt

from aggbandit import figures
from aggbandit.figures import _render, _svg

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(fig, page=_svg.WIDE):
    return ElementTree.fromstring(_svg.svg(fig, page).replace("<svg ", f'<svg xmlns="{SPACE[1:-1]}" ', 1))


def curves(**options):
    fig, panels = figures.axes(1, 2, height=2.4, **options)
    x = np.linspace(0.01, 1, 200)
    for ax in panels:
        ax.plot(x, np.sin(9 * x), color=figures.LEARNER)
        ax.plot(x[::40], x[::40], "o", color=figures.LOSS)
        ax.set(xlabel="a name", ylim=(-0.5, 0.5))
    return fig


def absolute(data):
    """The corners of a path's data, in the page's coordinates."""
    here, corners = np.zeros(2), []
    for letter, body in re.findall(r"([MlhvqcazZ])([^A-Za-z]*)", data):
        numbers = [float(v) for v in re.findall(r"-?(?:\d+\.\d+|\.\d+|\d+)", body)]
        if letter == "M":
            here = np.array(numbers)
        elif letter in "hv":
            for step in numbers:
                here = here + ([step, 0] if letter == "h" else [0, step])
                corners.append(here)
            continue
        elif letter == "l":
            for step in np.reshape(numbers, (-1, 2)):
                here = here + step
                corners.append(here)
            continue
        corners.append(here)
    return np.array(corners)


def test_the_same_figure_gives_the_same_characters():
    assert _svg.svg(curves(), _svg.WIDE) == _svg.svg(curves(), _svg.WIDE)
    fig = curves()
    assert _svg.svg(fig, _svg.NARROW) == _svg.svg(fig, _svg.NARROW)


def test_what_was_measured_before_changes_nothing():
    """Measures of words are kept; a figure comes out alike whether they are there or taken anew."""
    fig = curves()
    fig.axes[0].set(title="two words and $x^2$")
    pages = _svg.WIDE, _svg.NARROW
    kept = [_svg.svg(fig, page) for page in (*pages, *pages)]
    for store in (_svg._measured, _svg._formula, _svg._ruler):
        store.cache_clear()
    assert [_svg.svg(fig, page) for page in (*pages, *pages)] == kept


def test_a_text_that_changes_its_size_is_measured_again():
    fig, ax = figures.axes(height=2.4)
    text = ax.text(0.5, 0.5, "$x^2$ in a circle", fontsize=12)
    small = _svg.svg(fig, _svg.WIDE)
    text.set_fontsize(18)  # the font object is the same one
    other, ax = figures.axes(height=2.4)
    ax.text(0.5, 0.5, "$x^2$ in a circle", fontsize=18)
    assert _svg.svg(fig, _svg.WIDE) == _svg.svg(other, _svg.WIDE) != small


def test_words_that_come_while_drawing_are_aligned_like_others():
    """As ticks do that the layout makes room for."""
    fig, ax = figures.axes(height=2.4)
    renderer = _svg._Renderer(fig, _svg.WIDE.width, 256, 0)
    ax.text(0.5, 0.5, "late", ha="right")
    ax.text(0.5, 0.5, "late, and\nof two lines", ha="right")
    fig.draw(renderer)
    late = [
        piece for piece in renderer.pieces if piece.body.endswith((">late", ">late, and", ">of two lines"))
    ]
    assert ['text-anchor="end"' in piece.style for piece in late] == [True] * 3


def test_a_figure_is_left_as_it_was():
    fig = curves()
    before = fig.get_size_inches().copy(), fig.dpi, [ax.get_subplotspec() for ax in fig.axes]
    _svg.svg(fig, _svg.NARROW)
    assert (fig.get_size_inches() == before[0]).all()
    assert (fig.dpi, [ax.get_subplotspec() for ax in fig.axes]) == before[1:]
    assert fig.patch.get_visible()


def test_there_are_no_ids_to_share():
    fig = curves()
    fig.axes[0].bar([0.5], [0.3], hatch="///", color=figures.WALL)
    fig.axes[1].imshow(np.eye(3), cmap=figures.MASS_CMAP)
    html = _render.render(fig, "curves").html
    assert not re.search(r'\b(id|href|clip-path|class)="(?!ab-)', html)
    assert "url(" not in html


@pytest.mark.parametrize(
    "name", ["INK", "LEARNER", "BEST", "LOSS", "ESTIMATE", "REGION", "WALL", "BASELINE", "BOUND"]
)
def test_a_color_of_the_house_is_a_variable(name):
    fig, ax = figures.axes(height=1)
    ax.plot([0, 1], color=getattr(figures, name))
    ax.axhspan(0, 1, color=getattr(figures, name), alpha=0.4)
    text = _svg.svg(fig, _svg.WIDE)
    assert f'stroke="var(--ab-{name.lower()},#' in text
    assert f'fill="var(--ab-{name.lower()},#' in text
    assert 'fill-opacity=".4"' in text


def test_another_color_is_itself():
    fig, ax = figures.axes(height=1)
    ax.plot([0, 1], color="#123456")
    assert 'stroke="#123456"' in _svg.svg(fig, _svg.WIDE)


def test_the_paper_is_the_pages():
    root = drawn(curves())
    assert "background:var(--ab-card,#fff)" in root.attrib["style"]
    assert not any("--ab-card" in element.get("fill", "") for element in root.iter())


def test_words_are_text_where_they_are_aligned():
    fig, ax = figures.axes(height=2)
    for i, side in enumerate(("left", "center", "right")):
        ax.text(0.5, 0.2 + 0.2 * i, side, ha=side, fontsize=12)
    ax.text(0.5, 0.9, "two lines\nof words", ha="right")
    ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="upward & on")
    texts = {element.text: element for element in drawn(fig).iter(f"{SPACE}text")}
    assert texts["left"].get("text-anchor") is None
    assert texts["center"].get("text-anchor") == "middle"
    assert texts["right"].get("text-anchor") == "end"
    assert {texts[word].get("x") for word in ("left", "center", "right")} == {texts["left"].get("x")}
    assert texts["upward & on"].get("transform").startswith("rotate(-90")
    assert texts["left"].get("font-size") == "17.8"
    assert "two lines" in texts
    assert "of words" in texts


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"$\ell_1$", "ℓ1"),
        (r"$10^{-4}$", "10−4"),
        (r"price, $\eta$ a round", "price, η a round"),
        (r"$x_{k}^{\star}$", "x⋆k"),
    ],
)
def test_a_simple_formula_is_text(formula, text):
    fig, ax = figures.axes(height=1)
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, formula)
    (element,) = drawn(fig).iter(f"{SPACE}text")
    written = "".join(element.itertext()).replace("\u2009", "")
    assert sorted(written) == sorted(text)


@pytest.mark.parametrize(
    "formula", [r"$\frac{1}{2}$", r"$\hat{z}$", r"$\sqrt{T}$", r"$\mathcal{B}_i$", r"slope $R'(p)$"]
)
def test_a_built_formula_is_its_outlines(formula):
    fig, ax = figures.axes(height=1)
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, formula)
    root = drawn(fig)
    assert not list(root.iter(f"{SPACE}text"))
    assert any(element.get("fill") for element in root.iter(f"{SPACE}path"))


def test_a_line_is_drawn_where_it_is():
    fig, ax = figures.axes(height=2)
    x = np.linspace(0, 1, 60)
    ax.plot(x, x**2, color=figures.LEARNER, solid_capstyle="butt")
    ax.set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1))
    (path,) = [p for p in drawn(fig).iter(f"{SPACE}path") if "--ab-learner" in p.get("stroke", "")]
    corners = absolute(path.get("d"))
    fig.set_dpi(640 / 6)
    fig.draw_without_rendering()
    there = ax.transData.transform(np.column_stack([x, x**2]))
    there[:, 1] = fig.bbox.height - there[:, 1]
    for line, other in ((corners, there), (there, corners)):  # each corner lies near the other line
        ends = np.stack([other[:-1], other[1:]])
        for point in line:
            share = np.clip(
                ((point - ends[0]) * (ends[1] - ends[0])).sum(1) / ((ends[1] - ends[0]) ** 2).sum(1), 0, 1
            )
            assert np.hypot(*(ends[0] + share[:, None] * (ends[1] - ends[0]) - point).T).min() < 0.5


def test_what_leaves_the_axes_is_cut():
    fig, ax = figures.axes(height=2)
    ax.plot([0, 1], [-5, 5], color=figures.LEARNER)
    ax.fill([0, 1, 1], [-5, -5, 5], color=figures.REGION, lw=0)
    ax.set(ylim=(0, 1))
    root = drawn(fig)
    (line,) = [p for p in root.iter(f"{SPACE}path") if "--ab-learner" in p.get("stroke", "")]
    assert absolute(line.get("d"))[:, 1].min() >= 0
    (inner,) = root.findall(f"{SPACE}svg")
    assert any("--ab-region" in p.get("fill", "") for p in inner)


def test_a_small_image_is_drawn_in_shades_of_the_page():
    fig, ax = figures.axes(height=2)
    ax.imshow([[0, 0.3], [0.3, 1]], cmap=figures.LOSS_CMAP, vmin=0, vmax=1)
    text = _svg.svg(fig, _svg.WIDE)
    assert "<image" not in text
    assert 'fill="var(--ab-loss-11,' in text
    noise = np.random.default_rng(0).random((20, 20))
    ax.imshow(noise, cmap="viridis")
    assert "data:image/png;base64," in _svg.svg(fig, _svg.WIDE)


@pytest.mark.parametrize("marker", ["o", "s", "D", "X"])
def test_markers_are_as_many_as_there_are_points(marker):
    fig, ax = figures.axes(height=2)
    ax.plot([0, 1, 2], [0, 1, 0], marker, color=figures.BEST)
    (path,) = [p for p in drawn(fig).iter(f"{SPACE}path") if "--ab-best" in p.get("stroke", "")]
    assert path.get("d").count("M") == 3


def test_on_a_narrow_page_no_word_is_smaller_than_eleven_pixels():
    fig = curves()
    fig.axes[0].text(0.5, 0, "tiny", fontsize=5)
    sizes = [float(v) for v in re.findall(r'font-size="([\d.]+)"', _svg.svg(fig, _svg.NARROW))]
    assert min(sizes) * 350 / 360 >= 10.85


def test_on_a_narrow_page_panels_stand_one_over_the_other():
    wide, narrow = (drawn(curves(), page).attrib["viewBox"].split() for page in (_svg.WIDE, _svg.NARROW))
    assert wide[2:] == ["640", "256"]
    assert narrow[2] == "360"
    assert float(narrow[3]) > 1.6 * 360 * 256 / 640
    shared = drawn(curves(sharey=True), _svg.NARROW).attrib["viewBox"].split()
    assert float(shared[3]) == pytest.approx(2.4 * 80)


def test_a_caption_knows_where_panels_stand():
    assert 'class="ab-narrow ab-stacked"' in _svg.svg(curves(), _svg.NARROW)
    assert "ab-stacked" not in _svg.svg(curves(sharey=True), _svg.NARROW)
    words = figures.picture(curves(), caption="Left: $x$. Right: what is left.", alt="curves")
    assert words.html.count(">Left</span>") == words.html.count(">Above</span>:") == 1
    assert words.html.count("Below") == 1
    assert repr(words) == "Picture: Left: $x$. Right: what is left."


def test_on_a_narrow_page_words_stay_on_it():
    fig, ax = figures.axes(height=2)
    ax.set_xlabel("a name of an axis that is far too long for the width of a telephone")
    words = [element.text for element in drawn(fig, _svg.NARROW).iter(f"{SPACE}text")]
    assert "a name of an axis that is far too long" not in words
    assert any(word and word.startswith("a name") for word in words)
    assert ax.get_xlabel().startswith("a name of an axis that is far too long for")


def test_a_frame_has_both_and_shows_the_wide_one_where_nobody_chooses():
    html = _render.render(curves(), "two <curves>").html
    assert html.startswith(
        '<div role="img" class="ab-frame" aria-label="two &lt;curves&gt;"><svg class="ab-wide"'
    )
    assert re.findall(r'class="(ab-\w+)[^>]*display:(\w+)', html) == [
        ("ab-wide", "block"),
        ("ab-narrow", "none"),
    ]


def test_a_plain_plot_is_light():
    html = _render.render(curves(), "curves").html
    assert len(html) < 12_000
    assert len(zlib.compress(html.encode())) < 3_500


def test_what_is_heavier_than_its_pixels_stays_a_raster():
    fig, ax = figures.axes(height=2)
    points = np.random.default_rng(1).random((2, 20_000))
    ax.plot(*points, "s", ms=3, color=figures.INK, alpha=0.9)
    frame = _render.render(fig, "a cloud")
    assert frame.html.startswith('<img class="ab-frame"')
    assert 'alt="a cloud"' in frame.html
    assert frame.size == (640, 213)


def test_figures_are_closed():
    _render.render(curves(), "curves")
    assert plt.get_fignums() == []
