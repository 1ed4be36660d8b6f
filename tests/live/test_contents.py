"""The chapters as other notebooks hold them: references are words or links; for Colab nothing is special."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from labels import Place, named, text_of
from live_contents import LABEL, ROLE, Words, live_chapters, notebooks, resolved, words_of_the_book
from plain_contents import plain_notebook, plain_text

from conftest import SITE

HERE = "04-one-point-estimator.ipynb"
WORDS = Words(
    places={
        "thm-far": Place("Theorem 3.2", "03-barriers.ipynb"),
        "thm-near": Place("Theorem 4.1", HERE),
        "eq-bound": Place("(4.7)", HERE),
        "ex-one": Place("Exercise 4.2", HERE),
    },
    references={},
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("By {prf:ref}`thm-far`.", "By [Theorem 3.2](03-barriers.ipynb)."),
        ("By {prf:ref}`that bound <thm-far>`.", "By [that bound](03-barriers.ipynb)."),
        ("By [that bound](#thm-far).", "By [that bound](03-barriers.ipynb)."),
        ("By {prf:ref}`thm-near`.", "By {prf:ref}`thm-near`."),  # the notebook resolves its own
        ("By [this bound](#thm-near).", "By [this bound](#thm-near)."),
        ("See [the notation](notation.md#signs).", "See the notation."),  # its page is no notebook
    ],
)
def test_a_reference_says_by_itself_what_it_is(text: str, shown: str) -> None:
    assert resolved(text, WORDS, HERE) == shown


LABELS = """(sec-one)=
## A title

:::{prf:lemma} Of two
:label: lem-one
:number: 4.2

Two.
:::

$$x$$ (eq-first)

$$y$$

```{math}
:label: eq-second
z
```
"""


def test_what_a_label_names() -> None:
    assert dict(named(LABELS, HERE)) == {
        "sec-one": "A title",
        "lem-one": "Lemma 4.2",
        "eq-first": "(4.1)",
        "eq-second": "(4.2)",
    }
    assert dict(named("$$x$$ (eq-only)", "appendix-background.ipynb")) == {"eq-only": "(1)"}


@pytest.fixture(scope="module")
def words() -> Words:
    return words_of_the_book()


@pytest.mark.parametrize("path", list(live_chapters()), ids=lambda path: path.stem)
def test_a_label_is_named_as_on_its_page_and_each_that_is_used_is_known(words: Words, path: Path) -> None:
    page = (SITE / f"{path.stem}.html").read_text(encoding="utf-8")
    own = {label: place.words for label, place in words.places.items() if place.notebook == path.name}
    for label, shown in own.items():
        there = re.search(rf'id="(?:equation-)?{label}">(.{{500}})', page, re.DOTALL)
        assert there, label
        assert shown in html.unescape(re.sub(r"<[^>]+>", "", there[1])), label
    used = [found.groups()[1] for rule in (ROLE, LABEL) for found in rule.finditer(text_of(path))]
    assert set(used) <= set(words.places)


def test_a_printed_text_is_one_string() -> None:
    """JupyterLite shows a list of lines with a comma before each but the first."""
    printed = [
        output["text"]
        for notebook in notebooks().values()
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
    assert plain_text(STATEMENT, WORDS) == PLAIN


RAW = re.compile(
    r":::|\{(?:prf:[a-z]+|eq|ref|numref|cite:[tp]|include|math)\}|^\(\S+\)=$|\$\$ ?\(\S+\)$", re.MULTILINE
)


@pytest.mark.parametrize("path", list(live_chapters()), ids=lambda path: path.stem)
def test_for_colab_no_markup_of_the_book_is_left(words: Words, path: Path) -> None:
    notebook = plain_notebook(json.loads(path.read_text(encoding="utf-8")), words)
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    assert [found[0] for cell in cells for found in RAW.finditer(cell)] == []
    for cell in cells:
        assert cell.count("<details>") == cell.count("</details>")
