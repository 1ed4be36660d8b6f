"""A check of what chapter 15 defines: one total as an estimate at all the steps it passed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit.checks.report import Candidate, Fault, check, close
from aggbandit.mdp import FiniteHorizonMDP, enumerate_trajectories


@check(
    "a function of states (H,) and actions (H,), what an episode passed, total, what it cost, chances (H, S) "
    "of meeting each state, and policy (H, S, A) that returns the estimate (H, S, A) of the U-function"
)
def u_estimate(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """Its mean over all episodes is U, the mean total of those that pass; and it is zero elsewhere."""
    horizon, n_states, n_actions = 3, int(rng.integers(2, 4)), 2
    shape = (horizon, n_states, n_actions)
    mdp = FiniteHorizonMDP(rng.dirichlet(np.full(n_states, 0.8), size=shape), int(rng.integers(n_states)))
    policy, loss = rng.dirichlet(np.full(n_actions, 2.0), size=shape[:2]), rng.random(mdp.shape)
    chances = mdp.occupancy(policy).sum(axis=(2, 3))
    mean, passed, paid = np.zeros((3, *shape))
    for episode, likely in enumerate_trajectories(mdp, policy):
        steps, states, actions, _ = episode.cells
        here = np.zeros(shape, dtype=bool)
        here[steps, states, actions] = True
        total = episode.total(loss)
        estimate = answer(states.copy(), actions.copy(), total, chances.copy(), policy.copy(), shape=shape)
        if np.any(estimate[~here]):
            yield Fault("the estimate is zero where the episode did not pass", "", "yours is not")
            return
        mean += likely * estimate
        passed += likely * here
        paid += likely * total * here
    met = passed > 0
    wanted = np.divide(paid, passed, out=np.zeros(shape), where=met)
    found = np.where(met, mean, 0.0)
    rule = "the mean of the estimate is U, the mean total of the episodes that pass"
    factor = float((found * wanted).sum() / (wanted**2).sum())
    if np.allclose(found, factor * wanted, rtol=1e-7) and abs(factor - 1) > 1e-7:
        yield Fault(rule, "", f"yours is {factor:.4g} times U")
        return
    yield from close(rule, found, wanted, "h s a", 1e-8)
