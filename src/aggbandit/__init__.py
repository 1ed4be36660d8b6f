"""Online Markov decision processes with aggregate bandit feedback."""

from aggbandit import cost, game, geometry, learners, losses, occupancy, theory, worlds
from aggbandit.feedback import AggregateFeedback, FullFeedback, StepFeedback
from aggbandit.game import DistortedBandit
from aggbandit.geometry import (
    Barrier,
    LogBarrier,
    OccupancyBarrier,
    OccupancySet,
    Polytope,
    known_occupancy_polytope,
    occupancy_coordinates,
    random_polygon,
    regular_polygon,
    simplex,
)
from aggbandit.history import History
from aggbandit.learners import epochs
from aggbandit.learners.confidence import (
    CorrectedConfidence,
    TightConfidence,
    empirical_dynamics,
)
from aggbandit.learners.fixed import FixedPolicy
from aggbandit.learners.increasing_rates import IncreasingRateOMD, scrible
from aggbandit.learners.leader import FollowTheLeader
from aggbandit.learners.mirror_descent import mirror_descent
from aggbandit.learners.optimistic import OptimisticEXP2
from aggbandit.learners.policy_optimization import PolicyRates, UFunctionLearner
from aggbandit.learners.protocol import (
    ChecksBeforehand,
    EpisodeLearner,
    HasEpochs,
    Resumable,
    VectorLearner,
)
from aggbandit.learners.rates import ConstantRate, IncreasingRate, theorem_rates, tuned_rates
from aggbandit.learners.reduction import AggregateFeedbackLearner, RunningMean
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
    policy_of,
)
from aggbandit.simulation import resume, simulate
from aggbandit.sweeps import Sweep, sweep
from aggbandit.worlds import (
    World,
    from_gymnasium,
    layered_grid,
    night_driver,
    random_mdp,
)

__all__ = [
    "AggregateFeedback",
    "AggregateFeedbackLearner",
    "Barrier",
    "ChecksBeforehand",
    "ConstantRate",
    "CorrectedConfidence",
    "DistortedBandit",
    "EpisodeLearner",
    "FiniteHorizonMDP",
    "FixedPolicy",
    "FollowTheLeader",
    "FullFeedback",
    "HasEpochs",
    "History",
    "IncreasingRate",
    "IncreasingRateOMD",
    "LogBarrier",
    "LossSequence",
    "OccupancyBarrier",
    "OccupancySet",
    "OptimisticEXP2",
    "PolicyRates",
    "Polytope",
    "Resumable",
    "RunningMean",
    "StepFeedback",
    "Sweep",
    "TightConfidence",
    "Trajectory",
    "UFunctionLearner",
    "VectorLearner",
    "World",
    "check_occupancy",
    "cost",
    "deterministic_policies",
    "dynamics_of",
    "empirical_dynamics",
    "enumerate_trajectories",
    "epochs",
    "from_gymnasium",
    "game",
    "geometry",
    "known_occupancy_polytope",
    "layered_grid",
    "learners",
    "losses",
    "mirror_descent",
    "night_driver",
    "occupancy",
    "occupancy_coordinates",
    "policy_of",
    "random_mdp",
    "random_polygon",
    "regular_polygon",
    "resume",
    "scrible",
    "simplex",
    "simulate",
    "sweep",
    "theorem_rates",
    "theory",
    "tuned_rates",
    "uniform_policy",
    "worlds",
]
