"""The chapters as the live notebooks hold them: every reference is words, or a link to another chapter."""

from __future__ import annotations

import pytest
from live_contents import Words, read, resolved

from conftest import SITE

WORDS = Words(
    links={"thm-far": "Theorem 3.2", "thm-near": "Theorem 4.1", "api": "mirror_step"},
    notebooks={"thm-far": "03-barriers.ipynb", "thm-near": "04-one-point-estimator.ipynb"},
    numbers={},
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
