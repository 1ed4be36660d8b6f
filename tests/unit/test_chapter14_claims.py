"""What chapter 14 says in prose: ratios of bounds, the noise of a total, whose learner drives the avenue."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory

CHAPTER = Path(__file__).parents[2] / "book" / "14-price.ipynb"


@pytest.fixture(scope="module")
def avenue():
    """The function of the chapter, taken from its cell."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    (source,) = [
        "".join(cell["source"]) for cell in cells if "".join(cell["source"]).startswith("def avenue(")
    ]
    names = {"np": np, "math": math}
    exec(source, names)
    return names["avenue"]


@pytest.mark.parametrize("one_coin", [True, False])
@pytest.mark.parametrize("running_mean", [True, False])
def test_the_avenue_is_driven_by_the_learner_of_the_package(avenue, one_coin, running_mean):
    eta, legs, gap, nights = 0.05, 3, 0.25, 60
    road = ab.FiniteHorizonMDP(np.ones((legs, 1, 2, 1)))
    rates = ab.PolicyRates(eta=eta, gamma=2 * eta, bonus=0.0, uniform=0.0, running_mean=running_mean)
    learner = ab.UFunctionLearner(1, 2, legs, rates=rates, visits=ab.learners.KnownDynamics(road))
    rng, regret = np.random.default_rng(5), 0.0
    for _ in range(nights):
        u, dear = rng.random((1, 1 if one_coin else legs)), learner.policy(rng)[:, 0, 1]
        wrong = rng.random((1, legs)) < dear
        total = float((u < np.where(wrong, 1 + gap, 1 - gap) / 2).sum())
        drive = ab.Trajectory([0] * (legs + 1), wrong[0].astype(int), n_states=1, n_actions=2)
        learner.observe(ab.AggregateFeedback(drive, total))
        regret += gap * dear.sum()
    drawn = np.random.default_rng(5)
    ours = avenue(legs, nights, [eta], [gap], 1, drawn, one_coin=one_coin, baseline=running_mean)
    assert ours.item() == pytest.approx(regret, rel=1e-12)


def test_on_one_leg_the_total_is_the_receipt(avenue):
    both = [avenue(1, 50, [0.1], [0.5], 3, np.random.default_rng(1), receipt=receipt) for receipt in (0, 1)]
    np.testing.assert_array_equal(*both)


def test_receipts_make_of_an_avenue_so_many_short_ones(avenue):
    """With one coin for all legs, too: on average over many seeds, at one rate and gap."""
    long = avenue(4, 100, [0.1], [0.25], 4000, np.random.default_rng(2), one_coin=True, receipt=True)
    short = avenue(1, 100, [0.1], [0.25], 4000, np.random.default_rng(3))
    error = math.hypot(long.std() / 4, short.std()) / math.sqrt(4000)
    assert abs(long.mean() / 4 - short.mean()) < 4 * error


def second_moments(legs, gap, dear, one_coin):
    """`E[(L - E L)²]` given the lane of the first leg, by going through lanes and coins exactly.

    Returns the two moments around the mean total, and the least over all baselines of the smaller one.
    """
    levels = [(1 - gap) / 2, gap, (1 - gap) / 2]  # u below all odds, between, above
    outcomes = []  # (chance, lane of the first leg, total)
    for lanes in itertools.product((0, 1), repeat=legs):
        chance = math.prod(dear if lane else 1 - dear for lane in lanes)
        for cells in itertools.product(range(3), repeat=1 if one_coin else legs):
            own = cells * legs if one_coin else cells
            total = sum(cell == 0 or (cell == 1 and lane == 1) for cell, lane in zip(own, lanes, strict=True))
            outcomes.append((chance * math.prod(levels[cell] for cell in cells), lanes[0], total))
    mean = sum(chance * total for chance, _, total in outcomes)

    def moment(lane, b):
        of_lane = [(chance, total) for chance, first, total in outcomes if first == lane]
        return sum(c * (total - b) ** 2 for c, total in of_lane) / sum(c for c, _ in of_lane)

    least = min(moment(lane, b) for lane in (0, 1) for b in np.linspace(0, legs, 41))
    return [moment(lane, mean) for lane in (0, 1)], least


