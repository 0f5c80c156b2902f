"""The receptive field of a torch module, derived from its code: number of hops, and whether sender degrees enter.

The module is traced with torch.fx, which runs `forward` on proxies and records every call. Each value is then followed
from the attributes to the scores: a message-passing layer adds its hops, a row-wise operation adds none. Anything not
in the lists below (pooling, a product that mixes rows, an unknown layer, a cache, a hook) is refused by name. The user
then has to declare the field.
"""

from __future__ import annotations

import copy
import inspect
import operator
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch_geometric
import torch_geometric.nn as geometric
from torch import Tensor, fx, nn
from torch.nn import functional
from torch_geometric.nn import aggr

from certcore.domain.edge_field import EdgeField
from certcore.models.field import Field


class Unreadable(Exception):
    """Why the field of a module cannot be derived; the text completes "the field cannot be derived: …"."""


@dataclass(frozen=True)
class Reading:
    """The receptive field of a module, and its traced calls."""

    layers: int
    degrees: bool
    """Whether messages are weighted by sender degrees."""
    calls: fx.GraphModule
    """The same computation as a list of calls; `x` and `edge_index` are its first two inputs."""

    @property
    def edge_field(self) -> EdgeField:
        return EdgeField.DEGREES if self.degrees else EdgeField.MESSAGES

    @property
    def field(self) -> Field:
        return Field(layers=self.layers, edge_field=self.edge_field)


@dataclass(frozen=True)
class _NodeRows:
    """Values with one row per node, which depends on at most `hops` hops."""

    hops: int = 0
    degrees: bool = False

    def joined(self, other: _NodeRows) -> _NodeRows:
        return _NodeRows(max(self.hops, other.hops), self.degrees or other.degrees)


class _Word:
    """Other abstract values: the given edges, and constants that do not depend on the graph."""


EDGES, CONSTANT = _Word(), _Word()


@dataclass(frozen=True)
class Layer:
    """How one type of message-passing layer reads the graph, given its settings."""

    hops: Callable[[Any], int] = lambda layer: 1
    degrees: Callable[[Any], bool] = lambda layer: False
    rows: int = 1
    """How many of its first arguments have one row per node (GCNII also takes the first layer's output)."""


def _normalised(layer: Any) -> bool:
    return bool(layer.normalize)


def _always(layer: Any) -> bool:
    return True


def _steps(layer: Any) -> int:
    return int(layer.K)


#: torch-geometric's message-passing layers by their exact type. Subclasses may compute anything.
LAYERS: dict[type, Layer] = {
    geometric.GCNConv: Layer(degrees=_normalised),
    geometric.GCN2Conv: Layer(degrees=_normalised, rows=2),
    geometric.SAGEConv: Layer(),
    geometric.GATConv: Layer(),
    geometric.GATv2Conv: Layer(),
    geometric.TransformerConv: Layer(),
    geometric.ResGatedGraphConv: Layer(),
    geometric.GINConv: Layer(),
    geometric.GraphConv: Layer(),
    geometric.SimpleConv: Layer(),
    geometric.LGConv: Layer(degrees=_normalised),
    geometric.SGConv: Layer(_steps, _always),
    geometric.SSGConv: Layer(_steps, _always),
    geometric.TAGConv: Layer(_steps, _normalised),
    geometric.APPNP: Layer(_steps, _normalised),
}
#: Known aggregations over the messages of one receiver. Others may compute anything.
_AGGREGATIONS: dict[str, type] = {
    "add": aggr.SumAggregation, "sum": aggr.SumAggregation, "mean": aggr.MeanAggregation, "max": aggr.MaxAggregation,
    "min": aggr.MinAggregation,
}  # fmt: skip
#: Linear maps inside known layers, by their exact type. Adapters and parametrisations have other types.
LINEAR = (nn.Linear, geometric.Linear)
#: Modules that are row-wise in evaluation mode.
ROWWISE = (
    nn.Linear, geometric.Linear, nn.Identity, nn.Dropout, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.CELU,
    nn.SELU, nn.GELU, nn.SiLU, nn.Mish, nn.Sigmoid, nn.Tanh, nn.Softplus, nn.Hardtanh, nn.Hardswish,
)  # fmt: skip
_ROWWISE_FUNCTIONS = {
    torch.relu, torch.tanh, torch.sigmoid, torch.exp, torch.log, torch.sqrt, torch.abs, torch.clamp, torch.neg,
    functional.relu, functional.relu6, functional.leaky_relu, functional.elu, functional.celu, functional.selu,
    functional.gelu, functional.silu, functional.mish, functional.sigmoid, functional.tanh, functional.softplus,
    functional.logsigmoid, functional.hardtanh, operator.neg,
}  # fmt: skip
_ROWWISE_METHODS = frozenset(
    ("relu", "relu_", "tanh", "sigmoid", "exp", "log", "sqrt", "abs",
     "clamp", "neg", "float", "double", "contiguous", "detach", "clone")
)  # fmt: skip
_TWO_SIDED = {
    operator.add, operator.sub, operator.mul, operator.truediv, torch.add, torch.sub, torch.mul, torch.div,
}  # fmt: skip
_TWO_SIDED_METHODS = frozenset(("add", "sub", "mul", "div"))
#: Operations that are row-wise if `dim` is 1 or −1. The value is the position of `dim` among the arguments.
_ALONG = {
    torch.softmax: 1, torch.log_softmax: 1, functional.softmax: 1, functional.log_softmax: 1, functional.normalize: 2,
    torch.sum: 1, torch.mean: 1,
}  # fmt: skip
_ALONG_METHODS = {"softmax": 1, "log_softmax": 1, "sum": 1, "mean": 1}
_PRODUCTS = {torch.matmul, torch.mm, operator.matmul}
#: Folders of library code. torch-geometric also writes generated code into the folder for temporary files.
_HOMES = (
    *(str(Path(inspect.getfile(library)).parent) for library in (torch, torch_geometric)),
    str(Path(tempfile.gettempdir()) / "torch_geometric."),
)


