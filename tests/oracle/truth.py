"""What is true of a small instance: the most targets that any admissible attack in whole numbers leaves uncertified.

Written from the paper's text and the design alone. Of the engine only the objects that describe an instance and a
threat model are read, never anything that is computed from them: capacities, shares of local budgets, fields, fronts,
confidence bounds, ballots and labels are worked out here again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import ndtri

from certcore import GridBase, Instance, SmoothingBase, ThreatModel
from certcore.base.ballots import BallotsBase
from certcore.base.gaussian import GaussianBase

ATTR_ADD, ATTR_DEL, ADJ_ADD, ADJ_DEL = range(4)
NAMES = ("attr_add", "attr_del", "adj_add", "adj_del")
MANY = 10**9
#: More combinations than this are a mistake of whoever made the instance.
MOST = 3_000_000
Budget = tuple[int, ...]


class Truth:
    """One instance; the attacks of a threat model are enumerated once for all global budgets and all σ."""

    def __init__(self, instance: Instance, top: Budget = (0, 0, 0, 0)) -> None:
        self.instance = instance
        self.world = World(instance)
        self._top = top
        self._known: dict[Any, Landscape] = {}
        self._changed: dict[str, int] = {}

    def left(self, threat: ThreatModel) -> int:
        """The most targets that an admissible attack leaves uncertified; against ballots, whose labels it changes."""
        if isinstance(self.instance.base, BallotsBase | GaussianBase):
            known = f"{threat!r} {self.world.weights(threat)}"
            if known not in self._changed:
                of = labels_changed if isinstance(self.instance.base, BallotsBase) else left_by_moves
                self._changed[known] = of(self.world, threat)
            return self._changed[known]
        limits = self.world.all_there_is(threat)
        budgets = [min(b, most) for b, most in zip(threat.budgets, limits)]
        lists = (threat.targets, threat.protected)
        rest = tuple(None if some is None else np.asarray(some).tobytes() for some in lists)
        local = repr([value.tolist() if isinstance(value, np.ndarray) else value for value in threat.local])
        weights = self.world.weights(threat)
        key = (rest, local, threat.local_mode, self.world.whole_graph(threat), tuple(weights))
        found = self._known.get(key)
        if found is None or any(b > t for b, t in zip(budgets, found.top)):
            # Once larger than asked for, so that the next value of a sweep needs no enumeration of its own.
            wanted = [min(max(b, t) if b else 0, limit) for b, t, limit in zip(budgets, self._top, limits)]
            if found is not None:
                wanted = [max(w, t) for w, t in zip(wanted, found.top)]
            found = self._known[key] = Landscape(self.world, threat, tuple(wanted), weights)
        return found.left(tuple(budgets), threat.sigma)

    def certified(self, threat: ThreatModel) -> int:
        """The largest count that may be certified."""
        return sum(self.world.weights(threat)) - self.left(threat)


def most_broken(instance: Instance, threat: ThreatModel) -> int:
    """`Truth.left` for one question."""
    return Truth(instance).left(threat)


class World:
    """The graph, the fields and the base certificates of an instance, in plain Python."""

    def __init__(self, instance: Instance) -> None:
        graph = instance.graph
        self.instance, self.n, self.directed = instance, graph.n_nodes, graph.directed
        rows = np.repeat(np.arange(self.n), np.diff(graph.adj_indptr)).tolist()
        arcs = list(zip(rows, np.asarray(graph.adj_indices).tolist()))
        self.senders: list[set[int]] = [{j for i, j in arcs if i == node} for node in range(self.n)]
        self.edges = [(i, j) for i, j in arcs if self.directed or i < j]
        self.missing = [
            (i, j)
            for i in range(self.n)
            for j in range(self.n)
            if i != j and (i, j) not in arcs and (self.directed or i < j)
        ]
        self.width = graph.n_attrs
        self.ones = np.diff(graph.attr_indptr).tolist()
        self._kept: dict[Any, Any] = {}

    def targets(self, threat: ThreatModel) -> list[int]:
        chosen = self.instance.targets if threat.targets is None else threat.targets
        return np.asarray(chosen).tolist()

    def weights(self, threat: ThreatModel) -> list[int]:
        """How often each target counts; weights of questions are whole numbers, one of which is 1."""
        given: Any = threat.weights
        return [1 if given is None else int(given.values[target]) for target in self.targets(threat)]

    def whole_graph(self, threat: ThreatModel) -> bool:
        """Added edges, the attacker's or the noise's, make every field the whole graph (not with ballots)."""
        base = self.instance.base
        noisy = base.theta[ADJ_ADD] > 0 if isinstance(base, SmoothingBase) else bool(base.global_fields)
        return noisy or (threat.adj_add > 0 and not isinstance(base, BallotsBase))

    def all_there_is(self, threat: ThreatModel) -> list[int]:
        """Beyond these amounts a global budget buys nothing more."""
        return [sum(self.width - o for o in self.ones), sum(self.ones), len(self.missing), len(self.edges)]

    def limits(self, threat: ThreatModel, kind: int) -> list[int]:
        """Local budgets as counts: shares are of what the node has, rounded down."""
        value: Any = threat.local[kind]
        if value is None:
            return [MANY] * self.n
        values = list(value) if isinstance(value, np.ndarray) else [value] * self.n
        if threat.local_mode != "relative":
            return [int(v) for v in values]
        at_node = [sum(m in edge for edge in self.edges) for m in range(self.n)]
        has = self.ones if kind in (ATTR_ADD, ATTR_DEL) else at_node
        return [math.floor(Fraction(share) * count) for share, count in zip(values, has)]

    def hops(self, node: int, k: int, senders: list[set[int]] | None = None) -> set[int]:
        """Nodes within k hops, following messages from receiver to sender."""
        seen = {node}
        for _ in range(k):
            seen = seen | {j for i in seen for j in (senders or self.senders)[i]}
        return seen

    def nodes_of(self, target: int) -> set[int]:
        if self.instance.node_field is not None:
            return set(np.flatnonzero(self.instance.node_field.toarray()[target]).tolist())
        assert self.instance.layers is not None
        return self.hops(target, self.instance.layers)

    def edges_of(self, target: int) -> set[int]:
        """Edges that can influence the target, by the rule that the instance declares."""
        if self.instance.node_field is not None:
            return set()
        k = self.instance.layers
        assert k is not None
        outer, near = self.hops(target, k), self.hops(target, k - 1) if k else set()
        chosen = set()
        for e, (receiver, sender) in enumerate(self.edges):
            if self.instance.edge_field == "degrees":
                inside = receiver in outer or sender in outer
            elif self.directed:
                inside = receiver in near
            else:
                inside = receiver in near or sender in near
            if inside:
                chosen.add(e)
        return chosen

    def certified(self, node: int, budget: Budget) -> bool:
        """Whether the base certificate of a node covers this budget, by definition."""
        key = (node, budget)
        if key not in self._kept:
            base: Any = self.instance.base
            if isinstance(base, SmoothingBase):
                self._kept[key] = _smoothing_certified(base, node, budget)
            else:
                self._kept[key] = _grid_certified(base, node, budget)
        return bool(self._kept[key])


def labels_changed(world: World, threat: ThreatModel) -> int:
    """The most labels of targets that any attack changes on the sums of ballots, everything tried one by one.

    Rewritten and new nodes show nothing or a full ballot for each class: the rivals of several targets gain at once.
    """
    base: Any = world.instance.base
    ballots = np.asarray(base.ballots).tolist()
    full, n_classes = 2**20, len(ballots[0])
    shows = [show for show in itertools.product((0, full), repeat=n_classes) if 0 < sum(show) < full * n_classes]
    protected = set(np.asarray(threat.protected).tolist())
    free = [m for m in range(world.n) if m not in protected]
    targets, weights = world.targets(threat), world.weights(threat)

    def pairs(kind: int, pool: list[tuple[int, int]], budget: int) -> list[tuple[tuple[int, int], ...]]:
        limits = world.limits(threat, kind)
        usable, found = [pair for pair in pool if set(pair) <= set(free)], []
        for count in range(min(budget, len(usable)) + 1):
            for chosen in itertools.combinations(usable, count):
                at = [sum(m in pair for pair in chosen) for m in range(world.n)]
                if all(a <= b for a, b in zip(at, limits)):
                    found.append(chosen)
        return found

    able = [(m, k) for k in (ATTR_ADD, ATTR_DEL) for m in free if world.limits(threat, k)[m] > 0]
    rewritings = []
    for count in range(min(threat.attr_add + threat.attr_del, world.n) + 1):
        for chosen in itertools.combinations(able, count):
            paid = [sum(k == kind for _, k in chosen) for kind in (ATTR_ADD, ATTR_DEL)]
            if len({m for m, _ in chosen}) == count and paid[0] <= threat.attr_add and paid[1] <= threat.attr_del:
                rewritings.append(tuple(m for m, _ in chosen))
    each = world.n if threat.inject_edges is None else threat.inject_edges
    places = [p for count in range(min(each, len(free)) + 1) for p in itertools.combinations(free, count)]
    arrivals = list(itertools.combinations_with_replacement(places, threat.inject))

    def label(scores: list[int]) -> int:
        return scores.index(max(scores))

    def labels(edges: Iterable[tuple[int, int]], shown: list[list[int]], new: Any, new_shown: Any) -> list[int]:
        scores = [[base.weight * value for value in row] for row in shown]
        for i, j in edges:
            for receiver, sender in ((i, j),) if world.directed else ((i, j), (j, i)):
                scores[receiver] = [a + b for a, b in zip(scores[receiver], shown[sender])]
        for at, mine in zip(new, new_shown):
            for m in at:
                scores[m] = [a + b for a, b in zip(scores[m], mine)]
        return [label(row) for row in scores]

    before, worst = labels(world.edges, ballots, (), ()), 0
    additions = pairs(ADJ_ADD, world.missing, threat.adj_add)
    for added, deleted, nodes, new in itertools.product(
        additions, pairs(ADJ_DEL, world.edges, threat.adj_del), sorted(set(rewritings)), arrivals
    ):
        if threat.sigma is not None:
            sites = [set(pair) for pair in (*added, *deleted)] + [{m} for m in nodes]
            teams = itertools.combinations(range(world.n), min(threat.sigma, world.n))
            if not any(all(site & set(team) for site in sites) for team in teams):
                continue
        edges = [*(set(world.edges) - set(deleted)), *added]
        for mine in itertools.product(shows, repeat=len(nodes) + len(new)):
            shown = [list(row) for row in ballots]
            for m, show in zip(nodes, mine):
                shown[m] = list(show)
            after = labels(edges, shown, new, mine[len(nodes) :])
            worst = max(worst, sum(w * (after[t] != before[t]) for t, w in zip(targets, weights)))
    return worst


def left_by_moves(world: World, threat: ThreatModel) -> int:
    """The most targets that deleted edges and one change of the attributes leave uncertified together.

    Amounts are real, in units of squared distance: every set of targets is tried, and whether it can be reached is a
    linear program in the amounts at the nodes.
    """
    base: Any = world.instance.base
    scale = base.units / Fraction(base.std) ** 2
    budget, caps = math.ceil(scale * Fraction(threat.attr_l2) ** 2), _moves(world, threat, scale)
    protected = set(np.asarray(threat.protected).tolist())
    targets = world.targets(threat)
    worth = dict(zip(targets, world.weights(threat)))
    nodes, edges = {t: world.nodes_of(t) for t in targets}, {t: world.edges_of(t) for t in targets}
    teams = [tuple(range(world.n))]
    if threat.sigma is not None:
        teams = list(itertools.combinations(range(world.n), min(threat.sigma, world.n)))

    @cache
    def reached(wanted: tuple[tuple[int, int], ...], team: tuple[int, ...]) -> bool:
        if not budget:
            return not wanted
        upper = [caps[m] if m in team and m not in protected else 0 for m in range(world.n)]
        rows = [[-float(m in nodes[t]) for m in range(world.n)] for t, _ in wanted]
        found = linprog(np.ones(world.n), rows, [-need for _, need in wanted], bounds=[(0, cap) for cap in upper])
        return bool(found.status == 0 and found.fun <= budget + 1e-5)  # data are whole: a gap would be larger

    most = 0
    for gone in _deletions(world, threat, protected):
        needs = [(t, need_of_move(base, t, len(edges[t] & set(gone)))) for t in targets]
        fallen, standing = sum(worth[t] for t, need in needs if not need), [pair for pair in needs if pair[1]]
        able = [team for team in teams if all(set(world.edges[e]) & set(team) for e in gone)]
        for size in range(len(standing), 0, -1):
            for some in itertools.combinations(standing, size):
                lost = fallen + sum(worth[t] for t, _ in some)
                if lost > most and any(reached(some, team) for team in able):
                    most = lost
        most = max(most, fallen if able else 0)
    return most


def _moves(world: World, threat: ThreatModel, scale: Fraction) -> list[int]:
    """The most units by which each row may be moved, rounded up."""
    value: Any = threat.local_attr_l2
    if value is None:
        return [MANY] * world.n
    squares = [Fraction(v) ** 2 for v in (list(value) if isinstance(value, np.ndarray) else [value] * world.n)]
    if threat.local_mode == "relative":
        rows = world.instance.graph.attributes.toarray().tolist()
        squares = [square * sum(Fraction(x) ** 2 for x in row) for square, row in zip(squares, rows)]
    return [math.ceil(scale * square) for square in squares]


def _deletions(world: World, threat: ThreatModel, protected: set[int]) -> list[tuple[int, ...]]:
    """Sets of edges that may be deleted, the largest first."""
    limits = world.limits(threat, ADJ_DEL)
    usable = [e for e, edge in enumerate(world.edges) if not protected & set(edge)]
    return [
        chosen
        for count in range(min(threat.adj_del, len(usable)), -1, -1)
        for chosen in itertools.combinations(usable, count)
        if all(sum(m in world.edges[e] for e in chosen) <= limits[m] for m in range(world.n))
    ]


def need_of_move(base: GaussianBase, node: int, deletions: int) -> int:
    """⌊units · z²⌋ with z = Φ⁻¹(1 − (1 − p) / θ^d), the mean of both z for the multi-class rule; 0 if uncertified."""
    row, label = base.votes[node].tolist(), int(base.prediction[node])
    share = Fraction(base.theta[ADJ_DEL]) ** deletions
    multiclass = str(base.rule) == "multiclass"
    level = Fraction(base.alpha) * (1 - Fraction(1, 2**20)) / ((2 if multiclass else 1) * len(base.votes))
    first = rest = lower_bound(row[label], int(base.n_samples), level)
    if multiclass:
        rival = max((count for k, count in enumerate(row) if k != label), default=0)
        rest = max(first, lower_bound(int(base.n_samples) - rival, int(base.n_samples), level))
    if 1 - first >= share:
        return 0
    z = sum(-float(ndtri(float((1 - p) / share))) for p in (first, rest)) / 2
    return math.floor(base.units * z * z) if z > 0 else 0


def _grid_certified(base: GridBase, node: int, budget: Budget) -> bool:
    """Beyond the end of the grid, or on a missing axis, nothing is certified."""
    given = dict(zip(NAMES, budget))
    if any(amount and name not in base.axes for name, amount in given.items()):
        return False
    index = tuple(given[name] for name in base.axes)
    return all(i < side for i, side in zip(index, base.grid.shape[1:])) and bool(base.grid[(node, *index)])


def _smoothing_certified(base: SmoothingBase, node: int, budget: Budget) -> bool:
    """The paper's condition on the least probability under the perturbed graph, with confidence bounds."""
    nodes, samples = len(base.votes), int(base.n_samples)
    row, label = base.votes[node].tolist(), int(base.prediction[node])
    theta = tuple(Fraction(t) for t in base.theta)
    multiclass = str(base.rule) == "multiclass"
    level = Fraction(base.alpha) / ((2 if multiclass else 1) * nodes)
    first = lower_bound(row[label], samples, level)
    if not multiclass:
        return least_mass(theta, budget, first) > Fraction(1, 2)
    rival = max((count for k, count in enumerate(row) if k != label), default=0)
    rest = max(lower_bound(samples - rival, samples, level), first)  # 1 − p_B, at least p_A
    return least_mass(theta, budget, first) + least_mass(theta, budget, rest) > 1


