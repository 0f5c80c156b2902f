"""All sites where an attack can flip something, including those the program drops as dominated.

In an attack capacities bind, so a dominated site can still be useful.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_DEL, node_types
from certcore.program.problem import Problem
from certcore.program.structure import Structure
from certcore.result.allocation import Allocation, columns_of, empty_edges, replay


class AttackSites:
    """Attribute flips per type and node, deletions per edge: capacities, ends, and fields."""

    def __init__(self, problem: Problem, structure: Structure) -> None:
        graph = problem.instance.graph
        kinds, sites, caps, blocks = [], [], [], []
        for k in structure.types:
            field = problem.fields.edges if k == ADJ_DEL else problem.fields.nodes
            assert field is not None
            field = field[structure.groups.representative]
            is_edge = k == ADJ_DEL
            capacity = problem.free[graph.edges].all(axis=1).astype(np.int64) if is_edge else problem.capacities[k]
            chosen = np.flatnonzero((capacity > 0) & (np.bincount(field.indices, minlength=field.shape[1]) > 0))
            kinds.append(np.full(len(chosen), k))
            sites.append(chosen)
            caps.append(capacity[chosen])
            blocks.append(sp.csr_array(field[:, chosen]) if len(chosen) else sp.csr_array((field.shape[0], 0)))
        nothing = [np.zeros(0, dtype=np.int64)]
        parts = (nothing + kinds, nothing + sites, nothing + caps)
        self.kind, self.site, self.cap = map(np.concatenate, parts)
        self.is_edge = self.kind == ADJ_DEL
        blocks = blocks or [sp.csr_array((len(structure.groups), 0))]
        self.by_site = columns_of(sp.csr_array(sp.hstack(blocks, format="csr")).astype(np.float64))
        """Sites × groups: which groups' fields contain the site."""
        self.ends = np.repeat(self.site[:, None], 2, axis=1)
        """The nodes at a site; the same node twice for attributes."""
        self.ends[self.is_edge] = graph.edges[self.site[self.is_edge]]
        reach = (self.by_site @ structure.groups.weight / structure.mean_weight) * np.minimum(self.cap, 16)
        self.pull = np.zeros(graph.n_nodes)
        """For each node, the number of targets that its sites influence, weighted by capacity."""
        for end in (0, 1):
            np.add.at(self.pull, self.ends[:, end], reach)

    def rows_of(self, site: int) -> np.ndarray:
        """Groups whose fields contain a site."""
        rows: np.ndarray = self.by_site.indices[self.by_site.indptr[site] : self.by_site.indptr[site + 1]]
        return rows

    def whole_parts(self, structure: Structure, x: np.ndarray) -> np.ndarray:
        """Flips of a relaxed solution at each site, rounded down."""
        flips = structure.flips
        value = np.zeros(len(self.site))
        if len(self.site):
            width = int(max(flips.site.max(initial=0), self.site.max(initial=0))) + 1
            keys, wanted = self.kind * width + self.site, flips.kind * width + flips.site
            position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known = keys[position] == wanted  # the relaxed program may use a node that has nothing to flip
            np.add.at(value, position[known], x[structure.columns.flips][known])
        value = np.nan_to_num(value, nan=0.0, posinf=0.0, neginf=0.0)
        return np.floor(np.clip(value, 0.0, 1e15) + 1e-6).astype(np.int64)

    def amounts_of(self, attack: Allocation) -> np.ndarray:
        """Flips of an attack at each site."""
        amount = np.zeros(len(self.site), dtype=np.int64)
        for row, k in enumerate(node_types()):
            chosen = self.kind == k
            amount[chosen] = attack.attributes[row, self.site[chosen]]
        amount[self.is_edge] = attack.deleted[self.site[self.is_edge]]
        return amount

    def allocation(self, problem: Problem, amount: np.ndarray, attackers: np.ndarray | None) -> Allocation:
        """Flips at the sites as a replayed attack; `attackers` (a node mask) is used with σ only."""
        graph = problem.instance.graph
        attributes = np.zeros((len(node_types()), graph.n_nodes), dtype=np.int64)
        for row, k in enumerate(node_types()):
            chosen = self.kind == k
            attributes[row, self.site[chosen]] = amount[chosen]
        deleted = np.zeros(graph.n_edges, dtype=np.int64)
        deleted[self.site[self.is_edge]] = amount[self.is_edge]
        control = np.zeros(graph.n_nodes)
        if attackers is None or problem.threat.sigma is None:
            control[attributes.sum(axis=0) > 0] = 1
            control[graph.edges[deleted > 0].ravel()] = 1
        else:
            control[attackers] = 1
        return replay(problem, attributes, deleted, empty_edges(), control)
