"""Instances: graph, receptive fields, base certificate and targets, and their files."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.base.ballots import BallotsBase
from certcore.base.grid import BaseCertificate, BaseLocal, GridBase
from certcore.common.errors import InputError
from certcore.common.npz import read_npz, write_npz
from certcore.common.numbers import INDICES, parse_nodes
from certcore.common.reading import flag, read_json, read_only, whole_number, whole_numbers
from certcore.domain.base_rule import BaseRule
from certcore.domain.bundle_types import DIVISION_IS_GONE
from certcore.domain.edge_field import EdgeField
from certcore.domain.graph import Graph, _csr_arrays, pattern
from certcore.domain.limits import MAX_CLASSES
from certcore.domain.perturbations import FLIPS, LABELS, TABLE, no_flips
from certcore.domain.scale import Scale
from certcore.domain.split import PARTS, TEST, part_of_split

MAX_LAYERS = 20
MAX_TARGETS_BYTES = 64 * 2**20
MAX_META_LENGTH = 10**6
MAX_META_DEPTH = 50


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """Everything a collective certificate is computed from; validates itself.

    The receptive fields are either `layers` hops with the edge rule `edge_field`, or the explicit `node_field` (a
    sparse 0/1 matrix, row n lists the nodes that can influence n), which is valid for attribute budgets only.
    """

    graph: Graph
    base: BaseCertificate
    layers: int | None = 2
    edge_field: str = EdgeField.DEGREES
    node_field: sp.csr_array | None = None
    targets: np.ndarray | None = None
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] | None = None
    node_names: tuple[str, ...] | None = None
    layout: np.ndarray | None = None
    split: np.ndarray | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.graph.n_nodes
        if self.base.n_nodes != n:
            raise InputError(
                f"the base certificate covers {self.base.n_nodes} nodes; expected all {n} nodes of the graph"
            )
        flips = [name for name in FLIPS[:2] if name in self.base.axes]
        if self.graph.real and flips:
            raise InputError(f"the base certificate is about {LABELS[flips[0]]}, but {no_flips()}")
        bind = getattr(self.base, "for_graph", None)
        if bind is not None:
            object.__setattr__(self, "base", bind(self.graph))
        if self.node_field is None:
            if self.layers is None:
                raise InputError("layers is not given; expected the number of layers, or an explicit node field")
            object.__setattr__(self, "layers", whole_number(self.layers, "layers", 0, MAX_LAYERS))
            object.__setattr__(self, "edge_field", EdgeField.parse(self.edge_field, "edge_field"))
            if isinstance(self.base, BallotsBase) and (self.layers, self.edge_field) != (1, EdgeField.MESSAGES):
                raise InputError(
                    f"ballots are summed over one hop, but the fields are {self.layers} layers by the rule "
                    f"{self.edge_field}; expected layers 1 and edge_field messages"
                )
        else:
            if not self.base.fixed_adjacency or self.base.global_fields:
                raise InputError(
                    "explicit fields hold only while the adjacency is fixed, but the base certificate smooths edges; "
                    "give layers and edge_field instead"
                )
            if self.node_field.shape != (n, n):
                raise InputError(f"the node field has shape {self.node_field.shape}; expected ({n}, {n})")
            # Fields are stored as 0/1 patterns, as in a file. Explicit fields do not use the edge rule.
            object.__setattr__(self, "node_field", pattern(self.node_field))
            for part in (self.node_field.data, self.node_field.indices, self.node_field.indptr):
                read_only(part)
            object.__setattr__(self, "layers", None)
            object.__setattr__(self, "edge_field", EdgeField.DEGREES)
        given = np.arange(n) if self.targets is None else self.targets
        object.__setattr__(self, "targets", _distinct_nodes(given, "targets", n))
        # −1: a node in no part of the split, as in the public splits of citation graphs.
        for name, least, largest in (("labels", 0, MAX_CLASSES - 1), ("split", -1, TEST)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_numbers(getattr(self, name), name, least, largest, shape=(n,)))
        if self.layout is not None:
            object.__setattr__(self, "layout", _positions(self.layout, n))
        for name, most in (("class_names", MAX_CLASSES), ("node_names", n)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _name_tuple(getattr(self, name), name, most))
        if self.node_names is not None and len(self.node_names) != n:
            raise InputError(f"node_names has {len(self.node_names)} entries; expected one per node, {n}")
        object.__setattr__(self, "meta", _plain_meta(self.meta))

    def __repr__(self) -> str:
        facts = self.facts()
        size = f"{facts['nodes']} nodes, {facts['edges']} edges, {facts['attributes']} attributes"
        kind = facts["base"].get("kind", "base certificate")
        return f"<Instance {size}; {facts['fields']}; {kind}; {len(np.asarray(self.targets))} targets>"

    @property
    def prediction(self) -> np.ndarray | None:
        """The certified label of each node, if known."""
        return self.base.prediction

    @property
    def base_rule(self) -> BaseRule:
        """The rule from votes to the base certificate (binary also without votes)."""
        rule = self.base.facts.get("rule")  # external base certificates may have any value here
        return BaseRule(rule) if rule in list(BaseRule) else BaseRule.BINARY

    @property
    def scale(self) -> Scale | None:
        """Conversion of lengths (`attr_l2`) to units; None without Gaussian noise on real-valued attributes."""
        return getattr(self.base, "scale", None)

    @property
    def covered_types(self) -> tuple[str, ...]:
        """The perturbation types against which anything can be certified."""
        fixed = self.node_field is not None  # explicit fields are valid only while edges are fixed
        return tuple(entry.name for entry in TABLE if entry.name in self.base.axes and (entry.at_nodes or not fixed))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that a certificate depends on (without names, layout and provenance)."""
        arrays = self.base.arrays() | _graph_arrays(self.graph) | _field_arrays(self)
        arrays["targets"] = np.asarray(self.targets)
        if self.base_rule is not BaseRule.BINARY:
            # The same votes give another base certificate under another rule, so caches must distinguish them.
            arrays["base_rule"] = np.array(str(self.base_rule))
        return _sha256(b"certcore-instance-1", arrays)

    @cached_property
    def full_digest(self) -> str:
        """SHA-256 of the whole content of the instance file, including names, labels, layout and provenance.

        Use it as cache key for anything that shows these: files of two users may differ in them alone.
        """
        return _sha256(b"certcore-instance-file-1", instance_to_arrays(self))

    def select_targets(self, which: str | None) -> np.ndarray:
        """Targets by name, by index or from a file.

        None (the instance's own), `all`, `train`, `val`, `test`, `class:K`, indices such as `3,5,10:20`, or a file with
        one index per line. `correct` and `correct:NAME` keep those with the correct label.
        """
        n = self.graph.n_nodes
        assert self.targets is not None
        if which is None:
            return self.targets
        if which == "all":
            return np.arange(n)
        if which.partition(":")[0] == "correct":
            return self._correct(self.select_targets(before_correct(which)))
        if which in PARTS:
            return part_of_split(self.split, which)
        if which.startswith("class:"):
            if self.prediction is None:
                raise InputError("this instance has no predicted labels; `class:K` needs them: use `all` or a file")
            wanted = which.removeprefix("class:")
            names = list(self.class_names or ())
            # A number is always a class index, even if classes are named "1", "2", "3".
            if wanted.isascii() and wanted.isdigit() and len(wanted) < 10:
                label = int(wanted)
            elif wanted in names:
                label = names.index(wanted)
            else:
                raise InputError(f"{which!r} names no class; expected class:K with K a number from 0 (or a class name)")
            chosen = np.flatnonzero(np.asarray(self.prediction) == label)
            if not len(chosen):
                raise InputError(f"no node is predicted as class {wanted}; choose another class")
            return chosen
        if INDICES.fullmatch(which):
            return parse_nodes(which, n)
        return _targets_from_file(which, n)

    @cached_property
    def right(self) -> np.ndarray | None:
        """Mask of correct predictions, if labels and predictions are known; abstaining nodes count as wrong."""
        if self.labels is None or self.prediction is None:
            return None
        same = np.asarray(self.labels) == np.asarray(self.prediction)
        return np.asarray(same & self.base.fronts().clean, dtype=bool)

    @property
    def controls(self) -> dict[str, float]:
        """Accuracies of models without such a certificate, from the file; shown beside ballots and l2 results.

        Accuracies that hold at one distance only (`at ε = …`) are not drawn as lines beside a curve.
        """
        given = self.meta.get("controls")
        if not (isinstance(self.base, BallotsBase) or self.graph.real) or not isinstance(given, dict):
            return {}
        given = {label: share for label, share in given.items() if " at ε = " not in str(label)}
        shares = {str(label)[:60]: share for label, share in list(given.items())[:6] if isinstance(share, int | float)}
        return {label: float(share) for label, share in shares.items() if 0 <= share <= 1}

    def _correct(self, chosen: np.ndarray) -> np.ndarray:
        if self.right is None:
            raise InputError(
                "this instance has no true labels or no predicted ones, so it is unknown which are right; `correct` "
                "needs both: use `all`, `test` or a file of indices"
            )
        kept = chosen[self.right[chosen]]
        if not len(kept):
            raise InputError(f"none of the {len(chosen):,} targets has the right label; `correct` leaves no target")
        return np.asarray(kept)

    def facts(self) -> dict[str, Any]:
        """The facts about this instance that every result states."""
        fields = "explicit node fields" if self.node_field is not None else f"{self.layers} layers, {self.edge_field}"
        return {
            "nodes": self.graph.n_nodes,
            "edges": self.graph.n_edges,
            "attributes": self.graph.n_attrs,
            "directed": self.graph.directed,
            "fields": fields,
            "base": self.base.facts,
        }


