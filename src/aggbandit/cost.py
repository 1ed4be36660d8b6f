"""What a run will cost, said beforehand: memory and time of the reduction (Algorithms 3 and 2) by its sizes.

The counts are those of the algorithm, H S² A entries of an occupancy measure, H S³ A terms of the coupling
between steps; the factors in front of them were measured, and `make bench` prints them beside what it
measures. They say whether a run takes a second, a minute or a day, not more: machines differ by a factor.
"""

from __future__ import annotations

from dataclasses import dataclass

from aggbandit._arrays import check_positive_int

__all__ = ["Cost", "of_reduction"]

# Arrays with an entry a transition, of eight bytes each, that are held at the same time at most.
ARRAYS = 26
# Square blocks of the flow equations a step, of eight bytes an entry.
BLOCKS = 4
# Seconds: of an episode, of an entry of x in it, of a term of the coupling in it.
COMPILED = (1.5e-6, 9e-8, 2.5e-10)
REFERENCE = (4e-3, 1.5e-6, 5e-10)


@dataclass(frozen=True)
class Cost:
    """What an `AggregateFeedbackLearner` costs.

    Attributes:
        bytes: the most memory it holds at a time, played by the compiled engine; the reference may take twice
            as much.
        seconds_compiled: an episode by the compiled engine, on one core.
        seconds_reference: an episode by the reference, on one core.
    """

    bytes: int
    seconds_compiled: float
    seconds_reference: float


def of_reduction(horizon: int, n_states: int, n_actions: int) -> Cost:
    """Estimate what an `AggregateFeedbackLearner` of these sizes costs.

    Memory grows like `H S² A`, an episode's time like `H S² A` while S is small and like `H S³ A` when it is
    large.

    Args:
        horizon: H, the steps of an episode.
        n_states: S, the states.
        n_actions: A, the actions.

    Returns:
        The estimate.

    Raises:
        ValueError: for a size that is not a positive integer.

    Example:
        >>> import aggbandit as ab
        >>> ab.cost.of_reduction(horizon=11, n_states=501, n_actions=6).bytes > 2e9  # Taxi
        True
    """
    for name, value in (("horizon", horizon), ("n_states", n_states), ("n_actions", n_actions)):
        check_positive_int(name, value)
    # As Python's integers: NumPy's small ones run over.
    horizon, n_states, n_actions = int(horizon), int(n_states), int(n_actions)
    entries = horizon * n_states**2 * n_actions
    counts = (1, entries, entries * n_states)
    return Cost(
        bytes=8 * (ARRAYS * entries + BLOCKS * horizon * n_states**2),
        seconds_compiled=sum(count * each for count, each in zip(counts, COMPILED, strict=True)),
        seconds_reference=sum(count * each for count, each in zip(counts, REFERENCE, strict=True)),
    )
