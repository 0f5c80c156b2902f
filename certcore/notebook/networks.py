"""The attacked graph for networkx, and through it for other viewers."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from certcore.messages.text import plain
from certcore.notebook.tables import instance_of, nodes_frame
from certcore.result.certificate import Certificate


def attacked_graph(certificate: Certificate) -> Any:
    """The clean graph with the best attack found on it; edges run from sender to receiver if it is directed.

    Nodes carry the columns of `certificate.nodes` that they have, edges `deleted` and `added`. Only plain numbers and
    text are in it, so that `networkx.write_graphml` and `write_gexf` can write it.
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
        for receiver, sender in np.asarray(attack.added).reshape(-1, 2).tolist():
            graph.add_edge(sender, receiver, deleted=False, added=True)
    return graph


def _plain(value: object) -> Any:
    if isinstance(value, str):
        return plain(value, 200)  # a name from a file: characters that no XML can hold are left out
    return value.item() if hasattr(value, "item") else value
