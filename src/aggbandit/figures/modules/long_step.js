/* Chapter 5: one step from a point near a fence, straight and mirrored, and what it costs in divergence.
 *
 * data.walls     { A, b }
 * data.corners   of that polygon, one after the other
 * data.x         where the step is made
 *
 * The state says where the straight step leads on the ruler at x, on a map where its ellipse is a disc of radius 1:
 * in which direction (in degrees; 90 is away from the fence) and how far.
 */
import { arrow, axes, clamp, clip, color, decimals, dots, figure, line, plane, plus, polygon, rect, text } from "./drag.js";
import { bregman, ellipse, gradient, hessian, minimize, norm, reach } from "./barrier.js";

const LENGTHS = [0.05, 2]; // that are shown
const COUNT = 60; // steps along the curve

/** Coordinates in which the ellipse at x is a disc and the horizontal stays horizontal: Cholesky's factor, upside down. */
function chart(walls, x) {
  const [[a, b], [, d]] = hessian(walls, x);
  const first = Math.sqrt(a);
  const second = Math.sqrt(d - (b * b) / a);
  return {
    to: (point) => {
      const [p, q] = plus(point, x, -1);
      return [first * p + (b / first) * q, second * q];
    },
    step: ([u, v]) => [(u - ((b / first) * v) / second) / first, v / second],
  };
}

const disc = (angle, z) => [z * Math.cos((angle * Math.PI) / 180), z * Math.sin((angle * Math.PI) / 180)];

/** The straight step, minus the inverse Hessian times the loss times the rate. */
const straight = ({ walls, x }, { angle, z }) => chart(walls, x).step(disc(angle, z));

/** Where the mirrored step ends, for which that loss is taken from the gradient; Newton begins at `from`. */
function mirrored({ walls, x }, state, from = x) {
  const step = straight({ walls, x }, state);
  const loss = hessian(walls, x).map((row) => -row[0] * step[0] - row[1] * step[1]);
  return minimize(walls, plus(loss, gradient(walls, x), -1), from);
}

const fee = ({ walls, x }, landed) => bregman(walls, x, landed);

/** Lengths, where the mirrored steps of these lengths end, and what they cost. */
function family(data, angle) {
  let from = data.x;
  return Array.from({ length: COUNT + 1 }, (_, i) => {
    const z = LENGTHS[0] + ((LENGTHS[1] - LENGTHS[0]) * i) / COUNT;
    from = mirrored(data, { angle, z }, from);
    return { z, landed: from, cost: fee(data, from) };
  });
}

const rhoStar = (z) => (z < 1 ? -z - Math.log1p(-z) : Infinity);

/** The state whose straight step is nearest to a place of the map; for the middle, in the direction `way`. */
function locate(place, way) {
  const far = Math.hypot(...place);
  const [u, v] = far > 1e-9 ? place : way;
  const angle = (Math.atan2(v, u) * 180) / Math.PI;
  return { angle: angle < -1e-9 ? angle + 360 : Math.max(angle, 0), z: clamp(far, ...LENGTHS) };
}

export const room = [430, 703];

export const maths = { family, fee, locate, mirrored, rhoStar, straight };

// ----------------------------------------------------------------------------------------------- layout

const HIGHEST = 3; // multiple of z² that is shown

function plan(width, { corners }) {
  const narrow = width < 520;
  const [xs, ys] = [0, 1].map((i) => corners.map((corner) => corner[i]));
  const most = [Math.max(...xs), Math.max(...ys)];
  const left = narrow ? 8 : 276;
  const unit = (width - left - 8) / most[0];
  const field = plane({ x: [0, most[0]], y: [0, most[1]], box: [left, 8, width - 8, 8 + unit * most[1]] });
  const radius = narrow ? 42 : 56;
  const head = narrow ? field.box[3] + 44 : 26;
  const high = narrow ? 3.6 : 3.8;
  const map = plane({
    x: [-2.15, 2.15], y: [-2.15, high], box: [4, head, 4 + 4.3 * radius, head + (high + 2.15) * radius],
  });
  const top = narrow ? map.box[3] + 24 : field.box[3] + 72;
  const foot = narrow ? top + 150 : map.box[3] - 42;
  const curve = plane({
    x: [0, LENGTHS[1]], y: [0, HIGHEST], box: [left + 44, top, width - 14, foot],
  });
  return { height: foot + 46, narrow, field, map, curve };
}

