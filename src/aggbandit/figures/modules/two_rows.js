/* Chapter 9: a believed and a true row, dragged in one ball around the counted one; below, how far apart they are.
 *
 * The state is { w, plan, truth }, a radius and two distributions over three places.
 *
 * data.counted  the middle of the ball
 * data.names    of the places: the left corner, the top, the right corner
 */
import { axes, clamp, color, decimals, figure, line, plane, plus, polygon, rect, text } from "./drag.js";
import { nearestIn } from "./convex.js";

const HIGH = Math.sqrt(0.75); // of a triangle with sides of length 1
const CORNERS = [[0, 0], [0.5, HIGH], [1, 0]];
const RADII = [0.2, 2];
const TINY = 1e-9;

/** The distance ‖p − q‖₁. */
const apart = (p, q) => p.reduce((sum, share, i) => sum + Math.abs(share - q[i]), 0);

const flat = (p) => [0, 1].map((axis) => CORNERS.reduce((sum, corner, i) => sum + p[i] * corner[axis], 0));

function shares([x, y]) {
  const top = y / HIGH;
  return [1 - x - top / 2, top, x - top / 2];
}

/** The part of a convex polygon where side · p[i] <= offset. */
function cut(corners, i, side, offset) {
  return corners.flatMap((p, k) => {
    const q = corners[(k + 1) % corners.length];
    const [a, b] = [side * p[i] - offset, side * q[i] - offset];
    return [...(a <= 0 ? [p] : []), ...(a * b < 0 ? [plus(p, plus(q, p, -1), a / (a - b))] : [])];
  });
}

/** The corners of {p : ‖p − middle‖₁ <= w}, in order: where no share moves by more than w/2. */
function ball(middle, w) {
  let corners = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  for (const i of [0, 1, 2]) for (const side of [1, -1]) corners = cut(corners, i, side, side * middle[i] + w / 2);
  return corners;
}

/** The row of the ball that is nearest to a place in the plane of the triangle. */
const nearest = (middle, w, place) => shares(nearestIn(ball(middle, w).map(flat), place));

/** A row, pulled towards the middle until it is in the ball. */
const pulled = (middle, w, p) => plus(middle, plus(p, middle, -1), Math.min(1, w / (apart(p, middle) || 1)));

/** The row of the ball that is farthest from another. */
function farthest(middle, w, p) {
  const corners = ball(middle, w);
  const far = corners.map((q) => apart(p, q));
  return corners[far.indexOf(Math.max(...far))];
}

export const room = [486, 481];

export const maths = { apart, ball, farthest, nearest, pulled };

function plan(width) {
  const side = Math.min(width - 80, 330);
  const [left, foot] = [(width - side) / 2, 30 + side * HIGH];
  const triangle = plane({ x: [0, 1], y: [0, HIGH], box: [left, 30, left + side, foot] });
  const bars = plane({ x: [0, 2], y: [0, 1], box: [24, foot + 62, width - 24, foot + 92] });
  return { height: foot + 134, triangle, bars };
}

const DASHED = { stroke: color.learner, "stroke-width": 1.8, "stroke-dasharray": "6 4" };

