"""Section 3.3: there are O(log K) epochs."""

import math

import numpy as np
import pytest
from reduction_runs import epochs_of_a_run

import aggbandit as ab


@pytest.mark.parametrize("K", [1, 2, 7, 100, 1000])
def test_one_cell_doubles_and_the_count_is_exact(K):
    """Visits 1, 2, 4, ... end an epoch, so there are 1 + floor(log2 K) ends; the last epoch may be empty."""
    world = ab.FiniteHorizonMDP(np.ones((1, 1, 1, 1)))
    agent = ab.AggregateFeedbackLearner(1, 1, 1, K, rates=ab.tuned_rates())
    history = ab.simulate(agent, world, ab.losses.fixed(np.zeros((1, 1, 1, 1)), K), np.random.default_rng(0))
    assert len(history.epochs) == ab.epochs.most_epochs(1, 1, 1, K) == 2 + math.floor(math.log2(K))


@pytest.mark.parametrize("seed", range(5))
def test_no_run_has_more_epochs_than_doublings(seed):
    rng = np.random.default_rng(seed)
    world = ab.random_mdp(2, 2, 2, rng)
    epochs = list(epochs_of_a_run(world, 200, seed, ab.CorrectedConfidence()))
    assert len(epochs) <= ab.epochs.most_epochs(2, 2, 2, 200) <= 2 * 8 * math.log(200) + 1
    # Each epoch but the last ends with a doubled count, and only its last episode brings it about.
    for epoch, trajectories in epochs[:-1]:
        counts = np.maximum(epoch.counts.sum(axis=-1), 1)
        visits = np.cumsum([t.indicator().sum(axis=-1) for t in trajectories], axis=0)
        assert (visits[-1] >= counts).any()
        assert len(visits) == 1 or (visits[-2] < counts).all()