@lru_cache(maxsize=100_000)
def lower_bound(successes: int, trials: int, level: Fraction) -> Fraction:
    """Clopper and Pearson: the p at which so many successes or more have the probability `level`, within 2^-48."""
    if not successes:
        return Fraction(0)
    bits = 48
    low, high = 0, 2**bits
    while high - low > 1:
        p = (low + high) // 2
        q = 2**bits - p
        tail = sum(math.comb(trials, k) * p**k * q ** (trials - k) for k in range(successes, trials + 1))
        if tail * level.denominator <= level.numerator * 2 ** (bits * trials):
            low = p
        else:
            high = p
    return Fraction(high, 2**bits)


@lru_cache(maxsize=100_000)
def _regions(theta: tuple[Fraction, ...], budget: Budget) -> tuple[tuple[Fraction, Fraction], ...]:
    """Clean and perturbed mass of every outcome of the flipped bits, those that are likeliest to be clean first."""
    parts = []
    for kind, amount in enumerate(budget):
        add, delete = theta[kind - kind % 2], theta[kind - kind % 2 + 1]
        # A flipped bit keeps its clean value in a sample: of the clean graph, and of the perturbed one.
        clean, perturbed = (1 - add, delete) if kind % 2 == 0 else (1 - delete, add)
        parts.append(
            [
                tuple(
                    math.comb(amount, stay) * p**stay * (1 - p) ** (amount - stay) for p in (clean, perturbed)
                )
                for stay in range(amount + 1)
            ]
        )  # fmt: skip
    one = Fraction(1)
    regions = [
        (math.prod((cell[0] for cell in cells), start=one), math.prod((cell[1] for cell in cells), start=one))
        for cells in itertools.product(*parts)
    ]
    regions = [region for region in regions if region[0]]
    return tuple(sorted(regions, key=lambda r: (0, Fraction(0)) if not r[1] else (1, r[1] / r[0])))


