"""Compare two runs of a chapter: text exactly, pictures pixel by pixel within a tolerance.

Processors differ in the last digits of floating-point results, which can move the edge of a drawn line by a
fraction of a pixel. Two pictures are the same when, on the scale 0..255 of a color channel,

- they have the same size,
- they differ by at most MEAN_DIFFERENCE on average, and
- at most SHARE_OF_PIXELS of the pixels differ by more than VISIBLE in some channel.

The second alone would miss a lost marker, the third alone a pale wash over everything.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator

import numpy as np
from nbformat import NotebookNode
from PIL import Image

MEAN_DIFFERENCE = 0.5
SHARE_OF_PIXELS = 0.002
VISIBLE = 24

EMBEDDED = re.compile(r"data:image/(?:png|webp|jpeg);base64,([A-Za-z0-9+/=\n]+)")
NUMBER = re.compile(r"-?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][-+]?\d+)?")
MEASURED = re.compile(r'\b(d|d?[xy]|[xy][12]|c[xy]|r|width|height|points|transform|viewBox)="([^"]*)"')
STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
SVG_TOLERANCE = 0.25  # in the units of the drawing, pixels, which are rounded to tenths
RASTER = ("image/png", "image/jpeg", "image/webp")
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


def differences(committed: NotebookNode, again: NotebookNode) -> list[str]:
    """Every place where a chapter run again shows something else than the committed one."""
    found = []
    for number, (old, new) in enumerate(zip(code(committed), code(again), strict=True), start=1):
        found += [f"cell {number}, {difference}" for difference in trees(old.outputs, new.outputs, "output")]
    old_state, new_state = (notebook.metadata.get("widgets", {}) for notebook in (committed, again))
    return found + trees(old_state.get(WIDGET_STATE), new_state.get(WIDGET_STATE), "widget state")


def code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def trees(old: object, new: object, place: str, mime: str = "") -> list[str]:
    """Differences of two JSON trees; a string is compared as what its MIME type says that it is."""
    if isinstance(old, dict) and isinstance(new, dict):
        if set(old) != set(new):
            return [f"{place}: has {sorted(set(new) ^ set(old))} only once"]
        return [d for key in old for d in trees(old[key], new[key], f"{place} {key}", key)]
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{place}: {len(old)} entries, now {len(new)}"]
        pairs = enumerate(zip(old, new, strict=True))
        return [d for index, (a, b) in pairs for d in trees(a, b, f"{place} {index}", mime)]
    if isinstance(old, str) and isinstance(new, str):
        return list(strings(old, new, place, mime))
    return [] if old == new else [f"{place}: {old!r}, now {new!r}"]


def strings(old: str, new: str, place: str, mime: str) -> Iterator[str]:
    """Differences of two strings: a picture, a drawing, or text in which pictures may be embedded."""
    if old == new:
        return
    if mime in RASTER:
        yield from (f"{place}: {d}" for d in pictures(old, new))
    elif "<svg" in old and "<svg" in new:
        yield from (f"{place}: {d}" for d in drawings(old, new))
    elif EMBEDDED.sub("PICTURE", old) != EMBEDDED.sub("PICTURE", new):
        yield f"{place}: {old[:80]!r}, now {new[:80]!r}"
    else:
        for a, b in zip(EMBEDDED.findall(old), EMBEDDED.findall(new), strict=True):
            yield from (f"{place}: {d}" for d in pictures(a, b))


def pictures(old: str, new: str) -> Iterator[str]:
    """Differences of two raster pictures in base64."""
    a, b = pixels(old), pixels(new)
    if a.shape != b.shape:
        yield f"picture of {a.shape[1]}x{a.shape[0]} pixels, now {b.shape[1]}x{b.shape[0]}"
        return
    apart = np.abs(a - b)
    mean, share = apart.mean(), (apart.max(axis=-1) > VISIBLE).mean()
    if mean > MEAN_DIFFERENCE:
        yield f"picture differs by {mean:.3g} of 255 on average, at most {MEAN_DIFFERENCE} allowed"
    if share > SHARE_OF_PIXELS:
        yield f"picture differs visibly in {share:.2%} of its pixels, at most {SHARE_OF_PIXELS:.2%} allowed"


def pixels(picture: str) -> np.ndarray:
    """The picture's colors over white, shape (height, width, 4) with the opacity last."""
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        rgba = np.asarray(image.convert("RGBA"), dtype=float)
    opacity = rgba[..., 3:] / 255
    return np.concatenate([rgba[..., :3] * opacity + 255 * (1 - opacity), rgba[..., 3:]], axis=-1)


def drawings(old: str, new: str) -> Iterator[str]:
    """Differences of two SVG drawings: all is the same, what they measure within SVG_TOLERANCE."""
    if MEASURED.sub("", old) != MEASURED.sub("", new):
        yield "drawing has other elements or words"
        return
    farthest = 0.0
    for (name, one), (_, other) in zip(MEASURED.findall(old), MEASURED.findall(new), strict=True):
        if one != other:
            farthest = max(farthest, apart(*map(corners if name == "d" else numbers, (one, other))))
    if farthest > SVG_TOLERANCE:
        yield f"drawing moved by {farthest:.3g} pixels, at most {SVG_TOLERANCE} allowed"


def numbers(text: str) -> np.ndarray:
    """All numbers, numbered: (m, 2)."""
    found = NUMBER.findall(text)
    return np.array([(1e6 * i, float(x)) for i, x in enumerate(found)]).reshape(-1, 2)


def corners(data: str) -> np.ndarray:
    """The points of a path's data in the coordinates of the page, (m, 2); of an arc it is the end."""
    here, found = np.zeros(2), [np.zeros(2)]
    for letter, body in STEP.findall(data):
        kind, start = letter.lower(), here if letter.islower() else np.zeros(2)
        for step in numbers(body)[:, 1].reshape(-1, {"h": 1, "v": 1, "q": 4, "c": 6, "a": 7}.get(kind, 2)):
            if kind in "hv":  # the coordinate that is not written stays
                end = here.copy()
                end["hv".index(kind)] = start["hv".index(kind)] + step[0]
                points = [end]
            else:
                points = list(start + (step[-2:] if kind == "a" else step).reshape(-1, 2))
            found += points
            here = points[-1]
            start = here if letter.islower() else start
    return np.array(found)


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """How far the farthest point of either is from the other: rounding may unite corners of a line."""
    if not one.size or not other.size:
        return float("inf")
    distances = np.linalg.norm(one[:, None] - other[None], axis=-1)
    return float(max(distances.min(axis=0).max(), distances.min(axis=1).max()))
