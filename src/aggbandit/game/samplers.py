"""Drawing z_hat: what is played in the end, with mean z.

A sampler is given z alone, so that E[z_hat | z, y] = z holds by construction. Each works on one point, shape
(d,), and on one point a seed, shape (N, d).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.game.rules import TOLERANCE, RuleViolation, some

__all__ = ["DrawArm", "Exactly", "HalfSpaces", "RandomChord", "Sampler"]


class Sampler(Protocol):
    """How z_hat is drawn.

    Source:
        Section 3.2, the protocol, step 3.
    """

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw z_hat.

        Args:
            z: (d,) its mean; with many seeds at once (N, d).
            rng: the source of all randomness.

        Returns:
            z_hat, in the shape of `z`.
        """


class HalfSpaces(Protocol):
    """A body {x : A x <= b, C x = d} by its inequalities and its directions, as a `Polytope` is."""

    @property
    def A(self) -> FloatArray:
        """(m, d) normals of the walls."""

    @property
    def b(self) -> FloatArray:
        """(m,) offsets of the walls."""

    @property
    def basis(self) -> FloatArray:
        """(d, n) an orthonormal basis of {v : C v = 0}."""


@dataclass(frozen=True)
class Exactly:
    """z_hat = z: nothing is random in what is played.

    Source:
        The protocol, step 3.
    """

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """`z` itself.

        Args:
            z: (d,) or (N, d).
            rng: not used.

        Returns:
            z_hat, which is `z`.
        """
        return z


@dataclass(frozen=True)
class DrawArm:
    """On the simplex: z_hat is the arm e_i with probability z_i.

    Source:
        The protocol, step 3.
    """

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """An arm: the first whose cumulated probability exceeds a uniform number.

        Args:
            z: (d,) or (N, d) distributions over the arms.
            rng: one uniform is drawn for each seed.

        Returns:
            z_hat, in the shape of `z`.

        Raises:
            RuleViolation: where z is not a distribution.
        """
        fine = (z.min(axis=-1) >= -TOLERANCE) & (abs(z.sum(axis=-1) - 1) <= TOLERANCE)
        if some(~fine):  # a NaN is no distribution either
            z = z if z.ndim == 1 else z[~fine][0]
            raise RuleViolation(f"z = {z} is not a distribution, so that no arm can be drawn from it")
        if z.ndim == 1:
            return _drawn(z, rng.random())
        uniform = rng.random(z.shape[:-1])[..., None]
        arm = (np.cumsum(z, axis=-1) <= uniform).sum(axis=-1, keepdims=True)
        arms = np.arange(z.shape[-1])
        # Rounding may carry the arm beyond the last positive entry.
        drawn = np.where((arms <= arm) & (z > 0), arms, -1).max(axis=-1, keepdims=True)
        return np.asarray(arms == drawn, dtype=np.float64)


def _drawn(z: FloatArray, uniform: float) -> FloatArray:
    """The arm of one seed, (d,)."""
    arm = min(int(np.count_nonzero(z.cumsum() <= uniform)), z.size - 1)
    while z[arm] <= 0:
        arm -= 1
    drawn = np.zeros(z.size)
    drawn[arm] = 1.0
    return drawn


@dataclass(frozen=True)
class RandomChord:
    """In a body {x : A x <= b, C x = d}: z_hat is an end of a random chord through z, with mean z.

    The chord's direction is uniform within the slice; its ends are at -s and +t along it, and are drawn with
    probabilities t/(s + t) and s/(s + t).

    Args:
        body: a polytope.

    Source:
        The protocol, step 3.
    """

    body: HalfSpaces

    def draw(self, z: FloatArray, rng: np.random.Generator) -> FloatArray:
        """An end of a chord through `z`.

        Args:
            z: (d,) or (N, d) points of the body.
            rng: n normals are drawn for each seed, then one uniform for each.

        Returns:
            z_hat, in the shape of `z`.

        Raises:
            RuleViolation: where z is outside the body.
        """
        body, seeds = self.body, z.shape[:-1]
        slack = body.b - z @ body.A.T
        fine = slack.min(axis=-1) >= -TOLERANCE * (1 + np.abs(body.b).max())
        if some(~fine):
            z = z if z.ndim == 1 else z[~fine][0]
            raise RuleViolation(f"z = {z} is outside the body: no chord passes through it")
        direction = rng.standard_normal((*seeds, body.basis.shape[1])) @ body.basis.T
        speed = direction @ body.A.T
        times = np.divide(
            np.maximum(slack, 0.0), np.abs(speed), out=np.full(speed.shape, np.inf), where=speed != 0
        )
        ahead = np.min(np.where(speed > 0, times, np.inf), axis=-1)
        behind = np.min(np.where(speed < 0, times, np.inf), axis=-1)
        step = np.where(rng.random(seeds) * (ahead + behind) < behind, ahead, -behind)
        return np.asarray(z + step[..., None] * direction, dtype=np.float64)
