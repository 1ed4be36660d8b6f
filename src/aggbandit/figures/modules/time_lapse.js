/* Chapter 10: a run of the whole algorithm. The reader drags the night along the regret; plan, ellipsoid and set follow.
 *
 * data.nights      after which nights the run was looked at, ascending; one entry each in
 *   plan, drive    [x, y]: the expected totals of the point x, and of its policy in the city
 *   covariance     [a, b, d]: the shadow of the Dikin ellipsoid at x is {plan + y : yᵀ [[a, b], [b, d]]⁻¹ y <= 1}
 *   set            the corner of the plausible set furthest in each of some directions, always the same ones
 *   rows           how many of its rows exclude something
 *   regret         per night, so far
 * data.city        corners of the true city's set
 * data.best        the totals of the best policy
 * data.coin        regret per night of tossing a coin
 * data.cells       number of rows
 */
import { axes, circle, clamp, clip, color, decimals, figure, line, plane, plus, polygon, rect, text } from "./drag.js";

const mix = (from, to, share) =>
  Array.isArray(from) ? from.map((value, i) => mix(value, to[i], share)) : from + share * (to - from);

/** The run after a night. Between two nights that were looked at, what lies between, on the scale of log(night);
 *  corners that are furthest in the same direction, mixed, are the corner of the mixed sets. */
function moment(data, night) {
  const { nights, rows } = data;
  const before = clamp(nights.findLastIndex((kept) => kept <= night), 0, nights.length - 2);
  const share = Math.log(night / nights[before]) / Math.log(nights[before + 1] / nights[before]);
  const at = (name) => mix(data[name][before], data[name][before + 1], share);
  return {
    plan: at("plan"), drive: at("drive"), covariance: at("covariance"), set: at("set"), regret: at("regret"),
    rows: rows[share < 1 ? before : before + 1],
  };
}

/** Points of {center + y : yᵀ [[a, b], [b, d]]⁻¹ y = 1}, closed. */
function ellipse(center, [a, b, d], count = 72) {
  const first = Math.sqrt(a); // Cholesky
  const below = b / first;
  const second = Math.sqrt(Math.max(d - below * below, 0));
  return Array.from({ length: count + 1 }, (_, i) => {
    const [u, v] = [Math.cos((2 * Math.PI * i) / count), Math.sin((2 * Math.PI * i) / count)];
    return plus(center, [first * u, below * u + second * v]);
  });
}

export const room = [568, 556];

export const maths = { moment, ellipse };

const PLANE = [0.5, 2.75];
const LENS = 0.11; // from its middle to its edge
const MOST = 0.75; // of the regret per night

function plan(width) {
  const narrow = width < 520;
  const side = narrow ? Math.floor((width - 72) / 2) : 232;
  const top = 24;
  const foot = top + side + 74;
  return {
    height: foot + (narrow ? 150 : 106) + 44,
    narrow,
    plane: [48, top, 48 + side, top + side],
    lens: [width - 8 - side, top, width - 8, top + side],
    curve: [48, foot, width - 22, foot + (narrow ? 150 : 106)],
  };
}

const city = ({ plane: box }) => plane({ x: PLANE, y: PLANE, box });

const lens = ({ lens: box }, [x, y]) => plane({ x: [x - LENS, x + LENS], y: [y - LENS, y + LENS], box });

const time = ({ curve: box }, { nights }) =>
  plane({ x: [Math.log10(nights[0]), Math.log10(nights.at(-1))], y: [0, MOST], box });

const count = (value) => Math.round(value).toLocaleString("en-US");

function cross([x, y], size) {
  const look = { stroke: color.ink, "stroke-width": 2.4 };
  return line([[x - size, y - size], [x + size, y + size]], look) + line([[x - size, y + size], [x + size, y - size]], look);
}

const diamond = ([x, y], size) =>
  polygon([[x - size, y], [x, y - size], [x + size, y], [x, y + size]], { fill: color.best });

/** What is seen in the plane of two totals, at any magnification. */
function scene(at, now, data, large) {
  return [
    polygon(now.set.map(at), { fill: color.region, "fill-opacity": 0.22, stroke: color.wall, "stroke-width": 2 }),
    polygon(data.city.map(at), { fill: "none", stroke: color.ink, "stroke-width": 1.5 }),
    polygon(ellipse(now.plan, now.covariance).map(at), {
      fill: color.region, "fill-opacity": 0.6, stroke: color.learner, "stroke-width": large ? 2 : 1,
    }),
    diamond(at(data.best), 7),
    circle(at(now.plan), large ? 6 : 2.5, { fill: color.learner }),
    large ? cross(at(now.drive), 6) : "",
  ].join("");
}

