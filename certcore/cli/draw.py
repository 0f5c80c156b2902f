"""`certcore draw`: one figure, or its numbers, as on the dashboard."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from certcore.cli.options import (
    add_json,
    add_relaxation,
    add_threat,
    answer,
    costs_text,
    nodes_text,
    open_instance,
    threat_of,
)
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.common.errors import InputError
from certcore.common.files import atomic_write, require_writable
from certcore.domain.base_rule import BaseRule
from certcore.domain.perturbations import TYPES
from certcore.domain.settings import FIGURE, flag
from certcore.domain.view_spec import ViewSpec
from certcore.export.making import KINDS_OF_FIGURES


def add(subparsers: Subparsers) -> None:
    kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS_OF_FIGURES.items())
    kinds += "; workbench: number, bar, graph, curve and map as one page (.html) that works offline"
    parser = subparsers.add_parser(
        "draw",
        help="make one figure, or the file with its numbers",
        description=(
            "Compute one figure as the dashboard shows it and write it to one file; the end of its name chooses the "
            f"format (.csv has the plotted numbers). Kinds of figures: {kinds}."
        ),
        epilog="examples: certcore draw 'curves?instance=citeseer-gcn-attr-s0&attr_del=10' -o curve.pdf; certcore draw "
        "curve precomputed/citeseer-gcn-attr-s0.npz --vary attr_del --values 0:10,20,50 -o curve.csv",
    )
    parser.add_argument(
        "kind",
        metavar="ADDRESS|KIND",
        help="what the address bar of the dashboard holds, from the name of the page on (quote it for the shell); or "
        "the kind of figure, see above, with instances and options",
    )
    parser.add_argument(
        "instances",
        nargs="*",
        metavar="INSTANCE",
        help="an instance file; of a curve its splits, of a comparison all its instances, of `paper` the figure's name",
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write, such as figure.csv")
    parser.add_argument("--base-rule", choices=list(BaseRule), default=BaseRule.BINARY, help="see certcore certify")
    add_threat(parser)
    _add_settings(parser)
    add_relaxation(parser)
    add_json(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for each setting of figures; values are validated by the description of the view."""
    groups: dict[str, Any] = {}
    for name, setting in FIGURE.items():
        if setting.help:
            group = groups.setdefault(setting.group, None) or parser.add_argument_group(setting.group)
            groups[setting.group] = group
            kind: dict[str, Any] = (
                {"action": "store_true"} if setting.read is flag else {"metavar": setting.metavar, "default": None}
            )
            group.add_argument(f"--{name.replace('_', '-')}", help=setting.help, **kind)
    parser.add_argument("--relaxed", action="store_true", help="of a graph: the relaxed adversary instead of an attack")
    parser.add_argument("--text", action="append", dest="texts", metavar="LABEL=>TEXT", help="what a label is "
                        "called instead; may be repeated")  # fmt: skip
    parser.add_argument("--name", action="append", dest="names", metavar="TEXT", help="of a comparison: name of an "
                        "instance, in order; instances of the same name are splits of one line")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from certcore.export.making import make
    from certcore.export.rendering import formats, render

    if args.kind == "workbench":
        return _workbench(args)
    found = [form for form in formats() if Path(args.output).name.lower().endswith(form.extension)]
    if not found:
        known = ", ".join(form.extension for form in formats())
        raise InputError(f"--output is {args.output!r}; expected a file name that ends in one of {known}")
    form = max(found, key=lambda form: len(form.extension))
    require_writable(args.output)
    spec = view_of(args)
    with StatusLine(f"draw {spec.kind}", quiet=args.json):
        data = render(make(spec), form.key)
    return _written(args, spec.kind, data, form.key)


def _written(args: argparse.Namespace, kind: str, data: bytes, form: str) -> int:
    with atomic_write(args.output) as handle:
        handle.write(data)
    return answer(args, {"kind": kind, "file": args.output, "format": form}, f"{kind}: {args.output}")


def _workbench(args: argparse.Namespace) -> int:
    """The whole workbench as one self-contained page."""
    from certcore.workbench.standing import workbench_page

    if not args.output.lower().endswith(".html") or len(args.instances) != 1:
        raise InputError("the workbench is drawn of one instance into one .html file; give both")
    require_writable(args.output)
    instance = open_instance(args.instances[0], args)
    with StatusLine("draw workbench", quiet=args.json) as line:
        data = workbench_page(instance, threat_of(args, instance), args.relaxation, line)
    return _written(args, "workbench", data, "html")


def view_of(args: argparse.Namespace) -> ViewSpec:
    """The view that an address, or a kind of figure with options, describes."""
    given = {
        name: getattr(args, name) for name, setting in FIGURE.items() if setting.help or name in ("names", "texts")
    }
    given |= {name: None if getattr(args, name) in (0, "0") else getattr(args, name) for name in TYPES}
    given |= {"attr_l2_sum": getattr(args, "attr_l2_sum", None)}
    given |= {f"local_{name}": getattr(args, f"local_{name}") for name in TYPES}
    given |= {name: getattr(args, name) for name in ("local_mode", "sigma", "relaxation", "time_limit", "rounds")}
    given |= {name: getattr(args, name) for name in ("base_rule", "relaxed", "targets", "protect")}
    given |= {name: getattr(args, name) for name in ("node_costs", "edge_costs")}
    if "?" in args.kind:
        usual = ("absolute", "tight", "binary")
        more = [*args.instances, *(f"--{name.replace('_', '-')}" for name, value in given.items()
                                   if value not in (None, False, *usual))]  # fmt: skip
        if more:
            raise InputError(f"{more[0]} is given beside an address, which says everything; write it into the address")
        return ViewSpec.from_query(args.kind)
    for name in ("targets", "protect"):
        if given[name] is not None:
            given[name] = nodes_text(name, given[name], lambda: open_instance(args.instances[0], args))
    for name in ("node_costs", "edge_costs"):
        given[name] = None if given[name] is None else costs_text(given[name])
    return ViewSpec.from_flags(args.kind, args.instances, given)
