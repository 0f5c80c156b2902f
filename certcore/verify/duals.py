"""Integer dual values of one structure, their repair, and the exact bound they give at any budgets.

By weak duality any dual values bound the adversary's optimum at every budget, if the whole formula of
`certcore.verify.bound` is evaluated there: right-hand sides, attackers' coefficients, upper bounds and reachable
points. Most of it, yᵀA, does not depend on the budgets and is computed once. The rest takes a fraction of a
millisecond. The result equals `exact_bound` of the repaired dual values.

Repair: rounding and tolerances make the reduced costs of thousands of columns slightly positive. Charging each of them
its reduced cost times its upper bound would weaken the bound by whole targets. Where it is cheaper, the dual value of a
row that covers these columns is raised by their largest reduced cost instead: the global budget row for flips, the σ
row for attackers, the choice row of a group for its points. In the paper's form points have the coefficient −1 in the
choice row, so its dual value is lowered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from certcore.common.products import dot
from certcore.domain.perturbations import ADJ_ADD, INJECT
from certcore.program.ballots import BallotsStructure
from certcore.program.cuts import Cuts, Rows
from certcore.program.program import Program
from certcore.program.structure import Structure

#: Sums below this, estimated in floating point, do not overflow 64 bits.
_SAFE = float(2**61)


@dataclass(frozen=True, eq=False)
class IntegerDuals:
    """Integers over the `scale` of a structure, one per row of it and then one per cut, with derived quantities."""

    structure: Structure = field(repr=False)
    y: np.ndarray
    cuts: Cuts
    fixed: int = field(repr=False)
    """y · right-hand sides, without those of the global budget rows and of σ."""
    reduced_costs: np.ndarray = field(repr=False)
    """objective − yᵀA for each column, without the attackers' coefficients; scaled."""
    positive_flips: np.ndarray = field(repr=False)

    @classmethod
    def of(
        cls, structure: Structure, y: np.ndarray, cuts: Cuts | None = None, rows: Rows | None = None
    ) -> IntegerDuals | None:
        """Prepare integer dual values; None if they are so large that sums might overflow 64 bits.

        `rows` are the rows of the cuts, if already built; further rows may follow them.
        """
        s, cuts = structure, Cuts.none() if cuts is None else cuts
        n_rows = s.matrix.shape[0]
        further = len(cuts) if rows is None else len(rows.rhs)
        if len(y) != n_rows + further or (len(y) and y.min() < 0):
            raise ValueError("one dual value of at least 0 is needed for every row and every cut")
        if len(cuts) and rows is None:
            rows = cuts.rows(s)
        columns = s.steady_columns
        objective = float(s.groups.weight.max(initial=0)) * s.scale
        if float(y.astype(np.float64).sum()) * s.largest_coefficient + objective >= _SAFE:
            if (y >= 1 << 52).any():
                return None
            bound = float(columns.absolute(y[:n_rows].astype(np.float64)).max(initial=0.0))
            if rows is not None:
                bound += float((abs(rows.matrix).T @ y[n_rows:].astype(np.float64)).max(initial=0.0))
            if bound + objective >= _SAFE:
                return None
        reduced_costs = s.objective * s.scale - columns @ y[:n_rows]
        fixed = _dot(y[:n_rows], s.rhs)
        if rows is not None:
            reduced_costs -= rows.matrix.T @ y[n_rows:]
            fixed += _dot(y[n_rows:], rows.rhs)
        return cls(s, y, cuts, fixed, reduced_costs, np.flatnonzero(reduced_costs[s.columns.flips] > 0))

    # The bound.

    def bound(self, program: Program) -> Fraction:
        """An upper bound on the attacked targets at the program's budget point."""
        moving = self._moving(program.amounts, program.sigma, self.attackers(program))
        return Fraction(self._rest(program) + moving, self.structure.scale)

    def bounds(self, rhs_range: Program, kind: int | None, values: Sequence[int]) -> list[Fraction]:
        """Bounds at several values of one budget (None: of σ) between which only right-hand sides differ."""
        rest, attackers = self._rest(rhs_range), self.attackers(rhs_range)
        result = []
        amounts, sigma = rhs_range.amounts.copy(), rhs_range.sigma
        for value in values:
            if kind is None:
                sigma = value
            else:
                amounts[kind] = value
            result.append(Fraction(rest + self._moving(amounts, sigma, attackers), self.structure.scale))
        return result

    # Repair.

    def repaired(self, program: Program) -> np.ndarray:
        """The dual values that prove `bound`: some are raised (or lowered) where that gives a smaller bound."""
        s = self.structure
        y = self.y.copy()
        for k in s.types:
            lift, is_better = self._flip_choice(k, program.amounts)
            if is_better:
                y[s.global_row[k]] += lift
        reduced_costs = self.attackers(program)
        if len(reduced_costs):
            worst = int(reduced_costs.max())
            assert program.sigma is not None
            if 0 < worst < _SAFE and worst * program.sigma < _total(np.maximum(reduced_costs, 0)):
                y[s.rows["sigma"]] += worst
        if len(s.groups):
            positive = self._positive_points(program.open)
            worst_point = np.maximum.reduceat(positive, s.points.first)
            if s.relaxation.has_indicators:
                y[s.rows["choose"]] -= worst_point
            else:
                several = np.add.reduceat((positive > 0).astype(np.int64), s.points.first) > 1
                y[s.rows["choose"]] += np.where(several, worst_point, 0)
        return y

    def repaired_at(self, program: Program) -> IntegerDuals:
        """The dual values after repair at one budget point, so that few reduced costs are positive at nearby points."""
        s = self.structure
        y = self.repaired(program)
        change = y - self.y
        reduced_costs = self.reduced_costs.copy()
        reduced_costs[s.columns.flips] -= change[s.global_row[s.flips.kind]]
        if s.has_sigma:
            reduced_costs[s.columns.attackers] -= change[s.rows["sigma"]]
        choose = change[s.rows["choose"]]
        if s.relaxation.has_indicators:
            reduced_costs[s.columns.points] += choose[s.points.group]
            reduced_costs[s.columns.indicators] -= choose
        else:
            reduced_costs[s.columns.points] -= choose[s.points.group]
        fixed = self.fixed + int(choose @ s.rhs[s.rows["choose"]])
        return IntegerDuals(s, y, self.cuts, fixed, reduced_costs, np.flatnonzero(reduced_costs[s.columns.flips] > 0))

    # Terms of the formula.

    def _rest(self, program: Program) -> int:
        """The terms that stay the same while only right-hand sides change."""
        return self.structure.constant * self.structure.scale + self.fixed + self._points(program.open)

    def _moving(self, amounts: np.ndarray, sigma: int | None, attackers: np.ndarray) -> int:
        """The terms that depend on the budgets: their rows, and flips and attackers with positive reduced costs."""
        spent = sum(self.spent(k, amounts) for k in self.structure.types)
        return self._inner(amounts) + spent + self.spent_on_attackers(sigma, attackers)

    def spent(self, k: int, amounts: np.ndarray) -> int:
        """The terms that depend on one type's budget only: its global row, and flips with positive reduced costs."""
        amount = int(amounts[k]) * int(self.structure.units[k])
        total = int(self.y[self.structure.global_row[k]]) * amount
        if len(self.positive_flips):
            lift, is_better = self._flip_choice(k, amounts)
            total += lift * amount if is_better else self._flips_separately(k, amounts)
        return total

    def spent_on_attackers(self, sigma: int | None, attackers: np.ndarray) -> int:
        """The terms of the σ row and of attackers with positive reduced costs, of which at most σ count."""
        if sigma is None:
            return 0
        total = int(self.y[self.structure.rows["sigma"]][0]) * sigma
        if len(attackers):
            positive = np.maximum(attackers, 0)
            total += min(_total(positive), int(positive.max()) * sigma)
        return total

    def _inner(self, amounts: np.ndarray) -> int:
        """Positive reduced costs of the inner columns times their upper bounds."""
        inner = self.structure.columns.inner
        if inner.start == inner.stop:
            return 0
        return _dot(np.maximum(self.reduced_costs[inner], 0), self.structure.inner_upper(amounts))

    def _positive(self, k: int, amounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flips = self.structure.flips
        mine = self.positive_flips[flips.kind[self.positive_flips] == k]
        upper = np.minimum(flips.cap[mine], amounts[flips.kind[mine]])
        return mine[upper > 0], upper[upper > 0]

    def _flips_separately(self, k: int, amounts: np.ndarray) -> int:
        flips, upper = self._positive(k, amounts)
        return sum(a * b for a, b in zip(self.reduced_costs[flips].tolist(), upper.tolist()))

    def _flip_choice(self, k: int, amounts: np.ndarray) -> tuple[int, bool]:
        """The increase of a budget's dual value after which no flip has a positive reduced cost; whether to use it."""
        flips, _ = self._positive(k, amounts)
        if not len(flips):
            return 0, False
        lift = int(self.reduced_costs[flips].max())
        most = int(amounts[k]) * int(self.structure.units[k])
        return lift, lift * most < self._flips_separately(k, amounts)

    def attackers(self, program: Program) -> np.ndarray:
        """Reduced costs of the attackers' columns with their coefficients at this budget point.

        Far from the budgets that the dual values come from, they may exceed 64 bits.
        """
        s = self.structure
        reduced_costs = self.reduced_costs[s.columns.attackers].copy()
        if len(reduced_costs):
            column = s.attackers.columns - s.columns.attackers.start
            coefficients, y = program.coefficients, self.y[s.attackers.rows]
            if np.bincount(column, coefficients.astype(np.float64) * y).max(initial=0.0) >= _SAFE:
                reduced_costs, coefficients = reduced_costs.astype(object), coefficients.astype(object)
            np.add.at(reduced_costs, column, coefficients * y)
        return reduced_costs

    def _positive_points(self, open_: np.ndarray) -> np.ndarray:
        return np.where(open_, np.maximum(self.reduced_costs[self.structure.columns.points], 0), 0)

    def _points(self, open_: np.ndarray) -> int:
        """Σ over groups of the largest reduced cost of a reachable point (paper's form: plus the indicator's)."""
        s = self.structure
        if not len(s.groups):
            return 0
        worst = np.maximum.reduceat(self._positive_points(open_), s.points.first)
        if not s.relaxation.has_indicators:
            return _total(worst)
        # Lowering the dual of the choice row moves the largest reduced cost to the indicator and never weakens the
        # bound.
        lowered = np.maximum(self.reduced_costs[s.columns.indicators] + worst, 0)
        return _total(np.where(s.any_open(open_), lowered, 0))


def plain_bound(program: Program) -> Fraction:
    """The bound without a solver: every target with a reachable point counts as attacked."""
    s = program.structure
    return Fraction(s.constant + int(s.groups.weight[s.any_open(program.open)].sum()))


def plain_duals(program: Program) -> np.ndarray:
    """The dual values that prove `plain_bound`: the weight of each group on its choice row."""
    s = program.structure
    y = np.zeros(s.matrix.shape[0], dtype=np.int64)
    if not s.relaxation.has_indicators:
        y[s.rows["choose"]] = np.where(s.any_open(program.open), s.groups.weight, 0) * s.scale
    return y


def counting_bound(program: Program) -> tuple[IntegerDuals, np.ndarray] | None:
    """Ballots: dual values and a solution if only new senders can be used; None otherwise.

    Every new sender is a token for one target, and tokens are spent on targets with the smallest M per weight w first.
    The dual value of a token is w/M of the first target for which the tokens do not suffice.
    """
    s = program.structure
    if not isinstance(s, BallotsStructure) or not s.by_counting:
        return None
    x = np.zeros(s.columns.count)
    x[s.columns.points], last = s.spend_tokens(program.amounts, program.open)
    y = plain_duals(program)
    if last is not None:
        worth = -(-s.scale * s.groups.weight // s.means.need)
        y[:] = 0
        y[s.rows["global"]] = worth[last]
        y[s.rows["count"]] = np.minimum(worth[last], worth)
    duals = IntegerDuals.of(s, y)
    return None if duals is None else (duals, x)


def spread_duals(program: Program) -> IntegerDuals | None:
    """Ballots: dual values without a solver, a first bound for large programs; None for other programs.

    Each unit of gain at a target has the dual value w/M. A change is valued as if it had its largest possible effect on
    all targets that it reaches. These values then determine the dual values of the budgets.
    """
    s = program.structure
    if not isinstance(s, BallotsStructure) or not len(s.groups):
        return None
    y = np.zeros(s.matrix.shape[0], dtype=np.int64)
    y[s.rows["count"]] = np.where(program.open, -(-s.scale * s.groups.weight // s.means.need), 0)
    worth = -(s.steady_columns @ y)
    for name in ("cut", "written"):
        if name in s.rows:
            last = s.matrix.indptr[s.rows[name].start + 1 : s.rows[name].stop + 1] - 1
            y[s.rows[name]] = np.maximum(worth[s.matrix.indices[last]], 0)
    if "other_ends" in s.rows:
        inner = s.columns.inner.start
        y[s.rows["other_ends"]] = worth[inner : inner + s.other_ends].max(initial=0)
    worth = np.maximum(-(s.steady_columns @ y)[s.columns.flips], 0)
    rewritten = np.zeros(len(worth), dtype=bool)
    if s.has_sigma and "rewriting" in s.rows:
        block = s.matrix[s.rows["rewriting"]][:, s.columns.flips].tocoo()
        np.maximum.at(y, s.rows["rewriting"].start + block.row, worth[block.col])
        rewritten[block.col] = True
    for k in s.types:
        mine = np.sort(worth[(s.flips.kind == k) & ~rewritten])[::-1]
        several = k in (ADJ_ADD, INJECT)  # one site may take the whole budget
        place = 0 if several else int(program.amounts[k])
        y[s.global_row[k]] = mine[place] if place < len(mine) else 0
    found = IntegerDuals.of(s, y)
    if found is not None and rewritten.any() and program.sigma is not None:
        value = np.sort(found.attackers(program))[::-1]
        y[s.rows["sigma"]] = max(int(value[program.sigma]), 0) if program.sigma < len(value) else 0
        found = IntegerDuals.of(s, y)
    return found


def _total(values: np.ndarray) -> int:
    """Exact sum of non-negative integers."""
    if float(values.astype(np.float64).sum()) < _SAFE:
        return int(values.sum())
    return sum(values.tolist())


def _dot(a: np.ndarray, b: np.ndarray) -> int:
    """Exact Σ a·b of non-negative integers."""
    if dot(a.astype(np.float64), b.astype(np.float64)) < _SAFE:
        return int(a @ b)
    return sum(x * z for x, z in zip(a.tolist(), b.tolist()))
