"""Attacks on the models of the shipped bundles: `python -m experiments.attacks run`, and the table of what they change.

`run` makes what is missing, in order of importance: nested attacks on every bundle whose model can be trained again
(kept beside the bundles), then the same budgets spent at random and, for edges, by torch-geometric's PRBCD. Attacks are
searched for by a fixed number of steps, so the same command gives the same attack. It continues where it was stopped;
`--minutes` ends it between two levels. `table` and `figure` read the files.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certcore import Instance, ThreatModel, certify, load_instance
from certcore.base.ballots import BallotsBase
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.domain.perturbations import FLIPS
from certcore.figures.style import TOKENS
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.run import STEPS, AttackOptions, run_attack
from certcore.model_attack.stored import ModelAttack, beside, load_attack, save_attack
from certcore.program.problem import Problem

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim

ROOT = Path(__file__).resolve().parents[1]
PAGE, MARKS = ROOT / "docs" / "explanation" / "attacks.md", ("<!-- table -->", "<!-- end of table -->")
#: What methods are called in the table.
METHODS_SHOWN = {("local", True): "found, nested", ("local", False): "found, one budget at a time",
                 ("certificate", False): "found"}  # fmt: skip
BUNDLES, COUNTS = ROOT / "precomputed", ROOT / "docs" / "results" / "attacks.json"
#: Budgets at which methods are compared.
COMPARED = (10, 50, 200, 1000)
LARGEST = COMPARED[-1]
#: Bundles whose models come out the same on this machine, in order of importance.
ORDER = (
    "citeseer-gcn-attr-s0", "citeseer-gcn-adj-s0", "citeseer-gcn-joint-s0", "citeseer-gat-attr-s0",
    "citeseer-appnp-attr-s0", "cora-gcn-attr-s0", "citeseer-gcn_mean-adj-s0", "cora-gcn-joint-s0",
    "citeseer-gcn-attr-s1", "citeseer-gcn-adj-s1", "citeseer-gcn-attr-s2", "citeseer-gcn-adj-s2",
    "citeseer-gcn-attr-s3", "citeseer-gcn-attr-s4", "citeseer-gcn-joint-s1", "citeseer-gcn-joint-s2",
    "digits-gcn-l2-s0", "digits-gcn-l2_joint-s0", "pubmed_tfidf-gcn-adj-s0", "pubmed-gcn-attr-s0",
    "pubmed_tfidf-gcn-l2-s0", "citeseer-gcn-convex-s1",
)  # fmt: skip
#: Plain classifiers with bounds by convex relaxation, which hold up to a number of additions per node.
CONVEX = {"citeseer-gcn-convex-s1": {"local_attr_add": 21}}
#: Ballots are attacked by the search of their certificate, by each of these types.
BALLOTS = (
    "citeseer-decoupled-ballots-s0", "citeseer-decoupled-ballots-s1", "citeseer-decoupled-ballots-s2",
    "cora-decoupled-ballots-s0", "cora-decoupled-ballots-s1", "cora-decoupled-ballots-s2",
    "pubmed-decoupled-ballots-s0",
)  # fmt: skip
ON_BALLOTS: tuple[tuple[str, dict[str, int]], ...] = (("adj_add", {}), ("inject", {"inject_edges": 5}))
#: Second attacks on bundles, by other types.
OTHER_TYPES = (("citeseer-gcn-attr-s0", "attr_add"), ("citeseer-gcn-adj-s0", "adj_add"))


@dataclass(frozen=True)
class Task:
    """One attack: on which bundle, by which method, at budgets of which types."""

    bundle: str
    method: str
    budgets: tuple[tuple[str, float], ...]
    kind: str = ""
    """The type, where the bundle has another attack of other types."""
    nested: bool = False
    """Attacks that are contained in each other travel with the bundle; others are made for each budget by itself."""

    @property
    def samples(self) -> int:
        """New samples for the count, fixed here: fewer for the graph with ten times as many nodes."""
        return 2000 if self.bundle.startswith(("pubmed", "digits")) else 10_000

    @property
    def stored(self) -> Path:
        """Nested attacks travel beside the bundles."""
        return beside(BUNDLES / f"{self.bundle}.npz", self.kind)

    @property
    def name(self) -> str:
        return f"{self.bundle}{self.kind and '.'}{self.kind}.{self.method}"

    @property
    def compared(self) -> dict[str, Any] | None:
        """Of those that are there to be compared with, the counts are enough."""
        return _counts().get(self.name)

    @property
    def instance(self) -> Instance:
        return load_instance(BUNDLES / f"{self.bundle}.npz")

    @property
    def limits(self) -> dict[str, int]:
        """What more the attacker keeps to: that up to which the base certificate holds, or edges of new nodes."""
        return CONVEX.get(self.bundle) or (dict(ON_BALLOTS)[self.kind] if self.bundle in BALLOTS else {})

    def at(self, largest: int) -> ThreatModel:
        """Its budgets at a share of `largest` / 1,000; a distance grows like the root of that share."""
        parts = {
            kind: f"{budget * math.sqrt(largest / LARGEST):.6g}"
            if kind == "attr_l2"
            else int(budget * largest // LARGEST)
            for kind, budget in self.budgets
        }
        return ThreatModel(**parts, **self.limits)  # type: ignore[arg-type]

    @property
    def command(self) -> str:
        told = " ".join(
            f"--{kind.replace('_', '-')} {budget}" for kind, budget in [*self.budgets, *self.limits.items()]
        )
        how = "--nested" if self.nested else f"--method {self.method}"
        return f"certcore attack {self.bundle}.npz {told} {how} --samples {self.samples}"


def main_budgets(bundle: str) -> tuple[tuple[str, float], ...]:
    """What the first attack on a bundle spends: the types that its sliders begin with."""
    if "-adj-" in bundle:
        return (("adj_del", 1000),)
    if "-l2" in bundle:
        return (("attr_l2", 14 if bundle.startswith("digits") else 0.6),) + (
            (("adj_del", 1000),) if "joint" in bundle else ()
        )
    if "-joint-" in bundle:
        return (("attr_del", 1000), ("adj_del", 1000))
    if bundle in CONVEX:
        return (("attr_add", 1000),)
    return (("attr_del", 1000),)


def tasks() -> Iterator[Task]:
    """In order of importance: what travels with the bundles first, the large graph last."""
    small = [bundle for bundle in ORDER if not bundle.startswith("pubmed")]
    for bundle in small:
        yield Task(bundle, "local", main_budgets(bundle), nested=True)
    for bundle in small:
        yield Task(bundle, "random", main_budgets(bundle))
    for bundle in BALLOTS:
        for kind, _ in ON_BALLOTS:
            yield Task(bundle, "certificate", ((kind, LARGEST),), kind)
            yield Task(bundle, "random", ((kind, LARGEST),), kind)
    yield Task(ORDER[0], "local", main_budgets(ORDER[0]))
    for bundle in [*small, *(bundle for bundle in ORDER if bundle not in small)]:
        yield Task(bundle, "local", main_budgets(bundle), nested=True)
        yield Task(bundle, "random", main_budgets(bundle))
        if "-adj-" in bundle:
            yield Task(bundle, "prbcd", main_budgets(bundle))
    for bundle, kind in OTHER_TYPES:
        yield Task(bundle, "local", ((kind, LARGEST),), kind, nested=True)
        yield Task(bundle, "random", ((kind, LARGEST),), kind)


class Stop(threading.Event):
    """Set once its time is over."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self.until = until

    def is_set(self) -> bool:
        return time.monotonic() > self.until


