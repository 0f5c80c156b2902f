"""`certcore report`: everything about one certificate, in a folder to attach to a paper."""

from __future__ import annotations

import argparse

from certcore.cli.options import add_json, add_question, answer, read_question, solve_options
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import show_progress
from certcore.common.files import require_writable
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import TYPES
from certcore.model_attack.stored import attacks_on


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        help="write a self-contained report with figures, data, proof and a zip",
        description=(
            "Write report.html, figures (PDF, SVG, PNG, LaTeX, HTML), data (CSV), proof.json and a zip. "
            "Without budgets, the smallest one at which no node is certified by itself is reported on."
        ),
        epilog="example: certcore report precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 -o report",
    )
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder to write; DIR.zip comes beside it")
    add_question(parser)
    parser.add_argument("--quick", action="store_true", help="leave out maps and classes, which need many solves")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    require_writable(args.output)
    # Imported here so that the other commands start faster without the drawing libraries.
    from certcore.export.report import build_report, default_threat, with_attacks
    from certcore.export.report_files import write_report

    instance, threat = read_question(args)
    if not any(threat.budgets):
        # Only the budgets get defaults: σ, costs and other options stay as given.
        chosen = default_threat(instance, threat.targets)
        locals_ = [f"local_{name}" for name in TYPES if threat.local_mode == LocalMode.ABSOLUTE]
        unset = [name for name in locals_ if getattr(threat, name) is None]
        threat = threat.replace(**{name: getattr(chosen, name) for name in (*TYPES, *unset)})
    tell = None if args.quiet or args.json else show_progress
    report = build_report(
        instance, threat, source=args.instance, targets=args.targets, base_rule=args.base_rule, **solve_options(args),
        quick=args.quick, progress=tell,
    )  # fmt: skip
    report = with_attacks(report, attacks_on(args.instance, instance))
    files = write_report(report, args.output, progress=tell)
    told = report.certificate.to_json() | {"guarantee": report.guarantee, "files": [str(f) for f in files]}
    return answer(args, told, report.guarantee, report.changed, f"{len(files)} files in {args.output} and {files[-1]}")
