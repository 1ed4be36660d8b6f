"""The world: a finite-horizon Markov decision process whose transitions may differ from step to step.

A policy pi and the dynamics P draw a trajectory s_1, a_1, s_2, ..., a_H, s_{H+1}: it starts at the initial
state, `a_h ~ pi(. | s_h, h)` and `s_{h+1} ~ P(. | s_h, a_h, h)`. The text counts steps h = 1..H, arrays
count h = 0..H-1. Tables over a step are indexed `[h, s, a, s']` and have shape (H, S, A, S).

Source: Section 2 (Preliminaries).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from aggbandit._arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    by_action,
    check_finite,
    check_kind,
    check_memory,
    check_positive_int,
    check_rng,
    check_shape,
    check_state,
    holds_sparse,
    integer_array,
    place,
    plain,
    probability_rows,
    read_only,
    reduce_frozen,
    spread_table,
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

    Args:
        states: (H + 1,) integers, the last one is where the episode ended.
        actions: (H,) integers.
        n_states: S.
        n_actions: A.

    Raises:
        ValueError: if the lengths do not fit, or a state or an action is no integer or out of range.

    Example:
        >>> import aggbandit as ab
        >>> trajectory = ab.Trajectory(states=[0, 1, 1], actions=[1, 0], n_states=2, n_actions=2)
        >>> trajectory.indicator().shape
        (2, 2, 2, 2)
        >>> trajectory.total([[0.5, 0.25], [0.125, 0.0]])  # a loss by state and action
        0.375
    """

    states: IntArray
    actions: IntArray
    n_states: int
    n_actions: int
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        for name, bound in (("states", self.n_states), ("actions", self.n_actions)):
            check_positive_int(f"n_{name}", bound)
            given = integer_array(name, getattr(self, name))
            if given.ndim != 1:
                raise ValueError(f"{name} has shape {given.shape}; expected one axis")
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
        """The trajectory as a vector: `z_hat[h,s,a,s'] = 1` where it passed, 0 elsewhere.

        Returns:
            (H, S, A, S) zeros and ones that sum to H; their mean is the occupancy measure of the policy
            played.

        Source:
            Section 3.3, step 2 of the reduction.
        """
        z_hat = np.zeros(self.shape)
        z_hat[self.cells] = 1.0
        return z_hat

    def losses(self, loss: ArrayLike) -> FloatArray:
        """The loss of each step: `loss[h, s_h, a_h, s_{h+1}]`.

        Args:
            loss: (H, S, A, S), or a table that `losses.spread` takes.

        Returns:
            (H,) losses.

        Raises:
            ValueError: if the shape does not fit or the entries are no real numbers.
        """
        table = spread_table("loss", loss, self.shape)
        return np.asarray(table[self.cells], dtype=np.float64)

    def total(self, loss: ArrayLike) -> float:
        """The aggregate loss: `sum_h loss[h, s_h, a_h, s_{h+1}] = loss . z_hat`, between 0 and H.

        Args:
            loss: (H, S, A, S) in [0, 1], or a table that `losses.spread` takes.

        Returns:
            The one number that aggregate feedback shows.

        Raises:
            ValueError: if the shape does not fit or the entries are no real numbers.

        Source:
            Section 3.
        """
        return float(self.losses(loss).sum())


