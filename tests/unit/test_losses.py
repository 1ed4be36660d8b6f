"""Oblivious loss sequences."""

import numpy as np
import pytest

import aggbandit as ab
from aggbandit import _arrays

WORLD = ab.night_driver()
DRY, RAIN = WORLD.loss, WORLD.other_losses["rain"]


def brute_force_total(losses: ab.LossSequence) -> np.ndarray:
    return sum(losses[k] for k in range(len(losses)))


@pytest.mark.parametrize(
    "losses",
    [
        ab.losses.fixed(DRY, 7),
        ab.losses.bernoulli(DRY, 40, np.random.default_rng(0), n_tables=5),
        ab.losses.switching([DRY, RAIN], 9, at=[4]),
        ab.losses.alternating([DRY, RAIN], 9, period=2),
        ab.losses.drifting(DRY, RAIN, 50, n_tables=11),
        ab.losses.against(ab.uniform_policy(WORLD.mdp), 3),
    ],
    ids=["fixed", "bernoulli", "switching", "alternating", "drifting", "against"],
)
def test_sums_and_comparators_are_exact(losses):
    np.testing.assert_allclose(losses.total_table(), brute_force_total(losses), rtol=1e-13, atol=1e-13)
    policy, value = losses.best_policy(WORLD.mdp)
    by_episode = losses.expected_losses(WORLD.mdp, policy)
    assert by_episode.shape == (len(losses),)
    for k in range(len(losses)):
        assert by_episode[k] == pytest.approx(WORLD.mdp.expected_loss(policy, losses[k]), abs=1e-13)
    assert by_episode.sum() == pytest.approx(value, rel=1e-12)
    others = [losses.expected_losses(WORLD.mdp, p).sum() for p in ab.deterministic_policies(WORLD.mdp)]
    assert min(others) == pytest.approx(value, rel=1e-12)


