"""The oracle of ballots: tiny graphs, every perturbation within a threat model, labels summed here again.

Two questions are asked of each perturbation: whether it changes more labels than the bound, and whether it fulfils
every row of the program when the labels it changes (and those of rewritten nodes) count as lost. The second one finds
mistakes that the first cannot see on small graphs: a share rounded down, a rival forgotten.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import numpy as np

from certcore import Graph, Instance, ThreatModel, certify, verify_proof
from certcore.base.ballots import UNIT, BallotsBase
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_ADD, ATTR_DEL, INJECT
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.result.allocation import inadmissible
from tests.checker.cases import accepts, as_seen

#: Of more perturbations than this so many are drawn.
MOST = 2_000


class Violation(Exception):
    """Something was promised that does not hold."""


def holds(condition: object, what: str) -> None:
    """An assertion that stays one under `python -O`."""
    if not condition:
        raise Violation(what)


class Change(NamedTuple):
    """One perturbation: edges added and deleted, what rewritten nodes show, and of new nodes where and what."""

    added: tuple[tuple[int, int], ...] = ()
    deleted: tuple[tuple[int, int], ...] = ()
    rewritten: tuple[tuple[int, int], ...] = ()
    """Nodes and types."""
    new: tuple[tuple[int, ...], ...] = ()
    """Of each new node the nodes it is joined to."""
    team: tuple[int, ...] = ()


class Case:
    """A random graph with random ballots, corners and ties among them."""

    def __init__(self, seed: Any) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.directed = bool(rng.random() < 0.3)
        self.n, self.classes = int(rng.integers(2, 5 if self.directed else 6)), int(rng.integers(2, 4))
        pairs = list(combinations(range(self.n), 2))
        self.pairs = pairs + [(v, u) for u, v in pairs] if self.directed else pairs
        self.present = [p for p in self.pairs if rng.random() < 0.5]
        self.absent = [p for p in self.pairs if p not in self.present]
        self.weight = int(rng.integers(1, 3))
        self.ballots = np.array([self._ballot() for _ in range(self.n)])
        self.graph = Graph.from_edges(self.n, np.array(self.present).reshape(-1, 2), directed=self.directed)
        base = BallotsBase(self.ballots, self.weight, bool(rng.random() < 0.5))
        self.instance = Instance(self.graph, base, layers=1, edge_field="messages")
        self.labels = self.after(Change(), self.ballots, np.zeros((0, self.classes)))
        self.pool = [UNIT * row for row in np.eye(self.classes, dtype=np.int64)]
        self.pool += [self._ballot() for _ in range(2)]

    def _ballot(self) -> np.ndarray:
        rng = self.rng
        match int(rng.integers(4)):
            case 0:
                return UNIT * np.eye(self.classes, dtype=np.int64)[rng.integers(self.classes)]
            case 1:
                return rng.integers(0, 5, self.classes) * (UNIT // 4)
            case 2:
                return rng.integers(0, UNIT + 1, self.classes)
        return rng.multinomial(UNIT, rng.dirichlet(np.full(self.classes, 0.4)))

    def after(self, change: Change, ballots: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Labels on the attacked graph; `shown` are the ballots of the new nodes."""
        scores = self.weight * ballots
        for receiver, sender in (*(p for p in self.present if p not in change.deleted), *change.added):
            scores[receiver] += ballots[sender]
            if not self.directed:
                scores[sender] += ballots[receiver]
        for at, ballot in zip(change.new, shown):
            for node in at:
                scores[node] += ballot
        return np.array([max(range(self.classes), key=lambda c: (row[c], -c)) for row in scores.tolist()])


def subsets(items: Any, most: int) -> list[tuple[Any, ...]]:
    return list(chain.from_iterable(combinations(items, k) for k in range(min(most, len(items)) + 1)))


