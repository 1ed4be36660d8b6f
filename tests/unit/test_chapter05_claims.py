"""What chapter 5 claims of bowls, of the credit, and of two ways to follow a leader, in small."""

import numpy as np
import pytest

import aggbandit as ab


def with_slope(w):
    return 2 / (2 - w + np.hypot(w, 2))


@pytest.mark.parametrize("rate", [0.3, 0.8, 1.5])
def test_with_full_information_the_barrier_loses_to_entropy_at_every_rate_shown(rate):
    early, late = np.tile([0.9, 0.5, 0.1], (30, 1)), np.tile([0.0, 0.9, 0.6], (50, 1))
    losses = np.vstack([early, late])
    run = ab.mirror_descent(ab.LogBarrier(ab.simplex(3)), losses, np.full(80, rate))
    totals = np.vstack([np.zeros(3), losses.cumsum(axis=0)])
    weights = np.exp(-rate / 3 * totals)
    entropy = weights / weights.sum(axis=1, keepdims=True)
    barrier_paid, entropy_paid = ((path[:-1] * losses).sum() for path in (run.iterates, entropy))
    assert entropy_paid < barrier_paid
    least = np.array([path[[15, 30]].min(axis=1) for path in (run.iterates, entropy)])
    halved, vanished = least[:, 1] / least[:, 0]
    assert 0.45 < halved < 0.7  # a power: half in twice the time, in the end
    assert vanished < halved  # a factor


def test_shown_true_losses_a_rising_rate_pays_more_than_the_larger_constant_one():
    world = ab.night_driver()
    table, ways = ab.occupancy_coordinates(world.mdp), ab.known_occupancy_polytope(world.mdp)
    rng = np.random.default_rng(1)
    nights = (rng.random((120, *world.mdp.shape)) < world.loss).astype(float)
    losses = np.array([table.loss_vector(night) for night in nights])
    best, barrier = ways.minimize(losses.sum(axis=0)), ab.LogBarrier(ways)
    u = 0.999 * best + 0.001 * barrier.analytic_center()
    rates = {
        "eta": np.full(120, 0.5),
        "twice": np.full(120, 1.0),
        "rising": 1 / np.linspace(2, 1, 120),
    }
    runs = {name: ab.mirror_descent(barrier, losses, rate) for name, rate in rates.items()}
    regrets = {name: run.regret(u) for name, run in runs.items()}
    assert regrets["twice"] < regrets["rising"] < regrets["eta"]
    assert runs["rising"].bound(u).middle < 0  # the credit is there, and buys nothing


def misled(rates, seeds, rng, nights=1000, wrong=100):
    w, paid = np.zeros((len(rates), seeds)), 0.0
    for t in range(nights):
        p = with_slope(w)
        paid = paid + (1 - p)
        if rng is None:
            g = 1.0 if t < wrong else -1.0
        else:
            radius = 1 / np.hypot(1 / p, 1 / (1 - p))
            side, chance = np.sign(rng.random(seeds) - 0.5), rng.random(seeds)
            told = (chance > p + side * radius) ^ (t < wrong)
            g = side * (told - 0.5) / radius
        w = w - rates[:, [t]] * g
    return paid


def test_a_learner_who_was_misled_does_best_with_a_rate_that_rises():
    before = np.arange(1000) < 100
    grid = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0])[:, None]
    constant, rising = grid * np.ones(1000), grid * np.where(before, 0.5, 1)
    falling = grid * np.where(before, 1, 0.5)
    paid = misled(np.vstack([constant, rising, falling]), 250, np.random.default_rng(1))
    mean = paid.mean(axis=1).reshape(3, -1)
    error = paid.std(axis=1, ddof=1).reshape(3, -1) / 250**0.5
    best, at = mean.min(axis=1), mean.argmin(axis=1)
    doubt = error[range(3), at]
    for other in (0, 2):
        assert best[other] - best[1] > 3 * np.hypot(doubt[1], doubt[other])


def test_without_noise_a_constant_rate_unlearns_as_long_as_it_learned():
    before = np.arange(1000) < 100
    for eta in (0.05, 0.2):
        constant = np.full(1000, eta)
        rates = np.array([constant, np.where(before, eta, 2 * eta)])
        slope = np.cumsum(rates * np.where(before, -1.0, 1.0), axis=1)
        assert slope[0, 199] == pytest.approx(0)  # a hundred honest nights
        assert slope[1, 149] == pytest.approx(0)  # fifty


def test_a_leader_whose_regularizer_is_recentered_is_mirror_descent():
    rng = np.random.default_rng(0)
    barrier = ab.LogBarrier(ab.regular_polygon(5))
    losses, rates = rng.normal(size=(6, 2)), np.array([0.1, 0.2, 0.4, 0.3, 0.5, 0.6])
    start = barrier.analytic_center()
    points = [start]
    for t in range(1, 7):
        weights = np.diff(1 / rates[:t], prepend=0.0)
        # grad G_t = sum l_s + sum w_s (grad R(x) - grad R(x_s)), and sum w_s = 1 / eta_t
        linear = losses[:t].sum(axis=0)
        pulls = (w * barrier.gradient(x) for w, x in zip(weights, points, strict=True))
        linear = linear - np.sum(list(pulls), axis=0)
        points.append(barrier.minimize(rates[t - 1] * linear, start).x)
    run = ab.mirror_descent(barrier, losses, rates, start=start)
    np.testing.assert_allclose(run.iterates, points, atol=1e-6)


def test_the_rate_that_is_best_for_the_bound_makes_its_two_terms_equal():
    H, theta, T = 3.0, 14.0, 20_000
    eta = 2 / H * np.sqrt(theta * np.log(T) / T)
    assert eta <= 1 / H
    start, movement = theta * np.log(T) / eta, eta * H**2 * T / 4
    assert start == pytest.approx(movement)
    assert start + movement == pytest.approx(H * np.sqrt(theta * T * np.log(T)))


def test_near_a_fence_the_square_is_wrong_from_seven_tenths_on_and_only_away_from_it():
    field = ab.LogBarrier(ab.Polytope([[-1, 0], [0, -1], [1, 3], [-1, 2]], [0, 0, 6, 2]))
    x = np.array([2.5, 0.12])
    hessian = field.hessian(x)
    back = np.linalg.inv(np.linalg.cholesky(hessian).T)

    def is_wrong(angle, z):
        step = back @ (z * np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))]))
        return field.bregman(x, field.mirror_step(x, -hessian @ step).x) > z**2

    assert not is_wrong(90, 0.71)
    assert is_wrong(90, 0.73)
    lengths = np.linspace(0.1, 2, 20)
    wrong = [angle for angle in range(0, 360, 2) if any(is_wrong(angle, z) for z in lengths)]
    assert 90 - 50 < min(wrong) < 90 - 46
    assert 90 + 46 < max(wrong) <= 90 + 50
    assert wrong == list(range(min(wrong), max(wrong) + 1, 2))
