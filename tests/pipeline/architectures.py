"""Forty ways to build a network of torch-geometric, some of them traps: made for `tests/pipeline/zoo.py`'s small graph.

Each entry makes a model (or a function) for graphs with `D` attributes, `N` nodes and three classes, and says how it is
declared where the field cannot be derived. `refused` names a word of the sentence where votes must not be counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch_geometric.nn as geometric
from torch import nn
from torch.nn import functional
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from certcore.data import citation_like

N, D, UNITS, CLASSES = 16, 10, 6, 3
DATASET = citation_like(N, D, CLASSES, ones=3, seed=4)
E_ENTRIES = int(DATASET.graph.adjacency.nnz)
DECLARED = {"layers": 2}


@dataclass(frozen=True)
class Case:
    """How a model is made, what has to be declared about it, and what is said if it is refused (with which noise)."""

    make: Callable[[], Any]
    declared: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    only: str = ""


class Two(nn.Module):
    """Two layers with ReLU between them; the parts can be chosen."""

    def __init__(self, first: nn.Module | None = None, second: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1 = geometric.GCNConv(D, UNITS) if first is None else first
        self.conv2 = geometric.GCNConv(UNITS, CLASSES) if second is None else second

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


class LoRA(nn.Module):
    """A low-rank adapter beside a linear map."""

    def __init__(self, lin: nn.Module) -> None:
        super().__init__()
        self.lin, self.weight, self.bias = lin, lin.weight, None
        self.down, self.up = nn.Linear(lin.in_channels, 2, bias=False), nn.Linear(2, lin.out_channels, bias=False)

    def forward(self, x):
        return self.lin(x) + 3 * self.up(self.down(x))


class LoRALinear(geometric.Linear):
    """The same by inheritance."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)
        self.extra = nn.Parameter(torch.randn(outputs, inputs))

    def forward(self, x):
        return functional.linear(x, self.weight + self.extra)


class PoolingMap(nn.Module):
    """Stands where a linear map should, and looks at all nodes."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.weight, self.bias = self.lin.weight, None

    def forward(self, x):
        return self.lin(x - x.mean(dim=0, keepdim=True))


def with_part(conv: nn.Module, name: str, part: nn.Module) -> nn.Module:
    setattr(conv, name, part)
    return conv


def statistics() -> nn.Module:
    """A map after a normalisation with the statistics of all messages."""
    return nn.Sequential(nn.BatchNorm1d(D, track_running_stats=False), nn.Linear(D, UNITS))


def lora():
    model = Two()
    model.conv1.lin = LoRA(model.conv1.lin)
    return model


def patched_map():
    model = Two()
    lin, extra = model.conv1.lin, torch.randn(UNITS, D)
    lin.forward = functools.partial(_patched, lin.weight, extra)
    return model


def _patched(weight, extra, x):
    return functional.linear(x, weight + extra)


def hooked(kind: str):
    model = Two()
    scale = torch.randn(UNITS)
    if kind == "forward":
        model.conv1.register_forward_hook(lambda module, given, answer: answer * scale)
    elif kind == "pre":
        model.conv2.register_forward_pre_hook(lambda module, given: (given[0] * scale, *given[1:]))
    else:
        model.conv1.register_message_forward_hook(lambda module, given, answer: answer * scale)
    return model


def parametrised(kind: str):
    model = Two()
    if kind == "hook":
        lin = nn.Linear(D, UNITS, bias=False)
        nn.utils.spectral_norm(lin)
        model.conv1.lin = lin
    else:
        wrap = {"weight": nn.utils.parametrizations.weight_norm, "spectral": nn.utils.parametrizations.spectral_norm}
        wrap[kind](model.conv1.lin)
    return model


class InPlace(Two):
    """Writes into its inputs, as `remove self loops` by hand does."""

    def forward(self, x, edge_index):
        edge_index[0] = (edge_index[0] + 1) % len(x)
        x[:, 0] = 1
        return super().forward(x, edge_index)


class KeepsHidden(Two):
    """Keeps its last hidden values for a picture."""

    def forward(self, x, edge_index):
        self.hidden = self.conv1(x, edge_index).relu()
        return self.conv2(self.hidden, edge_index)


class Counts(Two):
    """Answers otherwise from the tenth call on."""

    calls = 0

    def forward(self, x, edge_index):
        self.calls += 1
        answer = super().forward(x, edge_index)
        return answer if self.calls < 10 else answer.flip(1)


class OwnCache(Two):
    """Normalises the edges once and for all."""

    kept = None

    def forward(self, x, edge_index):
        if self.kept is None:
            self.kept = gcn_norm(edge_index, num_nodes=len(x))
        values = torch.zeros(len(x), UNITS).index_add(
            0, self.kept[0][1], self.conv1.lin(x)[self.kept[0][0]] * self.kept[1][:, None]
        )
        return self.conv2(values.relu(), edge_index)


class Embedded(Two):
    """One learned row per node beside the attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(N, UNITS))

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu() + self.position, edge_index)