@pytest.mark.parametrize("legs", [1, 2, 4])
@pytest.mark.parametrize("gap", [0.1, 0.5])
@pytest.mark.parametrize("dear", [0.1, 0.5])
def test_own_coins_and_one_coin(legs, gap, dear):
    around, _ = second_moments(legs, gap, dear, one_coin=False)
    assert max(around) <= legs / 4 + gap**2 + 1e-12
    _, least = second_moments(legs, gap, dear, one_coin=True)
    assert least >= (1 - gap) * legs**2 / 4 - 1e-12


def test_ratios_of_bounds_grow_like_the_number_of_legs():
    S, A, K = 3, 2, 10**6
    steps, totals, others = (
        np.array([bound(S, A, legs, K) for legs in (1, 2, 4, 8, 16)])
        for bound in (theory.semi_bandit_oreps_bound, theory.u_function_bound, theory.q_minus_v_bound)
    )
    np.testing.assert_allclose(totals / steps, 3.55 * np.array([1, 2, 4, 8, 16]), rtol=2e-3)
    over = others / steps / np.array([1, 2, 4, 8, 16])
    assert (np.diff(over) > 0).all()  # a logarithm of H more
    assert over[-1] < 1.1 * over[0]


def test_half_of_the_legs_together_from_twelve_on():
    """The exercise: the noise is nearer to H than to its root, as a ratio, from twelve legs on."""

    def nearer_to_one_coin(legs):
        noise = math.sqrt(legs**2 / 4 + legs / 2)
        return legs / noise < noise / math.sqrt(legs)

    assert [legs for legs in range(2, 20, 2) if nearer_to_one_coin(legs)] == [12, 14, 16, 18]


def printed(cells, beginning):
    """What the cell whose output begins so has printed."""
    texts = [
        "".join(output["text"])
        for cell in cells
        for output in cell.get("outputs", ())
        if output["output_type"] == "stream"
    ]
    (text,) = [text for text in texts if text.startswith(beginning)]
    return text


def test_prices_and_their_powers_are_those_that_the_page_prints():
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    (prose,) = ["".join(cell["source"]) for cell in cells if cell["id"] == "14-price-prices"]
    own, one = printed(cells, "own coins\n").split("one coin\n")
    for lines, within in ((own, (0.4, 0.6)), (one, (0.85, 1.05))):
        *_, power = lines.split()
        assert within[0] < float(power) < within[1]
        assert f"$H^{{{power}}}$" in prose
        for legs in (2, 4, 8, 16):
            (line,) = [line for line in lines.splitlines() if f"H = {legs:2}:" in line]
            assert f"{float(line.split('price')[1].split(',')[0]):.1f}" in prose


def test_shares_of_the_list_are_those_that_the_page_prints():
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    (prose,) = ["".join(cell["source"]) for cell in cells if cell["id"] == "14-price-results"]
    *table, same = printed(cells, "the coin, a night").splitlines()[1:]
    assert "at its rate O-REPS has 0.03 on coin nights" in prose
    assert ": 0.03," in same
    shares = {line[17:43].strip(): line[43:56].split() for line in table}
    assert len(shares) == 14
    for name in ("UC-O-REPS, no map", "UOB-REPS, no map", "O-REPS, steps", "optimistic values, no map"):
        assert shares[name][0] in prose
    assert f"from {shares['Thompson, no map'][0]} to {shares['Thompson, no map'][1]}" in prose
    steps = {name: float(later) - float(first) for name, (first, later) in shares.items()}
    assert max(steps, key=steps.get) == "Thompson, no map"
