"""What the unit tests share: a test that draws leaves no figure behind for the next one to find."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close what a test drew; a test that draws nothing does not import matplotlib for this."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
