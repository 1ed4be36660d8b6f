"""What a check says: which rule is violated, where, by how much; never the answer.

A check is a generator of faults, decorated by `check`. It draws one instance, calls the answer, and yields a
`Fault` for each rule that the result breaks. Called by a student it runs on many instances and stops at the
first that shows a fault::

    @check("x of shape (H, S, A, S), from policy, transitions and initial_state")
    def occupancy(answer, rng):
        world = instances.world(rng)
        x = answer(world.policy, world.transitions, 0, shape=world.transitions.shape)
        yield from mass_is_one(x)

The same checks mark problem sets: there `answer` speaks to another process, and only arrays of numbers cross.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aggbandit._arrays import FloatArray

INSTANCES = 8  # on how many instances an answer is tried

Verdict = Literal["right", "wrong", "not answered", "crashed"]
VERDICTS: dict[Verdict, str] = {
    "right": "right",
    "wrong": "not right yet",
    "not answered": "not answered yet",
    "crashed": "stopped with an error",
}


@dataclass(frozen=True)
class Fault:
    """One rule that an answer breaks.

    Attributes:
        rule: the law in words and symbols, `what flows into a state flows out of it`.
        place: where, counted from zero as in the code, `h = 1, s = 2`; empty where there is no place.
        amount: by how much, or what was found, `0.3 flows in and 0.25 out`.
    """

    rule: str
    place: str = ""
    amount: str = ""

    def __str__(self) -> str:
        where = f" At {self.place}" if self.place else ""
        if self.amount:
            where = f"{where}: {self.amount}" if where else f" {self.amount[:1].upper()}{self.amount[1:]}"
        return f"{self.rule}.{where}{'.' if where else ''}"


@dataclass(frozen=True, repr=False)
class Report:
    """What a check found; a notebook shows it as text.

    Attributes:
        task: the name of the check.
        verdict: `right`, `wrong`, `not answered` or `crashed`.
        faults: the rules that are broken on the first instance that shows one.
        instances: on how many instances the answer was tried.
        wanted: what the function takes and returns.
    """

    task: str
    verdict: Verdict
    faults: tuple[Fault, ...]
    instances: int
    wanted: str

    @property
    def passed(self) -> bool:
        """Whether every instance satisfied every rule."""
        return self.verdict == "right"

    def __repr__(self) -> str:
        head = f"{self.task}: {VERDICTS[self.verdict]}"
        if self.verdict == "right":
            return f"{head}, on {self.instances} instances."
        if self.verdict == "not answered":
            return f"{head}. Wanted: {self.wanted}."
        return "\n".join(
            [f"{head}, on instance {self.instances}.", *(f"  - {fault}" for fault in self.faults)]
        )


class NotAnswered(Exception):
    """The function returns nothing, or raises `NotImplementedError`, as the blank cell does."""


class Broken(Exception):
    """The answer cannot be looked at any further; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Crashed(Broken):
    """The function raised an error of its own."""


@dataclass(frozen=True)
class Answer:
    """A student's function: called with copies, its result read as finite numbers of one shape.

    Attributes:
        function: what the student wrote, or what speaks to the process that runs it.
    """

    function: Callable[..., object]

    def __call__(self, *arguments: object, shape: tuple[int, ...]) -> FloatArray:
        """The result as float64 of the shape asked for.

        Raises:
            NotAnswered: where the function returns None or raises NotImplementedError.
            Crashed: where it raises anything else.
            Broken: where the result is no array of finite numbers of this shape.
        """
        copies = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        try:
            result = self.function(*copies)
        except NotImplementedError as blank:
            raise NotAnswered from blank
        except Exception as error:
            # Whatever a student's code raises is something to tell the student, and stops nobody else.
            raise Crashed(
                Fault("your function raised an error", "", f"{type(error).__name__}: {error}")
            ) from error
        if result is None:
            raise NotAnswered
        return numbers(result, shape)


def numbers(result: object, shape: tuple[int, ...]) -> FloatArray:
    """A result as float64 of one shape; raises `Broken` where it is none."""
    try:
        array = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(result).__name__
        raise Broken(Fault("the result is an array of numbers", "", f"it is a {kind}: {error}")) from error
    if array.shape != shape:
        raise Broken(Fault(f"the result has shape {shape}", "", f"yours has shape {array.shape}"))
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))
        first = ", ".join(map(str, bad[0]))
        count = f"{len(bad)} of {array.size} entries are not"
        raise Broken(Fault("every entry is a finite number", f"[{first}]" if array.ndim else "", count))
    return array


Examine = Callable[[Answer, np.random.Generator], Iterator[Fault]]


@dataclass(frozen=True)
class Check:
    """A check of one function that a student writes; call it with the function.

    Attributes:
        name: the task.
        wanted: what the function takes and returns.
        examine: draws one instance and yields the faults of an answer on it.
    """

    name: str
    wanted: str
    examine: Examine

    def __call__(self, function: Callable[..., object], seed: int = 0, instances: int = INSTANCES) -> Report:
        """Try a function on fresh instances and report on the first that shows a fault.

        Args:
            function: what the student wrote.
            seed: where the instances come from.
            instances: how many are tried.

        Returns:
            the report; nothing is raised for what the function does wrong.
        """
        answer = Answer(function)
        for number, stream in enumerate(np.random.SeedSequence(seed).spawn(instances), start=1):
            try:
                faults = tuple(self.examine(answer, np.random.default_rng(stream)))
                verdict: Verdict = "wrong"
            except NotAnswered:
                return Report(self.name, "not answered", (), number, self.wanted)
            except Crashed as crash:
                faults, verdict = (crash.fault,), "crashed"
            except Broken as broken:
                faults, verdict = (broken.fault,), "wrong"
            if faults:
                return Report(self.name, verdict, faults, number, self.wanted)
        return Report(self.name, "right", (), instances, self.wanted)


def check(wanted: str) -> Callable[[Examine], Check]:
    """Make a generator of faults a check, under its own name."""

    def decorate(examine: Examine) -> Check:
        return Check(examine.__name__, wanted, examine)

    return decorate


def close(
    rule: str, found: FloatArray, wanted: FloatArray | float, names: str = "", tolerance: float = 1e-9
) -> Iterator[Fault]:
    """A fault where two arrays differ, at the entry where they differ most; by how much, not what is wanted.

    Args:
        rule: the law that makes them equal.
        found: what follows from the answer.
        wanted: what the law asks for, same shape or a number.
        names: the names of the axes, `h s a`.
        tolerance: absolute and relative.
    """
    wanted = np.broadcast_to(np.asarray(wanted, dtype=np.float64), np.shape(found))
    off = np.abs(found - wanted)
    if (off <= tolerance * (1 + np.abs(wanted))).all():
        return
    index = np.unravel_index(np.argmax(off), np.shape(found))
    place = ", ".join(f"{name} = {i}" for name, i in zip(names.split(), index, strict=True)) if names else ""
    yield Fault(rule, place, f"off by {off[index]:.3g}")
