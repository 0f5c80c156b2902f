"""Which relaxation answers: the one asked for where it holds, else `tight`; `tight` is never weaker than `paper`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import certcore as cc
from certcore import Graph, GridBase, Instance, Session, Status, ThreatModel, certify
from certcore.base.ballots import UNIT, BallotsBase
from certcore.program.relaxation import Relaxation
from certcore.sweep.defences import defend
from tests.support import random_graph, random_grid, random_instance, random_threat
from tests.sweep.test_sweep_lengths import instance as ring


def by_ballots(seed: int, n: int = 14) -> Instance:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, size=(2 * n, 2))
    graph = Graph.from_edges(n, edges[edges[:, 0] != edges[:, 1]])
    return Instance(graph, BallotsBase(rng.integers(0, UNIT, (n, 3)), 2), layers=1, edge_field="messages")


def by_flips(seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    return Instance(random_graph(rng, 14, 4, 0.2), GridBase(random_grid(rng, 14, (3, 4)), ("attr_del", "adj_del")), 1)


#: An instance, a threat, an axis and its values, and what answers when `strong` is asked for.
CASES: dict[str, tuple[Instance, dict[str, Any], str, list[Any], str]] = {
    "flips": (by_flips(0), {"attr_del": 1, "adj_del": 1}, "attr_del", [0, 1, 2], "strong"),
    "ballots": (by_ballots(0), {"adj_del": 2}, "adj_del", [0, 1, 2], "tight"),
    "lengths": (ring(), {"attr_l2": "0.1"}, "attr_l2", ["0", "0.1"], "tight"),
    "edges under Gaussian noise": (ring(), {"adj_del": 1}, "adj_del", [0, 1, 2], "tight"),
}


@pytest.mark.parametrize("name", list(CASES))
def test_results_name_the_relaxation_that_answered(name: str) -> None:
    instance, budgets, axis, values, answers = CASES[name]
    threat, wanted = ThreatModel(**budgets), Relaxation(answers)
    how: dict[str, Any] = {"relaxation": "strong", "time_limit": 1.0}
    stopped = threading.Event()
    stopped.set()
    given = [
        certify(instance, threat, attack=False, **how),
        Session(instance).certify(threat, cancel=stopped, **how),
        cc.curve(instance, threat, axis, values, **how),
        cc.radius(instance, threat, vary=axis, at_least=0.5, **how),
        defend(instance, threat, k=1, tries=1, **how),
    ]
    assert [one.relaxation for one in given] == [wanted] * len(given)
    asked_tight = cc.curve(instance, threat, axis, values)
    assert (given[2].certified >= asked_tight.certified).all()
    assert given[0].certified >= asked_tight.certified[values.index(next(iter(budgets.values())))]


@pytest.mark.parametrize("seed", range(60))
def test_tight_never_certifies_less_than_paper(seed: int) -> None:
    """All kinds that have both: ballots and lengths have no such form."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=9)
    threat = random_threat(rng, instance)
    paper, tight = (certify(instance, threat, relaxation=one, attack=False) for one in ("paper", "tight"))
    assert paper.status is tight.status is Status.OPTIMAL
    assert tight.certified >= paper.certified >= paper.naive_certified
    assert tight.bound <= paper.bound + 1e-5
