/* Chapter 11: one wall |r| <= rho, lifted to the triangle |r| <= t <= rho. A point is dragged through it; its Dikin
 * ellipse is cut at the height of the point, and throws a shadow on the axis of r.
 *
 * data.rho   the height of the triangle, and half its width
 */
import { axes, circle, clamp, color, decimals, dots, figure, line, plane, polygon, text } from "./drag.js";
import { ellipse, hessian, slacks } from "./barrier.js";

const WALL = 1e-3; // a slack that is less than this, relative to rho, is none
const LOW = 0.08; // how much of the way from the lower walls to the top "low" is

const walls = (rho) => ({ A: [[1, -1], [-1, -1], [0, 1]], b: [0, 0, rho] });

/** The height at which the barrier -log(t² - r²) - log(rho - t) is least: from a quadratic equation. */
function lowest(r, rho) {
  const sigma = (2 * rho - Math.sqrt(rho ** 2 + 3 * r ** 2)) / 3;
  return sigma + Math.hypot(sigma, r);
}

/** Half the widths of the ellipse's shadow on the axis of r and of its section at its center's height, and how far
 *  above the center the shadow's right end is met. The Hessian's determinant is a sum of three products, without
 *  differences: near a wall these would lose their digits. */
function widths(r, t, rho) {
  const [left, right, top] = [(t + r) ** -2, (t - r) ** -2, (rho - t) ** -2];
  const determinant = 4 * left * right + (left + right) * top;
  const shadow = Math.sqrt((left + right + top) / determinant);
  return { shadow, section: 1 / Math.sqrt(left + right), rise: (right - left) / determinant / shadow };
}

/** Half the Dikin interval of the barrier of r alone, t minimized out. */
const minimized = (r, rho) => widths(r, lowest(r, rho), rho).shadow;

/** The point of the triangle that is nearest, where r and t are measured alike. */
function nearest([r, t], rho) {
  const [side, high] = [Math.sign(r), Math.min(t, rho)];
  if (Math.abs(r) <= high) return { r, t: high };
  const corner = clamp((Math.abs(r) + high) / 2, 0, rho);
  return { r: side * corner, t: corner };
}

const isInside = ({ r, t }, rho) => Math.min(...slacks(walls(rho), [r, t])) > WALL * rho;

export const room = [477, 490];

export const maths = { isInside, lowest, minimized, nearest, widths };

// ----------------------------------------------------------------------------------------------- layout

function plan(width, { rho }) {
  const narrow = width < 520;
  const side = narrow ? 24 : 96;
  const foot = narrow ? 208 : 268;
  const view = plane({ x: [-rho, rho], y: [0, rho], box: [side, 20, width - side, foot] });
  const bars = [0, 1, 2].map((row) => foot + (narrow ? 38 + 40 * row : 28 + 28 * row));
  return { height: bars[2] + 54, narrow, view, bars };
}

const rhos = (value, rho) => `${decimals(value / rho, 2)} ρ`;

const HALO = { stroke: color.paper, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };
const DOTTED = { "stroke-width": 1.2, "stroke-dasharray": "2 4" };
const DASHED = { stroke: color.ink, "stroke-width": 1.4, "stroke-dasharray": "6 4" };

/** A bar on the axis of r, with its name and its half width; `above` are the points that it is dropped from. */
function bar(row, { r, rho }, [name, width, stroke], above, { narrow, view, bars }) {
  const { at, box } = view;
  const y = bars[row];
  const [from, to] = [r - width, r + width].map((end) => [at([end, 0])[0], y]);
  const words = `±${rhos(width, rho)}`;
  const [clear, anchor] = r > 0 ? [box[0] + 6, "start"] : [box[2] - 6, "end"];
  const look = { ...HALO, fill: stroke };
  return [
    ...above.map(([x, top]) => line([[x, top], [x, y]], { stroke, ...DOTTED })),
    line([from, to], { stroke, "stroke-width": 7 }),
    narrow
      ? text([clear, y - 10], `${name} ${words}`, { ...look, "text-anchor": anchor })
      : text([box[0] - 16, y + 5], name, { ...look, "text-anchor": "end" }) +
        text([box[2] + 16, y + 5], words, { ...look, "text-anchor": "start" }),
  ].join("");
}

