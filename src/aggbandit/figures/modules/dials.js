/* Chapter 2: two probabilities of a policy are one point in a square, and the crowd flows accordingly.
 *
 * data.P, data.loss    dynamics and losses [h][s][a][s']
 * data.policy          what is done elsewhere [h][s][a]
 * data.dials           the places [h, s] where p and q are the probabilities of the second action
 * data.names           { states, actions }
 */
import { axes, circle, clamp, clip, color, decimals, figure, line, path, plane, rect, text } from "./drag.js";
import { crowd, occupancy, total } from "./city.js";

function policy(data, { p, q }) {
  const pi = data.policy.map((leg) => leg.map((row) => [...row]));
  [p, q].forEach((turn, i) => {
    const [h, s] = data.dials[i];
    pi[h][s] = [1 - turn, turn];
  });
  return pi;
}

const flow = (data, state) => occupancy(data.P, policy(data, state));

const cost = (data, state) => total(flow(data, state), data.loss);

/** The total is a + b p + c q + d p q. */
function coefficients(data) {
  const [a, right, up, both] = [[0, 0], [1, 0], [0, 1], [1, 1]].map(([p, q]) => cost(data, { p, q }));
  return [a, right - a, up - a, both - right - up + a];
}

/** Where in the square the total is `level`: points [p, q] from left to right. */
function levelLine([a, b, c, d], level) {
  return Array.from({ length: 61 }, (_, i) => i / 60).map((p) => [p, (level - a - b * p) / (c + d * p)]);
}

export const room = [432, 733];

export const maths = { flow, cost, coefficients, levelLine };

const EVERY = 0.1; // from level to level

function plan(width) {
  const narrow = width < 520;
  const side = narrow ? Math.min(240, width - 120) : 176;
  const [left, top] = narrow ? [(width - side) / 2 + 10, 30] : [40, 84];
  const first = narrow ? 84 : 322;
  return {
    height: narrow ? side + 420 : 392,
    box: [left, top, left + side, top + side],
    first, // where the first bar of the flow stands
    step: (width - first - 20) / 3,
    top: narrow ? side + 156 : 104, // the middle of its first place
    gap: narrow ? 98 : 110,
    full: narrow ? 84 : 96, // the height of mass one
  };
}

const square = ({ box }) => plane({ x: [0, 1], y: [0, 1], box });

function drawSquare({ p, q }, layout, data) {
  const view = square(layout);
  const { at, box } = view;
  const all = coefficients(data);
  const corners = [[0, 0], [1, 0], [0, 1], [1, 1]].map(([x, y]) => all[0] + all[1] * x + all[2] * y + all[3] * x * y);
  const levels = [];
  for (let k = Math.ceil(Math.min(...corners) / EVERY); k * EVERY < Math.max(...corners); k += 1) {
    levels.push(line(levelLine(all, k * EVERY).map(at), { stroke: color.loss, "stroke-width": 1.2, "stroke-opacity": 0.8 }));
  }
  const [x, y] = at([p, q]);
  const thin = { stroke: color.learner, "stroke-width": 1, "stroke-dasharray": "3 3" };
  return [
    rect([box[0], box[1], box[2] - box[0], box[3] - box[1]], { fill: "none", stroke: color.quiet, "stroke-width": 1 }),
    clip(box, levels.join("")),
    line([[box[0], y], [x, y], [x, box[3]]], thin),
    axes(view, { x: [0, [0.5, ""], 1], y: [0, 1] }),
    text([(box[0] + box[2]) / 2, box[3] + 20], "p", { "font-style": "italic", "font-size": 16 }),
    text([box[0] - 14, (box[1] + box[3]) / 2 + 5], "q", { "font-style": "italic", "font-size": 16 }),
    text([(box[0] + box[2]) / 2, box[1] - 10], "lines of equal total", { fill: color.loss, "font-size": 13 }),
  ].join("");
}

const look = (pale) => ({ fill: color.learner, stroke: color.learner, "fill-opacity": pale ? 0.25 : 1, "stroke-opacity": pale ? 1 : 0 });

