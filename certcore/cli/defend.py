"""`certcore defend`: which nodes to protect."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from certcore import messages
from certcore.cli.options import (
    add_json,
    add_question,
    natural,
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
from certcore.solve.status import Status
from certcore.sweep import Defence, defend
from certcore.sweep.defences import TRIES


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "defend",
        description="Choose nodes to protect, one after the other; each step comes with its proven count.",
        epilog="example: certcore defend precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 --nodes 5",
    )
    parser.add_argument("--nodes", type=natural, default=5, metavar="K", help="how many nodes to protect (default: 5)")
    parser.add_argument(
        "--tries", type=natural, default=TRIES, metavar="N", help=f"candidates tried in each step (default {TRIES})"
    )
    add_question(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    instance, threat = read_question(args)
    threat = started(args, instance, threat)

    def work(cancel: threading.Event, progress: StatusLine) -> Defence:
        watch: Any = {"cancel": cancel, "progress": progress}
        return defend(instance, threat, args.nodes, tries=args.tries, **watch, **solve_options(args))

    result = watched("defend", args, work)
    before = targets_before_correct(args, instance)
    of = None if before is None else len(before)
    if args.json:
        accuracy = {} if of is None else {"certified_accuracy": result.certified / of, "accuracy_of": of}
        print_json(result.to_json() | accuracy)
        return 0
    print(messages.promise(instance, threat, result.targets, result.certified, of))
    print_remarks(instance, threat)
    certified, targets = (messages.amount(threat, number) for number in (result.certified, result.targets))
    print(f"certified without further protection: {certified} of {targets} (proven)")
    for number, step in enumerate(result.steps, 1):
        now, gain = (messages.amount(threat, number) for number in (step.certified, step.gain))
        name = "" if instance.node_names is None else f" ({instance.node_names[step.node]})"
        print(f"{number:>3}. protect node {step.node}{name}: certified {now} (+{gain})")
    if len(result.steps) < args.nodes:
        option = {Status.TIME_LIMIT: "--time-limit", Status.FAILED: "--relaxation"}.get(result.status, "--tries")
        print(f"{messages.defence_ended(args.tries, result.status, result.relaxation)} (option {option})")
    return 0
