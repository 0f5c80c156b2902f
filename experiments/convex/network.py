"""A trained two-layer graph convolutional network as plain arrays, the input of the convex certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError


@dataclass(frozen=True, eq=False)
class GcnNetwork:
    """logits = Â relu(Â X W₁ + b₁) W₂ + b₂ with 0/1 attributes X and a normalised adjacency Â ≥ 0.

    It validates its arrays. The weights are exact real numbers (32-bit weights are exact in 64 bits), and certificates
    are about this real-valued function.
    """

    propagation: sp.csr_array
    attributes: sp.csr_array
    weight1: np.ndarray
    bias1: np.ndarray
    weight2: np.ndarray
    bias2: np.ndarray

    def __post_init__(self) -> None:
        for name in ("propagation", "attributes"):
            matrix = sp.csr_array(getattr(self, name), dtype=np.float64, copy=True)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            object.__setattr__(self, name, matrix)
        for name in ("weight1", "bias1", "weight2", "bias2"):
            array = np.asarray(getattr(self, name))
            if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
                raise InputError(f"{name} holds something other than finite numbers; expected trained weights")
            object.__setattr__(self, name, np.ascontiguousarray(array, dtype=np.float64))
        n, d = self.attributes.shape
        if self.propagation.shape != (n, n):
            raise InputError(f"the normalised adjacency has shape {self.propagation.shape}; expected ({n}, {n})")
        if self.weight1.ndim != 2 or self.weight2.ndim != 2 or 0 in self.weight2.shape:
            raise InputError("the weights are no matrices; expected W1 (attributes × units) and W2 (units × classes)")
        units, classes = self.weight2.shape
        shapes = {"weight1": (d, units), "bias1": (units,), "bias2": (classes,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"{name} has shape {getattr(self, name).shape}; expected {shape}")
        if classes < 2:
            raise InputError("the network has one class only; expected at least two, or there is nothing to certify")
        values = self.propagation.data
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError(
                "the normalised adjacency has negative or non-finite entries; expected weights of at least 0"
            )
        if not np.isin(self.attributes.data, (0.0, 1.0)).all():
            raise InputError("the attributes have values other than 0 and 1; expected binary attributes")

    @property
    def n_nodes(self) -> int:
        return self.attributes.shape[0]

    @property
    def n_attrs(self) -> int:
        return self.attributes.shape[1]

    @property
    def n_units(self) -> int:
        return len(self.bias1)

    @property
    def n_classes(self) -> int:
        return len(self.bias2)

    @cached_property
    def hidden(self) -> np.ndarray:
        """Pre-activation values on the clean graph (nodes × units)."""
        return self.propagation @ (self.attributes @ self.weight1) + self.bias1

    @cached_property
    def hidden_sizes(self) -> np.ndarray:
        """The same sum with absolute values: a bound on all partial sums of `hidden`."""
        return self.propagation @ (self.attributes @ np.abs(self.weight1)) + np.abs(self.bias1)

    @cached_property
    def logits(self) -> np.ndarray:
        return self.propagation @ (np.maximum(self.hidden, 0.0) @ self.weight2) + self.bias2

    @cached_property
    def prediction(self) -> np.ndarray:
        return np.argmax(self.logits, axis=1)

    @cached_property
    def reads(self) -> np.ndarray:
        """Number of (neighbour, neighbour of neighbour) pairs that each prediction reads."""
        pattern = self.propagation.copy()
        pattern.data = np.ones_like(pattern.data)
        return (pattern @ np.diff(pattern.indptr)).astype(np.int64)

    @cached_property
    def largest_norm(self) -> float:
        """The largest norm of a row of W₁, rounded up: the largest change of X W₁ by one bit."""
        return float(np.sqrt((self.weight1**2).sum(axis=1)).max(initial=0.0)) * (1 + 1e-9)

    @cached_property
    def longest_sum(self) -> int:
        """An upper bound on the number of consecutive roundings of any value computed from this network."""
        ones = int(np.diff(self.attributes.indptr).max(initial=0))
        neighbours = int(np.diff(self.propagation.indptr).max(initial=0))
        return ones + neighbours + self.n_units * (neighbours + 2) + 64


def normalised_adjacency(adjacency: sp.csr_array | Any) -> sp.csr_array:
    """D^(−1/2) (A + I) D^(−1/2): the usual symmetric normalisation of a GCN."""
    matrix = sp.csr_array(adjacency, dtype=np.float64)
    matrix = sp.csr_array(matrix + sp.eye_array(matrix.shape[0]))
    scale = 1.0 / np.sqrt(np.asarray(matrix.sum(axis=1)).reshape(-1))
    return sp.csr_array(sp.diags_array(scale) @ matrix @ sp.diags_array(scale))
