"""`python -m experiments vote`: count the votes of a trained model."""

from __future__ import annotations

import argparse
from pathlib import Path

from certcore.cli.options import answer, natural
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.common.errors import InputError
from certcore.common.files import require_writable
from certcore.common.rounding import share_down
from certcore.domain.noise import Noise
from experiments.commands.options import add_vote_options


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "vote",
        help="count the votes of a trained model under smoothing",
        description="Count votes and write them as arrays: votes (estimation), selection, prediction, theta. An "
        "interrupted run continues where it stopped when the same command is given again; for another number of "
        "samples, add --fresh.",
        epilog="example: python -m experiments vote citeseer gcn.safetensors --samples 100000 -o gcn.votes.npz",
    )
    parser.add_argument("dataset", help="the dataset that the model was trained on")
    parser.add_argument("model", metavar="MODEL.safetensors", help="a model written by `python -m experiments train`")
    parser.add_argument("--theta", nargs=4, metavar="P", help="flip probabilities (default: those of the training)")
    parser.add_argument("--seed", type=natural, help="seed of the draws (default: the model's)")
    parser.add_argument("--no-fused", action="store_true", help="use torch also where there is a fused kernel")
    add_vote_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="default: the model's name with .votes.npz")


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from certcore.common.exact import read_alpha
    from certcore.common.npz import write_npz
    from certcore.common.packages import require_training_packages
    from certcore.votes.run import collect_votes
    from experiments.datasets.registry import get_dataset
    from experiments.training.result import check_numbers

    read_alpha(args.alpha)  # fail before counting begins, not after
    require_training_packages()
    from experiments.networks.storage import load_model
    from experiments.networks.voters import make_voter

    require_file(args.model, "a model written by `python -m experiments train`", suffix=".safetensors")
    model, facts = load_model(args.model)
    if "attr_std" in facts:
        raise InputError(
            "the model was trained for Gaussian noise, whose votes belong to attributes on a lattice; use `certcore "
            "bundle DATASET MODEL l2 --attr-std S`, or certcore.smooth in Python"
        )
    dataset = get_dataset(args.dataset)
    noise = Noise.to_draw(args.theta or facts["theta"])
    check_numbers(0, args.seed, None)
    seed = int(facts["seed"]) if args.seed is None else args.seed
    voter = make_voter(model, dataset.graph, noise, seed, fused=not args.no_fused)
    path = Path(args.output) if args.output else Path(args.model).with_suffix(".votes.npz")
    require_writable(path)
    checkpoint = path.with_name(path.name + ".partial")
    votes = collect_votes(
        voter, selection=args.selection, estimation=args.samples, checkpoint=checkpoint, finished=path,
        fresh=args.fresh, jobs=args.jobs, scheduler=args.scheduler, progress=not args.json,
    )  # fmt: skip
    write_npz(
        path,
        {
            "votes": votes.estimation,
            "selection": votes.selection,
            "prediction": votes.prediction,
            "n_samples": np.array(votes.n_samples),
            "theta": np.array(noise.theta),
            "alpha": np.array(args.alpha),
            "digest": np.array(voter.digest),
            "first": np.array(votes.first),
            "fresh_after": np.array(votes.fresh_after, dtype=np.int64),
        },
    )
    checkpoint.unlink(missing_ok=True)
    right, nodes = int((votes.prediction == dataset.labels).sum()), len(votes.prediction)
    outcome = {"path": str(path), "samples": votes.n_samples, "fresh_after": list(votes.fresh_after)}
    line = (
        f"{votes.n_samples:,} votes; the label most votes chose is right for {share_down(right, nodes)} of all nodes, "
        f"those that will abstain included; wrote {path}"
    )
    return answer(args, outcome | {"accuracy_smoothed_all_nodes": right / nodes}, line)
