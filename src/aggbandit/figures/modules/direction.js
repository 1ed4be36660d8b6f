/* Chapter 2: a linear loss is a direction; turn it, and the best corner jumps.
 *
 * data.corners   what each deterministic policy pays under two losses
 * data.edge      the corners of their convex hull, by number, counterclockwise
 * data.actions   what each of those policies does at each of data.cells, places [h, s]
 * data.names     { tables, states, actions }
 */
import { arrow, axes, circle, clip, color, decimals, dot, dots, figure, line, plane, plus, polygon, rect, text } from "./drag.js";

const degrees = (angle) => ((angle % 360) + 360) % 360;
const heading = (theta) => [Math.cos((theta * Math.PI) / 180), Math.sin((theta * Math.PI) / 180)];
const angle = ([x, y]) => degrees((Math.atan2(y, x) * 180) / Math.PI);

/** The corner that pays least under cos(theta) times the first loss plus sin(theta) times the second. */
function best(corners, edge, theta) {
  const loss = heading(theta);
  return edge.reduce((least, corner) => (dot(corners[corner], loss) < dot(corners[least], loss) ? corner : least));
}

/** From which angle to which a corner of the edge stays the best: the inward normals of its two sides. */
function reign(corners, edge, corner) {
  const at = edge.indexOf(corner);
  const [before, after] = [edge.at(at - 1), edge[(at + 1) % edge.length]];
  const inward = ([x, y]) => [-y, x];
  const from = angle(inward(plus(corners[corner], corners[before], -1)));
  const to = angle(inward(plus(corners[after], corners[corner], -1)));
  return [from, from + degrees(to - from)];
}

const value = (corners, edge, theta) => dot(corners[best(corners, edge, theta)], heading(theta));

export const room = [424, 638];

export const maths = { best, reign, value };

const LOW = 0.66; // where the axes begin
const SPAN = 1.92; // and how far they run
const WHEEL = 0.86; // how far from the middle the loss turns

function plan(width) {
  const narrow = width < 520;
  const side = narrow ? width - 60 : Math.round(0.5 * width);
  const box = [50, 12, 50 + side, 12 + side];
  const table = narrow ? [(width - 256) / 2, side + 90] : [width - 246, 66];
  return { height: narrow ? side + 256 : 384, box, table };
}

const view = ({ box }) => plane({ x: [LOW, LOW + SPAN], y: [LOW, LOW + SPAN], box });

function middle(corners) {
  const [xs, ys] = [0, 1].map((i) => corners.map((corner) => corner[i]));
  return [xs, ys].map((values) => (Math.min(...values) + Math.max(...values)) / 2);
}

const onWheel = (corners, theta, radius = WHEEL) => plus(middle(corners), heading(theta), radius);

function arc(corners, from, to) {
  const steps = Math.max(2, Math.ceil((to - from) / 2));
  return Array.from({ length: steps + 1 }, (_, i) => onWheel(corners, from + ((to - from) * i) / steps));
}

/** The policy as a small table: a row a place, a column a step. */
function decisions([left, top], actions, { cells, names }) {
  const parts = [];
  const [wide, tall, across, down] = [50, 48, 55, 53];
  const at = left + 84;
  cells.forEach(([h, s], i) => {
    const later = actions[i] > 0;
    const [x, y] = [at + across * h, top + down * s];
    const look = { rx: 6, stroke: color.best, "stroke-width": 2, fill: later ? color.best : "none" };
    parts.push(rect([x, y, wide, tall], look));
    const words = { fill: later ? color.paper : color.ink, "font-weight": later ? 700 : 400 };
    parts.push(text([x + wide / 2, y + tall / 2 + 5], names.actions[actions[i]], words));
  });
  names.states.forEach((name, s) => {
    parts.push(text([at - 8, top + down * s + tall / 2 + 5], name, { "text-anchor": "end" }));
  });
  const legs = 1 + Math.max(...cells.map(([h]) => h));
  for (let h = 0; h < legs; h += 1) parts.push(text([at + across * h + wide / 2, top - 8], `leg ${h + 1}`, { "font-size": 13 }));
  return parts.join("");
}

function draw({ theta }, layout, data) {
  const { corners, edge, names } = data;
  const view_ = view(layout);
  const { at, box } = view_;
  const corner = best(corners, edge, theta);
  const place = corners[corner];
  const loss = heading(theta);
  const along = [-loss[1], loss[0]];
  const ticks = [1, 1.5, 2];
  const level = line([at(plus(place, along, 5)), at(plus(place, along, -5))], { stroke: color.loss, "stroke-width": 2.4, "stroke-dasharray": "9 6" });
  const center = middle(corners);
  const stays = arc(corners, ...reign(corners, edge, corner)).map(at);
  return [
    axes(view_, { x: ticks, y: ticks, across: `expected total, ${names.tables[0]}`, up: `expected total, ${names.tables[1]}` }),
    line(arc(corners, 0, 360).map(at), { stroke: color.baseline, "stroke-width": 1, "stroke-dasharray": "2 5" }),
    polygon(edge.map((i) => at(corners[i])), { fill: color.region, "fill-opacity": 0.3, stroke: color.wall, "stroke-width": 2 }),
    polygon([at(center), ...stays], { fill: color.best, "fill-opacity": 0.22 }),
    dots(corners.map(at), 2, { stroke: color.baseline }),
    clip(box, level),
    line(stays, { stroke: color.best, "stroke-width": 5 }),
    arrow(at(center), at(onWheel(corners, theta, WHEEL - 0.08)), { stroke: color.loss, "stroke-width": 4 }),
    circle(at(place), 8, { fill: color.best, stroke: color.paper, "stroke-width": 2 }),
    decisions(layout.table, data.actions[corner], data),
  ].join("");
}

function words({ theta }, { corners, edge, actions, cells, names }) {
  const corner = best(corners, edge, theta);
  const [first, second] = corners[corner].map((pay) => decimals(pay, 2));
  const does = cells.map(([h, s], i) => `leg ${h + 1}, ${names.states[s]}: ${names.actions[actions[corner][i]]}`);
  return `Loss direction ${decimals(theta, 1)}°. The best corner pays ${first} when ${names.tables[0]}, ` +
    `${second} in ${names.tables[1]}. ${does.join("; ")}.`;
}

export default figure({
  plan,
  draw,
  words,
  readout({ theta }, { corners, edge, names }) {
    const [first, second] = corners[best(corners, edge, theta)].map((pay) => decimals(pay, 2));
    return [
      ["<i>θ</i>", `${decimals(theta, 1)}°`],
      [`${names.tables[0]}`, first],
      [`${names.tables[1]}`, second],
      ["<i>x</i>·<i>ℓ</i><sub>θ</sub>", decimals(value(corners, edge, theta), 2)],
    ];
  },
  handles: ({ corners }) => [
    {
      name: "θ, direction of the loss",
      color: color.loss,
      range: [0, 360],
      number: ({ theta }) => Math.round(10 * theta) / 10,
      value: ({ theta }) => `θ = ${decimals(theta, 1)}°`,
      place: ({ theta }, layout) => view(layout).at(onWheel(corners, theta)),
      drag: (place, state, layout) => ({ theta: angle(plus(view(layout).back(place), middle(corners), -1)) }),
      step: ([dx, dy], size, { theta }) => ({ theta: degrees(theta + size * (dx + dy)) }),
    },
  ],
});
