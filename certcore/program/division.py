"""The adversary's program against division voting: which votes can be changed, and by how few flips.

Target n falls if at least M_n of its votes change. Vote (n, t) changes only if a flipped pair of group t has an end
near n (`certcore.instance.division`). An added pair has two ends, its *tokens*; a deleted edge is where it is.

Flips: x_t, additions in group t; d_e, deletions. Points: u_n, one per target. Inner columns: c_{n,t}, changed votes;
a_{m,t}, tokens of group t at node m (with σ split into p, paid by an attacker at m, and q, the other end); f_t, all
flips of group t. Rows, beside global and local budgets and σ:

    M_n · u_n ≤ Σ_t c_{n,t}        c_{n,t} ≤ u_n        c_{n,t} ≤ f_t ≤ x_t + Σ d_e of group t
    c_{n,t} ≤ Σ_{m near n in t} a_{m,t} + Σ_{e of t touching what is near} d_e
    Σ_m a_{m,t} ≤ 2·x_t            a_{m,t} ≤ x_t        Σ_t a_{m,t} ≤ local budget of m

Every real attack fulfils them all with whole numbers: c may be 0 wherever u is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, TYPES, UNLIMITED
from certcore.program.build import Builder
from certcore.program.relaxation import Relaxation
from certcore.program.structure import Columns, Flips, Groups, Points, Structure

_EMPTY = np.zeros(0, dtype=np.int64)
_ANY = np.iinfo(np.int64).max
#: Up to so many votes the rows that bound single votes and tokens by all flips of their group are built. They matter
#: where a handful of flips meets a handful of targets, and nothing was gained by them on graphs of thousands of nodes.
FEW_VOTES = 2_000


@dataclass(frozen=True, eq=False)
class DivisionStructure(Structure):
    """A structure whose points are reached by changed votes; see the module."""

    need: np.ndarray = field(repr=False)
    """How many votes of each group's targets must change."""
    reach_adding: np.ndarray = field(repr=False)
    """How many votes of each group can be changed at all if pairs may be added …"""
    reach_deleting: np.ndarray = field(repr=False)
    """… and if edges may only be deleted."""
    inner_cap: np.ndarray = field(repr=False)
    """Upper bounds of the inner columns, as far as no budget moves them."""
    inner_moves: np.ndarray = field(repr=False)
    """Which of them the number of flips limits too."""
    token_node: np.ndarray = field(repr=False)
    """The node of each token; they are the inner columns from `first_token` on."""
    first_token: int
    by_tokens: bool
    """Whether every target is near itself only and no local budget, σ or cost is in the way: then counting decides."""

    def flips_at(self, amounts: np.ndarray) -> int:
        """How many pairs can be flipped at most."""
        deleting = self.flips.kind == ADJ_DEL
        cheapest = int(self.flips.cost[deleting].min()) if deleting.any() else UNLIMITED
        adding = int(amounts[ADJ_ADD]) if (self.flips.kind == ADJ_ADD).any() else 0
        return adding + int(amounts[ADJ_DEL]) // cheapest

    def open_points(self, amounts: np.ndarray, sigma: int | None) -> np.ndarray:
        if sigma == 0:
            return np.zeros(len(self.points), dtype=bool)
        reach = self.reach_adding if amounts[ADJ_ADD] > 0 else self.reach_deleting
        return self.need <= np.minimum(reach, self.flips_at(amounts))

    def inner_upper(self, amounts: np.ndarray) -> np.ndarray:
        return np.where(self.inner_moves, np.minimum(self.inner_cap, self.flips_at(amounts)), self.inner_cap)

    def reach(self, kind: int, value: np.ndarray) -> np.ndarray:
        """For each flip the values of the targets near it, summed; additions may be anywhere and get nothing."""
        result = np.zeros(len(self.flips))
        if kind == ADJ_DEL:
            for name, rows in self.rows.items():
                if name.startswith("near"):
                    result -= self.matrix[rows][:, self.columns.flips].T @ value
        return result

    def ends_at(self, x: np.ndarray, n_nodes: int) -> np.ndarray:
        """How many ends of added pairs the relaxed adversary puts at each node."""
        start = self.columns.inner.start + self.first_token
        tokens = np.maximum(x[start : start + len(self.token_node)], 0.0)
        return np.bincount(self.token_node, weights=tokens, minlength=n_nodes)

    def counted(self, amounts: np.ndarray, open_: np.ndarray) -> np.ndarray:
        """How far each target falls if two tokens per flip are spent on the smallest thresholds first (0 to 1)."""
        share = np.zeros(len(self.need))
        order = np.flatnonzero(open_)[np.argsort(self.need[open_], kind="stable")]
        left = 2 * self.flips_at(amounts) - np.concatenate([[0], np.cumsum(self.need[order])[:-1]])[: len(order)]
        share[order] = np.clip(left / self.need[order], 0.0, 1.0)
        return share

    def tokens_run_out_at(self, amounts: np.ndarray, open_: np.ndarray) -> int | None:
        """The threshold of the first target for which they do not suffice; its inverse is the price of a token."""
        need = np.sort(self.need[open_])
        enough = int(np.searchsorted(np.cumsum(need), 2 * self.flips_at(amounts), side="right"))
        return int(need[enough]) if enough < len(need) else None


