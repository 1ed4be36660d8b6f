r"""O-REPS where dynamics are counted: UC-O-REPS with full information, UOB-REPS with the loss of every step.

Outside the paper, which has the total alone. Here q is a table by (h, s, a, s'), an occupancy measure of some
dynamics between two bounds, and a step of mirror descent is a projection in relative entropy onto all these.
In the dual (`potentials`) a cell answers with the row between its bounds that is nearest to its weights in
relative entropy: weights times a common factor, cut off at the bounds.

From H losses seen, UOB-REPS estimates the table with the largest plausible chance u of passing a cell,
`l^(h,s,a) = 1{passed} l_h / (u(h,s) pi(a|s) + gamma)`, which is too small on average and so explores.

Source:
    Rosenberg and Mansour (2019), for `UCOREPS`; Jin, Jin, Luo, Sra and Yu (2020), Algorithm 2, for `UOBREPS`.
    Both have regret of order H² S sqrt(AK), up to logarithms; no constants are stated here. Bernstein's
    intervals are used for both, where Rosenberg and Mansour have L1 balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import (
    BoolArray,
    FloatArray,
    check_positive,
    check_rng,
    reduce_frozen,
)
from aggbandit.feedback import FullFeedback, StepFeedback
from aggbandit.learners import snapshots
from aggbandit.learners.fits import check_full, check_steps, check_world
from aggbandit.learners.in_use import alone
from aggbandit.learners.oreps import importance_weighted
from aggbandit.learners.potentials import Reply, minimize_over_potentials, onward
from aggbandit.learners.visits import IntervalDynamics, largest_chance
from aggbandit.mdp import FiniteHorizonMDP, Trajectory

__all__ = ["UCOREPS", "UOBREPS", "interval_projection", "nearest_rows", "uob_reps_rate"]


def uob_reps_rate(n_states: int, n_actions: int, horizon: int, episodes: int) -> float:
    """The rate eta, and gamma, of UOB-REPS: `sqrt(log(H² S A K) / (S A K))`.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.

    Returns:
        The rate.

    Source:
        Jin, Jin, Luo, Sra and Yu (2020), Theorem 3, with 1/K for their delta.
    """
    cells = n_states * n_actions * episodes
    return math.sqrt(math.log(max(2, horizon**2 * cells)) / cells)


# --- the projection -----------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """Between which rows of probabilities must lie, and the logarithms of that.

    Attributes:
        lower: (..., S) the least entries.
        upper: (..., S) the largest entries.
        log_lower: their logarithms.
        log_upper: their logarithms.
    """

    lower: FloatArray
    upper: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray

    @classmethod
    def of(cls, lower: FloatArray, upper: FloatArray) -> Bounds:
        """With logarithms.

        Args:
            lower: (..., S) sums at most one.
            upper: (..., S) sums at least one.

        Returns:
            The bounds.
        """
        with np.errstate(divide="ignore"):
            return cls(lower, upper, np.log(lower), np.log(upper))

    def at(self, h: int) -> Bounds:
        """Those of a step.

        Args:
            h: the step.

        Returns:
            The bounds.
        """
        return Bounds(*(array[h] for array in self))


class Rows(NamedTuple):
    """The rows nearest to weights.

    Attributes:
        value: (...,) `sum p (log w - log p)`.
        log_p: (..., S) the rows, by logarithm.
        free: (..., S) which entries are at no bound.
    """

    value: FloatArray
    log_p: FloatArray
    free: BoolArray


def nearest_rows(log_weight: FloatArray, bounds: Bounds) -> Rows:
    """The rows of probabilities between bounds that maximize `sum p (log w - log p)`.

    They are `p = min(max(lower, factor w), upper)`. Where no bound is met, the factor is one over the sum of
    w. Otherwise the sum of p grows with the factor, piece by piece between the factors at which some entry
    meets a bound; the piece is found by bisection over these.

    Args:
        log_weight: (..., S) log w, finite.
        bounds: of the same shape.

    Returns:
        The rows.

    Example:
        Half of a weight of two to one, cut off at 0.6:

        >>> bounds = Bounds.of(np.zeros(2), np.array([0.6, 1.0]))
        >>> np.exp(nearest_rows(np.log([2.0, 1.0]), bounds).log_p).round(3)
        array([0.6, 0.4])
    """
    top = log_weight.max(axis=-1, keepdims=True)
    v = log_weight - top
    total = np.log(np.exp(v).sum(axis=-1, keepdims=True))
    # Mostly no bound is met, and the row is that of the weights.
    log_p, value, free = v - total, (total + top)[..., 0], np.ones(v.shape, dtype=np.bool_)
    met = ((log_p < bounds.log_lower) | (log_p > bounds.log_upper)).any(axis=-1)
    if met.any():
        cut = _cut_off(v[met], Bounds(*(bound[met] for bound in bounds)))
        log_p[met], value[met], free[met] = cut.log_p, cut.value + top[met, 0], cut.free
    return Rows(value, log_p, free)


def _cut_off(v: FloatArray, bounds: Bounds) -> Rows:
    """`nearest_rows` of the logarithms v, (N, S), where some bound is met."""
    enters, leaves = bounds.log_lower - v, bounds.log_upper - v
    pieces = np.concatenate([enters, leaves], axis=-1)
    pieces.sort(axis=-1)
    number = np.arange(len(v))
    begin = np.zeros(len(v), dtype=np.int64)
    end = np.full_like(begin, pieces.shape[-1] - 1)
    for _ in range(int(pieces.shape[-1]).bit_length()):
        middle = (begin + end) // 2
        too_little = _cut(pieces[number, middle, None] + v, bounds).sum(axis=-1) <= 1
        begin, end = np.where(too_little, middle, begin), np.where(too_little, end, middle)
    first, last = pieces[number, begin, None], pieces[number, end, None]
    free = (enters <= first) & (leaves >= last)
    stuck = np.where(free, 0.0, np.where(leaves <= first, bounds.upper, bounds.lower))
    left = np.maximum(1 - stuck.sum(axis=-1, keepdims=True), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.log(left) - np.logaddexp.reduce(np.where(free, v, -np.inf), axis=-1, keepdims=True)
    factor = np.minimum(np.maximum(np.where(np.isnan(factor), last, factor), first), last)
    log_p = np.minimum(np.maximum(factor + v, bounds.log_lower), bounds.log_upper)
    p = np.exp(log_p)
    terms = np.where(p > 0, p * (v - np.where(p > 0, log_p, 0.0)), 0.0)
    return Rows(terms.sum(axis=-1), log_p, free)


def _cut(log_p: FloatArray, bounds: Bounds) -> FloatArray:
    return np.asarray(np.exp(np.minimum(np.maximum(log_p, bounds.log_lower), bounds.log_upper)))


@dataclass(frozen=True, eq=False)
class IntervalCells:
    """Relative entropy to weights, the dynamics between bounds: a cell answers with its nearest row.

    Args:
        log_weight: (H, S, A, S) log w, finite where a state can be met.
        bounds: of the rows.
        met: (H, S) the states that can be met; at the first step one, which has number 0.
    """

    log_weight: FloatArray
    bounds: Bounds
    met: BoolArray
    __reduce__ = reduce_frozen

    def log_mass(self, potential: FloatArray) -> tuple[FloatArray, Rows]:
        """How much passes the cells, and where it goes.

        Args:
            potential: (H, S) V.

        Returns:
            (H, S, A) the logarithm of the mass, and the rows.
        """
        rows = nearest_rows(self.log_weight - onward(potential)[:, None, None, :], self.bounds)
        return np.where(self.met[:, :, None], rows.value + potential[:, :, None], -np.inf), rows

    def answer(self, potential: FloatArray) -> Reply:
        """What the cells say to potentials.

        Args:
            potential: (H, S) V.

        Returns:
            The answer.
        """
        log_mass, rows = self.log_mass(potential)
        with np.errstate(over="ignore"):
            mass: FloatArray = np.exp(log_mass)
        p = np.exp(rows.log_p)
        # A row turns among its free entries: sum_a m (diag(p) - p p' / sum p).
        loose = np.where(rows.free, p, 0.0)
        share = loose.sum(axis=-1)
        weight = mass / np.where(share > 0, share, 1.0)
        horizon, n_states = potential.shape
        flat = loose.reshape(horizon, -1, n_states)
        bend = (weight.reshape(horizon, -1, 1) * flat).swapaxes(1, 2) @ -flat
        numbers = np.arange(n_states)
        bend[:, numbers, numbers] += (mass.reshape(horizon, 1, -1) @ flat)[:, 0]
        return Reply(float(mass.sum()), mass, p, mass, bend)

    def start(self, log_visits: FloatArray) -> FloatArray:
        """The potentials with which so much flows out of every state, backwards from the last step.

        Args:
            log_visits: (H, S) the logarithm of how much.

        Returns:
            (H, S) V.
        """
        potential = np.zeros(log_visits.shape)
        following = np.zeros(log_visits.shape[1])
        for h in reversed(range(len(potential))):
            value = nearest_rows(self.log_weight[h] - following, self.bounds.at(h)).value
            out = np.logaddexp.reduce(value, axis=1)
            np.subtract(log_visits[h], out, out=potential[h], where=self.met[h])
            following = potential[h]
        return potential


def interval_projection(
    log_weight: FloatArray, lower: FloatArray, upper: FloatArray, log_visits: FloatArray, met: BoolArray
) -> FloatArray:
    """The occupancy measure nearest to weights in relative entropy, of any dynamics between bounds.

    Args:
        log_weight: (H, S, A, S) log w, finite.
        lower: (H, S, A, S) the least entries of rows.
        upper: (H, S, A, S) the largest.
        log_visits: (H, S) a guess of `log sum q(h,s,.,.)`, where Newton's method begins.
        met: (H, S) the states that can be met; at the first step the one with number 0.

    Returns:
        (H, S, A, S) log q; at states that are not met, as in their rows.

    Raises:
        NoMinimizer: if double precision is not enough.

    Source:
        Jin, Jin, Luo, Sra and Yu (2020), Appendix A.2, where a generic solver finds it.
    """
    return _projection(IntervalCells(log_weight, Bounds.of(lower, upper), met), log_visits)


def _projection(cells: IntervalCells, log_visits: FloatArray) -> FloatArray:
    """`interval_projection`, of weights and bounds in cells."""
    minimum = minimize_over_potentials(cells, cells.start(log_visits))
    log_mass, rows = cells.log_mass(minimum.potential)
    return np.asarray(np.where(cells.met[:, :, None], log_mass, 0.0)[..., None] + rows.log_p)


# --- learners -----------------------------------------------------------------------------------------------


class CountedIterate:
    """Where mirror descent stands when transitions are counted: q_k by its logarithm, and the counts.

    It begins at the uniform table. States are numbered so that the initial one is 0 within.

    Args:
        visits: the counts and the intervals around them.
    """

    def __init__(self, visits: IntervalDynamics) -> None:
        self.visits = visits
        horizon, n_states, n_actions, _ = visits.shape
        self.met: BoolArray = np.ones((horizon, n_states), dtype=np.bool_)
        self.met[0, 1:] = False
        self.order = np.roll(np.arange(n_states), -visits.initial_state)  # the initial state first
        self.log_q: FloatArray = np.full(visits.shape, -math.log(n_states * n_actions * n_states))
        self.log_q[0] = -math.log(n_actions * n_states)
        self.bounds = self._bounds(visits)

    def _bounds(self, visits: IntervalDynamics) -> Bounds:
        """The intervals, in the order of the states within; they stand still during an epoch."""
        o = self.order
        return Bounds.of(*(b[:, o][:, :, :, o] for b in (visits.lower, visits.upper)))

    @property
    def policy(self) -> FloatArray:
        """(H, S, A) the policy of q_k; uniform where it cannot be at the first step."""
        log_mass = np.logaddexp.reduce(self.log_q, axis=3)
        weights = np.exp(log_mass - log_mass.max(axis=2, keepdims=True))
        weights[~self.met] = 1.0
        policy = np.empty(weights.shape)
        policy[:, self.order] = weights / weights.sum(axis=2, keepdims=True)
        return policy

    @property
    def arguments(self) -> tuple[str, ...]:
        """What a learner was made with here, by value; see `aggbandit.learners.identity`."""
        visits = self.visits
        return (
            f"shape={visits.shape}",
            f"initial_state={visits.initial_state}",
            f"episodes={visits.episodes}",
            f"delta={visits.delta!r}",
        )

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """All there is to go on from, by name: `log_q` and the counts."""
        return {"log_q": self.log_q} | self.visits.snapshot()

    def step(self, loss: FloatArray, trajectory: Trajectory) -> None:
        """`q_{k+1} = argmin <q, loss> + KL(q || q_k)` over the occupancy measures between the bounds.

        The bounds are those that hold once the trajectory is counted.

        Args:
            loss: (H, S, A, S) the rate times the losses, or a table that broadcasts to that.
            trajectory: of the episode.

        Raises:
            NoMinimizer: before anything changes, the counts too, if double precision is not enough.
        """
        visits, o = self.visits.after(trajectory), self.order
        rearranged = np.broadcast_to(loss, visits.shape)[:, o][:, :, :, o]
        bounds = self.bounds if visits.lower is self.visits.lower else self._bounds(visits)
        log_visits = np.log(np.exp(self.log_q).sum(axis=(2, 3)))
        cells = IntervalCells(self.log_q - rearranged, bounds, self.met)
        self.log_q = _projection(cells, log_visits)
        self.visits, self.bounds = visits, bounds

    def check_run(self, mdp: FiniteHorizonMDP) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state of the counts.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.visits.shape, self.visits.initial_state)

    def restore(self, snapshot: dict[str, NDArray[Any]], arguments: tuple[str, ...]) -> None:
        """Go to the `state` that a learner wrote down.

        Args:
            snapshot: what it wrote.
            arguments: of the learner that is to be restored.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        log_q = snapshots.read(snapshot, arguments, log_q=self.log_q.shape)["log_q"]
        self.visits.restore(snapshot)
        self.log_q, self.bounds = log_q, self._bounds(self.visits)


