"""What chapter 13 says in prose: regret without noise, its slopes, what is undone, and the twenty cities."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import checks

CHAPTER = Path(__file__).parents[2] / "book" / "13-square-root.ipynb"


@pytest.fixture(scope="module")
def page():
    """The functions of the chapter, taken from its cells."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = {"ab": ab, "np": np, "cities": range(2), "lengths": np.array([20, 40, 80])}
    for start, end in (
        ("book, sizes =", "\n\nstrengths ="),
        ("def learner(", "\n\nplayed ="),
        ("def resampled(", "\n\nshare_bands,"),
        ("def random_prices(", "\n\nboth ="),
    ):
        (source,) = [source for source in sources if source.startswith(start)]
        exec(source[: source.index(end)], names)
    return names


@pytest.fixture(scope="module")
def driver():
    """Barrier, prices, least total and center of the driver's city, which she knows."""
    world = ab.night_driver()
    barrier = ab.LogBarrier(ab.known_occupancy_polytope(world.mdp))
    price = ab.occupancy_coordinates(world.mdp).loss_vector(world.loss)
    return barrier, price, world.mdp.best_policy(world.loss)[1], barrier.analytic_center()


def area(driver, s):
    """F(s) and s g(s)."""
    barrier, price, best, center = driver
    x = barrier.minimize(s * price, center).x
    gap = price @ x - best
    return barrier.value(x) - barrier.value(center) + s * gap, s * gap


@pytest.mark.parametrize(("eta", "nights"), [(0.02, 200), (0.3, 100)])
def test_regret_without_noise_is_the_area(driver, eta, nights):
    barrier, price, best, center = driver
    x, regret = center, 0.0
    for _ in range(nights):
        regret += price @ x - best
        x = barrier.mirror_step(x, eta * price).x
    F, _ = area(driver, eta * nights)
    assert F / eta - 1e-9 <= regret <= F / eta + price @ center - best + 1e-9


def test_slopes_along_a_run_and_across_runs(driver):
    up = 1.001
    for s in (0.1, 3.0, 40.0, 2000.0):
        (F, pull), (more, _) = area(driver, s), area(driver, up * s)
        e = pull / F
        assert 0 <= e <= 1
        assert math.log(more / F) / math.log(up) == pytest.approx(e, abs=1e-3)
        # Rates c / sqrt(K): eta K grows like sqrt(K), and 1/eta as well.
        across = (math.log(more / F) + math.log(up)) / math.log(up**2)
        assert across == pytest.approx(0.5 + e / 2, abs=1e-3)


def test_the_pull_tends_to_the_walls_that_contain_the_best_point(driver):
    barrier = driver[0]
    pulls = [area(driver, s)[1] for s in (1.0, 30.0, 1e3, 1e6)]
    assert pulls == sorted(pulls)
    assert pulls[-1] == pytest.approx(7, abs=1e-3)
    assert barrier.dimension == 7
    assert barrier.theta == 14


def test_what_was_learned_is_undone_on_the_same_way(driver):
    barrier, price, _, center = driver
    eta, nights = 0.2, 30
    path = [center]
    for _ in range(nights):
        path.append(barrier.mirror_step(path[-1], eta * price).x)
    x = path[-1]
    for j in range(1, nights + 1):  # prices are 1 - l: on the slice -l and a constant
        x = barrier.mirror_step(x, eta * (1 - price)).x
        np.testing.assert_allclose(x, path[nights - j], atol=1e-6)


@pytest.mark.parametrize("a", [0.5, 0.8, 1.0])
def test_the_price_of_doubling(a):
    total = sum(2 ** (i * a) for i in range(40))
    assert total / 2 ** (40 * a) == pytest.approx(1 / (2**a - 1), rel=1e-5)
    if a == 0.5:
        assert total / 2**20 == pytest.approx(2.4, abs=0.05)


def test_the_page_computes_slopes_as_its_check_wants_them(page):
    def regret_slopes(regret, lengths):
        return page["slopes_of"]((regret / lengths).mean(axis=0), lengths)

    assert checks.regret_slopes(regret_slopes).verdict == "right"


@pytest.mark.parametrize("prices", ["random_prices", "late_switch"])
def test_the_coin_meets_the_prices_that_the_learner_meets(page, prices):
    """The regret of the uniform policy in a sweep is the coin's regret that shares are made of."""
    page["learners"]["coin"] = lambda mdp, episodes: ab.FixedPolicy(ab.uniform_policy(mdp))
    regret, _, idle = page["play"]("coin", 40, page[prices])
    np.testing.assert_allclose(regret[:, -1], idle)


def test_resampled_means_are_of_whole_cities(page):
    shares = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    means = page["resampled"](shares, np.random.default_rng(0), draws=200)
    assert means.shape == (200, 2)
    np.testing.assert_allclose(means[:, 1], 10 * means[:, 0])  # the same cities at all lengths
    assert means.min() >= 1
    assert means.max() <= 40
