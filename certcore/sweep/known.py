"""Multipliers found at one budget, evaluated exactly at any other budget of the same structure.

By weak duality any multipliers bound the adversary's optimum at every budget, if the whole formula is evaluated
there: right-hand sides, attackers' coefficients, upper bounds and the points within reach (see
`certcore.verify.bound`). Most of it, yᵀA, does not depend on the budgets. It is computed once per set of
multipliers; what is left takes a fraction of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.program.program import payer_coefficients, reachable
from certcore.program.structure import Structure
from certcore.verify.bound import SCALE

_SAFE = float(2**61)


@dataclass(frozen=True, eq=False)
class Position:
    """A place in the space of budgets: the numbers, the points within reach, the attackers' coefficients."""

    budgets: np.ndarray
    sigma: int | None
    open: np.ndarray
    coefficients: np.ndarray

    def same_stretch(self, other: Position) -> bool:
        """Whether only right-hand sides differ: the optimum is concave between two such places."""
        return np.array_equal(self.open, other.open) and np.array_equal(self.coefficients, other.coefficients)


@dataclass(frozen=True, eq=False)
class Known:
    """Integer multipliers over SCALE, for the rows of a structure and then for cuts, and what follows from them."""

    y: np.ndarray
    n_cuts: int
    fixed: int
    """y · right-hand sides, without those of the global budgets and of σ."""
    surplus: np.ndarray
    """objective − yᵀA for each column, without the attackers' coefficients; scaled."""
    unpaid_flips: np.ndarray


