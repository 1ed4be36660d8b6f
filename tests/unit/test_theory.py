"""Constants and bounds: what they must satisfy, and what they refuse."""

import inspect
import math

import numpy as np
import pytest

from aggbandit import theory


def test_rho_and_its_conjugate():
    z = np.linspace(-0.9, 50, 2000)
    rho = np.array([theory.rho(float(v)) for v in z])
    assert np.all(rho >= 0)
    assert np.all(rho[z >= 0] >= [theory.bregman_from_distance(float(v)) for v in z[z >= 0]])
    for s in np.linspace(0, 0.5, 11):
        assert theory.rho_conjugate(float(s)) <= s**2
        assert theory.rho_conjugate(float(s)) >= (s * z - rho).max() - 1e-12  # Fenchel
        assert theory.rho_conjugate(float(s)) == pytest.approx((s * z - rho).max(), abs=2e-3)


def test_the_line_below_rho_is_not_far():
    assert theory.rho(1.0) - theory.bregman_from_distance(1.0) == pytest.approx(1.5 - math.log(2))


def test_eta0_is_the_least_of_three():
    first = math.sqrt(5 * math.log(3 * 1000) / (4**2 * 3**2 * 1000))
    assert theory.eta0(4, 5, 3, 1000) == pytest.approx(first)
    assert theory.eta0(4, 5, 3, 1000, budget=1e4) == pytest.approx(1 / (16 * math.sqrt(1e7)))
    assert theory.eta0(4, 1e9, 3, 1000) == pytest.approx(1 / (4 * 4 * 3))
    assert theory.eta0(4, 5, 3, 1000, baseline=1.5) == pytest.approx(2 * first)


def test_bounds_agree_without_a_budget():
    """Algorithm 2's bound at budget 0 has twice SCRiBLe's last term, since its rate may double."""
    scrible, increasing = theory.scrible_bound(4, 5, 3, 1000), theory.increasing_rates_bound(4, 5, 3, 1000)
    last = theory.scrible_eta0(4, 5, 3, 1000) * (4 * 3) ** 2 * 1000
    assert increasing == pytest.approx(scrible + last)


def test_increasing_rates_bound_by_hand():
    n, theta, bound, rounds, budget = 2, 3.0, 1.0, 10**6, 4.0
    eta0 = 1 / (8 * math.sqrt(4e6))
    expected = 3 * math.log(1e6) / eta0 + 5 * math.sqrt(4e6) + 2 * eta0 * 4 * 1e6 + 2
    assert theory.eta0(n, theta, bound, rounds, budget) == pytest.approx(eta0)
    assert theory.increasing_rates_bound(n, theta, bound, rounds, budget) == pytest.approx(expected)


def test_rate_ceiling():
    eta0 = 1 / (4 * 3 * math.sqrt(2.0 * 100))
    assert theory.rate_ceiling(eta0, 3, 100, 2.0) == pytest.approx(2 * eta0)
    assert theory.rate_ceiling(eta0, 3, 100, 0.0) == pytest.approx(eta0)
    assert theory.rate_ceiling(3 * eta0, 3, 100, 2.0) == math.inf


def test_optimistic_rates_balance():
    """At the best rate the first term equals the sum of the two that grow with eta."""
    rates = theory.optimistic_rates(4, 50, 2.0, 0.7, 10**6)
    growing = theory.optimistic_second_moment(4, 2.0, 0.7) * rates.eta * 1e6 + rates.gamma * 2.0 * 1e6
    assert math.log(50) / rates.eta == pytest.approx(growing)
    assert theory.optimistic_bound(4, 50, 2.0, 0.7, 10**6) == pytest.approx(2 * growing)


def test_a_poorer_design_costs_more():
    assert theory.optimistic_bound(4, 50, 2.0, 0.7, 10**6, design_norm=8.0) > theory.optimistic_bound(
        4, 50, 2.0, 0.7, 10**6
    )


def test_printed_optimistic_constants():
    rates = theory.printed_optimistic_rates(4, 50, 2.0, 1.5, 10**6, 0.1)
    assert rates.eta == pytest.approx(math.sqrt(math.log(50) / 1e6) / (2 * 2 * 1.5 * 4))
    assert rates.gamma == pytest.approx(2 * 4 * (2 + 1.5 * 2) * rates.eta / 0.1)
    bound = theory.printed_optimistic_bound(4, 50, 2.0, 1.5, 10**6, 3.0, 0.1)
    leading = 4 * 2 * 1.5 * 4 + 8 / (1.5 * 0.1 * 4) + 4 / (0.1 * 2)
    assert bound == pytest.approx(leading * math.sqrt(1e6 * math.log(50)) + 10 * 1.5 * 4 * math.sqrt(3e6))


