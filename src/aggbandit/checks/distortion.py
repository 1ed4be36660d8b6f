"""Checks of what chapter 6 defines: how far the hand may be moved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit._arrays import FloatArray
from aggbandit.checks.report import Candidate, Fault, check


@check(
    "a function of y (D,), target (D,) and epsilon (D,), all nonnegative, that returns z (D,): as far from y "
    "toward the target as ||z - y||_1 <= min(z.epsilon, y.epsilon) allows"
)
def distorted_play(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The farthest permitted move toward a target: on the segment, within the rule, not short of it."""
    y, target = rng.dirichlet(np.ones(int(rng.integers(3, 6))), size=2)
    if rng.random() < 0.25:  # near enough to be reached
        target = y + 0.02 * (target - y)
    epsilon = rng.uniform(0.1, 1.2, size=y.size) * (rng.random(y.size) < 0.8)
    epsilon[0] = 0.3
    z = answer(y, target, epsilon, shape=y.shape)
    direction = target - y
    part = float((z - y) @ direction / (direction @ direction))
    aside = float(np.abs(z - y - part * direction).max())
    if aside > 1e-9 or part < -1e-9 or part > 1 + 1e-9:
        amount = f"yours is {part:.3g} of the way" if aside <= 1e-9 else f"yours is {aside:.3g} beside it"
        yield Fault("z lies between y and the target", "", amount)
        return
    for name, allowed in (("y", y @ epsilon), ("z", z @ epsilon)):
        over = float(np.abs(z - y).sum() - allowed)
        if over > 1e-9:
            yield Fault(f"||z - y||_1 is at most {name}.epsilon", "", f"yours is {over:.3g} more")
    farther = min(1.0, part + 1e-6)
    if part < 1 - 1e-9 and _allowed(y, y + farther * direction, epsilon):
        yield Fault(
            "z is as far along as the rule allows",
            "",
            f"yours stops at {part:.3g} of the way, and could go on",
        )


def _allowed(y: FloatArray, z: FloatArray, epsilon: FloatArray) -> bool:
    return bool(np.abs(z - y).sum() <= min(z @ epsilon, y @ epsilon))
