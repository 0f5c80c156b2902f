"""The voter of a trained GCN of our own."""

from __future__ import annotations

from certcore.common.errors import InputError
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.base import NodeClassifier
from certcore.models.gcn import GCN, GCNMean
from certcore.models.reading import Unreadable, require_plain
from certcore.models.storage import require_finite
from certcore.votes.fused import FusedVoter
from certcore.votes.run import Voter


def gcn_voter(model: NodeClassifier, graph: Graph, noise: Noise, seed: int) -> Voter:
    """The fused kernel for the GCN family."""
    require_votable(model, graph)
    if type(model) not in (GCN, GCNMean):  # exact types only: a subclass may compute something else
        raise InputError(f"the model is a {type(model).__name__}; expected a GCN, or use certcore.smooth")
    weights = [tensor.detach().numpy() for tensor in (model.first, model.bias1, model.second, model.bias2)]
    return FusedVoter(graph, noise, seed, not isinstance(model, GCNMean), *weights)


def require_votable(model: NodeClassifier, graph: Graph) -> None:
    """Refuse a network that is not given by its weights, or that was trained on other attributes."""
    require_finite(model, f"the {model.name} model")
    for part in model.modules():
        try:
            require_plain(part, f"the {type(part).__name__}", traced=False)
        except Unreadable as error:
            raise InputError(f"{error}, and votes are counted from its weights; use a FunctionVoter for it") from error
    if model.first.shape[0] != graph.n_attrs:
        raise InputError(
            f"the model was trained on {model.first.shape[0]} attributes, but the graph has {graph.n_attrs}; "
            "give the dataset it was trained on"
        )
