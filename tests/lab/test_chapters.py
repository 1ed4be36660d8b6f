"""Every chapter reads well in JupyterLab: no raw markup, boxes for statements, solutions folded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from labels import FORMULA, places
from live_contents import LABEL, ROLE

from conftest import SHOWN, Lab

RAW = re.compile(r":::|\{(?:prf:[a-z]+|eq|ref|numref|doc|cite(?::[a-z]+)?|solution|exercise|dropdown)\}")
STATEMENT = re.compile(r"^:{3,}\{prf:(?!proof)", re.MULTILINE)
SOLUTION = re.compile(r"^:{3,}\{solution\} (\S+)$", re.MULTILINE)
NUMBERED = re.compile(r"^:{3,}\{(?:prf:)?([a-z]+)\}.*\n:label: \S+\n:number: (\S+)$", re.MULTILINE)

# What a reader sees of the text cells; code is quoted as it is.
SEEN = """shown => [...document.querySelectorAll(`${shown} .jp-MarkdownCell .myst`)].map(cell => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("code, pre, .katex").forEach(part => part.remove());
  return copy.textContent;
})"""

# What stands beside each formula, where something does.
BESIDE = """shown => [
  ...document.querySelectorAll(`${shown} .jp-MarkdownCell [title="Link to this Equation"]`)
].filter(number => getComputedStyle(number).display !== "none").map(number => number.textContent)"""

# Where each reference leads, and what it says.
REFERENCES = """shown => [...document.querySelectorAll(`${shown} .jp-MarkdownCell a[href^="#"]:not([title])`)]
  .map(link => [link.hash.slice(1), link.textContent.replaceAll("\\u00a0", " ")])"""

# How the proofs begin.
PROOFS = """shown => [...document.querySelectorAll(`${shown} .myst-proof-title > span.select-none`)]
  .map(title => title.textContent)"""

# The kind and the number in each title of a statement or an exercise.
TITLES = """shown => [...document.querySelectorAll(
  `${shown} .jp-MarkdownCell a[title^="Link to this"]:not([title$="Equation"])`
)].map(title => title.textContent).filter(words => words !== "¶")"""


@pytest.fixture(scope="module")
def text(lab: Lab, name: str) -> Iterator[str]:
    """The text of a chapter, which is open."""
    lab.open(name)
    lab.page.wait_for_function("!document.querySelector('[title$=\"Not Found\"]')")
    cells = json.loads((lab.book / name).read_text(encoding="utf-8"))["cells"]
    yield "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    lab.close()


def test_a_chapter_reads_well(lab: Lab, text: str) -> None:
    seen = lab.page.evaluate(SEEN, SHOWN)
    assert not [found[0] for cell in seen for found in RAW.finditer(cell)]
    assert not lab.page.locator(f"{SHOWN} .katex-error").count()
    assert bool(lab.page.locator(f"{SHOWN} .cite-group .ab-known").count()) == ("{cite:" in text)
    boxes, folds = (lab.page.locator(f"{SHOWN} {kind}") for kind in (".myst-proof", "details"))
    assert boxes.count() >= len(STATEMENT.findall(text))
    solutions = folds.filter(has_text="Solution to")
    assert solutions.count() == len(SOLUTION.findall(text))
    assert not lab.page.locator(f"{SHOWN} .jp-MarkdownCell details[open]").count()


def test_its_numbers_are_those_of_its_page(lab: Lab, text: str) -> None:
    pages = [f"{kind.capitalize()} {number}" for kind, number in NUMBERED.findall(text)]
    assert lab.page.evaluate(TITLES, SHOWN) == pages
    known = places()
    formulas = [known["".join(labels)].words for labels in FORMULA.findall(text)]
    assert lab.page.evaluate(BESIDE, SHOWN) == formulas
    assert set(lab.page.evaluate(PROOFS, SHOWN)) <= {"Proof"}


def test_its_references_say_what_those_of_its_page_say(lab: Lab, text: str) -> None:
    known = places()
    said = sorted((label, words) for label, words in lab.page.evaluate(REFERENCES, SHOWN))
    written = [found.groups() for rule in (ROLE, LABEL) for found in rule.finditer(text)]
    written += [(None, exercise) for exercise in SOLUTION.findall(text)]
    assert said == sorted((label, given or known[label].words) for given, label in written)


def test_a_link_to_another_chapter_opens_it(lab: Lab) -> None:
    lab.open("07-optimism.ipynb")
    lab.page.locator(f"{SHOWN} a:text-is('appendix')").first.click()
    lab.wait_for("appendix-background.ipynb")
    lab.close()


def test_a_reference_to_another_chapter_leads_to_the_place(lab: Lab) -> None:
    lab.open("10-reduction.ipynb")
    lab.page.locator(f"{SHOWN} a:text-is('Theorem 9.9')").first.click()
    lab.wait_for("09-confidence.ipynb")
    theorem = lab.page.locator(f"{SHOWN} [id='thm-ch9-close']")
    lab.page.wait_for_function(
        "place => Math.abs(place.getBoundingClientRect().top - 100) < 100", arg=theorem.element_handle()
    )
    lab.close()
