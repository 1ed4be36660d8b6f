"""Many runs at once: learners x worlds x losses x seeds, kept on disk as they end.

Each cell of the sweep is one run of `simulate`. Its random numbers belong to its seed alone, so that neither
the number of workers nor what else is swept changes them, and all learners meet the same losses. A sweep that
was interrupted goes on where it was: what is on disk is not played again.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_function,
    check_kind,
    check_positive_int,
    check_shape,
    read_only,
    reduce_frozen,
)
from aggbandit.history import History
from aggbandit.learners.identity import NAMELESS, described
from aggbandit.learners.protocol import EpisodeLearner
from aggbandit.losses import LossSequence
from aggbandit.mdp import FiniteHorizonMDP
from aggbandit.simulation import resume, simulate
from aggbandit.worlds import World

__all__ = ["Sweep", "sweep"]

# Part of every key: raised when a run with the same key would be another one.
EDITION = 1

log = logging.getLogger("aggbandit")

MakeLearner = Callable[[FiniteHorizonMDP, int], EpisodeLearner[Any]]
MakeLosses = Callable[[Any, np.random.Generator], LossSequence]


@dataclass(frozen=True, eq=False)
class Sweep:
    """What a sweep found: arrays whose first axes have names.

    Attributes:
        learners: L names.
        worlds: W names.
        losses: J names.
        at: (N,) after how many episodes each entry of a run ends.
        regret: (L, W, J, R, N) the regret there, of R seeds (see `History.regret`).
        expected_loss: (L, W, J, R, N) what was paid on average since the entry before.

    Raises:
        ValueError: for arrays that do not fit the names.

    Example:
        >>> import aggbandit as ab
        >>> found = ab.sweep(
        ...     learners={
        ...         "uniform": lambda mdp, episodes: ab.FixedPolicy(ab.uniform_policy(mdp)),
        ...         "leader": lambda mdp, episodes: ab.FollowTheLeader(mdp),
        ...     },
        ...     worlds={"night driver": ab.night_driver()},
        ...     losses={"fixed": lambda world, rng: ab.losses.fixed(world.loss, 50)},
        ...     seeds=2,
        ... )
        >>> found
        Sweep(learners=2, worlds=1, losses=1, seeds=2, episodes=50)
        >>> found.mean()[:, 0, 0, -1].round(1)
        array([31.4,  0.7])
        >>> found["leader", "night driver", "fixed"].shape  # of both seeds, after every episode
        (2, 50)
    """

    learners: tuple[str, ...]
    worlds: tuple[str, ...]
    losses: tuple[str, ...]
    at: IntArray
    regret: FloatArray
    expected_loss: FloatArray
    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        names = (len(self.learners), len(self.worlds), len(self.losses))
        seeds = self.regret.shape[3] if self.regret.ndim == 5 else 0
        for name in ("regret", "expected_loss"):
            array = read_only(getattr(self, name))
            check_shape(name, array, (*names, seeds, len(self.at)), "(L, W, J, R, N)")
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        many = [len(self.learners), len(self.worlds), len(self.losses), self.regret.shape[3]]
        counts = ", ".join(
            f"{n}={m}" for n, m in zip(("learners", "worlds", "losses", "seeds"), many, strict=True)
        )
        return f"Sweep({counts}, episodes={self.at[-1]})"

    def __getitem__(self, names: tuple[str, str, str]) -> FloatArray:
        """(R, N) the regret of a learner in a world against losses.

        Raises KeyError for a name that is not there.
        """
        place = []
        for kind, name in zip(("learners", "worlds", "losses"), names, strict=True):
            known = getattr(self, kind)
            if name not in known:
                raise KeyError(f"{name!r} is none of the {kind}: {', '.join(map(repr, known))}")
            place.append(known.index(name))
        return np.asarray(self.regret[tuple(place)])

    def mean(self) -> FloatArray:
        """The regret, averaged over seeds.

        Returns:
            (L, W, J, N) the means.
        """
        return np.asarray(self.regret.mean(axis=3))

    def quantile(self, q: float) -> FloatArray:
        """The regret that a share q of the seeds does not exceed.

        Args:
            q: in [0, 1].

        Returns:
            (L, W, J, N) the quantiles.

        Raises:
            ValueError: for q outside [0, 1].
        """
        if not 0 <= q <= 1:
            raise ValueError(f"q is {q}; it must lie in [0, 1]")
        return np.asarray(np.quantile(self.regret, q, axis=3))

    def to_csv(self, path: str | Path) -> None:
        """Write a table, one line an entry: learner, world, losses, seed, episode, regret, expected_loss.

        Args:
            path: of the file; what is there is replaced.

        Raises:
            OSError: when the file cannot be written.
        """
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["learner", "world", "losses", "seed", "episode", "regret", "expected_loss"])
            for place in np.ndindex(self.regret.shape):
                i, w, j, seed, n = place
                values = repr(float(self.regret[place])), repr(float(self.expected_loss[place]))
                names = self.learners[i], self.worlds[w], self.losses[j]
                table.writerow([*names, seed, int(self.at[n]), *values])


class _Cell(NamedTuple):
    """One run: its place, and all that it is made of."""

    place: tuple[int, int, int, int]
    name: str
    make_learner: MakeLearner
    world: FiniteHorizonMDP | World
    make_losses: MakeLosses
    entropy: int
    every: int
    engine: str
    folder: Path | None

    def played(self) -> tuple[tuple[int, int, int, int], History]:
        """The run, from disk where it is there.

        Raises KeyboardInterrupt if somebody stopped it; what was played until then is on disk.
        """
        draw, play = (
            np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(self.place[3], stream)))
            for stream in range(2)
        )
        mdp = self.world.mdp if isinstance(self.world, World) else self.world
        losses = self.make_losses(self.world, draw)
        check_kind("losses", losses, LossSequence, "a function that returns a LossSequence")
        learner = self.make_learner(mdp, len(losses))
        if self.folder is None:
            history = simulate(learner, mdp, losses, play, self.engine, every=self.every)
        else:
            path = self.folder / f"{self.key(learner, mdp, losses)}.npz"
            before = self.on_disk(path, len(losses))
            if before is not None and before.complete:
                return self.place, before
            history = (
                simulate(learner, mdp, losses, play, self.engine, every=self.every)
                if before is None
                else resume(before, learner, mdp, losses)
            )
            history.save(path)
        if not history.complete:
            raise KeyboardInterrupt(f"{self.name} was stopped after {len(history)} episodes")
        return self.place, history

    def key(self, learner: EpisodeLearner[Any], mdp: FiniteHorizonMDP, losses: LossSequence) -> str:
        """A digest of everything that determines the run. Raises ValueError for what has no name."""
        of_learner = described(type(learner)) + described(getattr(learner, "arguments", learner))
        if NAMELESS in of_learner:
            raise ValueError(
                f"{self.name}: the learner holds a function or class without a name of its own, so that its "
                "runs cannot be told from another's on disk; define it at the top of a module, or leave out "
                "the folder"
            )
        randomness = f"{self.entropy} {self.place[3]}"
        how = f"{self.every} {self.engine}"
        everything = [EDITION, of_learner, described(mdp), described(losses), randomness, how]
        return hashlib.sha256("\n".join(map(str, everything)).encode()).hexdigest()

    def on_disk(self, path: Path, planned: int) -> History | None:
        """What is on disk, unless it is no such run: then the log says so, and it is played again."""
        try:
            history = History.load(path)
            if (history.planned, history.every) != (planned, self.every):
                raise ValueError(f"{path} is of another run")
            if not history.complete and history.checkpoint is None:
                return None  # stopped, and of a learner that cannot go on
        except FileNotFoundError:
            return None
        except ValueError as error:
            log.warning("%s is played again: %s", self.name, error)
            return None
        return history


def sweep(
    learners: Mapping[str, MakeLearner],
    worlds: Mapping[str, FiniteHorizonMDP | World],
    losses: Mapping[str, MakeLosses],
    seeds: int,
    *,
    entropy: int = 0,
    every: int = 1,
    engine: str = "auto",
    folder: str | Path | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Sweep:
    """Play every learner in every world against all losses, once for each seed.

    A seed has two streams of random numbers: one draws the losses, one plays. They are what
    `SeedSequence(entropy).spawn(seeds)[r].spawn(2)` gives.

    With a folder, each run is written there as it ends, under a digest of everything that determines it:
    learner, world, losses, seed, `every` and engine, by value. What is there already is read instead of
    played. A file that is damaged is refused, and played again. Ctrl-C ends the sweep; the run being played
    is kept as far as it came, and goes on the next time.

    More than one worker plays through joblib, and so wherever `joblib.parallel_config` says: in processes of
    this machine, or on a Dask cluster. There, all of its workers play whatever `workers` says (if it is more
    than one), the folder must be one that all of them see, and a run whose worker dies is played by another.

    Args:
        learners: by name, functions of the MDP and the number of episodes that make a new learner.
        worlds: by name, a `World` or an MDP.
        losses: by name, functions of the world and a generator that make a `LossSequence`; all of the same
            number of episodes.
        seeds: R, how many.
        entropy: from which all random numbers follow.
        every: keep sums over so many episodes in a row (see `simulate`).
        engine: of `simulate`.
        folder: where runs are kept; it is made if it is not there.
        workers: how many processes play; more than one needs joblib.
        progress: show a bar with an estimate of the time left; needs tqdm.

    Returns:
        What was found.

    Raises:
        TypeError: for an argument of another kind.
        ValueError: for no learner, world, losses or seed; losses of different lengths; a learner that cannot
            be told from another, with a folder; and what `simulate` refuses.
        ImportError: if joblib or tqdm is asked for and not there.
        KeyboardInterrupt: when somebody stopped it.

    Example:
        See `Sweep`.
    """
    for kind, named in (("learners", learners), ("worlds", worlds), ("losses", losses)):
        check_kind(kind, named, Mapping, f"{{'name': ...}} for {kind}")
        if not named:
            raise ValueError(f"{kind} is empty; there is nothing to play")
    for name, make in (*learners.items(), *losses.items()):
        check_function(name, make, "a function that makes a learner, or losses")
    for name, count in (("seeds", seeds), ("every", every), ("workers", workers)):
        check_positive_int(name, count)
    _check_there("joblib", "more than one worker", workers > 1)
    _check_there("tqdm", "a progress bar", progress)
    kept = None if folder is None else Path(folder)
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    cells = [
        _Cell(
            (i, w, j, r),
            f"{a} in {b} against {c}, seed {r}",
            learner,
            world,
            make,
            entropy,
            every,
            engine,
            kept,
        )
        for i, (a, learner) in enumerate(learners.items())
        for w, (b, world) in enumerate(worlds.items())
        for j, (c, make) in enumerate(losses.items())
        for r in range(seeds)
    ]
    shape = (len(learners), len(worlds), len(losses), seeds)
    found: dict[tuple[int, int, int, int], History] = dict(
        _bar(_played(cells, workers), len(cells), progress)
    )
    first = found[0, 0, 0, 0]
    for cell in cells:
        if found[cell.place].planned != first.planned:
            raise ValueError(
                f"{cell.name} has {found[cell.place].planned} episodes, {cells[0].name} {first.planned}; "
                "all losses must be of the same number of episodes"
            )
    regret, expected_loss = np.empty((2, *shape, len(first.at)))
    for place, history in found.items():
        regret[place], expected_loss[place] = history.regret(), history.expected_loss
    return Sweep(tuple(learners), tuple(worlds), tuple(losses), first.at, regret, expected_loss)


def _played(cells: list[_Cell], workers: int) -> Iterable[tuple[tuple[int, int, int, int], History]]:
    """The runs as they end."""
    if workers == 1:
        return map(_Cell.played, cells)
    from joblib import Parallel, delayed

    ended: Iterable[tuple[tuple[int, int, int, int], History]] = Parallel(
        n_jobs=workers, return_as="generator_unordered", batch_size=1
    )(delayed(_Cell.played)(cell) for cell in cells)
    return ended


def _bar(runs: Iterable[Any], total: int, progress: bool) -> Iterator[Any]:
    if not progress:
        yield from runs
        return
    from tqdm.auto import tqdm

    yield from tqdm(runs, total=total, unit="run")


def _check_there(module: str, what: str, asked: bool) -> None:
    if asked and importlib.util.find_spec(module) is None:
        raise ImportError(f"{what} needs {module}: pip install 'aggbandit[sweep]'")
