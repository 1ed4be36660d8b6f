/* The landing page: drag a price, and every total stays explained; with enough nights, every policy's cost does.
 *
 * A price list is here the mean price of each choice (leg, place, action), averaged over where it leads.
 *
 * data.choices   [h, s, a]
 * data.weights   how often each policy makes each choice; prices that are wrong say dot(weights, prices)
 * data.true      what each policy costs
 * data.totals    the meter, night by night
 * data.nights    how many of them may be driven
 * data.least, data.most   for each of these and each choice: a list that explains the totals and has that
 *                price as low, or as high, as any such list
 * data.lists     for each of these: [name, list], lists to start from
 * data.names     { states, actions }
 */
import { axes, circle, clamp, color, decimals, dot, dots, figure, line, plane, polygon, rect, text } from "./drag.js";

const said = (weights, prices) => weights.map((policy) => dot(policy, prices));

/** The number of the least entry; entries closer than a billionth are equal, and the first one counts. */
function leastOf(values) {
  const rounded = values.map((value) => Math.round(value * 1e9));
  return rounded.indexOf(Math.min(...rounded));
}

/** From a list that explains the totals toward one that does, until a price is what is wanted, or all the way. */
function pull(prices, choice, wanted, least, most) {
  const goal = wanted < prices[choice] ? least[choice] : most[choice];
  const gap = goal[choice] - prices[choice];
  const share = Math.abs(gap) < 1e-12 ? 0 : clamp((wanted - prices[choice]) / gap, 0, 1);
  return prices.map((price, i) => price + share * (goal[i] - price));
}

export const room = [449, 867];

export const maths = { said, leastOf, pull };

function plan(width) {
  const narrow = width < 520;
  const names = narrow ? 104 : 116; // the room for "old town, keep"
  const pitch = narrow ? Math.floor((width - names) / 3) : 84;
  const rows = { left: names, top: 134, pitch, tall: 38, track: pitch - 32 };
  const below = rows.top + 6 * rows.tall;
  const box = narrow ? [52, below + 44, width - 12, below + 44 + Math.min(250, width - 64)] : [434, 126, width - 10, 330];
  return { height: narrow ? box[3] + 48 : 382, meter: [8, 30, width - 8, 74], rows, box };
}

// ------------------------------------------------------------------------------------------- the meter

const night = ({ meter }, data, count) => meter[0] + ((meter[2] - meter[0]) * count) / data.totals.length;

function drawMeter({ nights }, layout, data) {
  const { meter } = layout;
  const count = data.nights[nights];
  const wide = (meter[2] - meter[0]) / data.totals.length;
  const bars = data.totals.slice(0, count).map((total, i) => {
    const tall = ((meter[3] - meter[1]) * total) / 3;
    return rect([night(layout, data, i), meter[3] - tall, Math.max(0.7 * wide, 1), tall], { fill: color.loss });
  });
  return [
    text([meter[0], 18], `The meter, ${count === 1 ? "one night" : `${count} nights`}`, { "text-anchor": "start", "font-weight": 650 }),
    line([[meter[0], meter[3]], [meter[2], meter[3]]], { stroke: color.quiet, "stroke-width": 1 }),
    ...bars,
  ].join("");
}

// ------------------------------------------------------------------------------------------ the prices

function track({ rows }, [h, s, a], names) {
  const left = rows.left + rows.pitch * h + 16;
  const y = rows.top + rows.tall * (s * names.actions.length + a) + 24;
  return { at: (price) => [left + rows.track * price, y], back: ([x]) => (x - left) / rows.track };
}

function drawPrices({ nights, prices }, layout, { choices, least, most, names }) {
  const { rows } = layout;
  const parts = [text([8, rows.top - 18], "Prices", { "text-anchor": "start", "font-weight": 650 })];
  for (const h of [0, 1, 2]) {
    parts.push(text([rows.left + rows.pitch * h + 16 + rows.track / 2, rows.top - 18], `leg ${h + 1}`, { "font-size": 13 }));
  }
  names.states.forEach((state, s) => names.actions.forEach((action, a) => {
    const y = rows.top + rows.tall * (s * names.actions.length + a) + 28;
    parts.push(text([rows.left - 4, y], `${state}, ${action}`, { "text-anchor": "end", "font-size": 13 }));
  }));
  choices.forEach((choice, k) => {
    const { at } = track(layout, choice, names);
    const [low, high] = [least[nights][k][k], most[nights][k][k]];
    const round = { "stroke-linecap": "round" };
    parts.push(line([at(0), at(1)], { stroke: color.faint, "stroke-width": 3, ...round }));
    parts.push(line([at(low), at(high)], { stroke: color.region, "stroke-width": 9, "stroke-opacity": 0.6, ...round }));
    const [x, y] = at(prices[k]);
    parts.push(text([x, y - 11], decimals(prices[k], 2), { "font-size": 12 }));
  });
  return parts.join("");
}

// ---------------------------------------------------------------------------------------- the policies

