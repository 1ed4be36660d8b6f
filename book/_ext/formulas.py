"""How wide a formula will be once MathJax has typeset it, from the widths of its signs.

The widths are in heights of the text's letters, as MathJax 3 sets its own font beside the book's: measured
on all formulas in lines of this book, and fitted by least squares (`formula_widths.json`). Whether they
agree with what is typeset, `tests/site/test_loading.py` asks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MATRIX = re.compile(r"\\begin\{([a-z]*)matrix\}(.*?)\\end\{\1matrix\}", re.DOTALL)
SIGN = re.compile(r"\\[a-zA-Z]+|\\.|\S")
SCALE = 1.0746  # of MathJax's font beside the text
SCRIPT = 0.707  # of what is raised or lowered
FONTS = {
    "\\mathcal": "cal ",
    "\\mathbb": "bb ",
    "\\mathbf": "bf ",
    "\\mathrm": "rm ",
    "\\text": "rm ",
    "\\operatorname": "rm ",
    "\\mathit": "",
    "\\boldsymbol": "",
}
ACCENTS = {"\\hat", "\\tilde", "\\bar", "\\widehat", "\\widetilde", "\\overline", "\\underline", "\\vec"}
FRACTIONS = {"\\frac", "\\tfrac", "\\dfrac"}
SPACES = {
    r"\,": 0.167,
    r"\:": 0.222,
    r"\;": 0.278,
    r"\!": -0.167,
    r"\ ": 0.25,
    "~": 0.25,
    r"\quad": 1.0,
    r"\qquad": 2.0,
}
UNSEEN = {*SIGN.findall(r"\left \right \big \Big \bigl \bigr \Bigl \Bigr \limits \mathsf \displaystyle")}
RELATIONS = {
    *SIGN.findall(
        r"= < > : \le \leq \ge \geq \lt \gt \ll \gg \ne \neq \equiv \approx \sim \propto \in \notin \subset"
    ),
    *SIGN.findall(
        r"\subseteq \mid \perp \preceq \succeq \to \mapsto \rightarrow \leftarrow \Rightarrow \iff \implies"
    ),
}
OPERATORS = {*SIGN.findall(r"+ - * \cdot \times \pm \mp \setminus \cup \cap \oplus \circ \wedge")}
OPENING = {*SIGN.findall(r"( [ \{ \langle \lfloor \lceil")}
WIDTHS: dict[str, float] = json.loads(
    Path(__file__).with_name("formula_widths.json").read_text(encoding="utf-8")
)
BRACKETS = 1.47  # around a matrix of two rows, both
USUAL = 0.55  # of a sign that has not been measured


def width(tex: str) -> float:
    """How wide a formula in a line will be.

    Args:
        tex: The formula, without its dollar signs.

    Returns:
        The width, in heights of the letters around it.
    """
    return _sum(signs(tex))


def signs(tex: str) -> Counter[str]:
    """The signs of a formula, each with how often it is there, a script counted as smaller."""
    around = MATRIX.sub("{}", tex)
    counts = _run(_grouped(iter(SIGN.findall(around))), "", 1.0)
    for kind, cells in MATRIX.findall(tex):
        counts += _matrix([[signs(cell) for cell in row.split("&")] for row in cells.split(r"\\")])
        counts["em"] += BRACKETS if kind else 0.0
    return counts


def _matrix(rows: list[list[Counter[str]]]) -> Counter[str]:
    """Its columns side by side, each as wide as its widest cell."""
    columns = [max((row[k] for row in rows if k < len(row)), key=_sum) for k in range(max(map(len, rows)))]
    return sum(columns, Counter({"em": len(columns) - 1.0}))


def _sum(counts: Counter[str]) -> float:
    return SCALE * sum(count * _width(sign) for sign, count in counts.items())


def _width(sign: str) -> float:
    return 1.0 if sign == "em" else WIDTHS.get(sign, USUAL)


def _grouped(found: Iterator[str]) -> list[Any]:
    """Signs, and lists of signs for what stands in braces."""
    group: list[Any] = []
    for sign in found:
        if sign == "}":
            break
        group.append(_grouped(found) if sign == "{" else sign)
    return group


def _run(group: list[Any], font: str, size: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    before, at = "(", 0

    def argument() -> list[Any]:
        nonlocal at
        at += 1
        one = group[at - 1] if at <= len(group) else []
        if isinstance(one, str) and one in {*FONTS, *ACCENTS}:
            return [one, argument()]
        return one if isinstance(one, list) else [one]

    while at < len(group):
        sign = group[at]
        at += 1
        if isinstance(sign, list):
            counts += _run(sign, font, size)
        elif sign in "_^":
            raised = [_run(argument(), font, size * SCRIPT)]
            while at < len(group) and group[at] in ("_", "^"):
                at += 1
                raised.append(_run(argument(), font, size * SCRIPT))
            counts.update(max(raised, key=_sum))
            counts["em"] += 0.05 * size
            continue
        elif sign in FONTS:
            counts.update(_run(argument(), FONTS[sign], size))
        elif sign in ACCENTS:
            counts.update(_run(argument(), font, size))
        elif sign in FRACTIONS:
            parts = [_run(argument(), font, size * SCRIPT) for _ in range(2)]
            counts.update(max(parts, key=_sum))
            counts["em"] += 0.24 * size
        elif sign == "\\sqrt":
            counts.update(_run(argument(), font, size))
            counts["\\sqrt"] += size
        elif sign in SPACES:
            counts["em"] += SPACES[sign] * size
            continue
        elif sign in UNSEEN:
            continue
        else:
            counts[font + sign] += size
            if size == 1.0:
                counts["em"] += _room(sign, before)
        before = sign if isinstance(sign, str) else "x"
    return counts


def _room(sign: str, before: str) -> float:
    """The room on both sides of a sign in a line."""
    if sign in RELATIONS:
        return 0.556
    if sign in OPERATORS:
        return 0.0 if before in RELATIONS | OPERATORS | OPENING | {","} else 0.444
    return 0.167 if sign in (",", ";") else 0.0