@dataclass(frozen=True, eq=False, repr=False)
class FiniteHorizonMDP:
    """A finite-horizon Markov decision process (without its losses).

    The transitions are copied and read-only (what nobody can write to already is kept without a copy). Where
    they are the same at every step, `FiniteHorizonMDP.stationary` takes them as they are.

    Args:
        transitions: (H, S, A, S) probabilities, `transitions[h,s,a,s'] = P(s' | s, a, h)`; each row sums to
            one. Rows in single precision are divided by their sums.
        initial_state: s_1, in 0..S-1.

    Raises:
        ValueError: naming the entry, for a wrong shape, entries that are no real numbers, a NaN, a negative
            probability, a row that does not sum to one, or an initial state that does not exist.

    Source:
        Section 2.

    Example:
        A machine that runs (state 0) or stands (1), for two days; action 1 repairs it:

        >>> import numpy as np
        >>> import aggbandit as ab
        >>> day = [[[0.9, 0.1], [1.0, 0.0]], [[0.0, 1.0], [0.8, 0.2]]]
        >>> mdp = ab.FiniteHorizonMDP([day, day])
        >>> mdp
        FiniteHorizonMDP(horizon=2, n_states=2, n_actions=2, initial_state=0)
        >>> mdp.occupancy(ab.uniform_policy(mdp))[1].sum(axis=(1, 2)).round(3)  # running, standing
        array([0.95, 0.05])
    """

    transitions: FloatArray
    initial_state: int = 0
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        transitions = probability_rows("transitions", _four_axes(self.transitions))
        check_state("initial_state", self.initial_state, transitions.shape[1])
        object.__setattr__(self, "transitions", read_only(transitions))
        object.__setattr__(self, "initial_state", int(self.initial_state))

    @classmethod
    def stationary(
        cls, transitions: ArrayLike | Sequence[Any], horizon: int, initial_state: int = 0
    ) -> FiniteHorizonMDP:
        """A world that moves alike at every step, in the memory of one step.

        Args:
            transitions: (S, A, S) probabilities, `transitions[s,a,s'] = P(s' | s, a)`; or a list of A
                matrices (S, S), `transitions[a][s,s']`, `scipy.sparse` or NumPy's.
            horizon: H.
            initial_state: s_1, in 0..S-1.

        Returns:
            The world, whose transitions are a view (H, S, A, S) that repeats.

        Raises:
            ValueError: as for the constructor, or if the horizon is below 1.
            MemoryError: if sparse matrices do not fit as an array.

        Example:
            >>> import aggbandit as ab
            >>> from scipy.sparse import csr_array
            >>> stay, move = csr_array([[1.0, 0.0], [0.0, 1.0]]), csr_array([[0.0, 1.0], [1.0, 0.0]])
            >>> mdp = ab.FiniteHorizonMDP.stationary([stay, move], horizon=1000)
            >>> mdp.shape
            (1000, 2, 2, 2)
            >>> mdp.transitions.base.nbytes  # in the memory of one step: 2 * 2 * 2 * 8
            64
        """
        check_positive_int("horizon", horizon)
        step = probability_rows("transitions", _three_axes(transitions))
        return cls(np.broadcast_to(read_only(step), (horizon, *step.shape)), initial_state)

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
        """The policy as an array, once its shape and its probabilities are right.

        Args:
            policy: (H, S, A) probabilities, `policy[h,s,a] = pi(a | s, h)`.

        Returns:
            (H, S, A) float64.

        Raises:
            ValueError: naming the entry or the row that is wrong.
        """
        array = plain("policy", policy)
        check_shape("policy", array, self.shape[:3], "(H, S, A)")
        return probability_rows("policy", array)

    def check_loss(self, loss: ArrayLike) -> FloatArray:
        """The loss as an array (H, S, A, S), once its shape is right and its entries are finite.

        Args:
            loss: (H, S, A, S), or a table that `losses.spread` takes; of one episode or summed over episodes
                (so that [0, 1] is not asked for here).

        Returns:
            (H, S, A, S) float64, possibly a view.

        Raises:
            ValueError: naming the entry or the shape that is wrong.
        """
        array = spread_table("loss", loss, self.shape)
        check_finite("loss", array)
        return array

    def occupancy(self, policy: ArrayLike) -> FloatArray:
        """The occupancy measure of a policy: how likely each step is to be seen.

        It is computed forwards from the initial state::

            x[h,s,a,s'] = Pr[s_h = s, a_h = a, s_{h+1} = s']
                        = (mass at s) * policy[h,s,a] * transitions[h,s,a,s']

        Args:
            policy: (H, S, A) probabilities.

        Returns:
            (H, S, A, S) probabilities; each step `x[h]` sums to one.

        Raises:
            ValueError: if the policy is not one.
            MemoryError: if the measure does not fit.

        Source:
            Section 2, Eq. (1).

        Example:
            >>> import aggbandit as ab
            >>> mdp = ab.night_driver().mdp
            >>> x = mdp.occupancy(ab.uniform_policy(mdp))
            >>> x.shape, x.sum(axis=(1, 2, 3)).round(6)
            ((3, 3, 2, 3), array([1., 1., 1.]))
            >>> x[0, 0].round(3)  # the first step starts in state 0
            array([[0.35, 0.1 , 0.05],
                   [0.05, 0.25, 0.2 ]])
        """
        pi = self.check_policy(policy)
        check_memory(f"an occupancy measure of shape {self.shape}", 8.0 * prod(self.shape))
        x = np.empty(self.shape)
        mass = np.zeros(self.n_states)
        mass[self.initial_state] = 1.0
        for h in range(self.horizon):
            x[h] = (mass[:, None] * pi[h])[:, :, None] * self.transitions[h]
            mass = x[h].sum(axis=(0, 1))
        return x

    def expected_loss(self, policy: ArrayLike, loss: ArrayLike) -> float:
        """Expected total loss of one episode: `L = x . loss`, with x the occupancy measure of the policy.

        Args:
            policy: (H, S, A) probabilities.
            loss: (H, S, A, S), or a table that `losses.spread` takes: (S, A), (H, S, A), (S, A, S).

        Returns:
            The expectation.

        Raises:
            ValueError: if either has the wrong shape or entries.

        Source:
            Section 3 ("the regret can also be written in terms of occupancy measures").

        Example:
            >>> import aggbandit as ab
            >>> world = ab.night_driver()
            >>> round(world.mdp.expected_loss(ab.uniform_policy(world.mdp), world.loss), 3)
            1.642
        """
        return float(np.vdot(self.occupancy(policy), self.check_loss(loss)))

    def best_policy(self, loss: ArrayLike) -> tuple[FloatArray, float]:
        """The policy of least expected total loss, by backward induction, and that loss.

        With `V[H] = 0` and, for h = H-1..0::

            Q[h,s,a] = sum_s' P[h,s,a,s'] (loss[h,s,a,s'] + V[h+1,s'])
            V[h,s]   = min_a Q[h,s,a]

        A loss summed over episodes gives the best fixed policy in hindsight. Ties go to the action of the
        smallest index; states that are never met get an action too.

        Args:
            loss: (H, S, A, S), or a table that `losses.spread` takes: (S, A), (H, S, A), (S, A, S).

        Returns:
            The policy, (H, S, A) zeros and ones, and its value.

        Raises:
            ValueError: if the loss has the wrong shape or entries.

        Source:
            The comparator of Section 3.

        Example:
            >>> import aggbandit as ab
            >>> world = ab.night_driver()
            >>> policy, value = world.mdp.best_policy(world.loss)
            >>> round(value, 3)
            1.014
            >>> policy[0, 0]  # at the start, turn off the road
            array([0., 1.])
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

        The random numbers are a contract (a compiled engine consumes the same ones): for each step h the
        uniform of the action, then the uniform of the next state, 2H in all, as `rng.random((H, 2))` gives
        them. A uniform u picks the first index whose cumulative probability exceeds u.

        Args:
            policy: (H, S, A) probabilities.
            rng: the source of randomness.

        Returns:
            What happened.

        Raises:
            ValueError: if the policy is not one.
            TypeError: if `rng` is no generator.

        Example:
            >>> import numpy as np
            >>> import aggbandit as ab
            >>> world = ab.night_driver()
            >>> trajectory = world.mdp.rollout(ab.uniform_policy(world.mdp), np.random.default_rng(5))
            >>> trajectory.states, trajectory.actions
            (array([0, 2, 1, 1]), array([1, 1, 0]))
            >>> round(trajectory.total(world.loss), 3)
            1.7
        """
        check_rng(rng)
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


