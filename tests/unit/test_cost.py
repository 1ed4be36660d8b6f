"""What a run costs, by its sizes."""

import pytest

import aggbandit as ab


def test_the_order_of_magnitude_is_what_was_measured():
    """Not a time: the estimate alone, against Taxi's and the running example's orders."""
    small, taxi = ab.cost.of_reduction(3, 3, 2), ab.cost.of_reduction(11, 501, 6)
    assert small.seconds_compiled < 1e-4
    assert small.bytes < 1e6
    assert 1 < taxi.seconds_compiled < 100
    assert 2e9 < taxi.bytes < 1e10


@pytest.mark.parametrize("axis", range(3))
def test_a_larger_world_costs_more(axis):
    sizes = [4, 5, 3]
    larger = sizes.copy()
    larger[axis] += 1
    one, two = ab.cost.of_reduction(*sizes), ab.cost.of_reduction(*larger)
    assert one.bytes < two.bytes
    assert one.seconds_compiled < two.seconds_compiled
    assert one.seconds_reference < two.seconds_reference


def test_sizes_are_positive_integers():
    with pytest.raises(ValueError, match=r"n_states is 0; it must be an integer of at least 1"):
        ab.cost.of_reduction(3, 0, 2)
