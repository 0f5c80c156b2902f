"""The clean graph: a sparse adjacency and sparse binary attributes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.common.reading import flag, read_only, whole_number, whole_numbers

#: Larger graphs are refused before anything is allocated for them.
MAX_NODES = 5_000_000
MAX_ATTRS = 50_000_000


@dataclass(frozen=True, eq=False)
class Graph:
    """One attributed graph in CSR form; entry (i, j) of the adjacency means that i receives from j.

    Undirected graphs store both entries. There are no self loops. Build it with `Graph.from_edges` or from CSR
    arrays; either way it validates itself and keeps sorted, read-only int64 arrays.
    """

    n_nodes: int
    n_attrs: int
    adj_indptr: np.ndarray
    adj_indices: np.ndarray
    attr_indptr: np.ndarray
    attr_indices: np.ndarray
    directed: bool = False

    def __post_init__(self) -> None:
        for name, limit in (("n_nodes", MAX_NODES), ("n_attrs", MAX_ATTRS)):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, int(name == "n_nodes"), limit))
        adj = _csr_arrays(self.adj_indptr, self.adj_indices, self.n_nodes, self.n_nodes, "adj")
        attr = _csr_arrays(self.attr_indptr, self.attr_indices, self.n_nodes, self.n_attrs, "attr")
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
    ) -> Graph:
        """Build a graph from an (E, 2) array of edges; undirected edges may be given in either direction or both."""
        n_nodes = whole_number(n_nodes, "n_nodes", 1, MAX_NODES)
        # A (2, E) array is refused: it would be read as other edges without anybody noticing.
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
            values = np.unique(attrs.data)
            if not np.isin(values, (0, 1)).all():
                odd = values[~np.isin(values, (0, 1))][0]
                raise InputError(f"an attribute has the value {odd}; expected only 0 and 1: make them binary first")
            attrs.eliminate_zeros()
        attrs.sort_indices()
        return cls(n_nodes, attrs.shape[1], indptr, keys % n_nodes, attrs.indptr, attrs.indices, directed)

    @property
    def _adj_rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_nodes), np.diff(self.adj_indptr))

    @property
    def adjacency(self) -> sp.csr_array:
        """The adjacency as a sparse 0/1 matrix; a new one each time, so that whoever normalises it changes no field."""
        return _ones_at(self.adj_indptr, self.adj_indices, self.n_nodes)

    @property
    def attributes(self) -> sp.csr_array:
        """The attributes as a sparse 0/1 matrix; a new one each time."""
        return _ones_at(self.attr_indptr, self.attr_indices, self.n_attrs)

    @cached_property
    def edges(self) -> np.ndarray:
        """Every edge once: (i, j) with i < j if undirected, (receiver, sender) if directed."""
        rows = self._adj_rows
        keep = slice(None) if self.directed else rows < self.adj_indices
        return read_only(np.stack([rows[keep], self.adj_indices[keep]], axis=1))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All that it consists of, in the order in which digests take it in."""
        return self.adj_indptr, self.adj_indices, self.attr_indptr, self.attr_indices

    @cached_property
    def digest(self) -> str:
        """SHA-256 of nodes, edges and attributes: equal for equal graphs."""
        digest = hashlib.sha256(f"certcore-graph-1|{self.n_nodes}|{self.n_attrs}|{self.directed}".encode())
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
        """Number of attributes each node has."""
        return read_only(np.diff(self.attr_indptr))


def _ones_at(indptr: np.ndarray, indices: np.ndarray, columns: int) -> sp.csr_array:
    """A matrix of its own with ones at these places."""
    parts = (np.ones(len(indices), dtype=np.int8), indices.copy(), indptr.copy())
    return sp.csr_array(parts, shape=(len(indptr) - 1, columns))


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
    # Compared, not subtracted: differences of extreme numbers wrap around, and repeating rows by them would crash.
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
    """Where a matrix is not zero, as ones with sorted indices: its own copy, each entry once."""
    given = sp.csr_array(matrix, copy=True)
    kept = sp.csr_array((given.data != 0, given.indices, given.indptr), shape=given.shape).astype(np.int64)
    kept.eliminate_zeros()
    kept.sum_duplicates()  # after the comparison: entries 1 and −1 at one place are no zero
    kept.sort_indices()
    return sp.csr_array((np.ones(kept.nnz, dtype=np.int8), kept.indices, kept.indptr), shape=kept.shape)
