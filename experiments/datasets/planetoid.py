"""Reader of the Planetoid files (`ind.NAME.x` and so on): Python 2 pickles, read with a restricted unpickler."""

from __future__ import annotations

import collections
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError


def _new_array(*_: Any) -> np.ndarray:
    """Replaces `numpy.core.multiarray._reconstruct` by an empty plain array, whatever the arguments."""
    return np.ndarray.__new__(np.ndarray, (0,), np.dtype("i1"))


#: All names that such a file may use. Old module paths are mapped to safe constructors.
_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): sp.csr_matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("copy_reg", "_reconstructor"): lambda cls, base, state: cls.__new__(cls),
    ("copyreg", "_reconstructor"): lambda cls, base, state: cls.__new__(cls),
    ("__builtin__", "object"): object,
    ("builtins", "object"): object,
}


class _RestrictedUnpickler(pickle.Unpickler):
    """Allows only numpy, scipy and collections constructors; any other name is an error."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise InputError(
                f"the file asks for {module}.{name}; only arrays, sparse matrices and dictionaries may be in a "
                "Planetoid file: do not trust this one"
            ) from None


def restricted_load(data: bytes, what: str) -> Any:
    """Unpickle `data` if it holds nothing but arrays, sparse matrices, lists and dictionaries."""
    try:
        return _RestrictedUnpickler(io.BytesIO(data), encoding="latin1").load()
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    except Exception as error:  # a damaged pickle may raise any exception
        raise InputError(f"{what} is damaged ({type(error).__name__}); fetch it again") from error


def _matrix(value: Any, what: str) -> sp.csr_array:
    """A new, validated matrix from the state that the pickle gave the object."""
    try:
        parts = (np.asarray(value.data), np.asarray(value.indices), np.asarray(value.indptr))
        shape = tuple(int(n) for n in getattr(value, "_shape", None) or value.shape)
        matrix = sp.csr_array(parts, shape=shape)
        matrix.check_format(full_check=True)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{what} does not hold a sparse matrix ({error}); fetch it again") from error
    return matrix


def read_planetoid(name: str, read: Callable[[str], bytes]) -> tuple[np.ndarray, sp.csr_array, np.ndarray]:
    """Edges, attributes and labels (−1 where a node has none) in the numbering of the `graph` file.

    `read` returns the bytes of one file, for example `read("ind.citeseer.allx")`.
    """
    parts = {key: restricted_load(read(f"ind.{name}.{key}"), f"ind.{name}.{key}") for key in ("allx", "tx", "graph")}
    one_hot = [np.asarray(restricted_load(read(f"ind.{name}.{key}"), f"ind.{name}.{key}")) for key in ("ally", "ty")]
    try:
        test = np.array(read(f"ind.{name}.test.index").split(), dtype=np.int64)
    except ValueError as error:
        raise InputError(f"ind.{name}.test.index is damaged ({error}); fetch it again") from error
    allx, tx = (_matrix(parts[key], f"ind.{name}.{key}") for key in ("allx", "tx"))
    n_nodes = max(allx.shape[0], int(test.max()) + 1)
    if len(test) != tx.shape[0] or len(one_hot[0]) != allx.shape[0] or len(one_hot[1]) != len(test):
        raise InputError(f"the Planetoid files of {name} do not fit together; fetch them again")
    # Rows of `tx` belong to the nodes in `test.index`; nodes missing there stay without attributes and label.
    rows = np.concatenate([np.arange(allx.shape[0]), test])
    stacked = sp.coo_array(sp.vstack([allx, tx]))
    attributes = sp.csr_array(
        (stacked.data, (rows[stacked.coords[0]], stacked.coords[1])), shape=(n_nodes, allx.shape[1])
    )
    labels = np.full(n_nodes, -1, dtype=np.int64)
    for nodes, table in zip((np.arange(allx.shape[0]), test), one_hot):
        labels[nodes] = np.where(table.any(axis=1), table.argmax(axis=1), -1)
    graph = parts["graph"]
    if not isinstance(graph, dict):
        raise InputError(f"ind.{name}.graph holds a {type(graph).__name__}, not neighbour lists; fetch it again")
    edges = np.array([(i, j) for i, around in graph.items() for j in around], dtype=np.int64).reshape(-1, 2)
    return edges, attributes, labels
