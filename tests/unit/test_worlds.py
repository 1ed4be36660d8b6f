"""The example worlds: what the book says about them is true."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import aggbandit as ab
from aggbandit import _arrays


def test_the_night_driver_is_as_described():
    world = ab.night_driver()
    mdp, dry, rain = world.mdp, world.loss, world.other_losses["rain"]
    assert mdp.shape == (3, 3, 2, 3)
    assert repr(world).startswith("World('night driver', FiniteHorizonMDP(horizon=3")
    assert len(np.unique(mdp.transitions.reshape(-1, 3), axis=0)) == 18
    for table in (mdp.transitions, dry, rain):
        np.testing.assert_array_equal(table, np.round(table, 1))
    assert (mdp.transitions > 0).all()

    values = np.array([mdp.expected_loss(p, dry) for p in ab.deterministic_policies(mdp)])
    best, value = mdp.best_policy(dry)
    one_step = np.einsum("hsat,hsat->hsa", mdp.transitions, dry)
    greedy = np.eye(2)[one_step.argmin(axis=2)]
    assert value == pytest.approx(values.min(), abs=1e-12)
    assert round(value, 3) == 1.014
    assert round(mdp.expected_loss(greedy, dry), 3) == 1.277
    assert round(mdp.expected_loss(ab.uniform_policy(mdp), dry), 3) == 1.642
    assert round(values.max(), 3) == 2.143
    # Where the driver can be, greedy and best part at the very first choice, and only there.
    assert best[0, 0, 1] == greedy[0, 0, 0] == 1
    np.testing.assert_array_equal(best[1:], greedy[1:])
    # Both actions, at every step where there is a choice of state.
    assert [set(row) for row in best.argmax(axis=2)[1:].tolist()] == [{0, 1}, {0, 1}]

    rainy, rainy_value = mdp.best_policy(rain)
    assert round(rainy_value, 3) == 0.958
    assert round(mdp.expected_loss(best, rain), 3) == 2.327
    assert (rainy != best).any()


def test_random_worlds_are_reproducible_and_different():
    first, again, other = (ab.random_mdp(3, 2, 4, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.shape == (4, 3, 2, 3)
    np.testing.assert_array_equal(first.transitions, again.transitions)
    assert (first.transitions != other.transitions).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (10, 10), (40, 10)])
def test_layered_grids(shape):
    rows, columns = shape
    world = ab.layered_grid(rows, columns, slip=0.3)
    assert world.mdp.shape == (columns, rows, 3, rows)
    for h, s, a, t in zip(*np.nonzero(world.mdp.transitions), strict=True):
        assert abs(t - s) <= 1
        move = np.clip(s + a - 1, 0, rows - 1)
        assert world.mdp.transitions[h, s, a, move] >= 0.8 - 1e-12
    sure = ab.layered_grid(rows, columns, slip=0.0)
    assert set(np.unique(sure.mdp.transitions)) <= {0.0, 1.0}


def test_the_chain_rewards_persistence_and_tempts():
    world = ab.worlds.chain(5, 30)
    mdp = world.mdp
    best, value = mdp.best_policy(world.loss)
    stay = np.zeros(mdp.shape[:3])
    stay[..., 1] = 1.0
    assert mdp.expected_loss(stay, world.loss) == pytest.approx(24.0)
    assert value < 22
    assert best[0, 0, 0] == 1
    # With no time to arrive, the temptation is best.
    assert ab.worlds.chain(5, 3).mdp.best_policy(ab.worlds.chain(5, 3).loss)[1] == pytest.approx(2.4)
    assert ab.worlds.chain(1, 2).mdp.best_policy(ab.worlds.chain(1, 2).loss)[1] == 0.0


def test_makers_name_what_is_wrong():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="n_states is 0"):
        ab.random_mdp(0, 1, 1, rng)
    with pytest.raises(ValueError, match="horizon is -1"):
        ab.random_mdp(1, 1, -1, rng)
    with pytest.raises(ValueError, match=r"rows is 2\.5"):
        ab.layered_grid(2.5, 3)
    with pytest.raises(ValueError, match=r"slip is 1\.5; it must lie in \[0, 1\]"):
        ab.layered_grid(3, 3, slip=1.5)
    with pytest.raises(ValueError, match="length is 0"):
        ab.worlds.chain(0, 3)
    with pytest.raises(ValueError, match="horizon is 0"):
        ab.from_gymnasium("FrozenLake-v1", 0)


def test_worlds_name_what_does_not_fit():
    world = ab.night_driver()
    good = {
        "name": "x",
        "description": "y",
        "mdp": world.mdp,
        "loss": world.loss,
        "state_names": world.state_names,
        "action_names": world.action_names,
    }
    ab.World(**good)
    for change, message in (
        ({"state_names": ("a", "b")}, "state_names has 2 names; the world has 3"),
        ({"action_names": ()}, "action_names has 0 names; the world has 2"),
        ({"loss": world.loss[:2]}, r"loss has shape \(2, 3, 2, 3\)"),
        ({"loss": world.loss + 1}, r"loss\[0, 0, 0, 0\] is 1\.4; losses must lie in \[0, 1\]"),
        ({"other_losses": {"snow": -world.loss}}, r"other_losses\['snow'\]\[0, 0, 0, 0\] is -0\.4"),
    ):
        with pytest.raises(ValueError, match=message):
            ab.World(**{**good, **change})
    with pytest.raises(ValueError, match=r"low is 1\.0 and high is 1\.0; low must be smaller"):
        ab.worlds.RewardScale(1.0, 1.0)


def test_the_losses_of_a_world_are_spread():
    mdp = ab.night_driver().mdp
    toll = [[0.0, 0.5]] * 3
    world = ab.World("x", "y", mdp, toll, tuple("abc"), ["keep", "turn"], {"late": np.ones((3, 3, 2)) / 4})
    np.testing.assert_array_equal(world.loss[..., 1, :], 0.5)
    np.testing.assert_array_equal(world.other_losses["late"], np.full(mdp.shape, 0.25))
    assert world.loss.strides[0] == 0
    assert world.action_names == ("keep", "turn")


def value_iteration(env, horizon: int) -> float:
    """The best expected return within the horizon, straight from the environment's own table."""
    table, start = env.unwrapped.P, env.unwrapped.initial_state_distrib
    value = np.zeros(len(table))
    for _ in range(horizon):
        value = np.array(
            [
                max(
                    sum(p * (r + (0.0 if done else value[t])) for p, t, r, done in outcomes)
                    for outcomes in table[s].values()
                )
                for s in range(len(table))
            ]
        )
    return float(start @ value)


