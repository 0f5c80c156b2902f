"""`certcore base`: the base certificates of an instance, node by node."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from certcore.base.summary import grid_of, largest_budgets
from certcore.cli.options import add_instance, add_json, answer, natural, read_instance
from certcore.cli.parser import Subparsers
from certcore.cli.status_line import StatusLine
from certcore.common.errors import InputError
from certcore.common.exact import confidence_text
from certcore.common.rounding import share_down
from certcore.domain.perturbations import FLIPS, LABELS, TABLE, TYPES, UNLIMITED, entry_of
from certcore.domain.scale import Scale
from certcore.instance.instance import Instance, save_instance

#: Budgets at which fractions are printed.
BUDGETS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "base",
        help="show the base certificates of an instance and write them as a grid",
        description="Show per perturbation type the largest certified budget and how many nodes are certified at which "
        "budget, one node at a time; write the base certificates as a grid.",
        epilog="example: certcore base precomputed/citeseer-gcn-attr-s0.npz --no-grid",
    )
    add_instance(parser)
    parser.add_argument("--grid", metavar="FILE", help="where to write the instance with its grid (default: beside it)")
    parser.add_argument("--no-grid", action="store_true", help="write no grid")
    parser.add_argument(
        "--limit", type=natural, metavar="N", help="end every axis of the grid at N (larger budgets: uncertified)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    instance = read_instance(args)
    with StatusLine("base", quiet=args.json):
        report = summary(instance)
        lengths = any(entry_of(name).lengths for name in instance.base.axes)
        if lengths and args.grid is not None:
            raise InputError("distances of attributes have no grid of whole numbers; leave --grid out")
        if not args.no_grid and not lengths:
            path = args.grid if args.grid is not None else str(Path(args.instance).with_suffix(".grid.npz"))
            grid = grid_of(instance.base, _bits(instance), args.limit)
            save_instance(path, dataclasses.replace(instance, base=grid))
            report["grid"] = {"path": path, "axes": list(grid.axes), "budgets": [s - 1 for s in grid.grid.shape[1:]]}
    return answer(args, report, _words(report))


def summary(instance: Instance) -> dict[str, Any]:
    """Per type the largest certified budget of any node, and the fraction of nodes certified at some budgets."""
    fronts = instance.base.fronts()
    n, bits = fronts.n_nodes, _bits(instance)
    types: dict[str, Any] = {}
    for k, name in enumerate(TYPES):
        if name not in (*FLIPS, *instance.base.axes):
            continue
        largest = largest_budgets(fronts, k)
        if TABLE[k].lengths and instance.scale is not None:
            types[name] = _lengths(largest, instance.scale)
            continue
        largest[largest >= bits[k]] = UNLIMITED  # there are not more bits to flip
        top = int(largest.max())
        end = min(top, bits[k])
        shown = sorted({0, max(end, 0), *(b for b in BUDGETS if b <= end)})
        types[name] = {
            "largest": max(end, 0),
            "ends_with_bits": top >= UNLIMITED,
            "certified": [{"budget": b, "nodes": int(np.count_nonzero(largest >= b))} for b in shown],
        }
    uncertified = int(n - fronts.clean.sum())
    return {"nodes": n, "uncertified_without_attack": uncertified, "fronts": fronts.n_fronts, "types": types} | {
        "base": instance.base.facts
    }


def _lengths(largest: np.ndarray, scale: Scale) -> dict[str, Any]:
    """The same for distances: at multiples of half a standard deviation."""
    half, end = scale.std / 2, scale.length(max(int(largest.max()), 0))
    shown = [k * half for k in range(int(end / float(half)) + 1)]
    return {
        "largest": float(f"{end * (1 - 1e-6):.6g}"),
        "ends_with_bits": False,
        "certified": [
            {"budget": float(length), "nodes": int(np.count_nonzero(largest >= scale.of_square(length**2)))}
            for length in shown
        ],
    }


def _bits(instance: Instance) -> tuple[int, ...]:
    return tuple(entry.total(instance.graph) for entry in TABLE)


def _words(report: dict[str, Any]) -> str:
    base, n = report["base"], report["nodes"]
    lines = [f"base certificate  {base['kind']}" + (f", {base['rule']} rule" if "rule" in base else "")]
    if "samples" in base:
        lines.append(
            f"confidence        1 − α = {confidence_text(base['alpha'])} over all nodes, {base['samples']:,} samples"
        )
        lines.append(f"flips θ           {', '.join(f'{t} {v}' for t, v in zip(FLIPS, base['theta']))}")
    if "cut" in base:
        lines.append(f"cut short         {', '.join(base['cut'])}: larger budgets were not looked at")
    lines.append(
        f"nodes             {n:,}, of which {report['uncertified_without_attack']:,} abstain or are uncertified"
    )
    lines.append(f"distinct fronts   {report['fronts']:,}")
    lines.append("")
    lines.append(f"{'type':<22}{'largest':>9}   share of nodes certified at budget")
    for name, entry in report["types"].items():
        largest = f"{entry['largest']:,}" + ("*" if entry["ends_with_bits"] and entry["largest"] else "")
        shares = "  ".join(f"{c['budget']}: {share_down(c['nodes'], n)}" for c in entry["certified"])
        lines.append(f"{LABELS[name]:<22}{largest:>9}   {shares}")
    if any(entry["ends_with_bits"] and entry["largest"] for entry in report["types"].values()):
        lines.append("* all the bits there are")
    if "grid" in report:
        sides = ", ".join(f"{a} 0 to {b:,}" for a, b in zip(report["grid"]["axes"], report["grid"]["budgets"]))
        lines.append("")
        lines.append(f"grid              {report['grid']['path']} ({sides})")
    return "\n".join(lines)