def read_module(module: nn.Module, x: Tensor, edge_index: Tensor) -> Reading:
    """Derive the field of `module(x, edge_index)` in evaluation mode, or raise `Unreadable` with the reason.

    A copy is traced, because a module that stores values would store proxies. The traced calls are run on the clean
    graph and on a thinned one. They must give the output of the module, and each followed value must have one row per
    node.
    """
    for name, part in module.named_modules():
        where = f"{name or 'the model'} ({type(part).__name__})"
        if part.training:
            raise Unreadable(f"{where} is in training mode; call model.eval() first")
        require_plain(part, where)
    try:
        return _read(module, x, edge_index)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"its code does not run on stand-ins ({type(error).__name__}: {_short(error)})") from error


def _read(module: nn.Module, x: Tensor, edge_index: Tensor) -> Reading:
    traced = copy.deepcopy(module)
    names = list(inspect.signature(traced.forward).parameters)
    graph = _Tracer().trace(traced, concrete_args=dict.fromkeys(names[2:]))
    values = _follow(traced, graph)
    calls = fx.GraphModule(traced, graph)
    tables = {node.name for node, value in values.items() if isinstance(value, _NodeRows)}
    thinned = x.clone()
    thinned[::2] = 0
    with torch.no_grad():
        for rows, edges in ((x, edge_index), (thinned, edge_index[:, ::2])):
            found = _Tables(calls, tables, len(x)).run(rows.clone(), edges.clone(), *(None for _ in names[2:]))
            if not torch.equal(found, copy.deepcopy(module)(rows.clone(), edges.clone())):
                raise Unreadable("the calls found in its code give other scores than it does")
    answer = values[next(node for node in graph.nodes if node.op == "output")]
    return Reading(answer.hops, answer.degrees, calls)


class _Tables(fx.Interpreter):
    """Runs traced calls and refuses values other than tables of rows: [N] and [N, N] broadcast across nodes."""

    def __init__(self, calls: fx.GraphModule, names: set[str], n_nodes: int) -> None:
        super().__init__(calls)
        self.names, self.n_nodes = names, n_nodes

    def run_node(self, node: fx.Node) -> Any:
        value = super().run_node(node)
        if node.name in self.names and (value.dim() != 2 or len(value) != self.n_nodes):
            raise Unreadable(f"{node.name} has shape {tuple(value.shape)}, which is no table with one row per node")
        return value


class _Tracer(fx.Tracer):
    """Traces through user code; known modules are recorded as single calls."""

    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        if type(module) in LAYERS or _is_rowwise(module) or type(module) is geometric.JumpingKnowledge:
            return True
        home = type(module).__module__
        if isinstance(module, geometric.MessagePassing) or home.startswith("torch_geometric.nn.aggr"):
            raise Unreadable(f"{name} is a {type(module).__name__}, which is none of the layers known here")
        if home.startswith("torch_geometric.nn.norm"):
            raise Unreadable(f"{name} is a {type(module).__name__}, which may read the whole graph")
        return super().is_leaf_module(module, name)


