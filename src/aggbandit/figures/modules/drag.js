/* What all dragged figures share: colors, shapes, coordinates, and the handles that a reader moves.
 *
 * A figure is one module beside this one, which imports what it needs from here; Python puts both into one
 * file (`aggbandit.figures.draggable`, where a whole small figure is shown). Its default export is made by
 * `figure`; its pure functions are exported as `maths`, so that a test can compare them with Python's.
 *
 * One unit of a picture is one CSS pixel: a picture is laid out anew for the width it has, its text never
 * shrinks. Pictures are strings of SVG, drawn afresh at each move; handles are elements of their own above
 * them, so that they keep the focus and the finger.
 */

// Each color means one thing in the whole book (aggbandit.figures.style); the page sets it for each theme.
export const color = {
  ink: "var(--ab-ink, var(--jp-content-font-color1, #222222))",
  learner: "var(--ab-learner, #0077BB)",
  best: "var(--ab-best, #007766)",
  loss: "var(--ab-loss, #BB5500)",
  estimate: "var(--ab-estimate, #CC2277)",
  region: "var(--ab-region, #33BBEE)",
  wall: "var(--ab-wall, #AA0011)",
  baseline: "var(--ab-baseline, #666666)",
  bound: "var(--ab-bound, #8844AA)",
  quiet: "var(--ab-quiet, var(--jp-content-font-color2, #555555))",
  faint: "var(--ab-faint, #DDDDDD)",
  paper: "var(--ab-card, var(--jp-layout-color0, #FFFFFF))",
};

// ------------------------------------------------------------------------------------------ numbers

