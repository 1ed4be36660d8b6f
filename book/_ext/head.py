"""Sphinx extension: what a page says about itself to those that do not read it: search engines, chats, maps.

A page is described by its opening paragraph. Addresses appear only where the book's own address is known
(`html_baseurl` in _config.yml, which a copy of the book sets to where it is served): a picture for social
media, and the map of the site. The proof index is not written, since it would list raw labels.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from docutils import nodes
from signs import readable

SHORTEST, LONGEST = 80, 200
SITEMAP = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{}\n</urlset>\n'


def describe(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    base = app.config.html_baseurl
    context["ab_site"] = app.config.html_title
    context["ab_base"] = base and base.rstrip("/") + "/"
    if doctree is not None:
        context["ab_description"] = opening(doctree)
        context["ab_formulas"] = any(
            doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block))
        )


def opening(document: nodes.document) -> str:
    """The first paragraphs, as plain words, until they say something; cut at a word where they are long."""
    words = ""
    for paragraph in document.findall(nodes.paragraph):
        words += " " + "".join(map(plain, paragraph.children))
        if len(words) > SHORTEST:
            break
    return textwrap.shorten(words, LONGEST, placeholder=" …")


def plain(node: nodes.Node) -> str:
    if isinstance(node, nodes.math):
        return readable(node.astext())
    if isinstance(node, nodes.raw | nodes.comment):
        return ""
    return "".join(map(plain, node.children)) if node.children else node.astext()


def map_site(app: Any, exception: Exception | None) -> None:
    base = app.config.html_baseurl
    if exception or not base:
        return
    addresses = (f"{base.rstrip('/')}/{page}.html" for page in sorted(app.env.found_docs))
    lines = "\n".join(f"<url><loc>{escape(address)}</loc></url>" for address in addresses)
    Path(app.outdir, "sitemap.xml").write_text(SITEMAP.format(lines), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("html-page-context", describe)
    app.connect("build-finished", map_site)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
