"""How likely a policy is to meet a state: what a policy optimizer divides by, by what it knows of the world.

Four kinds of knowledge, one protocol (`Visits`):

- `KnownDynamics`: the dynamics are given, and the chance is exact;
- `EmpiricalDynamics`: transitions are counted, and the counts are taken for the truth;
- `PlausibleDynamics`: transitions are counted, and the chance is bracketed over all dynamics in the L1 balls;
- `IntervalDynamics`: the same over all dynamics in Bernstein's intervals.

Outside the paper: its Algorithm 3 moves over occupancy measures and never asks for these chances.

Source:
    Upper occupancy bounds: Jin, Jin, Luo, Sra and Yu (2020), who have Bernstein's intervals; the L1 balls are
    the package's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_kind,
    check_nonnegative,
    check_positive_int,
    check_shape,
    check_state,
    integer_array,
    reduce_frozen,
)
from aggbandit.learners.confidence import Confidence, empirical_dynamics
from aggbandit.learners.epochs import epoch_over
from aggbandit.learners.fits import failure_probability
from aggbandit.mdp import FiniteHorizonMDP, Trajectory

__all__ = [
    "Bracket",
    "EmpiricalDynamics",
    "EpochCounts",
    "IntervalDynamics",
    "KnownDynamics",
    "PlausibleDynamics",
    "Visits",
    "largest_chance",
    "largest_mean",
    "largest_mean_between",
]


class Bracket(NamedTuple):
    """Chances of meeting a state, from below and from above.

    Attributes:
        lower: (H, S) no plausible dynamics give less.
        upper: (H, S) none give more.
    """

    lower: FloatArray
    upper: FloatArray


class Visits(Protocol):
    """What is known of the dynamics."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(H, S, A, S)."""
        ...

    @property
    def initial_state(self) -> int:
        """s_1."""
        ...

    def bracket(self, policy: FloatArray) -> Bracket:
        """How likely the states are to be met.

        Args:
            policy: (H, S, A) the policy.

        Returns:
            The bracket of `q_h(s) = Pr[s_h = s]`.
        """
        ...

    def largest(self, h: int, value: FloatArray) -> FloatArray:
        """The largest plausible mean of a value of the next state.

        Args:
            h: the step, from 0.
            value: (S,) by next state.

        Returns:
            (S, A) `max_P sum_s' P(s'|s,a,h) value(s')`.
        """
        ...

    def observe(self, trajectory: Trajectory) -> None:
        """Count a trajectory, where there is something to learn from it.

        Args:
            trajectory: of the episode.
        """
        ...

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What has been counted: arrays by name, copies."""
        ...

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go back to what `snapshot` returned.

        Args:
            snapshot: of the same kind of knowledge.

        Raises:
            ValueError: before anything changes, if it cannot be that.
        """
        ...


def occupancy_of_states(transitions: FloatArray, policy: FloatArray, initial_state: int) -> FloatArray:
    """`q_h(s) = Pr[s_h = s]`, forwards; rows of zeros lose what reaches them.

    Args:
        transitions: (H, S, A, S) the rows, each summing to one or to zero.
        policy: (H, S, A) the policy.
        initial_state: s_1.

    Returns:
        (H, S) the chances.
    """
    horizon, n_states = policy.shape[:2]
    q = np.zeros((horizon, n_states))
    q[0, initial_state] = 1.0
    for h in range(horizon - 1):
        met = np.flatnonzero(q[h])
        q[h + 1] = np.tensordot(q[h, met, None] * policy[h, met], transitions[h, met], axes=2)
    return q