_STATIONARY = "the same at every step? Write FiniteHorizonMDP.stationary(transitions, horizon)"


def _four_axes(transitions: Any) -> Any:
    """What has the shape (H, S, A, S) as it is; ValueError otherwise."""
    if holds_sparse(transitions):
        raise ValueError(f"transitions holds sparse matrices; {_STATIONARY}")
    shape = plain("transitions", transitions).shape
    if len(shape) == 4 and shape[1] == shape[3] and 0 not in shape:
        return transitions
    remedy = f"; {_STATIONARY}" if len(shape) == 3 and shape[0] == shape[2] else ""
    raise ValueError(f"transitions has shape {shape}; expected (H, S, A, S), each at least 1{remedy}")


def _three_axes(transitions: Any) -> Any:
    """What has the shape (S, A, S), a list of one matrix an action brought to it; ValueError otherwise."""
    matrices = (
        isinstance(transitions, (list, tuple))
        and transitions
        and all(
            issparse(entry) or (isinstance(entry, np.ndarray) and entry.ndim == 2) for entry in transitions
        )
    )
    array = by_action("transitions", transitions) if matrices else plain("transitions", transitions)
    if array.ndim != 3 or array.shape[0] != array.shape[2] or 0 in array.shape:
        raise ValueError(
            f"transitions has shape {array.shape}; expected (S, A, S), each at least 1, "
            "or a list of A matrices (S, S)"
        )
    return array


