"""Checks of what a reader writes: which rule is violated, where, by how much; never the answer.

Each check is called with a function of the reader's own::

    from aggbandit import checks

    checks.occupancy(my_occupancy)

and says what the function breaks on instances made for this. The same checks mark problem sets.
"""

from aggbandit.checks.occupancies import occupancy
from aggbandit.checks.report import Check, Fault, Report

ALL: dict[str, Check] = {made.name: made for made in [occupancy]}

__all__ = ["ALL", "Check", "Fault", "Report", "occupancy"]
