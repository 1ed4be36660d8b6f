"""What the shortened run of axe still sees, and that it leaves a page as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from accessibility import complaints
from playwright.sync_api import Browser, Page

from conftest import LIMIT

WORDS = "".join(f"<p>Line {number} of many that look alike.</p>" for number in range(40))
FORMULA = "<mjx-container><i>x</i><mjx-assistive-mml>x</mjx-assistive-mml></mjx-container>"
CODE = '<pre><span class="k">if</span> <span class="n"><span>it</span></span> <a href="#here">is</a></pre>'
FOLD = "<details><summary>A fold</summary><p>A line that nobody sees.</p></details>"
PAGE = f"""<!doctype html><html lang="en"><title>A page</title>
<style>body {{ background: white; color: #222 }}</style>
<main><h1>A heading {FORMULA}</h1>{FOLD}{CODE}{WORDS}<a href="#here">{FORMULA}</a></main></html>"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(LIMIT)
    yield context.new_page()
    context.close()


def test_a_good_page_has_no_complaint_and_stays_as_it_was(page: Page) -> None:
    page.set_content(PAGE)
    before = page.content()
    assert complaints(page) == []
    assert page.content() == before


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("<p>Line 17", '<p style="color: #aaa">Line 17', "color-contrast"),
        ("<p>Line 17", '<p style="background: #444">Line 17', "color-contrast"),
        ("<p>Line 17", '<p style="opacity: 0.4">Line 17', "color-contrast"),
        ("Line 17", '<span style="color: #999">Line 17</span>', "color-contrast"),
        ("color: #222", "color: #bbb", "color-contrast"),
        ('class="k"', 'class="k" style="color: #aaa"', "color-contrast"),
        ("</style>", ".n span { color: #aaa }</style>", "color-contrast"),
        ('class="k"', 'class="k" role="nothing"', "aria-roles"),
        ("if</span>", "<button></button></span>", "button-name"),
        ("<p>Line 17", '<img src="data:,"><p>Line 17', "image-alt"),
        ("<p>Line 17", '<a href="#here"></a><p>Line 17', "link-name"),
        ("<p>Line 17", "<button></button><p>Line 17", "button-name"),
        ('lang="en"', "", "html-has-lang"),
    ],
)
def test_one_fault_is_seen(page: Page, old: str, new: str, rule: str) -> None:
    assert old in PAGE
    page.set_content(PAGE.replace(old, new))
    assert rule in {complaint.split(":")[0] for complaint in complaints(page)}
