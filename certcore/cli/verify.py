"""`certcore verify`: check a proof without a solver."""

from __future__ import annotations

import argparse

from certcore import messages
from certcore.cli.options import add_json, print_json
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.cli.status_line import StatusLine
from certcore.common.rounding import rounded_up
from certcore.domain.weights import source_of
from certcore.instance.instance import load_instance
from certcore.verify.proof import read_proof, verify_proof


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "verify",
        description="Re-derive the program from the instance and re-evaluate the bound in exact integers. "
        "Exit code 0: accepted, 1: rejected, 2: unreadable.",
        epilog="example: certcore verify proof.json precomputed/citeseer-gcn-attr-s0.npz",
    )
    parser.add_argument("proof", metavar="PROOF", help="a proof written by certify --proof")
    parser.add_argument("instance", metavar="INSTANCE", help="the instance it speaks about")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    require_file(args.proof, "a proof written by certify --proof", suffix=".json")
    require_file(args.instance, "an instance file (.npz)", suffix=".npz")
    with StatusLine("verify", quiet=args.json):
        proof = read_proof(args.proof)
        instance = load_instance(args.instance, base_rule=proof["base_rule"])
        verdict = verify_proof(proof, instance)
    if args.json:
        print_json(
            {
                "accepted": verdict.accepted,
                "reason": verdict.reason,
                "certified": verdict.certified if verdict.accepted else None,
                "targets": verdict.targets if verdict.accepted else None,
                "bound": float(verdict.bound) if verdict.accepted else None,
                **source_of(verdict.threat.weights),
            }
        )
    elif verdict.accepted:
        most = rounded_up(verdict.bound, 4)
        what = "targets" if verdict.threat.weights is None else "units of weight"
        print(f"accepted: {messages.accepted(instance, verdict.threat, verdict.certified, verdict.targets)}")
        print(f"left uncertified: at most {most} {what} (recomputed in exact integers)")
    else:
        print(f"rejected: {verdict.reason}")
    return 0 if verdict.accepted else 1
