"""Sphinx extension: each chapter offers to run in the reader's browser.

Only where the notebook site is built beside the book (book/_tools/live.py): the build says so in the
environment variable ONLY_THE_TOTAL_LIVE, the megabytes that a browser fetches. The panel stands above the
chapter's title, folded (book/_templates/layout.html); nothing is fetched until its link is followed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

MEGABYTES = "ONLY_THE_TOTAL_LIVE"
PANEL = """
<details class="ab-launch">
<summary>Run this chapter here</summary>
<div class="ab-launch-panel">
<p class="ab-served">The chapter opens as a notebook in a new tab, with a Python that runs in your browser:
change a cell, run it, move what it draws. Nothing is installed, and nothing you write leaves this computer.
Up to {megabytes} MB are fetched once and kept by your browser; the first time Python needs about 20 seconds
to start, on a slow line longer.</p>
<p class="ab-served">
<a class="ab-launch-go" href="{address}" target="_blank" rel="opener">Open the notebook (new tab)</a></p>
<p class="ab-served">Your changes are kept in this browser. The notebook page offers them as a file, and the
way back to the book’s own text.</p>
<p class="ab-unserved">Python in the page needs the book to come from a web server, and this page was opened
from the disk. In the book’s folder run <code>make serve</code>, or <code>python -m http.server</code> in the
folder of this page, and open the address that it names.</p>
</div>
</details>
"""


def offer(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    megabytes = os.environ.get(MEGABYTES)
    if megabytes and doctree is not None and is_chapter(app, page):
        address = app.builder.get_relative_uri(page, "lite/run").removesuffix(".html")
        context["ab_launch"] = PANEL.format(megabytes=megabytes, address=f"{address}.html?chapter={page}")


def is_chapter(app: Any, page: str) -> bool:
    """Whether a page is a notebook, and not the book's front page."""
    return page != app.config.root_doc and Path(app.env.doc2path(page)).suffix == ".ipynb"


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", offer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
