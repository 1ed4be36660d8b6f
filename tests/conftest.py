"""What all tests share: reproducible Hypothesis, and one seeded generator a test."""

import numpy as np
import pytest
from hypothesis import settings

# Derandomized: the same examples on every run, so that a red run can be repeated.
settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("reproducible")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
