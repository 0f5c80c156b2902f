"""Large programs against the way before, in one run: `python -m benchmarks.scale [PART …]`.

Parts are `one`, `two`, `sigma`, `synthetic` and `small`. Processor seconds, so that other work on the machine does not
count; medians of three, but for what takes minutes. "Before" is the whole program in HiGHS, forced upon the same code.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks import instances
from benchmarks.measure import Report, Time, machine, peak_memory, spread, timed
from certcore import Instance, ThreatModel, load_instance
from certcore.solve import solver
from certcore.sweep import Session, curve, surface

SIZES = (10_000, 20_000, 50_000, 100_000, 200_000)


@contextmanager
def before() -> Iterator[None]:
    """Give whole programs to HiGHS, whatever their size."""
    kept = solver.is_large
    solver.is_large = lambda structure: False  # type: ignore[assignment]
    try:
        yield
    finally:
        solver.is_large = kept  # type: ignore[assignment]


def median(work: Callable[[], object], times: int = 3) -> float:
    return float(np.median([timed(work)[1].cpu for _ in range(times)]))


def pubmed() -> Instance:
    return load_instance(instances.ROOT / "precomputed" / "pubmed-gcn-attr-s0.npz")


def cold(instance: Instance, threat: ThreatModel) -> Callable[[], float]:
    return lambda: float(Session(instance).certify(threat, attack=False).bound)


def one(report: Report) -> None:
    """PubMed, one type."""
    instance, threat = pubmed(), ThreatModel(attr_del=100)
    now = median(cold(instance, threat))
    with before():
        old = median(cold(instance, threat), 1)
    report.ratio("PubMed, 100 deletions, cold with building", now, old, "≤ 3 s")
    session = Session(instance)
    session.certify(threat, attack=False)
    rng = np.random.default_rng(0)
    steps = [ask(session, ThreatModel(attr_del=100 + i)).cpu for i in (*range(1, 13), *range(-1, -13, -1))]
    report.row("PubMed, step ±1, one type", spread(steps), asked="median ≤ 300 ms")
    jumps = [ask(session, ThreatModel(attr_del=int(at))).cpu for at in rng.integers(1, 1000, 15)]
    report.row("PubMed, random jump 1…1,000, one type", spread(jumps), asked="≤ 1.5 s")
    values = np.unique(np.linspace(0, 1000, 50).astype(int))
    report.row(
        "PubMed, curve 0…1,000 at 50 values",
        f"{median(lambda: curve(Session(instance), ThreatModel(), 'attr_del', values), 1):.1f} s",
        asked="≤ 30 s",
    )


def two(report: Report) -> None:
    """PubMed, two types."""
    instance, threat = pubmed(), ThreatModel(attr_add=8, attr_del=21)
    report.row(
        "PubMed, (8, 21), first cell cold, optimal", f"{median(cold(instance, threat), 1):.2f} s", asked="≤ 10 s"
    )
    session = Session(instance)
    session.certify(threat, attack=False)
    cells = (
        [(8, d) for d in range(20, 14, -1)] + [(a, 15) for a in range(7, 2, -1)] + [(3, d) for d in range(14, 9, -1)]
    )
    steps = [ask(session, ThreatModel(attr_add=a, attr_del=d)).cpu for a, d in cells]
    report.row("PubMed, further cells, neighbour by neighbour", spread(steps), asked="median ≤ 1.5 s")
    coarse, time_ = timed(
        lambda: surface(Session(instance), ThreatModel(), "attr_add", [0, 4, 8], "attr_del", [0, 7, 14, 21])
    )
    report.row(
        f"PubMed, coarse map of {coarse.done.size} cells",
        f"{time_.cpu:.1f} s ({time_.wall:.0f} s on the wall)",
        asked="≤ 30 s",
    )


def sigma(report: Report) -> None:
    """σ on edges."""
    instance = instances.cora_ml("adj")
    name = "Cora-ML"
    if instance is None:
        instance, name = load_instance(instances.ROOT / "precomputed" / "citeseer-gcn-adj-s0.npz"), "Citeseer"
    threat = ThreatModel(adj_del=200, local_adj_del=4, sigma=10)
    found = [Session(instance).certify(threat, attack=False).bound]
    now = median(cold(instance, threat))
    with before():
        known, old = timed(lambda: Session(instance).certify(threat, attack=False).bound)
    what = f"{name}, 200 edge deletions, 4 per node, σ = 10, cold"
    report.ratio(what, now, old.cpu, "≤ 6 s")
    report.note(f"{what}: bound {float(found[0]):.9f}, before {float(known):.9f}.")
    line, time_ = timed(lambda: curve(Session(instance), threat, "sigma", range(21)))
    report.row(f"{name}, curve over σ = 0…20, per point", f"{time_.cpu / len(line.values):.2f} s", asked="≤ 0.7 s")


def ask(session: Session, threat: ThreatModel) -> Time:
    return timed(lambda: session.certify(threat, attack=False))[1]


def synthetic(report: Report) -> None:
    """Synthetic graphs, each in a process of its own."""
    found = []
    for size in SIZES:
        command = [sys.executable, "-m", "benchmarks.scale", "--alone", str(size)]
        runs = []
        for _ in range(1 if size > 50_000 else 3):
            done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=True)
            runs.append(done.stdout.split())
        seconds = float(np.median([float(run[0]) for run in runs]))
        memory, status, entries, bound = runs[0][1:]
        found.append((seconds, float(entries)))
        report.row(
            f"synthetic graph, {size:,} nodes, {size // 100:,} deletions, cold with building",
            f"{seconds:.1f} s, {float(memory):.2f} GiB, {int(entries):,} entries, {status}, bound {float(bound):,.2f}",
            asked={50_000: "≤ 10 s", 100_000: "≤ 30 s", 200_000: "≤ 90 s"}.get(size, ""),
        )
    seconds_, entries_ = np.log(np.array(found)).T
    report.note(
        f"Time grows as entries^{np.polyfit(entries_, seconds_, 1)[0]:.2f} from {SIZES[0]:,} to {SIZES[-1]:,} nodes."
    )


def small(report: Report) -> None:
    """Citeseer and Cora-ML take the way they took before."""
    graphs = [("Citeseer", instances.citeseer()), ("Cora-ML", instances.cora_ml())]
    for name, instance in graphs:
        if instance is not None:
            work = curve_of(instance)
            now = median(work)
            with before():
                report.ratio(f"{name}, curve 0…200", now, median(work), "not slower")


def curve_of(instance: Instance) -> Callable[[], object]:
    return lambda: curve(Session(instance), ThreatModel(), "attr_del", range(201))


def run_alone(size: int) -> None:
    instance = instances.synthetic(size)
    found, time_ = timed(lambda: Session(instance, once=True).certify(ThreatModel(attr_del=size // 100), attack=False))
    assert found.size is not None
    print(time_.cpu, peak_memory(), found.status, found.size.entries, float(found.bound))


PARTS = {"one": one, "two": two, "sigma": sigma, "synthetic": synthetic, "small": small}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="default: all")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        run_alone(args.alone)
        return
    report = Report()
    print(machine())
    for name in args.parts or PARTS:
        PARTS[name](report)


if __name__ == "__main__":
    main()
