"""From three dimensions to the page, without perspective."""

from __future__ import annotations

import numpy as np

from aggbandit._arrays import FloatArray


def view(azimuth: float, elevation: float) -> FloatArray:
    """The page's two directions, seen from this azimuth and elevation in degrees; shape (2, 3)."""
    a, e = np.radians(azimuth), np.radians(elevation)
    return np.array(
        [
            [-np.sin(a), np.cos(a), 0.0],
            [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)],
        ]
    )
