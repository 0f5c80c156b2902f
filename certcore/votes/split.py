"""Splits a network after its first linear maps, so that sparse attributes are never stored densely.

Attributes are binary and sparse, and the first operation of most graph networks is linear: X·W, or a sum over
neighbours of X followed by W, which equals a sum over neighbours of X·W. The sampler sums rows of W without building X.
The rest of the network is torch's and torch-geometric's own code, on a narrow table.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch_geometric.nn as geometric
from torch import Tensor, fx, nn

from certcore.common.errors import InputError
from certcore.models.called import Called
from certcore.models.reading import LINEAR, Reading, read_module
from certcore.votes.attention import Attention, can_attend
from certcore.votes.rounding import same_scores


@dataclass(frozen=True, eq=False)
class Split:
    """`weights` (attributes, units) of the first maps, and the rest of the network, which takes X·weights."""

    weights: np.ndarray
    rest: fx.GraphModule

    @property
    def width(self) -> int:
        return int(self.weights.shape[1])

    def scores(self, units: Tensor, edge_index: Tensor) -> Tensor:
        answer: Tensor = self.rest(units, edge_index)
        if not torch.isfinite(answer).all():
            raise InputError("the model returned NaN or infinite scores; expected finite ones: train it again")
        return answer


class _Shift(nn.Module):
    """The bias of a linear map whose product is computed elsewhere."""

    def __init__(self, bias: Tensor | None) -> None:
        super().__init__()
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone(), requires_grad=False)

    def forward(self, values: Tensor) -> Tensor:
        return values if self.bias is None else values + self.bias


#: The maps that are applied to the attributes, and the layer without them; None if it cannot be split.
_Cut = tuple[list[nn.Module], nn.Module] | None


def _cut_linear(layer: Any) -> _Cut:
    return [layer], _Shift(layer.bias)


def _cut_lin(layer: Any) -> _Cut:
    """GCN, SGC: one map `lin`; a bias is added after the messages."""
    rest = copy.deepcopy(layer)
    rest.lin = _Shift(layer.lin.bias)
    return [layer.lin], rest


def _cut_gat(layer: Any) -> _Cut:
    if layer.lin is None or layer.res is not None:
        return None
    rest = copy.deepcopy(layer)
    rest.lin = _Shift(layer.lin.bias)
    return [layer.lin], rest


def _cut_sums(layer: Any, near: str, own: str) -> _Cut:
    """SAGE, GraphConv: a map of the sum over neighbours, and an optional one of the node itself."""
    if layer.aggr not in ("add", "sum", "mean") or getattr(layer, "project", False):
        return None
    rest = copy.deepcopy(layer)
    maps = [getattr(layer, near)]
    setattr(rest, near, _Shift(maps[0].bias))
    if getattr(layer, "root_weight", True):
        maps.append(getattr(layer, own))
        setattr(rest, own, _Shift(maps[1].bias))
    return maps, rest


def _cut_gin(layer: Any) -> _Cut:
    if layer.aggr not in ("add", "sum"):
        return None
    rest = copy.deepcopy(layer)
    inner = layer.nn
    if type(inner) in LINEAR:
        rest.nn = _Shift(inner.bias)
        return [inner], rest
    parts, others = (inner.lins, rest.nn.lins) if type(inner) is geometric.MLP else (inner, rest.nn)
    if not len(parts) or type(parts[0]) not in LINEAR:
        return None
    others[0] = _Shift(parts[0].bias)
    return [parts[0]], rest


def _cut_mlp(layer: Any) -> _Cut:
    rest = copy.deepcopy(layer)
    rest.lins[0] = _Shift(layer.lins[0].bias)
    return [layer.lins[0]], rest


_CUTS: dict[type, Callable[[Any], _Cut]] = {
    nn.Linear: _cut_linear,
    geometric.Linear: _cut_linear,
    geometric.MLP: _cut_mlp,
    geometric.GCNConv: _cut_lin,
    geometric.SGConv: _cut_lin,
    geometric.GATConv: _cut_gat,
    geometric.SAGEConv: lambda layer: _cut_sums(layer, "lin_l", "lin_r"),
    geometric.GraphConv: lambda layer: _cut_sums(layer, "lin_rel", "lin_root"),
    geometric.GINConv: _cut_gin,
}
#: Layers that accept a pair of values: of the neighbours and of the node itself.
_PAIRS = (geometric.SAGEConv, geometric.GraphConv)


def split_first(module: Called, x: Tensor, edge_index: Tensor, reading: Reading | None = None) -> Split | None:
    """Split a traceable network after its first maps; None if it does not begin with linear maps."""
    calls = (reading or read_module(module, x, edge_index)).calls
    graph = fx.Graph()
    copied: dict[fx.Node, fx.Node] = {}
    parts: dict[str, Any] = {}
    weights: list[np.ndarray] = []
    source = next(node for node in calls.graph.nodes if node.op == "placeholder")
    for node in calls.graph.nodes:
        if source not in node.all_input_nodes:
            copied[node] = graph.node_copy(node, lambda old: copied[old])
            continue
        layer = calls.get_submodule(str(node.target)) if node.op == "call_module" else None
        cut = _CUTS.get(type(layer), lambda layer: None)(layer)
        fits = cut is not None and node.args and node.args[0] is source
        if not fits or any(source in _nodes(a) for a in (*node.args[1:], *node.kwargs.values())):
            return None
        maps, rest = cut  # type: ignore[misc]
        slices = []
        for part in maps:
            begin = sum(w.shape[1] for w in weights)
            weights.append(part.weight.detach().cpu().numpy().T.astype(np.float32))
            slices.append(graph.call_function(_columns, (copied[source], begin, begin + weights[-1].shape[1])))
        name = f"first_{len(parts)}"
        parts[name] = rest.eval()
        given: Any = slices[0]
        if isinstance(layer, _PAIRS):
            given = (slices[0], slices[-1])
        others = [fx.node.map_arg(a, lambda old: copied[old]) for a in node.args[1:]]
        options = {key: fx.node.map_arg(a, lambda old: copied[old]) for key, a in node.kwargs.items()}
        copied[node] = graph.call_module(name, (given, *others), options)
    if not weights:
        return None
    root = nn.Module()
    for name, part in parts.items():
        root.add_module(name, part)
    for name, child in calls.named_children():
        root.add_module(name, child)
    for node in graph.nodes:  # copy the model's own constants
        if node.op == "get_attr" and not hasattr(root, str(node.target).partition(".")[0]):
            setattr(root, str(node.target), getattr(calls, str(node.target)))
    rest = fx.GraphModule(root, graph)
    for node in graph.nodes:  # the same attention in compiled code
        if node.op == "call_module":
            layer = rest.get_submodule(str(node.target))
            if type(layer) is geometric.GATConv and can_attend(layer) and plain_call(node):
                rest.add_submodule(str(node.target), Attention(layer))
    split = Split(np.concatenate(weights, axis=1), rest)
    return split if _agrees(split, module, x, edge_index) else None


def plain_call(node: fx.Node) -> bool:
    """Whether a layer is called with node values and edges, and nothing else."""
    return all(value is None for value in (*node.args[2:], *node.kwargs.values()))


def _columns(units: Tensor, begin: int, end: int) -> Tensor:
    return units[:, begin:end]


def _nodes(argument: Any) -> list[fx.Node]:
    found: list[fx.Node] = []

    def note(node: fx.Node) -> fx.Node:
        found.append(node)
        return node

    fx.node.map_arg(argument, note)
    return found


def _agrees(split: Split, module: Called, x: Tensor, edge_index: Tensor) -> bool:
    """Whether both give the same scores on the clean graph, up to rounding. This is a test, not the proof."""
    with torch.no_grad():
        ours = split.scores(x @ torch.from_numpy(split.weights), edge_index)
        whole = copy.deepcopy(module).scores(x.clone(), edge_index.clone())
    return same_scores(ours, whole)
