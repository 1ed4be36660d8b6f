"""Play a learner against a world, an episode at a time, and keep what the regret needs.

A run can be interrupted, saved, loaded and resumed. Randomness comes from one generator; the two engines draw
the same numbers from it in the same order, and agree to rounding.

Source:
    The protocol and the regret of Section 3.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aggbandit import cost
from aggbandit._arrays import FloatArray, check_positive_int, check_rng
from aggbandit.engine import plays
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.history import GENERATORS, Checkpoint, EpochRow, History
from aggbandit.learners.in_use import claimed
from aggbandit.learners.protocol import ChecksBeforehand, EpisodeLearner, HasEpochs, Resumable
from aggbandit.learners.reduction import AggregateFeedbackLearner
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP
from aggbandit.worlds import World

__all__ = ["can_compile", "resume", "simulate"]

ENGINES = ("auto", "compiled", "reference")
FEEDBACKS = (AggregateFeedback, FullFeedback, StepFeedback)
# A run is announced if it takes longer than this, in seconds; how long it takes is judged by so many of them.
LONG, JUDGED = 60.0, 1.0

log = logging.getLogger("aggbandit")


def can_compile() -> bool:
    """Whether there is a compiled engine: Numba is installed. A long run without it is better made shorter.

    Returns:
        True if it is.

    Example:
        >>> import aggbandit as ab
        >>> nights = 100_000 if ab.simulation.can_compile() else 1_000
    """
    return importlib.util.find_spec("numba") is not None


def simulate(
    learner: EpisodeLearner[Any],
    world: FiniteHorizonMDP | World,
    losses: LossSequence,
    rng: np.random.Generator,
    engine: str = "auto",
    *,
    every: int = 1,
    progress: bool = False,
) -> History:
    """Play a learner in a world for all episodes of a loss sequence.

    In each episode the learner chooses a policy, the policy is played, and the learner sees what its type of
    feedback shows, no more. From `rng` are drawn, in this order, what the policy needs and then the 2H
    uniforms of the trajectory (see `FiniteHorizonMDP.rollout`).

    Ctrl-C (or the notebook's stop button) ends the run after the episode or the chunk of episodes being
    played, and what was played so far is returned: `History.complete` is then false, and `resume` goes on
    from it, if the learner is `Resumable`.

    A learner plays one run at a time; a generator serves one thread at a time. A second one is refused. A run
    that will take longer than a minute says so, as a warning of the logger "aggbandit".

    Args:
        learner: an `EpisodeLearner`.
        world: the world, or its MDP; known to the learner only if it was made with it.
        losses: of all episodes, tables of the shape of the world.
        rng: the source of all randomness.
        engine: "reference" plays one episode at a time in NumPy; "compiled" plays `AggregateFeedbackLearner`
            (no schedule of one's own), `UFunctionLearner` (no bonus), `OREPS`, `SemiBanditOREPS`, `FTRL` and
            what `scrible_on_occupancies` makes, and no subclass of these, without Python in an episode, and
            needs Numba; "auto" compiles where that is possible.
        every: keep sums over so many episodes in a row instead of single ones (see `History`).
        progress: show a bar with an estimate of the time left; needs tqdm.

    Returns:
        What happened.

    Raises:
        TypeError: before the first episode, if an argument is not of its kind.
        ValueError: before the first episode, if the losses do not fit the world, the learner's feedback is
            not one of the three types, the engine is unknown or cannot play this learner, or the learner
            refuses the world; later, as soon as a learner returns no policy.
        RuntimeError: before the first episode, if learner or generator are being played elsewhere, or the
            learner refuses so many episodes.
        ImportError: before the first episode, if Numba or tqdm is asked for and not there.

    Source:
        Section 3.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> learner = ab.FollowTheLeader(world.mdp)
        >>> losses = ab.losses.fixed(world.loss, 100)
        >>> ab.simulate(learner, world, losses, np.random.default_rng(0))
        History(episodes=100, regret=0.7383)
    """
    check_positive_int("every", every)
    mdp = _mdp_of(learner, world, losses)
    check_rng(rng)
    with _alone(learner, rng):
        job = _Job.of(learner, mdp, losses, rng)
        _check_run(learner, mdp, len(losses))
        run = _runner(job, engine)
        return _play(run, job, _Blocks(len(losses), every), progress)


def resume(
    history: History,
    learner: EpisodeLearner[Any],
    world: FiniteHorizonMDP | World,
    losses: LossSequence,
    *,
    progress: bool = False,
) -> History:
    """Go on with an interrupted run, to exactly the result of the run that was not interrupted.

    Args:
        history: of the interrupted run, possibly loaded from a file; it holds the state of the random numbers
            too, and stays as it is.
        learner: made anew with the same arguments; it is set to the state the history holds.
        world: the same as then, to the last bit.
        losses: the same as then, to the last bit.
        progress: show a bar with an estimate of the time left; needs tqdm.

    Returns:
        The history of the whole run.

    Raises:
        TypeError: if an argument is not of its kind.
        ValueError: before anything changes, if the history holds no checkpoint, the learner cannot be resumed
            or was made with other arguments, world or losses are not those of the history, or the state of
            the learner contradicts it.
        RuntimeError: if the learner is being played elsewhere.
        ImportError: if Numba or tqdm is asked for and not there.

    Example:
        Somebody presses Ctrl-C in the 40th episode of 100; the run is written to a file and goes on.

        >>> import signal, tempfile
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> losses = ab.losses.fixed(world.loss, 100)
        >>> def learner():
        ...     return ab.AggregateFeedbackLearner(3, 2, 3, episodes=100, rates=ab.tuned_rates())
        >>> class Pressing(ab.AggregateFeedbackLearner):
        ...     def observe(self, feedback):
        ...         if self.episode == 39:
        ...             signal.raise_signal(signal.SIGINT)
        ...         return super().observe(feedback)
        >>> pressed = Pressing(3, 2, 3, episodes=100, rates=ab.tuned_rates())
        >>> part = ab.simulate(pressed, world, losses, np.random.default_rng(0))
        >>> len(part), part.complete
        (40, False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     part.save(f"{folder}/run.npz")
        ...     whole = ab.resume(ab.History.load(f"{folder}/run.npz"), learner(), world, losses)
        >>> straight = ab.simulate(learner(), world, losses, np.random.default_rng(0), engine="reference")
        >>> bool((whole.expected_loss == straight.expected_loss).all())
        True
    """
    if not isinstance(history, History):
        raise TypeError(f"history is {_said(history)}; write ab.History.load(path) for one in a file")
    mdp = _mdp_of(learner, world, losses)
    checkpoint = history.checkpoint
    if checkpoint is None:
        raise ValueError("the history has no checkpoint: it is complete, or its learner cannot be resumed")
    if not isinstance(learner, Resumable):
        raise ValueError(f"{type(learner).__name__} cannot be resumed; it has no snapshot and restore")
    if len(losses) != history.planned:
        raise ValueError(
            f"losses are of {len(losses)} episodes; the history is of {history.planned} episodes"
        )
    if _fingerprint_of_world(mdp) != checkpoint.world:
        raise ValueError("the world is not that of the history; it must be the same to the last bit")
    if _fingerprint_of_losses(losses) != checkpoint.losses:
        raise ValueError("the losses are not those of the history; they must be the same to the last bit")
    with _alone(learner, checkpoint.rng()) as rng:
        job = _Job.of(learner, mdp, losses, rng)
        run = _runner(job, history.engine)
        _set_back(learner, history, checkpoint, mdp)
        blocks = _Blocks(len(losses), history.every)
        blocks.restore(history)
        return _play(run, job, blocks, progress)


def _set_back(
    learner: EpisodeLearner[Any], history: History, checkpoint: Checkpoint, mdp: FiniteHorizonMDP
) -> None:
    """Set the learner to the state of the checkpoint, if that fits the history; otherwise leave it alone."""
    assert isinstance(learner, Resumable)
    before, fits = learner.snapshot(), False
    learner.restore(_copies(checkpoint.learner))
    try:
        if not _agree(_rows(learner), history.epochs):
            raise ValueError(
                "the state of the learner contradicts the history: it tells of other epochs than the history"
            )
        _check_run(learner, mdp, history.planned - history.episodes)
        fits = True
    finally:
        if not fits:
            learner.restore(before)


# --- what can be checked beforehand -------------------------------------------------------------------------


def _mdp_of(learner: object, world: object, losses: object) -> FiniteHorizonMDP:
    """The MDP to play in, once all three arguments are of their kind."""
    if isinstance(learner, type):
        raise TypeError(f"learner is the class {learner.__name__}; make one: {learner.__name__}(...)")
    for name in ("feedback", "policy", "observe"):
        if not hasattr(learner, name):
            raise TypeError(
                f"learner is {_said(learner)}, which has no {name}; "
                "a learner has feedback, policy and observe, and stands before the world"
            )
    mdp = getattr(world, "mdp", world)
    if not isinstance(mdp, FiniteHorizonMDP):
        raise TypeError(f"world is {_said(world)}; it must be a FiniteHorizonMDP, or have one as .mdp")
    if not isinstance(losses, LossSequence):
        many = (
            "ab.LossSequence(losses, schedule)"
            if getattr(losses, "ndim", 0) == 5
            else "ab.losses.fixed(losses, episodes)"
        )
        raise TypeError(f"losses is {_said(losses)}; it must be a LossSequence: {many}")
    losses.check_world(mdp)
    return mdp


def _said(value: object) -> str:
    """What was given, for an error: its type, and itself if that is short."""
    text = repr(value)
    kind = type(value).__name__
    return (
        f"a {kind}"
        if len(text) > 60 or "\n" in text or isinstance(value, np.ndarray)
        else f"{text}, a {kind}"
    )


def _check_run(learner: EpisodeLearner[Any], mdp: FiniteHorizonMDP, episodes: int) -> None:
    """Let the learner refuse, and see that what it writes down can be read, before anything is drawn."""
    if isinstance(learner, ChecksBeforehand):
        learner.check_run(mdp, episodes)
    _rows(learner)
    if isinstance(learner, Resumable):
        Checkpoint(learner.snapshot(), np.random.default_rng(0).bit_generator.state, "", "")


def _rows(learner: EpisodeLearner[Any]) -> tuple[EpochRow, ...]:
    """What the learner tells of its epochs."""
    return tuple(EpochRow.of(record) for record in learner.epochs) if isinstance(learner, HasEpochs) else ()


def _agree(some: tuple[EpochRow, ...], others: tuple[EpochRow, ...]) -> bool:
    """Are the epochs the same? NaN is NaN here."""

    def same(one: object, other: object) -> bool:
        return one == other or (one != one and other != other)

    return len(some) == len(others) and all(
        vars(one).keys() == vars(other).keys() and all(same(vars(one)[n], vars(other)[n]) for n in vars(one))
        for one, other in zip(some, others, strict=True)
    )


def _copies(arrays: Any) -> dict[str, NDArray[Any]]:
    """A learner may keep what it is given, and write to it; a checkpoint stays as it is."""
    return {name: np.array(value) for name, value in arrays.items()}


def _fingerprint(*arrays: NDArray[Any]) -> str:
    """A hash of the numbers, a row at a time: what is only repeated is not written out."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.kind}{array.shape}".encode())
        for row in array:
            digest.update(np.ascontiguousarray(row + row.dtype.type(0)).tobytes())  # -0 is 0
    return digest.hexdigest()


def _fingerprint_of_world(mdp: FiniteHorizonMDP) -> str:
    return _fingerprint(mdp.transitions, np.array([mdp.initial_state]))


def _fingerprint_of_losses(losses: LossSequence) -> str:
    return _fingerprint(losses.tables, losses.schedule[None])


# --- one run at a time --------------------------------------------------------------------------------------

# Bit generators in use, by their identity, and the thread that uses them.
_used_by: dict[int, int] = {}
_lock = threading.Lock()


@contextmanager
def _alone(learner: object, rng: np.random.Generator) -> Iterator[np.random.Generator]:
    """Hold learner and generator for the duration of a run; yields the generator.

    Two runs that share a learner would corrupt it. Two threads that share a generator would get numbers that
    depend on the weather; one thread may draw from it in a run inside of a run.
    """
    thread, key = threading.get_ident(), id(rng.bit_generator)
    with claimed(learner):
        with _lock:
            outermost = key not in _used_by
            if _used_by.setdefault(key, thread) != thread:
                raise RuntimeError(
                    "this generator is being used by a run in another thread; each run needs its own: "
                    "rng.spawn(n)"
                )
        try:
            yield rng
        finally:
            if outermost:
                with _lock:
                    del _used_by[key]


# --- engines ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """What is played, and what it is compared with."""

    learner: EpisodeLearner[Any]
    mdp: FiniteHorizonMDP
    losses: LossSequence
    rng: np.random.Generator
    best_policy: FloatArray
    best_value: float

    @classmethod
    def of(
        cls,
        learner: EpisodeLearner[Any],
        mdp: FiniteHorizonMDP,
        losses: LossSequence,
        rng: np.random.Generator,
    ) -> _Job:
        return cls(learner, mdp, losses, rng, *losses.best_policy(mdp))

    def checkpoint(self) -> Checkpoint | None:
        """Where the run stands, if it can go on from there."""
        state = self.rng.bit_generator.state
        if not isinstance(self.learner, Resumable) or state["bit_generator"] not in GENERATORS:
            return None
        return Checkpoint(
            self.learner.snapshot(),
            state,
            _fingerprint_of_world(self.mdp),
            _fingerprint_of_losses(self.losses),
        )


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
            # Before the learner learns: the policy may be an array that it goes on writing to.
            expected_loss[k - first] = self.mdp.expected_loss(policy, loss)
            total_loss[k - first] = trajectory.total(loss)
            self.learner.observe(self.learner.feedback.observe(trajectory, loss))
        return expected_loss, total_loss


def _runner(job: _Job, engine: str) -> _Run:
    """The engine to use, once everything that can be checked beforehand is in order."""
    learner = job.learner
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it must be one of {', '.join(map(repr, ENGINES))}")
    if not any(learner.feedback is kind for kind in FEEDBACKS):
        raise ValueError(
            f"learner.feedback is {learner.feedback!r}; "
            f"it must be one of {', '.join(f.__name__ for f in FEEDBACKS)}"
        )
    if engine != "reference" and plays(learner):
        if can_compile():
            from aggbandit.engine.bridge import run_of

            return run_of(learner, job.mdp, job.losses)
        if engine == "compiled":
            raise ImportError("the compiled engine needs Numba: pip install 'aggbandit[fast]'")
    if engine == "compiled":
        raise ValueError(
            f"the compiled engine cannot play {type(learner).__name__}; it plays Algorithm 3 as it stands, "
            "at an increasing or a constant rate, the U-function learner without bonus, and O-REPS, FTRL and "
            "SCRiBLe in a known world"
        )
    return _ReferenceRun(learner, job.mdp, job.losses)


def _play(run: _Run, job: _Job, blocks: _Blocks, progress: bool) -> History:
    """Play on until the end or an interrupt, chunk by chunk."""
    learner, losses = job.learner, job.losses
    comparator = np.tensordot(losses.tables, job.mdp.occupancy(job.best_policy), axes=4)
    forecast = _Forecast(job, run.name, blocks.episodes)
    with _interrupts() as interrupted, _bar(len(losses), blocks.episodes, progress) as advance:
        while blocks.episodes < len(losses) and not interrupted:
            first = blocks.episodes
            last = min(run.chunk_end(first), len(losses))
            expected_loss, total_loss = run.play(first, last, job.rng)
            blocks.add(expected_loss, total_loss, comparator[losses.schedule[first:last]])
            advance(last - first)
            forecast.after(last)
    expected_loss, total_loss, comparator_loss = blocks.sums()
    return History(
        expected_loss,
        total_loss,
        comparator_loss,
        job.best_policy,
        job.best_value,
        episodes=blocks.episodes,
        planned=len(losses),
        every=blocks.every,
        epochs=_rows(learner),
        engine=run.name,
        checkpoint=job.checkpoint() if blocks.episodes < len(losses) else None,
    )


class _Forecast:
    """Says once that a run is long: beforehand where its cost is known, otherwise by its first second.

    The first chunk does not count: something may be compiled in it.
    """

    def __init__(self, job: _Job, engine: str, played: int) -> None:
        self.planned = len(job.losses)
        self.begun: tuple[int, float] | None = None
        self.said = isinstance(job.learner, AggregateFeedbackLearner) and plays(job.learner)
        if self.said:
            known = cost.of_reduction(*job.mdp.shape[:3])
            each = known.seconds_compiled if engine == "compiled" else known.seconds_reference
            self._say(self.planned - played, each)

    def after(self, episodes: int) -> None:
        """So many episodes have been played."""
        if self.said:
            return
        now = time.monotonic()
        if self.begun is None:
            self.begun = episodes, now
            return
        played, passed = episodes - self.begun[0], now - self.begun[1]
        if passed >= JUDGED:
            self.said = True
            self._say(self.planned - episodes, passed / played)

    def _say(self, episodes: int, each: float) -> None:
        if episodes * each > LONG:
            log.warning(
                "%s episodes will take about %s, at %.2g seconds each; %s",
                f"{episodes:,}",
                _duration(episodes * each),
                each,
                "stopped before its end, this run keeps nothing"
                if sys.platform == "emscripten"  # Python in a browser: it hears no interrupt, only its end
                else "Ctrl-C keeps what was played until then",
            )


def _duration(seconds: float) -> str:
    """In words: `3 minutes`, `7 hours`, `12 days`."""
    for unit, size in (("days", 86_400.0), ("hours", 3_600.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1.0, seconds / 60):.0f} minutes"


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
        """The three arrays, as far as they are filled, read-only."""
        filled = -(-self.episodes // self.every)
        expected_loss, total_loss, comparator_loss = (sums[:filled].copy() for sums in self._sums)
        for array in (expected_loss, total_loss, comparator_loss):
            array.setflags(write=False)
        return expected_loss, total_loss, comparator_loss


# --- interrupts and bars ------------------------------------------------------------------------------------


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
        raise ImportError("a progress bar needs tqdm: pip install 'aggbandit[sweep]'")
    from tqdm.auto import tqdm

    with tqdm(total=total, initial=done, unit="episode", unit_scale=True) as bar:
        yield bar.update
