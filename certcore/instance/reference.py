"""An instance from the inputs of the papers' own code: boolean grid, list of types, receptive-field matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.base.grid import GridBase
from certcore.common.errors import InputError
from certcore.data.anything import as_dataset
from certcore.domain.edge_field import EdgeField
from certcore.domain.perturbations import TYPES, entry_of
from certcore.instance.instance import Instance


def from_reference(
    grid: Any,
    types: Sequence[str],
    fields: Sequence[Any] = (),
    attributes: Any = None,
    adjacency: Any = None,
    *,
    layers: int | None = None,
    edge_field: str = EdgeField.DEGREES,
    targets: Any = None,
) -> Instance:
    """The instance of a boolean grid (nodes × one axis per type) and N × N receptive fields, one per type.

    Fields are matrices for attribute types; for edge types give `layers` and `edge_field` instead. Attributes and
    adjacency are needed because only existing bits can be deleted. Pickled objects are refused.
    """
    table = _plain(grid, "the grid")
    if table.dtype != bool:
        raise InputError(f"the grid has type {table.dtype}; expected booleans, true where a budget is certified")
    axes = tuple(str(kind) for kind in types)  # the type names are the same there
    strange = [kind for kind in axes if kind not in TYPES]
    if strange:
        raise InputError(f"{strange[0]!r} is no perturbation type; expected {', '.join(TYPES)}")
    if attributes is None or adjacency is None:
        raise InputError("attributes and adjacency are missing; expected both, since budgets are about their bits")
    dataset, _ = as_dataset((_plain(attributes, "attributes"), sp.csr_array(_plain(adjacency, "the adjacency"))))
    base = GridBase(table, axes)
    if layers is not None:
        return Instance(dataset.graph, base, layers=layers, edge_field=edge_field, targets=targets)
    if any(not entry_of(kind).at_nodes for kind in axes):
        raise InputError("explicit fields say nothing about edges; give layers= and edge_field= for edge types")
    if len(fields) != len(axes):
        raise InputError(f"there are {len(fields)} fields for {len(axes)} types; expected one N × N matrix per type")
    # A node is in the field if it is for either attribute type: a larger field is always sound.
    first, *others = (sp.csr_array(_plain(one, "a field")) != 0 for one in fields)
    union = sum(others, first)
    return Instance(dataset.graph, base, layers=None, node_field=sp.csr_array(union), targets=targets)


def _plain(value: object, what: str) -> Any:
    """Numbers as an array or sparse matrix; files and other objects are refused."""
    if sp.issparse(value):
        return value
    if isinstance(value, str | bytes) or hasattr(value, "__fspath__"):
        raise InputError(f"{what} is a file; expected an array: files of the reference are pickles and are not opened")
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise InputError(f"{what} holds Python objects; expected plain numbers or booleans")
    return array
