"""The threat model: what the attacker may do to the one shared graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, TypedDict

import numpy as np

from certcore.common.errors import InputError, did_you_mean
from certcore.common.exact import decimal_text, exact_fraction
from certcore.common.reading import whole_number, whole_numbers
from certcore.domain.graph import MAX_NODES, Graph
from certcore.domain.local_mode import LocalMode
from certcore.domain.perturbations import FLIPS, LABELS, TABLE, TYPES, UNLIMITED, Perturbation, canonical, no_flips
from certcore.domain.scale import Scale, read_length
from certcore.domain.weights import DEGREE, Weights, WeightsGiven, of_targets, read_weights

Length = int | float | str | Decimal | Fraction
LocalBudget = int | float | str | Decimal | Fraction | Sequence[int] | np.ndarray | None

#: Larger budgets are refused. No supported graph has so many bits, and sums must be exact in 64 bits.
MAX_BUDGET = 10**9

#: Parts of a threat model that earlier versions knew.
DROPPED = {"node_costs": "costs of flips", "edge_costs": "costs of flips", "attr_l2_sum": "sums of norms"}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ThreatModel:
    """Global budgets, local budgets, attacker count σ, targets and protected nodes; validates itself.

    Every perturbation type has a global budget under its name (`attr_del=50`) and a local one (`local_attr_del=5`).
    Local budgets are None (no limit), one number for all nodes, or one number per node. With `local_mode="relative"`
    they are shares of a node's ones (attribute types) or edges (edge types), given as decimals and rounded down
    exactly.

    Each of `inject` new nodes has at most `inject_edges` edges to nodes of the graph (None: no limit), any attributes
    and any edges to other new nodes. `sigma=None` lets the attacker control every node; 0 means none. `targets=None`
    means the instance's own targets. Protected nodes keep their attributes and all their edges, and new nodes cannot be
    linked to them.

    `weights` are one number per node, or `"degree"`: counts are then sums of the targets' weights. Targets of weight 0
    are left out.

    Budgets of `attr_l2` are lengths, given as decimals. `attr_l2="0.3"` limits the root of the sum of all squared
    changes. The conversion to units depends on the noise of an instance, so `bound_to` binds a threat model to it.
    """

    attr_add: int = 0
    attr_del: int = 0
    adj_add: int = 0
    adj_del: int = 0
    inject: int = 0
    attr_l2: Any = Fraction(0)
    """A length, held as an exact fraction."""
    local_attr_add: LocalBudget = None
    local_attr_del: LocalBudget = None
    local_adj_add: LocalBudget = None
    local_adj_del: LocalBudget = None
    inject_edges: int | None = None
    """How many edges a new node may have to nodes of the graph; None: no limit."""
    local_attr_l2: LocalBudget = None
    local_mode: str = LocalMode.ABSOLUTE
    sigma: int | None = None
    targets: Any = None
    protected: Any = ()
    weights: Any = None
    scale: Scale | None = None
    """Conversion of lengths to units, from the instance to which the threat model is bound; None if unbound."""

    def __post_init__(self) -> None:
        mode = LocalMode.parse(self.local_mode, "local_mode")
        values: dict[str, Any] = {entry.name: _budget(getattr(self, entry.name), entry) for entry in TABLE}
        for entry in TABLE:
            own = LocalMode.ABSOLUTE if entry.brings_nodes else mode
            name = field_name(f"local_{entry.name}")
            values[name] = _local(getattr(self, name), entry, own)
            if entry.brings_nodes and np.ndim(values[name]):
                raise InputError(f"{name} is a list; expected one number of edges for every new node")
        protected = np.unique(_index_array(self.protected, "protected nodes"))
        protected.setflags(write=False)
        values |= {
            "local_mode": mode,
            "sigma": None if self.sigma is None else _count(self.sigma, "the attacker count σ"),
            "targets": None if self.targets is None else _index_array(self.targets, "targets"),
            "protected": protected,
            "weights": read_weights(self.weights),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        parts = {name: getattr(self, name) for name in part_names()}
        lengths = {name: decimal_text(value) for name, value in parts.items() if isinstance(value, Fraction)}
        return f"ThreatModel({', '.join(f'{name}={value!r}' for name, value in (parts | lengths).items())})"

    def weighed(self, graph: Graph, own: np.ndarray) -> ThreatModel:
        """The same threat model with the weights of this graph, and without targets of weight 0.

        `own` are the instance's targets. Degrees are those of the observed graph, also where an attacker changes them.
        """
        if self.weights is None:
            return self
        self.check(graph)
        weights = Weights(graph.incident, source=DEGREE) if self.weights == DEGREE else self.weights
        if weights.source == DEGREE:  # those of another graph, if this threat model comes from a result on it
            weights = replace(weights, values=graph.incident)
        targets = np.asarray(own if self.targets is None else self.targets)
        kept = of_targets(weights, targets, graph.n_nodes)
        if len(kept) == len(targets):
            return replace(self, weights=weights)
        return replace(self, weights=replace(weights, left_out=len(targets) - len(kept)), targets=kept)

    @property
    def local_inject(self) -> int | None:
        """`inject_edges`, under the name of the other local budgets."""
        return self.inject_edges

    @cached_property
    def local(self) -> tuple[LocalBudget, ...]:
        """The local budgets, in the order of the perturbation types."""
        return tuple(getattr(self, f"local_{name}") for name in TYPES)

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The global budgets in whole units, in the order of the perturbation types.

        Without a bound instance, a non-zero length is replaced by the largest budget.
        """
        return tuple(self._units(entry.name) if entry.lengths else getattr(self, entry.name) for entry in TABLE)

    def _units(self, name: str) -> int:
        length = getattr(self, name)
        if not length:
            return 0
        if self.scale is None:
            return MAX_BUDGET
        units = self.scale.of_square(length**2)
        if units > MAX_BUDGET:
            raise InputError(
                f"{name} is {decimal_text(length)}, too many standard deviations of the noise "
                f"({decimal_text(self.scale.std)}); expected at most {self.scale.length(MAX_BUDGET):.4g}"
            )
        return units

    def squared_limits(self, kind: int, n_nodes: int) -> list[Fraction]:
        """The squared local limit of each node, for a type with lengths whose limit is set."""
        value: Any = self.local[kind]
        limits = value.tolist() if isinstance(value, np.ndarray) else [value] * n_nodes
        squares = [limit**2 for limit in limits]
        if self.local_mode == LocalMode.RELATIVE:
            assert self.scale is not None
            squares = [share * norm for share, norm in zip(squares, self.scale.squared_norms)]
        return squares

    def bound_to(self, scale: Scale | None) -> ThreatModel:
        """The same threat model with lengths converted by this scale; refused if there are lengths but no scale."""
        given = any(getattr(self, entry.name) for entry in TABLE if entry.lengths)
        if scale is None and given:
            raise InputError(
                "attr_l2 moves attributes that are numbers, but this instance has no Gaussian attribute noise; "
                "expected an instance from smooth(model, data, attr_std=…), or budgets for the flips that it certifies"
            )
        return self if self.scale is scale else self.with_scale(scale)

    def with_scale(self, scale: Scale | None) -> ThreatModel:
        """The same threat model with lengths converted by this scale."""
        return replace(self, scale=scale)

    def with_types(self, kinds: Iterable[int]) -> ThreatModel:
        """The same threat model with the smallest positive budget for those of the types that have none."""
        missing = [TABLE[k] for k in kinds if not self.budgets[k]]
        least = Fraction(1) if self.scale is None else self.scale.std
        return self.replace(**{entry.name: least if entry.lengths else 1 for entry in missing}) if missing else self

    def shown(self, kind: int) -> str:
        """A global budget for display: a number of flips, or a length."""
        value = getattr(self, TYPES[kind])
        return decimal_text(value) if isinstance(value, Fraction) else str(value)

    @property
    def has_local(self) -> bool:
        """Whether any local budget is set."""
        return any(value is not None for value in self.local)

    def replace(self, **changes: Any) -> ThreatModel:
        """The same threat model with some parts changed."""
        return replace(self, **{field_name(name): value for name, value in changes.items()})

    def check(self, graph: Graph) -> None:
        """Check everything that depends on the size of the graph."""
        n = graph.n_nodes
        flipped = [name for name in FLIPS[:2] if getattr(self, name)]
        if graph.real and flipped:
            raise InputError(f"there is a budget for {LABELS[flipped[0]]}, but {no_flips()}")
        if not graph.real and self.attr_l2:
            raise InputError(
                "there is a budget attr_l2, but the attributes of this graph are bits, not numbers; expected attr_add "
                "and attr_del, the numbers of flips"
            )
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

    def local_limits(self, graph: Graph) -> np.ndarray:
        """Local budgets as a (types, N) array of counts; UNLIMITED where none is set."""
        self.check(graph)
        limits = np.full((len(TYPES), graph.n_nodes), UNLIMITED, dtype=np.int64)
        for k, value in enumerate(self.local):
            if value is None or TABLE[k].brings_nodes:  # the local budget of new nodes does not limit old nodes
                continue
            if TABLE[k].lengths:
                if self.scale is not None:
                    units = [self.scale.of_square(square) for square in self.squared_limits(k, graph.n_nodes)]
                    limits[k] = np.minimum(np.array(units, dtype=object), UNLIMITED).astype(np.int64)
            elif self.local_mode == LocalMode.RELATIVE:
                has = TABLE[k].share_of(graph)
                shares = value if isinstance(value, np.ndarray) else np.full(graph.n_nodes, value, dtype=object)
                limits[k] = _of_shares(shares, has, up=not TABLE[k].whole)
            else:
                limits[k] = value
        return limits

    def capacities(self, graph: Graph) -> np.ndarray:
        """The largest number of flips of each type at each node: its local budget, existing bits, protection.

        For edge types this counts incident edges. Edges with a protected end cannot be flipped and are not counted.
        """
        limits = self.local_limits(graph)
        free = np.ones(graph.n_nodes, dtype=bool)
        free[self.protected] = False
        exists = np.stack([entry.capacity(graph, free) for entry in TABLE])
        return np.where(free, np.minimum(limits, exists), 0)

    def to_json(self) -> dict[str, Any]:
        """A plain JSON description, as used in proofs; `from_json` reads it."""
        local: dict[str, Any] | None = None
        if self.has_local:
            local = {"mode": self.local_mode}
            for entry, value in zip(TABLE, self.local):
                if entry.name in FLIPS or value is not None:
                    plain = entry.lengths and self.local_mode != LocalMode.RELATIVE
                    local[entry.name] = _plain(value, decimal_text if plain else _quotient)
        # Registered types are written only if used, so that the text of other threat models does not change.
        result: dict[str, Any] = {}
        for name, value in ((name, getattr(self, name)) for name in TYPES):
            if name in FLIPS or value:
                result[name] = decimal_text(value) if isinstance(value, Fraction) else value
        result |= {"local": local, "sigma": self.sigma}
        if len(self.protected):
            result["protected"] = np.asarray(self.protected).tolist()
        return result

    @classmethod
    def from_json(cls, data: object, targets: np.ndarray | None = None) -> ThreatModel:
        """Read the output of `to_json`; anything else is refused."""
        if not isinstance(data, dict):
            raise InputError("the threat model is not a JSON object; expected the object that `certify --proof` writes")
        refuse_dropped(data)
        known = {*TYPES, "local", "sigma", "protected"}
        strange = sorted(set(data) - known)
        if strange:
            raise InputError(
                f"the threat model has an unknown entry {strange[0]!r}; expected {', '.join(sorted(known))}"
            )
        local = {} if data.get("local") is None else data["local"]
        if not isinstance(local, dict) or set(local) - {"mode", *TYPES}:
            raise InputError("the local budgets are not an object of perturbation types and a mode")
        budgets: dict[str, Any] = {name: data.get(name, 0) for name in TYPES}
        budgets |= {field_name(f"local_{name}"): local.get(name) for name in TYPES}
        return cls(
            **budgets,
            local_mode=local.get("mode", LocalMode.ABSOLUTE),
            sigma=data.get("sigma"),
            targets=targets,
            protected=data.get("protected", ()),
        )


