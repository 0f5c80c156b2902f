"""Separation of `paid` rows (σ): which payers are spared and which are counted. Soundness does not depend on it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from certcore.program.levels import Sites
from certcore.program.structure import Structure
from certcore.solve.separate import Found, RelaxedView, Separator
from certcore.solve.tuning import SEPARATION


class PaidRows:
    """The payers of one type and what each can pay for in the field of each group."""

    def __init__(self, separator: Separator, structure: Structure) -> None:
        self.separator, self.sites, self.structure = separator, separator.sites, structure
        self.most = self.sites.payments(slice(None))

    def rows(self, view: RelaxedView, x: np.ndarray) -> list[Found]:
        """The most violated row of each live need: payers are spared one after the other, the best one first."""
        sites, separator = self.sites, self.separator
        attack = x[self.structure.columns.attackers]
        who = np.flatnonzero(attack > SEPARATION.used)
        group, need = separator.group[view.live], separator.need[view.live]
        given = _given(sites, group, x[sites.columns], who)
        most, share = self.most[group][:, who].toarray(), view.share[:, None]
        spared, left = np.zeros(most.shape, dtype=bool), need[:, None].astype(np.int64)
        best, chosen, rest = np.full(len(need), SEPARATION.least_violation), spared.copy(), left.copy()
        for _ in range(int(need.max(initial=0))):
            pay = np.where(spared, 0.0, np.minimum(given, np.minimum(most, left) * attack[who]))
            excess = view.share - pay.sum(axis=1) / left[:, 0]
            better = excess > best
            best[better], chosen[better], rest[better] = excess[better], spared[better], left[better]
            gain = np.where(spared | (most >= left), 0.0, pay - most * share)
            more = np.flatnonzero(gain.max(axis=1, initial=0.0) > 1e-9)
            if not len(more):
                break
            payer = gain[more].argmax(axis=1)
            spared[more, payer] = True
            left[more, 0] -= most[more, payer]
        found = []
        node = self.structure.attackers.nodes
        for j in np.flatnonzero(best > SEPARATION.least_violation).tolist():
            pays = self.most[[group[j]]]
            amount, here = np.zeros(len(node)), np.zeros(len(node))
            amount[pays.indices], here[who] = pays.data, given[j]
            amount[who[chosen[j]]] = 0.0
            counted = np.flatnonzero((amount > rest[j]) & (here >= rest[j] * attack))
            lists = node[who[chosen[j]]].tolist(), node[counted].tolist()
            tag = ("paid", sites.kind, int(group[j]), int(need[j]), *lists)
            found.append((float(best[j] * separator.weight[view.live[j]]), tag))
        return found


def _given(sites: Sites, group: np.ndarray, flips: np.ndarray, who: np.ndarray) -> np.ndarray:
    """(needs, payers): flips in the field of each need's group that each of these attackers pays for."""
    assert sites.payer is not None
    used = np.flatnonzero(flips > SEPARATION.used)
    where = (np.arange(len(used)), sites.payer[used])
    paid = sp.csr_array(sp.coo_array((flips[used], where), shape=(len(used), len(sites.limit))))
    groups, place = np.unique(group, return_inverse=True)
    table = abs(sp.csr_array(sites.field[groups])[:, used] @ paid[:, who])
    return np.asarray(table.toarray()[place.reshape(-1)])