const HALO = { stroke: color.paper, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };
const DASHED = { stroke: color.bound, "stroke-width": 2, "stroke-dasharray": "7 4" };
const DOTTED = { stroke: color.bound, "stroke-width": 2, "stroke-dasharray": "2 4" };
const FEE = { "stroke-width": 2.4 };
const STRAIGHT = { stroke: color.loss, "stroke-width": 2.4 };
const MIRRORED = { stroke: color.learner, "stroke-width": 2.6 };

/** The cross where a straight step meets a wall. */
const cross = ([x, y]) =>
  [[-1, -1], [-1, 1]].map(([p, q]) =>
    line([[x + 6 * p, y + 6 * q], [x - 6 * p, y - 6 * q]], { ...HALO, stroke: color.loss, "stroke-width": 3 })).join("");

/** Walls, ellipse and both steps, by what takes a point to the picture. */
function steps(state, at, data, seen, tip) {
  const { walls, corners, x } = data;
  const step = straight(data, state);
  const free = reach(walls, x, step);
  const end = at(plus(x, step));
  return [
    polygon(ellipse(x, hessian(walls, x)).map(at), { fill: color.region, "fill-opacity": 0.45, stroke: color.learner, "stroke-width": 1.4 }),
    polygon(corners.map(at), { fill: "none", stroke: color.wall, "stroke-width": 2.4 }),
    line([x, ...seen.map(({ landed }) => landed)].map(at), { ...MIRRORED, "stroke-width": 1.2, "stroke-dasharray": "3 3" }),
    line([x, ...seen.filter(({ z }) => z < state.z).map(({ landed }) => landed), tip].map(at), MIRRORED),
    free < 1
      ? line([at(plus(x, step, free)), end], { ...STRAIGHT, "stroke-width": 1.4, "stroke-dasharray": "2 4" }) +
        line([at(x), at(plus(x, step, free))], STRAIGHT) + cross(at(plus(x, step, free)))
      : arrow(at(x), end, { stroke: color.loss }),
    dots([at(tip)], 6, { stroke: color.learner }),
    rect([...plus(at(x), [-4, -4]), 8, 8], { fill: color.ink }),
  ].join("");
}

function drawMap(state, { map }, data, seen, tip) {
  const { at, box } = map;
  const { to } = chart(data.walls, data.x);
  const [left, top, right, bottom] = box;
  const ring = (radius) => Array.from({ length: 97 }, (_, i) => at(disc((360 * i) / 96, radius)));
  const thin = { stroke: color.baseline, "stroke-width": 1, "stroke-dasharray": "2 5" };
  const shapes = [0.5, 2].map((radius) => line(ring(radius), thin)).join("") + steps(state, (point) => at(to(point)), data, seen, tip);
  const names = [[0.5, "½"], [1, "1"], [2, "2"]].map(([radius, name]) =>
    text(plus(at(disc(-40, radius)), [4, 12]), name, { ...HALO, fill: color.quiet, "font-size": 13 }));
  return [
    clip(box, shapes),
    ...names,
    rect([left, top, right - left, bottom - top], { fill: "none", stroke: color.quiet, "stroke-width": 1, rx: 4 }),
    text([(left + right) / 2, top - 9], "on the ruler at x"),
  ].join("");
}

/** The fee and its bounds, as multiples of z². */
function drawCurve({ angle, z }, { curve }, data, seen, cost) {
  const { at, box } = curve;
  const point = (length, value) => at([length, Math.min(value / length ** 2, 2 * HIGHEST)]);
  const bounded = Array.from({ length: 100 }, (_, i) => (i + 1) / 100);
  const marks = [[0.5, "½, lemma"], [1, "1"]].map(([length, name]) =>
    line([at([length, 0]), at([length, HIGHEST])], { stroke: color.faint, "stroke-width": 1.4 }) +
    text(plus(at([length, HIGHEST]), [0, -6]), name, { "font-size": 13, fill: color.quiet }));
  const shapes = [
    line([at([0, 1]), at([LENGTHS[1], 1])], DASHED),
    line([at([0, 0.5]), ...bounded.map((length) => point(length, rhoStar(length)))], DOTTED),
    line([at([0, 0.5]), ...seen.map((one) => point(one.z, one.cost))], FEE),
    line([at([z, 0]), point(z, cost)], { stroke: color.learner, "stroke-width": 1.2, "stroke-dasharray": "2 4" }),
  ].join("");
  const shown = axes(curve, { x: [0, 0.5, 1, 1.5, 2], y: [0, 1, 2, 3], across: "length z", up: "multiple of z²" });
  return marks.join("") + clip(box, shapes) + shown;
}

