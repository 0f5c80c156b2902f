"""The adversary's program against ballots (`certcore.base.ballots`): its changes have to close each target's gap.

Flip columns: a_n, ends of added edges at target n; i_n, edges from new nodes at n; d_e, deleted edges; t_m, rewritten
nodes (one column per type of attribute flip). With σ, a_n is split: ends that an attacker at n pays for are flip
columns, the others are inner columns. Point columns: u_n, one per target, is 1 if target n is broken. The other inner
columns belong to one target n and one sender m: d'_nm and t'_nm are the part of d and t that is used against n.

Rows, beside those of the budgets and of σ (shares and counts come from the base certificate, as whole numbers):

    2²⁰·u_n ≤ 2²⁰·t_n + share_new·(a_n + i_n) + Σ share_deleted·d'_nm + Σ share_controlled·t'_nm          share
    M_n·u_n ≤  M_n·t_n +           a_n + i_n  + Σ count_deleted·d'_nm + Σ count_controlled·t'_nm          count
    d'_nm ≤ d_e      t'_nm ≤ t_m      d'_nm, t'_nm ≤ u_n

Every admissible perturbation satisfies these rows with integer values: where u_n is 0, d'_nm and t'_nm may be set to 0.
Besides budget rows, a_n and i_n have entries only in the rows of n.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.base.ballots import SHARE
from certcore.common.errors import InputError
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_ADD, ATTR_DEL, INJECT, TYPES
from certcore.program.builder import Builder
from certcore.program.groups import ranges
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Columns, Flips, Groups, Points, Structure

_EMPTY = np.zeros(0, dtype=np.int64)
_ANY = np.iinfo(np.int64).max
_ATTRIBUTES = (ATTR_ADD, ATTR_DEL)


@dataclass(frozen=True, eq=False)
class TopSums:
    """For each target the sum of its largest values, for any number of them."""

    sums: np.ndarray
    """Running sums over the values of all targets, those of one target in descending order."""
    first: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, value: np.ndarray, owner: np.ndarray, count: int) -> TopSums:
        order = np.lexsort((-value, owner))
        sizes = np.bincount(owner, minlength=count)
        return cls(np.concatenate([[0], np.cumsum(value[order])]), np.cumsum(sizes) - sizes, sizes)

    def at(self, chosen: np.ndarray) -> TopSums:
        return TopSums(self.sums, self.first[chosen], self.count[chosen])

    def most(self, number: int) -> np.ndarray:
        return np.asarray(self.sums[self.first + np.minimum(self.count, number)] - self.sums[self.first])


@dataclass(frozen=True, eq=False)
class TargetLimits:
    """For each target, which changes against it are possible if no global budget limits them."""

    need: np.ndarray
    """M: how many units U of gain break it."""
    new: np.ndarray
    """The share of its gap that a new sender closes at most."""
    added: np.ndarray
    """How many edges can be added at it."""
    joined: np.ndarray
    """Whether new nodes can be joined to it."""
    deleted: tuple[TopSums, TopSums]
    """What cutting senders off gains, in shares and in units."""
    controlled: tuple[TopSums, TopSums]
    """What rewriting senders gains, in shares and in units."""
    itself: np.ndarray
    """Whether it can be rewritten itself."""

    def at(self, chosen: np.ndarray) -> TargetLimits:
        deleted, controlled = ((one.at(chosen), two.at(chosen)) for one, two in (self.deleted, self.controlled))
        need, new, added, joined = (part[chosen] for part in (self.need, self.new, self.added, self.joined))
        return TargetLimits(need, new, added, joined, deleted, controlled, self.itself[chosen])

    def suffice(self, amounts: np.ndarray, sigma: int | None) -> np.ndarray:
        """Which targets these budgets might break, each target considered alone (a necessary condition).

        For the class that gets ahead, the shares of the changes sum to at least one, and their units to at least M.
        """
        none = sigma == 0
        rewritten = 0 if none else int(amounts[list(_ATTRIBUTES)].sum())
        rewritten = rewritten if sigma is None else min(rewritten, sigma)
        senders = np.where(self.joined, amounts[INJECT], 0)
        senders = senders if none else senders + np.minimum(self.added, amounts[ADJ_ADD])
        cut = 0 if none else int(amounts[ADJ_DEL])
        gains = [
            new * senders + deleted.most(cut) + controlled.most(rewritten)
            for new, deleted, controlled in zip((self.new, 1), self.deleted, self.controlled)
        ]
        return np.asarray(((gains[0] >= SHARE) & (gains[1] >= self.need)) | (self.itself & (rewritten > 0)))


@dataclass(frozen=True, eq=False)
class BallotsStructure(Structure):
    """The structure for ballots; the module docstring lists its columns and rows."""

    means: TargetLimits = field(repr=False)
    """One entry per group."""
    by_counting: bool
    """Whether only new senders can be used: no deletions, no attributes, no local budgets."""

    @property
    def has_fields(self) -> bool:
        return False

    def open_points(self, amounts: np.ndarray, sigma: int | None) -> np.ndarray:
        return self.means.suffice(amounts, sigma)

    def inner_upper(self, amounts: np.ndarray) -> np.ndarray:
        upper = np.ones(self.columns.inner.stop - self.columns.inner.start, dtype=np.int64)
        upper[: self.other_ends] = amounts[ADJ_ADD]
        return upper

    other_ends: int = 0
    """With σ: how many of the first inner columns are ends of added edges paid for by an attacker at the other end."""

    def reach(self, kind: int, value: np.ndarray) -> np.ndarray:
        """For each flip, the sum of the values of the targets that it can help to break."""
        result = np.zeros(len(self.flips))
        own = self.matrix[self.rows["count"]][:, self.columns.flips]
        result += own.astype(bool).T @ value
        return np.where(self.flips.kind == kind, result, 0.0)

    def spend_tokens(self, amounts: np.ndarray, open_: np.ndarray) -> tuple[np.ndarray, int | None]:
        """Spend new senders on the targets with the smallest M per weight first.

        Returns the fraction of each target that is broken, and the first target for which they do not suffice (None
        if they suffice for all).
        """
        tokens = int((amounts * self.units)[[ADJ_ADD, INJECT]].sum())
        each = self.means.need[open_] / self.groups.weight[open_]
        order = np.flatnonzero(open_)[np.argsort(each, kind="stable")]
        need = self.means.need[order]
        left = tokens - np.concatenate([[0], np.cumsum(need)])[: len(need)]
        share = np.zeros(len(open_))
        share[order] = np.clip(left / need, 0.0, 1.0)
        enough = int(np.searchsorted(np.cumsum(need), tokens, side="right"))
        return share, int(order[enough]) if enough < len(need) else None


class BallotsBuilder(Builder):
    """Builds the structure for ballots; every target is its own group."""

    def build(self) -> Structure:
        if self.relaxation is Relaxation.PAPER:
            raise InputError("the relaxation is 'paper', which is not defined for ballots; expected 'tight'")
        strange = [TYPES[k] for k in self.types if TYPES[k] not in self.problem.instance.base.axes]
        if strange:
            raise InputError(f"ballots say nothing about {strange[0]}; set its budget to 0")
        self.attributes = tuple(k for k in self.types if k in _ATTRIBUTES)
        self._senders()
        self._alive()
        self.flips = self._ballot_flips()
        self.is_edge = self.flips.kind == ADJ_DEL
        nodes = self._payers()
        self._number_columns(nodes)
        payers = self._ballot_rows(nodes)
        matrix, rhs = self.blocks.finish(self.columns.count)
        plain = set(self.types) <= {ADJ_ADD, INJECT} and not (self.has_sigma and ADJ_ADD in self.types)
        return BallotsStructure(
            relaxation=self.relaxation,
            types=self.types,
            extent=self.extent,
            constant=0,
            groups=self.groups,
            points=self.points,
            flips=self.flips,
            attackers=self._coefficients(nodes, payers, matrix),
            has_sigma=self.has_sigma,
            columns=self.columns,
            rows=self.blocks.slices,
            matrix=matrix,
            rhs=rhs,
            field_capacity={},
            units=self._units(),
            scale_bits=self.problem.scale_bits,
            step=self.problem.step,
            mean_weight=self.problem.mean_weight,
            means=self.means,
            by_counting=plain and not self.problem.limited(ADJ_ADD),
            other_ends=len(self.other_end_columns),
        )

    def _units(self) -> np.ndarray:
        """New senders per unit of budget: an added edge has two ends (directed or σ: one), a new node several."""
        units = np.ones(len(TYPES), dtype=np.int64)
        units[ADJ_ADD] = 1 if self.graph.directed or self.has_sigma else 2
        units[INJECT] = self._edges_each()
        return units

    def _edges_each(self) -> int:
        limit = self.problem.threat.inject_edges
        return self.graph.n_nodes if limit is None else min(int(limit), self.graph.n_nodes)

    # Which changes are possible against each target.

    def _senders(self) -> None:
        """All pairs of a target and one of its senders, with the shares and counts of the base certificate."""
        problem, graph, base = self.problem, self.graph, self.problem.ballots
        start, lengths = graph.adj_indptr[problem.targets], np.diff(graph.adj_indptr)[problem.targets]
        entry = ranges(start, lengths)
        self.target_of = np.repeat(np.arange(len(problem.targets)), lengths)
        self.sender = graph.adj_indices[entry]
        receiver = problem.targets[self.target_of]
        self.edge = _edge_numbers(graph.edges, receiver, self.sender, graph.n_nodes, graph.directed)
        none = np.zeros(len(entry), dtype=np.int64)
        can_cut = problem.free[self.sender] & problem.free[receiver] & (ADJ_DEL in self.types)
        self.share_deleted = np.where(can_cut, base.share_deleted[entry], none)
        self.count_deleted = np.where(can_cut, base.count_deleted[entry], none)
        # Nodes without attributes to flip are included: once rewritten, a node may show any ballot.
        limits = problem.local_limits
        self.writable = {k: problem.free & (limits[k] > 0) for k in self.attributes}
        self.any_writable = np.logical_or.reduce([np.zeros(graph.n_nodes, bool), *self.writable.values()])
        can_write = self.any_writable[self.sender]
        self.share_controlled = np.where(can_write, base.share_controlled[entry], none)
        self.count_controlled = np.where(can_write, base.count_controlled[entry], none)

    def _alive(self) -> None:
        """Targets that the largest budgets (the extent) might break."""
        problem, base, count = self.problem, self.problem.ballots, len(self.problem.targets)
        nodes = problem.targets

        def largest(*values: np.ndarray) -> Any:
            return tuple(TopSums.of(value, self.target_of, count) for value in values)

        adding = ADJ_ADD in self.types
        means = TargetLimits(
            need=base.needs[nodes],
            new=base.share_new[nodes],
            added=problem.capacities[ADJ_ADD][nodes] if adding else np.zeros(count, np.int64),
            joined=problem.free[nodes] & (INJECT in self.types and self._edges_each() > 0),
            deleted=largest(self.share_deleted, self.count_deleted),
            controlled=largest(self.share_controlled, self.count_controlled),
            itself=self.any_writable[nodes],
        )
        alive = np.flatnonzero(means.suffice(np.array(self.extent), None))
        of_target = np.full(count, -1, dtype=np.int64)
        of_target[alive] = np.arange(len(alive))
        self.groups = Groups(of_target, alive, problem.weights[alive])
        self.means = means.at(alive)
        self.nodes = nodes[alive]
        amount = np.zeros((len(alive), len(TYPES)), dtype=np.int64)
        self.points = Points(np.arange(len(alive)), amount, np.arange(len(alive)))
        inside = of_target[self.target_of] >= 0
        self.cut, self.written = (
            np.flatnonzero((share > 0) & inside) for share in (self.share_deleted, self.share_controlled)
        )

    # Columns.

    def _ballot_flips(self) -> Flips:
        parts: list[tuple[int, np.ndarray, np.ndarray]] = []
        for k in self.types:
            parts.append((k, *self._sites(k)))
        kind = np.concatenate([np.full(len(part[1]), part[0]) for part in parts] or [_EMPTY])
        site, cap = (np.concatenate([part[i] for part in parts] or [_EMPTY]) for i in (1, 2))
        return Flips(kind, site, np.full(len(kind), -1), cap)

    def _sites(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Sites and caps of the flips of one type."""
        problem, n = self.problem, self.graph.n_nodes
        if k == ADJ_DEL:
            sites = np.unique(self.edge[self.cut])
            return sites, np.ones(len(sites), np.int64)
        if k in self.attributes:
            useful = np.zeros(n, dtype=bool)
            useful[self.nodes] = True
            useful[self.sender[self.written]] = True
            sites = np.flatnonzero(useful & self.writable[k])
            return sites, np.ones(len(sites), np.int64)
        if k == INJECT:
            sites = self.nodes[self.means.joined]
            return sites, np.full(len(sites), _ANY)
        capacity = problem.capacities[ADJ_ADD]
        # With σ the end that pays need not be a target.
        sites = np.flatnonzero(capacity > 0) if self.has_sigma else self.nodes[self.means.added > 0]
        return sites, capacity[sites]

    def _payers(self) -> np.ndarray:
        if not self.has_sigma:
            return _EMPTY
        ends = self.graph.edges[self.flips.site[self.is_edge]].ravel()
        return np.unique(np.concatenate([self.flips.site[~self.is_edge & (self.flips.kind != INJECT)], ends]))

    def _number_columns(self, nodes: np.ndarray) -> None:
        """Number the columns, block by block; `nodes` are the attackers."""
        count, n = len(self.groups), self.graph.n_nodes
        self.other_end_targets = _EMPTY
        if self.has_sigma and ADJ_ADD in self.types:
            self.other_end_targets = np.flatnonzero(self.means.added > 0)
        sizes = [len(self.other_end_targets), len(self.cut), len(self.written)]
        self.columns = Columns.of(len(self.flips), len(nodes), count, 0, sum(sizes))
        self.flip_columns = np.arange(len(self.flips))
        self.point_columns = np.arange(count) + self.columns.points.start
        first = self.columns.inner.start + np.concatenate([[0], np.cumsum(sizes)])
        self.other_end_columns, self.cut_columns, self.written_columns = (np.arange(a, b) for a, b in pairwise(first))
        self.attacker_column = np.full(n, -1, dtype=np.int64)
        self.attacker_column[nodes] = np.arange(self.columns.attackers.start, self.columns.attackers.stop)
        self.column_at: dict[int, np.ndarray] = {}
        for k in self.types:
            mine = self.flips.kind == k
            self.column_at[k] = np.full(self.graph.n_edges if k == ADJ_DEL else n, -1, dtype=np.int64)
            self.column_at[k][self.flips.site[mine]] = self.flip_columns[mine]

    def _touch(self, nodes: np.ndarray) -> sp.csr_array | None:
        return None  # new nodes are no attackers, and the paying end of an added edge may be any node

    # Rows.

    def _ballot_rows(self, nodes: np.ndarray) -> np.ndarray:
        """All blocks of rows in their order; returns the types and nodes of the `payer` rows."""
        self._global_rows()
        if ADJ_DEL in self.types and self.problem.limited(ADJ_DEL):
            self._local_rows()
        payers = np.zeros((2, 0), dtype=np.int64)
        if self.has_sigma:
            self.blocks.add("sigma", np.zeros(1), (np.zeros(len(nodes)), self.attacker_column[nodes], 1))
            if ADJ_ADD in self.types:
                payers = self._added_rows()
            if ADJ_DEL in self.types:
                self._end_rows()
        if len(self.attributes) > 1 or (self.attributes and self.has_sigma):
            self._rewriting_rows()
        self._gain_rows()
        self._use_rows()
        count = len(self.groups)
        self.blocks.add("choose", np.ones(count), (np.arange(count), self.point_columns, 1))
        return payers

    def _added_rows(self) -> np.ndarray:
        """An attacker pays for at most as many added edges as its capacity, and each of them has one other end.

        In directed graphs only the receiving end counts, whichever end pays.
        """
        at = np.flatnonzero(self.flips.kind == ADJ_ADD)
        nodes, row = self.flips.site[at], np.arange(len(at))
        capacity = self.problem.capacities[ADJ_ADD][nodes]
        paid = (row, self.flip_columns[at], 1)
        self.blocks.add("payer", np.zeros(len(at)), paid, (row, self.attacker_column[nodes], -capacity))
        others = self.other_end_columns
        self.blocks.add(
            "other_ends",
            np.zeros(1),
            (np.zeros(len(others)), others, 1),
            (np.zeros(len(at)), self.flip_columns[at], -1),
        )
        if self.problem.limited(ADJ_ADD):
            mine = self.nodes[self.other_end_targets]
            row = np.arange(len(mine))
            entries = [(row, others, 1)]
            if not self.graph.directed:
                entries.append((row, self.column_at[ADJ_ADD][mine], 1))
            self.blocks.add("local_adding", self.problem.local_limits[ADJ_ADD][mine], *entries)
        return np.stack([np.full(len(at), ADJ_ADD), nodes])

    def _end_rows(self) -> None:
        """A deletion needs an attacker at one end of the edge."""
        columns = self.flip_columns[self.is_edge]
        row, ends = np.arange(len(columns)), self.attacker_column[self.graph.edges[self.flips.site[self.is_edge]]]
        self.blocks.add("pair", np.zeros(len(row)), (row, columns, 1), (row, ends[:, 0], -1), (row, ends[:, 1], -1))

    def _rewriting_rows(self) -> None:
        """A node is rewritten at most once and, with σ, only if it is an attacker."""
        at = np.flatnonzero(np.isin(self.flips.kind, self.attributes))
        nodes, row = np.unique(self.flips.site[at], return_inverse=True)
        entries = [(row.reshape(-1), self.flip_columns[at], 1)]
        if self.has_sigma:
            entries.append((np.arange(len(nodes)), self.attacker_column[nodes], -1))
        self.blocks.add("rewriting", np.full(len(nodes), 0 if self.has_sigma else 1), *entries)

    def _gain_rows(self) -> None:
        """The changes against a broken target close its gap: one row in shares of the gap, one row in whole units."""
        base, count = self.problem.ballots, len(self.groups)
        every, group = np.arange(count), self.groups.of_target[self.target_of]
        share_new = base.share_new[self.nodes]
        for name, whole, new, cut, written in (
            ("share", np.full(count, SHARE), share_new, self.share_deleted, self.share_controlled),
            ("count", self.means.need, np.ones(count, np.int64), self.count_deleted, self.count_controlled),
        ):
            entries = [(every, self.point_columns, whole)]
            for k in self.attributes:
                own = self.column_at[k][self.nodes]
                entries.append((every[own >= 0], own[own >= 0], -whole[own >= 0]))
            for rows, columns in self._new_senders():
                entries.append((rows, columns, -new[rows]))
            entries.append((group[self.cut], self.cut_columns, -cut[self.cut]))
            entries.append((group[self.written], self.written_columns, -written[self.written]))
            self.blocks.add(name, np.zeros(count), *entries)

    def _new_senders(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Groups and columns of all changes that join a new sender to a target."""
        found = []
        for k in (ADJ_ADD, INJECT):
            # With σ in a directed graph the paying end does not determine the receiver.
            if k in self.types and not (k == ADJ_ADD and self.has_sigma and self.graph.directed):
                column = self.column_at[k][self.nodes]
                found.append((np.flatnonzero(column >= 0), column[column >= 0]))
        return [*found, (self.other_end_targets, self.other_end_columns)]

    def _use_rows(self) -> None:
        """The part of a change used against a target is at most the change (d_e or t_m), and at most u_n."""
        group = self.groups.of_target[self.target_of]
        if ADJ_DEL in self.types:
            row = np.arange(len(self.cut))
            done = self.column_at[ADJ_DEL][self.edge[self.cut]]
            self.blocks.add("cut", np.zeros(len(row)), (row, self.cut_columns, 1), (row, done, -1))
        if self.attributes:
            row, entries = np.arange(len(self.written)), []
            for k in self.attributes:
                column = self.column_at[k][self.sender[self.written]]
                entries.append((row[column >= 0], column[column >= 0], -1))
            self.blocks.add("written", np.zeros(len(row)), (row, self.written_columns, 1), *entries)
        used = np.concatenate([self.cut_columns, self.written_columns])
        owner = np.concatenate([group[self.cut], group[self.written]])
        row = np.arange(len(used))
        self.blocks.add("used", np.zeros(len(used)), (row, used, 1), (row, self.point_columns[owner], -1))


def _edge_numbers(
    edges: np.ndarray, receiver: np.ndarray, sender: np.ndarray, n_nodes: int, directed: bool
) -> np.ndarray:
    """The position in `Graph.edges`, which is sorted, of each pair."""
    first, second = (receiver, sender) if directed else (np.minimum(receiver, sender), np.maximum(receiver, sender))
    return np.searchsorted(edges[:, 0] * n_nodes + edges[:, 1], first * n_nodes + second)
