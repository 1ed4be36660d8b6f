"""Algorithm 3: learning in an unknown world from aggregate feedback, by playing Algorithm 2 on sets S_i.

An epoch fixes what has been counted, and with it the set S_i of plausible occupancy measures and the
perturbation eps_i. In it Algorithm 2 plays occupancy measures y_k; the policy of y_k is played in the world.
The true occupancy measure of that policy is within |eps_i·y_k| of y_k: a distorted linear bandit.

Source: Section A, Algorithm 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggbandit import theory
from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_finite,
    check_nonnegative,
    check_positive_int,
    check_shape,
    check_state,
)
from aggbandit.feedback import AggregateFeedback
from aggbandit.geometry.occupancy_barrier import OccupancyBarrier, OccupancyDikin
from aggbandit.geometry.occupancy_set import OccupancySet
from aggbandit.learners.confidence import (
    Confidence,
    CorrectedConfidence,
    empirical_dynamics,
    epoch_budget,
    epoch_over,
)
from aggbandit.learners.increasing_rates import IncreasingRateOMD, IncreasingRateRound, check_observation
from aggbandit.learners.rates import Rates
from aggbandit.mdp import FiniteHorizonMDP
from aggbandit.occupancy import policy_of

__all__ = [
    "AggregateFeedbackLearner",
    "Epoch",
    "EpochSummary",
    "RunningMean",
    "carry",
    "restart",
]


# --- baselines, and what happens between epochs ------------------------------------------------------------


@dataclass(frozen=True)
class RunningMean:
    """The mean of all totals seen so far as the baseline of the next estimate; H/2 before the first.

    Known before the episode, so the estimate stays unbiased; it has far less variance. Not in the paper.
    """


def restart(dual: FloatArray) -> FloatArray:
    """Every epoch starts at the centre, as in the paper: the sum of estimates `dual` is forgotten."""
    return np.zeros_like(dual)


def carry(dual: FloatArray) -> FloatArray:
    """An epoch goes on, in its new set, from the sum of estimates `dual` of the last one; no theorem."""
    return dual


# --- the algorithm ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Epoch:
    """What is fixed during an epoch.

    index:         i, counted from 1
    first_episode: k_i, counted from 0
    counts:        N_i, (H, S, A, S), what was counted before
    body:          the set S_i
    epsilon:       eps_i, (H, S, A)
    budget:        B_i, what sum_k (z_hat_k·eps_i)² cannot exceed
    theta:         the parameter of the barrier of S_i
    eta0:          the first rate; eta0_capped: was it lowered to `theory.eta0_cap`?

    Source: Algorithm 3, lines 3-5.
    """

    index: int
    first_episode: int
    counts: IntArray
    body: OccupancySet
    epsilon: FloatArray
    budget: float
    theta: float
    eta0: float
    eta0_capped: bool


@dataclass(frozen=True)
class EpochSummary:
    """What happened in an epoch.

    index:         i, counted from 1
    first_episode: k_i, counted from 0
    episodes:      played in it
    constrained:   cells whose L1 constraint excludes something
    eta0:          the first rate; eta0_capped: was it lowered to `theory.eta0_cap`?
    clipped:       episodes whose rate met the clip
    newton_steps:  taken in all mirror steps; damped: how many of them were damped
    """

    index: int
    first_episode: int
    episodes: int
    constrained: int
    eta0: float
    eta0_capped: bool
    clipped: int
    newton_steps: int
    damped: int


@dataclass
class BanditState:
    """Where Algorithm 2 is in the current epoch; `center` is None before its first prediction.

    dual: the sum of rate times estimate, (H, S, A, S); eta: the last rate; round: from 1; clipped,
    newton_steps and damped: counted since the epoch began.
    """

    dual: FloatArray
    eta: float
    center: FloatArray | None = None
    round: int = 1
    clipped: int = 0
    newton_steps: int = 0
    damped: int = 0


class AggregateFeedbackLearner:
    """Algorithm 3, with Algorithm 2 inside: it sees trajectories and totals, and no dynamics.

    n_states, n_actions, horizon, episodes: S, A, H, K
    rates:          `theorem_rates()` or `tuned_rates(scale)`; there is no default, since they differ so much
    confidence:     `CorrectedConfidence()` (the default) or `TightConfidence()`
    between_epochs: `restart` (the paper) or `carry` (outside the theorem)
    baseline:       what is subtracted from every total: a number in [0, H] (0 in the paper), `RunningMean()`
    initial_state:  s_1

    Raises ValueError for sizes that are not positive integers, a state or a baseline out of range, a first
    rate that is not positive, radii or perturbations that are none. Source: Section A, Algorithm 3.
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
        for name, value in (
            ("n_states", n_states),
            ("n_actions", n_actions),
            ("horizon", horizon),
            ("episodes", episodes),
        ):
            check_positive_int(name, value)
        check_state("initial_state", initial_state, n_states)
        if not isinstance(baseline, RunningMean) and not 0 <= baseline <= horizon:
            raise ValueError(f"baseline is {baseline}; it must lie in [0, {horizon}]")
        self.shape = (int(horizon), int(n_states), int(n_actions), int(n_states))
        self.episodes = int(episodes)
        self.initial_state = int(initial_state)
        self.rates = rates
        self.confidence: Confidence = CorrectedConfidence() if confidence is None else confidence
        self.between_epochs = between_epochs
        self.baseline = baseline
        self.episode = 0  # how many have been played
        self.sum_of_totals = 0.0
        self.finished_epochs: list[EpochSummary] = []
        # Line 1.
        self._dual = np.zeros(self.shape)
        self._begin_epoch(1, np.zeros(self.shape, dtype=np.int64))

    # Algorithm 3, a part at a time.

    def _begin_epoch(self, index: int, counts: IntArray) -> None:
        """Lines 3-6: the set S_i, eps_i, and an instance of Algorithm 2 for them."""
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
            if not (wished > 0 and math.isfinite(wished)):
                raise ValueError(f"eta0 = {wished}; a learning rate must be positive and finite")
        dual = self.between_epochs(self._dual)
        check_shape("between_epochs(dual)", dual, self.shape, "(H, S, A, S)")
        check_finite("between_epochs(dual)", dual)
        self.epoch = Epoch(
            index=index,
            first_episode=self.episode,
            counts=counts,
            body=body,
            epsilon=epsilon,
            budget=budget,
            theta=barrier.theta,
            eta0=min(wished, cap),
            eta0_capped=wished > cap,
        )
        self.in_epoch = np.zeros(self.shape, dtype=np.int64)
        self.state = BanditState(dual=dual, eta=self.epoch.eta0)
        self._barrier = barrier
        self._bandit: IncreasingRateOMD | None = None

    def policy(self, rng: np.random.Generator) -> FloatArray:
        """Lines 8 and 9: predict an occupancy measure y_k in S_i, and play its policy.

        rng: the source of randomness; `OccupancyDikin.sample` says what is drawn. Returns shape (H, S, A).
        Raises RuntimeError when all K episodes have been played: radii and rates were made for K.
        """
        self.check_episodes(1)
        if self._barrier.dimension == 0:
            return policy_of(self._lonely_dikin.sample(rng))
        if self._bandit is None:
            self._bandit = self._instance()
        y = self._bandit.predict(rng)
        return policy_of(y)

    def observe(self, feedback: AggregateFeedback) -> IncreasingRateRound | None:
        """Lines 10-14: feed Algorithm 2, count, and end the epoch when a count has doubled.

        feedback: the trajectory and its total loss. Returns the round of Algorithm 2 (None if S = A = 1,
        where there is nothing to learn). Raises ValueError, before anything changes, for a total outside
        [0, H], or a trajectory of another shape or from another state than s_1; RuntimeError when no policy
        was asked for.
        """
        trajectory, total = feedback.trajectory, feedback.total
        if trajectory.shape != self.shape:
            raise ValueError(
                f"the trajectory has shape {trajectory.shape}; expected (H, S, A, S) = {self.shape}"
            )
        if trajectory.states[0] != self.initial_state:
            raise ValueError(
                f"the trajectory starts in state {trajectory.states[0]}; the learner starts in "
                f"{self.initial_state}"
            )
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
            self._record(played)
        # Line 12.
        self.episode += 1
        self.sum_of_totals += total
        self.in_epoch += z_hat.astype(np.int64)
        if epoch_over(self.in_epoch, self.epoch.counts).any():
            self.end_epoch()
        return played

    def end_epoch(self) -> None:
        """Line 14: N_{i+1} = N_i + n_i, and the next epoch begins."""
        self.finished_epochs.append(self._summary())
        self._dual = self.state.dual
        self._begin_epoch(self.epoch.index + 1, self.epoch.counts + self.in_epoch)

    # Algorithm 2 inside.

    def _instance(self) -> IncreasingRateOMD:
        """Algorithm 2 on S_i, at the start of the epoch or where `state` says it was."""
        epoch, state = self.epoch, self.state
        bandit = IncreasingRateOMD(
            self._barrier,
            self.episodes,
            float(self.shape[0]),
            eta0=epoch.eta0,
            baseline=self._constant_baseline(),
            schedule=self.rates.schedule,
        )
        center = state.center
        if center is None:
            center = self._barrier.minimize(state.dual, bandit.center).x
        bandit.resume(center, state.dual, state.eta, state.round)
        return bandit

    def forget_instance(self) -> None:
        """Let the next prediction make its instance of Algorithm 2 from `state`, changed from outside."""
        self._bandit = None

    def _record(self, played: IncreasingRateRound) -> None:
        assert self._bandit is not None
        state = self.state
        state.dual, state.eta, state.center = self._bandit.dual, played.eta, played.next_x
        state.round = played.round + 1
        state.clipped += played.clipped
        state.newton_steps += played.iterations
        state.damped += played.damped

    @property
    def _lonely_dikin(self) -> OccupancyDikin:
        """The ellipsoid of the only point there is, when S = A = 1."""
        return self._barrier.dikin(self.epoch.body.interior_point())

    def _constant_baseline(self) -> float:
        return 0.0 if isinstance(self.baseline, RunningMean) else float(self.baseline)

    def next_baseline(self) -> float:
        """What will be subtracted from the next total."""
        if not isinstance(self.baseline, RunningMean):
            return float(self.baseline)
        return self.sum_of_totals / self.episode if self.episode else self.shape[0] / 2

    def _summary(self) -> EpochSummary:
        epoch, state = self.epoch, self.state
        return EpochSummary(
            index=epoch.index,
            first_episode=epoch.first_episode,
            episodes=self.episode - epoch.first_episode,
            constrained=int(epoch.body.constrained[epoch.body.cells].sum()),
            eta0=epoch.eta0,
            eta0_capped=epoch.eta0_capped,
            clipped=state.clipped,
            newton_steps=state.newton_steps,
            damped=state.damped,
        )

    def check_world(self, mdp: FiniteHorizonMDP) -> None:
        """Raises ValueError unless `mdp` has the sizes and the initial state this learner was made for."""
        if self.shape != mdp.shape or self.initial_state != mdp.initial_state:
            raise ValueError(
                f"the learner expects (H, S, A, S) = {self.shape} from state {self.initial_state}; "
                f"the world has {mdp.shape} from state {mdp.initial_state}"
            )

    def check_episodes(self, more: int) -> None:
        """Raises RuntimeError unless `more` episodes can still be played: radii and rates were made for K."""
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
    def arguments(self) -> str:
        """What the learner was made with, as text."""
        between = getattr(self.between_epochs, "__name__", self.between_epochs)
        return (
            f"shape={self.shape}, episodes={self.episodes}, rates={self.rates}, "
            f"confidence={self.confidence}, between_epochs={between}, "
            f"baseline={self.baseline}, initial_state={self.initial_state}"
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """The whole state, as arrays; `restore` is its inverse."""
        epoch, state = self.epoch, self.state
        center = np.zeros((0,)) if state.center is None else state.center
        return {
            "arguments": np.array(self.arguments),
            "counts": epoch.counts,
            "in_epoch": self.in_epoch.copy(),
            "center": center,
            "dual": state.dual,
            "scalars": np.array([state.eta, self.sum_of_totals]),
            "counters": np.array(
                [
                    self.episode,
                    epoch.index,
                    epoch.first_episode,
                    state.round,
                    state.clipped,
                    state.newton_steps,
                    state.damped,
                ]
            ),
            "finished": np.array([astuple(e) for e in self.finished_epochs]).reshape(
                -1, len(fields(EpochSummary))
            ),
        }

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Go to the state that `snapshot` describes.

        Raises ValueError, before anything changes, if it is of a learner made with other arguments, or if
        something is missing.
        """
        missing = self.snapshot().keys() - snapshot.keys()
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        if str(snapshot["arguments"]) != self.arguments:
            raise ValueError(
                f"the state is of a learner with {snapshot['arguments']}; this one has {self.arguments}"
            )
        episode, index, first, round, clipped, newton_steps, damped = (int(n) for n in snapshot["counters"])
        self.episode = first
        self._begin_epoch(index, np.array(snapshot["counts"], dtype=np.int64))
        self.episode, self.in_epoch = episode, np.array(snapshot["in_epoch"], dtype=np.int64)
        eta, self.sum_of_totals = (float(value) for value in snapshot["scalars"])
        center = snapshot["center"] if snapshot["center"].size else None
        self.state = BanditState(snapshot["dual"], eta, center, round, clipped, newton_steps, damped)
        self.finished_epochs = [_summary_of(row) for row in snapshot["finished"].tolist()]

    @property
    def epochs(self) -> tuple[EpochSummary, ...]:
        """All epochs so far, the current one last."""
        return (*self.finished_epochs, self._summary())


def _summary_of(row: list[float]) -> EpochSummary:
    """An `EpochSummary` from its entries as floats."""
    kinds = {"int": int, "float": float, "bool": bool}
    return EpochSummary(
        *(kinds[str(f.type)](value) for f, value in zip(fields(EpochSummary), row, strict=True))
    )
