"""A matplotlib figure as SVG that a page can hold by the hundred: small, in the page's colors and fonts.

What matplotlib's own SVG backend writes is meant to stand alone. This renderer writes for a page:

- Colors of the house are variables with a fallback (`aggbandit.figures.style.css`), so that the light page
  and the dark one each have their own.
- Words are text in the page's font, anchored where they are aligned, so that another font moves nothing.
  The layout is made with DejaVu Sans, which is wider than what pages use, so that nothing overflows.
- There are no ids: two figures of a page cannot disturb each other. A clip is an inner `<svg>`, a hatch is
  drawn line by line.
- Coordinates are rounded to a tenth of a pixel and written relative to each other, equal styles once.
- A picture is laid out a second time for narrow pages, from the same figure.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D
from PIL import Image

from aggbandit.figures.style import PAPER, css

FONT = "var(--ab-sans,'DejaVu Sans',Verdana,sans-serif)"
MATH_FONT = "var(--pst-font-family-base,'DejaVu Serif',serif)"
"""Letters of formulas, in italics like those of the page's formulas."""

TOLERANCE = 0.12
"""How far a line may be from where it is, in pixels of a wide page."""

MOST_SHADES = 32
"""Colors up to which an image is drawn cell by cell, in variables; one of more is embedded as it is."""

