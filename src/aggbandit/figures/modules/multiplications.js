/* Chapter 11: how many multiplications one factorization takes, three ways, against the number of states.
 *
 * The state is { S, H, A }, whole numbers: states, steps and actions.
 */
import { clamp, color, decimals, dots, figure, line, plane, text } from "./drag.js";

const RANGES = { S: [2, 40], H: [2, 30], A: [1, 10] };
const WAYS = [
  ["dense", { stroke: color.baseline, "stroke-dasharray": "2 5" }],
  ["blocks", { stroke: color.baseline, "stroke-dasharray": "8 5" }],
  ["rank three", { stroke: color.learner }],
];

/** The multiplications of each way, and the slope of each curve in the picture: the exponent of S just there. */
function counts({ S, H, A }) {
  const later = H - 1;
  const [cells, perState] = [A * (1 + later * S), A * later];
  const [flow, flowing] = [(7 / 6) * later * S ** 3, (7 / 2) * later * S ** 2];
  const n = cells * S - 1 - later * S;
  const ways = {
    dense: [n ** 3 / 6, (n ** 2 / 2) * (cells + perState * S - later)],
    blocks: [(cells * S ** 3) / 2 + flow, (perState * S ** 3) / 2 + 1.5 * cells * S ** 2 + flowing],
    "rank three": [cells * (13 * S + 1.5 * S ** 2) + flow, perState * (13 * S + 1.5 * S ** 2) + cells * (13 + 3 * S) + flowing],
  };
  return Object.fromEntries(Object.entries(ways).map(([name, [value, slope]]) => [name, { value, slope: (S * slope) / value }]));
}

export const room = [480, 590];

export const maths = { counts };

const [LOW, HIGH] = [0, 17]; // powers of ten in the picture

function plan(width) {
  const narrow = width < 520;
  const chart = plane({ x: RANGES.S.map(Math.log), y: [LOW, HIGH], box: [58, 12, width - 88, 288] });
  const half = width / 2;
  const boxes = narrow
    ? [[26, 372, width - 26, 382], [26, 430, width - 26, 440]]
    : [[58, 372, half - 20, 382], [half + 20, 372, width - 26, 382]];
  const [legs, actions] = [RANGES.H, RANGES.A].map((x, i) => plane({ x, y: [0, 1], box: boxes[i] }));
  return { height: boxes[1][3] + 30, chart, legs, actions };
}

const log = (value) => Math.log10(value);
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (exponent) => [...String(exponent)].map((digit) => SUPERSCRIPTS[digit]).join("");

/** A number as 1.2·10³. */
function power(value) {
  const exponent = Math.floor(log(value) + 1e-12);
  return `${decimals(value / 10 ** exponent, 1)}·10${raised(exponent)}`;
}

const HALO = { stroke: color.paper, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };
const THIN = { stroke: color.quiet, "stroke-width": 1 };

function track({ at, box: [left, , right, low] }, ticks) {
  return line([[left, low], [right, low]], THIN) +
    ticks.map((tick) => text([at([tick, 0])[0], low + 27], tick, { "font-size": 13 })).join("");
}

function draw(state, { chart, legs, actions }) {
  const { at, box: [left, top, right, low] } = chart;
  const grid = Array.from({ length: 77 }, (_, i) => 2 * 20 ** (i / 76));
  const curve = (name) => grid.map((S) => at([Math.log(S), log(counts({ ...state, S })[name].value)]));
  const here = counts(state);
  const x = at([Math.log(state.S), 0])[0];
  const parts = [
    line([[left, top], [left, low], [right, low]], THIN),
    ...[2, 5, 10, 20, 40].map((S) => text([at([Math.log(S), 0])[0], low + 28], S, { "font-size": 13 })),
    ...[2, 6, 10, 14].map((exponent) => text([left - 7, at([0, exponent])[1] + 5], `10${raised(exponent)}`, { "font-size": 13, "text-anchor": "end" })),
    text([(left + right) / 2, low + 50], "states |S|"),
    text([left + 8, top + 8], "multiplications", { "text-anchor": "start" }),
    line([[x, top], [x, low]], { ...THIN, "stroke-dasharray": "2 4" }),
  ];
  let above = low;
  for (const [name, look] of [...WAYS].reverse()) {
    const run = curve(name);
    const end = run.at(-1)[1];
    above = Math.min(end + 5, above - 17);
    parts.push(
      line(run, { "stroke-width": 2.4, ...look }),
      dots([at([Math.log(state.S), log(here[name].value)])], 4, { stroke: look.stroke }),
      text([right + 8, above], name, { ...HALO, fill: look.stroke, "text-anchor": "start" }),
    );
  }
  parts.push(track(legs, [2, 10, 20, 30]), track(actions, [1, 4, 7, 10]));
  return parts.join("");
}

const whole = (name, value, state) => ({ ...state, [name]: clamp(Math.round(value), ...RANGES[name]) });

const onTrack = (name, means, letter, which) => ({
  name: means,
  letter,
  color: color.baseline,
  range: RANGES[name],
  number: (state) => state[name],
  value: (state) => `${letter} = ${state[name]}`,
  place: (state, layout) => layout[which].at([state[name], 0]),
  drag: (place, state, layout) => whole(name, layout[which].back(place)[0], state),
  step: ([dx, dy], size, state) => whole(name, state[name] + Math.sign(dx + dy) * Math.max(1, Math.round(size / 2)), state),
});

export default figure({
  plan,
  draw,
  words(state) {
    const { dense, blocks, "rank three": three } = counts(state);
    const slopes = [dense, blocks, three].map(({ slope }) => decimals(slope, 1));
    return `${state.H} steps, ${state.A} ${state.A > 1 ? "actions" : "action"}, ${state.S} states. A dense factorization ` +
      `takes ${power(dense.value)} multiplications, block by block ${power(blocks.value)}, with rank three ` +
      `${power(three.value)}: ${three.value < blocks.value ? "fewer" : "more"} than the blocks. The slopes are ` +
      `${slopes.join(", ")}.`;
  },
  readout: (state) =>
    WAYS.map(([name]) => {
      const { value, slope } = counts(state)[name];
      return [name, `${power(value)}</b>, slope <b>${decimals(slope, 1)}`];
    }),
  handles: () => [
    {
      name: "S, number of states",
      letter: "S",
      range: RANGES.S,
      number: ({ S }) => S,
      value: ({ S }) => `|S| = ${S}`,
      place: ({ S }, { chart }) => chart.at([Math.log(S), LOW]),
      drag: (place, state, { chart }) => whole("S", Math.exp(chart.back(place)[0]), state),
      step: ([dx, dy], size, state) => whole("S", state.S + Math.sign(dx + dy) * Math.max(1, Math.round(size)), state),
    },
    onTrack("H", "H, number of steps", "H", "legs"),
    onTrack("A", "A, number of actions", "A", "actions"),
  ],
});