class Budgets(TypedDict, total=False):
    """The parts of a threat model as plain arguments, see `ThreatModel`."""

    attr_add: int
    attr_del: int
    adj_add: int
    adj_del: int
    inject: int
    attr_l2: Length
    local_attr_add: LocalBudget
    local_attr_del: LocalBudget
    local_adj_add: LocalBudget
    local_adj_del: LocalBudget
    local_attr_l2: LocalBudget
    inject_edges: int | None
    local_mode: str
    sigma: int | None
    targets: Any
    protected: Any
    weights: WeightsGiven


def part_names() -> list[str]:
    """The keyword arguments of a threat model."""
    return [part.name for part in fields(ThreatModel) if part.name != "scale"]


def field_name(name: str) -> str:
    """The keyword argument of a budget, which may be given by another of its names."""
    plain = canonical(name)
    return "inject_edges" if plain == "local_inject" else plain


def refuse_dropped(names: Iterable[str]) -> None:
    """Refuse parts of a threat model that earlier versions knew, in one sentence."""
    for name in names:
        if name in DROPPED:
            raise InputError(
                f"the threat model has {name}, but {DROPPED[name]} are no longer supported; leave {name} out, or use "
                "certcore 0.3, which knows them"
            )


def read_threat(threat: ThreatModel | None, plain: Budgets) -> ThreatModel:
    """The given threat model, or one from keyword arguments; `edge_…` is an alias of `adj_…`."""
    if threat is not None and not isinstance(threat, ThreatModel):
        raise InputError(
            f"the threat model is {threat!r}; expected a ThreatModel, or budgets by name such as attr_del=10"
        )
    refuse_dropped(plain)
    known = part_names()
    given: dict[str, Any] = {}
    for name, value in plain.items():
        key = field_name(name)
        if key not in known:
            raise InputError(f"{name!r} is no budget{did_you_mean(key, known)}; expected one of {', '.join(known)}")
        if key in given:
            raise InputError(f"{name} and {key} are the same budget; give it once")
        if key in TYPES and not TABLE[TYPES.index(key)].lengths and isinstance(value, float | np.floating):
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


