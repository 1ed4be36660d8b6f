r"""FTRL with the Q - V estimate: totals alone, in a known world, at the rate H² sqrt(SAK).

Outside the paper: later work. What an episode that passes s costs more on average if it takes a is Q - V.
One total observes it at all the steps that the episode passed::

    l^(h,s,a) = L ( 1{passed (s,a)} / q(h,s,a) - 1{passed s} / q(h,s) ),    E[l^] = Q - V,

and by the performance difference lemma `<Q - V, q'>` is what another policy would cost more. Follow the
regularized leader plays::

    q_k = argmin_q  <l^_1 + ... + l^_{k-1}, q> + psi(q),    psi(q) = - root sum sqrt(q) - log sum log(q).

With root = 0 the regularizer is a log barrier; with both it is Tsallis' entropy with a little of the barrier.
The minimum is found through its dual (`potentials`).

Source:
    Ito, Jamieson, Luo, Maiti and Tsuchiya (2025): the estimate and both regularizers. They let the rates
    change over time, which also suits losses that come from a distribution; here they stand, and constants
    and proofs of the bounds are ours (`theory.q_minus_v_bound`, `theory.q_minus_v_tsallis_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aggbandit import theory
from aggbandit._arrays import (
    BoolArray,
    FloatArray,
    check_at_least_zero,
    check_kind,
    check_rng,
    reduce_frozen,
)
from aggbandit.feedback import AggregateFeedback
from aggbandit.learners import snapshots
from aggbandit.learners.fits import check_aggregate, check_world
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.potentials import Layers, Reply, differences, minimize_over_potentials
from aggbandit.mdp import FiniteHorizonMDP, Trajectory

__all__ = ["FTRL", "Regularizer", "q_minus_v_estimate"]


@dataclass(frozen=True)
class Regularizer:
    """`psi(q) = - root sum sqrt(q) - log sum log(q)`, over the entries of an occupancy measure.

    Args:
        root: the weight of the roots, nonnegative.
        log: the weight of the logarithms, nonnegative; one of the two is positive.

    Raises:
        TypeError: for what is no number.
        ValueError: for values out of range.
    """

    root: float
    log: float

    def __post_init__(self) -> None:
        check_at_least_zero("root", self.root)
        check_at_least_zero("log", self.log)
        if not self.root + self.log > 0:
            raise ValueError("root and log are 0; one of the two must be positive")

    @classmethod
    def log_barrier(cls, n_states: int, n_actions: int, horizon: int, episodes: int) -> Regularizer:
        """With which `theory.q_minus_v_bound` holds: a log barrier over eta.

        Args:
            n_states: S.
            n_actions: A.
            horizon: H.
            episodes: K.

        Returns:
            The regularizer.

        Raises:
            ValueError: for sizes that are not positive integers, or HK <= 1.
        """
        return cls(root=0.0, log=1 / theory.q_minus_v_eta(n_states, n_actions, horizon, episodes))

    @classmethod
    def tsallis(cls, horizon: int, episodes: int) -> Regularizer:
        """With which `theory.q_minus_v_tsallis_bound` holds: root `2 H sqrt(K)`, log `8 H³`.

        Args:
            horizon: H.
            episodes: K.

        Returns:
            The regularizer.

        Raises:
            ValueError: for sizes that are not positive integers.
        """
        return cls(*theory.q_minus_v_tsallis_weights(horizon, episodes))


def q_minus_v_estimate(trajectory: Trajectory, total: float, occupancy: FloatArray) -> FloatArray:
    """`l^(h,s,a) = L (1{passed (s,a)} / q(h,s,a) - 1{passed s} / q(h,s))`.

    Its mean is Q - V on everything the policy can meet, its second moment at most `H² (1 - pi)/q(h,s,a)`.

    Args:
        trajectory: of the episode.
        total: L, what it cost.
        occupancy: (H, S, A) q, of the policy that was played.

    Returns:
        (H, S, A) l^, zero at states that were not passed.

    Source:
        Ito et al. (2025).

    Example:
        >>> import aggbandit as ab
        >>> trajectory = ab.Trajectory(states=[0, 0], actions=[1], n_states=1, n_actions=2)
        >>> q_minus_v_estimate(trajectory, 0.6, np.array([[[0.25, 0.75]]])).round(3)
        array([[[-0.6,  0.2]]])
    """
    estimate = np.zeros(occupancy.shape)
    steps, states, actions, _ = trajectory.cells
    estimate[steps, states] = -total / occupancy[steps, states].sum(axis=-1, keepdims=True)
    estimate[steps, states, actions] += total / occupancy[steps, states, actions]
    return estimate


@dataclass(frozen=True, eq=False)
class RegularizedCells:
    """A linear function plus a `Regularizer`: a cell answers the q at which `theta = loss - x` is its slope.

    That is `log y² + (root/2) y = theta` for `y = q^(-1/2)`; there is none unless theta is positive.

    Args:
        loss: (H, W, A) the sum of estimates.
        regularizer: psi.
        rows: (H, W, A, W) the dynamics.
        met: (H, W) whether there is a state of this number.
    """

    loss: FloatArray
    regularizer: Regularizer
    rows: FloatArray
    met: BoolArray
    __reduce__ = reduce_frozen

    def slope(self, potential: FloatArray) -> FloatArray:
        """`theta = loss - x`, one where there is no cell.

        Args:
            potential: (H, W) V.

        Returns:
            (H, W, A) theta.
        """
        return np.where(self.met[:, :, None], self.loss - differences(potential, self.rows), 1.0)

    def answer(self, potential: FloatArray) -> Reply:
        """What the cells say to potentials.

        Args:
            potential: (H, W) V.

        Returns:
            The answer; its value is infinite where a slope is not positive.
        """
        theta, there = self.slope(potential), self.met[:, :, None]
        half, log = self.regularizer.root / 2, self.regularizer.log
        if not theta.min() > 0:
            nothing = np.zeros(theta.shape)
            return Reply(np.inf, nothing, self.rows, nothing, None)
        root = (half + np.sqrt(half**2 + 4 * log * theta)) / (2 * theta)  # 1/y, of the mass
        mass = root * root * there
        curvature = 2 * mass * root / (2 * log / root + half)
        conjugate = (2 * half * root - theta * root * root + 2 * log * np.log(root)) * there
        return Reply(float(conjugate.sum()), mass, self.rows, curvature, None)

    def inside(self, potential: FloatArray, slope: FloatArray) -> FloatArray:
        """Potentials at which no slope is below half of what it was, backwards from the last step.

        Args:
            potential: (H, W) V, kept where that is so.
            slope: (H, W, A) what the slopes were, positive.

        Returns:
            (H, W) potentials with a finite value.
        """
        inside = np.array(potential)
        following = np.zeros(inside.shape[1])
        for h in reversed(range(len(inside))):
            highest = (self.loss[h] + self.rows[h] @ following - slope[h] / 2).min(axis=1)
            following = inside[h] = np.minimum(inside[h], highest)
        return inside


class FTRL:
    """Follow the regularized leader on the Q - V estimate.

    It knows the dynamics and sees trajectories and totals.

    Args:
        mdp: the world, its dynamics known to the learner.
        regularizer: `Regularizer.log_barrier(S, A, H, K)`, `Regularizer.tsallis(H, K)`, or weights of your
            own, say less than the theorem's.

    Raises:
        TypeError: for another kind of argument.
        NoMinimizer: if double precision is not enough for the first policy.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Ito et al. (2025), with rates that stand.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 100
        >>> learner = ab.learners.FTRL(world.mdp, ab.learners.Regularizer(root=5.0, log=2.0))
        >>> losses = ab.losses.fixed(world.loss, episodes)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0))
        >>> [round(float(loss), 2) for loss in history.expected_loss[[0, 49, 99]]]  # the best: 1.01
        [1.63, 1.65, 1.41]
    """

    feedback: ClassVar[type[AggregateFeedback]] = AggregateFeedback

    def __init__(self, mdp: FiniteHorizonMDP, regularizer: Regularizer) -> None:
        check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
        check_kind("regularizer", regularizer, Regularizer, "Regularizer.log_barrier(S, A, H, K)")
        self.mdp, self.regularizer = mdp, regularizer
        self.layers = Layers.of(mdp)
        self.rows = self.layers.rows(mdp.transitions)
        self.sum_of_estimates: FloatArray = np.zeros((*self.layers.states.shape, mdp.n_actions))
        cells = self._cells(self.sum_of_estimates)
        # The slope at which all cells of a step have the same mass.
        y = np.sqrt(self.layers.states.shape[1] * mdp.n_actions)
        slope = np.full(self.sum_of_estimates.shape, regularizer.log * y**2 + regularizer.root / 2 * y)
        self._settle(cells, cells.inside(np.zeros(self.layers.states.shape), 2 * slope))

    def _cells(self, sum_of_estimates: FloatArray) -> RegularizedCells:
        return RegularizedCells(sum_of_estimates, self.regularizer, self.rows, self.layers.met)

    def _settle(self, cells: RegularizedCells, start: FloatArray) -> None:
        potential = minimize_over_potentials(cells, start).potential
        self.sum_of_estimates, self.potential = cells.loss, potential
        self.occupancy: FloatArray = self.layers.widen(cells.answer(potential).mass)

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of q_k; uniform where no state is met.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        visits = self.occupancy.sum(axis=2, keepdims=True)
        uniform = np.full(self.occupancy.shape, 1 / self.mdp.n_actions)
        return np.asarray(np.divide(self.occupancy, visits, out=uniform, where=visits > 0))

    @alone
    def observe(self, feedback: AggregateFeedback) -> None:
        """Add the estimate of Q - V, and follow the regularized leader.

        Args:
            feedback: the trajectory and its total loss.

        Raises:
            TypeError: unless it is an `AggregateFeedback`.
            ValueError: before anything changes, for a total outside [0, H] or a trajectory of another world.
            NoMinimizer: before anything changes, if double precision is not enough.
        """
        check_aggregate(feedback, self.mdp.shape, self.mdp.initial_state)
        estimate = q_minus_v_estimate(feedback.trajectory, feedback.total, self.occupancy)
        slope = self._cells(self.sum_of_estimates).slope(self.potential)
        cells = self._cells(self.sum_of_estimates + self.layers.narrow(estimate))
        self._settle(cells, cells.inside(self.potential, slope))

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state of the learner's.
            episodes: how many are to be played; any number can be.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.mdp.shape, self.mdp.initial_state)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        return (f"mdp={described(self.mdp)}", f"regularizer={described(self.regularizer)}")

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(
            self.arguments,
            sum_of_estimates=self.sum_of_estimates,
            potential=self.potential,
            occupancy=self.occupancy,
        )

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        state = snapshots.read(
            snapshot,
            self.arguments,
            sum_of_estimates=self.sum_of_estimates.shape,
            potential=self.potential.shape,
            occupancy=self.occupancy.shape,
        )
        answer = self._cells(state["sum_of_estimates"]).answer(state["potential"])
        if not np.allclose(self.layers.widen(answer.mass), state["occupancy"], rtol=1e-6, atol=1e-300):
            raise ValueError("the occupancy of the state is not the one of its potential")
        self.sum_of_estimates, self.potential = state["sum_of_estimates"], state["potential"]
        self.occupancy = state["occupancy"]
