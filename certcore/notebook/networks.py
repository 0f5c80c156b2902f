"""The attacked graph for networkx, and through it for other graph viewers."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from certcore.messages.text import plain
from certcore.notebook.tables import instance_of, nodes_frame
from certcore.result.certificate import Certificate


def attacked_graph(certificate: Certificate) -> Any:
    """The clean graph with the best attack found marked on it; edges run from sender to receiver if it is directed.

    Nodes have the columns of `certificate.nodes` as attributes where not missing, edges `deleted` and `added`; injected
    nodes come last. Values are plain numbers and text only, so that `networkx.write_graphml` and `write_gexf` can write
    it.
    """
    instance = instance_of(certificate)
    graph = nx.DiGraph() if instance.graph.directed else nx.Graph()
    frame = nodes_frame(certificate)
    names = list(frame.columns)
    for row in frame.itertuples(index=False):
        known = {key: _plain(value) for key, value in zip(names, row) if not pd.isna(value)}
        graph.add_node(int(known.pop("node")), **known)
    attack = certificate.attack
    edges = instance.graph.edges
    deleted = np.zeros(len(edges), dtype=bool) if attack is None else np.asarray(attack.deleted) > 0
    # Rows are (receiver, sender).
    graph.add_edges_from(
        (sender, receiver, {"deleted": gone, "added": False})
        for (receiver, sender), gone in zip(edges.tolist(), deleted.tolist())
    )
    if attack is not None:
        for new, receiver in attack.injected.tolist():
            graph.add_node(new, name=f"new node {new - instance.graph.n_nodes + 1}")
            graph.add_edge(new, receiver, deleted=False, added=True)
        for receiver, sender in np.asarray(attack.added).reshape(-1, 2).tolist():
            graph.add_edge(sender, receiver, deleted=False, added=True)
    return graph


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return plain(value, 200)  # a name from a file: characters that XML does not allow are removed
    return value.item() if hasattr(value, "item") else value
