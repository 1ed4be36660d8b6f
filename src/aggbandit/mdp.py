"""The world: a finite-horizon Markov decision process whose transitions may differ from step to step.

A policy pi and the dynamics P draw a trajectory s_1, a_1, s_2, ..., a_H, s_{H+1}: it starts at the initial
state, a_h ~ pi(. | s_h, h) and s_{h+1} ~ P(. | s_h, a_h, h). The text counts steps h = 1..H, arrays count
h = 0..H-1. Tables over a step are indexed [h, s, a, s'] and have shape (H, S, A, S).

Source: Section 2 (Preliminaries).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from aggbandit._arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_finite,
    check_positive_int,
    check_rows,
    check_shape,
    check_state,
    place,
    read_only,
)

__all__ = [
    "FiniteHorizonMDP",
    "Trajectory",
    "deterministic_policies",
    "enumerate_trajectories",
    "uniform_policy",
]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What happened in one episode: s_1, a_1, ..., s_H, a_H, s_{H+1}.

    states:    (H + 1,) integers, the last one is where the episode ended
    actions:   (H,) integers
    n_states:  S
    n_actions: A

    Raises ValueError if the lengths do not fit, or a state or an action is no integer or out of range.
    """

    states: IntArray
    actions: IntArray
    n_states: int
    n_actions: int

    def __post_init__(self) -> None:
        for name, bound in (("states", self.n_states), ("actions", self.n_actions)):
            check_positive_int(f"n_{name}", bound)
            given = np.asarray(getattr(self, name))
            if given.ndim != 1:
                raise ValueError(f"{name} has shape {given.shape}; expected one axis")
            if given.size and not np.issubdtype(given.dtype, np.integer):
                raise ValueError(f"{name} has entries of type {given.dtype}; they must be integers")
            if given.size and not 0 <= given.min() <= given.max() < bound:
                where = int(np.argmax((given < 0) | (given >= bound)))
                raise ValueError(f"{place(name, (where,))} is {given[where]}; it must be in 0..{bound - 1}")
            array = np.array(given, dtype=np.int64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if len(self.states) != len(self.actions) + 1 or not len(self.actions):
            raise ValueError(
                f"a trajectory of {len(self.states)} states and {len(self.actions)} actions; "
                "expected H + 1 states and H >= 1 actions"
            )

    @property
    def horizon(self) -> int:
        """H, the number of steps."""
        return len(self.actions)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(H, S, A, S), the shape of a table over the steps of this trajectory."""
        return (self.horizon, self.n_states, self.n_actions, self.n_states)

    @property
    def cells(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The H visited cells (h, s_h, a_h, s_{h+1}) as an index: `table[trajectory.cells]` is (H,)."""
        return (np.arange(self.horizon), self.states[:-1], self.actions, self.states[1:])

    def indicator(self) -> FloatArray:
        """The trajectory as a vector: z_hat[h,s,a,s'] = 1 where it passed, 0 elsewhere.

        Returns shape (H, S, A, S); it sums to H, and E[z_hat] is the occupancy measure of the policy played.
        Source: Section 3.3, step 2 of the reduction.
        """
        z_hat = np.zeros(self.shape)
        z_hat[self.cells] = 1.0
        return z_hat

    def losses(self, loss: ArrayLike) -> FloatArray:
        """The loss of each step: loss[h, s_h, a_h, s_{h+1}].

        loss: (H, S, A, S). Returns shape (H,). Raises ValueError if the shape does not fit.
        """
        table = np.asarray(loss, dtype=np.float64)
        check_shape("loss", table, self.shape, "(H, S, A, S)")
        return np.asarray(table[self.cells], dtype=np.float64)

    def total(self, loss: ArrayLike) -> float:
        """The aggregate loss: sum_h loss[h, s_h, a_h, s_{h+1}] = loss . z_hat, between 0 and H.

        loss: (H, S, A, S), in [0, 1]. Raises ValueError if the shape does not fit. Source: Section 3.
        """
        return float(self.losses(loss).sum())


@dataclass(frozen=True, eq=False, repr=False)
class FiniteHorizonMDP:
    """A finite-horizon Markov decision process (without its losses).

    transitions:   (H, S, A, S), transitions[h,s,a,s'] = P(s' | s, a, h); each row sums to one
    initial_state: s_1, in 0..S-1

    The transitions are copied and read-only (what nobody can write to already is kept without a copy).
    Raises ValueError, naming the entry, for a wrong shape, a NaN, a negative probability, a row that does
    not sum to one, or an initial state that does not exist. Source: Section 2.
    """

    transitions: FloatArray
    initial_state: int = 0

    def __post_init__(self) -> None:
        transitions = read_only(self.transitions)
        shape = transitions.shape
        if len(shape) != 4 or shape[1] != shape[3] or 0 in shape:
            raise ValueError(f"transitions has shape {shape}; expected (H, S, A, S), each at least 1")
        check_rows("transitions", transitions)
        check_state("initial_state", self.initial_state, shape[1])
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "initial_state", int(self.initial_state))

    def __repr__(self) -> str:
        return (
            f"FiniteHorizonMDP(horizon={self.horizon}, n_states={self.n_states}, "
            f"n_actions={self.n_actions}, initial_state={self.initial_state})"
        )

    @property
    def horizon(self) -> int:
        """H, the number of steps of an episode."""
        return int(self.transitions.shape[0])

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return int(self.transitions.shape[1])

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return int(self.transitions.shape[2])

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(H, S, A, S): the shape of transitions, losses and occupancy measures."""
        return (self.horizon, self.n_states, self.n_actions, self.n_states)

    @cached_property
    def reachable(self) -> BoolArray:
        """(H, S) booleans: can the state be met at this step under some policy?"""
        met = np.zeros((self.horizon, self.n_states), dtype=np.bool_)
        met[0, self.initial_state] = True
        for h in range(self.horizon - 1):
            met[h + 1] = (self.transitions[h][met[h]] > 0).any(axis=(0, 1))
        return met

    def check_policy(self, policy: ArrayLike) -> FloatArray:
        """The policy as an array (H, S, A), once its shape and its probabilities are right.

        policy: (H, S, A), policy[h,s,a] = pi(a | s, h). Raises ValueError naming the entry or the row
        otherwise.
        """
        array = np.asarray(policy, dtype=np.float64)
        check_shape("policy", array, self.shape[:3], "(H, S, A)")
        check_rows("policy", array)
        return array

    def check_loss(self, loss: ArrayLike) -> FloatArray:
        """The loss as an array (H, S, A, S), once its shape is right and its entries are finite.

        loss: (H, S, A, S), of one episode or summed over episodes (so that [0, 1] is not asked for here).
        Raises ValueError naming the entry otherwise.
        """
        array = np.asarray(loss, dtype=np.float64)
        check_shape("loss", array, self.shape, "(H, S, A, S)")
        check_finite("loss", array)
        return array

    def occupancy(self, policy: ArrayLike) -> FloatArray:
        """The occupancy measure of a policy: how likely each step is to be seen.

        x[h,s,a,s'] = Pr[s_h = s, a_h = a, s_{h+1} = s'], computed forwards from the initial state:
        x[h,s,a,s'] = (mass at s) * policy[h,s,a] * transitions[h,s,a,s'].

        policy: (H, S, A). Returns shape (H, S, A, S), each step x[h] sums to one.
        Raises ValueError if the policy is not one. Source: Section 2, Eq. (1).
        """
        pi = self.check_policy(policy)
        x = np.empty(self.shape)
        mass = np.zeros(self.n_states)
        mass[self.initial_state] = 1.0
        for h in range(self.horizon):
            x[h] = (mass[:, None] * pi[h])[:, :, None] * self.transitions[h]
            mass = x[h].sum(axis=(0, 1))
        return x

    def expected_loss(self, policy: ArrayLike, loss: ArrayLike) -> float:
        """Expected total loss of one episode: L = x . loss, with x the occupancy measure of the policy.

        policy: (H, S, A); loss: (H, S, A, S). Raises ValueError if either has the wrong shape or entries.
        Source: Section 3 ("the regret can also be written in terms of occupancy measures").
        """
        return float(np.vdot(self.occupancy(policy), self.check_loss(loss)))

    def best_policy(self, loss: ArrayLike) -> tuple[FloatArray, float]:
        """The policy of least expected total loss, by backward induction, and that loss.

        With V[H] = 0 and, for h = H-1..0,  Q[h,s,a] = sum_s' P[h,s,a,s'] (loss[h,s,a,s'] + V[h+1,s']),
        V[h,s] = min_a Q[h,s,a].  A loss summed over episodes gives the best fixed policy in hindsight.

        loss: (H, S, A, S). Returns the policy, (H, S, A) with entries 0 and 1, and its value.
        Ties go to the action of the smallest index; states that are never met get an action too.
        Raises ValueError if the loss has the wrong shape or entries. Source: the comparator of Section 3.
        """
        table = self.check_loss(loss)
        policy = np.zeros(self.shape[:3])
        value = np.zeros(self.n_states)
        for h in reversed(range(self.horizon)):
            q = np.einsum("sat,sat->sa", self.transitions[h], table[h] + value)
            action = q.argmin(axis=1)
            policy[h, np.arange(self.n_states), action] = 1.0
            value = q.min(axis=1)
        return policy, float(value[self.initial_state])

    def rollout(self, policy: ArrayLike, rng: np.random.Generator) -> Trajectory:
        """Play one episode.

        policy: (H, S, A); rng: the source of randomness. Raises ValueError if the policy is not one.

        The random numbers are a contract (a compiled engine consumes the same ones): for each step h the
        uniform of the action, then the uniform of the next state, 2H in all, as `rng.random((H, 2))` gives
        them. A uniform u picks the first index whose cumulative probability exceeds u.
        """
        pi = self.check_policy(policy)
        uniforms = rng.random((self.horizon, 2))
        states = np.empty(self.horizon + 1, dtype=np.int64)
        actions = np.empty(self.horizon, dtype=np.int64)
        states[0] = self.initial_state
        for h in range(self.horizon):
            s = states[h]
            actions[h] = pick(pi[h, s], uniforms[h, 0])
            states[h + 1] = pick(self.transitions[h, s, actions[h]], uniforms[h, 1])
        return Trajectory(states, actions, self.n_states, self.n_actions)


def pick(probabilities: FloatArray, u: float) -> int:
    """The first index whose cumulative probability exceeds u: a draw, when u is uniform on [0, 1).

    probabilities: (n,), summing to one up to rounding; u: in [0, 1). When rounding leaves the whole sum at
    or below u, the last index of positive probability is taken, so that an entry of probability zero is
    never chosen.
    """
    index = int(np.searchsorted(np.cumsum(probabilities), u, side="right"))
    if index == len(probabilities):
        return int(np.flatnonzero(probabilities)[-1])
    return index


def uniform_policy(mdp: FiniteHorizonMDP) -> FloatArray:
    """The policy that plays every action with probability 1/A everywhere.

    mdp: gives the shape. Returns shape (H, S, A).
    """
    return np.full(mdp.shape[:3], 1.0 / mdp.n_actions)


def deterministic_policies(mdp: FiniteHorizonMDP) -> Iterator[FloatArray]:
    """All A^(H S) deterministic policies, one after the other: for small worlds only.

    mdp: gives the shape. Yields arrays (H, S, A) with entries 0 and 1, the action of the last state at the
    last step changing fastest.
    """
    horizon, n_states, n_actions, _ = mdp.shape
    one_hot = np.eye(n_actions)
    for actions in product(range(n_actions), repeat=horizon * n_states):
        yield one_hot[np.array(actions)].reshape(horizon, n_states, n_actions)


def enumerate_trajectories(mdp: FiniteHorizonMDP, policy: ArrayLike) -> Iterator[tuple[Trajectory, float]]:
    """Every trajectory of positive probability, with its probability: expectations without sampling.

    Pr[trajectory] = prod_h policy[h, s_h, a_h] transitions[h, s_h, a_h, s_{h+1}].

    mdp, policy (H, S, A): as for `FiniteHorizonMDP.rollout`. Yields pairs (trajectory, probability) in
    lexicographic order; there are up to (S A)^H of them. Raises ValueError if the policy is not one.
    """
    pi = mdp.check_policy(policy)

    def extend(
        states: tuple[int, ...], actions: tuple[int, ...], probability: float
    ) -> Iterator[tuple[Trajectory, float]]:
        h = len(actions)
        if h == mdp.horizon:
            yield (
                Trajectory(np.array(states), np.array(actions), mdp.n_states, mdp.n_actions),
                probability,
            )
            return
        for a in np.flatnonzero(pi[h, states[-1]]):
            row = mdp.transitions[h, states[-1], a]
            for next_state in np.flatnonzero(row):
                step = float(pi[h, states[-1], a] * row[next_state])
                yield from extend((*states, int(next_state)), (*actions, int(a)), probability * step)

    return extend((mdp.initial_state,), (), 1.0)
