"""What chapter 8 claims of the dimming game and of the slopes, in small; and its pictures."""

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.figures.chapters import ch08
from aggbandit.game import Contest, FreezingGame, freezing_epsilon, moved_towards, play_freezing


def play(games, rates, eta0, n_seeds, seed):
    """Regret a round (rates, games, N) and the signal left (rates, games), all with the same coins."""
    contests = [Contest(game, eta0, rate) for rate in rates for game in games]
    histories = play_freezing(contests, n_seeds, np.random.default_rng(seed), baseline=0.5)
    table = np.array([history.pseudo_regret[-1] / games[0].rounds for history in histories])
    left = [
        1 - h.hidden.mean() * c.game.rounds / max(c.game.frozen_rounds, 1)
        for h, c in zip(histories, contests, strict=True)
    ]
    shape = len(rates), len(games)
    return table.reshape(*shape, n_seeds), np.reshape(left, shape)


def mean_and_error(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("k", [0.5, 1.0, 1.6, 2.5])
def test_one_dimmed_round_by_hand(k):
    rounds, change = 1000, 0.36
    eta0 = rounds**-0.5
    e = freezing_epsilon(rounds, eta0, k, change)
    w = eta0 * change * rounds
    p = 2 / (2 + w + np.hypot(w, 2))
    assert 1 / p - 1 / (1 - p) == pytest.approx(w)
    trial = 1 / np.hypot(1 / p, 1 / (1 - p))
    left = max(trial - e / 2, 0) / trial
    assert left == pytest.approx(max(1 - k / 2, 0), abs=0.1)  # the rule of thumb of the text

    x, loss = np.array([p, 1 - p]), np.array([0.0, 1.0])
    ellipsoid, mean = ab.LogBarrier(ab.simplex(2)).dikin(x), 0.0
    for side in (1, -1):
        y = x + side * trial * np.array([1, -1])
        z = moved_towards(ab.game.View(1, y, loss, np.full(2, e), 1.0, None), x)
        mean = mean + 0.5 * (loss @ z) * ellipsoid.apply(y - x)
    assert mean @ np.array([1, -1]) == pytest.approx(-left, abs=1e-9)
    rate = ab.IncreasingRate().next_rate(eta0, eta0, 1, e)
    assert 1 / rate.eta == pytest.approx(1 / eta0 - 2 * e)


def test_constant_rates_pay_a_price_that_does_not_fall_and_the_rising_rate_does_not_pay():
    rates = ab.ConstantRate(), ab.ConstantRate(2.0), ab.IncreasingRate()
    prices, undisturbed, lefts = {}, {}, {}
    for rounds, n_seeds in ((300, 1500), (3000, 500)):
        eta0 = rounds**-0.5
        games = [FreezingGame(rounds)]
        games += [FreezingGame(rounds, epsilon=freezing_epsilon(rounds, eta0, k)) for k in (0.75, 1.5, 3)]
        table, lefts[rounds] = play(games, rates, eta0, n_seeds, 5)
        prices[rounds] = (table[:, 1:] - table[:, :1]).mean(axis=-1)
        undisturbed[rounds] = table[0, 0].mean()
    assert (prices[300][:2] > 0.005).all()
    assert (prices[3000][:2] > prices[300][:2]).all()
    assert (prices[3000][2] < -0.02).all()
    assert undisturbed[3000] < 0.6 * undisturbed[300]
    # Dimming, not freezing: at k = 0.75 most of the signal is left, at k = 3 none.
    assert 0.6 < lefts[3000][0, 1] < 0.8
    assert 0.1 < lefts[3000][0, 2] < 0.3
    assert lefts[3000][0, 3] < 0.01


def test_a_decoy_makes_a_tuned_and_clipped_rate_pay_about_a_tenth():
    rounds, change, decoy = 300, 0.33, 0.38
    eta0 = rounds**-0.5
    plan = freezing_epsilon(rounds, eta0, 0.5, change)
    games = [FreezingGame(rounds, change), FreezingGame(rounds, change, epsilon=plan, decoy=decoy)]
    # The decoy takes all the room: 1/eta falls by 2 sqrt(D a T / 2), which is half of 1/eta_0.
    assert 2 * np.sqrt(decoy * change / 2) == pytest.approx(0.5, abs=0.005)
    ((free, dimmed),), _ = play(games, [ab.IncreasingRate()], eta0, 20_000, 12)
    mean, error = mean_and_error(dimmed - free)
    assert mean > 3 * error
    ((free, dimmed),), _ = play(games, [ab.ConstantRate()], eta0, 2000, 12)
    constant, _ = mean_and_error(dimmed - free)
    assert 0.02 < mean / constant < 0.2


def test_the_picture_of_a_moment_says_how_much_signal_is_left():
    path, rate = np.full(11, 0.08), np.ones(10)
    radius = 0.08 * 0.92 / np.hypot(0.08, 0.92)
    figure = ch08.slow_motion(path, path, rate, round=5, side=1.0, moved=radius / 4, phases=(4, 8, 10))
    assert "signal left 75 %" in figure.axes[0].get_title()


def test_labels_at_the_ends_of_prices_do_not_overlap():
    rounds = [300, 1000, 3000]
    same = np.array([0.05, 0.03, 0.02]), np.full(3, 0.001)
    figure = ch08.price_per_round(
        rounds,
        {"constant": same, "twice that": same, "increasing": same},
        (same[0], "law"),
        what="price",
        limits=(-0.1, 0.1),
    )
    heights = sorted(text.get_position()[1] for text in figure.axes[0].texts)
    assert len(heights) == 4
    assert min(np.diff(heights)) > 0.01


def test_the_bars_of_the_ledger_stand_on_an_axis_that_shows_small_and_large():
    bias, credit = np.array([0.2, 0.0, 7.0]), np.array([0.5, 0.0, 15.0])
    bars = ch08.debt_and_credit(bias, credit, 0 * bias, top=7.7).axes[0]
    small, zero, large = bars.transData.transform([(1, 0.2), (1, 0.0), (1, 7.0)])[:, 1]
    assert (small - zero) > 0.1 * (large - zero)
