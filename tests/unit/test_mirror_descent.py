"""Mirror descent: the run is what the update says it is. (Its lemma: tests/paper.)"""

import numpy as np
import pytest

import aggbandit as ab


def play(rng, body=None, rounds=40, start=None):
    barrier = ab.LogBarrier(body or ab.random_polygon(5, rng))
    losses = rng.normal(size=(rounds, barrier.body.ambient_dimension))
    rates = rng.uniform(0.05, 0.3, rounds)
    return ab.mirror_descent(barrier, losses, rates, start)


@pytest.mark.parametrize("start", [None, [0.1, 0.6, 0.3]])
def test_the_sum_of_losses_takes_the_steps_the_update_asks_for(rng, start):
    run = play(rng, ab.simplex(3), start=start)
    x = run.barrier.analytic_center() if start is None else np.array(start)
    np.testing.assert_array_equal(run.iterates[0], x)
    for t in range(run.rounds):
        x = run.barrier.mirror_step(x, run.rates[t] * run.losses[t]).x
        np.testing.assert_allclose(run.iterates[t + 1], x, atol=1e-8)
    assert run.iterates.shape == (run.rounds + 1, 3)
    assert (run.decrements <= 1e-8).all()


def test_what_a_run_reports_is_computed_from_its_iterates(rng):
    run = play(rng)
    u = run.barrier.body.interior_point
    by_hand = sum(loss @ (x - u) for loss, x in zip(run.losses, run.iterates, strict=False))
    assert run.regret(u) == pytest.approx(by_hand)
    for t in (0, 7, 39):
        E = run.barrier.dikin(run.iterates[t])
        assert run.dual_norms[t] == pytest.approx(E.dual_norm(run.losses[t]))
        assert run.divergences(u)[t] == pytest.approx(run.barrier.bregman(u, run.iterates[t]))
    divergences, inverse = run.divergences(u), 1 / run.rates
    bound = run.bound(u)
    assert bound.first == pytest.approx(divergences[0] / run.rates[0])
    assert bound.middle == pytest.approx(
        -sum((inverse[t - 1] - inverse[t]) * divergences[t] for t in range(1, 40))
    )
    assert bound.last == pytest.approx(sum(run.rates * run.dual_norms**2))
    assert bound.total == bound.first + bound.middle + bound.last
    np.testing.assert_array_equal(run.step_sizes, run.rates * run.dual_norms)
    assert run.within_lemma == (max(run.step_sizes) <= 0.5)


def test_the_middle_term_is_a_credit_exactly_when_rates_rise(rng):
    barrier = ab.LogBarrier(ab.regular_polygon(5))
    losses = rng.normal(size=(30, 2))
    rates = np.linspace(0.1, 0.2, 30)
    u = np.array([0.2, 0.3])
    assert ab.mirror_descent(barrier, losses, rates).bound(u).middle < 0
    assert ab.mirror_descent(barrier, losses, rates[::-1]).bound(u).middle > 0
    assert ab.mirror_descent(barrier, losses, np.full(30, 0.1)).bound(u).middle == 0


def test_steps_exist_for_every_rate_and_the_run_says_when_the_lemma_does_not_cover_them(rng):
    barrier = ab.LogBarrier(ab.regular_polygon(4))
    run = ab.mirror_descent(barrier, rng.normal(size=(20, 2)), np.full(20, 50.0))
    assert not run.within_lemma
    assert all((barrier.body.slacks(x) > 0).all() for x in run.iterates)


def test_bad_input_is_named_before_the_first_step(rng):
    barrier = ab.LogBarrier(ab.simplex(3))
    losses = np.ones((4, 3))
    for arguments, message in (
        ((np.ones((4, 2)), np.ones(4)), r"losses has shape \(4, 2\)"),
        ((np.ones((3, 3)), np.ones(4)), r"losses has shape \(3, 3\)"),
        ((losses, np.ones((4, 1))), r"rates has shape \(4, 1\)"),
        ((np.ones((0, 3)), np.ones(0)), r"rates has shape \(0,\)"),
        ((np.where(np.arange(3) == 1, np.nan, losses), np.ones(4)), r"losses\[0, 1\] is nan"),
        ((losses, [0.1, 0.1, 0, 0.1]), r"rates\[2\] is 0; a learning rate must be positive"),
        ((losses, [0.1, -0.1, 0.1, 0.1]), r"rates\[1\] is -0\.1"),
        ((losses, [0.1, np.inf, 0.1, 0.1]), r"rates\[1\] is inf"),
        ((losses, np.ones(4), [0.5, 0.5, 0.0]), "is not strictly inside"),
        ((losses, np.ones(4), [0.5, 0.5]), r"has shape \(2,\); this set's points have shape \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            ab.mirror_descent(barrier, *arguments)
    run = ab.mirror_descent(barrier, losses, np.full(4, 0.1))
    with pytest.raises(ValueError, match="not strictly inside"):
        run.bound([0.0, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"u has shape \(\); expected a point's shape = \(3,\)"):
        run.regret(0.5)
    with pytest.raises(ValueError, match="read-only"):
        run.iterates[0, 0] = 1
