/* A double click on a text lets one write in it, Ctrl+S keeps what was written, and nothing looks broken.
 *
 * JupyterLab by itself shows the source of the text, and stays in command mode: who then types `x` cuts the cell.
 * While a figure has the focus it has no shortcuts, lest they take the figure's keys: nothing would be saved.
 * Until its cell is run, each part of a figure wears a broken chain, although it moves without Python.
 * Of a citation it knows only the key, and puts a warning before it.
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

  /** Say of a citation whom it cites, and when: `make lab` hands over the bibliography's names and years. */
  function cite(references) {
    for (const place of document.querySelectorAll('.myst [title="Citation Not Found"]')) {
      const key = place.lastChild;
      if (!Object.hasOwn(references, key.data)) continue;
      const [names, year, title] = references[key.data];
      key.data = place.closest(".parenthetical") ? `${names}, ${year}` : `${names} (${year})`; // what React holds
      place.title = title;
      place.classList.add("ab-cited");
    }
  }

  /** Do so whenever a text has been rendered. */
  function keepCiting() {
    const { references } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    if (!references) return; // the live chapters have their citations in words
    let asked = 0;
    new MutationObserver(() => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => cite(references));
    }).observe(document.body, { childList: true, subtree: true });
  }

  const STYLE = `
    .jupyter-widgets-disconnected::before { content: none !important; }
    .ab-cited { color: inherit; }
    .ab-cited svg { display: none; }
  `;

  const plugin = {
    id: "writing:plugin",
    description: "Writes after a double click, saves from within figures, and has nothing look broken.",
    autoStart: true,
    activate(app) {
      document.head.appendChild(document.createElement("style")).textContent = STYLE;
      keepCiting();
      app.restored.then(() => begin(app));
      document.addEventListener("dblclick", (event) => {
        const path = event.composedPath();
        setTimeout(() => write(app, path)); // when what had the focus has lost it
      });
      document.addEventListener("keydown", (event) => keep(app, event), true);
    },
  };
  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["writing"] = {
    init() {},
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
