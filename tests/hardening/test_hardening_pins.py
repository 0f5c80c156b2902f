"""Dependencies are pinned, and the lock file with hashes speaks of the same versions."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text()
    return {m[1].lower(): m[2] for m in re.finditer(r"^([A-Za-z0-9_.-]+)==([^\s#\\]+)", text, re.MULTILINE)}


def test_every_requirement_has_an_exact_version() -> None:
    for name in ("requirements.txt", "requirements-train.txt", "requirements-dev.txt"):
        lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith(("#", "-r"))]
        assert len(pins(name)) == len(lines), name


def test_the_lock_file_agrees_and_has_hashes() -> None:
    locked = pins("requirements.lock")
    for package, version in pins("requirements.txt").items():
        assert locked[package] == version
    text = (ROOT / "requirements.lock").read_text()
    assert text.count("--hash=sha256:") > len(locked)
    assert "://" not in text
