"""`certcore radius`: the largest budget that keeps a given share of the targets certified."""

from __future__ import annotations

import argparse
import threading
from fractions import Fraction

from certcore import messages
from certcore.cli.options import (
    add_json,
    add_question,
    bounded,
    budgets_given,
    print_json,
    print_remarks,
    read_question,
    solve_options,
    started,
    targets_before_correct,
)
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import watched
from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES
from certcore.sweep import Radius, radius
from certcore.sweep.axis import Axis
from certcore.sweep.radii import read_share
from certcore.sweep.ranges import first_axis


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "radius",
        description="How much can be promised: the largest budget at which at least that share is certified.",
        epilog="example: certcore radius precomputed/citeseer-gcn-attr-s0.npz --vary attr_del --at-least 0.8",
    )
    parser.add_argument("--vary", metavar="TYPE|sigma", help="which budget to look for (default: the main one)")
    parser.add_argument(
        "--at-least",
        default="80%",
        metavar="SHARE",
        help="share of the targets: 0.8, 80%% (default) or 80 (1 means all of them); with --targets correct: of the "
        "right labels",
    )
    add_question(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    share = _read_at_least(args.at_least)
    instance, threat = read_question(args)
    vary = args.vary or first_axis(instance, threat)
    if args.vary is None and not budgets_given(args):
        threat = bounded(args, instance, threat)
    if vary not in TYPES:
        threat = started(args, instance, threat)

    def work(cancel: threading.Event, progress: StatusLine) -> Radius:
        return radius(instance, threat, vary, share, cancel=cancel, progress=progress, **solve_options(args))

    result = watched("radius", args, work)
    before = targets_before_correct(args, instance)
    said = messages.radius(instance, threat, result, before)
    if args.json:
        of = 0 if before is None else len(before)
        accuracy = {"certified_accuracy": result.certified / of, "accuracy_of": of} if of else {}
        print_json(result.to_json() | accuracy | {"guarantee": str(said)})
    else:
        print(said)
        print_remarks(instance, Axis.parse(vary).at(threat, result.value or 1))
    return 0


def _read_at_least(text: str) -> Fraction:
    """A fraction (0.8) or a percentage (80%, 80 %, 80). A bare 1 is the fraction 1; one per cent is 1% or 0.01."""
    plain = text.strip()
    number = plain.removesuffix("%").rstrip()
    # Without a % sign, an integer above 1 can only be a percentage; 1.5 is more likely a mistake.
    percent = number != plain or (number.isascii() and number.isdigit() and len(number) < 4 and int(number) > 1)
    try:
        return read_share(f"{number}e-2" if percent else number)
    except InputError as error:
        raise InputError(
            f"--at-least is {text[:40]!r}; expected a share from 0 to 1, such as 0.8, or a percentage, such as 80%"
        ) from error
