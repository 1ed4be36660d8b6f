"""Play a learner against a world, an episode at a time, and keep what the regret needs.

A run can be interrupted, saved, loaded and resumed. Randomness comes from one generator; the two engines draw
the same numbers from it in the same order, and agree to rounding.

Source: the protocol and the regret of Section 3.
"""

from __future__ import annotations

import importlib.util
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from aggbandit._arrays import FloatArray, check_positive_int
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.history import History, as_array
from aggbandit.learners.protocol import EpisodeLearner
from aggbandit.learners.rates import ConstantRate, IncreasingRate
from aggbandit.learners.reduction import AggregateFeedbackLearner
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["resume", "simulate"]

ENGINES = ("auto", "compiled", "reference")
# The schedules that the compiled engine knows.
SCHEDULES = (IncreasingRate, ConstantRate)
FEEDBACKS = (AggregateFeedback, FullFeedback, StepFeedback)


def simulate(
    learner: EpisodeLearner[Any],
    mdp: FiniteHorizonMDP,
    losses: LossSequence,
    rng: np.random.Generator,
    engine: str = "auto",
    *,
    every: int = 1,
    progress: bool = False,
) -> History:
    """Play `learner` in the world `mdp` for all episodes of `losses`.

    In each episode: the learner chooses a policy, the policy is played, and the learner sees what its type of
    feedback shows, no more. From `rng` are drawn, in this order, what the policy needs and then the 2H
    uniforms of the trajectory (see `FiniteHorizonMDP.rollout`).

    learner:  an `EpisodeLearner`
    mdp:      the world, known to the learner only if it was made with it
    losses:   a `LossSequence` of the shape of the world
    rng:      the source of all randomness
    engine:   "reference" plays one episode at a time in NumPy; "compiled" plays `AggregateFeedbackLearner`
              (no subclass, no schedule of one's own) without Python in an episode, and needs Numba; "auto"
              compiles where that is possible
    every:    keep sums over so many episodes in a row instead of single ones (see `History`)
    progress: show a bar with an estimate of the time left; needs tqdm

    Ctrl-C (or the notebook's stop button) ends the run after the episode or the chunk of episodes being
    played, and what was played so far is returned: `History.complete` is then false, and `resume` goes on
    from it.

    Raises ValueError before the first episode if the losses do not fit the world, the learner's feedback is
    not one of the three types, the engine is unknown or cannot play this learner, or an
    `AggregateFeedbackLearner` was made for another world; RuntimeError, also before, if it was made for fewer
    episodes; TypeError if `rng` is no generator; ImportError if Numba or tqdm is asked for and not there;
    ValueError as soon as a learner returns no policy.
    """
    check_positive_int("every", every)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is {rng!r}; it must be a numpy.random.Generator")
    best_policy, best_value = losses.best_policy(mdp)
    run = _runner(learner, mdp, losses, engine)
    blocks = _Blocks(len(losses), every)
    return _play(run, learner, mdp, losses, rng, best_policy, best_value, blocks, progress)


def resume(
    history: History,
    learner: EpisodeLearner[Any],
    mdp: FiniteHorizonMDP,
    losses: LossSequence,
    *,
    progress: bool = False,
) -> History:
    """Go on with an interrupted run, to exactly the result of the run that was not interrupted.

    history:  of the interrupted run, possibly loaded from a file; it holds the state of the random numbers
              too
    learner:  made anew with the same arguments; it is set to the state the history holds
    mdp, losses: the same as then
    progress: show a bar

    Returns the history of the whole run. Raises ValueError if the history holds no checkpoint, the learner
    cannot be resumed or was made with other arguments, or world and losses are not those of the history (as
    far as it can tell: their best policy and its value are compared).
    """
    if history.checkpoint is None:
        raise ValueError("the history has no checkpoint: it is complete, or its learner cannot be resumed")
    if not isinstance(learner, _Resumable):
        raise ValueError(f"{type(learner).__name__} cannot be resumed")
    best_policy, best_value = losses.best_policy(mdp)
    if len(losses) != history.planned or best_value != history.best_value:
        raise ValueError(
            f"these are {len(losses)} episodes with a best value of {best_value:.6g}; "
            f"the history is of {history.planned} episodes with a best value of {history.best_value:.6g}"
        )
    if not np.array_equal(best_policy, history.best_policy):
        raise ValueError("the best policy of these losses in this world is not that of the history")
    run = _runner(learner, mdp, losses, history.engine)
    learner.restore(history.checkpoint["learner"])
    blocks = _Blocks(len(losses), history.every)
    blocks.restore(history)
    rng = _generator(history.checkpoint["generator"])
    return _play(run, learner, mdp, losses, rng, best_policy, best_value, blocks, progress)


