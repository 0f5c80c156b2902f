"""The choice of a voter for a trained network of the paper."""

from __future__ import annotations

from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import NodeClassifier
from certcore.models.gcn import GCN, GCNMean
from certcore.votes.run import Voter
from certcore.votes.voters import gcn_voter, require_votable
from experiments.networks.batched import TorchVoter


def make_voter(model: NodeClassifier, graph: Graph, noise: Noise, seed: int, *, fused: bool = True) -> Voter:
    """The fused kernel for the GCN family, batches of torch for all others (or for all, with `fused=False`)."""
    if fused and type(model) in (GCN, GCNMean):
        return gcn_voter(model, graph, noise, seed)
    require_votable(model, graph)
    return TorchVoter.of(model, graph, noise, seed)
