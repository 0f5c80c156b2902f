"""Waiting for what other threads and processes do, without guessing how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], patience: float = 30.0) -> None:
    """Wait for something that happens elsewhere, and no longer than it takes."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
