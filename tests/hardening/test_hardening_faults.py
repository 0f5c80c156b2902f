"""kill −9 at random moments (short form): files stay whole, and the result is the undisturbed one.

Voting is in `tests/votes`, the writing of bundles in `test_hardening_files`.
"""

from __future__ import annotations

import pytest

from stress.faults import faults, together


@pytest.mark.parametrize("name", ["sweep", "upload", "threshold cache"])
def test_killed_and_resumed(name: str) -> None:
    (line,) = faults(rounds=2, names=(name,))
    assert line["kills"] == 2
    assert line["identical"]


def test_processes_that_share_a_cache_do_not_harm_it() -> None:
    assert together(rounds=1)["identical"]