class Evaluator:
    """Evaluates multipliers for one structure."""

    def __init__(self, structure: Structure) -> None:
        self.structure = s = structure
        data = s.matrix.data.copy()
        data[s.payer_entries] = 0
        self._transposed = sp.csr_array(sp.csr_array((data, s.matrix.indices, s.matrix.indptr), s.matrix.shape).T)
        self._largest = float(np.abs(data).max(initial=1))
        self.payer_rows = np.searchsorted(s.matrix.indptr, s.payer_entries, side="right") - 1
        self.payer_columns = s.matrix.indices[s.payer_entries].astype(np.int64)
        self.global_rows = np.zeros(4, dtype=np.int64)
        self.global_rows[s.global_types] = s.blocks["global"].start + np.arange(len(s.global_types))
        self.sigma_row = s.blocks["sigma"].start if s.has_sigma else -1
        self.choose = s.blocks["choose"].start
        self.objective = np.zeros(s.n_columns, dtype=np.int64)
        if s.relaxation == "paper":
            self.objective[s.first_indicator :] = s.weight
        else:
            self.objective[s.first_point : s.first_indicator] = s.weight[s.point_group]
        static = s.rhs.copy()
        static[s.blocks["global"]] = 0
        if s.has_sigma:
            static[s.blocks["sigma"]] = 0
        self._static = static
        self._constant_rows = np.flatnonzero(static)
        self._constants = static[self._constant_rows]
        # Points of a group stand together: sums and maxima per group are taken over ranges.
        assert (np.diff(s.point_group) >= 0).all()
        self._starts = np.searchsorted(s.point_group, np.arange(s.n_groups))
        self._most_points = int(np.bincount(s.point_group).max(initial=0))

    def position(self, budgets: tuple[int, ...], sigma: int | None) -> Position:
        s = self.structure
        values = np.array(budgets, dtype=np.int64)
        coefficients = s.payer_caps if s.relaxation == "paper" else payer_coefficients(s, values)
        return Position(values, sigma, reachable(s, values, sigma), coefficients)

    def known(self, y: np.ndarray, cuts: sp.csr_array | None = None) -> Known | None:
        """Prepare multipliers; None if they are so large that 64 bits might not hold the sums."""
        s = self.structure
        n_rows = s.matrix.shape[0]
        n_cuts = 0 if cuts is None else cuts.shape[0]
        if len(y) != n_rows + n_cuts or (len(y) and y.min() < 0):
            raise ValueError("one multiplier of at least 0 is needed for every row and every cut")
        payers = y[self.payer_rows].astype(np.float64) @ s.payer_caps.astype(np.float64)
        room = float(y.astype(np.float64).sum()) * self._largest + float(payers)
        room += float(s.weight.max(initial=0)) * SCALE
        if room >= _SAFE:
            if (y >= 1 << 52).any():
                return None
            bound = float((abs(self._transposed) @ y[:n_rows].astype(np.float64)).max(initial=0.0))
            if cuts is not None:
                bound += float((abs(cuts).T @ y[n_rows:].astype(np.float64)).max(initial=0.0))
            if bound + float(payers) + float(s.weight.max(initial=0)) * SCALE >= _SAFE:
                return None
        surplus = self.objective * SCALE - self._transposed @ y[:n_rows]
        if cuts is not None and n_cuts:
            surplus -= cuts.T @ y[n_rows:]
        # In the paper's form the points of a group are added up, and there may be many of them.
        worst = float(surplus[s.first_point : s.first_indicator].max(initial=0))
        if s.relaxation == "paper" and worst * self._most_points >= _SAFE:
            return None
        fixed = _dot(y[self._constant_rows], self._constants)
        return Known(y, n_cuts, fixed, surplus, np.flatnonzero(surplus[: s.n_flips] > 0))

    def settled(self, known: Known, at: Position) -> Known:
        """The same multipliers after their repair at one place, so that little is left to pay nearby."""
        s = self.structure
        y = self.repaired(known, at)
        change = y - known.y
        surplus = known.surplus.copy()
        moved = change[self.global_rows[s.flip_type]] * s.flip_cost
        surplus[: s.n_flips] -= moved
        if s.has_sigma:
            surplus[s.first_attacker : s.first_point] -= change[self.sigma_row]
        choose = change[self.choose : self.choose + s.n_groups]
        if s.relaxation == "paper":
            surplus[s.first_point : s.first_indicator] += choose[s.point_group]
            surplus[s.first_indicator :] -= choose
        else:
            surplus[s.first_point : s.first_indicator] -= choose[s.point_group]
        fixed = known.fixed + int(choose @ self._static[self.choose : self.choose + s.n_groups])
        return Known(y, known.n_cuts, fixed, surplus, np.flatnonzero(surplus[: s.n_flips] > 0))

    def within_reach(self, open_: np.ndarray) -> int:
        """How many targets have a point within reach."""
        s = self.structure
        return int(s.weight[np.maximum.reduceat(open_, self._starts)].sum()) if s.n_groups else 0

    def numerator(self, known: Known, at: Position) -> int:
        """The bound at a position, times SCALE and without the structure's constant."""
        rest = known.fixed + self._points(known, at.open)
        return rest + self._moving(known, at, at.budgets, at.sigma, self._attackers(known, at))

    def numerators(self, known: Known, stretch: Position, axis: int | str, values: list[int]) -> list[int]:
        """Bounds at several values of one budget (or of σ) that all lie in the same stretch."""
        rest = known.fixed + self._points(known, stretch.open)
        attackers = self._attackers(known, stretch)
        result = []
        budgets, sigma = stretch.budgets.copy(), stretch.sigma
        for value in values:
            if isinstance(axis, str):
                sigma = value
            else:
                budgets[axis] = value
            result.append(rest + self._moving(known, stretch, budgets, sigma, attackers))
        return result

    def repaired(self, known: Known, at: Position) -> np.ndarray:
        """The multipliers that prove `numerator`: rows raised (or lowered) where that is the cheaper payment."""
        s = self.structure
        y = known.y.copy()
        for k in s.types:
            lift, pays = self._flip_choice(known, k, at.budgets)
            if pays:
                y[self.global_rows[k]] += lift
        surplus = self._attackers(known, at)
        if len(surplus):
            worst = int(surplus.max())
            assert at.sigma is not None
            if worst > 0 and worst * at.sigma < _total(np.maximum(surplus, 0)):
                y[self.sigma_row] += worst
        if s.n_groups:
            missing, lower = self._group_payments(known, at.open)
            rows = slice(self.choose, self.choose + s.n_groups)
            y[rows] += np.where(lower, -missing, 0) if s.relaxation == "paper" else missing
        return y

    def _moving(self, known: Known, at: Position, budgets: np.ndarray, sigma: int | None, attackers: np.ndarray) -> int:
        """What depends on the budgets themselves: their rows, unpaid flips and unpaid attackers."""
        total = 0
        for k in self.structure.types:
            total += int(known.y[self.global_rows[k]]) * int(budgets[k])
            if len(known.unpaid_flips):
                lift, pays = self._flip_choice(known, k, budgets)
                total += lift * int(budgets[k]) if pays else self._flips_separately(known, k, budgets)
        if sigma is not None:
            total += int(known.y[self.sigma_row]) * sigma
            if len(attackers):
                positive = np.maximum(attackers, 0)
                total += min(_total(positive), int(positive.max()) * sigma)
        return total

    def _unpaid(self, known: Known, k: int, budgets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = self.structure
        flips = known.unpaid_flips[s.flip_type[known.unpaid_flips] == k]
        upper = np.minimum(s.flip_cap[flips], int(budgets[k]) // s.flip_cost[flips])
        return flips[upper > 0], upper[upper > 0]

    def _flips_separately(self, known: Known, k: int, budgets: np.ndarray) -> int:
        flips, upper = self._unpaid(known, k, budgets)
        return sum(a * b for a, b in zip(known.surplus[flips].tolist(), upper.tolist()))

    def _flip_choice(self, known: Known, k: int, budgets: np.ndarray) -> tuple[int, bool]:
        """By how much to raise the row of a global budget so that it pays for all flips, and whether to do so."""
        flips, _ = self._unpaid(known, k, budgets)
        if not len(flips):
            return 0, False
        lift = int((-(-known.surplus[flips] // self.structure.flip_cost[flips])).max())
        return lift, lift * int(budgets[k]) < self._flips_separately(known, k, budgets)

    def _attackers(self, known: Known, at: Position) -> np.ndarray:
        """Surplus of the attackers' columns with their coefficients at this place."""
        s = self.structure
        if not s.has_sigma:
            return np.zeros(0, dtype=np.int64)
        surplus = known.surplus[s.first_attacker : s.first_point].copy()
        np.add.at(surplus, self.payer_columns - s.first_attacker, at.coefficients * known.y[self.payer_rows])
        return surplus

    def _points(self, known: Known, open_: np.ndarray) -> int:
        """What the points within reach (and, in the paper's form, the indicators) cost."""
        s = self.structure
        if not s.n_groups:
            return 0
        missing, lower = self._group_payments(known, open_)
        if s.relaxation != "paper":
            return _total(missing)
        indicator = known.surplus[s.first_indicator :]
        reachable_group = np.maximum.reduceat(open_, self._starts)
        lowered = np.maximum(indicator + missing, 0)
        plain = np.maximum(indicator, 0) + self._sums(known, open_)
        return _total(np.where(reachable_group, np.where(lower, lowered, plain), 0))

    def _group_payments(self, known: Known, open_: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The worst surplus among each group's points, and (paper's form) whether lowering its row pays for them."""
        s = self.structure
        surplus = np.where(open_, np.maximum(known.surplus[s.first_point : s.first_indicator], 0), 0)
        missing = np.maximum.reduceat(surplus, self._starts)
        if s.relaxation != "paper":
            return missing, missing > 0
        indicator = known.surplus[s.first_indicator :]
        lower = np.maximum(indicator + missing, 0) < np.maximum(indicator, 0) + self._sums(known, open_)
        return missing, lower

    def _sums(self, known: Known, open_: np.ndarray) -> np.ndarray:
        s = self.structure
        surplus = np.where(open_, np.maximum(known.surplus[s.first_point : s.first_indicator], 0), 0)
        return np.add.reduceat(surplus, self._starts)


def _total(values: np.ndarray) -> int:
    """The sum of non-negative integers, exactly."""
    if float(values.astype(np.float64).sum()) < _SAFE:
        return int(values.sum())
    return sum(values.tolist())


def _dot(a: np.ndarray, b: np.ndarray) -> int:
    """Σ a·b of non-negative integers, exactly."""
    if float(a.astype(np.float64) @ b.astype(np.float64)) < _SAFE:
        return int(a @ b)
    return sum(x * z for x, z in zip(a.tolist(), b.tolist()))
