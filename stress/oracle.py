"""Every public way to a certified count against the truth, for as long as one likes.

`python -m stress oracle [--minutes M] [--seed S] [--processes P]`: prints JSON lines and a summary; ends with an
error at the first count above the truth. A seed stands for the same questions every time; `--first TURN` goes on where
a run before has ended (its lines tell the next turn).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.oracle.walk import Tally, walk, walk_lengths

#: Seconds between two lines.
TELL = 60.0


def run(seed: int, first: int, step: int, seconds: float) -> dict[str, Any]:
    """Turn after turn until the time is over."""
    tally, turn, told, began = Tally(), first, time.monotonic(), time.monotonic()
    while time.monotonic() - began < seconds:
        walk_lengths(seed, [turn], walk(seed, [turn], tally))
        turn += step
        if time.monotonic() - told > TELL:
            told = time.monotonic()
            print(json.dumps({"seed": seed, "next": turn, "questions": tally.questions, **tally.counts}), flush=True)
    return {"seed": seed, "next": turn, **tally.summary()}


def together(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sums over all processes."""
    ways: dict[str, Counter[str]] = {}
    for part in parts:
        for name, counts in part["ways"].items():
            ways.setdefault(name, Counter()).update(counts)
    sums = {
        name: sum(part.get(name, 0) for part in parts)
        for name in ("questions", "counts", "verified", "attacks", "equal")
    }
    most = max(part["next"] for part in parts)
    return {
        "seed": parts[0]["seed"],
        "next": most,
        **sums,
        "above_the_truth": 0,
        "ways": {name: dict(counts) for name, counts in sorted(ways.items())},
    }


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m stress oracle", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="TURN")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(argv)
    jobs = [(args.seed, args.first + place, args.processes, 60 * args.minutes) for place in range(args.processes)]
    if args.processes == 1:
        parts = [run(*jobs[0])]
    else:
        with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
            parts = pool.starmap(run, jobs)
    print(json.dumps(together(parts)), flush=True)