class EdgeWeights(Two):
    """One constant per edge of the clean graph."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weights", torch.rand(E_ENTRIES))

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index, self.weights).relu(), edge_index, self.weights)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.conv = nn.Linear(D, UNITS), geometric.SAGEConv(UNITS, UNITS)
        self.norm, self.last = nn.BatchNorm1d(UNITS), nn.Linear(UNITS, CLASSES)
        self.norm.running_mean, self.norm.running_var = torch.randn(UNITS), torch.rand(UNITS) + 0.5

    def forward(self, x, edge_index):
        x = self.lin(x)
        for _ in range(2):
            x = x + functional.relu(self.norm(self.conv(x, edge_index)))
        return self.last(x)


class Virtual(Two):
    """One more node that everybody is linked to."""

    def forward(self, x, edge_index):
        n = len(x)
        node, hub = torch.arange(n), torch.full((n,), n)
        edges = torch.cat([edge_index, torch.stack([node, hub]), torch.stack([hub, node])], dim=1)
        return super().forward(torch.cat([x, x.new_zeros(1, D)]), edges)[:n]


class Normed(Two):
    """A normalisation over all nodes between the layers."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x, edge_index):
        return self.conv2(self.norm(self.conv1(x, edge_index)).relu(), edge_index)


class Dropping(Two):
    """Drops units also in evaluation mode."""

    def forward(self, x, edge_index):
        return super().forward(functional.dropout(x, 0.5, training=True), edge_index)


class Stubborn(Residual):
    """Stays in training mode whatever it is told."""

    def train(self, mode: bool = True):
        return super().train(True)


class Listed(nn.Module):
    """Layers in a plain list, which `eval` does not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = [geometric.GATConv(D, UNITS, dropout=0.5), geometric.GATConv(UNITS, CLASSES)]

    def forward(self, x, edge_index):
        return self.parts[1](self.parts[0](x, edge_index).relu(), edge_index)


class Merging(Two):
    """Brings its own `eval`, which merges what was trained beside."""

    merged = False

    def eval(self):
        if not self.merged:
            self.merged = True
            with torch.no_grad():
                self.conv1.lin.weight.mul_(-2)
        return super().eval()


class Pair(Two):
    def forward(self, x, edge_index):
        return super().forward(x, edge_index), x


class NodeCount(Two):
    """Divides by the number of nodes, so it would answer otherwise about several graphs side by side."""

    def forward(self, x, edge_index):
        return super().forward(x, edge_index) * torch.tensor([1.0, len(x) / N, 1.0])


class Lstm(nn.Module):
    """Reads neighbours in the order in which they come, and fills up with zeros to the largest degree of the graph."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = geometric.SAGEConv(D, CLASSES, aggr="lstm")

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


def function_over(net: nn.Module) -> Callable[..., Any]:
    def call(x, edge_index):
        return net(x, edge_index)

    return call


HIDDEN: dict[str, nn.Module] = {}


