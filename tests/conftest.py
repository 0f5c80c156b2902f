"""Settings for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from certcore.common.files import cache_folder

# Two processes of tests on two cores: threads of torch would mostly wait for each other, for minutes under load.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Compiled once for all tests, also for those with a cache of their own.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))

# Reproducible in CI; run with HYPOTHESIS_PROFILE=explore to look for new counterexamples.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("explore", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

#: Files that take longest, in this order (64 to 10 processor seconds). They come first, those of `browser` before all,
#: so that no process is left alone with one of them at the end.
LONG = (
    "hardening_server", "net_numbers", "pages_controls", "docs_commands", "oracle_walk", "engine_large", "pages_again",
    "checker_files", "votes_run", "docs_examples", "checker_agrees", "pipeline_architectures", "engine_strong",
    "commands_walk", "export_report", "pages_model_attack", "figures_print", "pages_links",
    "engine_certify", "hardening_faults", "models_training", "pipeline_smooth", "pages_compare",
)  # fmt: skip

#: Folders about what people see and keep. How good an attack is found is not their subject: that is asked of the
#: engine, of sweeps and of the net.
SHOWN = ("experiments", "export", "figures", "hardening", "notebook", "pages", "messages")

#: The program that runs the tests, as it is before any page has run.
MAIN = sys.modules["__main__"]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {f"test_{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: (item.path.parent.name != "browser", rank.get(item.path.stem, len(rank))))


@pytest.fixture(autouse=True)
def the_same_program() -> None:
    """Streamlit puts a page that it runs in the place of the program; a process started later would run that page."""
    sys.modules["__main__"] = MAIN


@pytest.fixture(autouse=True)
def short_attacks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Annealing is half of what a page costs on a toy."""
    if request.path.parent.name not in SHOWN:
        yield
        return
    from tests.support import few_steps  # numpy is loaded after the number of threads is set

    with few_steps():
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with development graphs; tests that need it are skipped where it does not exist."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared/data is not here")
    return SHARED
