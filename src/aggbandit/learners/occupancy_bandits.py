r"""SCRiBLe and EXP2 by name: linear bandits on the occupancy measures of a known world.

With the dynamics known, a policy is a point of a polytope, its expected total is linear in the point, and a
trajectory is a random point whose mean it is. So any linear bandit plays episodes, and nobody moves its hand:
`OccupancyBandit` hands it the polytope's points, and the totals. `scrible_on_occupancies` and
`exp2_on_occupancies` make the two that the paper starts from: Algorithm 2 with budget 0 and one rate, and
Algorithm 1 with budget 0 on the vertices.

Source:
    Abernethy, Hazan and Rakhlin (2008), for SCRiBLe; Bubeck, Cesa-Bianchi and Kakade (2012), for EXP2 with a
    G-optimal design. Both are the paper's algorithms where the confidence sets are points.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import (
    FloatArray,
    check_has,
    check_memory,
    check_positive_int,
)
from aggbandit.feedback import AggregateFeedback
from aggbandit.geometry import LogBarrier, known_occupancy_polytope, occupancy_coordinates
from aggbandit.learners.fits import check_aggregate, check_world
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.increasing_rates import scrible
from aggbandit.learners.optimistic import OptimisticEXP2
from aggbandit.learners.protocol import VectorLearner
from aggbandit.mdp import FiniteHorizonMDP

__all__ = [
    "OccupancyBandit",
    "ResumableVectorLearner",
    "exp2_on_occupancies",
    "occupancy_vertices",
    "scrible_on_occupancies",
]


class ResumableVectorLearner(VectorLearner, Protocol):
    """A `VectorLearner` that can write its state down."""

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state between two rounds, as arrays by name."""
        ...

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        ...


class OccupancyBandit:
    """A linear bandit that plays policies: its points are those of `known_occupancy_polytope(mdp)`.

    It knows the dynamics and sees trajectories and totals.

    Args:
        mdp: the world, its dynamics known to the learner.
        vectors: a `ResumableVectorLearner` on the polytope, in the coordinates of
            `occupancy_coordinates(mdp)`.

    Raises:
        TypeError: for another kind of argument.
        LearnerInUse: from every method, when another thread plays the learner.

    Example:
        See `scrible_on_occupancies`.
    """

    feedback: ClassVar[type[AggregateFeedback]] = AggregateFeedback

    def __init__(self, mdp: FiniteHorizonMDP, vectors: ResumableVectorLearner) -> None:
        self.coordinates = occupancy_coordinates(mdp)
        methods = ("predict", "update", "snapshot", "restore")
        check_has("vectors", vectors, methods, "a learner with predict, update, snapshot and restore")
        self.mdp, self.vectors = mdp, vectors

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of the point that the linear bandit plays; uniform where it meets no state.

        Args:
            rng: the source of all randomness.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        x = np.zeros(self.mdp.shape[:3])
        x[tuple(self.coordinates.cells.T)] = np.maximum(self.vectors.predict(rng), 0.0)
        visits = x.sum(axis=2, keepdims=True)
        uniform = np.full(x.shape, 1 / self.mdp.n_actions)
        return np.asarray(np.divide(x, visits, out=uniform, where=visits > 0))

    @alone
    def observe(self, feedback: AggregateFeedback) -> None:
        """One round of the linear bandit: what was played in the end is the trajectory.

        Args:
            feedback: the trajectory and its total loss.

        Raises:
            TypeError: unless it is an `AggregateFeedback`.
            ValueError: before anything changes, for a total outside [0, H] or a trajectory of another world.
        """
        check_aggregate(feedback, self.mdp.shape, self.mdp.initial_state)
        z_hat = self.coordinates.from_table(feedback.trajectory.indicator())
        self.vectors.update(feedback.total, z_hat, np.zeros(len(z_hat)))

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state of the learner's.
            episodes: how many are to be played; any number can be.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.mdp.shape, self.mdp.initial_state)

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state, which is the linear bandit's; `restore` is its inverse."""
        return self.vectors.snapshot() | {"world": np.array(described(self.mdp))}

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        if "world" not in snapshot or str(snapshot["world"]) != described(self.mdp):
            raise ValueError("the state is of a learner that knows another world")
        self.vectors.restore(snapshot)


