"""The freezing game in closed form: the same game, step by step, as the protocol plays; and what it shows."""

import tracemalloc

import numpy as np
import pytest

from aggbandit import ConstantRate, IncreasingRate, IncreasingRateOMD, LogBarrier, simplex
from aggbandit.game import Contest, FreezingGame, freezing_epsilon, play_freezing, replay_freezing


def play(game, eta0, schedule, n_seeds, rng, n_looks=1):
    return play_freezing([Contest(game, eta0, schedule)], n_seeds, rng, 0.5, n_looks)[0]


@pytest.mark.parametrize("schedule", [IncreasingRate(), ConstantRate(), ConstantRate(2.0)])
@pytest.mark.parametrize(("baseline", "decoy"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.01)])
def test_agrees_with_the_learner_on_the_simplex(schedule, baseline, decoy):
    rounds, eta0 = 600, 0.08
    epsilon = freezing_epsilon(rounds, eta0, 1.5)
    game = FreezingGame(rounds, epsilon=epsilon, budget=0.3, gap=0.9, decoy=decoy)
    assert 20 < game.frozen_rounds < 400
    signs, uniforms, centers, rates, regrets, zs, hidden, spent = [], [], [], [], [], [], [], []
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
        hidden.append([1 - (r.z - r.record.x)[0] / (r.y - r.record.x)[0] for r in played])
        spent.append([(r.z_hat @ r.epsilon) ** 2 for r in played])
        zs.append(np.cumsum([r.loss @ r.z - r.loss[0] for r in played]))
    contest = Contest(game, eta0, schedule)
    (replayed,) = replay_freezing([contest], np.array(signs).T, np.array(uniforms).T, baseline)
    # The learner's Newton steps end at a decrement of 1e-8.
    np.testing.assert_allclose(replayed.center[..., 0], np.array(centers).T, rtol=0, atol=1e-8)
    np.testing.assert_allclose(replayed.center.sum(axis=-1), 1.0, atol=1e-12)
    np.testing.assert_allclose(replayed.eta, np.array(rates).T, rtol=1e-12)
    np.testing.assert_allclose(replayed.hidden, np.mean(hidden, axis=1), atol=1e-7)
    np.testing.assert_allclose(replayed.spent, np.sum(spent, axis=1))
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
            played = play(game, eta0, schedule, n_seeds, np.random.default_rng(6))
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
        play(game, 0.05, IncreasingRate(), 3, np.random.default_rng(7), n_looks=n) for n in (500, 10)
    )
    np.testing.assert_array_equal(second.at, np.arange(50, 501, 50))
    np.testing.assert_array_equal(first.center[49::50], second.center)
    assert 0 < first.hidden.min() <= game.frozen_rounds / 500
    # Looking more often than there are rounds is looking after every round.
    often = play(game, 0.05, IncreasingRate(), 3, np.random.default_rng(7), n_looks=5000)
    np.testing.assert_array_equal(often.at, first.at)
    np.testing.assert_array_equal(often.center, first.center)


def test_a_refusal_leaves_the_coins_alone():
    rng = np.random.default_rng(8)
    before = rng.bit_generator.state
    game = FreezingGame(10)
    for contests in ([Contest(game, 5.0, ConstantRate())], []):
        with pytest.raises(ValueError, match=r"eta0|empty"):
            play_freezing(contests, 2, rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"rounds": 10.5}, r"rounds is 10\.5"),
        ({"rounds": 2}, r"change \* rounds is 0\.72"),
        ({"change": 0.5}, r"change is 0\.5"),
        ({"gap": 1.5}, r"gap is 1\.5"),
        ({"epsilon": -1.0}, r"epsilon is -1\.0"),
        ({"budget": np.inf}, "budget is inf"),
        ({"decoy": 2.0}, r"decoy is 2\.0"),
    ],
)
def test_bad_games_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        FreezingGame(**{"rounds": 10, **change})


