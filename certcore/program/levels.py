"""Rows of the strong form: inequalities that hold for integer numbers of flips but not for fractions.

A *set* U consists of sites of one type, with b(U) flips in total. Its level column z_{U,t} is 1 if b(U) ≥ t, for t = 1
… L. In the tight program, each target can be broken by its own fraction. Levels tie targets with overlapping fields to
the same integer b(U). Every row is built from a *tag*, a short list of numbers, and holds for every integer
perturbation within the budgets (proofs in `docs/explanation/soundness.md`):

    monotone  z_{t+1} ≤ z_t                          least     Σ z ≤ b(U)
    most      b(U) ≤ Σ z + (R_U − L) z_L             in        a target that needs q flips has them in U or outside
    conflict  flips in U are missing elsewhere       cover     flips needed beyond what sites of small capacity hold
    shift     the same for several points and types  paid      with σ, flips have payers, and few of them are attackers

F_g are the sites with a flip column in the field of group g. u_{g,q} is the sum of the points of g that need at least q
flips. R is the budget, and R_U is also bounded by the capacities in U. Tags may come from an untrusted proof, so a tag
that does not satisfy its conditions exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.domain.perturbations import ADJ_DEL, FLIPS, TYPES
from certcore.program.cuts import Rows
from certcore.program.problem import Problem
from certcore.program.program import Program

Tag = Sequence[Any]
"""The name of a row family and its parameters, exactly as a proof lists them."""
Row = tuple[np.ndarray, np.ndarray, int]
"""Columns, coefficients, right-hand side."""

#: The largest weight in a tag; keeps products within 64 bits.
MAX_WEIGHT = 2**20
#: The largest shift in a tag; keeps products within 64 bits.
MAX_SHIFT = 2**31
_INFINITE = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class LevelSet:
    """A set of sites of one type and its number of levels."""

    kind: int
    sites: np.ndarray
    levels: int


class Sites:
    """The sites of one type that have a flip column: their capacities and the fields that contain them."""

    def __init__(self, problem: Problem, program: Program, kind: int) -> None:
        s = program.structure
        self.kind = kind
        self.columns = np.flatnonzero(s.flips.kind == kind)
        self.site, of_column = np.unique(s.flips.site[self.columns], return_inverse=True)
        self.of_column = of_column.reshape(-1)
        """Position in `site` of each column; with σ, an undirected edge has one column for each end that can pay."""
        self._position = {site: position for position, site in enumerate(self.site.tolist())}
        self.cap = np.zeros(len(self.site), dtype=np.int64)
        self.cap[self.of_column] = s.flips.cap[self.columns]
        self.most = program.budgets[kind] if len(self.columns) else 0
        """The most flips of the type that the global budget allows."""
        field = s.matrix[s.rows[f"field{kind}"]][:, self.columns] if len(self.columns) else None
        empty = sp.csr_array((len(s.groups), 0), dtype=np.int64)
        self.field: sp.csr_array = empty if field is None else sp.csr_array(field)
        """Groups × columns of this type."""
        self.field.sort_indices()
        self.limits = problem.local_limits[ADJ_DEL] if kind == ADJ_DEL and problem.limited(ADJ_DEL) else None
        self.ends = problem.instance.graph.edges[self.site] if kind == ADJ_DEL else None
        self.payer: np.ndarray | None = None
        """With σ, for each column the position of its payer among the attackers; None if flips have no payer."""
        if s.has_sigma and (kind != ADJ_DEL or not problem.instance.graph.directed):
            nodes = s.flips.site if kind != ADJ_DEL else s.flips.payer
            self.payer = np.searchsorted(s.attackers.nodes, nodes[self.columns])
            mine, upper = s.attackers.kinds == kind, program.upper[self.columns]
            limit = np.zeros(len(s.attackers.nodes), dtype=np.int64)
            limit[s.attackers.columns[mine] - s.columns.attackers.start] = s.attackers.caps[mine]
            where = (np.arange(len(upper)), self.payer)
            self.pays = sp.csr_array(sp.coo_array((upper, where), shape=(len(upper), len(limit))))
            self.limit = np.minimum(limit, self.most)

    def payments(self, groups: object) -> sp.csr_array:
        """Groups × attackers: the most flips of this type that an attacker can pay for in the group's field."""
        most = sp.csr_array(self.field[groups] @ self.pays)
        most.data = np.minimum(abs(most.data), self.limit[most.indices])
        return most

    def near(self, group: int) -> np.ndarray:
        """Columns of this type in the field of a group."""
        start, stop = self.field.indptr[group : group + 2]
        return self.field.indices[start:stop]

    def positions(self, sites: object) -> np.ndarray:
        """Positions of sites in `site`; refuses anything but a strictly increasing list of sites with a column."""
        wanted = [_whole(value, 0, 2**62) for value in _list(sites)]
        positions = [self._position.get(value, -1) for value in wanted]
        if not positions or positions[0] < 0 or any(a >= b for a, b in pairwise(positions)):
            raise InputError("the sites are no strictly increasing list of sites that can be flipped")
        return np.array(positions, dtype=np.int64)

    def capacity(self, positions: np.ndarray) -> int:
        """The largest total number of flips at these sites within the global budget."""
        return min(self.most, int(np.minimum(self.cap[positions], self.most).sum()))


