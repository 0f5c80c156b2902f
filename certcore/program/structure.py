"""The program without its numbers: columns, rows and coefficients that stay when budgets move.

Columns: flips (attribute flips per node, edge deletions per edge), attackers (with σ), points (one per front
point of each group of targets) and, in the paper's form only, one indicator per group. Rows are all of the form
coefficients · variables ≤ right-hand side, with integer data, so that a bound can be proven in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from certcore.perturbations import ADJ_DEL, ATTR_ADD, ATTR_DEL
from certcore.program.groups import live_fronts, merge_rows, undominated
from certcore.program.problem import Problem
from certcore.program.supply import Supply, attribute_supply, edge_supply


@dataclass(frozen=True, eq=False)
class Structure:
    """Everything about a program that does not depend on the values of the global budgets and of σ."""

    relaxation: str
    types: tuple[int, ...]
    extent: tuple[int, ...]
    n_targets: int
    constant: int
    """Targets that are uncertified without any attack: they count as attacked and are not in the program."""

    group_of_target: np.ndarray
    """Group of each target, by position; -1 for targets that are not in the program."""
    representative: np.ndarray
    weight: np.ndarray
    point_group: np.ndarray
    points: np.ndarray

    flip_type: np.ndarray
    flip_site: np.ndarray
    """Node (attribute flips) or position in `Graph.edges` (edge deletions)."""
    flip_payer: np.ndarray
    """With σ on undirected graphs: the node that pays for the flip; otherwise -1."""
    flip_cost: np.ndarray
    flip_cap: np.ndarray

    attackers: np.ndarray
    """Nodes with an attacker variable (with σ only)."""
    has_sigma: bool

    matrix: sp.csr_array
    rhs: np.ndarray
    """Right-hand sides; entries of `global` and `sigma` rows are filled in with the budgets."""
    blocks: dict[str, slice]
    global_types: np.ndarray
    payer_entries: np.ndarray
    """Positions in `matrix.data` of the attackers' coefficients −cap, which a small budget makes smaller."""
    payer_caps: np.ndarray
    payer_types: np.ndarray
    payer_costs: np.ndarray
    supply: dict[int, Supply] = field(repr=False)
    touch: sp.csr_array | None = field(repr=False)
    """Groups × attackers: who can touch the field of a group at all (for the σ cuts)."""

    @property
    def n_flips(self) -> int:
        return len(self.flip_type)

    @property
    def n_groups(self) -> int:
        return len(self.weight)

    @property
    def first_attacker(self) -> int:
        return self.n_flips

    @property
    def first_point(self) -> int:
        return self.n_flips + len(self.attackers)

    @property
    def first_indicator(self) -> int:
        return self.first_point + len(self.points)

    @property
    def n_columns(self) -> int:
        return self.matrix.shape[1]


class _Rows:
    """Collects blocks of rows as coordinate triples."""

    def __init__(self) -> None:
        self.count = 0
        self.blocks: dict[str, slice] = {}
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.rhs: list[np.ndarray] = []

    def add(self, name: str, rhs: np.ndarray, *entries: tuple[np.ndarray, np.ndarray, np.ndarray | int]) -> None:
        """Append a block; entries are (row within the block, column, coefficient)."""
        self.blocks[name] = slice(self.count, self.count + len(rhs))
        for rows, columns, values in entries:
            rows = np.asarray(rows, dtype=np.int64)
            data = np.broadcast_to(np.asarray(values, dtype=np.int64), rows.shape)
            self.parts.append((rows + self.count, np.asarray(columns, dtype=np.int64), data))
        self.rhs.append(np.asarray(rhs, dtype=np.int64))
        self.count += len(rhs)

    def finish(self, n_columns: int) -> tuple[sp.csr_array, np.ndarray]:
        empty = np.zeros(0, dtype=np.int64)
        rows, columns, data = (np.concatenate(x) for x in zip(*self.parts)) if self.parts else (empty, empty, empty)
        matrix = sp.csr_array(sp.coo_array((data, (rows, columns)), shape=(self.count, n_columns)))
        matrix.sort_indices()
        return matrix, np.concatenate(self.rhs) if self.rhs else empty


