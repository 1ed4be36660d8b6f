/* Convex polygons in the plane, as lists of their corners in order. */
import { clamp, dot, plus } from "./drag.js";

const edges = (corners) => corners.map((p, k) => [p, plus(corners[(k + 1) % corners.length], p, -1)]);

/** How far to the left of an edge a point is, times the edge's length. */
const left = ([p, way], point) => way[0] * (point[1] - p[1]) - way[1] * (point[0] - p[0]);

/** The point of a polygon that is nearest to another. */
export function nearestIn(corners, place) {
  const sides = edges(corners).map((edge) => left(edge, place));
  if (sides.every((side) => side >= 0) || sides.every((side) => side <= 0)) return place;
  const along = edges(corners).map(([p, way]) => plus(p, way, clamp(dot(plus(place, p, -1), way) / dot(way, way), 0, 1)));
  const off = along.map((p) => Math.hypot(...plus(p, place, -1)));
  return along[off.indexOf(Math.min(...off))];
}

/** What two polygons have in common; the corners of the second run counterclockwise. */
export const overlap = (shape, corners) =>
  edges(corners).reduce(
    (rest, edge) =>
      rest.flatMap((p, k) => {
        const q = rest[(k + 1) % rest.length];
        const [a, b] = [left(edge, p), left(edge, q)];
        return [...(a >= 0 ? [p] : []), ...(a * b < 0 ? [plus(p, plus(q, p, -1), a / (a - b))] : [])];
      }),
    shape,
  );
