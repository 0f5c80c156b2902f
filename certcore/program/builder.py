"""Building a structure: one method per block of columns and per block of rows.

Proofs name rows by their number, so the order of the blocks, and of rows and columns within them, is part of the
proof format. New blocks go to the end.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.memory import check_memory
from certcore.domain.perturbations import ADJ_DEL, TABLE, TYPES
from certcore.program.field_capacity import FieldCapacity, attribute_supply, edge_supply
from certcore.program.groups import LiveFronts, live_fronts, merge_rows, ranges, undominated
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Attackers, Columns, Flips, Groups, Points, Structure

_EMPTY = np.zeros(0, dtype=np.int64)
Entries = tuple[np.ndarray, np.ndarray, np.ndarray | int]
"""Rows within a block, columns, coefficients."""


class Builder:
    """Builds the usual program: flips inside a field cover a convex combination of the group's front points."""

    def __init__(self, problem: Problem, relaxation: Relaxation, extent: tuple[int, ...]) -> None:
        self.problem, self.relaxation = problem, relaxation
        self.graph = problem.instance.graph
        self.types = problem.in_play
        self.extent = tuple(
            int(extent[k]) if k in self.types else budget for k, budget in enumerate(problem.threat.budgets)
        )
        self.has_sigma = problem.threat.sigma is not None
        self.two_payers = self.has_sigma and not self.graph.directed
        self.blocks = _RowBlocks()

    def build(self) -> Structure:
        fronts = live_fronts(self.problem.fronts, self.problem.targets, np.array(self.extent))
        self._groups(fronts)
        check_memory(self._entries())
        self.flips = self._flips()
        self.is_edge = self.flips.kind == ADJ_DEL
        nodes = self._attackers()
        self.columns = Columns.of(
            len(self.flips), len(nodes), len(self.points), len(self.groups) if self.relaxation.has_indicators else 0
        )
        self.flip_columns = np.arange(len(self.flips))
        self.point_columns = np.arange(self.columns.points.start, self.columns.points.stop)
        self.attacker_column = np.full(self.graph.n_nodes, -1, dtype=np.int64)
        self.attacker_column[nodes] = np.arange(self.columns.attackers.start, self.columns.attackers.stop)
        self._global_rows()
        if ADJ_DEL in self.types and self.problem.limited(ADJ_DEL):
            self._local_rows()
        payers = np.zeros((2, 0), dtype=np.int64)
        if self.has_sigma:
            self.blocks.add("sigma", np.zeros(1), (np.zeros(len(nodes)), self.attacker_column[nodes], 1))
            payers = self._payer_rows()
            if ADJ_DEL in self.types:
                self._pair_rows()
        for k in self.types:
            self._field_rows(k)
        self._choose_rows()
        matrix, rhs = self.blocks.finish(self.columns.count)
        return Structure(
            relaxation=self.relaxation,
            types=self.types,
            extent=self.extent,
            constant=self.problem.weigh(fronts.fallen),
            groups=self.groups,
            points=self.points,
            flips=self.flips,
            attackers=self._coefficients(nodes, payers, matrix),
            has_sigma=self.has_sigma,
            columns=self.columns,
            rows=self.blocks.slices,
            matrix=matrix,
            rhs=rhs,
            field_capacity={} if self.relaxation.has_indicators else {k: self._supply(k) for k in self.types},
            units=np.ones(len(TYPES), dtype=np.int64),
            scale_bits=self.problem.scale_bits,
            step=self.problem.step,
            mean_weight=self.problem.mean_weight,
        )

    # Columns.

    def _groups(self, fronts: LiveFronts) -> None:
        """Merge targets with equal fronts and fields into groups, and list the front points of every group."""
        problem = self.problem
        alive = np.flatnonzero(fronts.alive)
        nodes, edges = problem.fields.nodes, problem.fields.edges
        self.attributes = tuple(k for k in self.types if TABLE[k].at_nodes)
        used = ([nodes] if self.attributes else []) + ([edges] if edges is not None else [])
        representative, group = merge_rows(fronts.front_of_target[alive], used, alive)
        of_target = np.full(len(problem.targets), -1, dtype=np.int64)
        of_target[alive] = group
        count = len(representative)
        weight = np.zeros(count, dtype=np.int64)
        np.add.at(weight, group, problem.weights[alive])
        self.groups = Groups(of_target, alive[representative] if count else _EMPTY, weight)
        self.node_field = nodes[alive[representative]]
        self.edge_field = edges[alive[representative]] if edges is not None else None

        front = fronts.front_of_target[alive[representative]]
        sizes = np.diff(fronts.indptr)[front]
        owner = np.repeat(np.arange(count), sizes)
        first = np.cumsum(sizes) - sizes
        within = np.arange(len(owner)) - np.repeat(first, sizes)
        self.points = Points(owner, fronts.points[fronts.indptr[front][owner] + within], first)

    def _entries(self) -> int:
        """How many matrix entries the field rows will have, computed before they are built."""
        total = len(self.attributes) * self.node_field.nnz
        if self.edge_field is not None:
            total += self.edge_field.nnz * (2 if self.two_payers else 1)
        if self.relaxation.has_indicators and len(self.groups):
            total = total * len(self.points) // len(self.groups)
        return int(total)

    def _flips(self) -> Flips:
        """Flip columns of all types, for sites that lie in some field."""
        parts = [(k, *self._attribute_flips(k)) for k in self.attributes]
        if self.edge_field is not None:
            parts.append((ADJ_DEL, *self._edge_flips(self.edge_field)))
        kind = np.concatenate([np.full(len(part[1]), part[0]) for part in parts] or [_EMPTY])
        return Flips(kind, *(np.concatenate([part[i] for part in parts] or [_EMPTY]) for i in range(1, 4)))

    def _attribute_flips(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sites, payers and caps of one attribute type."""
        problem = self.problem
        inside = np.bincount(self.node_field.indices, minlength=self.graph.n_nodes) > 0
        if self.has_sigma or problem.limited(k) or self.relaxation is Relaxation.EXACT:
            sites = np.flatnonzero((problem.capacities[k] > 0) & inside)
            cap = problem.capacities[k][sites]
        else:
            sites = np.flatnonzero(undominated(self.node_field, problem.free & inside))
            cap = np.full(len(sites), np.iinfo(np.int64).max)
        return sites, np.full(len(sites), -1), cap

    def _edge_flips(self, field: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for edge deletions; with σ, an undirected edge has one column for each end that may pay."""
        problem, edges = self.problem, self.graph.edges
        free = problem.free[edges].all(axis=1)
        sites = np.flatnonzero(free & (np.bincount(field.indices, minlength=len(edges)) > 0))
        payers = np.full(len(sites), -1)
        if self.two_payers:
            payers = edges[sites].T.ravel()
            sites = np.tile(sites, 2)
        return sites, payers, np.ones(len(sites), dtype=np.int64)

    def _attackers(self) -> np.ndarray:
        """With σ, every node that could pay for some flip."""
        if not self.has_sigma:
            return _EMPTY
        flips, is_edge = self.flips, self.is_edge
        ends = flips.payer[is_edge] if self.two_payers else self.graph.edges[flips.site[is_edge]].ravel()
        return np.unique(np.concatenate([flips.site[~is_edge], ends]))

    # Rows.

    def _global_rows(self) -> None:
        """There are at most as many flips of each type as its global budget."""
        row = np.zeros(len(TYPES), dtype=np.int64)
        row[list(self.types)] = np.arange(len(self.types))
        self.blocks.add("global", np.zeros(len(self.types)), (row[self.flips.kind], self.flip_columns, 1))

    def _local_rows(self) -> None:
        """At most the local budget of a node is deleted there; rows that cannot bind are omitted."""
        n, edges, sites = self.graph.n_nodes, self.graph.edges, self.flips.site[self.is_edge]
        limits = self.problem.local_limits[ADJ_DEL]
        standing = np.bincount(edges[np.unique(sites)].ravel(), minlength=n)
        bound = np.flatnonzero(limits < standing)
        row_of = np.full(n, -1)
        row_of[bound] = np.arange(len(bound))
        entry = row_of[edges[sites]]
        columns = np.repeat(self.flip_columns[self.is_edge][:, None], 2, axis=1)
        mask = entry >= 0
        self.blocks.add("local", limits[bound], (entry[mask], columns[mask], 1))

    def _payer_rows(self) -> np.ndarray:
        """Flips at m (or paid for by m) ≤ a_m · capacity of m; returns the types and nodes of the rows."""
        n, flips = self.graph.n_nodes, self.flips
        payer = np.where(self.is_edge, flips.payer, flips.site)
        paid = payer >= 0
        keys, row = np.unique(flips.kind[paid] * n + payer[paid], return_inverse=True)
        kinds, nodes = keys // n, keys % n
        self.blocks.add(
            "payer",
            np.zeros(len(keys)),
            (row.reshape(-1), self.flip_columns[paid], 1),
            (np.arange(len(keys)), self.attacker_column[nodes], -self.problem.capacities[kinds, nodes]),
        )
        return np.stack([kinds, nodes])

    def _pair_rows(self) -> None:
        """Undirected: an edge is deleted at most once, paid for by one end. Directed: one end is an attacker."""
        columns = self.flip_columns[self.is_edge]
        if self.two_payers:
            half = len(columns) // 2
            pair = np.arange(half)
            self.blocks.add("pair", np.ones(half), (pair, columns[:half], 1), (pair, columns[:half] + half, 1))
            return
        pair = np.arange(len(columns))
        ends = self.attacker_column[self.graph.edges[self.flips.site[self.is_edge]]]
        self.blocks.add(
            "pair", np.zeros(len(columns)), (pair, columns, 1), (pair, ends[:, 0], -1), (pair, ends[:, 1], -1)
        )

    def _field_rows(self, k: int) -> None:
        """The chosen points need no more flips than lie in the field: one row per group (paper's form: per point)."""
        inside, points = self._inside(k), self.points
        flips = self.flip_columns[self.flips.kind == k]
        need = np.flatnonzero(points.amount[:, k] > 0)
        row, count = points.group[need], len(self.groups)
        if self.relaxation.has_indicators:
            inside, row, count = inside[points.group[need]], np.arange(len(need)), len(need)
        amounts = (row, self.point_columns[need], points.amount[need, k])
        first = int(flips[0]) if len(flips) else 0  # the flips of a type are adjacent
        self.blocks.add(f"field{k}", np.zeros(count), amounts, negative=(inside, first))

    def _choose_rows(self) -> None:
        """Σ_p s_p ≤ 1 for each group; in the paper's form, the indicator of the group ≤ Σ_p s_p."""
        count, owner = len(self.groups), self.points.group
        if not self.relaxation.has_indicators:
            self.blocks.add("choose", np.ones(count), (owner, self.point_columns, 1))
            return
        indicators = np.arange(self.columns.indicators.start, self.columns.indicators.stop)
        self.blocks.add("choose", np.zeros(count), (owner, self.point_columns, -1), (np.arange(count), indicators, 1))

    # Data of rows and columns.

    def _inside(self, k: int) -> sp.csr_array:
        """Groups × flip columns of one type: which flips count for which group."""
        field = self.edge_field if k == ADJ_DEL else self.node_field
        assert field is not None
        sites = self.flips.site[self.flips.kind == k]
        chosen = sp.csr_array(field[:, sites]) if len(sites) else sp.csr_array((len(self.groups), 0), dtype=np.int32)
        chosen.sort_indices()
        return chosen

    def _supply(self, k: int) -> FieldCapacity:
        if k == ADJ_DEL:
            return edge_supply(self.problem, self.edge_field)
        return attribute_supply(self.node_field, self.problem.capacities[k], self.has_sigma)

    def _coefficients(self, nodes: np.ndarray, payers: np.ndarray, matrix: sp.csr_array) -> Attackers:
        kinds, of_node = payers
        rows, columns, entries = _EMPTY, self.attacker_column[of_node], _EMPTY
        if len(kinds):
            rows = self.blocks.slices["payer"].start + np.arange(len(kinds))
            entries = _entry_positions(matrix, rows, columns)
        touch = None
        if self.has_sigma and self.types and self.relaxation is Relaxation.TIGHT:
            touch = self._touch(nodes)
        return Attackers(nodes, entries, rows, columns, self.problem.capacities[kinds, of_node], kinds, touch)

    def _touch(self, nodes: np.ndarray) -> sp.csr_array | None:
        """Groups × attackers: nodes of the field (if attributes are in play) and both ends of its edges."""
        parts = [self.node_field] if self.attributes else []
        if self.edge_field is not None:
            edges, count = self.graph.edges, self.graph.n_edges
            ends = sp.coo_array(
                (np.ones(2 * count, np.int32), (np.tile(np.arange(count), 2), edges.T.ravel())),
                shape=(count, self.graph.n_nodes),
            )
            parts.append(sp.csr_array(self.edge_field @ ends.tocsr()))
        touch = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        touch = sp.csr_array(touch[:, nodes]) if len(nodes) else sp.csr_array((touch.shape[0], 0), dtype=np.int32)
        touch.sort_indices()
        return sp.csr_array((np.ones(len(touch.indices), np.int64), touch.indices, touch.indptr), shape=touch.shape)


class _RowBlocks:
    """Collects blocks of rows: entries as coordinate triples, fields as they are."""

    def __init__(self) -> None:
        self.count = 0
        self.slices: dict[str, slice] = {}
        self.parts: list[tuple[int, tuple[Entries, ...], tuple[sp.csr_array, int] | None]] = []
        self.rhs: list[np.ndarray] = []

    def add(
        self, name: str, rhs: np.ndarray, *entries: Entries, negative: tuple[sp.csr_array, int] | None = None
    ) -> None:
        """Add rows; `negative` are the negative coefficients left of all others, sorted, and their first column."""
        self.slices[name] = slice(self.count, self.count + len(rhs))
        self.parts.append((len(rhs), entries, negative))
        self.rhs.append(np.asarray(rhs, dtype=np.int64))
        self.count += len(rhs)

    def finish(self, n_columns: int) -> tuple[sp.csr_array, np.ndarray]:
        if max(self.count, n_columns) >= 2**31:  # rows and columns are numbered by 32 bits, as in HiGHS
            raise InputError(
                f"the program has {self.count:,} rows and {n_columns:,} columns; expected fewer than 2^31, so give "
                "fewer targets or fewer types"
            )
        others = [_from_triples(entries, (count, n_columns)) for count, entries, _ in self.parts]
        lengths = [np.diff(part.indptr).astype(np.int64) for part in others]
        for length, (_, _, negative) in zip(lengths, self.parts):
            if negative is not None:
                length += np.diff(negative[0].indptr)
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        columns, data = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.int64)
        for rows, part, (_, _, negative) in zip(self.slices.values(), others, self.parts):
            block = slice(starts[rows.start], starts[rows.stop])
            if negative is None:
                columns[block], data[block] = part.indices, part.data
                continue
            inside, first = negative
            at_end = np.diff(part.indptr)
            theirs = ranges(starts[rows.start + 1 : rows.stop + 1] - at_end, at_end)
            mine = np.ones(block.stop - block.start, dtype=bool)
            mine[theirs - block.start] = False
            columns[block][mine] = inside.indices + np.int32(first) if first else inside.indices
            data[block][mine] = -1 if inside.dtype == np.int8 else -inside.data.astype(np.int64)
            columns[theirs], data[theirs] = part.indices, part.data
        self.parts = []
        return sp.csr_array((data, columns, starts), shape=(self.count, n_columns)), np.concatenate(self.rhs)


def _from_triples(entries: tuple[Entries, ...], shape: tuple[int, int]) -> sp.csr_array:
    rows, columns = (np.concatenate([np.asarray(part[i], dtype=np.int32) for part in entries]) for i in range(2))
    data = [np.broadcast_to(np.asarray(part[2], dtype=np.int64), np.shape(part[0])) for part in entries]
    matrix = sp.csr_array(sp.coo_array((np.concatenate(data), (rows, columns)), shape=shape))
    matrix.sort_indices()
    return matrix


def _entry_positions(matrix: sp.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Positions in `matrix.data` of the entries (rows[i], columns[i]), all of which must exist."""
    owner = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys = owner * matrix.shape[1] + matrix.indices
    return np.searchsorted(keys, rows.astype(np.int64) * matrix.shape[1] + columns)
