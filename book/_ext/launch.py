"""Sphinx extension: each chapter offers to run in the reader's browser, and on machines elsewhere.

In the browser only where the notebook site is built beside the book (book/_tools/live.py): the build says so
in the environment variable ONLY_THE_TOTAL_LIVE, the megabytes that a browser fetches. On Binder and in Colab
only where the book has a public repository (`repository` in _config.yml). The panel stands above the
chapter's title, folded (book/_templates/layout.html); nothing is fetched until a link is followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from repository import Repository, repository

MEGABYTES = "ONLY_THE_TOTAL_LIVE"
PANEL = """
<details class="ab-launch">
<summary>How to run this chapter</summary>
<div class="ab-launch-panel">
{ways}
</div>
</details>
"""
HERE = """
<p class="ab-served">The chapter opens as a notebook in a new tab, with a Python that runs in your browser:
change a cell, run it, move what it draws. Nothing is installed, and nothing you write leaves this computer.
Up to {megabytes} MB are fetched once and kept by your browser; Python needs half a minute to start, the
first time, or on a slow machine, up to two.</p>
<p class="ab-served">
<a class="ab-launch-go" href="{address}" target="_blank" rel="opener">Run it in this browser (new tab)</a></p>
<p class="ab-served">Your changes are kept in this browser. The notebook page offers them as a file, and the
way back to the book’s own text.</p>
<p class="ab-unserved">Python in the page needs the book to come from a web server, and this page was opened
from the disk. In the book’s folder run <code>make serve</code>, or <code>python -m http.server</code> in the
folder of this page, and open the address that it names.</p>
"""
BINDER = """
<p><a class="ab-launch-binder" href="{address}" target="_blank" rel="noopener">On Binder (new tab)</a>:
a machine lent for an hour or two, with all that the chapters need, Numba included. It may take minutes to
start, and forgets what you wrote: download it.</p>
"""
COLAB = """
<p><a class="ab-launch-colab" href="{address}" target="_blank" rel="noopener">In Google Colab (new tab)</a>:
with a Google account. The first cell installs the package, and has to be run first.</p>
"""


def offer(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the panel on a chapter's page, if there is a way to run it."""
    if doctree is None or not is_chapter(app, page):
        return
    megabytes = os.environ.get(MEGABYTES)
    ways = [here(app, page, megabytes)] if megabytes else []
    public = repository(app.config)
    if public is not None:
        ways += elsewhere(public, page)
    if ways:
        context["ab_launch"] = PANEL.format(ways="\n".join(map(str.strip, ways)))


def here(app: Any, page: str, megabytes: str) -> str:
    """The way into the notebook site beside the book."""
    address = app.builder.get_relative_uri(page, "lite/run").removesuffix(".html")
    return HERE.format(megabytes=megabytes, address=f"{address}.html?chapter={page}")


def elsewhere(public: Repository, page: str) -> Iterator[str]:
    """The ways to machines that fetch the chapter from the public repository."""
    yield BINDER.format(address=escape(public.binder(page)))
    colab = public.colab(page)
    if colab:
        yield COLAB.format(address=escape(colab))


def is_chapter(app: Any, page: str) -> bool:
    """Whether a page is a notebook, and not the book's front page."""
    return page != app.config.root_doc and Path(app.env.doc2path(page)).suffix == ".ipynb"


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", offer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
