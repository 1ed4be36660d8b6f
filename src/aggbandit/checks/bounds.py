"""A check of what chapter 12 defines: the worst that can happen to a learner that never changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit.checks.instances import small_world
from aggbandit.checks.report import Candidate, Fault, check, close


@check(
    "a function of x (D,), the learner's occupancy measure, and corners (m, D), those of the comparators, "
    "that returns the largest regret of an episode over all prices in [0, 1]"
)
def worst_regret(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """The opponent charges one where the learner goes more often than the best comparator for that."""
    mdp = small_world(rng).mdp
    shape = mdp.shape[:3]
    policies = rng.dirichlet(np.full(shape[2], 0.5), size=(6, *shape[:2]))
    x, *others = (mdp.occupancy(policy).ravel() for policy in policies)
    corners = np.array(others)
    alone = answer(x, x[None], shape=())
    yield from close("against itself nobody has regret", alone, 0.0)
    found = answer(x, corners, shape=())
    prices = rng.random((400, x.size))
    had = ((x - corners) @ prices.T).max()
    if found < had - 1e-9:
        yield Fault(
            "no prices in [0, 1] cost more than the worst", "", f"some cost {had:.3g}, yours is {found:.3g}"
        )
        return
    one = max(answer(x, corner[None], shape=()) for corner in corners)
    yield from close("several comparators are as bad as the worst of them", found, float(one))
    positive = max(float((x - corner) @ (x > corner)) for corner in corners)
    yield from close("there are prices that cost as much", found, positive)