def pick(probabilities: FloatArray, u: float) -> int:
    """The first index whose cumulative probability exceeds u: a draw, when u is uniform on [0, 1).

    When rounding leaves the whole sum at or below u, the last index of positive probability is taken, so that
    an entry of probability zero is never chosen.

    Args:
        probabilities: (n,) summing to one up to rounding.
        u: a number in [0, 1).

    Returns:
        The index, in 0..n-1.
    """
    index = int(np.searchsorted(np.cumsum(probabilities), u, side="right"))
    if index == len(probabilities):
        return int(np.flatnonzero(probabilities)[-1])
    return index


def uniform_policy(mdp: FiniteHorizonMDP) -> FloatArray:
    """The policy that plays every action with probability 1/A everywhere.

    Args:
        mdp: gives the shape.

    Returns:
        (H, S, A) probabilities.

    Raises:
        TypeError: for anything else than an MDP.

    Example:
        >>> import aggbandit as ab
        >>> policy = ab.uniform_policy(ab.night_driver().mdp)
        >>> policy.shape, policy[0, 0]
        ((3, 3, 2), array([0.5, 0.5]))
    """
    check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
    return np.full(mdp.shape[:3], 1.0 / mdp.n_actions)


def deterministic_policies(mdp: FiniteHorizonMDP) -> Iterator[FloatArray]:
    """All `A^(H S)` deterministic policies, one after the other: for small worlds only.

    Args:
        mdp: gives the shape.

    Yields:
        (H, S, A) zeros and ones, the action of the last state at the last step changing fastest.
    """
    check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
    horizon, n_states, n_actions, _ = mdp.shape
    one_hot = np.eye(n_actions)
    for actions in product(range(n_actions), repeat=horizon * n_states):
        yield one_hot[np.array(actions)].reshape(horizon, n_states, n_actions)


def enumerate_trajectories(mdp: FiniteHorizonMDP, policy: ArrayLike) -> Iterator[tuple[Trajectory, float]]:
    """Every trajectory of positive probability, with its probability: expectations without sampling.

    There are up to `(S A)^H` of them::

        Pr[trajectory] = prod_h policy[h, s_h, a_h] transitions[h, s_h, a_h, s_{h+1}]

    Args:
        mdp: the world.
        policy: (H, S, A) probabilities.

    Returns:
        An iterator over pairs (trajectory, probability) in lexicographic order.

    Raises:
        TypeError: at once, for anything else than an MDP.
        ValueError: at once, if the policy is not one.
    """
    check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
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
