"""Ballots one by one: labels, gains and fronts against every way to change the sum, and what files must hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certcore as cc
from certcore import Graph, InputError, Instance, ThreatModel
from certcore.base import ballots as module
from certcore.base.ballots import SHARE, BallotsBase
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, INJECT, TYPES, UNLIMITED
from certcore.domain.threat import read_threat
from certcore.domain.weaker import can_do_no_more
from certcore.program.problem import Problem
from tests.support import random_graph

U = 6


@pytest.fixture(autouse=True)
def small_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNIT", U)


def case(seed: int) -> BallotsBase:
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    graph = random_graph(rng, n, 1, 0.6, directed=bool(seed % 2))
    return BallotsBase(rng.integers(0, U + 1, (n, classes)), int(rng.integers(1, 3)), graph=graph)


def label_of(terms: list[np.ndarray]) -> int:
    return int(np.sum(terms, axis=0).argmax())


def shown_by(classes: int) -> list[np.ndarray]:
    """What a stranger may show: the corners of the box, which decide, and something inside."""
    return [np.array(c) for c in itertools.product((0, U), repeat=classes)] + [np.full(classes, U // 2)]


def changes(base: BallotsBase, node: int) -> Any:
    """Every way to add up to two senders, cut senders off and control others: what was done, and the new label."""
    graph = base._bound
    places = range(graph.adj_indptr[node], graph.adj_indptr[node + 1])
    own = base.weight * base.ballots[node]
    box = shown_by(base.n_classes)
    for states in itertools.product("kcx", repeat=len(places)):  # kept, controlled, cut off
        kept = [base.ballots[graph.adj_indices[p]] for p, state in zip(places, states) if state == "k"]
        cut = [p for p, state in zip(places, states) if state == "x"]
        controlled = [p for p, state in zip(places, states) if state == "c"]
        for new in range(3):
            for strangers in itertools.combinations_with_replacement(box, new + len(controlled)):
                yield new, cut, controlled, label_of([own, *kept, *strangers])


def broken_rows(base: BallotsBase) -> list[str]:
    """Which of the two rows of a node some change violates."""
    found = []
    for node in range(base.n_nodes):
        for new, cut, controlled, label in changes(base, node):
            if label == base.prediction[node]:
                continue
            shares = (
                new * base.share_new[node] + base.share_deleted[cut].sum() + base.share_controlled[controlled].sum()
            )
            counts = new + base.count_deleted[cut].sum() + base.count_controlled[controlled].sum()
            found += ["shares"] * bool(shares < SHARE) + ["counts"] * bool(counts < base.needs[node])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_every_change_of_a_label_satisfies_both_rows(seed: int) -> None:
    assert broken_rows(case(seed)) == []


def _ties_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BallotsBase, "gap", lambda self, c: np.maximum(_gap(self, c) + (self.prediction > c), 1))


def _one_rival(patch: pytest.MonkeyPatch) -> None:
    right = BallotsBase._rivals
    patch.setattr(BallotsBase, "_rivals", lambda self: itertools.islice(right(self), 1, 2))


def _control_as_cutting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BallotsBase, "share_controlled", property(lambda self: self.share_deleted))


def _control_is_one(patch: pytest.MonkeyPatch) -> None:
    right = vars(BallotsBase)["count_controlled"].func
    patch.setattr(BallotsBase, "count_controlled", property(lambda self: np.minimum(right(self), 1)))


def _half_a_gain(patch: pytest.MonkeyPatch) -> None:
    right = vars(BallotsBase)["share_new"].func
    patch.setattr(BallotsBase, "share_new", property(lambda self: right(self) // 2))


def _rounded_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "_share", lambda gain, gap: np.clip(gain * SHARE // gap, 0, SHARE))


def _largest_gap(patch: pytest.MonkeyPatch) -> None:
    right = vars(BallotsBase)["needs"].func
    patch.setattr(BallotsBase, "needs", property(lambda self: right(self) + 1))


_gap = BallotsBase.gap


@pytest.mark.parametrize(
    "mistake", [_ties_kept, _one_rival, _control_as_cutting, _control_is_one, _half_a_gain, _rounded_down, _largest_gap]
)
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    assert any(broken_rows(case(seed)) for seed in range(30))


@pytest.mark.parametrize("seed", range(12))
def test_fronts_are_exact(seed: int) -> None:
    """Without control, a budget is uncertified exactly if some change within it changes the label."""
    base = case(seed)
    for node in range(base.n_nodes):
        able = {(new, len(cut)) for new, cut, control, label in changes(base, node)
                if not control and label != base.prediction[node]}  # fmt: skip
        for added, injected, deleted in itertools.product(range(3), range(3), range(4)):
            budget = np.zeros(len(TYPES), dtype=int)
            budget[[ADJ_ADD, INJECT, ADJ_DEL]] = added, injected, deleted
            if added + injected <= 2:
                falls = any(new <= added + injected and cut <= deleted for new, cut in able)
                assert base.fronts().certified(budget)[node] == (not falls), (node, budget)
        assert not base.fronts().certified((1, 0, 0, 0))[node]


def test_the_path_of_the_design() -> None:
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]))
    base = BallotsBase(np.array([[6, 0], [6, 0], [0, 6], [3, 3]]), 1, graph=graph)
    assert base.prediction.tolist() == [0, 0, 0, 1]
    assert base.needs.tolist() == [3, 2, 1, 1]
    assert base.share_new[:2].tolist() == [-(-6 * SHARE // 13), -(-6 * SHARE // 7)]
    assert base.count_controlled.tolist() == [2, 2, 0, 2, 1, 2]  # 1→0, 0→1, 2→1, 1→2, 3→2, 2→3
    alone = BallotsBase(np.array([[3], [0]]), graph=Graph.from_edges(2, np.array([[0, 1]])))
    assert alone.needs.tolist() == [UNLIMITED] * 2


def instance_of(base: BallotsBase) -> Instance:
    assert base.graph is not None
    return Instance(base.graph, base, layers=1, edge_field="messages")


def test_files_keep_ballots_and_nothing_that_follows_from_them(tmp_path: Path) -> None:
    instance = instance_of(case(3))
    cc.save_instance(tmp_path / "a.npz", instance)
    again = cc.load_instance(tmp_path / "a.npz")
    assert again.digest == instance.digest
    assert set(instance.base.arrays()) == {"ballots", "ballots_weight", "weights_read_edges"}
    assert np.array_equal(again.prediction, instance.prediction)
    assert again.base.graph is again.graph
    with pytest.raises(InputError, match="summed over one hop"):
        Instance(instance.graph, instance.base, layers=2)
    for wrong in (np.full((3, 2), U + 1), np.zeros((3, 2)), np.zeros(3, int)):
        with pytest.raises(InputError, match="ballots"):
            BallotsBase(wrong)
    with pytest.raises(InputError, match="from 1 to"):
        BallotsBase(np.zeros((3, 2), int), 0)


def test_new_nodes_are_a_type_with_a_limit_of_their_own() -> None:
    base = case(2)
    assert base.graph is not None
    threat = ThreatModel(inject=10, inject_edges=5, local_attr_del=0.5, local_mode="relative", protected=[0])
    assert (threat.inject, threat.inject_edges, threat.local_inject) == (10, 5, 5)
    assert ThreatModel.from_json(threat.to_json()).to_json() == threat.to_json()
    assert threat.local_limits(base.graph)[INJECT].min() == UNLIMITED, "old nodes have no limit by that of new ones"
    assert threat.capacities(base.graph)[INJECT].tolist() == [0, *(UNLIMITED,) * (base.n_nodes - 1)]
    less, more = ThreatModel(inject=10, inject_edges=4), ThreatModel(inject=10)
    for weaker, stronger in ((less, more), (less, threat.replace(protected=()))):
        assert can_do_no_more(weaker, stronger, base.graph)
        assert not can_do_no_more(stronger.replace(local_mode="absolute", local_attr_del=None), weaker, base.graph)
    with pytest.raises(InputError, match="expected one number"):
        ThreatModel(inject=3, inject_edges=[1, 2])
    with pytest.raises(InputError, match="give it once"):
        read_threat(None, {"inject": 3, "inject_edges": 1, "local_inject": 2})  # type: ignore[typeddict-unknown-key]


def test_who_says_nothing_about_new_nodes_refuses() -> None:
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.eye(3, dtype=np.int8))
    silent = Instance(graph, cc.GridBase(np.ones((3, 4), dtype=bool), ("attr_del",)), layers=1)
    with pytest.raises(InputError, match="says nothing about new nodes; set inject to 0, or use ballots"):
        cc.certify(silent, attr_del=1, inject=1)
    with pytest.raises(InputError, match="a new node pays for its own edges"):
        Problem(instance_of(case(2)), ThreatModel(inject=1, adj_del=1, sigma=1))
