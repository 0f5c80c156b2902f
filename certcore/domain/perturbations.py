"""The types of perturbation as data: everything that is specific to one of them is in its entry of the table here.

The order of the table is the order of every vector over types (budgets, points of fronts, columns of attacks) and is
part of the proof format: a new type goes to the end, by `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, overload

import numpy as np

from certcore.common.choice import Choice
from certcore.common.errors import InputError
from certcore.domain.graph import Graph

ATTR_ADD: Final = 0
ATTR_DEL: Final = 1
ADJ_ADD: Final = 2
ADJ_DEL: Final = 3

#: Larger than any count of flips, small enough that sums of a few fit into 64 bits.
UNLIMITED: Final = 2**40


class Site(Choice):
    """What a perturbation changes."""

    NODE = "node"
    """The attributes of one node; with σ, that node has to be an attacker."""
    EDGE = "edge"
    """One edge, or one pair of nodes that has none; with σ, one of its two ends has to be an attacker."""


class Change(Choice):
    """What happens there."""

    ADD = "add"
    DELETE = "delete"
    MOVE = "move"


@dataclass(frozen=True)
class Perturbation:
    """One type of perturbation. `register` adds one, and nothing else has to know of it."""

    name: str
    """Its keyword, and its name in files, links and proofs; the option of the command line is `--name`."""
    site: Site
    change: Change
    singular: str
    """What people call one of them: `attribute addition`."""
    plural: str
    short: str
    """The same where there is little room: `attr +`."""
    help: str
    """One sentence beside the slider of the global budget."""
    capacity: Callable[[Graph, np.ndarray], np.ndarray]
    """How much of it each node can take at all, from the graph and the mask of nodes that are not protected. Local
    budgets and protection of the node itself come on top; `UNLIMITED` where nothing in the graph limits it."""
    share_of: Callable[[Graph], np.ndarray]
    """What a relative local budget is a share of, for each node."""
    share_words: tuple[str, str]
    """The same in a sentence, “0.1 × the *ones* it has”, and beside its slider, “share of the *attributes*”."""
    whole: bool = True
    """Whether amounts are whole numbers. Real ones are columns without integrality in the exact program, and rows that
    hold for whole amounts only (`strong`) are not used for them; budgets, needs and limits are whole units anyway."""
    unit: str = "flip"
    """What one unit of the budget is called (singular)."""
    start: int = 1
    """The budget that a first view begins with."""
    aliases: tuple[str, ...] = ()
    """Other names under which people may give its budgets."""

    @property
    def at_nodes(self) -> bool:
        """Whether it is spent at nodes: one amount for each, paid with the node's cost."""
        return self.site is Site.NODE

    @property
    def adds_edges(self) -> bool:
        """Whether it makes new edges, so that every field may become the whole graph."""
        return self.site is Site.EDGE and self.change is Change.ADD

    def total(self, graph: Graph) -> int:
        """How much of it is possible in the whole graph."""
        everybody = np.ones(graph.n_nodes, dtype=bool)
        amounts = int(np.asarray(self.capacity(graph, everybody)).sum())
        return min(amounts if self.at_nodes else amounts // 2, UNLIMITED)


def _free_edges(graph: Graph, free: np.ndarray) -> np.ndarray:
    """Edges at each node; one with a protected end does not exist for the attacker."""
    ends = graph.edges[free[graph.edges].all(axis=1)]
    return np.bincount(ends.ravel(), minlength=graph.n_nodes)


def _free_pairs(graph: Graph, free: np.ndarray) -> np.ndarray:
    """Pairs without an edge at each node, both ends free; in directed graphs both directions."""
    return (2 if graph.directed else 1) * (int(free.sum()) - 1) - _free_edges(graph, free)


_TABLE: list[Perturbation] = [
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
]  # fmt: skip


class _Column(Sequence[Any]):
    """One column of the table, in its order; always as long as the table is now."""

    def __init__(self, of: Callable[[Perturbation], Any]) -> None:
        self._of = of
        self.refresh()

    def refresh(self) -> None:
        self._now = tuple(map(self._of, _TABLE))

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return self._now[place]

    def __len__(self) -> int:
        return len(self._now)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._now)

    def __contains__(self, value: object) -> bool:
        return value in self._now

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        return self._now.index(value, start, len(self._now) if stop is None else stop)

    def __eq__(self, other: object) -> bool:
        return self._now == (other._now if isinstance(other, _Column) else other)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return repr(self._now)


#: The names of all types, in the order of every vector over them.
TYPES: Final[Sequence[str]] = _Column(lambda entry: entry.name)
#: Their entries.
TABLE: Final[Sequence[Perturbation]] = _Column(lambda entry: entry)
#: What people call them, by name.
LABELS: Final[dict[str, str]] = {entry.name: entry.plural for entry in _TABLE}
#: The types that flip one bit of the graph. Noise θ and everything derived from it speaks of these, in this order.
FLIPS: Final = ("attr_add", "attr_del", "adj_add", "adj_del")


def register(entry: Perturbation) -> None:
    """Add a type of perturbation, behind all that there are.

    To be called once, before anything else of the engine or the dashboard is loaded or made: threat models, fronts and
    instances that exist already have no place for it. Files and proofs that do not use the type stay as they are.
    """
    taken = {*TYPES, *(alias for other in TABLE for alias in other.aliases)}
    for name in (entry.name, *entry.aliases):
        if not name.isidentifier() or name.startswith(("local_", "share_")) or name in taken:
            raise InputError(f"{name!r} cannot be the name of a new type; expected a keyword that is not in use yet")
    if not entry.at_nodes:
        raise InputError(f"{entry.name} changes edges; a new type has to be spent at nodes, edges have their own rows")
    _TABLE.append(entry)
    LABELS[entry.name] = entry.plural
    _refresh()


@contextmanager
def registered(entry: Perturbation) -> Iterator[None]:
    """A type that is there for a while, for trials and tests; nothing made meanwhile may be used afterwards."""
    register(entry)
    try:
        yield
    finally:
        _TABLE.remove(entry)
        del LABELS[entry.name]
        _refresh()


def _refresh() -> None:
    for column in (TYPES, TABLE):
        assert isinstance(column, _Column)
        column.refresh()


def entry_of(name: str) -> Perturbation:
    """The entry of a type, by its name."""
    return TABLE[TYPES.index(name)]


def node_types() -> tuple[int, ...]:
    """The types spent at nodes: the rows of `Allocation.attributes`, in this order."""
    return tuple(k for k, entry in enumerate(TABLE) if entry.at_nodes)


def preferred() -> list[str]:
    """All types, those first that people look at first: deletions, as in the paper."""
    return [entry.name for entry in sorted(TABLE, key=lambda entry: entry.change is not Change.DELETE)]


def canonical(name: str) -> str:
    """The name of a budget, also where it was given by an alias: `edge_del` is adj_del, `local_edge_del` likewise."""
    prefix = "local_" if name.startswith("local_") else ""
    plain = name.removeprefix(prefix)
    return prefix + next((entry.name for entry in TABLE if plain in entry.aliases), plain)
