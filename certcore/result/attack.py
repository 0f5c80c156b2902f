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
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, node_types
from certcore.program.problem import Problem, whole_graph_totals
from certcore.program.structure import Structure
from certcore.result.allocation import Allocation, empty_edges, inadmissible, replay
from certcore.result.ballots_attack import ballots_attack
from certcore.result.search import Annealer, Greedy

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
        search = Greedy(problem, structure, deadline, cancel)
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
        if candidate.loss > best.loss:
            best = candidate
    return best


def searched(problem: Problem) -> Problem:
    """The problem whose budgets an attack may spend: with lengths, rounded down to units instead of up."""
    scale = problem.threat.scale
    if scale is None or not scale.up or not problem.real_amounts:
        return problem
    return Problem(problem.instance, problem.threat, like=problem, round_up=False)


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