def test_schedules():
    np.testing.assert_array_equal(ab.losses.switching([DRY, RAIN], 5, at=[2]).schedule, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(
        ab.losses.alternating([DRY, RAIN], 7, period=2).schedule, [0, 0, 1, 1, 0, 0, 1]
    )
    np.testing.assert_array_equal(ab.losses.drifting(DRY, RAIN, 5, n_tables=3).schedule, [0, 0, 1, 2, 2])
    drift = ab.losses.drifting(DRY, RAIN, 5, n_tables=3)
    np.testing.assert_array_equal(drift[0], DRY)
    np.testing.assert_array_equal(drift[4], RAIN)
    np.testing.assert_allclose(drift[2], (DRY + RAIN) / 2, atol=1e-15)
    np.testing.assert_array_equal(ab.losses.drifting(DRY, RAIN, 1)[0], DRY)


def test_bernoulli_is_zero_one_around_its_mean():
    """Given the schedule an entry of the average has variance p (1 - p) sum_m (count_m / K)^2."""
    losses = ab.losses.bernoulli(DRY, 5000, np.random.default_rng(1), n_tables=400)
    assert set(np.unique(losses.tables)) == {0.0, 1.0}
    error = np.sqrt(DRY * (1 - DRY) * ((losses.counts / 5000) ** 2).sum())
    assert (np.abs(losses.total_table() / 5000 - DRY) <= 4 * error).all()


def test_losses_aimed_at_a_policy():
    policy, _ = WORLD.mdp.best_policy(DRY)
    losses = ab.losses.against(policy, 4)
    np.testing.assert_allclose(losses.expected_losses(WORLD.mdp, policy), 3.0, atol=1e-12)
    assert losses.best_policy(WORLD.mdp)[1] == 0.0
    # Whoever aims at the uniform policy hits everybody alike.
    uniform = ab.losses.against(ab.uniform_policy(WORLD.mdp), 4)
    np.testing.assert_allclose(uniform.expected_losses(WORLD.mdp, policy), 1.5, atol=1e-12)


def test_a_million_episodes_take_a_few_megabytes():
    losses = ab.losses.bernoulli(DRY, 1_000_000, np.random.default_rng(2), n_tables=300)
    assert losses.schedule.nbytes + losses.tables.nbytes < 5e6
    assert len(losses) == losses.counts.sum() == 1_000_000
    assert repr(losses) == "LossSequence(episodes=1000000, tables=300, shape=(3, 3, 2, 3))"


def test_a_sequence_cannot_be_changed():
    losses = ab.losses.fixed(DRY, 3)
    for array in (losses.tables, losses.schedule, losses[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_bad_sequences_are_named():
    one = np.zeros(3, dtype=int)
    with pytest.raises(ValueError, match=r"tables has shape \(3, 3, 2, 3\); expected \(M, H, S, A, S\)"):
        ab.LossSequence(DRY, one)
    for value in (1.5, -0.25):
        bad = np.array([DRY, DRY])
        bad[1, 2, 0, 1, 2] = value
        with pytest.raises(
            ValueError, match=rf"tables\[1, 2, 0, 1, 2\] is {value}; losses must lie in \[0, 1\]"
        ):
            ab.LossSequence(bad, one)
    bad = np.array([DRY])
    bad[0, 0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"tables\[0, 0, 0, 0, 0\] is nan"):
        ab.LossSequence(bad, one)
    with pytest.raises(ValueError, match=r"schedule\[1\] is 1; it must be a table 0\.\.0"):
        ab.LossSequence([DRY], [0, 1, 0])
    with pytest.raises(ValueError, match=r"schedule\[0\] is -1"):
        ab.LossSequence([DRY], [-1])
    for schedule in ([[0, 0]], [], 0):
        with pytest.raises(ValueError, match=r"schedule has shape .*; expected \(K,\), K >= 1"):
            ab.LossSequence([DRY], schedule)
    with pytest.raises(ValueError, match="schedule has entries of type float64; they must be integers"):
        ab.LossSequence([DRY], [0.0, 0.0])
    with pytest.raises(ValueError, match="tables has entries of type complex128; they must be real numbers"):
        ab.LossSequence([DRY * 1j], [0])


def test_losses_that_depend_on_less_are_spread_first():
    """A sequence does not know the horizon of its world, so it says where to find it out."""
    by_action = np.array([[0.0, 0.5]] * 3)
    for make in (lambda: ab.losses.fixed(by_action, 5), lambda: ab.LossSequence([by_action], [0])):
        with pytest.raises(ValueError, match=r"see losses\.spread\(table, mdp\.shape\)"):
            make()
    losses = ab.losses.fixed(ab.losses.spread(by_action, WORLD.mdp.shape), 5)
    np.testing.assert_array_equal(losses[0][2, 1, 1], 0.5)
    # In the memory of what they depend on.
    assert losses.tables.strides[1] == losses.tables.strides[4] == 0
    assert WORLD.mdp.expected_loss(ab.uniform_policy(WORLD.mdp), by_action) == pytest.approx(0.75)


def test_random_losses_need_a_generator():
    with pytest.raises(
        TypeError, match=r"rng is 7; it must be a numpy Generator: rng=np\.random\.default_rng\(7\)"
    ):
        ab.losses.bernoulli(DRY, 10, 7)


def test_tables_that_would_not_fit_are_refused_before(monkeypatch):
    monkeypatch.setattr(_arrays, "available_memory", lambda: 1e9)
    wide = np.broadcast_to(0.5, (10, 1000, 10, 1000))
    for make in (
        lambda: ab.losses.bernoulli(wide, 300, np.random.default_rng(0)),
        lambda: ab.losses.drifting(wide, wide, 300),
    ):
        with pytest.raises(MemoryError, match=r"loss tables of shape .* needs .* GB; 1\.0 GB is available"):
            make()


def test_makers_name_what_is_wrong():
    rng = np.random.default_rng(0)
    for make in (
        lambda k: ab.losses.fixed(DRY, k),
        lambda k: ab.losses.bernoulli(DRY, k, rng),
        lambda k: ab.losses.switching([DRY], k, at=[]),
        lambda k: ab.losses.alternating([DRY], k, 1),
        lambda k: ab.losses.drifting(DRY, RAIN, k),
        lambda k: ab.losses.against(ab.uniform_policy(WORLD.mdp), k),
        lambda k: ab.learners.losses_against_the_leader(WORLD.mdp, k),
    ):
        for episodes in (0, -3, 2.5):
            with pytest.raises(
                ValueError, match=f"episodes is {episodes}; it must be an integer of at least 1"
            ):
                make(episodes)
    with pytest.raises(ValueError, match=r"at has shape \(2,\); 2 tables need 1 switches"):
        ab.losses.switching([DRY, RAIN], 10, at=[2, 3])
    for at in ([0, 5], [5, 5], [3, 10]):
        with pytest.raises(ValueError, match=r"switches must increase strictly within 1\.\.9"):
            ab.losses.switching([DRY, RAIN, DRY], 10, at=at)
    with pytest.raises(ValueError, match="at has entries of type float64; they must be integers"):
        ab.losses.switching([DRY, RAIN], 10, at=[2.7])
    for tables in ([], 0.5):
        with pytest.raises(ValueError, match="tables has shape"):
            ab.losses.switching(tables, 10, at=[])
        with pytest.raises(ValueError, match="tables has shape"):
            ab.losses.alternating(tables, 10, period=1)
    with pytest.raises(ValueError, match="period is 0"):
        ab.losses.alternating([DRY, RAIN], 10, period=0)
    with pytest.raises(ValueError, match="n_tables is 0"):
        ab.losses.drifting(DRY, RAIN, 10, n_tables=0)
    with pytest.raises(ValueError, match=r"start has shape .* and end has shape"):
        ab.losses.drifting(DRY, RAIN[:2], 10)
    with pytest.raises(ValueError, match=r"mean\[0, 0, 0, 0\] is .*; losses must lie in \[0, 1\]"):
        ab.losses.bernoulli(DRY + 1.0, 10, rng)
    with pytest.raises(ValueError, match=r"policy has shape \(3, 2\); expected \(H, S, A\)"):
        ab.losses.against(np.full((3, 2), 0.5), 10)
    with pytest.raises(ValueError, match=r"policy\[0, 0\] sums to 2"):
        ab.losses.against(np.ones((3, 3, 2)), 10)
    with pytest.raises(ValueError, match=r"the world has \(H, S, A, S\) = \(3, 3, 2, 3\)"):
        ab.losses.fixed(DRY[:2], 4).best_policy(WORLD.mdp)