def require_plain(module: nn.Module, where: str, *, traced: bool = True) -> None:
    """Refuse what a trace does not show: hooks, tensor subclasses, and replaced methods of known layers."""
    if any(hooks for name, hooks in vars(module).items() if name.endswith("_hooks") and "forward" in name):
        raise Unreadable(f"{where} has hooks, which may read anything")
    for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
        if type(tensor) not in (Tensor, nn.Parameter):
            raise Unreadable(f"{name} of {where} is a {type(tensor).__name__}, which may compute anything")
    known = type(module).__module__.startswith(("torch.", "torch_geometric."))
    if traced and (type(module) is geometric.Sequential or not known):
        return  # it is traced through
    for name in vars(module):
        if isinstance(inspect.getattr_static(type(module), name, None), types.FunctionType):
            raise Unreadable(f"{name} of {where} was replaced by something else")
    for name in ("forward", "__call__", "propagate", "message", "aggregate", "update", "edge_update"):
        code = getattr(inspect.getattr_static(type(module), name, None), "__code__", None)
        if known and code is not None and not code.co_filename.startswith(_HOMES):
            raise Unreadable(f"{name} of the class {type(module).__name__} was replaced by something else")


def _is_rowwise(module: nn.Module) -> bool:
    """Whether a module is row-wise."""
    kind = type(module)
    if kind in ROWWISE:
        return True
    if kind is nn.LayerNorm:
        return len(module.normalized_shape) == 1
    if kind is nn.BatchNorm1d:
        # Without running statistics, batch norm uses those of the whole graph, also in evaluation mode.
        return not module.training and module.running_mean is not None and module.running_var is not None
    if kind is geometric.BatchNorm:
        return _is_rowwise(module.module)
    if kind is geometric.LayerNorm:
        return bool(module.mode == "node")
    if kind is nn.Sequential:
        return all(map(_is_rowwise, module))
    if kind is geometric.MLP:
        parts = [*module.lins, *module.norms, *([module.act] if isinstance(module.act, nn.Module) else [])]
        plain_act = module.act is None or isinstance(module.act, nn.Module) or module.act in _ROWWISE_FUNCTIONS
        return plain_act and all(map(_is_rowwise, parts))
    return False


def _follow(module: nn.Module, graph: fx.Graph) -> dict[fx.Node, Any]:
    """Abstract values of all calls, in order; the value of the output is the result."""
    values: dict[fx.Node, Any] = {}
    inputs = 0
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = (_NodeRows(), EDGES)[inputs] if inputs < 2 else CONSTANT
            inputs += 1
        elif node.op == "get_attr":
            values[node] = CONSTANT
        elif node.op == "output":
            answer = _value(node.args[0], values)
            if not isinstance(answer, _NodeRows):
                raise Unreadable("it does not return one table of scores")
            values[node] = answer
        else:
            values[node] = _call(module, node, values)
    return values


def _value(argument: Any, values: dict[fx.Node, Any]) -> Any:
    if isinstance(argument, fx.Node):
        return values[argument]
    if isinstance(argument, list | tuple):
        return [_value(part, values) for part in argument]
    return CONSTANT


