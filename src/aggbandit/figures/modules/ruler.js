/* Chapter 3: a point is dragged through a field. Its Dikin ellipse and the sets of small divergence around it are
 * seen once more through a glass that magnifies them as they shrink, and the divergence along the way as a curve.
 *
 * data.walls    { A, b }
 * data.corners  of that polygon, one after the other
 * data.center   its analytic center
 * data.goals    [[name, point on the edge], ...]: where the buttons lead
 * data.levels   the divergences whose sets are drawn, and data.named, what they are called
 *
 * The state says where the point is from the center: in which direction, and how much of the way to the edge.
 */
import { axes, circle, clamp, clip, color, decimals, dot, dots, figure, line, plane, plus, polygon, rect, text } from "./drag.js";
import { ellipse, hessian, norm, reach, slacks } from "./barrier.js";

const NEAREST = 0.9999; // of the way; what is nearer to the edge is put on it

const heading = (angle) => [Math.cos(angle), Math.sin(angle)];

/** Where the point is. */
const point = ({ walls, center }, { angle, share }) =>
  plus(center, heading(angle), share * reach(walls, center, heading(angle)));

/** The state of a point; one on the edge for a point that is no longer inside. */
function locate({ walls, center }, at) {
  const from = plus(at, center, -1);
  const angle = Math.atan2(from[1], from[0]);
  const share = Math.hypot(...from) / reach(walls, center, heading(angle));
  return { angle, share: share > NEAREST ? 1 : share };
}

/** The longer and the shorter half axis of the ellipse. The determinant as a sum of squares, one for each two walls,
 *  since near a wall the usual difference loses its digits. */
function halfAxes(walls, x) {
  const [[a, b], [, d]] = hessian(walls, x);
  const most = (a + d) / 2 + Math.hypot((a - d) / 2, b);
  const rows = slacks(walls, x).map((slack, i) => walls.A[i].map((v) => v / slack));
  const crossed = rows.flatMap(([p, q], i) => rows.slice(i + 1).map(([u, v]) => (p * v - q * u) ** 2));
  const determinant = crossed.reduce((sum, square) => sum + square, 0);
  return [Math.sqrt(most / determinant), 1 / Math.sqrt(most)];
}

const rho = (z) => z - Math.log1p(z);

/** The share of its slack that each wall reports of a step. */
const reports = (walls, x, step) => slacks(walls, x).map((slack, i) => dot(walls.A[i], step) / slack);

/** The divergence of x + t·step from x, by the reports of the step. */
const walked = (told, t) => told.reduce((sum, r) => sum + rho(-t * r), 0);

/** How many times a step must be made until the divergence is as large as `level`: by halving, then by Newton's
 *  steps, which come from the right and stay there, since the divergence is convex along a line. */
function crossing(told, level) {
  let [low, high] = [0, 1 / Math.max(...told)];
  for (let round = 0; round < 10; round += 1) {
    const middle = (low + high) / 2;
    if (walked(told, middle) < level) low = middle;
    else high = middle;
  }
  for (let round = 0; round < 5; round += 1) {
    high -= (walked(told, high) - level) / told.reduce((sum, r) => sum + (r * r * high) / (1 - high * r), 0);
  }
  return high;
}

/** Points of {y : divergence of y from x = level}, one in each direction that an ellipse gives. */
const levelSet = (walls, x, level, count = 120) =>
  ellipse([0, 0], hessian(walls, x), 1, count).map((way) => plus(x, way, crossing(reports(walls, x, way), level)));

/** The walls that are met on the line through x along `way`, in local distance: [behind, ahead]. */
function edges(walls, x, way) {
  const told = reports(walls, x, way);
  const length = norm(hessian(walls, x), way);
  return [length / Math.min(...told), length / Math.max(...told)];
}

export const room = [659, 632];

export const maths = { crossing, edges, halfAxes, levelSet, locate, point, reports, walked };

// -------------------------------------------------------------------------------------------- layout

const REACH = [-6, 3]; // local distances of the curve
const HIGH = 5; // and the largest divergence

