"""`certcore surface`: certified counts over two budgets, or over a budget and σ."""

from __future__ import annotations

import argparse
import threading

from certcore.cli.options import (
    add_question,
    print_remarks,
    print_share,
    read_question,
    solve_options,
    targets_before_correct,
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
from certcore.common.files import require_writable
from certcore.common.numbers import read_numbers
from certcore.sweep import Surface, surface
from certcore.sweep.axis import Axis


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "surface",
        help="certified counts over two budgets, or over a budget and σ",
        description="Certified and naive counts for all pairs of values; each count has a proven bound "
        "(with `--relaxation exact`: the solver's word, see the column `verified`).",
        epilog=(
            "example: certcore surface precomputed/citeseer-gcn-attr-s0.npz --x attr_add --x-values 0:8 "
            "--y attr_del --y-values 0:21 --checkpoint cells.npz -o surface.csv"
        ),
    )
    for name in ("x", "y"):
        parser.add_argument(f"--{name}", required=True, metavar="TYPE|sigma", help=f"what varies along {name}")
        parser.add_argument(f"--{name}-values", required=True, metavar=VALUES, help=VALUES_HELP)
    add_question(parser)
    add_workers(parser)
    add_table(parser, "cells")


def run(args: argparse.Namespace) -> int:
    for path in filter(None, (args.output, args.checkpoint)):
        require_writable(path)
    x_values = read_numbers(args.x_values, "--x-values")
    y_values = read_numbers(args.y_values, "--y-values")
    instance, threat = read_question(args)

    def work(cancel: threading.Event, progress: StatusLine) -> Surface:
        return surface(
            instance,
            threat,
            args.x,
            x_values,
            args.y,
            y_values,
            progress=lambda s: progress(s.share_done),
            cancel=cancel,
            checkpoint=args.checkpoint,
            jobs=args.jobs,
            scheduler=args.scheduler,
            **solve_options(args),
        )

    result = watched("surface", args, work)
    at_most = Axis.parse(args.x).at(Axis.parse(args.y).at(threat, max(y_values)), max(x_values))
    print_remarks(instance, at_most)
    before = targets_before_correct(args, instance)
    if before is not None:
        print_share(instance, before)
    write_table(args, result, [] if before is None else [len(before)])
    return 0
