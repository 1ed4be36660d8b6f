"""Lemma to-mw-regret: what is suffered is at most what p_t pays by the estimates, and a price."""

import numpy as np
import pytest
from enumeration import KINDS, finite_set, lying_about, one_round, warmed_learner


def sides(kind, seed):
    """For every comparator y*: E_t l·(z_hat - y*) and E_t sum p (l~(y) - l~(y*)); the learner; ||eps||_M."""
    rng = np.random.default_rng(seed)
    loss_bound, beta = float(rng.uniform(0.5, 3)), float(rng.uniform(0.1, 2))
    points = finite_set(rng, kind, loss_bound)
    learner = warmed_learner(rng, points, loss_bound, beta)
    loss, epsilon = rng.random(points.shape[1]), rng.uniform(0, beta, size=points.shape[1])
    for target in (points[0], points[-1]):
        p = learner.weights
        outcomes = list(one_round(learner, loss, epsilon, lying_about(learner, loss, target, points)))
        suffered = sum(q * (loss @ z) for q, _, z, _ in outcomes)
        values = sum(q * record.values for q, _, _, record in outcomes)
        yield suffered - points @ loss, p @ values - values, learner, outcomes[0][3].epsilon_norm


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_regret_is_below_the_regret_on_the_estimates(kind, seed):
    for regret, estimated, learner, epsilon_norm in sides(kind, seed):
        price = learner.gamma * learner.loss_bound + 5 * learner.rank * epsilon_norm
        assert learner.gamma <= 0.5
        assert np.all(regret <= estimated + price + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_with_the_design_certificate(kind, seed):
    """Sharper, and for every gamma: 2 kappa + 1 in place of 5 d."""
    for regret, estimated, learner, epsilon_norm in sides(kind, seed):
        price = learner.gamma * learner.loss_bound + (2 * learner.design.largest_norm + 1) * epsilon_norm
        assert np.all(regret <= estimated + price + 1e-9)


def test_needs_losses_that_are_not_negative():
    """q_t - gamma mu <= p_t is multiplied by l·y: with l·y < 0 the lemma fails, even undistorted."""
    points, loss, loss_bound = np.array([1.0, -1.0]), -1.0, 1.0  # two points on a line, l·y = -1 and 1
    p, mu, gamma = np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5
    q = (1 - gamma) * p + gamma * mu
    regret = q @ (loss * points) - loss * points[0]
    estimated = p @ (loss * points) - loss * points[0]  # undistorted: the estimates are unbiased
    assert regret > estimated + gamma * loss_bound + 0.4
