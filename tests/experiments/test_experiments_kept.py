"""The kept weights of the shipped bundles vote as they did: as modules of torch-geometric, and under stored attacks."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

pytest.importorskip("torch_geometric")
import torch

import certcore as cc
from certcore.attack import network_victim, noise_of
from certcore.data import Dataset
from certcore.model_attack.flips import apply_flips
from certcore.model_attack.run import count_votes
from certcore.model_attack.stored import attacks_on
from certcore.models.base import Edges
from certcore.votes.fused import FusedVoter
from certcore.votes.run import collect_votes
from experiments.networks.geometric import as_geometric
from experiments.networks.storage import load_model
from experiments.networks.voters import make_voter
from experiments.weights import BUNDLES, model_path

SAMPLES = 1000
#: Bundles with a stored attack whose models the fused kernel votes; `make test` takes three.
WITH_ATTACKS = (
    "citeseer-gcn-adj-s0",
    "citeseer-gcn_mean-adj-s0",
    "cora-gcn-attr-s0",
    "citeseer-gcn-attr-s0",
    "citeseer-gcn-attr-s1",
    "citeseer-gcn-joint-s0",
    "cora-gcn-joint-s0",
)


def kept(bundle: str):
    return cc.load_instance(BUNDLES / f"{bundle}.npz"), load_model(model_path(bundle))[0]


@pytest.mark.slow
@pytest.mark.parametrize("bundle", ["citeseer-gcn-attr-s0", "citeseer-gcn-adj-s0", "citeseer-gat-attr-s0"])
def test_a_module_of_torch_geometric_votes_as_the_network_whose_weights_it_has(bundle: str) -> None:
    instance, model = kept(bundle)
    graph, module = instance.graph, as_geometric(model)
    indices, offsets = torch.from_numpy(graph.attr_indices.copy()), torch.from_numpy(graph.attr_indptr[:-1].copy())
    edges = Edges.of(graph)
    with torch.no_grad():
        before = model(indices, offsets, edges)
        now = module(torch.from_numpy(graph.attributes.toarray()).float(), edges.index)
    assert (before - now).abs().max() < 1e-5
    noise, seed = noise_of(instance), int(instance.meta["seed"])
    votes = collect_votes(make_voter(model, graph, noise, seed), selection=100, estimation=SAMPLES, jobs=1)
    data = Dataset("kept", graph, instance.labels, instance.class_names)
    flips = dict(zip(("attr_add", "attr_del", "adj_add", "adj_del"), noise.theta, strict=True))
    again = cc.smooth(module, data, **flips, samples=SAMPLES, selection=100, seed=seed, jobs=1, check=False)
    assert np.array_equal(again.base.votes, votes.estimation)
    assert np.array_equal(again.base.prediction, votes.prediction)
    assert (again.layers, again.edge_field) == (instance.layers, instance.edge_field)


@pytest.mark.slow
@pytest.mark.parametrize("bundle", WITH_ATTACKS if os.environ.get("CERTCORE_WALK") == "all" else WITH_ATTACKS[:3])
def test_stored_attacks_are_counted_again_to_the_bit(bundle: str) -> None:
    """The largest level of each, with the recorded seed: votes, and labels that change in fact."""
    instance, model = kept(bundle)
    victim = network_victim(model, instance, "", make_voter)
    assert isinstance(victim.voter(instance.graph, 0), FusedVoter)
    attacks = attacks_on(BUNDLES / f"{bundle}.npz", instance)
    assert attacks
    for attack in attacks:
        level = attack.levels[-1]
        graph = apply_flips(instance.graph, attack.flips[: level.flips], level.shift)
        votes = count_votes(victim, graph, int(attack.meta["seed"]), attack.samples, threading.Event())
        assert np.array_equal(votes, level.votes)
