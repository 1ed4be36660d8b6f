/* Chapter 7: the loss over a polygon of habits and, below it, the mean of the optimistic estimate, seen along a line
 * between two points that are dragged. Rings tell how deep the estimate lies below the loss.
 *
 * The state is { gamma, settled, from, to }: the share of exploration, whether she plays habit 1 or all alike, and
 * the ends of the line in the plane of the triangle.
 *
 * data.points   the habits as shares of three streets, counterclockwise
 * data.mu       how she explores
 * data.loss, data.epsilon   of the three streets
 */
import { axes, circle, clamp, clip, color, decimals, dot, figure, line, plane, plus, polygon, text } from "./drag.js";
import { ellipse, solve } from "./barrier.js";
import { nearestIn, overlap } from "./convex.js";

const HIGH = Math.sqrt(0.75); // of a triangle with sides of length 1
const ALONG = [[-1, 1, 0], [-0.5 / HIGH, -0.5 / HIGH, 1 / HIGH]]; // how shares change along the plane's two axes
const LEAST = 0.001; // exploration; below it there is none
const RINGS = [0.25, 0.5, 1, 2, 4, 8];

const flat = (y) => [y[1] + y[2] / 2, HIGH * y[2]];
const shares = ([x, y]) => plus(plus([1, 0, 0], ALONG[0], x), ALONG[1], y);
const times = (matrix, v) => matrix.map((row) => dot(row, v));
const cross = (a, b) => [0, 1, 2].map((i) => a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);

/** The distribution that is played: q = (1 − γ) p + γ μ. */
const played = ({ gamma, settled }, { points, mu }) =>
  mu.map((share, i) => (1 - gamma) * (settled ? Number(i === 0) : 1 / points.length) + gamma * share);

const hasSurface = ({ gamma, settled }) => gamma > 0 || !settled;

/** The inverse of the second moment M, and the optimistic term's constant √r ‖ε‖_M. */
function measured(state, data) {
  const q = played(state, data);
  const moment = [0, 1, 2].map((r) => [0, 1, 2].map((c) => data.points.reduce((sum, y, i) => sum + q[i] * y[r] * y[c], 0)));
  const adjugate = [cross(moment[1], moment[2]), cross(moment[2], moment[0]), cross(moment[0], moment[1])];
  const inverse = adjugate.map((row) => row.map((value) => value / dot(moment[0], adjugate[0])));
  return { inverse, scale: Math.sqrt(3 * dot(data.epsilon, times(moment, data.epsilon))) };
}

/** √r ‖y‖_{M⁺} ‖ε‖_M: how far the estimate's mean lies below the loss at a point of the plane. */
function depth({ inverse, scale }, place) {
  const y = shares(place);
  return scale * Math.sqrt(dot(y, times(inverse, y)));
}

/** The points of the plane where the estimate lies that far below the loss: an ellipse, or nothing. */
function ring({ inverse, scale }, level) {
  const tilt = ALONG.map((way) => times(inverse, way));
  const shape = tilt.map((row) => ALONG.map((way) => dot(row, way)));
  const center = solve(shape, tilt.map((row) => -row[0]));
  const y = shares(center);
  const rest = (level / scale) ** 2 - dot(y, times(inverse, y));
  return rest > 0 ? ellipse(center, shape, Math.sqrt(rest)) : [];
}

/** The loss and the estimate's mean along the line. */
function section({ from, to }, seen, { loss }, count = 61) {
  const places = Array.from({ length: count }, (_, i) => plus(from, plus(to, from, -1), i / (count - 1)));
  const losses = places.map((place) => dot(shares(place), loss));
  return { losses, values: losses.map((value, i) => value - depth(seen, places[i])) };
}

export const room = [392, 702];

export const maths = { depth, measured, played, ring, section };

// ----------------------------------------------------------------------------------------------- layout

const GAMMAS = [[-0.6, "0"], [0, "0.001"], [1, "0.01"], [2, "0.1"], [3, "1"]];

