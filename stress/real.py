"""Linear classifiers under Gaussian noise against every Δ, for as many programs as one likes.

python -m stress.real --programs 3000 [--seed 0] [--seconds 3600]
python -m stress.real --wrong needs|budget|hops       with a mistake made on purpose: must end with a finding

Program number k is the same in every run with the same seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

from certcore.base.gaussian import GaussianBase
from certcore.domain.scale import Scale
from tests.engine.linear import bound_of, broken, make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--wrong", choices=["needs", "budget", "hops"], help="make this mistake and see it caught")
    args = parser.parse_args()
    own_need, own_square = GaussianBase.need, Scale.of_square
    if args.wrong == "needs":
        GaussianBase.need = lambda self, *pair: own_need(self, *pair) * 11 // 10  # type: ignore[method-assign]
    if args.wrong == "budget":
        Scale.of_square = lambda self, square: own_square(self, square * 3 / 5)  # type: ignore[method-assign]
    print(json.dumps(run(args.programs, args.seed, args.seconds, hops=int(args.wrong == "hops"))))


def run(programs: int, seed: int = 0, seconds: float = 3600, hops: int = 0) -> dict[str, Any]:
    """How many bounds were held against the truth, and how many were reached; ends the process at a finding."""
    started, reached, done = time.monotonic(), 0, 0
    for number in range(programs):
        if time.monotonic() - started > seconds:
            break
        case = make(np.random.default_rng([seed, number]), joint=number % 3 == 2, hops=hops)
        bound, found = bound_of(case), broken(case)
        if bound < found:
            print(f"finding: program {number} of seed {seed}: {found} labels change, the bound is {bound}")
            sys.exit(1)
        reached, done = reached + (bound == found), done + 1
    return {"programs": done, "reached": reached, "seconds": round(time.monotonic() - started, 1)}


if __name__ == "__main__":
    main()
