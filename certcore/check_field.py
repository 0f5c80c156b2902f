"""Try to falsify a declared receptive field: flips outside of it must not change any score.

Gradients suggest attributes to test; actual flips decide. On the clean graph and on noisy ones, everything outside the
fields of some nodes is replaced at once. Edges just outside are deleted one by one and together. The scores of these
nodes are compared in double precision. Finding no difference proves nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from certcore.common.errors import InputError
from certcore.common.exact import Probability
from certcore.common.reading import whole_number
from certcore.data.anything import as_dataset
from certcore.data.dataset import ImportOptions
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.instance.fields import Fields, hop_fields
from certcore.instance.instance import MAX_LAYERS
from certcore.models.field import Fault
from certcore.votes.threads import one_thread

if TYPE_CHECKING:
    from torch import Tensor

    from certcore.models.called import Called
    from certcore.models.reading import Reading

#: Smaller relative differences of scores (to the largest score) are attributed to rounding, by precision.
_ROUNDING = {"float64": 1e-9, "float32": 5e-5}
#: Nodes are checked one by one until about this many attributes have been read.
_CELLS = 2 * 10**7
#: Number of edges just outside a field that are deleted one by one.
_SINGLY = 3


@dataclass(frozen=True)
class Violation:
    """A counterexample: changes outside the field of `node` that change the model's scores for it."""

    node: int
    attributes: int
    """Number of attributes that were changed together."""
    edges: int
    """Number of edges that were deleted together."""
    change: float
    graph: str


@dataclass(frozen=True)
class FieldCheck:
    """Result of an attempt to falsify a field; `str` gives it as a sentence."""

    layers: int
    edge_field: EdgeField
    derived: bool
    comparisons: int
    graphs: int
    violation: Violation | None = None
    fault: Fault | None = None
    """Why the model is not a function of the graph (random or stateful), if it is not."""

    @property
    def passed(self) -> bool:
        return self.violation is None and self.fault is None

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        from certcore.messages import field_words

        return str(field_words(self))

    def require(self) -> None:
        """Raise `InputError` if the field was falsified."""
        if not self.passed:
            raise InputError(str(self))

    def to_json(self) -> dict[str, Any]:
        """The entry for the provenance of an instance."""
        return {"comparisons": self.comparisons, "graphs": self.graphs, "passed": self.passed}


class CheckOptions(ImportOptions, total=False):
    """Further options of `check_field`, including those of an import (`ImportOptions`)."""

    nodes: int
    graphs: int
    seed: int


def check_field(
    model: Callable[..., Any],
    data: object,
    *,
    layers: int | None = None,
    edge_field: str | None = None,
    attr_add: Probability = "0.01",
    attr_del: Probability = "0.3",
    adj_del: Probability = "0.3",
    wrapper: Callable[..., Any] | None = None,
    edges: str = "edge_index",
    **options: Unpack[CheckOptions],
) -> FieldCheck:
    """Try to falsify that `model` reads no more than `layers` hops of `data` by the rule `edge_field`.

    Without `layers` the field is derived from the model's modules, where that is possible. The model is used in the
    mode it is in, so batch normalisation in training mode is detected. `nodes` predictions (24) are compared on the
    clean graph and on `graphs` − 1 (2) noisy ones, whose flip probabilities are `attr_add`, `attr_del` and `adj_del`.
    Passing the check is no proof: the model may still read more.
    """
    from certcore.models.called import Called
    from certcore.votes.state import generators_kept, require_plain_torch

    require_plain_torch()
    nodes = whole_number(options.pop("nodes", 24), "nodes", 1, 10**9)
    graphs = whole_number(options.pop("graphs", 3), "graphs", 1, 10**6)
    seed = options.pop("seed", 0)
    dataset, _ = as_dataset(data, **options)  # type: ignore[misc]
    called = Called(model, wrapper, edges)
    mode = getattr(model, "training", False)
    noise = Noise.to_draw((attr_add, attr_del, 0, adj_del))
    with generators_kept(), one_thread():
        called.training = mode
        asked_for = declared_field(called, dataset.graph, layers, edge_field, smaller=True)
        found = falsify(
            called, dataset.graph, *asked_for[:2], noise, derived=asked_for[2], nodes=nodes, graphs=graphs, seed=seed
        )
        if found:  # a field smaller than the one derived is wrong even if no flip shows it
            declared_field(called, dataset.graph, layers, edge_field)
    return found


