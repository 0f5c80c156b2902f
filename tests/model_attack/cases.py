"""Small trained networks on small graphs, smoothed, with everything an attack needs."""

from __future__ import annotations

from functools import cache

import torch

import certcore as cc
from certcore.attack import network_victim
from certcore.data import citation_like
from certcore.domain.noise import Noise
from certcore.models.base import NodeClassifier
from certcore.votes.run import collect_votes
from experiments.bundle import BundleRecipe, smoothed_instance
from experiments.networks.voters import make_voter
from experiments.training.result import Trained
from experiments.training.smoothed import Schedule, train_smoothed

DATASET = citation_like(90, 24, 3, ones=6, seed=1)
THETA = {"attr": ("0.01", "0.5", "0", "0"), "adj": ("0", "0", "0", "0.4"), "joint": ("0.01", "0.5", "0", "0.4")}


@cache
def trained(model: str, types: str) -> Trained:
    torch.set_num_threads(1)
    return train_smoothed(DATASET, model, Noise(THETA[types]), schedule=Schedule.of(model, 40), per_class=10)


@cache
def case(model: str = "gcn", types: str = "attr", samples: int = 4000):
    """Instance and victim."""
    recipe = BundleRecipe("toy", model, types, samples=samples, theta=THETA[types])
    network = trained(model, types)
    network.facts.setdefault("sha256", "0" * 64)
    voter = make_voter(network.model, DATASET.graph, recipe.noise, 0)
    votes = collect_votes(voter, selection=500, estimation=samples, jobs=1)
    instance = smoothed_instance(recipe, DATASET, network, votes)
    everybody = cc.Instance(
        instance.graph, instance.base, layers=instance.layers, edge_field=instance.edge_field,
        node_field=instance.node_field, labels=instance.labels, meta=instance.meta,
    )  # fmt: skip
    return everybody, network_victim(network.model, everybody, "", make_voter)


def network(model: str = "gcn", types: str = "attr") -> NodeClassifier:
    return trained(model, types).model
