"""Instances on which answers are tried: small, skewed, and without the symmetry that hides a mistake."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggbandit._arrays import FloatArray


@dataclass(frozen=True)
class SmallWorld:
    """A small world with a policy and a loss table; numbers only, since they cross to another process.

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


def small_world(rng: np.random.Generator) -> SmallWorld:
    """Two to four steps and states, two or three actions; lopsided rows, so that no transposition passes."""
    horizon, n_states, n_actions = rng.integers(2, 5), rng.integers(2, 5), rng.integers(2, 4)
    return SmallWorld(
        transitions=rng.dirichlet(np.full(n_states, 0.6), size=(horizon, n_states, n_actions)),
        initial_state=int(rng.integers(n_states)),
        policy=rng.dirichlet(np.full(n_actions, 0.8), size=(horizon, n_states)),
        loss=rng.random((horizon, n_states, n_actions, n_states)),
    )
