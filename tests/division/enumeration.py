"""The oracle of division voting: real classifiers on tiny graphs, every perturbation within a threat model.

Fields are found here by walking the graph, thresholds by trying every other vote, and perturbations one by one. The
hash, the majority and, where lost votes are counted, the thresholds are the engine's.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from certcore import Graph, Instance, ThreatModel, certify, verify_proof
from certcore.base.division import ABSTAINS, DivisionBase, PairHash
from certcore.domain.perturbations import UNLIMITED
from certcore.program.problem import Problem
from certcore.result.allocation import inadmissible
from tests.checker.cases import accepts, as_seen

KINDS = ("mean", "symmetric", "attention")
CLASSES = 3
LEAVES = 6


class Violation(Exception):
    """Something was promised that does not hold."""


def holds(condition: object, what: str) -> None:
    """An assertion that stays one under `python -O`."""
    if not condition:
        raise Violation(what)


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

    def __init__(
        self, seed: Any, kind: str, *, abstain: bool, fixed: bool, n: int = 6, directed: bool = False, layers: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.kind, self.abstain, self.n, self.directed = kind, abstain, n, directed
        self.layers = layers or int(rng.integers(1, 3))
        self.pairs = np.array(list(combinations(range(n), 2)))
        if directed:  # (receiver, sender): both ways are pairs of one group
            self.pairs = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        self.present = rng.random(len(self.pairs)) < (0.25 if directed else 0.4)
        self.features = rng.normal(size=(n, CLASSES))
        self.mixing = rng.normal(size=(CLASSES, CLASSES)) * 1.5
        self.hash = PairHash(int(rng.integers(1, 5)), int(rng.integers(2**31)))
        self.group = self.hash.of(self.pairs)
        self.attributes = rng.random((n, 2)) < 0.5
        self.read = rng.normal(size=(2, CLASSES))
        self.known: dict[tuple[int, bytes, bytes], np.ndarray] = {}
        self.weight = int(rng.integers(1, 3)) if fixed else 0
        self.base = self.voted(self.present, self.attributes)
        self.graph = Graph.from_edges(n, self.pairs[self.present], self.attributes.astype(int), directed=directed)
        self.rule = "degrees" if kind == "symmetric" else "messages"
        self.instance = Instance(graph=self.graph, base=self.base, layers=self.layers, edge_field=self.rule)
        self.touched = self._touched()

    def voted(self, present: np.ndarray, attributes: np.ndarray) -> DivisionBase:
        votes = np.array([self.vote(t, present & (self.group == t), attributes) for t in range(self.hash.groups)])
        own = self._predict(np.zeros((self.n, self.n)), attributes, 0) if self.weight else None
        return DivisionBase(votes, CLASSES, self.hash, own, self.weight)

    def vote(self, t: int, edges: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """Votes of one group; most perturbations leave most groups alone, so they are kept."""
        key = (t, edges.tobytes(), attributes.tobytes())
        if key not in self.known:
            adjacency = self._adjacency(edges)
            row = self._predict(adjacency, attributes, self.layers)
            ends = adjacency.sum(axis=1) + adjacency.sum(axis=0)
            self.known[key] = np.where(ends == 0, ABSTAINS, row) if self.abstain else row
        return self.known[key]

    def _predict(self, adjacency: np.ndarray, attributes: np.ndarray, layers: int) -> np.ndarray:
        return predict(self.kind, layers, adjacency, self.features + attributes @ self.read, self.mixing)

    def _adjacency(self, edges: np.ndarray) -> np.ndarray:
        adjacency = np.zeros((self.n, self.n))
        for u, v in self.pairs[edges]:
            adjacency[u, v] = 1
            if not self.directed:
                adjacency[v, u] = 1
        return adjacency

    def _touched(self) -> np.ndarray:
        """(pairs, nodes): whose vote in the group of a pair may change when it is flipped."""
        hops = self.layers if self.rule == "degrees" else self.layers - 1
        touched = np.zeros((len(self.pairs), self.n), dtype=bool)
        for t in range(self.hash.groups):
            adjacency = self._adjacency(self.present & (self.group == t)) > 0
            for node in range(self.n):
                near = {node}
                for _ in range(hops):
                    near |= {sender for m in near for sender in np.flatnonzero(adjacency[m]).tolist()}
                ends = np.isin(self.pairs, sorted(near)).any(axis=1)
                touched[ends & (self.group == t), node] = True
        return touched


def perturbations(case: Case, threat: ThreatModel) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All sets of flipped pairs and flipped attribute bits within the threat model."""
    limits = threat.local_limits(case.graph)
    protected = set(np.asarray(threat.protected).tolist())
    free = np.array([m not in protected for m in range(case.n)])
    edge_costs = np.ones(case.graph.n_edges, np.int64) if threat.edge_costs is None else np.asarray(threat.edge_costs)
    node_costs = np.ones(case.n, np.int64) if threat.node_costs is None else np.asarray(threat.node_costs)
    number = {tuple(edge): i for i, edge in enumerate(case.graph.edges.tolist())}
    pairs = [i for i in range(len(case.pairs)) if free[case.pairs[i]].all()]
    bits = [i for i in range(case.attributes.size) if free[i // 2]]
    teams = None if threat.sigma is None else [set(t) for t in combinations(range(case.n), min(threat.sigma, case.n))]
    by_edges = chain.from_iterable(combinations(pairs, k) for k in range(threat.adj_add + threat.adj_del + 1))
    some_bits = list(chain.from_iterable(combinations(bits, k) for k in range(threat.attr_add + threat.attr_del + 1)))
    for chosen in by_edges:
        add = [i for i in chosen if not case.present[i]]
        delete = [i for i in chosen if case.present[i]]
        paid = sum(int(edge_costs[number[tuple(case.pairs[i].tolist())]]) for i in delete)
        if len(add) > threat.adj_add or paid > threat.adj_del:
            continue
        spent = [np.bincount(case.pairs[part].ravel(), minlength=case.n) for part in (add, delete)]
        if any((some > limit).any() for some, limit in zip(spent, limits[2:])):
            continue
        for flipped in some_bits:
            gone = [i for i in flipped if case.attributes.flat[i]]
            new = [i for i in flipped if not case.attributes.flat[i]]
            at = [np.bincount(np.array(part, np.int64) // 2, minlength=case.n) for part in (new, gone)]
            if any(some @ node_costs > budget for some, budget in zip(at, threat.budgets)):
                continue
            if any((some > limit).any() for some, limit in zip(at, limits)):
                continue
            sites = [*(set(case.pairs[i].tolist()) for i in chosen), *({i // 2} for i in flipped)]
            if teams is None or any(all(site & team for site in sites) for team in teams):
                yield chosen, flipped


def random_threat(rng: np.random.Generator, case: Case) -> ThreatModel:
    """Budgets of every sort, as many as an enumeration can bear."""
    values: dict[str, Any] = {"adj_add": int(rng.integers(0, 3)), "adj_del": int(rng.integers(0, 3))}
    if rng.random() < 0.3:
        values["edge_costs"] = rng.integers(1, 4, case.graph.n_edges)
        values["adj_del"] = int(rng.integers(1, 5))
    if rng.random() < 0.15:
        values |= {"attr_add": int(rng.integers(0, 2)), "attr_del": int(rng.integers(0, 2))}
    values["adj_add"] = min(values["adj_add"], max(4 - values["adj_del"], 1))
    if rng.random() < 0.2:
        values["node_costs"] = rng.integers(1, 5, case.n)
    relative = rng.random() < 0.3
    values["local_mode"] = "relative" if relative else "absolute"
    for name in ("local_adj_add", "local_adj_del", "local_attr_add", "local_attr_del"):
        if rng.random() < (0.4 if "adj" in name else 0.2):
            limit = rng.integers(0, 3, case.n) if rng.random() < 0.5 else int(rng.integers(0, 3))
            shares = [Fraction(int(part), 2) for part in np.atleast_1d(limit)]
            values[name] = (shares if isinstance(limit, np.ndarray) else shares[0]) if relative else limit
    if rng.random() < 0.4:
        values["sigma"] = int(rng.integers(0, 4))
    if rng.random() < 0.3:
        values["protected"] = rng.choice(case.n, size=int(rng.integers(1, 3)), replace=False)
    if rng.random() < 0.3:
        values["targets"] = rng.permutation(case.n)[: int(rng.integers(1, case.n + 1))]
    return ThreatModel(**values)


@dataclasses.dataclass
class Counts:
    """What an enumeration has looked at."""

    graphs: int = 0
    directed: int = 0
    programs: int = 0
    perturbations: int = 0
    votes: int = 0
    thresholds: int = 0
    closed: int = 0
    """Programs whose bound is what some perturbation reaches by the count of votes."""
    reached: int = 0
    """Programs whose bound is what some perturbation really does to the labels."""


def enumerate_one(case: Case, threat: ThreatModel, counts: Counts) -> None:
    """Locality of every vote, naive and collective counts, attack, proof and both checkers under one threat model."""
    problem = Problem(case.instance, threat)
    targets, labels, clean = problem.targets, case.base.prediction, case.base.votes
    certificate = certify(case.instance, threat)
    worst, worst_counted = 0, 0
    alone = case.instance.base.fronts().certified(threat.budgets)[targets]
    for chosen, bits in perturbations(case, threat):
        present, attributes = case.present.copy(), case.attributes.copy()
        present[list(chosen)] ^= True
        attributes.flat[list(bits)] ^= True
        now = case.voted(present, attributes)
        may = np.zeros_like(clean, dtype=bool)
        for i in chosen:
            may[case.group[i]] |= case.touched[i]
        if not bits:
            holds(not ((now.votes != clean) & ~may).any(), "a vote changed outside its field")
            counted = may.sum(axis=0)[targets] >= case.base.thresholds[targets]
            worst_counted = max(worst_counted, int(counted.sum()))
            counts.votes += may.size
        lost = (now.prediction != labels)[targets]
        holds(not (lost & alone).any(), "a label changed that is certified on its own")
        worst = max(worst, int(lost.sum()))
        counts.perturbations += 1
    holds(worst <= certificate.bound, f"{worst} labels change, the bound is {certificate.bound}")
    holds(worst_counted <= certificate.bound, f"{worst_counted} lose their votes, the bound is {certificate.bound}")
    holds(certificate.attack is not None, "there is no attack")
    assert certificate.attack is not None
    holds(inadmissible(problem, certificate.attack) is None, "the attack breaks the threat model")
    if problem.by_division:
        holds(certificate.attack.attacked.sum() <= worst_counted, "the attack does more than any perturbation")
        counts.closed += int(certificate.bound) == worst_counted
    holds(certificate.proof is not None, "there is no proof")
    proof = json.loads(json.dumps(certificate.proof))
    holds(verify_proof(proof, case.instance).accepted, "verify rejects the proof")
    holds(accepts(proof, as_seen(case.instance)), "the small checker rejects the proof")
    counts.programs += 1
    counts.reached += int(certificate.bound) == worst


def enumerate_graph(number: int, seed: int, counts: Counts) -> None:
    """The graph of this number: two random threat models on it, and two thresholds."""
    rng = np.random.default_rng([seed, number])
    directed = bool(rng.random() < 0.25)
    n = int(rng.integers(3, 5 if directed else 7))
    case = Case(
        [seed, number, 1], KINDS[number % 3], abstain=bool(rng.random() < 0.6), fixed=bool(rng.random() < 0.4), n=n,
        directed=directed, layers=int(rng.choice([1, 1, 2, 2, 3])),
    )  # fmt: skip
    for _ in range(2):
        enumerate_one(case, random_threat(rng, case), counts)
        enumerate_threshold(rng, counts)
    counts.graphs += 1
    counts.directed += directed


def enumerate_threshold(rng: np.random.Generator, counts: Counts) -> None:
    """The fewest changed votes that can change a label, abstentions, fixed votes and unused classes among them."""
    groups, classes = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    votes = rng.integers(-1, classes, size=(groups, 1))
    fixed = rng.integers(0, classes, size=1) if rng.random() < 0.5 else None
    weight = int(rng.integers(0, 4)) if fixed is not None else 0
    unused = int(rng.integers(0, 2))
    base = DivisionBase(votes, classes + unused, PairHash(groups), fixed, weight)
    others = np.array(list(product(range(-1, classes + unused), repeat=groups)))
    again = np.full(len(others), -1) if fixed is None else np.repeat(fixed, len(others))
    labels = DivisionBase(
        others.T, classes + unused, PairHash(groups), None if fixed is None else again, weight
    ).prediction  # fmt: skip
    changed = (others != votes[:, 0]).sum(axis=1)[labels != base.prediction[0]]
    least = int(changed.min(initial=UNLIMITED))
    holds(base.thresholds[0] == least, f"{least} changed votes suffice, the threshold is {base.thresholds[0]}")
    counts.thresholds += 1


class Hub:
    """A hub with leaves that a symmetric layer holds just above the point where they change sides.

    One more edge at the hub makes its messages weaker, and all leaves change at once: their neighbour's degree is read.
    """

    hub, free = 0, LEAVES + 1

    def __init__(self) -> None:
        self.n = LEAVES + 2
        self.edges = np.array([[self.hub, leaf] for leaf in range(1, LEAVES + 1)])
        before, after = (1 / np.sqrt(2 * (LEAVES + 1 + more)) for more in (0, 1))
        self.features = np.zeros((self.n, 2))
        self.features[1:, 0] = before + after  # halved by the leaf's own degree: between the two
        self.features[self.hub, 1] = 1

    def labels(self, edges: np.ndarray) -> np.ndarray:
        looped = np.eye(self.n)
        for u, v in edges:
            looped[u, v] = looped[v, u] = 1
        degree = looped.sum(axis=1)
        return np.argmax(looped / np.sqrt(np.outer(degree, degree)) @ self.features, axis=1)

    def instance(self, edge_field: str, base: type[DivisionBase] = DivisionBase) -> Instance:
        votes = self.labels(self.edges)[None]
        graph = Graph.from_edges(self.n, self.edges)
        return Instance(graph=graph, base=base(votes, 2, PairHash(1)), layers=1, edge_field=edge_field)

    @property
    def worst(self) -> int:
        """Labels that really change by one addition."""
        attacked = np.concatenate([self.edges, [[self.hub, self.free]]])
        return int((self.labels(attacked) != self.labels(self.edges)).sum())
