"""Division voting against enumeration: real classifiers on tiny graphs, every perturbation within the budgets."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest

from certcore import Graph, Instance, ThreatModel, certify, inadmissible, verify_proof
from certcore.base.division import ABSTAINS, DivisionBase, PairHash
from certcore.domain.perturbations import UNLIMITED
from certcore.program.problem import Problem
from certcore.sweep import curve, surface

KINDS = ("mean", "symmetric", "attention")


def predict(kind: str, layers: int, adjacency: np.ndarray, features: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """Labels of a small message-passing network in whole or exactly repeatable numbers."""
    n = len(adjacency)
    looped = adjacency + np.eye(n)
    state = features
    for _ in range(layers):
        degree = looped.sum(axis=1)
        if kind == "mean":
            weights = looped / degree[:, None]
        elif kind == "symmetric":
            weights = looped / np.sqrt(degree[:, None] * degree[None, :])
        else:
            scores = np.where(looped > 0, np.exp(np.tanh(state @ mixing[:, :1]) - (state @ mixing[:, 1:2]).T), 0.0)
            weights = scores / scores.sum(axis=1, keepdims=True)
        state = np.tanh(np.round(weights @ state @ mixing, 9))
    return np.argmax(np.round(state, 7), axis=1)


class Case:
    """A random graph, a random network, and its votes per group."""

    def __init__(self, seed: int, kind: str, *, abstain: bool, fixed: bool, n: int = 6, directed: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.kind, self.abstain, self.n, self.directed = kind, abstain, n, directed
        self.layers = int(rng.integers(1, 3))
        self.classes = 3
        self.pairs = np.array(list(combinations(range(n), 2)))
        if directed:  # (receiver, sender): both ways are pairs of one group
            self.pairs = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        present = rng.random(len(self.pairs)) < (0.25 if directed else 0.4)
        self.features = rng.normal(size=(n, self.classes))
        self.mixing = rng.normal(size=(self.classes, self.classes)) * 1.5
        self.hash = PairHash(int(rng.integers(1, 5)), int(rng.integers(2**31)))
        self.group = self.hash.of(self.pairs)
        self.present = present
        self.known: dict[tuple[int, bytes], np.ndarray] = {}
        votes = self.votes(present)
        own = predict(kind, 0, np.zeros((n, n)), self.features, self.mixing) if fixed else None
        self.base = DivisionBase(votes, self.classes, self.hash, own, 1 if fixed else 0)
        self.graph = Graph.from_edges(n, self.pairs[present], directed=directed)
        self.instance = Instance(
            graph=self.graph,
            base=self.base,
            layers=self.layers,
            edge_field="degrees" if kind == "symmetric" else "messages",
        )

    def votes(self, present: np.ndarray) -> np.ndarray:
        return np.array([self.vote(t, present & (self.group == t)) for t in range(self.hash.groups)])

    def vote(self, t: int, edges: np.ndarray) -> np.ndarray:
        """Votes of one group; most perturbations leave most groups alone, so they are kept."""
        key = (t, edges.tobytes())
        if key not in self.known:
            adjacency = np.zeros((self.n, self.n))
            for u, v in self.pairs[edges]:
                adjacency[u, v] = 1
                if not self.directed:
                    adjacency[v, u] = 1
            row = predict(self.kind, self.layers, adjacency, self.features, self.mixing)
            ends = adjacency.sum(axis=1) + adjacency.sum(axis=0)
            self.known[key] = np.where(ends == 0, ABSTAINS, row) if self.abstain else row
        return self.known[key]

    def labels(self, votes: np.ndarray) -> np.ndarray:
        return DivisionBase(votes, self.classes, self.hash, self.base.fixed, self.base.fixed_weight).prediction


def perturbations(case: Case, threat: ThreatModel) -> list[tuple[int, ...]]:
    """All sets of flipped pairs within the threat model."""
    limits = threat.local_limits(case.graph)
    protected = set(np.asarray(threat.protected).tolist())
    costs = np.ones(case.graph.n_edges, np.int64) if threat.edge_costs is None else np.asarray(threat.edge_costs)
    cost_of = {tuple(edge): int(cost) for edge, cost in zip(case.graph.edges.tolist(), costs)}
    found = []
    most = threat.adj_add + threat.adj_del
    for size in range(most + 1):
        for chosen in combinations(range(len(case.pairs)), size):
            add = [i for i in chosen if not case.present[i]]
            delete = [i for i in chosen if case.present[i]]
            paid = sum(cost_of[tuple(case.pairs[i])] for i in delete)
            if len(add) > threat.adj_add or paid > threat.adj_del:
                continue
            ends = [case.pairs[i].tolist() for i in chosen]
            if any(set(pair) & protected for pair in ends):
                continue
            ok = True
            for kind, part in ((2, add), (3, delete)):
                spent = np.bincount(case.pairs[part].ravel(), minlength=case.n) if part else np.zeros(case.n)
                ok &= bool((spent <= limits[kind]).all())
            if ok and threat.sigma is not None:
                ok = any(
                    all(set(pair) & set(team) for pair in ends)
                    for team in combinations(range(case.n), min(threat.sigma, case.n))
                )
            if ok:
                found.append(chosen)
    return found


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


@dataclasses.dataclass
class Counts:
    """What an enumeration has looked at."""

    programs: int = 0
    perturbations: int = 0
    votes: int = 0
    closed: int = 0
    """Programs whose bound is what some perturbation reaches by the count of votes."""


def enumerate_one(case: Case, threat: ThreatModel, counts: Counts) -> None:
    """Locality of every vote, naive and collective counts, attack and proof under one threat model."""
    clean, labels = case.votes(case.present), case.base.prediction
    problem = Problem(case.instance, threat)
    targets = problem.targets
    certificate = certify(case.instance, threat)
    assert certificate.proof is not None
    assert verify_proof(certificate.proof, case.instance).accepted
    assert certificate.certified >= certificate.naive_certified or threat.sigma is not None
    worst, worst_counted = 0, 0
    alone = case.instance.base.fronts().certified(threat.budgets)[targets]
    for chosen in perturbations(case, threat):
        flipped = case.present.copy()
        flipped[list(chosen)] ^= True
        now = case.votes(flipped)
        added = case.pairs[[i for i in chosen if not case.present[i]]].reshape(-1, 2)
        gone = {tuple(case.pairs[i]) for i in chosen if case.present[i]}
        deleted = np.array([i for i, e in enumerate(case.graph.edges.tolist()) if tuple(e) in gone], np.int64)
        by_adding, by_deleting = problem.division.touched(case.graph, deleted, added)
        may = (by_adding | by_deleting).T
        assert not ((now != clean)[:, targets] & ~may).any(), "a vote changed outside its field"
        lost = (case.labels(now) != labels)[targets]
        assert not (lost & alone).any(), "a label changed that is certified on its own"
        worst = max(worst, int(lost.sum()))
        counted = may.sum(axis=0) >= case.base.thresholds[targets]
        worst_counted = max(worst_counted, int(counted.sum()))
        counts.perturbations += 1
        counts.votes += may.size
    assert worst <= worst_counted <= certificate.bound
    assert certificate.attack is not None
    assert inadmissible(problem, certificate.attack) is None
    assert certificate.attack.attacked.sum() <= worst_counted
    counts.programs += 1
    counts.closed += int(certificate.bound) == worst_counted


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
    """The fewest changed votes that can change a label, abstentions, fixed votes and unused classes among them."""
    rng = np.random.default_rng(5)
    for _ in range(150):
        groups, classes = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        votes = rng.integers(-1, classes, size=(groups, 1))
        fixed = rng.integers(0, classes, size=1) if rng.random() < 0.5 else None
        weight = int(rng.integers(0, 4)) if fixed is not None else 0
        unused = int(rng.integers(0, 2))
        base = DivisionBase(votes, classes + unused, PairHash(groups), fixed, weight)
        label, least = int(base.prediction[0]), UNLIMITED
        for other in product(range(-1, classes + unused), repeat=groups):
            changed = int((np.array(other) != votes[:, 0]).sum())
            if changed < least:
                again = DivisionBase(np.array(other)[:, None], classes + unused, PairHash(groups), fixed, weight)
                least = changed if int(again.prediction[0]) != label else least
        assert base.thresholds[0] == least


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
