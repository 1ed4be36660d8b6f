"""Many seeds at once on a polygon: the same game, step by step, as the protocol and the learner play it."""

import numpy as np
import pytest

from aggbandit import (
    ConstantRate,
    DistortedBandit,
    Freezing,
    IncreasingRate,
    IncreasingRateOMD,
    LogBarrier,
    Polytope,
    TowardsWorstVertex,
    Undistorted,
    regular_polygon,
    simplex,
)
from aggbandit.game.polygons import (
    PolygonGame,
    ToWorstOf,
    back_to_center,
    play_polygon,
    play_polygons,
    polygon_of_arms,
    replay_polygon,
    silence,
    stay,
)
from aggbandit.geometry import box


def in_the_corner(sides):
    """A regular polygon moved to where all entries are positive, with H = 1."""
    body = regular_polygon(sides)
    scale = 1 / (2 + np.sqrt(2))
    return Polytope(body.A, scale * (body.b + body.A.sum(axis=1)))


def losses_and_epsilons(rounds, size=0.15, d=2):
    rng = np.random.default_rng(3)
    losses = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]])[(np.arange(rounds) > rounds // 3).astype(int), :d]
    epsilons = np.where(rng.random((rounds, 1)) < 0.5, size * rng.random((rounds, d)), 0.0)
    return losses, epsilons


@pytest.mark.parametrize("schedule", [IncreasingRate(), IncreasingRate(1.2), ConstantRate(2.0)])
@pytest.mark.parametrize("move", ["stay", "freeze", "worst"])
@pytest.mark.parametrize("body", [in_the_corner(5), simplex(3), polygon_of_arms(12)])
def test_agrees_with_the_learner_and_the_protocol(schedule, move, body):
    rounds, eta0, baseline = 120, 0.1, 0.2
    losses, epsilons = losses_and_epsilons(rounds, d=body.A.shape[1])
    corners = body.vertices()
    batched, adversary = {
        "stay": (stay, Undistorted()),
        "freeze": (back_to_center, Freezing()),
        "worst": (ToWorstOf(corners), TowardsWorstVertex(corners)),
    }[move]
    game = PolygonGame(body, losses, epsilons, batched)
    directions, centers, rates, regrets, clipped = [], [], [], [], []
    for seed in range(2):
        learner = IncreasingRateOMD(
            LogBarrier(body), rounds, game.loss_bound, eta0=eta0, baseline=baseline, schedule=schedule
        )
        assert not learner.eta0_capped
        protocol = DistortedBandit(losses, epsilons, adversary, body, game.loss_bound)
        played = list(protocol.rounds(learner, np.random.default_rng(seed)))
        W = body.basis
        factors = [np.linalg.cholesky(W.T @ learner.barrier.hessian(r.record.x) @ W) for r in played]
        directions.append([L.T @ W.T @ (r.y - r.record.x) for L, r in zip(factors, played, strict=True)])
        centers.append([r.record.next_x for r in played])
        rates.append([r.record.eta for r in played])
        clipped.append([r.record.clipped for r in played])
        regrets.append(np.cumsum([r.value - r.loss @ game.best_corner() for r in played]))
    directions = np.swapaxes(directions, 0, 1)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=-1), 1.0, rtol=1e-9)
    played = replay_polygon(game, eta0, schedule, directions, baseline, np.arange(1, rounds + 1))
    np.testing.assert_allclose(played.x, np.swapaxes(centers, 0, 1), rtol=0, atol=1e-7)
    np.testing.assert_allclose(played.eta, np.swapaxes(rates, 0, 1), rtol=1e-6)
    np.testing.assert_allclose(played.regret, np.swapaxes(regrets, 0, 1), atol=1e-5)
    assert np.sum(clipped) / max(2 * (epsilons.any(axis=1)).sum(), 1) == pytest.approx(played.clipped)


def test_silence_hides_the_loss_at_the_least_price():
    rng = np.random.default_rng(4)
    x, y, loss = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50), np.array([0.3, 0.7, 0.4])
    target = silence(x, y, loss)
    np.testing.assert_allclose(target @ loss, x @ loss, atol=1e-12)
    np.testing.assert_allclose(target.sum(axis=1), 1.0)
    # Hölder, for steps of sum zero: |l·v| <= (max l - min l) ||v||_1 / 2.
    least = 2 * np.abs((y - x) @ loss) / (0.7 - 0.3)
    np.testing.assert_allclose(np.abs(target - y).sum(axis=1), least, atol=1e-12)
    np.testing.assert_array_equal(silence(x, y, np.full(3, 0.5)), y)


def test_every_move_keeps_the_rules():
    body = in_the_corner(12)
    losses, _ = losses_and_epsilons(400)
    seen = []

    def watched(x, y, loss):
        target = silence(x, y, loss)
        seen.append((y.copy(), target))
        return target

    game = PolygonGame(body, losses, np.full((400, 2), 0.02), watched)
    played = play_polygon(game, 0.1, IncreasingRate(), 20, np.random.default_rng(5))
    assert len(seen) == 400
    assert (played.spent <= 400 * 0.02**2 * (1 + 1e-9)).all()
    assert (body.b - played.x[-1] @ body.A.T).min() > 0


