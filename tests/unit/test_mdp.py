"""The world: what it refuses, what it draws, what is best."""

import numpy as np
import pytest

import aggbandit as ab
from aggbandit.mdp import pick


def two_state_mdp() -> ab.FiniteHorizonMDP:
    """H=2, S=2, A=2, small enough for pencil and paper."""
    return ab.FiniteHorizonMDP(
        [
            [[[0.25, 0.75], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]],
            [[[0.5, 0.5], [0.1, 0.9]], [[0.0, 1.0], [0.2, 0.8]]],
        ]
    )


def test_occupancy_by_hand():
    mdp = two_state_mdp()
    policy = np.array([[[0.4, 0.6], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    x = mdp.occupancy(policy)
    # State 1 is entered with probability 0.4 * 0.75 = 0.3.
    np.testing.assert_allclose(x[0], [[[0.1, 0.3], [0.6, 0.0]], [[0, 0], [0, 0]]], atol=1e-15)
    np.testing.assert_allclose(x[1], [[[0.175, 0.175], [0.035, 0.315]], [[0, 0], [0.06, 0.24]]], atol=1e-15)


def test_best_policy_by_hand_and_by_all_policies():
    mdp = two_state_mdp()
    loss = np.zeros(mdp.shape)
    loss[0, 0, 0] = 0.5
    loss[1, 0] = 1.0
    loss[1, 1, 1, 0] = 0.5
    policy, value = mdp.best_policy(loss)
    # Action 0 costs 0.5 + 0.25 * 1 + 0.75 * 0; action 1 costs 0 + 1.
    assert value == pytest.approx(0.75, abs=1e-15)
    np.testing.assert_array_equal(policy.argmax(axis=2), [[0, 0], [0, 0]])
    values = [mdp.expected_loss(p, loss) for p in ab.deterministic_policies(mdp)]
    assert len(values) == 2**4
    assert min(values) == pytest.approx(value, abs=1e-15)


def test_ties_go_to_the_smallest_action_everywhere():
    mdp = two_state_mdp()
    policy, value = mdp.best_policy(np.ones(mdp.shape))
    np.testing.assert_array_equal(policy[..., 0], 1.0)
    assert value == 2.0


def test_loss_is_read_as_next_state_last():
    """An asymmetric world where exchanging s and s' changes every number."""
    mdp = ab.night_driver().mdp
    loss = np.zeros(mdp.shape)
    loss[0, 0, 1, 2] = 1.0
    assert mdp.expected_loss(ab.uniform_policy(mdp), loss) == pytest.approx(0.5 * 0.4, abs=1e-15)


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        ((1, 0, 1, 0), np.nan, r"transitions\[1, 0, 1, 0\] is nan; every entry must be finite"),
        ((1, 0, 1, 0), np.inf, r"transitions\[1, 0, 1, 0\] is inf; every entry must be finite"),
        (
            (0, 1, 0, 1),
            -0.5,
            r"transitions\[0, 1, 0, 1\] is -0.5; a probability must not be negative",
        ),
        ((1, 1, 1, 0), 0.18, r"transitions\[1, 1, 1\] sums to 0.98; each row must sum to one"),
    ],
)
def test_bad_transitions_are_named(index, value, message):
    transitions = two_state_mdp().transitions.copy()
    transitions[index] = value
    with pytest.raises(ValueError, match=message):
        ab.FiniteHorizonMDP(transitions)


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 2, 2, 3), (0, 2, 2, 2), (1, 2, 0, 2)])
def test_bad_shapes_are_named(shape):
    with pytest.raises(ValueError, match=r"transitions has shape .*; expected \(H, S, A, S\)"):
        ab.FiniteHorizonMDP(np.ones(shape))


@pytest.mark.parametrize("state", [-1, 2, 0.0, True, None])
def test_bad_initial_states_are_named(state):
    with pytest.raises(ValueError, match=r"initial_state is .*; it must be a state 0\.\.1"):
        ab.FiniteHorizonMDP(two_state_mdp().transitions, state)


