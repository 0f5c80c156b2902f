"""`certcore draw`: one figure, or its numbers, as the dashboard shows it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from certcore.cli.options import (
    add_json,
    add_relaxation,
    add_threat,
    add_width,
    natural,
    open_instance,
    print_json,
    threat_of,
)
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.cli.sweeping import VALUES, VALUES_HELP
from certcore.common.errors import InputError
from certcore.common.files import atomic_write, require_writable
from certcore.common.numbers import read_numbers
from certcore.domain.base_rule import BaseRule
from certcore.domain.local_mode import LocalMode
from certcore.export.making import KINDS_OF_FIGURES
from certcore.figures.recipe import Recipe
from certcore.sweep.axis import Axis


def add(subparsers: Subparsers) -> None:
    kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS_OF_FIGURES.items())
    parser = subparsers.add_parser(
        "draw",
        help="make one figure, or the file with its numbers",
        description=(
            "Compute one figure as the dashboard shows it and write it to one file; the end of its name chooses the "
            f"format (.csv has the plotted numbers). Kinds of figures: {kinds}."
        ),
        epilog="example: certcore draw curve precomputed/citeseer-gcn-attr-s0.npz --vary attr_del --values 0:10,20,50 "
        "-o curve.csv",
    )
    parser.add_argument("kind", choices=tuple(KINDS_OF_FIGURES), metavar="KIND", help="the kind of figure, see above")
    parser.add_argument(
        "instances",
        nargs="*",
        metavar="INSTANCE",
        help="an instance file; of a curve its splits, of a comparison all its instances, of `paper` the figure's name",
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write, such as figure.csv")
    parser.add_argument("--base-rule", choices=list(BaseRule), default=BaseRule.BINARY, help="see certcore certify")
    _add_lines(parser)
    _add_map(parser)
    _add_graph(parser)
    add_threat(parser)
    add_relaxation(parser)
    add_width(parser)
    add_json(parser)


def _add_lines(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("curve and compare")
    group.add_argument("--vary", metavar="TYPE|local-TYPE|sigma", help="what to vary")
    group.add_argument("--values", metavar=VALUES, help=VALUES_HELP)
    group.add_argument("--family", metavar="local-TYPE|sigma", help="one line for each of several budgets …")
    group.add_argument("--members", metavar=VALUES, help="… and which, such as 1,2,5")
    group.add_argument(
        "--bracket",
        metavar=VALUES,
        help="of a single line: look for attacks at these values, and draw the band up to what the best one leaves",
    )
    group.add_argument(
        "--left",
        metavar="N,N,…",
        help="targets that attacks found earlier left uncertified there: look for none (of a map: X/Y/N,…)",
    )
    group.add_argument(
        "--accuracy-of",
        type=natural,
        metavar="N",
        help="with --targets correct: ratios of so many targets, which makes them certified accuracies",
    )
    group.add_argument("--paper", action="store_true", help="add lines of the paper's relaxation")
    group.add_argument("--no-naive", action="store_true", help="leave out the naive count")
    group.add_argument("--log", action="store_true", help="logarithmic axis")
    group.add_argument("--name", action="append", dest="names", metavar="TEXT", help="name of an instance, in order; "
                       "instances of the same name are splits of one line")  # fmt: skip


def _add_map(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("map")
    for name in ("x", "y"):
        group.add_argument(f"--{name}", metavar="TYPE|sigma", help=f"what varies along {name} (also: front, base)")
        group.add_argument(f"--{name}-values", metavar=VALUES, help=VALUES_HELP)
    group.add_argument(
        "--show",
        choices=("ratio", "naive", "paper", "bracket"),
        help="the certified ratio, the gain over the naive count or over the paper, or how far the proven bound "
        "and the best attack found are apart (default: ratio)",
    )
    group.add_argument("--levels", metavar="R,R,…", help="contour lines at these ratios, or `none` (default: 0.5,0.7)")


def _add_graph(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("graph, front and votes")
    group.add_argument("--node", type=natural, metavar="N", help="which node")
    group.add_argument(
        "--attack",
        metavar="TEXT",
        help="replay this attack (attr_del@NODExCOUNT, adj_del@NODE-NODE, attacker@NODE, separated by commas) instead "
        "of looking for one",
    )
    group.add_argument("--relaxed", action="store_true", help="the relaxed adversary instead of an attack")
    group.add_argument(
        "--palette", choices=("state", "class", "margin", "correct"), help="what colours mean (default: state)"
    )
    group.add_argument("--only", metavar="STATE,…", help="fade nodes in other states, such as lost,before")
    group.add_argument("--zoomed", action="store_true", help="only the part of the graph where the attack is")


def run(args: argparse.Namespace) -> int:
    from certcore.export.making import make
    from certcore.export.rendering import formats, render

    found = [form for form in formats() if Path(args.output).name.lower().endswith(form.extension)]
    if not found:
        known = ", ".join(form.extension for form in formats())
        raise InputError(f"--output is {args.output!r}; expected a file name that ends in one of {known}")
    form = max(found, key=lambda form: len(form.extension))
    require_writable(args.output)
    recipe = _recipe(args)
    with StatusLine(f"draw {recipe.kind}", quiet=args.json):
        data = render(make(recipe), form.key, width=args.width)
    with atomic_write(args.output) as handle:
        handle.write(data)
    if args.json:
        print_json({"kind": recipe.kind, "file": args.output, "format": form.key})
    else:
        print(f"{recipe.kind}: {args.output}")
    return 0


def _recipe(args: argparse.Namespace) -> Recipe:
    shares = args.local_mode == LocalMode.RELATIVE
    options: dict[str, Any] = {}
    for name in ("vary", "family"):
        if getattr(args, name) is not None:
            options[name] = Axis.parse(getattr(args, name)).name
    for name, axis in (
        ("values", "vary"),
        ("bracket", "vary"),
        ("members", "family"),
        ("x_values", None),
        ("y_values", None),
    ):
        text = getattr(args, name)
        if text is not None:
            local = axis is not None and str(options.get(axis, "")).startswith("local_")
            options[name] = read_numbers(text, f"--{name.replace('_', '-')}", shares=local and shares)
    for name in ("x", "y", "show", "node", "attack", "palette", "only", "names", "accuracy_of", "left", "rounds"):
        if getattr(args, name) is not None:
            options[name] = getattr(args, name)
    for name in ("x", "y"):
        if name in options:
            options[name] = Axis.parse(options[name], local=False).name
    for name in ("paper", "no_naive", "log", "relaxed", "zoomed"):
        if getattr(args, name):
            options[name] = True
    if args.levels is not None:
        options["levels"] = _levels(args.levels)
    threat: dict[str, Any] = {}
    if args.instances and args.kind != "paper":
        # Every instance has targets of its own: they are chosen by name when the figure is made.
        own = argparse.Namespace(**{**vars(args), "targets": None})
        threat = threat_of(own, open_instance(args.instances[0], args)).to_json()
    return Recipe(
        kind=args.kind,
        instances=tuple(args.instances),
        threat=threat,
        targets=args.targets,
        relaxation=args.relaxation,
        base_rule=args.base_rule,
        options=options,
    )


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = () if text == "none" else tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = (-1.0,)
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"--levels is {text[:40]!r}; expected ratios from 0 to 1 such as 0.5,0.7, or none")
    return levels
