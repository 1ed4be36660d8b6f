"""How a page comes to be there: little to load, nothing that moves, every icon, every name once."""

from __future__ import annotations

import gzip
from collections import Counter
from urllib.parse import unquote, urlsplit

from conftest import SITE, Visit

MAX_SCRIPTS = 500_000
MAX_SHIFT = 0.1

ICONLESS = """() => [...document.querySelectorAll(":is(i, span, a)[class*='fa-']")]
    .filter(icon => getComputedStyle(icon, "::before").maskImage === "none")
    .map(icon => icon.className)"""


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
