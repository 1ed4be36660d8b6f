/* Chapter 4: a vector is guessed from one number. While the direction runs round its circle, the guess runs round
 * another, whose center is the vector.
 *
 * The state is the direction, in degrees, and the vector: { angle, loss: [x, y] }.
 */
import { arrow, circle, clamp, color, decimals, dot, dots, figure, line, plane, plus, rect, text } from "./drag.js";

const LONGEST = 1; // the vector, so that all guesses are seen

const heading = (angle) => [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
const degrees = (angle) => ((angle % 360) + 360) % 360;

/** The foot of the perpendicular from the vector to the line of the direction: what the answer tells. */
const foot = ({ angle, loss }) => heading(angle).map((v) => dot(loss, heading(angle)) * v);

/** Twice that: right on average. */
const guess = (state) => foot(state).map((v) => 2 * v);

const off = (state) => Math.hypot(...plus(guess(state), state.loss, -1));

export const room = [470, 463];

export const maths = { foot, guess, off };

function plan(width) {
  const unit = Math.min(width / 4.3, 100);
  const high = unit * 4.3;
  return { height: high, view: plane({ x: [-width / unit / 2, width / unit / 2], y: [-2.15, 2.15], box: [0, 0, width, high] }), unit };
}

/** A vector that is not longer than allowed. */
function shortened(loss) {
  const length = Math.hypot(...loss);
  return length > LONGEST ? loss.map((v) => (LONGEST * v) / length) : loss;
}

function draw(state, { view, unit }) {
  const { at } = view;
  const { angle, loss } = state;
  const [u, base, end] = [heading(angle), foot(state), guess(state)];
  const length = Math.hypot(...loss);
  const ray = { stroke: color.quiet, "stroke-width": 1 };
  const aside = plus(base, loss, -1).map((v) => v / (Math.hypot(...plus(base, loss, -1)) || 1));
  const ahead = base.map((v) => v / (Math.hypot(...base) || 1));
  const side = Math.min(0.1, Math.hypot(...plus(base, loss, -1)) / 2, Math.hypot(...base) / 2);
  const right = [plus(base, ahead, -side), plus(plus(base, ahead, -side), aside, -side), plus(base, aside, -side)];
  const [x, y] = at(end);
  const label = at(plus(end, plus(end, loss, -1).map((v) => v / (off(state) || 1)), 0.27));
  return [
    circle(at([0, 0]), unit, { fill: "none", stroke: color.quiet, "stroke-width": 1.5 }),
    circle(at(loss), unit * length, { fill: "none", stroke: color.estimate, "stroke-width": 2, "stroke-dasharray": "7 5" }),
    circle(at(loss.map((v) => v / 2)), (unit * length) / 2, { fill: "none", stroke: color.loss, "stroke-width": 1.4, "stroke-dasharray": "2 4" }),
    line([at(u.map((v) => -2.1 * v)), at(u.map((v) => 2.1 * v))], ray),
    line([at(loss), at(base)], { stroke: color.loss, "stroke-width": 1.6 }),
    line(right.map(at), { stroke: color.loss, "stroke-width": 1.2 }),
    line([at([0, 0]), at(end)], { stroke: color.estimate, "stroke-width": 3 }),
    arrow(at([0, 0]), at(plus(loss, loss, -0.12 / Math.max(length, 0.13))), { stroke: color.loss, "stroke-width": 3 }),
    dots([at([0, 0])], 3),
    dots([at(base)], 4, { stroke: color.loss }),
    rect([x - 7, y - 7, 14, 14], { fill: color.estimate, stroke: color.paper, "stroke-width": 1.5 }),
    text([clamp(label[0], 24, view.box[2] - 24), clamp(label[1] + 5, 16, view.box[3] - 6)], "guess", { fill: color.estimate }),
  ].join("");
}

const pair = (v) => `(${v.map((value) => decimals(value, 2)).join(", ")})`;
const answer = ({ angle, loss }) => decimals(dot(loss, heading(angle)), 2);

export default figure({
  plan,
  draw,
  words: (state) =>
    `The direction points to ${decimals(state.angle, 0)}°; the answer is ${answer(state)}. The guess ` +
    `${pair(guess(state))} is off by ${decimals(off(state), 2)}, as far as the vector ${pair(state.loss)} is long.`,
  readout: (state) => [
    ["<i>u</i> at", `${decimals(state.angle, 0)}°`],
    ["<i>ℓ</i>·<i>u</i>", answer(state)],
    ["guess", pair(guess(state))],
    ["off by", decimals(off(state), 2)],
    ...(Math.hypot(...state.loss) > LONGEST - 1e-9 ? [["|<i>ℓ</i>|", "1, the most here"]] : []),
  ],
  // Once round.
  play: { next: ({ angle, loss }) => (angle >= 355 ? null : { angle: Math.min(angle + 3, 357), loss }), every: 60 },
  handles: () => [
    {
      name: "u, the direction that is asked",
      letter: "u",
      range: [0, 360],
      number: ({ angle }) => angle,
      value: ({ angle }) => `u at ${decimals(angle, 0)}°`,
      place: ({ angle }, { view }) => view.at(heading(angle)),
      drag(place, { loss }, { view }) {
        const [x, y] = view.back(place);
        return { angle: degrees((Math.atan2(y, x) * 180) / Math.PI), loss };
      },
      step: ([dx, dy], size, { angle, loss }) => ({ angle: degrees(angle + 5 * size * (dx + dy)), loss }),
    },
    {
      name: "ℓ, the vector that is looked for",
      letter: "ℓ",
      color: color.loss,
      range: [-LONGEST, LONGEST],
      number: ({ loss }) => loss[0],
      value: ({ loss }) => `ℓ = ${pair(loss)}`,
      place: ({ loss }, { view }) => view.at(loss),
      drag: (place, { angle }, { view }) => ({ angle, loss: shortened(view.back(place)) }),
      step: ([dx, dy], size, { angle, loss }) => ({ angle, loss: shortened(plus(loss, [dx, dy], 0.05 * size)) }),
    },
  ],
});
