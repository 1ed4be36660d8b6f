"""Lemma mdbarrier: the regret of mirror descent behind a barrier, for any losses and any rates."""

import numpy as np
import pytest
from instances import bodies, points

from aggbandit import LogBarrier, mirror_descent, theory
from aggbandit.geometry import box

ROUNDS = 60

RATES = {
    "constant": lambda rng: np.ones(ROUNDS),
    "increasing": lambda rng: np.linspace(0.5, 1, ROUNDS),
    "decreasing": lambda rng: 1 / np.sqrt(np.arange(1, ROUNDS + 1)),
    "any": lambda rng: rng.uniform(0.05, 1, ROUNDS),
}

LOSSES = {
    "fixed": lambda rng, D: np.tile(rng.normal(size=D), (ROUNDS, 1)),
    "fresh": lambda rng, D: rng.normal(size=(ROUNDS, D)),
    "switching": lambda rng, D: np.outer(np.sign(np.sin((np.arange(ROUNDS) + 0.5) / 5)), rng.normal(size=D)),
}


def within_the_lemma(barrier, losses, shape):
    """Rates of this shape, as large as the condition eta_t ||l_t||* <= 1/2 lets them be on this run."""
    scale = 1.0 / barrier.dikin(barrier.analytic_center()).dual_norm(losses[0])
    while True:
        run = mirror_descent(barrier, losses, scale * shape)
        if run.within_lemma:
            return run
        scale *= 0.9 * 0.5 / run.step_sizes.max()


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("rates", RATES)
def test_the_regret_is_below_the_bound(losses, rates, rng, record_property):
    least = np.inf
    for body in bodies(rng):
        barrier = LogBarrier(body)
        run = within_the_lemma(barrier, LOSSES[losses](rng, body.ambient_dimension), RATES[rates](rng))
        # against anybody: near the boundary, at the last iterate, and near the best point in hindsight
        best = body.minimize(run.losses.sum(axis=0))
        center = barrier.analytic_center()
        comparators = [*points(barrier, rng, 5), run.iterates[-1]]
        comparators += [(1 - gamma) * best + gamma * center for gamma in (0.3, 1e-2, 1e-4)]
        for u in comparators:
            bound, regret = run.bound(u), run.regret(u)
            slack = bound.total - regret
            assert slack >= -1e-7 * (abs(bound.first) + abs(bound.middle) + bound.last)
            least = min(least, slack / (abs(bound.first) + bound.last))
    record_property("smallest relative margin", float(least))


def test_increasing_rates_turn_the_middle_term_into_a_credit(rng):
    """The same losses: the credit is worth the divergence at each increase, and the bound stays a bound."""
    for body in bodies(rng):
        barrier = LogBarrier(body)
        losses = rng.normal(size=(ROUNDS, body.ambient_dimension))
        run = within_the_lemma(barrier, losses, np.where(np.arange(ROUNDS) < 30, 0.5, 1.0))
        u = points(barrier, rng, 1)[0]
        bound = run.bound(u)
        credit = (1 / run.rates[29] - 1 / run.rates[30]) * barrier.bregman(u, run.iterates[30])
        assert bound.middle == pytest.approx(-credit)
        assert bound.middle < 0
        assert run.regret(u) <= bound.total


def test_parts_of_a_loss_across_the_slice_cost_nothing(rng):
    """On a slice the lemma holds with the dual norm of the slice: adding rows of C changes nothing in it."""
    for body in bodies(rng):
        if not len(body.C):
            continue
        barrier = LogBarrier(body)
        losses = rng.normal(size=(ROUNDS, body.ambient_dimension))
        across = rng.normal(size=(ROUNDS, len(body.C))) @ body.C
        rates = np.full(ROUNDS, 0.01)
        here, there = (mirror_descent(barrier, each, rates) for each in (losses, losses + 5 * across))
        u = points(barrier, rng, 1)[0]
        np.testing.assert_allclose(there.iterates, here.iterates, atol=1e-9)
        assert there.bound(u).total == pytest.approx(here.bound(u).total, rel=1e-7)
        assert there.regret(u) == pytest.approx(here.regret(u), rel=1e-6, abs=1e-9)


def test_the_condition_on_the_step_is_needed():
    """One round, one far wall: with eta ||l||* = 0.9 the inequality fails against u = x_2."""
    barrier = LogBarrier(box([0.0], [1e9]))
    for size, holds in ((0.5, True), (0.6, True), (0.9, False)):
        run = mirror_descent(barrier, [[-size]], [1.0], start=[1.0])
        assert run.step_sizes[0] == pytest.approx(size)
        assert run.within_lemma == (size <= 0.5)
        u = run.iterates[-1]
        slack = run.bound(u).total - run.regret(u)
        assert slack == pytest.approx(size**2 - theory.rho_conjugate(size), abs=1e-6)
        assert (slack >= 0) == holds
