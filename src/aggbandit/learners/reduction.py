"""Algorithm 3: learning in an unknown world from aggregate feedback, by playing Algorithm 2 on sets S_i.

An epoch fixes what has been counted, and with it the set S_i of plausible occupancy measures and the
perturbation eps_i. In it Algorithm 2 plays occupancy measures y_k; the policy of y_k is played in the world.
The true occupancy measure of that policy is within |eps_i . y_k| of y_k: a distorted linear bandit.

Source: Section A, Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggbandit import cost, theory
from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_finite,
    check_function,
    check_has,
    check_kind,
    check_memory,
    check_nonnegative,
    check_number,
    check_positive_int,
    check_rng,
    check_shape,
    check_state,
    first,
    integer_array,
    real_array,
)
from aggbandit.feedback import AggregateFeedback
from aggbandit.geometry.occupancy_barrier import OccupancyBarrier
from aggbandit.geometry.occupancy_set import OccupancySet
from aggbandit.learners.confidence import Confidence, CorrectedConfidence, empirical_dynamics
from aggbandit.learners.epochs import Epoch, EpochSummary, epoch_budget, epoch_over, restart
from aggbandit.learners.fits import check_trajectory
from aggbandit.learners.identity import NAMELESS, described
from aggbandit.learners.in_use import alone
from aggbandit.learners.increasing_rates import (
    IncreasingRateOMD,
    IncreasingRateRound,
    OMDState,
    check_observation,
    check_rate,
)
from aggbandit.learners.rates import Rates
from aggbandit.mdp import FiniteHorizonMDP
from aggbandit.occupancy import policy_of

__all__ = ["AggregateFeedbackLearner", "RunningMean", "Tallies"]


# What a snapshot holds.
KEYS = {
    "arguments",
    "counts",
    "in_epoch",
    "first_dual",
    "center",
    "dual",
    "scalars",
    "counters",
    "finished",
}


@dataclass(frozen=True)
class RunningMean:
    """The mean of all totals seen so far as the baseline of the next estimate; H/2 before the first.

    Known before the episode, so the estimate stays unbiased; it has far less variance. Not in the paper.
    """


@dataclass(frozen=True)
class Tallies:
    """What is counted since the epoch began, and nothing depends on.

    Args:
        clipped: episodes whose rate met the clip.
        newton_steps: taken in all mirror steps.
        damped: how many of these were damped.
    """

    clipped: int = 0
    newton_steps: int = 0
    damped: int = 0


class AggregateFeedbackLearner:
    """Algorithm 3, with Algorithm 2 inside: it sees trajectories and totals, and no dynamics.

    Args:
        n_states: S.
        n_actions: A.
        horizon: H.
        episodes: K.
        rates: `theorem_rates()` or `tuned_rates(scale)`; there is no default, since they differ so much.
        confidence: `CorrectedConfidence()` (the default) or `TightConfidence()`.
        between_epochs: `epochs.restart` (the paper) or `epochs.carry` (outside the theorem).
        baseline: what is subtracted from every total: a number in [0, H] (0 in the paper), or
            `RunningMean()`.
        initial_state: s_1.

    Raises:
        ValueError: for sizes that are not positive integers, a state or a baseline out of range, a first rate
            that is not positive, radii or perturbations that are none.
        TypeError: for an argument of another kind, saying what to write instead.
        MemoryError: before anything is allocated, for a world too large for this machine.
        LearnerInUse: from every method, when another thread plays the learner.

    Source:
        Section A, Algorithm 3.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> K = 300
        >>> learner = ab.AggregateFeedbackLearner(
        ...     n_states=3, n_actions=2, horizon=3, episodes=K,
        ...     rates=ab.tuned_rates(3.0), between_epochs=ab.epochs.carry,
        ...     baseline=ab.RunningMean(), initial_state=world.mdp.initial_state,
        ... )
        >>> losses = ab.losses.fixed(world.loss, K)
        >>> rng = np.random.default_rng(0)
        >>> history = ab.simulate(learner, world.mdp, losses, rng, engine="reference")
        >>> len(history), learner.episode
        (300, 300)
    """

    feedback = AggregateFeedback

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        horizon: int,
        episodes: int,
        *,
        rates: Rates,
        confidence: Confidence | None = None,
        between_epochs: Callable[[FloatArray], FloatArray] = restart,
        baseline: float | RunningMean = 0.0,
        initial_state: int = 0,
    ) -> None:
        sizes = {"n_states": n_states, "n_actions": n_actions, "horizon": horizon, "episodes": episodes}
        for name, value in sizes.items():
            check_positive_int(name, value)
        check_state("initial_state", initial_state, n_states)
        check_has("rates", rates, ("eta0", "schedule"), "ab.theorem_rates() or ab.tuned_rates(scale)")
        check_has(
            "rates.schedule", rates.schedule, ("next_rate",), "ab.IncreasingRate() or ab.ConstantRate(factor)"
        )
        confidence = CorrectedConfidence() if confidence is None else confidence
        check_has(
            "confidence",
            confidence,
            ("radius", "epsilon"),
            "ab.CorrectedConfidence(delta) or ab.TightConfidence(delta)",
        )
        check_function("between_epochs", between_epochs, "ab.epochs.restart or ab.epochs.carry")
        if not isinstance(baseline, RunningMean):
            check_kind("baseline", baseline, Real, "a number or ab.RunningMean()")
            if not 0 <= check_number("baseline", baseline) <= horizon:
                raise ValueError(f"baseline is {baseline}; it must lie in [0, {horizon}]")
        check_memory(
            f"a learner of {horizon} steps, {n_states} states and {n_actions} actions",
            cost.of_reduction(horizon, n_states, n_actions).bytes,
        )
        self.shape = (int(horizon), int(n_states), int(n_actions), int(n_states))
        self.episodes = int(episodes)
        self.initial_state = int(initial_state)
        self.rates = rates
        self.confidence: Confidence = confidence
        self.between_epochs = between_epochs
        self.baseline = baseline
        self.episode = 0  # how many have been played
        self.sum_of_totals = 0.0
        self.finished_epochs: tuple[EpochSummary, ...] = ()
        # Line 1.
        counts = np.zeros(self.shape, dtype=np.int64)
        self._begin(self._epoch(1, 0, counts, np.zeros(self.shape)))

    # Algorithm 3, a part at a time.

    def _epoch(self, index: int, first_episode: int, counts: IntArray, dual: FloatArray) -> Epoch:
        """Lines 3-6: the set S_i, eps_i, and what Algorithm 2 needs to begin on them at `dual`."""
        horizon = self.shape[0]
        P_hat = empirical_dynamics(counts)
        epsilon = self.confidence.epsilon(counts, self.episodes)
        check_shape("epsilon", epsilon, self.shape[:3], "(H, S, A)")
        check_finite("epsilon", epsilon)
        check_nonnegative("epsilon", epsilon, "a perturbation")
        body = OccupancySet(P_hat, self.confidence.radius(counts, self.episodes), self.initial_state)
        barrier = OccupancyBarrier(body)
        budget = epoch_budget(counts, epsilon, self.initial_state)
        wished = cap = 1.0
        if barrier.dimension > 0:
            wished = self.rates.eta0(barrier.dimension, barrier.theta, float(horizon), self.episodes, budget)
            cap = theory.eta0_cap(barrier.dimension, float(horizon), self._constant_baseline())
            check_rate("eta0", wished)
        return Epoch(
            index=index,
            first_episode=first_episode,
            counts=counts,
            body=body,
            epsilon=epsilon,
            budget=budget,
            theta=barrier.theta,
            eta0=float(min(wished, cap)),
            eta0_capped=bool(wished > cap),
            dual=dual,
        )

    def _begin(self, epoch: Epoch) -> None:
        self.epoch = epoch
        self.in_epoch = np.zeros(self.shape, dtype=np.int64)
        self.tallies = Tallies()
        self._barrier = OccupancyBarrier(epoch.body)
        self._state: OMDState | None = None
        self._bandit: IncreasingRateOMD | None = None

    @alone
    def policy(self, rng: np.random.Generator) -> FloatArray:
        """Lines 8 and 9: predict an occupancy measure y_k in S_i, and play its policy.

        Args:
            rng: the source of all randomness; `OccupancyDikin.sample` says what is drawn.

        Returns:
            (H, S, A) the policy.

        Raises:
            TypeError: unless `rng` is a generator.
            RuntimeError: when all K episodes have been played: radii and rates were made for K.
        """
        check_rng(rng)
        self.check_episodes(1)
        if self._barrier.dimension == 0:
            return policy_of(self._barrier.dikin(self.state.center).sample(rng))
        self._bandit = self._instance()
        return policy_of(self._bandit.predict(rng))

    @alone
    def observe(self, feedback: AggregateFeedback) -> IncreasingRateRound | None:
        """Lines 10-14: feed Algorithm 2, count, and end the epoch when a count has doubled.

        Args:
            feedback: the trajectory and its total loss.

        Returns:
            The round of Algorithm 2; None if S = A = 1, where there is nothing to learn.

        Raises:
            TypeError: unless it is an `AggregateFeedback`.
            ValueError: before anything changes, for a total outside [0, H], or a trajectory of another shape
                or from another state than s_1.
            RuntimeError: when no policy was asked for.
        """
        check_kind("feedback", feedback, AggregateFeedback, "ab.AggregateFeedback.observe(trajectory, loss)")
        trajectory, total = feedback.trajectory, feedback.total
        check_trajectory(trajectory, self.shape, self.initial_state)
        z_hat = trajectory.indicator()
        epsilon = np.broadcast_to(self.epoch.epsilon[..., None], self.shape)
        check_observation(total, z_hat, epsilon, self.shape, float(self.shape[0]))
        # Line 11.
        played: IncreasingRateRound | None = None
        if self._barrier.dimension > 0:
            if self._bandit is None:
                raise RuntimeError(f"episode {self.episode}: observe was called before policy")
            self._bandit.baseline = self.next_baseline()
            played = self._bandit.update(total, z_hat, epsilon)
            self._state = self._bandit.state
            self.tallies = Tallies(
                clipped=self.tallies.clipped + played.clipped,
                newton_steps=self.tallies.newton_steps + played.iterations,
                damped=self.tallies.damped + played.damped,
            )
        # Line 12.
        self.episode += 1
        self.sum_of_totals += total
        self.in_epoch += z_hat.astype(np.int64)
        if epoch_over(self.in_epoch, self.epoch.counts).any():
            self.end_epoch()
        return played

    def end_epoch(self) -> None:
        """Line 14: `N_{i+1} = N_i + n_i`, and the next epoch begins."""
        dual = real_array(
            "between_epochs(dual)",
            self.between_epochs(self.epoch.dual if self._state is None else self._state.dual),
        )
        check_shape("between_epochs(dual)", dual, self.shape, "(H, S, A, S)")
        check_finite("between_epochs(dual)", dual)
        summary = self._summary()
        epoch = self._epoch(self.epoch.index + 1, self.episode, self.epoch.counts + self.in_epoch, dual)
        self.finished_epochs = (*self.finished_epochs, summary)
        self._begin(epoch)

    # Algorithm 2 inside.

    @property
    def begun(self) -> bool:
        """Whether Algorithm 2 has its first point of this epoch; finding it takes a while."""
        return self._state is not None

    @property
    def state(self) -> OMDState:
        """Where Algorithm 2 is in this epoch; it may be set, by an engine say."""
        if self._state is None:
            self._state = self._first_state()
        return self._state

    @state.setter
    def state(self, state: OMDState) -> None:
        self._state, self._bandit = state, None

    def _first_state(self) -> OMDState:
        """Lines 5 and 6: the point of the new set that minimizes `R(x) + dual . x`."""
        dual, start = self.epoch.dual, self.epoch.body.interior_point()
        if self._barrier.dimension > 0:
            center = self._barrier.analytic_center()
            start = self._barrier.minimize(dual, center).x
        return OMDState(start, dual, self.epoch.eta0)

    def _instance(self) -> IncreasingRateOMD:
        """Algorithm 2 on S_i, where `state` says it is."""
        if self._bandit is not None:
            return self._bandit
        return IncreasingRateOMD(
            self._barrier,
            self.episodes,
            float(self.shape[0]),
            eta0=self.epoch.eta0,
            baseline=self._constant_baseline(),
            schedule=self.rates.schedule,
            state=self.state,
        )

    def _constant_baseline(self) -> float:
        return 0.0 if isinstance(self.baseline, RunningMean) else float(self.baseline)

    def next_baseline(self) -> float:
        """What will be subtracted from the next total."""
        if not isinstance(self.baseline, RunningMean):
            return float(self.baseline)
        return self.sum_of_totals / self.episode if self.episode else self.shape[0] / 2

    def _summary(self) -> EpochSummary:
        epoch, tallies = self.epoch, self.tallies
        return EpochSummary(
            index=epoch.index,
            first_episode=epoch.first_episode,
            episodes=self.episode - epoch.first_episode,
            constrained=int(epoch.body.constrained[epoch.body.cells].sum()),
            eta0=epoch.eta0,
            eta0_capped=epoch.eta0_capped,
            clipped=tallies.clipped,
            newton_steps=tallies.newton_steps,
            damped=tallies.damped,
        )

    def check_world(self, mdp: FiniteHorizonMDP) -> None:
        """Refuse another world.

        Args:
            mdp: the world; it must have the sizes and the initial state that this learner was made for.

        Raises:
            ValueError: if it has not.
        """
        if self.shape != mdp.shape or self.initial_state != mdp.initial_state:
            raise ValueError(
                f"the learner expects (H, S, A, S) = {self.shape} from state {self.initial_state}; "
                f"the world has {mdp.shape} from state {mdp.initial_state}"
            )

    def check_episodes(self, more: int) -> None:
        """Refuse more episodes than the learner was made for: radii and rates were made for K.

        Args:
            more: how many are to be played from here.

        Raises:
            RuntimeError: if they are too many.
        """
        if self.episode + more > self.episodes:
            raise RuntimeError(
                f"{more} more episodes after {self.episode}; the learner was made for {self.episodes} in all"
            )

    def check_run(self, mdp: FiniteHorizonMDP, episodes: int) -> None:
        """Refuse a run beforehand that cannot be played.

        Args:
            mdp: the world; it must have the sizes and the initial state this learner was made for.
            episodes: how many more are to be played; radii and rates were made for K in all.

        Raises:
            ValueError: for another world.
            RuntimeError: for too many episodes.
        """
        self.check_world(mdp)
        self.check_episodes(episodes)

    # Writing the state down.

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the learner was made with, by value; see `aggbandit.learners.identity`."""
        horizon, n_states, n_actions, _ = self.shape
        values = {
            "n_states": n_states,
            "n_actions": n_actions,
            "horizon": horizon,
            "episodes": self.episodes,
            "rates": self.rates,
            "confidence": self.confidence,
            "between_epochs": self.between_epochs,
            "baseline": self.baseline,
            "initial_state": self.initial_state,
        }
        return tuple(f"{name}={described(value)}" for name, value in values.items())

    def _check_arguments(self, arguments: NDArray[Any]) -> None:
        """Raise ValueError unless a state is of a learner made with the same arguments."""
        theirs, ours = [str(text) for text in np.ravel(arguments)], self.arguments
        if len(theirs) != len(ours):
            raise ValueError(f"the state is of a learner with {len(theirs)} arguments; expected {len(ours)}")
        for their, our in zip(theirs, ours, strict=True):
            if their != our:
                raise ValueError(f"the state is of a learner with {their}; this one has {our}")
        for our in ours:
            if NAMELESS in our:
                raise ValueError(
                    f"{our}: nobody can tell whether it is the same as then; a function or class is known "
                    "again if it is defined at the top level of a module or notebook"
                )

    @alone
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state; `restore` is its inverse.

        Returns:
            Copies: nothing is shared with the learner.
        """
        epoch, tallies, state = self.epoch, self.tallies, self._state
        nothing = np.zeros(0)
        return {
            "arguments": np.array(self.arguments),
            "counts": epoch.counts.copy(),
            "in_epoch": self.in_epoch.copy(),
            "first_dual": epoch.dual.copy(),
            "center": nothing if state is None else state.center.copy(),
            "dual": nothing if state is None else state.dual.copy(),
            "scalars": np.array([epoch.eta0 if state is None else state.eta, self.sum_of_totals]),
            "counters": np.array(
                [self.episode, epoch.first_episode, tallies.clipped, tallies.newton_steps, tallies.damped]
            ),
            "finished": np.array([astuple(e) for e in self.finished_epochs], dtype=np.float64).reshape(
                -1, len(fields(EpochSummary))
            ),
        }

    @alone
    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that a snapshot describes.

        Args:
            snapshot: what `snapshot` returned, of a learner made with the same arguments; it is only read.

        Raises:
            ValueError: before anything changes, if it is of a learner made with other arguments, if something
                is missing, or if it cannot be the state of any run.
        """
        missing = KEYS - snapshot.keys()
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        self._check_arguments(snapshot["arguments"])
        episode, began, *counted = self._counters(snapshot["counters"])
        eta, sum_of_totals = self._scalars(snapshot["scalars"], episode)
        finished = _finished(snapshot["finished"], began)
        counts = self._counts("counts", snapshot["counts"], began)
        in_epoch = self._counts("in_epoch", snapshot["in_epoch"], episode - began)
        if epoch_over(in_epoch, counts).any():
            raise ValueError("in_epoch has counts at which the epoch would have ended")
        first_dual = np.array(real_array("first_dual", snapshot["first_dual"]))
        check_shape("first_dual", first_dual, self.shape, "(H, S, A, S)")
        check_finite("first_dual", first_dual)
        epoch = self._epoch(len(finished) + 1, began, counts, first_dual)
        state = None
        if np.size(snapshot["center"]):
            state = OMDState(snapshot["center"], snapshot["dual"], eta, episode - began + 1)
            epoch.body.check(state.center)
            OccupancyBarrier(epoch.body).dikin(state.center)
        elif episode != began:
            raise ValueError(f"the center is missing after {episode - began} episodes of the epoch")
        self._begin(epoch)
        self.in_epoch, self.tallies, self._state = in_epoch, Tallies(*counted), state
        self.episode, self.sum_of_totals, self.finished_epochs = episode, sum_of_totals, finished

    def _counters(self, values: NDArray[Any]) -> list[int]:
        """Episodes, the epoch's first one and its tallies, once they do not contradict one another."""
        counters = integer_array("counters", values)
        check_shape("counters", counters, (5,), "one a counter")
        episode, began, clipped, newton_steps, damped = counters.tolist()
        if not (0 <= began <= episode <= self.episodes):
            raise ValueError(f"an epoch from {began}, after {episode} of {self.episodes} episodes, cannot be")
        if not (0 <= clipped <= episode - began and 0 <= damped <= newton_steps):
            raise ValueError(
                f"{clipped} rates clipped in {episode - began} episodes, {damped} of {newton_steps} Newton "
                "steps damped: that cannot be"
            )
        return [episode, began, clipped, newton_steps, damped]

    def _scalars(self, values: NDArray[Any], episode: int) -> tuple[float, float]:
        """The last rate and the sum of totals, once they can be that."""
        scalars = real_array("scalars", values)
        check_shape("scalars", scalars, (2,), "rate and sum")
        eta, total = scalars.tolist()
        check_rate("eta", eta)
        if not -1e-9 <= total <= self.shape[0] * episode * (1 + 1e-9):
            raise ValueError(f"sum_of_totals is {total}; it must lie in [0, {self.shape[0] * episode}]")
        return eta, total

    def _counts(self, name: str, values: NDArray[Any], episodes: int) -> IntArray:
        """A table of counts, once it is the sum of so many trajectories from s_1."""
        counts: IntArray = np.array(integer_array(name, values))
        check_shape(name, counts, self.shape, "(H, S, A, S)")
        check_nonnegative(name, counts.astype(np.float64), "a count")
        leaving, arriving = counts.sum(axis=(2, 3)), counts.sum(axis=(1, 2))
        if leaving[0].sum() != episodes or leaving[0, self.initial_state] != episodes:
            raise ValueError(
                f"{name} has {leaving[0].sum()} visits in the first step; {episodes} episodes began in "
                f"state {self.initial_state}"
            )
        broken = leaving[1:] != arriving[:-1]
        if broken.any():
            h, s = first(broken)
            raise ValueError(
                f"{name} has {leaving[h + 1, s]} visits of state {s} in step {h + 1} (counted from 0), and "
                f"{arriving[h, s]} arrivals"
            )
        return counts

    @property
    def epochs(self) -> tuple[EpochSummary, ...]:
        """All epochs so far, the current one last."""
        return (*self.finished_epochs, self._summary())


def _finished(rows: NDArray[Any], first_episode: int) -> tuple[EpochSummary, ...]:
    """The summaries of all epochs before the one that began with `first_episode`, from their entries."""
    kinds = [{"int": int, "float": float, "bool": bool}[str(field.type)] for field in fields(EpochSummary)]
    table = real_array("finished", rows)
    check_shape("finished", table, (*table.shape[:1], len(kinds)), "(epochs, fields)")
    check_finite("finished", table)
    finished = tuple(
        EpochSummary(*(kind(value) for kind, value in zip(kinds, row, strict=True))) for row in table.tolist()
    )
    expected = 0
    for number, epoch in enumerate(finished, start=1):
        if (epoch.index, epoch.first_episode) != (number, expected) or epoch.episodes < 1:
            raise ValueError(
                f"finished[{number - 1}] is epoch {epoch.index} from episode {epoch.first_episode} with "
                f"{epoch.episodes} episodes; expected epoch {number} from {expected}"
            )
        expected += epoch.episodes
    if expected != first_episode:
        raise ValueError(
            f"the finished epochs have {expected} episodes; this one began after {first_episode}"
        )
    return finished
