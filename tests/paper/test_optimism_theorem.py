"""Theorem optimismmain: Algorithm 1's regret against its corrected bound."""

import numpy as np
import pytest
from enumeration import constant_game, one_round

from aggbandit import OptimisticEXP2, theory
from aggbandit.game import DrawArm, Exactly, Freezing, TowardsWorstVertex, Undistorted, largest_step


def mean_and_error(game, learner, seeds):
    regrets = [game.play(learner(), np.random.default_rng(seed)).regret()[-1] for seed in range(seeds)]
    return np.mean(regrets), np.std(regrets, ddof=1) / np.sqrt(seeds)


@pytest.mark.parametrize("adversary", [Undistorted(), TowardsWorstVertex(np.eye(3)), Freezing()])
def test_measured_regret_is_below_the_bound(adversary):
    rounds, size = 1200, 0.01
    points, loss = np.eye(3), np.array([0.1, 0.5, 0.9])
    game = constant_game(adversary, points, loss, np.full(3, size), rounds, 1.0, DrawArm())
    bound = theory.optimistic_bound(3, 3, 1.0, size, rounds, size**2 * rounds)
    mean, error = mean_and_error(game, lambda: OptimisticEXP2(points, rounds, 1.0, size), 4)
    print(f"{type(adversary).__name__}: regret {mean:.0f} ± {error:.0f}, bound {bound:.0f}, rounds {rounds}")
    assert mean + 4 * error <= bound < 0.4 * rounds  # what uniform play loses


def test_a_set_that_does_not_span():
    """Two-step occupancy measures of a known world: affine hull off zero, rank below the dimension."""
    rng = np.random.default_rng(11)
    policies = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1.0]])  # rank 3 in dimension 4
    rounds, beta = 2000, 0.02
    loss, epsilon = rng.random(4), rng.uniform(0, beta, size=4)
    game = constant_game(TowardsWorstVertex(policies), policies, loss, epsilon, rounds, 2.0, Exactly())
    learner = OptimisticEXP2(policies, rounds, 2.0, beta)
    history = game.play(learner, rng)
    assert learner.rank == 3
    bound = theory.optimistic_bound(3, 4, 2.0, beta, rounds, history.budget_spent()[-1])
    print(f"four policies: regret {history.regret()[-1]:.0f}, bound {bound:.0f}, rounds {rounds}")
    assert bound < rounds * np.ptp(policies @ loss)  # the worst policy would exceed it
    assert history.regret()[-1] <= bound


def test_the_bound_follows_from_the_lemmas():
    """For all parameters: the default rates minimize it, and it covers the printed lemma."""
    rng = np.random.default_rng(12)
    for _ in range(50):
        rank, n_points = int(rng.integers(1, 20)), int(rng.integers(2, 1000))
        loss_bound, beta, budget = rng.uniform(0.1, 5), rng.uniform(0, 5), rng.uniform(0, 10)
        rounds = 10**7
        rates = theory.optimistic_rates(rank, n_points, loss_bound, beta, rounds)
        best = theory.optimistic_bound(rank, n_points, loss_bound, beta, rounds, budget)
        for factor in (0.8, 1.25):
            other = theory.OptimisticRates(factor * rates.eta, factor * rates.gamma)
            worse = theory.optimistic_bound(rank, n_points, loss_bound, beta, rounds, budget, other)
            assert worse > best
        if beta**2 * rank >= 1:
            assert (
                theory.optimistic_second_moment(rank, loss_bound, beta) <= (2 * loss_bound * beta * rank) ** 2
            )


@pytest.mark.parametrize("r", [2, 5])
def test_the_bound_is_the_sum_of_what_the_lemmas_charge(r):
    """Term by term, each from its lemma; what the perturbations cost is measured where it is full.

    On the corners of the simplex with weights p = q and eps = beta: l·(z - y) can cost ||eps||_M, the mean of
    the optimistic term is kappa ||eps||_M, and the bias is bounded by as much again. Hence 2 kappa + 1.
    """
    beta, rounds, budget, points = 0.4, 10**6, 3.0, np.eye(r)
    learner = OptimisticEXP2(points, rounds, 1.0, beta)
    kappa = learner.design.largest_norm
    _, _, _, record = next(iter(one_round(learner, np.ones(r), np.full(r, beta), lambda y: y)))
    optimism = learner.weights @ (points @ record.estimate - record.values)
    assert optimism == pytest.approx(kappa * record.epsilon_norm, rel=1e-9)
    charged = 1 + 2 * optimism / record.epsilon_norm
    rates = theory.OptimisticRates(learner.eta, learner.gamma)
    bound = theory.optimistic_bound(r, r, 1.0, beta, rounds, budget, rates, kappa)
    parts = (
        np.log(r) / learner.eta,
        learner.eta * theory.optimistic_second_moment(r, 1.0, beta, kappa) * rounds,
        learner.gamma * rounds,
        charged * (1 + beta) * np.sqrt(budget * rounds),
    )
    assert bound == pytest.approx(sum(parts), rel=1e-9)


def test_perturbations_of_what_was_pointed_at():
    """|y·eps| <= (1 + beta) |z·eps|, for the last term; printed: (y·eps)² <= 2 (1 + beta²) (z·eps)²."""
    rng = np.random.default_rng(13)
    largest = 0.0
    for _ in range(500):
        y, target, beta = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4)), rng.uniform(0.1, 3)
        epsilon = beta * rng.random(4)
        z = y + largest_step(y, target - y, epsilon, 1.0) * (target - y)
        assert y @ epsilon <= (1 + epsilon.max()) * (z @ epsilon) * (1 + 1e-9)
        largest = max(largest, (y @ epsilon) / ((1 + epsilon.max()) * (z @ epsilon)))
        assert (1 + epsilon.max()) ** 2 <= 2 * (1 + epsilon.max() ** 2) * (1 + 1e-12)
    assert largest > 0.5
