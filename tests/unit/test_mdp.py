"""The world: what it refuses, what it draws, what is best."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix, eye_array

import aggbandit as ab
from aggbandit import _arrays
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
    with pytest.raises(ValueError, match=r"loss has shape \(2, 2, 3\); expected \(H, S, A, S\)"):
        mdp.expected_loss(ab.uniform_policy(mdp), np.zeros((2, 2, 3)))


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


def test_a_stationary_world_takes_arrays_and_matrices(rng):
    step = rng.dirichlet(np.ones(3), size=(3, 2))
    by_hand = ab.FiniteHorizonMDP(np.stack([step] * 4), 2)
    for given in (
        step,
        step.tolist(),
        [step[:, 0], step[:, 1]],
        [csr_array(step[:, 0]), coo_array(step[:, 1])],
        (csr_matrix(step[:, 0]), step[:, 1]),
    ):
        mdp = ab.FiniteHorizonMDP.stationary(given, 4, initial_state=2)
        np.testing.assert_array_equal(mdp.transitions, by_hand.transitions)
        assert mdp.initial_state == 2
        assert mdp.transitions.strides[0] == 0
        assert not mdp.transitions.flags.writeable


def test_a_long_stationary_world_takes_the_memory_of_a_short_one():
    """A horizon of 10^9 would be 8 GB; what is looked at on the way is as small."""
    step = np.full((1, 1, 1), 1.0)
    assert ab.FiniteHorizonMDP.stationary(step, 10**9).transitions.nbytes == 8 * 10**9


def test_bad_stationary_input_is_named():
    square, wide = csr_array(np.eye(2)), csr_array(np.ones((2, 3)))
    for given, message in (
        ([wide], r"transitions\[0\] has shape \(2, 3\); expected \(S, S\), one matrix an action"),
        (
            [square, csr_array(np.eye(3))],
            r"transitions\[1\] has shape \(3, 3\); expected that of transitions\[0\]",
        ),
        (square, "transitions is a sparse matrix"),
        (
            np.ones((2, 2)),
            r"transitions has shape \(2, 2\); expected \(S, A, S\), .* or a list of A matrices",
        ),
        ([], r"transitions has shape \(0,\); expected \(S, A, S\)"),
        ([0.5 * square], r"transitions\[0, 0\] sums to 0\.5; each row must sum to one"),
        (1j * np.ones((1, 1, 1)), "transitions has entries of type complex128; they must be real numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            ab.FiniteHorizonMDP.stationary(given, 3)
    with pytest.raises(ValueError, match=r"horizon is 0; it must be an integer of at least 1"):
        ab.FiniteHorizonMDP.stationary(np.ones((1, 1, 1)), 0)
    for given in (np.full((2, 3, 2), 0.5), [square, square]):
        with pytest.raises(ValueError, match=r"Write FiniteHorizonMDP\.stationary\(transitions, horizon\)"):
            ab.FiniteHorizonMDP(given)


def test_sparse_matrices_that_would_not_fit_are_refused_before(monkeypatch):
    monkeypatch.setattr(_arrays, "available_memory", lambda: 1e9)
    many = eye_array(100_000, format="csr")
    with pytest.raises(
        MemoryError, match=r"transitions of shape \(100000, 2, 100000\).* needs 320\.0 GB; 1\.0"
    ):
        ab.FiniteHorizonMDP.stationary([many, many], 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_world_in_single_precision(dtype, rng):
    rows = rng.dirichlet(np.ones(30), size=(2, 30, 2)).astype(dtype)
    mdp = ab.FiniteHorizonMDP(rows)
    np.testing.assert_allclose(mdp.transitions.sum(axis=-1), 1.0, atol=1e-15)
    policy = rng.dirichlet(np.ones(2), size=(2, 30)).astype(dtype)
    ab.check_occupancy(mdp.occupancy(policy), transitions=mdp.transitions)


@pytest.mark.parametrize("given", [["a"], np.ones((1, 1, 1, 1), complex), [[[[None]]]]])
def test_what_is_no_number_is_named(given):
    with pytest.raises(ValueError, match=r"transitions has (shape|entries of type)"):
        ab.FiniteHorizonMDP(given)
    mdp = ab.FiniteHorizonMDP(np.ones((1, 1, 1, 1)))
    with pytest.raises(ValueError, match=r"loss has (shape|entries of type)"):
        mdp.best_policy(given)
    with pytest.raises(ValueError, match=r"policy has (shape|entries of type)"):
        mdp.occupancy(given[0])


@pytest.mark.parametrize("rng", [0, None, np.random])
def test_an_episode_needs_a_generator(rng):
    mdp = two_state_mdp()
    with pytest.raises(TypeError, match=r"it must be a numpy Generator: rng=np\.random\.default_rng"):
        mdp.rollout(ab.uniform_policy(mdp), rng)


def test_losses_by_state_and_action_are_spread(rng):
    """A loss that does not depend on an axis need not be written along it."""
    mdp = ab.random_mdp(3, 2, 4, rng)
    policy = rng.dirichlet([1, 1], size=(4, 3))
    trajectory = mdp.rollout(policy, rng)
    by_state, by_step, by_next = rng.random((3, 2)), rng.random((4, 3, 2)), rng.random((3, 2, 3))
    for short, full in (
        (by_state, np.tile(by_state[None, :, :, None], (4, 1, 1, 3))),
        (by_step, np.tile(by_step[..., None], (1, 1, 1, 3))),
        (by_next, np.tile(by_next[None], (4, 1, 1, 1))),
        (by_step[..., None], np.tile(by_step[..., None], (1, 1, 1, 3))),
        ([csr_array(by_next[:, a]) for a in range(2)], np.tile(by_next[None], (4, 1, 1, 1))),
        (csr_array(by_state), np.tile(by_state[None, :, :, None], (4, 1, 1, 3))),
    ):
        np.testing.assert_array_equal(ab.losses.spread(short, mdp.shape), full)
        assert mdp.expected_loss(policy, short) == mdp.expected_loss(policy, full)
        assert mdp.best_policy(short)[1] == mdp.best_policy(full)[1]
        assert trajectory.total(short) == trajectory.total(full)
        assert ab.AggregateFeedback.observe(trajectory, short).total == trajectory.total(full)
        assert ab.occupancy.occupancy_lp(mdp, short)[1] == ab.occupancy.occupancy_lp(mdp, full)[1]


def test_a_loss_table_with_two_readings_is_refused():
    table = np.arange(8.0).reshape(2, 2, 2)
    mdp = two_state_mdp()
    with pytest.raises(
        ValueError, match=r"may be \(H, S, A\) or \(S, A, S\) here; write loss\[\.\.\., None\] for"
    ):
        mdp.best_policy(table)
    assert ab.losses.spread(table[..., None], mdp.shape)[1, 0, 1, 0] == table[1, 0, 1]
    assert ab.losses.spread(table[None], mdp.shape)[1, 0, 1, 0] == table[0, 1, 0]
    # The only entry there is has no two readings.
    assert ab.FiniteHorizonMDP(np.ones((1, 1, 1, 1))).best_policy([[[0.5]]])[1] == 0.5


def test_a_measure_that_would_not_fit_is_refused_before(monkeypatch):
    mdp = ab.FiniteHorizonMDP.stationary(np.ones((1, 1, 1)), 10**8)
    policy = np.broadcast_to(1.0, (10**8, 1, 1))
    monkeypatch.setattr(_arrays, "available_memory", lambda: 1e8)
    with pytest.raises(MemoryError, match=r"an occupancy measure of shape .* needs 0\.8 GB; 0\.1 GB"):
        mdp.occupancy(policy)


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
    with pytest.raises(ValueError, match=r"loss has shape \(2, 2, 3\)"):
        trajectory.total(np.zeros((2, 2, 3)))


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