class Outside(nn.Module):
    """Calls a network that is none of its parts."""

    def __init__(self) -> None:
        super().__init__()
        HIDDEN["net"] = Residual()
        with torch.no_grad():
            for weights in HIDDEN["net"].parameters():
                weights.mul_(3)

    def forward(self, x, edge_index):
        return HIDDEN["net"](x, edge_index)


def remembering(name=lambda edges: "edges"):
    """A function that keeps the first graph (of each name) in a dictionary of its own."""
    net, kept = Two().eval(), {}

    def call(x, edge_index):
        return net(x, kept.setdefault(name(edge_index), edge_index))

    return call


def cached_and_used():
    model = Two(geometric.GCNConv(D, UNITS, cached=True), geometric.GCNConv(UNITS, CLASSES, cached=True))
    receiver, sender = DATASET.graph.adjacency.nonzero()
    with torch.no_grad():
        model.eval()(torch.rand(N, D), torch.tensor([sender.tolist(), receiver.tolist()]))
    return model


def cached_elsewhere():
    model = Two(geometric.SGConv(D, UNITS, cached=True))
    with torch.no_grad():
        model.eval()(torch.rand(N, D), torch.tensor([[0, 1], [1, 2]]))
    return model


def sequential():
    layers = [
        (geometric.GCNConv(D, UNITS), "x, edge_index -> x"),
        nn.ELU(),
        (geometric.GATConv(UNITS, CLASSES), "x, edge_index -> x"),
    ]
    return geometric.Sequential("x, edge_index", layers)


def shared():
    conv = geometric.GraphConv(D, D)
    return geometric.Sequential(
        "x, edge_index", [(conv, "x, edge_index -> x"), nn.Tanh(), (conv, "x, edge_index -> x"), nn.Linear(D, CLASSES)]
    )


