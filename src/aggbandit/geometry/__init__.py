"""Convex sets and what a barrier makes of them."""

from aggbandit.geometry._newton import NoMinimizer
from aggbandit.geometry.barrier import LogBarrier
from aggbandit.geometry.bodies import box, cross_polytope, random_polygon, regular_polygon, simplex
from aggbandit.geometry.dikin import DikinEllipsoid
from aggbandit.geometry.known_world import (
    OccupancyCoordinates,
    known_occupancy_polytope,
    occupancy_coordinates,
)
from aggbandit.geometry.occupancy_barrier import OccupancyBarrier, OccupancyDikin
from aggbandit.geometry.occupancy_set import OccupancySet
from aggbandit.geometry.polytope import Polytope
from aggbandit.geometry.protocol import Barrier, Ellipsoid, Step
from aggbandit.geometry.thickened import ThickenedSet

__all__ = [
    "Barrier",
    "DikinEllipsoid",
    "Ellipsoid",
    "LogBarrier",
    "NoMinimizer",
    "OccupancyBarrier",
    "OccupancyCoordinates",
    "OccupancyDikin",
    "OccupancySet",
    "Polytope",
    "Step",
    "ThickenedSet",
    "box",
    "cross_polytope",
    "known_occupancy_polytope",
    "occupancy_coordinates",
    "random_polygon",
    "regular_polygon",
    "simplex",
]