def perturbations(case: Case, threat: ThreatModel) -> Iterator[tuple[Change, bool]]:
    """Perturbations within the threat model, and whether all of them are among these."""
    limits = threat.local_limits(case.graph)
    free = [m for m in range(case.n) if m not in set(np.asarray(threat.protected).tolist())]

    def within(pairs: Any, kind: int) -> bool:
        at = np.bincount(np.array(pairs, dtype=np.int64).ravel(), minlength=case.n)
        return bool((at <= limits[kind]).all())

    def between(pairs: Any) -> list[tuple[int, int]]:
        return [p for p in pairs if p[0] in free and p[1] in free]

    added = [p for p in subsets(between(case.absent), threat.adj_add) if within(p, ADJ_ADD)]
    deleted = [p for p in subsets(between(case.present), threat.adj_del) if within(p, ADJ_DEL)]
    kinds = [k for k in (ATTR_ADD, ATTR_DEL) if threat.budgets[k]]
    writable = [(m, k) for m in free for k in kinds if limits[k][m] > 0]
    rewritten = [p for p in subsets(writable, threat.attr_add + threat.attr_del) if len({m for m, _ in p}) == len(p)]

    def paid(nodes: Any, kind: int) -> bool:
        return sum(k == kind for _, k in nodes) <= threat.budgets[kind]

    rewritten = [p for p in rewritten if all(paid(p, kind) for kind in kinds)]
    each = case.n if threat.inject_edges is None else threat.inject_edges
    new = list(product(subsets(free, each), repeat=threat.inject))
    teams: list[tuple[int, ...]] = [()]
    if threat.sigma is not None:
        teams = list(combinations(range(case.n), min(threat.sigma, case.n)))
    parts = (added, deleted, rewritten, new)
    count = int(np.prod([len(part) for part in parts], dtype=float))
    every = (
        product(*parts)
        if count <= MOST
        else (tuple(part[int(case.rng.integers(len(part)))] for part in parts) for _ in range(MOST))
    )
    for one in every:
        change = Change(*one)
        touched = [{*p} for p in (*change.added, *change.deleted)] + [{m} for m, _ in change.rewritten]
        for team in teams:
            if threat.sigma is None or all(ends & set(team) for ends in touched):
                yield change._replace(team=team), count <= MOST
                break


def ballots_after(case: Case, change: Change) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What rewritten and new nodes may show: every corner if they are few, and some other ballots."""
    size = len(change.rewritten) + len(change.new)
    corners = list(product(range(len(case.pool)), repeat=size)) if size <= 2 else []
    draws = [tuple(case.rng.integers(len(case.pool), size=size).tolist()) for _ in range(12)] if size > 2 else []
    for chosen in [*corners, *draws]:
        ballots = case.ballots.copy()
        for (node, _), which in zip(change.rewritten, chosen):
            ballots[node] = case.pool[which]
        yield ballots, np.array([case.pool[which] for which in chosen[len(change.rewritten) :]])


class Rows:
    """The engine's program at the threat model, and where in it a perturbation lies."""

    def __init__(self, case: Case, problem: Problem) -> None:
        self.case, self.problem = case, problem
        self.structure = s = build_structure(problem, "tight")
        program = Program(s, problem.threat.budgets, problem.threat.sigma)
        self.matrix, self.rhs, self.upper = program.matrix.toarray(), program.rhs, program.upper
        self.flip = {(int(k), int(site)): j for j, (k, site) in enumerate(zip(s.flips.kind, s.flips.site))}
        self.node = problem.targets[s.groups.representative]
        self.edge = {tuple(edge): i for i, edge in enumerate(case.graph.edges.tolist())}
        self.other_end = {}
        if "other_ends" in s.rows:
            for j in range(s.columns.inner.start, s.columns.inner.stop):
                if self.matrix[s.rows["other_ends"].start, j]:
                    row = np.flatnonzero(self.matrix[s.rows["count"], j])[0]
                    self.other_end[int(self.node[row])] = j

    def lie_in(self, change: Change, lost: set[int]) -> None:
        s, x = self.structure, np.zeros(len(self.upper), dtype=np.int64)

        def put(kind: int, site: int, amount: int = 1) -> None:
            if (kind, site) in self.flip:
                x[self.flip[kind, site]] += amount

        for receiver, sender in change.added:
            if s.has_sigma:
                payer = receiver if receiver in change.team else sender
                other = receiver if self.case.directed else receiver + sender - payer
                put(ADJ_ADD, payer)
                if other in self.other_end:
                    x[self.other_end[other]] += 1
            else:
                put(ADJ_ADD, receiver)
                if not self.case.directed:
                    put(ADJ_ADD, sender)
        for pair in change.deleted:
            put(ADJ_DEL, self.edge[pair])
        for node, kind in change.rewritten:
            put(kind, node)
        for at in change.new:
            for node in at:
                put(INJECT, node)
        if s.has_sigma:
            x[s.columns.attackers] = np.isin(s.attackers.nodes, change.team)
        holds(lost <= set(self.node.tolist()), "a label changed that the program leaves out")
        x[s.columns.points] = np.isin(self.node, sorted(lost))
        for row in range(s.rows["used"].start, s.rows["used"].stop):
            used, point = np.flatnonzero(self.matrix[row] > 0)[0], np.flatnonzero(self.matrix[row] < 0)[0]
            done = 0
            for name in ("cut", "written"):
                for i in range(s.rows[name].start, s.rows[name].stop) if name in s.rows else ():
                    if self.matrix[i, used]:
                        done = int(x[np.flatnonzero(self.matrix[i] < 0)].sum())
            x[used] = min(done, x[point])
        holds((x <= self.upper).all(), "a perturbation exceeds an upper bound of the program")
        excess = self.matrix @ x - self.rhs
        name = next((n for n, rows in s.rows.items() if (excess[rows] > 0).any()), "")
        holds(not name, f"a perturbation breaks a row of the block {name}")