def make(task: Task, stop: Stop) -> str:
    """Make one attack, or as much of it as time allows; returns what became of it."""
    from experiments.attack_bundles import bundle_victim, with_attributes

    if not task.nested and task.compared:
        return "there"
    instance = task.instance
    if isinstance(instance.base, BallotsBase):
        return _on_ballots(task, instance, stop)
    threat = task.at(LARGEST)
    start = load_attack(task.stored, instance) if task.nested and task.stored.exists() else None
    if start is not None and start.meta.get("complete"):
        return "there"
    instance = with_attributes(instance)
    victim = bundle_victim(instance)
    if task.nested:
        return _nested(task, victim, instance, threat, start, stop)
    found = {}
    for budget in COMPARED:
        begun = time.process_time()
        attack = run_attack(victim, instance, task.at(budget), AttackOptions(task.method, task.samples), cancel=stop)
        spent = round(time.process_time() - begun, 1)
        found[budget] = {"flips": len(attack.flips), "changed": attack.changed, "seconds": spent}
    if stop.is_set():
        return "stopped"
    told = {"command": task.command, "method": task.method, "samples": task.samples, "model": victim.digest}
    return _write(task, told, found)


def _counts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    return found


def _write(task: Task, told: dict[str, Any], found: dict[int, dict[str, Any]]) -> str:
    counts = _counts() | {task.name: told | {"budgets": {str(budget): one for budget, one in found.items()}}}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(counts.items()))
    with atomic_write(COUNTS, "w") as handle:
        handle.write(f"{{\n{lines}\n}}\n")
    return str({budget: one["changed"] for budget, one in found.items()})


