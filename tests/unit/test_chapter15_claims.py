"""What chapter 15 says in prose: the past cancels, the ten lines learn, the proof's steps, the estimates."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

import aggbandit as ab
from aggbandit import theory

BOOK = Path(__file__).parents[2] / "book"
CHAPTER = BOOK / "15-after-the-paper.ipynb"


def code(beginning):
    """The source of the cell that begins so."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (found,) = [source for source in sources if source.startswith(beginning)]
    return found


@pytest.fixture(scope="module")
def page():
    """The functions of the chapter, taken from its cells."""
    names = {"ab": ab, "np": np, "math": math, "softmax": softmax}
    exec(code("def by_definition(").split("\n\n\nU = ")[0], names)
    exec(code("def learn(").split("\n\n\nnights = ")[0], names)
    exec(code("def chance(").split("\n\n\nK, R, ")[0], names)
    return names


def a_world(seed):
    rng = np.random.default_rng(seed)
    mdp = ab.random_mdp(2, 2, 3, rng)
    policies = rng.dirichlet(np.ones(2), size=(2, 3, 2))
    return mdp, *policies, rng.random(mdp.shape)


@pytest.mark.parametrize("seed", range(4))
def test_the_u_function_is_past_plus_future_and_tells_the_difference(page, seed):
    mdp, pi, star, loss = a_world(seed)
    U, Q = page["by_definition"](mdp, pi, loss), ab.learners.q_function(mdp, pi, loss)
    met = mdp.occupancy(pi).sum(axis=(2, 3)) > 0
    past = (U - Q)[met]
    np.testing.assert_allclose(past, past[:, :1].repeat(2, axis=1), atol=1e-12)
    chances = mdp.occupancy(star).sum(axis=(2, 3))
    told = (chances[:, :, None] * (pi - star) * U).sum()
    assert told == pytest.approx(mdp.expected_loss(pi, loss) - mdp.expected_loss(star, loss), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_dilated_bonus_exchanges_the_states(seed):
    """The sum over the comparator's states telescopes to (1 + 1/H) B_1, at most e times her own."""
    mdp, pi, star, _ = a_world(seed)
    H = mdp.horizon
    b = np.random.default_rng(seed).random((H, 2))
    known = ab.learners.KnownDynamics(mdp)
    B = ab.learners.dilated_bonus(known.largest, pi, b)
    theirs, own = (mdp.occupancy(policy).sum(axis=(2, 3)) for policy in (star, pi))
    mean, compared = (pi * B).sum(axis=2), (star * B).sum(axis=2)
    left = (theirs * (b + (1 + 1 / H) * mean - compared)).sum()
    assert left == pytest.approx((1 + 1 / H) * mean[0, mdp.initial_state])
    powers = (1 + 1 / H) ** np.arange(1, H + 1)
    assert left == pytest.approx((powers[:, None] * own * b).sum())
    assert left <= math.e * (own * b).sum()


def test_the_best_rate_gives_the_bound_as_stated():
    S, A, H, K = 3, 2, 3, 10**6
    stated = 2 * math.sqrt(6 * math.e * math.log(A)) * H**2 * math.sqrt(S * A * K)
    assert theory.u_function_bound(S, A, H, K) == pytest.approx(stated)


def test_the_ten_lines_learn(page):
    world = ab.night_driver()
    paid = page["learn"](world.mdp, world.loss, 300, 0.01, np.random.default_rng(3))
    assert paid[0] == pytest.approx(1.642, abs=1e-3)
    assert paid[-50:].mean() < 1.45 < paid[:50].mean()


@pytest.mark.parametrize(("root", "log"), [(5.0, 2.0), (0.5, 9.0)])
def test_with_one_place_the_program_falls_apart_into_legs(page, root, log):
    """The page's equation is the policy of the package's FTRL."""
    mdp = ab.FiniteHorizonMDP(np.ones((3, 1, 2, 1)))
    learner = ab.learners.FTRL(mdp, ab.learners.Regularizer(root, log))
    rng, d = np.random.default_rng(0), np.zeros((1, 3))
    for _ in range(30):
        p, _ = page["chance"](d, root, log, np.zeros((1, 3)))
        pi = learner.policy(rng)
        np.testing.assert_allclose(pi[:, 0, 0], p[0], atol=1e-5)
        night, L = mdp.rollout(pi, rng), rng.random() * 3
        learner.observe(ab.AggregateFeedback(night, L))
        d += np.where(night.cells[2] == 0, L / pi[:, 0, 0], -L / pi[:, 0, 1])


def test_the_estimate_is_nearly_silent_when_nearly_sure():
    """Mean squares of both estimates at one leg, exactly."""
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 2, 1)))
    pi = np.array([[[0.99, 0.01]]])
    square = np.zeros(2)
    for night, likely in ab.enumerate_trajectories(mdp, pi):
        apart = ab.learners.q_minus_v_estimate(night, 1.0, pi)[0, 0, 0]
        whole = ab.learners.u_estimate(night, 1.0, np.ones((1, 1)), pi, 0)[0, 0, 0]
        square += likely * np.array([apart, whole]) ** 2
    np.testing.assert_allclose(square, [0.01 / 0.99, 1 / 0.99])


def test_a_largest_price_breaks_the_lemma():
    mdp = ab.FiniteHorizonMDP(np.ones((2, 1, 2, 1)))
    pi, star = np.zeros((2, 1, 2)), np.zeros((2, 1, 2))
    pi[:, :, 1] = star[:, :, 0] = 1
    loss = np.zeros(mdp.shape)
    loss[:, :, 1] = 1
    # Given action 0 at one leg, the other leg costs one under pi: U is one everywhere.
    U = np.ones((2, 1, 2))
    (bill,) = [night.losses(loss).max() for night, p in ab.enumerate_trajectories(mdp, pi) if p > 0]
    (least,) = [night.losses(loss).max() for night, p in ab.enumerate_trajectories(mdp, star) if p > 0]
    assert (bill - least, ((pi - star) * U).sum()) == (1, 0)


def test_the_lake_is_learned_and_the_cliff_by_the_default():
    """A few seeds of what the page runs twenty of; uniform play has 9.99 and 2.20."""
    pytest.importorskip("gymnasium")
    lake = ab.from_gymnasium("FrozenLake-v1", horizon=10, is_slippery=False)
    cliff = ab.from_gymnasium("CliffWalking-v1", horizon=15)
    for place, S, H, K, most in ((lake, 16, 10, 10_000, 9.1), (cliff, 48, 15, 5000, 0.25)):
        for seed in range(3):
            learner = ab.UFunctionLearner(S, 4, H, initial_state=place.mdp.initial_state)
            losses = ab.losses.fixed(place.loss, K)
            history = ab.simulate(learner, place, losses, np.random.default_rng(seed), every=K // 10)
            assert history.expected_loss[-1] / (K // 10) < most


def test_the_page_of_learners_runs_and_names_what_there_is():
    pytest.importorskip("gymnasium")
    text = (BOOK / "which-learner.md").read_text(encoding="utf-8")
    names = {"S": 3, "A": 2, "H": 3, "K": 100, "mdp": ab.night_driver().mdp, "ab": ab}
    calls = re.findall(r"`(ab\.[\w.]+\([^`]*\))`", text)
    assert len(calls) >= 6
    for call in calls:
        eval(call, names)
    for name in re.findall(r"`ab\.([\w.]+)`", text):
        found = ab
        for part in name.split("."):
            found = getattr(found, part)
    first, second = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(first.replace("20_000", "4000"), names)
    exec(second.replace("2000", "100"), names)
    assert names["history"].expected_loss[-1000:].mean() < 9.5
