"""RGCN's two convolutions in compiled code for voting: means and variances, one copy of the graph at a time.

Training needs gradients and uses torch. Both compute the same function, up to rounding. The variances of the last layer
do not affect the mean scores and are not computed.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numba import float32
from torch import Tensor

from certcore.common.compiled import compiled
from certcore.common.vectors import NARROW, WIDE, add_narrow_rows, add_wide_rows
from certcore.models.base import Edges

HALF = WIDE // 2


def fits(units: int) -> bool:
    """Whether the compiled code supports this number of hidden units."""
    return units == WIDE


@dataclass(frozen=True, eq=False)
class Messages:
    """Senders of every node in every copy, self loops included, and the weights of messages."""

    edges: Edges
    indptr: np.ndarray
    senders: np.ndarray
    """Indices of senders within their copy."""
    scale: np.ndarray
    """1/√d."""

    @classmethod
    def of(cls, edges: Edges) -> Messages:
        matrix = edges.symmetric
        senders = (matrix.indices % edges.n_nodes).astype(np.int32)
        return cls(edges, matrix.indptr.astype(np.int64), senders, edges.degrees.numpy() ** np.float32(-0.5))

    def scores(self, units: Tensor, bias: Tensor, hidden: tuple[Tensor, Tensor], last: tuple[Tensor, Tensor]) -> Tensor:
        """Scores (copies · nodes, classes); maps are weights and bias from `side_by_side` and `in_groups`."""
        n_nodes, n_groups = self.edges.n_nodes, last[0].shape[0]
        out = np.empty((len(units), n_groups * NARROW), dtype=np.float32)
        spread = np.empty((n_nodes, WIDE), dtype=np.float32)
        for start, stop in pairwise(range(0, len(units) + 1, n_nodes)):
            values = torch.relu_(units[start:stop] + bias)
            trust = torch.exp(-values[:, HALF:])
            values[:, :HALF] *= trust
            values[:, HALF:] *= trust * trust
            mixed = torch.addmm(hidden[1], values, hidden[0]).numpy()
            where = self.indptr[start : stop + 1], self.senders, self.scale[start:stop]
            _spread_both(mixed, *where, spread)
            received = torch.from_numpy(spread)
            means = received[:, :HALF] * torch.exp(-received[:, HALF:])
            for group in range(n_groups):
                scores = torch.addmm(last[1][group], means, last[0][group]).numpy()
                _spread_scores(scores, *where, group * NARROW, out[start:stop])
        return torch.from_numpy(out)


def side_by_side(means: torch.nn.Linear, variances: torch.nn.Linear) -> tuple[Tensor, Tensor]:
    """Two linear maps of 32 units as one of 64."""
    return torch.block_diag(means.weight.T, variances.weight.T), torch.cat([means.bias, variances.bias])


def in_groups(layer: torch.nn.Linear) -> tuple[Tensor, Tensor]:
    """The last layer in groups of eight classes, padded with zeros."""
    n_classes = layer.out_features
    groups = -(-n_classes // NARROW)
    weights, bias = torch.zeros(HALF, groups * NARROW), torch.zeros(groups * NARROW)
    weights[:, :n_classes], bias[:n_classes] = layer.weight.T, layer.bias
    return weights.reshape(HALF, groups, NARROW).transpose(0, 1).contiguous(), bias.reshape(groups, NARROW)


@compiled(nogil=True)
def _spread_both(values, indptr, senders, scale, out):
    """out = ReLU of sums over senders, weights 1/√(d_i d_j) (means), 1/(d_i d_j) (variances); overwrites `values`."""
    for j in range(len(values)):
        once, twice = scale[j], scale[j] * scale[j]
        for h in range(HALF):
            values[j, h] *= once
            values[j, HALF + h] *= twice
    for i in range(len(values)):
        total = out[i]
        total[:] = float32(0)
        add_wide_rows(values, senders, indptr[i], indptr[i + 1], total)
        once, twice = scale[i], scale[i] * scale[i]
        for h in range(HALF):
            total[h] = max(total[h] * once, float32(0))
            total[HALF + h] = max(total[HALF + h] * twice, float32(0))


@compiled(nogil=True)
def _spread_scores(values, indptr, senders, scale, first, out):
    """Columns first … first + 7 of `out` = sums over senders. Overwrites `values`."""
    for j in range(len(values)):
        for c in range(NARROW):
            values[j, c] *= scale[j]
    total = np.empty(NARROW, dtype=np.float32)
    for i in range(len(values)):
        total[:] = float32(0)
        add_narrow_rows(values, senders, indptr[i], indptr[i + 1], total)
        for c in range(NARROW):
            out[i, first + c] = total[c] * scale[i]
