"""What happened in a run: losses, epochs, regret; and how it is written to a file and read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from aggbandit import _archive
from aggbandit._arrays import (
    FloatArray,
    IntArray,
    check_finite,
    check_positive_int,
    check_shape,
    place,
    probability_rows,
    read_only,
    reduce_frozen,
)

__all__ = ["Checkpoint", "EpochRow", "History"]

# A saved history says what it is and in which layout.
FORMAT, VERSION = "aggbandit history", 2
ENGINES = ("reference", "compiled")
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Losses lie in [0, 1], their sums within this share of what that allows: rounding, and no more.
ROUNDING = 1e-9


class EpochRow(SimpleNamespace):
    """What a learner tells of one epoch: plain numbers, bools and strings by name, read-only.

    It has the fields of the learner's own record, whatever they are, and needs no class of the learner's to
    be read from a file. `vars(row)` is the table of names and values.

    Example:
        >>> row = EpochRow(episodes=40, clipped=2)
        >>> row.episodes
        40
        >>> row
        EpochRow(episodes=40, clipped=2)
    """

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} cannot be set; what happened in an epoch stays as it is")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} cannot be deleted; what happened in an epoch stays as it is")

    @classmethod
    def of(cls, record: Any) -> EpochRow:
        """The row of a learner's record.

        Args:
            record: an instance of a dataclass whose fields are numbers, bools and strings.

        Returns:
            The row, with NumPy's scalars as Python's.

        Raises:
            TypeError: for anything else.
        """
        if isinstance(record, EpochRow):
            return record
        if not is_dataclass(record) or isinstance(record, type) or not fields(record):
            raise TypeError(f"an epoch is {record!r}; it must be an instance of a dataclass with fields")
        values = {field.name: getattr(record, field.name) for field in fields(record)}
        plain = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()
        }
        for name, value in plain.items():
            if not isinstance(value, (bool, int, float, str)):
                raise TypeError(
                    f"{type(record).__name__}.{name} is a {type(value).__name__}; "
                    "an epoch is told in numbers, bools and strings"
                )
        return cls(**plain)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where an interrupted run stands: all that `resume` needs besides the history.

    Attributes:
        learner: arrays by name, what the learner's `snapshot` returned; copied, read-only.
        generator: the state of the random numbers, as NumPy writes it.
        world: a fingerprint of the world.
        losses: a fingerprint of the losses.

    Raises:
        ValueError: for what `resume` could not read, such as an array of objects or a state of no generator.
    """

    learner: Mapping[str, NDArray[Any]]
    generator: Mapping[str, Any]
    world: str
    losses: str

    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        copies = {name: np.array(value) for name, value in self.learner.items()}
        for name, array in copies.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise ValueError(f"the state of the learner has an array called {name!r}; names are words")
            if array.dtype.hasobject:
                raise ValueError(f"the learner's {name} has no numbers, bools or text, but objects")
            array.setflags(write=False)
        object.__setattr__(self, "learner", MappingProxyType(copies))
        for name in ("world", "losses"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"the fingerprint of the {name} is {getattr(self, name)!r}; it is a text")
        self.rng()

    def rng(self) -> np.random.Generator:
        """A new generator in the recorded state.

        Raises:
            ValueError: when this is no state of a generator of NumPy's.
        """
        kind = self.generator.get("bit_generator") if isinstance(self.generator, Mapping) else None
        if kind not in GENERATORS:
            raise ValueError(f"the random numbers are of {kind!r}; it must be one of {', '.join(GENERATORS)}")
        bit_generator = getattr(np.random, kind)(0)
        try:
            bit_generator.state = dict(self.generator)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise ValueError(f"the state of the random numbers is none of {kind}: {error!r}") from error
        return np.random.Generator(bit_generator)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """What happened in K episodes, and what the best fixed policy would have paid.

    Attributes:
        expected_loss: (K,) `x^{pi_k} . l_k`, what the policy of the episode pays on average.
        total_loss: (K,) `z_hat_k . l_k`, what the trajectory of the episode paid.
        comparator_loss: (K,) `x^{pi*} . l_k`, what the best fixed policy pays on average.
        best_policy: (H, S, A) pi*, best for all planned episodes together.
        best_value: what pi* pays on average in all planned episodes.
        episodes: how many episodes were played.
        planned: how many were to be played; more than `episodes` if the run was interrupted.
        every: 1, or m if the history is thinned: an entry of the three arrays then is the sum over m episodes
            in a row (the last one over the rest), so that sums, and `regret` at these episodes, stay exact.
        epochs: what the learner tells of each epoch, if it has epochs: its own fields, as an `EpochRow`.
        engine: "reference" or "compiled", whichever played.
        checkpoint: where learner and generator were, if the run was interrupted and can be resumed.

    Raises:
        ValueError: naming the place, for numbers that cannot be those of a run.

    Source:
        Section 3.

    Example:
        >>> import numpy as np
        >>> import aggbandit as ab
        >>> world = ab.night_driver()
        >>> coin = ab.FixedPolicy(ab.uniform_policy(world.mdp))
        >>> losses = ab.losses.fixed(world.loss, 100)
        >>> history = ab.simulate(coin, world, losses, np.random.default_rng(0))
        >>> len(history)
        100
        >>> print(f"{history.regret()[-1]:.2f}")
        62.77
    """

    expected_loss: FloatArray
    total_loss: FloatArray
    comparator_loss: FloatArray
    best_policy: FloatArray
    best_value: float
    episodes: int
    planned: int
    every: int = 1
    epochs: tuple[EpochRow, ...] = ()
    engine: str = "reference"
    checkpoint: Checkpoint | None = None

    __reduce__ = reduce_frozen

    def __post_init__(self) -> None:
        _check_counts(self.episodes, self.planned, self.every)
        if not isinstance(self.engine, str) or self.engine not in ENGINES:
            raise ValueError(f"engine is {self.engine!r}; it must be one of {', '.join(map(repr, ENGINES))}")
        policy = read_only(probability_rows("best_policy", self.best_policy))
        if policy.ndim != 3:
            raise ValueError(f"best_policy has shape {policy.shape}; expected (H, S, A)")
        object.__setattr__(self, "best_policy", policy)
        if isinstance(self.best_value, bool) or not isinstance(self.best_value, Real):
            raise ValueError(f"best_value is {self.best_value!r}; it must be a number")
        most = len(policy) * self.planned
        if not -ROUNDING <= self.best_value <= most * (1 + ROUNDING):
            raise ValueError(f"best_value is {self.best_value}; it must lie in [0, {most}]")
        for name in ("expected_loss", "total_loss", "comparator_loss"):
            losses = read_only(getattr(self, name))
            check_shape(name, losses, (_blocks(self.episodes, self.every),), "one entry a block of episodes")
            check_finite(name, losses)
            object.__setattr__(self, name, losses)
            self._check_losses(name, losses)
        for i, row in enumerate(self.epochs):
            if not isinstance(row, EpochRow):
                raise ValueError(f"epochs[{i}] is {row!r}; it must be an EpochRow")
        if self.checkpoint is not None and self.complete:
            raise ValueError("a complete history has no checkpoint; there is nothing to resume")

    def _check_losses(self, name: str, losses: FloatArray) -> None:
        """Every loss of a step lies in [0, 1]."""
        most = len(self.best_policy) * np.diff(self.at, prepend=0)
        outside = (losses < -ROUNDING) | (losses > most * (1 + ROUNDING))
        if outside.any():
            k = int(np.argmax(outside))
            raise ValueError(f"{place(name, (k,))} is {losses[k]:.6g}; it must lie in [0, {most[k]}]")

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
        """After how many episodes each entry ends: 1, 2, ..., K, or m, 2m, ..., K if thinned."""
        return np.minimum(self.every * np.arange(1, len(self.expected_loss) + 1), self.episodes)

    def regret(self) -> FloatArray:
        """The regret after each episode (of `at`): `sum_{j<=k} (x^{pi_j} - x^{pi*}) . l_j`.

        `pi*` is the best policy for all planned episodes, so that only the last entry of a complete history
        is compared with its own optimum (an earlier entry may be negative). Expectations are over the
        trajectories.

        Returns:
            (K,) the regret, or one entry for each of `at`.

        Source:
            Section 3.
        """
        return np.cumsum(self.expected_loss - self.comparator_loss)

    def save(self, path: str | Path) -> None:
        """Write everything to one file, whole or not at all.

        It is written under a temporary name in the same folder and then renamed. A link is followed; an
        existing file is replaced, and keeps its permissions.

        Args:
            path: of the file.

        Raises:
            ValueError: when `path` is something else than a file, or an epoch cannot be written.
            OSError: when the file cannot be written; what was there before is then still there.
        """
        arrays: dict[str, NDArray[Any]] = {
            "expected_loss": self.expected_loss,
            "total_loss": self.total_loss,
            "comparator_loss": self.comparator_loss,
            "best_policy": self.best_policy,
        }
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "best_value": float(self.best_value),
            "episodes": int(self.episodes),
            "planned": int(self.planned),
            "every": int(self.every),
            "shape": self.best_policy.shape,
            "engine": self.engine,
            "epochs": len(self.epochs),
            "fields": list(vars(self.epochs[0])) if self.epochs else [],
            "checkpoint": None,
        }
        arrays |= {f"epoch.{name}": column for name, column in _columns(self.epochs).items()}
        if self.checkpoint is not None:
            header["checkpoint"] = {
                "generator": _plain(self.checkpoint.generator),
                "world": self.checkpoint.world,
                "losses": self.checkpoint.losses,
            }
            arrays |= {f"learner.{name}": value for name, value in self.checkpoint.learner.items()}
        _archive.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read a file that `save` wrote.

        Args:
            path: of the file.

        Returns:
            The history; what the file holds is checked before.

        Raises:
            FileNotFoundError: if there is none (any OSError if it cannot be opened).
            ValueError: naming the file and the rule, if it is truncated or damaged, no history, of another
                version, or not what a run can have left.
        """
        with _archive.reading(path, "saved history") as archive:
            return cls(**_content(archive))


# --- The file --------------------------------------------------------------------------------------------


def _content(archive: _archive.Archive) -> dict[str, Any]:
    """The fields of a history; the sizes of arrays are compared with what the header promises."""
    header = archive.header
    if header.get("format") != FORMAT:
        raise ValueError(f"format is {header.get('format')!r}; it must be {FORMAT!r}")
    if header.get("version") != VERSION:
        raise ValueError(f"it has version {header.get('version')!r} of the format; this is version {VERSION}")
    expected = {
        "best_value",
        "episodes",
        "planned",
        "every",
        "shape",
        "engine",
        "epochs",
        "fields",
        "checkpoint",
    }
    for name in sorted(expected ^ (set(header) - {"format", "version"})):
        raise ValueError(
            f"{name} is missing" if name in expected else f"{name} is none of a history's entries"
        )
    _check_counts(header["episodes"], header["planned"], header["every"])
    shape = header["shape"]
    if not isinstance(shape, list) or len(shape) != 3:
        raise ValueError(f"shape is {shape!r}; it must be [H, S, A]")
    for name, size in zip("HSA", shape, strict=True):
        check_positive_int(name, size)
    blocks = (_blocks(header["episodes"], header["every"]),)
    return {
        **{name: archive.floats(name, blocks) for name in ("expected_loss", "total_loss", "comparator_loss")},
        "best_policy": archive.floats("best_policy", tuple(shape)),
        **{name: header[name] for name in ("best_value", "episodes", "planned", "every", "engine")},
        "epochs": _epochs(archive),
        "checkpoint": _checkpoint(archive),
    }


def _epochs(archive: _archive.Archive) -> tuple[EpochRow, ...]:
    """The rows, from one array a field."""
    count, names = archive.header["epochs"], archive.header["fields"]
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(f"epochs is {count!r}; it must be how many there are")
    if not isinstance(names, list) or not all(isinstance(n, str) and n.isidentifier() for n in names):
        raise ValueError(f"fields is {names!r}; it must be a list of names")
    if len(set(names)) != len(names) or bool(names) != bool(count):
        raise ValueError(f"fields is {names!r} for {count} epochs")
    columns = {}
    for name in names:
        if f"epoch.{name}" not in archive.names:
            raise ValueError(f"epoch.{name} is missing")
        column = archive.array(f"epoch.{name}")
        if column.shape != (count,) or column.dtype.kind not in "biufU":
            raise ValueError(
                f"epoch.{name} has shape {column.shape} of {column.dtype}; {count} epochs differ"
            )
        columns[name] = column.tolist()
    return tuple(
        EpochRow(**dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)
    )


def _checkpoint(archive: _archive.Archive) -> Checkpoint | None:
    entries = archive.header["checkpoint"]
    if entries is None:
        return None
    if not isinstance(entries, dict) or set(entries) != {"generator", "world", "losses"}:
        raise ValueError("checkpoint must have a generator, a world and losses")
    state = {
        name.removeprefix("learner."): archive.array(name)
        for name in archive.names
        if name.startswith("learner.")
    }
    return Checkpoint(state, _with_arrays(entries["generator"]), entries["world"], entries["losses"])


def _columns(epochs: tuple[EpochRow, ...]) -> dict[str, NDArray[Any]]:
    """The rows as one array a field, so that any learner's can be written."""
    columns = {}
    for name in vars(epochs[0]) if epochs else ():
        values = [vars(row).get(name) for row in epochs]
        kinds = {type(value) for value in values}
        if not (kinds <= {int, float} or kinds in ({bool}, {str})):
            raise ValueError(f"epochs: {name} is now {_names(kinds)}; one kind of value is written")
        columns[name] = np.array(values)
        if columns[name].dtype.hasobject:
            raise ValueError(f"epochs: {name} is beyond 64 bits")
    for i, row in enumerate(epochs):
        if list(vars(row)) != list(columns):
            raise ValueError(
                f"epochs[{i}] has the fields {', '.join(vars(row))}; the first has {', '.join(columns)}"
            )
    return columns