function key({ narrow, field, map, curve }) {
  const rows = [
    [["straight step", STRAIGHT], ["mirrored step", MIRRORED]],
    [["fee", FEE], ["z²", DASHED], ["ρ*(z)", DOTTED]],
  ];
  const entry = ([x, y], [words, look]) =>
    line([[x, y], [x + 22, y]], look) + text([x + 28, y + 5], words, { "text-anchor": "start", "font-size": 13 });
  if (narrow) return rows.flat().map((one, i) => entry([map.box[2] + 16, map.box[1] + 40 + 26 * i], one)).join("");
  const places = rows.map((row, k) => row.map((one, i) => [one, [curve.box[0] + (k ? 96 : 144) * i, field.box[3] + 22 + 22 * k]]));
  return places.flat().map(([one, place]) => entry(place, one)).join("");
}

function draw(state, layout, data) {
  const seen = family(data, state.angle);
  const tip = mirrored(data, state);
  return [
    steps(state, layout.field.at, data, seen, tip),
    drawMap(state, layout, data, seen, tip),
    drawCurve(state, layout, data, seen, fee(data, tip)),
    key(layout),
  ].join("");
}

// ------------------------------------------------------------------------------------------------ words

function measured(state, data) {
  const { walls, x } = data;
  const tip = mirrored(data, state);
  return {
    tip: tip.map((v) => decimals(v, 2)),
    gone: decimals(norm(hessian(walls, x), plus(tip, x, -1)), 2),
    cost: decimals(fee(data, tip), 3),
    square: decimals(state.z ** 2, 3),
    star: state.z < 1 ? decimals(rhoStar(state.z), 3) : "∞",
    stays: reach(walls, x, straight(data, state)) > 1,
  };
}

function words(state, data) {
  const { tip, gone, cost, square, star, stays } = measured(state, data);
  const most = state.z === LENGTHS[1] ? ", the longest shown" : "";
  return `A straight step of length z = ${decimals(state.z, 2)}${most}, in direction ${decimals(state.angle, 0)}° on the ` +
    `ruler at x, ${stays ? "stays inside" : "leaves the field"}. The mirrored step has length ${gone} and ends at ` +
    `(${tip[0]}, ${tip[1]}). Its fee is ${cost}; z² is ${square}, ρ*(z) is ${star}.`;
}

function readout(state, data) {
  const { gone, cost, square, star } = measured(state, data);
  return [
    ["direction", `${decimals(state.angle, 0)}°`],
    ["<i>z</i>", decimals(state.z, 2)],
    ["mirrored", gone],
    ["fee", cost],
    ["<i>z</i>²", square],
    ["<i>ρ</i>*(<i>z</i>)", star],
  ];
}

const value = ({ angle, z }) => `z = ${decimals(z, 3)}, direction ${decimals(angle, 1)}°`;

export default figure({
  plan,
  draw,
  words,
  readout,
  buttons: () => [
    ["away from the fence", ({ z }) => ({ angle: 90, z })],
    ["toward", ({ z }) => ({ angle: 270, z })],
  ],
  handles: (data) => [
    {
      name: "end of the straight step",
      color: color.loss,
      small: true,
      range: LENGTHS,
      number: ({ z }) => z,
      value,
      place: ({ angle, z }, { map }) => map.at(disc(angle, z)),
      drag: (place, { angle }, { map }) => locate(map.back(place), disc(angle, 1)),
      step: (way, size, { angle, z }) => locate(plus(disc(angle, z), way, 0.05 * size), way),
    },
    {
      name: "z, length of the step",
      small: true,
      range: LENGTHS,
      number: ({ z }) => z,
      value,
      place: (state, { curve }) => curve.at([state.z, fee(data, mirrored(data, state)) / state.z ** 2]),
      drag: (place, { angle }, { curve }) => ({ angle, z: clamp(curve.back(place)[0], ...LENGTHS) }),
      step: ([dx, dy], size, { angle, z }) => ({ angle, z: clamp(z + 0.02 * size * (dx + dy), ...LENGTHS) }),
    },
  ],
});
