"""Faults: kill −9 at random moments, many times; then every file is whole, and the end result is the undisturbed one.

Each scenario is a real command. It is run once to the end for the truth; then again and again in a fresh folder,
killed at a random moment and started anew, until it has come through. `python -m tests.soak.faults ROUNDS`.
"""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certcore import load_instance

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = str(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")

UPLOAD = """
import sys
from pathlib import Path
from pages.shared.bundles import keep
data = Path(sys.argv[1]).read_bytes()
for number in range(12):
    keep(data, f"upload-{number}.npz")
"""


@dataclass(frozen=True)
class Scenario:
    """A command, the file it makes, and how its content is compared."""

    name: str
    command: list[str]
    result: str
    content: Callable[[Path], str]
    fresh_cache: bool = True
    """Whether each attempt starts with an empty cache; otherwise downloads are shared."""


def _instance(path: Path) -> str:
    return load_instance(path).digest


def _table(path: Path) -> str:
    """Every column; bounds to six digits, because another way to the same optimum proves it with other multipliers."""
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert rows
    for row in rows:
        row["bound"] = f"{float(row['bound']):.6f}"
    return json.dumps(rows)


def _imports(path: Path) -> str:
    return str(sorted(load_instance(file).digest for file in path.glob("*.npz"))[-1:])


SCENARIOS = (
    Scenario(
        "voting and bundle writing",
        ["-m", "certcore", "bundle", "citeseer", "gcn", "attr", "--split", "0", "--samples", "4000",
         "--jobs", "1", "--work", "work", "-o", "bundle.npz"],
        "bundle.npz",
        _instance,
        fresh_cache=False,
    ),
    Scenario(
        "sweep",
        (
            f"-m certcore surface {BUNDLE} --x attr_add --x-values 0:2 --y attr_del --y-values 0:12 "
            "--checkpoint cells.npz -o surface.csv"
        ).split(),
        "surface.csv",
        _table,
    ),
    Scenario("threshold cache", [*f"-m certcore base {BUNDLE} -o grid.npz".split()], "grid.npz", _instance),
    Scenario("upload", ["-c", UPLOAD, BUNDLE], "imports", _imports),
)  # fmt: skip


def faults(rounds: int, names: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Run the scenarios; yields one line for each, and fails at the first wrong result."""
    for scenario in SCENARIOS:
        if not names or scenario.name in names:
            yield _disturb(scenario, rounds)


def _disturb(scenario: Scenario, rounds: int) -> dict[str, Any]:
    rng = random.Random(scenario.name)
    with tempfile.TemporaryDirectory() as folder:
        calm = Path(folder) / "calm"
        started = time.monotonic()
        process = _start(scenario, calm)
        if process.wait(timeout=1200):
            raise AssertionError(f"{scenario.name} fails even undisturbed")
        duration = time.monotonic() - started
        truth = scenario.content(calm / scenario.result)
        kills = completed = 0
        wild = Path(folder) / "wild-0"
        while kills < rounds:
            process = _start(scenario, wild)
            try:
                code = process.wait(timeout=rng.uniform(0.05, 1.0) * duration)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                _all_whole(wild, scenario.name)
                continue
            if code:
                raise AssertionError(f"{scenario.name} fails after {kills} kills")
            _check(scenario, wild, truth)
            completed += 1
            wild = Path(folder) / f"wild-{completed}"
        if _start(scenario, wild).wait(timeout=1200):
            raise AssertionError(f"{scenario.name} does not recover after {kills} kills")
        _check(scenario, wild, truth)
        return {"scenario": scenario.name, "kills": kills, "completed": completed + 1, "identical": True}


def _start(scenario: Scenario, folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "CERTCORE_CACHE": str((folder if scenario.fresh_cache else folder.parent) / "cache"),
        "CERTCORE_IMPORTS": str(folder / "imports"),
    }
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *scenario.command], cwd=folder, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _check(scenario: Scenario, folder: Path, truth: str) -> None:
    if scenario.content(folder / scenario.result) != truth:
        raise AssertionError(f"{scenario.name}: the result after kills differs from the undisturbed one")


def _all_whole(folder: Path, name: str) -> None:
    """Files with their final names can be read; only temporary ones may be half written."""
    from certcore.npz import read_npz

    for path in folder.rglob("*.npz"):
        if not path.name.startswith("."):
            try:
                read_npz(path)
            except ValueError as error:
                raise AssertionError(f"{name}: {path.name} is broken after a kill: {error}") from error


if __name__ == "__main__":
    for line in faults(int(sys.argv[1])):
        print(json.dumps(line), flush=True)
