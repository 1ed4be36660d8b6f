"""Online Markov decision processes with aggregate bandit feedback."""

from aggbandit import losses, worlds
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.learners.fixed import FixedPolicy
from aggbandit.learners.leader import FollowTheLeader, losses_against_the_leader
from aggbandit.learners.protocol import EpisodeLearner, VectorLearner
from aggbandit.losses import LossSequence
from aggbandit.mdp import (
    FiniteHorizonMDP,
    Trajectory,
    deterministic_policies,
    enumerate_trajectories,
    uniform_policy,
)
from aggbandit.occupancy import (
    check_occupancy,
    dynamics_of,
    free_occupancy_lp,
    occupancy_lp,
    policy_of,
)
from aggbandit.simulation import History, simulate
from aggbandit.worlds import (
    RewardScale,
    World,
    chain,
    from_gymnasium,
    layered_grid,
    night_driver,
    random_mdp,
)

__all__ = [
    "AggregateFeedback",
    "EpisodeLearner",
    "FiniteHorizonMDP",
    "FixedPolicy",
    "FollowTheLeader",
    "FullFeedback",
    "History",
    "LossSequence",
    "RewardScale",
    "StepFeedback",
    "Trajectory",
    "VectorLearner",
    "World",
    "chain",
    "check_occupancy",
    "deterministic_policies",
    "dynamics_of",
    "enumerate_trajectories",
    "free_occupancy_lp",
    "from_gymnasium",
    "layered_grid",
    "losses",
    "losses_against_the_leader",
    "night_driver",
    "occupancy_lp",
    "policy_of",
    "random_mdp",
    "simulate",
    "uniform_policy",
    "worlds",
]