def test_bad_policies_are_named():
    mdp = two_state_mdp()
    rng = np.random.default_rng(0)
    good = ab.uniform_policy(mdp)
    for change, message in (
        (((1, 0, 1), -1e-12), r"policy\[1, 0, 1\] is -1e-12; a probability must not be negative"),
        (((0, 1, 0), 0.6), r"policy\[0, 1\] sums to 1.1; each row must sum to one"),
        (((0, 0, 0), np.nan), r"policy\[0, 0, 0\] is nan"),
    ):
        bad = good.copy()
        bad[change[0]] = change[1]
        for use in (
            mdp.occupancy,
            lambda p: mdp.rollout(p, rng),
            lambda p: mdp.expected_loss(p, np.zeros(mdp.shape)),
            lambda p: list(ab.enumerate_trajectories(mdp, p)),
        ):
            with pytest.raises(ValueError, match=message):
                use(bad)
    with pytest.raises(ValueError, match=r"policy has shape \(2, 2\); expected \(H, S, A\) = \(2, 2, 2\)"):
        mdp.occupancy(good[0])


def test_a_bad_policy_consumes_no_randomness():
    mdp = two_state_mdp()
    rng, untouched = np.random.default_rng(3), np.random.default_rng(3)
    with pytest.raises(ValueError, match="each row must sum to one"):
        mdp.rollout(np.ones((2, 2, 2)), rng)
    assert rng.bit_generator.state == untouched.bit_generator.state


def test_bad_losses_are_named():
    mdp = two_state_mdp()
    loss = np.zeros(mdp.shape)
    loss[1, 0, 1, 1] = np.nan
    with pytest.raises(ValueError, match=r"loss\[1, 0, 1, 1\] is nan"):
        mdp.best_policy(loss)
    with pytest.raises(ValueError, match=r"loss has shape \(2, 2, 2\); expected \(H, S, A, S\)"):
        mdp.expected_loss(ab.uniform_policy(mdp), loss[..., 0])


def test_the_world_cannot_be_changed():
    given = np.array(two_state_mdp().transitions)
    mdp = ab.FiniteHorizonMDP(given)
    given[:] = 0.0
    assert mdp.transitions.sum() == 8.0
    with pytest.raises(ValueError, match="read-only"):
        mdp.transitions[0] = 1.0
    with pytest.raises(AttributeError):
        mdp.initial_state = 1


def test_a_repeated_table_keeps_the_memory_of_one_step():
    step = np.full((50, 2, 50), 1 / 50)
    mdp = ab.FiniteHorizonMDP(np.broadcast_to(step, (1000, 50, 2, 50)))
    assert mdp.transitions.strides[0] == 0


def test_pick_is_the_first_index_beyond_u():
    p = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    assert [pick(p, u) for u in (0.0, 0.2499, 0.25, 0.9, 1 - 1e-16)] == [1, 1, 3, 3, 3]


def test_pick_never_takes_probability_zero_when_the_sum_rounds_low():
    p = np.array([0.1] * 10 + [0.0])
    u = np.nextafter(1.0, 0.0)
    assert np.cumsum(p)[-1] <= u
    assert pick(p, u) == 9


def test_rollout_consumes_the_uniforms_it_promises():
    mdp = ab.night_driver().mdp
    policy = np.random.default_rng(5).dirichlet([1, 1], size=(3, 3))
    rng, calls = np.random.default_rng(7), np.random.default_rng(7)
    for _ in range(50):
        trajectory = mdp.rollout(policy, rng)
        state = mdp.initial_state
        for h in range(mdp.horizon):
            action = pick(policy[h, state], calls.random())
            next_state = pick(mdp.transitions[h, state, action], calls.random())
            assert (trajectory.states[h], trajectory.actions[h], trajectory.states[h + 1]) == (
                state,
                action,
                next_state,
            )
            state = next_state
    assert rng.bit_generator.state == calls.bit_generator.state


