"""The bridge between a learner and the kernels: what `simulate` runs when it compiles."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import FloatArray
from aggbandit.engine.kernels import (
    CHUNK_ENTRIES,
    DONE,
    EPOCH_ENDED,
    ETA,
    LEFT_THE_SET,
    NO_MINIMISER,
    SUM_OF_TOTALS,
    Body,
    Learner,
    Record,
    Rules,
    World,
    factorise,
    minimise,
    play,
    workspace,
)
from aggbandit.geometry._newton import TOLERANCE, TOO_CLOSE, NoMinimizer
from aggbandit.learners.increasing_rates import OMDState
from aggbandit.learners.rates import ConstantRate, IncreasingRate
from aggbandit.learners.reduction import AggregateFeedbackLearner, RunningMean, Tallies
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP

T = TypeVar("T", bound=np.generic)


def of_one_type(array: NDArray[T]) -> NDArray[T]:
    """Contiguous and read-only: Numba compiles anew for an array that differs in either."""
    same = np.ascontiguousarray(array).view()
    same.setflags(write=False)
    return same


class CompiledRun:
    """Plays an `AggregateFeedbackLearner` in a world by compiled code, and leaves it where the reference
    would.

    learner: of the world's shape; mdp: the world; losses: of all episodes; tolerance: the Newton decrement at
    which a mirror step counts as taken. Raises ValueError if the shapes do not fit.
    """

    name: str = "compiled"

    def __init__(
        self,
        learner: AggregateFeedbackLearner,
        mdp: FiniteHorizonMDP,
        losses: LossSequence,
        tolerance: float = TOLERANCE,
    ) -> None:
        losses.check_world(mdp)
        learner.check_world(mdp)
        horizon, n_states, n_actions, _ = mdp.shape
        self.learner = learner
        self.world = World(
            of_one_type(mdp.transitions),
            of_one_type(losses.tables),
            of_one_type(losses.schedule),
            np.einsum("hsat,mhsat->mhsa", mdp.transitions, losses.tables),
            mdp.initial_state,
        )
        self.work = workspace(horizon, n_states, n_actions)
        schedule = learner.rates.schedule
        running_mean = isinstance(learner.baseline, RunningMean)
        self.rules = Rules(
            baseline=horizon / 2 if isinstance(learner.baseline, RunningMean) else float(learner.baseline),
            running_mean=running_mean,
            clip=schedule.clip if isinstance(schedule, IncreasingRate) else 0.0,
            constant=schedule.factor if isinstance(schedule, ConstantRate) else 0.0,
            tolerance=tolerance,
            dimension=learner.epoch.body.dimension,
        )

    def chunk_end(self, first: int) -> int:
        """Where to stop after `first`: multiples of a power of two, by the size of the world alone.

        Stopping rewrites the state, which changes its rounding; stopping always at the same episodes keeps a
        resumed run equal to an uninterrupted one.
        """
        size = max(1, CHUNK_ENTRIES // self.work.y.size)
        power = 1 << (size.bit_length() - 1)
        return (first // power + 1) * power

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Episodes first..last-1 of the losses, with randomness from `rng`: their expected and total losses.

        Raises NoMinimizer, naming the episode, if rounding carried a point out of the set or a minimizer was
        not found; neither has been seen.
        """
        learner = self.learner
        record = Record(np.empty(last - first), np.empty(last - first))
        before = learner.episode - first
        learner.check_episodes(last - first)
        while learner.episode < last + before:
            body, carried = self._load()
            here = learner.episode - before
            episode, ended = play(
                self.world, body, carried, self.rules, self.work, record, here, last, first, rng
            )
            # What went wrong leaves the learner where it last was in order.
            self._check(int(ended), int(episode) + before)
            self._store(carried, int(episode) + before)
            if ended == EPOCH_ENDED:
                learner.end_epoch()
        return record.expected_loss, record.total_loss

    def _load(self) -> tuple[Body, Learner]:
        """The epoch and the learner's state as cells, with x factorised and minimal."""
        learner, epoch = self.learner, self.learner.epoch
        # What Algorithm 2 begins an epoch with is found by compiled code, too.
        begun, tallies = learner.begun, learner.tallies
        start = learner.state.center if begun else epoch.body.interior_point()
        dual = learner.state.dual if begun else epoch.dual
        eta = learner.state.eta if begun else epoch.eta0
        cells = epoch.body.cells
        constrained = epoch.body.constrained[cells]
        body = Body(
            P_hat=epoch.body.P_hat[cells],
            radius=np.where(constrained, epoch.body.radius[cells], 2.0),
            constrained=constrained,
            epsilon=epoch.epsilon[cells],
            visits=epoch.counts[cells].sum(axis=1),
            horizon=learner.shape[0],
            n_actions=learner.shape[2],
        )
        counts = learner.in_epoch[cells]
        carried = Learner(
            x=start[cells],
            dual=dual[cells],
            counts=counts,
            visits=counts.sum(axis=1),
            scalars=np.array([eta, epoch.eta0, learner.sum_of_totals, learner.episode]),
            counters=np.array([tallies.clipped, tallies.newton_steps, tallies.damped, 0]),
        )
        self.work.sigma[:] = 1.0  # forget the last epoch's roots: the state alone decides
        inside = factorise(carried.x, body, self.work, np.zeros_like(carried.counters))
        self._check(DONE if inside else LEFT_THE_SET, learner.episode)
        if self.rules.dimension > 0:
            # At the start of an epoch to the centre first, as `IncreasingRateOMD` does.
            targets = [carried.dual] if begun else [0.0 * carried.dual, carried.dual]
            for target in targets:
                self.work.target[:] = target
                unused = np.zeros_like(carried.counters)
                status = minimise(carried.x, body, self.work, -1.0, self.rules.tolerance, unused)
                self._check(int(status), learner.episode)
        return body, carried

    def _store(self, carried: Learner, episode: int) -> None:
        learner, cells = self.learner, self.learner.epoch.body.cells

        def table(values: NDArray[Any]) -> NDArray[Any]:
            whole = np.zeros(learner.shape, dtype=values.dtype)
            whole[cells] = values
            return whole

        learner.state = OMDState(
            center=table(carried.x),
            dual=table(carried.dual),
            eta=float(carried.scalars[ETA]),
            round=episode - learner.epoch.first_episode + 1,
        )
        learner.tallies = Tallies(*(int(n) for n in carried.counters[:3]))
        learner.in_epoch = table(carried.counts)
        learner.sum_of_totals = float(carried.scalars[SUM_OF_TOTALS])
        learner.episode = episode

    def _check(self, status: int, episode: int) -> None:
        if status == LEFT_THE_SET:
            raise NoMinimizer(f"episode {episode}: {TOO_CLOSE}")
        if status == NO_MINIMISER:
            raise NoMinimizer(f"episode {episode}: the mirror step was not found")
