"""Targets whose shares sum to just below one cannot be broken; as rows they would need dual values beyond 64 bits."""

from __future__ import annotations

import numpy as np

from certcore import Graph, Instance, Status, certify, verify_proof
from certcore.base.ballots import UNIT, BallotsBase


def pairs(number: int, near: int) -> Instance:
    """Pairs of nodes; in the first `near` ones, one node rests on the other by a share of 1 − 6·2⁻²⁰."""
    graph = Graph.from_edges(2 * number, np.array([(2 * k, 2 * k + 1) for k in range(number)]))
    ballots = np.array([[5, 0], [UNIT - 10, 0]] * near + [[UNIT // 2, 0], [UNIT // 4, 0]] * (number - near))
    return Instance(graph, BallotsBase(ballots), layers=1, edge_field="messages")


def test_the_rest_is_certified() -> None:
    for number, near in ((5, 0), (5, 1), (5, 5)):
        instance = pairs(number, near)
        found = certify(instance, adj_del=2)
        assert found.status is Status.OPTIMAL
        assert found.certified == 2 * number, "no deletion closes a gap"
        assert found.proof is not None
        assert verify_proof(found.proof, instance).accepted
