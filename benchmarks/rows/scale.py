"""Large graphs: ballots and at most σ attackers on PubMed"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

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
    detail = f"{found[0].verified_certified:,} of {found[0].targets:,} certified; the next step {seconds[1]:.2f} s"
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
