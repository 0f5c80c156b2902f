"""Comparing attackers: a bound may be taken over, and an attack held against a count, only from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from certcore.domain.graph import Graph
from certcore.domain.threat import ThreatModel


def can_do_no_more(weaker: ThreatModel, stronger: ThreatModel, graph: Graph) -> bool:
    """Whether every attack within the first threat model is one within the second; False where that is not plain.

    Then a bound for the second holds for the first, and an attack found for the first refutes a count of the second.
    Everything but the targets is compared: global budgets, σ, protected nodes, costs, and what each node can take.
    """
    if any(mine > theirs for mine, theirs in zip(weaker.budgets, stronger.budgets)):
        return False
    if stronger.sigma is not None and (weaker.sigma is None or weaker.sigma > stronger.sigma):
        return False
    if not np.isin(stronger.protected, weaker.protected).all():
        return False
    costs = ((weaker.node_costs, stronger.node_costs), (weaker.edge_costs, stronger.edge_costs))
    return all(_pays_as_much(*pair) for pair in costs) and _takes_no_more(weaker, stronger, graph)


def _pays_as_much(weaker: Any, stronger: Any) -> bool:
    """Whether no flip is cheaper for the first attacker; without costs every flip costs one."""
    if stronger is None or weaker is stronger:
        return True
    return bool(np.all((1 if weaker is None else np.asarray(weaker)) >= np.asarray(stronger)))


def _takes_no_more(weaker: ThreatModel, stronger: ThreatModel, graph: Graph) -> bool:
    """Whether no node takes more flips of any type under the first; no flip costs less than one."""
    if not stronger.has_local:
        return True
    least, most = (
        np.minimum(threat.capacities(graph), np.array(threat.budgets)[:, None]) for threat in (weaker, stronger)
    )
    return bool((least <= most).all())
