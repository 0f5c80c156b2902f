"""Random small instances with their proofs, and forgeries of them, for the small checker."""

from __future__ import annotations

import copy
from typing import Any

import certcore_check as small
import numpy as np
import scipy.sparse as sp

from certcore import Graph, Instance, ThreatModel
from certcore.base.ballots import UNIT, BallotsBase
from certcore.base.smoothing import SmoothingBase
from certcore.instance.instance import instance_to_arrays
from certcore.verify.proof import digest_of
from tests.support import random_graph

#: Flip probabilities of every sort: plain, zero, one, without effect, inverted.
PAIRS = (("0", "0"), ("0.1", "0.4"), ("0.02", "0.6"), ("0", "0.5"), ("0.3", "0"), ("0.4", "0.6"), ("0.7", "0.8"))
PAIRS += (("1", "0.3"), ("1/3", "0.25"), ("0.05", "0.05"))


def as_seen(instance: Instance, base_rule: str = "binary") -> small.Instance:
    """The instance as the checker reads it from a file."""
    return small.Instance(small.Arrays(instance_to_arrays(instance)), base_rule)


def accepts(proof: dict[str, Any], instance: small.Instance) -> bool:
    """What `certcore-check` does with a proof that it could read."""
    try:
        small.check(proof, instance)
    except Exception:  # as the command itself: whatever goes wrong is a rejection
        return False
    return True


def signed(proof: dict[str, Any]) -> dict[str, Any]:
    return proof | {"digest": digest_of(proof)}


def votes_case(rng: np.random.Generator) -> tuple[Instance, ThreatModel]:
    """Votes on a tiny graph, by either rule, with every sort of flip probabilities."""
    n, classes = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    directed = bool(rng.random() < 0.3)
    graph: Graph = random_graph(rng, n, int(rng.integers(0, 5)), float(rng.uniform(0.2, 0.8)), directed)
    trials = int(rng.choice([1, 20, 300, 5000]))
    label = rng.integers(0, classes, n)
    share = np.full((n, classes), 0.3 / max(classes - 1, 1))
    share[np.arange(n), label] = rng.choice([0.6, 0.8, 0.95, 1.0], n)
    votes = np.stack([rng.multinomial(trials, row / row.sum()) for row in share])
    theta = PAIRS[rng.integers(len(PAIRS))] + PAIRS[rng.integers(len(PAIRS))]
    if rng.random() < 0.7:  # no edge is added: fields stay local
        theta = (*theta[:2], "0", theta[3])
    rule = str(rng.choice(["binary", "multiclass"]))
    base = SmoothingBase(votes, label, trials, str(rng.choice(["0.01", "0.3", "0.9"])), theta, rule, graph)
    explicit = sp.csr_array((rng.random((n, n)) < 0.5).astype(int)) if rng.random() < 0.2 else None
    if not base.fixed_adjacency or base.global_fields:
        explicit = None
    rule_of_edges = str(rng.choice(["degrees", "messages"]))
    instance = Instance(graph, base, int(rng.integers(0, 3)), rule_of_edges, node_field=explicit)
    values: dict[str, Any] = {"attr_add": int(rng.integers(0, 4)), "attr_del": int(rng.integers(0, 5))}
    if explicit is None:
        values |= {"adj_del": int(rng.integers(0, 4)), "adj_add": int(rng.random() < 0.1)}
    if rng.random() < 0.3:
        values["sigma"] = int(rng.integers(0, n + 1))
    if rng.random() < 0.3:
        values["local_attr_del"] = int(rng.integers(0, 3))
    return instance, ThreatModel(**values)


def ballots_case(rng: np.random.Generator) -> tuple[Instance, ThreatModel]:
    """Ballots on a small graph, under every sort of threat model."""
    n, classes = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    graph = random_graph(rng, n, 2, float(rng.uniform(0.1, 0.7)), bool(rng.random() < 0.3))
    ballots = np.where(rng.random((n, classes)) < 0.5, rng.integers(0, 5, (n, classes)) * (UNIT // 4), 0)
    ballots = np.where(rng.random((n, classes)) < 0.3, rng.integers(0, UNIT + 1, (n, classes)), ballots)
    base = BallotsBase(ballots, int(rng.integers(1, 4)), bool(rng.random() < 0.5))
    instance = Instance(graph, base, 1, "messages")
    names = rng.permutation(["adj_add", "adj_del", "attr_add", "attr_del", "inject"])[: int(rng.integers(1, 6))]
    values: dict[str, Any] = {str(name): int(rng.integers(1, 5)) for name in names}
    if "inject" in values and rng.random() < 0.8:
        values["inject_edges"] = int(rng.integers(0, 4))
    if rng.random() < 0.4 and not ("inject" in values and {"adj_add", "adj_del"} & set(values)):
        values["sigma"] = int(rng.integers(0, 4))
    for name in ("local_adj_add", "local_adj_del", "local_attr_add", "local_attr_del"):
        if rng.random() < 0.25:
            values[name] = int(rng.integers(0, 3))
    if rng.random() < 0.3:
        values["protected"] = rng.choice(n, size=int(rng.integers(1, 3)), replace=False)
    if rng.random() < 0.3:
        values["targets"] = rng.permutation(n)[: int(rng.integers(1, n + 1))]
    return instance, ThreatModel(**values)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the numbers and texts of a proof are, and its lists."""
    found = [path] if not isinstance(value, dict) else []
    if isinstance(value, dict):
        found += [p for k, v in value.items() for p in leaves(v, (*path, k))]
    if isinstance(value, list):
        found += [p for i, v in enumerate(value) for p in leaves(v, (*path, i))]
    return found


def forged(rng: np.random.Generator, proof: dict[str, Any], within: str = "") -> dict[str, Any]:
    """The proof with one or two things changed (in one entry of it) and a digest that fits again."""
    result = copy.deepcopy(proof)
    for _ in range(int(rng.integers(1, 3))):
        paths = [p for p in leaves(result) if p and p[0] not in ("digest", "format") and within in ("", p[0])]
        # Every part is as likely as the long lists of dual values.
        part = sorted({p[:2] for p in paths})[int(rng.integers(len({p[:2] for p in paths})))] if paths else ()
        paths = [p for p in paths if p[: len(part)] == part]
        path = paths[int(rng.integers(len(paths)))]
        spot: Any = result
        for step in path[:-1]:
            spot = spot[step]
        spot[path[-1]] = _changed(rng, spot[path[-1]])
    return signed(result)


def _changed(rng: np.random.Generator, value: Any) -> Any:
    how = int(rng.integers(8))
    if isinstance(value, list) and value:
        items = list(value)
        match how % 4:
            case 0:
                items.pop(int(rng.integers(len(items))))
            case 1:
                items.insert(int(rng.integers(len(items) + 1)), copy.deepcopy(items[int(rng.integers(len(items)))]))
            case 2:
                items.reverse()
            case 3:
                items = []
        return items
    if isinstance(value, int) and not isinstance(value, bool):
        return [value + 1, value - 1, value + 1, max(value - 1, 0), value * 2, 0, 2**62, float(value)][how]
    if isinstance(value, str):
        return [value + "x", "binary", "multiclass", "1/2", "2/4", "tight", "paper", "strong"][how]
    return [0, 1, 2, [], [0], "1/2", None, {}][how]