function draw({ night }, layout, data) {
  const now = moment(data, night);
  const [far, near, run] = [city(layout), lens(layout, now.plan), time(layout, data)];
  const trail = [...data.plan.filter((_, i) => data.nights[i] < night), now.plan];
  const [left, top, right, foot] = layout.lens;
  const [small, low] = [far.at(plus(now.plan, [-LENS, LENS])), far.at(plus(now.plan, [LENS, -LENS]))];
  const ray = { stroke: color.baseline, "stroke-width": 1, "stroke-dasharray": "3 4" };
  const power = (right - left) / (low[0] - small[0]);

  const curve = data.nights.map((kept, i) => [Math.log10(kept), data.regret[i]]);
  const here = [Math.log10(night), now.regret];
  const past = [...curve.filter(([x]) => x < here[0]), here];
  const powers = [1, 2, 3, 4, 5, 6].filter((p) => p >= curve[0][0] && p <= curve.at(-1)[0]);
  const ends = [run.box[0], run.box[2]];
  const level = run.at([0, data.coin])[1];
  const ticks = layout.narrow ? [1, 2] : [1, 1.5, 2, 2.5];
  return [
    axes(far, { x: ticks, y: ticks, across: "expected total, dry", up: "in rain" }),
    clip(far.box, scene(far.at, now, data, false) + line(trail.map(far.at), { stroke: color.learner, "stroke-width": 1.5 })),
    line([[low[0], small[1]], [left, top]], ray),
    line([low, [left, foot]], ray),
    rect([...small, low[0] - small[0], low[1] - small[1]], { fill: "none", stroke: color.quiet, "stroke-width": 1.5 }),
    rect([left, top, right - left, foot - top], { fill: color.paper, stroke: color.quiet, "stroke-width": 1.5 }),
    clip(layout.lens, scene(near.at, now, data, true)),
    text([(left + right) / 2, top - 8], `${decimals(power, 1)} times as large`),
    text([(layout.plane[0] + layout.plane[2]) / 2, top - 8], `night ${count(night)}`, { "font-weight": 700 }),
    axes(run, {
      x: powers.map((p) => [p, count(10 ** p)]), y: [0, 0.3, 0.6], across: "nights driven",
    }),
    text([run.box[0] - 34, run.box[1] - 10], "regret a night, so far", { "text-anchor": "start" }),
    line([[ends[0], level], [ends[1], level]], { stroke: color.baseline, "stroke-width": 1.5, "stroke-dasharray": "2 5" }),
    text([ends[1], level - 7], "tossing a coin", { "text-anchor": "end", "font-size": 13, fill: color.quiet }),
    line(curve.map(run.at), { stroke: color.learner, "stroke-width": 1.5, "stroke-opacity": 0.55 }),
    line(past.map(run.at), { stroke: color.learner, "stroke-width": 3.5 }),
    line([run.at([here[0], 0]), run.at(here)], ray),
  ].join("");
}

function words({ night }, data) {
  const { plan: x, drive, covariance, rows, regret } = moment(data, night);
  return `After night ${count(night)}: the plan expects ${decimals(x[0], 2)} on dry nights, its policy pays ` +
    `${decimals(drive[0], 2)}, the best one ${decimals(data.best[0], 2)}. ${rows} of ${data.cells} rows exclude something. ` +
    `The ellipse reaches ${decimals(Math.sqrt(covariance[0]), 3)} to each side. So far the regret is ${decimals(regret, 2)} a night.`;
}

const during = (night, { nights }) => ({ night: clamp(night, nights[0], nights.at(-1)) });

export default figure({
  plan,
  draw,
  words,
  readout({ night }, data) {
    const { plan: x, drive, covariance, rows, regret } = moment(data, night);
    return [
      ["plan <i>x</i>·<i>ℓ</i>", decimals(x[0], 2)],
      ["policy pays", decimals(drive[0], 2)],
      ["ellipse ±", decimals(Math.sqrt(covariance[0]), 3)],
      ["rows that exclude", `${rows} of ${data.cells}`],
      ["regret", count(night * regret)],
    ];
  },
  handles: ({ nights }) => [
    {
      name: "night of the run",
      range: [nights[0], nights.at(-1)],
      number: ({ night }) => Math.round(night),
      value: ({ night }) => `night ${count(night)}`,
      place: ({ night }, layout, data) => time(layout, data).at([Math.log10(night), moment(data, night).regret]),
      drag: (place, state, layout, data) => during(10 ** time(layout, data).back(place)[0], data),
      step: ([dx, dy], size, { night }, data) => during(night * 10 ** (0.05 * size * (dx + dy)), data),
    },
  ],
  buttons: ({ nights }) => [
    ["night 10,000", () => ({ night: 10000 })],
    ["the end", () => ({ night: nights.at(-1) })],
  ].filter(([, leap]) => leap().night <= nights.at(-1)),
  play: {
    next: ({ night }, data) => (night < data.nights.at(-1) ? during(night * 10 ** 0.04, data) : null),
    every: 90,
  },
});
