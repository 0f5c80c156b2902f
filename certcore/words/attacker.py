"""What the attacker may do, in words that fit after “an attacker with”."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.exact import decimal_text
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TYPES, entry_of, node_types
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.words.registry import sentence
from certcore.words.text import Text, budget_words, count, flips, listing, say, some, strong


def attacks_nothing(threat: ThreatModel) -> bool:
    """Whether this attacker can do nothing at all: no budget, or no node to use it from."""
    return not any(threat.budgets) or threat.sigma == 0


def threat_words(threat: ThreatModel, *, directed: bool = False) -> str:
    """What the attacker may do; `directed` graphs need a word on which edges a local budget counts."""
    if not any(threat.budgets):
        return "no budget"
    return ", ".join([f"at most {budget_words(threat.budgets)} in the whole graph", *_limits(threat, directed)])


def beside(threat: ThreatModel, vary: str, *, directed: bool = False) -> str:
    """All that holds for the attacker beside what is varied (a type or σ); empty if nothing else does."""
    at_all = threat.replace(**{vary: MAX_BUDGET if vary in TYPES else None})  # so that every limit there is, is told
    others = [0 if kind == vary else budget for kind, budget in zip(TYPES, threat.budgets)]
    told = [f"at most {budget_words(others)} in the whole graph"] if any(others) else []
    return ", ".join([*told, *_limits(at_all, directed)])


def _limits(threat: ThreatModel, directed: bool) -> list[str]:
    """Local budgets, σ, protected nodes and costs: all that restrains an attacker beside the global budgets."""
    parts = []
    for kind, value, budget in zip(TYPES, threat.local, threat.budgets):
        # A limit that the global budget keeps anyway is no news.
        if (
            value is not None
            and budget
            and (threat.local_mode == LocalMode.RELATIVE or np.min(np.asarray(value)) < budget)
        ):
            of_edges = directed and not entry_of(kind).at_nodes
            both = " (incoming and outgoing edges together)" if of_edges else ""
            parts.append(_local(value, kind, threat.local_mode) + both)
    if threat.sigma is not None:
        parts.append("control of " + (f"at most {some(threat.sigma, 'node', 'nodes')}" if threat.sigma else "no node"))
    if len(threat.protected):
        parts.append(f"no access to {some(len(threat.protected), 'protected node', 'protected nodes')}")
    costs = [
        f"{what} at most {count(np.max(values))}"
        for what, values, used in (
            ("a flip at a node", threat.node_costs, any(threat.budgets[k] for k in node_types())),
            ("the deletion of an edge", threat.edge_costs, threat.adj_del),
        )
        if values is not None and used and np.max(values, initial=1) > 1
    ]
    if costs:  # such budgets are prices, not numbers of flips
        parts.append(f"each flip weighed by its cost ({listing(costs)})")
    return parts


def _local(value: Any, kind: str, mode: str) -> str:
    if np.ndim(value):
        return f"{LABELS[kind]} at each node up to the limit given for it"
    if mode == LocalMode.RELATIVE:
        has, _ = entry_of(kind).share_words
        # Rounded, the share would promise too much.
        return f"{LABELS[kind]} at any one node of at most {decimal_text(Fraction(value))} × the {has} it has"
    return f"no more than {flips(value, kind)} at any one node"


@sentence("attacker.any", "an attacker with a budget is faced", "at most 5 attribute deletions in the whole graph")
def whatever(threat: str) -> Text:
    return say("Whatever an attacker does with ", strong(threat), ": ")


@sentence("attacker.none", "no budget is set, or the attacker controls no node")
def without() -> Text:
    return say(strong("Without any attack"), ": ")
