"""Does what a learner is given fit the world it was made for?"""

from __future__ import annotations

from aggbandit.mdp import FiniteHorizonMDP, Trajectory

__all__ = ["check_total", "check_trajectory", "check_world"]


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