def _call(module: nn.Module, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    args = [_value(a, values) for a in node.args]
    kwargs = {key: _value(a, values) for key, a in node.kwargs.items()}
    everything = [*args, *kwargs.values()]
    if node.kwargs.get("out") is not None:
        raise Unreadable(f"it writes what {_name(node)} gives into another value (out=…), which is not followed")
    if all(value is CONSTANT for value in everything):
        return CONSTANT
    if node.op == "call_module":
        target = module.get_submodule(str(node.target))
        return _call_module(target, f"{node.target} ({type(target).__name__})", node, args, kwargs)
    rows = _rows_of(everything)
    known, methods = (node.target, None) if node.op == "call_function" else (None, str(node.target))
    if rows is not None and EDGES not in everything:
        first, rest = args[0] if args else None, [*args[1:], *kwargs.values()]
        alone = isinstance(first, _NodeRows) and all(value is CONSTANT for value in rest)
        if alone and (known in _ROWWISE_FUNCTIONS or methods in _ROWWISE_METHODS):
            return rows
        if known in _TWO_SIDED or methods in _TWO_SIDED_METHODS:
            _require_flat(everything, node)
            return rows
        along = _ALONG.get(known) if known is not None else _ALONG_METHODS.get(str(methods))
        if alone and along is not None and _within_rows(node, along):
            return rows
        if known is functional.dropout and alone and _argument(node, "training", 2, True) is False:
            return rows
        if known in _PRODUCTS and alone:
            return rows  # rows times a weight matrix
        if known is torch.cat and isinstance(first, list) and _argument(node, "dim", 1, 0) in (1, -1):
            return rows
        if known is getattr and node.args[1:] in (("shape",), ("dtype",), ("device",)):
            raise Unreadable(f"it asks for the {node.args[1]} of its input, and what it does with it is not followed")
    raise Unreadable(f"it calls {_name(node)} on node values, which may mix nodes or edges")


def _call_module(target: Any, where: str, node: fx.Node, args: list[Any], kwargs: dict[str, Any]) -> _NodeRows:
    kind = type(target)
    if kind in LAYERS:
        return _call_layer(target, where, args, kwargs)
    rows = _rows_of([*args, *kwargs.values()])
    alone = isinstance(args[0], _NodeRows) and all(value is CONSTANT for value in [*args[1:], *kwargs.values()])
    if rows is not None and alone and _is_rowwise(target):
        return rows
    if rows is not None and kind is geometric.JumpingKnowledge and isinstance(args[0], list):
        if not all(type(part) in (nn.LSTM, nn.Linear) for part in target.children()):
            raise Unreadable(f"{where} has parts that are not its own")
        return rows
    if isinstance(target, nn.modules.batchnorm._BatchNorm) or kind is geometric.BatchNorm:
        raise Unreadable(f"{where} normalises with statistics of the whole graph")
    raise Unreadable(f"{where} is no module known to treat every node by itself")


def _call_layer(target: Any, where: str, args: list[Any], kwargs: dict[str, Any]) -> _NodeRows:
    layer = LAYERS[type(target)]
    signature = list(inspect.signature(target.forward).parameters)
    given = dict(zip(signature, args)) | kwargs
    inputs = [given.pop(name, None) for name in signature[: layer.rows]]
    edges = given.pop("edge_index", None)
    if edges is not EDGES or not all(isinstance(value, _NodeRows) for value in inputs):
        raise Unreadable(f"{where} is not called with node values and the edge_index as it came")
    if any(value is not CONSTANT for value in given.values()):
        raise Unreadable(f"{where} is called with {', '.join(given)}, which is not followed")
    if getattr(target, "cached", False):
        raise Unreadable(f"{where} caches the edges of its first call (cached=True), so it would not see changes")
    _require_known_parts(target, where)
    if getattr(target, "edge_dim", None) is not None:
        raise Unreadable(f"{where} reads attributes of edges")
    rows = inputs[0]
    for other in inputs[1:]:
        rows = rows.joined(other)
    return _NodeRows(rows.hops + layer.hops(target), rows.degrees or layer.degrees(target))


def _require_known_parts(target: Any, where: str) -> None:
    """Refuse a known layer with foreign parts: they may pool, or use statistics of all messages."""
    known = _AGGREGATIONS.get(target.aggr) if isinstance(target.aggr, str) else None
    if known is None or type(target.aggr_module) is not known or target.flow != "source_to_target":
        raise Unreadable(f"{where} has another aggregation or direction than the plain ones")
    if target.explain or target.decomposed_layers != 1:
        raise Unreadable(f"{where} explains or decomposes its messages, which is not followed")
    act = getattr(target, "act", None)
    if not (act is None or type(act) in ROWWISE or (not isinstance(act, nn.Module) and act in _ROWWISE_FUNCTIONS)):
        raise Unreadable(f"act of {where} is not known to treat every message by itself")
    for name, part in target.named_children():
        if name in ("aggr_module", "act"):
            continue
        if name == "nn" and type(target) is geometric.GINConv:
            if not _is_rowwise(part):
                raise Unreadable(f"the network inside {where} is not known to treat every node by itself")
        elif not all(type(one) in LINEAR for one in (part if type(part) is nn.ModuleList else [part])):
            raise Unreadable(f"{name} of {where} is a {type(part).__name__}, expected a plain linear map")


def _rows_of(values: Any) -> _NodeRows | None:
    """The join of all row values among the arguments."""
    found: _NodeRows | None = None
    for value in values:
        inner = _rows_of(value) if isinstance(value, list) else value if isinstance(value, _NodeRows) else None
        if inner is not None:
            found = inner if found is None else found.joined(inner)
    return found


def _require_flat(values: list[Any], node: fx.Node) -> None:
    if any(isinstance(value, list) or value is EDGES for value in values):
        raise Unreadable(f"it calls {_name(node)} on something that is not followed")


def _within_rows(node: fx.Node, position: int) -> bool:
    """Whether an operation works along the rows of a table and keeps one row per node."""
    default = 1 if node.target is functional.normalize else None
    dim = _argument(node, "dim", position, default)
    dim = dim[0] if isinstance(dim, list | tuple) and len(dim) == 1 else dim
    shortens = _name(node) in ("sum", "mean")
    return dim in (1, -1) and (not shortens or _argument(node, "keepdim", position + 1, False) is True)


def _argument(node: fx.Node, name: str, position: int, default: Any) -> Any:
    if name in node.kwargs:
        return node.kwargs[name]
    return node.args[position] if len(node.args) > position else default


def _name(node: fx.Node) -> str:
    return str(getattr(node.target, "__name__", node.target))


def _short(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:150]
