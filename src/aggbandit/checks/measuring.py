"""A check of what chapter 13 defines: how steeply regret grows, read off many runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit.checks.report import Candidate, Fault, check, close


@check(
    "a function of regret (R, N), that of R runs with lengths (N,) episodes each, that returns the N - 1 "
    "slopes of the mean regret against the length, both in logarithms"
)
def regret_slopes(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The mean comes first, the logarithm second; every slope belongs to its own two lengths."""
    lengths = np.cumsum(rng.uniform(1, 3, 5)) * 100.0
    power, factor = rng.uniform(0.4, 1), rng.uniform(0.1, 9)
    of_a_power = answer(factor * lengths[None] ** power, lengths, shape=(4,))
    yield from close("the slope of a power is its exponent", of_a_power, np.full(4, power), "slope")
    # Runs that differ as much as regrets do.
    regret = lengths ** rng.uniform(0.5, 1, (6, 1)) * rng.uniform(0.5, 1.5, (6, 5))
    found = answer(regret, lengths, shape=(4,))
    yield from close(
        "another unit of regret changes no slope", answer(7 * regret, lengths, shape=(4,)), found, "slope"
    )
    mean = regret.mean(axis=0)
    climbed = found * np.diff(np.log(lengths))
    yield from close(
        "a slope leads from one mean of the runs to the next", climbed, np.diff(np.log(mean)), "slope"
    )
