"""Integer dual values of one structure, their repair, and the exact bound they give at any budgets.

By weak duality any dual values bound the adversary's optimum at every budget, if the whole formula of
`certcore.verify.bound` is evaluated there: right-hand sides, attackers' coefficients, upper bounds and reachable
points. Most of it, yᵀA, does not depend on the budgets and is computed once. The rest takes a fraction of a
millisecond and gives `exact_bound` of the repaired dual values.

Repair: rounding and tolerances make the reduced costs of thousands of columns slightly positive, and charging each its
reduced cost times its upper bound would cost whole targets. Where it is cheaper, the dual value of a row that covers
these columns is raised by their largest reduced cost instead: the global budget for flips, σ for attackers, the choice
of a group for its points. In the paper's form the choice stands at the points with −1 and is lowered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from certcore.common.products import dot
from certcore.domain.perturbations import ADJ_ADD
from certcore.program.cuts import Cuts, Rows
from certcore.program.division import DivisionStructure
from certcore.program.program import Program
from certcore.program.structure import Structure, affordable
from certcore.verify.bound import SCALE

#: Sums below this, estimated in floating point, do not overflow 64 bits.
_SAFE = float(2**61)


@dataclass(frozen=True, eq=False)
class IntegerDuals:
    """Integers over SCALE, one per row of a structure and then one per cut, and what follows from them."""

    structure: Structure = field(repr=False)
    y: np.ndarray
    cuts: Cuts
    fixed: int = field(repr=False)
    """y · right-hand sides, without those of the global budgets and of σ."""
    reduced_costs: np.ndarray = field(repr=False)
    """objective − yᵀA for each column, without the attackers' coefficients; scaled."""
    positive_flips: np.ndarray = field(repr=False)

    @classmethod
    def of(
        cls, structure: Structure, y: np.ndarray, cuts: Cuts | None = None, rows: Rows | None = None
    ) -> IntegerDuals | None:
        """Prepare integer dual values; None if they are so large that sums might overflow 64 bits.

        `rows` are the rows of the cuts, if they are known already, and may contain further rows after them.
        """
        s, cuts = structure, Cuts.none() if cuts is None else cuts
        n_rows = s.matrix.shape[0]
        further = len(cuts) if rows is None else len(rows.rhs)
        if len(y) != n_rows + further or (len(y) and y.min() < 0):
            raise ValueError("one dual value of at least 0 is needed for every row and every cut")
        if len(cuts) and rows is None:
            rows = cuts.rows(s)
        columns = s.steady_columns
        objective = float(s.groups.weight.max(initial=0)) * SCALE
        if float(y.astype(np.float64).sum()) * s.largest_coefficient + objective >= _SAFE:
            if (y >= 1 << 52).any():
                return None
            bound = float((abs(columns) @ y[:n_rows].astype(np.float64)).max(initial=0.0))
            if rows is not None:
                bound += float((abs(rows.matrix).T @ y[n_rows:].astype(np.float64)).max(initial=0.0))
            if bound + objective >= _SAFE:
                return None
        reduced_costs = s.objective * SCALE - columns @ y[:n_rows]
        fixed = _dot(y[:n_rows], s.rhs)
        if rows is not None:
            reduced_costs -= rows.matrix.T @ y[n_rows:]
            fixed += _dot(y[n_rows:], rows.rhs)
        return cls(s, y, cuts, fixed, reduced_costs, np.flatnonzero(reduced_costs[s.columns.flips] > 0))

    # The bound.

    def bound(self, program: Program) -> Fraction:
        """An upper bound on the attacked targets at the program's budget point."""
        rest = self._rest(program)
        return Fraction(rest + self._moving(program.amounts, program.sigma, self.attackers(program)), SCALE)

    def bounds(self, rhs_range: Program, kind: int | None, values: Sequence[int]) -> list[Fraction]:
        """Bounds at several values of one budget (or of σ: None) between which only right-hand sides differ."""
        rest, attackers = self._rest(rhs_range), self.attackers(rhs_range)
        result = []
        amounts, sigma = rhs_range.amounts.copy(), rhs_range.sigma
        for value in values:
            if kind is None:
                sigma = value
            else:
                amounts[kind] = value
            result.append(Fraction(rest + self._moving(amounts, sigma, attackers), SCALE))
        return result

    # Repair.

    def repaired(self, program: Program) -> np.ndarray:
        """The dual values that prove `bound`: some raised (or lowered) where that gives a smaller bound."""
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
        """The dual values after repair at one budget point, so that few reduced costs are positive at points nearby."""
        s = self.structure
        y = self.repaired(program)
        change = y - self.y
        reduced_costs = self.reduced_costs.copy()
        reduced_costs[s.columns.flips] -= change[s.global_row[s.flips.kind]] * s.flips.cost
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

    # The parts of the formula.

    def _rest(self, program: Program) -> int:
        """The terms that stay the same while only right-hand sides change."""
        return self.structure.constant * SCALE + self.fixed + self._points(program.open)

    def _moving(self, amounts: np.ndarray, sigma: int | None, attackers: np.ndarray) -> int:
        """The terms that depend on the budgets: their rows, and flips and attackers with positive reduced costs."""
        spent = sum(self.spent(k, amounts) for k in self.structure.types)
        return self._inner(amounts) + spent + self.spent_on_attackers(sigma, attackers)

    def spent(self, k: int, amounts: np.ndarray) -> int:
        """The terms of one type, which no other budget changes: its global row, flips with positive reduced costs."""
        amount = int(amounts[k])
        total = int(self.y[self.structure.global_row[k]]) * amount
        if len(self.positive_flips):
            lift, is_better = self._flip_choice(k, amounts)
            total += lift * amount if is_better else self._flips_separately(k, amounts)
        return total

    def spent_on_attackers(self, sigma: int | None, attackers: np.ndarray) -> int:
        """The row of σ and the attackers with positive reduced costs, of which there are no more than σ."""
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
        upper = np.minimum(flips.cap[mine], affordable(amounts, flips.kind[mine], flips.cost[mine]))
        return mine[upper > 0], upper[upper > 0]

    def _flips_separately(self, k: int, amounts: np.ndarray) -> int:
        flips, upper = self._positive(k, amounts)
        return sum(a * b for a, b in zip(self.reduced_costs[flips].tolist(), upper.tolist()))

    def _flip_choice(self, k: int, amounts: np.ndarray) -> tuple[int, bool]:
        """How much to raise a global budget's dual value so that no flip has a positive reduced cost; whether to."""
        flips, _ = self._positive(k, amounts)
        if not len(flips):
            return 0, False
        lift = int((-(-self.reduced_costs[flips] // self.structure.flips.cost[flips])).max())
        return lift, lift * int(amounts[k]) < self._flips_separately(k, amounts)

    def attackers(self, program: Program) -> np.ndarray:
        """Reduced costs of the attackers' columns with their coefficients at this budget point.

        At budgets far from those that the dual values come from, they may exceed 64 bits.
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
        """The largest reduced cost among the reachable points of each group, summed (paper's form: with indicators)."""
        s = self.structure
        if not len(s.groups):
            return 0
        worst = np.maximum.reduceat(self._positive_points(open_), s.points.first)
        if not s.relaxation.has_indicators:
            return _total(worst)
        # Lowering the dual of the choice row moves the largest reduced cost to the indicator, never at a higher cost.
        lowered = np.maximum(self.reduced_costs[s.columns.indicators] + worst, 0)
        return _total(np.where(s.any_open(open_), lowered, 0))


def plain_bound(program: Program) -> Fraction:
    """The bound without any solver: every target with a reachable point counts as attacked."""
    s = program.structure
    return Fraction(s.constant + int(s.groups.weight[s.any_open(program.open)].sum()))


def plain_duals(program: Program) -> np.ndarray:
    """The dual values that prove `plain_bound`: the weight of each group on its choice row."""
    s = program.structure
    y = np.zeros(s.matrix.shape[0], dtype=np.int64)
    if not s.relaxation.has_indicators:
        y[s.rows["choose"]] = np.where(s.any_open(program.open), s.groups.weight, 0) * SCALE
    return y


def counting_bound(program: Program) -> tuple[IntegerDuals, np.ndarray] | None:
    """Dual values and a solution for division voting where counting tokens suffices; None elsewhere.

    Every target is near itself only, and a flip has two tokens, each for one vote of one target. The dual value of a
    token is one over the threshold of the first target for which the tokens do not suffice. Additions can be anywhere,
    so that the linear program is hardly tighter; deletions alone need existing edges and are left to the program.
    """
    s = program.structure
    if not isinstance(s, DivisionStructure) or not s.by_tokens or not program.amounts[ADJ_ADD]:
        return None
    x = np.zeros(s.columns.count)
    x[s.columns.points] = s.counting_bound(program.amounts, program.open)
    last = s.tokens_run_out_at(program.amounts, program.open)
    y = plain_duals(program)
    if last is not None:
        price = -(-SCALE // last)
        per_vote = np.minimum(price, -(-SCALE // s.need))
        y[:] = 0
        y[s.rows["global"]] = 2 * price
        y[s.rows["tokens"]] = price
        for name, rows in s.rows.items():
            if name == "need" or name.startswith("near"):
                y[rows] = per_vote
    duals = IntegerDuals.of(s, y)
    return None if duals is None else (duals, x)


def _total(values: np.ndarray) -> int:
    """The sum of non-negative integers, exactly."""
    if float(values.astype(np.float64).sum()) < _SAFE:
        return int(values.sum())
    return sum(values.tolist())


def _dot(a: np.ndarray, b: np.ndarray) -> int:
    """Σ a·b of non-negative integers, exactly."""
    if dot(a.astype(np.float64), b.astype(np.float64)) < _SAFE:
        return int(a @ b)
    return sum(x * z for x, z in zip(a.tolist(), b.tolist()))
