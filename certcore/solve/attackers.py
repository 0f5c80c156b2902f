"""Pricing attackers in large programs with σ: closed-form values, inside and outside the restricted master.

Dual values of the field rows, reach cuts, pair rows and budget rows are given. What remains is one small problem per
attacker: choose among its own flips, up to its capacity. Sorting its flips by value gives the best dual values of its
payer rows and link cuts. The σ most valuable attackers then give the bound.
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
    """Dual values of all structure rows (those of σ and payer rows are recomputed) and of the reach cuts (`touch`)."""

    rows: np.ndarray
    touch: np.ndarray

    def towards(self, other: Duals, share: float) -> Duals:
        return Duals(*(a + share * (b - a) for a, b in zip(self, other)))


@dataclass(frozen=True, eq=False)
class PricingResult:
    """The value of every attacker at given dual values."""

    duals: Duals
    """The given dual values, with those of payer, pair and σ rows replaced by the best ones."""
    gain: np.ndarray
    """Value of each flip minus the dual values of its budget and pair rows."""
    threshold: np.ndarray
    """The least value of a flip that its attacker would choose."""
    value: np.ndarray
    link: np.ndarray
    """Dual value of each flip's link cut."""
    price: float
    """Dual value of the σ row."""


class Ranked(NamedTuple):
    """Flips sorted by payer row, and by descending value within each row."""

    order: np.ndarray
    rank: np.ndarray
    """Position of each flip of `order` in its row."""
    price: np.ndarray
    """The best dual value of each row."""


def payer_prices(gain: np.ndarray, row: np.ndarray, linked: np.ndarray, most: np.ndarray) -> Ranked:
    """Optimal dual values of payer rows: each equals the value of the first flip that exceeds the attacker's capacity.

    `most` is the capacity of the attacker, for each row. Without link cuts the dual value is that of the best flip.
    """
    order = np.lexsort((-gain, row))
    rows = row[order]
    rank = np.arange(len(order)) - np.searchsorted(rows, rows)
    setting = rank == np.where(linked[order], most[rows], 0)
    price = np.zeros(len(most))
    price[rows[setting]] = gain[order][setting]
    return Ranked(order, rank, price)


class AttackerPricing:
    """Prices the attackers of one structure with σ."""

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
        # The node that pays for each flip; -1 for edges of directed graphs, where either end may pay.
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
        """The value of every attacker at given dual values.

        Of the rows marked in `kept`, pair rows and payer rows without links keep their dual values. Flips of these rows
        have upper bounds, which let the solver find better dual values than the closed form.
        """
        s = self.structure
        rows = duals.rows.copy()
        directed = self._ends.shape[0] > 0
        pairs = np.zeros(0)
        if directed:
            pairs = rows[s.rows["pair"]].copy()
            rows[s.rows["pair"]] = 0.0
        gain = s.incidence.reach(rows[s.field_rows]) - self._by_flip @ rows[self._limits]
        gain[program.upper[s.columns.flips] == 0] = 0.0  # not affordable at this budget
        positive = np.maximum(gain, 0.0)
        value = np.zeros(self.count) if self._touch is None else self._touch @ duals.touch
        price = np.zeros(len(s.attackers.rows))
        paid = np.flatnonzero(self.entry >= 0)
        if len(paid):
            linked, most = self.linked[paid], program.coefficients
            order, rank, price = payer_prices(positive[paid], self.entry[paid], linked, most)
            linked, order = linked[order], paid[order]
            entry = self.entry[order]
            taken = np.where(rank < np.where(linked, most[entry], 1), positive[order], 0.0)
            taken = np.where(linked, taken, taken * most[entry])
            value = value + np.bincount(self.attacker[order], weights=taken, minlength=self.count)
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
        of_sigma = knapsack(value, np.ones(self.count), program.sigma)[1]
        rows[s.rows["sigma"]] = of_sigma
        return PricingResult(Duals(rows, duals.touch), gain, threshold, value, link, of_sigma)

    def duals(self, priced: PricingResult) -> IntegerDuals | None:
        """Integer dual values, with the cuts they refer to."""
        links, touched = np.flatnonzero(priced.link > 0), np.flatnonzero(priced.duals.touch > 0)
        family = np.repeat(np.array([LINK_CUT, REACH_CUT], dtype=np.int8), [len(links), len(touched)])
        cuts = Cuts(family, np.concatenate([links, touched]))
        y = np.concatenate([priced.duals.rows, priced.link[links], priced.duals.touch[touched]])
        return IntegerDuals.of(self.structure, scaled(y, self.structure.scale_bits), cuts)
