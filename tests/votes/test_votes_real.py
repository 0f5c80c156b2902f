"""Graphs whose attributes are numbers: every way to count votes reads them, and files and checkers carry them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GAT, GCN, GraphSAGE

import certcore as cc
from certcore.common.errors import InputError
from certcore.common.npz import read_npz
from certcore.data import from_pyg
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.instance.instance import instance_from_arrays, instance_to_arrays
from certcore.models.base import Edges
from certcore.votes.function import FunctionVoter
from certcore.votes.fused import FusedVoter
from certcore.votes.module import ModuleVoter
from certcore.votes.purposes import ESTIMATION
from certcore.votes.sampler import Sampler
from experiments.networks.voters import make_voter
from experiments.training import train
from tests.checker.cases import accepts, as_seen
from tests.votes import votes_support as support

NOISE = Noise(("0", "0", "0", "0.4"))
BINARY = support.DATASET.graph


def real_graph(seed: int = 0) -> Graph:
    """The small graph of the vote tests with numbers of either sign in the place of its ones."""
    rng = np.random.default_rng(seed)
    return BINARY.with_attributes(BINARY.attributes.toarray() * rng.normal(0.5, 1, (BINARY.n_nodes, BINARY.n_attrs)))


GRAPH = real_graph()


def own_scores(model, graph: Graph, sample: int, seed: int) -> np.ndarray:
    """The network on one drawn graph, written out: X as a dense table, and nothing of the fast ways."""
    edges = Edges.stack(graph.n_nodes, [Sampler(graph, NOISE).edges(seed, ESTIMATION, sample)])
    with torch.no_grad():
        units = torch.from_numpy(graph.attributes.toarray()) @ model.first
        return model.head(units, edges).numpy()


@pytest.mark.parametrize("name", ["gcn", "gcn_mean", "gat", "rgcn", "sma"])
def test_all_networks_vote_on_the_numbers(name):
    model = support.random_model(name)
    voter = make_voter(model, GRAPH, NOISE, 5)
    votes = voter.count(ESTIMATION, 0, 24)
    plain = np.zeros_like(votes)
    for sample in range(24):
        plain[np.arange(GRAPH.n_nodes), own_scores(model, GRAPH, sample, 5).argmax(axis=1)] += 1
    assert abs(votes - plain).sum() <= 4  # ties within rounding
    assert abs(votes - make_voter(model, BINARY, NOISE, 5).count(ESTIMATION, 0, 24)).sum() > 100  # ones vote otherwise
    assert voter.digest != make_voter(model, real_graph(1), NOISE, 5).digest
    parts = voter.count(ESTIMATION, 0, 7) + voter.count(ESTIMATION, 7, 17)
    assert np.array_equal(parts, votes)


def test_functions_and_modules_read_the_numbers():
    seen = []
    FunctionVoter(GRAPH, NOISE, 0, lambda x, a: seen.append(x) or np.zeros(GRAPH.n_nodes, dtype=int), 2).count(0, 0, 1)
    assert np.array_equal(seen[0].toarray(), GRAPH.attributes.toarray())
    assert seen[0].dtype == np.float32
    data = Data(x=torch.from_numpy(GRAPH.attributes.toarray()), edge_index=Edges.of(GRAPH).index)
    kinds = set()
    for kind in (GCN, GAT, GraphSAGE):
        torch.manual_seed(0)
        model = kind(GRAPH.n_attrs, 16, 2, 4).eval()
        instance = cc.smooth(model, data, adj_del=0.4, samples=50, selection=10, keep_values=True)
        assert "votes_note" not in instance.meta  # the fast way agreed with the model's own forward pass
        assert instance.graph.real
        voter = ModuleVoter(GRAPH, NOISE, 0, cc_called(model), 4)
        assert abs(instance.base.votes - voter.count(ESTIMATION, 0, 50)).sum() <= 4
        kinds.add(kind)
    assert len(kinds) == 3


def cc_called(model):
    from certcore.models.called import Called

    return Called(model, None, "edge_index").eval()


def test_training_reads_the_numbers():
    dataset = replace(support.DATASET, graph=GRAPH)
    first, second = (train(replace(dataset, graph=g), "gcn", NOISE, epochs=5).model for g in (GRAPH, BINARY))
    assert not torch.equal(first.first, second.first)
    assert isinstance(make_voter(first, GRAPH, NOISE, 0), FusedVoter)
    with pytest.raises(InputError, match="attr_l2"):
        train(dataset, "gcn", NOISE, epochs=1, robust=True)


def test_numbers_are_kept_only_if_asked_for():
    data = Data(
        x=torch.tensor([[0.5, 0.0], [1.0, 2.0]]), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1])
    )
    with pytest.raises(InputError, match=r"keep_values=True.*binarize=True"):
        from_pyg(data, "two")
    with pytest.raises(InputError, match="ask for one"):
        from_pyg(data, "two", keep_values=True, binarize=True)
    assert from_pyg(data, "two", keep_values=True).graph.attributes.toarray().tolist() == [[0.5, 0], [1, 2]]
    assert not from_pyg(data, "two", binarize=True).graph.real
    data.x = (data.x > 0).float()
    assert not from_pyg(data, "two", keep_values=True).graph.real  # floats that are bits stay bits


def edge_instance(graph: Graph) -> cc.Instance:
    rng = np.random.default_rng(1)
    votes = rng.multinomial(2000, (0.9, 0.1), size=graph.n_nodes)
    base = cc.SmoothingBase(votes, np.zeros(graph.n_nodes, dtype=int), 2000, "0.01", NOISE.theta)
    return cc.Instance(graph, base, layers=1)


def test_flips_of_numbers_are_refused():
    instance = edge_instance(GRAPH)
    with pytest.raises(InputError, match="attr_l2"):
        cc.certify(instance, attr_del=1)
    with pytest.raises(InputError, match="attr_l2"):
        cc.Instance(GRAPH, cc.GridBase(np.ones((GRAPH.n_nodes, 2), dtype=bool), ("attr_add",)), layers=1)
    with pytest.raises(InputError, match="attr_l2"):
        Sampler(GRAPH, Noise(("0", "0.1", "0", "0")))
    assert cc.certify(instance, adj_del=1).certified > 0


def test_files_and_the_small_checker_carry_the_numbers(tmp_path):
    instance = edge_instance(GRAPH)
    cc.save_instance(tmp_path / "sparse.npz", instance)
    arrays = read_npz(tmp_path / "sparse.npz")
    back = cc.load_instance(tmp_path / "sparse.npz")
    assert back.digest == instance.digest
    assert np.array_equal(back.graph.attr_values, GRAPH.attr_values)
    dense = {key: value for key, value in arrays.items() if not key.startswith("attr_")}
    dense["attr_dense"] = GRAPH.attributes.toarray()
    assert instance_from_arrays(dense).digest == instance.digest
    apart = edge_instance(GRAPH.without_attributes())
    arrays = instance_to_arrays(apart)
    assert "attr_values" not in arrays
    assert len(str(arrays["attr_digest"])) == 64
    assert apart.graph.digest == GRAPH.digest != BINARY.digest
    assert instance_from_arrays(arrays).digest == apart.digest
    with pytest.raises(InputError, match="left out"):
        _ = apart.graph.attributes
    for one in (instance, apart, instance_from_arrays(dense)):
        proof = cc.certify(one, adj_del=2).proof
        assert accepts(proof, as_seen(one))
    other = edge_instance(real_graph(1))
    assert not accepts(cc.certify(other, adj_del=2).proof, as_seen(instance))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attr_values": np.zeros(GRAPH.attr_indices.shape, np.float32)}, "contains 0"),
        ({"attr_values": np.full(GRAPH.attr_indices.shape, np.nan)}, "NaN"),
        ({"attr_values": np.full(GRAPH.attr_indices.shape, 1e300)}, "32 bits"),
        ({"attr_values": np.ones(3)}, "one number for each"),
        ({"attr_dense": np.ones((2, 2))}, "one form"),
        ({"attr_digest": np.array("a" * 64)}, "one form"),
    ],
)
def test_broken_files_are_refused(change, words):
    arrays = instance_to_arrays(edge_instance(GRAPH)) | change
    with pytest.raises(InputError, match=words):
        instance_from_arrays(arrays)


def test_unsorted_entries_keep_their_values():
    graph = Graph(2, 3, [0, 0, 0], [], [0, 2, 3], [2, 0, 1], attr_values=[5.0, 6.0, 7.0])
    assert graph.attributes.toarray().tolist() == [[6, 0, 5], [0, 7, 0]]


def test_digests_of_binary_graphs_stay():
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.eye(3, dtype=int))
    assert graph.digest == "d90ce9ac6103621fec461955bc3c7639ae9e31c839ba395104a1c0b33ea2d1dc"


def test_the_field_of_a_network_on_numbers_is_checked():
    data = (GRAPH.attributes, GRAPH.adjacency)
    torch.manual_seed(0)
    model = GCN(GRAPH.n_attrs, 8, 2, 4).eval()
    assert cc.check_field(model, data, keep_values=True)
    found = cc.check_field(model, data, layers=1, keep_values=True)
    assert not found
    assert "attributes changed outside the field" in str(found)
