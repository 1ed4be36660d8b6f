/* Only the Total: moving figures, from the saved state of their widgets. No kernel, no network.
 *
 * The page holds each figure as it opens (book/_ext/moving_figures.py); behind it stands the state of its models.
 * `figures.wake()` reads what has arrived and binds it to what is shown:
 *
 *   a control <-> its model <-> (links) <-> a stack of frames, or a module.
 *
 * A module is one of anywidget's: `export default { initialize?, render }` in the model's `_esm`.
 */
window.figures = (() => {
  "use strict";

  const STATE = "application/vnd.jupyter.widget-state+json";
  const SOON = 350; // milliseconds of rest before a new picture is put into words
  const name = (reference) => reference.replace("IPY_MODEL_", "");
  const models = new Map(); // name -> Model
  const frames = new Map(); // name -> the element that shows it

  // ------------------------------------------------------------------ models

  /** The state of one widget, with the events that anywidget promises: `change:name` and `change`. */
  class Model {
    #state;
    #listeners = [];

    constructor(kind, state) {
      this.kind = kind;
      this.#state = state;
    }
    get(key) {
      return this.#state[key];
    }
    set(key, value) {
      const changes = typeof key === "object" ? key : { [key]: value };
      const changed = Object.entries(changes).filter(([one, now]) => this.#state[one] !== now);
      for (const [one, now] of changed) this.#state[one] = now;
      for (const [one, now] of changed) this.#tell(`change:${one}`, this, now);
      if (changed.length) this.#tell("change", this);
    }
    on(events, callback) {
      for (const event of events.split(" ")) this.#listeners.push([event, callback]);
    }
    off(events, callback) {
      const gone = events?.split(" ");
      this.#listeners = this.#listeners.filter(
        ([event, one]) => (gone && !gone.includes(event)) || (callback && callback !== one),
      );
    }
    save_changes() {} // no kernel listens
    send() {}
    #tell(event, ...words) {
      for (const [one, callback] of [...this.#listeners]) if (one === event) callback(...words);
    }
  }

  function link(model) {
    const [[from, key], [to, follower]] = ["source", "target"].map((end) => model.get(end));
    const [source, target] = [models.get(name(from)), models.get(name(to))];
    source.on(`change:${key}`, () => target.set(follower, source.get(key)));
    target.on(`change:${follower}`, () => source.set(key, target.get(follower)));
  }

  // ------------------------------------------------------------------ frames

  /** The element of a frame or of a stack within a stack; each is made once. */
  function frame(id) {
    if (!frames.has(id)) {
      const model = models.get(id);
      const holder = document.createElement("div");
      if (model.kind === "StackModel") {
        holder.className = "ab-stack";
        frames.set(id, holder);
        holder.append(frame(shown(model)));
        follow(holder, model);
      } else {
        holder.innerHTML = model.get("value");
        frames.set(id, holder.firstElementChild);
      }
    }
    return frames.get(id);
  }

  const shown = (model) => name(model.get("children")[model.get("selected_index")]);

  function follow(element, model) {
    model.on("change:selected_index", () => {
      element.replaceChildren(frame(shown(model)));
      tell(element.closest(".ab-explorable"));
    });
  }

  function stack(element, model, id) {
    frames.set(id, element);
    const opening = element.firstElementChild;
    if (!opening.matches(".ab-stack")) frames.set(shown(model), opening);
    follow(element, model);
  }

  /** Say what the picture shows now, once it has rested. */
  const waiting = new WeakMap();
  function tell(figure) {
    const said = figure?.querySelector(".ab-said");
    if (!said) return;
    clearTimeout(waiting.get(figure));
    waiting.set(
      figure,
      setTimeout(() => {
        if (figure.querySelector(".ab-play[aria-pressed=true]")) return; // it goes on by itself
        const picture = figure.querySelector(".ab-stage .ab-frame");
        said.textContent = picture?.alt ?? picture?.getAttribute("aria-label") ?? "";
      }, SOON),
    );
  }

  // ---------------------------------------------------------------- controls

  function slider(input, model) {
    const row = input.closest(".ab-row");
    const labels = model.get("_options_labels");
    const home = model.get("index");
    const [back, forward, reset] = ["back", "forward", "reset"].map((kind) => row.querySelector(`.ab-${kind}`));
    const step = (by) => model.set("index", Math.min(Math.max(model.get("index") + by, 0), labels.length - 1));
    const show = () => {
      const index = model.get("index");
      input.value = index;
      input.style.setProperty("--at", index / Math.max(labels.length - 1, 1));
      input.setAttribute("aria-valuetext", labels[index]);
      row.querySelector(".ab-value").textContent = labels[index];
      back.setAttribute("aria-disabled", index === 0);
      forward.setAttribute("aria-disabled", index === labels.length - 1);
    };
    input.addEventListener("input", () => model.set("index", Number(input.value)));
    back.addEventListener("click", () => step(-1));
    forward.addEventListener("click", () => step(1));
    reset.addEventListener("click", () => model.set("index", home));
    model.on("change:index", show);
    if (Number(input.value) !== home) model.set("index", Number(input.value)); // moved while it was asleep
    show();
  }

  function choices(group, model) {
    const buttons = [...group.children];
    const show = () => {
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", index === model.get("index")));
    };
    buttons.forEach((button, index) => {
      button.addEventListener("click", () => model.set("index", index));
      button.addEventListener("keydown", (event) => {
        const next = buttons[index + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? NaN)];
        if (!next) return;
        event.preventDefault();
        next.focus();
        next.click();
      });
    });
    model.on("change:index", show);
  }

  /** Forward by itself until the end; from the end it begins again. */
  function play(button, model) {
    let clock;
    const stop = () => {
      clearInterval(clock);
      clock = undefined;
      button.setAttribute("aria-pressed", "false");
      tell(button.closest(".ab-explorable"));
    };
    const step = () => {
      model.set("value", model.get("value") + 1);
      if (model.get("value") >= model.get("max")) stop();
    };
    button.addEventListener("click", () => {
      if (clock) return stop();
      button.setAttribute("aria-pressed", "true");
      clock = setInterval(step, model.get("interval"));
      if (model.get("value") >= model.get("max")) model.set("value", model.get("min"));
      else step();
    });
    const row = button.closest(".ab-row");
    row.addEventListener("pointerdown", (event) => event.target !== button && stop());
    row.addEventListener("keydown", (event) => event.target !== button && stop());
  }

  // ----------------------------------------------------------------- modules

  const imported = new Map(); // text of a module -> what it exports

  function module(text) {
    if (!imported.has(text)) {
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const widget = import(address).then(({ default: one }) => (typeof one === "function" ? one() : one));
      imported.set(text, widget);
    }
    return imported.get(text);
  }

  /** Put the figure in the place of its still. */
  async function start(element, model, signal) {
    const given = { model, signal, experimental: { invoke: () => Promise.reject(Error("no kernel")) } };
    const widget = await module(model.get("_esm"));
    if (model.get("_css")) {
      const style = document.createElement("style");
      style.textContent = model.get("_css");
      document.head.append(style);
    }
    await widget.initialize?.(given);
    const el = document.createElement("div");
    element.style.minHeight = `${element.offsetHeight}px`; // nothing jumps while it draws
    element.replaceChildren(el);
    await widget.render({ ...given, el });
    element.style.minHeight = "";
    element.dataset.awake = "drawn";
  }

  /** A module that fails leaves its still, and a sentence. */
  function restStill(element, still, error) {
    const words = document.createElement("p");
    words.className = "ab-missing";
    words.textContent = "This figure does not move here: your browser could not run its script.";
    element.style.minHeight = "";
    element.replaceChildren(...still, words);
    element.dataset.awake = "still";
    console.error(error);
  }

  /** A module starts when it comes near, or when the browser has nothing else to do. */
  const near = new IntersectionObserver(
    (entries) => entries.forEach(({ isIntersecting, target }) => isIntersecting && drawModule(target)),
    { rootMargin: "100% 0px" },
  );

  function drawModule(element) {
    near.unobserve(element);
    if (element.dataset.awake !== "waiting") return;
    element.dataset.awake = "begun";
    const [still, stop] = [[...element.childNodes], new AbortController()];
    start(element, models.get(element.dataset.model), stop.signal).catch((error) => {
      stop.abort();
      restStill(element, still, error);
    });
  }

  window.addEventListener("load", () => {
    const idle = window.requestIdleCallback ?? setTimeout;
    idle(() => document.querySelectorAll(".ab-module").forEach(drawModule));
  });

  // ------------------------------------------------------------------- waking

  const BINDINGS = { StackModel: stack, SelectionSliderModel: slider, ToggleButtonsModel: choices, PlayModel: play };

  function take(script) {
    script.dataset.taken = "";
    const arrived = Object.entries(JSON.parse(script.textContent).state);
    for (const [id, { model_name, state }] of arrived) models.set(id, new Model(model_name, state));
    for (const [id] of arrived) if (models.get(id).kind === "LinkModel") link(models.get(id));
  }

  /** Bring all figures to life whose state has arrived. */
  function wake() {
    document.querySelectorAll(`script[type="${STATE}"]:not([data-taken])`).forEach(take);
    for (const element of document.querySelectorAll("[data-model]:not([data-awake])")) {
      const model = models.get(element.dataset.model);
      if (!model) continue;
      if (element.matches(".ab-module")) {
        element.dataset.awake = "waiting";
        near.observe(element);
      } else {
        element.dataset.awake = "";
        BINDINGS[model.kind](element, model, element.dataset.model);
      }
    }
  }

  return { wake };
})();