def _on_ballots(task: Task, instance: Instance, stop: Stop) -> str:
    """Labels that differ for certain: by the attack of the certificate, or by as many edges drawn at random."""
    base, found = instance.base, {}
    assert isinstance(base, BallotsBase)
    for budget in COMPARED:
        if stop.is_set():
            return "stopped"
        begun, threat = time.process_time(), task.at(budget)
        if task.method == "random":
            problem, rng = Problem(instance, threat), np.random.default_rng(0)
            changed, reached = _random_changes(problem, base, rng, budget, task.kind), None
        else:
            result = certify(instance, threat)
            one = changed_by_ballots(instance, result)
            changed = 0 if one is None else one.count.n_changed
            reached = result.targets - result.certified
        found[budget] = {"changed": changed, "not_proven": reached, "seconds": round(time.process_time() - begun, 1)}
    return _write(task, {"method": task.method, "limits": task.limits}, found)


def _random_changes(problem: Problem, base: BallotsBase, rng: np.random.Generator, budget: int, kind: str) -> int:
    """Labels that change by random new edges between nodes, or by random new nodes that copy random ones."""
    n = base.n_nodes
    scores = base.scores.copy()
    if kind == "inject":
        for _ in range(budget):
            scores[rng.choice(n, 5, replace=False)] += base.ballots[int(rng.integers(n))]
    else:
        pairs = np.unique(np.sort(rng.integers(0, n, (4 * budget, 2)), axis=1), axis=0)
        there = np.asarray(problem.instance.graph.adjacency[pairs[:, 0], pairs[:, 1]]).ravel() != 0
        pairs = rng.permutation(pairs[~there & (pairs[:, 0] != pairs[:, 1])])[:budget]
        np.add.at(scores, pairs[:, 0], base.ballots[pairs[:, 1]])
        np.add.at(scores, pairs[:, 1], base.ballots[pairs[:, 0]])
    return int((scores.argmax(axis=1) != base.prediction)[problem.targets].sum())


def _nested(
    task: Task, victim: Victim, instance: Instance, threat: ThreatModel, start: ModelAttack | None, stop: Stop
) -> str:
    told = {"command": task.command, "recipe": instance.meta.get("command")}

    def keep(attack: ModelAttack) -> None:
        attack.meta.update(told | {"complete": False})
        save_attack(task.stored, attack)

    options = AttackOptions(task.method, task.samples, nested=True)
    attack = run_attack(victim, instance, threat, options, start=start, keep=keep, cancel=stop)
    attack.meta.update(told | {"complete": not stop.is_set()})
    save_attack(task.stored, attack)
    return f"{attack.changed} changed by {len(attack.flips)} flips{', stopped' if stop.is_set() else ''}"


def run(minutes: float) -> int:
    """Make what is missing; a bundle whose model comes out another one is told and left out."""
    stop = Stop(time.monotonic() + 60 * minutes)
    for task in tasks():
        if stop.is_set():
            print("time is over; call it again to continue")
            return 1
        begun = time.process_time()
        try:
            told = make(task, stop)
        except InputError as error:
            told = f"left out: {error}"
        if told != "there":
            print(f"{task.bundle} {task.kind} {task.method}: {told} ({time.process_time() - begun:.0f} s)", flush=True)
    return 0


def changed_by(task: Task) -> dict[int, int]:
    """What was found at the budgets of the comparison, from the files; budgets that are not there are left out."""
    if not task.nested:
        found = task.compared or {"budgets": {}}
        return {int(budget): one["changed"] for budget, one in found["budgets"].items()}
    if not task.stored.exists():
        return {}
    instance = task.instance
    attack = load_attack(task.stored, instance)
    counts = {}
    for budget in COMPARED:
        number = STEPS.index(budget)
        if number < len(attack.levels):
            counts[budget] = attack.count(instance, attack.levels[number], np.asarray(instance.targets)).n_changed
    return counts


def _open(task: Task, budget: int) -> int:
    """How many labels are not proven to stay."""
    if task.method == "certificate" and (found := task.compared):
        return int(found["budgets"][str(budget)]["not_proven"])
    proven = certify(task.instance, task.at(budget), attack=False)
    return proven.targets - proven.certified


