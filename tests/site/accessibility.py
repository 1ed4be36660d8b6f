"""axe on a page of the book, without doing the same thing a thousand times.

Every rule of axe looks at the whole page, with three exceptions. Typeset formulas are not looked into:
MathJax brings its own accessible copy, and for axe a formula is that copy's text in a box of the formula's
size. The contrast of colors is measured twice for each way that text looks, at its first place and at its
last: two pieces of text whose ancestors, up to the root, have one by one the same colors, backgrounds, sizes
and positions differ in nothing that contrast depends on. An element that any of these sets apart is measured
by itself. And the colored words of code are mere text where they are not measured: an element that has
nothing but a class and text means nothing to any other rule, and a page of the reference has ten thousand of
them.
"""

from __future__ import annotations

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

RUN = """async ([only, within]) => {
    const STYLES = [
        "color", "backgroundColor", "backgroundImage", "opacity", "filter", "mixBlendMode", "fontSize",
        "fontWeight", "position", "float", "display", "visibility", "textShadow", "clip", "clipPath",
        "webkitTextFillColor",
    ];
    const looks = new Map([[null, ""]]);
    const look = element => {
        if (!looks.has(element)) {
            const sides = [null, "::before", "::after"].map(side => {
                const style = getComputedStyle(element, side);
                return side && style.content === "none" ? "" : STYLES.map(name => style[name]).join();
            });
            looks.set(element, `${look(element.parentElement)}|${sides.join("/")}`);
        }
        return looks.get(element);
    };
    const contrast = !only.length || only.includes("color-contrast");
    const roots = within.length ? document.querySelectorAll(within.join()) : [document.documentElement];
    const isWithin = element => element.closest(within.join() || "html");
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const first = new Map(), last = new Map();
    while (contrast && texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const says = texts.currentNode.data.trim() && !element.closest("mjx-container") && isWithin(element);
        if (!says || !element.checkVisibility()) continue;
        if (!first.has(look(element))) first.set(look(element), element);
        last.set(look(element), element);
    }
    const controls = document.querySelectorAll("input, select, textarea, button");
    const measured = new Set(contrast ? [...first.values(), ...last.values(), ...controls] : []);
    const isWord = element => !measured.has(element) && element.matches("span, em")
        && element.getAttributeNames().every(name => name === "class") && [...element.children].every(isWord);
    const words = new Set([...document.querySelectorAll(":is(pre, code, dt) :is(span, em)")]
        .filter(element => isWord(element) && !isWord(element.parentElement)));
    const lines = [...new Set([...words].map(word => word.parentElement))]
        .map(line => ({ line, inside: [...line.childNodes] }));

    const formulas = [...document.querySelectorAll("mjx-container")].map(formula => {
        const { width, height } = formula.getBoundingClientRect();
        const text = formula.querySelector("mjx-assistive-mml")?.textContent ?? "";
        const before = { inside: [...formula.childNodes], style: formula.getAttribute("style") };
        return { formula, width, height, text, before };
    });
    const ranges = [];
    document.createRange = () => {
        ranges.push(Document.prototype.createRange.call(document));
        return ranges.at(-1);
    };
    try {
        for (const element of measured) element.setAttribute("data-measured", "");
        for (const { line, inside } of lines)
            line.replaceChildren(...inside.map(part => words.has(part) ? part.textContent : part));
        for (const { formula, width, height, text } of formulas) {
            formula.replaceChildren(text);
            const box = `width: ${width}px; height: ${height}px; overflow: hidden; white-space: nowrap`;
            formula.style.cssText += `; display: inline-block; box-sizing: border-box; ${box}`;
        }
        axe.configure({ rules: [{ id: "color-contrast", selector: "[data-measured]" }] });
        const options = { resultTypes: ["violations"], preload: false };
        if (only.length) options.runOnly = only;
        const { violations } = await axe.run({ include: [...roots], exclude: [["mjx-container"]] }, options);
        return violations.flatMap(rule => rule.nodes.slice(0, 3).map(node =>
            `${rule.id}: ${node.html.slice(0, 200)} | ${node.failureSummary.split("\\n").pop().trim()}`));
    } finally {
        // A range is told of every change of its document while it lives: axe's thousands are sent away.
        const elsewhere = new Document();
        for (const range of ranges) range.setStart(elsewhere, 0);
        delete document.createRange;
        for (const element of measured) element.removeAttribute("data-measured");
        for (const { line, inside } of lines) line.replaceChildren(...inside);
        for (const { formula, before } of formulas) {
            formula.replaceChildren(...before.inside);
            if (before.style === null) formula.removeAttribute("style");
            else formula.setAttribute("style", before.style);
        }
    }
}"""


def complaints(page: Page, only: Sequence[str] = (), within: Sequence[str] = ()) -> list[str]:
    """What axe has against the page as it is shown now, by all of its rules or by the ones named.

    Args:
        page: in the browser.
        only: names of rules; all of them if there are none.
        within: selectors of the parts that are looked at; the whole page if there are none.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    return page.evaluate(RUN, [list(only), list(within)])
