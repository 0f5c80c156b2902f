"""What nodes and classes of an instance are called where people read them."""

from __future__ import annotations

from certcore.instance.instance import Instance

from .text import plain


def class_name(instance: Instance, label: int) -> str:
    """A class as people read it; of a path such as `AI/Planning` only the end."""
    names = instance.class_names or ()
    if not 0 <= label < len(names):
        return f"class {label}"
    whole = str(names[label])
    return plain(whole.rstrip("/").rsplit("/", 1)[-1], 30) or f"class {label}"


def node_name(instance: Instance, node: int) -> str:
    names = instance.node_names
    return plain(names[node], 40) if names is not None else f"node {node}"
