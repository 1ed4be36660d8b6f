"""Lemma loss-underestimate: E_t[l~_t(y)] <= l_t·y on the whole set, whoever moves the hand."""

import numpy as np
import pytest
from enumeration import KINDS, finite_set, lying_about, one_round, warmed_learner

from aggbandit import OptimisticEXP2
from aggbandit.theory import OptimisticRates


def instance(kind, seed):
    rng = np.random.default_rng(seed)
    loss_bound, beta = float(rng.uniform(0.5, 3)), float(rng.uniform(0.1, 2))
    points = finite_set(rng, kind, loss_bound)
    learner = warmed_learner(rng, points, loss_bound, beta)
    loss, epsilon = rng.random(points.shape[1]), rng.uniform(0, beta, size=points.shape[1])
    return points, learner, loss, epsilon


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_optimistic_estimate_is_below_the_loss(kind, seed):
    points, learner, loss, epsilon = instance(kind, seed)
    for target in points:
        adversary = lying_about(learner, loss, target, points)
        mean = sum(q * record.values for q, _, _, record in one_round(learner, loss, epsilon, adversary))
        assert np.all(mean <= points @ loss + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_bias_of_the_plain_estimate(kind, seed):
    """Eq. (tildell) with the absolute value outside: |E[(l^ - l)·y]| <= sqrt(r) ||y||_{M^+} ||eps||_M."""
    points, learner, loss, epsilon = instance(kind, seed)
    for target in points:
        outcomes = list(one_round(learner, loss, epsilon, lying_about(learner, loss, target, points)))
        bias = points @ (sum(q * record.estimate for q, _, _, record in outcomes) - loss)
        record = outcomes[0][3]
        norms = np.sqrt(np.einsum("ni,ij,nj->n", points, np.linalg.pinv(record.second_moment), points))
        assert np.all(np.abs(bias) <= np.sqrt(learner.rank) * norms * record.epsilon_norm + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimistic_term_is_the_lemma_s(kind, seed):
    """l~(y) = l^·y - sqrt(r) ||y||_{M^+} ||eps||_M, with M from q and both norms in the whole space."""
    points, learner, loss, epsilon = instance(kind, seed)
    moment = points.T @ (learner.probabilities[:, None] * points)
    inverse = np.linalg.pinv(moment)
    norms = np.sqrt(np.einsum("ni,ij,nj->n", points, inverse, points))
    optimism = np.sqrt(np.linalg.matrix_rank(points)) * norms * np.sqrt(epsilon @ moment @ epsilon)
    for _, y, z, record in one_round(learner, loss, epsilon, lambda y: points[0]):
        plain = (loss @ z) * (points @ (inverse @ y))
        np.testing.assert_allclose(record.values, plain - optimism, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_the_root_of_the_rank_is_not_needed(kind, seed):
    """Cauchy-Schwarz at once: E |y*·M^+ y| |y·eps| <= ||y*||_{M^+} ||eps||_M, without sqrt(d). Ours."""
    points, learner, loss, epsilon = instance(kind, seed)
    for target in points:
        outcomes = list(one_round(learner, loss, epsilon, lying_about(learner, loss, target, points)))
        bias = target @ (sum(q * record.estimate for q, _, _, record in outcomes) - loss)
        record = outcomes[0][3]
        norm = np.sqrt(target @ np.linalg.pinv(record.second_moment) @ target)
        assert abs(bias) <= norm * record.epsilon_norm + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_smaller_term_bounds_the_figures_without_the_rank(kind, seed):
    """With ||y|| ||eps|| taken off, ours: E sum p(y) l~(y)² <= 2 kappa H² (1 + beta²), no |l~| is above
    H kappa (1 + beta)/gamma, and what is played is underestimated by at most 2 sqrt(kappa) ||eps||_M."""
    points, learner, loss, epsilon = instance(kind, seed)
    kappa, bound, beta = learner.design.largest_norm, learner.loss_bound, learner.epsilon_bound
    p = learner.weights
    outcomes = list(one_round(learner, loss, epsilon, lying_about(learner, loss, points[0], points)))
    record = outcomes[0][3]
    norms = np.sqrt(np.einsum("ni,ij,nj->n", points, np.linalg.pinv(record.second_moment), points))
    term = norms * record.epsilon_norm
    figures = [(q, points @ r.estimate - term) for q, _, _, r in outcomes]
    squares = sum(q * (p @ values**2) for q, values in figures)
    assert squares <= 2 * kappa * bound**2 * (1 + beta**2) * (1 + 1e-9)
    largest = max(np.abs(values).max() for _, values in figures)
    assert largest <= bound * kappa * (1 + beta) / learner.gamma * (1 + 1e-9)
    played = sum(q * (p @ values) for q, values in figures)
    assert played >= p @ points @ loss - 2 * np.sqrt(kappa) * record.epsilon_norm - 1e-9


def test_on_a_line_the_term_is_used_up():
    """r = 1, l = 1, the hand always moved outwards: E[l~(y)] = l·y, so that no smaller term would do."""
    points, beta = np.array([[0.2], [0.5]]), 0.5
    learner = OptimisticEXP2(points, 100, 1.0, beta, OptimisticRates(0.05, 0.3))
    outcomes = one_round(learner, np.ones(1), np.full(1, beta), lambda y: (1 + beta) * y)
    mean = sum(q * record.values for q, _, _, record in outcomes)
    np.testing.assert_allclose(mean, points[:, 0], rtol=1e-9)


def test_printed_absolute_value_inside_the_expectation_fails():
    """E|(l^ - l)·y| is not small even when nobody moves the hand: the estimate is noisy."""
    points, learner, loss, _ = instance("vertices", 0)
    outcomes = list(one_round(learner, loss, np.zeros(points.shape[1]), lambda y: y))
    noise = sum(q * np.abs(points @ (record.estimate - loss)) for q, _, _, record in outcomes)
    bias = np.abs(points @ (sum(q * record.estimate for q, _, _, record in outcomes) - loss))
    assert noise.max() > 0.1  # printed: at most sqrt(d) ||y|| ||eps||_M, which is zero here
    assert bias.max() < 1e-12


def test_without_the_optimistic_term_the_estimate_can_be_too_high():
    """The term does something: l^ alone overestimates on some instance."""
    excess = -np.inf
    for seed in range(8):
        points, learner, loss, epsilon = instance("spanning", seed)
        for target in points:
            outcomes = one_round(learner, loss, epsilon, lying_about(learner, loss, target, points))
            excess = max(excess, target @ (sum(q * r.estimate for q, _, _, r in outcomes) - loss))
    assert excess > 0.05
