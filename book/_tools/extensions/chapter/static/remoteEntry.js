/* A chapter in JupyterLab, or live in the page: it says what its page says, and one can write in it.
 *
 * A notebook stands alone there. Of a citation and of a reference to another chapter JupyterLab knows only the
 * key, and puts a warning before it; it counts every formula and every proof. The book hands over the words.
 * A double click on a text shows its source, and stays in command mode: who then types `x` cuts the cell.
 * While a figure has the focus there are no shortcuts, lest they take the figure's keys: nothing would be saved.
 * Until its cell is run, each part of a figure wears a broken chain, although it moves without Python.
 * And the book's front page would come before the chapter that one had open last time.
 * This is an extension as JupyterLab loads those that are built: a container with one module in it, by hand.
 */
(() => {
  "use strict";

  const PROMPT = "*Your answer:* ";
  const EMPTY = /^\*Your answer:\* \(select this cell .*\)$/; // what is in brackets gives way to what is typed

  /** After the notebook, which has shown the source by now, unless it was its arrow for folding that was hit. */
  async function write(app, path) {
    const cell = app.shell.currentWidget?.content?.activeCell;
    if (cell?.model.type !== "markdown" || cell.rendered || !path.includes(cell.node)) return;
    await app.commands.execute("notebook:enter-edit-mode");
    const source = cell.model.sharedModel.getSource();
    const at = (column) => ({ line: 0, column });
    if (EMPTY.test(source)) cell.editor.setSelection({ start: at(PROMPT.length), end: at(source.length) });
  }

  /** Save from within a figure. */
  function keep(app, event) {
    const save = event.key === "s" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!save || !event.target.closest?.("[data-lm-suppress-shortcuts]")) return;
    event.preventDefault();
    app.commands.execute("docmanager:save");
  }

  /** Open the front page where nothing is open; JupyterLab would put it before what it has just restored. */
  function begin(app) {
    if (app.name !== "JupyterLab") return; // a live chapter has its own page
    const open = [...app.shell.widgets("main")].filter((widget) => !widget.id.startsWith("launcher"));
    if (!open.length) app.commands.execute("docmanager:open", { path: "index.ipynb" });
  }

  /** Have an element say other words. React holds its texts: they stay where they are. */
  function say(element, words) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    texts.forEach((text, index) => (text.data = index ? "" : words));
  }

  /** Say of a citation whom it cites, and when. */
  function cite(place, references) {
    const key = place.lastChild.data;
    if (!Object.hasOwn(references, key)) return;
    const [names, year, title] = references[key];
    say(place, place.closest(".parenthetical") ? `${names}, ${year}` : `${names} (${year})`);
    place.title = title;
    place.classList.add("ab-known");
  }

  /** Say of a reference to another chapter what it leads to, and let it lead there. */
  function refer(place, places) {
    const label = place.lastChild.data;
    if (!Object.hasOwn(places, label)) return;
    const link = document.createElement("a");
    link.href = `#${label}`;
    link.textContent = places[label].words;
    say(place, "");
    place.append(link);
    place.title = places[label].notebook;
    place.classList.add("ab-known");
  }

  /** Say of a formula, or of a reference to it, the number that it has on its page. */
  function number(link, places) {
    const label = link.hash.slice(1);
    if (/^\(\d+\)$/.test(link.textContent) && Object.hasOwn(places, label)) say(link, places[label].words);
  }

  /** Have all that is rendered say what its page says. */
  function mend({ references = {}, places = {} }) {
    const each = (what, mending) => document.querySelectorAll(what).forEach(mending);
    each('.myst [title="Citation Not Found"]', (place) => cite(place, references));
    each('.myst [title="Cross Reference Not Found"]', (place) => refer(place, places));
    each('.myst a[href^="#eq-"]', (link) => number(link, places));
    each(".myst-proof-title > .select-none", (title) => {
      if (/^Proof \d+$/.test(title.textContent)) say(title, "Proof");
    });
  }

  /** Do so whenever something has been rendered. */
  function keepMending(words) {
    let asked = 0;
    new MutationObserver(() => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => mend(words));
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
  }

  /** Follow a link to a label of another chapter: open that, and show the place. */
  async function follow(app, { places = {} }, event) {
    const label = event.target.closest?.('.myst a[href^="#"]')?.hash.slice(1);
    if (!label || !Object.hasOwn(places, label)) return;
    const { notebook } = places[label];
    if (app.shell.currentWidget?.context?.path === notebook) return; // there JupyterLab knows the way
    event.preventDefault();
    event.stopPropagation();
    const panel = await app.commands.execute("docmanager:open", { path: notebook });
    await show(panel.node, `.myst [id="${label}"]`);
  }

  /** Scroll to a place until it has stood still for two seconds, or the reader moves on. */
  async function show(notebook, which) {
    let left = false;
    const leave = () => (left = true);
    ["wheel", "pointerdown", "keydown"].forEach((act) => notebook.addEventListener(act, leave, { once: true }));
    for (let looks = 0, still = 0, last; still < 20 && looks < 600 && !left; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const place = notebook.querySelector(which); // what stands above it is rendered as it comes
      const top = place?.getBoundingClientRect().top;
      still = place && top === last ? still + 1 : 0;
      last = top;
      place?.scrollIntoView();
    }
  }

  const STYLE = `
    .jupyter-widgets-disconnected::before { content: none !important; }
    .myst .ab-known { color: inherit; }
    .myst .ab-known svg { display: none; }
    .myst [title="Link to this Equation"]:not([href^="#eq-"]) { display: none; }
  `;

  const plugin = {
    id: "chapter:plugin",
    description: "A chapter says what its page says, and can be written in and saved from anywhere.",
    autoStart: true,
    activate(app) {
      const words = JSON.parse(document.getElementById("jupyter-config-data").textContent);
      document.head.appendChild(document.createElement("style")).textContent = STYLE;
      keepMending(words);
      app.restored.then(() => begin(app));
      document.addEventListener("click", (event) => follow(app, words, event), true);
      document.addEventListener("dblclick", (event) => {
        const path = event.composedPath();
        setTimeout(() => write(app, path)); // when what had the focus has lost it
      });
      document.addEventListener("keydown", (event) => keep(app, event), true);
    },
  };
  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["chapter"] = {
    init() {},
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