def _budget(value: object, entry: Perturbation) -> int | Fraction:
    if entry.lengths:
        return read_length(value, entry.name)
    return _count(value, f"the budget for {entry.plural}")


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


def _local(value: Any, entry: Perturbation, mode: str) -> Any:
    if value is None:
        return None
    what = entry.plural
    per_node = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0
    if mode == LocalMode.RELATIVE or entry.lengths:
        read = _share if mode == LocalMode.RELATIVE else _local_length
        if per_node:
            # Not tolist(): it would convert a float32 0.29 to float64, which has another shortest decimal form.
            shares = np.array([read(v, what) for v in value] + [None], dtype=object)[:-1]
            shares.setflags(write=False)
            return shares
        return read(value, what)
    if per_node:
        return whole_numbers(value, f"the local budget for {what}", 0, UNLIMITED)
    return _count(value, f"the local budget for {what}")


def _local_length(value: object, what: str) -> Fraction:
    return read_length(value, f"the local budget for {what}")


def _of_shares(shares: np.ndarray, has: np.ndarray, *, up: bool) -> np.ndarray:
    """share × count per node, computed exactly and rounded down; with `up` rounded up, for real amounts."""
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


def _plain(value: object, text: Callable[[Fraction], str]) -> Any:
    """Local budgets as JSON: counts as numbers, shares as exact fractions in text, lengths as decimals."""
    if isinstance(value, np.ndarray):
        return [_plain(v, text) for v in value.tolist()]
    return text(value) if isinstance(value, Fraction) else value


def _quotient(share: Fraction) -> str:
    return f"{share.numerator}/{share.denominator}"
