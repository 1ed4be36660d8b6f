/* A chapter as a live notebook: JupyterLite in a frame, and above it what a reader needs besides.
 *
 * The notebook application keeps a changed notebook in the browser's storage, and prefers it to the book's own.
 * This page saves soon after a change, tells an edited copy from one that was only run, offers the way back and
 * the download, and ends Python where it does not end by itself. It reaches into the frame, which is of the same
 * origin, by the object that the application exposes for that (`exposeAppInBrowser` in jupyter-lite.json).
 */
(() => {
  "use strict";

  const STORE = "Only the Total"; // contentsStorageName in jupyter-lite.json
  const TICK = 500; // milliseconds between two looks at the notebook
  const SETTLED = 1000; // milliseconds in which the notebook has changed its theme, or the next is laid over it
  const SAVE_AFTER = 2000; // milliseconds from a change to its being kept
  const chapter = new URLSearchParams(location.search).get("chapter") || "";
  const file = `${chapter}.ipynb`;
  const $ = (id) => document.getElementById(id);
  const frame = $("notebook");

  // ------------------------------------------------------------- the copy in the browser's storage
  /** Do something with the application's store of files; null where there is no such store yet. */
  function inStore(mode, action) {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open(STORE);
      opening.onupgradeneeded = () => opening.transaction.abort(); // it is not ours to create
      opening.onerror = () => resolve(null);
      opening.onsuccess = () => {
        const base = opening.result;
        if (!base.objectStoreNames.contains("files")) {
          base.close();
          resolve(null);
          return;
        }
        const transaction = base.transaction("files", mode);
        const request = action(transaction.objectStore("files"));
        transaction.oncomplete = () => resolve(request.result ?? null);
        transaction.onerror = () => reject(transaction.error);
        base.close(); // after the transaction
      };
    });
  }
  const storedCopy = () => inStore("readonly", (files) => files.get(file));
  const forgetCopy = () => inStore("readwrite", (files) => files.delete(file));

  /** Which edition a copy was begun from, and whether its text was changed. */
  const note = {
    key: `${STORE}: ${chapter}`,
    read() {
      try {
        return JSON.parse(localStorage.getItem(this.key)) || {};
      } catch {
        return {};
      }
    },
    write(edition, edited) {
      localStorage.setItem(this.key, JSON.stringify({ edition, edited }));
    },
  };

  const text = (source) => (Array.isArray(source) ? source.join("") : source);
  const sources = (notebook) => JSON.stringify(notebook.cells.map((cell) => [cell.cell_type, text(cell.source)]));

  // ------------------------------------------------------------- the notebook in the frame
  const application = () => frame.contentWindow?.jupyterapp;
  function panel() {
    const widget = application()?.shell.currentWidget;
    return widget?.content?.model && widget.context?.isReady ? widget : null;
  }

  let edition = ""; // of the book that is served
  let original = null; // the sources of the book's own notebook
  let began = Date.now();
  let changed = 0; // when the oldest change that is not kept was seen
  let saving = false;
  let followed = null; // what is open, and is noted when it is saved
  let ready = false; // whether Python has answered once
  let greeted = null; // the kernel that was asked
  let greeting = false;
  let advice = " Run the cells above first."; // of a new Python, until a cell is run

  function tell(words) {
    if ($("status").textContent !== words) $("status").textContent = words;
  }

  function seconds() {
    return Math.round((Date.now() - began) / 1000);
  }

  function tellState(open) {
    const status = open ? open.sessionContext.kernelDisplayStatus : "";
    if (!open) return tell("Opening the notebook …");
    if (status === "idle") ready = true;
    if (status === "busy" && ready && !greeting) advice = "";
    if (status === "idle") tell(`Python is ready.${advice}`);
    else if (status === "busy" && ready) tell("Python is at work …");
    else if (status === "dead") tell("Python has ended. Stop Python starts it again.");
    else tell(`Python is starting … ${5 * Math.floor(seconds() / 5)} s`);
  }

  async function save(open) {
    if (saving) return;
    saving = true;
    try {
      await open.context.save();
      changed = 0;
    } finally {
      saving = false;
    }
  }

  function noteEdited(open) {
    const known = note.read();
    if (original && known.edition === edition) {
      note.write(edition, sources(open.content.model.toJSON()) !== original);
    }
  }

  /** Know an edited copy as such by whatever way it is saved: soon after a change, by a key, by a menu. */
  function noteSaved(open) {
    if (open.context === followed) return;
    followed = open.context;
    followed.saveState.connect((_, state) => state === "started" && noteEdited(open));
  }

  /** Ask a new Python something, and nothing that its cells count: when it answers it is there. */
  async function greet(open) {
    const kernel = open.sessionContext.session?.kernel;
    if (!kernel || kernel === greeted) return;
    greeted = kernel;
    greeting = true;
    kernel.statusChanged.connect(noteRestart);
    try {
      await kernel.requestInspect({ code: "", cursor_pos: 0, detail_level: 0 });
    } catch {
      // Python was ended before it came to this; the next one is asked again.
    }
    if (greeted !== kernel) return;
    greeting = false;
    ready = true; // it answered, even if a cell that waited is at work by now
  }

  function noteRestart(kernel, status) {
    if (status !== "restarting") return;
    greeted = null;
    ready = false;
    advice = " Run the cells above again.";
    began = Date.now();
  }

  function look() {
    const open = panel();
    if (open) {
      greet(open);
      noteSaved(open);
    }
    tellState(open);
    for (const id of ["run", "stop", "download", "original"]) $(id).disabled = !open;
    if (!open) return;
    if (!open.content.model.dirty) changed = 0;
    else if (!changed) changed = Date.now();
    else if (Date.now() - changed > SAVE_AFTER) save(open);
  }

  // ------------------------------------------------------------- what the buttons do
  async function stop() {
    await panel().sessionContext.restartKernel();
  }

  async function download() {
    const open = panel();
    const notebook = open ? open.content.model.toJSON() : (await storedCopy())?.content;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(notebook, null, 1)], { type: "application/x-ipynb+json" }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  /** Ask, then put the book's notebook in the place of the reader's; Python and its variables stay. */
  async function backToTheOriginal() {
    const ask = $("ask");
    ask.returnValue = "keep";
    ask.showModal();
    await new Promise((resolve) => ask.addEventListener("close", resolve, { once: true }));
    if (ask.returnValue === "keep") return;
    if (ask.returnValue === "download") await download();
    await forgetCopy();
    note.write(edition, false);
    $("news").hidden = true;
    await panel().context.revert();
  }

  // ------------------------------------------------------------- links to other chapters
  /** Open a chapter that a link leads to as this one is open: on a page of this kind, in a tab of its own. */
  function follow(event, editions) {
    const address = event.target.closest?.("a")?.getAttribute("href") || "";
    const other = decodeURIComponent(/([^/?=]+)\.ipynb(?:#.*)?$/.exec(address)?.[1] || "");
    if (!Object.hasOwn(editions, other)) return;
    event.preventDefault();
    event.stopPropagation();
    window.open(`run.html?chapter=${encodeURIComponent(other)}`, "_blank", "noopener");
  }

  // ------------------------------------------------------------- light and dark
  /** Dress the notebook: figures take the colors of the side, light or dark, that its theme is on. */
  function dress(page) {
    for (const name of ["figures.css", "frame.css"]) {
      const link = page.createElement("link");
      link.rel = "stylesheet";
      link.href = `../${name}`;
      page.head.append(link);
    }
    const theme = "data-jp-theme-light";
    const takeSide = () => {
      page.documentElement.dataset.theme = page.body.getAttribute(theme) === "false" ? "dark" : "light";
    };
    new MutationObserver(takeSide).observe(page.body, { attributes: true, attributeFilter: [theme] });
    page.defaultView.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changeSide);
    takeSide();
  }

  /** Have the notebook follow the system; by itself it looks there only as it opens, or is told to follow it. */
  async function changeSide() {
    const commands = application()?.commands;
    const adapt = "apputils:adaptive-theme";
    if (!commands?.isToggled(adapt)) return;
    await commands.execute(adapt); // no longer
    await new Promise((resolve) => setTimeout(resolve, SETTLED));
    await commands.execute(adapt); // again
  }

  // ------------------------------------------------------------- opening
  /** Decide what the notebook opens with: an edited copy always, one that was only run never of an old edition. */
  async function settleEdition() {
    const known = note.read();
    if (!(await storedCopy())) {
      note.write(edition, false);
    } else if (known.edition !== edition) {
      if (known.edited === false) {
        await forgetCopy();
        note.write(edition, false);
      } else {
        $("news").hidden = false;
      }
    }
  }

  /** Ask the server anew for what names all else: a browser may have kept it from an earlier edition. */
  async function renew() {
    const names = ["jupyter-lite.json", "notebooks/jupyter-lite.json", "api/contents/all.json", `files/${file}`];
    names.push("static/pyodide/pyodide-lock.json");
    const answers = await Promise.all(names.map((name) => fetch(name, { cache: "no-cache" })));
    return answers[names.indexOf(`files/${file}`)].json();
  }

  async function open() {
    const editions = await (await fetch("editions.json", { cache: "no-cache" })).json();
    if (!Object.hasOwn(editions, chapter)) {
      tell("There is no such chapter. Go back to the book.");
      frame.remove();
      return;
    }
    const { title } = editions[chapter];
    edition = editions[chapter].edition;
    document.title = `${title}, live — Only the Total`;
    $("read").textContent = title;
    $("read").href = `../${chapter}.html`;
    original = sources(await renew());
    await settleEdition();
    frame.addEventListener("load", () => {
      dress(frame.contentDocument);
      frame.contentDocument.addEventListener("click", (event) => follow(event, editions), true);
    });
    frame.src = `notebooks/index.html?path=${encodeURIComponent(file)}`;
    setInterval(look, TICK);
  }

  $("run").addEventListener("click", () => application().commands.execute("notebook:run-all-cells"));
  $("stop").addEventListener("click", stop);
  $("download").addEventListener("click", download);
  $("original").addEventListener("click", backToTheOriginal);
  $("new").addEventListener("click", backToTheOriginal);
  addEventListener("pagehide", () => {
    const now = panel();
    if (now?.content.model.dirty) save(now);
  });
  open().catch((error) => tell(`The notebook could not be opened: ${error.message}`));
})();