def load_instance(
    source: str | os.PathLike[str] | bytes, *, base_rule: str | None = None, name: str | None = None
) -> Instance:
    """Read and validate an instance file (or its bytes); nothing in it is unpickled.

    Votes are evaluated with `base_rule`; by default with the rule in the file (binary if it has none).
    """
    try:
        return instance_from_arrays(read_npz(source, name), base_rule=base_rule)
    except MemoryError as error:
        raise InputError("the instance needs more memory than there is; use a smaller one") from error


def named(instance: Instance, name: str) -> Instance:
    """The instance with its file name as the name of the graph, if its provenance has none."""
    known = instance.meta.get("dataset")
    if (isinstance(known, str) and known) or not name:
        return instance
    return replace(instance, meta=instance.meta | {"dataset": name})


def save_instance(path: str | os.PathLike[str], instance: Instance) -> None:
    """Write an instance file atomically."""
    write_npz(path, instance_to_arrays(instance))


def instance_to_arrays(instance: Instance) -> dict[str, np.ndarray]:
    """The arrays of an instance file."""
    arrays = _graph_arrays(instance.graph) | _field_arrays(instance) | instance.base.arrays()
    arrays["targets"] = np.asarray(instance.targets)
    for name, kind in (("labels", np.int64), ("layout", np.float32), ("split", np.int8)):
        if getattr(instance, name) is not None:
            arrays[name] = np.asarray(getattr(instance, name), dtype=kind)
    if instance.base_rule is not BaseRule.BINARY:
        arrays["base_rule"] = np.array(str(instance.base_rule))
    for name in ("class_names", "node_names"):
        if getattr(instance, name) is not None:
            arrays[name] = np.array(getattr(instance, name), dtype=str)
    arrays["meta"] = np.array(json.dumps(instance.meta, sort_keys=True, ensure_ascii=False))
    return arrays


