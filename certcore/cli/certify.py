"""`certcore certify`: one collective certificate."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from certcore import certify
from certcore.base.exact import confidence_text
from certcore.certificate import Certificate, rounded_down
from certcore.cli.options import (
    add_instance,
    add_relaxation,
    add_threat,
    print_json,
    read_instance,
    read_threat,
    write_csv,
)
from certcore.cli.progress import Progress
from certcore.errors import InputError
from certcore.files import atomic_write
from certcore.instance import Instance


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "certify",
        help="certify how many labels stay under one shared perturbed graph",
        description="Certify how many target labels provably stay as they are, all at once.",
        epilog="example: certcore certify precomputed/citeseer-gcn-attr-s0.npz --attr-del 50 --proof proof.json",
    )
    add_instance(parser)
    add_threat(parser)
    add_relaxation(parser)
    parser.add_argument("--proof", metavar="FILE", help="write the proof as JSON, to be checked with `certcore verify`")
    parser.add_argument(
        "--allocation", metavar="FILE.csv", help="write the per-node allocation of the best attack found"
    )
    parser.add_argument(
        "--fractional", metavar="FILE.csv", help="write the relaxed adversary's allocation (not an attack)"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="also show the program's size next to the paper's formula"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(args: argparse.Namespace) -> int:
    instance = read_instance(args)
    threat = read_threat(args, instance)
    options = {"relaxation": args.relaxation, "time_limit": args.time_limit}
    with Progress("certify", quiet=args.json):
        certificate = _interruptible(lambda cancel: certify(instance, threat, cancel=cancel, **options))
    if args.proof is not None:
        with atomic_write(args.proof, "w") as handle:
            json.dump(certificate.proof, handle, allow_nan=False)
    if args.allocation is not None:
        _write_allocation(args.allocation, certificate, instance, integer=True)
    if args.fractional is not None:
        if certificate.fractional is None:
            raise InputError(
                "there is no relaxed allocation here (the fields are the whole graph, or nothing was solved)"
            )
        _write_allocation(args.fractional, certificate, instance, integer=False)
    if args.json:
        report = certificate.to_json()
        if args.verbose and certificate.size:
            report["size"] = vars(certificate.size)
        print_json(report)
    else:
        print(_words(certificate, verbose=args.verbose))
    return 0


def _interruptible(work: Callable[[threading.Event], Certificate]) -> Certificate:
    """Work in another thread, so that Ctrl-C is heard while the solver runs: what is proven by then is reported."""
    cancel = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = None
        while True:
            try:
                future = future or pool.submit(work, cancel)
                return future.result()
            except KeyboardInterrupt:
                if cancel.is_set() or future is None:
                    cancel.set()
                    raise
                cancel.set()
                print("certcore: stopping; what is proven so far follows", file=sys.stderr)


def _write_allocation(path: str, certificate: Certificate, instance: Instance, *, integer: bool) -> None:
    columns: dict[str, Any] = certificate.nodes(instance.base.fronts(), instance.graph.edges, integer=integer)
    if instance.node_names is not None:
        columns = {"node": columns.pop("node"), "name": instance.node_names, **columns}
    with atomic_write(path, "w") as handle:
        write_csv(handle, columns)


def _words(c: Certificate, *, verbose: bool) -> str:
    checked = "verified" if c.verified else "not verified"
    lines = [
        f"certified         {c.certified:,} of {c.targets:,} targets ({rounded_down(c.certified, c.targets, 2)})",
        f"naive             {c.naive_certified:,}",
        f"can be attacked   at most {float(c.bound):,.4f} ({c.relaxation}, {checked})",
    ]
    if c.relaxation == "exact":
        lines.append(f"                  the verified count of the tight program is {c.verified_certified:,}")
    if c.attack_found is not None:
        lines.append(f"best attack found {c.attack_found:,} (integer, replayed on the base certificates)")
    base = c.facts.get("base", {})
    if "samples" in base:
        lines.append(
            f"confidence        1 − α = {confidence_text(base['alpha'])} over all nodes, {base['samples']:,} samples"
        )
    lines.append(f"status            {c.status}: {c.status.sentence} ({c.seconds:.2f} s)")
    if verbose and c.size is not None:
        s = c.size
        lines.append(f"program           {s.rows:,} rows, {s.columns:,} columns, {s.entries:,} entries")
        lines.append(f"paper's formula   {s.paper_rows:,} rows, {s.paper_columns:,} columns (13·Σ|P| + 8N + 2e + 5)")
    return "\n".join(lines)