function plan(width, { corners }) {
  const narrow = width < 520;
  const side = narrow ? 14 : 18;
  const [xs, ys] = [0, 1].map((i) => corners.map((corner) => corner[i]));
  const [x, y] = [xs, ys].map((values) => [Math.min(...values), Math.max(...values)]);
  const unit = (width - 2 * side) / (x[1] - x[0]);
  const foot = side + unit * (y[1] - y[0]);
  const field = plane({ x, y, box: [side, side, width - side, foot] });
  const glass = [2, foot + 26, width - 2, foot + (narrow ? 162 : 176)];
  const top = glass[3] + 42;
  const curve = plane({ x: REACH, y: [0, HIGH], box: [44, top, width - 12, top + 140] });
  return { height: curve.box[3] + 44, narrow, field, unit, glass, curve };
}

/** The part of the plane that the glass shows: the outermost set, or what the field shows if that is less. */
function magnify(outer, { unit, glass: [left, top, right, bottom] }) {
  const [xs, ys] = [0, 1].map((i) => outer.map((at) => at[i]));
  const ends = [xs, ys].map((values) => [Math.min(...values), Math.max(...values)]);
  const size = [right - left, bottom - top];
  const fits = ends.map(([low, high], i) => (size[i] - 56) / (high - low));
  const scale = Math.max(Math.min(...fits), unit);
  const [x, y] = ends.map(([low, high], i) => [-1, 1].map((way) => (low + high) / 2 + (way * size[i]) / (2 * scale)));
  return { ...plane({ x, y, box: [left, top, right, bottom] }), scale, times: scale / unit };
}

// ------------------------------------------------------------------------------------------- drawing

const DOTTED = { stroke: color.baseline, "stroke-width": 1.6, "stroke-dasharray": "2 4" };
const HALO = { stroke: color.paper, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };
const BALL = { fill: color.region, "fill-opacity": 0.45, stroke: color.learner, "stroke-width": 1.8 };

/** All that is drawn around a point that is inside. */
function around(state, layout, data) {
  const { walls, levels } = data;
  const x = point(data, state);
  const sets = levels.map((level) => levelSet(walls, x, level));
  const way = heading(state.angle);
  const curve = hessian(walls, x);
  const unit = way.map((v) => v / norm(curve, way));
  return { x, sets, unit, ball: ellipse(x, curve), view: magnify(sets.at(-1), layout) };
}

const outlines = ({ sets, ball }, at, width) => [
  ...sets.map((set) => polygon(set.map(at), { fill: "none", stroke: color.bound, "stroke-width": width })),
  polygon(ball.map(at), BALL),
];

function drawField(state, { field, glass, width }, data, seen) {
  const { at } = field;
  const parts = [
    line([at(data.center), at(point(data, { ...state, share: 1 }))], DOTTED),
    dots([at(data.center)], 2.5, { stroke: color.baseline }),
  ];
  if (seen) parts.push(...outlines(seen, at, 1));
  parts.push(polygon(data.corners.map(at), { fill: "none", stroke: color.wall, "stroke-width": 2.4 }));
  if (seen && seen.view.times > 1.5) {
    const { back, box } = seen.view;
    const [[left, top], [end, bottom]] = [at(back([box[0], box[1]])), at(back([box[2], box[3]]))];
    const right = Math.min(end, width - 2);
    const thin = { stroke: color.quiet, "stroke-width": 1 };
    parts.push(rect([left, top, right - left, bottom - top], { fill: "none", ...thin }));
    parts.push(line([[left, bottom], [glass[0], glass[1]]], thin), line([[right, bottom], [glass[2], glass[1]]], thin));
  }
  return parts.join("");
}

/** The names of the sets, where there is most room between them. */
function names(sets, at, [left, top, right, bottom], { named }) {
  const [inner, outer] = [sets.at(-2), sets.at(-1)].map((set) => set.map(at));
  const gaps = outer.map((place, i) => Math.hypot(...plus(place, inner[i], -1)));
  const i = gaps.indexOf(Math.max(...gaps));
  const ahead = plus(outer[i], inner[i], -1).map((v) => (13 * v) / gaps[i]);
  return sets.map((set, k) => {
    const [x, y] = plus(at(set[i]), ahead);
    const place = [clamp(x, left + 12, right - 12), clamp(y, top + 12, bottom - 12) + 5];
    return text(place, named[k], { ...HALO, fill: color.bound, "font-weight": 700 });
  }).join("");
}

