"""σ in large programs: what every attacker is worth, in closed form, whether it is in the restricted master or not.

Prices of the fields, of the touch rows, of pairs and of local and global budgets are given. What is left is one small
problem per attacker: its own flips, at most as many as its limit. The best dual values of its payer rows and of its
links follow from the flips sorted by worth, and the bound from the σ most valuable attackers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from certcore.domain.perturbations import ADJ_DEL
from certcore.program.cuts import FAMILIES, Cuts, LinkCut, ReachCut
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.first_order import knapsack
from certcore.verify.bound import scaled
from certcore.verify.duals import IntegerDuals

LINK_CUT = next(i for i, family in enumerate(FAMILIES) if isinstance(family, LinkCut))
REACH_CUT = next(i for i, family in enumerate(FAMILIES) if isinstance(family, ReachCut))


class Duals(NamedTuple):
    """Dual values of all rows of the structure (those of σ and of payers do not matter), and of the touch rows."""

    rows: np.ndarray
    touch: np.ndarray

    def towards(self, other: Duals, share: float) -> Duals:
        return Duals(*(a + share * (b - a) for a, b in zip(self, other)))


@dataclass(frozen=True, eq=False)
class PricingResult:
    """Attackers with their values at some prices."""

    duals: Duals
    """With the dual values of payers, pairs and σ that are best for the others."""
    gain: np.ndarray
    """What each flip is worth beyond what budgets and pairs take."""
    threshold: np.ndarray
    """What a flip must be worth to be among those its attacker would choose."""
    value: np.ndarray
    link: np.ndarray
    """Dual value of each flip's link."""
    price: float
    """Of σ."""


class AttackerPricing:
    """For one structure with σ."""

    def __init__(self, structure: Structure) -> None:
        s = self.structure = structure
        flips, nodes = s.flips, s.attackers.nodes
        self.count = len(nodes)
        self.touch = s.attackers.touch
        self._touch = None
        if self.touch is not None:
            self._touch = sp.csr_array(self.touch.T.astype(np.float64))
        limits = np.flatnonzero(s.row_group < 0)
        payers = np.arange(s.rows["payer"].start, s.rows["payer"].stop) if "payer" in s.rows else limits[:0]
        self._limits = np.setdiff1d(limits, payers)
        self._by_flip = sp.csr_array(s.matrix[self._limits][:, s.columns.flips].T.astype(np.float64))
        # Who pays for each flip; -1 for edges of directed graphs, where either end will do.
        payer = np.where(flips.kind == ADJ_DEL, flips.payer, flips.site)
        self.attacker = np.where(payer >= 0, np.searchsorted(nodes, np.maximum(payer, 0)), -1)
        width = max(self.count, 1)
        keys = s.attackers.kinds * width + s.attackers.columns - s.columns.attackers.start
        order = np.argsort(keys)
        mine = flips.kind * width + np.maximum(self.attacker, 0)
        self.entry = np.full(len(flips), -1)
        if len(keys):
            place = np.minimum(np.searchsorted(keys[order], mine), len(keys) - 1)
            self.entry = np.where(self.attacker >= 0, order[place], -1)
        self.linked = (flips.payer >= 0) & (self.touch is not None)
        self._ends = sp.csr_array((0, 0))
        if "pair" in s.rows and len(flips) and (flips.payer[flips.kind == ADJ_DEL] < 0).all():
            pairs = s.matrix[s.rows["pair"]]
            self._ends = sp.csr_array(-pairs[:, s.columns.attackers].T.astype(np.float64))

    def value(self, program: Program, duals: Duals, kept: np.ndarray | None = None) -> PricingResult:
        """Values at some prices. Of the rows in `kept`, payers without links and pairs keep the prices given.

        There flips have upper bounds of their own, with which a solver can do better than the closed form.
        """
        s = self.structure
        rows = duals.rows.copy()
        directed = self._ends.shape[0] > 0
        pairs = np.zeros(0)
        if directed:
            pairs = rows[s.rows["pair"]].copy()
            rows[s.rows["pair"]] = 0.0
        gain = s.incidence.reach(rows[s.field_rows]) - self._by_flip @ rows[self._limits]
        gain[program.upper[s.columns.flips] == 0] = 0.0  # beyond the budget here
        positive = np.maximum(gain, 0.0)
        value = np.zeros(self.count) if self._touch is None else self._touch @ duals.touch
        price = np.zeros(len(s.attackers.rows))
        paid = np.flatnonzero(self.entry >= 0)
        if len(paid):
            order = paid[np.lexsort((-positive[paid], self.entry[paid]))]
            entry = self.entry[order]
            rank = np.arange(len(order)) - np.searchsorted(entry, entry)
            most = np.where(self.linked[order], program.coefficients[entry], 1)
            taken = np.where(rank < most, positive[order], 0.0)
            taken = np.where(self.linked[order], taken, taken * program.coefficients[entry])
            value = value + np.bincount(self.attacker[order], weights=taken, minlength=self.count)
            # The first flip not taken sets the price of a payer row; without links the best one does.
            setting = np.where(self.linked[order], rank == most, rank == 0)
            price[entry[setting]] = positive[order][setting]
            if kept is not None:
                alone = np.ones(len(price), dtype=bool)
                alone[self.entry[self.linked]] = False
                alone &= kept[s.attackers.rows]
                change = np.where(alone, rows[s.attackers.rows] - price, 0.0)
                np.add.at(value, s.attackers.columns - s.columns.attackers.start, program.coefficients * change)
                price = price + change
            rows[s.attackers.rows] = price
        if directed:
            edges = positive[s.flips.kind == ADJ_DEL]
            if kept is not None:
                edges = np.where(kept[s.rows["pair"]], pairs, edges)
            rows[s.rows["pair"]] = edges
            value = value + self._ends @ edges
        threshold = np.where(self.entry >= 0, price[self.entry] if len(price) else 0.0, 0.0)
        link = np.where(self.linked, np.maximum(gain - threshold, 0.0), 0.0)
        assert program.sigma is not None
        of_sigma = knapsack(value, np.ones(self.count), np.ones(self.count), program.sigma)[1]
        rows[s.rows["sigma"]] = of_sigma
        return PricingResult(Duals(rows, duals.touch), gain, threshold, value, link, of_sigma)

    def duals(self, priced: PricingResult) -> IntegerDuals | None:
        """Whole-number dual values, with the cuts that they need."""
        links, touched = np.flatnonzero(priced.link > 0), np.flatnonzero(priced.duals.touch > 0)
        family = np.repeat(np.array([LINK_CUT, REACH_CUT], dtype=np.int8), [len(links), len(touched)])
        cuts = Cuts(family, np.concatenate([links, touched]))
        y = np.concatenate([priced.duals.rows, priced.link[links], priced.duals.touch[touched]])
        return IntegerDuals.of(self.structure, scaled(y), cuts)
