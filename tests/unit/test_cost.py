"""What a run costs, by its sizes."""

from dataclasses import astuple

import numpy as np
import pytest

import aggbandit as ab


def test_memory_is_of_the_order_that_was_measured():
    """The running example in a megabyte, Taxi in gigabytes."""
    assert ab.cost.of_reduction(3, 3, 2).bytes < 1e6
    assert 2e9 < ab.cost.of_reduction(11, 501, 6).bytes < 1e10


def test_it_grows_as_the_algorithm_does():
    """Twice the steps or the actions, twice as much; for large S memory like S², an episode like S³."""
    at = [np.array(astuple(ab.cost.of_reduction(*sizes))) for sizes in [(10, 10**5, 4), (10, 2 * 10**5, 4)]]
    memory, compiled, reference = np.log2(at[1] / at[0])
    assert memory == pytest.approx(2, abs=0.01)
    assert (compiled, reference) == pytest.approx((3, 3), abs=0.05)
    for sizes in [(20, 10**5, 4), (10, 10**5, 8)]:
        twice = np.array(astuple(ab.cost.of_reduction(*sizes))) / at[0]
        assert twice == pytest.approx([2, 2, 2], rel=0.1)


@pytest.mark.parametrize("axis", range(3))
def test_a_larger_world_costs_more(axis):
    sizes = [4, 5, 3]
    larger = sizes.copy()
    larger[axis] += 1
    one, two = (astuple(ab.cost.of_reduction(*chosen)) for chosen in (sizes, larger))
    assert all(less < more for less, more in zip(one, two, strict=True))


def test_sizes_are_positive_integers():
    with pytest.raises(ValueError, match=r"n_states is 0; it must be an integer of at least 1"):
        ab.cost.of_reduction(3, 0, 2)
