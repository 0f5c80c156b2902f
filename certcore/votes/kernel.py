"""The fused kernel for two-layer GCNs: draws samples, runs the network and counts votes without building graphs.

Most time is spent on adding rows of the first weight matrix for every kept or added one. So a few samples are processed
together per node, which keeps the rows of the node's own attributes in the fastest cache. All sums have a fixed order,
so a sample gives the same votes in any batch, process and machine.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import float32, uint64

from certcore.common.compiled import compiled
from certcore.common.vectors import NARROW, WIDE, add_masked_rows, add_narrow_rows, add_wide_rows, weigh_rows
from certcore.votes.streams import (
    ADJ_ADD,
    ADJ_KEEP,
    ATTR_ADD,
    ATTR_KEEP,
    added_columns,
    jump,
    keep_bits,
    open_stream,
    take_bits,
)


@compiled(nogil=True)
def first_layer(seed, kind, first, batch, attributes, weights, out):
    """out[s, b, n] = sum of the weight rows (block b of 64 units) of node n's ones in sample first + s."""
    indptr, indices, existing, keep, keep_all, table = attributes
    n_nodes, n_attrs, blocks = len(indptr) - 1, weights.shape[1], weights.shape[0]
    n_ones = indptr[n_nodes]
    kept = np.empty((batch, (n_ones + 63) // 64 + 1), dtype=np.uint64)
    counters = np.zeros(batch, dtype=np.uint64)
    increments = np.zeros(batch, dtype=np.uint64)
    positions = np.zeros(batch, dtype=np.int64)
    for s in range(batch):
        start, step = open_stream(seed, kind + ATTR_KEEP, first + s)
        keep_bits(start, step, keep, keep_all, n_ones, kept[s])
        if len(table):
            start, increments[s] = open_stream(seed, kind + ATTR_ADD, first + s)
            counters[s], distance = jump(start, increments[s], table, n_nodes * n_attrs)
            positions[s] = distance - 1
    columns = np.empty(n_attrs + 1, dtype=np.int32)
    for n in range(n_nodes):
        for s in range(batch):
            count = 0
            if len(table):
                counters[s], positions[s], count = added_columns(
                    counters[s], increments[s], positions[s], table, n_attrs, n_nodes * n_attrs, existing[n], columns
                )
            for b in range(blocks):
                total = out[s, b, n]
                total[:] = float32(0)
                for base in range(indptr[n], indptr[n + 1], 64):
                    bits = take_bits(kept[s], base, min(64, indptr[n + 1] - base))
                    add_masked_rows(weights[b], indices, base, bits, total)
                add_wide_rows(weights[b], columns, 0, count, total)


@compiled()
def draw_edges(seed, kind, sample, adjacency, words):
    """Draw the edges once: which existing ones are kept (as bits in `words`), and the pairs that are added."""
    indptr, indices, edges, directed, keep, keep_all, table = adjacency
    start, step = open_stream(seed, kind + ADJ_KEEP, sample)
    keep_bits(start, step, keep, keep_all, len(edges), words)
    added = np.empty((16, 2), dtype=np.int64)
    count = 0
    if len(table) == 0:
        return added[:0]
    n_nodes = len(indptr) - 1
    start, step = open_stream(seed, kind + ADJ_ADD, sample)
    start, distance = jump(start, step, table, n_nodes * n_nodes)
    position = distance - 1
    for i in range(n_nodes):
        # The candidates of row i are all other nodes (directed) or all later ones (undirected: one draw per pair).
        offset = 0 if directed else i + 1
        width = n_nodes - offset
        while position < width:
            j = offset + position
            low, high = indptr[i], indptr[i + 1]
            while low < high:
                middle = (low + high) >> 1
                if indices[middle] < j:
                    low = middle + 1
                else:
                    high = middle
            exists = low < indptr[i + 1] and indices[low] == j
            if not exists and i != j:
                if count == len(added):
                    longer = np.empty((2 * count, 2), dtype=np.int64)
                    longer[:count] = added
                    added = longer
                added[count, 0], added[count, 1] = i, j
                count += 1
            start, distance = jump(start, step, table, n_nodes * n_nodes)
            position += distance
        position -= width
    return added[:count]


@compiled()
def looped_rows(n_nodes, edges, directed, words, added):
    """CSR arrays of a drawn adjacency, with a self loop at the start of every row."""
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    indptr[1:] = 1
    indices = np.empty(0, dtype=np.int32)
    free = indptr[1:]
    for filling in (False, True):
        if filling:
            for i in range(n_nodes):
                indptr[i + 1] += indptr[i]
            indices = np.empty(indptr[n_nodes], dtype=np.int32)
            free = indptr[:-1].copy()
            for i in range(n_nodes):
                indices[free[i]] = i
                free[i] += 1
        for e in range(len(edges) + len(added)):
            if e < len(edges):
                if not (words[e >> 6] >> uint64(e & 63)) & uint64(1):
                    continue
                i, j = edges[e, 0], edges[e, 1]
            else:
                i, j = added[e - len(edges), 0], added[e - len(edges), 1]
            for _ in range(1 if directed else 2):
                if filling:
                    indices[free[i]] = j
                free[i] += 1
                i, j = j, i
    return indptr, indices


@compiled()
def scales(indptr, symmetric, send, receive):
    """Message weights send[j]·receive[i]: factors 1/√d for both, or 1/d for the receiver; d counts the self loop."""
    for i in range(len(indptr) - 1):
        degree = float32(indptr[i + 1] - indptr[i])
        if symmetric:
            send[i] = float32(1) / np.sqrt(degree)
            receive[i] = send[i]
        else:
            send[i] = float32(1)
            receive[i] = float32(1) / degree


@compiled(nogil=True)
def second_half(hidden, indptr, indices, send, receive, bias1, weights2, bias2, scores, votes):
    """Votes of one sample from its summed weight rows: propagate, ReLU, second layer, propagate, count."""
    blocks, n_nodes, _ = hidden.shape
    n_classes, groups = votes.shape[1], weights2.shape[0]
    layer = np.empty(blocks * WIDE, dtype=np.float32)
    total = np.empty(NARROW, dtype=np.float32)
    for b in range(blocks):
        for i in range(n_nodes):
            for h in range(WIDE):
                hidden[b, i, h] *= send[i]
    for i in range(n_nodes):
        for b in range(blocks):
            part = layer[b * WIDE : (b + 1) * WIDE]
            part[:] = float32(0)
            add_wide_rows(hidden[b], indices, indptr[i], indptr[i + 1], part)
        for h in range(len(layer)):
            layer[h] = max(layer[h] * receive[i] + bias1[h], float32(0))
        for g in range(groups):
            weigh_rows(weights2[g], layer, len(layer), scores[g, i])
            for c in range(NARROW):
                scores[g, i, c] *= send[i]
    for i in range(n_nodes):
        best, winner = float32(-np.inf), 0
        for g in range(groups):
            total[:] = float32(0)
            add_narrow_rows(scores[g], indices, indptr[i], indptr[i + 1], total)
            for c in range(min(NARROW, n_classes - g * NARROW)):
                value = total[c] * receive[i] + bias2[g * NARROW + c]
                if value > best:
                    best, winner = value, g * NARROW + c
        votes[i, winner] += 1


@compiled(nogil=True)
def gcn_votes(samples, batch, attributes, adjacency, smoothed, symmetric, weights, fixed, votes):
    """Add the votes of samples first … first + count − 1 to `votes`; `samples` are (seed, kind, first, count).

    `smoothed` states whether attributes and edges are drawn here. If attributes are not, `fixed` holds the first
    layer's sums: one for all samples, or one for each.
    """
    seed, kind, first, count = samples
    weights1, bias1, weights2, bias2 = weights
    edges, directed = adjacency[2], adjacency[3]
    blocks, n_nodes = weights1.shape[0], votes.shape[0]
    hidden = np.empty((batch, blocks, n_nodes, WIDE), dtype=np.float32)
    scores = np.empty((weights2.shape[0], n_nodes, NARROW), dtype=np.float32)
    words = np.empty((len(edges) + 63) // 64 + 1, dtype=np.uint64)
    words[:] = ~uint64(0)
    indptr, indices = looped_rows(n_nodes, edges, directed, words, edges[:0])
    send = np.empty(n_nodes, dtype=np.float32)
    receive = np.empty(n_nodes, dtype=np.float32)
    scales(indptr, symmetric, send, receive)
    done = 0
    while done < count:
        now = min(batch, count - done)
        if smoothed[0]:
            first_layer(seed, kind, first + done, now, attributes, weights1, hidden)
        for s in range(now):
            if not smoothed[0]:
                hidden[s] = fixed[(done + s) % len(fixed)]
            if smoothed[1]:
                added = draw_edges(seed, kind, first + done + s, adjacency, words)
                indptr, indices = looped_rows(n_nodes, edges, directed, words, added)
                scales(indptr, symmetric, send, receive)
            second_half(hidden[s], indptr, indices, send, receive, bias1, weights2, bias2, scores, votes)
        done += now
