"""A report on an uploaded file that names every problem, not only the first."""

from __future__ import annotations

import numpy as np

from certcore.common.errors import InputError
from certcore.common.npz import read_npz
from certcore.domain.bundle_types import DIVISION_IS_GONE
from certcore.instance.instance import Instance, instance_from_arrays

GRAPH_KEYS = ("n_nodes", "n_attrs", "adj_indptr", "adj_indices")
ATTRIBUTE_KEYS = ("attr_indptr", "attr_indices", "attr_values", "attr_dense", "attr_digest")
BASE_KEYS = (
    "base_grid",
    "base_axes",
    "base_local",
    "base_global_fields",
    "base_smoothed_edges",
    "votes",
    "prediction",
    "n_samples",
    "alpha",
    "theta",
    "base_rule",
    "ballots",
    "ballots_weight",
    "weights_read_edges",
    "ballots_checked",
)
#: Each of these is a base certificate, with what belongs to it.
BASES = ("base_grid", "votes", "ballots")
FIELD_KEYS = ("layers", "edge_field", "field_indptr", "field_indices")
OPTIONAL_KEYS = ("targets", "labels", "class_names", "node_names", "layout", "split", "meta")


def read(parts: list[tuple[str, bytes]]) -> dict[str, np.ndarray]:
    """The arrays of one or more files together; where two files disagree about a key, neither is believed."""
    arrays: dict[str, np.ndarray] = {}
    for name, data in parts:
        more = read_npz(data, name)
        twice = [key for key in more if key in arrays and not np.array_equal(more[key], arrays[key])]
        if twice:
            raise InputError(
                f"the files hold different {twice[0]!r}; expected it in one of them: remove it from the other"
            )
        arrays |= more
    return arrays


def problems(arrays: dict[str, np.ndarray]) -> list[str]:
    """Everything that is wrong with the arrays of an instance, one sentence each; empty if nothing is."""
    attributes = () if {"attr_dense", "attr_digest"} & set(arrays) else ATTRIBUTE_KEYS[:2]
    found = [f"the key {key!r} is missing" for key in (*GRAPH_KEYS, *attributes) if key not in arrays]
    if "layers" not in arrays and "field_indptr" not in arrays:
        found.append(
            "the receptive fields are missing: give 'layers' (and 'edge_field'), or 'field_indptr' and 'field_indices'"
        )
    if "division_votes" in arrays:
        return [DIVISION_IS_GONE]
    if not any(key in arrays for key in BASES):
        found.append(
            "the base certificate is missing: give 'base_grid' and 'base_axes', 'votes' with 'theta' and 'alpha', or "
            "'ballots' with 'ballots_weight' and 'weights_read_edges'"
        )
    if found:
        return found
    if _error(arrays) is None:
        return []
    graph = {key: arrays[key] for key in (*GRAPH_KEYS, *ATTRIBUTE_KEYS, "directed") if key in arrays}
    wrong_graph = _error(graph | _plain_base(arrays) | {"layers": np.array(1)})
    found += [wrong_graph] if wrong_graph else []
    # Where the graph itself is broken, the rest is checked on a graph without edges.
    sound = graph if wrong_graph is None else _empty_graph(arrays)
    fields = {key: arrays[key] for key in FIELD_KEYS if key in arrays}
    if wrong_graph is None:
        found += _listed(_error(sound | _plain_base(arrays) | fields))
    found += _listed(_error(sound | {"layers": np.array(1)} | {key: arrays[key] for key in BASE_KEYS if key in arrays}))
    for key in OPTIONAL_KEYS:
        if key in arrays:
            found += _listed(_error(sound | _plain_base(arrays) | {"layers": np.array(1), key: arrays[key]}))
    whole = _error(arrays)
    return list(dict.fromkeys(found)) or _listed(whole)


def build(arrays: dict[str, np.ndarray]) -> Instance:
    return instance_from_arrays(arrays)


def _listed(problem: str | None) -> list[str]:
    return [] if problem is None else [problem]


def _error(arrays: dict[str, np.ndarray]) -> str | None:
    try:
        instance_from_arrays(arrays)
    except InputError as error:
        return str(error)
    except MemoryError:
        return "the instance needs more memory than there is; use a smaller one"
    return None


def _n_nodes(arrays: dict[str, np.ndarray]) -> int:
    value = np.asarray(arrays["n_nodes"])
    return (
        int(value.reshape(-1)[0])
        if value.size == 1 and value.dtype.kind in "iu" and 0 < value.reshape(-1)[0] < 10**6
        else 1
    )


def _plain_base(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"base_grid": np.ones((_n_nodes(arrays), 1), dtype=bool), "base_axes": np.array(["adj_del"])}


def _empty_graph(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    n = _n_nodes(arrays)
    empty, none = np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return {
        "n_nodes": np.array(n),
        "n_attrs": np.array(1),
        "adj_indptr": empty,
        "adj_indices": none,
        "attr_indptr": empty,
        "attr_indices": none,
    }
