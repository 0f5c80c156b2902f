"""The threat model in words that fit after “an attacker with”."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from certcore.common.exact import decimal_text
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TABLE, TYPES, entry_of, node_types
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.messages.registry import sentence, template
from certcore.messages.text import Piece, Text, budget_words, count, flips, listing, message, some, strong


def attacks_nothing(threat: ThreatModel) -> bool:
    """Whether this attacker can do nothing at all: no budget, or no node to use it from."""
    return not any(threat.budgets) or (threat.sigma == 0 and not threat.inject)


def threat_words(threat: ThreatModel, *, directed: bool = False) -> str:
    """The threat model in words; for `directed` graphs it also says which edges a local budget counts."""
    if not any(threat.budgets):
        return "no budget"
    flipped = [f"at most {budget_words(_of_old(threat))} in the whole graph"] if any(_of_old(threat)) else []
    return ", ".join([*flipped, *_moves(threat), *_new_nodes(threat), *limits_on(threat, directed=directed)])


def _of_old(threat: ThreatModel) -> list[int]:
    """The budgets of flips in the existing graph, without injected nodes and lengths."""
    return [0 if entry.brings_nodes or entry.lengths else budget for entry, budget in zip(TABLE, threat.budgets)]


def _moves(threat: ThreatModel) -> list[str]:
    """The lengths of attribute moves, with all digits: a rounded length could overstate the guarantee."""
    if threat.attr_l2_sum:
        return [f"changes of the attributes whose norms, row by row, sum to at most {decimal_text(threat.attr_l2_sum)}"]
    if threat.attr_l2:
        return [f"changes of the attributes whose squares sum to at most {decimal_text(threat.attr_l2)}²"]
    return []


def _new_nodes(threat: ThreatModel) -> list[str]:
    """The injected nodes, and what the attacker may choose about them."""
    return [f"up to {flips(threat.inject, 'inject')} with {_each(threat)}"] if threat.inject else []


def _each(threat: ThreatModel) -> str:
    return f"{_edges_each(threat)}, with any attributes and any edges among themselves"


def _edges_each(threat: ThreatModel) -> str:
    edges = threat.inject_edges
    return "any edges" if edges is None else f"up to {some(edges, 'edge', 'edges')} each"


def short_threat(threat: ThreatModel, *, directed: bool = False) -> str:
    """The threat model without “at most … in the whole graph”, which a slider shows; every limit is named."""
    others = [*_moves(threat), *_new_nodes(threat)]
    flipped = [budget_words(_of_old(threat))] if any(_of_old(threat)) or not others else []
    return ", ".join([*flipped, *others, *limits_on(threat, directed=directed)])


def beside(threat: ThreatModel, vary: str, *, directed: bool = False) -> str:
    """The rest of the threat model beside the varied parameter (a type or σ); empty if there is nothing else."""
    if vary in TYPES and entry_of(vary).lengths:
        at_all = threat.with_types([TYPES.index(vary)])
    else:
        at_all = threat.replace(**{vary: MAX_BUDGET if vary in TYPES else None})  # so that every limit is listed
    others = [0 if kind == vary else budget for kind, budget in zip(TYPES, _of_old(threat))]
    budgets = [f"at most {budget_words(others)} in the whole graph"] if any(others) else []
    new = [f"new nodes with {_each(threat)}"] if vary == "inject" else _new_nodes(threat)
    moves = _moves(threat) if vary != "attr_l2" else []
    return ", ".join([*budgets, *moves, *new, *limits_on(at_all, directed=directed)])


def limits_on(threat: ThreatModel, *, directed: bool = False) -> list[str]:
    """Local budgets, σ, protected nodes and costs: all restrictions beside the global budgets."""
    parts = []
    for kind, value, budget in zip(TYPES, threat.local, threat.budgets):
        # A local budget of at least the global one restricts nothing.
        if (
            value is not None
            and not entry_of(kind).brings_nodes
            and budget
            and (
                entry_of(kind).lengths or threat.local_mode == LocalMode.RELATIVE or np.min(np.asarray(value)) < budget
            )
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
    if costs:  # then budgets are total costs, not numbers of flips
        parts.append(f"each flip weighed by its cost ({listing(costs)})")
    return parts


def _local(value: Any, kind: str, mode: str) -> str:
    if entry_of(kind).lengths:
        if np.ndim(value):
            return "each row moved by no more than the limit given for it"
        own = " × its norm" if mode == LocalMode.RELATIVE else ""
        return f"no row moved by more than {decimal_text(Fraction(value))}{own}"
    if np.ndim(value):
        return f"{LABELS[kind]} at each node up to the limit given for it"
    if mode == LocalMode.RELATIVE:
        has, _ = entry_of(kind).share_words
        # Exact, because a rounded fraction could overstate the guarantee.
        return f"{LABELS[kind]} at any one node of at most {decimal_text(Fraction(value))} × the {has} it has"
    return f"no more than {flips(value, kind)} at any one node"


def whatever_happens(threat: ThreatModel, shown: int | None, *, directed: bool = False) -> Text:
    """The opening of a guarantee; `shown`: number of nodes with arbitrary ballots, named instead of their flips."""
    if shown is None and not threat.inject:
        return whatever(threat_words(threat, directed=directed))
    rest = [0 if entry.at_nodes and shown is not None else n for entry, n in zip(TABLE, _of_old(threat))]
    # Without limits on flips, σ is the number of nodes with arbitrary ballots, which was stated already.
    limits = limits_on(threat if any(rest) else threat.replace(sigma=None), directed=directed)
    # They come last: protected nodes and σ limit flips, rewritten nodes and new nodes alike.
    flipped = f"at most {budget_words(rest)} in the whole graph" if any(rest) else ""
    new = f"{flips(threat.inject, 'inject')} with {_edges_each(threat)}" if threat.inject else ""
    return openings(flipped, shown or 0, new, listing(limits))


@sentence(
    "attacker.new", "nodes show what they like or new ones are added, alone or beside flips",
    "", 0, "10 new nodes with up to 5 edges each", "",
    others=(("", 5, "", ""), ("at most 3 edge additions in the whole graph", 5, "", ""),
            ("", 0, "1 new node with any edges", "no access to 2 protected nodes")),
)  # fmt: skip
def openings(flipped: str, shown: int, new: str, limits: str) -> Text:
    parts: list[list[Piece | str]] = []
    if flipped:
        parts.append(["an attacker does with ", strong(flipped)])
    if shown:
        parts.append([strong(f"up to {some(shown, 'node shows', 'nodes show')}")])
    if new:
        done = "is added" if new.startswith("1 ") else "are added"
        parts.append([strong(f"up to {new} {done}"), ", with any attributes and any edges among themselves"])
    pieces = [piece for k, part in enumerate(parts) for piece in (", and whatever " if k else "Whatever ", *part)]
    return message(*pieces, f" (all of it with {limits})" if limits else "", ": ")


whatever = template(
    "attacker.any", "an attacker with a budget is faced",
    "Whatever an attacker does with **{threat}**: ", threat="at most 5 attribute deletions in the whole graph",
)  # fmt: skip
without = template("attacker.none", "no budget is set, or the attacker controls no node", "**Without any attack**: ")
