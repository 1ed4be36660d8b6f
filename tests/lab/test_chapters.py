"""Every chapter reads well in JupyterLab: no raw markup, boxes for statements, solutions folded."""

from __future__ import annotations

import json
import re

from conftest import SHOWN, Lab

RAW = re.compile(r":::|\{(?:prf:[a-z]+|eq|ref|numref|doc|cite(?::[a-z]+)?|solution|exercise|dropdown)\}")
STATEMENT = re.compile(r"^:{3,}\{prf:(?!proof)", re.MULTILINE)
SOLUTION = re.compile(r"^:{3,}\{solution\}", re.MULTILINE)
NUMBERED = re.compile(r"^:{3,}\{(?:prf:)?([a-z]+)\}.*\n:label: \S+\n:number: (\S+)$", re.MULTILINE)

# What a reader sees of the text cells; code is quoted as it is.
SEEN = """shown => [...document.querySelectorAll(`${shown} .jp-MarkdownCell .myst`)].map(cell => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("code, pre, .katex").forEach(part => part.remove());
  return copy.textContent;
})"""

# The kind and the number in each title of a statement or an exercise.
TITLES = """shown => [...document.querySelectorAll(
  `${shown} .jp-MarkdownCell a[title^="Link to this"]:not([title$="Equation"])`
)].map(title => title.textContent).filter(words => words !== "¶")"""


def source(lab: Lab, name: str) -> str:
    cells = json.loads((lab.book / name).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_a_chapter_reads_well(lab: Lab, name: str) -> None:
    lab.open(name)
    seen, text = lab.page.evaluate(SEEN, SHOWN), source(lab, name)
    assert not [found[0] for cell in seen for found in RAW.finditer(cell)]
    assert not lab.page.locator(f"{SHOWN} .katex-error").count()
    pages = [f"{kind.capitalize()} {number}" for kind, number in NUMBERED.findall(text)]
    assert lab.page.evaluate(TITLES, SHOWN) == pages
    lab.page.wait_for_function("!document.querySelector('[title=\"Citation Not Found\"]')")
    assert bool(lab.page.locator(f"{SHOWN} .ab-cited").count()) == ("{cite:" in text)
    boxes, folds = (lab.page.locator(f"{SHOWN} {kind}") for kind in (".myst-proof", "details"))
    assert boxes.count() >= len(STATEMENT.findall(text))
    solutions = folds.filter(has_text="Solution to")
    assert solutions.count() == len(SOLUTION.findall(text))
    assert not lab.page.locator(f"{SHOWN} .jp-MarkdownCell details[open]").count()
    lab.close()


def test_a_link_to_another_chapter_opens_it(lab: Lab) -> None:
    lab.open("07-optimism.ipynb")
    lab.page.locator(f"{SHOWN} a:text-is('appendix')").first.click()
    lab.wait_for("appendix-background.ipynb")
    lab.close()
