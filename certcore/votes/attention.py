"""GAT's layer in compiled code for counting votes: the attention of torch-geometric, one receiver at a time.

torch-geometric stores every message before summing. Here the neighbours of each receiver are weighted and summed in one
pass over sorted edges. It is used only in evaluation mode, without dropout and gradients.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import float32
from torch import Tensor, nn

from certcore.common.compiled import compiled


def can_attend(layer: Any) -> bool:
    """Whether this code supports the settings of a GATConv."""
    return bool(layer.lin is not None and layer.res is None and layer.lin_edge is None and layer.aggr in ("add", "sum"))


class Attention(nn.Module):
    """A `GATConv` in evaluation mode, with the weights of the given layer."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.lin, self.bias = layer.lin, layer.bias
        self.heads, self.channels = int(layer.heads), int(layer.out_channels)
        # Attention scores of all heads, of senders and then of receivers, as one product.
        blocks = [torch.block_diag(*att.detach()[0].unsqueeze(-1)) for att in (layer.att_src, layer.att_dst)]
        self.register_buffer("scores", torch.cat(blocks, dim=1))
        self.concat, self.slope, self.loops = (
            bool(layer.concat),
            float(layer.negative_slope),
            bool(layer.add_self_loops),
        )
        self._sorted: tuple[Tensor, int, np.ndarray, np.ndarray] | None = None

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: None = None) -> Tensor:
        values = self.lin(x).contiguous()
        scores = values @ self.scores
        out = np.empty((len(x), self.heads, self.channels), dtype=np.float32)
        indptr, senders = self._rows(edge_index, len(x))
        heads = values.numpy().reshape(out.shape)
        _attend(indptr, senders, heads, scores.numpy(), np.float32(self.slope), self.loops, out)
        table = torch.from_numpy(out)
        table = table.view(len(x), -1) if self.concat else table.mean(dim=1)
        return table if self.bias is None else table + self.bias

    def _rows(self, edge_index: Tensor, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Edges sorted by receiver; cached, because unsmoothed edges are the same tensor in every call."""
        if self._sorted is None or self._sorted[0] is not edge_index or self._sorted[1] != n:
            sender, receiver = edge_index.numpy()
            if self.loops:
                own = sender == receiver
                sender, receiver = sender[~own], receiver[~own]
            if (receiver[1:] < receiver[:-1]).any():
                order = np.argsort(receiver, kind="stable")
                sender = sender[order]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(receiver, minlength=n))])
            self._sorted = edge_index, n, indptr, np.ascontiguousarray(sender)
        return self._sorted[2], self._sorted[3]


@compiled(nogil=True, fastmath={"contract", "nsz"})
def _attend(indptr, senders, values, scores, slope, loops, out):
    """out[i, h] = Σ_j softmax_j(leaky(sent[j, h] + received[i, h])) · values[j, h] over neighbours j of i (and i)."""
    n_nodes, heads, channels = values.shape
    most = 1
    for i in range(n_nodes):
        most = max(most, indptr[i + 1] - indptr[i] + 1)
    weights = np.empty((most, heads), dtype=np.float32)
    total = np.empty(heads, dtype=np.float32)
    highest = np.empty(heads, dtype=np.float32)
    for i in range(n_nodes):
        first = indptr[i]
        own = 1 if loops else 0  # the self loop comes first
        count = indptr[i + 1] - first + own
        for h in range(heads):
            highest[h] = -np.inf
            total[h] = 0
        for k in range(count):
            j = i if k < own else senders[first + k - own]
            for h in range(heads):
                score = scores[j, h] + scores[i, heads + h]
                score = max(score, float32(0)) + slope * min(score, float32(0))
                weights[k, h] = score
                highest[h] = max(highest[h], score)
        for k in range(count):
            for h in range(heads):
                weight = np.exp(weights[k, h] - highest[h])
                weights[k, h] = weight
                total[h] += weight
        for h in range(heads):
            total[h] = float32(1) / (total[h] + float32(1e-16))
            for c in range(channels):
                out[i, h, c] = 0
        for k in range(count):
            j = i if k < own else senders[first + k - own]
            for h in range(heads):
                weight = weights[k, h] * total[h]
                for c in range(channels):
                    out[i, h, c] += weight * values[j, h, c]
