"""Likely slips: each is answered with a sentence that says what to write instead."""

import numpy as np
import pytest

import aggbandit as ab

WORLD = ab.night_driver()
SIZES = {"n_states": 3, "n_actions": 2, "horizon": 3, "episodes": 20}


def learner(**changed):
    return ab.AggregateFeedbackLearner(**SIZES, **({"rates": ab.tuned_rates()} | changed))


def omd():
    return ab.scrible(ab.LogBarrier(ab.simplex(3)), 10, 1.0)


def optimistic():
    return ab.OptimisticEXP2(np.eye(3), 10, 1.0)


@pytest.mark.parametrize(
    ("slip", "remedy"),
    [
        (lambda: ab.uniform_policy(WORLD), "world.mdp of a World"),
        (lambda: ab.LogBarrier(np.eye(2)), r"ab.Polytope\(A, b\)"),
        (lambda: ab.OccupancyBarrier(WORLD.mdp), r"ab.OccupancySet\(P_hat, radius\)"),
        (lambda: learner().policy(7), r"rng=np.random.default_rng\(7\)"),
        (lambda: omd().predict(7), r"rng=np.random.default_rng\(7\)"),
        (lambda: optimistic().predict(7), r"rng=np.random.default_rng\(7\)"),
        (lambda: ab.random_polygon(5, 7), r"rng=np.random.default_rng\(7\)"),
        (lambda: ab.known_occupancy_polytope(WORLD), "world.mdp of a World"),
        (lambda: ab.occupancy_coordinates(WORLD), "world.mdp of a World"),
        (lambda: next(ab.deterministic_policies(WORLD)), "world.mdp of a World"),
        (
            lambda: ab.enumerate_trajectories(WORLD, ab.uniform_policy(WORLD.mdp)),
            "world.mdp of a World",
        ),
        (lambda: ab.theory.eta0_cap("5", 1.0), "dimension is '5'; it must be a number"),
        (lambda: ab.theory.scrible_bound(2, None, 1.0, 10), "theta is None; it must be a number"),
        (
            lambda: ab.DistortedBandit(
                np.ones((1, 3)), np.ones((1, 3)), ab.game.Undistorted(), np.eye(3), loss_bound="1"
            ),
            "loss_bound is '1'; it must be a number",
        ),
        (lambda: learner().observe(1.5), r"ab.AggregateFeedback.observe\(trajectory, loss\)"),
    ],
)
def test_a_slip_is_answered_with_what_to_write(slip, remedy):
    with pytest.raises(TypeError, match=remedy):
        slip()


def test_arguments_in_the_wrong_order_are_not_printed_out():
    for slip in (
        lambda: ab.losses.fixed(20, WORLD.loss),
        lambda: ab.FiniteHorizonMDP.stationary(3, WORLD.mdp.transitions[0]),
    ):
        with pytest.raises(ValueError, match="of type ndarray; it must be an integer of at least 1"):
            slip()


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_between_epochs_that_returns_nothing_is_named(engine):
    losses = ab.losses.fixed(WORLD.loss, 20)
    with pytest.raises(ValueError, match=r"between_epochs\(dual\) has entries of type NoneType"):
        ab.simulate(
            learner(between_epochs=lambda dual: None), WORLD, losses, np.random.default_rng(0), engine=engine
        )


def test_a_state_whose_finished_epochs_are_a_number_is_refused():
    agent = learner()
    with pytest.raises(ValueError, match=r"finished has shape \(\); expected \(epochs, fields\)"):
        agent.restore(agent.snapshot() | {"finished": np.array(1.0)})


def test_sizes_in_small_integers_do_not_run_over():
    small, plain = ab.cost.of_reduction(*np.uint8([10, 200, 3])), ab.cost.of_reduction(10, 200, 3)
    assert small == plain
    assert ab.epochs.most_epochs(*np.uint8([200, 3, 10, 255])) == ab.epochs.most_epochs(200, 3, 10, 255)
