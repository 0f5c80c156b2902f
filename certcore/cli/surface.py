"""`certcore surface`: certified counts over two budgets, or over a budget and σ."""

from __future__ import annotations

import argparse

from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import VALUES, VALUES_HELP, SweepRequest, add_sweep, run_sweep
from certcore.sweep import Surface, surface


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "surface",
        help="certified counts over two budgets, or over a budget and σ",
        description="Certified and naive counts for all pairs of values; each count has a proven bound "
        "(with `--relaxation exact`: the solver's claim, see the column `verified`).",
        epilog=(
            "example: certcore surface precomputed/citeseer-gcn-attr-s0.npz --x attr_add --x-values 0:8 "
            "--y attr_del --y-values 0:21 --checkpoint cells.npz -o surface.csv"
        ),
    )
    for name in ("x", "y"):
        parser.add_argument(f"--{name}", required=True, metavar="TYPE|sigma", help=f"what varies along {name}")
        parser.add_argument(f"--{name}-values", required=True, metavar=VALUES, help=VALUES_HELP)
    add_sweep(parser, "cells")


def run(args: argparse.Namespace) -> int:
    def compute(request: SweepRequest, progress: StatusLine) -> Surface:
        (x, xs), (y, ys) = request.axes
        workers = {"jobs": args.jobs, "scheduler": args.scheduler}
        return surface(
            request.instances[0], request.threat, x.name, xs, y.name, ys,
            progress=lambda growing: progress(growing.share_done), **workers, **request.options,
        )  # fmt: skip

    axes = [(args.x, args.x_values, "--x-values"), (args.y, args.y_values, "--y-values")]
    return run_sweep(args, axes, compute)