def declared_field(
    called: Called, graph: Graph, layers: int | None, edge_field: str | None, *, smaller: bool = False
) -> tuple[int, EdgeField, bool]:
    """Number of layers and edge rule: declared, or derived from the modules, or an error that lists the choices.

    A declaration smaller than the derived field is an error as well, unless `smaller` allows it (to falsify it).
    """
    rule = None if edge_field is None else EdgeField.parse(edge_field, "edge_field")
    if layers is not None:
        layers = whole_number(layers, "layers", 0, MAX_LAYERS)
        if smaller:
            return layers, rule or EdgeField.DEGREES, False
    from certcore.models.reading import Unreadable, read_module
    from certcore.votes.module import clean_input

    called = copy.deepcopy(called).eval()
    try:
        reading = read_module(called, *clean_input(graph, called))
    except Unreadable as error:
        if layers is not None:
            return layers, rule or EdgeField.DEGREES, False
        reason = str(error)
        raise InputError(
            f"what the model reads cannot be derived: {reason[:160]}. Declare it: layers=K, the layers of messages one "
            "after the other, and edge_field='degrees' if messages are weighted by degrees of senders (GCN, SGC, "
            "APPNP) or you are not sure, 'messages' if nodes only add, average or attend (SAGE, GAT, GIN). More is safe"
        ) from error
    if layers is not None:
        _require_all_that_is_read(layers, rule or EdgeField.DEGREES, reading, graph)
        return layers, rule or EdgeField.DEGREES, False
    if reading.layers > MAX_LAYERS:
        raise InputError(f"the model has {reading.layers} layers of messages; expected at most {MAX_LAYERS}")
    if rule is EdgeField.MESSAGES and reading.degrees:
        raise InputError(
            "edge_field='messages' was asked for, but this model weights messages by the degrees of their senders; "
            "leave edge_field out, then it is 'degrees'"
        )
    return reading.layers, rule or reading.edge_field, rule in (None, reading.edge_field)


def _require_all_that_is_read(layers: int, rule: EdgeField, reading: Reading, graph: Graph) -> None:
    """Refuse a declared field that is smaller than the one derived from the modules."""
    # On undirected graphs one more layer also covers the degrees of senders.
    enough = rule is EdgeField.DEGREES or not reading.degrees or (layers > reading.layers and not graph.directed)
    if layers < reading.layers or not enough:
        raise InputError(
            f"the model reads more than the declared field: declared are layers={layers} and edge_field='{rule}', but "
            f"its modules read layers={reading.layers} and edge_field='{reading.edge_field}'; declare at least that, "
            "or leave both out"
        )


@one_thread()  # thousands of small calls: several threads would mostly wait for each other
def falsify(
    called: Called,
    graph: Graph,
    layers: int,
    edge_field: EdgeField,
    noise: Noise,
    *,
    derived: bool = False,
    nodes: int = 24,
    graphs: int = 3,
    seed: int = 0,
    keeps: bool = False,
) -> FieldCheck:
    """The check itself, on our own graph class; a model that `keeps` values is copied for every comparison."""
    random = np.random.default_rng(seed)
    model = _Model(called, graph)
    fault = model.fault(_draw(graph, noise, random))
    if fault is None and not derived and layers and model.ignores_edges(random):
        fault = Fault.EDGES
    model.keeps = keeps
    result = FieldCheck(layers, edge_field, derived, 1, 1, fault=fault)
    if fault:
        return result
    probes = _probes(graph, min(nodes, graph.n_nodes), random)
    fields = hop_fields(graph, probes, layers, edge_field)
    compared = 0
    for number in range(graphs):
        draw = _draw(graph, noise, random) if number else _Draw.clean(graph)
        search = _Search(model, draw, probes, fields, random)
        violation = search.run("the observed graph" if number == 0 else f"noisy graph {number}")
        compared += search.compared
        if violation is not None:
            return FieldCheck(layers, edge_field, derived, compared, number + 1, violation)
    return FieldCheck(layers, edge_field, derived, compared, graphs)


