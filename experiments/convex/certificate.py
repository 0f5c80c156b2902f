"""The convex-relaxation certificate of Zügner and Günnemann (2019) for a two-layer GCN under attribute flips.

For a node t and another class y, the margin of t's label over y is Σ_m Σ_j a[m, j]·relu(z[m, j]) + constant, with a[m,
j] = Â[t, m]·(W₂[j, label] − W₂[j, y]) and hidden values z that are linear in the bits. A budget gives bounds on z.
Within these bounds relu(z) is at least λ·z for any λ in [0, 1] and at most the chord. Using the one that makes each
term smaller gives a lower bound of the margin that is linear in the bits (the dual bound of the paper, for that choice
of dual variables). Its minimum over flips is exact: the largest gains, at most q per node and Q in total. If the
minimum exceeds all rounding errors for every y, the label cannot change.

The paper's experiment uses q = 21 in the base and in the collective certificate. It gives 21 as ⌊0.01·D⌋, which does
not match Citeseer's D = 3,703. We use 21, and state this next to the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from certcore.base.grid import BaseLocal, GridBase
from certcore.common.choice import Choice
from certcore.common.reading import whole_number, whole_numbers
from experiments.convex.attack import smallest_attack
from experiments.convex.batch import Batch, batches, lower_margins
from experiments.convex.hidden import HiddenBounds
from experiments.convex.network import GcnNetwork


class ConvexMode(Choice):
    """Which attribute flips the attacker may use."""

    ADDITIONS = "additions"
    FLIPS = "flips"
    """Additions and deletions, with a common budget."""


MAX_BUDGET = 4096
#: Largest number of flips that an attack tries.
MAX_ATTACK = 1024


@dataclass(frozen=True, eq=False)
class ConvexCertificate:
    """Per node the smallest global budget Q that is not certified, and the smallest one at which an attack was found.

    `radius[n]` = Q certifies every perturbation with fewer than Q flips in total and at most `local_budget` flips per
    node. 0 means that not even the clean label is certain. `max_budget` + 1 means certified at every tested budget.
    `attack[n]` is a number of flips that provably changes the label (−1: none was found). The difference of the two is
    the gap of the relaxation.
    """

    radius: np.ndarray
    attack: np.ndarray
    prediction: np.ndarray
    local_budget: int
    max_budget: int
    mode: ConvexMode

    def summary(self) -> dict[str, Any]:
        """Tightness of the relaxation: nodes where bound and attack meet, and nodes with a gap."""
        found = self.attack > 0
        return {
            "mode": self.mode,
            "local_budget": self.local_budget,
            "max_budget": self.max_budget,
            "mean_radius": float(self.radius.mean()),
            "attacks_found": int(found.sum()),
            "settled": int((found & (self.attack == self.radius)).sum()),
            "mean_gap": float((self.attack - self.radius)[found].mean()) if found.any() else None,
        }

    def base(self) -> ConvexBase:
        """The same certificate as a `BaseCertificate`."""
        side = int(min(self.radius.max(initial=0), self.max_budget)) + 1
        if self.mode == ConvexMode.ADDITIONS:
            grid = np.arange(side) < self.radius[:, None]
            axes: tuple[str, ...] = ("attr_add",)
            local = BaseLocal(per_type=(self.local_budget, None, None, None))
        else:
            total = np.arange(side)[:, None] + np.arange(side)
            grid = total < self.radius[:, None, None]
            axes = ("attr_add", "attr_del")
            local = BaseLocal(joint=self.local_budget)
        return ConvexBase(grid, axes, local, self.prediction, certificate=self)


@dataclass(frozen=True, eq=False)
class ConvexBase(GridBase):
    """A grid that keeps the convex certificate from which it was made."""

    certificate: ConvexCertificate | None = None

    @property
    def facts(self) -> dict[str, Any]:
        facts = super().facts
        if self.certificate is not None:
            facts |= {
                "kind": "convex relaxation",
                "mode": self.certificate.mode,
                "local_budget": self.certificate.local_budget,
                "max_budget": self.certificate.max_budget,
            }
        return facts


def convex_certificate(
    network: GcnNetwork,
    *,
    local_budget: int,
    mode: str = ConvexMode.ADDITIONS,
    max_budget: int = 512,
    nodes: np.ndarray | None = None,
    attack: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> ConvexCertificate:
    """Certify nodes (default all; the others get radius 0) of a network by the convex relaxation.

    Budgets are doubled until a node is no longer certified, then bisected. A certified budget covers all smaller ones,
    even if the bound fails there. `progress` is called with the number of finished nodes.
    """
    kind = ConvexMode.parse(mode, "the mode of the convex certificate")
    for name, value, low in (("local budget", local_budget, 1), ("largest budget", max_budget, 0)):
        whole_number(value, f"the {name} of the convex certificate", low, MAX_BUDGET)
    given = np.arange(network.n_nodes) if nodes is None else nodes
    chosen = np.unique(whole_numbers(given, "the list of nodes to certify", 0, network.n_nodes - 1))
    search = _ConvexSearch(network, int(local_budget), kind is ConvexMode.FLIPS, int(max_budget))
    radius = search.radii(chosen, progress)
    found = np.full(network.n_nodes, -1, dtype=np.int64)
    if attack:
        for node in chosen[(radius[chosen] > 0) & (radius[chosen] <= max_budget)].tolist():
            found[node] = search.attack(node, int(radius[node]))
    return ConvexCertificate(radius, found, network.prediction.copy(), int(local_budget), int(max_budget), kind)


class _ConvexSearch:
    def __init__(self, network: GcnNetwork, local_budget: int, deletions: bool, max_budget: int) -> None:
        self.network = network
        self.local_budget = local_budget
        self.deletions = deletions
        self.max_budget = max_budget
        self.hidden = HiddenBounds(network, min(local_budget, max(max_budget, 1)), deletions)

    def radii(self, chosen: np.ndarray, progress: Callable[[int, int], None] | None) -> np.ndarray:
        """The smallest uncertified budget of each chosen node."""
        n = self.network.n_nodes
        certified = np.full(n, -1, dtype=np.int64)  # the largest budget known to be certified
        failed = np.full(n, self.max_budget + 1, dtype=np.int64)  # the smallest one known not to be
        waiting = chosen
        while len(waiting):
            # Budgets 0, 1, 2, 4, …; after the first failure bisection.
            ahead = np.where(certified < 1, certified + 1, 2 * certified)
            middle = (certified + failed) // 2
            known = failed <= self.max_budget
            trial = np.where(known, middle, np.minimum(ahead, self.max_budget))[waiting]
            for budget in np.unique(trial).tolist():
                nodes = waiting[trial == budget]
                passed = self.certify(nodes, budget)
                certified[nodes[passed]] = budget
                failed[nodes[~passed]] = budget
            waiting = waiting[failed[waiting] - certified[waiting] > 1]
            if progress is not None:
                progress(len(chosen) - len(waiting), len(chosen))
        radius = np.zeros(n, dtype=np.int64)
        radius[chosen] = failed[chosen]
        return radius

    def certify(self, nodes: np.ndarray, budget: int) -> np.ndarray:
        """Which nodes are certified at a budget."""
        lower, upper = self.hidden.at(budget, nodes)
        passed = np.zeros(self.network.n_nodes, dtype=bool)
        passed[nodes] = True
        for which in range(self.network.n_classes - 1):
            # A node fails if one class cannot be excluded. NaN (an overflow) counts as a failure.
            for batch in batches(self.network, nodes[passed[nodes]]):
                passed[batch.nodes] = self._margins(batch, which, lower, upper, budget) > 0
        return passed[nodes]

    def _margins(self, batch: Batch, which: int, lower: np.ndarray, upper: np.ndarray, budget: int) -> np.ndarray:
        """The better of the lower bounds for two choices of the free slopes λ."""
        best = lower_margins(batch, which, lower, upper, budget, self.local_budget, self.deletions, steep=False)
        again = np.flatnonzero(~(best > 0))
        for part in batches(self.network, batch.nodes[again]) if budget else ():
            second = lower_margins(part, which, lower, upper, budget, self.local_budget, self.deletions, steep=True)
            chosen, again = again[: len(second)], again[len(second) :]
            best[chosen] = np.maximum(best[chosen], second)
        return best

    def attack(self, node: int, budget: int) -> int:
        """The smallest number of flips found that changes the label; −1 if none was found."""
        (batch,) = batches(self.network, np.array([node]))
        lower, upper = self.hidden.at(budget, batch.nodes)
        limit = min(4 * budget + 16, MAX_ATTACK)
        tried = [
            smallest_attack(batch, which, lower, upper, self.local_budget, self.deletions, limit)
            for which in range(self.network.n_classes - 1)
        ]
        return min((flips for flips in tried if flips > 0), default=-1)