def instance_from_arrays(arrays: dict[str, np.ndarray], *, base_rule: str | None = None) -> Instance:
    """Build an instance from the arrays of a file; an error names the first violation of the format."""
    graph = Graph(
        _scalar(arrays, "n_nodes"),
        _scalar(arrays, "n_attrs"),
        _need(arrays, "adj_indptr"),
        _need(arrays, "adj_indices"),
        **_read_attributes(arrays),
        directed=flag(arrays.get("directed", False), "directed"),
    )
    layers: int | None = None
    node_field = None
    if "field_unit" in arrays:
        raise InputError(
            "the file has field_unit, but fields with weights are no longer supported; write the fields as a 0/1 "
            "pattern, or use certcore 0.3, which knows them"
        )
    if "field_indptr" in arrays or "field_indices" in arrays:
        if "layers" in arrays:
            raise InputError(
                "the file has both layers and explicit fields (field_indptr, field_indices); expected one declaration "
                "of the receptive fields: remove the one that is not meant"
            )
        n = graph.n_nodes
        indptr, indices = _csr_arrays(_need(arrays, "field_indptr"), _need(arrays, "field_indices"), n, n, "field")
        node_field = sp.csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n))
    else:
        layers = _scalar(arrays, "layers")
    return Instance(
        graph=graph, base=_read_base(arrays, graph, base_rule or _text(arrays, "base_rule", BaseRule.BINARY)),
        layers=layers, edge_field=_text(arrays, "edge_field", EdgeField.DEGREES), node_field=node_field,
        targets=arrays.get("targets"), labels=arrays.get("labels"),
        class_names=_names(arrays, "class_names", MAX_CLASSES), node_names=_names(arrays, "node_names", graph.n_nodes),
        layout=arrays.get("layout"), split=arrays.get("split"), meta=_meta_of(_text(arrays, "meta", "{}")),
    )  # fmt: skip


