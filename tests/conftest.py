"""Settings for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Reproducible in CI; run with HYPOTHESIS_PROFILE=explore to look for new counterexamples.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("explore", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with development graphs; tests that need it are skipped where it does not exist."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared/data is not here")
    return SHARED