@pytest.mark.parametrize(
    ("name", "horizon", "kwargs"),
    [
        ("FrozenLake-v1", 40, {}),
        ("FrozenLake-v1", 100, {"map_name": "8x8"}),
        ("FrozenLake-v1", 8, {"is_slippery": False}),
        ("CliffWalking-v1", 20, {}),
        ("CliffWalking-v1", 30, {"is_slippery": True}),
        ("Taxi-v4", 12, {}),
    ],
)
def test_the_best_policy_of_a_borrowed_world_has_the_best_return(name, horizon, kwargs):
    env = gymnasium.make(name, **kwargs)
    expected = value_iteration(env, horizon)
    for world in (ab.from_gymnasium(name, horizon, **kwargs), ab.from_gymnasium(env, horizon)):
        _, total_loss = world.mdp.best_policy(world.loss)
        total_reward = world.reward_scale.total_reward(total_loss, world.mdp.horizon)
        assert total_reward == pytest.approx(expected, abs=1e-9)
        assert world.mdp.horizon == horizon + (name == "Taxi-v4")


def test_frozen_lake_step_by_step():
    """A policy's expected return, against playing the environment itself: goal or hole, then nothing."""
    env = gymnasium.make("FrozenLake-v1", map_name="4x4")
    horizon = 15
    world = ab.from_gymnasium(env, horizon)
    right = np.zeros(world.mdp.shape[:3])
    right[..., 2] = 1.0
    for hole in (5, 7, 11, 12, 15):
        np.testing.assert_array_equal(world.mdp.transitions[0, hole, :, hole], 1.0)
        np.testing.assert_array_equal(world.loss[0, hole, :, hole], 1.0)
    assert world.loss[0, 14, 2, 15] == 0.0
    assert world.mdp.initial_state == 0
    returns = []
    env.reset(seed=5)
    for _ in range(3000):
        env.reset()
        total = 0.0
        for _ in range(horizon):
            _, reward, done, _, _ = env.step(2)
            total += reward
            if done:
                break
        returns.append(total)
    expected = world.reward_scale.total_reward(world.mdp.expected_loss(right, world.loss), horizon)
    assert expected > 0.01
    assert abs(np.mean(returns) - expected) <= 4 * np.sqrt(expected * (1 - expected) / 3000)


