"""Identities of occupancy measures on random worlds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from mdp_strategies import losses, mdps, policies

import aggbandit as ab


@given(st.data())
def test_an_occupancy_measure_satisfies_its_equations(data):
    mdp = data.draw(mdps())
    x = mdp.occupancy(data.draw(policies(mdp)))
    ab.check_occupancy(x, mdp.initial_state, transitions=mdp.transitions, tolerance=1e-12)


@given(st.data())
def test_policy_to_occupancy_to_policy_on_visited_states(data):
    mdp = data.draw(mdps())
    policy = data.draw(policies(mdp))
    x = mdp.occupancy(policy)
    visited = x.sum(axis=(2, 3)) > 0
    back = ab.policy_of(x)
    np.testing.assert_allclose(back[visited], policy[visited], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(back[~visited], 1 / mdp.n_actions)
    played = x.sum(axis=3) > 0
    dynamics = ab.dynamics_of(x)
    np.testing.assert_allclose(dynamics[played], mdp.transitions[played], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(dynamics[~played], 1 / mdp.n_states)


@given(st.data())
def test_occupancy_to_policy_and_dynamics_to_occupancy(data):
    """The other round trip needs no exception: what x does not say does not matter to x."""
    mdp = data.draw(mdps())
    first, second = (mdp.occupancy(data.draw(policies(mdp))) for _ in range(2))
    # A mixture moves under the same dynamics; a mixture over two worlds moves under mixed ones.
    other = ab.FiniteHorizonMDP(np.roll(mdp.transitions, 1, axis=3), mdp.initial_state)
    for x in (
        0.3 * first + 0.7 * second,
        0.5 * first + 0.5 * other.occupancy(ab.uniform_policy(other)),
    ):
        again = ab.FiniteHorizonMDP(ab.dynamics_of(x), mdp.initial_state).occupancy(ab.policy_of(x))
        np.testing.assert_allclose(again, x, rtol=0, atol=1e-12)


@given(st.data())
def test_expected_loss_is_linear_in_loss_and_in_occupancy(data):
    mdp = data.draw(mdps())
    p, q = data.draw(policies(mdp)), data.draw(policies(mdp))
    f, g = data.draw(losses(mdp)), data.draw(losses(mdp))
    np.testing.assert_allclose(
        mdp.expected_loss(p, 2.0 * f - 3.0 * g),
        2.0 * mdp.expected_loss(p, f) - 3.0 * mdp.expected_loss(p, g),
        rtol=0,
        atol=1e-12,
    )
    mixture = ab.policy_of(0.25 * mdp.occupancy(p) + 0.75 * mdp.occupancy(q))
    np.testing.assert_allclose(
        mdp.expected_loss(mixture, f),
        0.25 * mdp.expected_loss(p, f) + 0.75 * mdp.expected_loss(q, f),
        rtol=0,
        atol=1e-12,
    )


@given(st.data())
def test_linear_program_equals_backward_induction(data):
    mdp = data.draw(mdps())
    loss = data.draw(losses(mdp))
    policy, value = mdp.best_policy(loss)
    x, optimum = ab.occupancy.occupancy_lp(mdp, loss)
    assert abs(optimum - value) <= 1e-9
    assert abs(mdp.expected_loss(policy, loss) - value) <= 1e-12
    ab.check_occupancy(x, mdp.initial_state, transitions=mdp.transitions, tolerance=1e-9)
    assert abs(np.vdot(x, loss) - value) <= 1e-9
    assert abs(mdp.expected_loss(ab.policy_of(x), loss) - value) <= 1e-9


@given(st.data())
def test_no_policy_is_better_than_the_best(data):
    mdp = data.draw(mdps())
    loss = data.draw(losses(mdp))
    _, value = mdp.best_policy(loss)
    assert mdp.expected_loss(data.draw(policies(mdp)), loss) >= value - 1e-12


@given(st.data())
def test_enumeration_of_trajectories_equals_occupancy(data):
    mdp = data.draw(mdps(max_horizon=3, max_states=3))
    policy, loss = data.draw(policies(mdp)), data.draw(losses(mdp))
    trajectories = list(ab.enumerate_trajectories(mdp, policy))
    assert abs(sum(p for _, p in trajectories) - 1.0) <= 1e-12
    x = sum(p * trajectory.indicator() for trajectory, p in trajectories)
    np.testing.assert_allclose(x, mdp.occupancy(policy), rtol=0, atol=1e-12)
    expected = sum(p * trajectory.total(loss) for trajectory, p in trajectories)
    np.testing.assert_allclose(expected, mdp.expected_loss(policy, loss), rtol=0, atol=1e-12)


@given(st.data())
def test_with_free_dynamics_the_optimum_is_the_cheapest_trajectory(data):
    mdp = data.draw(mdps(max_horizon=3, max_states=3))
    loss = data.draw(losses(mdp))
    anywhere = ab.FiniteHorizonMDP(np.full(mdp.shape, 1 / mdp.n_states), mdp.initial_state)
    cheapest = min(t.total(loss) for t, _ in ab.enumerate_trajectories(anywhere, ab.uniform_policy(anywhere)))
    x, optimum = ab.occupancy.free_occupancy_lp(loss, mdp.initial_state)
    ab.check_occupancy(x, mdp.initial_state)
    assert abs(optimum - cheapest) <= 1e-9


@given(st.data())
def test_feedback_shows_the_same_episode_at_three_resolutions(data):
    mdp = data.draw(mdps())
    loss = data.draw(losses(mdp))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    trajectory = mdp.rollout(data.draw(policies(mdp)), rng)
    full = ab.FullFeedback.observe(trajectory, loss)
    steps = ab.StepFeedback.observe(trajectory, loss)
    total = ab.AggregateFeedback.observe(trajectory, loss)
    np.testing.assert_array_equal(trajectory.losses(full.loss), steps.losses)
    np.testing.assert_allclose(steps.losses.sum(), total.total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.vdot(trajectory.indicator(), loss), total.total, rtol=0, atol=1e-12)


@given(st.data())
def test_reachable_is_where_the_uniform_policy_has_mass(data):
    mdp = data.draw(mdps())
    mass = mdp.occupancy(ab.uniform_policy(mdp)).sum(axis=(2, 3))
    np.testing.assert_array_equal(mdp.reachable, mass > 0)
