"""Hypothesis strategies: random worlds, policies and losses, with zeros and ones among the probabilities."""

import numpy as np
from hypothesis import strategies as st

import aggbandit as ab


def _rows(rng: np.random.Generator, shape: tuple[int, ...], sparse: bool) -> np.ndarray:
    """Probability rows; the sparse ones have many zeros, some are deterministic."""
    rows = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    if sparse:
        keep = rng.random(shape) < 0.4
        keep[np.arange(shape[-1]) == rng.integers(shape[-1], size=shape[:-1])[..., None]] = True
        rows = np.where(keep, rows + 0.01, 0.0)
        rows /= rows.sum(axis=-1, keepdims=True)
    return rows


@st.composite
def mdps(draw: st.DrawFn, max_horizon: int = 4, max_states: int = 4, max_actions: int = 3):
    horizon = draw(st.integers(1, max_horizon))
    n_states = draw(st.integers(1, max_states))
    n_actions = draw(st.integers(1, max_actions))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    transitions = _rows(rng, (horizon, n_states, n_actions, n_states), draw(st.booleans()))
    return ab.FiniteHorizonMDP(transitions, draw(st.integers(0, n_states - 1)))


@st.composite
def policies(draw: st.DrawFn, mdp: ab.FiniteHorizonMDP) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return _rows(rng, mdp.shape[:3], draw(st.booleans()))


@st.composite
def losses(draw: st.DrawFn, mdp: ab.FiniteHorizonMDP) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = rng.random(mdp.shape)
    # Ties are where rules about ties matter.
    return np.round(table, 1) if draw(st.booleans()) else table