@lru_cache(maxsize=100_000)
def least_mass(theta: tuple[Fraction, ...], budget: Budget, clean: Fraction) -> Fraction:
    """The least probability under the perturbed graph of anything with this probability under the clean one."""
    total = Fraction(0)
    for here, there in _regions(theta, budget):
        if clean <= 0:
            break
        taken = min(clean, here)
        total += there * taken / here
        clean -= taken
    return total


@dataclass
class Part:
    """All ways to spend a budget of one type: how many flips each has, who has to attack for it, and where it acts."""

    count: np.ndarray
    payable: Callable[[], np.ndarray]
    """(2^N, count): whether a set of attackers, as bits, can do it; asked for only where σ limits them."""
    effect: np.ndarray
    """(count, targets): flips inside each target's field."""


class Landscape:
    """Every attack within the largest budgets, and what each leaves uncertified."""

    def __init__(self, world: World, threat: ThreatModel, top: Budget, weights: list[int] | None = None) -> None:
        self.world, self.threat, self.top = world, threat, top
        self.targets = world.targets(threat)
        self.weights = [1] * len(self.targets) if weights is None else weights
        self.whole = world.whole_graph(threat)
        protected = set(np.asarray(threat.protected).tolist())
        self.free = [m not in protected for m in range(world.n)]
        self.parts = [self._nodes(ATTR_ADD), self._nodes(ATTR_DEL), self._pairs(ADJ_ADD), self._pairs(ADJ_DEL)]
        sizes = [len(part.count) for part in self.parts]
        if math.prod(sizes) > MOST:
            raise ValueError(f"{sizes} ways to spend the budgets are too many to enumerate; make the instance smaller")
        self.attacked = self._by_budgets()

    def _nodes(self, kind: int) -> Part:
        """Attribute flips: amounts at the nodes."""
        world, threat, budget = self.world, self.threat, self.top[kind]
        room = [world.width - o for o in world.ones] if kind == ATTR_ADD else world.ones
        limits = world.limits(threat, kind)
        found: list[tuple[tuple[int, ...], int]] = [((), 0)]
        for node in range(world.n):
            most = min(room[node], limits[node]) if self.free[node] else 0
            found = [
                ((*vector, amount), spent + amount)
                for vector, spent in found
                for amount in range(min(most, budget - spent) + 1)
            ]
        vectors = np.array([vector for vector, _ in found], dtype=np.int64)
        fields = [set(range(world.n)) if self.whole else world.nodes_of(t) for t in self.targets]
        inside = np.array([[m in field for m in range(world.n)] for field in fields], dtype=np.int64)

        def payable() -> np.ndarray:
            teams = np.array([[team >> m & 1 for m in range(world.n)] for team in range(2**world.n)], dtype=np.int64)
            return (1 - teams) @ vectors.T == 0

        effect = vectors @ inside.reshape(-1, world.n).T
        return Part(np.array([spent for _, spent in found]), payable, effect)

    def _pairs(self, kind: int) -> Part:
        """Edge flips: sets of pairs. Every end counts in its local budget; one end has to be an attacker."""
        world, threat = self.world, self.threat
        pool = world.missing if kind == ADJ_ADD else world.edges
        limits, budget = world.limits(threat, kind), self.top[kind]
        usable = [e for e, (i, j) in enumerate(pool) if self.free[i] and self.free[j]]
        found: list[tuple[int, ...]] = []

        def extend(chosen: tuple[int, ...], start: int, at: list[int]) -> None:
            found.append(chosen)
            for place in range(start, len(usable)):
                i, j = pool[usable[place]]
                if len(chosen) < budget and at[i] < limits[i] and at[j] < limits[j]:
                    more = at.copy()
                    more[i] += 1
                    more[j] += 1
                    extend((*chosen, usable[place]), place + 1, more)

        extend((), 0, [0] * world.n)
        by_team = np.array(
            [[team >> i & 1 or team >> j & 1 for i, j in pool] for team in range(2**world.n)], dtype=bool
        )

        def payable() -> np.ndarray:
            return np.array([by_team[:, list(chosen)].all(axis=1) for chosen in found]).T

        effect = np.array([self._reach(kind, pool, chosen) for chosen in found], dtype=np.int64)
        return Part(np.array([len(chosen) for chosen in found]), payable, effect.reshape(len(found), len(self.targets)))

    def _reach(self, kind: int, pool: list[tuple[int, int]], chosen: tuple[int, ...]) -> list[int]:
        if self.whole or kind == ADJ_ADD:
            return [len(chosen)] * len(self.targets)
        return [len(self._edge_fields[t] & set(chosen)) for t in self.targets]

    @cached_property
    def _edge_fields(self) -> dict[int, set[int]]:
        return {t: self.world.edges_of(t) for t in self.targets}

    def _by_budgets(self) -> np.ndarray:
        """Look up what each attack puts into each field."""
        effects = [part.effect for part in self.parts]
        shape = [len(effect) for effect in effects]
        sides = [int(effect.max(initial=0)) + 1 for effect in effects]
        everything = np.ix_(*(range(size) for size in shape))
        attacked = np.zeros(shape, dtype=np.int64)
        for place, target in enumerate(self.targets):
            broken = np.array(
                [not self.world.certified(target, b) for b in itertools.product(*map(range, sides))]
            ).reshape(sides)
            lost = broken[tuple(effect[index, place] for effect, index in zip(effects, everything))]
            attacked += self.weights[place] * lost
        return attacked

    @cached_property
    def _attackers(self) -> np.ndarray:
        """The fewest attackers that each attack needs."""
        n = self.world.n
        needed = np.full(self.attacked.shape, n, dtype=np.int8)
        payable = [part.payable() for part in self.parts]
        for team in sorted(range(2**n), key=lambda bits: -bits.bit_count()):
            able = [np.flatnonzero(mine[team]) for mine in payable]
            needed[np.ix_(*able)] = team.bit_count()
        return needed

    def left(self, budgets: Budget, sigma: int | None) -> int:
        affordable = np.ix_(*(np.flatnonzero(part.count <= budget) for part, budget in zip(self.parts, budgets)))
        attacked = self.attacked[affordable]
        if sigma is not None:
            attacked = attacked[self._attackers[affordable] <= sigma]
        return int(attacked.max())
