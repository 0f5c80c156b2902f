"""What will not fit into memory is refused before it is built, with the figure."""

from __future__ import annotations

import pytest

from certcore import InputError, ThreatModel, certify
from certcore.common import memory
from tests.sweep.cases import smoothed_like


def test_too_large_a_program_is_refused_with_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, threat = smoothed_like(0, n=40), ThreatModel(attr_del=3)
    assert certify(instance, threat, attack=False).targets == 40
    monkeypatch.setattr(memory, "available_memory", lambda: 500.0)
    with pytest.raises(InputError, match=r"needs about 0\.0 GiB of memory; 0\.0 GiB are free"):
        certify(instance, threat, attack=False)


def test_some_memory_is_there() -> None:
    assert 2**26 < memory.available_memory() < 2**60