CASES: dict[str, Case] = {
    "GCN": Case(Two),
    "GCN with softmax and dropout": Case(lambda: geometric.GCN(D, UNITS, 2, CLASSES, dropout=0.5)),
    "GAT": Case(lambda: geometric.GAT(D, UNITS, 2, CLASSES, heads=2, dropout=0.5)),
    "GATv2": Case(lambda: geometric.GAT(D, UNITS, 2, CLASSES, v2=True, residual=True)),
    "SAGE": Case(lambda: geometric.GraphSAGE(D, UNITS, 2, CLASSES, aggr="max", project=True)),
    "SAGE with several aggregations": Case(
        lambda: Two(geometric.SAGEConv(D, UNITS, aggr=["mean", "max"])), {"layers": 2}
    ),
    "SAGE with an LSTM": Case(Lstm, {"layers": 1, "edge_field": "messages"}, "reads more", "attributes"),
    "GIN": Case(lambda: geometric.GIN(D, UNITS, 2, CLASSES, norm="batch_norm")),
    "jumping knowledge": Case(lambda: geometric.GCN(D, UNITS, 3, CLASSES, jk="lstm")),
    "Transformer": Case(
        lambda: Two(geometric.TransformerConv(D, UNITS, beta=True), geometric.TransformerConv(UNITS, CLASSES))
    ),
    "gated": Case(lambda: Two(geometric.ResGatedGraphConv(D, UNITS))),
    "gated by a softmax over all messages": Case(
        lambda: Two(geometric.ResGatedGraphConv(D, UNITS, act=nn.Softmax(dim=0))), refused="cannot be derived"
    ),
    "APPNP": Case(
        lambda: geometric.Sequential(
            "x, edge_index", [(nn.Linear(D, CLASSES), "x -> x"), (geometric.APPNP(3, 0.1), "x, edge_index -> x")]
        )
    ),
    "SGC": Case(lambda: Two(geometric.SGConv(D, UNITS, K=2), geometric.TAGConv(UNITS, CLASSES, K=1))),
    "sequential": Case(sequential),
    "residual, batch norm": Case(Residual),
    "shared layer": Case(shared),
    "unknown layer": Case(lambda: geometric.ChebConv(D, CLASSES, K=2), {"layers": 2}),
    "virtual node": Case(Virtual, {"layers": 2}, "reads more than the declared field", "attributes"),
    "pair norm": Case(
        lambda: Normed(geometric.PairNorm()), {"layers": 2}, "reads more than the declared field", "attributes"
    ),
    "graph norm in batches": Case(
        lambda: Normed(geometric.GraphNorm(UNITS)), {"layers": 2, "check": False, "batch_size": 4}, "side by side"
    ),
    "number of nodes": Case(NodeCount, DECLARED),
    "embeddings": Case(Embedded),
    "embeddings in batches": Case(Embedded, {"batch_size": 4}),
    "weights per edge": Case(EdgeWeights, {"layers": 2}, "does not run"),
    "adapter": Case(lora, DECLARED),
    "adapter, derived": Case(lora, {}, "cannot be derived"),
    "adapter by inheritance": Case(
        lambda: Two(with_part(geometric.GCNConv(D, UNITS), "lin", LoRALinear(D, UNITS))), DECLARED
    ),
    "map replaced on the instance": Case(patched_map, DECLARED),
    "map with a bias": Case(lambda: Two(with_part(geometric.GCNConv(D, UNITS), "lin", geometric.Linear(D, UNITS)))),
    "attention with a bias in its map": Case(
        lambda: Two(with_part(geometric.GATConv(D, UNITS), "lin", geometric.Linear(D, UNITS)))
    ),
    "map that pools": Case(
        lambda: Two(with_part(geometric.GCNConv(D, UNITS), "lin", PoolingMap(D, UNITS))), {}, "cannot be derived"
    ),
    "map with statistics of all nodes": Case(
        lambda: Two(with_part(geometric.SAGEConv(D, UNITS), "lin_l", statistics())), {}, "cannot be derived"
    ),
    "forward hook": Case(lambda: hooked("forward"), DECLARED),
    "forward pre-hook": Case(lambda: hooked("pre"), DECLARED),
    "message hook": Case(lambda: hooked("message"), DECLARED),
    "weight norm": Case(lambda: parametrised("weight"), DECLARED),
    "spectral norm": Case(lambda: parametrised("spectral"), DECLARED),
    "spectral norm by a hook": Case(lambda: parametrised("hook"), DECLARED),
    "cached": Case(
        lambda: Two(geometric.GCNConv(D, UNITS, cached=True), geometric.GCNConv(UNITS, CLASSES, cached=True))
    ),
    "cached, and used before": Case(cached_and_used),
    "cached with another graph": Case(cached_elsewhere, {}, "another graph"),
    "a cache of its own": Case(OwnCache, DECLARED, "seen before", "all"),
    "keeps what it computed": Case(KeepsHidden, DECLARED),
    "counts its calls": Case(Counts, DECLARED),
    "in place": Case(InPlace, {"layers": 4, "check": False}),
    "dropout in evaluation mode": Case(Dropping, DECLARED, "different scores for the same graph"),
    "stubborn training mode": Case(Stubborn, DECLARED, "training mode"),
    "plain list of layers": Case(Listed, DECLARED, "different scores"),
    "eval of its own": Case(Merging),
    "a pair of answers": Case(Pair, DECLARED, "one row of scores"),
    "function over a module": Case(lambda: function_over(Two().eval()), DECLARED),
    "function over a module in training mode": Case(
        lambda: function_over(Residual()), DECLARED, "reads more", "attributes"
    ),
    "function over a cached module": Case(lambda: function_over(cached_and_used()), DECLARED, "other edges"),
    "function that remembers": Case(remembering, DECLARED, "other edges"),
    "a global network in training mode": Case(Outside, DECLARED, "reads more", "attributes"),
    "bound method": Case(lambda: Two().eval().forward, DECLARED),
    "partial": Case(lambda: functools.partial(Two.forward, Two().eval()), DECLARED),
}
