"""kill −9 at random moments (short form): files stay whole, and the result is the undisturbed one."""

from __future__ import annotations

import pytest

from tests.soak.faults import faults


@pytest.mark.parametrize("name", ["sweep", "upload"])
def test_killed_and_resumed(name: str) -> None:
    (line,) = faults(rounds=4, names=(name,))
    assert line["kills"] == 4
    assert line["identical"]
