"""Pages lead to Binder and Colab where _config.yml names a public repository, and nowhere else.

What a button of theirs says is what it does.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from conftest import SITE

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
CHAPTERS = sorted(path.stem for path in SITE.glob("[01]*.html"))


def test_pages_that_are_not_chapters_lead_to_no_other_machine(address: str) -> None:
    page = (SITE / address).read_text(encoding="utf-8")
    if not (SITE / "_sources" / address).with_suffix(".ipynb").is_file() or address == "index.html":
        assert "mybinder.org/v2" not in page
        assert "colab.research.google.com" not in page


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_leads_to_binder_and_colab_where_there_is_an_address(chapter: str) -> None:
    page = (SITE / f"{chapter}.html").read_text(encoding="utf-8")
    assert ("mybinder.org/v2" in page) == bool(ADDRESS)
    assert ("colab.research.google.com" in page) == ADDRESS.startswith("https://github.com/")
    assert (SITE / "colab" / f"{chapter}.ipynb").is_file() == ADDRESS.startswith("https://github.com/")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_fold_says_how_and_the_link_in_it_runs(chapter: str) -> None:
    page = (SITE / f"{chapter}.html").read_text(encoding="utf-8")
    assert page.count("<summary>How to run this chapter</summary>") == page.count('class="ab-launch"')
    assert page.count(">Run it in this browser (new tab)</a>") == page.count('class="ab-launch-go"')
