"""What could make votes come from another network than the given one: state, hooks, fields, wrong fast paths."""

from __future__ import annotations

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
from certcore.domain.perturbations import FLIPS
from certcore.instance.fields import hop_fields
from certcore.models.called import Called
from certcore.models.reading import Unreadable, read_module
from certcore.votes import choose, split
from certcore.votes.agree import alone, fused_agrees, module_agrees
from certcore.votes.function import FunctionVoter
from certcore.votes.module import ModuleVoter, clean_input
from certcore.votes.recognise import fused_voter
from tests.pipeline import architectures
from tests.pipeline.architectures import CASES, DATASET, UNITS, D, N, Two
from tests.pipeline.test_pipeline_architectures import forced_votes

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
        made = choose.fused_voter
        monkeypatch.setattr(
            choose, "fused_voter", lambda *given: replace(v := made(*given), weights1=v.weights1 * np.float32(1.01))
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


def brute_force(model, theta, samples=16):
    """The model itself, a new copy for every sample; or a refusal, which is fine as well."""
    return forced_votes(model, Noise.of([theta.get(kind, 0) for kind in FLIPS]), samples)


def refused_or_brute_force(model, **options):
    """The sentence with which a model is refused, or None if its votes are those of brute force."""
    theta = {key: value for key, value in options.items() if key in FLIPS}
    try:
        found = cc.smooth(model, DATASET, samples=16, selection=3, **options)
    except InputError as why:
        return str(why)
    assert np.abs(found.base.votes - brute_force(model, theta)).sum() <= 2
    return None


def test_a_function_that_trains_is_refused_or_votes_as_it_does():
    net = architectures.Residual().eval()

    def trains(x, edge_index):
        return net.train()(x, edge_index)

    assert "reads more" in refused_or_brute_force(trains, layers=2, attr_add=0.1, attr_del=0.3)
    refused_or_brute_force(trains, layers=2, check=False, attr_add=0.1, attr_del=0.3)
    assert not cc.check_field(trains, DATASET, layers=2)


def test_a_function_that_remembers_is_refused_every_time():
    """It cannot be copied and forgets nothing, so its scores are the same for other edges."""
    for model in (architectures.remembering(), architectures.remembering(lambda edges: edges.shape)):
        for _ in range(2):
            with pytest.raises(InputError, match="same scores for other edges"):
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
def test_a_class_that_counts_for_all_its_modules_votes_as_it_does(way):
    for _ in range(2):
        assert refused_or_brute_force(Shared(way), layers=2, attr_add=0.1, attr_del=0.3) is None


class Late(Two):
    """Answers otherwise from some call on; as a module, it takes the number of its calls with it."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.calls, self.after = 0, after

    def forward(self, x, edge_index):
        self.calls += 1
        scores = super().forward(x, edge_index)
        return scores if self.calls <= self.after else scores.flip(1)


@pytest.mark.parametrize("after", [1, 2, 3, 10, 25, 100])
@pytest.mark.parametrize("check", [True, False])
def test_state_that_shows_later(after, check):
    """A module is copied for every call; a function that changes while it votes is refused."""
    options = {"layers": 2, "attr_add": 0.1, "attr_del": 0.3, "check": check}
    said = refused_or_brute_force(Late(after), **options)
    assert said is None or after <= 10, "the check of the field calls it a few times"
    late = Late(after).eval()
    said = refused_or_brute_force(lambda x, edge_index: late(x, edge_index), **options)
    assert said is None or "votes" in said or "scores" in said or "seen before" in said


def test_state_that_depends_on_the_number_of_nodes():
    """It answers by the first size it has seen, so a batch would get other scores than a sample alone."""

    class Sized(Two):
        def __init__(self):
            super().__init__()
            self.first = None

        def forward(self, x, edge_index):
            self.first = self.first or len(x)
            scores = super().forward(x, edge_index)
            return scores if len(x) == self.first else scores.flip(1)

    net = Sized().eval()
    for model in (Sized(), lambda x, edge_index: net(x, edge_index)):
        for size in (None, 4):
            said = refused_or_brute_force(model, layers=2, attr_add=0.1, attr_del=0.3, batch_size=size)
            assert said is None or "side by side" in said


def test_a_class_patched_between_two_runs_of_one_checkpoint(tmp_path, monkeypatch):
    model = Two()
    options = OPTIONS | {"checkpoint": tmp_path / "votes.npz", "layers": 2, "check": False}
    model.note = lambda: None  # cannot be pickled, so the model itself votes
    cc.smooth(model, DATASET, **options)
    forward = Two.forward
    monkeypatch.setattr(Two, "forward", lambda self, x, edge_index: forward(self, x, edge_index).flip(1))
    with pytest.raises(InputError, match="another model"):
        cc.smooth(model, DATASET, **options)


def test_the_global_generators_are_left_alone():
    class Drawing(Two):
        def forward(self, x, edge_index):
            torch.rand(3), np.random.rand(3)  # noqa: NPY002
            return super().forward(x, edge_index)

    models = Drawing(), Drawing().eval()
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    cc.smooth(models[0], DATASET, layers=2, **OPTIONS)
    cc.check_field(models[1], DATASET, layers=2)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


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
