"""`certcore certify`: one collective certificate."""

from __future__ import annotations

import argparse
import sys
import threading
from functools import partial
from typing import Any

import numpy as np

from certcore import certify, messages
from certcore.cli.options import (
    add_json,
    add_question,
    print_json,
    print_notes,
    read_question,
    solve_options,
    started,
    targets_before_correct,
    time_limit,
    write_csv,
)
from certcore.cli.parser import Subparsers
from certcore.cli.paths import require_file
from certcore.cli.plotting import add_plot, check_plot, is_page, save_plot
from certcore.cli.status_line import StatusLine
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.common.interrupt import limited, run_beside
from certcore.common.rounding import share_down
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.stored import FoundAttack, attacks_on, largest, load_attack
from certcore.program.relaxation import Relaxation
from certcore.result.certificate import Certificate
from certcore.verify.proof import proof_bytes


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "certify",
        description="Certify how many target labels provably stay as they are, all at once.",
        epilog="example: certcore certify precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 --proof proof.json",
    )
    add_question(parser)
    parser.add_argument(
        "--proof",
        metavar="FILE",
        help="write the proof as JSON (compressed if the name ends in .gz), to be checked with `certcore verify`",
    )
    parser.add_argument(
        "--allocation", metavar="FILE.csv", help="write the per-node allocation of the best attack found"
    )
    parser.add_argument(
        "--fractional", metavar="FILE.csv", help="write the relaxed adversary's allocation (not an attack)"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="also show the program's size next to the paper's formula"
    )
    parser.add_argument(
        "--attack",
        metavar="FILE",
        help="a model attack, written by `certcore attack` (default: attacks/NAME.attack.npz, if there)",
    )
    add_plot(parser, "the graph with the best attack found (as .html: the interactive workbench, which works offline)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    check_plot(args)
    instance, threat = read_question(args)
    threat = started(args, instance, threat)
    before = targets_before_correct(args, instance)
    of = None if before is None else len(before)
    with StatusLine("certify", quiet=args.json):
        certificate, _ = run_beside(lambda cancel: _certify(args, instance, threat, cancel), _say_stopping)
    print_notes(args)
    found = changed_by_ballots(instance, certificate) or _model_attack(args, instance, threat)
    if args.proof is not None:
        assert certificate.proof is not None
        with atomic_write(args.proof, "wb") as handle:
            handle.write(proof_bytes(certificate.proof, packed=args.proof.endswith(".gz")))
    if args.allocation is not None:
        _write_allocation(args.allocation, certificate, instance, integer=True)
    if args.fractional is not None:
        if certificate.fractional is None:
            raise InputError(
                "there is no relaxed allocation here (the fields are the whole graph, or nothing was solved)"
            )
        _write_allocation(args.fractional, certificate, instance, integer=False)
    if args.plot is not None:
        _draw(args, instance, certificate)
    if args.json:
        report = certificate.to_json() | {
            "guarantee": str(messages.guarantee(instance, certificate, of)),
            "remarks": [str(remark) for remark in messages.remarks(instance, threat)],
            "changed": None if found is None else found.count.n_changed,
            "changed_joint_alpha": None if found is None else found.count.joint_alpha,
            "accuracy_under_attack": None if found is None else found.count.accuracy,
        }
        if of is not None:
            report["certified_accuracy"] = certificate.certified / of
        if args.verbose and certificate.size:
            report["size"] = vars(certificate.size)
        print_json(report)
    else:
        print(_words(instance, certificate, of, verbose=args.verbose))
        print(f"on the model      {messages.changed_words(found, of)}")
        if before is not None:
            sentence = messages.certified_accuracy(instance, threat, certificate.certified, before)
            print(f"accuracy          {sentence}")
    return 0


def _certify(args: argparse.Namespace, instance: Instance, threat: ThreatModel, cancel: threading.Event) -> Certificate:
    """Certify within the time limit, which for the timed relaxations is that of their search."""
    timed = args.rounds is None and Relaxation(args.relaxation).is_timed
    limit: dict[str, Any] = {"time_limit": time_limit(args)} if timed else {}
    with limited(time_limit(args) + (5 if timed else 0), cancel) as stop:
        return certify(instance, threat, cancel=stop, **solve_options(args), **limit)


def _draw(args: argparse.Namespace, instance: Instance, certificate: Certificate) -> None:
    """The graph with the best attack found; as HTML the workbench, which works offline."""
    if is_page(args):
        from certcore.workbench.standing import workbench_page

        with StatusLine("draw", quiet=args.json) as line, atomic_write(args.plot) as handle:
            handle.write(workbench_page(instance, certificate.threat, args.relaxation, line))
        return
    from certcore.figures.graph import graph_figure

    ballots = changed_by_ballots(instance, certificate)
    save_plot(args, graph_figure(instance, certificate, changed=None if ballots is None else ballots.changed_nodes))


def _model_attack(args: argparse.Namespace, instance: Instance, threat: ThreatModel) -> FoundAttack | None:
    """The largest stored attack on the model within this threat model; None if none was tried."""
    if args.attack is not None:
        require_file(args.attack, "an attack written by `certcore attack`", suffix=".npz")
        return load_attack(args.attack, instance).found(instance, threat)
    try:
        return largest(attacks_on(args.instance, instance), instance, threat)
    except InputError as error:
        print(f"certcore: note: the stored attack is left out: {error}", file=sys.stderr)
        return None


def _say_stopping() -> None:
    print("certcore: stopping; what is known so far follows", file=sys.stderr)


def _write_allocation(path: str, certificate: Certificate, instance: Instance, *, integer: bool) -> None:
    columns: dict[str, Any] = certificate.node_columns(instance.base.fronts(), instance.graph.edges, integer=integer)
    columns["hit"] = np.where(columns["hit"], "yes", "no")
    if instance.node_names is not None:
        columns = {"node": columns.pop("node"), "name": instance.node_names, **columns}
    with atomic_write(path, "w") as handle:
        write_csv(handle, columns)


def _words(instance: Instance, c: Certificate, of: int | None, *, verbose: bool) -> str:
    """The guarantee first, in the same sentences as the dashboard; then its numbers.

    `of`: the targets are the correct labels among this many, and shares are fractions of those.
    """
    amount = partial(messages.amount, c.threat)
    whole, what = (c.targets, messages.counted(c.threat)) if of is None else (of, "labels, which are correct,")
    proven = f"{amount(c.certified)} of {amount(whole)} {what} ({share_down(c.certified, whole)})"
    lines = [
        str(messages.guarantee(instance, c, of)),
        *(f"Note: {remark}" for remark in messages.remarks(instance, c.threat)),
        f"certified         {proven}, proven in exact arithmetic",
    ]
    if c.integer_claim is not None:
        lines.append(f"solver's claim    {amount(c.integer_claim)} by the integer program, which is not proven")
    lines += [f"naive             {amount(c.naive_certified)}", f"left uncertified  {messages.limit_words(c)}"]
    if c.attack_found is not None:
        most = amount(c.attack_found)
        lines.append(f"best attack found leaves {most} uncertified (integer, replayed on the base certificates)")
    lines.append(f"status            {c.status}: {messages.status(c)} ({c.seconds:.2f} s)")
    if verbose and c.size is not None:
        s = c.size
        lines.append(f"program           {s.rows:,} rows, {s.columns:,} columns, {s.entries:,} entries")
        lines.append(f"paper's formula   {s.paper_rows:,} rows, {s.paper_columns:,} columns (13·Σ|P| + 8N + 2e + 5)")
    return "\n".join(lines)
