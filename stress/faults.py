"""Faults: kill −9 at random moments, many times; then every file is whole, and the end result is the undisturbed one.

Each scenario is a real command. It is run once to the end for the truth; then again and again in a fresh folder,
killed at a random moment and started anew, until it has come through. Half of the moments are anywhere in the run, the
others within milliseconds after a file has appeared or changed, where writing goes on.
`python -m stress.faults ROUNDS [SCENARIO …]`.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
import os
import random
import shutil
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
from certcore.common.files import cache_folder

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = str(ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz")

TOGETHER = "several processes on one cache"

UPLOAD = """
import sys
from pathlib import Path
from pages.files.bundles import keep
data = Path(sys.argv[1]).read_bytes()
for number in range(12):
    keep(data, f"upload-{number}.npz")
"""


FRONTS = """
import hashlib
import sys
from certcore import load_instance
from certcore.common.files import atomic_write
points = load_instance(sys.argv[1]).base.fronts().points
with atomic_write("fronts.txt", "w") as file:
    file.write(hashlib.sha256(points.tobytes()).hexdigest())
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
    """Every column; bounds to three digits: another way to the same optimum proves it with other dual values."""
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert rows
    for row in rows:
        row["bound"] = f"{float(row['bound']):.3f}"
    return json.dumps(rows)


def _imports(path: Path) -> str:
    return str({load_instance(file).digest for file in path.glob("*.npz")})


SCENARIOS = (
    Scenario(
        "voting and bundle writing",
        ["-m", "experiments", "bundle", "citeseer", "gcn", "attr", "--epochs", "20", "--samples", "4000",
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
    Scenario("threshold cache", ["-c", FRONTS, BUNDLE], "fronts.txt", Path.read_text),
    Scenario("upload", ["-c", UPLOAD, BUNDLE], "imports", _imports),
)  # fmt: skip


def faults(rounds: int, names: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Run the scenarios; yields one line for each, and fails at the first wrong result."""
    for scenario in SCENARIOS:
        if not names or scenario.name in names:
            yield _disturb(scenario, rounds)
    if not names or TOGETHER in names:
        yield together(max(1, rounds // 5))


def together(rounds: int, processes: int = 3) -> dict[str, Any]:
    """Several processes start at once on one empty cache; all come to the same result, and the cache is whole."""
    scenario = next(s for s in SCENARIOS if s.name == "threshold cache")
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            shared = dataclasses.replace(scenario, fresh_cache=False)
            folders = [Path(name) / str(number) for number in range(processes)]
            running = [_start(shared, folder) for folder in folders]
            if any(process.wait(timeout=600) for process in running):
                raise AssertionError("processes that share a cache fail")
            if len({scenario.content(folder / scenario.result) for folder in folders}) != 1:
                raise AssertionError("processes that share a cache differ")
            tables = list((Path(name) / "cache").glob("*.npz"))
            if not tables:
                raise AssertionError("nothing was put into the cache")
            _all_whole(Path(name), TOGETHER)
    return {"scenario": TOGETHER, "rounds": rounds, "processes": processes, "identical": True}


def _disturb(scenario: Scenario, rounds: int) -> dict[str, Any]:
    rng = random.Random(scenario.name)
    with tempfile.TemporaryDirectory() as folder:
        calm = Path(folder) / "calm"
        if not scenario.fresh_cache:
            _lend_datasets(Path(folder) / "cache")
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
            if rng.random() < 0.5:
                _wait(process, rng.uniform(0.05, 1.0) * duration)
            else:
                _wait_for_writing(process, wild, rng.randint(1, 3), 20 * duration)
                time.sleep(rng.uniform(0.0, 0.01))
            code = process.poll()
            if code is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                _all_whole(wild, scenario.name)
                if (wild / scenario.result).is_file():
                    _check(scenario, wild, truth)
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


def _lend_datasets(cache: Path) -> None:
    """Datasets that are on this machine already need not be fetched again."""
    mine = cache_folder() / "datasets"
    if mine.is_dir():
        shutil.copytree(mine, cache / "datasets")


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)


def _wait_for_writing(process: subprocess.Popen[bytes], folder: Path, changes: int, seconds: float) -> None:
    """Until files have appeared, grown or gone so many times, or the process has ended."""
    before, deadline = _files(folder), time.monotonic() + seconds
    while changes and process.poll() is None and time.monotonic() < deadline:
        now = _files(folder)
        if now != before:
            before, changes = now, changes - 1
        time.sleep(0.001)


def _files(folder: Path) -> set[tuple[str, int]]:
    found = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                found.add((name, os.stat(os.path.join(parent, name)).st_size))
    return found


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
    from certcore.common.errors import InputError
    from certcore.common.npz import read_npz

    for path in folder.rglob("*.npz"):
        if not path.name.startswith("."):
            try:
                read_npz(path)
            except InputError as error:
                raise AssertionError(f"{name}: {path.name} is broken after a kill: {error}") from error


if __name__ == "__main__":
    for line in faults(int(sys.argv[1]), tuple(sys.argv[2:])):
        print(json.dumps(line), flush=True)