def table() -> str:
    """Per bundle and budget: labels not proven, and labels changed by each method, as Markdown."""
    lines = [
        "| bundle | attacker | targets | method | " + " | ".join(f"{budget:,}" for budget in COMPARED) + " |",
        "|---|---|---:|---|" + "---:|" * len(COMPARED),
    ]
    seen: dict[tuple[str, str], dict[str, dict[int, int]]] = {}
    kept: dict[tuple[str, str], Task] = {}
    for task in tasks():
        found = changed_by(task)
        if not found:
            continue
        seen.setdefault((task.bundle, task.kind), {})[METHODS_SHOWN.get((task.method, task.nested), task.method)] = (
            found
        )
        if task.method != "random":
            kept[task.bundle, task.kind] = task
    for key, task in kept.items():
        proven = {budget: _open(task, budget) for budget in COMPARED}
        for method, found in ({"not proven": proven} | seen[key]).items():
            cells = [f"{found[budget]:,}" if budget in found else "not tried" for budget in COMPARED]
            first = method == "not proven"
            about = [task.bundle, _attacker(task), f"{len(np.asarray(task.instance.targets)):,}"] if first else [""] * 3
            lines.append("| " + " | ".join([*about, method, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _attacker(task: Task) -> str:
    kinds = [f"{kind} up to {budget}" if kind == "attr_l2" else kind for kind, budget in task.budgets]
    return " and ".join(kinds) + (", 5 edges each" if task.kind == "inject" else "")


def write_table() -> None:
    """Write the table into the page between its two marks."""
    text = PAGE.read_text()
    head, rest = text.split(MARKS[0])
    with atomic_write(PAGE, "w") as handle:
        handle.write(f"{head}{MARKS[0]}\n\n{table()}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")


Points = list[tuple[float, float, float | None, float]]


def points_of(task: Task) -> Points:
    """Per budget the shares of targets proven to stay, left by the attack on certificates, and not changed."""
    instance = task.instance
    whole = len(np.asarray(instance.targets))
    points: Points = []
    if not task.nested:
        found = task.compared or {"budgets": {}}
        for budget, one in found["budgets"].items():
            points.append((float(budget), 1 - one["not_proven"] / whole, None, 1 - one["changed"] / whole))
        return points
    attack = load_attack(task.stored, instance)
    for level in attack.levels:
        spent = attack.spent(level)
        threat = ThreatModel(**spent, **task.limits)  # type: ignore[arg-type]
        result, count = certify(instance, threat), attack.at(instance, threat)
        assert count is not None
        left = None if result.attack_found is None else 1 - result.attack_found / whole
        size = max(spent[kind] for kind in FLIPS) or spent["attr_l2"]
        points.append((size, result.certified / whole, left, 1 - count.n_changed / whole))
    return points


def figure(path: Path) -> None:
    """Three counts over the budget for every attack: proven, left by the attack on certificates, not changed."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    kept = {task.stored: task for task in tasks() if task.nested and task.stored.exists()}
    done = [*kept.values(), *(task for task in tasks() if task.method == "certificate" and task.compared)]
    across = 4
    down = -(-len(done) // across)
    sheet, axes = plt.subplots(down, across, figsize=(3.1 * across, 2.1 * down), squeeze=False, sharey=True)
    lines = (
        (1, "pre", "proven", "proven to stay"), (2, "post", "lost", "certificates left by the attack on them"),
        (3, "post", "changed", "labels left by the attack on the model"),
    )  # fmt: skip
    for axis, task in zip(axes.ravel(), done):
        points = points_of(task)
        for place, where, tone, label in lines:
            values = [(one[0], 100 * float(one[place] or 0)) for one in points if one[place] is not None]
            if values:
                axis.step(*zip(*values), where=where, color=TOKENS[tone].light, label=label)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axis.set_ylim(0, 101)
        axis.tick_params(labelsize=7)
        axis.set_title(f"{task.bundle}{task.kind and ' · '}{task.kind}", fontsize=7)
    for axis in axes.ravel()[len(done) :]:
        axis.set_axis_off()
    axes[0][0].set_ylabel("% of the targets", fontsize=8)
    axes[-1][0].set_xlabel("flips, new nodes or distance", fontsize=8)
    axes[0][0].legend(fontsize=6, loc="lower left")
    sheet.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(path, metadata={"Date": None})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.attacks", description=__doc__)
    parser.add_argument("what", choices=["run", "table", "figure"])
    parser.add_argument("--minutes", type=float, default=600.0, help="end the run after so long")
    args = parser.parse_args(arguments)
    if args.what == "table":
        write_table()
        return 0
    if args.what == "figure":
        figure(ROOT / "docs" / "images" / "attacks.svg")
        return 0
    return run(args.minutes)


if __name__ == "__main__":
    raise SystemExit(main())
