"""Checks of what chapters 14 and 15 define: one total as an estimate at all the steps it passed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggbandit.checks.report import Candidate, Fault, check, close
from aggbandit.learners.policy_optimization import q_function
from aggbandit.mdp import FiniteHorizonMDP, enumerate_trajectories
from aggbandit.worlds import random_mdp


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


@check(
    "a function of states (H,), actions (H,), total and x (H, S, A), the occupancy measure of the policy "
    "that was played, that returns the estimate (H, S, A) of Q - V"
)
def q_minus_v_estimate(answer: Candidate, rng: np.random.Generator) -> Iterator[Fault]:
    """Nothing where the drive was not; no mean over actions; and over all drives the mean is Q - V."""
    mdp = random_mdp(2, int(rng.integers(2, 4)), 3, rng)
    policy = rng.dirichlet(np.full(mdp.n_actions, 2.0), size=(mdp.horizon, mdp.n_states))
    loss = rng.random(mdp.shape)
    x = mdp.occupancy(policy).sum(axis=3)
    mean = np.zeros(x.shape)
    for trajectory, probability in enumerate_trajectories(mdp, policy):
        states, actions = trajectory.states[: mdp.horizon], trajectory.actions
        found = answer(states, actions, trajectory.total(loss), x, shape=x.shape)
        there = np.zeros(x.shape[:2], dtype=bool)
        there[np.arange(mdp.horizon), states] = True
        if np.abs(found[~there]).max() > 0:
            yield Fault("the estimate is zero at places the drive did not pass", "", "yours is not")
            return
        mean += probability * found
    q = q_function(mdp, policy, loss)
    value = (policy * q).sum(axis=2, keepdims=True)
    met = x.sum(axis=2) > 0
    flat = (policy * mean).sum(axis=2)[met]
    yield from close("what the policy does on average is neither better nor worse than V", flat, 0.0, "place")
    yield from close("over all drives the mean is Q - V", mean[met], (q - value)[met], "place action")