function plan(width) {
  const narrow = width < 520;
  const side = narrow ? Math.min(width - 20, 320) : 0.46 * width;
  const [left, foot] = [narrow ? (width - side) / 2 : 0, 8 + 0.89 * side];
  const habits = plane({ x: [0.02, 0.95], y: [-0.06, 0.77], box: [left, 8, left + side, foot] });
  const curve = narrow ? [56, foot + 34, width - 24, foot + 194] : [0.46 * width + 64, 24, width - 24, foot - 28];
  const low = (narrow ? curve[3] + 40 : foot) + 34;
  const track = plane({ x: [-0.6, 3], y: [0, 1], box: [narrow ? 24 : 56, low - 20, width - (narrow ? 24 : 56), low] });
  return { height: low + 46, habits, curve, track };
}

const HALO = { stroke: color.paper, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };

/** A name beside the end of a curve that is farther up, or farther down. */
function name(words, ends, way, look) {
  const [x, y] = ends.reduce((best, end) => (way * (end[1] - best[1]) > 0 ? end : best));
  const anchor = x === Math.max(...ends.map((end) => end[0])) ? "end" : "start";
  return text([anchor === "end" ? x - 4 : x + 6, y + (way > 0 ? 19 : -9)], words, { ...HALO, ...look, "text-anchor": anchor });
}

/** A plane for the section that reaches down as far as the curve does, but at least to −2. */
function sectionPlane({ curve }, least) {
  const low = Math.min(-2, 1.2 * least);
  const gap = [1, 2, 5].find((step) => -low / step <= 4) ?? 5;
  const ticks = Array.from({ length: Math.floor(-low / gap) + 1 }, (_, i) => -gap * i);
  return { view: plane({ x: [0, 1], y: [low, 1.05], box: curve }), ticks: [1, ...ticks] };
}

const DASHED = { "stroke-width": 1.6, "stroke-dasharray": "6 4" };
const NOTHING = "only habit 1 is ever played:\nof the others nothing is known,\nand they look infinitely good";

function draw(state, layout, data) {
  const { habits, curve, track } = layout;
  const corners = data.points.map(flat);
  const middle = corners.reduce((sum, corner) => plus(sum, corner, 1 / corners.length), [0, 0]);
  const seen = hasSurface(state) ? measured(state, data) : null;
  const rings = seen ? RINGS.map((level) => overlap(ring(seen, level).slice(1), corners)).filter((one) => one.length > 2) : [];
  const { losses, values } = section(state, seen ?? { inverse: [[0, 0, 0], [0, 0, 0], [0, 0, 0]], scale: 0 }, data);
  const { view, ticks } = sectionPlane(layout, Math.min(...values));
  const run = (numbers) => numbers.map((value, i) => view.at([i / (numbers.length - 1), value]));
  const q = played(state, data);
  const drawn = [line(run(losses), { stroke: color.loss, "stroke-width": 2.6 })];
  if (seen) {
    drawn.push(
      line(run([values[0], values.at(-1)]), { stroke: color.baseline, ...DASHED }),
      line(run(values), { stroke: color.estimate, "stroke-width": 2.6 }),
    );
  }
  return [
    polygon(corners.map(habits.at), { fill: color.paper, stroke: "none" }),
    ...rings.map((one) => polygon(one.map(habits.at), { fill: color.estimate, "fill-opacity": 0.13, stroke: color.estimate, "stroke-width": 1 })),
    polygon(corners.map(habits.at), { fill: "none", stroke: color.ink, "stroke-width": 1.6 }),
    ...corners.map((corner, i) => circle(habits.at(corner), 3 + 11 * Math.sqrt(q[i]), { fill: color.learner, "fill-opacity": 0.8 })),
    ...corners.map((corner, i) => {
      const [x, y] = habits.at(plus(corner, plus(corner, middle, -1), 0.26));
      return text([x, y + 5], i + 1, { "font-weight": 700 });
    }),
    line([habits.at(state.from), habits.at(state.to)], { stroke: color.ink, "stroke-width": 2.4 }),
    clip([curve[0], curve[1] - 4, curve[2], curve[3]], drawn.join("")),
    axes(view, { x: [[0, "A"], [1, "B"]], y: ticks }),
    name("loss", [run(losses)[0], run(losses).at(-1)], -1, { fill: color.loss }),
    seen ? name("estimate", [run(values)[0], run(values).at(-1)], 1, { fill: color.estimate }) : "",
    seen ? "" : text([(curve[0] + curve[2]) / 2, (curve[1] + curve[3]) / 2], NOTHING, HALO),
    axes({ at: track.at, box: [track.box[0], track.box[3], track.box[2], track.box[3]] }, { x: GAMMAS, across: "γ, her share of exploration" }),
  ].join("");
}

