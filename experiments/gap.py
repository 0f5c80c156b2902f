"""What the gap between proven and changed is made of: `python -m experiments.gap`.

For Citeseer and Cora at 50 attribute deletions: how many labels each step leaves open, from the weakest proof to what
the stored attack on the model changes in fact. Writes the numbers, and a figure of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from certcore import Instance, ThreatModel, certify, load_instance
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.figures.style import TOKENS
from certcore.model_attack.stored import attacks_on, largest

ROOT = Path(__file__).resolve().parents[1]
BUNDLES = {"Citeseer": "citeseer-gcn-attr-s0", "Cora": "cora-gcn-attr-s0"}
NUMBERS, FIGURE = ROOT / "docs" / "results" / "gap.json", ROOT / "docs" / "images" / "gap.svg"


def with_fewer_votes(instance: Instance, samples: int) -> Instance:
    """The instance as if so many votes had been counted: drawn from those that were, without replacement."""
    base = instance.base
    assert isinstance(base, SmoothingBase)
    rng = np.random.default_rng(0)
    votes = np.stack([rng.multivariate_hypergeometric(row, samples, method="marginals") for row in base.votes])
    fewer = SmoothingBase(votes, base.prediction, samples, base.alpha, base.theta, rule=base.rule, graph=instance.graph)
    return replace(instance, base=fewer)


def steps(bundle: str, budget: int, seconds: float) -> dict[str, int]:
    """Labels left open at each step of the way."""
    path = ROOT / "precomputed" / f"{bundle}.npz"
    instance, multiclass = load_instance(path), load_instance(path, base_rule="multiclass")
    threat = ThreatModel(attr_del=budget)
    found = largest(attacks_on(path, instance), instance, threat)
    if found is None or found.flips != budget:
        raise InputError(f"there is no stored attack on {bundle} with {budget} flips; run `experiments.attacks run`")
    tight = certify(instance, threat)
    strong = certify(instance, threat, relaxation="strong", time_limit=seconds)
    other = certify(multiclass, threat)
    other_strong = certify(multiclass, threat, relaxation="strong", time_limit=seconds)
    assert isinstance(instance.base, SmoothingBase)
    told = {"node by node": tight.targets - tight.naive_certified}
    for samples in (10_000, 100_000):
        if samples < instance.base.n_samples:
            fewer = certify(with_fewer_votes(instance, samples), threat)
            told[f"tight, {samples:,} votes"] = fewer.targets - fewer.certified
    told |= {
        f"tight, {instance.base.n_samples:,} votes": tight.targets - tight.certified,
        "strong": strong.targets - strong.certified,
        "attack on the certificates": max(strong.attack_found or 0, tight.attack_found or 0),
        "tight, multi-class": other.targets - other.certified,
        "strong, multi-class": other_strong.targets - other_strong.certified,
        "attack on the multi-class certificates": max(other.attack_found or 0, other_strong.attack_found or 0),
        "abstaining without any attack": int(found.count.abstaining.sum()),
        "changed in fact (found)": found.count.n_changed,
    }
    return told | {"targets": tight.targets}


def page(found: dict[str, dict[str, int]], budget: int) -> str:
    """The numbers as Markdown."""
    names = list(dict.fromkeys(label for told in found.values() for label in told if label != "targets"))
    heads = " | ".join(f"{name} ({told['targets']:,} targets)" for name, told in found.items())
    lines = [f"| labels left open at {budget} deletions | {heads} |", "|---|" + "---:|" * len(found)]
    for label in names:
        cells = " | ".join(f"{told[label]:,}" if label in told else "" for told in found.values())
        lines.append(f"| {label} | {cells} |")
    return "\n".join(lines) + "\n"


def draw(found: dict[str, dict[str, int]]) -> None:
    """The steps as bars, one below the other."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    sheet, axes = plt.subplots(1, len(found), figsize=(11, 3.6), sharex=False)
    for axis, (name, told) in zip(axes, found.items()):
        labels = [label for label in told if label != "targets"]
        tone = {"changed": "changed", "attack": "lost", "abstaining": "none"}
        colours = [TOKENS[tone.get(label.split()[0], "together")].light for label in labels]
        values = [100 * told[label] / told["targets"] for label in labels]
        bars = axis.barh(labels, values, color=colours)
        axis.bar_label(bars, [f"{told[label]:,}" for label in labels], padding=3, fontsize=7)
        axis.invert_yaxis()
        axis.set_xlim(0, 110)
        axis.set_title(f"{name}, {told['targets']:,} targets", fontsize=9)
        axis.set_xlabel("% of the targets", fontsize=8)
        axis.tick_params(labelsize=7)
    sheet.tight_layout()
    sheet.savefig(FIGURE, metadata={"Date": None})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.gap", description=__doc__)
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0, help="for each strong search")
    args = parser.parse_args(arguments)
    found = {name: steps(bundle, args.budget, args.seconds) for name, bundle in BUNDLES.items()}
    with atomic_write(NUMBERS, "w") as handle:
        handle.write(json.dumps({"budget": args.budget, "seconds": args.seconds, "steps": found}, indent=1) + "\n")
    draw(found)
    sys.stdout.write(page(found, args.budget))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
