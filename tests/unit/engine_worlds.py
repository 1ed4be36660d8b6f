"""Worlds and losses on which the compiled engine is compared with the reference."""

import numpy as np

import aggbandit as ab


def dirichlet(H, S, A):
    """Every transition is possible."""
    return ab.random_mdp(S, A, H, np.random.default_rng(S))


def deterministic(H, S, A):
    """Every action leads to one state."""
    successor = np.random.default_rng(S).integers(S, size=(H, S, A))
    return ab.FiniteHorizonMDP(np.eye(S)[successor], initial_state=S - 1)


def sparse(H, S, A):
    """Half of the transitions are impossible."""
    rng = np.random.default_rng(S)
    rows = rng.dirichlet(np.ones(S), size=(H, S, A)) * (rng.random((H, S, A, S)) < 0.5)
    rows[..., 0] += 1e-3
    return ab.FiniteHorizonMDP(rows / rows.sum(axis=-1, keepdims=True))


def mixed(shape, K):
    """One of three tables, at random."""
    rng = np.random.default_rng(1)
    return ab.LossSequence(rng.random((3, *shape)), rng.integers(3, size=K))
