"""Strong certificates of thousands of small instances against enumeration: `python -m stress.strong SECONDS`.

Each number is one instance: a third of them have one type and nothing else, a third up to two types, σ and local
budgets where fractions pay, a third all that a threat model can say (four types, shares, budgets per node,
protection, directed graphs, targets, explicit fields). For each, truth ≤ strong ≤ tight ≤ paper, every bound on the way
stands too, and the attack is one. Ends with an error at the first finding. With `--keep FILE` it goes on where the last
call ended; the suite's short form is `judged` for a few numbers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.engine.strong_cases import judged


def run(seconds: float, keep: Path | None = None) -> dict[str, Any]:
    """Judge one number after the other for so many processor seconds."""
    state: dict[str, Any] = {"next": 0, "seconds": 0.0, "counts": {}}
    if keep is not None and keep.exists():
        state = json.loads(keep.read_text(encoding="utf-8"))
    counts: Counter[str] = Counter(state["counts"])
    before, began = state["seconds"], time.process_time()
    while time.process_time() - began < seconds:
        counts += judged(state["next"])
        state["next"] += 1
        state["seconds"], state["counts"] = round(before + time.process_time() - began, 1), dict(sorted(counts.items()))
        if keep is not None and state["next"] % 100 == 0:
            keep.write_text(json.dumps(state), encoding="utf-8")
    if keep is not None:
        keep.write_text(json.dumps(state), encoding="utf-8")
    if counts["one type, strong is the truth"] < 0.95 * counts["one type, all"]:
        raise SystemExit(f"with one type, strong is the truth too seldom: {state}")
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, help="processor seconds")
    parser.add_argument("--keep", type=Path, help="a JSON file to go on from")
    args = parser.parse_args()
    print(json.dumps(run(args.seconds, args.keep)))


if __name__ == "__main__":
    main()
