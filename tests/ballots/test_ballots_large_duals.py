"""Targets whose shares sum to just below one take dual values beyond 64 bits; the others' bound must not suffer."""

from __future__ import annotations

import numpy as np

from certcore import Graph, Instance, ThreatModel, certify, verify_proof
from certcore.base.ballots import UNIT, BallotsBase
from certcore.program.ballots import BallotsStructure
from certcore.program.build import build_structure
from certcore.program.problem import Problem


def pairs(number: int, near: int) -> Instance:
    """Pairs of nodes; in the first `near` ones, one node rests on the other by a share of 1 − 6·2⁻²⁰."""
    graph = Graph.from_edges(2 * number, np.array([(2 * k, 2 * k + 1) for k in range(number)]))
    ballots = np.array([[5, 0], [UNIT - 10, 0]] * near + [[UNIT // 2, 0], [UNIT // 4, 0]] * (number - near))
    return Instance(graph, BallotsBase(ballots), layers=1, edge_field="messages")


def test_the_rest_is_certified() -> None:
    for number, near in ((5, 0), (5, 1), (5, 5)):
        instance = pairs(number, near)
        found = certify(instance, adj_del=2)
        assert found.certified >= 2 * number - near, "at most those count as fallen"
        assert found.proof is not None
        assert verify_proof(found.proof, instance).accepted


def test_only_rows_of_such_targets_are_left_out() -> None:
    structure = build_structure(Problem(pairs(5, 1), ThreatModel(adj_del=2)), "tight")
    assert isinstance(structure, BallotsStructure)
    shares = structure.rows["share"]
    small = np.full(structure.matrix.shape[0], 5, dtype=np.int64)
    assert np.array_equal(structure.without_large(small), small)
    one = small.copy()
    one[shares.start] = 1 << 51
    kept = structure.without_large(one)
    assert kept[shares].tolist() == [0] + [5] * (shares.stop - shares.start - 1)
    assert (kept[structure.rows["used"]] == 0).sum() == 1
    assert not structure.without_large(np.full(len(one), 1 << 51))[shares].any()