def _read_attributes(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The attributes of a file as arguments of a graph: sparse bits or real values, a dense table, or a digest."""
    sparse = [key for key in ("attr_indptr", "attr_indices", "attr_values") if key in arrays]
    forms = [*sparse[:1], *(key for key in ("attr_dense", "attr_digest") if key in arrays)]
    if len(forms) > 1:
        raise InputError(f"the file has both {forms[0]} and {forms[1]}; expected one form of the attributes")
    if "attr_dense" in arrays:
        table = arrays["attr_dense"]
        shape = (_scalar(arrays, "n_nodes"), _scalar(arrays, "n_attrs"))
        if table.shape != shape or table.dtype.kind != "f":
            raise InputError(
                f"attr_dense has shape {table.shape} and type {table.dtype}; expected floating-point numbers of shape "
                f"{shape}, one row per node"
            )
        with np.errstate(over="ignore", under="ignore"):
            matrix = sp.csr_array(table.astype(np.float32))
        return {"attr_indptr": matrix.indptr, "attr_indices": matrix.indices, "attr_values": matrix.data}
    if "attr_digest" in arrays:
        empty = np.zeros(_scalar(arrays, "n_nodes") + 1, dtype=np.int64)
        digest = _text(arrays, "attr_digest", "")
        return {"attr_indptr": empty, "attr_indices": np.zeros(0, dtype=np.int64), "attr_digest": digest}
    return {
        "attr_indptr": _need(arrays, "attr_indptr"),
        "attr_indices": _need(arrays, "attr_indices"),
        "attr_values": arrays.get("attr_values"),
    }


def _read_base(arrays: dict[str, np.ndarray], graph: Graph, base_rule: str) -> BaseCertificate:
    rule = BaseRule.parse(base_rule, "the base rule")
    kinds = [key for key in ("base_grid", "votes", "ballots") if key in arrays]
    if len(kinds) > 1:
        raise InputError(
            f"the file has both {kinds[0]} and {kinds[1]}; expected one base certificate: remove one of them"
        )
    if "ballots" in arrays:
        return BallotsBase.from_arrays(arrays)
    if "division_votes" in arrays:
        raise InputError(DIVISION_IS_GONE)
    if "base_grid" in arrays:
        axes = _need(arrays, "base_axes")
        if axes.dtype.kind != "U" or axes.ndim != 1:
            raise InputError("base_axes is no flat list of names; expected one perturbation type per axis of base_grid")
        return GridBase(
            arrays["base_grid"],
            tuple(axes.tolist()),
            BaseLocal.from_array(arrays["base_local"]) if "base_local" in arrays else None,
            arrays.get("prediction"),
            flag(arrays.get("base_global_fields", False), "base_global_fields"),
            not flag(arrays.get("base_smoothed_edges", False), "base_smoothed_edges"),
        )
    if "votes" not in arrays:
        raise InputError(
            "the file has no base certificate; expected base_grid with base_axes, votes with theta and alpha, or "
            "ballots with their weight"
        )
    from certcore.base.smoothing import SmoothingBase

    theta = _need(arrays, "theta")
    if theta.shape != (4,) or theta.dtype.kind not in "Ufiu":
        raise InputError(f"theta has shape {theta.shape}; expected four flip probabilities as decimals")
    alpha = _need(arrays, "alpha")
    if alpha.shape not in ((), (1,)) or alpha.dtype.kind not in "Uf":
        raise InputError("alpha is no single number; expected a probability such as 0.01")
    parts: dict[str, Any] = {
        "votes": arrays["votes"],
        "prediction": _need(arrays, "prediction"),
        "n_samples": _scalar(arrays, "n_samples"),
        "alpha": alpha.reshape(-1)[0],
        "theta": tuple(theta),  # not tolist(): a float32 0.002 must be read as 0.002
        "rule": rule,
        "graph": graph,
    }
    if "attr_std" not in arrays:
        return SmoothingBase(**parts)
    from certcore.base.gaussian import GaussianBase, stored_std

    return GaussianBase(
        **parts,
        std=stored_std(_text(arrays, "attr_std", "")),
        lattice=_text(arrays, "attr_lattice", ""),
        units=_scalar(arrays, "units"),
        offsets=arrays.get("attr_offsets"),
        factor=_scalar(arrays, "attr_factor") if "attr_factor" in arrays else None,
    )


def _sha256(start: bytes, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(start)
    for key in sorted(arrays):
        array = np.asarray(arrays[key])
        if array.dtype.kind in "iu":
            array = array.astype("<i8")
        elif array.dtype.kind == "f":
            array = array.astype("<f8")
        elif array.dtype.kind == "U":
            text = "\0".join(array.reshape(-1).tolist())
            array = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        head = f"{key}|{array.dtype.str}|{array.shape}|".encode()
        digest.update(head + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _graph_arrays(graph: Graph) -> dict[str, np.ndarray]:
    attributes = {"attr_indptr": _small(graph.attr_indptr), "attr_indices": _small(graph.attr_indices)}
    if graph.attr_values is not None:
        attributes["attr_values"] = graph.attr_values
    if graph.attr_digest is not None:
        attributes = {"attr_digest": np.array(graph.attr_digest)}
    return attributes | {
        "n_nodes": np.array(graph.n_nodes),
        "n_attrs": np.array(graph.n_attrs),
        "directed": np.array(graph.directed),
        "adj_indptr": _small(graph.adj_indptr),
        "adj_indices": _small(graph.adj_indices),
    }


def _field_arrays(instance: Instance) -> dict[str, np.ndarray]:
    if instance.node_field is not None:
        matrix = instance.node_field
        return {"field_indptr": _small(matrix.indptr), "field_indices": _small(matrix.indices)}
    return {"layers": np.array(instance.layers), "edge_field": np.array(instance.edge_field)}


def _small(array: np.ndarray) -> np.ndarray:
    """Indices in 32 bits, which halves the file."""
    return array.astype(np.int32) if array.size == 0 or array.max() < 2**31 else array


def _need(arrays: dict[str, np.ndarray], key: str) -> np.ndarray:
    if key not in arrays:
        raise InputError(f"the file has no {key!r}; an instance needs it (see the table of keys in the documentation)")
    return arrays[key]


def _scalar(arrays: dict[str, np.ndarray], key: str) -> int:
    return whole_number(_need(arrays, key), key, 0, 2**62)


def _text(arrays: dict[str, np.ndarray], key: str, default: str) -> str:
    if key not in arrays:
        return default
    value = arrays[key]
    if value.size != 1 or value.dtype.kind != "U":
        raise InputError(f"{key} is no text; expected one word")
    return str(value.reshape(-1)[0])


def _names(arrays: dict[str, np.ndarray], key: str, most: int) -> tuple[str, ...] | None:
    if key not in arrays:
        return None
    value = arrays[key]
    if value.ndim != 1 or value.dtype.kind != "U":
        raise InputError(f"{key} is no flat list of text; expected one name each")
    if len(value) > most:  # checked before objects are created for each
        raise InputError(f"{key} has {len(value):,} entries; expected at most {most:,}")
    return tuple(value.tolist())


def _name_tuple(names: Any, what: str, most: int) -> tuple[str, ...]:
    """Names that a file can hold: text without the zero character, which numpy would truncate."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} is no list of text; expected one name each")
    result = tuple(str(name) for name in names)
    if len(result) > most:
        raise InputError(f"{what} has {len(result):,} entries; expected at most {most:,}")
    odd = next((name for name in result if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name)), None)
    if odd is not None:
        raise InputError(f"{what} contains {odd!r}; expected Unicode text without zero characters")
    return result


