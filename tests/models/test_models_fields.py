"""Every model reads what it declares and nothing else; the layers are those of torch-geometric."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")
import torch
from torch_geometric.nn import APPNP as PygAppnp
from torch_geometric.nn import GCNConv

from certcore.common.errors import InputError
from certcore.data import citation_like
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.instance.fields import hop_fields
from certcore.models.base import Edges, sparse_product
from experiments.networks.pagerank import truncated_pagerank
from experiments.networks.registry import MODELS, model_class
from experiments.networks.storage import load_model, save_model

torch.set_num_threads(1)
DATASET = citation_like(150, 60, 3, degree=2.6, ones=9, seed=5)
GRAPH = DATASET.graph
ATTR = Noise(("0.01", "0.4", "0", "0"))
JOINT = Noise(("0.01", "0.4", "0", "0.4"))


def build(name: str, noise: Noise = ATTR, seed: int = 0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(name).for_noise(GRAPH.n_attrs, 3, noise)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.4)
    return model.eval()


def scores(model, graph: Graph, copies: int = 1) -> np.ndarray:
    indices = np.tile(graph.attr_indices, copies)
    offsets = np.concatenate([graph.attr_indptr[:-1] + k * len(graph.attr_indices) for k in range(copies)])
    with torch.no_grad():
        return model(torch.from_numpy(indices), torch.from_numpy(offsets), Edges.of(graph, copies)).numpy()


def flip_attributes(graph: Graph, nodes: np.ndarray, rng: np.random.Generator) -> Graph:
    dense = graph.attributes.toarray()
    for node in nodes:
        columns = rng.permutation(graph.n_attrs)[:6]
        dense[node, columns] = 1 - dense[node, columns]
    return Graph.from_edges(graph.n_nodes, graph.edges, dense)


def declared(model, noise: Noise) -> tuple[np.ndarray, np.ndarray | None]:
    """Node fields as a dense matrix, and edge fields (targets × edges) or None where only attributes may change."""
    field = model.field(GRAPH, noise)
    everyone = np.arange(GRAPH.n_nodes)
    if field.node_field is not None:
        return field.node_field.toarray().astype(bool), None
    fields = hop_fields(GRAPH, everyone, field.layers, field.edge_field)
    return fields.nodes.toarray().astype(bool), fields.edges.toarray().astype(bool)


@pytest.mark.parametrize("name", MODELS)
def test_attributes_outside_the_field_do_not_matter(name):
    model = build(name)
    nodes, _ = declared(model, ATTR)
    clean = scores(model, GRAPH)
    rng = np.random.default_rng(0)
    inside = 0
    for target in rng.permutation(GRAPH.n_nodes)[:25]:
        outside = np.flatnonzero(~nodes[target])
        moved = scores(model, flip_attributes(GRAPH, rng.permutation(outside)[:40], rng))
        np.testing.assert_allclose(moved[target], clean[target], atol=2e-5)
        within = np.flatnonzero(nodes[target])
        inside += not np.allclose(scores(model, flip_attributes(GRAPH, within, rng))[target], clean[target], atol=1e-4)
    assert inside >= 20


@pytest.mark.parametrize("name", MODELS)
def test_edges_outside_the_field_do_not_matter(name):
    noise = JOINT
    model = build(name, noise)
    _, fields = declared(model, noise)
    clean = scores(model, GRAPH)
    rng = np.random.default_rng(1)
    for target in rng.permutation(GRAPH.n_nodes)[:20]:
        outside = np.flatnonzero(~fields[target])
        if not len(outside):
            continue
        keep = np.ones(GRAPH.n_edges, dtype=bool)
        keep[rng.permutation(outside)[:30]] = False
        smaller = Graph.from_edges(GRAPH.n_nodes, GRAPH.edges[keep], GRAPH.attributes)
        np.testing.assert_allclose(scores(model, smaller)[target], clean[target], atol=2e-5)


def test_symmetric_gcn_needs_the_degrees_rule_and_the_mean_does_not():
    """The path of four nodes: deleting edge (2, 3) moves the symmetric network's output at node 0."""
    path = np.array([[0, 1], [1, 2], [2, 3]])
    attributes = np.ones((4, GRAPH.n_attrs), dtype=np.int8)
    whole, cut = (Graph.from_edges(4, path[:k], attributes) for k in (3, 2))
    gcn, mean = build("gcn"), build("gcn_mean")
    assert abs(scores(gcn, whole)[0] - scores(gcn, cut)[0]).max() > 1e-4
    np.testing.assert_allclose(scores(mean, whole)[0], scores(mean, cut)[0], atol=1e-6)
    assert gcn.field(whole, JOINT).edge_field == "degrees"
    assert mean.field(whole, JOINT).edge_field == "messages"


