"""The chapters in plain Markdown, for a notebook that knows nothing of the book's markup, as Google Colab.

A statement begins with its kind and number in bold, what is folded on the page is a `<details>`, an equation
carries its number as a tag, and every reference is the words that the page shows for it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from execute import BOOK
from live_contents import Words, resolved

OPENING = re.compile(r"^(:{3,})\{([\w:]+)\} ?(.*)$")
CLOSING = re.compile(r"^(:{3,})$")
OPTION = re.compile(r"^:([a-z-]+): ?(.*)$")
EQUATION = re.compile(r"\$\$ ?\((\S+)\)$", re.MULTILINE)
TARGET = re.compile(r"^\(\S+\)=\n", re.MULTILINE)
INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
MATH = re.compile(r"^```\{math\}\n(?::label: (\S+)\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDED = {"dropdown", "solution"}


def plain_notebook(notebook: dict[str, Any], words: Words) -> dict[str, Any]:
    """A chapter whose text is plain Markdown; the notebook that is passed is changed."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = plain_text("".join(cell["source"]), words).splitlines(keepends=True)
    return notebook


def plain_text(text: str, words: Words) -> str:
    """The text of a cell."""

    def number(label: str | None) -> str:
        return rf"\tag{{{words.places[label].words.strip('()')}}}" if label in words.places else ""

    text = INCLUDE.sub(lambda found: (BOOK / found[1]).read_text(encoding="utf-8").strip(), text)
    text = MATH.sub(lambda found: f"$$\n{found[2]}{number(found[1])}$$", text)
    text = EQUATION.sub(lambda found: f"{number(found[1])}$$", TARGET.sub("", text))
    text = resolved(text, words)
    return "\n".join(unfenced(text.split("\n"), words))


def unfenced(lines: list[str], words: Words) -> Iterator[str]:
    """The lines without directives: what each says by its form is said in words."""
    ends: list[str] = []  # how each directive that is open will end
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        opening = OPENING.match(line)
        if opening:
            options: dict[str, str] = {}
            while place < len(lines) and (option := OPTION.match(lines[place])):
                options[option[1]] = option[2]
                place += 1
            head, end = frame(opening[2], opening[3].strip(), options, words)
            ends.append(end)
            yield from (head, "")
        elif CLOSING.match(line) and ends:
            yield from ("", ends.pop())
        else:
            yield line


def frame(kind: str, title: str, options: dict[str, str], words: Words) -> tuple[str, str]:
    """How a directive begins, and how it ends."""
    if kind == "solution":
        title = f"Solution to {words.places[title].words}"
    if kind in FOLDED or "dropdown" in options.get("class", ""):
        return f"<details><summary>{html.escape(title, quote=False)}</summary>", "</details>"
    if kind == "admonition":
        return f"**{title}**", ""
    if kind == "prf:proof":
        return "*Proof.*", "∎"
    name = f"{kind.removeprefix('prf:').capitalize()} {options.get('number', '')}".strip()
    return (f"**{name}** ({title})." if title else f"**{name}.**"), ""
