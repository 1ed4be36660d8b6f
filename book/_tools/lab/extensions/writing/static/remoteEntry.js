/* A double click on a text lets one write in it, and Ctrl+S keeps what was written.
 *
 * JupyterLab by itself shows the source of the text, and stays in command mode: who then types `x` cuts the cell.
 * And while a figure has the focus it has no shortcuts, lest they take the figure's keys: nothing would be saved.
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

  const plugin = {
    id: "writing:plugin",
    description: "Enters edit mode where a double click has shown the source of a text; saves from within figures.",
    autoStart: true,
    activate(app) {
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
