"""The clean graph: a sparse adjacency and sparse attributes, which are binary or real-valued."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.reading import flag, read_only, whole_number, whole_numbers

#: Larger graphs are refused before memory is allocated.
MAX_NODES = 5_000_000
MAX_ATTRS = 50_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, eq=False)
class Graph:
    """One attributed graph in CSR form; entry (i, j) of the adjacency means that i receives messages from j.

    Undirected graphs store both entries. There are no self loops. Build it with `Graph.from_edges` or from CSR arrays.
    Both ways validate the input and store sorted, read-only int64 arrays.

    Attributes are binary, or real-valued if `attr_values` is given (float32, one non-zero value for each of
    `attr_indices`). Real values that no certificate needs may be left out. `attr_digest` then identifies them.
    """

    n_nodes: int
    n_attrs: int
    adj_indptr: np.ndarray
    adj_indices: np.ndarray
    attr_indptr: np.ndarray
    attr_indices: np.ndarray
    directed: bool = False
    attr_values: np.ndarray | None = None
    attr_digest: str | None = None

    def __post_init__(self) -> None:
        for name, limit in (("n_nodes", MAX_NODES), ("n_attrs", MAX_ATTRS)):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, int(name == "n_nodes"), limit))
        adj = _csr_arrays(self.adj_indptr, self.adj_indices, self.n_nodes, self.n_nodes, "adj")
        if self.attr_values is not None:
            values = _sorted_values(self.attr_values, self.attr_indptr, self.attr_indices, self.n_nodes, self.n_attrs)
            object.__setattr__(self, "attr_values", read_only(values))
        attr = _csr_arrays(self.attr_indptr, self.attr_indices, self.n_nodes, self.n_attrs, "attr")
        if self.attr_digest is not None and (
            not _SHA256.fullmatch(str(self.attr_digest)) or len(attr[1]) or self.attr_values is not None
        ):
            raise InputError(
                "attr_digest is no SHA-256 of attributes that were left out; expected 64 hexadecimal digits, and no "
                "attributes beside it"
            )
        for name, array in zip(("adj_indptr", "adj_indices", "attr_indptr", "attr_indices"), (*adj, *attr)):
            object.__setattr__(self, name, read_only(array))
        object.__setattr__(self, "directed", flag(self.directed, "directed"))
        rows = self._adj_rows
        loops = np.flatnonzero(rows == self.adj_indices)
        if len(loops):
            raise InputError(f"the adjacency has a self loop at node {rows[loops[0]]}; remove self loops")
        if not self.directed:
            forward = rows * self.n_nodes + self.adj_indices
            backward = np.sort(self.adj_indices * self.n_nodes + rows)
            if not np.array_equal(forward, backward):
                lonely = np.setdiff1d(forward, backward)[0]
                raise InputError(
                    f"the adjacency is not symmetric: entry ({lonely // self.n_nodes}, {lonely % self.n_nodes}) has "
                    "no counterpart; add it, or mark the graph as directed"
                )

    @classmethod
    def from_edges(
        cls,
        n_nodes: int,
        edges: np.ndarray,
        attributes: sp.csr_array | np.ndarray | None = None,
        *,
        directed: bool = False,
        n_attrs: int | None = None,
        keep_values: bool = False,
    ) -> Graph:
        """Build a graph from an (E, 2) array of edges; undirected edges may be given in either direction or both.

        With `keep_values` attributes are real-valued and stored as given. Without it they have to be 0 and 1.
        """
        n_nodes = whole_number(n_nodes, "n_nodes", 1, MAX_NODES)
        # A (2, E) array is refused: it would silently be interpreted as other edges.
        given = edges if np.size(edges) else np.zeros((0, 2), dtype=np.int64)
        pairs = whole_numbers(given, "edges", 0, n_nodes - 1, shape=(None, 2))
        if not directed:
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
        keys = np.unique(pairs[:, 0] * n_nodes + pairs[:, 1])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(keys // n_nodes, minlength=n_nodes))])
        if attributes is None:
            attrs = sp.csr_array((n_nodes, n_attrs or 0), dtype=np.int8)
        else:
            attrs = sp.csr_array(attributes, copy=True)
            odd = attrs.data[(attrs.data != 0) & (attrs.data != 1)]
            if len(odd) and not keep_values:
                raise InputError(
                    f"an attribute has the value {odd[0]}; expected only 0 and 1: make them binary first, or keep them "
                    "as numbers with keep_values=True"
                )
            if keep_values:
                attrs.sum_duplicates()
                with np.errstate(over="ignore", under="ignore"):
                    attrs = attrs.astype(np.float32)  # before zeros are removed: tiny float64 values become 0
            attrs.eliminate_zeros()
        attrs.sort_indices()
        parts = (indptr, keys % n_nodes, attrs.indptr, attrs.indices, directed)
        return cls(n_nodes, attrs.shape[1], *parts, attr_values=attrs.data if keep_values else None)

    @property
    def real(self) -> bool:
        """Whether attributes are real-valued, so that attribute flips are not defined."""
        return self.attr_values is not None or self.attr_digest is not None

    @property
    def _adj_rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_nodes), np.diff(self.adj_indptr))

    @property
    def adjacency(self) -> sp.csr_array:
        """The adjacency as a sparse 0/1 matrix; a new copy each time, which callers may modify."""
        return _ones_at(self.adj_indptr, self.adj_indices, self.n_nodes)

    @property
    def attributes(self) -> sp.csr_array:
        """The attributes as a sparse matrix, 0/1 or float32; a new copy each time."""
        if self.attr_digest is not None:
            raise InputError(
                "the attributes of this graph were left out of its file, for no certificate on edges reads them; give "
                "the dataset it was made from"
            )
        matrix = _ones_at(self.attr_indptr, self.attr_indices, self.n_attrs)
        if self.attr_values is None:
            return matrix
        return sp.csr_array((self.attr_values.copy(), matrix.indices, matrix.indptr), shape=matrix.shape)

    def with_attributes(self, attributes: sp.csr_array | np.ndarray) -> Graph:
        """The same edges with other, real-valued attributes."""
        return Graph.from_edges(self.n_nodes, self.edges, attributes, directed=self.directed, keep_values=True)

    def without_attributes(self) -> Graph:
        """The same graph with a digest in place of its real-valued attributes."""
        if not self.real:
            return self
        starts, none = np.zeros(self.n_nodes + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return replace(self, attr_indptr=starts, attr_indices=none, attr_values=None, attr_digest=self._attr_digest)

    @cached_property
    def edges(self) -> np.ndarray:
        """Every edge once: (i, j) with i < j if undirected, (receiver, sender) if directed."""
        rows = self._adj_rows
        keep = slice(None) if self.directed else rows < self.adj_indices
        return read_only(np.stack([rows[keep], self.adj_indices[keep]], axis=1))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that digests cover, in their fixed order; integers only."""
        if self.real:
            return self.adj_indptr, self.adj_indices, np.frombuffer(bytes.fromhex(self._attr_digest), dtype=np.uint8)
        return self.adj_indptr, self.adj_indices, self.attr_indptr, self.attr_indices

    @cached_property
    def _attr_digest(self) -> str:
        """SHA-256 of real-valued attributes, also if they were left out."""
        if self.attr_digest is not None:
            return self.attr_digest
        digest = hashlib.sha256(f"certcore-attributes-1|{self.n_nodes}|{self.n_attrs}".encode())
        digest.update(self.attr_indptr.astype("<i8").tobytes() + self.attr_indices.astype("<i8").tobytes())
        digest.update(np.asarray(self.attr_values).astype("<f8").tobytes())
        return digest.hexdigest()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of nodes, edges and attributes: equal for equal graphs."""
        kind = "certcore-graph-2" if self.real else "certcore-graph-1"
        digest = hashlib.sha256(f"{kind}|{self.n_nodes}|{self.n_attrs}|{self.directed}".encode())
        for array in self.arrays:
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge is one edge (and one bit)."""
        return len(self.adj_indices) if self.directed else len(self.adj_indices) // 2

    @cached_property
    def incident(self) -> np.ndarray:
        """Number of edges at each node, incoming and outgoing ones together."""
        return read_only(np.bincount(self.edges.ravel(), minlength=self.n_nodes))

    @cached_property
    def ones(self) -> np.ndarray:
        """Number of non-zero attributes of each node."""
        return read_only(np.diff(self.attr_indptr))