function draw({ r, t }, layout, { rho }) {
  const { view, bars, narrow } = layout;
  const { at, box } = view;
  const best = lowest(r, rho);
  const ring = (height) => ellipse([r, height], hessian(walls(rho), [r, height])).map(at);
  const corners = [[0, 0], [rho, rho], [-rho, rho]].map(at);
  const curve = Array.from({ length: 81 }, (_, i) => 0.999 * rho * (i / 40 - 1)).map((v) => at([v, lowest(v, rho)]));
  const away = r > 0.05 * rho ? -0.45 * rho : 0.45 * rho; // the curve is named where the point is not
  const end = bars[2] + 10;
  const parts = [
    ...[-rho, rho].map((side) => line([at([side, rho]), [at([side, 0])[0], end]], { stroke: color.wall, ...DOTTED })),
    line(curve, DASHED),
  ];
  if (isInside({ r, t: best }, rho)) {
    const { shadow, rise } = widths(r, best, rho);
    const ends = [-1, 1].map((way) => at([r + way * shadow, best + way * rise]));
    parts.push(
      bar(2, { r, rho }, ["minimized", shadow, color.ink], ends, layout),
      polygon(ring(best), { fill: "none", ...DASHED }),
      circle(at([r, best]), 4, { fill: color.paper, stroke: color.ink, "stroke-width": 1.6 }),
    );
  }
  if (isInside({ r, t }, rho)) {
    const { shadow, section, rise } = widths(r, t, rho);
    const [low, high] = [-1, 1].map((way) => at([r + way * shadow, t + way * rise]));
    parts.push(
      bar(1, { r, rho }, ["section", section, color.baseline], [-1, 1].map((way) => at([r + way * section, t])), layout),
      bar(0, { r, rho }, ["shadow", shadow, color.learner], [low, high], layout),
      polygon(ring(t), { fill: color.region, "fill-opacity": 0.5, stroke: color.learner, "stroke-width": 1.8 }),
      line([at([r - section, t]), at([r + section, t])], { stroke: color.baseline, "stroke-width": 4 }),
      dots([low, high], 3, { stroke: color.learner }),
    );
  } else {
    const words = "On a wall a slack is 0: F is infinite,\nand there is no ellipse.";
    parts.push(text([layout.width / 2, bars[0] + 6], words, HALO));
  }
  const [x, y] = at([away, lowest(away, rho)]);
  parts.push(
    polygon(corners, { fill: "none", stroke: color.wall, "stroke-width": 2.4, "stroke-linejoin": "round" }),
    text([x, y + 20], "t*(r)", { ...HALO, "font-style": "italic" }),
    axes({ at, box: [box[0], end, box[2], end] }, { x: [[-rho, "−ρ"], [0, "0"], [rho, "ρ"]] }),
    text([at([0, 0])[0], end + 36], "r", { "font-style": "italic" }),
  );
  if (!narrow) {
    const names = [[[-rho / 2, rho / 2], "t = −r", -14, "end"], [[rho / 2, rho / 2], "t = r", 14, "start"]];
    for (const [place, name, shift, anchor] of names) {
      const [left, top] = at(place);
      parts.push(text([left + shift, top + 12], name, { fill: color.wall, "text-anchor": anchor }));
    }
  }
  parts.push(text([at([0, 0])[0], box[1] - 6], "t = ρ", { fill: color.wall }));
  return parts.join("");
}

// ------------------------------------------------------------------------------------------------ words

function words({ r, t }, { rho }) {
  const best = lowest(r, rho);
  const place = `r is ${rhos(r, rho)}, the height t is ${rhos(t, rho)}.`;
  const alone = `With t minimized out, at ${rhos(best, rho)}, the interval is ±${rhos(minimized(r, rho), rho)}.`;
  if (!isInside({ r, t }, rho)) {
    const still = isInside({ r, t: best }, rho) ? ` ${alone}` : "";
    return `${place} That is on a wall: F is infinite, and there is no ellipse.${still}`;
  }
  const { shadow, section } = widths(r, t, rho);
  return `${place} The ellipse's shadow reaches ±${rhos(shadow, rho)} around r, its section at that height ` +
    `±${rhos(section, rho)}. ${alone} All three stay between −ρ and ρ.`;
}

function readout({ r, t }, { rho }) {
  const inside = isInside({ r, t }, rho);
  const { shadow, section } = inside ? widths(r, t, rho) : {};
  return [
    ["<i>r</i>", rhos(r, rho)],
    ["<i>t</i>", rhos(t, rho)],
    ["<i>t</i>*(<i>r</i>)", rhos(lowest(r, rho), rho)],
    ["shadow to", inside ? rhos(r + Math.sign(r || 1) * shadow, rho) : "none"],
    ["section/shadow", inside ? decimals(section / shadow, 2) : "none"],
  ];
}

export default figure({
  plan,
  draw,
  words,
  readout,
  buttons: ({ rho }) => [
    ["t to its best", ({ r }) => ({ r, t: lowest(r, rho) })],
    ["low", ({ r }) => ({ r, t: Math.abs(r) + LOW * (rho - Math.abs(r)) })],
    ["r = 0", ({ t }) => ({ r: 0, t })],
  ],
  handles: ({ rho }) => [
    {
      name: "(r, t), a point of the triangle",
      small: true,
      range: [0, rho],
      number: ({ t }) => t,
      value: ({ r, t }) => `r = ${decimals(r / rho, 3)} ρ, t = ${decimals(t / rho, 3)} ρ`,
      place: ({ r, t }, { view }) => view.at([r, t]),
      drag: (place, state, { view }) => nearest(view.back(place), rho),
      step: ([dx, dy], size, { r, t }) => nearest([r + 0.02 * rho * size * dx, t + 0.02 * rho * size * dy], rho),
    },
  ],
});