# --- the reduction ------------------------------------------------------------------------------------------


def counts(rng, horizon=3, n_states=4, n_actions=2):
    return rng.integers(0, 50, size=(horizon, n_states, n_actions, n_states)).astype(float)


def test_epsilon_beta_and_budget_fit_together(rng):
    """An epoch that visits every cell max(N, 1) times spends at most B, and no entry exceeds beta."""
    n = counts(rng)
    n[0, 0, 0] = 0
    radius = theory.confidence_radius(n, 1000, 0.01)
    assert radius[0, 0, 0] == math.inf
    eps = theory.epsilon(radius)
    assert eps.max() <= theory.beta(3)
    assert eps[0, 0, 0] == theory.beta(3)
    visits = np.maximum(n.sum(axis=-1), 1)
    assert 3 * (visits * eps**2).sum() <= theory.B(4, 2, 3, 1000, 0.01)


def test_printed_epsilon_beta_and_budget_fit_together(rng):
    n = counts(rng)
    n[1, 2, 1] = 0
    eps = theory.printed_epsilon(n, 1000, 0.01)
    assert eps.max() == eps[1, 2, 1] == pytest.approx(theory.printed_beta(4, 2, 3, 1000, 0.01))
    visits = np.maximum(n.sum(axis=-1), 1)
    budget = theory.printed_B(4, 2, 3, 1000, 0.01)
    assert 3 * (visits * eps**2).sum() == pytest.approx(budget)
    assert budget == pytest.approx(25 * 3**4 * 4 * 2 * (4 + math.log(3 * 4 * 2 * 1000 / 0.01)))


def test_the_corrected_radius_is_below_half_the_printed_one(rng):
    """Then the printed eps/H bounds twice the corrected radius, which Lemma boundocdiff needs."""
    n = counts(rng) + 1
    assert np.all(2 * theory.confidence_radius(n, 1000, 0.01) <= theory.printed_epsilon(n, 1000, 0.01) / 3)
    assert np.all(
        theory.epsilon(theory.confidence_radius(n, 1000, 0.01)) <= theory.printed_epsilon(n, 1000, 0.01)
    )


