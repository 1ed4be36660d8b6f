"""The distorted linear bandit: its rules, who moves the hand, and games played with many seeds at once."""

from aggbandit.game.adversaries import (
    Adversary,
    AgainstEstimator,
    Freezing,
    RandomMove,
    Silencing,
    TowardsWorstVertex,
    Undistorted,
)
from aggbandit.game.contests import Contest, ContestHistory
from aggbandit.game.polygons import PolygonOMD, play_polygons, polygon_of_arms, replay_polygons
from aggbandit.game.protocol import Body, DistortedBandit, GameHistory, Round
from aggbandit.game.rules import RuleViolation, View, allowance, largest_step, moved_towards
from aggbandit.game.samplers import DrawArm, Exactly, RandomChord, Sampler
from aggbandit.game.two_arms import FreezingGame, freezing_epsilon, play_freezing, replay_freezing

__all__ = [
    "Adversary",
    "AgainstEstimator",
    "Body",
    "Contest",
    "ContestHistory",
    "DistortedBandit",
    "DrawArm",
    "Exactly",
    "Freezing",
    "FreezingGame",
    "GameHistory",
    "PolygonOMD",
    "RandomChord",
    "RandomMove",
    "Round",
    "RuleViolation",
    "Sampler",
    "Silencing",
    "TowardsWorstVertex",
    "Undistorted",
    "View",
    "allowance",
    "freezing_epsilon",
    "largest_step",
    "moved_towards",
    "play_freezing",
    "play_polygons",
    "polygon_of_arms",
    "replay_freezing",
    "replay_polygons",
]
