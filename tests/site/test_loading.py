"""How a page comes to be there: little to load, nothing that moves, every icon, every name once."""

from __future__ import annotations

import gzip
from collections import Counter
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Route

from conftest import LIMIT, SITE, WIDE, Visit

MAX_SCRIPTS = 500_000
MAX_SHIFT = 0.1

ICONLESS = """() => [...document.querySelectorAll(":is(i, span, a)[class*='fa-']")]
    .filter(icon => getComputedStyle(icon, "::before").maskImage === "none")
    .map(icon => icon.className)"""

UNSEEN = """() => [...document.querySelectorAll("article span.math")]
    .filter(formula => getComputedStyle(formula).color === "rgba(0, 0, 0, 0)"
        || formula.scrollWidth > formula.clientWidth && getComputedStyle(formula).overflowX === "hidden")
    .map(formula => formula.textContent)"""


def test_scripts_are_light_and_the_icon_font_is_not_asked_for(visit: Visit, server: str) -> None:
    files = {unquote(urlsplit(url).path).lstrip("/") for url in visit.requests if url.startswith(server)}
    scripts = {file: len(gzip.compress((SITE / file).read_bytes())) for file in files if file.endswith(".js")}
    assert sum(scripts.values()) < MAX_SCRIPTS, scripts
    assert [file for file in files if "fontawesome" in file or "/fa-" in file] == []


def test_nothing_moves_while_the_page_loads(visit: Visit) -> None:
    assert visit.shift < MAX_SHIFT


def test_every_icon_is_drawn(visit: Visit) -> None:
    assert visit.page.evaluate(ICONLESS) == []


def test_every_name_is_given_once(visit: Visit) -> None:
    ids = visit.page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert [one for one, times in Counter(ids).items() if times > 1] == []
    folds = visit.page.locator("button.toggle-button, button.copybtn")
    names = folds.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert [name for name, times in Counter(names).items() if times > 1 or not name] == []


TOLD_AND_TYPESET = """() => [...document.querySelectorAll("article span.math")].flatMap(formula => {
    const typeset = formula.querySelector("mjx-container");
    const width = typeset ? typeset.getBoundingClientRect().width : 0;
    const em = parseFloat(getComputedStyle(formula).fontSize);
    return width ? [[parseFloat(formula.style.getPropertyValue("--wide")), width / em]] : [];
})"""


def test_formulas_are_as_wide_as_the_page_has_kept_room_for(visit: Visit) -> None:
    off = sorted(abs(told - typeset) for told, typeset in visit.page.evaluate(TOLD_AND_TYPESET))
    assert sum(off) <= 0.15 * len(off), off[-10:]


def leave_waiting(route: Route) -> None:
    """A server that does not answer."""


@pytest.mark.parametrize("answer", [Route.abort, leave_waiting], ids=["fails", "slow"])
def test_where_mathjax_does_not_come_formulas_are_read_as_tex(answer, browser: Browser, server: str) -> None:
    context = browser.new_context(viewport=WIDE)
    context.set_default_timeout(LIMIT)
    context.route("**/mathjax/**", lambda route: answer(route))
    page = context.new_page()
    page.goto(f"{server}/notation.html", wait_until="commit")
    page.wait_for_selector("footer")
    page.wait_for_function(f"() => ({UNSEEN})().length === 0")
    assert page.locator("mjx-container").count() == 0
    assert r"\(P(s' \mid s,a,h)\)" in page.locator("article span.math").all_inner_texts()
    context.close()
