/* Chapter 5: mirror descent on three arms, behind a barrier and with entropy, at a rate that is dragged.
 *
 * data.losses   one row a round
 * data.change   after how many rounds they change
 * data.rates    the least and the greatest rate
 */
import { axes, circle, clamp, clip, color, decimals, dot, figure, line, plane, plus, polygon, rect, text } from "./drag.js";

/** argmin of rate * (sum · x) - Σ log x over the simplex: x_i = 1 / (c_i + λ), with λ by Newton's method. */
function barrier(sum, rate) {
  const costs = sum.map((value) => rate * (value - Math.min(...sum)));
  let lambda = 1; // too small: from there the steps on a convex function all go up
  for (let round = 0; round < 60; round += 1) {
    const x = costs.map((cost) => 1 / (cost + lambda));
    const step = (x.reduce((all, p) => all + p, 0) - 1) / dot(x, x);
    lambda += step;
    if (Math.abs(step) < 1e-15) break;
  }
  return costs.map((cost) => 1 / (cost + lambda));
}

/** argmin of rate * (sum · x) + Σ x log x over the simplex: exponential weights. */
function entropy(sum, rate) {
  const weights = sum.map((value) => Math.exp(-rate * (value - Math.min(...sum))));
  const whole = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => weight / whole);
}

/** Both paths, a point before each round and one after the last; and what they pay. Entropy has a third of the rate. */
function paths(losses, rate) {
  const sums = [losses[0].map(() => 0)];
  for (const loss of losses) sums.push(plus(sums.at(-1), loss));
  const both = [sums.map((sum) => barrier(sum, rate)), sums.map((sum) => entropy(sum, rate / 3))];
  return { paths: both, paid: both.map((path) => losses.reduce((all, loss, t) => all + dot(loss, path[t]), 0)) };
}

export const room = [428, 655];

export const maths = { paths };

const TALL = Math.sqrt(0.75);
const LEAST = -10; // power of ten, of the axis

function plan(width) {
  const narrow = width < 520;
  const side = narrow ? 220 : 240;
  const left = narrow ? (width - side) / 2 : 24;
  const foot = 34 + TALL * side;
  const scale = [left + 10, foot + 60, left + side - 10];
  const top = narrow ? scale[1] + 66 : 30;
  const curve = [narrow ? 54 : 344, top, width - 20, top + (narrow ? 140 : 254)];
  return { height: Math.max(curve[3] + 46, scale[1] + 36), triangle: { left, foot, side }, scale, curve };
}

const corner = ({ triangle: { left, foot, side } }, [, second, third]) =>
  [left + side * (second + third / 2), foot - side * TALL * third];

const along = ({ scale: [from, , to] }, { rates: [least, most] }) => ({
  at: (rate) => from + ((to - from) * Math.log(rate / least)) / Math.log(most / least),
  back: (x) => least * (most / least) ** clamp((x - from) / (to - from), 0, 1),
});

const time = ({ curve: box }, { losses }) => plane({ x: [0, losses.length + 1], y: [LEAST, 0.2], box });

const low = (point) => Math.log10(Math.min(...point));
const square = ([x, y], size, look) => rect([x - size, y - size, 2 * size, 2 * size], look);

