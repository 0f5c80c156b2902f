"""Shared by the commands that sweep over one or two axes: values, workers, tables, and Ctrl-C."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from certcore.cli.accuracy import WithAccuracy
from certcore.cli.options import (
    add_json,
    add_question,
    natural,
    open_instance,
    print_json,
    print_remarks,
    print_share,
    read_question,
    solve_options,
    targets_before_correct,
    write_csv,
)
from certcore.cli.status_line import StatusLine
from certcore.common.files import atomic_write, require_writable
from certcore.common.interrupt import run_beside
from certcore.common.numbers import read_numbers
from certcore.domain.local_mode import LocalMode
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.sweep import Curve, Surface
from certcore.sweep.axis import Axis
from certcore.sweep.parallel import SplitCurve

T = TypeVar("T")
#: The syntax of values, for the help of every option that takes some.
VALUES = "A:B[:STEP],…"
VALUES_HELP = "its values: numbers and ranges with both ends included, such as 0,1,2,5,10:100:10"


@dataclass(frozen=True, eq=False)
class SweepRequest:
    """Arguments of a sweep: instances (of several splits), the fixed threat model, and the values of each axis."""

    instances: list[Instance]
    threat: ThreatModel
    axes: list[tuple[Axis, list[Any]]]
    options: dict[str, Any]
    """Relaxation, limits, checkpoint, progress and cancellation."""


def add_sweep(parser: argparse.ArgumentParser, what: str) -> None:
    """Options of a sweep: the threat model, workers, and output."""
    add_question(parser)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        metavar="SHARE",
        help=f"solve fewer {what}: counts may stay below what all solved would certify by this share of the targets "
        "(0.005: half a point; default: 0)",
    )
    parser.add_argument("--jobs", type=natural, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the Dask cluster at this address instead")
    parser.add_argument(
        "--checkpoint", metavar="FILE", help=f"keep finished {what} here and continue from them when run again"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the CSV there instead of to standard output")
    add_json(parser)


def run_sweep(
    args: argparse.Namespace,
    axes: Sequence[tuple[str, str, str]],
    compute: Callable[[SweepRequest, StatusLine], Curve | Surface | SplitCurve],
) -> int:
    """Read the arguments, compute with a progress line, write the table.

    Each axis is given by its name, its values as typed, and the name of the option for the values.
    """
    for path in filter(None, (args.output, args.checkpoint)):
        require_writable(path)
    relative = args.local_mode == LocalMode.RELATIVE
    varied = []
    for name, values, option in axes:
        axis = Axis.parse(name, local=len(axes) == 1, new=True)
        varied.append((axis, read_numbers(values, option, shares=axis.lengths or (axis.is_local and relative))))
    instance, threat = read_question(args)
    # Test nodes and predicted classes differ between splits.
    instances = [instance, *(open_instance(path, args) for path in getattr(args, "splits", []))]
    options = solve_options(args) | {"checkpoint": args.checkpoint, "tolerance": args.tolerance}

    def work(cancel: threading.Event, progress: StatusLine) -> Curve | Surface | SplitCurve:
        return compute(SweepRequest(instances, threat, varied, options | {"cancel": cancel}), progress)

    result = watched(args.command, args, work)
    at_most = threat
    for axis, numbers in varied:
        at_most = axis.at(at_most, numbers[-1])
    print_remarks(instance, at_most)
    before = [nodes for one in instances if (nodes := targets_before_correct(args, one)) is not None]
    for one, nodes in zip(instances, before):
        print_share(one, nodes)
    write_table(args, result, [len(nodes) for nodes in before])
    return 0


def watched(what: str, args: argparse.Namespace, work: Callable[[threading.Event, StatusLine], T]) -> T:
    """Run the work with a progress line; Ctrl-C cancels it and ends the command."""
    with StatusLine(what, quiet=args.json) as progress:
        result, cancelled = run_beside(lambda cancel: work(cancel, progress))
    if cancelled:
        raise KeyboardInterrupt
    return result


def write_table(args: argparse.Namespace, found: Curve | Surface | SplitCurve, accuracy_of: Sequence[int]) -> None:
    """CSV into a file or to standard output, or one JSON object.

    `accuracy_of`: where only right labels are targets, the number of nodes asked about (one number for each split).
    """
    result = WithAccuracy(found, accuracy_of) if accuracy_of else found
    if args.output:
        with atomic_write(args.output, "w") as handle:
            write_csv(handle, result.columns())
    if args.json:
        print_json(result.to_json())
    elif not args.output:
        write_csv(sys.stdout, result.columns())
