"""What happened in a run: losses, epochs, regret; and how it is written to a file and read again."""

from __future__ import annotations

import json
import os
import struct
import tokenize
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggbandit._arrays import FloatArray, IntArray, reduce_frozen
from aggbandit.learners.epochs import EpochSummary

__all__ = ["History"]

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
    __reduce__ = reduce_frozen

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


def _as_list(value: Any) -> Any:
    """What JSON cannot write by itself: the state of a generator may hold an array."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot save a {type(value).__name__}")


def as_array(value: Any) -> Any:
    """The inverse of `_as_list`, at any depth."""
    if isinstance(value, dict):
        if set(value) == {"array", "dtype"}:
            return np.array(value["array"], dtype=value["dtype"])
        return {key: as_array(entry) for key, entry in value.items()}
    return value
