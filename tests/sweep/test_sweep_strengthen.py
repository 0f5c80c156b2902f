"""Curves and maps strengthened point by point: never worse, monotone, and the widest bracket first."""

from __future__ import annotations

import numpy as np

from certcore import GridBase, Instance, ThreatModel
from certcore.sweep import Session, curve, strengthen_curve, strengthen_surface, surface
from tests.support import random_graph, random_grid


def example() -> Instance:
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 40, 6, 0.06)
    return Instance(graph, GridBase(random_grid(rng, 40, (3, 5)), ("attr_add", "attr_del")), 1)


def test_a_strengthened_curve_only_gets_better() -> None:
    session = Session(example())
    tight = curve(session, ThreatModel(), "attr_del", range(6))
    told: list[tuple[int, int]] = []
    last = tight
    for better in strengthen_curve(session, tight, time_limit=1.0, progress=lambda *done: told.append(done)):
        assert (better.certified >= last.certified).all()
        assert (np.diff(better.certified) <= 0).all()
        last = better
    assert last.relaxation == "strong"
    assert last.verified.all()
    assert told[0][0] == 0
    again = list(strengthen_curve(session, tight, time_limit=1.0))  # from memory: nothing is lost
    assert not again or (again[-1].certified >= last.certified).all()


def test_a_strengthened_map_only_gets_better() -> None:
    session = Session(example())
    tight = surface(session, ThreatModel(), "attr_add", [0, 1, 2], "attr_del", [0, 2, 3])
    last = tight
    for better in strengthen_surface(session, tight, time_limit=1.0):
        assert (better.certified >= last.certified).all()
        last = better
    assert (np.diff(last.certified, axis=0) <= 0).all()
    assert (np.diff(last.certified, axis=1) <= 0).all()
    assert last.certified.sum() >= tight.certified.sum()
