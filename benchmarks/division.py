"""Certified accuracy of division voting over splits, beside models that ignore edges; and how long its programs take.

python -m benchmarks.division figures --work FOLDER cora citeseer      the table of docs/division.md
python -m benchmarks.division times                                    build and solve for 2,500 nodes
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from certcore import Graph, Instance, ThreatModel, certify, load_instance
from certcore.base.division import DivisionBase, PairHash
from certcore.pipeline.bundle import BundleRecipe, make_bundle
from certcore.sweep import curve

BUDGETS = [0, 10, 25, 50, 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser("figures")
    figures.add_argument("datasets", nargs="+")
    figures.add_argument("--models", nargs="+", default=["decoupled", "sage"])
    figures.add_argument("--splits", type=int, default=3)
    figures.add_argument("--work", type=Path, required=True, help="bundles are kept here and not made again")
    commands.add_parser("times")
    args = parser.parse_args()
    if args.command == "times":
        times()
        return
    for dataset in args.datasets:
        for model in args.models:
            print(row(dataset, model, args.splits, args.work), flush=True)


def row(dataset: str, model: str, splits: int, work: Path) -> str:
    """One line of the table: mean ± sample deviation over splits, in percent of all test nodes."""
    found, controls = [], []
    started = time.process_time()
    for split in range(splits):
        recipe = BundleRecipe(dataset, model, "division", split=split)
        path = work / f"{recipe.stem}.npz"
        if not path.exists():
            make_bundle(recipe, path, work=work)
        instance = load_instance(path)
        targets = instance.select_targets("correct:test")
        line = curve(instance, ThreatModel(targets=targets), vary="adj_add", values=BUDGETS)
        nodes = len(instance.select_targets("test"))
        found.append(line.certified / nodes)
        controls.append(list(instance.controls.values()))
        names = list(instance.controls)
    cells = [*said(np.array(found)), *said(np.array(controls))]
    print(f"# {time.process_time() - started:.0f} s of processor time", flush=True)
    return f"| {Path(dataset).stem} {model} | " + " | ".join(cells) + f" | ({', '.join(names)})"


def said(shares: np.ndarray) -> list[str]:
    spread = shares.std(axis=0, ddof=1) if len(shares) > 1 else np.zeros(shares.shape[1])
    return [f"{100 * mean:.1f} ± {100 * deviation:.1f}" for mean, deviation in zip(shares.mean(axis=0), spread)]


def times() -> None:
    """Processor seconds for 2,500 nodes and 5,000 edges with random votes, all nodes targets."""
    rng = np.random.default_rng(0)
    n = 2500
    edges = rng.integers(0, n, size=(5000, 2))
    graph = Graph.from_edges(n, edges[edges[:, 0] != edges[:, 1]])
    label = rng.integers(0, 7, n)
    for layers in (1, 2):
        for groups in (3, 10, 30):
            votes = np.where(rng.random((groups, n)) < 0.3, rng.integers(-1, 7, (groups, n)), label)
            base = DivisionBase(votes, 7, PairHash(groups))
            instance = Instance(graph=graph, base=base, layers=layers, edge_field="messages")
            started = time.process_time()
            found = certify(instance, ThreatModel(adj_add=50), attack=False)
            once = time.process_time() - started
            started = time.process_time()
            if groups == 3:
                curve(instance, ThreatModel(), vary="adj_add", values=list(range(0, 201, 5)))
            swept = time.process_time() - started
            print(f"| {layers} | {groups} | {found.certified} | {once:.2f} | {swept:.1f} |", flush=True)


if __name__ == "__main__":
    main()
