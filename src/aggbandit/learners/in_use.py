"""One learner, one run at a time: two threads that share one would spoil its counts without a word.

A run claims its learner for as long as it lasts, and a single step for as long as it takes. What is claimed
is kept here and not in the learner, so that learners are pickled and copied as ever; a copy is free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

__all__ = ["LearnerInUse", "alone", "claimed"]

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L")

_door = threading.Lock()
_runs: dict[int, int] = {}  # which thread runs a learner, by the learner's id
_steps: set[int] = set()  # the learners that are in the middle of a step


class LearnerInUse(RuntimeError):
    """A learner is asked to do something while something else is being done with it."""


@contextmanager
def claimed(learner: object) -> Iterator[None]:
    """Keep a learner for one run: nobody else can play it, and this thread cannot begin another run with it.

    Args:
        learner: any object.

    Raises:
        LearnerInUse: if it is being played already.

    Example:
        >>> import aggbandit as ab
        >>> learner = ab.FixedPolicy(ab.uniform_policy(ab.night_driver().mdp))
        >>> with claimed(learner):
        ...     try:
        ...         with claimed(learner):
        ...             pass
        ...     except ab.learners.LearnerInUse as error:
        ...         print(error)
        this FixedPolicy is being played by another run; each run needs its own
    """
    key = id(learner)  # nobody else has it while the learner lives, and this frame keeps it alive
    with _door:
        if key in _runs or key in _steps:
            raise LearnerInUse(_told(learner))
        _runs[key] = threading.get_ident()
    try:
        yield
    finally:
        with _door:
            del _runs[key]


def alone(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Let a method of a learner be the only one that is being executed, by the thread that plays the learner.

    Args:
        method: of a learner.

    Returns:
        The method. It raises LearnerInUse when another thread plays the learner, or another such method of
        it has not returned yet.
    """

    @wraps(method)
    def guarded(learner: L, /, *args: P.args, **kwargs: P.kwargs) -> R:
        key = id(learner)
        with _door:
            if key in _steps or (key in _runs and _runs[key] != threading.get_ident()):
                raise LearnerInUse(f"{method.__name__}: {_told(learner)}")
            _steps.add(key)
        try:
            return method(learner, *args, **kwargs)
        finally:
            _steps.discard(key)  # by itself: nobody can begin while it is there

    return guarded


def _told(learner: object) -> str:
    return f"this {type(learner).__name__} is being played by another run; each run needs its own"
