"""The fused kernel, the batched torch path and a plain loop vote alike."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")
import torch

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import Edges
from certcore.votes.function import FunctionVoter
from certcore.votes.fused import FusedVoter
from certcore.votes.purposes import ESTIMATION
from experiments.networks.batched import TorchVoter
from experiments.networks.voters import make_voter

torch.set_num_threads(1)
_spec = importlib.util.spec_from_file_location("votes_support", Path(__file__).with_name("votes_support.py"))
support = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(support)

GRAPH = support.DATASET.graph
THETAS = {
    "attributes": ("0.02", "0.6", "0", "0"),
    "adjacency": ("0", "0", "0", "0.4"),
    "joint": ("0.02", "0.6", "0", "0.4"),
    "everything": ("0.01", "0.3", "0.004", "0.3"),
}


def dense_votes(model, graph: Graph, noise: Noise, samples: int, seed: int) -> np.ndarray:
    """The definition, without any of our sampling code: dense coin flips, one sample at a time."""
    rng = np.random.default_rng(seed)
    flips = [float(f) for f in noise.fractions]
    x, a = graph.attributes.toarray().astype(bool), graph.adjacency.toarray().astype(bool)
    upper = np.triu(np.ones_like(a), 1)
    votes = np.zeros((graph.n_nodes, model.n_classes), dtype=np.int64)
    for _ in range(samples):
        drawn = x ^ (rng.random(x.shape) < np.where(x, flips[1], flips[0]))
        edges = (a ^ (rng.random(a.shape) < np.where(a, flips[3], flips[2]))) & upper
        edges = edges | edges.T
        rows, columns = np.nonzero(edges)
        nodes, indices = np.nonzero(drawn)
        offsets = np.searchsorted(nodes, np.arange(graph.n_nodes))
        with torch.no_grad():
            scores = model(torch.from_numpy(indices), torch.from_numpy(offsets), Edges.stack(len(x), [(rows, columns)]))
        votes[np.arange(len(x)), scores.argmax(dim=1).numpy()] += 1
    return votes


@pytest.mark.parametrize("name", ["gcn", "gcn_mean"])
@pytest.mark.parametrize("what", list(THETAS))
def test_same_distribution_from_all_paths(name, what):
    """z-scores over all node/class cells: fused against torch against dense coin flips, independent draws."""
    model, noise = support.random_model(name), Noise(THETAS[what])
    fused = make_voter(model, GRAPH, noise, seed=1)
    batched = make_voter(model, GRAPH, noise, seed=2, fused=False)
    assert isinstance(fused, FusedVoter)
    assert isinstance(batched, TorchVoter)
    first = fused.count(ESTIMATION, 0, 8000)
    second = batched.count(ESTIMATION, 0, 800)
    third = dense_votes(model, GRAPH, noise, 400, seed=3)
    for other in (second, third):
        z = support.z_scores(first, other)
        assert len(z) > 100
        assert abs(z).max() < 5.5
        # Nodes of one sample share its noise, so the cells are not independent of each other.
        assert 0.6 < z.var() < 1.5


@pytest.mark.parametrize("what", list(THETAS))
@pytest.mark.parametrize(("units", "n_classes"), [(64, 4), (40, 3), (100, 17)])
def test_both_paths_agree_sample_by_sample(what, units, n_classes):
    """With the same seed they see the same graphs: only ties within rounding may fall differently."""
    noise = Noise(THETAS[what])
    for name in ("gcn", "gcn_mean"):
        model = support.random_model(name, units, n_classes)
        fused = make_voter(model, GRAPH, noise, 5).count(ESTIMATION, 100, 48)
        batched = make_voter(model, GRAPH, noise, 5, fused=False).count(ESTIMATION, 100, 48)
        assert abs(fused - batched).sum() <= 4
        assert (fused.sum(axis=1) == 48).all()


def test_directed_graphs_agree_too():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 60, size=(150, 2))
    graph = Graph.from_edges(60, edges[edges[:, 0] != edges[:, 1]], rng.random((60, 90)) < 0.2, directed=True)
    noise = Noise(THETAS["everything"])
    for name in ("gcn", "gcn_mean"):
        model = support.random_model(name)
        fused = make_voter(model, graph, noise, 5).count(ESTIMATION, 0, 64)
        batched = make_voter(model, graph, noise, 5, fused=False).count(ESTIMATION, 0, 64)
        assert abs(fused - batched).sum() <= 4


@pytest.mark.parametrize("name", ["gcn", "gat", "appnp", "rgcn", "sma"])
@pytest.mark.parametrize("what", ["attributes", "joint"])
def test_chunks_do_not_matter(name, what):
    noise = Noise(THETAS[what])
    options = {"top": None} if (name, what) == ("appnp", "joint") else {}
    voter = make_voter(support.random_model(name, **options), GRAPH, noise, 3)
    whole = voter.count(ESTIMATION, 5, 40)
    parts = voter.count(ESTIMATION, 5, 1) + voter.count(ESTIMATION, 6, 22) + voter.count(ESTIMATION, 28, 17)
    assert np.array_equal(whole, parts)


def test_soft_medoids_by_pairs_are_those_by_rows():
    """The compiled form compares two nodes once; torch, which training uses, compares them in every row."""
    model = support.random_model("sma", 64, 5).eval()
    edges = Edges.of(GRAPH, 3)
    units = torch.randn(3 * GRAPH.n_nodes, 64, generator=torch.Generator().manual_seed(1))
    units[7] = units[8]  # two nodes in one place
    by_rows = model.head(units, edges).detach()
    with torch.no_grad():
        by_pairs = model.head(units, edges)
    assert torch.allclose(by_rows, by_pairs, atol=2e-3)
    assert (by_rows.argmax(dim=1) != by_pairs.argmax(dim=1)).float().mean() < 0.01


@pytest.mark.parametrize("name", ["rgcn", "gat"])
@pytest.mark.parametrize("n_classes", [4, 17])
@pytest.mark.parametrize("drawn", [False, True])
def test_compiled_heads_are_the_heads_that_training_uses(name, n_classes, drawn):
    """Whether all copies have the same edges or each its own."""
    model, noise = support.random_model(name, 64, n_classes), Noise(THETAS["joint"])
    voter = make_voter(model, GRAPH, noise, 3)
    edges = voter._edges(ESTIMATION, 0) if drawn else Edges.of(GRAPH, voter.batch)
    units = voter._units(ESTIMATION, 0, voter.batch)
    by_torch = model.head(units, edges).detach()
    with torch.no_grad():
        compiled = voter._network.head(units, edges)
    assert compiled.shape == by_torch.shape
    assert torch.allclose(by_torch, compiled, atol=1e-4, rtol=1e-4)


def test_rows_that_need_clean_edges_do_not_vote_on_smoothed_ones():
    """All samples of a batch would share the edges of the first one: votes that are not independent prove nothing."""
    with pytest.raises(InputError, match="adjacency is fixed"):
        make_voter(support.random_model("appnp"), GRAPH, Noise(THETAS["joint"]), 3)


def _majority(attributes: sp.csr_array, adjacency: sp.csr_array) -> np.ndarray:
    """A model of our own: the most frequent of the first four attributes among the neighbours."""
    return np.asarray((adjacency @ attributes[:, :4]).argmax(axis=1)).ravel()


def test_own_functions_vote():
    voter = FunctionVoter(GRAPH, Noise(THETAS["joint"]), 0, _majority, 4)
    votes = voter.count(ESTIMATION, 0, 30)
    assert (votes.sum(axis=1) == 30).all()
    assert (votes > 0).any(axis=0).all()
    with pytest.raises(InputError, match="label 9"):
        FunctionVoter(GRAPH, voter.noise, 0, lambda x, a: np.full(x.shape[0], 9), 4).count(ESTIMATION, 0, 1)
    with pytest.raises(InputError, match="one label per node"):
        FunctionVoter(GRAPH, voter.noise, 0, lambda x, a: np.zeros((x.shape[0], 4)), 4).count(ESTIMATION, 0, 1)


def test_weights_that_are_not_numbers_are_refused():
    model = support.random_model("gcn")
    with torch.no_grad():
        model.second[3, 1] = float("nan")
    with pytest.raises(InputError, match="NaN"):
        make_voter(model, GRAPH, Noise(THETAS["attributes"]), 0)
    good = support.random_model("gcn")
    arrays = [p.detach().numpy().copy() for p in (good.first, good.bias1, good.second, good.bias2)]
    arrays[0][0, 0] = np.inf
    with pytest.raises(InputError, match="NaN"):
        FusedVoter(GRAPH, Noise(THETAS["attributes"]), 0, True, *arrays)


def test_a_model_with_more_than_weights_is_refused():
    """Only weights travel into voters: what hooks and replaced methods do would be lost."""
    hooked = support.random_model("gat")
    next(hooked.children()).register_forward_hook(lambda module, given, answer: answer * 2)
    with pytest.raises(InputError, match=r"hooks.*FunctionVoter"):
        make_voter(hooked, GRAPH, Noise(THETAS["attributes"]), 0)
    replaced = support.random_model("gcn")
    replaced.head = lambda units, edges: units[:, :4]
    with pytest.raises(InputError, match=r"replaced.*FunctionVoter"):
        make_voter(replaced, GRAPH, Noise(THETAS["attributes"]), 0)


def test_a_model_of_another_graph_is_refused():
    smaller = Graph.from_edges(3, np.array([[0, 1]]), np.eye(3, dtype=np.int8))
    with pytest.raises(InputError, match="trained on 90 attributes"):
        make_voter(support.random_model("gcn"), smaller, Noise(THETAS["attributes"]), 0)


def test_digests_name_what_matters():
    model = support.random_model("gcn")
    noise = Noise(THETAS["attributes"])
    digests = {
        make_voter(model, GRAPH, noise, 0).digest,
        make_voter(model, GRAPH, noise, 1).digest,
        make_voter(model, GRAPH, Noise(THETAS["joint"]), 0).digest,
        make_voter(model, GRAPH, noise, 0, fused=False).digest,
        make_voter(support.random_model("gcn_mean"), GRAPH, noise, 0).digest,
    }
    assert len(digests) == 5
    assert make_voter(model, GRAPH, noise, 0).digest in digests