class UCOREPS:
    """UC-O-REPS: O-REPS with full information, the dynamics counted.

    It sees trajectories and whole loss functions, which may depend on the next state.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        eta: the learning rate; `theory.oreps_eta(S, A, K)` is the one for known dynamics.
        delta: the probability that the intervals ever miss the truth; 1/(HK) if None.
        initial_state: s_1.

    Raises:
        TypeError: for another kind of argument.
        ValueError: for values out of range.
        LearnerInUse: from `policy` and `observe`, when another thread plays the learner.

    Source:
        Rosenberg and Mansour (2019), Algorithm 2, with Bernstein's intervals.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 30
        >>> learner = ab.learners.UCOREPS(3, 2, 3, episodes, eta=ab.theory.oreps_eta(3, 2, episodes))
        >>> losses = ab.losses.fixed(world.loss, episodes)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0))
        >>> [round(float(loss), 2) for loss in history.expected_loss[[0, 14, 29]]]  # the best: 1.01
        [1.64, 1.29, 1.25]
    """

    feedback: ClassVar[type[FullFeedback]] = FullFeedback

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        episodes: int,
        eta: float,
        delta: float | None = None,
        initial_state: int = 0,
    ) -> None:
        visits = IntervalDynamics(n_states, n_actions, horizon, episodes, delta, initial_state)
        self.iterate, self.eta = CountedIterate(visits), check_positive("eta", eta)

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of q_k.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        return self.iterate.policy

    @alone
    def observe(self, feedback: FullFeedback) -> None:
        """Count the trajectory, and a step of mirror descent on the losses.

        Args:
            feedback: the trajectory and the loss function.

        Raises:
            TypeError: unless it is a `FullFeedback`.
            ValueError: before anything changes, for losses outside [0, 1] or a trajectory of another world.
            NoMinimizer: before anything changes, if double precision is not enough.
        """
        check_full(feedback, self.iterate.visits.shape, self.iterate.visits.initial_state)
        self.iterate.step(self.eta * feedback.loss, feedback.trajectory)

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state this learner was made for.
            episodes: how many are to be played; the intervals were made for K in all.

        Raises:
            ValueError: for another world.
        """
        self.iterate.check_run(mdp)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        return (*self.iterate.arguments, f"eta={self.eta!r}")

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(self.arguments, **self.iterate.state)

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        self.iterate.restore(snapshot, self.arguments)


class UOBREPS:
    """UOB-REPS: O-REPS with the loss of every step, the dynamics counted.

    It sees trajectories and the losses of their steps.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        eta: the learning rate; `uob_reps_rate(S, A, H, K)` if None.
        gamma: what is added to every chance in the estimate; as eta's default if None.
        delta: the probability that the intervals ever miss the truth; 1/(HK) if None.
        initial_state: s_1.

    Raises:
        TypeError: for another kind of argument.
        ValueError: for values out of range.
        LearnerInUse: from `policy` and `observe`, when another thread plays the learner.

    Source:
        Jin, Jin, Luo, Sra and Yu (2020), Algorithm 2.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 30
        >>> learner = ab.learners.UOBREPS(3, 2, 3, episodes)
        >>> losses = ab.losses.fixed(world.loss, episodes)
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(0))
        >>> [round(float(loss), 2) for loss in history.expected_loss[[0, 14, 29]]]  # the best: 1.01
        [1.64, 1.61, 1.56]
    """

    feedback: ClassVar[type[StepFeedback]] = StepFeedback

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        episodes: int,
        eta: float | None = None,
        gamma: float | None = None,
        delta: float | None = None,
        initial_state: int = 0,
    ) -> None:
        visits = IntervalDynamics(n_states, n_actions, horizon, episodes, delta, initial_state)
        rate = uob_reps_rate(n_states, n_actions, horizon, episodes)
        self.iterate = CountedIterate(visits)
        self.eta = check_positive("eta", rate if eta is None else eta)
        self.gamma = check_positive("gamma", rate if gamma is None else gamma)

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The policy of q_k.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        return self.iterate.policy

    @alone
    def observe(self, feedback: StepFeedback) -> None:
        """Estimate the losses, count the trajectory, and a step of mirror descent.

        Args:
            feedback: the trajectory and its H losses.

        Raises:
            TypeError: unless it is a `StepFeedback`.
            ValueError: before anything changes, for losses outside [0, 1] or a trajectory of another world.
            NoMinimizer: before anything changes, if double precision is not enough.
        """
        visits = self.iterate.visits
        check_steps(feedback, visits.shape, visits.initial_state)
        chances = upper_chances(visits, self.iterate.policy, feedback)
        estimate = importance_weighted(feedback, chances + self.gamma)
        self.iterate.step(self.eta * estimate[..., None], feedback.trajectory)

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state this learner was made for.
            episodes: how many are to be played; the intervals were made for K in all.

        Raises:
            ValueError: for another world.
        """
        self.iterate.check_run(mdp)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        return (*self.iterate.arguments, f"eta={self.eta!r}", f"gamma={self.gamma!r}")

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(self.arguments, **self.iterate.state)

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        self.iterate.restore(snapshot, self.arguments)


def upper_chances(visits: IntervalDynamics, policy: FloatArray, feedback: StepFeedback) -> FloatArray:
    """The largest plausible chances of the cells that a trajectory passed: `u(h,s) pi(a|s)`.

    Args:
        visits: what is known of the dynamics.
        policy: (H, S, A) that was played.
        feedback: of the episode.

    Returns:
        (H, S, A) the chances, zero at cells that were not passed.
    """
    chances = np.zeros(policy.shape)
    steps, states, actions, _ = feedback.trajectory.cells
    for h, s, a in zip(steps, states, actions, strict=True):
        chances[h, s, a] = largest_chance(visits, policy, int(h), int(s)) * policy[h, s, a]
    return chances
