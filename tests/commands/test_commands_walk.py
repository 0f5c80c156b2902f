"""Every command answers about every shipped bundle, with nothing but the file; what it prints is proven.

`make test` walks a third of bundles and commands with a short time limit; `make test-all` all of them as they are.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from certcore.cli import main
from certcore.cli.options import TIME_LIMIT

BUNDLES = sorted(Path(__file__).resolve().parents[2].glob("precomputed/*.npz"))
COMMANDS = ("certify", "curve", "surface", "radius", "defend", "report")
ALL = os.environ.get("CERTCORE_WALK") == "all"
#: A short limit, for the walk that is part of `make test`.
SHORT = 5.0
#: Seconds beside the limit: reading the file, drawing a graph of PubMed's size, checking the proof, and a busy machine.
BESIDE = 30.0

WALK = [(path, name) for path in BUNDLES for name in COMMANDS]
THIRD = [one for k, one in enumerate(WALK) if (k // len(COMMANDS) + k) % 3 == 0]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "command"), WALK if ALL else THIRD, ids=lambda part: getattr(part, "stem", part))
def test_a_command_answers_with_an_instance_alone(
    path: Path, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    limit = [] if ALL else ["--time-limit", str(SHORT)]
    started = time.monotonic()
    assert main([command, str(path), *limit, "--json"]) == 0
    assert time.monotonic() - started < (TIME_LIMIT if ALL else SHORT) + BESIDE
    found = json.loads(capsys.readouterr().out)
    points = found.get("points", [found])
    assert points
    for point in points:
        assert 0 <= point["certified"] <= found["targets"]
        assert point.get("verified", True) is True
        if "naive_certified" in point:
            assert point["certified"] >= point["naive_certified"]
    if command == "report":
        files = {Path(file).name for file in found["files"]}
        assert {"report.html", "curve.pdf", "curve.csv", "instance.npz"} <= files
        assert len(files) <= 12


def test_a_third_has_every_bundle_and_every_command() -> None:
    assert {path for path, _ in THIRD} == set(BUNDLES)
    assert {name for _, name in THIRD} == set(COMMANDS)
    assert len(THIRD) <= len(WALK) // 3 + 1
