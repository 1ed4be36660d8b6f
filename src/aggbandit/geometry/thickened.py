"""Option 2: the set S_i given a little volume, so that Algorithm 2 can be run on it as it stands.

Every equation c·x = d of S_i becomes two inequalities |c·x - d| <= delta. (One barrier term for both,
-log(delta - |c·x - d|), as printed, is not smooth where c·x = d, which is where the learner starts; a term
for each side is.) The L1 constraints become 2^S - 2 inequalities a cell, one for every proper set T of next
states: 2 r(T) <= w x(h,s,a), since sum |r| = 2 max_T r(T) when sum r = 0. Dense, and meant for small worlds.

A point y of the thickened set is no occupancy measure. Its policy and its dynamics have one, y', which is in
S_i: the L1 constraints are about ratios, and have not been touched.

Source: Section D, Option 2, corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import FloatArray, check_shape, real_array
from aggbandit.geometry.occupancy_set import OccupancySet
from aggbandit.geometry.polytope import Polytope
from aggbandit.mdp import FiniteHorizonMDP
from aggbandit.occupancy import dynamics_of, policy_of

__all__ = ["ThickenedSet"]


@dataclass(frozen=True, eq=False)
class ThickenedSet:
    """S_i with every equation loosened to `|c·x - d| <= delta`: a full-dimensional polytope.

    The equations are those printed: mass one in every step, and the flow into every (h, s), h >= 2. A point
    is a vector of the coordinates that can have mass, (d,), d = S (A + (H - 1) S A). Its L1 norm can reach
    H (1 + delta), more than the H of the game.

    Args:
        body: the set S_i.
        delta: the half-width, in (0, 1); 1/poly(K) in the paper.

    Raises:
        ValueError: for a delta outside (0, 1).

    Source:
        Section D, Option 2.
    """

    body: OccupancySet
    delta: float

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta}; it must lie strictly between 0 and 1")

    @cached_property
    def polytope(self) -> Polytope:
        """The set as a polytope.

        `x >= 0`, `|C x - d| <= delta`, and `2 r(T) <= w X` for every constrained cell and proper set T of
        states.
        """
        C, d = self._equations()
        sides = np.vstack([-np.eye(C.shape[1]), C, -C, *self._l1_rows()])
        limits = np.zeros(len(sides))
        limits[C.shape[1] : C.shape[1] + 2 * len(C)] = np.concatenate([d, -d]) + self.delta
        return Polytope(sides, limits)

    def vector(self, table: ArrayLike) -> FloatArray:
        """The coordinates of a table, as a vector.

        Args:
            table: (H, S, A, S) the table.

        Returns:
            (d,) the vector.

        Raises:
            ValueError: for a wrong shape.
        """
        array = real_array("table", table)
        check_shape("table", array, self.body.shape, "(H, S, A, S)")
        return array[self.body.cells].ravel()

    def table(self, vector: ArrayLike) -> FloatArray:
        """The table of a vector, zero elsewhere.

        Args:
            vector: (d,) the vector.

        Returns:
            (H, S, A, S) the table.

        Raises:
            ValueError: for a wrong shape.
        """
        cells, n_states = self.body.cells, self.body.shape[1]
        array = real_array("vector", vector)
        check_shape("vector", array, (len(cells[0]) * n_states,), "(d,)")
        table = np.zeros(self.body.shape)
        table[cells] = array.reshape(-1, n_states)
        return table

    def project(self, y: ArrayLike) -> FloatArray:
        """The occupancy measure y' of the policy and the dynamics of y: in S_i, and what is played.

        It is not the nearest point, but near enough: `||y - y'||_1 <= displacement`.

        Args:
            y: (d,) a point of the thickened set.

        Returns:
            (H, S, A, S) the occupancy measure.

        Raises:
            ValueError: for a wrong shape or a negative entry.

        Source:
            Section D, Option 2, "its projection".
        """
        table = self.table(y)
        world = FiniteHorizonMDP(dynamics_of(table), self.body.initial_state)
        return world.occupancy(policy_of(table))

    @property
    def displacement(self) -> float:
        """How far y' can be from y in L1: `S delta H (H + 1)/2`.

        Each step adds at most S delta of wrong mass.
        """
        horizon, n_states, _, _ = self.body.shape
        return n_states * self.delta * horizon * (horizon + 1) / 2

    def epsilon(self, epsilon: FloatArray) -> FloatArray:
        """The perturbation that also pays for the displacement c: `eps + c (1 + max eps) / (H (1 - delta))`.

        With it the true occupancy measure z of the policy of y obeys `||y - z||_1 <= min(eps·y, eps·z)`: to
        `||y' - z||_1` add `||y - y'||_1 <= c` and `|eps·(y - y')| <= c max eps`, and divide by the least
        `||y||_1`, H (1 - delta).

        Args:
            epsilon: (H, S, A) that of S_i.

        Returns:
            (d,) as Algorithm 2 takes it.

        Raises:
            ValueError: for a wrong shape.

        Source:
            Section D, Option 2.
        """
        check_shape("epsilon", epsilon, self.body.shape[:3], "(H, S, A)")
        extra = self.displacement * (1 + epsilon.max()) / (self.body.shape[0] * (1 - self.delta))
        return np.repeat(epsilon[self.body.cells] + extra, self.body.shape[1])

    def _equations(self) -> tuple[FloatArray, FloatArray]:
        """C and d: mass one in every step, then what leaves (h, s) minus what arrives, for h >= 2."""
        horizon, n_states, _, _ = self.body.shape
        rows = []
        for h in range(horizon):
            row = np.zeros(self.body.shape)
            row[h] = 1
            rows.append(self.vector(row))
        for h in range(1, horizon):
            for s in range(n_states):
                row = np.zeros(self.body.shape)
                row[h, s] = 1
                row[h - 1, :, :, s] -= 1
                rows.append(self.vector(row))
        d = np.zeros(len(rows))
        d[:horizon] = 1
        return np.array(rows), d

    def _l1_rows(self) -> list[FloatArray]:
        """A row (2^S - 2, d) block for each constrained cell: 2 r(T) - w X, with r = x - P_hat X."""
        body, n_states = self.body, self.body.shape[1]
        sets = (np.arange(1, 2**n_states - 1)[:, None] >> np.arange(n_states)) & 1
        blocks = []
        for c, cell in enumerate(zip(*body.cells, strict=True)):
            if body.constrained[cell]:
                block = np.zeros((len(sets), len(body.cells[0]), n_states))
                block[:, c] = 2 * (sets - (sets @ body.P_hat[cell])[:, None]) - body.radius[cell]
                blocks.append(block.reshape(len(sets), -1))
        return blocks
