from __future__ import annotations

from collections.abc import Iterator

import pytest

from certcore.server import app
from tests.server.client import Client, served


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    with served(app) as found:
        yield found


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    made = Client(port)
    yield made
    made.close()
