"""Theorem inclrregret: Algorithm 2's regret, its proof on a run, and what it measures against its bound."""

import numpy as np
import pytest
from enumeration import adversaries, constant_game

from aggbandit import IncreasingRateOMD, LogBarrier, scrible, simplex, theory
from aggbandit.game import DrawArm, Undistorted

WHO = ["nobody", "worst vertex", "freezing", "against the estimator"]


def game_and_learner(rounds, who, size, baseline=0.0, n_arms=3, eta0=None):
    body = simplex(n_arms)
    loss = np.linspace(0.1, 0.9, n_arms)
    adversary = adversaries(np.eye(n_arms)[0], np.eye(n_arms))[who]
    game = constant_game(adversary, body, loss, np.full(n_arms, size), rounds, 1.0, DrawArm())
    budget = size**2 * rounds  # z_hat·eps = size in every round
    learner = IncreasingRateOMD(LogBarrier(body), rounds, 1.0, budget=budget, baseline=baseline, eta0=eta0)
    return game, learner, budget


@pytest.mark.parametrize("baseline", [0.0, 0.5])
@pytest.mark.parametrize("who", WHO)
def test_the_proof_holds_on_a_run(who, baseline):
    """Pathwise: sum (x_t - u)·l~_t <= theta log(1/gamma)/eta_0 - sum 2 n e_t B_t + 2 eta_0 n² c² T.

    With the divergences B_t of this very run, and with the line below them; the credit of round 1 included.
    """
    rounds = 300
    game, learner, budget = game_and_learner(rounds, who, 0.005, baseline)
    barrier, n, eta0 = learner.barrier, learner.dimension, learner.eta0
    gamma = 1 / rounds
    u = (1 - gamma) * np.eye(3)[0] + gamma * barrier.analytic_center()
    estimated = credit = bias = spent = last = 0.0
    flat = barrier.body.basis
    for played in game.rounds(learner, np.random.default_rng(10)):
        record = played.record
        divergence = barrier.bregman(u, record.x)
        estimated += (record.x - u) @ record.estimate
        credit += 2 * n * record.z_hat_epsilon * divergence
        bias += theory.bias_bound(n, barrier.dikin(record.x).norm(record.x - u), record.z_hat_epsilon)
        spent += record.z_hat_epsilon
        last += record.eta * barrier.dikin(record.x).dual_norm(record.estimate) ** 2
        assert eta0 <= record.eta <= 2 * eta0 * (1 + 1e-12)
        assert not record.clipped
        # Line 9: the rate of round t has grown by what was seen in round t already, and line 10 uses it.
        assert 1 / record.eta == pytest.approx(1 / eta0 - 2 * n * spent, rel=1e-12)
        moved = barrier.gradient(record.next_x) - barrier.gradient(record.x) + record.eta * record.estimate
        assert np.abs(flat.T @ moved).max() <= 1e-6 * record.eta * np.abs(flat.T @ record.estimate).max()
    first = theory.bregman_from_center(barrier.theta, gamma) / eta0
    assert barrier.bregman(u, barrier.analytic_center()) <= first * eta0
    assert estimated <= first - credit + last + 1e-6
    assert last <= 2 * eta0 * (n * theory.loss_range(1.0, baseline)) ** 2 * rounds
    assert bias <= credit + 2 * n * spent  # the cancellation
    assert spent <= np.sqrt(budget * rounds) * (1 + 1e-9)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_bound_is_the_sum_of_what_its_proof_charges(share):
    """Term by term, each from its lemma or from the identity that pays for it: nothing is left out."""
    rounds, size = 200, 0.005
    _, learner, budget = game_and_learner(rounds, "nobody", size)
    n, theta, eta0 = learner.dimension, learner.barrier.theta, share * learner.eta0
    pull = 1 / rounds  # gamma = 1/(HT): l·(u - y*) is at most 2 gamma H a round
    first = theory.bregman_from_center(theta, pull) / eta0
    # The cancellation leaves 2 n e of every round, since B >= distance/2 - 1, whatever the distance.
    left = theory.bias_bound(n, 8.0, size) - 2 * n * size * theory.bregman_from_distance(8.0)
    moved = size  # l·(z - y) <= |z·eps|
    estimates = 2 * eta0 * n**2  # eta_t (||l~_t||*)², with eta_t <= 2 eta_0 and ||l~||* <= n H
    parts = first, (left + moved) * rounds, estimates * rounds, 2 * pull * rounds
    assert theory.increasing_rates_bound(n, theta, 1.0, rounds, budget, rate=eta0) == pytest.approx(
        sum(parts)
    )


