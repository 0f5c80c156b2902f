"""`certcore curve`: certified counts over one budget, over σ or over a local budget."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from certcore.cli.options import (
    add_question,
    open_instance,
    print_remarks,
    print_share,
    read_question,
    solve_options,
    targets_before_correct,
    threat_of,
)
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import (
    VALUES,
    VALUES_HELP,
    add_table,
    add_workers,
    watched,
    write_table,
)
from certcore.common.errors import InputError
from certcore.common.files import require_writable
from certcore.common.numbers import read_numbers
from certcore.domain.local_mode import LocalMode
from certcore.sweep import Curve, curve
from certcore.sweep.axis import Axis
from certcore.sweep.parallel import CurveTask, SplitCurve, over_splits, run_many


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "curve",
        help="certified counts over one budget, over σ or over a local budget",
        description="Certified and naive counts at every value of one budget; each count has a proven bound "
        "(with `--relaxation exact`: the solver's word, see the column `verified`).",
        epilog="example: certcore curve precomputed/citeseer-gcn-attr-s0.npz --vary attr_del --values 0:200",
    )
    parser.add_argument("--vary", required=True, metavar="TYPE|local-TYPE|sigma", help="what to vary")
    parser.add_argument("--values", required=True, metavar=VALUES, help=VALUES_HELP)
    parser.add_argument(
        "--splits",
        nargs="+",
        default=[],
        metavar="FILE",
        help="instances of further splits: mean and deviation over all",
    )
    add_question(parser)
    add_workers(parser)
    add_table(parser, "values")


def run(args: argparse.Namespace) -> int:
    for path in filter(None, (args.output, args.checkpoint)):
        require_writable(path)
    axis = Axis.parse(args.vary)
    values = read_numbers(args.values, "--values", shares=axis.is_local and args.local_mode == LocalMode.RELATIVE)
    instance, threat = read_question(args)
    if args.splits and args.checkpoint:
        raise InputError("--checkpoint works for one instance; leave it out, or run the splits one by one")
    # Every split has test nodes and predicted classes of its own.
    instances = [instance, *(open_instance(path, args) for path in args.splits)]
    tasks = [CurveTask(one, threat_of(args, one), axis.name, tuple(values), **solve_options(args)) for one in instances]

    def work(cancel: threading.Event, progress: StatusLine) -> Curve | SplitCurve:
        watch: Any = {"cancel": cancel, "progress": progress}
        if len(tasks) == 1:
            kept = {"checkpoint": args.checkpoint, **solve_options(args)}
            return curve(instance, threat, axis.name, values, **kept, **watch)
        found = run_many(tasks, jobs=args.jobs, scheduler=args.scheduler, **watch)
        return over_splits([c for c in found if isinstance(c, Curve)])

    result = watched("curve", args, work)
    print_remarks(instance, axis.at(threat, max(values)))
    before = [nodes for one in instances if (nodes := targets_before_correct(args, one)) is not None]
    for one, nodes in zip(instances, before):
        print_share(one, nodes)
    write_table(args, result, [len(nodes) for nodes in before])
    return 0
