"""Print the built book, all of it, as one PDF: a title page, contents, every page in order, an outline.

The pages of `_build/html` are put one behind the other in a single document: ids get the name of their page
in front, links between pages become links within, folds stand open, and a moving figure is the picture with
which it opens and the values that this picture shows. Code that a page hides, since it only draws a figure,
is left to the notebooks. A Chromium typesets the mathematics and prints it.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import browser as browsers  # noqa: E402  (the path is set just above)

SITE = ROOT / "_build" / "html"
TOC = ROOT / "book" / "_toc.yml"
FILE = ROOT / "_build" / "only-the-total.pdf"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND"]  # all that is printed is on this disk
PATIENCE = 300_000  # milliseconds for the typesetting of the whole book
FOOTER = '<p style="font: 8px serif; width: 100%; text-align: center;"><span class="pageNumber"></span></p>'

STATE = re.compile(r'<script type="application/vnd\.jupyter\.[^"]*">.*?</script>', re.DOTALL)
SHEETS = re.compile(r'<link [^>]*rel="stylesheet"[^>]*>')
DROPPED = "script, button, details.hide, .headerlink, .ab-controls, .ab-said"
NAMED = re.compile(r'(\s(?:id|for|aria-labelledby|aria-describedby)=")([^"]+)"')
INNER = re.compile(r"url\(#([^)]+)\)")
MATHJAX = """window.MathJax = {options: {
  enableMenu: false, processHtmlClass: "tex2jax_process|mathjax_process|math|output_area"}};"""
WHOLE = """<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light" class="ab-printed"><head><meta charset="utf-8">
<title>Only the Total</title>
{sheets}
<link rel="stylesheet" href="_static/css/pdf.css">
<script>{mathjax}</script><script defer src="_static/mathjax/tex-mml-chtml.js"></script></head>
<body><header class="ab-title"><p class="ab-book">Only the Total</p>
<p>How to learn from one number an episode</p>
<p class="ab-colophon">The book as printed from its pages. There the figures move, and the code that draws
them can be read and run.</p></header>
<nav class="ab-contents" aria-label="Contents"><p class="ab-book">Contents</p>
{contents}</nav>
<main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{articles}</div></div></main></body></html>
"""


@dataclass(frozen=True)
class Leaf:
    """One page of the site on its way into the document.

    Attributes:
        address: Where it is in the site, such as `reference/game.html`.
        part: The part of the book that begins with it, or nothing.
    """

    address: str
    part: str = ""

    @property
    def name(self) -> str:
        """What stands in front of its ids."""
        return re.sub(r"\W+", "-", self.address.removesuffix(".html"))


def main() -> int:
    if not (SITE / "index.html").is_file():
        print("pdf: there is no book yet; run `make book` first", file=sys.stderr)
        return 1
    print("printing the book ...", flush=True)
    complaint = write(leaves(), FILE)
    if complaint:
        print(f"pdf: {complaint}", file=sys.stderr)
        return 1
    print(f"The book is at {FILE.relative_to(ROOT)} ({FILE.stat().st_size / 1e6:.1f} MB)")
    return 0


def leaves() -> list[Leaf]:
    """The pages in the order of the contents."""
    contents = yaml.safe_load(TOC.read_text(encoding="utf-8"))
    found = [Leaf(f"{contents['root']}.html")]
    for part in contents["parts"]:
        for number, chapter in enumerate(part["chapters"]):
            found.append(Leaf(f"{chapter['file']}.html", "" if number else part["caption"]))
    return found


def write(pages: list[Leaf], file: Path) -> str | None:
    """Print these pages into a file; what went wrong, if something did."""
    chromium = browsers.find()
    if chromium is None:
        return "no Chromium or Chrome was found to print it with" + browsers.ADVICE.partition(":")[2]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        print_in(running, pages, file)
        running.close()
    return None


def print_in(running: Browser, pages: list[Leaf], file: Path) -> None:
    """Print these pages in a browser that is running."""
    file.parent.mkdir(exist_ok=True)
    # Beside the pages, where what they load is found.
    beside = {"dir": SITE, "prefix": "_whole-", "suffix": ".html"}
    with (
        tempfile.NamedTemporaryFile("w", encoding="utf-8", **beside) as whole,
        running.new_context() as context,
    ):
        whole.write(document(pages))
        whole.flush()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(Path(whole.name).as_uri(), wait_until="load")
        page.evaluate("MathJax.startup.promise.then(() => document.fonts.ready).then(() => null)")
        page.pdf(
            path=file,
            format="A4",
            margin={"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"},
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            print_background=True,
            outline=True,
            tagged=True,
        )


def document(pages: list[Leaf]) -> str:
    """The whole book as one HTML document."""
    texts = {page.address: (SITE / page.address).read_text(encoding="utf-8") for page in pages}
    names = {page.address: page.name for page in pages}
    articles = {page: article(page, STATE.sub("", texts[page.address]), names) for page in pages}
    sheets = (
        sheet.replace("../_static", "_static") for text in texts.values() for sheet in SHEETS.findall(text)
    )
    return WHOLE.format(
        sheets="\n".join(dict.fromkeys(sheets)),
        mathjax=MATHJAX,
        contents="\n".join(contents(articles)),
        articles="\n".join(map(str, articles.values())),
    )


def article(page: Leaf, text: str, names: dict[str, str]) -> Tag:
    """A page's article, fit to stand among the others."""
    text = text.replace("<details", "<details open")
    text = NAMED.sub(
        lambda found: f'{found[1]}{" ".join(f"{page.name}--{one}" for one in found[2].split())}"', text
    )
    text = INNER.sub(rf"url(#{page.name}--\1)", text)
    found = BeautifulSoup(text, "html.parser").find("article")
    assert isinstance(found, Tag), f"{page.address} has no article"
    for part in found.select(DROPPED):
        part.decompose()
    for fallback in found.find_all("noscript"):
        values = BeautifulSoup(fallback.decode_contents(), "html.parser").find(class_="ab-values")
        if values:
            fallback.replace_with(values)
        else:
            fallback.decompose()
    for link in found.find_all(href=True):
        within(link, page, names)
    found["id"] = page.name
    return found


def within(link: Tag, page: Leaf, names: dict[str, str]) -> None:
    """Let a link lead to the same place in the document, or to nowhere if that place is not printed."""
    place, _, fragment = str(link["href"]).partition("#")
    if ":" in place:
        return
    address = resolve(page.address, place) if place else page.address
    if address not in names:
        del link["href"]
    else:
        link["href"] = f"#{names[address]}" + (f"--{fragment}" if fragment else "")


def resolve(address: str, place: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(address).parent / place).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def contents(articles: dict[Leaf, Tag]) -> Iterator[str]:
    """A list of parts and pages, each a link."""
    for page, text in articles.items():
        if page.part:
            yield f'<p class="ab-part">{html.escape(page.part)}</p>'
        heading = text.find("h1")
        yield f'<p><a href="#{page.name}">{heading.get_text() if heading else page.address}</a></p>'


def pick(addresses: Iterable[str]) -> list[Leaf]:
    """Some of the pages, in the order of the contents."""
    wanted = set(addresses)
    return [page for page in leaves() if page.address in wanted]


if __name__ == "__main__":
    sys.exit(main())