KEPT = 4096
"""Measures of words that are kept: frames say nearly the same words, and measuring takes longest."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Page:
    """What a picture is laid out for.

    Attributes:
        name: A class for style sheets.
        width: In units of the picture, which are pixels where it is shown at this width.
        share: Of the figure's width in inches, for which it is laid out; words keep their size in points.
        smallest: Height of the smallest words, in units of the picture; smaller ones are written in it.
        stacks: Whether panels that stand side by side are put one over the other, and long words broken.
    """

    name: str
    width: int
    share: float
    smallest: float
    stacks: bool


WIDE = Page("ab-wide", 640, 1.0, 0.0, stacks=False)
NARROW = Page("ab-narrow", 360, 0.75, 11.2, stacks=True)
"""A telephone: at 350 pixels the smallest words are 11 pixels high."""


def svg(figure: Figure, page: Page) -> str:
    """The figure, laid out anew for a page, as an `<svg>` element that fills the width of its place.

    Args:
        figure: The figure; afterward it is what it was before.
        page: How wide, and how small words may be.

    Returns:
        The same characters for the same figure, without an id.
    """
    size, resolution = figure.get_size_inches().copy(), figure.get_dpi()
    inches = page.share * size[0]
    dpi = page.width / inches
    with ExitStack() as later:
        later.callback(figure.set_size_inches, *size)
        later.callback(figure.set_dpi, resolution)
        later.callback(figure.set_canvas, figure.canvas)
        _Canvas(figure)
        figure.set_dpi(dpi)
        rows = later.enter_context(_stacked(figure)) if page.stacks else 1.0
        height = round(rows * size[1] * dpi)
        figure.set_size_inches(inches, height / dpi)
        later.enter_context(_without_paper(figure))
        drawn = _drawn(figure, page, height)
        if page.stacks and drawn.outside:
            later.enter_context(_broken(figure, drawn))
            for _ in range(3):  # the layout comes closer each time to one that holds all words
                drawn = _drawn(figure, page, height)
                if not drawn.outside:
                    break
    # Where no style sheet says which one to show, it is the wide one, on paper.
    shown = "none" if page.stacks else "block"
    names = f"{page.name} ab-stacked" if rows > 1 else page.name
    return (
        f'<svg class="{names}" viewBox="0 0 {page.width} {height}" fill="none" stroke-linejoin="round" '
        f'style="display:{shown};width:100%;max-width:{page.width}px;margin:0 auto;'
        f'background:{css(PAPER)};font-family:{FONT}">{_together(drawn.pieces)}</svg>'
    )


def _drawn(figure: Figure, page: Page, height: float) -> _Renderer:
    renderer = _Renderer(figure, page.width, height, page.smallest)
    figure.draw(renderer)
    return renderer


@contextmanager
def _without_paper(figure: Figure) -> Iterator[None]:
    """The grounds of figure and panels are not drawn; an inset keeps its own, which covers something."""
    grounds = [figure.patch, *(ax.patch for ax in figure.axes)]
    blank = [p for p in grounds if p.get_visible() and _color(p.get_facecolor()) == css(PAPER)]
    for patch in blank:
        patch.set_visible(False)
    try:
        yield
    finally:
        for patch in blank:
            patch.set_visible(True)


@contextmanager
def _stacked(figure: Figure) -> Iterator[float]:
    """Panels in two columns stand in one, each as high as its row was; how many times higher that makes all.

    Panels that share an axis, or read their ticks from their neighbor, stay side by side.
    """
    places: dict[Any, Any] = {ax: ax.get_subplotspec() for ax in figure.axes}
    grids: set[Any] = {place and place.get_gridspec() for place in places.values()}
    grid = next(iter(grids), None)
    if len(grids) != 1 or grid is None or grid.ncols != 2 or _belong_together(figure.axes):
        yield 1.0
        return
    heights = grid.get_height_ratios()
    rows = [float(sum(heights[place.rowspan.start : place.rowspan.stop])) for place in places.values()]
    column = figure.add_gridspec(len(rows), 1, height_ratios=rows)
    for row, ax in enumerate(places):
        ax.set_subplotspec(column[row])
    try:
        yield 0.85 * sum(rows) / sum(heights)
    finally:
        for ax, place in places.items():
            ax.set_subplotspec(place)


def _belong_together(panels: Sequence[Any]) -> bool:
    first, *others = panels
    return any(first.get_shared_y_axes().joined(first, ax) or _has_mute_ticks(ax) for ax in others)


def _has_mute_ticks(ax: Any) -> bool:
    """Whether there are ticks on the vertical axis, and no words at them."""
    return ax.axison and len(ax.get_yticks()) > 0 and not any(t.get_text() for t in ax.get_yticklabels())


@contextmanager
def _broken(figure: Figure, drawn: _Renderer) -> Iterator[None]:
    """Words that leave the picture are in two lines."""
    written = [text for text in figure.findobj(Text) if text.get_text() and drawn.leaves(text)]
    before = {text: text.get_text() for text in written}
    for text, words in before.items():
        text.set_text(_two_lines(words))
    try:
        yield
    finally:
        for text, words in before.items():
            text.set_text(words)


def _two_lines(words: str) -> str:
    """Broken at the space nearest to the middle, not within a formula or where there is a break already."""
    spaces = [i for i, sign in enumerate(words) if sign == " " and words[:i].count("$") % 2 == 0]
    if not spaces or "\n" in words:
        return words
    at = min(spaces, key=lambda i: abs(i - len(words) / 2))
    return f"{words[:at]}\n{words[at + 1 :]}"


# Words, measured once


class _Canvas(FigureCanvasAgg):
    """Where a figure is laid out: matplotlib keeps measures of words with a renderer, and this one stays."""

    def get_renderer(self) -> Any:
        return _ruler(self.figure.dpi)


@functools.lru_cache(maxsize=8)
def _ruler(dpi: float) -> Any:
    """A renderer that measures words for the layout and draws nothing, hence of one pixel."""
    renderer: Any = RendererAgg
    return renderer(1, 1, dpi)


class _Words(RendererBase):
    """Measures words by the outlines of their letters."""

    def __init__(self, dpi: float) -> None:
        super().__init__()
        self.dpi = dpi

    def points_to_pixels(self, points: Any) -> Any:
        return points * self.dpi / 72


@functools.lru_cache(maxsize=KEPT)
def _measured(words: str, font: Any, ismath: Any, dpi: float) -> tuple[float, float, float]:
    """Width, height and descent in pixels; `font` is the caller's own copy, since a font can be changed."""
    measures: tuple[float, float, float] = _Words(dpi).get_text_width_height_descent(words, font, ismath)
    return measures