def test_cliff_walking_rewards_can_be_read_back():
    world = ab.from_gymnasium("CliffWalking-v1", 5)
    scale = world.reward_scale
    assert (scale.low, scale.high) == (-100.0, 0.0)
    assert world.loss[0, 36, 1, 36] == 1.0
    assert world.loss[0, 36, 0, 24] == 0.01
    np.testing.assert_array_equal(scale.loss([-100.0, -1.0, 0.0]), [1.0, 0.01, 0.0])


def test_taxi_deals_its_start():
    world = ab.from_gymnasium("Taxi-v4", 3)
    start = gymnasium.make("Taxi-v4").unwrapped.initial_state_distrib
    assert world.state_names[-1] == "start"
    assert world.mdp.initial_state == 500
    np.testing.assert_allclose(world.mdp.transitions[0, 500, :, :500], np.tile(start, (6, 1)))
    assert world.mdp.transitions.strides[0] == 0


class TableEnv:
    """The least a toy-text environment has."""

    def __init__(self, table, start=(1.0, 0.0)):
        self.P = table
        self.initial_state_distrib = np.array(start)

    @property
    def unwrapped(self):
        return self


def test_outcomes_that_share_a_next_state_are_added_up():
    table = {
        0: {0: [(0.25, 1, 4.0, True), (0.5, 1, 1.0, True), (0.25, 0, 0.0, False)]},
        1: {0: [(1.0, 1, 9.0, True)]},
    }
    world = ab.from_gymnasium(TableEnv(table), 2)
    np.testing.assert_array_equal(world.mdp.transitions[0, 0, 0], [0.25, 0.75])
    # Mean reward 2 of a range 0..9; what a final state would still pay is not paid.
    assert world.loss[0, 0, 0, 1] == pytest.approx(1 - 2 / 9)
    assert world.loss[0, 1, 0, 1] == 1.0


def test_a_state_that_ends_and_goes_on_is_refused():
    table = {0: {0: [(0.5, 1, 0.0, True), (0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 1.0, False)]}}
    with pytest.raises(ValueError, match="TableEnv may both end and go on in state 1"):
        ab.from_gymnasium(TableEnv(table), 2)


def test_what_is_no_toy_text_environment_is_refused():
    with pytest.raises(TypeError, match="CartPole-v1 has no transition table P"):
        ab.from_gymnasium("CartPole-v1", 5)
    with pytest.raises(TypeError, match="no initial_state_distrib over its 2 states"):
        ab.from_gymnasium(TableEnv({0: {0: [(1.0, 0, 0.0, False)]}, 1: {}}, start=(1.0,)), 5)
    with pytest.raises(ValueError, match="map_name: keywords are for gymnasium"):
        ab.from_gymnasium(gymnasium.make("FrozenLake-v1"), 5, map_name="8x8")


