/* What a link leads to, shown beside it: on pointing at it with a mouse and on reaching it by keys.
 *
 * Escape closes the preview, and so does leaving link and preview; on a touch screen a link is just a link.
 * The pieces come from _static/previews/PAGE.js (book/_ext/previews.py), asked for when first needed.
 */
(() => {
  "use strict";

  const PATIENCE = 300; // milliseconds that one points before something appears
  const GRACE = 200; // and after leaving, before it goes
  const GAP = 6;

  const pieces = (window.abPreviews = {});
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const asked = new Map();

  let tip = null; // the element that shows previews
  let link = null; // the link it belongs to
  let timer = 0;
  let turn = 0; // counts what was asked for, so that what comes late is not shown

  /** The page and the place on it that a link leads to, as the build calls them. */
  function goal(a) {
    const url = new URL(a.href, location.href);
    if (!url.href.startsWith(root.href)) return null;
    const page = url.pathname.slice(root.pathname.length);
    return [!page || page.endsWith("/") ? `${page}index.html` : page, decodeURIComponent(url.hash.slice(1))];
  }

  function ask(page) {
    if (!asked.has(page)) {
      asked.set(page, new Promise((done) => {
        const script = document.createElement("script");
        script.onload = script.onerror = done;
        script.src = new URL(`_static/previews/${page}.js`, root);
        document.head.append(script);
      }));
    }
    return asked.get(page);
  }

  async function show(a) {
    const mine = ++turn;
    const place = goal(a);
    if (!place) return;
    await ask(place[0]);
    const html = pieces[place[0]]?.[place[1]];
    if (!html || mine !== turn) return;
    hide();
    turn = mine;
    const box = dress(html);
    await typeset(box);
    if (mine !== turn) return;
    link = a;
    a.removeAttribute("title");
    if (a.matches(".ab-symbol")) a.setAttribute("aria-describedby", box.id);
    lay(box, a);
  }

  function dress(html) {
    if (!tip) {
      tip = document.createElement("div");
      tip.id = "ab-preview";
      tip.setAttribute("role", "tooltip");
      tip.addEventListener("pointerenter", () => clearTimeout(timer));
      tip.addEventListener("pointerleave", leave);
      document.querySelector("main").append(tip);
    }
    tip.innerHTML = html;
    tip.hidden = false;
    return tip;
  }

  async function typeset(box) {
    if (!box.querySelector(".math") || !window.MathJax) return;
    await window.MathJax.startup?.promise;
    await window.MathJax.typesetPromise?.([box]);
  }

  /** Below the link's line where there is room, above it where there is more. */
  function lay(box, a) {
    const line = [...a.getClientRects()].find((part) => part.width) || a.getBoundingClientRect();
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const within = box.offsetParent.getBoundingClientRect();
    const below = height - line.bottom - GAP;
    const up = box.offsetHeight > below && line.top > below;
    const left = Math.max(GAP, Math.min(line.left, width - box.offsetWidth - GAP));
    const top = up ? line.top - box.offsetHeight - GAP : line.bottom + GAP;
    box.style.left = `${left - within.left}px`;
    box.style.top = `${top - within.top}px`;
    box.classList.toggle("ab-cut", box.scrollHeight > box.clientHeight + 1);
    box.classList.add("ab-shown");
  }

  function hide() {
    turn += 1;
    clearTimeout(timer);
    link?.removeAttribute("aria-describedby");
    link = null;
    if (!tip || tip.hidden) return;
    window.MathJax?.typesetClear?.([tip]);
    tip.hidden = true;
    tip.classList.remove("ab-shown");
    tip.textContent = "";
  }

  function leave() {
    clearTimeout(timer);
    timer = setTimeout(hide, GRACE);
  }

  const linkAt = (event) => event.target.closest?.("article a[href]:not(.headerlink)");

  document.addEventListener("pointerover", (event) => {
    const a = event.pointerType === "mouse" && linkAt(event);
    if (!a) return;
    clearTimeout(timer);
    if (a !== link) timer = setTimeout(show, PATIENCE, a);
  });
  document.addEventListener("pointerout", (event) => {
    if (linkAt(event)) leave();
  });
  document.addEventListener("focusin", (event) => {
    const a = linkAt(event);
    if (a?.matches(":focus-visible")) show(a);
    else if (link) hide();
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === link) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("click", hide);

  // A symbol is explained once a page to those who go by keys, and once a section to those who point. Its title,
  // there for pages without JavaScript, is its name: a formula has none.
  for (const symbol of document.querySelectorAll("a.ab-symbol")) {
    symbol.setAttribute("aria-label", symbol.title);
    symbol.removeAttribute("title");
    if (symbol.matches(".ab-again")) symbol.tabIndex = -1;
  }
})();