@functools.lru_cache(maxsize=KEPT)
def _formula(words: str, font: Any, dpi: float) -> str | None:
    """A formula as flowing text with raised and lowered parts; None where it has bars or accents."""
    ruler = _Words(dpi)
    _, _, _, glyphs, bars = ruler._text2path.mathtext_parser.parse(words, dpi, font)
    if bars or any(_no_letter(face, code) for face, _, code, *_ in glyphs):
        return None
    parts, end, level = [], 0.0, 0.0
    before = normal = font.get_size_in_points()
    for (italic, size, height), run in itertools.groupby(glyphs, key=_looks):
        text, shift = "", 0.0
        for face, _, code, *_, along, _ in run:
            face.set_size(size, dpi)
            gap = (along - end) / ruler.points_to_pixels(size)
            if gap < -0.1:  # back under the last letters: allowed for a pair of raised and lowered ones
                if text or not before == size < normal:
                    return None
                shift = along - end
            elif gap > 0.08:
                text += " " if gap > 0.2 else "\u2009"
            text += chr(code)
            end = along + face.load_char(code).linearHoriAdvance / 65536
        looks = f' font-style="italic" font-family="{MATH_FONT}"' if italic else ""
        looks += f' font-size="{_short(ruler.points_to_pixels(size))}"' if size != normal else ""
        looks += f' dx="{_short(shift)}"' if shift else ""
        looks += f' dy="{_short(level - height)}"' if abs(height - level) > 0.05 else ""
        level, before = height, size
        escaped = html.escape(text, quote=False)
        parts.append(f"<tspan{looks}>{escaped}</tspan>" if looks else escaped)
    return "".join(parts)


def _no_letter(face: Any, code: int) -> bool:
    """Whether a glyph is no letter of a page's fonts: a private one, or one of TeX's own codes."""
    return 0xE000 <= code < 0xF900 or code > 0xFFFF or face.family_name.startswith("cm")


def _looks(glyph: Any) -> tuple[bool, float, float]:
    """Whether a letter of a formula is italic, its size in points, and how far it is raised."""
    italic = any(style in glyph[0].style_name for style in ("Oblique", "Italic"))
    return italic, glyph[1], round(glyph[-1], 2)


# Pieces of a picture


@dataclass(frozen=True)
class _Piece:
    """Something drawn.

    Attributes:
        style: The attributes that set its looks.
        body: The data of a path, or the rest of an element.
        kind: `path`, `text` or `raw` (a whole element).
        clip: Where it may be seen; None: everywhere.
        joins: Whether it may share one path with its neighbors.
    """

    style: str
    body: str
    kind: str = "path"
    clip: Box | None = None
    joins: bool = False


def _together(pieces: Sequence[_Piece]) -> str:
    """All pieces in their order, equal clips and equal styles of neighbors written once."""
    parts = []
    for clip, clipped in itertools.groupby(_ticks_first(pieces), key=lambda piece: piece.clip):
        inner = "".join(
            _alike(style, kind, list(group))
            for (style, kind), group in itertools.groupby(clipped, key=lambda p: (p.style, p.kind))
        )
        if clip is None:
            parts.append(inner)
        else:
            x, y, wide, high = (_short(v) for v in clip)
            place = f'x="{x}" y="{y}" width="{wide}" height="{high}" viewBox="{x} {y} {wide} {high}"'
            parts.append(f"<svg {place}>{inner}</svg>")
    return "".join(parts)


