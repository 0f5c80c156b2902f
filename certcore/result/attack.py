"""Integer attacks: round the relaxed solution, improve greedily, replay.

An attack is a lower bound on the number of targets that these base certificates leave uncertified. Together with the
proven upper bound it brackets the optimum. It does not prove that the model's labels change.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence

import numpy as np

from certcore.common.interrupt import over
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TYPES, node_types
from certcore.program.problem import Problem, whole_graph_totals
from certcore.program.structure import Structure
from certcore.result.allocation import Allocation, empty_edges, inadmissible, replay
from certcore.result.anneal import Annealer
from certcore.result.ballots_attack import ballots_attack
from certcore.result.sites import AttackSites

#: Tolerance for rounding errors in sums of weights; attacks are replayed in exact integers.
ROUNDING = 1e-9
#: Annealing steps for the attack of a certificate.
STEPS = 300
#: Time limit for these steps, in seconds.
SECONDS = 0.5


def find_attack(
    problem: Problem,
    structure: Structure | None,
    x: np.ndarray | None,
    time_limit: float = 2.0,
    cancel: threading.Event | None = None,
) -> Allocation:
    """The best admissible integer attack that the greedy search finds within the time limit; at least the empty one."""
    problem = searched(problem)
    graph = problem.instance.graph
    nothing = np.zeros((len(node_types()), graph.n_nodes), dtype=np.int64), np.zeros(graph.n_edges, dtype=np.int64)
    best = replay(problem, *nothing, empty_edges(), np.zeros(graph.n_nodes))
    if problem.whole_graph:
        candidates = [_spend_everything(problem)]
    elif problem.by_ballots:
        candidates = [ballots_attack(problem, time_limit, cancel)]
    elif (
        structure is None
        or not len(structure.groups)
        or not len(structure.flips)
        or problem.threat.sigma == 0
        or (cancel is not None and cancel.is_set())
    ):
        return best
    else:
        deadline = time.perf_counter() + time_limit
        candidates = []
        search = _AttackSearch(problem, structure, deadline, cancel)
        attackers = search.attacker_sets(x)
        for power, start in ((2.0, x), (2.0, None), (1.0, x), (4.0, None), (1.0, None)):
            for chosen in attackers:
                if candidates and over(deadline, cancel):
                    break
                candidates.append(search.run(start, power, chosen))
    for candidate in candidates:
        problem_found = inadmissible(problem, candidate)
        if problem_found is not None:
            raise AssertionError(f"the attack breaks the threat model: {problem_found}")
        if candidate.attacked.sum() > best.attacked.sum():
            best = candidate
    return best


def searched(problem: Problem) -> Problem:
    """The problem whose budgets an attack may spend: with lengths, rounded down to units instead of up."""
    scale = problem.threat.scale
    if scale is None or not scale.up or not problem.real_amounts:
        return problem
    return Problem(problem.instance, problem.threat, like=problem, round_up=False)


class _AttackSearch:
    """Greedy search over flip sites: attribute flips per type and node, deletions per edge."""

    def __init__(self, problem: Problem, structure: Structure, deadline: float, cancel: threading.Event | None) -> None:
        self.problem, self.structure, self.deadline, self.cancel = problem, structure, deadline, cancel
        self.sites = sites = AttackSites(problem, structure)
        self.kind, self.site, self.cap = sites.kind, sites.site, sites.cap
        self.is_edge, self.by_site, self.ends = sites.is_edge, sites.by_site, sites.ends

    def attacker_sets(self, x: np.ndarray | None) -> list[np.ndarray | None]:
        """Candidate sets of σ attackers: by the relaxed solution, and by the number of targets they reach."""
        sigma = self.problem.threat.sigma
        if sigma is None:
            return [None]
        n = self.problem.instance.graph.n_nodes
        potential = self.sites.pull
        sets = []
        if x is not None:
            share = np.zeros(n)
            if self.structure.has_sigma:
                share[self.structure.attackers.nodes] = x[self.structure.columns.attackers]
            else:  # σ stands for a sum of norms
                np.add.at(share, self.ends[:, 0], self.sites.whole_parts(self.structure, x))
            sets.append(np.lexsort((-potential, -np.round(share, 9)))[:sigma])
        sets.append(np.argsort(-potential, kind="stable")[:sigma])
        return [np.sort(chosen) for chosen in sets]

    def run(self, x: np.ndarray | None, power: float, attackers: np.ndarray | None) -> Allocation:
        """One greedy run from the relaxed solution rounded down (or from no flips)."""
        problem, structure = self.problem, self.structure
        graph, threat = problem.instance.graph, problem.threat
        self.amount = np.zeros(len(self.site), dtype=np.int64)
        self.left = np.array(threat.budgets, dtype=np.int64)
        self.local_left = problem.local_limits[ADJ_DEL].copy()
        self.inside = np.zeros((len(structure.groups), len(TYPES)), dtype=np.int64)
        allowed = np.ones(len(self.site), dtype=bool)
        if attackers is not None:
            is_attacker = np.zeros(graph.n_nodes, dtype=bool)
            is_attacker[attackers] = True
            allowed = is_attacker[self.ends].any(axis=1)
        if x is not None and len(self.site):
            self._start(x, allowed)
        for _ in range(3):
            self._greedy(allowed, power)
            if not self._reclaim():
                break
        control = None
        if attackers is not None:
            control = np.zeros(graph.n_nodes, dtype=bool)
            control[attackers] = True
        return self.sites.allocation(problem, self.amount, control)

    def _spend(self, site: int, count: int) -> None:
        k = self.kind[site]
        self.amount[site] += count
        self.left[k] -= count
        rows = self.by_site.indices[self.by_site.indptr[site] : self.by_site.indptr[site + 1]]
        self.inside[rows, k] += count
        if self.is_edge[site]:
            self.local_left[self.ends[site]] -= count

    def _fits(self, site: int) -> int:
        """How many more flips the site can take."""
        if self.is_edge[site]:
            return int(self.amount[site] == 0 and self.left[ADJ_DEL] > 0 and self.local_left[self.ends[site]].min() > 0)
        return int(min(self.cap[site] - self.amount[site], self.left[self.kind[site]]))

    def _start(self, x: np.ndarray, allowed: np.ndarray) -> None:
        whole = self.sites.whole_parts(self.structure, x)
        for site in np.flatnonzero((whole > 0) & allowed).tolist():
            count = min(int(whole[site]), self._fits(site))
            if count > 0:
                self._spend(site, count)

    def _deficits(self) -> tuple[np.ndarray, np.ndarray]:
        """For each group, the closest front point (in shares of the remaining budget) and the flips it still needs."""
        points = self.structure.points
        missing = np.maximum(points.amount - self.inside[points.group], 0)
        effort = np.where(missing > 0, missing / np.maximum(self.left, 1e-9), 0.0)
        out_of_reach = (missing > self.left).any(axis=1)
        total = np.where(out_of_reach, np.inf, effort.sum(axis=1))
        closest = np.lexsort((total, points.group))[points.first]
        return missing[closest], total[closest]

    def _greedy(self, allowed: np.ndarray, power: float) -> None:
        weight = self.structure.groups.weight
        while len(self.site) and self.left.any() and not over(self.deadline, self.cancel):
            missing, effort = self._deficits()
            useful = np.isfinite(effort) & (effort > 0)
            if not useful.any():
                return
            pull = np.zeros(len(effort))
            pull[useful] = weight[useful] / effort[useful] ** power
            score = np.zeros(len(self.site))
            for k in self.structure.types:
                mine = self.kind == k
                score[mine] = (self.by_site @ np.where(missing[:, k] > 0, pull, 0.0))[mine]
            open_ = allowed & (self.amount < self.cap) & (self.left[self.kind] > 0)
            if self.is_edge.any():
                open_ &= ~self.is_edge | (self.local_left[self.ends].min(axis=1) > 0)
            score = np.where(open_, score, 0.0)
            site = int(np.argmax(score))
            if score[site] <= 0:
                return
            rows = self.by_site.indices[self.by_site.indptr[site] : self.by_site.indptr[site + 1]]
            rows = rows[useful[rows] & (missing[rows, self.kind[site]] > 0)]
            step = int(missing[rows, self.kind[site]].min()) if len(rows) else 1
            self._spend(site, max(1, min(step, self._fits(site))))

    def _reclaim(self) -> bool:
        """Take back flips that no attacked group needs; returns whether there were any."""
        points = self.structure.points
        reached = (points.amount <= self.inside[points.group] + ROUNDING).all(axis=1)
        need = np.zeros((len(self.structure.groups), len(TYPES)), dtype=np.int64)
        groups, first = np.unique(points.group[reached], return_index=True)
        need[groups] = points.amount[reached][first]
        found = False
        for site in np.flatnonzero(self.amount > 0).tolist():
            k = self.kind[site]
            rows = self.by_site.indices[self.by_site.indptr[site] : self.by_site.indptr[site + 1]]
            needed = rows[need[rows, k] > 0]
            slack = (
                int((self.inside[needed, k] - need[needed, k] + ROUNDING).min())
                if len(needed)
                else int(self.amount[site])
            )
            slack = min(slack, int(self.amount[site]))
            if slack > 0:
                self._spend(site, -slack)
                found = True
        return found


def improved_attack(
    problem: Problem,
    structure: Structure | None,
    x: np.ndarray | None,
    known: Sequence[Allocation] = (),
    *,
    enough: float = math.inf,
    cancel: threading.Event | None = None,
) -> Allocation:
    """The greedy attack, improved by a short annealing run that also starts from known attacks at other budgets.

    `enough` is the proven bound: an attack that breaks as many targets is optimal, so the search stops. After `cancel`
    is set, the search ends at its next step with the best attack so far.
    """
    problem = searched(problem)
    greedy = find_attack(problem, structure, x, cancel=cancel)
    if structure is None or problem.whole_graph or problem.by_ballots or (cancel is not None and cancel.is_set()):
        return greedy
    annealer = Annealer(problem, structure)
    annealer.offer(greedy)
    for attack in known:
        annealer.offer(attack)
    annealer.run(steps=STEPS, seconds=SECONDS, stop=lambda: annealer.found >= enough, cancel=cancel)
    assert annealer.best is not None
    return annealer.best


def _spend_everything(problem: Problem) -> Allocation:
    """If all fields are the whole graph, only totals matter: flip as much of every type as is allowed."""
    graph, threat = problem.instance.graph, problem.threat
    totals = whole_graph_totals(problem)
    caps = problem.capacities
    sigma = graph.n_nodes if threat.sigma is None else threat.sigma
    wanted = np.minimum(caps, totals[:, None])
    attackers = np.argsort(-(wanted / np.maximum(totals, 1)[:, None]).sum(axis=0), kind="stable")[:sigma]
    control = np.zeros(graph.n_nodes, dtype=bool)
    control[attackers] = True
    attributes = np.zeros((len(node_types()), graph.n_nodes), dtype=np.int64)
    for row, k in enumerate(node_types()):
        left = threat.budgets[k]
        for node in attackers.tolist():
            attributes[row, node] = min(int(caps[k, node]), left)
            left -= int(attributes[row, node])
    deleted = np.zeros(graph.n_edges, dtype=np.int64)
    local_left, left = caps[ADJ_DEL].copy(), threat.adj_del
    usable = np.flatnonzero(control[graph.edges].any(axis=1) & problem.free[graph.edges].all(axis=1)) if left else ()
    for edge in usable:
        ends = graph.edges[edge]
        if left > 0 and local_left[ends].min() > 0:
            deleted[edge] = 1
            left -= 1
            local_left[ends] -= 1
    return replay(problem, attributes, deleted, _additions(problem, attackers), control.astype(float))


def _additions(problem: Problem, attackers: np.ndarray) -> np.ndarray:
    """As many new edges as the budget and the local budgets allow, each with an attacker at one end."""
    graph = problem.instance.graph
    left = problem.threat.adj_add
    local_left = problem.capacities[ADJ_ADD].copy()
    added: list[tuple[int, int]] = []
    seen: set[tuple[int, int]] = set()
    others = np.flatnonzero(local_left > 0).tolist()
    for node in attackers.tolist():
        neighbours = set(graph.adj_indices[graph.adj_indptr[node] : graph.adj_indptr[node + 1]].tolist())
        for other in others:
            if left == 0 or local_left[node] <= 0:
                break
            key = (node, other) if graph.directed else (min(node, other), max(node, other))
            if other == node or other in neighbours or local_left[other] <= 0 or key in seen:
                continue
            seen.add(key)
            added.append(key)
            local_left[[node, other]] -= 1
            left -= 1
        if left == 0:
            break
    return np.array(added, dtype=np.int64).reshape(-1, 2)
