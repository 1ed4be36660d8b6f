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
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
SVG_TOLERANCE = 0.02  # in the units of the drawing, points
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
    elif mime == "image/svg+xml":
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
    """Differences of two SVG drawings: the same elements, their numbers within SVG_TOLERANCE."""
    if NUMBER.sub("0.0", old) != NUMBER.sub("0.0", new):
        yield "drawing has other elements"
        return
    a, b = (np.array([float(x) for x in NUMBER.findall(svg)]) for svg in (old, new))
    farthest = np.abs(a - b).max(initial=0.0)
    if farthest > SVG_TOLERANCE:
        yield f"drawing moved by {farthest:.3g} points, at most {SVG_TOLERANCE} allowed"
