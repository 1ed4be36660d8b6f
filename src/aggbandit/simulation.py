"""Play a learner against a world, an episode at a time, and keep what the regret needs.

A run can be interrupted, saved, loaded and resumed. Randomness comes from one generator; the two engines draw
the same numbers from it in the same order, and agree to rounding.

Source: the protocol and the regret of Section 3.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import struct
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from aggbandit._arrays import FloatArray, IntArray, check_positive_int
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.learners.protocol import EpisodeLearner
from aggbandit.learners.rates import ConstantRate, IncreasingRate
from aggbandit.learners.reduction import AggregateFeedbackLearner, EpochSummary
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP

__all__ = ["History", "resume", "simulate"]

ENGINES = ("auto", "compiled", "reference")
# The schedules that the compiled engine knows.
SCHEDULES = (IncreasingRate, ConstantRate)
FEEDBACKS = (AggregateFeedback, FullFeedback, StepFeedback)
# A saved history says what it is and in which layout.
FORMAT, VERSION = "aggbandit history", 1
# What reading a damaged archive may raise, in NumPy, zipfile, zlib and json.
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    RuntimeError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """What happened in K episodes, and what the best fixed policy would have paid.

    expected_loss:   (K,) x^{pi_k} . l_k, what the policy of the episode pays on average
    total_loss:      (K,) z_hat_k . l_k, what the trajectory of the episode paid
    comparator_loss: (K,) x^{pi*} . l_k, what the best fixed policy pays on average
    best_policy:     (H, S, A), pi*, best for all planned episodes together
    best_value:      what pi* pays on average in all planned episodes
    episodes:        how many episodes were played
    planned:         how many were to be played; more than `episodes` if the run was interrupted
    every:           1, or m if the history is thinned: an entry of the three arrays then is the sum over m
                     episodes in a row (the last one over the rest), so that sums, and `regret` at these
                     episodes, stay exact
    epochs:          a summary of each epoch, for a learner that has epochs
    engine:          "reference" or "compiled", whichever played
    checkpoint:      where learner and generator were, if the run was interrupted and the learner can be
                     resumed

    Source: Section 3.
    """

    expected_loss: FloatArray
    total_loss: FloatArray
    comparator_loss: FloatArray
    best_policy: FloatArray
    best_value: float
    episodes: int
    planned: int
    every: int = 1
    epochs: tuple[EpochSummary, ...] = ()
    engine: str = "reference"
    checkpoint: dict[str, Any] | None = None

    def __len__(self) -> int:
        """The number of episodes played."""
        return self.episodes

    def __repr__(self) -> str:
        played = f"{self.episodes}" if self.complete else f"{self.episodes} of {self.planned}, interrupted"
        regret = f", regret={self.regret()[-1]:.6g}" if self.episodes else ""
        return f"History(episodes={played}{regret})"

    @property
    def complete(self) -> bool:
        """Were all planned episodes played?"""
        return self.episodes == self.planned

    @property
    def at(self) -> IntArray:
        """After how many episodes each entry ends: 1, 2, ..., K, or m, 2m, ..., K if the history is
        thinned."""
        return np.minimum(self.every * np.arange(1, len(self.expected_loss) + 1), self.episodes)

    def regret(self) -> FloatArray:
        """The regret after each episode (of `at`): sum_{j<=k} (x^{pi_j} - x^{pi*}) . l_j, shape (K,).

        pi* is the best policy for all planned episodes, so that only the last entry of a complete history is
        compared with its own optimum (an earlier entry may be negative). Expectations are over the
        trajectories.
        Source: Section 3.
        """
        return np.cumsum(self.expected_loss - self.comparator_loss)

    def save(self, path: str | Path) -> None:
        """Write everything to one file: first under a temporary name, then renamed, so that it is whole or
        not there.

        path: of the file; an existing one is replaced.
        """
        arrays = {name: getattr(self, name) for name in ("expected_loss", "total_loss", "comparator_loss")}
        arrays["best_policy"] = self.best_policy
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "best_value": self.best_value,
            "episodes": self.episodes,
            "planned": self.planned,
            "every": self.every,
            "engine": self.engine,
            "epochs": [asdict(epoch) for epoch in self.epochs],
        }
        if self.checkpoint is not None:
            header["generator"] = self.checkpoint["generator"]
            arrays |= {f"learner.{name}": value for name, value in self.checkpoint["learner"].items()}
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "wb") as file:
                np.savez_compressed(file, header=np.array(json.dumps(header, default=_as_list)), **arrays)
                # A power cut after the renaming must not find a name without content.
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read a file that `save` wrote.

        path: of the file. Raises FileNotFoundError if there is none, and ValueError, naming the file, if it
        is truncated, not a history, of another version, or its arrays have not the lengths it says.
        """
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(str(arrays.pop("header")))
        except FileNotFoundError:
            raise
        except UNREADABLE as error:
            raise ValueError(f"{path} is truncated or is not a saved history") from error
        if not isinstance(header, dict) or header.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is not a saved history")
        version = header.pop("version", None)
        if version != VERSION:
            raise ValueError(f"{path} has version {version} of the format; this is version {VERSION}")
        learner = {
            name.removeprefix("learner."): arrays.pop(name)
            for name in list(arrays)
            if name.startswith("learner.")
        }
        generator = header.pop("generator", None)
        checkpoint = None if generator is None else {"learner": learner, "generator": generator}
        try:
            epochs = tuple(EpochSummary(**epoch) for epoch in header.pop("epochs"))
            history = cls(**arrays, **header, epochs=epochs, checkpoint=checkpoint)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a saved history: something is missing") from error
        blocks = -(-history.episodes // history.every)
        for name in ("expected_loss", "total_loss", "comparator_loss"):
            if arrays[name].shape != (blocks,):
                raise ValueError(f"{path}: {name} has shape {arrays[name].shape}; expected ({blocks},)")
        return history


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


def _as_list(value: Any) -> Any:
    """What JSON cannot write by itself: the state of a generator may hold an array."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot save a {type(value).__name__}")


def _as_array(value: Any) -> Any:
    """The inverse of `_as_list`, at any depth."""
    if isinstance(value, dict):
        if set(value) == {"array", "dtype"}:
            return np.array(value["array"], dtype=value["dtype"])
        return {key: _as_array(entry) for key, entry in value.items()}
    return value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    """A generator in a recorded state."""
    kinds = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}
    if state.get("bit_generator") not in kinds:
        raise ValueError(
            f"the history was played with {state.get('bit_generator')!r}, which NumPy does not have"
        )
    bit_generator = getattr(np.random, state["bit_generator"])(0)
    bit_generator.state = _as_array(state)
    return np.random.Generator(bit_generator)