@dataclasses.dataclass
class Counts:
    """What an enumeration has looked at."""

    graphs: int = 0
    directed: int = 0
    programs: int = 0
    perturbations: int = 0
    rows: int = 0
    closed: int = 0
    """Programs whose bound some perturbation reaches."""


def enumerate_one(case: Case, threat: ThreatModel, counts: Counts, *, proofs: bool = True) -> None:
    """Bound, naive counts, every row, attack, proof and both checkers under one threat model."""
    problem = Problem(case.instance, threat)
    rows = Rows(case, problem)
    certificate = certify(case.instance, threat, proof=proofs)
    targets = set(problem.targets.tolist())
    alone = {int(n) for n in problem.targets[case.instance.base.fronts().certified(threat.budgets)[problem.targets]]}
    worst, complete = 0, True
    for change, all_of_them in perturbations(case, threat):
        complete &= all_of_them
        seen: set[tuple[int, ...]] = set()
        for ballots, shown in ballots_after(case, change):
            labels = case.after(change, ballots, shown)
            changed = {n for n in targets if labels[n] != case.labels[n]}
            holds(not changed & alone, "a label changed that is certified on its own")
            worst = max(worst, len(changed))
            counts.perturbations += 1
            lost = changed | {m for m, _ in change.rewritten if m in targets}
            if tuple(sorted(lost)) not in seen:
                seen.add(tuple(sorted(lost)))
                rows.lie_in(change, lost)
                counts.rows += 1
    holds(worst <= certificate.bound, f"{worst} labels change, the bound is {certificate.bound}")
    holds(certificate.attack is not None, "there is no attack")
    assert certificate.attack is not None
    reason = inadmissible(problem, certificate.attack)
    holds(reason is None, f"the attack breaks the threat model: {reason}")
    few = len([k for k in (threat.attr_add, threat.attr_del) if k]) + threat.inject <= 2
    if complete and few and threat.attr_add + threat.attr_del <= 1:
        holds(certificate.attack.attacked.sum() <= worst, "the attack does more than any perturbation")
    if proofs:
        proof = json.loads(json.dumps(certificate.proof))
        holds(verify_proof(proof, case.instance).accepted, "verify rejects the proof")
        holds(accepts(proof, as_seen(case.instance)), "the small checker rejects the proof")
    counts.programs += 1
    counts.closed += int(certificate.bound) == worst


def random_threat(rng: np.random.Generator, case: Case) -> ThreatModel:
    """Budgets of every sort, as many as an enumeration can bear."""
    kind = int(rng.integers(6))
    values: dict[str, Any] = {}
    if kind in (0, 4, 5):
        values |= {"inject": int(rng.integers(1, 3)), "inject_edges": int(rng.integers(1, 4))}
        if rng.random() < 0.15:
            values["inject_edges"] = None
    if kind in (1, 4, 5):
        values["adj_add"] = int(rng.integers(0, 3))
    if kind in (2, 4, 1):
        values["adj_del"] = int(rng.integers(0, 3))
    if kind in (3, 4):
        values |= {"attr_add": int(rng.integers(0, 3)), "attr_del": int(rng.integers(0, 2))}
    edges = values.get("adj_add", 0) + values.get("adj_del", 0)
    if rng.random() < 0.4 and not (edges and values.get("inject", 0)):
        values["sigma"] = int(rng.integers(0, 3))
    for name in ("local_adj_add", "local_adj_del", "local_attr_add", "local_attr_del"):
        if rng.random() < 0.15:
            values[name] = rng.integers(0, 3, case.n) if rng.random() < 0.5 else int(rng.integers(0, 3))
    if rng.random() < 0.25:
        values["protected"] = rng.choice(case.n, size=1)
    if rng.random() < 0.25:
        values["targets"] = rng.permutation(case.n)[: int(rng.integers(1, case.n + 1))]
    return ThreatModel(**values)


def enumerate_graph(number: int, seed: int, counts: Counts, *, proofs: bool = True) -> None:
    """The graph of this number: three random threat models on it."""
    rng = np.random.default_rng([seed, number])
    case = Case([seed, number, 1])
    for _ in range(3):
        enumerate_one(case, random_threat(rng, case), counts, proofs=proofs)
    counts.graphs += 1
    counts.directed += case.directed