@pytest.mark.parametrize("name", MODELS)
def test_copies_side_by_side_do_not_touch(name):
    model = build(name)
    one, three = scores(model, GRAPH), scores(model, GRAPH, copies=3)
    for part in three.reshape(3, GRAPH.n_nodes, -1):
        np.testing.assert_allclose(part, one, atol=2e-5)


def test_gcn_is_the_network_of_torch_geometric():
    model = build("gcn")
    first, second = GCNConv(GRAPH.n_attrs, 64), GCNConv(64, 3)
    with torch.no_grad():
        first.lin.weight.copy_(model.first.T)
        first.bias.copy_(model.bias1)
        second.lin.weight.copy_(model.second.T)
        second.bias.copy_(model.bias2)
        edges = Edges.of(GRAPH).index
        hidden = torch.relu(first(torch.from_numpy(GRAPH.attributes.toarray()).float(), edges))
        np.testing.assert_allclose(second(hidden, edges).numpy(), scores(model, GRAPH), atol=1e-4)


def test_untruncated_pagerank_is_the_power_iteration_of_torch_geometric():
    matrix = truncated_pagerank(GRAPH.adjacency, 10, top=GRAPH.n_nodes)
    values = torch.randn(GRAPH.n_nodes, 5)
    expected = PygAppnp(K=10, alpha=0.15)(values, Edges.of(GRAPH).index)
    np.testing.assert_allclose(matrix @ values.numpy(), expected.numpy(), atol=1e-5)


def test_truncation_keeps_the_largest():
    full = truncated_pagerank(GRAPH.adjacency, 10, top=GRAPH.n_nodes).toarray()
    short = truncated_pagerank(GRAPH.adjacency, 10, top=12)
    assert np.array_equal(np.diff(short.indptr), np.minimum(12, (full > 0).sum(axis=1)))
    assert (np.diff(short.indptr) == 12).mean() > 0.5
    for row in range(0, GRAPH.n_nodes, 10):
        kept = short[[row]].toarray()[0]
        assert kept[kept > 0].min() >= np.sort(full[row])[-13] - 1e-7


def test_truncated_supports_are_refused_when_edges_are_smoothed():
    with pytest.raises(InputError, match="adjacency is fixed"):
        build("appnp", ATTR).field(GRAPH, JOINT)
    assert build("appnp", JOINT).field(GRAPH, JOINT).layers == 10
    assert build("sma").field(GRAPH, JOINT).layers == 2
    assert build("sma").field(GRAPH, ATTR).node_field is not None


def test_soft_medoid_by_hand():
    """Node 0 of a triangle, straight from the formula."""
    model = build("sma")
    triangle = Graph.from_edges(3, np.array([[0, 1], [0, 2], [1, 2]]), np.eye(3, GRAPH.n_attrs, dtype=np.int8))
    weights = truncated_pagerank(triangle.adjacency, 2).toarray()
    x = (model.first[:3] + model.bias1).detach().numpy().astype(float)
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)
    soft = np.exp(-(distances @ weights[0]) / 10)
    medoid = weights[0].sum() * (soft / soft.sum()) @ x
    expected = np.maximum(medoid, 0) @ model.second.weight.detach().numpy().T + model.second.bias.detach().numpy()
    np.testing.assert_allclose(scores(model, triangle)[0], expected, atol=1e-3)


def test_sparse_product_has_the_right_gradient():
    matrix = sp.random_array((7, 5), density=0.5, rng=np.random.default_rng(0), dtype=np.float64).tocsr()
    values = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: sparse_product(matrix, v), (values,))


@pytest.mark.parametrize("name", MODELS)
def test_models_survive_their_files(name, tmp_path):
    model = build(name, seed=3)
    save_model(tmp_path / "m.safetensors", model, {"seed": 3})
    again, facts = load_model(tmp_path / "m.safetensors")
    assert facts == {"seed": 3}
    np.testing.assert_array_equal(scores(again, GRAPH), scores(model, GRAPH))


def test_bad_model_files(tmp_path):
    path = tmp_path / "m.safetensors"
    with pytest.raises(InputError, match="no model"):
        load_model(path)
    path.write_bytes(b"\x80\x04not a model")
    with pytest.raises(InputError, match="no readable safetensors"):
        load_model(path)
    model = build("gcn")
    with torch.no_grad():
        model.first[0, 0] = float("nan")
    save_model(path, model, {})
    with pytest.raises(InputError, match=r"first of .* NaN"):
        load_model(path)
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(InputError, match="description"):
        load_model(path)
    with pytest.raises(InputError, match="no model 'gnc'"):
        model_class("gnc")
