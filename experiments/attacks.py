"""Attacks on the models of the shipped bundles: `python -m experiments.attacks run`, and the table of what they change.

`run` makes what is missing, in order of importance: nested attacks on every bundle whose model can be trained again
(kept beside the bundles), then the same budgets spent at random and, for edges, by torch-geometric's PRBCD. Attacks are
searched for by a fixed number of steps, so the same command gives the same attack. It continues where it was stopped;
`--minutes` ends it between two levels. `table` and `figure` read the files.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from certcore import Instance, ThreatModel, certify, load_instance
from certcore.common.errors import InputError
from certcore.common.files import atomic_write
from certcore.figures.style import TOKENS
from certcore.model_attack.run import AttackOptions, run_attack
from certcore.model_attack.stored import ModelAttack, beside, load_attack, save_attack

if TYPE_CHECKING:
    from certcore.model_attack.victim import Victim

ROOT = Path(__file__).resolve().parents[1]
BUNDLES, RESULTS = ROOT / "precomputed", ROOT / "docs" / "results" / "attacks"
#: Budgets at which methods are compared.
COMPARED = (10, 50, 200, 1000)
#: Bundles whose models come out the same on this machine, in order of importance.
ORDER = (
    "citeseer-gcn-attr-s0", "citeseer-gcn-adj-s0", "citeseer-gcn-joint-s0", "citeseer-gat-attr-s0",
    "citeseer-appnp-attr-s0", "cora-gcn-attr-s0", "citeseer-gcn_mean-adj-s0", "cora-gcn-joint-s0",
    "citeseer-gcn-attr-s1", "citeseer-gcn-adj-s1", "citeseer-gcn-attr-s2", "citeseer-gcn-adj-s2",
    "citeseer-gcn-attr-s3", "citeseer-gcn-attr-s4", "citeseer-gcn-joint-s1", "citeseer-gcn-joint-s2",
    "pubmed_tfidf-gcn-adj-s0", "pubmed-gcn-attr-s0",
)  # fmt: skip
#: Second attacks on bundles, by other types.
OTHER_TYPES = (("citeseer-gcn-attr-s0", "attr_add"), ("citeseer-gcn-adj-s0", "adj_add"))


@dataclass(frozen=True)
class Task:
    """One attack: on which bundle, by which method, at budgets of which types."""

    bundle: str
    method: str
    budgets: tuple[tuple[str, int], ...]
    kind: str = ""
    """The type, where the bundle has another attack of other types."""
    nested: bool = False
    """Attacks that are contained in each other travel with the bundle; others are made for each budget by itself."""

    @property
    def samples(self) -> int:
        """New samples for the count, fixed here: fewer for the graph with ten times as many nodes."""
        return 2000 if self.bundle.startswith("pubmed") else 10_000

    @property
    def stored(self) -> Path:
        """Nested attacks travel beside the bundles."""
        return beside(BUNDLES / f"{self.bundle}.npz", self.kind)

    @property
    def compared(self) -> Path:
        """Of those that are there to be compared with, the counts are enough."""
        return RESULTS / f"{self.bundle}{self.kind and '.'}{self.kind}.{self.method}.json"

    @property
    def instance(self) -> Instance:
        return load_instance(BUNDLES / f"{self.bundle}.npz")

    def at(self, largest: int) -> ThreatModel:
        """Its budgets, scaled so that the largest one is this."""
        most = max(budget for _, budget in self.budgets)
        return ThreatModel(**{kind: budget * largest // most for kind, budget in self.budgets})  # type: ignore[arg-type]

    @property
    def command(self) -> str:
        told = " ".join(f"--{kind.replace('_', '-')} {budget}" for kind, budget in self.budgets)
        how = "--nested" if self.nested else f"--method {self.method}"
        return f"certcore attack {self.bundle}.npz {told} {how} --samples {self.samples}"


def main_budgets(bundle: str) -> tuple[tuple[str, int], ...]:
    """What the first attack on a bundle spends: the types that its sliders begin with."""
    if "-adj-" in bundle:
        return (("adj_del", 1000),)
    if "-joint-" in bundle:
        return (("attr_del", 1000), ("adj_del", 1000))
    return (("attr_add", 100),) if "-convex-" in bundle else (("attr_del", 1000),)


def tasks() -> Iterator[Task]:
    """In order of importance: what travels with the bundles first, the large graph last."""
    small = [bundle for bundle in ORDER if not bundle.startswith("pubmed")]
    for bundle in small:
        yield Task(bundle, "local", main_budgets(bundle), nested=True)
    for bundle in small:
        yield Task(bundle, "random", main_budgets(bundle))
    for bundle, kind in OTHER_TYPES:
        yield Task(bundle, "local", ((kind, 1000),), kind, nested=True)
        yield Task(bundle, "random", ((kind, 1000),), kind)
    yield Task(ORDER[0], "local", main_budgets(ORDER[0]))
    for bundle in [*small, *(bundle for bundle in ORDER if bundle not in small)]:
        yield Task(bundle, "local", main_budgets(bundle), nested=True)
        yield Task(bundle, "random", main_budgets(bundle))
        if "-adj-" in bundle:
            yield Task(bundle, "prbcd", main_budgets(bundle))


class Stop(threading.Event):
    """Set once its time is over."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self.until = until

    def is_set(self) -> bool:
        return time.monotonic() > self.until


