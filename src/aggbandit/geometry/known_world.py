"""The occupancy measures of a world whose dynamics are known: their coordinates and their polytope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_kind,
    check_shape,
    real_array,
    reduce_frozen,
)
from aggbandit.geometry.polytope import Polytope
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["OccupancyCoordinates", "known_occupancy_polytope", "occupancy_coordinates"]


@dataclass(frozen=True, eq=False)
class OccupancyCoordinates:
    """The coordinates x(h,s,a) of a known world that can have mass, and the way to tables and back.

    Made by `occupancy_coordinates`.

    Attributes:
        mdp: the world.
        cells: (D, 3) the triples (h, s, a) in order: all actions at every state that can be
            reached at step h.
    """

    mdp: FiniteHorizonMDP
    cells: IntArray
    __reduce__ = reduce_frozen

    def to_table(self, x: npt.ArrayLike) -> FloatArray:
        """The occupancy table of a point, `x[h,s,a,s'] = x(h,s,a) P(s'|s,a,h)`.

        Args:
            x: (D,) the point.

        Returns:
            (H, S, A, S) the table.

        Raises:
            ValueError: if x has another shape.
        """
        x = real_array("x", x)
        check_shape("x", x, (len(self.cells),), "(D,)")
        table = np.zeros_like(self.mdp.transitions)
        h, s, a = self.cells.T
        table[h, s, a] = x[:, None] * self.mdp.transitions[h, s, a]
        return table

    def from_table(self, table: npt.ArrayLike) -> FloatArray:
        """The point of an occupancy table, `x(h,s,a) = sum_s' table[h,s,a,s']`.

        Args:
            table: (H, S, A, S) the table.

        Returns:
            (D,) the point.

        Raises:
            ValueError: if the table has another shape.
        """
        table = real_array("table", table)
        check_shape("table", table, self.mdp.transitions.shape, "(H, S, A, S)")
        h, s, a = self.cells.T
        point: FloatArray = table[h, s, a].sum(axis=1)
        return point

    def loss_vector(self, loss: npt.ArrayLike) -> FloatArray:
        """The vector l with l·x the expected loss, `l(h,s,a) = sum_s' P(s'|s,a,h) loss[h,s,a,s']`.

        Args:
            loss: (H, S, A, S) the losses, or a table that `losses.spread` takes.

        Returns:
            (D,) the vector.

        Raises:
            ValueError: if the loss has another shape, or an entry is not finite.
        """
        return self.from_table(self.mdp.check_loss(loss) * self.mdp.transitions)


def occupancy_coordinates(mdp: FiniteHorizonMDP) -> OccupancyCoordinates:
    """The coordinates of `known_occupancy_polytope(mdp)`.

    A coordinate that is zero on the whole set is none: there the log barrier would be infinite everywhere.

    Args:
        mdp: the known world.

    Raises:
        TypeError: for anything else than an MDP.
    """
    check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
    cells = [(h, s, a) for h, s in np.argwhere(mdp.reachable) for a in range(mdp.n_actions)]
    return OccupancyCoordinates(mdp, np.array(cells, dtype=np.int64))


def known_occupancy_polytope(mdp: FiniteHorizonMDP) -> Polytope:
    """The occupancy measures of a world whose dynamics are known, in the coordinates x(h,s,a).

    x >= 0; the actions at the start share mass one; at every later (h, s) that can be reached, the actions
    share the mass that flows in::

        sum_a x(h,s,a) = sum_{s'',a} x(h-1,s'',a) P(s|s'',a,h-1)

    The coordinates are those of `occupancy_coordinates(mdp)`, whose methods lead to tables [h,s,a,s'] and
    back. With H steps, R reachable pairs (h,s) and A actions: D = R A, n = R (A - 1), theta = R A.

    Args:
        mdp: the known world.

    Raises:
        TypeError: for anything else than an MDP.
        ValueError: if there is a single action: the set is then one point; and if a state can be reached, but
            with probability below about 1e-10 only: the set is then flat in double precision (put exact zeros
            where transitions are impossible).

    Source:
        Section 2 (occupancy measures), Eq. (omset), for fixed dynamics.

    Example:
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> ways = ab.known_occupancy_polytope(world.mdp)
        >>> ways.ambient_dimension, ways.dimension
        (14, 7)
        >>> loss = ab.occupancy_coordinates(world.mdp).loss_vector(world.loss)
        >>> best = loss @ ways.minimize(loss)
        >>> bool(abs(best - world.mdp.best_policy(world.loss)[1]) < 1e-9)
        True
    """
    check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
    if mdp.n_actions == 1:
        raise ValueError(
            "the set is flat: with a single action there is one policy and one occupancy measure"
        )
    flow, start = flow_equations(mdp)
    return Polytope(-np.eye(flow.shape[1]), np.zeros(flow.shape[1]), flow, start)


def flow_equations(mdp: FiniteHorizonMDP) -> tuple[FloatArray, FloatArray]:
    """The equations of `known_occupancy_polytope(mdp)`: what leaves a state is what arrives there.

    Args:
        mdp: the known world.

    Returns:
        (R, D) one row for every (h, s) that can be reached, and (R,) their right-hand sides.
    """
    cells = occupancy_coordinates(mdp).cells
    states = np.argwhere(mdp.reachable)
    flow = np.zeros((len(states), len(cells)))
    for i, (h, s) in enumerate(states):
        flow[i, (cells[:, 0] == h) & (cells[:, 1] == s)] = 1.0
        before = cells[:, 0] == h - 1
        flow[i, before] = -mdp.transitions[h - 1, cells[before, 1], cells[before, 2], s]
    start = np.zeros(len(states))
    start[0] = 1.0
    return flow, start


def is_known_occupancy_polytope(body: Polytope, mdp: FiniteHorizonMDP) -> bool:
    """Is the set `known_occupancy_polytope(mdp)`, by the same inequalities and equations?

    Args:
        body: the set.
        mdp: the known world.

    Returns:
        Whether it is, to the last bit.
    """
    flow, start = flow_equations(mdp)
    size = flow.shape[1]
    return (
        np.array_equal(body.A, -np.eye(size))
        and not body.b.any()
        and np.array_equal(body.C, flow)
        and np.array_equal(body.d, start)
    )
