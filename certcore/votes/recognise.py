"""Detects two-layer GCNs of torch-geometric from their traced calls, for the fused kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch_geometric.nn as geometric
from torch import nn
from torch.nn import functional

from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.models.reading import LINEAR, Reading
from certcore.votes.fused import FusedVoter
from certcore.votes.split import plain_call

_RELU = (torch.relu, functional.relu)
#: Monotone functions, which keep the argmax.
_LAST = (torch.log_softmax, torch.softmax, functional.log_softmax, functional.softmax)


def fused_voter(reading: Reading, graph: Graph, noise: Noise, seed: int) -> FusedVoter | None:
    """The kernel's voter if the network is GCN layer, ReLU, GCN layer; None otherwise."""
    words, layers = _words(reading)
    if words not in (["gcn", "relu", "gcn"], ["gcn", "relu", "gcn", "softmax"]):
        return None
    arrays: list[np.ndarray] = []
    for layer in layers:
        bias = torch.zeros(layer.out_channels) if layer.bias is None else layer.bias
        arrays += [layer.lin.weight.detach().cpu().numpy().T, bias.detach().cpu().numpy()]
    return FusedVoter(graph, noise, seed, True, *arrays)


def _words(reading: Reading) -> tuple[list[str], list[Any]]:
    """The calls in order and the GCN layers among them; empty lists unless each call takes only the previous output."""
    words: list[str] = []
    layers: list[Any] = []
    before = next(node for node in reading.calls.graph.nodes if node.op == "placeholder")
    for node in reading.calls.graph.nodes:
        if node.op in ("placeholder", "output") or node.name.startswith("_assert"):
            continue
        if not node.args or node.args[0] is not before:
            if before not in node.all_input_nodes and not node.users:
                continue
            return [], []
        if len(before.users) != 1:
            return [], []
        layer = reading.calls.get_submodule(str(node.target)) if node.op == "call_module" else None
        if type(layer) is geometric.GCNConv and _usual(layer) and plain_call(node):
            words.append("gcn")
            layers.append(layer)
        elif type(layer) is nn.ReLU or node.target in _RELU or (node.op, node.target) == ("call_method", "relu"):
            words.append("relu")
        elif node.target in _LAST or (node.op == "call_method" and node.target in ("log_softmax", "softmax")):
            words.append("softmax")
        elif type(layer) not in (nn.Dropout, nn.Identity) and node.target is not functional.dropout:
            return [], []  # dropout is the identity in evaluation mode
        before = node
    return words, layers


def _usual(layer: Any) -> bool:
    """Whether a layer has symmetric normalisation with self loops and a map without a bias, as in the kernel."""
    usual = layer.normalize and layer.add_self_loops and not layer.improved and layer.aggr in ("add", "sum")
    return bool(usual and type(layer.lin) in LINEAR and layer.lin.bias is None and layer.node_dim == -2)
