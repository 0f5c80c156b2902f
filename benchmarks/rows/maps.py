"""Maps and curves to half a point (tolerance 0.005), and in two processes"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks import instances
from benchmarks.measure import timed
from benchmarks.rows import Figure, row
from certcore import Instance, ThreatModel, load_instance
from certcore.sweep import Session, curve, surface

SIDE = range(50)


def attributes(stem: str) -> tuple[Instance, str, str]:
    return load_instance(instances.ROOT / "precomputed" / f"{stem}.npz"), "attr_add", "attr_del"


def half_a_point(instance: Instance, x: str, y: str, before: int | None = None) -> Figure:
    """Solves until every one of 50 × 50 cells is within half a point; `before` at 9246af9."""
    found, took = timed(lambda: surface(Session(instance), ThreatModel(), x, SIDE, y, SIDE, tolerance=0.005))
    assert found.largest_gap <= 0.005
    return Figure(found.solves, before, detail=f"{took.cpu:.1f} s; largest gap {found.largest_gap:.2%}")


@row("Citeseer, attributes, solves of a map of 50 × 50", unit="", against="before", at_most=80)
def citeseer() -> Figure:
    return half_a_point(*attributes("citeseer-gcn-attr-s0"), before=152)


@row("Cora, attributes, solves of a map of 50 × 50", unit="", at_most=80)
def cora() -> Figure:
    return half_a_point(*attributes("cora-gcn-attr-s0"))


@row("PubMed, attributes, solves of a map of 50 × 50", unit="", at_most=80)
def pubmed() -> Figure:
    return half_a_point(*attributes("pubmed-gcn-attr-s0"))


def line(instance: Instance, values: range, **how: Any) -> Figure:
    """Solves of a curve of attribute deletions to half a point, beside those of every value."""
    found, took = timed(lambda: curve(instance, vary="attr_del", values=values, tolerance=0.005, **how))
    assert found.largest_gap <= 0.005
    every, all_took = timed(lambda: curve(instance, vary="attr_del", values=values, **how))
    assert (found.certified <= every.certified).all()
    return Figure(
        found.solves, every.solves, f"{len(values)} values; {took.cpu:.1f} s, every value {all_took.cpu:.1f} s"
    )


@row("Citeseer, solves of a curve to 400 deletions", unit="", against="every value")
def citeseer_curve() -> Figure:
    return line(instances.citeseer(), range(401))


@row("Citeseer, rounds of a strong curve from 200 to 240 deletions", unit="", against="every value")
def citeseer_strong() -> Figure:
    return line(instances.citeseer(), range(200, 241, 2), relaxation="strong", rounds=2)


def two_processes(**how: Any) -> Figure:
    """Seconds on the wall of a map, with two processes that have started and with one; each time a fresh session."""
    x, y = (range(9), range(22)) if not how else (SIDE, SIDE)
    walls = {}
    for jobs in (2, 1):
        runs = []
        for seed in range(2):  # the first map starts the processes; another instance makes them begin anew
            instance = load_instance(instances.ROOT / "precomputed" / f"citeseer-gcn-attr-s{1 - seed}.npz")
            runs.append(timed(partial(surface, instance, None, "attr_add", x, "attr_del", y, jobs=jobs, **how)))
        walls[jobs] = runs[-1][1].wall
    return Figure(walls[2], walls[1], f"{runs[-1][0].solves} solves with one process")


@row("Citeseer, exact map of 9 × 22 in two processes, wall", against="one process", ratio=1.5)
def exact_apart() -> Figure:
    return two_processes()


@row("Citeseer, map of 50 × 50 to half a point in two processes, wall", against="one process", ratio=1.3)
def tolerance_apart() -> Figure:
    return two_processes(tolerance=0.005)
