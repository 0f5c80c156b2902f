"""`make soak`: the long forms of the load, fault and fuzz tests. Prints one JSON line for each part.

`python -m tests.soak [fuzz|load|faults …]` runs some of them; without a name all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from tests.soak.faults import faults
from tests.soak.load import ROOT, load

FUZZ = {"instance": 9000, "votes": 6000, "proof": 9000}


def fuzz() -> None:
    """Mutated files, in processes with limits on memory and time."""
    for kind, count in FUZZ.items():
        command = [sys.executable, "-W", "ignore", "-m", "tests.hardening.fuzz", kind, str(count), "2"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)
        if run.returncode:
            raise SystemExit(f"fuzzing {kind} failed: {run.stderr[-1500:]}")
        print(run.stdout.strip(), flush=True)


def main() -> None:
    wanted = sys.argv[1:] or ["fuzz", "load", "faults"]
    started = time.time()
    if "fuzz" in wanted:
        fuzz()
    if "load" in wanted:
        result = load(sessions=16, seconds=180)
        print(json.dumps(result), flush=True)
        if result["wrong"] or result["errors"] or result["log"]:
            raise SystemExit("the load test found wrong numbers or errors")
    if "faults" in wanted:
        for line in faults(rounds=25):
            print(json.dumps(line), flush=True)
    print(json.dumps({"seconds": round(time.time() - started)}))


if __name__ == "__main__":
    main()
