"""Pricing for the strong search: reduced costs of missing columns, and the bound that dual values give.

With σ a missing flip needs its attacker. Rows that tie missing flips to attackers have no dual value in the restricted
master, so such a flip would be priced as if any node could make it. `complete` gives these rows and the link cuts d_ij
≤ a_i the best dual values for the attacker: the value of its best flips is charged to the attacker's column. An
attacker whose reduced cost is then positive is missing, together with these flips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from certcore.program.cuts import Cuts
from certcore.program.program import Program
from certcore.solve.attackers import LINK_CUT, payer_prices
from certcore.solve.master import Master
from certcore.solve.tuning import STRONG


@dataclass(frozen=True, eq=False)
class Completed:
    """Dual values of all rows and of additional link cuts, and the reduced costs that they leave."""

    y: np.ndarray
    links: Cuts
    values: np.ndarray
    gain: np.ndarray
    """Reduced cost of each missing flip before the attackers are priced."""
    reduced_costs: np.ndarray
    """objective − yᵀA for all columns."""


class Pricing:
    """Pricing for the restricted master of one search at one budget point."""

    def __init__(self, program: Program, model: Master) -> None:
        s = program.structure
        self.program, self.structure, self.model = program, s, model
        self.upper = program.upper[s.columns.flips].astype(np.float64)
        self._rows = np.zeros(0, dtype=np.int64)
        if s.has_sigma and len(s.flips):
            self._tie()

    def _tie(self) -> None:
        """Find the row that ties each flip to its attacker: a payer row, or a pair row in directed graphs."""
        s = self.structure
        matrix = self.program.matrix[: s.matrix.shape[0]]
        flips, attackers = sp.csr_array(matrix[:, s.columns.flips]), sp.csr_array(matrix[:, s.columns.attackers])
        self._rows = np.flatnonzero((np.diff(flips.indptr) > 0) & (np.diff(attackers.indptr) > 0))
        tied = flips[self._rows]
        self._row_of = np.zeros(len(s.flips), dtype=np.int64)
        self._row_of[tied.indices] = np.repeat(np.arange(len(self._rows)), np.diff(tied.indptr))
        self._limits = sp.csr_array(-attackers[self._rows].T.astype(np.float64))
        self._linked = s.flips.payer >= 0
        self._links = np.bincount(self._row_of, weights=self._linked, minlength=len(self._rows)) > 0
        self._payer = np.searchsorted(s.attackers.nodes, np.maximum(s.flips.payer, 0))
        self._most = np.zeros(len(self._rows))
        np.maximum.at(self._most, self._limits.indices, self._limits.data)

    def complete(self, y: np.ndarray) -> Completed:
        s = self.structure
        reduced_costs = self.model.reduced_costs(y)
        gain = np.maximum(reduced_costs[s.columns.flips], 0.0)
        gain[self.model.has(np.arange(len(s.flips))) | (self.upper <= 0)] = 0.0
        if not len(self._rows):
            return Completed(y, Cuts.none(), np.zeros(0), gain, reduced_costs)
        y, link = y.copy(), np.zeros(len(gain))
        worth = np.flatnonzero(gain > 0)
        price = payer_prices(gain[worth], self._row_of[worth], self._linked[worth], self._most).price
        price[self._links & self.model.rows_in[self._rows]] = 0.0  # the restricted master has duals for these
        linked = worth[self._linked[worth]]
        link[linked] = np.maximum(gain[linked] - price[self._row_of[linked]], 0.0)
        y[self._rows] += price
        reduced_costs[s.columns.flips] -= price[self._row_of] + link
        reduced_costs[s.columns.attackers] += self._limits @ price
        chosen = np.flatnonzero(link)
        np.add.at(reduced_costs, s.columns.attackers.start + self._payer[chosen], link[chosen])
        links = Cuts(np.full(len(chosen), LINK_CUT, dtype=np.int8), chosen)
        return Completed(y, links, link[chosen], gain, reduced_costs)

    def missing(self, found: Completed, most: int) -> tuple[np.ndarray, float]:
        """Missing flips with positive reduced costs, best first, and an estimate of the objective they would add."""
        s, gain = self.structure, found.gain
        if len(self._rows):
            return self._with_attackers(found, most)
        missing = np.flatnonzero(gain > STRONG.rounding * s.mean_weight)
        lack = 0.0
        for k in s.types:
            mine = missing[s.flips.kind[missing] == k]
            separately = float(gain[mine] @ self.upper[mine])
            lack += min(separately, float(gain[mine].max(initial=0.0)) * self.program.budgets[k])
        return missing[np.argsort(-gain[missing], kind="stable")[: most * len(s.types)]], lack

    def _with_attackers(self, found: Completed, most: int) -> tuple[np.ndarray, float]:
        value = found.reduced_costs[self.structure.columns.attackers]
        least = STRONG.rounding * self.structure.mean_weight
        paying = np.flatnonzero(value > least)
        paying = paying[np.argsort(-value[paying], kind="stable")]
        chosen = np.zeros(len(value))
        chosen[paying[:most]] = 1.0
        mine = np.flatnonzero((self._limits.T @ chosen)[self._row_of] > 0)
        mine = mine[~self.model.has(mine) & (self.upper[mine] > 0)]
        # Some attackers are needed only in reach cuts; adding any one of their flips adds them.
        mine = mine[np.argsort(-found.gain[mine], kind="stable")]
        several = mine[found.gain[mine] > least][: STRONG.flips_each * most]
        first = mine[np.unique(self._row_of[mine], return_index=True)[1]]
        return np.union1d(several, first), float(value[paying[: self.program.sigma or 0]].sum())

    def bound(self, found: Completed, rhs: np.ndarray) -> float:
        """Weak-duality bound over all columns, in floating point; `rhs` belongs to the further rows."""
        s, program, reduced_costs = self.structure, self.program, np.maximum(found.reduced_costs, 0.0)
        first = s.matrix.shape[0]
        total = s.constant + float(found.y[:first] @ program.rhs) + float(found.y[first:] @ rhs)
        flips = reduced_costs[s.columns.flips]
        for k in s.types:
            mine = s.flips.kind == k
            if mine.any():
                separately = float(flips[mine] @ self.upper[mine])
                together = float(flips[mine].max()) * program.budgets[k]
                total += min(separately, together)
        if s.has_sigma:
            attackers = reduced_costs[s.columns.attackers]
            total += min(float(attackers.sum()), float(attackers.max(initial=0.0)) * (program.sigma or 0))
        points = np.where(program.open, reduced_costs[s.columns.points], 0.0)
        if len(s.groups):
            total += float(np.maximum.reduceat(points, s.points.first).sum())
        return total + float(reduced_costs[s.columns.count :].sum())