class DivisionBuilder(Builder):
    """Builds it; a target is a group of its own, since no two see the same nodes."""

    def build(self) -> Structure:
        if self.relaxation is Relaxation.PAPER:
            raise InputError(
                "the relaxation is 'paper', which the publication does not define for division voting; use 'tight'"
            )
        problem, division = self.problem, self.problem.division
        self.adding, self.deleting = (k in self.types for k in (ADJ_ADD, ADJ_DEL))
        self._alive()
        count = len(self.groups)
        near = [division.near[t][self.groups.representative] for t in range(division.hash.groups)]
        self.flips = self._division_flips(near)
        self.is_edge = self.flips.kind == ADJ_DEL
        self.tokens = self._tokens(near)
        nodes = self._payers()
        paid = 2 if self.has_sigma else 1
        votes = count * len(near)
        tokens = paid * self.tokens.shape[1]
        self.few = self.adding and votes <= FEW_VOTES
        of_group = len(near) if self.few else 0
        self.columns = Columns.of(len(self.flips), len(nodes), count, 0, votes + tokens + of_group)
        self.flip_columns = np.arange(len(self.flips))
        self.point_columns = np.arange(count) + self.columns.points.start
        start = self.columns.inner.start
        self.vote_columns = start + np.arange(votes).reshape(count, len(near))
        self.token_columns = start + votes + np.arange(tokens).reshape(paid, -1)
        self.group_columns = start + votes + tokens + np.arange(of_group)
        self.attacker_column = np.full(self.graph.n_nodes, -1, dtype=np.int64)
        self.attacker_column[nodes] = np.arange(self.columns.attackers.start, self.columns.attackers.stop)
        self._global_rows()
        if self.deleting and problem.limited(ADJ_DEL):
            self._local_rows()
        payers = np.zeros((2, 0), dtype=np.int64)
        if self.has_sigma:
            self.blocks.add("sigma", np.zeros(1), (np.zeros(len(nodes)), self.attacker_column[nodes], 1))
            payers = self._token_payer_rows()
            if self.deleting:
                self._end_rows()
        if self.adding:
            self._token_rows()
        self._vote_rows(near)
        self.blocks.add("choose", np.ones(count), (np.arange(count), self.point_columns, 1))
        matrix, rhs = self.blocks.finish(self.columns.count)
        reach = self._reach(near)
        free = problem.threat.edge_costs is None and not any(problem.limited(k) for k in self.types)
        return DivisionStructure(
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
            rows=self.blocks.places,
            matrix=matrix,
            rhs=rhs,
            supply={},
            need=self.need,
            reach_adding=reach[0],
            reach_deleting=reach[1],
            inner_cap=np.concatenate([np.ones(votes, np.int64), self._token_caps(), np.full(of_group, UNLIMITED)]),
            inner_moves=np.arange(votes + tokens + of_group) >= votes,
            token_node=np.tile(self.tokens[0], paid),
            first_token=votes,
            by_tokens=division.alone and free and not self.has_sigma,
        )

    # Columns.

    def _alive(self) -> None:
        """Targets whose votes can be outnumbered at all within the extent."""
        thresholds = self.problem.division.thresholds
        alive = np.flatnonzero(thresholds <= min(sum(self.extent), UNLIMITED - 1))
        of_target = np.full(len(thresholds), -1, dtype=np.int64)
        of_target[alive] = np.arange(len(alive))
        self.groups = Groups(of_target, alive, np.ones(len(alive), dtype=np.int64))
        self.need = thresholds[alive]
        amount = np.zeros((len(alive), len(TYPES)), dtype=np.int64)
        self.points = Points(np.arange(len(alive)), amount, np.arange(len(alive)))

    def _division_flips(self, near: list[sp.csr_array]) -> Flips:
        """Additions as one column per group, deletions as one per edge that stands near some target in its group."""
        problem, edges, group = self.problem, self.graph.edges, self.problem.division.group_of_edge
        sites = _EMPTY
        if self.deleting:
            useful = problem.free[edges].all(axis=1)
            for t, field_ in enumerate(near):
                seen = np.bincount(field_.indices, minlength=self.graph.n_nodes) > 0
                useful &= (group != t) | seen[edges].any(axis=1)
            sites = np.flatnonzero(useful)
        added = np.arange(len(near)) if self.adding else _EMPTY
        kind = np.repeat(np.array([ADJ_ADD, ADJ_DEL]), [len(added), len(sites)])
        cost = np.concatenate([np.ones(len(added), np.int64), problem.edge_costs[sites]])
        cap = np.repeat(np.array([_ANY, 1]), [len(added), len(sites)])
        return Flips(kind, np.concatenate([added, sites]), np.full(len(kind), -1), cost, cap)

    def _tokens(self, near: list[sp.csr_array]) -> np.ndarray:
        """(2, tokens): nodes and groups in which an end of an added pair can change some vote."""
        if not self.adding:
            return np.zeros((2, 0), dtype=np.int64)
        possible = self.problem.capacities[ADJ_ADD] > 0
        seen = [
            np.flatnonzero(possible & (np.bincount(field_.indices, minlength=self.graph.n_nodes) > 0))
            for field_ in near
        ]
        if self.has_sigma:  # who pays may stand where no vote changes
            seen = [np.flatnonzero(possible)] * len(near)
        return np.stack([np.concatenate(seen), np.repeat(np.arange(len(near)), [len(nodes) for nodes in seen])])

    def _token_caps(self) -> np.ndarray:
        caps = np.minimum(self.problem.capacities[ADJ_ADD][self.tokens[0]], UNLIMITED)
        return np.tile(caps, len(self.token_columns))

    def _payers(self) -> np.ndarray:
        if not self.has_sigma:
            return _EMPTY
        ends = self.graph.edges[self.flips.site[self.is_edge]].ravel()
        return np.unique(np.concatenate([self.tokens[0], ends]))

    def _reach(self, near: list[sp.csr_array]) -> tuple[np.ndarray, np.ndarray]:
        """How many votes of each group can change at all: by an end near it, or by an edge that stands there."""
        open_node = self.problem.capacities[ADJ_ADD] > 0
        adding = np.zeros(len(self.groups), dtype=np.int64)
        deleting = np.zeros(len(self.groups), dtype=np.int64)
        for t, field_ in enumerate(near):
            by_edge = np.diff(self._touching(t, field_).indptr) > 0 if self.deleting else np.zeros(len(adding), bool)
            by_end = np.asarray(field_ @ open_node.astype(np.int64) > 0)
            adding += by_end | by_edge
            deleting += by_edge
        return adding, deleting

    def _touching(self, group: int, field_: sp.csr_array) -> sp.csr_array:
        """Groups × flip columns: deletions of one group of edges with an end in the field."""
        chosen = self.is_edge.copy()
        chosen[self.is_edge] = self.problem.division.group_of_edge[self.flips.site[self.is_edge]] == group
        columns = np.flatnonzero(chosen)
        ends = self.graph.edges[self.flips.site[columns]]
        stands = sp.coo_array(
            (np.ones(2 * len(columns), np.int32), (ends.T.ravel(), np.tile(columns, 2))),
            shape=(self.graph.n_nodes, len(self.flips)),
        )
        return sp.csr_array(field_ @ stands.tocsr())

    def _touch(self, nodes: np.ndarray) -> sp.csr_array | None:
        return None  # who pays for an added pair may stand anywhere

    # Rows.

    def _token_payer_rows(self) -> np.ndarray:
        """Tokens that attackers pay for, at most the capacity of each."""
        if not self.adding:
            return np.zeros((2, 0), dtype=np.int64)
        nodes, row = np.unique(self.tokens[0], return_inverse=True)
        self.blocks.add(
            "payer",
            np.zeros(len(nodes)),
            (row.reshape(-1), self.token_columns[0], 1),
            (np.arange(len(nodes)), self.attacker_column[nodes], -self.problem.capacities[ADJ_ADD][nodes]),
        )
        return np.stack([np.full(len(nodes), ADJ_ADD), nodes])

    def _end_rows(self) -> None:
        """A deleted edge has an attacker at one of its ends."""
        columns = self.flip_columns[self.is_edge]
        row, ends = np.arange(len(columns)), self.attacker_column[self.graph.edges[self.flips.site[self.is_edge]]]
        self.blocks.add("pair", np.zeros(len(row)), (row, columns, 1), (row, ends[:, 0], -1), (row, ends[:, 1], -1))

    def _token_rows(self) -> None:
        """Two tokens for an addition, at two nodes; local budgets of nodes."""
        nodes, group = self.tokens
        groups = self.problem.division.hash.groups
        added = self.flip_columns[~self.is_edge]
        each = 1 if self.has_sigma else 2
        for name, columns in zip(("tokens", "other_ends"), self.token_columns):
            self.blocks.add(name, np.zeros(groups), (group, columns, 1), (np.arange(groups), added, -each))
        if self.few:
            self._group_rows(nodes, group, added)
        if self.problem.limited(ADJ_ADD):
            limited, row = np.unique(nodes, return_inverse=True)
            entries = [(row.reshape(-1), columns, 1) for columns in self.token_columns]
            self.blocks.add("local_adding", self.problem.local_limits[ADJ_ADD][limited], *entries)

    def _group_rows(self, nodes: np.ndarray, group: np.ndarray, added: np.ndarray) -> None:
        """No more tokens at a node than additions in their group, and all flips of a group together."""
        count, groups = len(nodes), self.problem.division.hash.groups
        at_node = [(np.arange(count), columns, 1) for columns in self.token_columns]
        self.blocks.add("token", np.zeros(count), *at_node, (np.arange(count), added[group], -1))
        of_edge = self.problem.division.group_of_edge[self.flips.site[self.is_edge]]
        self.blocks.add(
            "group",
            np.zeros(groups),
            (np.arange(groups), self.group_columns, 1),
            (np.arange(groups), added, -1),
            (of_edge, self.flip_columns[self.is_edge], -1),
        )

    def _vote_rows(self, near: list[sp.csr_array]) -> None:
        """What changes a vote, and how many changed votes it takes."""
        count, groups = len(self.groups), len(near)
        every = np.arange(count)
        place = np.full(self.graph.n_nodes, -1, dtype=np.int64)
        for t, field_ in enumerate(near):
            entries = [(every, self.vote_columns[:, t], 1)]
            touching = self._touching(t, field_)
            entries.append((np.repeat(every, np.diff(touching.indptr)), touching.indices, -1))
            if self.adding:
                mine = np.flatnonzero(self.tokens[1] == t)
                place[:] = -1
                place[self.tokens[0][mine]] = mine
                token, row = place[field_.indices], np.repeat(every, np.diff(field_.indptr))
                for columns in self.token_columns:
                    entries.append((row[token >= 0], columns[token[token >= 0]], -1))
            self.blocks.add(f"near{t}", np.zeros(count), *entries)
        votes, owner = self.vote_columns.ravel(), np.repeat(every, groups)
        row = np.arange(len(votes))
        self.blocks.add("voted", np.zeros(len(votes)), (row, votes, 1), (row, self.point_columns[owner], -1))
        if self.few:
            of_group = self.group_columns[np.tile(np.arange(groups), count)]
            self.blocks.add("flipped", np.zeros(len(votes)), (row, votes, 1), (row, of_group, -1))
        self.blocks.add("need", np.zeros(count), (every, self.point_columns, self.need), (owner, votes, -1))
