"""The landing page's claim: totals leave the prices open and settle the policies."""

import numpy as np
import pytest
from scipy.optimize import linprog

import aggbandit as ab
from aggbandit.figures.chapters import index


@pytest.fixture(scope="module")
def evidence():
    return index.gather(ab.night_driver(), nights=150, rng=np.random.default_rng(1))


@pytest.mark.parametrize("blame", index.BLAME)
@pytest.mark.parametrize("nights", [1, 5, 30, 150])
def test_a_list_explains_every_total_with_prices_between_zero_and_one(evidence, nights, blame):
    table = index.explain(evidence, nights, blame)
    explained = [trajectory.total(table) for trajectory in evidence.trajectories[:nights]]
    np.testing.assert_allclose(explained, evidence.totals[:nights], atol=1e-9)
    assert table.min() >= -1e-12
    assert table.max() <= 1 + 1e-12


def test_a_list_blames_its_leg(evidence):
    first, last = (index.explain(evidence, 150, blame) for blame in index.BLAME)
    assert first[0].sum() > last[0].sum() + 1
    assert last[-1].sum() > first[-1].sum() + 1


def test_150_nights_span_all_routes_and_leave_one_freedom_for_each_place_passed(evidence):
    mdp = evidence.world.mdp
    seen = np.array([trajectory.indicator().ravel() for trajectory in evidence.trajectories])
    routes = np.array(
        [t.indicator().ravel() for t, _ in ab.enumerate_trajectories(mdp, ab.uniform_policy(mdp))]
    )
    everywhere = np.any(routes, axis=0).sum()
    assert np.linalg.matrix_rank(seen) == np.linalg.matrix_rank(routes)
    assert everywhere - np.linalg.matrix_rank(routes) == (mdp.horizon - 1) * mdp.n_states


def test_then_the_lists_differ_in_prices_and_agree_on_every_policy(evidence):
    mdp, loss = evidence.world.mdp, evidence.world.loss
    first, last = (index.explain(evidence, 150, blame) for blame in index.BLAME)
    price = [(mdp.transitions * table).sum(axis=-1)[mdp.reachable] for table in (first, last, loss)]
    assert abs(price[0] - price[1]).max() == pytest.approx(0.40, abs=1e-6)
    assert min(abs(price[0] - price[2]).max(), abs(price[1] - price[2]).max()) > 0.1
    for table in (first, last):
        said, true = index.judge(evidence, table)
        np.testing.assert_allclose(said, true, atol=1e-8)


@pytest.mark.parametrize("nights", [1, 20, 150])
def test_extreme_lists_explain_the_totals_and_no_list_goes_further(evidence, nights):
    mdp = evidence.world.mdp
    seen = np.array([trajectory.indicator().ravel() for trajectory in evidence.trajectories[:nights]])
    for choice in [(0, 0, 1), (1, 1, 0), (2, 2, 1)]:
        price = np.zeros(mdp.shape)
        price[choice] = mdp.transitions[choice]
        low, high = (index.extreme(evidence, nights, choice, sign) for sign in (1, -1))
        for table in (low, high):
            np.testing.assert_allclose(seen @ table.ravel(), evidence.totals[:nights], atol=1e-9)
            assert table.min() >= -1e-12
            assert table.max() <= 1 + 1e-12
        # By duality no list is lower: a lower bound from multipliers of the totals and of the walls.
        for sign, table in ((1, low), (-1, high)):
            fit = linprog(
                sign * price.ravel(), A_eq=seen, b_eq=evidence.totals[:nights], bounds=(0, 1), method="highs"
            )
            bound = evidence.totals[:nights] @ fit.eqlin.marginals + fit.upper.marginals.sum()
            assert sign * (price * table).sum() == pytest.approx(bound, abs=1e-9)


def test_with_150_nights_every_price_still_moves_and_no_policys_cost_does(evidence):
    """The numbers that the page speaks of: bands from 0.30 to 0.71 wide, dots on the line."""
    mdp = evidence.world.mdp
    choices = [(h, s, a) for h, s in np.argwhere(mdp.reachable) for a in range(mdp.n_actions)]
    widths = []
    for choice in choices:
        low, high = (index.extreme(evidence, 150, choice, sign) for sign in (1, -1))
        widths.append(((high - low) * mdp.transitions).sum(axis=-1)[choice])
        for table in (low, high):
            said, true = index.judge(evidence, table)
            np.testing.assert_allclose(said, true, atol=1e-8)
    assert min(widths) == pytest.approx(0.3, abs=1e-6)
    assert max(widths) == pytest.approx(0.71, abs=5e-3)


def test_moving_a_price_from_the_roads_out_of_a_place_to_the_roads_into_it_changes_no_total():
    world = ab.night_driver()
    moved = world.loss.copy()
    moved[0, :, :, 1] += 0.05
    moved[1, 1] -= 0.05
    for trajectory, _ in ab.enumerate_trajectories(world.mdp, ab.uniform_policy(world.mdp)):
        assert trajectory.total(moved) == pytest.approx(trajectory.total(world.loss), abs=1e-12)


def test_all_policies_are_judged_and_the_best_is_the_best(evidence):
    loss = evidence.world.loss
    said, true = index.judge(evidence, loss)
    assert len(true) == 128
    np.testing.assert_allclose(said, true)
    assert true.min() == pytest.approx(evidence.world.mdp.best_policy(loss)[1], abs=1e-12)


def test_the_words_name_the_numbers_of_the_picture(evidence):
    text = index.describe(evidence, 150, "the last leg")
    assert "the totals of 150 nights" in text
    assert "by at most 0.00" in text
    assert text.count("1.01") == 2
