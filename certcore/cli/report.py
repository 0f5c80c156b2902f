"""`certcore report`: everything about one certificate, in a folder to attach to a paper."""

from __future__ import annotations

import argparse
import threading

from certcore.cli.options import (
    TIME_LIMIT,
    add_json,
    add_question,
    answer,
    print_notes,
    read_question,
    solve_options,
    started,
)
from certcore.cli.parser import Subparsers
from certcore.cli.plotting import stored_attacks
from certcore.cli.status_line import StatusLine
from certcore.common.files import require_writable
from certcore.common.interrupt import run_beside


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        description="Write report.html, which needs nothing else to be read, figures (PDF), their numbers (CSV), the "
        "proof and the instance. Without budgets, the first view of the dashboard is reported on.",
        epilog="example: certcore report precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 -o report",
    )
    parser.add_argument("-o", "--output", metavar="DIR", default="report", help="the folder to write (default: report)")
    add_question(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    require_writable(args.output)
    # Imported here so that the other commands start faster without the drawing libraries.
    from certcore.report import Report, build, write

    instance, threat = read_question(args)
    threat = started(args, instance, threat)

    def work(cancel: threading.Event) -> Report:
        return build(
            instance,
            threat,
            source=args.instance,
            targets=args.targets,
            base_rule=args.base_rule,
            attacks=stored_attacks(args.instance, instance),
            seconds=args.time_limit or TIME_LIMIT,
            cancel=cancel,
            progress=lambda share, what: line(share),
            **solve_options(args),
        )

    with StatusLine("report", quiet=args.json) as line:
        report, _ = run_beside(work)
    print_notes(args)
    files = write(report, args.output)
    told = report.certificate.to_json() | {"guarantee": report.guarantee, "files": [str(file) for file in files]}
    return answer(args, told, report.guarantee, report.changed, f"{len(files)} files in {args.output}")