def scrible_on_occupancies(
    mdp: FiniteHorizonMDP, episodes: int, eta0: float | None = None, baseline: float = 0.0
) -> OccupancyBandit:
    """SCRiBLe with the log barrier of the polytope.

    Its bound is `theory.scrible_bound(n, theta, H, K, baseline)`, with n and theta of the polytope.

    Args:
        mdp: the world.
        episodes: K.
        eta0: the rate, by default `theory.scrible_eta0`.
        baseline: b, subtracted from every total; H/2 halves what a total can be.

    Returns:
        The learner.

    Raises:
        TypeError: for a world that is none.
        ValueError: for values out of range, or a world with a single action.

    Source:
        Abernethy, Hazan and Rakhlin (2008).

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 200
        >>> learner = ab.learners.scrible_on_occupancies(world.mdp, episodes, eta0=0.02, baseline=1.5)
        >>> losses = ab.losses.fixed(world.loss, episodes)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0))
        >>> [round(float(history.expected_loss[k : k + 50].mean()), 2) for k in (0, 150)]  # best: 1.01
        [1.6, 1.48]
    """
    check_positive_int("episodes", episodes)
    barrier = LogBarrier(known_occupancy_polytope(mdp))
    return OccupancyBandit(mdp, scrible(barrier, episodes, float(mdp.horizon), eta0, baseline))


def exp2_on_occupancies(mdp: FiniteHorizonMDP, episodes: int) -> OccupancyBandit:
    """EXP2: exponential weights over the vertices, explored by a G-optimal design. For small worlds.

    Its bound is `theory.optimistic_bound(r, N, H, 0, K, design_norm=...)`, with N vertices of rank r.

    Args:
        mdp: the world; its vertices must fit into memory.
        episodes: K, so many that the share of exploration is at most a half.

    Returns:
        The learner.

    Raises:
        TypeError: for a world that is none.
        ValueError: for too few episodes, saying how many it takes.
        MemoryError: for too many vertices.

    Source:
        Bubeck, Cesa-Bianchi and Kakade (2012); Algorithm 1 with B = 0.

    Example:
        >>> import aggbandit as ab
        >>> learner = ab.learners.exp2_on_occupancies(ab.night_driver().mdp, episodes=2000)
        >>> learner.vectors.points.shape, learner.vectors.rank
        ((128, 14), 8)
    """
    check_positive_int("episodes", episodes)
    points = occupancy_vertices(mdp)
    return OccupancyBandit(mdp, OptimisticEXP2(points, episodes, float(mdp.horizon)))


def occupancy_vertices(mdp: FiniteHorizonMDP) -> FloatArray:
    """The vertices of `known_occupancy_polytope(mdp)`: policies without chance, told apart where they go.

    Args:
        mdp: the world.

    Returns:
        (N, D) one row a vertex, in the coordinates of `occupancy_coordinates(mdp)`.

    Raises:
        TypeError: for a world that is none.
        MemoryError: for too many of them.

    Example:
        >>> import aggbandit as ab
        >>> occupancy_vertices(ab.night_driver().mdp).shape  # an action at the start, and at 3 states twice
        (128, 14)
    """
    coordinates = occupancy_coordinates(mdp)
    mass = np.zeros((1, mdp.n_states))  # (N, S) so far, at the step at hand
    mass[0, mdp.initial_state] = 1.0
    so_far = np.zeros((1, 0, *mdp.shape[1:3]))
    for h in range(mdp.horizon):
        choices = [_choices(row, mdp.n_actions) for row in mass]
        many = sum(map(len, choices))
        check_memory(f"{many:,} vertices of the occupancy measures", 16.0 * many * prod(mdp.shape[:3]))
        step = np.concatenate(
            [row[:, None] * choice for row, choice in zip(mass, choices, strict=True)]
        )  # (N', S, A)
        before = np.repeat(so_far, [len(choice) for choice in choices], axis=0)
        so_far = np.concatenate([before, step[:, None]], axis=1)
        mass = np.einsum("nsa,sat->nt", step, mdp.transitions[h])
    h, s, a = coordinates.cells.T
    return np.asarray(so_far[:, h, s, a])


def _choices(mass: FloatArray, n_actions: int) -> FloatArray:
    """(A^m, S, A) an action at each of the m states that have mass; the first one elsewhere."""
    met = np.flatnonzero(mass)
    check_memory(
        f"{n_actions}^{len(met)} choices", 8.0 * float(n_actions) ** len(met) * len(mass) * n_actions
    )
    chosen = np.array(list(product(range(n_actions), repeat=len(met))), dtype=np.int64)
    choices = np.zeros((len(chosen), len(mass), n_actions))
    choices[:, :, 0] = 1.0
    choices[:, met, 0] = 0.0
    choices[np.arange(len(chosen))[:, None], met, chosen] = 1.0
    return choices