def test_bad_arguments_are_refused(rng):
    contest = Contest(FreezingGame(10), 0.1, ConstantRate())
    with pytest.raises(ValueError, match=r"contests\[0\].eta0 is 0\.6; it must lie in \(0, 0\.5\]"):
        play_freezing([Contest(FreezingGame(10), 0.6, ConstantRate())], 2, rng, baseline=0.5)
    with pytest.raises(ValueError, match="n_seeds is 0"):
        play_freezing([contest], 0, rng)
    with pytest.raises(TypeError, match="rng is None"):
        play_freezing([contest], 2, None)
    with pytest.raises(
        TypeError, match=r"contests\[0\].game is a DistortedBandit; it must be a FreezingGame"
    ):
        play_freezing([Contest(FreezingGame(10).as_distorted_bandit(), 0.1, ConstantRate())], 2, rng)
    with pytest.raises(ValueError, match=r"both must be \(10, N\)"):
        replay_freezing([contest], np.ones((5, 1)), np.ones((5, 1)))
    signs, uniforms = np.ones((10, 2)), np.full((10, 2), 0.5)
    wrong = np.where(np.arange(20).reshape(10, 2) == 7, 0.5, signs)
    with pytest.raises(ValueError, match=r"signs\[3, 1\] is 0\.5; every entry must be \+1 or -1"):
        replay_freezing([contest], wrong, uniforms)
    with pytest.raises(ValueError, match=r"uniforms\[0, 0\] is nan"):
        replay_freezing([contest], signs, np.nan * uniforms)
    with pytest.raises(ValueError, match=r"strength is 0\.0"):
        freezing_epsilon(100, 0.1, 0.0)


def test_contests_are_the_games_played_one_by_one():
    """Also where some share their past, and part early, late or never."""
    rounds = 5000
    contests = [
        Contest(FreezingGame(rounds), 0.05, ConstantRate(2.0)),
        Contest(FreezingGame(rounds, epsilon=0.08, decoy=0.3), 0.05, IncreasingRate()),
        Contest(FreezingGame(rounds), 0.05, IncreasingRate()),
        Contest(FreezingGame(rounds, epsilon=0.1, budget=0.5), 0.05, IncreasingRate(1.5)),
        Contest(FreezingGame(rounds), 0.05, ConstantRate()),
        Contest(FreezingGame(rounds, epsilon=0.08, decoy=0.3), 0.05, ConstantRate(2.0)),
        Contest(FreezingGame(rounds, epsilon=0.08), 0.05, ConstantRate(2.0)),
        Contest(FreezingGame(rounds, epsilon=0.05), 0.03, IncreasingRate()),
        Contest(FreezingGame(rounds), 0.05, ConstantRate(2.0)),
    ]
    together = play_freezing(contests, 4, np.random.default_rng(9), baseline=0.4, n_looks=5)
    for contest, played in zip(contests, together, strict=True):
        (alone,) = play_freezing([contest], 4, np.random.default_rng(9), baseline=0.4, n_looks=5)
        for name in ("at", "eta", "center", "regret", "pseudo_regret", "hidden", "spent"):
            np.testing.assert_array_equal(getattr(played, name), getattr(alone, name))
        assert played.clipped == alone.clipped
    np.testing.assert_array_equal(together[0].regret, together[8].regret)
    assert (together[5].center[-1] != together[6].center[-1]).any()
    others = [Contest(FreezingGame(rounds, gap=0.5), 0.05, IncreasingRate()), contests[0]]
    with pytest.raises(ValueError, match="differ in more"):
        play_freezing(others, 4, np.random.default_rng(9))


def test_the_coins_are_those_that_are_documented_also_across_blocks():
    contests = [Contest(FreezingGame(5000, epsilon=0.01), 0.01, IncreasingRate())]
    played, given = np.random.default_rng(3), np.random.default_rng(3)
    (by_rng,) = play_freezing(contests, 3, played, n_looks=5)
    blocks = [
        (np.where(given.integers(0, 2, size=shape) == 1, 1.0, -1.0), given.random(shape))
        for shape in ((4096, 3), (904, 3))
    ]
    signs, uniforms = (np.concatenate(coins) for coins in zip(*blocks, strict=True))
    (by_hand,) = replay_freezing(contests, signs, uniforms)
    np.testing.assert_array_equal(by_rng.regret, by_hand.regret[by_rng.at - 1])
    np.testing.assert_array_equal(by_rng.center, by_hand.center[by_rng.at - 1])
    assert played.bit_generator.state == given.bit_generator.state


def test_many_seeds_hold_no_block_of_coins_as_doubles():
    contests = [Contest(FreezingGame(2048), 0.01, ConstantRate())]
    tracemalloc.start()
    play_freezing(contests, 2000, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2048 * 2000 * np.dtype(np.float64).itemsize
