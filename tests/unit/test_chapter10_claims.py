"""What chapter 10 says in prose: the polynomial of the theorem, the corollary, and the center."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import aggbandit as ab

CHAPTER = Path(__file__).parents[2] / "book" / "10-reduction.ipynb"


@pytest.fixture(scope="module")
def bounds():
    """The two functions of the chapter, taken from its cell."""
    cells = json.loads(CHAPTER.read_text())["cells"]
    (source,) = ["".join(cell["source"]) for cell in cells if "def bound_if_known" in "".join(cell["source"])]
    names = {"ab": ab, "math": math}
    exec(source[: source.index("for S, A, H in")], names)
    return names["bound"], names["bound_if_known"]


@pytest.mark.parametrize(("grows", "power"), [("S", 6.0), ("A", 3.5), ("H", 5.0)])
def test_the_polynomial_of_the_main_theorem(bounds, grows, power):
    sizes = {"S": 3000, "A": 3000, "H": 3000}
    bound, _ = bounds
    twice = bound(**{**sizes, grows: 6000}, K=2**80) / bound(**sizes, K=2**80)
    assert math.log2(twice) == pytest.approx(power, abs=0.05)


@pytest.mark.parametrize(("n_states", "n_actions", "horizon"), [(2, 2, 2), (3, 2, 3), (4, 3, 5)])
@pytest.mark.parametrize("episodes", [10, 10**4, 10**9])
def test_the_corollary_for_known_dynamics(bounds, n_states, n_actions, horizon, episodes):
    mdp = ab.random_mdp(n_states, n_actions, horizon, np.random.default_rng(0))
    barrier = ab.LogBarrier(ab.known_occupancy_polytope(mdp))
    assert barrier.dimension == (n_actions - 1) * (1 + (horizon - 1) * n_states)
    assert barrier.theta == n_actions * (1 + (horizon - 1) * n_states)
    _, if_known = bounds
    exact = ab.theory.increasing_rates_bound(barrier.dimension, barrier.theta, horizon, episodes)
    assert exact <= if_known(n_states, n_actions, horizon, episodes) <= 2.5 * exact


def test_budgets_are_equal_with_the_papers_perturbation_and_rise_with_ours():
    mdp, rng = ab.night_driver().mdp, np.random.default_rng(0)
    coin = ab.uniform_policy(mdp)
    ours, papers = ab.TightConfidence(), ab.CorrectedConfidence()
    counts, budgets = np.zeros(mdp.shape, dtype=int), {"ours": [], "paper's": []}
    for _ in range(10):
        for name, book in (("ours", ours), ("paper's", papers)):
            budgets[name].append(ab.epochs.epoch_budget(counts, book.epsilon(counts, 3000)))
        for _ in range(max(1, int(counts[0].sum()))):
            counts = counts + mdp.rollout(coin, rng).indicator().astype(int)
    assert np.ptp(budgets["paper's"]) < 1e-6
    assert budgets["ours"][0] == pytest.approx(576)
    assert np.all(np.diff(budgets["ours"]) >= -1e-9)
    assert budgets["ours"][-1] > 20 * budgets["ours"][0]
    assert budgets["ours"][-1] <= ab.theory.B(3, 2, 3, 3000, delta=1 / 9000)
