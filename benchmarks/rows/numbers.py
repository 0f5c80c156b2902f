"""Attributes that are numbers, and ballots: one cold certificate"""

from __future__ import annotations

from typing import Any

from benchmarks import instances
from benchmarks.measure import timed
from benchmarks.rows import Figure, row
from certcore import certify, load_instance


def cold(stem: str, **budgets: Any) -> Figure:
    instance = load_instance(instances.ROOT / "precomputed" / f"{stem}.npz")
    found, took = timed(lambda: certify(instance, attack=False, **budgets))
    return Figure(
        took.cpu, detail=f"{found.certified:,} of {found.targets:,} certified, naive {found.naive_certified:,}"
    )


@row("Digits, distance 2")
def digits() -> Figure:
    return cold("digits-gcn-l2-s0", attr_l2="2")


@row("Digits, distance 1 and 10 deletions")
def digits_joint() -> Figure:
    return cold("digits-gcn-l2_joint-s0", attr_l2="1", adj_del=10)


@row("PubMed, ballots, 100 additions", at_most=1)
def ballots() -> Figure:
    return cold("pubmed-decoupled-ballots-s0", adj_add=100)