def largest_mean(P_hat: FloatArray, radius: FloatArray, value: FloatArray) -> FloatArray:
    """`max sum_s' P(s') value(s')` over the probability rows P within L1 distance `radius` of `P_hat`.

    Greedy: half the radius goes to the best next state and is taken from the worst ones. A row of zeros, of
    which nothing is known, may lead anywhere.

    Args:
        P_hat: (..., S) rows, each summing to one or to zero.
        radius: (...,) L1 radii, nonnegative, possibly infinite.
        value: (S,) what a next state is worth.

    Returns:
        (...,) the maxima.

    Source:
        Strehl and Littman (2008), Section 3.2; Jaksch, Ortner and Auer (2010), Figure 2.

    Example:
        >>> largest_mean(np.array([0.5, 0.5]), np.array(0.2), np.array([0.0, 1.0])).round(3).item()
        0.6
    """
    order = np.argsort(value, kind="stable")  # from the worst to the best
    rows, worth = P_hat[..., order], value[order]
    gained = np.minimum(radius / 2, 1 - rows[..., -1])
    before = np.cumsum(rows, axis=-1) - rows
    taken = np.clip(gained[..., None] - before, 0.0, rows)
    taken[..., -1] = -gained
    mean = (rows - taken) @ worth
    return np.where(rows.sum(axis=-1) > 0, mean, worth[-1])


def largest_mean_between(lower: FloatArray, upper: FloatArray, value: FloatArray) -> FloatArray:
    """`max sum_s' P(s') value(s')` over the probability rows P with `lower <= P <= upper`.

    Greedy: what is left above the lower bounds goes to the best next states first.

    Args:
        lower: (..., S) sums at most one.
        upper: (..., S) not below `lower`, sums at least one.
        value: (S,) what a next state is worth.

    Returns:
        (...,) the maxima.

    Source:
        Jin, Jin, Luo, Sra and Yu (2020), Figure 1.

    Example:
        >>> lower, upper = np.array([0.3, 0.3]), np.array([0.8, 0.6])
        >>> largest_mean_between(lower, upper, np.array([0.0, 1.0])).round(3).item()
        0.6
    """
    order = np.argsort(-value, kind="stable")  # from the best to the worst
    low, room, worth = lower[..., order], (upper - lower)[..., order], value[order]
    left = 1 - low.sum(axis=-1, keepdims=True)
    given = np.clip(left - (np.cumsum(room, axis=-1) - room), 0.0, room)
    return np.asarray((low + given) @ worth)


class KnownDynamics:
    """The dynamics are given.

    Args:
        mdp: the world.

    Raises:
        TypeError: for anything else.

    Example:
        >>> import aggbandit as ab
        >>> mdp = ab.night_driver().mdp
        >>> KnownDynamics(mdp).bracket(ab.uniform_policy(mdp)).upper[1].round(2)
        array([0.4 , 0.35, 0.25])
    """

    def __init__(self, mdp: FiniteHorizonMDP) -> None:
        check_kind("mdp", mdp, FiniteHorizonMDP, "a FiniteHorizonMDP: world.mdp of a World")
        self.mdp = mdp

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(H, S, A, S)."""
        return self.mdp.shape

    @property
    def initial_state(self) -> int:
        """s_1."""
        return self.mdp.initial_state

    def bracket(self, policy: FloatArray) -> Bracket:
        """The chances, exactly.

        Args:
            policy: (H, S, A) the policy.

        Returns:
            The chances, twice.
        """
        q = occupancy_of_states(self.mdp.transitions, policy, self.initial_state)
        return Bracket(q, q)

    def largest(self, h: int, value: FloatArray) -> FloatArray:
        """The mean.

        Args:
            h: the step, from 0.
            value: (S,) by next state.

        Returns:
            (S, A) `sum_s' P(s'|s,a,h) value(s')`.
        """
        return np.asarray(self.mdp.transitions[h] @ value)

    def observe(self, trajectory: Trajectory) -> None:
        """There is nothing to learn.

        Args:
            trajectory: of the episode.
        """

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Nothing has been counted."""
        return {}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """There is nothing to go back to.

        Args:
            snapshot: empty.
        """