def test_rewards_that_leave_their_range_by_rounding_are_taken():
    """(.6 * .7) / .6 is not .7, nor is the mean of equal rewards always that reward."""
    world = ab.from_gymnasium(
        "FrozenLake-v1", 5, reward_schedule=(0.7, -0.2, -0.01), success_rate=0.6, is_slippery=True
    )
    assert 0.0 <= world.loss.min() <= world.loss.max() <= 1.0
    scale = world.reward_scale
    assert (scale.low, scale.high) == (-0.2, 0.7)


def lake_table(**changes):
    """A table of two states and two actions, with some of its entries changed: `P_0_1=...`."""
    table = {
        0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)], 1: [(1.0, 0, 0.0, False)]},
        1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]},
    }
    for place, outcomes in changes.items():
        _, s, a = place.split("_")
        table[int(s)][int(a)] = outcomes
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            lake_table(P_0_1=[(1.0, -1, 0.0, False)]),
            r"P\[0\]\[1\]\[0\] has the next state -1; .* a state 0\.\.1",
        ),
        (lake_table(P_0_1=[(1.0, 2, 0.0, False)]), r"P\[0\]\[1\]\[0\] has the next state 2"),
        (lake_table(P_0_1=[(1.0, 0.0, 0.0, False)]), r"P\[0\]\[1\]\[0\] has the next state 0\.0"),
        (
            lake_table(P_0_1=[(1.5, 0, 0.0, False), (-0.5, 1, 0.0, True)]),
            r"P\[0\]\[1\]\[1\] has the probability -0\.5; it must be a nonnegative number",
        ),
        (lake_table(P_0_1=[(np.nan, 0, 0.0, False)]), r"P\[0\]\[1\]\[0\] has the probability nan"),
        (lake_table(P_0_1=[(0.9, 0, 0.0, False)]), r"P\[0, 1\] sums to 0\.9; each row must sum to one"),
        (lake_table(P_0_1=[]), r"P\[0, 1\] sums to 0; each row must sum to one"),
        (lake_table(P_0_1=[(1.0, 0, np.inf, False)]), r"P\[0\]\[1\]\[0\] has the reward inf"),
        (
            lake_table(P_0_1=[(1.0, 0, False)]),
            r"P\[0\]\[1\]\[0\] is \(1\.0, 0, False\); expected \(probability",
        ),
        (lake_table(P_1_2=[(1.0, 1, 0.0, True)]), r"P\[1\] has 3 actions and TableEnv\.P\[0\] has 2; every"),
        (lake_table(P_0_3=[(1.0, 1, 0.0, True)]), r"P\[0\] has the keys \[0, 1, 3\]; expected 0\.\.2"),
        ({1: lake_table()[1], 2: lake_table()[0]}, r"P has the keys \[1, 2\]; expected 0\.\.1"),
        ({0: {}, 1: {}}, r"P has no actions in any state"),
        ({0: 5, 1: 5}, r"P\[0\] is a int; expected a dictionary or a list"),
    ],
)
def test_broken_tables_are_named(table, message):
    with pytest.raises(ValueError, match=rf"TableEnv\.{message}"):
        ab.from_gymnasium(TableEnv(table), 3)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ((1.0, 1.0), r"TableEnv\.initial_state_distrib sums to 2; each row must sum to one"),
        ((1.5, -0.5), r"TableEnv\.initial_state_distrib\[1\] is -0\.5"),
        ((np.nan, 1.0), r"TableEnv\.initial_state_distrib\[0\] is nan"),
    ],
)
def test_broken_starts_are_named(start, message):
    with pytest.raises(ValueError, match=message):
        ab.from_gymnasium(TableEnv(lake_table(), start), 3)


