"""`python -m experiments bundle`: from a dataset's name to an instance file, in one command."""

from __future__ import annotations

import argparse
import sys

from certcore.cli.options import answer, natural
from certcore.cli.parser import Subparsers
from certcore.domain.bundle_types import BundleTypes
from certcore.domain.edge_field import EdgeField
from experiments.commands.options import add_training, add_vote_options
from experiments.networks.registry import BALLOT_MODELS, MODELS


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "bundle",
        help="train, vote and write an instance with layout and provenance",
        description="Train a model, count its votes and write an instance file with layout and provenance. Interrupted "
        "runs continue where they stopped when the same command is given again; for another number of samples, add "
        "--fresh.",
        epilog="example: python -m experiments bundle citeseer gcn attr --samples 100000 -o my-citeseer.npz",
    )
    parser.add_argument(
        "dataset", help="name of a dataset (see `python -m experiments data list`) or path of an imported .npz"
    )
    parser.add_argument("model", choices=(*MODELS, *BALLOT_MODELS), help="classifier")
    parser.add_argument(
        "types",
        metavar="{" + ",".join(map(str, BundleTypes)) + "}",
        help="what is smoothed, or convex (gcn only), or ballots (decoupled only: edges, attributes and new nodes)",
    )
    add_training(parser)
    add_vote_options(parser)
    parser.add_argument(
        "--edge-field", choices=list(map(str, EdgeField)), help="override the model's own rule for edges"
    )
    parser.add_argument(
        "--first",
        type=natural,
        metavar="SAMPLE",
        help="number of the first estimation sample (default 0): beyond those that were looked at before",
    )
    parser.add_argument(
        "--attr-std",
        metavar="S[,S…]",
        help="l2: standard deviation of the Gaussian noise; of several the best on the validation nodes is taken",
    )
    parser.add_argument(
        "--noise-at", choices=("input", "first_map"), default="input", help="l2: where noise is drawn (default input)"
    )
    parser.add_argument(
        "--control-at",
        metavar="E[,E…]",
        help="l2: distances at which a smoothed network that ignores edges is certified (default: multiples of S)",
    )
    parser.add_argument(
        "--per-class", type=natural, default=20, metavar="N", help="training nodes of each class (default 20)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="default: precomputed/DATASET-MODEL-TYPES-sSPLIT.npz")
    parser.add_argument("--work", metavar="DIR", help="where unfinished work is kept (default: the cache folder)")


def run(args: argparse.Namespace) -> int:
    from experiments.bundle import BundleRecipe, make_bundle

    recipe = BundleRecipe(
        dataset=args.dataset, model=args.model, types=args.types, split=args.split, seed=args.seed,
        samples=args.samples, first=args.first, selection=args.selection, alpha=args.alpha,
        theta=tuple(args.theta) if args.theta else None, edge_field=args.edge_field, epochs=args.epochs,
        attr_std=tuple(args.attr_std.split(",")) if args.attr_std else (), noise_at=args.noise_at,
        per_class=args.per_class, control_at=tuple(args.control_at.split(",")) if args.control_at else (),
    )  # fmt: skip
    path, instance = make_bundle(
        recipe, args.output, work=args.work, jobs=args.jobs, scheduler=args.scheduler, fresh=args.fresh,
        progress=not args.json, say=lambda line: print(line, file=sys.stderr, flush=True),
    )  # fmt: skip
    size = path.stat().st_size
    facts = {"path": str(path), "bytes": size, "digest": instance.digest, "accuracy": instance.meta["accuracy"]}
    facts["targets"] = len(instance.select_targets(None))
    return answer(args, facts, f"wrote {path} ({size / 2**20:.2f} MiB)")
