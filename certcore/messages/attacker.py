"""The threat model in words that fit after “an attacker with”."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.common.exact import decimal_text
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import LABELS, TABLE, TYPES, entry_of
from certcore.domain.threat import MAX_BUDGET, ThreatModel
from certcore.instance.instance import Instance
from certcore.messages.text import Text, budget_words, flips, listing, some, text
from certcore.program.problem import Problem


def ballots_of(instance: Instance) -> BallotsBase | None:
    """The base certificate, if it is ballots."""
    return instance.base if isinstance(instance.base, BallotsBase) else None


def attacks_nothing(threat: ThreatModel, instance: Instance | None = None) -> bool:
    """Whether this attacker can change nothing that a label depends on: no budget, or nothing to spend it on.

    Without the instance, only what the threat model itself shows: local budgets and protected nodes are about the nodes
    and edges of a graph.
    """
    spent = [k for k, (entry, budget) in enumerate(zip(TABLE, threat.budgets)) if budget and not entry.brings_nodes]
    spent = [] if threat.sigma == 0 else spent
    linked = bool(threat.inject) and threat.inject_edges != 0  # a new node without edges is read by no other
    if instance is None or not (spent or linked):
        return not (spent or linked)
    if linked and len(threat.protected) < instance.graph.n_nodes:
        return False
    problem = Problem(instance, threat.replace(inject=0))
    return not any(_one_flip(problem, kind) for kind in spent)


def _one_flip(problem: Problem, kind: int) -> bool:
    """Whether the threat model allows one flip of this type anywhere in the graph."""
    able, graph = problem.capacities[kind] > 0, problem.instance.graph
    if TABLE[kind].at_nodes:
        return bool(able.any())
    inside = able[graph.edges].all(axis=1)  # a flipped edge counts at both ends
    if TABLE[kind].adds_edges:
        free = int(able.sum())
        return int(inside.sum()) < free * (free - 1) // (1 if graph.directed else 2)
    return bool(inside.any())


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
    """Local budgets, σ and protected nodes: all restrictions beside the global budgets."""
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


def rewritten(instance: Instance, threat: ThreatModel) -> int | None:
    """The number of nodes with arbitrary ballots in the program for ballots; None where flips are limited otherwise.

    The program allows any ballot at a node that may change at all, so its counts hold for arbitrary ballots. With local
    budgets the set of nodes that may change is different, and the sentence is about flips.
    """
    flips = threat.attr_add + threat.attr_del
    limited = threat.local_attr_add is not None or threat.local_attr_del is not None
    if ballots_of(instance) is None or not flips or limited:
        return None
    return flips if threat.sigma is None else min(flips, threat.sigma)


def whatever_happens(threat: ThreatModel, shown: int | None, *, directed: bool = False) -> Text:
    """The opening of a guarantee; `shown`: number of nodes with arbitrary ballots, named instead of their flips."""
    if shown is None and not threat.inject:
        return text(f"Whatever an attacker does with **{threat_words(threat, directed=directed)}**: ")
    rest = [0 if entry.at_nodes and shown is not None else n for entry, n in zip(TABLE, _of_old(threat))]
    # Without limits on flips, σ is the number of nodes with arbitrary ballots, which was stated already.
    limits = limits_on(threat if any(rest) else threat.replace(sigma=None), directed=directed)
    # They come last: protected nodes and σ limit flips, rewritten nodes and new nodes alike.
    flipped = f"at most {budget_words(rest)} in the whole graph" if any(rest) else ""
    new = f"{flips(threat.inject, 'inject')} with {_edges_each(threat)}" if threat.inject else ""
    return openings(flipped, shown or 0, new, listing(limits))


def openings(flipped: str, shown: int, new: str, limits: str) -> Text:
    """Nodes show what they like or new ones are added, alone or beside flips."""
    parts = [f"an attacker does with **{flipped}**"] if flipped else []
    if shown:
        parts.append(f"**up to {some(shown, 'node shows', 'nodes show')}**")
    if new:
        done = "is added" if new.startswith("1 ") else "are added"
        parts.append(f"**up to {new} {done}**, with any attributes and any edges among themselves")
    head = ", and whatever ".join(parts)
    return text(f"Whatever {head}{f' (all of it with {limits})' if limits else ''}: ")
