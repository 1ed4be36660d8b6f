"""Occupancy measures: which equation fails, conventions without mass, the linear programs."""

import numpy as np
import pytest

import aggbandit as ab


@pytest.fixture
def world() -> ab.World:
    return ab.night_driver()


@pytest.fixture
def x(world) -> np.ndarray:
    return world.mdp.occupancy(ab.uniform_policy(world.mdp))


def test_a_true_occupancy_measure_passes(world, x):
    ab.check_occupancy(x)
    ab.check_occupancy(x, 0, transitions=world.mdp.transitions)


def test_each_violated_equation_is_named(world, x):
    negative = x.copy()
    negative[1, 2, 0, 1] = -0.1
    with pytest.raises(ValueError, match=r"nonnegativity fails: x\[1, 2, 0, 1\] is -0.1"):
        ab.check_occupancy(negative)

    with pytest.raises(
        ValueError, match=r"start fails: x\[0, 0\] has mass 1; it must be 0 \(the initial state is 1\)"
    ):
        ab.check_occupancy(x, 1)

    flow = x.copy()
    flow[2, 1, 0, 0] += 0.05
    with pytest.raises(
        ValueError, match=r"flow fails at step 2, state 1: mass 0\.\d+ arrives, but mass 0\.\d+ leaves"
    ):
        ab.check_occupancy(flow)

    moved = x.copy()
    moved[2, 0, 0, 0] += 0.01
    moved[2, 0, 0, 1] -= 0.01
    ab.check_occupancy(moved)
    with pytest.raises(ValueError, match=r"dynamics fail: x\[2, 0, 0, 0\] is"):
        ab.check_occupancy(moved, transitions=world.mdp.transitions)

    with pytest.raises(ValueError, match=r"x has shape \(3, 3, 2\); expected \(H, S, A, S\)"):
        ab.check_occupancy(x[..., 0])
    with pytest.raises(ValueError, match=r"initial_state is 0\.0; it must be a state"):
        ab.check_occupancy(x, 0.0)
    for tolerance in (np.nan, np.inf, -1.0):  # comparisons with NaN are false: everything would pass
        with pytest.raises(ValueError, match="it must be nonnegative and finite"):
            ab.check_occupancy(2 * x, tolerance=tolerance)
    with pytest.raises(ValueError, match="initial_state is 3"):
        ab.check_occupancy(x, 3)
    with pytest.raises(ValueError, match=r"x\[0, 0, 0, 0\] is nan"):
        ab.check_occupancy(x * np.nan)


def test_exchanging_state_and_next_state_is_noticed(x):
    with pytest.raises(ValueError, match="start fails"):
        ab.check_occupancy(x.swapaxes(1, 3))


def test_without_mass_the_policy_and_the_row_are_uniform(world, x):
    np.testing.assert_array_equal(ab.policy_of(x)[0, 1:], 0.5)
    np.testing.assert_array_equal(ab.dynamics_of(x)[0, 1:], 1 / 3)
    np.testing.assert_allclose(ab.dynamics_of(x)[0, 0], world.mdp.transitions[0, 0], atol=1e-15)
    assert np.isfinite(ab.policy_of(np.zeros((2, 2, 3, 2)))).all()


def test_extraction_refuses_what_is_no_measure(x):
    bad = x.copy()
    bad[1, 1, 1, 1] = -1e-3
    for extract in (ab.policy_of, ab.dynamics_of):
        with pytest.raises(
            ValueError, match=r"x\[1, 1, 1, 1\] is -0.001; an occupancy measure must not be negative"
        ):
            extract(bad)
        with pytest.raises(ValueError, match="expected"):
            extract(bad[0])


def test_many_pairs_have_the_same_occupancy_measure(world):
    """Eq. (2) inverts x up to what x cannot see: two policies that differ only where nobody goes."""
    first, second = ab.uniform_policy(world.mdp), ab.uniform_policy(world.mdp)
    second[0, 1] = [1.0, 0.0]
    np.testing.assert_array_equal(world.mdp.occupancy(first), world.mdp.occupancy(second))


