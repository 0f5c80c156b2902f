"""`python -m experiments attack`: attack the model of a bundle, which is trained again by its recorded command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from certcore.cli.attack import add_options, search
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.instance.instance import Instance

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "attack",
        help="change labels of the model of a bundle in fact",
        description="As `certcore attack`, for bundles: the model is trained again by the command that the instance "
        "tells, and attributes that its file leaves out are fetched.",
        epilog="example: python -m experiments attack precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 "
        "--time-limit 60",
    )
    add_options(parser)
    parser.add_argument("--model", metavar="FILE.safetensors", help="the model itself, instead of training it again")
    parser.add_argument("--work", metavar="DIR", help="where trained models are kept (default: the cache folder)")


def run(args: argparse.Namespace) -> int:
    if args.model is not None:
        require_file(args.model, "a model written by `python -m experiments train`", suffix=".safetensors")

    def ready(instance: Instance) -> tuple[Victim, Instance]:
        from experiments.attack_bundles import bundle_victim, file_victim, with_attributes

        whole = with_attributes(instance)
        return (bundle_victim(whole, args.work) if args.model is None else file_victim(whole, args.model)), whole

    return search(args, ready, ["python", "-m", "experiments"])