# --- engines ------------------------------------------------------------------------------------------------


@runtime_checkable
class _Resumable(Protocol):
    """A learner whose state can be written down."""

    def snapshot(self) -> dict[str, Any]: ...

    def restore(self, snapshot: dict[str, Any]) -> None: ...


class _Run(Protocol):
    """Plays episodes first..last-1 and returns their expected and total losses."""

    name: str

    def chunk_end(self, first: int) -> int:
        """Where to stop next, so that the run can be watched, interrupted and resumed."""
        ...

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]: ...


class _ReferenceRun:
    """One episode at a time."""

    name = "reference"

    def __init__(self, learner: EpisodeLearner[Any], mdp: FiniteHorizonMDP, losses: LossSequence) -> None:
        self.learner, self.mdp, self.losses = learner, mdp, losses

    def chunk_end(self, first: int) -> int:
        return first + 1

    def play(self, first: int, last: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        expected_loss, total_loss = np.empty(last - first), np.empty(last - first)
        for k in range(first, last):
            loss = self.losses[k]
            policy = self.learner.policy(rng)
            trajectory = self.mdp.rollout(policy, rng)
            self.learner.observe(self.learner.feedback.observe(trajectory, loss))
            expected_loss[k - first] = self.mdp.expected_loss(policy, loss)
            total_loss[k - first] = trajectory.total(loss)
        return expected_loss, total_loss


def _runner(learner: EpisodeLearner[Any], mdp: FiniteHorizonMDP, losses: LossSequence, engine: str) -> _Run:
    """The engine to use, once everything that can be checked beforehand is in order."""
    if engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it must be one of {', '.join(map(repr, ENGINES))}")
    if learner.feedback not in FEEDBACKS:
        raise ValueError(
            f"learner.feedback is {learner.feedback!r}; "
            f"it must be one of {', '.join(f.__name__ for f in FEEDBACKS)}"
        )
    losses.check_world(mdp)
    if isinstance(learner, AggregateFeedbackLearner):
        learner.check_world(mdp)
    if engine != "reference" and _is_compiled(learner):
        if importlib.util.find_spec("numba") is not None:
            from aggbandit.engine.bridge import CompiledRun

            return CompiledRun(learner, mdp, losses)
        if engine == "compiled":
            raise ImportError("the compiled engine needs Numba: pip install -e '.[fast]'")
    if engine == "compiled":
        raise ValueError(
            f"the compiled engine cannot play {type(learner).__name__}; it plays Algorithm 3 as it stands, "
            "at an increasing or a constant rate"
        )
    return _ReferenceRun(learner, mdp, losses)


def _is_compiled(learner: EpisodeLearner[Any]) -> TypeGuard[AggregateFeedbackLearner]:
    """Does the compiled engine do what this learner does?

    It calls back for what happens between epochs, for nothing else: a subclass that changes a method, or a
    schedule of one's own, is played by the reference.
    """
    return type(learner) is AggregateFeedbackLearner and type(learner.rates.schedule) in SCHEDULES


def _play(
    run: _Run,
    learner: EpisodeLearner[Any],
    mdp: FiniteHorizonMDP,
    losses: LossSequence,
    rng: np.random.Generator,
    best_policy: FloatArray,
    best_value: float,
    blocks: _Blocks,
    progress: bool,
) -> History:
    """Play on until the end or an interrupt, chunk by chunk."""
    if isinstance(learner, AggregateFeedbackLearner):
        learner.check_episodes(len(losses) - blocks.episodes)
    comparator = np.tensordot(losses.tables, mdp.occupancy(best_policy), axes=4)
    with _interrupts() as interrupted, _bar(len(losses), blocks.episodes, progress) as advance:
        while blocks.episodes < len(losses) and not interrupted:
            first = blocks.episodes
            last = min(run.chunk_end(first), len(losses))
            expected_loss, total_loss = run.play(first, last, rng)
            blocks.add(expected_loss, total_loss, comparator[losses.schedule[first:last]])
            advance(last - first)
    checkpoint = None
    if blocks.episodes < len(losses) and isinstance(learner, _Resumable):
        checkpoint = {"learner": learner.snapshot(), "generator": dict(rng.bit_generator.state)}
    expected_loss, total_loss, comparator_loss = blocks.sums()
    return History(
        expected_loss,
        total_loss,
        comparator_loss,
        best_policy,
        best_value,
        episodes=blocks.episodes,
        planned=len(losses),
        every=blocks.every,
        epochs=learner.epochs if isinstance(learner, AggregateFeedbackLearner) else (),
        engine=run.name,
        checkpoint=checkpoint,
    )


class _Blocks:
    """Sums over `every` episodes in a row, filled from the left."""

    def __init__(self, planned: int, every: int) -> None:
        self.every, self.episodes = every, 0
        self._sums = np.zeros((3, -(-planned // every)))

    def add(self, *columns: FloatArray) -> None:
        """The next episodes: expected, total and comparator losses."""
        count = len(columns[0])
        block = np.arange(self.episodes, self.episodes + count) // self.every
        for sums, column in zip(self._sums, columns, strict=True):
            np.add.at(sums, block, column)
        self.episodes += count

    def restore(self, history: History) -> None:
        """What an earlier run has filled."""
        filled = len(history.expected_loss)
        self._sums[:, :filled] = history.expected_loss, history.total_loss, history.comparator_loss
        self.episodes = history.episodes

    def sums(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The three arrays, as far as they are filled."""
        filled = -(-self.episodes // self.every)
        expected_loss, total_loss, comparator_loss = (sums[:filled].copy() for sums in self._sums)
        return expected_loss, total_loss, comparator_loss


# --- interrupts, bars and checkpoints -----------------------------------------------------------------------


@contextmanager
def _interrupts() -> Iterator[list[bool]]:
    """A list that becomes non-empty at the first Ctrl-C; a second one is an ordinary KeyboardInterrupt.

    It stays empty outside the main thread, where signals cannot be caught, where Ctrl-C is ignored (a
    background job), and where a handler that is not Python's could not be put back.
    """
    pressed: list[bool] = []

    def press(number: int, frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)

    before = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or before in (None, signal.SIG_IGN):
        yield pressed
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _bar(total: int, done: int, progress: bool) -> Iterator[Any]:
    """A function to call with the number of episodes played."""
    if not progress:
        yield lambda count: None
        return
    if importlib.util.find_spec("tqdm") is None:
        raise ImportError("a progress bar needs tqdm: pip install -e '.[sweep]'")
    from tqdm.auto import tqdm

    with tqdm(total=total, initial=done, unit="episode", unit_scale=True) as bar:
        yield bar.update


def _generator(state: dict[str, Any]) -> np.random.Generator:
    """A generator in a recorded state."""
    kinds = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}
    if state.get("bit_generator") not in kinds:
        raise ValueError(
            f"the history was played with {state.get('bit_generator')!r}, which NumPy does not have"
        )
    bit_generator = getattr(np.random, state["bit_generator"])(0)
    bit_generator.state = as_array(state)
    return np.random.Generator(bit_generator)
