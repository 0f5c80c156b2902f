"""Attacks at smaller budgets from an attack at a larger budget: flips are taken back one by one.

The order is a heuristic; the remaining attack is replayed like any other.
"""

from __future__ import annotations

import threading

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TABLE, TYPES, node_types
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, replay


def trimmed(
    problem: Problem, attack: Allocation, kind: int, budgets: range, cancel: threading.Event | None = None
) -> np.ndarray:
    """How many targets stay uncertified when flips of one type are taken back until each of the budgets is met.

    0 (unknown) for flips with costs or weights, added edges, whole-graph fields, ballots, and if cancelled.
    """
    left = np.zeros(len(budgets), dtype=np.int64)
    threat = problem.threat
    if kind == ADJ_ADD or problem.by_ballots or problem.whole_graph or not TABLE[kind].whole:
        return left  # real amounts have too many units to take back one by one
    if threat.node_costs is not None or threat.edge_costs is not None or problem.instance.field_unit > 1:
        return left
    amounts = np.array(
        attack.deleted if kind == ADJ_DEL else attack.attributes[node_types().index(kind)], dtype=np.int64
    )
    order = _order(problem, attack, kind, amounts)
    for k in range(len(budgets) - 1, -1, -1):
        if cancel is not None and cancel.is_set():
            break
        while int(amounts.sum()) > budgets[k]:
            amounts[order.pop()] -= 1
        attributes, deleted = attack.attributes, attack.deleted
        if kind == ADJ_DEL:
            deleted = amounts
        else:
            attributes = attributes.copy()
            attributes[node_types().index(kind)] = amounts
        found = replay(problem, attributes, deleted, attack.added, attack.attackers)
        left[k] = int(found.attacked.sum())
    return left


def _order(problem: Problem, attack: Allocation, kind: int, amounts: np.ndarray) -> list[int]:
    """The sites of all flips of one type; the last ones are taken back first.

    The loss of a flip is the number of targets that are no longer broken without it. Taking back all flips of a site
    may lose less per flip than taking back one.
    """
    sites = np.flatnonzero(amounts > 0)
    fields = problem.fields.edges if kind == ADJ_DEL else problem.fields.nodes
    if fields is None or not len(sites):
        return np.repeat(sites, amounts[sites]).tolist()
    touched = sp.csc_array(sp.csr_array(fields)[:, sites])
    touched.sort_indices()
    rows, site_of = touched.indices, np.repeat(np.arange(len(sites)), np.diff(touched.indptr))
    spare = _spare(problem, attack.inside, kind)
    remaining, order = amounts[sites].copy(), []

    def targets_lost(within: np.ndarray) -> np.ndarray:
        return np.bincount(site_of[within], minlength=len(sites)).astype(float)

    while remaining.any():
        here = spare[rows]
        one, whole = targets_lost(here == 0), targets_lost((here >= 0) & (here < remaining[site_of]))
        near = np.bincount(site_of, np.where(here >= 0, 1.0 / (1 + np.maximum(here, 0)), 0.0), minlength=len(sites))
        cost = np.minimum(one, whole / np.maximum(remaining, 1)) + 1e-6 * near
        site = int(np.where(remaining > 0, cost, np.inf).argmin())
        order.append(int(sites[site]))
        remaining[site] -= 1
        spare[rows[touched.indptr[site] : touched.indptr[site + 1]]] -= 1
    return order[::-1]


def _spare(problem: Problem, inside: np.ndarray, kind: int) -> np.ndarray:
    """How many flips of one type each uncertified target received beyond its need; negative for other targets."""
    fronts, nodes = problem.fronts, problem.targets
    front = fronts.front_of_node[nodes]
    sizes = np.diff(fronts.indptr)[front]
    owner = np.repeat(np.arange(len(nodes)), sizes)
    which = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + fronts.indptr[front][owner]
    others = [k for k in range(len(TYPES)) if k != kind]
    reached = (fronts.points[which][:, others] <= inside[owner][:, others]).all(axis=1)
    spare = np.full(len(nodes), -1, dtype=np.int64)
    got = inside[owner[reached], kind] - fronts.points[which[reached], kind]
    np.maximum.at(spare, owner[reached], got.astype(np.int64))
    # A target that is uncertified without flips of this type needs none of them.
    free = reached & (fronts.points[which, kind] == 0)
    spare[owner[free]] = -1
    return spare