def _names(kinds: Iterable[type]) -> str:
    return ", now ".join(sorted(kind.__name__ for kind in kinds))


def _plain(value: Any) -> Any:
    """What JSON cannot write by itself: the state of a generator may hold arrays."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return value


def _with_arrays(value: Any) -> Any:
    """The inverse of `_plain`, at any depth."""
    if not isinstance(value, dict):
        return value
    if set(value) == {"array", "dtype"}:
        bits, words = {"uint32": 32, "uint64": 64}.get(str(value["dtype"]), 0), value["array"]
        if not isinstance(words, list) or not all(type(n) is int and 0 <= n < 1 << bits for n in words):
            raise ValueError("the state of the random numbers has an array that is none of uint32 or uint64")
        return np.array(words, dtype=value["dtype"])
    return {key: _with_arrays(entry) for key, entry in value.items()}


# --- Numbers that fit one another ------------------------------------------------------------------------


def _check_counts(episodes: int, planned: int, every: int) -> None:
    check_positive_int("planned", planned)
    check_positive_int("every", every)
    if (
        not isinstance(episodes, (int, np.integer))
        or isinstance(episodes, bool)
        or not 0 <= episodes <= planned
    ):
        raise ValueError(f"episodes is {episodes!r}; it must be an integer 0..{planned}")


def _blocks(episodes: int, every: int) -> int:
    """How many entries a history of so many episodes has."""
    return -(-episodes // every)
