"""Convex sets and what a barrier makes of them."""

from aggbandit.geometry.barrier import Barrier, LogBarrier, Step
from aggbandit.geometry.dikin import DikinEllipsoid, Ellipsoid
from aggbandit.geometry.polytope import Polytope

__all__ = ["Barrier", "DikinEllipsoid", "Ellipsoid", "LogBarrier", "Polytope", "Step"]
