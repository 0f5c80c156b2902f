"""`certcore surface`: certified counts over two budgets, or over a budget and σ."""

from __future__ import annotations

import argparse
from typing import Any

from certcore.cli.parser import Subparsers
from certcore.cli.plotting import marker
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import VALUES, VALUES_HELP, SweepRequest, add_sweep, run_sweep
from certcore.sweep import Counts, surface


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "surface",
        description="Certified and naive counts for all pairs of values; each count has a proven bound.",
        epilog=(
            "example: certcore surface precomputed/citeseer-gcn-attr-s0.npz --x attr_add --x-values 0:8 "
            "--y attr_del --y-values 0:21 --checkpoint cells.npz -o surface.csv"
        ),
    )
    for name in ("x", "y"):
        parser.add_argument(f"--{name}", metavar="TYPE|sigma", help=f"what varies along {name}")
        parser.add_argument(f"--{name}-values", metavar=VALUES, help=VALUES_HELP)
    add_sweep(parser, "cells")


def run(args: argparse.Namespace) -> int:
    def compute(request: SweepRequest, progress: StatusLine) -> Counts:
        (x, xs), (y, ys) = request.axes
        return surface(
            request.instances[0],
            request.threat,
            x.name,
            xs,
            y.name,
            ys,
            progress=lambda growing: progress(growing.share_done),
            **request.options,
        )

    axes = [(args.x, args.x_values, "--x-values"), (args.y, args.y_values, "--y-values")]
    return run_sweep(args, axes, compute, draw_surface)


def draw_surface(request: SweepRequest, found: Counts, accuracy_of: list[int]) -> Any:
    from certcore.figures.contour import contour_figure

    here = [marker(request.threat, axis.name) for axis, _ in request.axes]
    return contour_figure(
        found,
        x=found.x,
        y=found.y,
        marker=None if None in here else tuple(here),
        accuracy_of=max(accuracy_of, default=None),
    )
