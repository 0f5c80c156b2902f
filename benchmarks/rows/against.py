"""Against the paper's program in CVXPY"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks import instances
from benchmarks.measure import timed
from benchmarks.reference import PaperProgram
from benchmarks.rows import Figure, row
from certcore import Instance, ThreatModel, certify
from certcore.sweep import curve, surface

CURVE, BUDGETS = range(201), (10, 30, 50, 75, 100, 125, 150, 175, 200)
X, Y, CELLS = range(9), range(22), [(1, 18), (2, 5), (4, 10), (6, 15), (8, 21)]


def reference_seconds(program: PaperProgram, places: list[tuple[int, ...]], certified: list[int]) -> list[float]:
    """Seconds of each solve of the reference; it must not certify more than ours."""
    program.attacked(tuple(min(b, 1) for b in places[0]))  # compile once
    seconds = []
    for place, count in zip(places, certified):
        value, took = timed(partial(program.attacked, place, cold=True))
        assert count >= program.targets - int(value + 1e-4), (place, count, value)
        seconds.append(took.cpu)
    return seconds


def line(instance: Instance) -> Figure:
    """Every integer budget to 200, per point."""
    runs = [timed(lambda: curve(instance, ThreatModel(), "attr_del", CURVE)) for _ in range(3)]
    found, ours = runs[0][0], float(np.median([took.cpu for _, took in runs])) / len(CURVE)
    program = PaperProgram(instance, ThreatModel(attr_del=100))
    places = [ThreatModel(attr_del=b).budgets for b in BUDGETS]
    theirs = reference_seconds(program, places, found.certified[list(BUDGETS)].tolist())
    detail = f"{found.solves} solves for {len(CURVE)} points (median of three); reference at {len(BUDGETS)} budgets"
    return Figure(ours, float(np.mean(theirs)), detail)


def cells(instance: Instance) -> Figure:
    """Additions × deletions 9 × 22, per cell, exact counts."""
    found, took = timed(lambda: surface(instance, ThreatModel(), "attr_add", X, "attr_del", Y))
    assert found.done.all()
    program = PaperProgram(instance, ThreatModel(attr_add=8, attr_del=21))
    places = [ThreatModel(attr_add=a, attr_del=d).budgets for a, d in CELLS]
    theirs = reference_seconds(program, places, [int(found.certified[c]) for c in CELLS])
    each = ", ".join(f"{s:.1f} s" for s in theirs)
    return Figure(took.cpu / found.done.size, float(np.mean(theirs)), f"reference {each} at {CELLS}")


def cold(instance: Instance, threat: ThreatModel) -> Figure:
    """One certificate alone."""
    found, took = timed(lambda: certify(instance, threat, attack=False))
    program = PaperProgram(instance, threat)
    return Figure(took.cpu, reference_seconds(program, [threat.budgets], [found.certified])[0])


def cora_ml(kind: str = "attr") -> Instance:
    found = instances.cora_ml(kind)
    assert found is not None, "Cora-ML's graph is not in ../shared/data"
    return found


@row("Citeseer, curve of 201 attribute deletions, per point", against="CVXPY", ratio=100)
def citeseer_curve() -> Figure:
    return line(instances.citeseer())


@row("Cora-ML, curve of 201 attribute deletions, per point", against="CVXPY", ratio=100)
def cora_ml_curve() -> Figure:
    return line(cora_ml())


@row("Citeseer, map of 9 × 22 additions × deletions, exact, per cell", against="CVXPY", ratio=150)
def citeseer_surface() -> Figure:
    return cells(instances.citeseer())


@row("Cora-ML, map of 9 × 22 additions × deletions, exact, per cell", against="CVXPY", ratio=150)
def cora_ml_surface() -> Figure:
    return cells(cora_ml())


@row("Citeseer, one cold certificate, 100 deletions", against="CVXPY")
def citeseer_cold() -> Figure:
    return cold(instances.citeseer(), ThreatModel(attr_del=100))


@row("Citeseer, one cold certificate, 8 additions and 21 deletions", against="CVXPY")
def citeseer_cold_two() -> Figure:
    return cold(instances.citeseer(), ThreatModel(attr_add=8, attr_del=21))


@row("Cora-ML, one cold certificate, 8 additions and 21 deletions", against="CVXPY")
def cora_ml_cold_two() -> Figure:
    return cold(cora_ml(), ThreatModel(attr_add=8, attr_del=21))