def _positions(layout: object, n_nodes: int) -> np.ndarray:
    given = np.asarray(layout)
    if given.shape != (n_nodes, 2) or given.dtype.kind not in "fiu":
        raise InputError(f"layout has shape {given.shape}; expected {n_nodes} finite (x, y) positions")
    if not np.isfinite(given).all() or np.abs(given).max(initial=0) > np.finfo(np.float32).max:
        raise InputError("layout contains a position that is not finite; expected numbers that 32 bits can hold")
    positions = given.astype(np.float32)
    positions.setflags(write=False)
    return positions


def _distinct_nodes(nodes: object, what: str, n_nodes: int) -> np.ndarray:
    """Indices of distinct nodes."""
    result = whole_numbers(nodes, what, 0, n_nodes - 1)
    if len(np.unique(result)) != len(result):
        raise InputError(f"{what} name a node twice; every target counts once")
    return result


def _plain_meta(meta: object) -> dict[str, Any]:
    """The provenance as read back from a file: values that JSON cannot hold are refused, tuples become lists."""
    if not isinstance(meta, dict):
        raise InputError("meta is no object; expected a dictionary with the provenance")
    try:
        text = json.dumps(meta, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"meta cannot be written as JSON ({error}); expected text, numbers, lists and objects"
        ) from error
    return _meta_of(text)


