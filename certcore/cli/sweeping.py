"""What the sweeping commands share: ranges of values, workers, and Ctrl-C."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from certcore.cli.accuracy import WithAccuracy
from certcore.cli.options import add_json, natural, print_json, write_csv
from certcore.cli.status_line import StatusLine
from certcore.common.files import atomic_write
from certcore.common.interrupt import run_beside
from certcore.sweep import Curve, Surface
from certcore.sweep.parallel import SplitCurve

T = TypeVar("T")
#: How values are written, for the help of every option that takes some.
VALUES = "A:B[:STEP],…"
VALUES_HELP = "its values: numbers and ranges with both ends included, such as 0,1,2,5,10:100:10"


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=natural, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the Dask cluster at this address instead")


def watched(what: str, args: argparse.Namespace, work: Callable[[threading.Event, StatusLine], T]) -> T:
    """Run the work with a line that tells how far it is; Ctrl-C cancels it and ends the command."""
    with StatusLine(what, quiet=args.json) as progress:
        result, cancelled = run_beside(lambda cancel: work(cancel, progress))
    if cancelled:
        raise KeyboardInterrupt
    return result


def add_table(parser: argparse.ArgumentParser, what: str) -> None:
    """Where a table of results goes, and where unfinished work is kept."""
    parser.add_argument(
        "--checkpoint", metavar="FILE", help=f"keep finished {what} here and continue from them when run again"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the CSV there instead of to standard output")
    add_json(parser)


def write_table(args: argparse.Namespace, found: Curve | Surface | SplitCurve, accuracy_of: Sequence[int]) -> None:
    """CSV into a file or to standard output, or one JSON object.

    `accuracy_of`: where only right labels are targets, how many nodes were asked about (one number for each split).
    """
    result = WithAccuracy(found, accuracy_of) if accuracy_of else found
    if args.output:
        with atomic_write(args.output, "w") as handle:
            write_csv(handle, result.columns())
    if args.json:
        print_json(result.to_json())
    elif not args.output:
        write_csv(sys.stdout, result.columns())