function drawGlass({ glass }, data, seen) {
  const [left, top, right, bottom] = glass;
  const frame = rect([left, top, right - left, bottom - top], { fill: "none", stroke: color.quiet, "stroke-width": 1, rx: 4 });
  if (!seen) {
    const words = "On the edge a slack is 0: R is infinite,\nand there is no ruler to measure with.";
    return frame + text([(left + right) / 2, (top + bottom) / 2 - 4], words);
  }
  const { x, sets, unit, view } = seen;
  const { at, scale, times } = view;
  const [, ahead] = edges(data.walls, x, unit);
  const far = (2 * (right - left)) / (scale * Math.hypot(...unit)); // past the frame
  const crossed = data.levels.flatMap((level) =>
    [1, -1].map((way) => plus(x, unit, way * crossing(reports(data.walls, x, unit.map((v) => way * v)), level))));
  const shapes = [
    polygon(data.corners.map(at), { fill: "none", stroke: color.wall, "stroke-width": 2.4 }),
    line([plus(x, unit, -far), plus(x, unit, Math.min(far, ahead))].map(at), DOTTED),
    ...outlines(seen, at, 1.4),
    dots(crossed.map(at), 3, { stroke: color.bound }),
    dots([at(x)], 4, { stroke: color.learner }),
    names(sets, at, glass, data),
    text([right - 8, top + 18], `magnified ${magnified(times)}`, { ...HALO, "text-anchor": "end", "font-size": 13 }),
  ];
  return clip(glass, shapes.join("")) + frame;
}

const magnified = (times) => `${decimals(times, times < 10 ? 1 : 0)} times`;

/** Numbers from one end to the other, closer together at the ends, where curves are steep. */
const spread = (from, to, count = 160) =>
  Array.from({ length: count + 1 }, (_, i) => (from + to) / 2 - ((to - from) / 2) * Math.cos((Math.PI * i) / count));

function drawCurve({ curve, narrow }, data, seen) {
  const { at, box } = curve;
  const inner = spread(-0.999, 0.999).map((d) => at([d, rho(-Math.abs(d))]));
  const lower = [-6, -5, -4, -3, -2].concat(spread(-1.5, 1.5, 40), [2, 3]).map((d) => at([d, rho(Math.abs(d))]));
  const [dashed, dotted] = ["7 4", "2 4"].map((dash) => ({ stroke: color.bound, "stroke-width": 2, "stroke-dasharray": dash }));
  const [a, b] = [at([-1, HIGH]), at([1, 0])];
  const shapes = [rect([a[0], a[1], b[0] - a[0], b[1] - a[1]], { fill: color.region, "fill-opacity": 0.25 })];
  for (const level of data.levels) shapes.push(line([at([REACH[0], level]), at([REACH[1], level])], { stroke: color.faint, "stroke-width": 1 }));
  shapes.push(line(lower, dashed), line(inner, dotted));
  const marks = [];
  if (seen) {
    const told = reports(data.walls, seen.x, seen.unit);
    const ends = edges(data.walls, seen.x, seen.unit);
    const [from, to] = [Math.max(REACH[0], ends[0] * (1 - 1e-7)), Math.min(REACH[1], ends[1] * (1 - 1e-7))];
    for (const wall of ends) shapes.push(line([at([wall, 0]), at([wall, HIGH])], { stroke: color.wall, "stroke-width": 2.4 }));
    shapes.push(line(spread(from, to).map((d) => at([d, Math.min(walked(told, d), 2 * HIGH)])), { "stroke-width": 2.4 }));
    const crossed = data.levels.flatMap((level) =>
      [1, -1].map((way) => at([way * crossing(told.map((r) => way * r), level), level])));
    shapes.push(dots(crossed, 3, { stroke: color.bound }));
    const [x, y] = at([-5.85, 0.5]);
    marks.push(text([x, y + 3], `edge ahead at ${decimals(ends[1], 2)}`, { ...HALO, fill: color.wall, "text-anchor": "start", "font-size": 13 }));
  }
  marks.push(dots([at([0, 0])], 4, { stroke: color.learner }));
  const key = [["divergence", { "stroke-width": 2.4 }], ["lower: ρ(r)", dashed], ["upper: ρ(−r)", dotted]];
  const first = narrow ? 2 : box[0];
  key.forEach(([words, look], i) => {
    const [x, y] = [first + (narrow ? 112 : 128) * i, box[1] - 14];
    marks.push(line([[x, y], [x + 22, y]], look), text([x + 28, y + 5], narrow ? words.split(": ").at(-1) : words, { "text-anchor": "start", "font-size": 13 }));
  });
  const up = [...data.levels.map((level, k) => [level, data.named[k]]), HIGH];
  const across = narrow ? "local distance from x, onward +" : "local distance from x, backward (−) and onward (+)";
  return clip(box, shapes.join("")) + axes(curve, { x: [-6, -4, -2, 0, 2], y: up, across }) + marks.join("");
}