def build_structure(problem: Problem, relaxation: str, extent: tuple[int, ...] | None = None) -> Structure:
    """Build the program's structure for all budgets up to `extent` (default: the threat model's own)."""
    threat, graph = problem.threat, problem.instance.graph
    types = problem.in_play
    reach = np.array([extent[k] if extent and k in types else threat.budgets[k] for k in range(4)])
    tight = relaxation != "paper"
    has_sigma = threat.sigma is not None
    two_payers = has_sigma and not graph.directed
    always_cap = relaxation == "exact"

    fronts = live_fronts(problem.fronts, problem.targets, reach)
    alive = np.flatnonzero(fronts.alive)
    node_field = problem.fields.nodes[alive]
    attr_types = tuple(k for k in types if k in (ATTR_ADD, ATTR_DEL))
    edges_in_play = ADJ_DEL in types
    edge_fields = problem.fields.edges
    used = ([node_field] if attr_types else []) + ([edge_fields[alive]] if edge_fields is not None else [])
    representative, group = merge_rows(fronts.front_of_target[alive], used)
    group_of_target = np.full(len(problem.targets), -1, dtype=np.int64)
    group_of_target[alive] = group
    n_groups = len(representative)
    psi = node_field[representative]
    big_psi = edge_fields[alive[representative]] if edge_fields is not None else None

    # Points of every group.
    front = fronts.front_of_target[alive[representative]]
    sizes = np.diff(fronts.indptr)[front]
    point_group = np.repeat(np.arange(n_groups), sizes)
    within = np.arange(len(point_group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    points = fronts.points[fronts.indptr[front][point_group] + within]
    weight = np.bincount(group, minlength=n_groups).astype(np.int64)

    # Flip columns.
    flips: list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    node_costs = np.ones(graph.n_nodes, np.int64) if threat.node_costs is None else np.asarray(threat.node_costs)
    edge_costs = np.ones(graph.n_edges, np.int64) if threat.edge_costs is None else np.asarray(threat.edge_costs)
    for k in attr_types:
        capped = has_sigma or problem.limited(k) or always_cap
        if capped:
            sites = np.flatnonzero(
                (problem.capacities[k] > 0) & (np.bincount(psi.indices, minlength=graph.n_nodes) > 0)
            )
            cap = problem.capacities[k][sites]
        else:
            keep = problem.free & (np.bincount(psi.indices, minlength=graph.n_nodes) > 0)
            if threat.node_costs is None:
                keep = undominated(psi, keep)
            sites = np.flatnonzero(keep)
            cap = np.full(len(sites), np.iinfo(np.int64).max)
        flips.append((k, sites, np.full(len(sites), -1), node_costs[sites], cap))
    if big_psi is not None:
        free_edge = problem.free[graph.edges].all(axis=1)
        sites = np.flatnonzero(free_edge & (np.bincount(big_psi.indices, minlength=graph.n_edges) > 0))
        payers = np.full(len(sites), -1)
        if two_payers:
            payers = graph.edges[sites].T.ravel()
            sites = np.tile(sites, 2)
        flips.append((ADJ_DEL, sites, payers, edge_costs[sites], np.ones(len(sites), dtype=np.int64)))
    empty = np.zeros(0, dtype=np.int64)
    flip_type = np.concatenate([np.full(len(f[1]), f[0]) for f in flips] or [empty])
    flip_site, flip_payer, flip_cost, flip_cap = (np.concatenate([f[i] for f in flips] or [empty]) for i in range(1, 5))
    n_flips = len(flip_type)
    is_edge = flip_type == ADJ_DEL

    # Attacker columns: everybody who could pay for some flip.
    if has_sigma:
        everybody = [
            flip_site[~is_edge],
            flip_payer[is_edge] if two_payers else graph.edges[flip_site[is_edge]].ravel(),
        ]
        attackers = np.unique(np.concatenate(everybody))
    else:
        attackers = empty
    attacker_column = np.full(graph.n_nodes, -1, dtype=np.int64)
    attacker_column[attackers] = n_flips + np.arange(len(attackers))
    first_point = n_flips + len(attackers)
    first_indicator = first_point + len(points)
    n_columns = first_indicator + (0 if tight else n_groups)

    rows = _Rows()
    numbers = np.arange(n_flips)
    global_types = np.array(types, dtype=np.int64)
    place = np.zeros(4, dtype=np.int64)
    place[global_types] = np.arange(len(types))
    rows.add("global", np.zeros(len(types)), (place[flip_type], numbers, flip_cost))

    if edges_in_play and problem.limited(ADJ_DEL):
        # Flips at a node, in and out, whoever pays; rows that cannot bind are left out.
        limits = problem.local_limits[ADJ_DEL]
        ends = graph.edges[flip_site[is_edge]]
        standing = np.bincount(graph.edges[np.unique(flip_site[is_edge])].ravel(), minlength=graph.n_nodes)
        bound = np.flatnonzero(limits < standing)
        row_of = np.full(graph.n_nodes, -1)
        row_of[bound] = np.arange(len(bound))
        entry = row_of[ends]
        columns = np.repeat(numbers[is_edge][:, None], 2, axis=1)
        mask = entry >= 0
        rows.add("local", limits[bound], (entry[mask], columns[mask], 1))

    payer_types = payer_caps = payer_costs = payer_rows = empty
    if has_sigma:
        rows.add("sigma", np.zeros(1), (np.zeros(len(attackers)), attacker_column[attackers], 1))
        # Flips at m (or paid by m) ≤ a_m · capacity of m.
        payer = np.where(is_edge, flip_payer, flip_site)
        paid = payer >= 0
        key = flip_type[paid] * graph.n_nodes + payer[paid]
        keys, row = np.unique(key, return_inverse=True)
        payer_types, nodes = keys // graph.n_nodes, keys % graph.n_nodes
        payer_caps = problem.capacities[payer_types, nodes]
        payer_costs = np.where(payer_types == ADJ_DEL, 1, node_costs[nodes])
        payer_rows = np.arange(len(keys))
        rows.add(
            "payer",
            np.zeros(len(keys)),
            (row.reshape(-1), numbers[paid], 1),
            (payer_rows, attacker_column[nodes], -payer_caps),
        )
        if edges_in_play and two_payers:
            half = int(is_edge.sum()) // 2
            first = numbers[is_edge][:half]
            pair = np.arange(half)
            rows.add("pair", np.ones(half), (pair, first, 1), (pair, first + half, 1))
        elif edges_in_play:
            column = numbers[is_edge]
            ends = graph.edges[flip_site[is_edge]]
            pair = np.arange(len(column))
            rows.add(
                "pair",
                np.zeros(len(column)),
                (pair, column, 1),
                *((pair, attacker_column[ends[:, e]], -1) for e in (0, 1)),
            )

    # Field rows: what the points need must be there.
    influence = _influence(psi, big_psi, flip_type, flip_site, types, n_groups)
    choice = np.arange(len(points)) + first_point
    if tight:
        for k in types:
            matrix = influence[k]
            owner = np.repeat(np.arange(n_groups), np.diff(matrix.indptr))
            need = points[:, k] > 0
            rows.add(
                f"field{k}",
                np.zeros(n_groups),
                (point_group[need], choice[need], points[need, k]),
                (owner, numbers[flip_type == k][matrix.indices], -1),
            )
        rows.add("choose", np.ones(n_groups), (point_group, choice, 1))
    else:
        for k in types:
            matrix = influence[k]
            need = np.flatnonzero(points[:, k] > 0)
            owner_group = point_group[need]
            lengths = np.diff(matrix.indptr)[owner_group]
            entries = matrix[owner_group]
            rows.add(
                f"field{k}",
                np.zeros(len(need)),
                (np.arange(len(need)), choice[need], points[need, k]),
                (np.repeat(np.arange(len(need)), lengths), numbers[flip_type == k][entries.indices], -1),
            )
        indicator = np.arange(n_groups)
        rows.add(
            "choose",
            np.zeros(n_groups),
            (point_group, choice, -1),
            (indicator, first_indicator + indicator, 1),
        )

    matrix, rhs = rows.finish(n_columns)
    payer_entries = empty
    if has_sigma and len(payer_rows):
        start = rows.blocks["payer"].start
        payer_entries = _entry_positions(matrix, payer_rows + start, attacker_column[keys % graph.n_nodes])
    supply: dict[int, Supply] = {}
    for k in types if tight else ():
        supply[k] = (
            edge_supply(problem, big_psi) if k == ADJ_DEL else attribute_supply(psi, problem.capacities[k], has_sigma)
        )
    touch = None
    if has_sigma and types and relaxation == "tight":
        touch = _touch(psi if attr_types else None, big_psi, graph.edges, attackers, graph.n_nodes)
    return Structure(
        relaxation=relaxation,
        types=types,
        extent=tuple(int(x) for x in reach),
        n_targets=len(problem.targets),
        constant=int(fronts.fallen.sum()),
        group_of_target=group_of_target,
        representative=alive[representative] if n_groups else empty,
        weight=weight,
        point_group=point_group,
        points=points,
        flip_type=flip_type,
        flip_site=flip_site,
        flip_payer=flip_payer,
        flip_cost=flip_cost,
        flip_cap=flip_cap,
        attackers=attackers,
        has_sigma=has_sigma,
        matrix=matrix,
        rhs=rhs,
        blocks=rows.blocks,
        global_types=global_types,
        payer_entries=payer_entries,
        payer_caps=payer_caps,
        payer_types=payer_types,
        payer_costs=payer_costs,
        supply=supply,
        touch=touch,
    )


def _influence(
    psi: sp.csr_array,
    big_psi: sp.csr_array | None,
    flip_type: np.ndarray,
    flip_site: np.ndarray,
    types: tuple[int, ...],
    n_groups: int,
) -> dict[int, sp.csr_array]:
    """For each type: groups × flip columns of that type, which flips count for which group."""
    result = {}
    for k in types:
        field_ = big_psi if k == ADJ_DEL else psi
        assert field_ is not None
        sites = flip_site[flip_type == k]
        chosen = sp.csr_array(field_[:, sites]) if len(sites) else sp.csr_array((n_groups, 0), dtype=np.int32)
        chosen.sort_indices()
        result[k] = chosen
    return result


def _touch(
    psi: sp.csr_array | None,
    big_psi: sp.csr_array | None,
    edges: np.ndarray,
    attackers: np.ndarray,
    n_nodes: int,
) -> sp.csr_array:
    """Groups × attackers: nodes of the field if attributes are in play, and both ends of every edge of it."""
    parts = [] if psi is None else [psi]
    if big_psi is not None:
        count = len(edges)
        ends = sp.coo_array(
            (np.ones(2 * count, np.int32), (np.tile(np.arange(count), 2), edges.T.ravel())),
            shape=(count, n_nodes),
        )
        parts.append(sp.csr_array(big_psi @ ends.tocsr()))
    touch = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    touch = sp.csr_array(touch[:, attackers]) if len(attackers) else sp.csr_array((touch.shape[0], 0), dtype=np.int32)
    touch.sort_indices()
    return sp.csr_array((np.ones(len(touch.indices), np.int64), touch.indices, touch.indptr), shape=touch.shape)


def _entry_positions(matrix: sp.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Where in `matrix.data` the entries (rows[i], columns[i]) are; every one exists."""
    owner = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys = owner * matrix.shape[1] + matrix.indices
    return np.searchsorted(keys, rows.astype(np.int64) * matrix.shape[1] + columns)
