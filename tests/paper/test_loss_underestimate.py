"""Lemma loss-underestimate: E_t[l~_t(y)] <= l_t·y on the whole set, whoever moves the hand."""

import numpy as np
import pytest
from enumeration import KINDS, finite_set, lying_about, one_round, warmed_learner


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