function draw({ w, plan: believed, truth }, { triangle, bars }, { counted, names }) {
  const at = (p) => triangle.at(flat(p));
  const [left, top, right] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(at);
  const [x, y] = at(counted);
  const corners = ball(counted, w);
  const most = Math.min(2, 2 * w);
  const [from, , , low] = bars.box;
  const mark = (value, stroke) => line([bars.at([value, 1.35]), bars.at([value, 0])], { stroke, "stroke-width": 2.4 });
  return [
    polygon(corners.map(at), { fill: color.region, "fill-opacity": 0.4 }),
    polygon([left, top, right], { fill: "none", stroke: color.ink, "stroke-width": 1.4 }),
    corners.length > 3 ? polygon(corners.map(at), { fill: "none", stroke: color.wall, "stroke-width": 2.2 }) : "",
    polygon(ball(believed, w).map(at), { fill: "none", ...DASHED }),
    line([at(believed), at(truth)], { stroke: color.learner, "stroke-width": 3 }),
    polygon([[x, y - 8], [x + 8, y], [x, y + 8], [x - 8, y]], { fill: color.estimate }),
    text([left[0], left[1] + 20], names[0]),
    text([top[0], top[1] - 10], names[1]),
    text([right[0], right[1] + 20], names[2]),
    rect([from, low - 22, bars.at([apart(believed, truth), 0])[0] - from, 22], { fill: color.learner, "fill-opacity": 0.75 }),
    mark(w, color.wall),
    mark(most, color.bound),
    text([bars.at([most, 0])[0], bars.at([0, 1.35])[1] - 6], 2 * w < 2 ? "2w" : "2", { fill: color.bound }),
    axes(bars, { x: [0, 0.5, 1, 1.5, 2], across: "how far apart the two rows are" }),
  ].join("");
}

const row = (p) => `(${p.map((share) => decimals(share, 2)).join(", ")})`;

/** Where a row is in the ball. */
function standing(p, { counted }, w) {
  if (apart(p, counted) > w - TINY) return "on the edge of the ball";
  return Math.min(...p) < TINY ? "on the edge of the triangle" : "in the ball";
}

function words({ w, plan: believed, truth }, data) {
  const gap = apart(believed, truth);
  return `Radius w = ${decimals(w, 2)}, shares of ${data.names.join(", ")}. The plan believes ${row(believed)}, ` +
    `${standing(believed, data, w)}; the truth is ${row(truth)}, ${standing(truth, data, w)}. They are ` +
    `${decimals(gap, 2)} apart, ${gap > w + TINY ? "more than w" : "within w"}; two rows of a ball can be ` +
    `${decimals(Math.min(2, 2 * w), 2)} apart.`;
}

/** A handle of one of the two rows. */
const grip = (which, name, letter, shade, { counted }) => ({
  name,
  letter,
  color: shade,
  range: [0, 1],
  number: (state) => clamp(state[which][1], 0, 1),
  value: (state) => row(state[which]),
  place: (state, { triangle }) => triangle.at(flat(state[which])),
  drag: (place, state, { triangle }) => ({ ...state, [which]: nearest(counted, state.w, triangle.back(place)) }),
  step: (way, size, state) => ({ ...state, [which]: nearest(counted, state.w, plus(flat(state[which]), way, 0.02 * size)) }),
});

const widened = ({ plan: believed, truth }, value, { counted }) => {
  const w = clamp(value, ...RADII);
  return { w, plan: pulled(counted, w, believed), truth: pulled(counted, w, truth) };
};

export default figure({
  plan,
  draw,
  words,
  readout: ({ w, plan: believed, truth }, { counted }) => [
    ["apart", decimals(apart(believed, truth), 2)],
    ["<i>w</i>", decimals(w, 2)],
    ["<i>P</i> from counted", decimals(apart(truth, counted), 2)],
  ],
  buttons: ({ counted }) => [
    ["farthest truth", (state) => ({ ...state, truth: farthest(counted, state.w, state.plan) })],
  ],
  handles: (data) => [
    grip("truth", "P, the true row", "P", color.ink, data),
    grip("plan", "P̃, the row that the plan believes", "P̃", color.learner, data),
    {
      name: "w, radius of the ball",
      letter: "w",
      color: color.wall,
      range: RADII,
      number: ({ w }) => w,
      value: ({ w }) => `w = ${decimals(w, 2)}`,
      place: ({ w }, { bars }) => plus(bars.at([w, 1.35]), [0, -8]),
      drag: (place, state, { bars }) => widened(state, bars.back(place)[0], data),
      step: ([dx, dy], size, state) => widened(state, state.w + 0.05 * size * (dx + dy), data),
    },
  ],
});
