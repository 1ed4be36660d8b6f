"""Lemma concentration: all empirical rows are near the true ones, at all counts, with high probability."""

import itertools
import math

import numpy as np
import pytest
from reduction_runs import epochs_of_a_run

import aggbandit as ab


def tail(p, n, w):
    """Pr[||p_hat - p||_1 > w] for n draws, by summing the multinomial distribution."""
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=len(p)):
        if sum(counts) == n and np.abs(np.array(counts) / n - p).sum() > w + 1e-12:
            ways = math.factorial(n) / math.prod(math.factorial(c) for c in counts)
            total += ways * math.prod(q**c for q, c in zip(p, counts, strict=True))
    return total


@pytest.mark.parametrize("p", [(0.5, 0.5), (0.9, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.7, 0.2, 0.1)])
@pytest.mark.parametrize("n", [1, 3, 8, 20])
def test_weissmans_inequality_with_root_two_exactly(p, n):
    """Pr[||p_hat - p||_1 > sqrt(2 (m log 2 + log(1/delta)) / n)] <= delta; the printed factor 2 is
    generous."""
    p = np.array(p)
    for delta in (0.5, 0.1, 0.01, 1e-4):
        sharp = math.sqrt(2 * (len(p) * math.log(2) + math.log(1 / delta)) / n)
        printed = 2 * math.sqrt((len(p) + math.log(1 / delta)) / n)
        assert sharp < printed
        assert tail(p, n, sharp) <= delta
        assert tail(p, n, printed) <= delta


@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_the_radius_holds_its_promise_and_little_less_would_not(n, delta):
    """The radius the learner uses, at n visits of one row with two outcomes: it fails with probability below
    delta/K, exactly, and the same radius without the square root of two fails more often."""
    counts = np.array([[[[n // 2, n - n // 2]], [[0, 0]]]])  # (1, 2, 1, 2); the second state is never visited
    K, H, S, A = 3, *counts.shape[:3]
    promised = delta / (H * S * A * K)
    w = ab.TightConfidence(delta).radius(counts, K)[0, 0, 0]
    assert tail(np.full(2, 0.5), n, w) <= promised < tail(np.full(2, 0.5), n, w / math.sqrt(2))


def test_the_enumeration_sees_deviations():
    """The tail is not zero by mistake: a fair coin thrown three times shows three equal sides in a quarter of
    cases."""
    assert tail(np.array([0.5, 0.5]), 3, 0.9) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "confidence", [ab.CorrectedConfidence(), ab.TightConfidence()], ids=["corrected", "tight"]
)
def test_the_truth_is_within_the_radius_in_every_epoch(confidence):
    """With delta = 1/(HK) a failure in one of these ten runs has probability below .02; the seeds are
    fixed."""
    world = ab.night_driver().mdp
    for seed in range(5):
        for epoch, _ in epochs_of_a_run(world, 100, seed, confidence):
            distance = np.abs(world.transitions - epoch.body.P_hat).sum(axis=-1)
            assert (distance <= epoch.body.radius).all()
