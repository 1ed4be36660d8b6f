"""Many seeds at once on a polygon: the same game, step by step, as the protocol and the learner play it."""

from types import SimpleNamespace

import numpy as np
import pytest

from aggbandit import (
    ConstantRate,
    DistortedBandit,
    IncreasingRate,
    IncreasingRateOMD,
    LogBarrier,
    Polytope,
    regular_polygon,
    simplex,
)
from aggbandit.game import (
    AgainstEstimator,
    Contest,
    DrawArm,
    Freezing,
    PolygonOMD,
    RandomMove,
    Silencing,
    TowardsWorstVertex,
    Undistorted,
    View,
    play_polygons,
    polygon_of_arms,
    replay_polygons,
)
from aggbandit.geometry import NoMinimizer


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


def the_game(body, losses, epsilons, adversary=None):
    return DistortedBandit(losses, epsilons, adversary or Undistorted(), body, 1.0)


@pytest.mark.parametrize("schedule", [IncreasingRate(), IncreasingRate(1.2), ConstantRate(2.0)])
@pytest.mark.parametrize("who", ["nobody", "freezing", "worst vertex", "silencing", "against the estimator"])
@pytest.mark.parametrize("body", [in_the_corner(5), simplex(3), polygon_of_arms(12)])
def test_agrees_with_the_learner_and_the_protocol(schedule, who, body):
    rounds, eta0, baseline = 120, 0.1, 0.2
    losses, epsilons = losses_and_epsilons(rounds, d=body.A.shape[1])
    corners = body.vertices()
    adversary = {
        "nobody": Undistorted(),
        "freezing": Freezing(),
        "worst vertex": TowardsWorstVertex(corners),
        "silencing": Silencing(),
        "against the estimator": AgainstEstimator(corners[0], corners),
    }[who]
    game = the_game(body, losses, epsilons, adversary)
    best = losses @ game.best_fixed_point()
    directions, centers, rates, regrets, clipped, hidden = [], [], [], [], [], []
    for seed in range(2):
        learner = IncreasingRateOMD(
            LogBarrier(body), rounds, 1.0, eta0=eta0, baseline=baseline, schedule=schedule
        )
        assert not learner.eta0_capped
        played = list(game.rounds(learner, np.random.default_rng(seed)))
        W = body.basis
        hessians = [learner.barrier.hessian(r.record.x) for r in played]
        factors = [np.linalg.cholesky(W.T @ H @ W) for H in hessians]
        directions.append([L.T @ W.T @ (r.y - r.record.x) for L, r in zip(factors, played, strict=True)])
        centers.append([r.record.next_x for r in played])
        rates.append([r.record.eta for r in played])
        clipped.append([r.record.clipped for r in played])
        regrets.append(np.cumsum([r.value for r in played] - best))
        lost = [(r.y - r.z) @ H @ (r.y - r.record.x) for H, r in zip(hessians, played, strict=True)]
        hidden.append(np.mean(lost))
    directions = np.swapaxes(directions, 0, 1)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=-1), 1.0, rtol=1e-9)
    (played,) = replay_polygons([Contest(game, eta0, schedule)], directions, baseline)
    np.testing.assert_allclose(played.center, np.swapaxes(centers, 0, 1), rtol=0, atol=1e-7)
    np.testing.assert_allclose(played.eta, np.swapaxes(rates, 0, 1), rtol=1e-6)
    np.testing.assert_allclose(played.regret, np.swapaxes(regrets, 0, 1), atol=1e-5)
    np.testing.assert_allclose(played.hidden, hidden, atol=1e-6)
    assert np.sum(clipped) / max(2 * (epsilons.any(axis=1)).sum(), 1) == pytest.approx(played.clipped)