function drawFlow(state, { first, step, top, gap, full, width, height }, data) {
  const x = flow(data, state);
  const [legs, half] = [x.length, 7];
  const middle = (s) => top + gap * s;
  const parts = [];
  const mass = Array.from({ length: legs + 1 }, (_, h) => crowd(x, h));
  x.forEach((leg, h) => {
    // What leaves a place is stacked by action, what arrives by where it came from.
    const leaving = mass[h].map((m, s) => middle(s) - (full * m) / 2);
    const arriving = mass[h + 1].map((m, s) => middle(s) - (full * m) / 2);
    const [left, right] = [first + step * h + half, first + step * (h + 1) - half];
    const bend = (left + right) / 2;
    leg.forEach((rows, s) => rows.forEach((row, a) => row.forEach((share, t) => {
      const wide = full * share;
      if (share > 1e-9) {
        const [y, z] = [leaving[s], arriving[t]];
        const points = [left, y, bend, y, bend, z, right, z, z + wide, bend, z + wide, bend, y + wide, left, y + wide];
        const n = points.map((value) => Math.round(10 * value) / 10);
        const d = `M${n[0]} ${n[1]}C${n.slice(2, 8).join(" ")}V${n[8]}C${n.slice(9).join(" ")}Z`;
        parts.push(path(d, look(a > 0)));
      }
      leaving[s] += wide;
      arriving[t] += wide;
    })));
  });
  mass.forEach((shares, h) => shares.forEach((share, s) => {
    if (share < 1e-9) return;
    const tall = full * share;
    parts.push(rect([first + step * h - half, middle(s) - tall / 2, 2 * half, tall], { fill: color.ink }));
    parts.push(text([first + step * h, middle(s) - tall / 2 - 5], decimals(share, 2), { "font-size": 13 }));
  }));
  data.dials.forEach(([h, s], i) => {
    const at = [first + step * h, middle(s)];
    parts.push(circle(at, 11, { fill: color.paper, stroke: color.ink, "stroke-width": 1.5 }));
    parts.push(text([at[0], at[1] + 5], "pq"[i], { "font-style": "italic", "font-size": 15 }));
  });
  data.names.states.forEach((name, s) => {
    const words = name.split(" ");
    const below = middle(s) + 5 - 9 * (words.length - 1);
    const lines = words.map((word, i) => text([first - 18, below + 18 * i], word, { "text-anchor": "end" }));
    parts.push(lines.join(""));
  });
  for (let h = 0; h < legs; h += 1) {
    parts.push(text([first + step * (h + 0.5), height - 8], `leg ${h + 1}`));
  }
  data.names.actions.forEach((name, a) => {
    const at = [width - 92 * (data.names.actions.length - a), top - full / 2 - 40];
    parts.push(rect([at[0], at[1] - 11, 26, 12], look(a > 0)));
    parts.push(text([at[0] + 33, at[1]], `“${name}”`, { "text-anchor": "start" }));
  });
  return parts.join("");
}

const inside = ({ p, q }) => ({ p: clamp(p, 0, 1), q: clamp(q, 0, 1) });

export default figure({
  plan,
  draw: (state, layout, data) => drawSquare(state, layout, data) + drawFlow(state, layout, data),
  words(state, data) {
    const [riverside, town, ring] = crowd(flow(data, state), 1).map((share) => decimals(share, 2));
    return `p = ${decimals(state.p, 2)}, q = ${decimals(state.q, 2)}. On leg 2 the shares at riverside, in the old town and on ` +
      `the ring road are ${riverside}, ${town} and ${ring}. Expected total ${decimals(cost(data, state), 3)}.`;
  },
  readout: (state, data) => [
    ["<i>p</i>", decimals(state.p, 2)],
    ["<i>q</i>", decimals(state.q, 2)],
    ["expected total", decimals(cost(data, state), 3)],
  ],
  handles: () => [
    {
      name: "p and q, probabilities of turning on leg 1 and in the old town on leg 2",
      range: [0, 1],
      number: ({ p }) => p,
      value: ({ p, q }) => `p = ${decimals(p, 2)}, q = ${decimals(q, 2)}`,
      place: ({ p, q }, layout) => square(layout).at([p, q]),
      drag(place, state, layout) {
        const [p, q] = square(layout).back(place);
        return inside({ p, q });
      },
      step: ([dx, dy], size, { p, q }) => inside({ p: p + 0.05 * size * dx, q: q + 0.05 * size * dy }),
    },
  ],
});