def test_reproducible():
    body = in_the_corner(3)
    game = PolygonGame(body, *losses_and_epsilons(200), ToWorstOf(body.vertices()))
    first, second = (play_polygon(game, 0.1, IncreasingRate(), 4, np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_array_equal(first.regret, second.regret)


def test_contests_are_the_games_played_one_by_one():
    body = in_the_corner(5)
    losses, epsilons = losses_and_epsilons(150)
    contests = [
        (PolygonGame(body, losses, epsilons, ToWorstOf(body.vertices())), 0.05, IncreasingRate()),
        (PolygonGame(body, losses, 0 * epsilons), 0.1, ConstantRate(1.5)),
        (PolygonGame(body, losses, epsilons[::-1], back_to_center), 0.1, IncreasingRate(1.1)),
    ]
    together = play_polygons(contests, 3, np.random.default_rng(8), baseline=0.3, n_looks=500)
    for (game, eta0, schedule), played in zip(contests, together, strict=True):
        alone = play_polygon(game, eta0, schedule, 3, np.random.default_rng(8), baseline=0.3, n_looks=500)
        np.testing.assert_array_equal(played.at, np.arange(1, 151))
        np.testing.assert_allclose(played.x, alone.x, rtol=0, atol=1e-7)
        np.testing.assert_allclose(played.eta, alone.eta, rtol=1e-6)
        np.testing.assert_allclose(played.regret, alone.regret, atol=1e-5)
        assert played.spent == pytest.approx(alone.spent, rel=1e-6)
        assert played.clipped == alone.clipped
    np.testing.assert_allclose(together[1].eta, 0.15)
    assert together[0].eta.max() > 0.05


def test_bad_input_is_named():
    body = in_the_corner(3)
    losses, epsilons = losses_and_epsilons(10)
    rng = np.random.default_rng(7)
    with pytest.raises(ValueError, match=r"epsilons has shape \(9, 2\)"):
        PolygonGame(body, losses, epsilons[:9])
    with pytest.raises(ValueError, match="losses has the entry 2"):
        PolygonGame(body, 0 * losses + 2, epsilons)
    with pytest.raises(ValueError, match="epsilons has the entry -1"):
        PolygonGame(body, losses, epsilons - 1 - epsilons)
    with pytest.raises(ValueError, match="y >= 0"):
        PolygonGame(regular_polygon(3), losses, epsilons)
    with pytest.raises(ValueError, match="must be a polygon"):
        PolygonGame(box(np.zeros(3), np.ones(3)), np.ones((9, 3)), np.ones((9, 3)))
    game = PolygonGame(body, losses, epsilons)
    with pytest.raises(ValueError, match="n_seeds is 0"):
        play_polygon(game, 0.1, IncreasingRate(), 0, rng)
    with pytest.raises(ValueError, match=r"eta0 = 1.0; it must lie in \(0, 0.142259"):
        play_polygon(game, 1.0, IncreasingRate(), 1, rng)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match="eta0 = nan"):
        play_polygon(game, np.nan, IncreasingRate(), 1, rng)
    with pytest.raises(ValueError, match="schedule is <class"):
        play_polygon(game, 0.1, IncreasingRate, 1, rng)
    with pytest.raises(ValueError, match="contests is empty"):
        play_polygons([], 1, rng)
    other = PolygonGame(body, losses / 2, epsilons)
    with pytest.raises(ValueError, match=r"contests\[1\] and contests\[0\] differ"):
        play_polygons([(game, 0.1, IncreasingRate()), (other, 0.1, IncreasingRate())], 1, rng)
    assert rng.bit_generator.state == before
    right = np.tile([1.0, 0.0], (10, 1, 1))
    with pytest.raises(ValueError, match=r"directions\[0, 0\] has length 2"):
        replay_polygon(game, 0.1, IncreasingRate(), 2 * right, 0.0, np.array([10]))
    for looks in ([], [0, 5], [5, 5], [11]):
        with pytest.raises(ValueError, match="they must increase, from 1 to 10"):
            replay_polygon(game, 0.1, IncreasingRate(), right, 0.0, np.array(looks))
    with pytest.raises(ValueError, match="directions has shape"):
        replay_polygon(game, 0.1, IncreasingRate(), np.zeros((9, 1, 2)), 0.0, np.array([10]))


def test_a_polygon_among_three_arms():
    corners = polygon_of_arms(12).vertices()
    assert corners.shape == (12, 3)
    np.testing.assert_allclose(corners.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(corners - 1 / 3, axis=1), 1 / np.sqrt(6))
    assert corners.min() > -1e-12
    with pytest.raises(ValueError, match="3"):
        polygon_of_arms(2)


@pytest.mark.parametrize("schedule", [IncreasingRate(), IncreasingRate(1.2), ConstantRate(1.5)])
def test_the_rates_of_many_seeds_are_those_of_each(schedule):
    rng = np.random.default_rng(11)
    previous = rng.uniform(0.1, 0.19, 500)
    z_hat_epsilon = np.where(rng.random(500) < 0.3, 0.0, rng.choice([0.1, 5.0], 500) * rng.random(500))
    rates, clipped = schedule.next_rates(previous, 0.1, 2, z_hat_epsilon)
    each = [
        schedule.next_rate(p, 0.1, 2, e)
        for p, e in zip(previous.tolist(), z_hat_epsilon.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(rates, [rate.eta for rate in each])
    np.testing.assert_array_equal(clipped, [rate.clipped for rate in each])