def test_rollouts_have_the_occupancy_measure_as_their_mean(rng):
    """Four standard errors for each of the 54 entries, and for the mean total loss."""
    world = ab.night_driver()
    policy = rng.dirichlet([1, 1], size=(3, 3))
    n = 8000
    mean, totals = np.zeros(world.mdp.shape), np.empty(n)
    for i in range(n):
        trajectory = world.mdp.rollout(policy, rng)
        mean += trajectory.indicator() / n
        totals[i] = trajectory.total(world.loss)
    x = world.mdp.occupancy(policy)
    assert (np.abs(mean - x) <= 4 * np.sqrt(x * (1 - x) / n)).all()
    error = 4 * totals.std(ddof=1) / np.sqrt(n)
    assert abs(totals.mean() - world.mdp.expected_loss(policy, world.loss)) <= error


def test_a_deterministic_policy_in_a_deterministic_world_has_one_trajectory(rng):
    mdp = ab.layered_grid(3, 4, slip=0.0).mdp
    policy = np.zeros(mdp.shape[:3])
    policy[..., 2] = 1.0
    [(trajectory, probability)] = ab.enumerate_trajectories(mdp, policy)
    assert probability == 1.0
    np.testing.assert_array_equal(trajectory.states, [1, 2, 2, 2, 2])
    np.testing.assert_array_equal(mdp.rollout(policy, rng).states, trajectory.states)


def test_trajectory_is_checked_and_read_only():
    trajectory = ab.Trajectory([0, 1, 1], [1, 0], 2, 2)
    assert trajectory.indicator().sum() == 2 == trajectory.horizon
    assert trajectory.indicator()[0, 0, 1, 1] == trajectory.indicator()[1, 1, 0, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        trajectory.states[0] = 1
    with pytest.raises(ValueError, match=r"states\[1\] is 2; it must be in 0\.\.1"):
        ab.Trajectory([0, 2, 1], [1, 0], 2, 2)
    with pytest.raises(ValueError, match=r"actions\[0\] is -1; it must be in 0\.\.1"):
        ab.Trajectory([0, 1, 1], [-1, 0], 2, 2)
    with pytest.raises(ValueError, match=r"states has shape \(1, 2\); expected one axis"):
        ab.Trajectory([[0, 1]], [1], 2, 2)
    with pytest.raises(ValueError, match="3 states and 1 actions"):
        ab.Trajectory([0, 1, 1], [1], 2, 2)
    with pytest.raises(ValueError, match="states has entries of type float64; they must be integers"):
        ab.Trajectory([0.7, 1, 1], [1, 0], 2, 2)
    with pytest.raises(ValueError, match=r"n_actions is 2\.5; it must be an integer"):
        ab.Trajectory([0, 1, 1], [1, 0], 2, 2.5)
    with pytest.raises(ValueError, match=r"loss has shape \(2, 2, 2\)"):
        trajectory.total(np.zeros((2, 2, 2)))


def test_the_smallest_world():
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 1, 1)))
    policy, value = mdp.best_policy(np.full((1, 1, 1, 1), 0.5))
    assert policy.item() == 1.0
    assert value == 0.5
    assert mdp.occupancy(policy).item() == 1.0
    assert repr(mdp) == "FiniteHorizonMDP(horizon=1, n_states=1, n_actions=1, initial_state=0)"


def test_no_world_changes_behind_its_back():
    """A read-only view is no promise: its owner may still write."""
    rows = np.array([[[[0.5, 0.5]], [[0.0, 1.0]]]])
    view = rows.view()
    view.setflags(write=False)
    mdp = ab.FiniteHorizonMDP(view)
    rows[0, 0, 0] = [7.0, 7.0]
    np.testing.assert_array_equal(mdp.transitions[0, 0, 0], [0.5, 0.5])
    # What nobody can write to is not copied again, and repeated steps are not copied out.
    assert ab.FiniteHorizonMDP(mdp.transitions).transitions is mdp.transitions
    step = np.full((2, 1, 2), 0.5)
    long = ab.FiniteHorizonMDP(np.broadcast_to(step, (1000, 2, 1, 2)))
    step[0, 0] = [7.0, 7.0]
    assert long.transitions.strides[0] == 0
    assert long.transitions.max() == 0.5


def test_a_bad_policy_is_named_before_the_first_trajectory():
    with pytest.raises(ValueError, match=r"policy has shape \(1, 1\)"):
        ab.enumerate_trajectories(two_state_mdp(), np.ones((1, 1)))