def _probes(graph: Graph, count: int, random: np.random.Generator) -> np.ndarray:
    """Nodes to check: some of high degree, some of low degree, the rest at random."""
    order = np.argsort(-graph.incident, kind="stable")
    linked = order[graph.incident[order] > 0]
    chosen = [*linked[: count // 4], *linked[-(count // 4) :], *random.permutation(graph.n_nodes)]
    return np.array(list(dict.fromkeys(int(node) for node in chosen))[:count], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Draw:
    """A clean or noisy graph that a comparison starts from: attributes, and which of the clean edges are kept."""

    x: np.ndarray
    kept: np.ndarray

    @classmethod
    def clean(cls, graph: Graph) -> _Draw:
        return cls(_table(graph), np.ones(graph.n_edges, dtype=bool))


def _draw(graph: Graph, noise: Noise, random: np.random.Generator) -> _Draw:
    add, delete, _, unlink = (float(theta) for theta in noise.fractions)
    clean = _table(graph)
    if graph.real:  # noise on the scale of the standard deviation of the attributes
        x = clean + clean.std() * random.standard_normal(clean.shape)
    else:
        x = clean ^ (random.random(clean.shape) < np.where(clean, delete, add))
    return _Draw(x, random.random(graph.n_edges) >= unlink)


def _table(graph: Graph) -> np.ndarray:
    """The attributes as a dense array, binary or real-valued."""
    return graph.attributes.toarray().astype(np.float64 if graph.real else bool)


class _Model:
    """The network in double precision, from attributes and kept edges to scores."""

    def __init__(self, called: Called, graph: Graph) -> None:
        import torch

        self.graph, self.keeps = graph, False
        self.called = _copy(called)
        self.dtype = torch.float64
        self.fresh = _copy(called).double()
        clean = _Draw.clean(graph)
        try:
            self.called = self.called.double()
            self.scores(clean.x, clean.kept)
        except InputError:  # it creates single-precision tensors itself
            self.called, self.fresh, self.dtype = _copy(called), _copy(called), torch.float32
            self.scores(clean.x, clean.kept)

    def tensors(self, x: np.ndarray, kept: np.ndarray) -> tuple[Tensor, Tensor]:
        import torch

        pairs = self.graph.edges[kept]
        if not self.graph.directed:
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]  # the order of edges in samples
        # Rows are (receiver, sender); messages run from the first row of an edge_index to the second.
        return torch.from_numpy(x).to(self.dtype), torch.from_numpy(np.ascontiguousarray(pairs[:, ::-1].T))

    def _as_given(self) -> Called:
        return copy.deepcopy(self.called) if self.keeps else self.called

    def scores(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            where = "this graph" if kept.all() else "a graph with fewer edges"
            result: np.ndarray = self._as_given().run(*self.tensors(x, kept), where).numpy()
        return result

    def gradient(self, x: np.ndarray, kept: np.ndarray, nodes: np.ndarray, seed: int) -> np.ndarray:
        """Gradient of a random combination of the scores of some nodes by every attribute; zeros if there is none."""
        import torch

        values, edges = self.tensors(x, kept)
        values.requires_grad_(True)
        try:
            scores = self._as_given().scores(values, edges)[torch.from_numpy(nodes)]
            mix = torch.randn(scores.shape, dtype=scores.dtype, generator=torch.Generator().manual_seed(seed))
            (found,) = torch.autograd.grad((scores * mix).sum(), values, allow_unused=True)
        except Exception:  # a model without gradients is still tested by flips
            found = None
        return np.zeros(x.shape) if found is None else found.abs().numpy()

    @property
    def rounding(self) -> float:
        return _ROUNDING[str(self.dtype).rpartition(".")[2]]

    def differs(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Largest difference between rows of scores; 0 where rounding explains it."""
        scale = max(1e-12, float(np.abs(one).max(initial=0)), float(np.abs(other).max(initial=0)))
        change = np.abs(one - other).max(axis=1)
        return np.where(change > self.rounding * scale, change, 0.0)

    def fault(self, noisy: _Draw) -> Fault | None:
        """Whether scores are random or depend on earlier calls: then the model is not a function of the graph."""
        clean = _Draw.clean(self.graph)
        first, second = self.scores(clean.x, clean.kept), self.scores(clean.x, clean.kept)
        if self.differs(first, second).any():
            return Fault.CHANCE
        used = self.scores(noisy.x, noisy.kept)
        if self.differs(first, self.scores(clean.x, clean.kept)).any():
            return Fault.MEMORY
        self.called = self.fresh
        return Fault.MEMORY if self.differs(used, self.scores(noisy.x, noisy.kept)).any() else None

    def ignores_edges(self, random: np.random.Generator) -> bool:
        """Whether the scores are the same for as many other edges: a cache answers, or no edge is read.

        A function cannot be copied, so this is how one that keeps the edges of an earlier call is found.
        """
        import torch

        clean = _Draw.clean(self.graph)
        x, edges = self.tensors(clean.x, clean.kept)
        pairs = random.permutation(self.graph.n_nodes)[edges.numpy()]
        pairs = pairs[:, np.lexsort(pairs)]  # the order of edges in samples
        if np.array_equal(pairs, edges.numpy()):
            return False
        other = torch.from_numpy(pairs)
        with torch.no_grad():
            found: np.ndarray = self._as_given().run(x, other, "a graph with other edges").numpy()
        return not self.differs(self.scores(clean.x, clean.kept), found).any()


def _copy(called: Called) -> Called:
    """A copy on the CPU for experiments: running statistics and caches of the original do not change."""
    try:
        return copy.deepcopy(called).cpu()
    except Exception as error:
        raise InputError(
            f"the model cannot be copied ({type(error).__name__}: {error}), so its field cannot be checked without "
            "touching it; pass check=False and take care that the declared field is right"
        ) from error


class _Search:
    """All comparisons that start from one graph."""

    def __init__(
        self, model: _Model, draw: _Draw, probes: np.ndarray, fields: Fields, random: np.random.Generator
    ) -> None:
        self.model, self.draw, self.probes, self.random = model, draw, probes, random
        assert fields.edges is not None
        self.near, self.links = fields.nodes, fields.edges
        self.compared = 0

    def run(self, where: str) -> Violation | None:
        """Check all nodes together first, then as many one by one as the size of the graph allows."""
        together = np.arange(len(self.probes))
        singly = max(2, _CELLS // max(1, self.draw.x.size))
        for group in [together, *self.random.permutation(together)[:singly, None]]:
            violation = self._group(group, where)
            if violation is not None:
                return violation
        return None

    def _group(self, group: np.ndarray, where: str) -> Violation | None:
        graph = self.model.graph
        outside = np.ones(graph.n_nodes, dtype=bool)
        outside[self.near[group].indices] = False
        unlinked = np.ones(graph.n_edges, dtype=bool)
        unlinked[self.links[group].indices] = False
        rows, columns = np.flatnonzero(outside), np.flatnonzero(unlinked)
        if not len(rows) and not len(columns):
            return None
        for bits, edges in self._attempts(group, rows, columns, outside):
            if not len(bits) and not len(edges):
                continue
            nodes = self.probes[group]
            changes = self._changes(bits, edges, nodes)
            if changes.any():
                worst = int(changes.argmax())
                return Violation(int(nodes[worst]), len(bits), len(edges), float(changes[worst]), where)
        return None

    def _attempts(
        self, group: np.ndarray, rows: np.ndarray, columns: np.ndarray, outside: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sets of flips outside the fields: attribute bits (row, column) and edges."""
        none, graph = np.zeros((0, 2), dtype=np.int64), self.model.graph
        bits = none
        if graph.n_attrs and len(rows):
            # All rows outside the field change; flipping a tenth of their bits is enough to change any sum.
            drawn = self.random.random((len(rows), graph.n_attrs)) < 0.1
            bits = np.stack([rows[drawn.nonzero()[0]], drawn.nonzero()[1]], axis=1)
        ends = ~outside[graph.edges[columns]]
        border = columns[ends.any(axis=1)] if len(columns) else columns
        border = border if len(border) else columns
        singly = self.random.permutation(border)[: _SINGLY if len(group) == 1 else 1]
        half = columns[self.random.random(len(columns)) < 0.5]
        empty = np.zeros(0, dtype=np.int64)
        sets = [(bits, empty), (none, half), (none, border), *((none, np.array([edge])) for edge in singly)]
        if len(bits):
            slope = self.model.gradient(
                self.draw.x, self.draw.kept, self.probes[group], int(self.random.integers(2**31))
            )
            steep = np.argwhere(slope[rows] > 0)
            if len(steep):
                top = steep[np.argsort(-slope[rows][tuple(steep.T)], kind="stable")[:8]]
                sets.insert(0, (np.stack([rows[top[:, 0]], top[:, 1]], axis=1), empty))
        return sets

    def _changes(self, bits: np.ndarray, edges: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Difference of the nodes' scores when bits are flipped and edges deleted, everything else equal."""
        self.compared += 1
        with_edges, without = self.draw.kept.copy(), self.draw.kept.copy()
        with_edges[edges], without[edges] = True, False
        x = self.draw.x.copy()
        if x.dtype == bool:
            x[bits[:, 0], bits[:, 1]] ^= True
        else:  # real-valued attributes are shifted by their largest absolute value
            x[bits[:, 0], bits[:, 1]] += max(1.0, float(np.abs(x).max(initial=0)))
        before = self.model.scores(self.draw.x, with_edges)[nodes]
        return self.model.differs(before, self.model.scores(x, without)[nodes])
