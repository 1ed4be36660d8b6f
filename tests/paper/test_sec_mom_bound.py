"""Lemma sec-mom-bound: the second moment of the optimistic estimate, and under which distribution."""

import numpy as np
import pytest
from enumeration import KINDS, finite_set, lying_about, one_round, warmed_learner

from aggbandit import OptimisticEXP2, theory
from aggbandit.learners import g_optimal_design


def moments(kind, seed, gamma=None):
    rng = np.random.default_rng(seed)
    loss_bound = float(rng.uniform(0.5, 3))
    points = finite_set(rng, kind, loss_bound)
    beta = float(rng.uniform(0.3, 2))
    learner = warmed_learner(rng, points, loss_bound, beta, gamma)
    d = points.shape[1]
    # Losses as large as the rules allow are the hard case, and so are perturbations.
    for loss, epsilon in ((np.ones(d), np.full(d, beta)), (rng.random(d), rng.uniform(0, beta, size=d))):
        p, q = learner.weights, learner.probabilities
        outcomes = list(one_round(learner, loss, epsilon, lying_about(learner, loss, points[0], points)))
        squares = sum(weight * record.values**2 for weight, _, _, record in outcomes)
        yield p @ squares, q @ squares, learner, beta


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_second_moment_under_q(kind, seed):
    for _, under_q, learner, beta in moments(kind, seed):
        bound = theory.optimistic_second_moment(learner.rank, learner.loss_bound, beta)
        assert under_q <= bound * (1 + 1e-9)
        if beta**2 * learner.rank >= 1:
            printed = (2 * learner.loss_bound * beta * learner.rank) ** 2
            assert bound <= printed * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_second_moment_under_p_by_the_certificate(kind, gamma, seed):
    for under_p, _, learner, beta in moments(kind, seed, gamma):
        norm = learner.design.largest_norm
        bound = theory.optimistic_second_moment(learner.rank, learner.loss_bound, beta, norm)
        assert under_p <= bound * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_p_weighted_norms_by_the_certificate(kind, seed):
    """sum p(y) ||y||²_{M^+} <= kappa whatever p and gamma are: the step that replaces p <= 2 q."""
    rng = np.random.default_rng(seed)
    points = finite_set(rng, kind, 1.0)
    design = g_optimal_design(points, tolerance=1e-3)
    for concentration in (0.05, 0.3, 3.0):
        p = rng.dirichlet(np.full(len(points), concentration))
        for gamma in (1e-3, 0.1, 0.5, 0.9):
            q = (1 - gamma) * p + gamma * design.weights
            inverse = np.linalg.pinv(points.T @ (q[:, None] * points), hermitian=True)
            norms = np.einsum("ni,ij,nj->n", points, inverse, points)
            assert p @ norms <= design.largest_norm * (1 + 1e-9)


def test_under_p_a_poor_exploration_costs_the_factor_two():
    """The paper needs the bound under p_t. With an exploration of tiny points, p pays twice what q pays."""
    r, tiny, gamma = 4, 1e-2, 0.5
    points = np.vstack([np.eye(r), tiny * np.eye(r)])
    p = np.concatenate([np.full(r, 1 / r), np.zeros(r)])
    mu = np.concatenate([np.zeros(r), np.full(r, 1 / r)])
    q = (1 - gamma) * p + gamma * mu
    inverse = np.linalg.inv(points.T @ (q[:, None] * points))
    loss_values = points @ np.ones(r)  # eps = 0: nobody moves the hand, l = (1, ..., 1), H = 1
    squares = sum(q[i] * (loss_values[i] * points @ inverse @ points[i]) ** 2 for i in range(len(points)))
    limit = r * 1.0**2  # what sum q ||y||² = r gives under q, with H = 1
    assert q @ squares <= limit
    assert limit * 1.99 < p @ squares <= 2 * limit


@pytest.mark.parametrize("r", [2, 5])
def test_the_bound_is_twice_its_two_halves_where_both_are_full(r):
    """(a - b)² <= 2 a² + 2 b²: on the corners of the simplex, with l = 1 and eps = beta, by enumeration,

    a² adds up to kappa H² and b² to r kappa beta² H²; the bound is twice their sum, with nothing to spare.
    """
    loss_bound, beta, points = 1.5, 0.7, 1.5 * np.eye(r)
    learner = OptimisticEXP2(points, 100, loss_bound, beta, theory.OptimisticRates(0.05, 0.3))
    outcomes = list(one_round(learner, np.ones(r), np.full(r, beta), lambda y: y))
    p = learner.weights
    plain = p @ sum(q * (points @ record.estimate) ** 2 for q, _, _, record in outcomes)
    optimism = p @ (points @ outcomes[0][3].estimate - outcomes[0][3].values) ** 2
    kappa = learner.design.largest_norm
    assert plain == pytest.approx(kappa * loss_bound**2, rel=1e-9)
    assert optimism == pytest.approx(r * kappa * beta**2 * loss_bound**2, rel=1e-9)
    bound = theory.optimistic_second_moment(r, loss_bound, beta, kappa)
    assert bound == pytest.approx(2 * (plain + optimism), rel=1e-9)
