"""The chapters as other notebooks hold them: references are words or links; for Colab nothing is special."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from live_contents import Words, live_chapters, notebooks, read, resolved
from plain_contents import plain_notebook, plain_text

from conftest import SITE

WORDS = Words(
    links={"thm-far": "Theorem 3.2", "thm-near": "Theorem 4.1", "api": "mirror_step"},
    notebooks={"thm-far": "03-barriers.ipynb", "thm-near": "04-one-point-estimator.ipynb"},
    numbers={"thm-near": "4.1", "ex-one": "4.2"},
    references={},
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("By {prf:ref}`thm-far`.", "By [Theorem 3.2](03-barriers.ipynb)."),
        ("By {prf:ref}`that bound <thm-far>`.", "By [that bound](03-barriers.ipynb)."),
        ("By {prf:ref}`thm-near`.", "By {prf:ref}`thm-near`."),  # the notebook resolves its own
        ("A {ref}`api`.", "A mirror_step."),  # its page is no notebook
        ("See [the notation](notation.md#signs).", "See the notation."),
    ],
)
def test_a_reference_says_by_itself_what_it_is(text: str, shown: str) -> None:
    assert resolved(text, {"thm-near"}, WORDS) == shown


def test_every_label_of_a_live_chapter_is_found_in_its_notebook() -> None:
    words = read(SITE)
    assert words.notebooks["thm-ch3-fits"] == "03-barriers.ipynb"
    assert set(words.notebooks) <= set(words.links)


def test_a_printed_text_is_one_string() -> None:
    """JupyterLite shows a list of lines with a comma before each but the first."""
    printed = [
        output["text"]
        for notebook in notebooks(SITE).values()
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    ]
    assert len(printed) > 20
    assert {type(text) for text in printed} == {str}


STATEMENT = """:::{prf:theorem} A bound
:label: thm-near
:number: 4.1

By {prf:ref}`thm-far`:

$$x\\le1$$ (eq-bound)
:::

::::{dropdown} Why $a<b$
:::{prf:proof}
It is so.
:::
::::

:::{solution} ex-one
:class: dropdown

Two.
:::"""
PLAIN = """**Theorem 4.1** (A bound).


By Theorem 3.2:

$$x\\le1\\tag{4.7}$$



<details><summary>Why $a&lt;b$</summary>

*Proof.*

It is so.

∎

</details>

<details><summary>Solution to Exercise 4.2</summary>


Two.

</details>"""


def test_for_colab_what_a_directive_says_by_its_form_is_said_in_words() -> None:
    words = Words(dict(WORDS.links) | {"eq-bound": "(4.7)"}, WORDS.notebooks, WORDS.numbers, {})
    assert plain_text(STATEMENT, words) == PLAIN


RAW = re.compile(
    r":::|\{(?:prf:[a-z]+|eq|ref|numref|cite:[tp]|include|math)\}|^\(\S+\)=$|\$\$ ?\(\S+\)$", re.MULTILINE
)


@pytest.fixture(scope="module")
def words() -> Words:
    return read(SITE)


@pytest.mark.parametrize("path", list(live_chapters()), ids=lambda path: path.stem)
def test_for_colab_no_markup_of_the_book_is_left(words: Words, path: Path) -> None:
    notebook = plain_notebook(json.loads(path.read_text(encoding="utf-8")), words)
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    assert [found[0] for cell in cells for found in RAW.finditer(cell)] == []
    for cell in cells:
        assert cell.count("<details>") == cell.count("</details>")
