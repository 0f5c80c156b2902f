"""Ballots against enumeration, for as many perturbations as one likes; goes on where it stopped.

python -m stress.ballots --perturbations 1000000 --state FILE [--seconds 540]    from graph 0 on, or from where FILE is

Graph number k is the same in every run with the same seed, so a finding is repeated by `--from k`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

from certcore.common.files import atomic_write
from tests.ballots.enumeration import Counts, Violation, enumerate_graph

#: So often what is done is written down.
EVERY = 5
MILLION = 10**6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perturbations", type=int, default=MILLION, help="up to this number")
    parser.add_argument("--from", type=int, default=0, dest="first", help="first graph (default: where the state is)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=540, help="stop after so many; run again to go on")
    parser.add_argument("--state", type=Path, help="file in which counts are kept")
    args = parser.parse_args()
    try:
        print(json.dumps(run(args.first, args.perturbations, args.seed, args.seconds, args.state)))
    except Violation as found:
        print(f"finding: {found}")
        sys.exit(1)


def run(first: int, perturbations: int, seed: int, seconds: float, state: Path | None) -> dict[str, Any]:
    """Counts so far, with the number of the next graph and the processor seconds they took."""
    counts, before, number = Counts(), 0.0, first
    if state is not None and state.exists():
        kept = json.loads(state.read_text(encoding="utf-8"))
        if kept["seed"] != seed:
            raise SystemExit(f"{state} was made with the seed {kept['seed']}; give that one, or another file")
        number, before, counts = kept["next"], kept["cpu_seconds"], Counts(**kept["counts"])
    started, cpu = time.perf_counter(), time.process_time()

    def done() -> dict[str, Any]:
        spent = round(before + time.process_time() - cpu, 1)
        return {"seed": seed, "next": number, "cpu_seconds": spent, "counts": dataclasses.asdict(counts)}

    while counts.perturbations < perturbations and time.perf_counter() - started < seconds:
        try:
            enumerate_graph(number, seed, counts)
        except Violation as found:
            raise Violation(f"graph {number} of seed {seed}: {found}") from found
        number += 1
        if state is not None and (number % EVERY == 0 or counts.perturbations >= perturbations):
            with atomic_write(state, "w") as file:
                json.dump(done(), file)
    return done()


if __name__ == "__main__":
    main()
