"""What could make votes come from another network than the given one: state, hooks, fields, wrong fast paths."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
import torch_geometric.nn as geometric
from torch import nn

import certcore as cc
from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.instance.fields import hop_fields
from certcore.models.called import Called
from certcore.models.reading import Unreadable, read_module
from certcore.votes import recognise, split
from certcore.votes.agree import alone, fused_agrees, module_agrees
from certcore.votes.function import FunctionVoter
from certcore.votes.module import ModuleVoter, clean_input
from certcore.votes.recognise import fused_voter
from tests.pipeline import architectures
from tests.pipeline.architectures import CASES, DATASET, UNITS, D, N, Two

OPTIONS = {"attr_add": 0.1, "attr_del": 0.3, "samples": 10, "selection": 3}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)
    torch.set_num_threads(1)


def test_global_hooks_and_autocast_are_refused():
    handle = nn.modules.module.register_module_forward_hook(lambda module, given, answer: None)
    try:
        for ask in (lambda: cc.smooth(Two(), DATASET, **OPTIONS), lambda: cc.check_field(Two().eval(), DATASET)):
            with pytest.raises(InputError, match="global forward hook"):
                ask()
    finally:
        handle.remove()
    with torch.autocast("cpu"), pytest.raises(InputError, match="autocast"):
        cc.smooth(Two(), DATASET, **OPTIONS)


@pytest.mark.parametrize("way", ["fused", "split"])
def test_a_fast_way_that_computes_another_network_is_not_used(way, monkeypatch):
    """Whatever fools the recognition: the comparison finds it, the model itself votes, and a note says so."""
    model = Two() if way == "fused" else geometric.GraphSAGE(D, UNITS, 2, 3)
    expected = cc.smooth(model, DATASET, **OPTIONS)
    assert "votes_note" not in expected.meta
    if way == "fused":
        made = recognise.fused_voter
        monkeypatch.setattr(
            recognise, "fused_voter", lambda *given: replace(v := made(*given), weights1=v.weights1 * np.float32(1.01))
        )
    else:
        monkeypatch.setattr(split, "_agrees", lambda *given: True)
        shift = split._Shift.forward
        monkeypatch.setattr(split._Shift, "forward", lambda self, values: shift(self, values) * 1.01)
    found = cc.smooth(model, DATASET, **OPTIONS)
    assert "gave other scores than the model" in found.meta["votes_note"]
    assert np.abs(found.base.votes - expected.base.votes).sum() <= 2


def test_comparisons_can_tell():
    """One weight of the kernel that is wrong by a thousandth of its size, one unit of a batch that leaks."""
    graph, noise = DATASET.graph, Noise(("0.1", "0.3", "0", "0.2"))
    called = Called(Two()).eval()
    plain = ModuleVoter(graph, noise, 0, called, 3)
    kernel = fused_voter(read_module(called, *clean_input(graph)), graph, noise, 0)
    assert fused_agrees(kernel, plain)
    weights = kernel.weights2.copy()
    weights[0, 0] += 0.01
    assert not fused_agrees(replace(kernel, weights2=weights), plain)
    pooled = ModuleVoter(graph, noise, 0, Called(architectures.Normed(geometric.GraphNorm(UNITS))).eval(), 3, 4)
    assert not module_agrees(pooled)
    assert module_agrees(alone(pooled))


@pytest.mark.parametrize(("layers", "rule"), [(1, None), (2, "messages"), (0, "degrees")])
def test_a_declared_field_below_the_derived_one_is_refused(layers, rule):
    with pytest.raises(InputError, match=f"layers={layers} and edge_field.*layers=2 and edge_field='degrees'"):
        cc.smooth(Two(), DATASET, layers=layers, edge_field=rule, check=False, **OPTIONS)
    assert cc.smooth(Two(), DATASET, layers=3, edge_field="messages", check=False, **OPTIONS).layers == 3


def test_check_field_refuses_it_also_where_no_flip_was_found():
    """On three nodes one layer is everything, so there is nothing to flip outside."""
    whole = Graph.from_edges(3, np.array([[0, 1], [1, 2], [0, 2]]), np.ones((3, D), dtype=np.int8))
    with pytest.raises(InputError, match="reads more than the declared field"):
        cc.check_field(Two().eval(), whole, layers=1)


def test_checks_of_nothing_are_refused_and_derived_fields_are_called_so():
    for nothing in ({"graphs": 0}, {"nodes": 0}):
        with pytest.raises(InputError, match="from 1 to"):
            cc.check_field(Two().eval(), DATASET, **nothing)
    assert "derived field" in str(cc.check_field(Two().eval(), DATASET, nodes=2, graphs=1))
    assert "declared field" in str(cc.check_field(Two().eval(), DATASET, layers=2, nodes=2, graphs=1))


def test_statistics_of_a_module_behind_a_function_stay_as_they_were():
    net = architectures.Residual().eval()
    before = {key: value.clone() for key, value in net.state_dict().items()}

    def trains(x, edge_index):
        return net.train()(x, edge_index)

    for ask in (cc.smooth, cc.check_field):
        options = OPTIONS if ask is cc.smooth else {}
        with contextlib.suppress(InputError):  # refused, or found to read more
            ask(trains, DATASET, layers=2, **options)
        assert not net.training
        assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())


def test_a_function_that_remembers_is_refused_every_time():
    """The first attempt must not leave our graph in its memory, where the second would not see a change any more."""
    model = architectures.remembering()
    for _ in range(2):
        with pytest.raises(InputError, match="changes what it refers to"):
            cc.smooth(model, DATASET, adj_del=0.3, layers=2, samples=5, selection=2)


def test_a_model_that_changes_between_first_and_last_vote_is_refused():
    """The number inside a counter cannot be read, so the count of calls is found by asking again."""
    net, calls = Two().eval(), itertools.count()

    def drifts(x, edge_index):
        scores = net(x, edge_index)
        return scores if next(calls) < 60 else scores.flip(1)

    with pytest.raises(InputError, match="after it has voted"):
        cc.smooth(drifts, DATASET, layers=2, check=False, **(OPTIONS | {"samples": 100}))


class Shared(nn.Module):
    seen: ClassVar[list[int]] = []
    total = 0

    def __init__(self, way):
        super().__init__()
        self.net, self.way = Two(), way

    def forward(self, x, edge_index):
        if self.way == "list":
            Shared.seen.append(1)
        else:
            Shared.total += 1
        return self.net(x, edge_index)


@pytest.mark.parametrize("way", ["list", "number"])
def test_a_class_that_remembers_for_all_its_modules_is_refused(way):
    for _ in range(2):
        with pytest.raises(InputError, match="changes what it refers to"):
            cc.smooth(Shared(way), DATASET, layers=2, **OPTIONS)
        assert (Shared.seen, Shared.total) == ([], 0)


def test_a_class_patched_for_everybody_is_not_read(monkeypatch):
    model, message = Called(Two()).eval(), geometric.GCNConv.message
    monkeypatch.setattr(geometric.GCNConv, "message", lambda self, *given, **named: message(self, *given, **named) * 2)
    with pytest.raises(Unreadable, match="replaced"):
        read_module(model, *clean_input(DATASET.graph))


def test_functions_get_attributes_in_one_order():
    """A sample that can come from two graphs must look the same from both: kept ones do not come first."""
    seen = []

    def label(attributes, adjacency):
        seen.append(attributes.indices.copy())
        assert attributes.has_sorted_indices
        return np.zeros(attributes.shape[0], dtype=int)

    FunctionVoter(DATASET.graph, Noise(("0.3", "0.3", "0", "0")), 0, label, 2).count(0, 0, 3)
    assert len(seen) == 3


def test_layers_without_weights_are_refused():
    with pytest.raises(InputError, match="lazy layers"):
        cc.smooth(geometric.GCNConv(-1, 3), DATASET, **OPTIONS)


PATH = Graph.from_edges(
    N,
    np.stack([np.arange(N - 1), np.arange(1, N)], axis=1),
    np.random.default_rng(3).integers(0, 2, (N, D)).astype(np.int8),
)
DERIVED = [name for name, case in CASES.items() if not case.declared and not case.refused and "cached" not in name]


@pytest.mark.parametrize("name", DERIVED)
def test_derived_fields_hold_what_is_read(name):
    """Every row of attributes replaced and every edge deleted, on a path that is longer than any field."""
    model = Called(CASES[name].make()).eval().double()
    x, index = clean_input(PATH)
    reading = read_module(model, x.double(), index)
    fields = hop_fields(PATH, np.arange(N), reading.layers, reading.edge_field)
    near, links = fields.nodes.toarray() > 0, fields.edges.toarray() > 0
    assert not near.all()

    def scores(rows, edges):
        with torch.no_grad():
            return model(rows.double(), edges).numpy()

    clean, moved_some = scores(x, index), 0
    for node in range(N):
        other = x.clone()
        other[node] = 1 - other[node]
        moved = np.abs(scores(other, index) - clean).max(axis=1) > 1e-9
        assert not (moved & ~near[:, node]).any()
        moved_some += moved.sum()
    for number, (one, two) in enumerate(PATH.edges):
        gone = ((index[0] == one) & (index[1] == two)) | ((index[0] == two) & (index[1] == one))
        moved = np.abs(scores(x, index[:, ~gone]) - clean).max(axis=1) > 1e-9
        assert not (moved & ~links[:, number]).any()
    assert moved_some > N, "flips inside are seen"
