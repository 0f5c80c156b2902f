"""An integer attack as one line of text that can be replayed: `attr_del@17x3,adj_del@3-5,attacker@17`."""

from __future__ import annotations

import re

import numpy as np

from certcore.base.ballots import BallotsBase
from certcore.common.errors import InputError
from certcore.domain.perturbations import TYPES, node_types
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, inadmissible, replay

_FLIP = re.compile(r"(\w+)@(\d{1,9})(?:x(\d{1,9}))?")
_EDGE = re.compile(r"(adj_add|adj_del)@(\d{1,9})-(\d{1,9})")
#: An edge of a new node (`inject`), or the class of a rewritten or new node's full ballot (`shows`).
_BALLOT = re.compile(r"(inject|shows)@(\d{1,9})-(\d{1,9})")
_ATTACKER = re.compile(r"attacker@(\d{1,9})")


def _names() -> list[str]:
    """Names of the types that are spent at nodes."""
    return [TYPES[k] for k in node_types()]


def attack_text(instance: Instance, threat: ThreatModel, attack: Allocation) -> str:
    """All changes of an attack and, with σ, its attacker nodes."""
    parts = []
    for row, name in enumerate(_names()):
        for node in np.flatnonzero(attack.attributes[row]).tolist():
            count = int(attack.attributes[row, node])
            parts.append(f"{name}@{node}" + (f"x{count}" if count > 1 else ""))
    deleted = instance.graph.edges[np.asarray(attack.deleted) > 0]
    for name, edges in (("adj_del", deleted), ("adj_add", np.asarray(attack.added).reshape(-1, 2))):
        parts += [f"{name}@{i}-{j}" for i, j in edges.tolist()]
    for name, pairs in (("inject", attack.injected), ("shows", attack.shown)):
        parts += [f"{name}@{i}-{j}" for i, j in np.asarray(pairs).reshape(-1, 2).tolist()]
    if threat.sigma is not None:
        parts += [f"attacker@{node}" for node in np.flatnonzero(np.asarray(attack.attackers) > 0.5).tolist()]
    return ",".join(parts) or "nothing"


def read_attack(instance: Instance, threat: ThreatModel, text: str) -> Allocation:
    """Replay an attack given as text; refuses one that the threat model does not allow."""
    graph = instance.graph
    attributes = np.zeros((len(_names()), graph.n_nodes), dtype=np.int64)
    deleted = np.zeros(graph.n_edges, dtype=np.int64)
    added: list[tuple[int, int]] = []
    ballots: dict[str, list[tuple[int, int]]] = {"inject": [], "shows": []}
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
        elif match := _BALLOT.fullmatch(part):
            if int(match[2]) >= graph.n_nodes + threat.inject:
                raise InputError(
                    f"the attack names node {match[2]}, which is neither in the graph nor among the new ones"
                )
            ballots[match[1]].append((int(match[2]), int(match[3])))
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
    pairs = [np.array(one, dtype=np.int64).reshape(-1, 2) for one in (added, ballots["inject"], ballots["shows"])]
    _check_ballots(instance, *pairs[1:])
    found = replay(problem, attributes, deleted, pairs[0], control, *pairs[1:])
    reason = inadmissible(problem, found)
    if reason is not None:
        raise InputError(f"the attack is not within the threat model: {reason}")
    return found


def _check_ballots(instance: Instance, injected: np.ndarray, shown: np.ndarray) -> None:
    """Refuse edges of new nodes to nodes that do not exist, and classes that do not exist."""
    if not len(injected) + len(shown):
        return
    if not isinstance(instance.base, BallotsBase):
        raise InputError("the attack adds nodes or rewrites ballots, which only instances with ballots know")
    n = instance.graph.n_nodes
    if len(injected) and ((injected[:, 0] < n).any() or (injected[:, 1] >= n).any()):
        raise InputError("the attack joins a new node to no node of the graph; expected inject@NEW-NODE")
    if len(shown) and (shown[:, 1] >= instance.base.n_classes).any():
        raise InputError(f"the attack shows a class above {instance.base.n_classes - 1}; expected shows@NODE-CLASS")
