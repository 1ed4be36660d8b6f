/* Only the Total: what the pages need beyond their theme. No kernel, no network.
 *
 * 1. A few of the theme's elements get the names that assistive technology expects.
 * 2. A formula keeps the comma that follows it, and the bracket before it, on its line.
 */
(() => {
  "use strict";

  // The theme chooses light or dark at the end of the page; here it is known before anything is drawn.
  const root = document.documentElement;
  if (!root.dataset.mode) root.dataset.mode = "auto";
  if (root.dataset.mode === "auto") {
    root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  root.classList.add("ab-script");

  // Formulas are text: only those that are wider than the page, and scroll, are stops of the Tab key.
  const config = (window.MathJax = window.MathJax || {});
  config.options = { ...config.options, menuOptions: { settings: { inTabOrder: false } } };

  // Until they are typeset they keep their place unseen; where MathJax does not come, they are read as TeX.
  const [ARRIVAL, TYPESETTING] = [4000, 12000]; // milliseconds that MathJax may take
  const showFormulas = () => root.classList.remove("ab-typesetting");
  root.classList.add("ab-typesetting");
  setTimeout(() => (MathJax.startup ? setTimeout(showFormulas, TYPESETTING) : showFormulas()), ARRIVAL);

  // --------------------------------------------------------- 1. the theme's names
  // A formula in a line that is wider than its paragraph scrolls by itself; all others flow with the text.
  function letWideFormulasScroll() {
    for (const formula of document.querySelectorAll("article span.math")) {
      const together = formula.closest(".ab-together");
      formula.classList.remove("ab-wide");
      together?.classList.remove("ab-apart");
      const glyphs = formula.querySelector("mjx-container");
      const line = formula.closest("p, li, dd, td, th, figcaption, div");
      if (!glyphs || !line?.clientWidth) continue;
      const { paddingLeft, paddingRight } = getComputedStyle(line);
      const room = line.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
      formula.classList.toggle("ab-wide", glyphs.getBoundingClientRect().width > room);
      together?.classList.toggle("ab-apart", together.getBoundingClientRect().width > room);
    }
  }

  function scrollByKeys() {
    letWideFormulasScroll();
    const regions = "div.math, div.math mjx-container, span.math, pre, .output, .pst-scrollable-table-container";
    for (const region of document.querySelectorAll(regions)) {
      const scrolls = /auto|scroll/.test(getComputedStyle(region).overflowX);
      if (scrolls && region.scrollWidth > region.clientWidth + 1) region.tabIndex = 0;
      else if (region.matches(".math, mjx-container")) region.removeAttribute("tabindex");
    }
  }

  /** Words without the marks of formulas. */
  const plain = (element) => element.textContent.replace(/\\[()]/g, "").replace(/\s+/g, " ").trim();

  function nameTheme() {
    const sidebar = document.querySelector(".bd-sidebar-primary");
    if (sidebar && !sidebar.hasAttribute("role")) {
      sidebar.setAttribute("role", "navigation");
      sidebar.setAttribute("aria-label", "The book");
    }
    for (const entry of document.querySelectorAll("div[role=doc-biblioentry]")) {
      entry.setAttribute("role", "listitem");
    }
    for (const fold of document.querySelectorAll("button.toggle-button")) {
      fold.setAttribute("aria-label", `Show ${plain(fold.closest(".admonition-title"))}`);
    }
    document.querySelectorAll("button.copybtn").forEach((button, index) => {
      button.setAttribute("aria-label", `Copy listing ${index + 1}`);
    });
    for (const corner of document.querySelectorAll("th")) {
      if (corner.textContent.trim()) continue;
      const cell = document.createElement("td"); // an empty corner of a table is no heading
      cell.className = corner.className;
      corner.replaceWith(cell);
    }
  }

  // ------------------------------------------------------ 2. formulas and commas
  function keepTogether() {
    for (const formula of document.querySelectorAll("article span.math")) {
      const [before, after] = [formula.previousSibling, formula.nextSibling];
      const opening = before?.nodeType === Node.TEXT_NODE && before.data.match(/[(“‘[]+$/)?.[0];
      const closing = after?.nodeType === Node.TEXT_NODE && after.data.match(/^[,.;:!?)”’\]]+/)?.[0];
      if (!opening && !closing) continue;
      const together = document.createElement("span");
      together.className = "ab-together";
      formula.replaceWith(together);
      together.append(opening || "", formula, closing || "");
      if (opening) before.data = before.data.slice(0, -opening.length);
      if (closing) after.data = after.data.slice(closing.length);
    }
  }

  // All is there, and MathJax has not begun.
  document.addEventListener("readystatechange", () => document.readyState === "interactive" && keepTogether());
  document.addEventListener("DOMContentLoaded", () => {
    nameTheme();
    // A page without mathematics does not load MathJax.
    window.addEventListener("load", () => {
      Promise.resolve(MathJax.startup?.promise).finally(showFormulas).then(scrollByKeys);
    });
    window.addEventListener("resize", scrollByKeys);
    document.addEventListener("toggle", scrollByKeys, true); // a fold has no width before it is open
    document.addEventListener("click", (event) => {
      if (event.target.closest("button.toggle-button, .admonition-title")) requestAnimationFrame(scrollByKeys);
    });
  });
})();
