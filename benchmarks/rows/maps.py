"""Maps and curves to half a point (tolerance 0.005)"""

from __future__ import annotations

from benchmarks import instances
from benchmarks.measure import timed
from benchmarks.rows import Figure, row
from certcore import Instance, ThreatModel, load_instance
from certcore.sweep import Session, surface

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