class EmpiricalDynamics:
    """Transitions are counted, and `P_hat = N(h,s,a,s') / N(h,s,a)` is taken for the truth.

    No theorem goes with it. A state that was never met has chance zero until it is met.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        initial_state: s_1.

    Raises:
        ValueError: for sizes that are not positive integers, or a state out of range.
    """

    def __init__(self, n_states: int, n_actions: int, horizon: int, initial_state: int = 0) -> None:
        for name, size in (("n_states", n_states), ("n_actions", n_actions), ("horizon", horizon)):
            check_positive_int(name, size)
        check_state("initial_state", initial_state, n_states)
        self.shape = (int(horizon), int(n_states), int(n_actions), int(n_states))
        self.initial_state = int(initial_state)
        self.counts: IntArray = np.zeros(self.shape, dtype=np.int64)
        self.P_hat: FloatArray = np.zeros(self.shape)

    def bracket(self, policy: FloatArray) -> Bracket:
        """The chances if the counts were the truth.

        Args:
            policy: (H, S, A) the policy.

        Returns:
            The chances, twice.
        """
        q = occupancy_of_states(self.P_hat, policy, self.initial_state)
        return Bracket(q, q)

    def largest(self, h: int, value: FloatArray) -> FloatArray:
        """The mean if the counts were the truth; zero where nothing was counted.

        Args:
            h: the step, from 0.
            value: (S,) by next state.

        Returns:
            (S, A) `sum_s' P_hat(s'|s,a,h) value(s')`.
        """
        return np.asarray(self.P_hat[h] @ value)

    def observe(self, trajectory: Trajectory) -> None:
        """Count the H steps, and divide anew where something was counted.

        Args:
            trajectory: of the episode.
        """
        rows = trajectory.cells[:3]
        self.counts[trajectory.cells] += 1
        self.P_hat[rows] = self.counts[rows] / self.counts[rows].sum(axis=-1, keepdims=True)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The counts."""
        return {"counts": self.counts.copy()}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go back to the counts.

        Args:
            snapshot: with (H, S, A, S) `counts`.

        Raises:
            ValueError: before anything changes, if they cannot be counts.
        """
        self.counts = _counts("counts", snapshot, self.shape)
        self.P_hat = empirical_dynamics(self.counts)


@dataclass(frozen=True, eq=False)
class EpochCounts:
    """Transitions counted up to an epoch, and in it. An epoch ends when some count has doubled.

    A value: to count is to make another one.

    Args:
        before: (H, S, A, S) N_i, what was counted up to this epoch.
        in_epoch: (H, S, A, S) n_i, what was counted in it.

    Source:
        Algorithm 3, lines 3 and 7.
    """

    before: IntArray
    in_epoch: IntArray
    __reduce__ = reduce_frozen

    @classmethod
    def none(cls, shape: tuple[int, int, int, int]) -> EpochCounts:
        """Before the first episode.

        Args:
            shape: (H, S, A, S).

        Returns:
            The counts.
        """
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))

    @classmethod
    def read(cls, snapshot: Mapping[str, NDArray[Any]], shape: tuple[int, int, int, int]) -> EpochCounts:
        """What `written` wrote down.

        Args:
            snapshot: with (H, S, A, S) `counts` and `in_epoch`.
            shape: (H, S, A, S).

        Returns:
            The counts.

        Raises:
            ValueError: if they cannot be counts.
        """
        return cls(_counts("counts", snapshot, shape), _counts("in_epoch", snapshot, shape))

    def written(self) -> dict[str, NDArray[Any]]:
        """Copies of both, by name: `counts` and `in_epoch`."""
        return {"counts": self.before.copy(), "in_epoch": self.in_epoch.copy()}

    def after(self, trajectory: Trajectory) -> EpochCounts:
        """With the H steps of a trajectory; of a new epoch if a count has doubled.

        Args:
            trajectory: of the episode.

        Returns:
            The counts. In the same epoch, `before` is the same array.
        """
        in_epoch = self.in_epoch.copy()
        in_epoch[trajectory.cells] += 1
        if epoch_over(in_epoch, self.before).any():
            return EpochCounts(self.before + in_epoch, np.zeros_like(in_epoch))
        return EpochCounts(self.before, in_epoch)


