r"""Minimization over occupancy measures through its dual: one potential a state.

A separable convex function of an occupancy measure, under the equations of flow, has a dual without
constraints. With a potential V_h(s) at every state, the entries of a cell (h, s, a) answer to one number::

    x(h,s,a) = V_h(s) - sum_s' p(s'|s,a,h) V_{h+1}(s'),

and the dual function is the sum of what the cells answer, less V_1(s_1). Its gradient is what flows out of a
state less what flows in; its Hessian couples a step to the next one only. So a Newton step is one banded
factorization, of cost H S³.

Outside the paper, whose learner stands behind a barrier.

Source:
    Zimin and Neu (2013), Section 3, for the dual of the entropy; Rosenberg and Mansour (2019) for sets of
    dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.linalg.lapack import dpbsv

from aggbandit._arrays import BoolArray, FloatArray, IntArray, reduce_frozen
from aggbandit.geometry import NoMinimizer
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["Cells", "Layers", "Minimum", "Reply", "minimize_over_potentials"]

# The last Newton step changes no entry by more than this, relatively; the next would by its square.
LAST_STEP = 1e-6
# No step changes an entry by more than this, relatively: a logarithm's domain ends at one.
LONGEST_STEP = 0.9
MOST_STEPS = 1_000
# A state through which less than this flows has no equation that double precision could see.
NO_MASS = 1e-280


@dataclass(frozen=True, eq=False)
class Layers:
    """The states of every step, numbered among those that can be met there.

    A world in which each step has states of its own, a grid say, has few of them at every step: W at most.

    Attributes:
        shape: (H, S, A, S).
        states: (H, W) which state has this number; 0 where there is none.
        met: (H, W) whether there is one.
    """

    shape: tuple[int, int, int, int]
    states: IntArray
    met: BoolArray
    __reduce__ = reduce_frozen

    @classmethod
    def of(cls, mdp: FiniteHorizonMDP) -> Layers:
        """Those of a known world.

        Args:
            mdp: the world.

        Returns:
            The layers.
        """
        reachable = mdp.reachable
        width = int(reachable.sum(axis=1).max())
        states = np.zeros((mdp.horizon, width), dtype=np.int64)
        met = np.zeros((mdp.horizon, width), dtype=np.bool_)
        for h, row in enumerate(reachable):
            here = np.flatnonzero(row)
            states[h, : len(here)], met[h, : len(here)] = here, True
        return cls(mdp.shape, states, met)

    def narrow(self, table: FloatArray) -> FloatArray:
        """A table by step and state, by number instead.

        Args:
            table: (H, S, ...) the table.

        Returns:
            (H, W, ...) its rows; what has no state shows that of state 0.
        """
        return np.asarray(table[np.arange(len(self.states))[:, None], self.states])

    def widen(self, table: FloatArray) -> FloatArray:
        """The inverse of `narrow`, zero where no state is met.

        Args:
            table: (H, W, ...) the table.

        Returns:
            (H, S, ...) the table by step and state.
        """
        wide = np.zeros((*self.shape[:2], *table.shape[2:]))
        steps, numbers = np.nonzero(self.met)
        wide[steps, self.states[steps, numbers]] = table[steps, numbers]
        return wide

    def rows(self, transitions: FloatArray) -> FloatArray:
        """The dynamics by number; nothing leads on from the last step.

        Args:
            transitions: (H, S, A, S) rows.

        Returns:
            (H, W, A, W) the rows.
        """
        rows = np.zeros((*self.states.shape, self.shape[2], self.states.shape[1]))
        narrow = self.narrow(transitions)
        for h in range(len(rows) - 1):
            rows[h] = narrow[h][:, :, self.states[h + 1]] * self.met[h + 1]
        return rows


class Reply(NamedTuple):
    """What the cells say to potentials.

    Attributes:
        value: the sum of the conjugates, convex in the potentials.
        mass: (H, W, A) its derivatives by x(h,s,a): what passes the cell.
        rows: (H, W, A, W) where it goes, p(s'|s,a,h).
        curvature: (H, W, A) the second derivatives by x(h,s,a).
        bend: (H, W, W) by next states, what the rows add to the Hessian as they turn; None if they stand.
    """

    value: float
    mass: FloatArray
    rows: FloatArray
    curvature: FloatArray
    bend: FloatArray | None


class Cells(Protocol):
    """A separable convex function of an occupancy measure, by its conjugate."""

    def answer(self, potential: FloatArray) -> Reply:
        """What the cells say to potentials.

        Args:
            potential: (H, W) V.

        Returns:
            The answer.
        """
        ...


class Minimum(NamedTuple):
    """Where the dual function is least, and so the primal one.

    Attributes:
        potential: (H, W) V; what the cells reply to it is the minimizer.
        steps: Newton steps taken.
        last: by what the last one changed an entry of the minimizer at most, relatively. What is left of the
            error is about its square.
    """

    potential: FloatArray
    steps: int
    last: float


def onward(potential: FloatArray) -> FloatArray:
    """V_{h+1} at step h, and zero after the last one.

    Args:
        potential: (H, W) V.

    Returns:
        (H, W) the potentials of the next step.
    """
    following = np.zeros_like(potential)
    following[:-1] = potential[1:]
    return following


def differences(potential: FloatArray, rows: FloatArray) -> FloatArray:
    """`x(h,s,a) = V_h(s) - sum_s' p(s'|s,a,h) V_{h+1}(s')`.

    Args:
        potential: (H, W) V.
        rows: (H, W, A, W) p.

    Returns:
        (H, W, A) x.
    """
    horizon, width, n_actions, _ = rows.shape
    flat = rows.reshape(horizon, width * n_actions, width)
    x = np.empty((horizon, width, n_actions))
    x[...] = potential[:, :, None]
    x[:-1] -= (flat[:-1] @ potential[1:, :, None]).reshape(horizon - 1, width, n_actions)
    return x


def minimize_over_potentials(cells: Cells, potential: FloatArray) -> Minimum:
    """The least value of the dual function, by Newton's method.

    The initial state has number 0 at step 0. A step is shortened until it changes no entry by more than nine
    tenths and lowers the dual function as it should.

    Args:
        cells: what is minimized.
        potential: (H, W) where to begin; the value there must be finite.

    Returns:
        The minimum.

    Raises:
        NoMinimizer: if double precision is not enough.
    """
    at, largest = cells.answer(potential), np.inf
    if not np.isfinite(at.value):
        raise NoMinimizer(f"the dual function is {at.value} at the start")
    band = _Band(at.rows.shape)
    for step in range(1, MOST_STEPS + 1):
        excess = _excess(at)
        direction = band.solve(at, -excess)
        change = np.abs(differences(direction, at.rows)) * at.curvature
        largest = float(np.divide(change, at.mass, out=np.zeros_like(change), where=at.mass > 0).max())
        if not np.isfinite(largest):
            break
        if largest <= LAST_STEP:
            return Minimum(potential + direction, step, largest)
        length = min(1.0, LONGEST_STEP / largest)
        slope, before = float((excess * direction).sum()), at.value - potential[0, 0]
        rounding = 1e-13 * (1 + abs(at.value) + abs(potential[0, 0]))
        while True:
            further = potential + length * direction
            at = cells.answer(further)
            if at.value - further[0, 0] <= before + 1e-4 * length * slope + rounding:
                break
            length /= 2
            if length < 1e-12:
                raise NoMinimizer(f"Newton step {step}: the dual function does not fall along its direction")
        potential = further
    raise NoMinimizer(f"after {step} Newton steps an entry still changes by {largest:.3g} of itself")


def _excess(at: Reply) -> FloatArray:
    """The gradient: what flows out of a state less what flows in, (H, W)."""
    horizon, width, n_actions, _ = at.rows.shape
    excess: FloatArray = at.mass.sum(axis=2)
    excess[0, 0] -= 1.0
    flat = at.rows.reshape(horizon, width * n_actions, width)
    inflow = at.mass.reshape(horizon, 1, width * n_actions) @ flat
    excess[1:] -= inflow[:-1, 0]
    return excess


class _Band:
    """The Hessian in the band storage of LAPACK, and its solution."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        horizon, width = shape[:2]
        # Row (h, i) has the blocks of steps h and h + 1, and zeros; from its diagonal on, it is a column of
        # the band. That is a view: one more state, one more entry to the right.
        self.rows = np.zeros((horizon, width, 3 * width))
        step, state, entry = self.rows.strides
        self.band = as_strided(self.rows, (horizon, width, 2 * width), (step, state + entry, entry))
        self.diagonal = as_strided(self.rows, (horizon, width), (step, state + entry))

    def solve(self, at: Reply, right: FloatArray) -> FloatArray:
        """Hessian⁻¹ `right`, both (H, W). Raises NoMinimizer."""
        horizon, width, n_actions, _ = at.rows.shape
        flat = at.rows.reshape(horizon, width * n_actions, width)
        weighted = at.curvature.reshape(horizon, -1, 1) * flat
        here, across = self.rows[:, :, :width], self.rows[:-1, :, width : 2 * width]
        here[0] = 0.0
        np.matmul(weighted[:-1].swapaxes(1, 2), flat[:-1], out=here[1:])
        if at.bend is not None:
            here[1:] += at.bend[:-1]
        self.diagonal += at.curvature.sum(axis=2)
        np.negative(weighted.reshape(horizon, width, n_actions, width)[:-1].sum(axis=2), out=across)
        dead = self.diagonal < NO_MASS
        if dead.any():
            self.diagonal[dead], right = 1.0, np.where(dead, 0.0, right)
        columns = self.band.reshape(horizon * width, 2 * width)
        _, solved, info = dpbsv(columns.T, right.ravel(), lower=1, overwrite_ab=1)
        if info > 0:
            raise NoMinimizer("rounding made the Hessian of the dual function indefinite")
        return np.asarray(solved.reshape(horizon, width))
