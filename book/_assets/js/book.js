/* Only the Total: what the pages need beyond their theme. No kernel, no network.
 *
 * 1. Widgets were written for MathJax 2; the page has MathJax 3.
 * 2. Moving figures get names and values for screen readers, and buttons that work without a kernel.
 * 3. A few of the theme's elements get the names that assistive technology expects.
 * 4. A formula keeps the comma that follows it, and the bracket before it, on its line.
 */
(() => {
  "use strict";

  // The theme complains in the console when no mode was ever chosen.
  if (!document.documentElement.dataset.mode) document.documentElement.dataset.mode = "auto";

  // ------------------------------------------------------------- 1. mathematics
  const waiting = [];
  const typeset = (element) => MathJax.typesetPromise([element]);
  const hub = {
    Queue: (...calls) => {
      for (const [, , element] of calls) {
        if (!/\\\(|\\\[|\$\$/.test(element.textContent)) continue;
        if (window.MathJax.typesetPromise) typeset(element);
        else waiting.push(element);
      }
    },
  };
  const config = (window.MathJax = window.MathJax || {});
  config.Hub = hub;
  // Formulas are text: only those that are wider than the page, and scroll, are stops of the Tab key.
  config.options = {
    ...config.options,
    menuOptions: { settings: { inTabOrder: false } },
  };
  config.startup = {
    ...config.startup,
    ready: () => {
      MathJax.startup.defaultReady();
      MathJax.Hub = hub;
      MathJax.startup.promise.then(() => waiting.splice(0).forEach(typeset));
    },
  };

  // ---------------------------------------------------------- 2. moving figures
  const homes = new WeakMap(); // slider -> the index it opened on

  const slider = (row) => row.querySelector(".noUi-target")?.noUiSlider;

  function dressSlider(row) {
    const handle = row.querySelector(".noUi-handle");
    const readout = row.querySelector(".widget-readout");
    const name = row.querySelector(".widget-label");
    if (!handle || !readout || !row.querySelector(".ab-reset") || homes.has(row)) return;
    homes.set(row, Number(slider(row).get()));
    handle.setAttribute("aria-label", name.textContent);
    readout.removeAttribute("contenteditable");
    name.removeAttribute("title");
    const tell = () => {
      // The slider counts 0, 1, 2, …; what is heard must be what is seen.
      if (handle.getAttribute("aria-valuetext") !== readout.textContent) {
        handle.setAttribute("aria-valuetext", readout.textContent);
      }
      const { min, max } = slider(row).options.range;
      const at = Number(slider(row).get());
      row.querySelector(".ab-back").setAttribute("aria-disabled", String(at <= min));
      row.querySelector(".ab-forward").setAttribute("aria-disabled", String(at >= max));
    };
    new MutationObserver(tell).observe(readout, { childList: true, characterData: true, subtree: true });
    new MutationObserver(tell).observe(handle, { attributeFilter: ["aria-valuetext"] });
    for (const [kind, words] of [["back", "one step back"], ["forward", "one step forward"], ["reset", "reset"]]) {
      row.querySelector(`.ab-${kind}`).setAttribute("aria-label", `${words}: ${name.textContent}`);
    }
    tell();
  }

  function dressToggles(row) {
    const group = row.querySelector(".widget-toggle-buttons > div");
    if (!group || homes.has(row)) return;
    homes.set(row, 0);
    const name = row.querySelector(".widget-label");
    name.removeAttribute("title");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", name.textContent);
    const tell = () => {
      for (const button of group.children) {
        button.setAttribute("aria-pressed", String(button.classList.contains("mod-active")));
        button.removeAttribute("title");
      }
    };
    new MutationObserver(tell).observe(group, { subtree: true, attributeFilter: ["class"] });
    group.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = by && [...group.children].indexOf(event.target) + by;
      if (by === undefined || !group.children[next]) return;
      event.preventDefault();
      group.children[next].focus();
      group.children[next].click();
    });
    tell();
  }

  function dress() {
    for (const row of document.querySelectorAll(".ab-row")) {
      dressSlider(row);
      dressToggles(row);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".ab-row .jupyter-button");
    const row = button?.closest(".ab-row");
    if (!row || !homes.has(row) || !slider(row)) return;
    const at = Number(slider(row).get());
    if (button.matches(".ab-back")) slider(row).set(at - 1);
    if (button.matches(".ab-forward")) slider(row).set(at + 1);
    if (button.matches(".ab-reset")) slider(row).set(homes.get(row));
  });

  // --------------------------------------------------------- 3. the theme's names
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

  function nameTheme() {
    const sidebar = document.querySelector(".bd-sidebar-primary");
    if (sidebar && !sidebar.hasAttribute("role")) {
      sidebar.setAttribute("role", "navigation");
      sidebar.setAttribute("aria-label", "The book");
    }
    for (const entry of document.querySelectorAll("div[role=doc-biblioentry]")) {
      entry.setAttribute("role", "listitem");
    }
    for (const corner of document.querySelectorAll("th")) {
      if (corner.textContent.trim()) continue;
      const cell = document.createElement("td"); // an empty corner of a table is no heading
      cell.className = corner.className;
      corner.replaceWith(cell);
    }
  }

  // ------------------------------------------------------ 4. formulas and commas
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

  document.addEventListener("DOMContentLoaded", () => {
    // Widgets come after the page, piece by piece, and a piece gets its class after it is there.
    const changes = { childList: true, subtree: true, attributeFilter: ["class"] };
    new MutationObserver(dress).observe(document.body, changes);
    nameTheme();
    keepTogether();
    // A page without mathematics does not load MathJax.
    window.addEventListener("load", () => Promise.resolve(MathJax.startup.promise).then(scrollByKeys));
    window.addEventListener("resize", scrollByKeys);
    document.addEventListener("toggle", scrollByKeys, true); // a fold has no width before it is open
    document.addEventListener("click", (event) => {
      if (event.target.closest("button.toggle-button, .admonition-title")) requestAnimationFrame(scrollByKeys);
    });
  });
})();
