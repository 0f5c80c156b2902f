"""Large programs: joint types cold, PubMed, synthetic graphs"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks import instances
from benchmarks.measure import peak_memory
from benchmarks.rows import Figure, row
from certcore import Instance, Session, Status, ThreatModel, load_instance

BUNDLES = Path(__file__).resolve().parents[2] / "precomputed"


@cache
def _instance(name: str) -> Instance:
    return load_instance(BUNDLES / f"{name}.npz")


def _figure(name: str, threat: dict[str, Any], step: dict[str, Any], before: float | None, told: str) -> Figure:
    """A cold certificate without an attack, and the next step of a slider."""
    instance = _instance(name)
    targets = instance.select_targets("correct:test") if "ballots" in name else None
    session, found, seconds = Session(instance), [], []
    for given in (threat, {**threat, **step}):
        started = process_time()
        found.append(session.certify(ThreatModel(targets=targets).replace(**given), attack=False, time_limit=600))
        seconds.append(process_time() - started)
    assert all(one.status is Status.OPTIMAL for one in found)
    detail = f"{found[0].certified:,} of {found[0].targets:,} certified; the next step {seconds[1]:.2f} s"
    return Figure(seconds[0], before, f"{detail}; {told}")


@row("PubMed ballots, 100 added edges", at_most=2)
def additions() -> Figure:
    return _figure("pubmed-decoupled-ballots-s0", {"adj_add": 100}, {"adj_add": 101}, None, "goal of a step 0.3 s")


@row("PubMed ballots, 10 new nodes with 5 edges each", at_most=2)
def injected() -> Figure:
    threat = {"inject": 10, "inject_edges": 5}
    return _figure("pubmed-decoupled-ballots-s0", threat, {"inject": 11}, None, "goal of a step 0.3 s")


@row("PubMed ballots, 20 deletions", against="before", at_most=3)
def deletions() -> Figure:
    told = "before (9246af9, 2026-11-18): 13.5 s with status failed"
    return _figure("pubmed-decoupled-ballots-s0", {"adj_del": 20}, {"adj_del": 21}, 13.5, told)


@row("PubMed ballots, 5 controlled nodes", at_most=3)
def controlled() -> Figure:
    threat, step = {"attr_add": 5, "sigma": 5}, {"attr_add": 6, "sigma": 6}
    return _figure("pubmed-decoupled-ballots-s0", threat, step, None, "before: no end after eight minutes")


@row("PubMed, 10 attribute deletions, σ = 10", against="before", at_most=10)
def attributes() -> Figure:
    told = "before (9246af9, 2026-11-18): 11.9 s, by the whole program"
    return _figure("pubmed-gcn-attr-s0", {"attr_del": 10, "sigma": 10}, {"sigma": 9}, 11.9, told)


@row("PubMed, 100 attribute deletions, σ = 10", at_most=10)
def many_attributes() -> Figure:
    told = "before: no end after 800 s on the wall of a busy machine"
    return _figure("pubmed-gcn-attr-s0", {"attr_del": 100, "sigma": 10}, {"sigma": 11}, None, told)


def _joint(name: str, before: float) -> Figure:
    told = "21 attribute and 8 edge deletions; before (905b664, 2026-11-18): the whole program"
    return _figure(name, {"attr_del": 21, "adj_del": 8}, {"attr_del": 22}, before, told)


@row("Cora, attribute and edge deletions, cold", against="before", at_most=1.5)
def cora_joint() -> Figure:
    return _joint("cora-gcn-joint-s0", 1.85)


@row("Citeseer split 1, attribute and edge deletions, cold", against="before", at_most=1.5)
def citeseer_joint() -> Figure:
    return _joint("citeseer-gcn-joint-s1", 0.80)


def _cold(size: int) -> tuple[float, float, int, str]:
    """Processor seconds of building and of solving a synthetic graph, its entries, and what was found."""
    instance, threat = instances.synthetic(size), ThreatModel(attr_del=size // 100)
    started = process_time()
    solver = Session(instance, once=True).solver(threat)
    built = process_time()
    found = solver.solve((threat.budgets, None), time_limit=3600)
    solved = process_time()
    apart = (float(found.bound) - found.lower) / float(found.bound)
    told = (
        f"{found.status}: at most {float(found.bound):,.1f} of {size:,} attacked, {apart:.0e} above a feasible solution"
    )
    return built - started, solved - built, int(solver.structure.matrix.nnz), told


@row("synthetic graphs, 10,000 to 200,000 nodes: exponent of entries", unit="", against="before", at_most=1.10)
def growth() -> Figure:
    sizes = (10_000, 20_000, 50_000, 100_000, 200_000)
    runs = [[_cold(size) for _ in range(3 if size <= 50_000 else 1)] for size in sizes]
    built, solved = (np.array([np.median([run[i] for run in some]) for some in runs]) for i in range(2))
    entries = np.log([some[0][2] for some in runs])
    build, solve, both = (np.polyfit(entries, np.log(t), 1)[0] for t in (built, solved, built + solved))
    told = ", ".join(f"{size:,} nodes {a:.2f} + {b:.2f} s" for size, a, b in zip(sizes, built, solved))
    detail = (
        f"fit through all; building {build:.2f}, solving {solve:.2f}; {told}; before (905b664, in turns) 5.9 + 10.8 s"
    )
    return Figure(float(both), 1.20, f"{detail} at the end")


@row("synthetic graph, a million nodes of mean degree 4, 10,000 deletions", at_most=900)
def million() -> Figure:
    built, solved, entries, told = _cold(1_000_000)
    detail = f"building {built:.0f} s, {entries:,} entries, {peak_memory():.1f} GiB of 12; {told}"
    return Figure(built + solved, None, detail)
