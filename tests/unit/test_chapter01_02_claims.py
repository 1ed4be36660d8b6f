"""What the landing page and chapters 1 and 2 say, and what the landing page repeats from chapter 10."""

import json
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import aggbandit as ab

BOOK = Path(__file__).parents[2] / "book"
WORLD = ab.night_driver()
MDP, LOSS = WORLD.mdp, WORLD.loss
HABITS = {
    "toss a coin": ab.uniform_policy(MDP),
    "always keep": np.eye(2)[np.zeros((3, 3), dtype=int)],
    "always turn": np.eye(2)[np.ones((3, 3), dtype=int)],
    "alternate": np.eye(2)[np.array([[0] * 3, [1] * 3, [0] * 3])],
}


def cells(chapter):
    return json.loads((BOOK / chapter).read_text())["cells"]


def prose(chapter):
    return "\n".join("".join(cell["source"]) for cell in cells(chapter) if cell["cell_type"] == "markdown")


def printed(chapter):
    outputs = [output for cell in cells(chapter) for output in cell.get("outputs", [])]
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")


def totals_of(policy, shape, rng):
    walks = list(ab.enumerate_trajectories(MDP, policy))
    return rng.choice([walk.total(LOSS) for walk, _ in walks], p=[p for _, p in walks], size=shape)


def test_in_the_ledger_that_is_shown_the_coin_looks_cheapest_for_five_nights():
    ahead = []
    for i, policy in enumerate(HABITS.values()):
        rng = np.random.default_rng([10, i])
        totals = [MDP.rollout(policy, rng).total(LOSS) for _ in range(40)]
        ahead.append(np.cumsum(totals) / np.arange(1, 41))
    names = np.array(list(HABITS))[np.argmin(ahead, axis=0)]
    assert (names[:5] == "toss a coin").all()
    assert (names[5:] == "always turn").all()


@pytest.mark.parametrize(("nights", "ahead"), [(10, 7 / 8), (30, 0.98)])
def test_how_often_the_best_habit_is_ahead(nights, ahead):
    rng = np.random.default_rng(1)
    averages = [totals_of(policy, (4000, nights), rng).mean(axis=1) for policy in HABITS.values()]
    best = list(HABITS).index("always turn")
    assert (np.argmin(averages, axis=0) == best).mean() == pytest.approx(ahead, abs=0.02)


def test_the_two_habits_that_hardly_differ_and_the_policies_that_beat_the_best_habit():
    pays = {name: MDP.expected_loss(policy, LOSS) for name, policy in HABITS.items()}
    assert min(pays, key=pays.get) == "always turn"
    assert 0 < pays["alternate"] - pays["always keep"] < 0.02
    plans = {tuple(plan[MDP.reachable][:, 0]): plan for plan in ab.mdp.deterministic_policies(MDP)}
    assert len(plans) == 128
    below = [MDP.expected_loss(plan, LOSS) < pays["always turn"] - 1e-9 for plan in plans.values()]
    assert sum(below) == 18


def test_looking_back_does_not_help():
    """Leg 3 depends on what was done on leg 1; the policy read off the list has the same list."""
    rng = np.random.default_rng(0)
    early, late = rng.dirichlet([1, 1], size=(2, 3)), rng.dirichlet([1, 1], size=(2, 3, 3))
    x = np.zeros(MDP.shape)
    for walk, _ in ab.enumerate_trajectories(MDP, ab.uniform_policy(MDP)):
        (s1, s2, s3, _), (a1, a2, a3) = walk.states, walk.actions
        chance = early[0, s1, a1] * early[1, s2, a2] * late[a1, s2, s3, a3]
        x += chance * MDP.transitions[walk.cells].prod() * walk.indicator()
    ab.check_occupancy(x, transitions=MDP.transitions)
    np.testing.assert_allclose(MDP.occupancy(ab.policy_of(x)), x, atol=1e-12)


def test_what_becomes_of_the_walker_on_the_lake():
    ice = ab.from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=100)
    letters = np.array(list("SFFFFHFHFFFHHFFG"))
    policies = {"die": ab.uniform_policy(ice.mdp), "best": ice.mdp.best_policy(ice.loss)[0]}
    # [h, s'], after step h + 1
    arrived = {name: ice.mdp.occupancy(policy).sum(axis=(1, 2)) for name, policy in policies.items()}
    assert arrived["die"][19, letters == "H"].sum() == pytest.approx(0.95, abs=0.005)
    assert arrived["best"][49, np.isin(letters, ["S", "F"])].sum() == pytest.approx(1 / 3, abs=0.02)
    holes = arrived["best"][:, letters == "H"]
    assert (holes[94] > 1e-9).tolist() == [True, False, False, False]
    assert holes[99, 1:].sum() == pytest.approx(0.025, abs=0.001)


def test_the_landing_page_repeats_what_chapter_10_prints():
    said, shown = prose("index.ipynb"), printed("10-reduction.ipynb")
    for stretch in ("30001 to 100000", "100001 to 300000"):
        (paid,) = re.findall(rf"{stretch} +(\d\.\d\d)", shown)
        assert paid in said
    best, coin = re.findall(r"the best policy (\d\.\d\d), the coin (\d\.\d\d)", shown)[0]
    assert f"pay {coin} a night" in said
    assert f"pays {best}" in said
    low, high = re.findall(r"the center in sixty cities: (\d\.\d\d) to (\d\.\d\d)", shown)[0]
    assert f"from {100 * (1 - float(low)):.0f}% better to {100 * (float(high) - 1):.0f}% worse" in said
