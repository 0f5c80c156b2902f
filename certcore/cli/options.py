"""Options shared by several commands: the instance, the threat model, the relaxation."""

from __future__ import annotations

import argparse
import json
import math
import sys
import threading
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from certcore import messages
from certcore.cli.paths import require_file
from certcore.cli.status_line import StatusLine
from certcore.cli.weights import read_option
from certcore.common.errors import InputError
from certcore.common.numbers import INDICES
from certcore.domain.base_rule import BaseRule
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TYPES, entry_of
from certcore.domain.threat import ThreatModel, field_name
from certcore.instance.instance import Instance, before_correct, load_instance, names_targets
from certcore.instance.local_limits import within_base
from certcore.program.relaxation import Relaxation
from certcore.sweep.ranges import first_budget

#: Seconds after which a command ends with what is proven by then.
TIME_LIMIT = 60.0


def natural(text: str) -> int:
    """An integer of at least 0, as an argparse type."""
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number of at least 0{_in_digits(text)}")
    return int(text)


def _in_digits(text: str) -> str:
    """The plain form of an integer that was given as 1e3, 1,000 or 5.0."""
    try:
        value = Decimal(text.replace(",", "").replace("_", ""))
    except InvalidOperation:
        return ""
    whole = value.is_finite() and 0 <= value < 10**18 and value == value.to_integral_value()
    return f" (write {int(value)})" if whole else ""


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number of seconds")
    return value


def add_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "instance", metavar="INSTANCE", help="an instance file (.npz), for example a bundle in precomputed/"
    )
    parser.add_argument(
        "--base-rule",
        choices=list(BaseRule),
        default=BaseRule.BINARY,
        help="how votes become base certificates (default: binary, as in the paper); choose it before you look at "
        "results: taking the better of the two afterwards spends alpha twice, so halve alpha for that",
    )


def add_threat(parser: argparse.ArgumentParser) -> None:
    """Budgets, local budgets, σ, targets and protection."""
    group = parser.add_argument_group("threat model")
    for name in TYPES:
        if entry_of(name).lengths:
            continue
        group.add_argument(
            *_spellings("--", name),
            type=natural,
            metavar="N",
            help=f"global budget: {LABELS[name]} in the whole graph",
        )
    group.add_argument(
        "--attr-l2",
        metavar="LENGTH",
        help="global budget for attributes that are numbers: the root of the sum of all squared changes, in their own "
        "units",
    )
    for name in TYPES:
        entry = entry_of(name)
        text = f"local budget: {LABELS[name]} at each node (default: no limit)"
        if entry.brings_nodes:
            text = f"edges between each of the {entry.plural} and nodes of the graph (default: no limit)"
        elif entry.lengths:
            text = "local budget: how far each row may be moved (default: no limit)"
        elif not entry.at_nodes:
            text += "; in directed graphs, incoming and outgoing edges together"
        group.add_argument(*_spellings("--local-", name), metavar="LENGTH" if entry.lengths else "N", help=text)
    group.add_argument(
        "--local-mode",
        choices=list(map(str, LocalMode)),
        default=LocalMode.ABSOLUTE,
        help="local budgets as counts, or as decimal shares of what the node has, rounded down (of the norm of its "
        "row, rounded up)",
    )
    group.add_argument("--sigma", type=natural, metavar="N", help="how many nodes the attacker controls (default: all)")
    group.add_argument(
        "--targets",
        metavar="all|test|class:K|correct|INDICES|FILE",
        help="whose labels are counted (default: the instance's own targets); INDICES such as 3,5,10:20; a FILE "
        "has one per line; correct (or correct:test, …): those of them whose label is right, for certified accuracy",
    )
    group.add_argument(
        "--weights", metavar="FILE[:COLUMN]|degree",
        help="certify weight instead of labels: a FILE with one number per node and line, a COLUMN of a CSV file, or "
        "the degree of each node",
    )  # fmt: skip
    group.add_argument(
        "--protect", metavar="INDICES|FILE", help="nodes that cannot be touched: 3,5,10:20, or one index per line"
    )


def _spellings(prefix: str, name: str) -> list[str]:
    """The name of a type and its aliases: an entry of the adjacency matrix is an edge, `--adj-del`, `--edge-del`."""
    entry = entry_of(name)
    own = [f"--{entry.local_name.replace('_', '-')}"] if entry.local_name and prefix != "--" else []
    return [*(prefix + name.replace("_", "-") for name in (name, *entry.aliases)), *own]


def add_relaxation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--relaxation",
        choices=list(Relaxation),
        default="tight",
        help="which program bounds the adversary (default: tight); strong is closer to the truth, found by a search; "
        "exact (certify only) adds what the solver of the integer program claims, which is not proven",
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="S",
        help="seconds for the whole command; what is proven by then is printed (default: 60, with --rounds none)",
    )
    parser.add_argument(
        "--rounds",
        type=natural,
        metavar="N",
        help="for strong: rounds of search instead of a time limit, which give the same numbers every time",
    )


