"""`python -m experiments.ballots`: certified accuracy of the shipped bundles of ballots, and real attacks beside it.

The mean over the splits of right labels that stay, in per cent of all test nodes. Controlled nodes also meet ballots
made from the shipped ones: squared, made shares again, own ballot twice; that choice was fixed beforehand. Attacks are
replayed: labels are summed again on the attacked graph.
"""

from __future__ import annotations

import argparse
import glob
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from certcore.base.ballots import UNIT, BallotsBase
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance, load_instance
from certcore.sweep.session import Session

BUNDLES = Path(__file__).resolve().parents[1] / "precomputed"

ADDITIONS = [{"adj_add": n} for n in (0, 10, 25, 50, 100)]
INJECTED = [{"inject": n, "inject_edges": each} for n, each in ((1, 5), (10, 1), (10, 5), (10, 20), (50, 5))]
CONTROLLED = [{"attr_add": n, "sigma": n} for n in (0, 1, 5, 10, 20)]


def sharpened(instance: Instance) -> Instance:
    """The same nodes with their ballots squared and made shares again, rounded down, and the own one counted twice."""
    base = instance.base
    assert isinstance(base, BallotsBase)
    squares = base.ballots.astype(object) ** 2  # whole numbers of any size
    shares = (squares * UNIT) // np.maximum(squares.sum(axis=1, keepdims=True), 1)
    return replace(instance, base=BallotsBase(shares.astype(np.int64), 2, base.weights_read_edges))


def percent(counts: Iterable[tuple[int, int]]) -> str:
    shares = [100 * count / of for count, of in counts]
    return f"{np.mean(shares):.1f}"


def rows(instances: list[Instance], threats: list[dict[str, int]], attack: bool) -> list[str]:
    """One line per threat model: certified accuracy, what attacks leave, and how many labels lie between."""
    sessions = [Session(instance) for instance in instances]
    right = [instance.select_targets("correct:test") for instance in instances]
    of = [len(instance.select_targets("test")) for instance in instances]
    lines = []
    for given in threats:
        found = [
            session.certify(ThreatModel(targets=targets).replace(**given), attack=attack)
            for session, targets in zip(sessions, right)
        ]
        budgets = " ".join(f"{name}={value}" for name, value in given.items())
        line = f"  {budgets:28s} {percent((c.certified, n) for c, n in zip(found, of)):>6} %"
        if attack:
            left = percent((c.targets - (c.attack_found or 0), n) for c, n in zip(found, of))
            gap = [c.targets - c.certified - (c.attack_found or 0) for c in found]
            line += f"   attacks leave {left} %; open labels per split {', '.join(map(str, gap))}"
        lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.ballots", description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["cora", "citeseer"], help="default: cora citeseer")
    parser.add_argument("--no-attacks", action="store_true", help="do not look for attacks")
    args = parser.parse_args()
    for name in args.datasets:
        paths = sorted(glob.glob(str(BUNDLES / f"{name}-decoupled-ballots-s*.npz")))
        instances = [load_instance(path) for path in paths]
        print(f"{name}, {len(paths)} splits")
        for label in instances[0].controls:
            print(f"  {label:28s} {percent((round(i.controls[label] * 10**6), 10**6) for i in instances):>6} %")
        attack = not args.no_attacks
        print("edge additions", *rows(instances, ADDITIONS, attack), sep="\n")
        print("new nodes", *rows(instances, INJECTED, attack), sep="\n")
        print("controlled nodes, ballots as shipped", *rows(instances, CONTROLLED, attack), sep="\n")
        squared = [sharpened(instance) for instance in instances]
        print(
            "controlled nodes, ballots squared, own one twice", *rows(squared, CONTROLLED, attack), sep="\n", flush=True
        )


if __name__ == "__main__":
    main()
