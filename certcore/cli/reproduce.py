"""`certcore reproduce`: the paper's experiments with this engine, resumable."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from certcore.cli.options import add_json, natural, print_json
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "reproduce",
        help="recompute the paper's experiments and write the table of differences",
        description="Recompute the paper's experiments from bundles and kept votes. Every unit (an experiment on one "
        "split in one variant) is kept as a JSON file as soon as it is done; what is already there is not repeated.",
        epilog="examples: certcore reproduce fig_datasets; certcore reproduce all --data DIR; certcore reproduce table",
    )
    parser.add_argument(
        "figure",
        help="an experiment or the label of a figure (see `list`), `all`, `table` (write docs/REPRODUCTION.md only), "
        "`list`, or `keep-votes` (store the counts of bundles without their graphs)",
    )
    parser.add_argument("files", nargs="*", metavar="BUNDLE", help="bundles, for keep-votes")
    parser.add_argument("--data", metavar="DIR", help="folder with cora_ml.npz, webkb_knn3.npz, reuters_knn3_d200.npz")
    parser.add_argument("--bundles", metavar="DIR", help="where bundles are (default: precomputed)")
    parser.add_argument("--results", metavar="DIR", help="where results are kept (default: docs/results)")
    parser.add_argument("--split", type=natural, action="append", metavar="N", help="only this split (repeatable)")
    parser.add_argument("--force", action="store_true", help="compute again what is already there")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from certcore.common.errors import InputError
    from certcore.reproduce.source import BUNDLES, RESULTS, Folders, keep_votes

    folders = Folders(
        Path(args.bundles) if args.bundles else BUNDLES,
        Path(args.results) if args.results else RESULTS,
        Path(args.data) if args.data else None,
    )
    if folders.data is not None and not folders.data.is_dir():
        raise InputError(f"there is no folder {folders.data}; give the folder that holds the graphs with --data")
    if args.figure == "keep-votes":
        if not args.files:
            raise InputError("keep-votes needs bundles; give at least one instance file")
        for file in args.files:
            require_file(file, "an instance file (.npz)", suffix=".npz")
            keep_votes(file, folders.votes / Path(file).name)
        return 0
    from certcore.reproduce.experiments import EXPERIMENTS, chosen
    from certcore.reproduce.store import Results
    from certcore.reproduce.table import write_table
    from certcore.reproduce.unit import run_experiment

    if args.figure == "list":
        for experiment in EXPERIMENTS:
            print(f"{experiment.name:20} {experiment.title} ({experiment.figure})")
        return 0
    if args.files:
        raise InputError(f"{args.figure} takes no further arguments, but {args.files[0]!r} was given")
    done = skipped = 0
    if args.figure != "table":
        say = (lambda line: None) if args.json else (lambda line: print(line, file=sys.stderr, flush=True))
        for experiment in chosen(args.figure):
            for unit in run_experiment(experiment, folders, force=args.force, splits=args.split, say=say):
                done, skipped = done + (not unit.skipped), skipped + unit.skipped
    page = folders.results.parent / "REPRODUCTION.md"
    found = write_table(Results(folders.results), page)
    verdicts: dict[str, int] = {}
    for row in found:
        verdicts[row.verdict] = verdicts.get(row.verdict, 0) + 1
    if args.json:
        print_json({"computed": done, "skipped": skipped, "verdicts": verdicts, "page": str(page)})
    else:
        print(
            f"{done} computed, {skipped} already there; {page}: " + ", ".join(f"{n} {v}" for v, n in verdicts.items())
        )
    return 0