class PlausibleDynamics:
    """Transitions are counted, and all dynamics in the L1 balls around the counts are plausible.

    The balls stand still during an epoch, which ends when some count has doubled, as in Algorithm 3.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K, from which the radii follow.
        confidence: `ab.TightConfidence()`, say; only its radii are used.
        initial_state: s_1.

    Raises:
        ValueError: for sizes that are not positive integers, or a state out of range.
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        episodes: int,
        confidence: Confidence,
        initial_state: int = 0,
    ) -> None:
        check_positive_int("episodes", episodes)
        beginning = EmpiricalDynamics(n_states, n_actions, horizon, initial_state)
        self.shape, self.initial_state = beginning.shape, beginning.initial_state
        self.episodes, self.confidence = int(episodes), confidence
        self._stand(EpochCounts.none(self.shape))

    def _stand(self, counts: EpochCounts) -> None:
        """These counts, and the balls around those before the epoch."""
        self.counts = counts
        self.P_hat = empirical_dynamics(counts.before)
        self.radius = self.confidence.radius(counts.before, self.episodes)

    def bracket(self, policy: FloatArray) -> Bracket:
        """The smallest and the largest chance over all plausible dynamics, which differ from state to state.

        Backwards from each state, by dynamic programming: `f_h'(x) = sum_a pi(a|x) max_P sum_x' P f_h'+1(x')`
        from `f_h = 1 at s`. It costs H² S times what one sweep over the cells costs.

        Args:
            policy: (H, S, A) the policy.

        Returns:
            The bracket.
        """
        return _bracket(self, policy)

    def largest(self, h: int, value: FloatArray) -> FloatArray:
        """The largest mean over the L1 balls.

        Args:
            h: the step, from 0.
            value: (S,) by next state.

        Returns:
            (S, A) the maxima, as `largest_mean` finds them.
        """
        return largest_mean(self.P_hat[h], self.radius[h], value)

    def observe(self, trajectory: Trajectory) -> None:
        """Count the H steps; a new epoch begins when a count has doubled.

        Args:
            trajectory: of the episode.
        """
        counts = self.counts.after(trajectory)
        if counts.before is self.counts.before:
            self.counts = counts
        else:
            self._stand(counts)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The counts up to this epoch and in it."""
        return self.counts.written()

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go back to the counts.

        Args:
            snapshot: with (H, S, A, S) `counts` and `in_epoch`.

        Raises:
            ValueError: before anything changes, if they cannot be counts.
        """
        self._stand(EpochCounts.read(snapshot, self.shape))


class IntervalDynamics:
    """Transitions are counted, and all dynamics in Bernstein's intervals around the counts are plausible.

    With `N = N(h,s,a)` and `log(HSAK/delta)` for iota, an entry of a row may be off by::

        2 sqrt(P_hat iota / max(1, N - 1)) + 14 iota / (3 max(1, N - 1)).

    The intervals stand still during an epoch, which ends when some count has doubled.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        delta: the probability that some entry is ever farther off; 1/(HK) if None.
        initial_state: s_1.

    Raises:
        ValueError: for sizes that are not positive integers, a state out of range, or a delta that is no
            probability.
        TypeError: for a delta that is no number.

    Source:
        Jin, Jin, Luo, Sra and Yu (2020), Section 3.1.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> mdp, rng = ab.night_driver().mdp, np.random.default_rng(0)
        >>> known = IntervalDynamics(3, 2, 3, episodes=300)
        >>> for _ in range(300):
        ...     known.observe(mdp.rollout(ab.uniform_policy(mdp), rng))
        >>> bool((known.lower <= mdp.transitions).all() and (mdp.transitions <= known.upper).all())
        True
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        episodes: int,
        delta: float | None = None,
        initial_state: int = 0,
    ) -> None:
        check_positive_int("episodes", episodes)
        beginning = EmpiricalDynamics(n_states, n_actions, horizon, initial_state)
        self.shape, self.initial_state = beginning.shape, beginning.initial_state
        self.episodes = int(episodes)
        self.delta = failure_probability(delta, horizon, self.episodes)
        self._stand(EpochCounts.none(self.shape))

    def _stand(self, counts: EpochCounts) -> None:
        """These counts, and the intervals around those before the epoch."""
        self.counts = counts
        P_hat = empirical_dynamics(counts.before)
        iota = math.log(math.prod(self.shape[:3]) * self.episodes / self.delta)
        visits = np.maximum(1, counts.before.sum(axis=-1, keepdims=True) - 1)
        width = 2 * np.sqrt(P_hat * iota / visits) + 14 * iota / (3 * visits)
        self.lower: FloatArray = np.clip(P_hat - width, 0.0, 1.0)
        self.upper: FloatArray = np.clip(P_hat + width, 0.0, 1.0)

    def bracket(self, policy: FloatArray) -> Bracket:
        """The smallest and the largest chance over all plausible dynamics, as those of `PlausibleDynamics`.

        Args:
            policy: (H, S, A) the policy.

        Returns:
            The bracket.
        """
        return _bracket(self, policy)

    def largest(self, h: int, value: FloatArray) -> FloatArray:
        """The largest mean over the intervals.

        Args:
            h: the step, from 0.
            value: (S,) by next state.

        Returns:
            (S, A) the maxima, as `largest_mean_between` finds them.
        """
        return largest_mean_between(self.lower[h], self.upper[h], value)

    def observe(self, trajectory: Trajectory) -> None:
        """Count the H steps; a new epoch begins when a count has doubled.

        Args:
            trajectory: of the episode.
        """
        counts = self.counts.after(trajectory)
        if counts.before is self.counts.before:
            self.counts = counts
        else:
            self._stand(counts)

    def after(self, trajectory: Trajectory) -> IntervalDynamics:
        """What will be known when a trajectory has been counted; what is known now stays.

        Args:
            trajectory: of the episode.

        Returns:
            The knowledge.
        """
        further = copy(self)
        further.observe(trajectory)
        return further

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The counts up to this epoch and in it."""
        return self.counts.written()

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go back to the counts.

        Args:
            snapshot: with (H, S, A, S) `counts` and `in_epoch`.

        Raises:
            ValueError: before anything changes, if they cannot be counts.
        """
        self._stand(EpochCounts.read(snapshot, self.shape))


