"""Lemma sumofepsilons: what the perturbations of an epoch can add up to is known when it begins."""

import numpy as np
import pytest
from reduction_runs import epochs_of_a_run

import aggbandit as ab

K, DELTA = 500, 1 / 1500


@pytest.mark.parametrize(
    ("confidence", "budget"),
    [(ab.CorrectedConfidence(), ab.theory.printed_B), (ab.TightConfidence(), ab.theory.B)],
    ids=["corrected", "tight"],
)
def test_the_budget_of_an_epoch_is_never_exceeded(confidence, budget):
    world = ab.night_driver().mdp
    largest = budget(3, 2, 3, K, DELTA)
    share = 0.0
    for epoch, trajectories in epochs_of_a_run(world, K, 5, confidence):
        spent = sum(np.vdot(t.indicator().sum(axis=-1), epoch.epsilon) ** 2 for t in trajectories)
        assert epoch.budget == ab.epochs.epoch_budget(epoch.counts, epoch.epsilon, world.initial_state)
        assert spent <= epoch.budget * (1 + 1e-12)
        assert epoch.budget <= largest * (1 + 1e-12)
        share = max(share, spent / epoch.budget)
    assert share > 0.05


def test_no_cell_is_visited_more_than_it_was_before():
    """n_i <= max(N_i, 1), without the printed + 1: an episode adds at most one, and the loop looks after
    each."""
    world = ab.night_driver().mdp
    for epoch, trajectories in epochs_of_a_run(world, K, 6, ab.CorrectedConfidence()):
        visits = sum(t.indicator().sum(axis=-1) for t in trajectories)
        assert (visits <= np.maximum(epoch.counts.sum(axis=-1), 1)).all()


def test_the_lemma_by_hand():
    """One state, one action, H = 1: N visits before, N in the epoch, each costing eps² = 25 (1 +
    log(K/delta))/N."""
    counts = np.full((1, 1, 1, 1), 8)
    epsilon = ab.CorrectedConfidence(0.1).epsilon(counts, 64)
    assert 8 * epsilon[0, 0, 0] ** 2 == pytest.approx(ab.epochs.epoch_budget(counts, epsilon))
    assert ab.epochs.epoch_budget(counts, epsilon) == pytest.approx(ab.theory.printed_B(1, 1, 1, 64, 0.1))