@pytest.mark.parametrize("who", WHO)
def test_measured_regret_is_below_the_bound(who):
    rounds, seeds = 1200, 4
    game, learner, budget = game_and_learner(rounds, who, 0.001, 0.5)
    bound = theory.increasing_rates_bound(learner.dimension, learner.barrier.theta, 1.0, rounds, budget, 0.5)
    regrets = []
    for seed in range(seeds):
        history = game.play(game_and_learner(rounds, who, 0.001, 0.5)[1], np.random.default_rng(seed))
        regrets.append(history.regret()[-1])
        assert history.budget_spent()[-1] <= budget * (1 + 1e-9)
    mean, error = np.mean(regrets), np.std(regrets, ddof=1) / np.sqrt(seeds)
    print(f"{who}: regret {mean:.0f} ± {error:.0f}, bound {bound:.0f}, rounds {rounds}")
    assert mean + 4 * error <= bound < 0.4 * rounds  # what playing the arms at random loses


def test_scrible_below_its_bound_and_the_bound_below_the_trivial_one():
    rounds, seeds = 2000, 3
    body = simplex(2)
    game = constant_game(Undistorted(), body, np.array([0.0, 1.0]), np.zeros(2), rounds, 1.0, DrawArm())
    bound = theory.scrible_bound(1, 2.0, 1.0, rounds, baseline=0.5)
    regrets = [
        game.play(scrible(LogBarrier(body), rounds, 1.0, baseline=0.5), np.random.default_rng(seed)).regret()[
            -1
        ]
        for seed in range(seeds)
    ]
    mean, error = np.mean(regrets), np.std(regrets, ddof=1) / np.sqrt(seeds)
    print(f"SCRiBLe: regret {mean:.0f} ± {error:.0f}, bound {bound:.0f}, rounds {rounds}")
    assert mean + 4 * error <= bound < rounds / 2  # half the rounds: what drawing an arm blindly loses


def test_the_bound_at_its_rate():
    """The rate balances first and last term; the bound grows like sqrt(T log T)."""
    n, theta, loss_bound = 4, 5.0, 2.0
    for rounds in (10**4, 10**6):
        best = theory.scrible_bound(n, theta, loss_bound, rounds)
        closed = 2 * n * loss_bound * np.sqrt(theta * rounds * np.log(loss_bound * rounds)) + 2
        assert best == pytest.approx(closed, rel=1e-12)
        for factor in (0.5, 0.9):
            rate = factor * theory.scrible_eta0(n, theta, loss_bound, rounds)
            assert theory.scrible_bound(n, theta, loss_bound, rounds, rate=rate) > best


@pytest.mark.parametrize("seed", range(20))
def test_the_printed_first_round_term_is_not_needed(seed):
    """B_1/eta_1 - sum_{t>=2} (1/eta_{t-1} - 1/eta_t) B_t = B_1/eta_0 - sum_{t>=1} 2 n e_t B_t, exactly."""
    rng = np.random.default_rng(seed)
    n, rounds = int(rng.integers(1, 6)), 50
    e, divergence = rng.random(rounds), rng.random(rounds)
    eta0 = 1 / (4 * n * e.sum())
    inverse = 1 / eta0 - 2 * n * np.cumsum(e)
    left = inverse[0] * divergence[0] + (np.diff(inverse) * divergence[1:]).sum()
    assert left == pytest.approx(divergence[0] / eta0 - 2 * n * (e * divergence).sum(), rel=1e-9)
