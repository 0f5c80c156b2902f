"""Comparing threat models: bounds carry over to weaker attackers, attacks to stronger ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from certcore.domain.graph import Graph
from certcore.domain.perturbations import TABLE
from certcore.domain.threat import ThreatModel


def can_do_no_more(weaker: ThreatModel, stronger: ThreatModel, graph: Graph) -> bool:
    """Whether every attack within the first threat model is within the second; False if that is not certain.

    Then a bound for the second holds for the first, and an attack of the first is an attack of the second. Global
    budgets, σ, protected nodes and capacities per node are compared. Targets are not.
    """
    budgets = zip(TABLE, weaker.budgets, stronger.budgets)
    lengths = any(entry.lengths and (mine or theirs) for entry, mine, theirs in budgets)
    if lengths and (weaker.scale is None or stronger.scale is None):
        return False  # without a scale every length counts as the largest budget
    if lengths and not _moves_no_further(weaker, stronger, graph.n_nodes):
        return False
    if any(mine > theirs for mine, theirs in zip(weaker.budgets, stronger.budgets)):
        return False
    if stronger.sigma is not None and (weaker.sigma is None or weaker.sigma > stronger.sigma):
        return False
    if not np.isin(stronger.protected, weaker.protected).all():
        return False
    return _takes_no_more(weaker, stronger, graph)


def _moves_no_further(weaker: ThreatModel, stronger: ThreatModel, n_nodes: int) -> bool:
    """Whether the first attacker's lengths are no longer, exactly: units are rounded."""
    most = weaker.attr_l2
    if most > stronger.attr_l2:
        return False
    kind = next(k for k, entry in enumerate(TABLE) if entry.lengths)
    mine: Any = weaker.local[kind]
    theirs: Any = stronger.local[kind]
    if theirs is None or (np.array_equal(mine, theirs) and weaker.local_mode == stronger.local_mode):
        return True
    own = [most**2] * n_nodes if mine is None else weaker.squared_limits(kind, n_nodes)
    return all(min(square, most**2) <= other for square, other in zip(own, stronger.squared_limits(kind, n_nodes)))


def _takes_no_more(weaker: ThreatModel, stronger: ThreatModel, graph: Graph) -> bool:
    """Whether no node's capacity of any type is larger under the first."""
    if not stronger.has_local:
        return True
    for entry, mine, theirs, budget in zip(TABLE, weaker.local, stronger.local, weaker.budgets):
        if entry.brings_nodes and budget and isinstance(theirs, int) and not (isinstance(mine, int) and mine <= theirs):
            return False  # the edge limit of new nodes, which capacities of old nodes do not include
    least, most = (
        np.minimum(threat.capacities(graph), np.array(threat.budgets)[:, None]) for threat in (weaker, stronger)
    )
    return bool((least <= most).all())