function draw({ rate, shown }, layout, data) {
  const { paths: [behind, steep] } = paths(data.losses, rate);
  const run = time(layout, data);
  const [from, level, to] = layout.scale;
  const arms = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((arm) => corner(layout, arm));
  const looks = [
    [steep, { stroke: color.baseline, "stroke-dasharray": "7 4" }],
    [behind, { stroke: color.learner }],
  ];
  const onTriangle = (point) => corner(layout, point);
  const onCurve = (point, t) => run.at([t + 1, low(point)]);
  const draws = (path, count, place, look) => line(path.slice(0, count).map(place), look);
  const change = run.at([data.change, 0])[0];
  const scale = along(layout, data);
  const notches = [data.rates[0], 0.3, 1, data.rates[1]];
  return [
    polygon(arms, { fill: color.region, "fill-opacity": 0.12, stroke: color.wall, "stroke-width": 2 }),
    text(plus(arms[0], [0, 18]), "arm 1"), text(plus(arms[1], [0, 18]), "arm 2"), text(plus(arms[2], [0, -9]), "arm 3"),
    ...looks.map(([path, look]) => draws(path, shown, onTriangle, look)),
    square(corner(layout, steep[shown - 1]), 5, { fill: color.baseline }),
    circle(corner(layout, behind[shown - 1]), 6, { fill: color.learner }),
    line([[from, level], [to, level]], { stroke: color.quiet }),
    ...notches.map((notch) => line([[scale.at(notch), level - 5], [scale.at(notch), level + 5]], { stroke: color.quiet, "stroke-width": 1 })),
    ...notches.map((notch) => text([scale.at(notch), level + 28], String(notch), { "font-size": 13 })),
    text([from, level - 22], "rate η", { "text-anchor": "start" }),
    axes(run, { x: [1, 20, 40, 60, 80].filter((t) => t <= data.losses.length), y: [0, -3, -6, -9].map((p) => [p, p ? `10${"⁻"}${"⁰¹²³⁴⁵⁶⁷⁸⁹"[-p]}` : "1"]), across: "round t" }),
    text([run.box[0] - 30, run.box[1] - 11], "smallest probability", { "text-anchor": "start" }),
    line([[change, run.box[1]], [change, run.box[3]]], { stroke: color.loss, "stroke-width": 1.2, "stroke-dasharray": "2 4" }),
    text([change + 5, run.box[3] - 8], "losses change", { fill: color.loss, "text-anchor": "start", "font-size": 13 }),
    clip(run.box, looks.map(([path, look]) =>
      draws(path, path.length, onCurve, { ...look, "stroke-width": 1.2, "stroke-opacity": 0.5 }) +
      draws(path, shown, onCurve, { ...look, "stroke-width": 2.6 })).join("")),
    square(onCurve(steep[shown - 1], shown - 1), 5, { fill: color.baseline }),
  ].join("");
}

const oneIn = (point) => `one in ${Math.round(1 / Math.min(...point)).toLocaleString("en-US")}`;

function words({ rate, shown }, { losses }) {
  const { paths: both, paid } = paths(losses, rate);
  const [b, e] = both.map((path) => path[shown - 1]);
  const place = (point) => point.map((p) => decimals(p, 3)).join(", ");
  return `Rate ${decimals(rate, 2)}, round ${shown}. The barrier's point is at ${place(b)}, its smallest probability ${oneIn(b)}; ` +
    `entropy's is at ${place(e)}, smallest ${oneIn(e)}. In all rounds the barrier pays ${decimals(paid[0], 2)}, entropy ${decimals(paid[1], 2)}.`;
}

const until = (shown, { losses }) => clamp(Math.round(shown), 1, losses.length + 1);
const within = (rate, { rates }) => clamp(rate, ...rates);

export default figure({
  plan,
  draw,
  words,
  readout({ rate, shown }, { losses }) {
    const { paths: both, paid } = paths(losses, rate);
    return [
      ["<i>η</i>", decimals(rate, 2)],
      ["<i>t</i>", String(shown)],
      ["barrier pays", decimals(paid[0], 2)],
      ["entropy pays", decimals(paid[1], 2)],
      ["smallest", `${oneIn(both[0][shown - 1])}; ${oneIn(both[1][shown - 1])}`],
    ];
  },
  handles: ({ rates, losses }) => [
    {
      name: "η, the rate",
      color: color.loss,
      small: true,
      range: rates,
      number: ({ rate }) => rate,
      value: ({ rate }) => `η = ${decimals(rate, 3)}`,
      place: ({ rate }, layout, data) => [along(layout, data).at(rate), layout.scale[1]],
      drag: (place, state, layout, data) => ({ ...state, rate: along(layout, data).back(place[0]) }),
      step: ([dx, dy], size, state, data) => ({ ...state, rate: within(state.rate * 1.05 ** (size * (dx + dy)), data) }),
    },
    {
      name: "t, the round",
      small: true,
      range: [1, losses.length + 1],
      number: ({ shown }) => shown,
      value: ({ shown }) => `round ${shown}`,
      place: ({ rate, shown }, layout, data) =>
        time(layout, data).at([shown, low(paths(data.losses, rate).paths[0][shown - 1])]),
      drag: (place, state, layout, data) => ({ ...state, shown: until(time(layout, data).back(place)[0], data) }),
      step: ([dx, dy], size, state, data) => ({ ...state, shown: until(state.shown + Math.sign(dx + dy) * Math.max(1, size), data) }),
    },
  ],
  play: {
    next: (state, data) => (state.shown <= data.losses.length ? { ...state, shown: state.shown + 1 } : null),
    every: 100,
  },
});
