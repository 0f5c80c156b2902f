"""Large programs with σ: column generation adds attackers, the flips they would choose, and the groups they reach."""

from __future__ import annotations

import threading

import numpy as np
import scipy.sparse as sp

from certcore.common.interrupt import over
from certcore.common.products import dot
from certcore.domain.perturbations import TABLE
from certcore.program.cuts import Cuts
from certcore.program.program import Program
from certcore.program.structure import Structure
from certcore.solve.attackers import LINK_CUT, REACH_CUT, AttackerPricing, Duals, PricingResult
from certcore.solve.first_order import Found, knapsack
from certcore.solve.large import Large, Outcome, crude_duals
from certcore.solve.master import Master, Proposal
from certcore.solve.tuning import LARGE, SIGMA


class LargeWithSigma(Large):
    """The method for large programs with at most σ attacker nodes."""

    most_models = 1  # the cuts and dual values below belong to one restricted master

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self._pricing = AttackerPricing(structure)
        self._real = not all(TABLE[k].whole for k in structure.types)
        self._handover = LARGE.handover_lengths if self._real else LARGE.handover
        self._touch = np.zeros(len(structure.groups))
        """Dual values of the reach cuts of groups outside the restricted master."""
        self._best: PricingResult | None = None
        self._cuts = Cuts.none()
        self._reaches = sp.csr_array(structure.attackers.touch.T) if structure.attackers.touch is not None else None

    def _begin(
        self, program: Program, outcome: Outcome, deadline: float, cancel: threading.Event | None
    ) -> Master | None:
        s = self.structure
        flow, attackers = np.zeros(len(s.flips)), np.zeros(len(s.attackers.nodes))
        self._best = None
        if self._real:
            # Whatever is moved, no more breaks than what σ attackers reach.
            self._offer_prices(program, outcome, Duals(np.zeros(s.matrix.shape[0]), s.groups.weight.astype(np.float64)))
        if self._first_order is not None:
            found = self._first(self._first_order, program, outcome, deadline, cancel)
            priced = self._offer_found(program, outcome, found)
            flow = found.x[: len(s.flips)]
            if len(found.x) > len(flow):
                attackers = found.x[len(flow) :]
        else:
            priced = self._pricing.value(program, Duals(crude_duals(program), np.zeros(len(s.groups))))
        if over(deadline, cancel):
            return None
        self._touch = priced.duals.touch.copy()
        model = Master(program, priced.duals.rows)
        self._cuts = Cuts.none()
        self._add_columns_and_groups(
            model,
            priced,
            (priced.value >= SIGMA.near_value * priced.price) | (attackers > 0.01),
            SIGMA.near_gain,
            flow > 1e-3,
        )
        return model

    def _tell(self, program: Program, outcome: Outcome, found: Found) -> None:
        self._offer_found(program, outcome, found)

    def _offer_found(self, program: Program, outcome: Outcome, found: Found) -> PricingResult:
        s = self.structure
        rows, touch = np.zeros(s.matrix.shape[0]), np.zeros(len(s.groups))
        count = s.field_rows.stop - s.field_rows.start
        rows[s.field_rows] = s.mean_weight * found.y[:count]
        if len(found.y) > count:
            touch = s.mean_weight * found.y[count:]
        if self._real:
            # One attacker may spend a whole length, and its payer row alone would count it σ times.
            worth, upper = s.incidence.reach(rows[s.field_rows]), program.upper[s.columns.flips]
            for k in s.types:
                mine = s.flips.kind == k
                rows[s.global_row[k]] = knapsack(worth[mine], upper[mine], program.budgets[k])[1]
        return self._offer_prices(program, outcome, Duals(rows, touch))

    def _offer_prices(
        self, program: Program, outcome: Outcome, duals: Duals, kept: np.ndarray | None = None
    ) -> PricingResult:
        """Complete given dual values by pricing the attackers; keep them if they prove a better bound."""
        priced = self._pricing.value(program, duals, kept)
        if self._offer(program, outcome, self._pricing.duals(priced)) or self._best is None:
            self._best = priced
        return priced

    def _take(self, model: Master, proposal: Proposal, outcome: Outcome) -> bool:
        program, s = model.program, self.structure
        assert proposal.x is not None
        assert proposal.y is not None
        x, n_rows = proposal.x, s.matrix.shape[0]
        rows, further = proposal.y[:n_rows], proposal.y[n_rows:]
        touch = np.where(model.group_in, 0.0, self._touch)
        touched = self._cuts.family == REACH_CUT
        touch[self._cuts.index[touched]] = further[touched]
        duals = Duals(rows, touch)
        best = self._best
        priced = self._offer_prices(program, outcome, duals, model.rows_in)
        if best is not None:
            for share in SIGMA.blends:
                self._offer_prices(program, outcome, best.duals.towards(duals, share), model.rows_in)
        value = s.constant + dot(s.objective, x)
        if value > outcome.lower:
            outcome.lower, outcome.x = value, x
        if outcome.gap <= LARGE.close:
            return True
        least = LARGE.rounding * s.mean_weight
        # Dual value of σ in the restricted master; an attacker of larger value has columns that are missing there.
        asked = float(rows[s.rows["sigma"]][0])
        missing = priced.value - asked > least * max(asked / s.mean_weight, 1.0)
        if missing.any():
            missing |= priced.value > SIGMA.more_value * asked
        positive = (priced.gain > priced.threshold + least) & ~self._pricing.linked
        grown = self._add_columns_and_groups(model, priced, missing, SIGMA.more_gain, positive)
        # By so much the reach cuts of groups outside the restricted master lower their tangents.
        slack = np.where(model.group_in, 0.0, self._touch)
        groups = np.flatnonzero(model.gaps(x, proposal.y) - slack > least)
        if len(groups):
            self._add_groups(model, groups)
        return grown or bool(len(groups))

    def _add_columns_and_groups(
        self,
        model: Master,
        priced: PricingResult,
        who: np.ndarray,
        share: float,
        others: np.ndarray | None = None,
    ) -> bool:
        """Add the flips that attackers `who` would choose, the attackers who pay, and the groups they reach."""
        s = self.structure
        attacker = self._pricing.attacker
        wanted = (priced.gain >= share * priced.threshold) & (priced.gain > 0)
        wanted &= np.where(attacker >= 0, who[np.maximum(attacker, 0)] if len(who) else False, True)
        wanted |= self._only_reaching(model, priced, who, wanted)
        flips = np.flatnonzero(wanted if others is None else wanted | others)
        flips = flips[~model.has(flips)]
        if not len(flips):
            return False
        model.add_columns_and_groups(flips)
        linked = flips[self._pricing.linked[flips]]
        self._add_cuts(model, LINK_CUT, linked)
        inside = model.has(np.arange(s.columns.attackers.start, s.columns.attackers.stop))
        if self._reaches is not None:
            groups = np.unique(self._reaches[np.flatnonzero(inside)].indices)
        else:
            reached = np.zeros(len(s.groups), dtype=bool)
            incidence = s.incidence
            starts, stops = incidence.flip_starts[flips], incidence.flip_starts[flips + 1]
            for a, b in zip(starts.tolist(), stops.tolist()):
                reached[s.row_group[s.field_rows][incidence.fields[a:b]]] = True
            groups = np.flatnonzero(reached)
        self._add_groups(model, groups[~model.group_in[groups]])
        return True

    def _only_reaching(self, model: Master, priced: PricingResult, who: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """One flip each of missing attackers that are needed in reach cuts only, the most valuable ones first."""
        s, attacker, chosen = self.structure, self._pricing.attacker, np.zeros(len(wanted), dtype=bool)
        if self._reaches is None:
            return chosen
        alone = who & ~model.has(np.arange(s.columns.attackers.start, s.columns.attackers.stop))
        alone[attacker[wanted & (attacker >= 0)]] = False
        best = np.flatnonzero(alone)
        best = best[np.argsort(-priced.value[best], kind="stable")[: SIGMA.only_reaching]]
        first = np.full(len(who), -1)
        mine = np.flatnonzero(attacker >= 0)[::-1]
        first[attacker[mine]] = mine
        chosen[first[best][first[best] >= 0]] = True
        return chosen

    def _add_groups(self, model: Master, groups: np.ndarray) -> None:
        model.add_columns_and_groups(groups=groups)
        if self._reaches is not None:
            self._add_cuts(model, REACH_CUT, groups)

    def _add_cuts(self, model: Master, family: int, tags: np.ndarray) -> None:
        if len(tags):
            new = Cuts(np.full(len(tags), family, dtype=np.int8), tags)
            model.add_rows(*new.rows(self.structure))
            self._cuts = self._cuts.plus(new)