@pytest.mark.parametrize("who", ["worst vertex", "random"])
def test_the_protocol_plays_many_seeds_at_once(who):
    """The game with a learner of many seeds, and the same game as a contest: equal to the last bit."""
    body = polygon_of_arms(5)
    losses, epsilons = losses_and_epsilons(60, d=3)
    adversary = {"worst vertex": TowardsWorstVertex, "random": RandomMove}[who](body.vertices())
    game = the_game(body, losses, epsilons, adversary)
    learner = PolygonOMD(body, 4, 0.1, baseline=0.2)
    rng = np.random.default_rng(3)
    if who == "worst vertex":
        history = game.play(learner, rng)
        (contest,) = play_polygons(
            [Contest(game, 0.1, IncreasingRate())], 4, np.random.default_rng(3), 0.2, n_looks=60
        )
        np.testing.assert_array_equal(contest.center[-1], learner.center)
        np.testing.assert_array_equal(contest.eta[-1], learner.eta)
        np.testing.assert_allclose(contest.regret, history.regret(), atol=1e-9)
        np.testing.assert_allclose(contest.spent, history.budget_spent()[-1], rtol=1e-12)
        return
    history = game.play(learner, rng)
    assert history.y.shape == history.z.shape == (60, 4, 3)
    assert history.values.shape == history.regret().shape == (60, 4)
    np.testing.assert_array_equal(history.z[~epsilons.any(axis=1)], history.y[~epsilons.any(axis=1)])
    moved = np.abs(history.z - history.y).sum(axis=-1)
    assert (moved <= np.einsum("tnd,td->tn", history.y, epsilons) + 1e-9).all()


def test_draws_work_on_many_seeds():
    body = simplex(3)
    losses, epsilons = losses_and_epsilons(40, d=3)
    game = DistortedBandit(losses, epsilons, Freezing(), body, 1.0, DrawArm())
    history = game.play(PolygonOMD(body, 5, 0.05), np.random.default_rng(2))
    np.testing.assert_array_equal(
        np.sort(history.z_hat, axis=-1), np.broadcast_to([0.0, 0.0, 1.0], (40, 5, 3))
    )


def test_silencing_hides_the_loss_at_the_least_price(rng):
    x, y, loss = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50), np.array([0.3, 0.7, 0.4])
    learner = SimpleNamespace(center=x)
    # An allowance and a bound that stop nothing.
    z = Silencing().move(View(1, y, loss, np.full(3, 20.0), 9.0, learner), rng)
    np.testing.assert_allclose(z @ loss, x @ loss, atol=1e-12)
    np.testing.assert_allclose(z.sum(axis=1), 1.0)
    # Hölder, for steps of sum zero: |l·v| <= (max l - min l) ||v||_1 / 2.
    least = 2 * np.abs((y - x) @ loss) / (0.7 - 0.3)
    np.testing.assert_allclose(np.abs(z - y).sum(axis=1), least, atol=1e-12)
    flat = View(1, y, np.full(3, 0.5), np.full(3, 20.0), 9.0, learner)
    np.testing.assert_array_equal(Silencing().move(flat, rng), y)


def test_an_adversary_who_breaks_a_rule_is_stopped():
    class TooFar:
        def move(self, view, rng):
            z = view.y.copy()
            z[1] = [0.0, 0.0, 1.0]
            return z

    game = the_game(simplex(3), *losses_and_epsilons(40, d=3), TooFar())
    with pytest.raises(ValueError, match=r"round 1, seed 1: \|\|z - y\|\|_1 = .* exceeds min"):
        play_polygons([Contest(game, 0.1, IncreasingRate())], 3, np.random.default_rng(1))


def test_a_center_on_the_wall_is_named():
    body = simplex(3)
    game = the_game(body, *losses_and_epsilons(40, d=3))
    learner = PolygonOMD(body, 2, 1e15)
    with pytest.raises(NoMinimizer, match="wall"):
        game.play(learner, np.random.default_rng(1))