def make(task: Task, stop: Stop) -> str:
    """Make one attack, or as much of it as time allows; returns what became of it."""
    from certcore.pipeline.attacking import bundle_victim, with_attributes

    if not task.nested and task.compared.exists():
        return "there"
    instance = task.instance
    threat = task.at(max(budget for _, budget in task.budgets))
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
    task.compared.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(task.compared, "w") as handle:
        handle.write(json.dumps(told | {"budgets": found}, indent=1) + "\n")
    return str({budget: one["changed"] for budget, one in found.items()})


def _nested(
    task: Task, victim: Victim, instance: Instance, threat: ThreatModel, start: ModelAttack | None, stop: Stop
) -> str:
    told = {"command": task.command, "recipe": instance.meta.get("command")}

    def keep(attack: ModelAttack) -> None:
        attack.meta.update(told | {"complete": attack.budgets[-1] >= sum(threat.budgets)})
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
        found = json.loads(task.compared.read_text()) if task.compared.exists() else {"budgets": {}}
        return {int(budget): one["changed"] for budget, one in found["budgets"].items()}
    if not task.stored.exists():
        return {}
    instance = task.instance
    attack = load_attack(task.stored, instance)
    return {
        budget: count.n_changed
        for budget in COMPARED
        if sum(task.at(budget).budgets) in attack.budgets and (count := attack.at(instance, task.at(budget)))
    }


def table() -> str:
    """Labels not proven, and labels changed by each method, as Markdown."""
    lines = [
        "| bundle | flips of | targets | " + " | ".join(f"{budget:,}" for budget in COMPARED) + " |",
        "|---|---|---:|" + "---|" * len(COMPARED),
    ]
    seen: dict[tuple[str, str], dict[str, dict[int, int]]] = {}
    kept: dict[tuple[str, str], Task] = {}
    for task in tasks():
        name = task.method + (", nested" if task.nested else "")
        if found := changed_by(task):
            seen.setdefault((task.bundle, task.kind), {})[name] = found
            kept[task.bundle, task.kind] = task
    for place, methods in seen.items():
        task = kept[place]
        instance = task.instance
        cells = []
        for budget in COMPARED:
            proven = certify(instance, task.at(budget), attack=False)
            told = [f"{name} {found[budget]:,}" for name, found in methods.items() if budget in found]
            cells.append(
                f"{proven.targets - proven.verified_certified:,} not proven; " + ", ".join(told or ["not tried"])
            )
        kinds = " and ".join(kind for kind, _ in task.budgets)
        assert instance.targets is not None
        lines.append(f"| {task.bundle} | {kinds} | {len(instance.targets):,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figure(path: Path) -> None:
    """Three counts over the budget for every attack: proven, left by the attack on certificates, not changed."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    done = [task for task in tasks() if task.nested and task.stored.exists()]
    done = list({task.stored: task for task in done}.values())
    across = 4
    down = -(-len(done) // across)
    sheet, axes = plt.subplots(
        down, across, figsize=(3.1 * across, 2.3 * down), squeeze=False, sharex=True, sharey=True
    )
    for axis, task in zip(axes.ravel(), done):
        instance = task.instance
        attack = load_attack(task.stored, instance)
        budgets, proven, left, changed = [], [], [], []
        for level in attack.levels:
            threat = ThreatModel(**attack.spent(level))
            result, count = certify(instance, threat), attack.at(instance, threat)
            assert count is not None
            budgets.append(max(threat.budgets))
            whole = result.targets
            proven.append(100 * result.verified_certified / whole)
            left.append(100 * (1 - (result.attack_found or 0) / whole))
            changed.append(100 * (1 - count.n_changed / whole))
        axis.step(budgets, proven, where="pre", color=TOKENS["proven"].light, label="proven to stay")
        axis.step(
            budgets, left, where="post", color=TOKENS["lost"].light, label="certificates left by the attack on them"
        )
        axis.step(
            budgets,
            changed,
            where="post",
            color=TOKENS["changed"].light,
            label="labels left by the attack on the model",
        )
        axis.set_xscale("log")
        axis.set_ylim(0, 101)
        axis.set_title(f"{task.bundle}{task.kind and ' · '}{task.kind}", fontsize=8)
    for axis in axes.ravel()[len(done) :]:
        axis.set_axis_off()
    axes[0][0].set_ylabel("% of the targets")
    axes[-1][0].set_xlabel("flips")
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
        sys.stdout.write(table())
        return 0
    if args.what == "figure":
        figure(ROOT / "docs" / "images" / "attacks.svg")
        return 0
    return run(args.minutes)


if __name__ == "__main__":
    raise SystemExit(main())
