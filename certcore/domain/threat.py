"""The threat model: what the attacker may do to the one shared graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from certcore.common.errors import InputError, did_you_mean
from certcore.common.exact import exact_fraction
from certcore.common.reading import whole_number, whole_numbers
from certcore.domain.graph import MAX_NODES, Graph
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import FLIPS, LABELS, TABLE, TYPES, UNLIMITED, canonical

LocalBudget = int | float | str | Decimal | Fraction | Sequence[int] | np.ndarray | None

#: Budgets above this are refused: no graph here has so many bits, and sums must stay exact in 64 bits.
MAX_BUDGET = 10**9
MAX_COST = 10**6


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ThreatModel:
    """Global budgets, local budgets, attacker count σ, targets, protected nodes and costs; validates itself.

    Every type of perturbation has a global budget under its name (`attr_del=50`) and a local one (`local_attr_del=5`).
    Local budgets are None (no limit), one number for all nodes, or one number per node. With
    `local_mode="relative"` they are shares of the ones (attribute types) or edges (edge types) a node has, given
    as decimals and rounded down exactly. `sigma=None` lets the attacker control every node; 0 means none.
    `targets=None` means the instance's own targets. Protected nodes keep their attributes and all their edges.
    `node_costs` (per node, attribute flips) and `edge_costs` (per edge, in the order of `Graph.edges`, deletions)
    are integers of at least one: a flip weighs its cost in the global budget.
    """

    budgets: tuple[int, ...]
    """The global budgets in the order of the perturbation types; each is an attribute of its own as well."""
    local: tuple[LocalBudget, ...]
    """The local budgets, likewise."""
    local_mode: str
    sigma: int | None
    targets: np.ndarray | None
    protected: np.ndarray
    node_costs: np.ndarray | None
    edge_costs: np.ndarray | None

    if TYPE_CHECKING:  # the types that every installation has; the table knows the rest
        attr_add: int
        attr_del: int
        adj_add: int
        adj_del: int
        local_attr_add: LocalBudget
        local_attr_del: LocalBudget
        local_adj_add: LocalBudget
        local_adj_del: LocalBudget

    def __init__(self, **parts: Unpack[Budgets]) -> None:
        given: dict[str, Any] = dict(parts)
        strange = [name for name in given if name not in part_names()]
        if strange:
            known = part_names()
            hint = did_you_mean(strange[0], known)
            raise InputError(f"{strange[0]!r} is no part of a threat model{hint}; expected one of {', '.join(known)}")
        values: dict[str, Any] = {name: _count(given.get(name, 0), f"the budget for {LABELS[name]}") for name in TYPES}
        mode = LocalMode.parse(given.get("local_mode", LocalMode.ABSOLUTE), "local_mode")
        for name in TYPES:
            values[f"local_{name}"] = _local(given.get(f"local_{name}"), LABELS[name], mode)
        sigma, targets = given.get("sigma"), given.get("targets")
        protected = np.unique(_index_array(given.get("protected", ()), "protected nodes"))
        protected.setflags(write=False)
        values |= {
            "budgets": tuple(values[name] for name in TYPES),
            "local": tuple(values[f"local_{name}"] for name in TYPES),
            "local_mode": mode,
            "sigma": None if sigma is None else _count(sigma, "the attacker count σ"),
            "targets": None if targets is None else _index_array(targets, "targets"),
            "protected": protected,
        }
        for name in ("node_costs", "edge_costs"):
            costs = given.get(name)
            values[name] = None if costs is None else _costs(costs, name)
        self.__dict__.update(values)

    def __repr__(self) -> str:
        return f"ThreatModel({', '.join(f'{name}={getattr(self, name)!r}' for name in part_names())})"

    @property
    def has_local(self) -> bool:
        """Whether any local budget is set."""
        return any(value is not None for value in self.local)

    def replace(self, **changes: Any) -> ThreatModel:
        """The same threat model with some parts changed."""
        parts: Any = {name: getattr(self, name) for name in part_names()} | changes
        return ThreatModel(**parts)

    def check(self, graph: Graph) -> None:
        """Check everything that depends on the size of the graph."""
        n = graph.n_nodes
        for name in TYPES:
            value = getattr(self, f"local_{name}")
            if isinstance(value, np.ndarray) and len(value) != n:
                raise InputError(
                    f"the local budget for {LABELS[name]} has {len(value)} entries; expected one per node, {n}"
                )
        for name, nodes in (("targets", self.targets), ("protected nodes", self.protected)):
            nodes = np.asarray([] if nodes is None else nodes)
            if len(nodes) and nodes.max() >= n:
                raise InputError(f"{name} contain node {nodes.max()}; expected indices from 0 to {n - 1}")
        for name, costs, size in (
            ("node_costs", self.node_costs, n),
            ("edge_costs", self.edge_costs, graph.n_edges),
        ):
            if costs is not None and len(costs) != size:
                raise InputError(f"{name} has {len(costs)} entries; expected {size}")

    def local_limits(self, graph: Graph) -> np.ndarray:
        """Local budgets as a (types, N) array of counts; UNLIMITED where none is set."""
        self.check(graph)
        limits = np.full((len(TYPES), graph.n_nodes), UNLIMITED, dtype=np.int64)
        for k, value in enumerate(self.local):
            if value is None:
                continue
            if self.local_mode == LocalMode.RELATIVE:
                has = TABLE[k].share_of(graph)
                shares = value if isinstance(value, np.ndarray) else np.full(graph.n_nodes, value, dtype=object)
                limits[k] = _of_shares(shares, has, up=not TABLE[k].whole)
            else:
                limits[k] = value
        return limits

    def capacities(self, graph: Graph) -> np.ndarray:
        """How many flips of each type each node can take: its local budget, what exists there, protection.

        For edge types this counts incident edges; an edge to a protected node does not exist for the attacker.
        """
        limits = self.local_limits(graph)
        free = np.ones(graph.n_nodes, dtype=bool)
        free[self.protected] = False
        exists = np.stack([entry.capacity(graph, free) for entry in TABLE])
        return np.where(free, np.minimum(limits, exists), 0)

    def to_json(self) -> dict[str, Any]:
        """A plain description, the form used in proofs; `from_json` reads it back."""
        local: dict[str, Any] | None = None
        if self.has_local:
            local = {"mode": self.local_mode}
            for name, value in zip(TYPES, self.local):
                if name in FLIPS or value is not None:
                    local[name] = _plain(value)
        # Types that came later are named only where they are used: what others write stays as it is.
        result: dict[str, Any] = {name: n for name, n in zip(TYPES, self.budgets) if name in FLIPS or n}
        result |= {"local": local, "sigma": self.sigma}
        if len(self.protected):
            result["protected"] = np.asarray(self.protected).tolist()
        for name in ("node_costs", "edge_costs"):
            if getattr(self, name) is not None:
                result[name] = np.asarray(getattr(self, name)).tolist()
        return result

    @classmethod
    def from_json(cls, data: object, targets: np.ndarray | None = None) -> ThreatModel:
        """Read what `to_json` wrote; anything else is refused."""
        if not isinstance(data, dict):
            raise InputError("the threat model is not a JSON object; expected the object that `certify --proof` writes")
        known = {*TYPES, "local", "sigma", "protected", "node_costs", "edge_costs"}
        strange = sorted(set(data) - known)
        if strange:
            raise InputError(
                f"the threat model has an unknown entry {strange[0]!r}; expected {', '.join(sorted(known))}"
            )
        local = {} if data.get("local") is None else data["local"]
        if not isinstance(local, dict) or set(local) - {"mode", *TYPES}:
            raise InputError("the local budgets are not an object of perturbation types and a mode")
        budgets: dict[str, Any] = {name: data.get(name, 0) for name in TYPES}
        budgets |= {f"local_{name}": local.get(name) for name in TYPES}
        return cls(
            **budgets,
            local_mode=local.get("mode", LocalMode.ABSOLUTE),
            sigma=data.get("sigma"),
            targets=targets,
            protected=data.get("protected", ()),
            node_costs=data.get("node_costs"),
            edge_costs=data.get("edge_costs"),
        )


class Budgets(TypedDict, total=False):
    """The parts of a threat model as plain arguments, see `ThreatModel`."""

    attr_add: int
    attr_del: int
    adj_add: int
    adj_del: int
    local_attr_add: LocalBudget
    local_attr_del: LocalBudget
    local_adj_add: LocalBudget
    local_adj_del: LocalBudget
    local_mode: str
    sigma: int | None
    targets: Any
    protected: Any
    node_costs: Any
    edge_costs: Any


def part_names() -> list[str]:
    """The names of all parts of a threat model, as it is made and described."""
    names = [*TYPES, *(f"local_{name}" for name in TYPES)]
    return [*names, "local_mode", "sigma", "targets", "protected", "node_costs", "edge_costs"]


def _signature() -> Signature:
    """What notebooks and `help` show: the parts by name, instead of `**parts`."""
    other = {"local_mode": str(LocalMode.ABSOLUTE), "protected": ()}
    first: dict[str, Any] = dict.fromkeys(part_names()) | dict.fromkeys(TYPES, 0) | other
    kinds = Budgets.__annotations__
    return Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=first[name], annotation=_written(kinds[name]))
            for name in kinds
        ]
    )


def _written(annotation: Any) -> Any:
    return getattr(annotation, "__forward_arg__", annotation)


ThreatModel.__signature__ = _signature()  # type: ignore[attr-defined]


def read_threat(threat: ThreatModel | None, plain: Budgets) -> ThreatModel:
    """A threat model as given, or from plain arguments; `edge_…` is another name for `adj_…`."""
    if threat is not None and not isinstance(threat, ThreatModel):
        raise InputError(
            f"the threat model is {threat!r}; expected a ThreatModel, or budgets by name such as attr_del=10"
        )
    known = part_names()
    given: dict[str, Any] = {}
    for name, value in plain.items():
        key = canonical(name)
        if key not in known:
            raise InputError(f"{name!r} is no budget{did_you_mean(key, known)}; expected one of {', '.join(known)}")
        if key in given:
            raise InputError(f"{name} and {key} are the same budget; give it once")
        if key in TYPES and isinstance(value, float | np.floating):
            raise InputError(
                f"certify(…, {name}={value}) is no number of flips; expected a whole number such as 10. A flip "
                f"probability is for smooth(model, data, {key}={value})"
            )
        given[key] = value
    if threat is None:
        return ThreatModel(**given)
    if given:
        raise InputError(f"a ThreatModel and {', '.join(plain)} were given; expected one of both, or threat.replace(…)")
    return threat


def _count(value: object, what: str) -> int:
    return whole_number(value, what, 0, MAX_BUDGET)


def _share(value: object, what: str) -> Fraction:
    """A share as an exact fraction; a float is read by its shortest decimal form (0.29 means 29/100)."""
    try:
        share = exact_fraction(str(value), longest=60)
    except ValueError as error:
        raise InputError(f"the local budget for {what} is {value!r}; expected a decimal share such as 0.25") from error
    if not 0 <= share <= MAX_BUDGET:
        raise InputError(f"the local budget for {what} is {value}; expected a share of at least 0")
    return share


def _local(value: Any, what: str, mode: str) -> Any:
    if value is None:
        return None
    per_node = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0
    if mode == LocalMode.RELATIVE:
        if per_node:
            # Not tolist(): a 32-bit 0.29 is read by its own shortest decimal, not by that of its 64-bit neighbour.
            shares = np.array([_share(v, what) for v in value] + [None], dtype=object)[:-1]
            shares.setflags(write=False)
            return shares
        return _share(value, what)
    if per_node:
        return whole_numbers(value, f"the local budget for {what}", 0, UNLIMITED)
    return _count(value, f"the local budget for {what}")


def _of_shares(shares: np.ndarray, has: np.ndarray, *, up: bool) -> np.ndarray:
    """share × count in exact integers for each node, rounded down; up for real amounts, of which parts count too."""
    numerators = np.array([s.numerator for s in shares], dtype=object)
    denominators = np.array([s.denominator for s in shares], dtype=object)
    sign = -1 if up else 1
    rounded = sign * ((sign * numerators * has.astype(object)) // denominators)
    return np.minimum(rounded, UNLIMITED).astype(np.int64)


def _index_array(nodes: object, what: str) -> np.ndarray:
    array = whole_numbers(nodes, what, 0, MAX_NODES - 1)
    if what == "targets" and len(np.unique(array)) != len(array):
        raise InputError("targets name a node twice; every target counts once")
    return array


def _costs(costs: object, name: str) -> np.ndarray:
    return whole_numbers(costs, name, 1, MAX_COST)


def _plain(value: object) -> Any:
    """Local budgets as JSON: counts as numbers, shares as exact fractions in text."""
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value.tolist()]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return value
