"""`make stress`: the long forms of the load, fuzz, fault and enumeration tests, about forty minutes on two cores.

Prints JSON lines and at the end a summary; ends with an error at the first finding.
`python -m stress [load|fuzz|faults|ballots|strong|real|links|oracle|refute …]` runs some of them; without a name all.
Of `oracle` or `refute` alone, options may follow: `python -m stress oracle --minutes 30 --seed 2`.
`python -m stress mutants` takes long and is not one of them (`stress/mutants.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

from stress import ballots, links, mutants, oracle, real, refute
from stress.faults import faults
from stress.load import ROOT, load
from stress.strong import run as judge_many

FUZZ = {"instance": 9000, "votes": 6000, "proof": 9000, "upload": 4000}


def fuzz() -> None:
    """Mutated files, in processes with limits on memory and time."""
    for kind, count in FUZZ.items():
        command = [sys.executable, "-W", "ignore", "-m", "tests.hardening.fuzz", kind, str(count), "2"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)
        if run.returncode:
            raise SystemExit(f"fuzzing {kind} failed: {run.stderr[-1500:]}")
        print(run.stdout.strip(), flush=True)


def hold() -> None:
    """Sixteen visitors for three minutes, four of them on PubMed."""
    result = load(sessions=16, seconds=180, pubmed=4)
    print(json.dumps(result), flush=True)
    if result["wrong"] or result["errors"] or result["log"] or not result["fewest_per_session"]:
        raise SystemExit("the load test found wrong numbers, errors or a visitor without any number")


def told(lines: Iterable[object]) -> None:
    for line in lines:
        print(json.dumps(line), flush=True)


def open_links() -> None:
    """Every address people have kept, in Chromium."""
    if links.run():
        raise SystemExit("a link that people have kept does not open what it says")


PARTS: dict[str, Callable[[], None]] = {
    "load": hold,
    "fuzz": fuzz,
    # kill −9 and shared caches.
    "faults": lambda: told(faults(rounds=25)),
    # A million perturbations of small graphs.
    "ballots": lambda: told([ballots.run(0, ballots.MILLION, seed=0, seconds=3600, state=None)]),
    # Strong certificates of small instances of every kind against enumeration, ten minutes of one core.
    "strong": lambda: told([judge_many(600)]),
    # Programs of linear classifiers under Gaussian noise, every set of targets.
    "real": lambda: told([real.run(3000)]),
    "links": open_links,
    "oracle": oracle.main,
    "refute": refute.main,
}


def main() -> None:
    alone = {"oracle": oracle.main, "refute": refute.main, "mutants": mutants.main}
    if sys.argv[1:2] and sys.argv[1] in alone:
        alone[sys.argv[1]](sys.argv[2:])
        return
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        raise SystemExit(f"there is no part {unknown[0]!r}; expected {', '.join(PARTS)}")
    summary = {}
    for name in wanted:
        started = time.time()
        PARTS[name]()
        summary[name] = f"passed in {time.time() - started:.0f} s"
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
