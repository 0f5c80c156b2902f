"""`certcore curve`: certified counts over one budget, over σ or over a local budget."""

from __future__ import annotations

import argparse
from typing import Any

from certcore.cli.options import natural, solve_options, threat_of
from certcore.cli.parser import Subparsers
from certcore.cli.plotting import attacks_below, changed_along, marker
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import VALUES, VALUES_HELP, SweepRequest, add_sweep, run_sweep
from certcore.common.errors import InputError
from certcore.sweep import Counts, curve
from certcore.sweep.parallel import SplitCurve, SweepTask, over_splits, run_many


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "curve",
        description="Certified and naive counts at every value of one budget; each count has a proven bound.",
        epilog="example: certcore curve precomputed/citeseer-gcn-attr-s0.npz --vary attr_del --values 0:200",
    )
    parser.add_argument("--vary", metavar="TYPE|local-TYPE|sigma", help="what to vary (default: the main budget)")
    parser.add_argument("--values", metavar=VALUES, help=f"{VALUES_HELP} (default: to the end of its slider)")
    parser.add_argument(
        "--splits",
        nargs="+",
        default=[],
        metavar="FILE",
        help="instances of further splits: mean and deviation over all",
    )
    parser.add_argument(
        "--jobs", type=natural, default=1, metavar="N", help="worker processes for several splits (default: 1)"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the Dask cluster at this address instead")
    add_sweep(parser, "values")


def run(args: argparse.Namespace) -> int:
    if args.splits and args.checkpoint:
        raise InputError("--checkpoint works for one instance; leave it out, or run the splits one by one")

    def compute(request: SweepRequest, progress: StatusLine) -> Counts | SplitCurve:
        ((axis, values),) = request.axes
        if len(request.instances) == 1:
            return curve(
                request.instances[0],
                request.threat,
                axis.name,
                values,
                progress=lambda growing: progress(growing.share_done),
                **request.options,
            )
        tasks = [
            SweepTask(one, threat_of(args, one), [(axis.name, values)], **solve_options(args))
            for one in request.instances
        ]
        watch = {"cancel": request.options["cancel"], "progress": progress}
        found = run_many(tasks, jobs=args.jobs, scheduler=args.scheduler, **watch)
        return over_splits(found)

    def draw(request: SweepRequest, found: Counts | SplitCurve, accuracy_of: list[int]) -> Any:
        return draw_curve(args.instance, request, found, accuracy_of)

    return run_sweep(args, [(args.vary, args.values, "--values")], compute, draw)


def draw_curve(path: str, request: SweepRequest, found: Counts | SplitCurve, accuracy_of: list[int]) -> Any:
    """The curve with the attacks on certificates and, where they are stored beside the file, on the model."""
    from certcore.figures.curve import controls_for, curve_figure
    from certcore.notebook import note

    ((axis, values),), instances, threat = request.axes, request.instances, request.threat
    splits = isinstance(found, SplitCurve)
    alone, how = instances[0], request.options
    of = max(accuracy_of, default=None)
    controls = {} if splits else controls_for(alone, threat, axis.name, of)
    return curve_figure(
        [list(found.curves) if isinstance(found, SplitCurve) else found],
        vary=axis.name,
        marker=marker(threat, axis.name),
        attacks=None if splits else attacks_below(alone, threat, axis.name, values, how["relaxation"], how["cancel"]),
        changed=None if splits or threat.weights is not None else changed_along(path, alone, threat, axis.name, values),
        accuracy_of=of,
        controls=controls,
        note=note(instances, controls=bool(controls)),
    )
