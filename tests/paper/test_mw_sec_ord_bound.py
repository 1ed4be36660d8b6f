"""Lemma mw-sec-ord-bound: exponential weights on optimistic estimates, pathwise, with the sum over rounds."""

import numpy as np
import pytest
from enumeration import KINDS, constant_game, finite_set

from aggbandit import OptimisticEXP2
from aggbandit.game import Exactly, TowardsWorstVertex


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_second_order_bound_on_a_run(kind, seed):
    rng = np.random.default_rng(seed)
    loss_bound, beta, rounds = float(rng.uniform(0.5, 2)), float(rng.uniform(0.05, 0.5)), 1500
    points = finite_set(rng, kind, loss_bound)
    learner = OptimisticEXP2(points, rounds, loss_bound, beta)
    game = constant_game(
        TowardsWorstVertex(points),
        points,
        rng.random(points.shape[1]),
        rng.uniform(0, beta, size=points.shape[1]),
        rounds,
        loss_bound,
        Exactly(),
    )
    regret, second_order, largest = np.zeros(len(points)), 0.0, 0.0
    p = learner.weights
    for played in game.rounds(learner, rng):
        values = played.record.values
        regret += p @ values - values
        second_order += p @ values**2
        largest = max(largest, np.abs(values).max())
        p = learner.weights
    assert learner.eta * largest <= 1 + 1e-12
    assert regret.max() <= np.log(len(points)) / learner.eta + learner.eta * second_order


def test_printed_without_the_sum_over_rounds_fails():
    """Two arms that lose in turn: the regret grows with T, the last round's second moment does not."""
    eta, a, rounds = 1.0, 0.5, 200
    log_weights, regret, second_order = np.zeros(2), np.zeros(2), []
    for t in range(rounds):
        p = np.exp(log_weights - log_weights.max())
        p /= p.sum()
        values = np.array([a, 0.0]) if t % 2 == 0 else np.array([0.0, a])
        regret += p @ values - values
        second_order.append(p @ values**2)
        log_weights -= eta * values
    printed = np.log(2) / eta + eta * second_order[-1]
    corrected = np.log(2) / eta + eta * sum(second_order)
    assert printed < regret.max() <= corrected
