r"""Losses that come from a distribution: Thompson sampling from totals, and optimistic value iteration.

Outside the paper, whose losses may be anything. If every step's loss is drawn anew around a mean that stays,
a total is one linear equation for the table of means, and least squares solve it. `ThompsonSampling` plays
the policy that would be best for a draw from the posterior::

    A_k = lambda I + sum x x',    l^_k = A_k^-1 sum x L,    l~_k ~ N(l^_k, v² A_k^-1),

x the counts of the cells (h, s, a) that an episode passed. `OptimisticValueIteration` is its relative that
sees the loss of every step, and believes of every cell the best that the counts allow.

Against losses that may be anything neither has a bound. Value iteration does not even hesitate: what it will
play can be foreseen, and be made expensive.

Source:
    Efroni, Merlis and Mannor (2021), for Thompson sampling on trajectory counts and for redoing the factors
    rarely; Azar, Osband and Munos (2017), for value iteration with bonuses of Hoeffding's kind.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtrs

from aggbandit._arrays import (
    FloatArray,
    check_has,
    check_nonnegative,
    check_number,
    check_positive,
    check_positive_int,
    check_rng,
)
from aggbandit.feedback import AggregateFeedback, StepFeedback
from aggbandit.learners import snapshots
from aggbandit.learners.fits import check_aggregate, check_steps, check_world, failure_probability
from aggbandit.learners.identity import described
from aggbandit.learners.in_use import alone
from aggbandit.learners.visits import EmpiricalDynamics, KnownDynamics, Visits
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["OptimisticValueIteration", "ThompsonSampling"]


class ThompsonSampling:
    """Thompson sampling from totals: the best policy for a draw from `N(l^, v² A^-1)`.

    It sees trajectories and totals. What it knows of the dynamics is `visits`; of several plausible ones it
    takes, in every cell, the best for it.

    The factor of A is made anew when the determinant of A has grown by `growth`; draws in between use the
    old factor and mean.

    Args:
        visits: `KnownDynamics(mdp)`, `IntervalDynamics(...)`, or any other knowledge.
        scale: v. The theorem asks for about `H sqrt(HSA log K)`; less explores less, and mostly suffices.
        ridge: lambda, positive.
        growth: at least 1; at 1 every draw is from the posterior as it stands.

    Raises:
        TypeError: for an argument of another kind.
        ValueError: for values out of range.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Efroni, Merlis and Mannor (2021), Sections 4 and 5.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 300
        >>> learner = ab.learners.ThompsonSampling(ab.learners.KnownDynamics(world.mdp), scale=0.5)
        >>> losses = ab.losses.bernoulli(world.loss, episodes, np.random.default_rng(0))
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(1))
        >>> round(world.mdp.expected_loss(learner.best_guess, world.loss), 2)  # the best: 1.01
        1.04
    """

    feedback: ClassVar[type[AggregateFeedback]] = AggregateFeedback

    def __init__(self, visits: Visits, scale: float, *, ridge: float = 1.0, growth: float = 2.0) -> None:
        check_has("visits", visits, ("bracket", "largest", "observe"), "ab.learners.KnownDynamics(mdp)")
        self.visits, self.scale = visits, check_positive("scale", scale)
        self.ridge, self.growth = check_positive("ridge", ridge), check_number("growth", growth)
        if not 1 <= self.growth < math.inf:
            raise ValueError(f"growth is {growth}; it must be at least 1")
        self.cells = visits.shape[:3]
        size = math.prod(self.cells)
        self.moment: FloatArray = self.ridge * np.eye(size)
        self.response: FloatArray = np.zeros(size)
        self._switch()

    def _switch(self) -> None:
        """Mean, factor and inverse of the posterior as it stands."""
        self.factor: FloatArray = np.asarray(np.linalg.cholesky(self.moment), dtype=np.float64)
        half, _ = dtrtrs(self.factor.T, np.eye(len(self.moment)), trans=1)
        self.inverse: FloatArray = half.T @ half
        self.mean: FloatArray = self.inverse @ self.response
        self.grown = 1.0

    @property
    def best_guess(self) -> FloatArray:
        """(H, S, A) the best policy for the mean of the posterior, as of the last factor."""
        return plan(self.mean.reshape(self.cells), self.visits)

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The best policy for a draw from the posterior.

        Args:
            rng: HSA normals are drawn from it.

        Returns:
            (H, S, A) zeros and ones.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        normal = rng.standard_normal(len(self.mean))
        spread, _ = dtrtrs(self.factor.T, normal)  # of covariance A^-1
        draw = self.mean + self.scale * spread
        return plan(draw.reshape(self.cells), self.visits)

    @alone
    def observe(self, feedback: AggregateFeedback) -> None:
        """One more equation: `x . l = L`.

        Args:
            feedback: the trajectory and its total loss.

        Raises:
            TypeError: unless it is an `AggregateFeedback`.
            ValueError: before anything changes, for a total outside [0, H] or a trajectory of another world.
        """
        check_aggregate(feedback, self.visits.shape, self.visits.initial_state)
        passed = np.ravel_multi_index(feedback.trajectory.cells[:3], self.cells)
        self.moment[passed[:, None], passed] += 1.0
        self.response[passed] += feedback.total
        # The inverse by Sherman and Morrison; the determinant grows by 1 + x' A^-1 x.
        moved = self.inverse[:, passed].sum(axis=1)
        ratio = 1.0 + float(moved[passed].sum())
        self.inverse -= moved[:, None] * (moved / ratio)
        self.grown *= ratio
        self.visits.observe(feedback.trajectory)
        if self.grown >= self.growth:
            self._switch()

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state this learner was made for.
            episodes: how many are to be played; any number can be.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.visits.shape, self.visits.initial_state)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        known = isinstance(self.visits, KnownDynamics)
        knowledge = described(self.visits) if known else f"{type(self.visits).__name__}{self.visits.shape}"
        return (
            f"visits={knowledge}",
            f"scale={self.scale!r}",
            f"ridge={self.ridge!r}",
            f"growth={self.growth!r}",
        )

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(
            self.arguments,
            moment=self.moment,
            response=self.response,
            factor=self.factor,
            inverse=self.inverse,
            mean=self.mean,
            grown=np.array([self.grown]),
            **self.visits.snapshot(),
        )

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        square, line = self.moment.shape, self.response.shape
        state = snapshots.read(
            snapshot,
            self.arguments,
            moment=square,
            response=line,
            factor=square,
            inverse=square,
            mean=line,
            grown=(1,),
        )
        if not np.allclose(state["moment"] @ state["inverse"], np.eye(len(self.mean)), atol=1e-6):
            raise ValueError("the inverse of the state is not that of its moment")
        self.visits.restore(snapshot)
        self.moment, self.response, self.factor = state["moment"], state["response"], state["factor"]
        self.inverse, self.mean, self.grown = state["inverse"], state["mean"], float(state["grown"][0])


def plan(loss: FloatArray, visits: Visits) -> FloatArray:
    """The best policy for a table of losses, by dynamic programming, in the best plausible world.

    Args:
        loss: (H, S, A) the losses.
        visits: what is known of the dynamics.

    Returns:
        (H, S, A) zeros and ones; ties go to the action of the smallest index.
    """
    policy = np.zeros(loss.shape)
    value = np.zeros(loss.shape[1])
    for h in reversed(range(len(loss))):
        q = loss[h] - visits.largest(h, -value)
        policy[h, np.arange(len(value)), q.argmin(axis=1)] = 1.0
        value = q.min(axis=1)
    return policy


class OptimisticValueIteration:
    """The best policy if every cell were as cheap as its counts allow.

    It sees trajectories and the losses of their steps. With n = N(h,s,a) visits and h counted from 1::

        Q_h(s,a) = max(0, l^ + sum_s' P_hat V_{h+1}(s') - (H - h + 1) sqrt(log(HSAK/delta) / (2 n))),

    and 0 where n = 0. With probability 1 - delta, Q is nowhere above the truth: by Hoeffding's inequality for
    `l_h + V*_{h+1}(s_{h+1})`, which lies in [0, H - h + 1], backwards from the last step.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        delta: 1/(HK) if None.
        bonus: a multiple of the bonus; below 1 outside the theorem.
        initial_state: s_1.

    Raises:
        TypeError: for what is no number.
        ValueError: for values out of range.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Azar, Osband and Munos (2017), Algorithm 1 (UCBVI); the constants of the bonus are ours, and so is
        `theory.optimistic_values_bound`.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world, episodes = ab.night_driver(), 300
        >>> learner = ab.learners.OptimisticValueIteration(3, 2, 3, episodes, bonus=0.2)
        >>> losses = ab.losses.bernoulli(world.loss, episodes, np.random.default_rng(0))
        >>> history = ab.simulate(learner, world, losses, np.random.default_rng(1))
        >>> best = world.mdp.best_policy(world.loss)[1]
        >>> bool(history.expected_loss[-100:].mean() < 1.3 * best)
        True
    """

    feedback: ClassVar[type[StepFeedback]] = StepFeedback

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        episodes: int,
        delta: float | None = None,
        bonus: float = 1.0,
        initial_state: int = 0,
    ) -> None:
        check_positive_int("episodes", episodes)
        self.visits = EmpiricalDynamics(n_states, n_actions, horizon, initial_state)
        self.episodes = int(episodes)
        self.delta = failure_probability(delta, horizon, self.episodes)
        self.bonus = check_positive("bonus", bonus)
        self.paid: FloatArray = np.zeros(self.visits.shape[:3])
        self._policy, self.value = self._plan()

    def _plan(self) -> tuple[FloatArray, FloatArray]:
        """The policy, (H, S, A), and the values V, (H, S)."""
        horizon, n_states, n_actions, _ = self.visits.shape
        count = self.visits.counts.sum(axis=3)
        often = np.maximum(count, 1)
        iota = math.log(horizon * n_states * n_actions * self.episodes / self.delta)
        left = np.arange(horizon, 0, -1)[:, None, None]
        cheap = self.paid / often - self.bonus * left * np.sqrt(iota / (2 * often))
        policy, values = np.zeros(cheap.shape), np.zeros(cheap.shape[:2])
        following = np.zeros(n_states)
        for h in reversed(range(horizon)):
            q = np.where(count[h] > 0, np.maximum(0.0, cheap[h] + self.visits.P_hat[h] @ following), 0.0)
            policy[h, np.arange(n_states), q.argmin(axis=1)] = 1.0
            following = values[h] = q.min(axis=1)
        return policy, values

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """The best policy for what is believed; ties go to the action of the smallest index.

        Args:
            rng: nothing is drawn from it.

        Returns:
            (H, S, A) zeros and ones.

        Raises:
            TypeError: unless `rng` is a generator.
        """
        check_rng(rng)
        return self._policy

    @alone
    def observe(self, feedback: StepFeedback) -> None:
        """Count the steps and what they cost, and plan anew.

        Args:
            feedback: the trajectory and its H losses.

        Raises:
            TypeError: unless it is a `StepFeedback`.
            ValueError: before anything changes, for losses outside [0, 1] or a trajectory of another world.
        """
        check_steps(feedback, self.visits.shape, self.visits.initial_state)
        self.visits.observe(feedback.trajectory)
        self.paid[feedback.trajectory.cells[:3]] += feedback.losses
        self._policy, self.value = self._plan()

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state this learner was made for.
            episodes: how many are to be played; the bonus was made for K in all.

        Raises:
            ValueError: for another world.
        """
        check_world(mdp, self.visits.shape, self.visits.initial_state)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        start = f"initial_state={self.visits.initial_state}"
        how = f"episodes={self.episodes}", f"delta={self.delta!r}", f"bonus={self.bonus!r}"
        return (f"shape={self.visits.shape}", start, *how)

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse."""
        return snapshots.written(self.arguments, paid=self.paid, **self.visits.snapshot())

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments.

        Raises:
            ValueError: before anything changes, if it is no such state.
        """
        paid = snapshots.read(snapshot, self.arguments, paid=self.paid.shape)["paid"]
        check_nonnegative("paid", paid, "a sum of losses")
        self.visits.restore(snapshot)
        self.paid = paid
        self._policy, self.value = self._plan()
