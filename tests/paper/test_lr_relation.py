"""Lemma lr-relation: eta_0 <= eta_t <= 2 eta_0 when eta_0 <= 1/(4 n sqrt(BT)), the budget being B."""

import numpy as np
import pytest

from aggbandit import IncreasingRate, theory


def rates(eta0, n, spent):
    schedule, eta, out = IncreasingRate(), eta0, []
    for e in spent:
        rate = schedule.next_rate(eta, eta0, n, float(e))
        assert not rate.clipped
        eta = rate.eta
        out.append(eta)
    return np.array(out)


@pytest.mark.parametrize("seed", range(10))
def test_rates_stay_within_a_factor_two(seed):
    rng = np.random.default_rng(seed)
    n, rounds, budget = int(rng.integers(1, 10)), int(rng.integers(10, 500)), float(rng.uniform(0.1, 10))
    spent = rng.pareto(1.5, size=rounds)
    spent *= np.sqrt(budget * (1 - 1e-9) / (spent**2).sum())
    eta0 = 1 / (4 * n * np.sqrt(budget * rounds))
    eta = rates(eta0, n, spent)
    assert np.all(np.diff(np.concatenate([[eta0], eta])) >= 0)
    assert eta.max() <= 2 * eta0
    assert eta.max() <= theory.rate_ceiling(eta0, n, rounds, budget) * (1 + 1e-12)
    np.testing.assert_allclose(1 / eta, 1 / eta0 - 2 * n * np.cumsum(spent), rtol=1e-10)


def test_the_factor_two_is_reached():
    """A budget spread evenly over the rounds: the lemma is tight."""
    n, rounds, budget = 3, 400, 2.0
    eta0 = 1 / (4 * n * np.sqrt(budget * rounds))
    eta = rates(eta0, n, np.full(rounds, np.sqrt(budget / rounds) * (1 - 1e-12)))
    assert eta[-1] == pytest.approx(2 * eta0, rel=1e-9)


def test_printed_index_fails():
    """The proof sums |z_hat_t·eps_t| over s: with all the budget in the last round 1/eta_T is negative."""
    n, rounds, budget = 1, 100, 1.0
    eta0 = 1 / (4 * n * np.sqrt(budget * rounds))
    spent = np.zeros(rounds)
    spent[-1] = np.sqrt(budget)
    printed = 1 / eta0 - 2 * n * rounds * spent[-1]
    assert printed < 0
    assert rates(eta0, n, spent)[-1] <= 2 * eta0


def test_budget_at_least_h_does_not_keep_steps_short():
    """Printed: B >= H gives 2 eta_0 <= 1/(2 n H). It needs BT >= H²; theory.eta0 has its own condition."""
    n, loss_bound, budget, rounds = 2, 16.0, 16.0, 4
    printed = min(
        np.sqrt(8.0 * np.log(loss_bound * rounds) / (n**2 * loss_bound**2 * rounds)),
        1 / (4 * n * np.sqrt(budget * rounds)),
    )
    assert budget >= loss_bound
    assert 2 * printed > 1 / (2 * n * loss_bound)
    assert 2 * theory.eta0(n, 8.0, loss_bound, rounds, budget) <= 1 / (2 * n * loss_bound) * (1 + 1e-12)
