"""Linear classifiers under Gaussian noise: what they say when smoothed, and when that changes, is known exactly.

Node n answers A where w_n · x + b_n > 0, x the rows it reads. Smoothed with deviation s its label has probability
Φ(m_n / (s‖w_n‖)) with the margin m_n, and it changes iff w_n · Δ ≤ −m_n. So every set of targets falls together iff an
intersection of half-spaces, balls of rows and one ball holds a Δ, which projections look for. With edge noise, node n
answers A also wherever one of certain edges of its field is present: that is the worst classifier there is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtr

from certcore import Graph, Instance, certify
from certcore.base.gaussian import GaussianBase
from certcore.instance.fields import fields_of


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownBase(GaussianBase):
    """Gaussian smoothing whose probabilities are known, so that nothing is lost to confidence."""

    known: np.ndarray

    @cached_property
    def probability(self) -> np.ndarray:
        return np.nextafter(self.known - 1e-15, 0)

    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | {"known": self.known}


@dataclass(frozen=True, eq=False)
class Case:
    """Linear classifiers on one small graph, and an attacker."""

    instance: Instance
    weights: np.ndarray
    """(targets, nodes · attributes): 0 outside the field."""
    margins: np.ndarray
    guards: list[tuple[int, ...]]
    """For each node the edges that all have to be deleted before its attributes matter."""
    std: float
    attr_l2: float
    local: float | None
    sigma: int | None
    deletions: int

    @property
    def budgets(self) -> dict[str, Any]:
        given: dict[str, Any] = {"attr_l2": repr(self.attr_l2), "sigma": self.sigma, "adj_del": self.deletions}
        return given | ({"local_attr_l2": repr(self.local)} if self.local is not None else {})


def make(rng: np.random.Generator, *, hops: int = 0, joint: bool = False) -> Case:
    """One random case; `hops` fewer are declared than are read."""
    n, d, layers = int(rng.integers(4, 8)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    pairs = np.array([pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.35] or [(0, 1)])
    attributes = np.round(rng.normal(0, 2, (n, d)) * 512) / 512
    graph = Graph.from_edges(n, pairs, np.where(attributes == 0, 1.0, attributes), keep_values=True)
    std = float(rng.choice([0.5, 1.0, 0.06]))
    weights, z = np.zeros((n, n * d)), rng.uniform(0.1, 2.5, n)
    bits = Instance(Graph.from_edges(n, pairs), KnownBaseless(n), layers=layers)
    read = fields_of(bits, np.arange(n), need_edges=True)
    shared = rng.normal(size=n * d)  # similar directions: one Δ breaks several
    for node in range(n):
        rows = read.nodes[[node]].indices
        columns = (rows[:, None] * d + np.arange(d)).ravel()
        weights[node, columns] = shared[columns] + rng.normal(0, 0.3, len(columns))
    margins = z * std * np.linalg.norm(weights, axis=1)
    guards: list[tuple[int, ...]] = [()] * n
    if joint:
        edges = [read.edges[[node]].indices for node in range(n)]
        guards = [tuple(rng.permutation(e)[: int(rng.integers(0, min(len(e), 2) + 1))].tolist()) for e in edges]
    theta = "0.4" if joint else "0"
    known = np.array([1 - 0.4 ** len(guard) * (1 - ndtr(x)) for guard, x in zip(guards, z)])
    base = KnownBase(
        np.tile([1, 0], (n, 1)), np.zeros(n, int), 1, "0.01", ("0", "0", "0", theta), std=str(std), lattice="2^-9",
        units=2**12, known=known,
    )  # fmt: skip
    attr_l2 = float(np.round(rng.uniform(0.1, 4.0) * std, 3))
    return Case(
        Instance(graph, base, layers=max(layers - hops, 0), edge_field="degrees"),
        weights,
        margins,
        guards,
        std,
        attr_l2,
        float(np.round(attr_l2 * rng.uniform(0.3, 1.0), 3)) if rng.random() < 0.5 else None,
        int(rng.integers(1, 4)) if rng.random() < 0.5 else None,
        int(rng.integers(0, 3)) if joint else 0,
    )


class KnownBaseless:
    """Nothing but a number of nodes, to ask for fields."""

    axes: tuple[str, ...] = ()
    local = prediction = None
    global_fields, fixed_adjacency = False, True

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes


def broken(case: Case) -> int:
    """The most labels that some admissible Δ and some deletions change together; never more than can be."""
    n = case.instance.graph.n_nodes
    edges = case.instance.graph.edges
    for size in range(n, 0, -1):
        for chosen in map(list, itertools.combinations(range(n), size)):
            gone = sorted({edge for node in chosen for edge in case.guards[node]})
            if len(gone) > case.deletions:
                continue
            attackers: list[tuple[int, ...]] = [tuple(range(n))]
            if case.sigma is not None:
                attackers = [
                    some
                    for some in itertools.combinations(range(n), min(case.sigma, n))
                    if all(set(edges[e].tolist()) & set(some) for e in gone)
                ]
            if any(_falls(case, chosen, some) for some in attackers):
                return size
    return 0


def _falls(case: Case, chosen: list[int], attackers: tuple[int, ...]) -> bool:
    d = case.weights.shape[1] // case.instance.graph.n_nodes
    columns = (np.array(attackers)[:, None] * d + np.arange(d)).ravel()
    rows, asked = -case.weights[chosen][:, columns], case.margins[chosen]
    scale = np.linalg.norm(rows, axis=1)
    if (scale == 0).any():
        return False
    rows, asked = rows / scale[:, None], asked / scale
    # The point of least norm with rows · Δ ≥ asked, by non-negative least squares (Lawson and Hanson).
    matrix = np.vstack([rows.T, asked])
    target = np.append(np.zeros(len(columns)), 1.0)
    residual = matrix @ nnls(matrix, target)[0] - target
    if abs(residual[-1]) < 1e-9:
        return False
    delta = -residual[:-1] / residual[-1]
    if np.linalg.norm(delta) > case.attr_l2 or (rows @ delta < asked - 1e-9).any():
        return False
    return case.local is None or _projected(rows, asked, delta, case, d)


def _projected(rows: np.ndarray, asked: np.ndarray, delta: np.ndarray, case: Case, d: int) -> bool:
    """Whether Dykstra's projections find a Δ that keeps the local limits, too."""
    assert case.local is not None
    parts = len(rows) + 2
    lost = np.zeros((parts, len(delta)))
    for _ in range(400):
        for i in range(parts):
            y = delta + lost[i]
            if i < len(rows):
                moved = y + max(0.0, asked[i] - rows[i] @ y) * rows[i]
            elif i == len(rows):
                moved = y * min(1.0, case.attr_l2 / max(np.linalg.norm(y), 1e-300))
            else:
                each = y.reshape(-1, d)
                norms = np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-300)
                moved = (each * np.minimum(1.0, case.local / norms)).ravel()
            lost[i], delta = y - moved, moved
        inside = np.linalg.norm(delta) <= case.attr_l2 * (1 + 1e-9)
        if inside and (rows @ delta >= asked - 1e-9).all():
            return True
    return False


def bound_of(case: Case, **changes: Any) -> int:
    """What the engine says at most."""
    found = certify(case.instance, **(case.budgets | changes), attack=False, proof=False)
    return int(found.bound)
