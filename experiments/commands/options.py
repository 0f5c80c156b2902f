"""Options shared by the commands that train and vote."""

from __future__ import annotations

import argparse

from certcore.cli.options import add_json, natural


def add_vote_options(parser: argparse.ArgumentParser) -> None:
    """Options that concern sampling."""
    parser.add_argument("--samples", type=natural, default=10**6, help="estimation samples (default 1,000,000)")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="if there are votes for another number of samples, drop them and draw all samples anew: the confidence "
        "holds for a number that was fixed before any vote was seen, so votes are never added to finished ones",
    )
    parser.add_argument("--selection", type=natural, default=1000, help="selection samples (default 1,000)")
    parser.add_argument("--alpha", default="0.01", help="error probability for all nodes together (default 0.01)")
    parser.add_argument("--jobs", type=natural, help="number of processes (default: one per processor)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask scheduler, for many machines")
    add_json(parser)


def add_training(parser: argparse.ArgumentParser) -> None:
    """Options that concern training."""
    parser.add_argument("--split", type=natural, default=0, help="number of the data split (default 0)")
    parser.add_argument("--seed", type=natural, help="seed of weights and draws (default: the split)")
    parser.add_argument("--epochs", type=natural, help="at most this many epochs (default: the paper's)")
    parser.add_argument("--theta", nargs=4, metavar="P", help="flip probabilities: attr_add attr_del adj_add adj_del")