def test_the_linear_program_of_a_sum_over_a_million_episodes(world):
    loss = 1e6 * world.loss
    x, value = ab.occupancy.occupancy_lp(world.mdp, loss)
    assert value == pytest.approx(world.mdp.best_policy(loss)[1], rel=1e-9)
    ab.check_occupancy(x, transitions=world.mdp.transitions)


def test_the_linear_program_of_nothing(world):
    assert ab.occupancy.occupancy_lp(world.mdp, np.zeros(world.mdp.shape))[1] == 0.0
    assert ab.occupancy.free_occupancy_lp(np.zeros((1, 1, 1, 1)))[1] == 0.0


def test_free_dynamics_can_only_help(world):
    assert ab.occupancy.free_occupancy_lp(world.loss)[1] < ab.occupancy.occupancy_lp(world.mdp, world.loss)[1]


def test_bad_losses_of_the_free_program_are_named(world):
    with pytest.raises(ValueError, match=r"loss has shape \(3, 3, 2\)"):
        ab.occupancy.free_occupancy_lp(world.loss[..., 0])
    with pytest.raises(ValueError, match=r"loss\[0, 0, 0, 0\] is nan"):
        ab.occupancy.free_occupancy_lp(world.loss * np.nan)
    with pytest.raises(ValueError, match="initial_state is -1"):
        ab.occupancy.free_occupancy_lp(world.loss, -1)


def test_mass_that_leaks_below_the_tolerance_is_noticed_in_the_end():
    """Every flow equation holds to 0.01, and yet the third step has lost 0.018."""
    leaking = np.array([1.0, 0.991, 0.982]).reshape(3, 1, 1, 1)
    with pytest.raises(ValueError, match=r"mass fails: x\[2\] sums to 0.982; each step must have mass one"):
        ab.check_occupancy(leaking, tolerance=0.01)


def test_numbers_that_print_alike_come_with_their_difference(world, x):
    """Each of these once read like "mass 0.1 arrives, but mass 0.1 leaves"."""
    slip = 2e-8
    for index, message in (
        ((0, 0, 0, 0), r"x\[0, 0\] has mass 1; it must be 1 .*; off by 2e-08, the tolerance is 1e-08"),
        ((1, 0, 0, 0), r"mass (0\.4\d*) arrives, but mass \1 leaves; off by 2e-08, the tolerance is 1e-08"),
    ):
        bad = x.copy()
        bad[index] += slip
        with pytest.raises(ValueError, match=message):
            ab.check_occupancy(bad)
    moved = x.copy()
    moved[2, 0, 0, 0] += slip
    moved[2, 0, 0, 1] -= slip
    with pytest.raises(
        ValueError,
        match=r"is (0\.\d+); transitions times the mass .* is \1; off by 2e-08, the tolerance is 1e-08",
    ):
        ab.check_occupancy(moved, transitions=world.mdp.transitions)
    leaking = np.array([1.0, 1.0 - 0.99e-8, 1.0 - 1.98e-8]).reshape(3, 1, 1, 1)
    with pytest.raises(ValueError, match=r"x\[2\] sums to 1; .*; off by -2e-08, the tolerance is 1e-08"):
        ab.check_occupancy(leaking)


@pytest.mark.parametrize(
    "check", [ab.check_occupancy, ab.policy_of, ab.dynamics_of, ab.occupancy.free_occupancy_lp]
)
def test_what_is_no_number_is_named(check, x):
    with pytest.raises(ValueError, match="has entries of type complex128; they must be real numbers"):
        check(x + 0j)


def test_a_solvers_zero_is_zero():
    """What `check_occupancy` forgives has a policy and dynamics too; more is refused."""
    x = np.zeros((1, 2, 2, 2))
    x[0, 0, 0] = [0.5, 0.5]
    exact = ab.policy_of(x), ab.dynamics_of(x)
    x[0, 0, 1, 0] = -1e-9
    ab.check_occupancy(x)
    np.testing.assert_array_equal(ab.policy_of(x), exact[0])
    np.testing.assert_array_equal(ab.dynamics_of(x), exact[1])
    x[0, 0, 1, 0] = -2e-8
    for inverse in (ab.policy_of, ab.dynamics_of):
        with pytest.raises(ValueError, match=r"x\[0, 0, 1, 0\] is -2e-08; an occupancy measure must not be"):
            inverse(x)
