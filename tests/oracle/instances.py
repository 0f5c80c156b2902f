"""Small random questions of every kind, such as can be enumerated: instance, threat model, and values to sweep over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore import Graph, GridBase, Instance, SmoothingBase, ThreatModel
from certcore.base.ballots import UNIT, BallotsBase
from certcore.base.gaussian import GaussianBase
from certcore.base.grid import BaseLocal
from certcore.domain.perturbations import FLIPS, TYPES
from tests.oracle.truth import Truth
from tests.support import random_graph

KINDS = ("grid", "joint", "binary", "multiclass", "ballots", "explicit")
#: Gaussian noise, with and without edge noise: budgets are lengths, so only ways that read them are gone.
LENGTHS = "gaussian"
#: Weights of nodes: equal ones, some that count nothing, a heavy one. One of them is 1, so that none is divided.
WEIGHTS = (0, 1, 1, 2, 3, 7, 9, 10**6)
SHARES = ("0", "0.25", "0.34", "0.5", "0.67", "0.999", "1", "1.5")
THETA = (
    ("0.1", "0.4", "0", "0"),
    ("0", "0.5", "0", "0"),
    ("0", "0", "0", "0.4"),
    ("0.05", "0.4", "0", "0.3"),
    ("0.02", "0.6", "0.01", "0.4"),
)


@dataclass(frozen=True, eq=False)
class Question:
    """An instance under a threat model, and what to vary: `values` of `vary`, and a grid over `x` and `y`."""

    number: Any
    kind: str
    instance: Instance
    threat: ThreatModel
    vary: str
    values: tuple[Any, ...]
    x: str
    x_values: tuple[int, ...]
    y: str
    y_values: tuple[int, ...]
    truth: Truth

    def at(self, value: Any) -> ThreatModel:
        return self.threat.replace(**{self.vary: value})

    def cell(self, x: int, y: int) -> ThreatModel:
        return self.threat.replace(**{self.x: x, self.y: y})


def question(seed: int, number: int, kind: str) -> Question:
    """The question of this number: the same for the same seed."""
    rng = np.random.default_rng([seed, number, (*KINDS, LENGTHS).index(kind)])
    instance = _instance(rng, kind)
    most = _most_flips(instance, kind)
    threat = _threat(rng, instance, kind, most)
    axes = _axes(instance, threat)
    whole = [name for name in axes if not name.startswith("local_")]
    vary = str(rng.choice(axes))
    x, y = rng.permutation([*whole, "sigma"] if len(whole) < 2 else whole)[:2].tolist()
    top = tuple(max(budget, most if name in axes else 0) for name, budget in zip(TYPES, threat.budgets))
    values = _values(rng, instance, threat, vary, most)
    ends = [tuple(_values(rng, instance, threat, name, most)) for name in (x, y)]
    truth = Truth(instance, top)
    return Question((seed, number), kind, instance, threat, vary, tuple(values), x, ends[0], y, ends[1], truth)


def weighted(seed: int, number: int, kind: str) -> Question:
    """The same question with a weight for every node."""
    asked = question(seed, number, kind)
    rng = np.random.default_rng([seed, number, 48])
    weights = rng.choice(WEIGHTS, asked.instance.graph.n_nodes)
    weights[rng.choice(asked.truth.world.targets(asked.threat) or [0])] = 1
    return replace(asked, threat=asked.threat.replace(weights=weights))


def _most_flips(instance: Instance, kind: str) -> int:
    """The largest budget of a type: the more types, the fewer flips can be enumerated."""
    if kind in ("ballots", LENGTHS):
        return 2
    return {1: 5, 2: 3}.get(len(instance.base.axes), 2)


def _instance(rng: np.random.Generator, kind: str) -> Instance:
    n, types = int(rng.integers(3, 6)), int(rng.integers(1, 5))
    votes = kind in ("binary", "multiclass", "ballots", LENGTHS)
    directed = bool(rng.random() < 0.3)
    if kind == "ballots" or (kind == "grid" and types > 2) or (directed and votes):
        n = min(n, 4)
    hub = bool(rng.random() < 0.2)
    graph = _graph(rng, n, directed, hub)
    if kind == LENGTHS:
        values = rng.integers(1, 9, (n, 2)) / 4
        graph = Graph.from_edges(n, graph.edges, values, keep_values=True, directed=directed)
    prediction = rng.integers(0, 2, n)
    base: Any
    if kind == "ballots":
        base = _ballots(rng, n)
    elif kind == LENGTHS:
        base = _gaussian(rng, n)
    elif votes:
        base = _smoothing(rng, n, kind)
    else:
        base = _grid(rng, n, kind, types, prediction)
    # Around a hub, half of the fields end at the node itself: the hub pays for edges of fields it does not belong to.
    layers = 0 if hub and rng.random() < 0.5 else int(rng.integers(0, 3))
    rule = "degrees" if not layers and hub else str(rng.choice(["degrees", "messages"]))
    if kind == "ballots":
        layers, rule = 1, "messages"
    explicit = sp.csr_array((rng.random((n, n)) < 0.5).astype(np.int8)) if kind == "explicit" else None
    return Instance(
        graph,
        base,
        layers=layers if kind != "explicit" else None,
        edge_field=rule,
        node_field=explicit,
        targets=np.sort(rng.permutation(n)[: int(rng.integers(2, n + 1))]) if rng.random() < 0.4 else None,
        labels=rng.integers(0, 2, n),
        split=np.full(n, 2),
        meta={"dataset": "toy", "model": kind},
    )


def _graph(rng: np.random.Generator, n: int, directed: bool, hub: bool) -> Graph:
    """Any graph, or a hub with leaves: who stands outside of a field but pays for many edges is rare otherwise."""
    width = int(rng.integers(1, 4))
    if hub:
        attributes = (rng.random((n, width)) < 0.5).astype(np.int8)
        return Graph.from_edges(n, np.array([[0, leaf] for leaf in range(1, n)]), attributes, directed=directed)
    return random_graph(rng, n, width, float(rng.uniform(0.25, 0.75)), directed)


def _grid(rng: np.random.Generator, n: int, kind: str, types: int, prediction: np.ndarray) -> GridBase:
    """Monotone sets of budgets: unions of boxes, or all budgets below a sum for `joint`."""
    if kind == "joint":
        radii = rng.integers(0, 5, n)
        total = np.add.outer(np.arange(4), np.arange(4))
        local = BaseLocal(joint=int(rng.integers(1, 4)))
        return GridBase(total[None] < radii[:, None, None], ("attr_add", "attr_del"), local, prediction)
    pool = ["attr_add", "attr_del"] + ([] if kind == "explicit" else ["adj_del"])
    if kind == "grid" and types == 4:
        pool.append("adj_add")
    axes = tuple(rng.permutation(pool)[:types].tolist())
    sides = tuple(int(rng.integers(2, 5)) for _ in axes)
    grid = np.zeros((n, *sides), dtype=bool)
    for node in grid:
        for _ in range(int(rng.integers(0, 4))):
            node[tuple(slice(0, int(rng.integers(1, side + 1))) for side in sides)] = True
    return GridBase(grid, axes, prediction=prediction, global_fields=bool(kind != "explicit" and rng.random() < 0.05))


def _smoothing(rng: np.random.Generator, n: int, kind: str) -> SmoothingBase:
    samples = int(rng.integers(20, 60))
    prediction = rng.integers(0, 3, n)
    votes = np.zeros((n, 3), dtype=np.int64)
    for node in range(n):
        mine = int(samples * rng.choice([0.5, 0.8, 0.9, 1.0]))
        votes[node] = rng.multinomial(samples - mine, [1 / 3] * 3)
        votes[node, prediction[node]] += mine
    theta = THETA[int(rng.integers(len(THETA)))]
    return SmoothingBase(votes, prediction, samples, "0.2", theta, rule=kind)


def _gaussian(rng: np.random.Generator, n: int) -> GaussianBase:
    """Few samples and a large deviation, so that lengths that are whole numbers decide; with edge noise or without."""
    plain = _smoothing(rng, n, str(rng.choice(["binary", "multiclass"])))
    theta = ("0", "0", "0", str(rng.choice(["0", "0.5", "0.8", "1"])))
    std = str(rng.choice(["0.7", "1", "1.5"]))
    return GaussianBase(
        plain.votes,
        plain.prediction,
        plain.n_samples,
        plain.alpha,
        theta,
        plain.rule,
        std=std,
        lattice="2^-4",
        units=256,
    )


def _ballots(rng: np.random.Generator, n: int) -> BallotsBase:
    classes = int(rng.integers(2, 4))
    ballots = rng.integers(0, 5, (n, classes)) * (UNIT // 4)
    drawn = rng.integers(0, UNIT + 1, (n, classes))
    return BallotsBase(np.where(rng.random((n, 1)) < 0.5, ballots, drawn), int(rng.integers(1, 3)))


def _threat(rng: np.random.Generator, instance: Instance, kind: str, most: int) -> ThreatModel:
    n, base = instance.graph.n_nodes, instance.base
    values: dict[str, Any] = {name: int(rng.integers(1, most + 1)) for name in base.axes if name in TYPES}
    if kind == "ballots":  # few types at a time: everything that rewritten and new nodes may show is tried
        kept = rng.permutation(list(values))[: int(rng.integers(1, 3))].tolist()
        values = {name: int(rng.integers(1, 3)) if len(kept) == 1 else 1 for name in kept}
    if kind == "explicit" or instance.node_field is not None:
        values = {name: budget for name, budget in values.items() if name.startswith("attr")}
    if kind == LENGTHS and (len(values) > 1 or rng.random() < 0.2):
        values = {"adj_del": values.get("adj_del", 1)} if rng.random() < 0.4 else values
    others = [
        name
        for name in FLIPS
        if name not in base.axes
        and name != "adj_add"
        and kind not in ("explicit", "joint")
        and (kind != LENGTHS or name == "adj_del")
    ]
    if others and rng.random() < 0.1:
        values[str(rng.choice(others))] = 1
    joint = None if base.local is None else base.local.joint
    relative = joint is None and rng.random() < 0.3
    values["local_mode"] = "relative" if relative else "absolute"
    for name in FLIPS:
        if joint is not None and name.startswith("attr"):
            # Both together stay within what the base certificate was made for.
            values[f"local_{name}"] = joint // 2 if name == "attr_add" else joint - joint // 2
        elif rng.random() < 0.35:
            per_node = bool(rng.random() < 0.5)
            amounts = rng.choice(SHARES, n).tolist() if relative else rng.integers(0, 4, n).tolist()
            values[f"local_{name}"] = amounts if per_node else amounts[0]
    if kind == LENGTHS and rng.random() < 0.35:
        limits = rng.choice(SHARES, n).tolist() if relative else rng.integers(0, 3, n).tolist()
        values["local_attr_l2"] = limits if rng.random() < 0.5 else limits[0]
    if values.get("inject"):
        values["inject_edges"] = int(rng.integers(1, 4)) if rng.random() < 0.8 else None
    if rng.random() < 0.5 and not _new_and_joined(values):
        values["sigma"] = int(rng.choice([0, 1, 1, 1, 2, 2, n]))
    if rng.random() < 0.2:
        values["protected"] = np.flatnonzero(rng.random(n) < 0.3)
    if rng.random() < 0.25:
        values["targets"] = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
    return ThreatModel(**values)


def _axes(instance: Instance, threat: ThreatModel) -> list[str]:
    """What can be varied here."""
    names = [name for name in TYPES if name in instance.base.axes and getattr(threat, name)]
    names = names or ["adj_del" if instance.graph.real else TYPES[0]]
    # A single number is varied: not shares or lists of them, and never beyond what the base certificate was made for.
    per_node = [] if threat.local_mode == "relative" else [f"local_{name}" for name in names]
    sigma = [] if _new_and_joined(dict(zip(TYPES, threat.budgets))) else ["sigma"]
    return [*names, *sigma, *per_node]


def _new_and_joined(budgets: dict[str, Any]) -> bool:
    """New nodes and edges of old ones, which do not go together with σ."""
    return bool(budgets.get("inject") and (budgets.get("adj_add") or budgets.get("adj_del")))


def _values(rng: np.random.Generator, instance: Instance, threat: ThreatModel, name: str, most: int) -> list[int]:
    if name == "sigma":
        end = instance.graph.n_nodes
    elif name.startswith("local_"):
        own = getattr(threat, name)
        end = int(own) if instance.base.local is not None else 3
    else:
        end = most
    every = list(range(end + 1))
    return [value for value in every[:-1] if rng.random() < 0.7] + every[-1:]
