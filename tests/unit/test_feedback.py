"""Three kinds of feedback, and what each refuses."""

import dataclasses

import numpy as np
import pytest

import aggbandit as ab

TRAJECTORY = ab.Trajectory([0, 1, 0], [1, 0], 2, 2)


def test_what_each_kind_shows():
    loss = np.arange(16.0).reshape(2, 2, 2, 2) / 16
    assert ab.AggregateFeedback.observe(TRAJECTORY, loss).total == (3 + 12) / 16
    np.testing.assert_array_equal(ab.StepFeedback.observe(TRAJECTORY, loss).losses, [3 / 16, 12 / 16])
    np.testing.assert_array_equal(ab.FullFeedback.observe(TRAJECTORY, loss).loss, loss)
    # A table is whatever NumPy takes for one.
    assert ab.AggregateFeedback.observe(TRAJECTORY, loss.tolist()).total == (3 + 12) / 16


def test_each_kind_holds_no_more_than_it_shows():
    """The only way to the losses is through the field of that kind."""
    fields = {
        kind: {f.name for f in dataclasses.fields(kind)}
        for kind in (ab.AggregateFeedback, ab.StepFeedback, ab.FullFeedback)
    }
    assert fields == {
        ab.AggregateFeedback: {"trajectory", "total"},
        ab.StepFeedback: {"trajectory", "losses"},
        ab.FullFeedback: {"trajectory", "loss"},
    }
    assert {f.name for f in dataclasses.fields(ab.Trajectory)} == {
        "states",
        "actions",
        "n_states",
        "n_actions",
    }


def test_bad_feedback_is_named():
    with pytest.raises(ValueError, match="total is nan; it must be a finite number"):
        ab.AggregateFeedback(TRAJECTORY, np.nan)
    for total in ("1.5", None, np.array([1.5])):
        with pytest.raises(ValueError, match="it must be a finite number"):
            ab.AggregateFeedback(TRAJECTORY, total)
    with pytest.raises(ValueError, match=r"losses has shape \(3,\); expected \(H,\) = \(2,\)"):
        ab.StepFeedback(TRAJECTORY, np.zeros(3))
    with pytest.raises(ValueError, match=r"losses\[1\] is inf"):
        ab.StepFeedback(TRAJECTORY, np.array([0.0, np.inf]))
    with pytest.raises(ValueError, match=r"loss has shape \(2, 2, 3\); expected \(H, S, A, S\)"):
        ab.FullFeedback(TRAJECTORY, np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match="loss has entries of type complex128; they must be real numbers"):
        ab.FullFeedback(TRAJECTORY, np.zeros((2, 2, 2, 2), complex))
    with pytest.raises(ValueError, match="losses has entries of type <U1; they must be real numbers"):
        ab.StepFeedback(TRAJECTORY, ["0", "1"])
    with pytest.raises(ValueError, match=r"loss\[0, 0, 0, 0\] is nan"):
        ab.FullFeedback(TRAJECTORY, np.full((2, 2, 2, 2), np.nan))


def test_feedback_cannot_be_changed():
    feedback = ab.StepFeedback(TRAJECTORY, np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        feedback.losses[0] = 1.0
    with pytest.raises(AttributeError):
        ab.AggregateFeedback(TRAJECTORY, 1.0).total = 0.0
