"""The bridge between a learner and the kernels: what `simulate` runs when it compiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from aggbandit._arrays import FloatArray
from aggbandit.engine import Played, flow_kernels, kernels, u_kernels
from aggbandit.engine.first_call import call
from aggbandit.engine.kernels import Rules, Tolerances, World
from aggbandit.geometry import _newton, occupancy_barrier
from aggbandit.geometry._newton import TOLERANCE, TOO_CLOSE, NoMinimizer
from aggbandit.learners import potentials
from aggbandit.learners.ftrl import FTRL
from aggbandit.learners.increasing_rates import IncreasingRateOMD, OMDState
from aggbandit.learners.occupancy_bandits import OccupancyBandit
from aggbandit.learners.oreps import OREPS, SemiBanditOREPS
from aggbandit.learners.policy_optimization import UFunctionLearner
from aggbandit.learners.rates import ConstantRate, IncreasingRate
from aggbandit.learners.reduction import AggregateFeedbackLearner, RunningMean, Tallies
from aggbandit.learners.visits import EmpiricalDynamics
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP

# Episodes a chunk times entries of x: some tens of milliseconds.
CHUNK_ENTRIES = 1 << 18
# Episodes a chunk of the U-function learner times its cells: the same.
U_CHUNK_CELLS = 1 << 21
# Episodes a chunk of O-REPS times its cells: the same.
FLOW_CHUNK_CELLS = 1 << 18

T = TypeVar("T", bound=np.generic)


def of_one_type(array: NDArray[T]) -> NDArray[T]:
    """Make an array contiguous and read-only: Numba compiles anew for one that differs in either.

    Args:
        array: of any kind.

    Returns:
        A view, or a copy.
    """
    same = np.ascontiguousarray(array).view()
    same.setflags(write=False)
    return same


def chunk_end(first: int, size: int) -> int:
    """Where to stop after `first`: a multiple of the largest power of two within `size`.

    Stopping rewrites the state, which changes its rounding; stopping always at the same episodes keeps a
    resumed run equal to an uninterrupted one.

    Args:
        first: the next episode.
        size: how many episodes a chunk may have, by the size of the world alone.

    Returns:
        The episode before which to stop.
    """
    power = 1 << (max(1, size).bit_length() - 1)
    return (first // power + 1) * power


class CompiledRun:
    """Plays an `AggregateFeedbackLearner` by compiled code, and leaves it where the reference would.

    Args:
        learner: of the world's shape.
        mdp: the world.
        losses: of all episodes.
        tolerance: the Newton decrement at which a mirror step counts as taken.

    Raises:
        ValueError: if the shapes do not fit.
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
        schedule = learner.rates.schedule
        running_mean = isinstance(learner.baseline, RunningMean)
        self.rules = Rules(
            baseline=horizon / 2 if isinstance(learner.baseline, RunningMean) else float(learner.baseline),
            running_mean=running_mean,
            clip=schedule.clip if isinstance(schedule, IncreasingRate) else 0.0,
            constant=schedule.factor if isinstance(schedule, ConstantRate) else 0.0,
            dimension=learner.epoch.body.dimension,
        )
        # Read now, not when this module was imported.
        self.tolerances = Tolerances(
            decrement=tolerance,
            full_step=_newton.FULL_STEP,
            rounding_floor=_newton.ROUNDING_FLOOR,
            most_steps=_newton.MOST_STEPS,
            chord_limit=occupancy_barrier.CHORD_LIMIT,
            rounding=occupancy_barrier.ROUNDING,
        )
        self.room = kernels.room(horizon, n_states, n_actions)
        self.chunk_end = partial(chunk_end, size=CHUNK_ENTRIES // self.room.counts.size)

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Play episodes first..last-1 of the losses.

        Args:
            first: the first episode.
            last: the one after the last.
            rng: the source of all randomness.

        Returns:
            (last - first,) their expected losses, and their total losses.

        Raises:
            NoMinimizer: naming the episode, if rounding carried a point out of the set or a minimizer was not
                found; neither has been seen.
        """
        learner = self.learner
        expected_loss, total_loss = np.empty(last - first), np.empty(last - first)
        before = learner.episode - first
        learner.check_episodes(last - first)
        while learner.episode < last + before:
            begin = self._load()
            here = learner.episode - before
            episode, ended = call(
                kernels.play,
                self.world,
                self.room,
                self.rules,
                self.tolerances,
                expected_loss,
                total_loss,
                begin,
                here,
                last,
                rng,
            )
            # What went wrong leaves the learner where it last was in order.
            self._check(int(ended), int(episode) + before)
            self._store(int(episode) + before)
            if ended == kernels.EPOCH_ENDED:
                learner.end_epoch()
        return expected_loss, total_loss

    def _load(self) -> int:
        """The epoch and the learner's state into the room; where to begin from there."""
        learner, epoch, room = self.learner, self.learner.epoch, self.room
        # What Algorithm 2 begins an epoch with is found by compiled code, too.
        begun, tallies = learner.begun, learner.tallies
        start = learner.state.center if begun else epoch.body.interior_point()
        dual = learner.state.dual if begun else epoch.dual
        eta = learner.state.eta if begun else epoch.eta0
        cells = epoch.body.cells
        room.entries[kernels.X] = start[cells]
        room.entries[kernels.DUAL] = dual[cells]
        room.entries[kernels.P_HAT] = epoch.body.P_hat[cells]
        room.entries[kernels.STEP] = 0.0
        room.constrained[:] = epoch.body.constrained[cells]
        room.cells[kernels.RADIUS] = np.where(room.constrained, epoch.body.radius[cells], 2.0)
        room.cells[kernels.EPSILON] = epoch.epsilon[cells]
        room.cells[kernels.SIGMA] = 1.0  # forget the last epoch's roots: the state alone decides
        room.counts[:] = learner.in_epoch[cells]
        room.visits[kernels.BEFORE] = epoch.counts[cells].sum(axis=1)
        room.visits[kernels.NOW] = room.counts.sum(axis=1)
        room.scalars[:] = eta, epoch.eta0, learner.sum_of_totals, learner.episode
        room.counters[:] = tallies.clipped, tallies.newton_steps, tallies.damped, 0
        return kernels.TO_THE_DUAL if begun else kernels.TO_THE_CENTER

    def _store(self, episode: int) -> None:
        learner, room, cells = self.learner, self.room, self.learner.epoch.body.cells

        def table(values: NDArray[Any]) -> NDArray[Any]:
            whole = np.zeros(learner.shape, dtype=values.dtype)
            whole[cells] = values
            return whole

        learner.state = OMDState(
            center=table(room.entries[kernels.X]),
            dual=table(room.entries[kernels.DUAL]),
            eta=float(room.scalars[kernels.ETA]),
            round=episode - learner.epoch.first_episode + 1,
        )
        learner.tallies = Tallies(*(int(n) for n in room.counters[:3]))
        learner.in_epoch = table(room.counts)
        learner.sum_of_totals = float(room.scalars[kernels.SUM_OF_TOTALS])
        learner.episode = episode

    def _check(self, status: int, episode: int) -> None:
        if status == kernels.LEFT_THE_SET:
            raise NoMinimizer(f"episode {episode}: {TOO_CLOSE}")
        if status == kernels.NO_MINIMIZER:
            raise NoMinimizer(f"episode {episode}: the mirror step was not found")


class UFunctionRun:
    """Plays a `UFunctionLearner` without bonus by compiled code, and leaves it where the reference would.

    Args:
        learner: of the world's shape, whose dynamics are known or counted.
        mdp: the world.
        losses: of all episodes.

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str = "compiled"

    def __init__(self, learner: UFunctionLearner, mdp: FiniteHorizonMDP, losses: LossSequence) -> None:
        losses.check_world(mdp)
        learner.check_run(mdp, len(losses))
        self.learner = learner
        self.world = u_kernels.World(
            of_one_type(losses.tables),
            of_one_type(losses.schedule),
            np.einsum("hsat,mhsat->mhsa", mdp.transitions, losses.tables),
            mdp.initial_state,
        )
        self.truth = _rows_of(mdp.transitions, np.ones(mdp.shape[:3]))
        rates = learner.rates
        counts = isinstance(learner.visits, EmpiricalDynamics)
        self.settings = u_kernels.Settings(
            float(rates.eta),
            float(rates.gamma),
            float(rates.uniform),
            rates.running_mean,
            rates.state_means,
            float(rates.curiosity),
            counts,
        )
        self.chunk_end = partial(chunk_end, size=U_CHUNK_CELLS // learner.theta.size)

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Play episodes first..last-1 with the randomness of `rng`, as `CompiledRun.play` does.

        Returns:
            (last - first,) their expected losses, and their total losses.
        """
        learner, visits = self.learner, self.learner.visits
        expected_loss, total_loss = np.empty(last - first), np.empty(last - first)
        shape = learner.shape
        if isinstance(visits, EmpiricalDynamics):
            visited = visits.counts.astype(np.float64)
            counted = _rows_of(visited, visited.sum(axis=-1))
        else:
            counted = _rows_of(np.zeros((*shape[:3], 1)), np.ones(shape[:3]))
        state = u_kernels.Learner(
            learner.theta.copy(),
            learner.policy(rng),
            learner.novelty.copy(),
            learner.visited.astype(np.float64),
            learner.totals.copy(),
        )
        call(
            u_kernels.play,
            self.world,
            self.truth,
            counted,
            state,
            self.settings,
            expected_loss,
            total_loss,
            np.zeros((3, shape[0]), dtype=np.int64),
            first,
            last,
            rng,
        )
        learner.theta, learner.novelty, learner.totals = state.theta, state.novelty, state.totals
        learner.visited = state.visited.astype(np.int64)
        learner.episode += last - first
        if isinstance(visits, EmpiricalDynamics):
            counts = np.zeros(shape, dtype=np.int64)
            # A state may stand twice in a list, once of them behind its end with weight zero.
            h, s, a, place = np.nonzero(counted.weight)
            counts[h, s, a, counted.to[h, s, a, place]] = counted.weight[h, s, a, place]
            visits.restore({"counts": counts})
        return expected_loss, total_loss


def _rows_of(weights: FloatArray, total: FloatArray) -> u_kernels.Rows:
    """Dynamics as lists of the next states that a cell can lead to.

    Args:
        weights: (H, S, A, S) probabilities or counts.
        total: (H, S, A) what they are to be divided by.

    Returns:
        The lists, in ascending order; behind their end stand the other states, with weight zero.
    """
    to = np.argsort(weights == 0, axis=-1, kind="stable").astype(np.int32)
    return u_kernels.Rows(
        (weights > 0).sum(axis=-1, dtype=np.int32),
        to,
        np.ascontiguousarray(np.take_along_axis(weights, to.astype(np.int64), axis=-1)),
        np.ascontiguousarray(total, dtype=np.float64),
    )


class _Episodes(NamedTuple):
    """The losses of the episodes played, the next episode, and how the kernel ended."""

    expected_loss: FloatArray
    total_loss: FloatArray
    following: int
    ended: int


@dataclass(frozen=True)
class _Stage:
    """Where learners play that know the dynamics: the world as it is, and as they know it; scratch space."""

    world: flow_kernels.World
    flow: flow_kernels.Flow
    room: flow_kernels.Room

    @classmethod
    def of(
        cls,
        mdp: FiniteHorizonMDP,
        losses: LossSequence,
        known: FiniteHorizonMDP,
        layers: potentials.Layers,
    ) -> _Stage:
        room = flow_kernels.room(mdp.shape, layers.states.shape[1])
        return cls(_true_world(mdp, losses), _flow_of(known, layers), room)

    def play(
        self, kernel: Any, own: tuple[Any, ...], first: int, last: int, rng: np.random.Generator
    ) -> _Episodes:
        """Episodes first..last-1 by a kernel, which goes on in the arrays among the learner's `own`."""
        expected_loss, total_loss = np.empty(last - first), np.empty(last - first)
        shared = self.world, self.flow, self.room, _flow_tolerances()
        following, ended = call(kernel, *shared, *own, expected_loss, total_loss, first, last, rng)
        return _Episodes(expected_loss, total_loss, int(following), int(ended))


class EntropyRun:
    """Plays `OREPS` and `SemiBanditOREPS` by compiled code, and leaves them where the reference would.

    Args:
        learner: of the world's shape.
        mdp: the world.
        losses: of all episodes.

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str = "compiled"

    def __init__(self, learner: OREPS | SemiBanditOREPS, mdp: FiniteHorizonMDP, losses: LossSequence) -> None:
        losses.check_world(mdp)
        learner.check_run(mdp, len(losses))
        self.learner = learner
        layers = learner.iterate.layers
        self.stage = _Stage.of(mdp, losses, learner.iterate.mdp, layers)
        cost = np.einsum("hsat,mhsat->hsam", learner.iterate.mdp.transitions, losses.tables)
        self.cost = np.ascontiguousarray(np.moveaxis(layers.narrow(cost), 3, 0))
        self.chunk_end = partial(chunk_end, size=FLOW_CHUNK_CELLS // learner.iterate.log_q.size)

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Play episodes first..last-1 with the randomness of `rng`, as `CompiledRun.play` does.

        Returns:
            (last - first,) their expected losses, and their total losses.

        Raises:
            NoMinimizer: naming the episode, if double precision is not enough; the learner stands before it.
        """
        iterate, by_steps = self.learner.iterate, type(self.learner) is SemiBanditOREPS
        log_q = np.array(iterate.log_q, order="C")
        own = self.cost, log_q, self.learner.eta, by_steps
        played = self.stage.play(flow_kernels.play_oreps, own, first, last, rng)
        iterate.log_q = log_q
        if played.ended != flow_kernels.DONE:
            raise NoMinimizer(f"episode {played.following}: the projection was not found")
        return played.expected_loss, played.total_loss


class LeaderRun:
    """Plays `FTRL` by compiled code, and leaves it where the reference would.

    Args:
        learner: of the world's shape.
        mdp: the world.
        losses: of all episodes.

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str = "compiled"

    def __init__(self, learner: FTRL, mdp: FiniteHorizonMDP, losses: LossSequence) -> None:
        losses.check_world(mdp)
        learner.check_run(mdp, len(losses))
        self.learner = learner
        self.stage = _Stage.of(mdp, losses, learner.mdp, learner.layers)
        self.chunk_end = partial(chunk_end, size=FLOW_CHUNK_CELLS // learner.sum_of_estimates.size)

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Play episodes first..last-1 with the randomness of `rng`, as `CompiledRun.play` does.

        Returns:
            (last - first,) their expected losses, and their total losses.

        Raises:
            NoMinimizer: naming the episode, if double precision is not enough; the learner stands before it.
        """
        learner = self.learner
        estimates = np.array(learner.sum_of_estimates, order="C")
        potential = np.array(learner.potential, order="C")
        q = np.array(learner.layers.narrow(learner.occupancy), order="C")
        own = estimates, potential, q, float(learner.regularizer.root) / 2, float(learner.regularizer.log)
        played = self.stage.play(flow_kernels.play_ftrl, own, first, last, rng)
        learner.sum_of_estimates, learner.potential = estimates, potential
        learner.occupancy = learner.layers.widen(q)
        if played.ended != flow_kernels.DONE:
            raise NoMinimizer(f"episode {played.following}: the regularized leader was not found")
        return played.expected_loss, played.total_loss


class ScribleRun:
    """Plays SCRiBLe on the occupancy measures of a known world, and leaves it where the reference would.

    Args:
        learner: that the engine plays, of the world's shape.
        mdp: the world.
        losses: of all episodes.

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str = "compiled"

    def __init__(self, learner: OccupancyBandit, mdp: FiniteHorizonMDP, losses: LossSequence) -> None:
        losses.check_world(mdp)
        learner.check_run(mdp, len(losses))
        assert isinstance(learner.vectors, IncreasingRateOMD)
        self.scrible: IncreasingRateOMD = learner.vectors
        self.layers = potentials.Layers.of(learner.mdp)
        self.stage = _Stage.of(mdp, losses, learner.mdp, self.layers)
        self.chunk_end = partial(chunk_end, size=FLOW_CHUNK_CELLS // self.scrible.center.size)

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Play episodes first..last-1 with the randomness of `rng`, as `CompiledRun.play` does.

        Returns:
            (last - first,) their expected losses, and their total losses.

        Raises:
            NoMinimizer: naming the episode, if double precision is not enough; the learner stands before it.
        """
        scrible, state, met = self.scrible, self.scrible.state, self.layers.met
        x, dual = np.zeros((2, *met.shape, self.stage.room.policy.shape[2]))
        x[met], dual[met] = (point.reshape(-1, x.shape[2]) for point in (state.center, state.dual))
        eta = scrible.schedule.next_rate(state.eta, scrible.eta0, scrible.dimension, 0.0).eta
        own = x, dual, eta, scrible.dimension, scrible.baseline
        played = self.stage.play(flow_kernels.play_scrible, own, first, last, rng)
        if played.following > first:
            rounds = state.round + played.following - first
            scrible.state = OMDState(x[met].ravel(), dual[met].ravel(), eta, rounds)
        if played.ended != flow_kernels.DONE:
            why = TOO_CLOSE if played.ended == flow_kernels.LEFT_THE_SET else "the mirror step was not found"
            raise NoMinimizer(f"episode {played.following}: {why}")
        return played.expected_loss, played.total_loss


def _true_world(mdp: FiniteHorizonMDP, losses: LossSequence) -> flow_kernels.World:
    """What the kernels of known dynamics play in."""
    rows = _rows_of(mdp.transitions, np.ones(mdp.shape[:3]))
    return flow_kernels.World(
        _listed(rows),
        of_one_type(losses.tables),
        of_one_type(losses.schedule),
        np.einsum("hsat,mhsat->mhsa", mdp.transitions, losses.tables),
        mdp.initial_state,
    )


def _flow_of(mdp: FiniteHorizonMDP, layers: potentials.Layers) -> flow_kernels.Flow:
    """What a learner knows that knows the dynamics, its states by number."""
    rows = layers.rows(mdp.transitions)
    number = np.full(mdp.shape[:2], -1, dtype=np.int64)
    steps, numbers = np.nonzero(layers.met)
    number[steps, layers.states[steps, numbers]] = numbers
    lists = _rows_of(rows, np.ones(rows.shape[:3]))
    return flow_kernels.Flow(_listed(lists), layers.met.sum(axis=1), layers.states, number)


def _listed(rows: u_kernels.Rows) -> flow_kernels.Rows:
    """The lists, no longer than the longest of them."""
    longest = max(1, int(rows.many.max()))
    return flow_kernels.Rows(
        rows.many,
        np.ascontiguousarray(rows.to[..., :longest]),
        np.ascontiguousarray(rows.weight[..., :longest]),
    )


def _flow_tolerances() -> flow_kernels.Tolerances:
    """Read now, not when this module was imported."""
    return flow_kernels.Tolerances(
        last_step=potentials.LAST_STEP,
        longest_step=potentials.LONGEST_STEP,
        no_mass=potentials.NO_MASS,
        most_steps_in_potentials=potentials.MOST_STEPS,
        decrement=TOLERANCE,
        full_step=_newton.FULL_STEP,
        rounding_floor=_newton.ROUNDING_FLOOR,
        most_steps=_newton.MOST_STEPS,
    )


def run_of(
    learner: Played,
    mdp: FiniteHorizonMDP,
    losses: LossSequence,
) -> CompiledRun | UFunctionRun | EntropyRun | LeaderRun | ScribleRun:
    """The compiled run of a learner that the engine plays.

    Args:
        learner: one that `aggbandit.engine.plays`.
        mdp: the world.
        losses: of all episodes.

    Returns:
        The run.

    Raises:
        ValueError: if the shapes do not fit.
    """
    if isinstance(learner, UFunctionLearner):
        return UFunctionRun(learner, mdp, losses)
    if isinstance(learner, (OREPS, SemiBanditOREPS)):
        return EntropyRun(learner, mdp, losses)
    if isinstance(learner, FTRL):
        return LeaderRun(learner, mdp, losses)
    if isinstance(learner, OccupancyBandit):
        return ScribleRun(learner, mdp, losses)
    return CompiledRun(learner, mdp, losses)
