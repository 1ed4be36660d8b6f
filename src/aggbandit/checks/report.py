"""What a check says: which rule is violated, where, by how much; never the answer.

A check is a generator of faults, decorated by `check`. It draws one instance, calls the answer, and yields a
`Fault` for each rule that the result breaks. Called by a student it runs on many instances and stops at the
first that shows a fault::

    @check("a function of the probability p of heads that returns the chances (2,) of heads and of tails")
    def coin(answer, rng):
        p = rng.random()
        chances = answer(p, shape=(2,))
        yield from close("the chances sum to one", chances.sum(), 1.0)
        yield from close("heads has the chance p", chances[0], p)

The same checks mark problem sets: there `answer` speaks to another process, and only arrays of numbers cross.
Hence the rules for a check: its task takes and returns arrays of numbers and single numbers; what is random
in it is passed in as numbers; its instances have no symmetry that could hide a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from traceback import extract_tb
from typing import Literal

import numpy as np

from aggbandit._arrays import FloatArray, check_function, check_positive_int, first

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
        """Whether every rule holds on every instance."""
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
class Candidate:
    """A student's function under examination: called with copies, its result read as numbers of one shape.

    Attributes:
        function: what the student wrote, or what speaks to the process that runs it.
    """

    function: Callable[..., object]

    def __call__(self, *arguments: object, shape: tuple[int, ...], finite: bool = True) -> FloatArray:
        """The result as float64 of the shape asked for.

        Args:
            arguments: what the function is called with; arrays are copied.
            shape: the shape its result must have; () for a single number.
            finite: whether every entry must be finite; a check that says no looks at them itself.

        Returns:
            The result.

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
            raise Crashed(_error_of(self.function, error)) from error
        if result is None:
            raise NotAnswered
        array = numbers(result, shape)
        if finite:
            _refuse_infinite(array)
        return array


def numbers(result: object, shape: tuple[int, ...]) -> FloatArray:
    """A result as float64 of one shape.

    Args:
        result: what a function returned.
        shape: the shape it must have.

    Returns:
        The result as an array.

    Raises:
        Broken: where it is no array of real numbers of this shape.
    """
    wanted = f"the result has shape {shape}" if shape else "the result is a single number"
    try:
        given = np.asarray(result)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"its entries are of type {given.dtype}")
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        kind = type(result).__name__
        rule = "the result is an array of real numbers" if shape else wanted
        raise Broken(Fault(rule, "", f"yours is a {kind}; {error}")) from error
    if array.shape != shape:
        raise Broken(Fault(wanted, "", f"yours has shape {array.shape}"))
    return array


def _refuse_infinite(array: FloatArray) -> None:
    infinite = ~np.isfinite(array)
    if not infinite.any():
        return
    if not array.ndim:
        raise Broken(Fault("the result is a finite number", "", f"yours is {array}"))
    where = first(infinite)
    amount = f"{infinite.sum()} of {array.size} entries are not, the first is {array[where]}"
    raise Broken(Fault("every entry is a finite number", f"[{', '.join(map(str, where))}]", amount))


def _error_of(function: Callable[..., object], error: Exception) -> Fault:
    """What a function raised, and in which of its own lines."""
    code = getattr(function, "__code__", None)
    inside = [
        frame for frame in extract_tb(error.__traceback__) if code and frame.filename == code.co_filename
    ]
    line = f"line {inside[-1].lineno} of its cell" if inside else ""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if type(error) is NameError:  # not of a variable of its own that has no value yet
        what += "; if a cell above defines it, run the cells above first"
    return Fault("your function raised an error", line, what)


Examine = Callable[[Candidate, np.random.Generator], Iterator[Fault]]


@dataclass(frozen=True)
class Check:
    """A check of one function that a student writes; call it with the function.

    Attributes:
        name: the task.
        wanted: what the function takes and returns.
        examine: draws one instance and yields the faults of an answer on it.

    Example:
        >>> from aggbandit import checks
        >>> def next_rate(eta, n, y, z_hat, epsilon):
        ...     return 1 / (1 / eta - 2 * n * (y @ epsilon))
        >>> checks.increasing_rate(next_rate)
        increasing_rate: not right yet, on instance 1.
          - the increase pays for what was played, z_hat. Yours takes y, what was chosen.
    """

    name: str
    wanted: str
    examine: Examine

    def __call__(self, function: Callable[..., object], seed: int = 0, instances: int = INSTANCES) -> Report:
        """Try a function on fresh instances and report on the first that shows a fault.

        Args:
            function: what the student wrote.
            seed: where the instances come from.
            instances: how many are tried, at least one.

        Returns:
            The report; nothing is raised for what the function does wrong.

        Raises:
            TypeError: for something that cannot be called.
            ValueError: for a number of instances that is not positive.
        """
        check_function("function", function, "the function itself, not what it returns")
        check_positive_int("instances", instances)
        answer = Candidate(function)
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
    """Make a generator of faults a check, under its own name.

    Args:
        wanted: what the function takes and returns, in a sentence without its full stop.

    Returns:
        A decorator.
    """

    def decorate(examine: Examine) -> Check:
        return Check(examine.__name__, wanted, examine)

    return decorate


def close(
    rule: str,
    found: FloatArray | np.float64,
    wanted: FloatArray | float,
    names: str = "",
    tolerance: float = 1e-9,
) -> Iterator[Fault]:
    """A fault where two arrays differ, at the entry where they differ most; by how much, not what is wanted.

    Args:
        rule: the law that makes them equal.
        found: what follows from the answer.
        wanted: what the law asks for, same shape or a number.
        names: the names of the axes, `h s a`.
        tolerance: absolute, and relative to what is wanted.

    Returns:
        An iterator over one fault or none.
    """
    found = np.asarray(found, dtype=np.float64)
    wanted = np.broadcast_to(np.asarray(wanted, dtype=np.float64), found.shape)
    off = np.abs(found - wanted)
    beyond = off - tolerance * (1 + np.abs(wanted))
    if (beyond <= 0).all():
        return
    index = np.unravel_index(np.argmax(beyond), found.shape)
    yield Fault(rule, place_of(index, names), f"off by {off[index]:.3g}")


def place_of(index: Sequence[np.intp | int], names: str) -> str:
    """An index with the names of its axes.

    Args:
        index: one number an axis.
        names: the names, `h s a`.

    Returns:
        The place, `h = 1, s = 0, a = 1`.
    """
    return ", ".join(f"{name} = {i}" for name, i in zip(names.split(), index, strict=True))
