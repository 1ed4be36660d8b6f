/* The log barrier of a polygon {x : A x <= b}, and what follows from it: `walls` is { A, b }, points are [x, y]. */
import { dot, plus } from "./drag.js";

export const slacks = ({ A, b }, x) => A.map((wall, i) => b[i] - dot(wall, x));

export const inside = (walls, x) => slacks(walls, x).every((slack) => slack > 0);

export const value = (walls, x) => -slacks(walls, x).reduce((sum, slack) => sum + Math.log(slack), 0);

export const gradient = (walls, x) =>
  slacks(walls, x).reduce((sum, slack, i) => plus(sum, walls.A[i], 1 / slack), [0, 0]);

export function hessian(walls, x) {
  const sum = [[0, 0], [0, 0]];
  slacks(walls, x).forEach((slack, i) => {
    for (const r of [0, 1]) for (const c of [0, 1]) sum[r][c] += (walls.A[i][r] * walls.A[i][c]) / slack ** 2;
  });
  return sum;
}

/** R(y) - R(x) - gradient(x)·(y - x), the Bregman divergence of the barrier. */
export const bregman = (walls, y, x) =>
  value(walls, y) - value(walls, x) - dot(gradient(walls, x), plus(y, x, -1));

export function solve([[a, b], [c, d]], [p, q]) {
  const determinant = a * d - b * c;
  return [(d * p - b * q) / determinant, (a * q - c * p) / determinant];
}

export const norm = (matrix, v) => Math.sqrt(dot(v, matrix.map((row) => dot(row, v))));

/** Points of {y : ‖y - center‖ = radius in the norm of a positive matrix}, closed. */
export function ellipse(center, [[a, b], [, d]], radius = 1, count = 96) {
  const [first, below] = [Math.sqrt(a), b / Math.sqrt(a)]; // Cholesky
  const second = Math.sqrt(d - below * below);
  return Array.from({ length: count + 1 }, (_, i) => {
    const [u, v] = [Math.cos((2 * Math.PI * i) / count), Math.sin((2 * Math.PI * i) / count)];
    const y = v / second;
    return plus(center, [(u - below * y) / first, y], radius);
  });
}

/** argmin of R(x) + linear·x from a point inside, by damped Newton steps. */
export function minimize(walls, linear, start) {
  let x = start;
  for (let round = 0; round < 200; round += 1) {
    const [slope, curve] = [plus(gradient(walls, x), linear), hessian(walls, x)];
    const step = solve(curve, slope);
    const decrement = Math.sqrt(Math.max(dot(slope, step), 0));
    x = plus(x, step, -1 / (decrement > 0.25 ? 1 + decrement : 1));
    if (decrement < 1e-13) break;
  }
  return x;
}

/** How many times `way` fits between x and the wall that it meets first; infinite if it meets none. */
export const reach = (walls, x, way) =>
  slacks(walls, x).reduce((least, slack, i) => {
    const toward = dot(walls.A[i], way);
    return toward > 0 ? Math.min(least, slack / toward) : least;
  }, Infinity);