def _ticks_first(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Ticks and their labels take turns; the ticks of an axis come first, then the labels."""
    order: list[_Piece] = []
    for piece in pieces:
        at = len(order)
        while at and order[at - 1].kind == "text" and piece.joins:
            at -= 1
        same = at and (order[at - 1].style, order[at - 1].clip) == (piece.style, piece.clip)
        order.insert(at if same and order[at - 1].joins else len(order), piece)
    return order


def _alike(style: str, kind: str, pieces: list[_Piece]) -> str:
    """Neighbors of one style: one path, a group, or a single element."""
    if kind == "raw":
        return "".join(piece.body for piece in pieces)
    if kind == "path" and all(piece.joins for piece in pieces):
        return f'<path {style} d="{"".join(piece.body for piece in pieces)}"/>'
    if len(pieces) == 1:
        return _element(kind, pieces[0].body, style + " ")
    return f"<g {style}>{''.join(_element(kind, piece.body, '') for piece in pieces)}</g>"


def _element(kind: str, body: str, style: str) -> str:
    return f'<path {style}d="{body}"/>' if kind == "path" else f"<text {style}{body}</text>"


# Numbers and paths


def _short(value: float, digits: int = 1) -> str:
    """A number in as few characters as it takes: 0.5 is .5, 2.0 is 2."""
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "0" if text in ("", "-0", "-") else text


def _tenths(value: int) -> str:
    """A number of tenths: -5 is -.5, 20 is 2."""
    whole, rest = divmod(abs(value), 10)
    text = (str(whole) if whole or not rest else "") + (f".{rest}" if rest else "")
    return f"-{text}" if value < 0 else text


def _list(values: Sequence[int]) -> str:
    """Tenths one after the other, with a space only where two numbers would run together."""
    text = last = ""
    for value in values:
        word = _tenths(value)
        apart = not last or word.startswith("-") or (word.startswith(".") and "." in last)
        text += word if apart else f" {word}"
        last = word
    return text


_LETTERS = {Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}


def _data(path: Any) -> str:
    """The data of a path whose coordinates are those of the page; corners that rounding unites are one."""
    parts: list[str] = []
    here = start = np.zeros(2, dtype=np.int64)
    last = ""
    for points, code in path.iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            parts.append("z")
            here, last = start, ""
            continue
        ends = np.floor(10 * np.reshape(points, (-1, 2)) + 0.5 + 1e-6).astype(np.int64)
        if code == Path.MOVETO:
            parts.append("M" + _list(ends[0].tolist()))
            here, start, last = ends[0], ends[0], ""
            continue
        steps = (ends - here).ravel().tolist()
        here = ends[-1]
        if code == Path.LINETO:
            if steps == [0, 0]:
                continue
            letter, steps = _line(*steps)
        else:
            letter = _LETTERS[code]
        body = _list(steps)
        if letter == last:
            parts.append(body if body.startswith("-") else f" {body}")
        else:
            parts.append(letter + body)
        last = letter
    return "".join(parts)


def _line(across: int, down: int) -> tuple[str, list[int]]:
    """A step along a line, and its letter."""
    if down == 0:
        return "h", [across]
    return ("v", [down]) if across == 0 else ("l", [across, down])


def _cleaned(path: Any, transform: Any, clip: Box | None) -> Any:
    """The path transformed, without what is not finite, and simplified; within a box, if it is a line."""
    cleaned = path.cleaned(transform, remove_nans=True, clip=clip, curves=True, simplify=False)
    vertices, codes = cleaned.vertices[:-1], cleaned.codes[:-1]  # without the stop at its end
    kept = np.ones(len(codes), dtype=bool)
    starts = np.append(np.flatnonzero(codes != Path.LINETO), len(codes))
    for start, end in itertools.pairwise(starts):
        if end - start > 3:  # a run of lines from `start`, whose end is a corner
            kept[start:end] = _needed(vertices[start:end])
    return Path(vertices[kept], codes[kept])


def _needed(points: Any) -> Any:
    """Which points a line needs to stay within `TOLERANCE` of itself (Ramer, Douglas and Peucker)."""
    needed = np.zeros(len(points), dtype=bool)
    needed[[0, -1]] = True
    left = [(0, len(points) - 1)]
    while left:
        first, last = left.pop()
        if last - first < 2:
            continue
        across = points[last] - points[first]
        between = points[first + 1 : last] - points[first]
        length = np.hypot(*across)
        if length > 0:
            along = np.clip(between @ across / length**2, 0, 1)
            away = np.hypot(*(between - along[:, None] * across).T)
        else:
            away = np.hypot(*between.T)
        farthest = int(np.argmax(away))
        if away[farthest] > TOLERANCE:
            needed[first + 1 + farthest] = True
            left += [(first, first + 1 + farthest), (first + 1 + farthest, last)]
    return needed


def _is_circle(path: Any) -> bool:
    circle: Any = Path.unit_circle()
    return (
        len(path.vertices) == len(circle.vertices)
        and np.ptp(path.vertices[:, 0]) == np.ptp(path.vertices[:, 1]) > 0
        and np.array_equal(path.codes, circle.codes)
    )


def _color(rgba: Any) -> str:
    return css(to_hex(rgba).upper())


# The renderer


class _Renderer(RendererBase):
    """What matplotlib draws with; heights are measured from the top."""

    def __init__(self, figure: Figure, width: float, height: float, smallest: float) -> None:
        super().__init__()
        self.width, self.height, self.dpi, self.smallest = width, height, figure.get_dpi(), smallest
        self.pieces: list[_Piece] = []
        self.flip = Affine2D().scale(1, -1).translate(0, height)
        self.figure = figure
        self.outside: set[int] = set()  # fonts of the words that leave the picture

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self.width, self.height

    def points_to_pixels(self, points: Any) -> Any:
        return points * self.dpi / 72

    def flipy(self) -> bool:
        return True

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        return _measured(s, prop.copy(), ismath, self.dpi)

    @functools.cached_property
    def _alignments(self) -> dict[int, str]:
        """How texts are aligned, by their fonts, which is what a line of several hands on of its text."""
        texts = self.figure.findobj(Text)
        return {id(text.get_fontproperties()): text.get_horizontalalignment() for text in texts}

    def leaves(self, text: Text) -> bool:
        """Whether this text leaves the picture."""
        return id(text.get_fontproperties()) in self.outside

    def draw_path(self, gc: Any, path: Any, transform: Any, rgbFace: Any = None) -> None:
        stroke = self._stroke(gc)
        face = self._fill(gc, rgbFace)
        clip = gc.get_clip_rectangle()
        box = clip.extents if clip is not None else None
        flat = path.codes is None or not np.isin(path.codes, (Path.CURVE3, Path.CURVE4)).any()
        cut = tuple(box) if box is not None and not face and flat and gc.get_hatch() is None else None
        drawn = _cleaned(path, transform, cut).transformed(self.flip)
        if not len(drawn.vertices):
            return
        seen = None if cut is not None else self._seen(box, drawn, gc)
        if gc.get_hatch() is not None:
            if face:
                self._add(face, _data(drawn), seen)
            self._hatch(gc, drawn, seen)
            face = ""
        if face or stroke:
            style = " ".join(filter(None, (face, stroke)))
            self._add(style, _data(drawn), seen, joins=not face and "opacity" not in stroke)

    def draw_markers(
        self,
        gc: Any,
        marker_path: Any,
        marker_trans: Any,
        path: Any,
        trans: Any,
        rgbFace: Any = None,
    ) -> None:
        stroke, face = self._stroke(gc), self._fill(gc, rgbFace)
        style = " ".join(filter(None, (face, stroke)))
        if not style:
            return
        clip = gc.get_clip_rectangle()
        left, low, right, high = clip.extents if clip is not None else (0, 0, self.width, self.height)
        marker = marker_path.transformed(marker_trans + Affine2D().scale(1, -1))
        reach = float(np.abs(marker.vertices).max(initial=0.0)) + self._line_width(gc) / 2
        circle = _is_circle(marker_path)
        line = face.replace("fill", "stroke")
        dots = circle and face and (not stroke or ("opacity" not in style and stroke.startswith(line)))
        if dots:  # a line of no length with round ends
            style = f'{line} stroke-width="{_short(2 * reach)}" stroke-linecap="round"'
        if len(marker.vertices) < 3:  # a tick has no inside
            style = stroke
        alone = "opacity" in style
        whole: list[str] = []
        cut: list[str] = []
        for points, _ in path.iter_segments(trans, simplify=False):
            x, y = points[-2:]
            if not (left - reach < x < right + reach and low - reach < y < high + reach):
                continue
            place = marker.transformed(Affine2D().translate(x, self.height - y))
            if dots:
                data = f"{_data(Path([(x, self.height - y)]))}h0"
            else:
                data = _circle(x, self.height - y, marker) if circle else _data(place)
            inside = left + reach <= x <= right - reach and low + reach <= y <= high - reach
            (whole if inside or clip is None else cut).append(data)
        for datas, seen in ((whole, None), (cut, self._box((left, low, right, high)))):
            for data in datas if alone else ["".join(datas)]:
                self._add(style, data, seen, joins=not alone and bool(dots or style == stroke))

    def option_scale_image(self) -> bool:
        return True

    def draw_image(self, gc: Any, x: float, y: float, im: Any, transform: Any = None) -> None:
        pixels = np.asarray(im)
        high, wide = pixels.shape[:2]
        if not high or not wide:
            return
        if transform is None:  # already as fine as the page
            transform = Affine2D().scale(wide, high)
        clip = gc.get_clip_rectangle()
        place = Affine2D().scale(1 / wide, 1 / high) + transform + Affine2D().translate(x, y) + self.flip
        shades = {color: _data(_cells(pixels, color).transformed(place)) for color in _shades(pixels)}
        if len(shades) <= MOST_SHADES:
            for (red, green, blue, alpha), data in shades.items():
                color = _color((red / 255, green / 255, blue / 255))
                style = f'fill="{color}"{_opacity("fill", alpha / 255)} shape-rendering="crispEdges"'
                self._add(style, data, None)
            return
        corners = place.transform([[0, 0], [wide, high]])
        (left, top), (right, low) = corners.min(axis=0), corners.max(axis=0)
        upright = pixels if place.transform([0, high])[1] > place.transform([0, 0])[1] else pixels[::-1]
        buffer = io.BytesIO()
        Image.fromarray(upright).save(buffer, "PNG", optimize=True)
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        body = (
            f'<image x="{_short(left)}" y="{_short(top)}" width="{_short(right - left)}" '
            f'height="{_short(low - top)}" preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{data}"/>'
        )
        seen = self._box(clip.extents) if clip is not None else None
        self.pieces.append(_Piece("", body, "raw", seen))

    def draw_text(
        self,
        gc: Any,
        x: float,
        y: float,
        s: str,
        prop: Any,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        rgba = gc.get_rgb()
        alpha = gc.get_alpha() if gc.get_forced_alpha() else rgba[3]
        style = f'fill="{_color(rgba)}"' + _opacity("fill", alpha)
        if ismath:
            flowing = _formula(s, prop.copy(), self.dpi)
            if flowing is None:
                self._outline(style, x, y, s, prop, angle)
                return
        else:
            flowing = html.escape(s, quote=False)
        wide, _, _ = self.get_text_width_height_descent(s, prop, ismath)
        along, down = wide * np.cos(np.radians(angle)), -wide * np.sin(np.radians(angle))
        if min(x, x + along) < -1 or max(x, x + along) > self.width + 1 or min(y, y + down) < -1:
            self.outside.add(id(prop))
        if angle:
            aligned = "center"
        elif mtext is not None:
            aligned = mtext.get_horizontalalignment()
        else:
            aligned = self._alignments.get(id(prop), "left")
        anchor, share = {"center": ("middle", 0.5), "right": ("end", 1.0)}.get(aligned, ("", 0.0))
        x, y = x + share * along, y + share * down
        size = max(self.points_to_pixels(prop.get_size_in_points()), self.smallest)
        style += f' font-size="{_short(size)}"'
        style += f' text-anchor="{anchor}"' if anchor else ""
        style += ' font-weight="700"' if _is_bold(prop) else ""
        style += ' font-style="italic"' if prop.get_style() != "normal" else ""
        turned = f' transform="rotate({_short(-angle)} {_short(x)} {_short(y)})"' if angle else ""
        self._add(style, f'x="{_short(x)}" y="{_short(y)}"{turned}>{flowing}', None, kind="text")

    def _outline(self, style: str, x: float, y: float, s: str, prop: Any, angle: float) -> None:
        """A formula as the outlines of its letters."""
        vertices, codes = self._text2path.get_text_path(prop, s, ismath=True)
        scale = self.points_to_pixels(prop.get_size_in_points()) / self._text2path.FONT_SCALE
        place = Affine2D().scale(scale, -scale).rotate_deg(-angle).translate(x, y)
        self._add(style, _data(Path(vertices, codes).transformed(place)), None)

    def _hatch(self, gc: Any, shape: Any, seen: Box | None) -> None:
        """The lines of a hatch over the shape's box, seen within it; the shapes of charts are rectangles."""
        left, top, right, bottom = shape.get_extents().extents
        if seen is not None:
            left, top = max(left, seen[0]), max(top, seen[1])
            right, bottom = min(right, seen[0] + seen[2]), min(bottom, seen[1] + seen[3])
        if right <= left or bottom <= top:
            return
        tile = self.points_to_pixels(72)
        around = (left - 2, top - 2, right + 2, bottom + 2)
        data = ""
        for column in range(int(left // tile), int(right // tile) + 1):
            for row in range(int(top // tile), int(bottom // tile) + 1):
                there = Affine2D().scale(tile, -tile).translate(column * tile, (row + 1) * tile)
                data += _data(_cleaned(gc.get_hatch_path(), there, around))
        color = gc.get_hatch_color()
        width = _short(self.points_to_pixels(gc.get_hatch_linewidth()))
        style = f'stroke="{_color(color)}" stroke-width="{width}"'
        self._add(style, data, (left, top, right - left, bottom - top), joins=True)

    def _add(
        self, style: str, body: str, clip: Box | None, *, kind: str = "path", joins: bool = False
    ) -> None:
        if body:
            self.pieces.append(_Piece(style, body, kind, clip, joins))

    def _box(self, extents: Sequence[float]) -> Box:
        """A rectangle with its heights from the top, as left, top, width and height, rounded."""
        left, low, right, high = (float(np.round(v, 1)) for v in extents)
        return left, round(self.height - high, 1), round(right - left, 1), round(high - low, 1)

    def _seen(self, box: Any, drawn: Any, gc: Any) -> Box | None:
        """The rectangle that cuts the path off, if it does."""
        if box is None:
            return None
        clip = self._box(box)
        low, high = drawn.vertices.min(axis=0), drawn.vertices.max(axis=0)
        slack = self._line_width(gc) / 2 + 0.2
        inside = clip[0] - slack <= low[0] and high[0] <= clip[0] + clip[2] + slack
        inside = inside and clip[1] - slack <= low[1] and high[1] <= clip[1] + clip[3] + slack
        return None if inside else clip

    def _line_width(self, gc: Any) -> float:
        return float(self.points_to_pixels(gc.get_linewidth()))

    def _fill(self, gc: Any, face: Any) -> str:
        """The attributes of a filled area; empty for none."""
        if face is None:
            return ""
        alpha = gc.get_alpha() if gc.get_forced_alpha() else face[3] if len(face) == 4 else 1.0
        return f'fill="{_color(face)}"' + _opacity("fill", alpha) if alpha > 0 else ""

    def _stroke(self, gc: Any) -> str:
        """The attributes of a line; empty for none."""
        rgba, width = gc.get_rgb(), self._line_width(gc)
        alpha = gc.get_alpha() if gc.get_forced_alpha() else rgba[3]
        if width == 0 or alpha == 0:
            return ""
        style = f'stroke="{_color(rgba)}" stroke-width="{_short(width)}"' + _opacity("stroke", alpha)
        offset, dashes = gc.get_dashes()
        if dashes is not None and len(dashes):
            lengths = " ".join(_short(self.points_to_pixels(v)) for v in dashes)
            style += f' stroke-dasharray="{lengths}"'
            style += f' stroke-dashoffset="{_short(self.points_to_pixels(offset))}"' if offset else ""
        cap = {"projecting": "square"}.get(gc.get_capstyle(), gc.get_capstyle())
        style += f' stroke-linecap="{cap}"' if cap != "butt" else ""
        join = gc.get_joinstyle()
        return style + (f' stroke-linejoin="{join}"' if join != "round" else "")


def _shades(pixels: Any) -> list[tuple[int, ...]]:
    """The colors of an image, in the order in which they come; not many more than are drawn cell by cell."""
    flat = pixels.reshape(-1, 4)
    _, first = np.unique(flat, axis=0, return_index=True)
    return [tuple(int(v) for v in flat[i]) for i in np.sort(first)[: MOST_SHADES + 1] if flat[i, 3] > 0]


def _cells(pixels: Any, color: tuple[int, ...]) -> Any:
    """The cells of one color as rectangles, each as wide and then as high as it goes."""
    left = (pixels == color).all(axis=-1)
    corners = []
    for row, column in np.ndindex(*left.shape):
        if left[row, column]:
            end = column + int(np.argmin(np.append(left[row, column:], False)))
            low = row + int(np.argmin(np.append(left[row:, column:end].all(axis=1), False)))
            left[row:low, column:end] = False
            corners += [(column, row), (end, row), (end, low), (column, low), (column, row)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(corners) // 5)
    return Path(corners, codes)


def _opacity(of: str, alpha: float | None) -> str:
    return "" if alpha is None or alpha >= 1 else f' {of}-opacity="{_short(alpha, 2)}"'


def _circle(x: float, y: float, marker: Any) -> str:
    """A circle of the marker's size around a point, as two arcs."""
    radius = round(10 * float(np.abs(marker.vertices).max()))
    left, down = (int(np.floor(10 * v + 0.5 + 1e-6)) for v in (x, y))
    r, across = _tenths(radius), _tenths(2 * radius)
    return f"M{_list([left - radius, down])}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0-{across} 0z"


def _is_bold(prop: Any) -> bool:
    weight = prop.get_weight()
    return weight in ("bold", "semibold", "heavy", "black") or (not isinstance(weight, str) and weight >= 600)
