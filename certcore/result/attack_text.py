"""An integer attack as one line of text, to be replayed: `attr_del@17x3,adj_del@3-5,attacker@17`."""

from __future__ import annotations

import re

import numpy as np

from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES, node_types
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, inadmissible, replay

_FLIP = re.compile(r"(\w+)@(\d{1,9})(?:x(\d{1,9}))?")
_EDGE = re.compile(r"(adj_add|adj_del)@(\d{1,9})-(\d{1,9})")
_ATTACKER = re.compile(r"attacker@(\d{1,9})")


def _names() -> list[str]:
    """The types that are spent at nodes."""
    return [TYPES[k] for k in node_types()]


def attack_text(instance: Instance, threat: ThreatModel, attack: Allocation) -> str:
    """Everything an attack does, and whom it controls where that is limited."""
    parts = []
    for row, name in enumerate(_names()):
        for node in np.flatnonzero(attack.attributes[row]).tolist():
            count = int(attack.attributes[row, node])
            parts.append(f"{name}@{node}" + (f"x{count}" if count > 1 else ""))
    deleted = instance.graph.edges[np.asarray(attack.deleted) > 0]
    for name, edges in (("adj_del", deleted), ("adj_add", np.asarray(attack.added).reshape(-1, 2))):
        parts += [f"{name}@{i}-{j}" for i, j in edges.tolist()]
    if threat.sigma is not None:
        parts += [f"attacker@{node}" for node in np.flatnonzero(np.asarray(attack.attackers) > 0.5).tolist()]
    return ",".join(parts) or "nothing"


def read_attack(instance: Instance, threat: ThreatModel, text: str) -> Allocation:
    """Replay an attack given as text; one that the threat model does not allow is refused."""
    graph = instance.graph
    attributes = np.zeros((len(_names()), graph.n_nodes), dtype=np.int64)
    deleted = np.zeros(graph.n_edges, dtype=np.int64)
    added: list[tuple[int, int]] = []
    control = np.zeros(graph.n_nodes)
    number = {tuple(edge): k for k, edge in enumerate(graph.edges.tolist())}

    def known(word: str) -> int:
        if int(word) >= graph.n_nodes:
            raise InputError(f"the attack names node {word}; expected 0 to {graph.n_nodes - 1}")
        return int(word)

    for part in () if text == "nothing" else text.split(","):
        if (match := _FLIP.fullmatch(part)) and match[1] in _names():
            attributes[_names().index(match[1]), known(match[2])] += int(match[3] or 1)
        elif match := _EDGE.fullmatch(part):
            i, j = known(match[2]), known(match[3])
            if match[1] == "adj_add":
                added.append((i, j))
            else:
                edge = number.get((i, j), None if graph.directed else number.get((j, i)))
                if edge is None:
                    raise InputError(f"the attack deletes the edge {i}-{j}, which is not in the graph")
                deleted[edge] += 1
        elif match := _ATTACKER.fullmatch(part):
            control[known(match[1])] = 1
        else:
            raise InputError(
                f"{part[:40]!r} is no part of an attack; expected attr_del@NODExCOUNT, adj_del@NODE-NODE or "
                "attacker@NODE"
            )
    if threat.sigma is None:
        control[attributes.sum(axis=0) > 0] = 1
        control[graph.edges[deleted > 0].ravel()] = 1
    problem = Problem(instance, threat)
    found = replay(problem, attributes, deleted, np.array(added, dtype=np.int64).reshape(-1, 2), control)
    reason = inadmissible(problem, found)
    if reason is not None:
        raise InputError(f"the attack is not within the threat model: {reason}")
    return found