const draw = (state, layout, data) => {
  const seen = state.share < 1 ? around(state, layout, data) : null;
  return drawField(state, layout, data, seen) + drawGlass(layout, data, seen) + drawCurve(layout, data, seen);
};

// --------------------------------------------------------------------------------------------- words

const gone = (share) => `${decimals(100 * share, share < 0.99 ? 1 : 2)} %`;
const short = (value) => value.toPrecision(2);

function measured(state, data) {
  const x = point(data, state);
  const axis = halfAxes(data.walls, x);
  const ratio = axis[0] / axis[1];
  const [, ahead] = edges(data.walls, x, heading(state.angle));
  return { axis: axis.map(short), ratio: decimals(ratio, ratio < 100 ? 1 : 0), ahead: decimals(ahead, 2) };
}

function words(state, data) {
  if (state.share === 1) return "x has reached the edge: a slack is 0, R is infinite, and there is no ellipse.";
  const { axis, ratio, ahead } = measured(state, data);
  return `x has gone ${gone(state.share)} of the way from the center to the edge. Its ellipse has half axes ${axis[0]} and ` +
    `${axis[1]}, ratio ${ratio}. The edge ahead is at local distance ${ahead}.`;
}

function readout(state, data) {
  const { axis, ratio, ahead } = state.share < 1 ? measured(state, data) : { axis: ["–"], ratio: "–", ahead: "–" };
  return [["share", gone(state.share)], ["half axes", axis.join(" and ")], ["ratio", ratio], ["edge ahead at", ahead]];
}

export default figure({
  plan,
  draw,
  words,
  readout,
  buttons: ({ goals, center }) => goals.map(([name, goal]) => [
    name,
    () => ({ angle: Math.atan2(goal[1] - center[1], goal[0] - center[0]), share: 0.99 }),
  ]),
  // Of what is left of the way, a tenth at a time.
  play: {
    next: ({ angle, share }) => (share >= NEAREST ? null : { angle, share: Math.min(1 - 0.9 * (1 - share), NEAREST) }),
    every: 120,
  },
  handles: (data) => [
    {
      name: "x, a point of the field",
      small: true,
      range: [0, 1],
      number: ({ share }) => share,
      value: (state) => {
        const [x, y] = point(data, state).map((v) => decimals(v, 3));
        return `x = (${x}, ${y}), ${gone(state.share)} of the way to the edge`;
      },
      place: (state, { field }) => field.at(point(data, state)),
      drag: (place, state, { field }) => locate(data, field.back(place)),
      // A step of local length 1/4: it stays inside wherever it is made.
      step([dx, dy], size, state) {
        const x = point(data, state);
        const length = state.share < 1 ? 0.25 / norm(hessian(data.walls, x), [dx, dy]) : 0.05;
        return locate(data, plus(x, [dx, dy], size * length));
      },
    },
  ],
});