def _ones_at(indptr: np.ndarray, indices: np.ndarray, columns: int) -> sp.csr_array:
    """A new sparse matrix with ones at these positions."""
    parts = (np.ones(len(indices), dtype=np.int8), indices.copy(), indptr.copy())
    return sp.csr_array(parts, shape=(len(indptr) - 1, columns))


def _sorted_values(values: object, indptr: np.ndarray, indices: np.ndarray, n_nodes: int, n_attrs: int) -> np.ndarray:
    """The values in the order of the sorted indices; refused unless all are finite and non-zero."""
    array = np.asarray(values)
    columns = np.asarray(indices)
    if array.dtype.kind not in "fiub" or array.shape != columns.shape:
        raise InputError(
            f"attr_values has shape {array.shape} and type {array.dtype}; expected one number for each of "
            f"{columns.size:,} attr_indices"
        )
    with np.errstate(over="ignore", under="ignore"):
        single = array.astype(np.float32)
    if not np.isfinite(single).all() or (single == 0).any():
        raise InputError(
            "attr_values contains 0, NaN or a number that 32 bits cannot hold; expected finite numbers, and no entry "
            "where an attribute is 0"
        )
    _csr_arrays(indptr, indices, n_nodes, n_attrs, "attr")  # raises an error if the indices are invalid
    starts = np.asarray(indptr).astype(np.int64)
    rows = np.repeat(np.arange(n_nodes), starts[1:] - starts[:-1])
    return single[np.argsort(rows * max(n_attrs, 1) + columns.astype(np.int64), kind="stable")]


