"""`python -m experiments`: the paper's experiments with this engine, resumable."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from certcore.cli import guarded
from certcore.cli.options import add_json, natural, print_json
from certcore.cli.parser import Parser
from certcore.cli.paths import require_file
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from experiments import commands
from experiments.cost import costs, minutes
from experiments.definitions import EXPERIMENTS, chosen
from experiments.pictures import draw
from experiments.quick import FOLDER, Quick
from experiments.source import BUNDLES, RESULTS, ROOT, Folders, keep_votes
from experiments.store import Results
from experiments.table import page
from experiments.unit import Experiment, run_experiment

#: Seconds from which on a person is asked before a run begins.
LONG = 600.0


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m experiments",
        description="Recompute the paper's experiments from bundles and kept votes. Every unit (an experiment on one "
        "split in one variant) is kept as a JSON file as soon as it is done; what is already there is not repeated.",
        epilog="examples: python -m experiments fig_datasets; python -m experiments all --data DIR; "
        "python -m experiments table; python -m experiments all --quick",
    )
    parser.add_argument(
        "figure",
        help="an experiment or the label of a figure (see `list`), `all`, `table` (write the table only), "
        "`figures` (draw the paper's figures from the stored results), `list`, `keep-votes` (store the counts of "
        "bundles without their graphs), or a command with options of its own: data, train, vote, bundle, attack (see "
        "`python -m experiments COMMAND --help`)",
    )
    parser.add_argument("files", nargs="*", metavar="BUNDLE", help="bundles, for keep-votes")
    parser.add_argument("--data", metavar="DIR", help="folder with cora_ml.npz, webkb_knn3.npz, reuters_knn3_d200.npz")
    parser.add_argument("--bundles", metavar="DIR", help="where bundles are (default: precomputed)")
    parser.add_argument("--results", metavar="DIR", help="where results are kept (default: docs/results)")
    parser.add_argument("--split", type=natural, action="append", metavar="N", help="only this split (repeatable)")
    parser.add_argument("--force", action="store_true", help="compute again what is already there")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="train, vote and certify on few votes and budgets, in runs/quick or --results: to see that it "
        "runs, its numbers are no results",
    )
    parser.add_argument("--yes", action="store_true", help="begin a long run without asking")
    add_json(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in commands.COMMANDS:
        return guarded("experiments", words, lambda: commands.run(words))
    return guarded("experiments", words, lambda: run(build_parser().parse_args(words)))


def run(args: argparse.Namespace) -> int:
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

    if args.figure == "list":
        for experiment in EXPERIMENTS:
            print(f"{experiment.name:20} {experiment.title} ({experiment.figure})")
        return 0
    if args.figure == "figures":
        for drawn in draw(Results(folders.results), ROOT / "runs" / "figures"):
            print(drawn)
        return 0
    if args.files:
        raise InputError(f"{args.figure} takes no further arguments, but {args.files[0]!r} was given")
    log = (lambda line: None) if args.json else (lambda line: print(line, file=sys.stderr, flush=True))
    if args.quick:
        return _quick(args, folders.data, log)
    done = skipped = 0
    if args.figure != "table":
        wanted = chosen(args.figure)
        if not _agreed(wanted, folders, args, log):
            return 1
        for experiment in wanted:
            for unit in run_experiment(experiment, folders, force=args.force, splits=args.split, log=log):
                done, skipped = done + (not unit.skipped), skipped + unit.skipped
    results = Results(folders.results)
    text, found = page(results)
    # Those of the project are on the documentation site, which makes the page when it is built.
    written = (ROOT / "runs" if folders.results == RESULTS else folders.results.parent) / "reproduction.md"
    written.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(written, "w") as handle:
        handle.write(text)
    verdicts: dict[str, int] = {}
    for row in found:
        verdicts[row.verdict] = verdicts.get(row.verdict, 0) + 1
    if args.json:
        print_json({"computed": done, "skipped": skipped, "verdicts": verdicts, "page": str(written)})
    else:
        print(
            f"{done} computed, {skipped} already there; {written}: "
            + ", ".join(f"{n} {v}" for v, n in verdicts.items())
        )
    return 0


def _agreed(
    wanted: Sequence[Experiment], folders: Folders, args: argparse.Namespace, log: Callable[[str], None]
) -> bool:
    """Tell what a run will cost; at a terminal, ask before a long one."""

    estimates = costs(wanted, folders, Results(RESULTS), force=args.force, splits=args.split)
    for cost in estimates:
        log(cost.sentence)
    total = sum(cost.seconds or 0.0 for cost in estimates)
    if len(estimates) > 1:
        log(f"together about {minutes(total)} on two processors; what is done is kept, so the run can be stopped")
    if total < LONG or args.yes or args.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print("Begin? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _quick(args: argparse.Namespace, data: Path | None, log: Callable[[str], None]) -> int:

    if args.figure == "table" or args.bundles or args.split or args.force:
        raise InputError(
            "--quick trains and votes itself, on one split; leave out table, --bundles, --split and --force"
        )
    quick = Quick(Path(args.results) if args.results else FOLDER, data, log)
    units = list(quick.run(chosen(args.figure)))
    computed = sum(not unit.skipped for unit in units)
    path = quick.write()
    if args.json:
        print_json({"computed": computed, "skipped": len(units) - computed, "quick": True, "page": str(path)})
    else:
        print(f"{computed} computed, {len(units) - computed} already there, on few votes: no results; see {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