def test_a_state_without_actions_absorbs():
    """As a list or as a dictionary, entered at an end or not."""
    outcomes = [(0.5, 0, 0.0, False), (0.5, 1, 1.0, False)]
    for nothing in ({}, {0: []}, []):
        world = ab.from_gymnasium(TableEnv([{0: outcomes}, nothing]), 3)
        np.testing.assert_array_equal(world.mdp.transitions[2, 1], [[0.0, 1.0]])
        assert world.loss[2, 1, 0, 1] == 1.0
        assert world.mdp.best_policy(world.loss)[1] == pytest.approx(3 - 0.875)


def test_wrappers_that_change_the_game_are_not_taken_off():
    lake = gymnasium.make("FrozenLake-v1")
    doubled = gymnasium.wrappers.TransformReward(lake, lambda reward: 2 * reward)
    sticky = gymnasium.wrappers.StickyAction(lake, repeat_action_probability=0.5)
    for env, wrapper in (
        (doubled, "TransformReward"),
        (gymnasium.wrappers.NormalizeReward(lake), "NormalizeReward"),
        (gymnasium.wrappers.RecordEpisodeStatistics(sticky), "StickyAction"),
        (gymnasium.wrappers.TransformAction(lake, lambda a: 3 - a, lake.action_space), "TransformAction"),
    ):
        with pytest.raises(
            ValueError, match=f"{wrapper} may change rewards or transitions, .* FrozenLake-v1"
        ):
            ab.from_gymnasium(env, 3)
        assert ab.from_gymnasium(env.unwrapped, 3).name == "FrozenLake-v1"
    for env in (
        gymnasium.wrappers.RecordEpisodeStatistics(lake),
        gymnasium.wrappers.TimeLimit(lake, 7),
        gymnasium.wrappers.TransformObservation(lake, lambda s: -s, lake.observation_space),
    ):
        assert ab.from_gymnasium(env, 3).mdp.horizon == 3


def test_what_is_no_environment_is_refused():
    with pytest.raises(TypeError, match=r"dict is no environment; pass one, or a name for gymnasium\.make"):
        ab.from_gymnasium({0: {}}, 3)


def test_worlds_that_would_not_fit_are_refused_before(monkeypatch):
    monkeypatch.setattr(_arrays, "available_memory", lambda: 1e9)
    for make in (
        lambda: ab.random_mdp(1000, 10, 100, np.random.default_rng(0)),
        lambda: ab.layered_grid(100_000, 5),
        lambda: ab.worlds.chain(100_000, 5),
        lambda: ab.from_gymnasium(TableEnv([{0: [(1.0, 0, 0.0, False)]}] * 10_000), 5),
    ):
        with pytest.raises(MemoryError, match=r"shape .* needs [\d,]+\.\d GB; 1\.0 GB is available"):
            make()


def test_random_worlds_need_a_generator():
    with pytest.raises(
        TypeError, match=r"rng is 0; it must be a numpy Generator: rng=np\.random\.default_rng\(0\)"
    ):
        ab.random_mdp(2, 2, 2, 0)


def test_a_world_is_sent_to_a_worker_as_it_is():
    """A mapping that is read-only is not pickled by Python, and repeated steps would be copied out."""
    world = ab.worlds.chain(20, 5000)
    sent = pickle.dumps(world)
    assert len(sent) < 60_000
    night = ab.night_driver()
    for given in (world, night):
        for again in (pickle.loads(pickle.dumps(given)), copy.copy(given), copy.deepcopy(given)):
            np.testing.assert_array_equal(again.mdp.transitions, given.mdp.transitions)
            np.testing.assert_array_equal(again.loss, given.loss)
            assert again.mdp.transitions.strides == given.mdp.transitions.strides
            for table in (again.mdp.transitions, again.loss, *again.other_losses.values()):
                assert not table.flags.writeable
            assert again.other_losses.keys() == given.other_losses.keys()
            with pytest.raises(TypeError):
                again.other_losses["snow"] = given.loss


def test_without_gymnasium_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gymnasium", None)
    with pytest.raises(ImportError, match="pip install gymnasium"):
        ab.from_gymnasium("FrozenLake-v1", 5)