export const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
export const plus = (a, b, times = 1) => a.map((value, i) => value + times * b[i]);
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** A number with fixed decimals and a true minus sign; halves go up, as in the chapters. */
export function decimals(value, digits) {
  const text = (value + 1e-9).toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

// ------------------------------------------------------------------------------------------- shapes
// Points are [x, y]; `look` holds SVG attributes that differ from the usual ones.

const coordinate = (value) => String(Math.round(10 * value) / 10);
const pairs = (points) => points.map((point) => point.map(coordinate).join(" ")).join("L");
const attributes = (look) => Object.entries(look).map(([name, value]) => ` ${name}="${value}"`).join("");

export const path = (d, look) => `<path d="${d}"${attributes(look)}/>`;

export const line = (points, look = {}) =>
  path(`M${pairs(points)}`, { fill: "none", stroke: color.ink, "stroke-width": 2, ...look });

export const polygon = (points, look = {}) => path(`M${pairs(points)}Z`, { stroke: "none", ...look });

export const dots = (points, size, look = {}) =>
  path(points.map((point) => `M${pairs([point])}h0`).join(""), {
    stroke: color.ink, "stroke-width": 2 * size, "stroke-linecap": "round", ...look,
  });

export const circle = ([x, y], radius, look = {}) =>
  `<circle cx="${coordinate(x)}" cy="${coordinate(y)}" r="${coordinate(radius)}"${attributes(look)}/>`;

export const rect = ([x, y, width, height], look = {}) =>
  `<rect x="${coordinate(x)}" y="${coordinate(y)}" width="${coordinate(Math.max(width, 0))}" ` +
  `height="${coordinate(Math.max(height, 0))}"${attributes(look)}/>`;

/** Words at a point; each line break begins a line below. */
export function text([x, y], words, look = {}) {
  const [left, top] = [x, y].map(coordinate);
  const lines = String(words).replace(/&/g, "&amp;").replace(/</g, "&lt;").split("\n");
  const below = lines.slice(1).map((words) => `<tspan x="${left}" dy="1.25em">${words}</tspan>`);
  const usual = { fill: color.ink, "font-size": 14, "text-anchor": "middle" };
  return `<text x="${left}" y="${top}"${attributes({ ...usual, ...look })}>${lines[0]}${below.join("")}</text>`;
}

/** A line with a head whose tip is at `end`. */
export function arrow(start, end, look = {}) {
  const along = plus(end, start, -1);
  const length = Math.hypot(...along);
  if (length === 0) return "";
  const [ahead, aside] = [along.map((v) => v / length), [-along[1] / length, along[0] / length]];
  const { stroke = color.ink, ...rest } = look;
  const head = Math.min(14, length);
  const neck = plus(end, ahead, -head);
  const corners = [end, plus(neck, aside, head / 2), plus(neck, aside, -head / 2)];
  return line([start, neck], { stroke, "stroke-width": 3, ...rest }) + polygon(corners, { fill: stroke });
}

/** Shapes of which only what lies in the box [left, top, right, bottom] is seen. */
export const clip = ([left, top, right, bottom], shapes) => {
  const [width, height] = [right - left, bottom - top].map(coordinate);
  const box = [left, top].map(coordinate);
  return `<svg x="${box[0]}" y="${box[1]}" width="${width}" height="${height}" ` +
    `viewBox="${box.join(" ")} ${width} ${height}">${shapes}</svg>`;
};

// -------------------------------------------------------------------------------------- coordinates

/** From numbers to the picture and back: `x` and `y` are [from, to], `box` is [left, top, right, bottom]. */
export function plane({ x, y, box: [left, top, right, bottom] }) {
  const [across, up] = [(right - left) / (x[1] - x[0]), (bottom - top) / (y[1] - y[0])];
  return {
    box: [left, top, right, bottom],
    at: (point) => [left + across * (point[0] - x[0]), bottom - up * (point[1] - y[0])],
    back: (place) => [x[0] + (place[0] - left) / across, y[0] + (bottom - place[1]) / up],
  };
}

/** The left and the lower edge of a plane, with ticks: numbers, or [number, words]. */
export function axes({ box: [left, top, right, bottom], at }, { x = [], y = [], across = "", up = "" }) {
  const worded = (tick) => (Array.isArray(tick) ? tick : [tick, decimals(tick, 2).replace(/\.?0+$/, "")]);
  const parts = [line([[left, top], [left, bottom], [right, bottom]], { stroke: color.quiet, "stroke-width": 1 })];
  for (const [value, words] of x.map(worded)) parts.push(text([at([value, 0])[0], bottom + 18], words, { "font-size": 13 }));
  for (const [value, words] of y.map(worded)) {
    parts.push(text([left - 7, at([0, value])[1] + 5], words, { "font-size": 13, "text-anchor": "end" }));
  }
  if (across) parts.push(text([(left + right) / 2, bottom + 38], across));
  if (up) parts.push(`<g transform="translate(${left - 34} ${(top + bottom) / 2}) rotate(-90)">${text([0, 0], up)}</g>`);
  return parts.join("");
}

// ----------------------------------------------------------------------------------------- a figure

const MOST = 640; // as wide as the book's other figures
const PAUSE = 500; // milliseconds after the last move until the picture is put into words

const make = (kind, classes, properties = {}) =>
  Object.assign(document.createElement(kind), { className: classes, ...properties });

/** A figure from functions of its state, an object of named numbers or lists that is never changed in place:
 *
 *    plan(width, data)            -> layout: { width, height } and whatever drawing needs
 *    draw(state, layout, data)    -> SVG
 *    words(state, data)           -> the picture in words; on the opening state, the `alt` of Python
 *    readout(state, data)         -> [[name, value], ...], live numbers in the symbols of the text
 *    handles(data)                -> [handle, ...]
 *    buttons(data)                -> [[name, (state) => state], ...]: named places to go to (optional)
 *    play                         -> { next(state, data) -> state or null at the end, every: milliseconds } (optional)
 *
 *  and a handle is
 *
 *    name                         what it is, for those who do not see it
 *    range                        [least, greatest] of the number that stands for it
 *    number(state)                that number
 *    value(state)                 its place in words: "θ = 40°"
 *    place(state, layout, data)   -> [x, y] in the picture
 *    drag(place, state, layout, data) -> the state when it is dragged there
 *    step([dx, dy], size, state, data) -> the state after an arrow key: right and up are positive, size is 1,
 *                                 0.1 with Shift, 10 with Page Up and Page Down
 *    color, letter, small         its looks (optional)
 */
export function figure({ plan, draw, words, readout, handles, buttons = () => [], play }) {
  function render({ model, el }) {
    const data = model.get("data");
    const home = model.get("start");
    let state = { ...home };
    let layout, saying, playing;

    const whole = make("div", "ab-drag");
    whole.dataset.lmSuppressShortcuts = "true"; // arrow keys are the handle's, not the notebook's
    const stage = make("div", "ab-drag-stage");
    const picture = make("div", "ab-drag-picture");
    picture.setAttribute("role", "img");
    const numbers = make("p", "ab-drag-readout");
    const row = make("div", "ab-drag-row");
    const said = make("p", "ab-drag-said");
    said.setAttribute("aria-live", "polite");
    whole.append(stage, row, said);
    stage.append(picture);
    row.append(numbers);

    function show() {
      picture.innerHTML =
        `<svg viewBox="0 0 ${layout.width} ${layout.height}" width="${layout.width}" height="${layout.height}" ` +
        `xmlns="http://www.w3.org/2000/svg" aria-hidden="true">${draw(state, layout, data)}</svg>`;
      picture.setAttribute("aria-label", words(state, data));
      numbers.innerHTML = readout(state, data).map(([name, value]) => `<span>${name} <b>${value}</b></span>`).join(" ");
      for (const [element, handle] of grips) {
        const [x, y] = handle.place(state, layout, data);
        element.style.left = `${(100 * x) / layout.width}%`;
        element.style.top = `${(100 * y) / layout.height}%`;
        element.setAttribute("aria-valuenow", String(handle.number(state)));
        element.setAttribute("aria-valuetext", handle.value(state));
      }
    }

    function move(next) {
      state = next;
      show();
      clearTimeout(saying);
      saying = setTimeout(() => { said.textContent = words(state, data); }, PAUSE);
    }

    function go(next) {
      stop();
      move(next);
    }

    const grips = handles(data).map((handle) => {
      const element = make("div", "ab-handle", { tabIndex: 0, textContent: handle.letter ?? "" });
      element.style.setProperty("--ab-handle", handle.color ?? color.learner);
      if (handle.small) element.classList.add("ab-handle-small");
      element.setAttribute("role", "slider");
      element.setAttribute("aria-label", handle.name);
      element.setAttribute("aria-valuemin", String(handle.range[0]));
      element.setAttribute("aria-valuemax", String(handle.range[1]));
      stage.append(element);

      let offset = null; // from the pointer to the handle, so that it does not jump when it is taken
      const under = (event) => {
        const { left, top, width } = picture.getBoundingClientRect();
        const scale = layout.width / width;
        return [scale * (event.clientX - left), scale * (event.clientY - top)];
      };
      element.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        element.focus({ preventScroll: true });
        element.setPointerCapture(event.pointerId);
        offset = plus(handle.place(state, layout, data), under(event), -1);
      });
      element.addEventListener("pointermove", (event) => {
        if (offset) go(handle.drag(plus(under(event), offset), state, layout, data));
      });
      element.addEventListener("lostpointercapture", () => { offset = null; });
      element.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const way = {
          ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1], PageDown: [0, -1], PageUp: [0, 1],
        }[event.key];
        if (!way && event.key !== "Home") return;
        event.preventDefault();
        const size = event.key.startsWith("Page") ? 10 : event.shiftKey ? 0.1 : 1;
        go(way ? handle.step(way, size, state, data) : { ...home });
      });
      return [element, handle];
    });

    function button(name, action) {
      const element = make("button", "ab-drag-button", { type: "button", textContent: name });
      element.addEventListener("click", action);
      row.append(element);
      return element;
    }

    function stop() {
      clearInterval(playing);
      playing = undefined;
      if (runs) runs.textContent = "▶ play";
    }

    function advance() {
      const next = play.next(state, data);
      if (next) move(next);
      else stop();
    }

    function run() {
      if (playing) return stop();
      const first = play.next(state, data) ?? { ...home }; // from the end, once more
      move(first);
      // Who wants little motion gets one step a press.
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return undefined;
      playing = setInterval(advance, play.every);
      runs.textContent = "❚❚ pause";
      return undefined;
    }

    const runs = play && button("▶ play", run);
    for (const [name, leap] of buttons(data)) button(name, () => go(leap(state)));
    button("reset", () => go({ ...home }));

    function fit() {
      const width = Math.round(Math.min(stage.clientWidth || MOST, MOST));
      if (layout?.width === width) return;
      layout = { width, ...plan(width, data) };
      show();
    }

    el.append(whole);
    fit();
    const watch = new ResizeObserver(fit);
    watch.observe(stage);
    return () => {
      watch.disconnect();
      clearTimeout(saying);
      clearInterval(playing);
    };
  }
  return { render };
}