def add_question(parser: argparse.ArgumentParser) -> None:
    """Options of every command that certifies: instance, threat model and relaxation."""
    add_instance(parser)
    add_threat(parser)
    add_relaxation(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def read_question(args: argparse.Namespace) -> tuple[Instance, ThreatModel]:
    """The instance and the threat model the options describe."""
    instance = read_instance(args)
    return instance, threat_of(args, instance)


def budgets_given(args: argparse.Namespace) -> bool:
    return any(getattr(args, name) is not None for name in TYPES)


def bounded(args: argparse.Namespace, instance: Instance, threat: ThreatModel) -> ThreatModel:
    """The threat model with local budgets that the base certificate covers, where nothing is asked but an instance."""
    limited = within_base(threat, instance)
    if limited is not threat:
        add_note(args, "local budgets are those that the base certificate covers")
    return limited


def add_note(args: argparse.Namespace, text: str) -> None:
    """A note for `print_notes`: a command that is refused prints its error only."""
    args.notes = [*getattr(args, "notes", []), text]


def print_notes(args: argparse.Namespace) -> None:
    """What the command has chosen by itself, on standard error; with --json the answer has it."""
    for text in [] if args.json else getattr(args, "notes", []):
        print(f"certcore: note: {text}", file=sys.stderr)


def started(args: argparse.Namespace, instance: Instance, threat: ThreatModel) -> ThreatModel:
    """The threat model, at the budget a first view has if no budget is given at all."""
    if budgets_given(args):
        return threat
    budget: dict[str, Any] = first_budget(instance)
    if not budget:
        raise InputError("no budget is given, and the base certificate speaks about no perturbation type")
    said = " ".join(f"--{name.replace('_', '-')} {value:g}" for name, value in budget.items())
    add_note(args, f"no budget is given; this is the answer for {said}")
    return bounded(args, instance, threat.replace(**budget))


def time_limit(args: argparse.Namespace) -> float:
    """Seconds for the whole command; with a number of rounds, for the same result every time, no clock ends it."""
    if args.time_limit is not None:
        return float(args.time_limit)
    return TIME_LIMIT if args.rounds is None else threading.TIMEOUT_MAX / 2


def solve_options(args: argparse.Namespace) -> dict[str, Any]:
    """Solver options as keyword arguments for the engine; the time limit is the command's, see `watched`."""
    return {"relaxation": args.relaxation, "rounds": args.rounds}


def read_instance(args: argparse.Namespace) -> Instance:
    instance = open_instance(args.instance, args)
    if args.base_rule != instance.base_rule:
        raise InputError(
            f"--base-rule {args.base_rule} is about votes, but this instance holds another kind of base certificate; "
            "leave the option out"
        )
    return instance


def open_instance(path: str, args: argparse.Namespace) -> Instance:
    """Read an instance file with the chosen base rule."""
    require_file(path, "an instance file (.npz)", suffix=".npz")
    with StatusLine("reading the instance", quiet=args.json):
        return load_instance(path, base_rule=args.base_rule)


def threat_of(args: argparse.Namespace, instance: Instance) -> ThreatModel:
    """The threat model the options describe."""
    values: dict[str, Any] = {name: getattr(args, name) or 0 for name in TYPES}
    for name in TYPES:
        text = getattr(args, f"local_{name}")
        entry = entry_of(name)
        shares = entry.lengths or (args.local_mode == LocalMode.RELATIVE and not entry.brings_nodes)
        values[field_name(f"local_{name}")] = text if text is None or shares else _local_count(text, name)
    threat = ThreatModel(
        **values,
        local_mode=args.local_mode,
        sigma=args.sigma,
        targets=None if args.targets is None else instance.select_targets(_targets(args.targets)),
        protected=() if args.protect is None else instance.select_targets(_existing(args.protect)),
        weights=read_option(args.weights),
    )
    if threat.weights is not None and args.targets is not None and before_correct(args.targets) != args.targets:
        raise InputError("--weights counts weight and --targets correct an accuracy of labels; give one of both")
    return threat.bound_to(instance.scale).weighed(instance.graph, np.asarray(instance.targets))


def targets_before_correct(args: argparse.Namespace, instance: Instance) -> np.ndarray | None:
    """All targets that certified accuracy refers to with `--targets correct`, right or wrong; None without it."""
    if args.targets is None or args.targets.partition(":")[0] != "correct":
        return None
    return instance.select_targets(before_correct(args.targets))


def print_remarks(instance: Instance, threat: ThreatModel) -> None:
    """Print the required remarks at these budgets; on standard error if a table goes to standard output."""
    for remark in messages.remarks(instance, threat):
        print(f"certcore: note: {remark}", file=sys.stderr)


def print_share(instance: Instance, before: np.ndarray) -> None:
    """Print the denominator of ratios in a table over the right labels, on standard error."""
    print(f"certcore: note: {messages.share_of_right(instance, before)}", file=sys.stderr)


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def answer(args: argparse.Namespace, report: object, *lines: object) -> int:
    """Print the report as JSON if that was asked for, the lines otherwise; returns the exit code of success."""
    if args.json:
        print_json(report)
    else:
        print(*lines, sep="\n")
    return 0


def write_csv(handle: Any, columns: dict[str, Any]) -> None:
    """Columns of equal length as CSV, by the same function as all exports."""
    # Imported here because most commands write no table, and importing figures is slow.
    from certcore.figures.table import csv_text

    # Existing scripts expect True and False as Python writes them.
    cells = [map(str, column) if np.asarray(column).dtype == bool else column for column in columns.values()]
    handle.write(csv_text(list(columns), zip(*cells), newline="\n"))


def _local_count(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InputError(
            f"the local budget for {LABELS[name]} is {text[:20]!r}; expected a whole number of at least 0 "
            "(or a share together with --local-mode relative)"
        )
    return int(text)


def _targets(which: str) -> str:
    if which.startswith("correct:"):
        return f"correct:{_targets(which.removeprefix('correct:'))}"
    if names_targets(which) or INDICES.fullmatch(which):
        return which
    what = "a text file with one node index per line, or say all, test, val, class:K or indices such as 3,5,10:20"
    return require_file(which, what, words=("all", "test", "class:K"))


def _existing(path: str) -> str:
    if names_targets(path):
        raise InputError(f"--protect takes indices such as 3,5,10:20 or a file with one per line, not {path!r}")
    return path if INDICES.fullmatch(path) else require_file(path, "indices, or a file with one node index per line")
