"""Display names of nodes and classes of an instance."""

from __future__ import annotations

from certcore.instance.instance import Instance
from certcore.messages.text import plain


def class_name(instance: Instance, label: int) -> str:
    """Display name of a class; of a path such as `AI/Planning` only the last part."""
    names = instance.class_names or ()
    if not 0 <= label < len(names):
        return f"class {label}"
    whole = str(names[label])
    return plain(whole.rstrip("/").rsplit("/", 1)[-1], 30) or f"class {label}"


def node_name(instance: Instance, node: int) -> str:
    names, n = instance.node_names, instance.graph.n_nodes
    if node >= n:
        return f"new node {node - n + 1}"
    return plain(names[node], 40) if names is not None else f"node {node}"