def test_reproducible():
    body = in_the_corner(3)
    game = the_game(body, *losses_and_epsilons(200), RandomMove(body.vertices()))
    contests = [Contest(game, 0.1, IncreasingRate())] * 2
    first, second = (play_polygons(contests, 4, np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(first[0].center, second[0].center)
    np.testing.assert_array_equal(first[0].regret, second[0].regret)
    # Who else plays does not matter, for the coins of an adversary neither.
    np.testing.assert_array_equal(first[1].regret, first[0].regret)


def test_contests_are_the_games_played_one_by_one():
    body = in_the_corner(5)
    losses, epsilons = losses_and_epsilons(150)
    contests = [
        Contest(
            the_game(body, losses, epsilons, TowardsWorstVertex(body.vertices())), 0.05, IncreasingRate()
        ),
        Contest(the_game(body, losses, 0 * epsilons), 0.1, ConstantRate(1.5)),
        Contest(the_game(body, losses, epsilons[::-1], Freezing()), 0.1, IncreasingRate(1.1)),
        Contest(the_game(body, losses, epsilons, RandomMove(body.vertices())), 0.1, IncreasingRate()),
    ]
    together = play_polygons(contests, 3, np.random.default_rng(8), baseline=0.3, n_looks=500)
    for contest, played in zip(contests, together, strict=True):
        (alone,) = play_polygons([contest], 3, np.random.default_rng(8), baseline=0.3, n_looks=500)
        np.testing.assert_array_equal(played.at, np.arange(1, 151))
        np.testing.assert_allclose(played.center, alone.center, rtol=0, atol=1e-7)
        np.testing.assert_allclose(played.eta, alone.eta, rtol=1e-6)
        np.testing.assert_allclose(played.regret, alone.regret, atol=1e-5)
        assert played.spent == pytest.approx(alone.spent, rel=1e-6)
        assert played.hidden == pytest.approx(alone.hidden, abs=1e-6)
        assert played.clipped == alone.clipped
    np.testing.assert_allclose(together[1].eta, 0.15)
    assert together[0].eta.max() > 0.05


def test_bad_input_is_named():
    body = in_the_corner(3)
    losses, epsilons = losses_and_epsilons(10)
    rng = np.random.default_rng(7)
    before = rng.bit_generator.state
    game = the_game(body, losses, epsilons)
    good = Contest(game, 0.1, IncreasingRate())

    def refused(error, message, contests, n_seeds=1, rng=rng):
        with pytest.raises(error, match=message):
            play_polygons(contests, n_seeds, rng)

    refused(ValueError, "n_seeds is 0", [good], 0)
    refused(ValueError, "contests is empty", [])
    refused(TypeError, "contests is a Contest; it must be a list", good)
    refused(TypeError, r"contests\[0\] is a tuple; it must be a Contest", [(game, 0.1, IncreasingRate())])
    refused(
        TypeError,
        r"contests\[0\].game is a str; it must be a DistortedBandit",
        [Contest("a", 0.1, ConstantRate())],
    )
    refused(TypeError, "rng is 3", [good], rng=3)
    refused(
        ValueError,
        r"contests\[0\].eta0 is 1.0; it must lie in \(0, 0.125\]",
        [Contest(game, 1.0, IncreasingRate())],
    )
    other = Contest(the_game(body, losses / 2, epsilons), 0.1, IncreasingRate())
    refused(ValueError, r"contests\[1\] and contests\[0\] differ", [good, other])
    drawn = DistortedBandit(losses, epsilons, Undistorted(), body, 1.0, DrawArm())
    refused(ValueError, "has the sampler DrawArm", [Contest(drawn, 0.1, IncreasingRate())])
    finite = DistortedBandit(losses, epsilons, Undistorted(), np.eye(2), 1.0)
    refused(ValueError, "it must be a polygon", [Contest(finite, 0.1, IncreasingRate())])
    cube = the_game(simplex(4), np.ones((9, 4)), np.ones((9, 4)))
    refused(ValueError, "of dimension 3; it must be a polygon", [Contest(cube, 0.05, IncreasingRate())])
    assert rng.bit_generator.state == before
    with pytest.raises(TypeError, match=r"schedule is the class IncreasingRate; .* IncreasingRate\(\)"):
        Contest(game, 0.1, IncreasingRate)
    with pytest.raises(TypeError, match="schedule is None; it must be an object with the method next_rate"):
        Contest(game, 0.1, None)
    for eta0 in (0.0, np.nan):
        with pytest.raises(ValueError, match=r"eta0 is .*; a learning rate must be positive"):
            Contest(game, eta0, IncreasingRate())
    right = np.tile([1.0, 0.0], (10, 1, 1))
    with pytest.raises(ValueError, match=r"directions\[0, 0\] has length 2"):
        replay_polygons([good], 2 * right)
    for looks in ([], [0, 5], [5, 5], [11]):
        with pytest.raises(ValueError, match="they must increase, from 1 to 10"):
            replay_polygons([good], right, looks=np.array(looks))
    with pytest.raises(ValueError, match="directions has shape"):
        replay_polygons([good], np.zeros((9, 1, 2)))
    with pytest.raises(RuntimeError, match="before predict"):
        PolygonOMD(body, 2, 0.1).update(np.zeros(2), np.zeros((2, 2)), np.zeros(2))


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
