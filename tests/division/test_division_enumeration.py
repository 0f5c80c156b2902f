"""Division voting against enumeration: real classifiers on tiny graphs, every perturbation within the budgets."""

from __future__ import annotations

import numpy as np
import pytest

from certcore import Graph, Instance, ThreatModel, certify
from certcore.base.division import DivisionBase, PairHash
from certcore.sweep import curve, surface
from tests.division.enumeration import KINDS, Case, Counts, enumerate_graph, enumerate_one, enumerate_threshold

THREATS = [
    ThreatModel(adj_add=1),
    ThreatModel(adj_add=2),
    ThreatModel(adj_del=2),
    ThreatModel(adj_add=1, adj_del=1),
    ThreatModel(adj_add=2, adj_del=1, local_adj_add=1),
    ThreatModel(adj_add=1, adj_del=2, local_adj_del=1),
    ThreatModel(adj_add=2, sigma=1),
    ThreatModel(adj_add=1, adj_del=2, sigma=1),
    ThreatModel(adj_add=2, adj_del=1, protected=[0, 3]),
    ThreatModel(adj_add=2, targets=np.array([1, 2, 5])),
    ThreatModel(adj_add=2, adj_del=2, sigma=2, local_adj_add=1, local_adj_del=1),
    ThreatModel(adj_add=1, sigma=0),
]


def threats_of(case: Case, seed: int) -> list[ThreatModel]:
    """Those above that fit the graph, and those whose costs need its size."""
    rng = np.random.default_rng([seed, 7])
    fitting = [
        threat
        for threat in THREATS
        if np.max(np.asarray(threat.protected), initial=0) < case.n
        and (threat.targets is None or np.max(threat.targets) < case.n)
    ]
    costs = rng.integers(1, 4, case.graph.n_edges)
    return [
        *fitting,
        ThreatModel(adj_del=4, edge_costs=costs),
        ThreatModel(adj_add=1, adj_del=3, edge_costs=costs, sigma=1),
        # What an attribute flip costs has nothing to do with edges.
        ThreatModel(adj_add=2, sigma=1, node_costs=rng.integers(2, 5, case.n)),
    ]


def enumerate_all(kind: str, seeds: range, every: int = 1) -> Counts:
    """Graphs of five or six nodes, a fifth of them directed; every so many threat models of each."""
    counts = Counts()
    for seed in seeds:
        directed = seed % 5 == 4
        n = 4 if directed else 5 if seed % 4 else 6
        case = Case(seed, kind, abstain=bool(seed % 2), fixed=bool(seed % 3 == 0), n=n, directed=directed)
        for number, threat in enumerate(threats_of(case, seed)):
            if (number + seed) % every == 0:
                enumerate_one(case, threat, counts)
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_no_perturbation_breaks_more_than_the_bound(kind: str) -> None:
    assert enumerate_all(kind, range(15), every=3).perturbations > 1000


def test_thresholds_equal_enumeration() -> None:
    rng, counts = np.random.default_rng(5), Counts()
    for _ in range(150):
        enumerate_threshold(rng, counts)
    assert counts.thresholds == 150


def test_random_threat_models() -> None:
    """The beginning of `python -m tests.soak.division`: relative and single local budgets, attributes, all together."""
    counts = Counts()
    for number in range(40):
        enumerate_graph(number, 0, counts)
    assert counts.perturbations > 1000


@pytest.mark.parametrize("layers", [1, 2])
def test_curves_and_maps_say_what_certificates_say(layers: int) -> None:
    """Counting moves with the budgets: no value of a curve may be taken for that of another budget."""
    rng = np.random.default_rng(3)
    n = 60
    graph = Graph.from_edges(n, _edges(rng, n))
    votes = np.where(rng.random((5, n)) < 0.2, rng.integers(-1, 3, (5, n)), rng.integers(0, 3, n))
    base = DivisionBase(votes, 3, PairHash(5, 9))
    instance = Instance(graph=graph, base=base, layers=layers, edge_field="messages")
    values = [0, 1, 2, 3, 5, 8, 13, 21]
    for fixed in ({}, {"adj_del": 2}, {"local_adj_add": 1}, {"sigma": 3}):
        threat = ThreatModel(**fixed)
        line = curve(instance, threat, vary="adj_add", values=values)
        for value, count in zip(values, line.certified.tolist()):
            alone = certify(instance, threat.replace(adj_add=value), attack=False)
            assert count == alone.certified
    cells = surface(instance, ThreatModel(), x="adj_add", x_values=[0, 2, 5], y="adj_del", y_values=[0, 1, 4])
    for i, add in enumerate([0, 2, 5]):
        for j, delete in enumerate([0, 1, 4]):
            alone = certify(instance, ThreatModel(adj_add=add, adj_del=delete), attack=False)
            assert cells.certified[i, j] == alone.certified
    mixed = surface(instance, ThreatModel(), x="attr_del", x_values=[0, 1], y="adj_add", y_values=[0, 3])
    assert mixed.certified[1, 1] == 0
    assert mixed.certified[0, 1] == certify(instance, ThreatModel(adj_add=3), attack=False).certified


def _edges(rng: np.random.Generator, n: int) -> np.ndarray:
    edges = rng.integers(0, n, size=(90, 2))
    return edges[edges[:, 0] != edges[:, 1]]
