"""Does what a learner is given fit the world it was made for?"""

from __future__ import annotations

from aggbandit._arrays import check_kind, check_number, check_unit_interval
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.mdp import FiniteHorizonMDP, Trajectory

__all__ = [
    "check_aggregate",
    "check_full",
    "check_steps",
    "check_total",
    "check_trajectory",
    "check_world",
    "failure_probability",
]


def check_full(feedback: FullFeedback, shape: tuple[int, int, int, int], initial_state: int) -> None:
    """Refuse what is no full feedback from the learner's world.

    Args:
        feedback: of an episode.
        shape: (H, S, A, S) of the learner's world.
        initial_state: s_1 of it.

    Raises:
        TypeError: unless it is a `FullFeedback`.
        ValueError: for losses outside [0, 1], or a trajectory of another world.
    """
    check_kind("feedback", feedback, FullFeedback, "ab.FullFeedback.observe(trajectory, loss)")
    check_trajectory(feedback.trajectory, shape, initial_state)
    check_unit_interval("loss", feedback.loss)


def check_steps(feedback: StepFeedback, shape: tuple[int, int, int, int], initial_state: int) -> None:
    """Refuse what is no feedback by steps from the learner's world.

    Args:
        feedback: of an episode.
        shape: (H, S, A, S) of the learner's world.
        initial_state: s_1 of it.

    Raises:
        TypeError: unless it is a `StepFeedback`.
        ValueError: for losses outside [0, 1], or a trajectory of another world.
    """
    check_kind("feedback", feedback, StepFeedback, "ab.StepFeedback.observe(trajectory, loss)")
    check_trajectory(feedback.trajectory, shape, initial_state)
    check_unit_interval("losses", feedback.losses)


def check_aggregate(
    feedback: AggregateFeedback, shape: tuple[int, int, int, int], initial_state: int
) -> None:
    """Refuse what is no aggregate feedback from the learner's world.

    Args:
        feedback: of an episode.
        shape: (H, S, A, S) of the learner's world.
        initial_state: s_1 of it.

    Raises:
        TypeError: unless it is an `AggregateFeedback`.
        ValueError: for a total outside [0, H], or a trajectory of another world.
    """
    check_kind("feedback", feedback, AggregateFeedback, "ab.AggregateFeedback.observe(trajectory, loss)")
    check_trajectory(feedback.trajectory, shape, initial_state)
    check_total(feedback.total, shape[0])


def check_trajectory(trajectory: Trajectory, shape: tuple[int, int, int, int], initial_state: int) -> None:
    """Refuse a trajectory of another world.

    Args:
        trajectory: of an episode.
        shape: (H, S, A, S) of the learner's world.
        initial_state: s_1 of it.

    Raises:
        ValueError: for another shape or another initial state.
    """
    if trajectory.shape != shape:
        raise ValueError(f"the trajectory has shape {trajectory.shape}; expected (H, S, A, S) = {shape}")
    if trajectory.states[0] != initial_state:
        raise ValueError(
            f"the trajectory starts in state {trajectory.states[0]}; the learner starts in {initial_state}"
        )


def check_world(mdp: FiniteHorizonMDP, shape: tuple[int, int, int, int], initial_state: int) -> None:
    """Refuse another world than the learner was made for.

    Args:
        mdp: the world.
        shape: (H, S, A, S) of the learner's world.
        initial_state: s_1 of it.

    Raises:
        ValueError: for another shape or another initial state.
    """
    if mdp.shape != shape:
        raise ValueError(f"the world has shape {mdp.shape}; the learner was made for {shape}")
    if mdp.initial_state != initial_state:
        raise ValueError(
            f"the world starts in state {mdp.initial_state}; the learner was made for {initial_state}"
        )


def check_total(total: float, horizon: int) -> None:
    """Refuse a total that no losses in [0, 1] have; it may leave [0, H] by rounding.

    Args:
        total: of an episode.
        horizon: H.

    Raises:
        ValueError: outside [0, H].
    """
    if not -1e-9 <= total <= horizon * (1 + 1e-9):
        raise ValueError(f"the total is {total}; it must lie in [0, {horizon}]")


def failure_probability(delta: float | None, horizon: int, episodes: int) -> float:
    """With which probability confidence may fail in a run.

    Args:
        delta: as given; 1/(HK) if None, but at most one half.
        horizon: H.
        episodes: K.

    Returns:
        The probability.

    Raises:
        TypeError: for what is no number.
        ValueError: outside (0, 1).
    """
    chosen = min(0.5, 1 / (horizon * episodes)) if delta is None else check_number("delta", delta)
    if not 0 < chosen < 1:
        raise ValueError(f"delta is {chosen}; it must be a probability in (0, 1)")
    return chosen
