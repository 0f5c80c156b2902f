"""Seeded random graphs of any size that resemble citation graphs, for scale tests and documentation."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from certcore.common.errors import InputError
from certcore.data.dataset import Dataset, build_dataset
from certcore.domain.graph import pattern


def citation_like(
    n_nodes: int,
    n_attrs: int = 1000,
    n_classes: int = 6,
    *,
    degree: float = 4.0,
    ones: float = 30.0,
    homophily: float = 0.8,
    seed: int = 0,
) -> Dataset:
    """A degree-corrected block model with class-dependent sparse attributes.

    A fraction `homophily` of the edges is within a class. Degrees follow a power law with the given mean. A node has
    about `ones` attributes, half of them from the topic words of its class. Running time is linear in edges and ones.
    All nodes are kept, connected or not.
    """
    if n_nodes < 2 * n_classes or n_attrs < 2 * n_classes or not 0 <= homophily <= 1 or degree <= 0 or ones <= 0:
        raise InputError(
            f"cannot generate {n_nodes} nodes, {n_attrs} attributes, {n_classes} classes, homophily {homophily}, "
            f"degree {degree}, {ones} ones per node; expected two nodes and attributes per class, and positive numbers"
        )
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n_nodes) % n_classes)
    # Pareto weights with exponent 2.5, cut at √n: heavy tails, but no node is linked to all others.
    weights = np.minimum((1 - rng.random(n_nodes)) ** (-1 / 1.5), np.sqrt(n_nodes))
    wanted = round(n_nodes * degree / 2)
    first = rng.choice(n_nodes, size=2 * wanted, p=weights / weights.sum())
    second = rng.choice(n_nodes, size=2 * wanted, p=weights / weights.sum())
    within = rng.random(2 * wanted) < homophily
    for label in range(n_classes):
        members = np.flatnonzero(labels == label)
        chosen = within & (labels[first] == label)
        share = weights[members] / weights[members].sum()
        second[chosen] = rng.choice(members, size=int(chosen.sum()), p=share)
    pairs = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    # Duplicates are removed in order of appearance, which keeps the first `wanted` distinct edges.
    _, distinct = np.unique(pairs, axis=0, return_index=True)
    pairs = pairs[np.sort(distinct)[:wanted]]

    count = np.clip(rng.poisson(ones, n_nodes), 1, n_attrs)
    owner = np.repeat(np.arange(n_nodes), count)
    popular = 1 / (1 + np.arange(n_attrs))
    words = rng.choice(n_attrs, size=len(owner), p=popular / popular.sum())
    topical = rng.random(len(owner)) < 0.5
    # Topic words of class k are those with index ≡ k modulo the number of classes.
    shifted = words[topical] - words[topical] % n_classes + labels[owner[topical]]
    words[topical] = np.where(shifted < n_attrs, shifted, shifted - n_classes)
    # A word that is drawn twice for a node counts once.
    attributes = pattern(sp.coo_array((np.ones(len(owner)), (owner, words)), shape=(n_nodes, n_attrs)))
    source = {"generator": "citation_like", "seed": seed, "degree": degree, "ones": ones, "homophily": homophily}
    names = tuple(f"topic {k}" for k in range(n_classes))
    return build_dataset(f"synthetic-{n_nodes}", pairs, attributes, labels, names, both_ways=True, source=source)
