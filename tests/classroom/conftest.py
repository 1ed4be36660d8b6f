"""The tools of a course, importable by their tests; a jail, which must be there wherever there can be one."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_tools"))
from classroom import jail


@pytest.fixture(scope="session")
def jailed():
    """What starts a worker in a jail."""
    try:
        jail.jailed(jail.Limits()).close()
    except jail.NoJail as error:
        if sys.platform == "linux":
            raise
        # Bubblewrap is made of Linux namespaces: elsewhere there is nothing to install, and nothing to test.
        pytest.skip(f"no jail here: {error}")
    return jail.jailed
