"""Counts and sentences that a hostile reading found to claim too much."""

from __future__ import annotations

import numpy as np
import pytest

import certcore as cc
from certcore import Instance, ThreatModel
from certcore.base.ballots import UNIT, BallotsBase
from certcore.domain.graph import Graph
from certcore.domain.weaker import can_do_no_more
from certcore.messages import guarantee


def test_lengths_without_a_scale_are_not_compared() -> None:
    graph = Graph.from_edges(2, np.array([[0, 1]]), np.ones((2, 1), dtype=int))
    assert not can_do_no_more(ThreatModel(attr_l2="3"), ThreatModel(attr_l2="0.1"), graph)
    assert can_do_no_more(ThreatModel(attr_del=1), ThreatModel(attr_del=2), graph)


@pytest.mark.parametrize(
    ("threat", "limit"),
    [
        ({"adj_del": 1, "attr_add": 1, "sigma": 1}, "control of at most 1 node"),
        ({"adj_del": 1, "attr_add": 1, "protected": [0]}, "no access to 1 protected node"),
        ({"adj_del": 1, "inject": 1, "inject_edges": 1, "protected": [0]}, "no access to 1 protected node"),
    ],
)
def test_limits_close_the_sentence_about_everything_an_attacker_does(threat: dict[str, object], limit: str) -> None:
    graph = Graph.from_edges(4, np.array([[0, 1], [0, 2], [2, 3]]), np.ones((4, 1), dtype=int))
    ballots = np.full((4, 2), [0, UNIT])
    instance = Instance(graph, BallotsBase(ballots), layers=1, edge_field="messages")
    said = str(guarantee(instance, cc.certify(instance, ThreatModel(**threat), attack=False)))  # type: ignore[arg-type]
    opening = said.split(": at least")[0]
    assert opening.endswith(f"(all of it with {limit})"), said