def largest_chance(visits: Visits, policy: FloatArray, h: int, s: int) -> float:
    """The largest plausible chance of meeting one state at one step.

    Args:
        visits: what is known of the dynamics.
        policy: (H, S, A) the policy.
        h: the step, from 0.
        s: the state.

    Returns:
        The chance.
    """
    most = np.zeros(visits.shape[1])
    most[s] = 1.0
    for before in reversed(range(h)):
        most = (policy[before] * visits.largest(before, most)).sum(axis=1)
    return float(most[visits.initial_state])


def _bracket(visits: Visits, policy: FloatArray) -> Bracket:
    """The bracket by what is `largest`, state by state."""
    horizon, n_states = visits.shape[:2]
    lower, upper = np.zeros((horizon, n_states)), np.zeros((horizon, n_states))
    for h in range(horizon):
        for s in range(n_states):
            least = np.zeros(n_states)
            least[s] = 1.0
            for before in reversed(range(h)):
                least = -(policy[before] * visits.largest(before, -least)).sum(axis=1)
            lower[h, s] = least[visits.initial_state]
            upper[h, s] = largest_chance(visits, policy, h, s)
    return Bracket(lower, upper)


def _counts(name: str, snapshot: Mapping[str, NDArray[Any]], shape: tuple[int, ...]) -> IntArray:
    if name not in snapshot:
        raise ValueError(f"the state lacks {name}")
    counts: IntArray = np.array(integer_array(name, snapshot[name]), dtype=np.int64)
    check_shape(name, counts, shape, "(H, S, A, S)")
    check_nonnegative(name, counts.astype(np.float64), "a count")
    return counts