def test_the_radius_holds():
    """Monte Carlo: the empirical distribution leaves the ball less often than delta."""
    rng = np.random.default_rng(5)
    p, visits, delta, trials = np.array([0.5, 0.3, 0.2]), 40, 0.2, 2000
    draws = rng.multinomial(visits, p, size=trials)
    radius = math.sqrt(2 * (3 * math.log(2) + math.log(1 / delta)) / visits)
    assert theory.confidence_radius(
        np.full((1, 3, 1, 3), visits / 3), episodes=1, delta=3 * delta
    ) == pytest.approx(radius)  # H S A K = 3, so that log(HSAK/delta) = log(1/0.2)
    assert np.mean(np.abs(draws / visits - p).sum(axis=1) > radius) < delta


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.rho(-1.0), r"z is -1\.0"),
        (lambda: theory.rho_conjugate(1.0), r"z is 1\.0"),
        (lambda: theory.rho(math.inf), "z is inf"),
        (lambda: theory.rho_conjugate(-math.inf), "z is -inf"),
        (lambda: theory.bregman_from_center(-3.0, 0.5), r"theta is -3\.0"),
        (lambda: theory.bregman_from_center(3.0, 0.0), r"gamma is 0\.0"),
        (lambda: theory.loss_range(1.0, 2.0), r"baseline is 2\.0"),
        (lambda: theory.eta0(0, 3.0, 1.0, 10), "dimension is 0"),
        (lambda: theory.eta0(2, -3.0, 1.0, 10), r"theta is -3\.0"),
        (lambda: theory.eta0(2, 3.0, 1.0, 0), "rounds is 0"),
        (lambda: theory.eta0(2, 3.0, 1.0, 1), r"loss_bound \* rounds is 1\.0; .* log\(HT\) > 0"),
        (lambda: theory.eta0(2, 3.0, 1.0, 10, budget=-1.0), r"budget is -1\.0"),
        (lambda: theory.increasing_rates_bound(2, 3.0, 1.0, 10**4, 1.0, rate=0.1), r"rate is 0\.1; .* up to"),
        (lambda: theory.scrible_bound(2, 3.0, 1.0, 100, rate=0.0), r"rate is 0\.0"),
        (lambda: theory.rate_credit(0.0, 1.0, 1.0), r"previous_rate is 0\.0"),
        (lambda: theory.rate_ceiling(0.0, 1, 10, 1.0), r"eta0 is 0\.0"),
        (lambda: theory.optimistic_rates(3, 1, 1.0, 0.1, 1000), "n_points is 1"),
        (lambda: theory.optimistic_rates(3, math.nan, 1.0, 0.1, 1000), "n_points is nan"),
        (lambda: theory.optimistic_bound(3, 0, 1.0, 0.1, 1000, rates=(0.1, 0.9)), "n_points is 0"),
        (lambda: theory.optimistic_bound(3, 9, 1.0, 0.1, -5, rates=(0.1, 0.9)), "rounds is -5"),
        (lambda: theory.printed_optimistic_rates(3, 1, 1.0, 1.0, 10, 0.1), "n_points is 1"),
        (lambda: theory.optimistic_rates(3, 9, 1.0, 0.1, 2), r"gamma is .* rounds = 2"),
        (lambda: theory.optimistic_rates(3, 9, 1.0, 0.1, 1000, 2.0), r"design_norm is 2\.0"),
        (
            lambda: theory.optimistic_bound(3, 9, 1.0, 0.1, 1000, rates=theory.OptimisticRates(0.1, 0.01)),
            r"gamma is 0\.01; the bound needs",
        ),
        (lambda: theory.printed_optimistic_rates(3, 9, 1.0, 0.0, 10, 0.1), r"epsilon_bound is 0\.0"),
        (lambda: theory.confidence_radius(np.zeros((2, 3, 2, 2)), 10, 0.1), "counts has shape"),
        (lambda: theory.confidence_radius(-np.ones((2, 3, 2, 3)), 10, 0.1), r"counts has the entry -1\.0"),
        (lambda: theory.confidence_radius(np.ones((2, 3, 2, 3)), 10, 1.0), r"delta is 1\.0"),
        (lambda: theory.epsilon(np.ones((2, 2))), "radius has shape"),
        (lambda: theory.epsilon(-np.ones((2, 2, 2))), r"radius has the entry -1\.0"),
        (lambda: theory.beta(0), "horizon is 0"),
        (lambda: theory.beta(2.5), r"horizon is 2\.5; it must be an integer"),
        (lambda: theory.B(2, 2, 1.5, 10, 0.1), r"horizon is 1\.5; it must be an integer"),
        (lambda: theory.bregman_from_distance(-1), "local_distance is -1; it must be nonnegative"),
        (lambda: theory.bias_bound(-1, 1.0, 0.1), "dimension is -1"),
        (lambda: theory.bias_bound(2, -1.0, 0.1), r"local_distance is -1\.0"),
        (lambda: theory.bias_bound(2, 1.0, math.inf), "z_hat_epsilon is inf; it must be finite"),
        (lambda: theory.rate_credit(1.0, 1.0, -0.1), r"divergence is -0\.1"),
        (
            lambda: theory.confidence_radius(np.full((2, 3, 2, 3), np.inf), 10, 0.1),
            r"counts\[0, 0, 0, 0\] is inf",
        ),
        (lambda: theory.B(2, 2, 2, 0, 0.1), "episodes is 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


SOUND = {
    "z": 0.5,
    "local_distance": 1.0,
    "theta": 5.0,
    "gamma": 0.5,
    "loss_bound": 2.0,
    "baseline": 1.0,
    "dimension": 3,
    "rounds": 10**6,
    "budget": 1.0,
    "rate": 1e-6,
    "eta0": 1e-3,
    "z_hat_epsilon": 0.1,
    "previous_rate": 0.1,
    "divergence": 0.2,
    "eta": 1e-3,
    "rank": 3,
    "epsilon_bound": 1.5,
    "design_norm": 4.0,
    "n_points": 9,
    "least_eigenvalue": 0.1,
    "n_states": 3,
    "n_actions": 2,
    "horizon": 3,
    "episodes": 1000,
    "delta": 0.01,
}
FUNCTIONS = [
    (name, function)
    for name, function in vars(theory).items()
    if inspect.isfunction(function)
    and function.__module__ == theory.__name__
    and not name.startswith("_")
    and not {"counts", "radius"} & set(inspect.signature(function).parameters)
]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_every_argument_of_every_function_is_checked(name, function):
    """Nonsense in, an error that names it out: NaN, infinity and -1 for each number in turn."""
    arguments = {p: SOUND[p] for p in inspect.signature(function).parameters if p != "rates"}
    assert function(**arguments) is not None
    for argument in arguments:
        for bad in (math.nan, math.inf, -math.inf, *([-1] if argument != "z_hat_epsilon" else [])):
            if name == "rho_conjugate" and bad == -1:
                continue  # a dual norm of the other sign: the function is defined there
            with pytest.raises(ValueError, match=rf"{argument} is {bad}|rounds (=|is) "):
                function(**{**arguments, argument: bad})
