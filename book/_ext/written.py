"""The pages of a finished build, read back: what previews.py and search.py are made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bs4 import BeautifulSoup, Tag

HEAVY = re.compile(
    r'<script type="application/vnd\.jupyter\.[^"]*">.*?</script>'
    r'|(?<=")data:[^"]*(?=")|<noscript>.*?</noscript>|<svg\b.*?</svg>',
    re.DOTALL,
)
ARTICLE = re.compile(r"<article\b.*</article>", re.DOTALL)


def articles(app: Any) -> dict[str, Tag]:
    """By address, the article of each page that has a source or is the index; pictures are left out."""
    found: dict[str, Tag] = getattr(app, "_written_articles", {})
    if not found:
        for page in sorted(app.env.found_docs):
            text = Path(app.outdir, f"{page}.html").read_text(encoding="utf-8")
            inner = ARTICLE.search(HEAVY.sub("", text))
            article = BeautifulSoup(inner[0], "html.parser").find("article") if inner else None
            if isinstance(article, Tag):
                found[f"{page}.html"] = article
        app._written_articles = found
    return found


def target(address: str, link: str) -> tuple[str, str] | None:
    """(address, fragment) that a link on a page leads to; nothing if it leaves the site."""
    place, _, fragment = link.partition("#")
    if ":" in place or place.startswith("//"):
        return None
    if not place:
        return address, fragment
    parts: list[str] = []
    for part in (PurePosixPath(address).parent / place).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts), fragment


def chapter_numbers(app: Any) -> Mapping[str, str]:
    """By address, the number that the contents give a page."""
    secnumbers = app.env.toc_secnumbers
    return {
        f"{page}.html": ".".join(map(str, numbers[""]))
        for page, numbers in secnumbers.items()
        if numbers.get("")
    }