def _csr_arrays(
    indptr: np.ndarray, indices: np.ndarray, n_rows: int, n_cols: int, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Check one pair of CSR arrays and return it sorted, as int64."""
    arrays = []
    for part, array in (("indptr", indptr), ("indices", indices)):
        largest = 2**62 if part == "indptr" else max(n_cols, 1) - 1
        arrays.append(whole_numbers(array, f"{name}_{part}", 0, largest))
    pointers, columns = arrays
    if len(pointers) != n_rows + 1:
        raise InputError(f"{name}_indptr has {len(pointers)} entries; expected n_nodes + 1 = {n_rows + 1}")
    # Compared, not subtracted: differences of extreme values would overflow.
    if pointers[0] != 0 or pointers[-1] != len(columns) or (pointers[1:] < pointers[:-1]).any():
        raise InputError(
            f"{name}_indptr does not describe {name}_indices: it must rise from 0 to {len(columns)} without falling"
        )
    if len(columns) and not n_cols:
        raise InputError(f"{name}_indices has {len(columns)} entries; expected none, since there are no columns")
    rows = np.repeat(np.arange(n_rows), np.diff(pointers))
    keys = np.sort(rows * max(n_cols, 1) + columns)
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        key = keys[twice[0]]
        raise InputError(
            f"{name}_indices lists entry ({key // n_cols}, {key % n_cols}) twice; every entry may appear once"
        )
    return pointers, keys % max(n_cols, 1)


def pattern(matrix: object) -> sp.csr_array:
    """The non-zero pattern of a matrix as ones: a new copy with sorted indices and no duplicates."""
    given = sp.csr_array(matrix, copy=True)
    kept = sp.csr_array((given.data != 0, given.indices, given.indptr), shape=given.shape).astype(np.int64)
    kept.eliminate_zeros()
    kept.sum_duplicates()  # after the comparison: stored entries 1 and −1 at the same index must not cancel
    kept.sort_indices()
    return sp.csr_array((np.ones(kept.nnz, dtype=np.int8), kept.indices, kept.indptr), shape=kept.shape)