// ------------------------------------------------------------------------------------------------ words

const place = (point) => `(${shares(point).map((share) => decimals(share, 2)).join(", ")})`;

function words(state, data) {
  const who = state.settled ? "settled on habit 1" : "undecided between the six habits";
  if (!hasSurface(state)) return `She is ${who} and never explores. M has rank 1: there is a plane, and no surface.`;
  const seen = measured(state, data);
  const [first, second] = [state.from, state.to].map((end) => decimals(depth(seen, end), 2));
  const deepest = Math.max(...data.points.map((y) => depth(seen, flat(y))));
  return `She is ${who}, gamma = ${decimals(state.gamma, 3)}. The line runs from shares ${place(state.from)}, where ` +
    `the estimate lies ${first} below the loss, to ${place(state.to)}, where it lies ${second} below. Between them ` +
    `it is above its chord. At a habit it lies at most ${decimals(deepest, 2)} below.`;
}

function readout(state, data) {
  const seen = hasSurface(state) ? measured(state, data) : null;
  const below = (point) => (seen ? decimals(depth(seen, point), 2) : "∞");
  const gaps = seen ? data.points.map((y) => depth(seen, flat(y))) : [];
  return [
    ["<i>γ</i>", decimals(state.gamma, 3)],
    ["gap at <i>A</i>", below(state.from)],
    ["at <i>B</i>", below(state.to)],
    ["largest", seen ? decimals(Math.max(...gaps), 2) : "∞"],
  ];
}

const power = (gamma) => (gamma > 0 ? 3 + Math.log10(gamma) : -0.6);
const explored = (exponent) => (exponent < -0.3 ? 0 : clamp(10 ** (exponent - 3), LEAST, 1));

const end = (which, letter, { points }) => ({
  name: `${letter}, an end of the line`,
  letter,
  color: color.ink,
  range: [0, 1],
  number: (state) => clamp(state[which][0], 0, 1),
  value: (state) => `${letter} at shares ${place(state[which])}`,
  place: (state, { habits }) => habits.at(state[which]),
  drag: (spot, state, { habits }) => ({ ...state, [which]: nearestIn(points.map(flat), habits.back(spot)) }),
  step: (way, size, state) => ({ ...state, [which]: nearestIn(points.map(flat), plus(state[which], way, 0.02 * size)) }),
});

export default figure({
  plan,
  draw,
  words,
  readout,
  buttons: () => [
    ["settled", (state) => ({ ...state, settled: true })],
    ["undecided", (state) => ({ ...state, settled: false })],
  ],
  handles: (data) => [
    {
      name: "γ, her share of exploration",
      letter: "γ",
      range: [0, 1],
      number: ({ gamma }) => gamma,
      value: ({ gamma }) => `γ = ${decimals(gamma, 3)}`,
      place: ({ gamma }, { track }) => track.at([power(gamma), 0]),
      drag: (spot, state, { track }) => ({ ...state, gamma: explored(track.back(spot)[0]) }),
      step([dx, dy], size, state) {
        const next = power(state.gamma) + 0.1 * size * (dx + dy);
        const gone = state.gamma > 0 && next < -1e-9; // below the least is none, and the next above none is the least
        return { ...state, gamma: gone || (state.gamma === 0 && dx + dy < 0) ? 0 : explored(Math.max(next, 0)) };
      },
    },
    end("to", "B", data),
    end("from", "A", data),
  ],
});
