"""What the gap between proven and changed is made of: `python -m benchmarks.gap`.

For Citeseer and Cora at 50 attribute deletions: how many labels each step of the way leaves open, from the weakest
proof to what an attack on the model changes in fact. The model is trained again by the command of its bundle.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import instances
from benchmarks.measure import machine
from certcore import Instance, ThreatModel, certify, load_instance
from certcore.base.smoothing import SmoothingBase
from certcore.model_attack.run import AttackOptions
from certcore.model_attack.stored import beside, load_attack
from certcore.pipeline.attacking import attack_bundle

BUNDLES = {"Citeseer": "citeseer-gcn-attr-s0", "Cora": "cora-gcn-attr-s0"}


def with_fewer_votes(instance: Instance, samples: int) -> Instance:
    """The instance as if so many votes had been counted: drawn from those that were, without replacement."""
    base = instance.base
    assert isinstance(base, SmoothingBase)
    rng = np.random.default_rng(0)
    votes = np.stack([rng.multivariate_hypergeometric(row, samples, method="marginals") for row in base.votes])
    fewer = SmoothingBase(votes, base.prediction, samples, base.alpha, base.theta, rule=base.rule, graph=instance.graph)
    return replace(instance, base=fewer)


def rows(name: str, budget: int, seconds: float, work: str | None) -> list[tuple[str, float]]:
    """What is left open at each step, in labels."""
    path = instances.ROOT / "precomputed" / f"{BUNDLES[name]}.npz"
    instance, multiclass = load_instance(path), load_instance(path, base_rule="multiclass")
    threat = ThreatModel(attr_del=budget)
    tight = certify(instance, threat)
    strong = certify(instance, threat, relaxation="strong", time_limit=seconds)
    fewer = certify(with_fewer_votes(instance, 10_000), threat)
    other = certify(multiclass, threat)
    stored = load_attack(beside(path), instance) if beside(path).exists() else None
    count = None if stored is None else stored.at(instance, threat)
    if count is None or (stored is not None and budget not in stored.budgets):
        found = attack_bundle(instance, threat, AttackOptions(time_limit=seconds), work=work)
        count = found.at(instance, threat)
    assert count is not None
    return [
        ("node by node, 10⁶ votes, binary", tight.targets - tight.naive_certified),
        ("together, 10⁴ votes", fewer.targets - fewer.verified_certified),
        ("together, 10⁶ votes (tight)", tight.targets - tight.verified_certified),
        ("strong", strong.targets - strong.verified_certified),
        ("best attack on the certificates", max(strong.attack_found or 0, tight.attack_found or 0)),
        ("multi-class base certificate (tight)", other.targets - other.verified_certified),
        ("of these, abstaining before any attack", int(count.abstaining.sum())),
        ("labels changed in fact (found)", count.n_changed),
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gap", description=__doc__)
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the strong search, and for the attack")
    parser.add_argument("--work", metavar="DIR", help="where trained models are kept")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the table as Markdown")
    args = parser.parse_args(arguments)
    found: dict[str, Any] = {name: rows(name, args.budget, args.seconds, args.work) for name in BUNDLES}
    lines = [
        f"| labels left open at {args.budget} deletions | " + " | ".join(found) + " |",
        "|---|" + "---:|" * len(found),
    ]
    for number, (label, _) in enumerate(found["Citeseer"]):
        lines.append(f"| {label} | " + " | ".join(f"{table[number][1]:,}" for table in found.values()) + " |")
    text = "\n".join(lines) + f"\n\n{machine()}\n"
    sys.stdout.write(text)
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
