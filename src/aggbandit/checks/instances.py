"""Instances on which answers are tried: small, lopsided, without the symmetry that hides a mistake."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import null_space

from aggbandit._arrays import FloatArray, reduce_frozen
from aggbandit.mdp import FiniteHorizonMDP


@dataclass(frozen=True)
class SmallWorld:
    """A small world with a policy and a loss table.

    Attributes:
        transitions: (H, S, A, S) probabilities.
        initial_state: where every episode starts.
        policy: (H, S, A) probabilities.
        loss: (H, S, A, S) losses in [0, 1].
    """

    transitions: FloatArray
    initial_state: int
    policy: FloatArray
    loss: FloatArray

    __reduce__ = reduce_frozen

    @property
    def mdp(self) -> FiniteHorizonMDP:
        """The world as the package plays it."""
        return FiniteHorizonMDP(self.transitions, self.initial_state)


def small_world(rng: np.random.Generator, shortest: int = 2) -> SmallWorld:
    """Two to four steps and states, two or three actions; lopsided rows, so that no transposition passes.

    Args:
        rng: the source of randomness.
        shortest: the least number of steps and of states; the largest is two more.

    Returns:
        The world.
    """
    horizon, n_states = rng.integers(shortest, shortest + 3, size=2)
    n_actions = rng.integers(2, 4)
    return SmallWorld(
        transitions=rng.dirichlet(np.full(n_states, 0.6), size=(horizon, n_states, n_actions)),
        initial_state=int(rng.integers(n_states)),
        policy=rng.dirichlet(np.full(n_actions, 0.8), size=(horizon, n_states)),
        loss=rng.random((horizon, n_states, n_actions, n_states)),
    )


@dataclass(frozen=True)
class SmallBody:
    """A polytope in a slice, `{y : A y <= b, C y = C x}`, and a point in it that is near some walls.

    Attributes:
        A: (m, D) one row an inequality, not of length one.
        b: (m,) their right-hand sides.
        C: (p, D) one row an equation, p >= 1.
        x: (D,) a point strictly inside.
    """

    A: FloatArray
    b: FloatArray
    C: FloatArray
    x: FloatArray

    __reduce__ = reduce_frozen

    @property
    def slacks(self) -> FloatArray:
        """(m,) the distances `b - A x` from the walls."""
        return self.b - self.A @ self.x

    @property
    def hessian(self) -> FloatArray:
        """(D, D) the Hessian of the barrier at x."""
        return np.asarray(self.A.T @ (self.A / self.slacks[:, None] ** 2))

    @cached_property
    def basis(self) -> FloatArray:
        """(D, n) orthonormal columns W that span the directions along the slice."""
        return np.asarray(null_space(self.C))

    @property
    def dimension(self) -> int:
        """The dimension n of the slice, smaller than D."""
        return int(self.basis.shape[1])

    def value(self, y: FloatArray) -> float:
        """The logarithmic barrier.

        Args:
            y: (D,) a point strictly inside.

        Returns:
            `R(y) = -sum_i log(b_i - a_i.y)`.
        """
        return -float(np.log(self.b - self.A @ y).sum())

    def gradient(self, y: FloatArray) -> FloatArray:
        """The gradient of the barrier.

        Args:
            y: (D,) a point strictly inside.

        Returns:
            (D,) the gradient.
        """
        return np.asarray((1 / (self.b - self.A @ y)) @ self.A)

    def bregman(self, y: FloatArray, x: FloatArray) -> float:
        """The divergence of the barrier.

        Args:
            y: (D,) a point strictly inside.
            x: (D,) another; the tangent is taken there.

        Returns:
            `B(y||x)`.
        """
        return self.value(y) - self.value(x) - float(self.gradient(x) @ (y - x))


def small_body(rng: np.random.Generator) -> SmallBody:
    """A box and two or three walls more, in three to five dimensions, cut by one equation or two.

    Slacks go from 0.05 to 2, so that the local norm stretches directions very differently.

    Args:
        rng: the source of randomness.

    Returns:
        The body.
    """
    dimension = int(rng.integers(3, 6))
    n_equations = 1 if dimension == 3 else int(rng.integers(1, 3))
    walls = rng.normal(size=(int(rng.integers(2, 4)), dimension))
    A = np.vstack([np.eye(dimension), -np.eye(dimension), walls])
    x = rng.normal(size=dimension)
    slacks = np.exp(rng.uniform(np.log(0.05), np.log(2.0), size=len(A)))
    return SmallBody(A, A @ x + slacks, rng.normal(size=(n_equations, dimension)), x)


def inside(body: SmallBody, rng: np.random.Generator) -> FloatArray:
    """Another point of the slice, a third to four fifths of the way from x to the wall.

    Args:
        body: the body.
        rng: the source of randomness.

    Returns:
        (D,) the point.
    """
    direction = body.basis @ rng.normal(size=body.dimension)
    farthest = 1 / (body.A @ direction / body.slacks).max()
    return np.asarray(body.x + rng.uniform(1 / 3, 4 / 5) * farthest * direction)
