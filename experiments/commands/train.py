"""`python -m experiments train`: train a classifier and save it with its metrics."""

from __future__ import annotations

import argparse

from certcore.cli.options import add_json, answer
from certcore.cli.parser import Subparsers
from certcore.common.errors import InputError
from certcore.common.files import require_writable
from certcore.domain.bundle_types import BundleTypes
from certcore.domain.noise import PAPER_THETA, Noise
from experiments.commands.options import add_training
from experiments.networks.registry import MODELS


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "train",
        help="train a classifier for smoothing or for the convex certificate",
        epilog="examples: python -m experiments train citeseer gcn attr --split 0 -o gcn.safetensors; "
        "python -m experiments train pubmed gcn --attr-std 0.06",
    )
    parser.add_argument("dataset", help="name of a dataset or path of an imported .npz")
    parser.add_argument("model", choices=MODELS, help="classifier")
    parser.add_argument(
        "types", nargs="?", choices=(*PAPER_THETA, str(BundleTypes.CONVEX)), help="what will be smoothed, or convex"
    )
    parser.add_argument(
        "--attr-std",
        metavar="S",
        help="instead of types: Gaussian noise of this standard deviation on attributes that are numbers (pubmed means "
        "pubmed_tfidf then); with --theta 0 0 0 P edges are deleted as well",
    )
    add_training(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="default: DATASET-MODEL-TYPES-sSPLIT.safetensors")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    require_writable(args.output)
    from experiments.datasets.registry import VALUED, get_dataset
    from experiments.networks.registry import model_class
    from experiments.training import train

    robust = args.types == BundleTypes.CONVEX
    if robust and args.model != "gcn":
        raise InputError(f"robust training covers gcn, not {args.model}; choose gcn")
    if (args.types is None) is (args.attr_std is None):
        raise InputError("expected either what will be smoothed (attr, adj, joint, convex) or --attr-std S")
    plain = ("0", "0", "0", "0") if robust or args.attr_std else PAPER_THETA[args.types]
    noise = Noise(tuple(args.theta or plain), args.attr_std)
    noise.check_drawable()
    model_class(args.model)
    dataset = get_dataset(VALUED.get(args.dataset, args.dataset) if args.attr_std else args.dataset)
    if args.attr_std and not dataset.graph.real:
        raise InputError(
            f"the attributes of {dataset.name} are bits, not numbers; take attr, or data imported with --keep-values"
        )
    from certcore.models.storage import save_model

    trained = train(
        dataset, args.model, noise, split=args.split, seed=args.seed, epochs=args.epochs, robust=robust,
        progress=not args.json,
    )  # fmt: skip
    types = noise.types if args.attr_std else args.types
    path = args.output or f"{dataset.name}-{args.model}-{types}-s{args.split}.safetensors"
    save_model(path, trained.model, trained.facts)
    right, epochs = trained.facts["accuracy_clean"], trained.facts["epochs_run"]
    line = f"clean test accuracy {right:.3f} after {epochs} epochs; wrote {path}"
    return answer(args, trained.facts | {"path": str(path)}, line)
