"""The freezing game in closed form: the same game, step by step, as the protocol plays; and what it shows."""

import numpy as np
import pytest

from aggbandit import ConstantRate, IncreasingRate, IncreasingRateOMD, LogBarrier, simplex
from aggbandit.game.two_arms import (
    FreezingGame,
    freezing_epsilon,
    play_contests,
    play_freezing,
    replay_freezing,
)


@pytest.mark.parametrize("schedule", [IncreasingRate(), ConstantRate(), ConstantRate(2.0)])
@pytest.mark.parametrize(("baseline", "decoy"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.01)])
def test_agrees_with_the_learner_on_the_simplex(schedule, baseline, decoy):
    rounds, eta0 = 600, 0.08
    epsilon = freezing_epsilon(rounds, eta0, 1.5)
    game = FreezingGame(rounds, epsilon=epsilon, budget=0.3, gap=0.9, decoy=decoy)
    assert 20 < game.frozen_rounds < 400
    signs, uniforms, centers, rates, regrets, zs = [], [], [], [], [], []
    for seed in range(2):
        learner = IncreasingRateOMD(
            LogBarrier(simplex(2)), rounds, 1.0, eta0=eta0, baseline=baseline, schedule=schedule
        )
        assert not learner.eta0_capped
        played = list(game.as_distorted_bandit().rounds(learner, np.random.default_rng(seed)))
        signs.append([np.sign(r.y[0] - r.record.x[0]) for r in played])
        uniforms.append([0.0 if r.z_hat[0] == 1 else 1.0 for r in played])
        centers.append([r.record.next_x[0] for r in played])
        rates.append([r.record.eta for r in played])
        regrets.append(np.cumsum([r.value - r.loss[0] for r in played]))
        zs.append(np.cumsum([r.loss @ r.z - r.loss[0] for r in played]))
    replayed = replay_freezing(game, eta0, schedule, np.array(signs).T, np.array(uniforms).T, baseline)
    np.testing.assert_allclose(replayed.p, np.array(centers).T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(replayed.eta, rates[0], rtol=1e-12)
    np.testing.assert_allclose(rates[1], rates[0], rtol=1e-12)
    np.testing.assert_allclose(replayed.regret, np.array(regrets).T, atol=1e-9)
    np.testing.assert_allclose(replayed.pseudo_regret, np.array(zs).T, atol=1e-7)


def test_the_budget_is_kept():
    game = FreezingGame(10_000, epsilon=0.05, budget=1.0)
    assert game.frozen_rounds == 400
    np.testing.assert_allclose((game.epsilons()[:, 0] ** 2).sum(), 1.0)
    assert FreezingGame(100, epsilon=1e-6).frozen_rounds == 64
    assert FreezingGame(100).frozen_rounds == 0
    assert FreezingGame(100, epsilon=1e-200).frozen_rounds == 64
    decoyed = FreezingGame(10_000, epsilon=0.05, budget=1.0, decoy=0.25)
    assert decoyed.frozen_rounds == 300
    np.testing.assert_allclose((decoyed.epsilons()[:1800, 0] ** 2).sum(), 0.25)
    np.testing.assert_allclose((decoyed.epsilons()[:, 0] ** 2).sum(), 1.0)


def test_arm_1_is_best_in_hindsight():
    losses = FreezingGame(1000, change=0.4, gap=0.5).losses()
    assert losses[0] == pytest.approx([0.75, 0.25])
    assert losses.sum(axis=0)[0] < losses.sum(axis=0)[1]


def test_constant_rates_pay_and_the_increasing_rate_does_not():
    """The chapter's figure, small: each learner at the k that hurts it most."""
    rounds, n_seeds = 10_000, 150
    eta0 = 1 / np.sqrt(rounds)
    worst = {}
    for name, schedule in (
        ("constant", ConstantRate()),
        ("twice", ConstantRate(2.0)),
        ("increasing", IncreasingRate()),
    ):
        paid = []
        for k in (0.75, 3.0):
            game = FreezingGame(rounds, epsilon=freezing_epsilon(rounds, eta0, k))
            played = play_freezing(game, eta0, schedule, n_seeds, np.random.default_rng(6), n_looks=1)
            paid.append(played.pseudo_regret[-1] / rounds)
        worst[name] = max(paid, key=np.mean)
    mean = {name: values.mean() for name, values in worst.items()}
    error = {name: values.std(ddof=1) / np.sqrt(n_seeds) for name, values in worst.items()}
    print({name: f"{mean[name]:.3f} ± {error[name]:.3f}" for name in worst})
    for name in ("constant", "twice"):
        assert mean[name] > 4 * error[name]
        assert mean[name] - mean["increasing"] > 4 * np.hypot(error[name], error["increasing"])
    assert mean["increasing"] < 0


def test_reproducible_and_looked_at_as_often_as_wished():
    game = FreezingGame(500, epsilon=0.05)
    first, second = (
        play_freezing(game, 0.05, IncreasingRate(), 3, np.random.default_rng(7), n_looks=n) for n in (500, 10)
    )
    np.testing.assert_array_equal(second.at, np.arange(50, 501, 50))
    np.testing.assert_array_equal(first.p[49::50], second.p)
    assert 0 < first.hidden.min() <= game.frozen_rounds / 500
    # Looking more often than there are rounds is looking after every round.
    often = play_freezing(game, 0.05, IncreasingRate(), 3, np.random.default_rng(7), n_looks=5000)
    np.testing.assert_array_equal(often.at, first.at)
    np.testing.assert_array_equal(often.p, first.p)


def test_a_refusal_leaves_the_coins_alone():
    rng = np.random.default_rng(8)
    before = rng.bit_generator.state
    game = FreezingGame(10)
    for contests, eta0 in (([(game, ConstantRate())], 5.0), ([], 0.1)):
        with pytest.raises(ValueError, match=r"eta0|empty"):
            play_contests(contests, eta0, 2, rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"rounds": 10.5}, r"rounds is 10\.5"),
        ({"rounds": 2}, r"change \* rounds = 0\.72"),
        ({"change": 0.5}, r"change = 0\.5"),
        ({"gap": 1.5}, r"gap = 1\.5"),
        ({"epsilon": -1.0}, r"epsilon = -1\.0"),
        ({"budget": np.inf}, "budget = inf"),
        ({"decoy": 2.0}, r"decoy = 2\.0"),
    ],
)
def test_bad_games_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        FreezingGame(**{"rounds": 10, **change})


