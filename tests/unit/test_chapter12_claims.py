"""What chapter 12 says in prose: thresholds, their closed forms, digits, and the worst of a fixed policy."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import theory
from aggbandit.figures.chapters import ch12

CHAPTER = Path(__file__).parents[2] / "book" / "12-bounds.ipynb"
DRIVER = (3, 2, 3)


@pytest.fixture(scope="module")
def page():
    """The functions of the chapter, taken from its cells."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = {"ab": ab, "np": np, "math": math, "theory": theory, "ch12": ch12}
    (fixed,) = [source for source in sources if source.startswith("def worst_of(mdp")]
    (bounds,) = [source for source in sources if source.startswith("def unknown(")]
    exec(fixed[: fixed.index("\n\ntossing")], names)
    exec(bounds[: bounds.index("\n\nworlds =")], names)
    return names


def threshold(page, name, sizes=DRIVER, against=None):
    return ch12.threshold(page["bounds_of"](*sizes)[name], sizes[2] if against is None else against)


def test_thresholds_of_the_driver(page):
    assert threshold(page, "ours") == pytest.approx(2.9e22, rel=0.02)
    assert threshold(page, "corrected") == pytest.approx(2.1e23, rel=0.02)
    assert threshold(page, "Algorithm 3, as printed") == pytest.approx(threshold(page, "corrected"), rel=1e-3)
    assert threshold(page, "SCRiBLe") == pytest.approx(31_000, rel=0.02)
    assert threshold(page, "SCRiBLe, b = H/2") == pytest.approx(6_800, rel=0.02)
    assert threshold(page, "U-function") == pytest.approx(2_400, rel=0.03)
    assert threshold(page, "Q − V") == pytest.approx(1_000, rel=0.03)


@pytest.mark.parametrize("sizes", [(3, 2, 3), (5, 3, 5), (10, 4, 10)])
def test_closed_forms_for_a_known_city(page, sizes):
    S, A, H = sizes
    cells, places = S * A, 1 + (H - 1) * S
    first = threshold(page, "SCRiBLe", sizes)
    n, walls = (A - 1) * places, A * places
    assert first == pytest.approx(4 * n**2 * walls * math.log(H * first), rel=0.01)
    first = threshold(page, "U-function", sizes)
    assert first == pytest.approx(24 * math.e * math.log(A) * H**2 * cells, rel=0.01)
    first = threshold(page, "Q − V", sizes)
    capped = theory.q_minus_v_eta(S, A, H, first) == 1 / math.sqrt(8 * H**3)
    root = 4 * (1 - 1 / A) * math.log(H * first) * H**2 * cells
    assert capped == (sizes == DRIVER)
    assert round(root) == 867 if capped else first == pytest.approx(root, rel=0.02)
    first = ch12.threshold(lambda K: theory.semi_bandit_oreps_bound(S, A, H, K), H)
    assert first == math.floor(2 * math.log(cells) * cells) + 1
    first = ch12.threshold(lambda K: theory.oreps_bound(S, A, H, K), H)
    assert first == math.floor(2 * math.log(cells)) + 1


def test_the_exercise_without_restarts(page):
    """With one epoch about 10^16; without insurance between 10^8 and 10^9."""
    S, A, H = DRIVER
    n, walls = 35, 140

    def budget(K):
        return theory.B(S, A, H, K, 1 / (H * K))

    one = ch12.threshold(lambda K: theory.increasing_rates_bound(n, walls, H, K, budget(K)) + 1, H)
    assert 10**15.8 < one < 10**16.3

    def cheap(K):
        root = 3 * n * H * math.sqrt(walls * math.log(H * K) * K)
        return root + (2 * n + 1) * math.sqrt(budget(K) * K)

    assert 10**8 < ch12.threshold(cheap, H) < 10**9


@pytest.mark.parametrize("seed", range(3))
def test_no_prices_cost_a_fixed_policy_more(page, seed):
    rng = np.random.default_rng(seed)
    mdp = ab.random_mdp(2, 2, 2, rng)
    pi = rng.dirichlet(np.ones(2), size=(2, 2))
    worst = page["worst_of"](mdp, pi)
    for price in rng.random((50, *mdp.shape)).round():
        assert mdp.expected_loss(pi, price) - mdp.best_policy(price)[1] <= worst + 1e-12
    x = mdp.occupancy(pi)
    corners = [mdp.occupancy(other) for other in ab.deterministic_policies(mdp)]
    far = max(corners, key=lambda corner: np.maximum(x - corner, 0).sum())
    price = (x > far).astype(float)
    assert mdp.expected_loss(pi, price) - mdp.best_policy(price)[1] == pytest.approx(worst)


def test_the_coin_of_the_driver_at_worst(page):
    mdp = ab.night_driver().mdp
    assert page["worst_of"](mdp, ab.uniform_policy(mdp)) == pytest.approx(1.65)


def test_the_tuned_rate_has_no_ceiling_and_no_bound():
    n, walls, K = 35, 140, 300_000
    budget = theory.B(3, 2, 3, K, 1 / (3 * K))
    tuned = ab.tuned_rates().eta0(n, walls, 3, K, budget)
    allowed = theory.eta0(n, walls, 3, K, budget)
    assert 14_000 < tuned / allowed < 15_000
    assert math.isinf(theory.rate_ceiling(tuned, n, K, budget))
    with pytest.raises(ValueError, match="the bound is proved for rates up to"):
        theory.increasing_rates_bound(n, walls, 3, K, budget, rate=tuned)
