"""The search finds words, names and signs, shows no TeX, and lands at the place, from the disk too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from conftest import SITE, WIDE

TEX = re.compile(r"\\\(|\\\[|\\(?:mathcal|mathbb|frac|eta|ell|lambda|tilde|hat|cdot|sum|le|ge)\b|\$")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.set_default_timeout(120_000)  # milliseconds, on a busy machine
    yield page
    context.close()


def results(page: Page, query: str) -> list[str]:
    """What the search page lists: the texts of the results, best first."""
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={quote(query)}", wait_until="load")
    return page.locator("#ab-results > li").all_inner_texts()


def test_the_index_holds_text_and_no_tex() -> None:
    body = (SITE / "_static" / "search.js").read_text(encoding="utf-8")
    pages = json.loads(body.partition(" = ")[2].rstrip(";\n"))
    places = [place for _, _, parts in pages for place in parts]
    assert len(places) > 400
    prose = [f"{title} {text}" for _, title, text in places if "import " not in text]
    assert [text[:200] for text in prose if TEX.search(text)] == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("G-optimal design", "Exploring a list"),
        ("λ", "Remark 7.9"),
        ("lambda", "Remark 7.9"),
        ("doubling epochs", "9. What the world might still be"),
        ("best_policy", "aggbandit.FiniteHorizonMDP.best_policy"),
    ],
)
def test_words_signs_and_names_are_found(page: Page, query: str, first: str) -> None:
    found = results(page, query)
    assert any(first in text for text in found[:5]), found[:5]
    assert not TEX.search(" ".join(found))
    assert page.locator("#ab-results mark").count() >= len(found)


def test_a_result_leads_to_the_place_and_its_words_are_marked(page: Page) -> None:
    results(page, "unbiased estimate")
    page.get_by_role("link", name="No unbiased estimate").first.click()
    page.wait_for_url("**/06-distorted-bandits.html#prop-ch6-impossible")
    expect(page.locator("#prop-ch6-impossible")).to_be_in_viewport()
    assert page.locator("#prop-ch6-impossible span.highlighted").count() >= 2


def test_what_is_not_there_is_said_and_typing_goes_on(page: Page) -> None:
    assert results(page, "xyzzy") == []
    expect(page.get_by_role("status")).to_have_text("Nothing in the book has all of: xyzzy")
    page.get_by_role("searchbox", name="Search this book").last.fill("Thales")
    expect(page.get_by_role("status")).to_have_text(re.compile(r"places?:$"))
    assert page.url.endswith("?q=Thales")


def test_no_page_loads_an_index_before_one_searches() -> None:
    for path in SITE.glob("*.html"):
        if path.name != "search.html":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"searchindex|searchtools|_static/search\.js", text), path.name
