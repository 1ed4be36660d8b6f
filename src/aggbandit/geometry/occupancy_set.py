"""The set S_i of plausible occupancy measures.

A learner that has counted transitions knows an empirical row P_hat[h,s,a] and a radius w[h,s,a] around it.
The occupancy measures that fit are (Eqs. (omnonnegative)-(omconcentration), the last one times x(h,s,a))

    x[h,s,a,s'] >= 0,   start and flow,   sum_s' |x[h,s,a,s'] - P_hat[h,s,a,s'] x(h,s,a)| <= w x(h,s,a).

A *cell* is a triple (h,s,a) that can have mass: at the first step only s = s_1. Coordinates of other cells
are zero on the whole set, so a barrier must not see them. The number of cells is A + (H-1) S A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import (
    OCCUPANCY_TOLERANCE,
    BoolArray,
    FloatArray,
    IntArray,
    check_shape,
    check_state,
    first,
    place,
    plain,
    probability_rows,
    read_only,
    real_array,
    reduce_frozen,
)
from aggbandit.mdp import FiniteHorizonMDP
from aggbandit.occupancy import check_occupancy

__all__ = ["OccupancySet"]


@dataclass(frozen=True, eq=False)
class OccupancySet:
    """The occupancy measures that agree with what has been counted.

    The set of one epoch::

        S_i = { x : x >= 0, start, flow, and for every (h,s,a)
                sum_s' |x[h,s,a,s'] - P_hat[h,s,a,s'] x(h,s,a)| <= radius[h,s,a] x(h,s,a) }

    Args:
        P_hat: (H, S, A, S) the empirical next-state distributions; a row of infinite radius is ignored.
        radius: (H, S, A) L1 radii, positive; infinite where nothing has been seen.
        initial_state: s_1, in 0..S-1.

    Raises:
        ValueError: for wrong shapes, a row of P_hat that is no distribution, a state that does not exist, or
            a radius that is NaN or not positive (the set would have no interior).

    Source:
        Section B, Eqs. (omnonnegative)-(omconcentration).

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.random_mdp(2, 2, 2, np.random.default_rng(0))
        >>> plausible = ab.OccupancySet(world.transitions, np.full((2, 2, 2), 0.3))
        >>> plausible.dimension
        9
        >>> plausible.contains(world.occupancy(ab.uniform_policy(world)))
        True
    """

    P_hat: FloatArray
    radius: FloatArray
    initial_state: int = 0
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        given = plain("P_hat", self.P_hat)  # its own type: rows in single precision are held to less
        shape = real_array("P_hat", given).shape
        if len(shape) != 4 or shape[1] != shape[3] or 0 in shape:
            raise ValueError(f"P_hat has shape {shape}; expected (H, S, A, S), each at least 1")
        radius = read_only(real_array("radius", self.radius))
        check_shape("radius", radius, shape[:3], "(H, S, A)")
        bad = ~(radius > 0)
        if bad.any():
            where = first(bad)
            raise ValueError(
                f"{place('radius', where)} is {radius[where]}; it must be positive (the set needs room)"
            )
        check_state("initial_state", self.initial_state, shape[1])
        P_hat = probability_rows("P_hat", np.where(np.isinf(radius)[..., None], 1.0 / shape[1], given))
        object.__setattr__(self, "P_hat", read_only(P_hat))
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "initial_state", int(self.initial_state))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of a point, (H, S, A, S)."""
        horizon, n_states, n_actions = self.radius.shape
        return (horizon, n_states, n_actions, n_states)

    @cached_property
    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """The triples (h, s, a) that can have mass, as an index: `x[body.cells]` has shape (cells, S).

        First (0, s_1, a) for every a, then (h, s, a) for h >= 1 in the order of the array.
        """
        horizon, n_states, n_actions, _ = self.shape
        present = np.ones((horizon, n_states, n_actions), dtype=np.bool_)
        present[0] = False
        present[0, self.initial_state] = True
        h, s, a = np.nonzero(present)
        return h, s, a

    @cached_property
    def constrained(self) -> BoolArray:
        """Whether the L1 constraint of a cell excludes anything, (H, S, A).

        It holds by itself when `radius >= 2 (1 - min P_hat)`, since no distribution is farther from P_hat
        than that. Then the constraint is left out: a barrier of it would move the center and shrink the
        ellipsoid for nothing.
        """
        return np.asarray(self.radius < 2.0 * (1.0 - self.P_hat.min(axis=-1)), dtype=np.bool_)

    @property
    def dimension(self) -> int:
        """The dimension n of the set, coordinates minus equations: (SA - 1) + (H - 1)(S² A - S)."""
        horizon, n_states, n_actions, _ = self.shape
        return (n_states * n_actions - 1) + (horizon - 1) * (n_states**2 * n_actions - n_states)

    def excess(self, x: ArrayLike) -> FloatArray:
        """How far each L1 constraint is violated, at most 0 inside.

        The excess of a cell::

            sum_s' |x[h,s,a,s'] - P_hat[h,s,a,s'] x(h,s,a)| - radius[h,s,a] x(h,s,a)

        Args:
            x: (H, S, A, S) a point.

        Returns:
            (H, S, A) the excess, -inf where the radius is infinite.

        Raises:
            ValueError: for a wrong shape.

        Source:
            Eq. (omconcentration).
        """
        table = real_array("x", x)
        check_shape("x", table, self.shape, "(H, S, A, S)")
        mass = table.sum(axis=-1)
        distance = np.abs(table - self.P_hat * mass[..., None]).sum(axis=-1)
        finite = np.isfinite(self.radius)
        return np.where(finite, distance - np.where(finite, self.radius, 0.0) * mass, -np.inf)

    def check(self, x: ArrayLike, tolerance: float = OCCUPANCY_TOLERANCE) -> None:
        """Refuses a point outside the set: which condition fails, where, and by how much.

        Args:
            x: (H, S, A, S) the point.
            tolerance: how far a condition may be off.

        Raises:
            ValueError: on the first of: shape, NaN, negative entry, start, flow, mass of a step, L1 radius.

        Source:
            Eqs. (omnonnegative)-(omconcentration).
        """
        table = real_array("x", x)
        check_shape("x", table, self.shape, "(H, S, A, S)")
        check_occupancy(table, self.initial_state, tolerance=tolerance)
        excess = self.excess(table)
        bad = excess > tolerance
        if bad.any():
            where = first(bad)
            # Without mass there is no distribution: what violates the radius are forgiven negative entries.
            mass = max(float(table[where].sum()), tolerance)
            distance = (float(excess[where]) + float(self.radius[where]) * mass) / mass
            raise ValueError(
                f"radius fails at {place('x', where)}: its next-state distribution is {distance:.6g} away "
                f"from P_hat in L1; {place('radius', where)} is {self.radius[where]:.6g}"
            )

    def contains(self, x: ArrayLike, tolerance: float = OCCUPANCY_TOLERANCE) -> bool:
        """Whether a point is in the set, up to `tolerance`; `check` says why not.

        Args:
            x: (H, S, A, S) the point.
            tolerance: how far a condition may be off.
        """
        try:
            self.check(x, tolerance)
        except ValueError:
            return False
        return True

    def interior_point(self) -> FloatArray:
        """A point where every inequality is strict: the uniform policy under softened empirical dynamics.

        The dynamics are `(1 - alpha) P_hat + alpha/S` with `alpha = radius/4` in a constrained cell (it moves
        P_hat by less than 2 alpha) and uniform elsewhere.

        Returns:
            (H, S, A, S) the point.
        """
        n_states, n_actions = self.shape[1], self.shape[2]
        alpha = np.where(self.constrained, np.minimum(self.radius, 2.0) / 4.0, 1.0)[..., None]
        dynamics = (1.0 - alpha) * self.P_hat + alpha / n_states
        uniform = np.full(self.radius.shape, 1.0 / n_actions)
        return FiniteHorizonMDP(dynamics, self.initial_state).occupancy(uniform)
