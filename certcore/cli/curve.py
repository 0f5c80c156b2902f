"""`certcore curve`: certified counts over one budget, over σ or over a local budget."""

from __future__ import annotations

import argparse

from certcore.cli.options import solve_options, threat_of
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import VALUES, VALUES_HELP, SweepRequest, add_sweep, run_sweep
from certcore.common.errors import InputError
from certcore.sweep import Curve, curve
from certcore.sweep.parallel import CurveTask, SplitCurve, over_splits, run_many


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "curve",
        help="certified counts over one budget, over σ or over a local budget",
        description="Certified and naive counts at every value of one budget; each count has a proven bound "
        "(with `--relaxation exact`: the solver's claim, see the column `verified`).",
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
    add_sweep(parser, "values")


def run(args: argparse.Namespace) -> int:
    if args.splits and args.checkpoint:
        raise InputError("--checkpoint works for one instance; leave it out, or run the splits one by one")

    def compute(request: SweepRequest, progress: StatusLine) -> Curve | SplitCurve:
        ((axis, values),) = request.axes
        if len(request.instances) == 1:
            return curve(request.instances[0], request.threat, axis.name, values, progress=progress, **request.options)
        tasks = [
            CurveTask(
                one, threat_of(args, one), axis.name, tuple(values), **solve_options(args), tolerance=args.tolerance
            )
            for one in request.instances
        ]
        watch = {"cancel": request.options["cancel"], "progress": progress}
        found = run_many(tasks, jobs=args.jobs, scheduler=args.scheduler, **watch)
        return over_splits([c for c in found if isinstance(c, Curve)])

    return run_sweep(args, [(args.vary, args.values, "--values")], compute)
