"""Counts, radii, and when an epoch ends."""

import math

import numpy as np
import pytest

import aggbandit as ab

COUNTS = np.zeros((2, 2, 2, 2), dtype=np.int64)
COUNTS[0, 0, 0] = [3, 1]
COUNTS[1, 1, 0] = [0, 9]


def test_empirical_rows_are_relative_frequencies_and_zero_where_nothing_was_seen():
    P_hat = ab.empirical_dynamics(COUNTS)
    np.testing.assert_allclose(P_hat[0, 0, 0], [0.75, 0.25])
    np.testing.assert_allclose(P_hat[1, 1, 0], [0, 1])
    assert P_hat.sum() == 2


def test_the_corrected_radius_is_half_of_the_printed_one():
    """eps = 5H sqrt((S + log(HSAK/delta)) / max(N, 1)) as printed; radius eps/(2H), not eps/H."""
    K, delta = 1000, 1 / 2000
    log_term = 2 + math.log(2 * 2 * 2 * K / delta)
    confidence = ab.CorrectedConfidence()
    epsilon, radius = confidence.epsilon(COUNTS, K), confidence.radius(COUNTS, K)
    assert epsilon[0, 0, 0] == pytest.approx(10 * math.sqrt(log_term / 4))
    assert epsilon[0, 1, 1] == pytest.approx(10 * math.sqrt(log_term))
    seen = COUNTS.sum(axis=-1) > 0
    np.testing.assert_allclose(radius[seen], epsilon[seen] / 4)
    assert np.isinf(radius[~seen]).all()


def test_the_tight_radius_is_weissmans():
    K, delta = 1000, 0.01
    confidence = ab.TightConfidence(delta)
    w = math.sqrt(2 * (2 * math.log(2) + math.log(8 * K / delta)) / 9)
    radius, epsilon = confidence.radius(COUNTS, K), confidence.epsilon(COUNTS, K)
    assert radius[1, 1, 0] == pytest.approx(w)
    assert np.isinf(radius[0, 1, 1])
    # (H - h + 1) min(2, 2w), with h counted from one.
    assert epsilon[1, 1, 0] == pytest.approx(min(2, 2 * w))
    assert epsilon[0, 1, 1] == pytest.approx(2 * 2)


def test_both_radii_cover_weissmans_with_room_for_the_printed_one(rng):
    counts = rng.integers(0, 50, (3, 4, 2, 4))
    corrected, tight = ab.CorrectedConfidence(), ab.TightConfidence()
    seen = counts.sum(axis=-1) > 0
    assert (corrected.radius(counts, 500)[seen] > tight.radius(counts, 500)[seen]).all()
    # Twice the radius, H times over, is what a wrong row can cost: eps is at least that.
    assert (corrected.epsilon(counts, 500)[seen] >= 2 * 3 * tight.radius(counts, 500)[seen]).all()


def test_an_epoch_is_over_when_a_count_has_doubled():
    in_epoch = np.zeros_like(COUNTS)
    assert not ab.epochs.epoch_over(in_epoch, COUNTS).any()
    in_epoch[0, 0, 0] = [0, 3]
    assert not ab.epochs.epoch_over(in_epoch, COUNTS).any()
    in_epoch[0, 0, 0] = [0, 4]
    assert ab.epochs.epoch_over(in_epoch, COUNTS)[0, 0, 0]
    # A first visit ends it too: max(N, 1) = 1.
    in_epoch[:] = 0
    in_epoch[1, 0, 1] = [1, 0]
    assert ab.epochs.epoch_over(in_epoch, COUNTS).sum() == 1


def test_the_budget_is_a_sum_over_cells_that_can_be_visited():
    epsilon = np.arange(8.0).reshape(2, 2, 2)
    # H sum max(N, 1) eps²: the first step counts the initial state only.
    expected = 2 * (4 * 0 + 1 * 1 + 1 * 16 + 1 * 25 + 9 * 36 + 1 * 49)
    assert ab.epochs.epoch_budget(COUNTS, epsilon, initial_state=0) == pytest.approx(expected)
    printed = ab.theory.printed_B(2, 2, 2, 1000, 1 / 2000)
    assert ab.epochs.epoch_budget(COUNTS, ab.CorrectedConfidence().epsilon(COUNTS, 1000)) <= printed


def test_the_number_of_epochs_is_bounded_by_doublings():
    assert ab.epochs.most_epochs(3, 2, 3, 1) == 14 + 1
    assert ab.epochs.most_epochs(3, 2, 3, 1000) == 14 * 10 + 1
    assert all(ab.epochs.most_epochs(3, 2, 3, K) <= 2 * 18 * math.log(K) + 1 for K in (7, 100, 10**6))


def test_delta_is_the_papers_unless_given():
    assert (
        ab.TightConfidence().radius(COUNTS, 50)[0, 0, 0]
        == ab.TightConfidence(0.01).radius(COUNTS, 50)[0, 0, 0]
    )
    with pytest.raises(ValueError, match=r"delta is 2\.0"):
        ab.CorrectedConfidence(2.0)
