"""Plain descriptions of tiny certification tasks, with all that a threat model can say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from certcore import Graph, GridBase, Instance, ThreatModel
from certcore.domain.perturbations import FLIPS
from tests.oracle.truth import most_broken

SHARES = ("0", "0.1", "0.25", "0.34", "0.5", "0.67", "0.999", "1", "1.5")


@dataclass
class Case:
    """A tiny certification task in plain Python."""

    n: int
    directed: bool
    edges: list[tuple[int, int]]
    attributes: np.ndarray
    layers: int
    rule: str
    explicit: np.ndarray | None
    axes: tuple[str, ...]
    grid: np.ndarray
    targets: list[int]
    budget: dict[str, int]
    mode: str
    local: dict[str, Any]
    sigma: int | None
    protected: list[int]
    global_fields: bool

    def build(self) -> tuple[Instance, ThreatModel]:
        """The same task as the engine wants it."""
        pairs = np.array(self.edges, dtype=int).reshape(-1, 2)
        graph = Graph.from_edges(self.n, pairs, self.attributes, directed=self.directed)
        instance = Instance(
            graph,
            GridBase(self.grid, self.axes, global_fields=self.global_fields),
            self.layers,
            self.rule,
            node_field=None if self.explicit is None else sp.csr_array(self.explicit),
        )
        threat = ThreatModel(
            **self.budget,
            **{f"local_{name}": value for name, value in self.local.items()},
            local_mode=self.mode,
            sigma=self.sigma,
            targets=np.array(self.targets),
            protected=self.protected,
        )
        return instance, threat

    @property
    def whole_graph(self) -> bool:
        return self.global_fields or self.budget["adj_add"] > 0


def random_case(rng: np.random.Generator) -> Case:
    """Everything a threat model can say, on at most five nodes and seven edges."""
    n, width = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    directed, additions = bool(rng.random() < 0.35), bool(rng.random() < 0.12)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and (directed or i < j)]
    density = rng.uniform(0.15, 0.9)
    edges = [pairs[i] for i in sorted(rng.permutation(len(pairs))[:7].tolist()) if rng.random() < density]
    pool = ["attr_add", "attr_del", "adj_del"] + (["adj_add"] if additions else [])
    axes = tuple(rng.permutation(pool)[: int(rng.integers(1, len(pool) + 1))].tolist())
    sides = tuple(int(rng.integers(1, 5)) for _ in axes)
    kinds = np.zeros((int(rng.integers(1, 4)), *sides), dtype=bool)  # unions of boxes: any monotone set can appear
    for kind in kinds:
        for _ in range(int(rng.integers(0, 4))):
            kind[tuple(slice(0, int(rng.integers(1, side + 1))) for side in sides)] = True
    explicit = (rng.random((n, n)) < 0.5).astype(int) if rng.random() < 0.15 and not additions else None
    budget = dict.fromkeys(FLIPS, 0)
    for name in pool:
        if name in axes or rng.random() < 0.15:
            budget[name] = int(rng.integers(0, 4))
    if additions:
        budget["adj_add"] = int(rng.integers(1, 4))
    if explicit is not None:
        budget["adj_del"] = 0
    mode = "relative" if rng.random() < 0.3 else "absolute"
    local: dict[str, Any] = {}
    for name in FLIPS:
        if rng.random() < 0.35:
            values = rng.integers(0, 4, n).tolist() if mode == "absolute" else rng.choice(SHARES, n).tolist()
            local[name] = values if rng.random() < 0.5 else values[0]
    return Case(
        n=n,
        directed=directed,
        edges=edges,
        attributes=(rng.random((n, width)) < 0.6).astype(int),
        layers=int(rng.integers(0, 4)),
        rule=str(rng.choice(["degrees", "messages"])),
        explicit=explicit,
        axes=axes,
        grid=kinds[rng.integers(0, len(kinds), n)],
        targets=np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))]).tolist(),
        budget=budget,
        mode=mode,
        local=local,
        sigma=int(rng.integers(0, n + 2)) if rng.random() < 0.5 else None,
        protected=np.flatnonzero(rng.random(n) < 0.3).tolist() if rng.random() < 0.25 else [],
        global_fields=bool(rng.random() < 0.05) and explicit is None,
    )


def truth(case: Case) -> int:
    """The most targets that an admissible attack leaves uncertified."""
    return most_broken(*case.build())