def test_bad_arguments_are_refused(rng):
    game = FreezingGame(10)
    with pytest.raises(ValueError, match=r"eta0 = 0\.0"):
        play_freezing(game, 0.0, ConstantRate(), 2, rng)
    with pytest.raises(ValueError, match=r"eta0 = 0\.6; it must lie in \(0, 0\.5\]"):
        play_freezing(game, 0.6, ConstantRate(), 2, rng)
    with pytest.raises(ValueError, match="n_seeds is 0"):
        play_freezing(game, 0.1, ConstantRate(), 0, rng)
    with pytest.raises(ValueError, match=r"both must be \(10, N\)"):
        replay_freezing(game, 0.1, ConstantRate(), np.ones((5, 1)), np.ones((5, 1)))
    signs, uniforms = np.ones((10, 2)), np.full((10, 2), 0.5)
    with pytest.raises(ValueError, match=r"signs\[3, 1\] = 0\.5; every entry must be \+1 or -1"):
        replay_freezing(
            game, 0.1, ConstantRate(), np.where(np.arange(20).reshape(10, 2) == 7, 0.5, signs), uniforms
        )
    with pytest.raises(ValueError, match=r"uniforms\[0, 0\] = nan"):
        replay_freezing(game, 0.1, ConstantRate(), signs, np.nan * uniforms)
    with pytest.raises(ValueError, match=r"strength = 0\.0"):
        freezing_epsilon(100, 0.1, 0.0)


def test_contests_are_the_games_played_one_by_one():
    rounds, eta0 = 5000, 0.05
    contests = [
        (FreezingGame(rounds), ConstantRate(2.0)),
        (FreezingGame(rounds, epsilon=0.08, decoy=0.3), IncreasingRate()),
        (FreezingGame(rounds, epsilon=0.1, budget=0.5), IncreasingRate(1.5)),
    ]
    together = play_contests(contests, eta0, 4, np.random.default_rng(9), n_looks=5)
    for (game, schedule), played in zip(contests, together, strict=True):
        alone = play_freezing(game, eta0, schedule, 4, np.random.default_rng(9), n_looks=5)
        for name in ("at", "eta", "p", "regret", "pseudo_regret", "hidden"):
            np.testing.assert_array_equal(getattr(played, name), getattr(alone, name))
        assert played.clipped == alone.clipped
    with pytest.raises(ValueError, match="contests is empty"):
        play_contests([], eta0, 4, np.random.default_rng(9))
    others = [(FreezingGame(rounds, gap=0.5), IncreasingRate()), contests[0]]
    with pytest.raises(ValueError, match="differ in more"):
        play_contests(others, eta0, 4, np.random.default_rng(9))
