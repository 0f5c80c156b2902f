"""Mutated instance, vote and proof files and uploads: a result or one sentence, nothing else (short form)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", ["instance", "votes", "proof", "upload"])
def test_mutated_input_is_answered_with_a_sentence(kind: str, tmp_path: Path) -> None:
    """In a process of its own with limits on memory and time, from an empty folder that must stay empty."""
    command = [sys.executable, "-m", "tests.hardening.fuzz", kind, "600", "1"]
    run = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "", "CERTCORE_CACHE": str(tmp_path / "cache")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    result = json.loads(run.stdout)
    assert sum(result["outcomes"].values()) == 600
    assert result["outcomes"]["refused"] > 100
    assert result["slowest"] < 20
    assert {p.name for p in tmp_path.iterdir()} <= {"cache"}
