"""Base certificates must not read or fill the tables of whoever runs the tests."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CERTCORE_CACHE", str(tmp_path_factory.mktemp("tables")))
        yield
