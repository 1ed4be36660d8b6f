"""What chapter 6 claims of moved hands: what they do to an estimate, and what they cost, in small."""

from types import SimpleNamespace

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.game import View

CORNERS = np.eye(3)
X, LOSS = np.array([0.5, 0.28, 0.22]), np.array([0.2, 0.5, 0.9])
GOAL = 0.98 * CORNERS[0] + 0.02 / 3


def mean_estimate(adversary, e):
    """The mean of the estimate over the edge of the ellipse, and its ellipsoid."""
    ellipsoid = ab.LogBarrier(ab.simplex(3)).dikin(X)
    angle = np.radians(np.arange(360))
    tried = X + np.column_stack([np.cos(angle), np.sin(angle)]) @ ellipsoid.axes()
    state = SimpleNamespace(center=X, ellipsoid=ellipsoid)
    guesses = []
    for y in tried:
        z = adversary.move(View(1, y, LOSS, np.full(3, e), 1.0, state), None)
        guesses.append(2 * (LOSS @ z) * ellipsoid.apply(y - X))
    return np.mean(guesses, axis=0), ellipsoid


def test_the_same_move_for_all_does_nothing_and_the_hand_back_at_x_blinds():
    blind, ellipsoid = mean_estimate(ab.game.Freezing(), 0.6)
    assert ellipsoid.dual_norm(blind) == pytest.approx(0, abs=1e-12)
    true, _ = mean_estimate(ab.game.Undistorted(), 0.6)
    assert (true - LOSS) @ (X - GOAL) == pytest.approx(0, abs=1e-12)


def test_only_the_liar_turns_the_estimate_round():
    v = X - GOAL
    liar = ab.game.AgainstEstimator(GOAL, CORNERS)
    assert mean_estimate(liar, 0.2)[0] @ v > 0
    assert mean_estimate(liar, 0.4)[0] @ v < 0
    for other in (ab.game.TowardsWorstVertex(CORNERS), ab.game.Freezing()):
        assert mean_estimate(other, 0.6)[0] @ v >= -1e-12


def test_the_bias_is_within_the_disc():
    for adversary in (ab.game.Freezing(), ab.game.AgainstEstimator(GOAL, CORNERS)):
        for e in (0.1, 0.4):
            mean, ellipsoid = mean_estimate(adversary, e)
            assert ellipsoid.dual_norm(mean - LOSS) <= 2**0.5 * e / 2 + 1e-12


def test_the_worst_arm_costs_its_moved_loss_and_a_lie_costs_more_than_it_moves():
    rounds, e, seeds = 800, 0.15, 30
    losses = (np.random.default_rng(100).random((rounds, 3)) < [0.35, 0.5, 0.65]).astype(float)
    u = 0.99 * CORNERS[0] + 0.01 / 3
    over, moved, ends = {}, {}, {}
    for name, adversary in {
        "nobody": ab.game.Undistorted(),
        "worst": ab.game.TowardsWorstVertex(CORNERS),
        "lie": ab.game.AgainstEstimator(u, CORNERS),
    }.items():
        body, draw = ab.simplex(3), ab.game.DrawArm()
        game = ab.DistortedBandit(losses, np.full((rounds, 3), e), adversary, body, 1.0, draw)
        learner = ab.game.PolygonOMD(body, seeds, 0.05, 0.5, ab.ConstantRate())
        history = game.play(learner, np.random.default_rng(0))
        over[name] = (history.values - losses[:, :1]).reshape(2, -1, seeds).mean(axis=1)
        moved[name] = history.bias.reshape(2, -1, seeds).mean(axis=1)
        ends[name] = learner.center[:, 0].mean()
    worst, lie = ((over[name] - over["nobody"]).mean(axis=1) for name in ("worst", "lie"))
    assert worst == pytest.approx(moved["worst"].mean(axis=1), abs=0.015)  # the same price in both halves
    assert moved["lie"].max() < 0.05
    assert abs(moved["lie"].mean()) < 0.01
    assert lie[1] > worst[1] + 0.01
    assert ends["lie"] < 0.4 < ends["nobody"]


@pytest.mark.parametrize("budget", [1.0, 9.0])
def test_what_no_learner_can_avoid(budget):
    """Even who points at the good arm in every round pays half the root of BT, on average."""
    rounds = 400
    e = np.sqrt(budget / rounds)
    y = np.array([1.0, 0.0])
    z = np.array([1 - e / 2, e / 2])
    epsilon = np.full(2, e)
    assert np.abs(z - y).sum() <= ab.game.rules.allowance(y, z, epsilon) + 1e-12
    assert rounds * (epsilon[0] ** 2) == pytest.approx(budget)
    assert rounds * z[1] == pytest.approx(0.5 * np.sqrt(budget * rounds))
