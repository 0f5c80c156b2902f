"""Attacks on small trained models against everything that is certified and said about them, for as long as one likes.

`python -m stress refute [--minutes M] [--seed S] [--first TURN]`: prints JSON lines and a summary; ends with an error
at the first refutation. A seed stands for the same models and attacks every time.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence

from tests.oracle.refuting import Tally, refute

#: Seconds between two lines.
TELL = 60.0


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m stress refute", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="TURN")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    tally, turn, began = Tally(), args.first, time.monotonic()
    told = began
    while time.monotonic() - began < 60 * args.minutes:
        refute(args.seed, turn, tally)
        turn += 1
        if time.monotonic() - told > TELL:
            told = time.monotonic()
            print(json.dumps({"seed": args.seed, "next": turn, **tally.summary()}), flush=True)
    print(json.dumps({"seed": args.seed, "next": turn, **tally.summary()}), flush=True)