def _meta_of(text: str) -> dict[str, Any]:
    if len(text) > MAX_META_LENGTH:
        raise InputError(f"meta has {len(text):,} characters; expected at most {MAX_META_LENGTH:,}")
    meta = read_json(text, "meta")
    try:
        # Values that JSON cannot write (1e999, lone surrogates, deep nesting) could not be shown with a result.
        json.dumps(meta, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise InputError("meta is no valid JSON text; expected an object with the provenance") from error
    if not isinstance(meta, dict):
        raise InputError("meta is JSON but no object; expected an object with the provenance")
    level: list[Any] = [meta]
    for _ in range(MAX_META_DEPTH):
        parts = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for part in parts for child in part if isinstance(child, dict | list)]
    if level:
        raise InputError(f"meta has more than {MAX_META_DEPTH} levels; expected an object with the provenance")
    return meta


def names_targets(which: str) -> bool:
    """Whether this is a keyword of `select_targets`, neither a list of indices nor a file."""
    return which in ("all", "correct", *PARTS) or which.startswith(("class:", "correct:"))


def before_correct(which: str | None) -> str | None:
    """The targets of `correct` or `correct:NAME` before wrongly labelled ones are removed."""
    while which is not None and which.partition(":")[0] == "correct":  # may be repeated
        which = which.partition(":")[2] or None
    return which


def accuracy_of(instance: Instance, which: str | None) -> int | None:
    """The number of targets before `correct` is applied: the denominator of certified accuracy."""
    if which is None or before_correct(which) == which:
        return None
    return len(instance.select_targets(before_correct(which)))


def _targets_from_file(path: str, n_nodes: int) -> np.ndarray:
    try:
        with open(path, "rb") as handle:
            data = handle.read(MAX_TARGETS_BYTES + 1)  # a device may report size 0 and never end
        if len(data) > MAX_TARGETS_BYTES:
            raise InputError(f"the targets file {path} is larger than 64 MB; expected one node index per line")
        lines = data.decode("utf-8").split()
    except (OSError, ValueError) as error:
        raise InputError(
            f"targets {path!r} is neither all, train, val, test, class:K nor a readable text file with one "
            "node index per line"
        ) from error
    nodes = []
    for number, line in enumerate(lines, 1):
        if not (line.isascii() and line.isdigit()) or len(line) > 12 or int(line) >= n_nodes:
            raise InputError(f"line {number} of {path} is {line[:20]!r}; expected a node index from 0 to {n_nodes - 1}")
        nodes.append(int(line))
    if len(set(nodes)) != len(nodes):
        raise InputError(f"{path} names a node twice; every target counts once")
    return np.array(nodes, dtype=np.int64)
