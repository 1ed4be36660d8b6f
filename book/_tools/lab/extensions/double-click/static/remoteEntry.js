/* A double click on a text lets one write in it.
 *
 * JupyterLab by itself shows the source of the text, and stays in command mode: who then types `x` cuts the cell.
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

  const plugin = {
    id: "double-click:plugin",
    description: "Enters edit mode where a double click has shown the source of a text.",
    autoStart: true,
    activate(app) {
      document.addEventListener("dblclick", (event) => {
        const path = event.composedPath();
        setTimeout(() => write(app, path)); // when what had the focus has lost it
      });
    },
  };
  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["double-click"] = {
    init() {},
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
