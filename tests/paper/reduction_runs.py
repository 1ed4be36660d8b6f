"""Runs of Algorithm 3 that the statements about it are looked at on."""

import numpy as np

import aggbandit as ab


def epochs_of_a_run(mdp, episodes, seed, confidence):
    """Yields each epoch of a run together with the trajectories played in it."""
    H, S, A, _ = mdp.shape
    rng = np.random.default_rng(seed)
    loss = rng.random(mdp.shape)
    agent = ab.AggregateFeedbackLearner(
        S, A, H, episodes, rates=ab.tuned_rates(), confidence=confidence, initial_state=mdp.initial_state
    )
    epoch, trajectories = agent.epoch, []
    for _ in range(episodes):
        trajectory = mdp.rollout(agent.policy(rng), rng)
        trajectories.append(trajectory)
        agent.observe(ab.AggregateFeedback.observe(trajectory, loss))
        if agent.epoch is not epoch:
            yield epoch, trajectories
            epoch, trajectories = agent.epoch, []
    yield epoch, trajectories


def row_at_distance(P_hat, distance, direction):
    """A distribution at this L1 distance of P_hat, or as far as the simplex allows, along `direction`."""
    direction = direction - direction.mean()
    step = distance / np.abs(direction).sum()
    shrinking = direction < 0
    row = P_hat + direction * min(step, (P_hat[shrinking] / -direction[shrinking]).min())
    return np.maximum(row, 0)  # rounding at a corner
