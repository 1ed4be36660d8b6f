/* Chapter 1: what one reading of the meter leaves possible, a slice of the cube of three losses.
 *
 * The state is { total }.
 *
 * data.view   (2, 3): a point of space is drawn at its product with this
 */
import { axes, circle, clamp, color, decimals, dot, figure, line, plane, polygon, text } from "./drag.js";

const NEAR = 1e-9; // two corners that are nearer than this are one
const ENDS = [0, 1].flatMap((a) => [0, 1].flatMap((b) => [0, 1].map((c) => [a, b, c])));

/** The corners of {ℓ in [0, 1]³ : ℓ₁ + ℓ₂ + ℓ₃ = total}, in order around. */
function slice(total) {
  const found = [0, 1, 2].flatMap((axis) =>
    ENDS.filter((end) => end[axis] === 0).flatMap((end) => {
      const rest = total - end[0] - end[1] - end[2];
      return rest >= 0 && rest <= 1 ? [end.map((loss, i) => (i === axis ? rest : loss))] : [];
    }),
  );
  const each = found.filter((p, k) => found.findIndex((q) => Math.max(...p.map((loss, i) => Math.abs(loss - q[i]))) < NEAR) === k);
  const angle = (p) => Math.atan2((p[0] + p[1] - 2 * p[2]) / Math.sqrt(6), (p[0] - p[1]) / Math.sqrt(2));
  return each.sort((p, q) => angle(p) - angle(q));
}

/** The least and the greatest that one of the three losses can be. */
const range = (total) => [Math.max(0, total - 2), Math.min(1, total)];

export const room = [384, 478];

export const maths = { range, slice };

function plan(width) {
  const narrow = width < 520;
  const unit = narrow ? 130 : 145;
  const foot = [narrow ? width / 2 - 0.21 * unit : 130, 34 + 0.92 * unit]; // where the cube's corner 0 is
  const low = foot[1] + 0.56 * unit;
  const bars = narrow
    ? { x: [64, width - 104], rows: [0, 1, 2].map((row) => low + 46 + 32 * row) }
    : { x: [350, width - 110], rows: [0, 1, 2].map((row) => foot[1] - 68 + 56 * row) };
  const bottom = (narrow ? bars.rows[2] : low) + 52;
  const dial = plane({ x: [0, 3], y: [0, 1], box: [24, bottom - 10, width - 24, bottom] });
  return { height: bottom + 46, unit, foot, bars, dial };
}

function draw({ total }, { unit, foot, bars, dial }, { view }) {
  const at = (p) => [foot[0] + unit * dot(view[0], p), foot[1] - unit * dot(view[1], p)];
  const edges = ENDS.flatMap((p) => [0, 1, 2].filter((axis) => p[axis] === 0).map((axis) => [p, p.map((v, i) => (i === axis ? 1 : v))]));
  const hidden = { stroke: color.baseline, "stroke-width": 1.3, "stroke-dasharray": "2 5" };
  const parts = edges.map(([p, q]) =>
    line([at(p), at(q)], p.some(Boolean) ? { stroke: color.baseline, "stroke-width": 1.8 } : hidden),
  );
  [[-16, 14], [16, 12], [0, -10]].forEach(([dx, dy], axis) => {
    const [x, y] = at([0, 1, 2].map((i) => Number(i === axis)));
    parts.push(text([x + dx, y + dy], `ℓ${"₁₂₃"[axis]}`, { "font-size": 17 }));
  });
  const corners = slice(total).map(at);
  parts.push(
    corners.length > 1
      ? polygon(corners, { fill: color.region, "fill-opacity": 0.5, stroke: color.learner, "stroke-width": 2.4, "stroke-linejoin": "round" })
      : circle(corners[0], 6, { fill: color.learner }),
  );
  const [low, high] = range(total);
  const [from, to] = bars.x;
  const along = (loss) => from + (to - from) * loss;
  parts.push(text([(from + to) / 2, bars.rows[0] - 22], "each loss alone"));
  bars.rows.forEach((y, leg) => {
    parts.push(
      text([from - 14, y + 5], `ℓ${"₁₂₃"[leg]}`, { "font-size": 17, "text-anchor": "end" }),
      line([[from, y], [to, y]], { stroke: color.faint, "stroke-width": 3 }),
      line([[along(low) - 3, y], [along(high) + 3, y]], { stroke: color.region, "stroke-width": 13 }),
      text([to + 14, y + 5], between(low, high), { "text-anchor": "start" }),
    );
  });
  const scale = { at: dial.at, box: [dial.box[0], dial.box[3], dial.box[2], dial.box[3]] };
  parts.push(axes(scale, { x: [0, 1, 2, 3], across: "the meter, L = ℓ₁ + ℓ₂ + ℓ₃" }));
  return parts.join("");
}

const between = (low, high) =>
  high - low > NEAR ? `${decimals(low, 2)} to ${decimals(high, 2)}` : decimals(low, 2);

const kind = (total) => ({ 1: "a single corner", 3: "a triangle", 6: "a hexagon" })[slice(total).length];

export default figure({
  plan,
  draw,
  words({ total }) {
    const [low, high] = range(total);
    const alone = high - low > NEAR ? `may be anything from ${between(low, high)}` : `is ${between(low, high)}`;
    return `The meter says ${decimals(total, 2)}. What is possible in the cube is ${kind(total)}. Each of the ` +
      `three losses, taken alone, ${alone}.`;
  },
  readout: ({ total }) => [
    ["<i>L</i>", decimals(total, 2)],
    ["the slice is", kind(total)],
  ],
  handles: () => [
    {
      name: "L, the reading of the meter",
      letter: "L",
      color: color.loss,
      range: [0, 3],
      number: ({ total }) => total,
      value: ({ total }) => `L = ${decimals(total, 2)}`,
      place: ({ total }, { dial }) => dial.at([total, 0]),
      drag: (place, state, { dial }) => ({ total: clamp(dial.back(place)[0], 0, 3) }),
      step: ([dx, dy], size, { total }) => ({ total: clamp(Math.round(100 * total + 10 * size * (dx + dy)) / 100, 0, 3) }),
    },
  ],
});
