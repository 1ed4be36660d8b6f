/* A known world: dynamics P[h][s][a][s'], start state 0, policies pi[h][s][a]. */

/** The occupancy measure x[h][s][a][s'] of a policy, leg by leg. */
export function occupancy(P, pi) {
  let share = P[0].map((_, s) => (s === 0 ? 1 : 0)); // who is where
  return P.map((leg, h) => {
    const x = leg.map((rows, s) => rows.map((row, a) => row.map((p) => share[s] * pi[h][s][a] * p)));
    share = share.map((_, t) => x.flat().reduce((sum, row) => sum + row[t], 0));
    return x;
  });
}

/** x·ℓ for two tables of one shape. */
export const total = (x, loss) =>
  Array.isArray(x) ? x.reduce((sum, part, i) => sum + total(part, loss[i]), 0) : x * loss;

/** Who is where on leg h, and for the last h at the end. */
export const crowd = (x, h) =>
  h < x.length
    ? x[h].map((rows) => rows.flat().reduce((sum, mass) => sum + mass, 0))
    : x[0].map((_, t) => x[h - 1].flat().reduce((sum, row) => sum + row[t], 0));
