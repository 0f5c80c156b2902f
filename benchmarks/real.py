"""Certified labels of the bundles whose attributes are numbers: `python -m benchmarks.real [BUNDLE …]`.

For each distance ε: the collective and the naive count, the best attack found beside the bound, certified accuracy of
both and of a smoothed network that ignores edges (as recorded in the bundle), and seconds of processor time of a cold
certificate.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from certcore import Instance, certify, load_instance

ROOT = Path(__file__).parents[1]
#: Distances and, where edges are smoothed too, pairs of distance and deletions.
DISTANCES = {
    "digits-gcn-l2-s0": ("0.5", "1", "2", "3", "4", "6", "8", "14"),
    "pubmed_tfidf-gcn-l2-s0": ("0.05", "0.1", "0.2", "0.3", "0.6"),
    "digits-gcn-l2_joint-s0": (("1", 2), ("1", 10), ("2", 10), ("3", 20)),
}


def row(instance: Instance, distance: str, deletions: int) -> str:
    """One line of the table."""
    budgets = {"attr_l2": distance} | ({"adj_del": deletions} if deletions else {})
    started = time.process_time()
    found = certify(instance, **budgets)
    seconds = time.process_time() - started
    right = certify(instance, targets=instance.select_targets("correct"), attack=False, **budgets)
    total = len(instance.select_targets(None))
    control = instance.meta.get("control", {}).get("certified_accuracy", {}).get(distance)
    words = [
        distance + (f", {deletions} deletions" if deletions else ""),
        f"{found.certified:,}",
        f"{found.naive_certified:,}",
        f"{found.attack_found:,} ({total - found.certified:,})",
        f"{right.certified / total:.1%} / {right.naive_certified / total:.1%}",
        "–" if control is None else f"{control:.1%}",
        f"{seconds:.1f}",
    ]
    return f"| {' | '.join(words)} |"


def table(path: Path) -> list[str]:
    """The table of one bundle, in Markdown."""
    instance = load_instance(path)
    meta, control = instance.meta, instance.meta.get("control", {})
    total, abstained = len(instance.select_targets(None)), instance.base.facts["abstained"]
    lines = [
        f"**{path.stem}**: s = {meta['attr_std']} (step {meta['lattice']}, noise at {meta['noise_at']}), "
        f"{meta['samples']:,} votes, {total:,} targets, smoothed accuracy {meta['accuracy']['smoothed']:.1%}, "
        f"{abstained:,} of all nodes abstain; control: MLP, s = {control.get('attr_std', '–')}",
        "",
        "| ε | collective | naive | attack found (bound) | certified accuracy, both | MLP | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for given in DISTANCES[path.stem]:
        distance, deletions = given if isinstance(given, tuple) else (given, 0)
        lines.append(row(instance, distance, deletions))
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("bundles", nargs="*", help="stems in precomputed/ (default: all that are there)")
    for stem in parser.parse_args().bundles or DISTANCES:
        path = ROOT / "precomputed" / f"{stem}.npz"
        if path.exists():
            print("\n".join(table(path)), flush=True)


if __name__ == "__main__":
    main()