const SPAN = { x: [0.8, 2.3], y: [0, 3] };

function drawPolicies({ prices }, { box }, data) {
  const view = plane({ ...SPAN, box });
  const costs = said(data.weights, prices);
  const points = data.true.map((cost, i) => view.at([cost, costs[i]]));
  const [best, chosen] = [points[leastOf(data.true)], points[leastOf(costs)]];
  const diamond = ([x, y], size) => polygon([[x - size, y], [x, y - size], [x + size, y], [x, y + size]], { fill: color.best });
  const ring = (place) => circle(place, 9, { fill: "none", stroke: color.learner, "stroke-width": 2.6 });
  const legend = [[box[0] + 16, box[1] + 4], [box[0] + 16, box[1] + 24]];
  return [
    axes(view, { x: [1, 1.5, 2], y: [0, 1, 2, 3], across: "what it costs", up: "what these prices say" }),
    text([box[0], box[1] - 14], `All ${points.length} policies`, { "text-anchor": "start", "font-weight": 650 }),
    line([view.at([SPAN.x[0], SPAN.x[0]]), view.at([SPAN.x[1], SPAN.x[1]])], { stroke: color.baseline, "stroke-width": 1 }),
    dots(points, 1.8),
    diamond(best, 7),
    ring(chosen),
    diamond(legend[0], 6),
    text([legend[0][0] + 14, legend[0][1] + 5], "the best one", { "text-anchor": "start", "font-size": 13 }),
    circle(legend[1], 7, { fill: "none", stroke: color.learner, "stroke-width": 2.4 }),
    text([legend[1][0] + 14, legend[1][1] + 5], "best by these prices", { "text-anchor": "start", "font-size": 13 }),
  ].join("");
}

// ------------------------------------------------------------------------------------------- the whole

function verdict({ prices }, data) {
  const costs = said(data.weights, prices);
  return {
    wrong: Math.max(...costs.map((cost, i) => Math.abs(cost - data.true[i]))),
    chosen: data.true[leastOf(costs)],
    best: Math.min(...data.true),
  };
}

const start = (nights, data, number = 0) => ({ nights, prices: data.lists[nights][number][1] });

function words(state, data) {
  const { wrong, chosen, best } = verdict(state, data);
  const count = data.nights[state.nights];
  return `Prices that explain ${count === 1 ? "the total of one night" : `the totals of ${count} nights`}. They misjudge a ` +
    `policy by at most ${decimals(wrong, 2)}. The policy that is best by them costs ${decimals(chosen, 2)} a night; ` +
    `the best one costs ${decimals(best, 2)}.`;
}

const nightsHandle = (data) => ({
  name: "nights driven",
  color: color.loss,
  range: [data.nights[0], data.nights.at(-1)],
  number: ({ nights }) => data.nights[nights],
  value: ({ nights }) => `${data.nights[nights]} nights`,
  place: ({ nights }, layout) => [night(layout, data, data.nights[nights]), layout.meter[3]],
  drag([x], state, layout) {
    const far = data.nights.map((count) => Math.abs(night(layout, data, count) - x));
    const nights = far.indexOf(Math.min(...far));
    return nights === state.nights ? state : start(nights, data);
  },
  step([dx, dy], size, { nights }) {
    return start(clamp(nights + Math.sign(dx + dy), 0, data.nights.length - 1), data);
  },
});

function priceHandle(choice, k, data) {
  const { names, least, most } = data;
  const [h, s, a] = choice;
  const to = ({ nights, prices }, wanted) => ({ nights, prices: pull(prices, k, wanted, least[nights], most[nights]) });
  return {
    name: `price of leg ${h + 1}, ${names.states[s]}, ${names.actions[a]}`,
    small: true,
    color: color.estimate,
    range: [0, 1],
    number: ({ prices }) => clamp(prices[k], 0, 1),
    value: ({ nights, prices }) =>
      `${decimals(prices[k], 2)}, possible ${decimals(least[nights][k][k], 2)} to ${decimals(most[nights][k][k], 2)}`,
    place: ({ prices }, layout) => track(layout, choice, names).at(prices[k]),
    drag: (place, state, layout) => to(state, track(layout, choice, names).back(place)),
    step: ([dx, dy], size, state) => to(state, state.prices[k] + 0.05 * size * (dx + dy)),
  };
}

export default figure({
  plan,
  draw: (state, layout, data) =>
    drawMeter(state, layout, data) + drawPrices(state, layout, data) + drawPolicies(state, layout, data),
  words,
  readout(state, data) {
    const { wrong, chosen, best } = verdict(state, data);
    return [
      ["misjudged by at most", decimals(wrong, 2)],
      ["best by these prices costs", decimals(chosen, 2)],
      ["the best one", decimals(best, 2)],
    ];
  },
  buttons: (data) => data.lists[0].map(([name], number) => [name, ({ nights }) => start(nights, data, number)]),
  handles: (data) => [nightsHandle(data), ...data.choices.map((choice, k) => priceHandle(choice, k, data))],
});