class _Set:
    """A set as the rows use it: its first level column, the limit R_U, and the columns inside it."""

    def __init__(self, kind: int, start: int, levels: int, most: int, inside: np.ndarray) -> None:
        self.kind, self.start, self.levels, self.most, self.inside = kind, start, levels, most, inside

    def between(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """z_first + … + z_last; levels above R_U are 0, and other levels without a column are replaced by z_L."""
        last = min(last, self.most)
        if last < first:
            return _NO_COLUMNS, _NO_COLUMNS
        level = np.minimum(np.arange(first, last + 1), self.levels)
        level, times = np.unique(level, return_counts=True)
        return self.start + level - 1, times.astype(np.int64)


_NO_COLUMNS = np.zeros(0, dtype=np.int64)


class Levels:
    """Level columns appended to a tight program at one budget point, and the strong rows built from tags."""

    def __init__(self, problem: Problem, program: Program) -> None:
        self.program = program
        self.structure = program.structure
        self.kinds = {k: Sites(problem, program, k) for k in self.structure.types}
        self.n_nodes = problem.instance.graph.n_nodes
        self.sets: list[_Set] = []
        self.count = self.structure.columns.count
        """Number of columns so far: those of the program and the levels."""
        ends = np.append(self.structure.points.first, len(self.structure.points))
        self._points = list(zip(ends[:-1].tolist(), ends[1:].tolist()))
        self._families: dict[str, Callable[..., Row]] = {
            "monotone": self._monotone,
            "least": self._least,
            "most": self._most,
            "in": self._in,
            "conflict": self._conflict,
            "cover": self._cover,
            "shift": self._shift,
            "paid": self._paid,
        }

    def add(self, new: LevelSet) -> int:
        """Add a set with its level columns; returns its number."""
        kind = self._kind(new.kind)
        inside = np.zeros(len(kind.site), dtype=bool)
        positions = kind.positions(new.sites.tolist())
        inside[positions] = True
        most = kind.capacity(positions)
        levels = _whole(new.levels, 1, most)
        self.sets.append(_Set(new.kind, self.count, levels, most, inside[kind.of_column]))
        self.count += levels
        return len(self.sets) - 1

    def row(self, tag: Tag) -> Row:
        """The row of a tag; if a column occurs more than once, its coefficients add up."""
        name, *numbers = _list(tag)
        family = self._families.get(name) if isinstance(name, str) else None
        if family is None:
            raise InputError(f"{str(name)[:20]!r} is no family of rows; expected one of {', '.join(self._families)}")
        if len(numbers) != family.__code__.co_argcount - 1:
            raise InputError(f"a row of the family {name!r} has {len(numbers)} entries, which is not what it takes")
        return family(*numbers)

    def rows(self, tags: Sequence[Tag]) -> Rows:
        """The rows of all tags over all columns, with integer data."""
        made = [self.row(tag) for tag in tags]
        lengths = [len(columns) for columns, _, _ in made]
        owner = np.repeat(np.arange(len(made)), lengths)
        columns = np.concatenate([_NO_COLUMNS, *(columns for columns, _, _ in made)])
        values = np.concatenate([_NO_COLUMNS, *(values for _, values, _ in made)])
        matrix = sp.csr_array(sp.coo_array((values, (owner, columns)), shape=(len(made), self.count)))
        return Rows(matrix, np.array([rhs for _, _, rhs in made], dtype=np.int64))

    # The families.

    def _monotone(self, number: int, level: int) -> Row:
        levels = self._set(number)
        t = _whole(level, 1, levels.levels - 1)
        return np.array([levels.start + t, levels.start + t - 1]), np.array([1, -1]), 0

    def _least(self, number: int) -> Row:
        levels = self._set(number)
        return _join((levels.between(1, levels.levels), 1), (self._within(levels), -1))

    def _most(self, number: int) -> Row:
        levels = self._set(number)
        last = np.array([levels.start + levels.levels - 1])
        above = (last, np.array([levels.most - levels.levels]))
        return _join((self._within(levels), 1), (levels.between(1, levels.levels), -1), (above, -1))

    def _in(self, number: int, group: int, need: int, level: int) -> Row:
        levels = self._set(number)
        kind = self.kinds[levels.kind]
        g, q = self._group(group), _whole(need, 1, kind.most)
        t = _whole(level, 1, q)
        near = kind.near(g)
        outside = _each(kind.columns[near[~levels.inside[near]]])
        return _join((self._needing(g, kind.kind, q), q - t + 1), (levels.between(t, q), -1), (outside, -1))

    def _conflict(self, number: int, group: int, need: int, level: int) -> Row:
        levels = self._set(number)
        kind = self.kinds[levels.kind]
        g, q = self._group(group), _whole(need, 1, kind.most)
        elsewhere = kind.most - q
        t = _whole(level, elsewhere + 1, levels.levels)
        c = t - elsewhere
        near = kind.near(g)
        both = _each(kind.columns[near[levels.inside[near]]])
        return _join(
            (self._needing(g, kind.kind, q), c), (levels.between(elsewhere + 1, t), 1), (both, -1), rhs=c
        )  # fmt: skip

    def _cover(self, type_: int, group: int, need: int, blocks: object) -> Row:
        kind = self._kind(type_)
        g, q = self._group(group), _whole(need, 1, kind.most)
        covered = np.zeros(len(kind.site), dtype=bool)
        capacity = 0
        for block in _list(blocks):
            positions, most = self._block(kind, _list(block))
            covered[positions] = True
            capacity += most
        if capacity >= q:
            raise InputError("the blocks of a cover can hold all that the target needs")
        near = kind.near(g)
        outside = _each(kind.columns[near[~covered[kind.of_column[near]]]])
        return _join((self._needing(g, kind.kind, q), q - capacity), (outside, -1))

    def _block(self, kind: Sites, block: list[Any]) -> tuple[np.ndarray, int]:
        """The sites of a block and its capacity: one site, or edges at a node with a local budget."""
        positions = kind.positions(block[-1] if block else None)
        if len(block) == 1 and len(positions) == 1:
            capacity = int(kind.cap[positions[0]])
            if capacity == _INFINITE:
                raise InputError("a site without a capacity of its own cannot be a block of a cover")
            return positions, capacity
        if len(block) != 2 or kind.limits is None or kind.ends is None:
            raise InputError("a block of a cover is one site, or edges at a node with a local limit")
        node = _whole(block[0], 0, self.n_nodes - 1)
        if not (kind.ends[positions] == node).any(axis=1).all():
            raise InputError("an edge of a block does not end at its node")
        return positions, int(kind.limits[node])

    def _shift(self, group: int, chosen: object, shifts: object, weights: object) -> Row:
        g = self._group(group)
        start, stop = self._points[g]
        numbers = [_whole(number, 0, stop - start - 1) for number in _list(chosen)]
        if not numbers or any(a >= b for a, b in pairwise(numbers)):
            raise InputError("the points of a shifted cover are no strictly increasing list")
        w = [_whole(value, 0, MAX_WEIGHT) for value in _list(weights)]
        listed = [_list(pair) for pair in _list(shifts)]
        if not len(FLIPS) <= len(w) <= len(TYPES) or any(len(pair) != 2 for pair in listed):
            raise InputError("a shifted cover has a weight for each type, and a set and a shift in every pair")
        w += [0] * (len(TYPES) - len(w))
        sets = [(self._set(number), _whole(shift, 0, MAX_SHIFT)) for number, shift in listed]
        if len({id(levels) for levels, _ in sets}) < len(sets) or any(not w[levels.kind] for levels, _ in sets):
            raise InputError("a shifted cover lists a set twice, or a set of a type without weight")
        if any(w[k] for k in range(len(w)) if k not in self.kinds):
            raise InputError("a shifted cover has a weight for a type that is not in play")
        moved = [sum(shift for levels, shift in sets if levels.kind == k) for k in range(len(w))]
        amounts = self.structure.points.amount[start:stop][numbers].tolist()
        rest = [[max(0, p[k] - moved[k]) for k in range(len(w))] for p in amounts]
        total = min(sum(a * b for a, b in zip(w, r)) for r in rest)
        if total < 1:
            raise InputError("a shifted cover asks for nothing")
        parts: list[tuple[tuple[np.ndarray, np.ndarray], int]] = []
        for k in (k for k in range(len(w)) if w[k]):
            most = min(max(r[k] for r in rest), -(-total // w[k]))
            near = self.kinds[k].near(g)
            for levels, shift in ((levels, shift) for levels, shift in sets if levels.kind == k):
                parts.append((levels.between(shift + 1, shift + most), -w[k]))
                near = near[~levels.inside[near]]
            parts.append((_each(self.kinds[k].columns[near]), -w[k]))
        points = self.structure.columns.points.start + start + np.array(numbers)
        return _join((_each(points), total), *parts)

    def _paid(self, type_: int, group: int, need: int, spared: object, counted: object) -> Row:
        kind = self._kind(type_)
        g, q = self._group(group), _whole(need, 1, kind.most)
        if kind.payer is None:
            raise InputError("rows on payers need σ, and edges without a direction")
        near, most = kind.near(g), kind.payments([g])
        payers = kind.payer[near]
        free, listed = self._payers(spared, payers), self._payers(counted, payers)
        if np.intersect1d(free, listed).size:
            raise InputError("a payer is in both lists")
        capacity = np.zeros(len(kind.limit), dtype=np.int64)
        capacity[most.indices] = most.data
        left = q - int(capacity[free].sum())
        if left < 1:
            raise InputError("the payers can pay for all that the target needs")
        others = _each(kind.columns[near[~np.isin(payers, np.concatenate([free, listed]))]])
        attackers = self.structure.columns.attackers.start + listed, np.minimum(capacity[listed], left)
        return _join((self._needing(g, kind.kind, q), left), (attackers, -1), (others, -1))

    def _payers(self, nodes: object, near: np.ndarray) -> np.ndarray:
        """Positions of attackers; refuses anything but a strictly increasing list of nodes that pay in the field."""
        wanted = [_whole(node, 0, self.n_nodes - 1) for node in _list(nodes)]
        positions = np.searchsorted(self.structure.attackers.nodes, wanted)
        rising = all(a < b for a, b in pairwise(wanted))
        known = self.structure.attackers.nodes[np.minimum(positions, len(self.structure.attackers.nodes) - 1)]
        if not rising or not np.array_equal(known, wanted) or not np.isin(positions, near).all():
            raise InputError("the payers are no strictly increasing list of nodes that can pay in the field")
        return positions.astype(np.int64)

    # Parts of the rows.

    def _within(self, levels: _Set) -> tuple[np.ndarray, np.ndarray]:
        return _each(self.kinds[levels.kind].columns[levels.inside])

    def _needing(self, group: int, kind: int, need: int) -> tuple[np.ndarray, np.ndarray]:
        """u_{g,q}: the point columns of a group that need at least `need` flips of a type."""
        start, stop = self._points[group]
        points = np.flatnonzero(self.structure.points.amount[start:stop, kind] >= need)
        return _each(self.structure.columns.points.start + start + points)

    def _set(self, number: object) -> _Set:
        return self.sets[_whole(number, 0, len(self.sets) - 1)]

    def _group(self, number: object) -> int:
        return _whole(number, 0, len(self.structure.groups) - 1)

    def _kind(self, number: object) -> Sites:
        found = self.kinds.get(_whole(number, 0, 3))
        if found is None:
            raise InputError("a row or set is about a perturbation type that is not in play")
        return found


@dataclass(frozen=True, eq=False)
class StrongProgram:
    """A tight program with level columns and strong rows appended."""

    program: Program
    levels: int
    rows: Rows

    @property
    def matrix(self) -> sp.csr_array:
        base = self.program.matrix
        wide = sp.csr_array((base.data, base.indices, base.indptr), shape=(base.shape[0], base.shape[1] + self.levels))
        return sp.csr_array(sp.vstack([wide, self.rows.matrix], format="csr"))

    @property
    def rhs(self) -> np.ndarray:
        return np.concatenate([self.program.rhs, self.rows.rhs])

    @property
    def upper(self) -> np.ndarray:
        return np.concatenate([self.program.upper, np.ones(self.levels, dtype=np.int64)])

    @property
    def objective(self) -> np.ndarray:
        return np.concatenate([self.program.objective, np.zeros(self.levels, dtype=np.int64)])


def _each(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return columns, np.ones(len(columns), dtype=np.int64)


def _join(*parts: tuple[tuple[np.ndarray, np.ndarray], int], rhs: int = 0) -> Row:
    columns = np.concatenate([columns for (columns, _), _ in parts])
    return columns, np.concatenate([factor * times for (_, times), factor in parts]), rhs


def _whole(value: object, low: int, high: int) -> int:
    """Check that a value is an integer within limits; refuses anything else."""
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"{str(value)[:20]!r} is no whole number from {low} to {high}")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{str(value)[:20]!r} is no list")
    return list(value)
