"""The table of perturbation types; everything specific to a type is in its entry.

The order of the table is the order of every vector over types (budgets, points of fronts, columns of attacks). It is
part of the proof format, so a new type goes to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from certcore.common.choice import Choice
from certcore.domain.graph import Graph

ATTR_ADD: Final = 0
ATTR_DEL: Final = 1
ADJ_ADD: Final = 2
ADJ_DEL: Final = 3

#: Larger than any number of flips, and small enough that sums of a few fit into 64 bits.
UNLIMITED: Final = 2**40


class Site(Choice):
    """What a perturbation changes."""

    NODE = "node"
    """The attributes of one node. With σ, that node has to be an attacker."""
    EDGE = "edge"
    """One edge, or one pair of nodes without an edge. With σ, one of its two ends has to be an attacker."""
    NEW = "new"
    """A new node with its attributes and edges. σ does not count it.

    Its local budget is one whole number: the largest number of edges between one new node and nodes of the graph.
    """


class Change(Choice):
    """How the site is changed."""

    ADD = "add"
    DELETE = "delete"
    MOVE = "move"


@dataclass(frozen=True)
class Perturbation:
    """One perturbation type."""

    name: str
    """Its keyword and its name in files, links and proofs. The command-line option is `--name`."""
    site: Site
    change: Change
    singular: str
    """Its display name in the singular: `attribute addition`."""
    plural: str
    short: str
    """A short label: `attr +`."""
    help: str
    """One sentence of help for the slider of the global budget."""
    capacity: Callable[[Graph, np.ndarray], np.ndarray]
    """The largest possible amount per node, from the graph and the mask of unprotected nodes.

    Local budgets and protection of the node itself are applied separately. `UNLIMITED` where the graph sets no limit.
    """
    share_of: Callable[[Graph], np.ndarray]
    """The quantity per node of which a relative local budget is a fraction."""
    share_words: tuple[str, str]
    """Names of that quantity: in a sentence, “0.1 × the *ones* it has”; at its slider, “share of the *attributes*”."""
    whole: bool = True
    """Whether amounts are integers.

    Real amounts are continuous variables in the exact program. Cuts that are valid for integer amounts only (`strong`)
    are not used for them. Budgets, needs and limits are integers in any case.
    """
    lengths: bool = False
    """Whether budgets are lengths (decimals), which an instance converts to units of squared length."""
    unit: str = "flip"
    """The name of one unit of the budget (singular)."""
    start: int = 1
    """The initial budget in the dashboard."""
    aliases: tuple[str, ...] = ()
    """Alternative names for its budgets."""
    local_name: str = ""
    """Alternative name of its local budget, where `local_…` would be unclear: `inject_edges`."""

    @property
    def at_nodes(self) -> bool:
        """Whether it is applied to nodes: one amount per node, weighted with the node's cost."""
        return self.site is Site.NODE

    @property
    def adds_edges(self) -> bool:
        """Whether it adds edges between existing nodes, so that every receptive field may become the whole graph."""
        return self.site is Site.EDGE and self.change is Change.ADD

    @property
    def brings_nodes(self) -> bool:
        """Whether it adds nodes; only base certificates that cover new nodes support it."""
        return self.site is Site.NEW

    def total(self, graph: Graph) -> int:
        """The largest possible amount in the whole graph."""
        everybody = np.ones(graph.n_nodes, dtype=bool)
        amounts = int(np.asarray(self.capacity(graph, everybody)).sum())
        return min(amounts if self.at_nodes else amounts // 2, UNLIMITED)


def _free_edges(graph: Graph, free: np.ndarray) -> np.ndarray:
    """Number of edges at each node without those that have a protected end."""
    ends = graph.edges[free[graph.edges].all(axis=1)]
    return np.bincount(ends.ravel(), minlength=graph.n_nodes)


def _free_pairs(graph: Graph, free: np.ndarray) -> np.ndarray:
    """Number of unprotected pairs without an edge at each node; in directed graphs both directions."""
    return (2 if graph.directed else 1) * (int(free.sum()) - 1) - _free_edges(graph, free)


#: The entries of all types.
TABLE: Final = (
    Perturbation(
        name="attr_add", site=Site.NODE, change=Change.ADD,
        singular="attribute addition", plural="attribute additions", short="attr +", start=2,
        help="How many attribute bits the attacker may switch from 0 to 1 in the whole graph.",
        capacity=lambda graph, free: graph.n_attrs - graph.ones,
        share_of=lambda graph: graph.ones, share_words=("ones", "attributes"),
    ),
    Perturbation(
        name="attr_del", site=Site.NODE, change=Change.DELETE,
        singular="attribute deletion", plural="attribute deletions", short="attr −", start=10,
        help="How many attribute bits the attacker may switch from 1 to 0 in the whole graph.",
        capacity=lambda graph, free: graph.ones,
        share_of=lambda graph: graph.ones, share_words=("ones", "attributes"),
    ),
    Perturbation(
        name="adj_add", site=Site.EDGE, change=Change.ADD,
        singular="edge addition", plural="edge additions", short="edge +", start=1,
        help="How many edges the attacker may insert in the whole graph.",
        capacity=_free_pairs,
        share_of=lambda graph: graph.incident, share_words=("edges", "edges"), aliases=("edge_add",),
    ),
    Perturbation(
        name="adj_del", site=Site.EDGE, change=Change.DELETE,
        singular="edge deletion", plural="edge deletions", short="edge −", start=10,
        help="How many edges the attacker may remove in the whole graph.",
        capacity=_free_edges,
        share_of=lambda graph: graph.incident, share_words=("edges", "edges"), aliases=("edge_del",),
    ),
    Perturbation(
        name="inject", site=Site.NEW, change=Change.ADD,
        singular="new node", plural="new nodes", short="new", start=10, unit="node", local_name="inject_edges",
        help="How many new nodes the attacker may add, with any attributes and any edges among themselves.",
        capacity=lambda graph, free: np.full(graph.n_nodes, UNLIMITED, dtype=np.int64),
        share_of=lambda graph: graph.incident, share_words=("edges", "edges"),
    ),
    Perturbation(
        name="attr_l2", site=Site.NODE, change=Change.MOVE,
        singular="attribute distance", plural="attribute distance", short="attr l2", start=0,
        help="How far the attacker may move all attributes together: the root of the sum of all squared changes.",
        capacity=lambda graph, free: np.full(graph.n_nodes, UNLIMITED, dtype=np.int64),
        share_of=lambda graph: graph.ones, share_words=("norm of its row", "norm of a row"), whole=False, lengths=True,
        unit="unit",
    ),
)  # fmt: skip

#: The names of all types, in the order of every vector over them.
TYPES: Final = tuple(entry.name for entry in TABLE)
INJECT: Final = TYPES.index("inject")
#: Their display names in the plural, by name.
LABELS: Final[dict[str, str]] = {entry.name: entry.plural for entry in TABLE}
#: The types that flip one bit of the graph, in the order of θ and everything derived from it.
FLIPS: Final = ("attr_add", "attr_del", "adj_add", "adj_del")


def no_flips() -> str:
    """Error message: attributes of a real-valued graph cannot be flipped; names what is certified instead."""
    return "the attributes of this graph are numbers, not bits; expected attr_l2, the distance they are moved by"


def entry_of(name: str) -> Perturbation:
    """The entry of a type, by its name."""
    return TABLE[TYPES.index(name)]


def node_types() -> tuple[int, ...]:
    """Indices of the types that are applied to nodes: the rows of `Allocation.attributes`, in this order."""
    return tuple(k for k, entry in enumerate(TABLE) if entry.at_nodes)


def preferred() -> list[str]:
    """All types in the order of display: deletions first, as in the paper."""
    return [entry.name for entry in sorted(TABLE, key=lambda entry: entry.change is not Change.DELETE)]


def canonical(name: str) -> str:
    """The canonical name of a budget; resolves aliases: `edge_del` is adj_del, `inject_edges` local_inject."""
    for entry in TABLE:
        if name == entry.local_name:
            return f"local_{entry.name}"
    prefix = "local_" if name.startswith("local_") else ""
    plain = name.removeprefix(prefix)
    return prefix + next((entry.name for entry in TABLE if plain in entry.aliases), plain)
