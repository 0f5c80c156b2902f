"""Small strong programs with every whole-number perturbation spelled out, and random sets and tags for them.

At the end: whole certificates held against enumeration, `stress/strong.py` does it for thousands.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from certcore import GridBase, Instance, ThreatModel, certify
from certcore.domain.perturbations import ADJ_DEL
from certcore.program.build import build_structure
from certcore.program.levels import Levels, LevelSet
from certcore.program.problem import Problem
from certcore.program.program import Program
from certcore.result.allocation import inadmissible
from tests.oracle import plain
from tests.oracle.truth import most_broken
from tests.support import random_graph, random_grid

FAMILIES = ("monotone", "least", "most", "in", "conflict", "cover", "shift", "paid")


def random_case(rng: np.random.Generator) -> tuple[Problem, Levels]:
    """An instance under any kind of threat model: σ, local budgets of every form, protection, targets."""
    n = int(rng.integers(3, 7))
    graph = random_graph(rng, n, int(rng.integers(1, 4)), float(rng.uniform(0.2, 0.7)), bool(rng.random() < 0.3))
    axes = tuple(rng.permutation(["attr_add", "attr_del", "adj_del"])[: int(rng.integers(1, 4))].tolist())
    sides = tuple(int(rng.integers(2, 5 if len(axes) < 3 else 4)) for _ in axes)
    instance = Instance(
        graph,
        GridBase(random_grid(rng, n, sides), axes),
        layers=int(rng.integers(0, 3)),
        edge_field=str(rng.choice(["degrees", "messages"])),
    )
    values: dict[str, Any] = {"local_mode": str(rng.choice(["absolute", "relative"]))}
    for name in axes:
        values[name] = int(rng.integers(1, 5 if len(axes) == 1 else 4 if len(axes) == 2 else 3))
        if rng.random() < 0.5:
            many = rng.random() < 0.5
            if values["local_mode"] == "absolute":
                values[f"local_{name}"] = rng.integers(0, 3, n) if many else int(rng.integers(1, 3))
            else:
                values[f"local_{name}"] = np.array(["0.5", "1", "0.34"])[rng.integers(0, 3, n)] if many else "0.5"
    if rng.random() < 0.4:
        values["sigma"] = int(rng.integers(1, n + 1))
    if rng.random() < 0.2:
        values["protected"] = np.flatnonzero(rng.random(n) < 0.3)
    if rng.random() < 0.3:
        values["targets"] = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
    problem = Problem(instance, ThreatModel(**values))
    program = Program(build_structure(problem, "tight"), problem.threat.budgets, problem.threat.sigma)
    return problem, Levels(problem, program)


def perturbations(problem: Problem, levels: Levels, rng: np.random.Generator, most: int = 20_000) -> np.ndarray:
    """(count, flip columns): all whole numbers within budgets, capacities and local limits (a sample if too many)."""
    structure = levels.structure
    parts = []
    for k in structure.types:
        kind = levels.kinds[k]
        budget = problem.threat.budgets[k]
        found = [(np.zeros(0, dtype=np.int64), 0)]
        for site in range(len(kind.site)):
            top = int(min(kind.cap[site], budget))
            found = [
                (np.append(b, amount), spent + amount)
                for b, spent in found
                for amount in range(top + 1)
                if spent + amount <= budget
            ]
        table = np.array([b for b, _ in found], dtype=np.int64).reshape(len(found), len(kind.site))
        if k == ADJ_DEL and len(table) and len(kind.site):
            at = np.zeros((len(kind.site), problem.instance.graph.n_nodes), dtype=np.int64)
            for end in (0, 1):
                np.add.at(at, (np.arange(len(kind.site)), problem.instance.graph.edges[kind.site][:, end]), 1)
            table = table[(table @ at <= problem.local_limits[ADJ_DEL]).all(axis=1)]
        parts.append(table)
    sizes = [len(part) for part in parts]
    if np.prod(sizes, dtype=float) <= most:
        chosen = np.array(list(itertools.product(*(range(size) for size in sizes))), dtype=np.int64)
    else:
        chosen = np.stack([rng.integers(0, size, most) for size in sizes], axis=1)
    chosen = chosen.reshape(-1, len(parts))
    result = np.zeros((len(chosen), len(structure.flips)), dtype=np.int64)
    for place, k in enumerate(structure.types):
        kind, amount = levels.kinds[k], parts[place][chosen[:, place]]
        for site in range(len(kind.site)):
            mine = kind.columns[kind.of_column == site]
            # With σ an undirected edge has two columns: either end may pay.
            which = mine[rng.integers(0, len(mine), len(result))]
            result[np.arange(len(result)), which] = amount[:, site]
    return result


def add_random_sets(levels: Levels, rng: np.random.Generator, count: int) -> list[LevelSet]:
    made = []
    for _ in range(count):
        kind = levels.kinds[int(rng.choice(levels.structure.types))]
        if not len(kind.site) or not kind.most:
            continue
        share = rng.choice([0.2, 0.5, 0.9])
        sites = kind.site[rng.random(len(kind.site)) < share]
        if not len(sites):
            sites = kind.site[rng.integers(0, len(kind.site), 1)]
        most = kind.capacity(np.searchsorted(kind.site, sites))
        if most < 1:
            continue
        new = LevelSet(kind.kind, sites, int(rng.integers(1, most + 1)))
        levels.add(new)
        made.append(new)
    return made


def random_tag(levels: Levels, sets: list[LevelSet], family: str, rng: np.random.Generator) -> tuple[Any, ...] | None:
    """A tag that fits its conditions, or None where there is none to be had."""
    if not len(levels.structure.groups) or not sets:
        return None
    number = int(rng.integers(len(sets)))
    mine = levels.sets[number]
    kind = levels.kinds[mine.kind]
    g = int(rng.integers(len(levels.structure.groups)))
    q = int(rng.integers(1, kind.most + 1))
    match family:
        case "monotone":
            return None if mine.levels < 2 else (family, number, int(rng.integers(1, mine.levels)))
        case "least" | "most":
            return family, number
        case "in":
            return family, number, g, q, int(rng.integers(1, q + 1))
        case "conflict":
            low = kind.most - q + 1
            return None if low > mine.levels else (family, number, g, q, int(rng.integers(low, mine.levels + 1)))
        case "cover":
            blocks: list[Any] = []
            for _ in range(int(rng.integers(1, 4))):
                site = int(rng.integers(len(kind.site)))
                if kind.limits is not None and kind.ends is not None and rng.random() < 0.6:
                    node = int(kind.ends[site, rng.integers(2)])
                    here = kind.site[(kind.ends == node).any(axis=1) & (rng.random(len(kind.site)) < 0.8)]
                    if len(here):
                        blocks.append([node, here.tolist()])
                elif kind.cap[site] < 2**40:
                    blocks.append([[int(kind.site[site])]])
            return family, kind.kind, g, q, blocks
        case "shift":
            start, stop = levels._points[g]
            places = np.flatnonzero(rng.random(stop - start) < 0.7).tolist() or [0]
            weights = [int(rng.integers(0, 4)) if k in levels.kinds else 0 for k in range(4)]
            listed = [u for u in range(len(sets)) if weights[sets[u].kind] and rng.random() < 0.4]
            return family, g, places, [[u, int(rng.integers(0, 3))] for u in listed], weights
        case "paid":
            near = [] if kind.payer is None else np.unique(kind.payer[kind.near(g)]).tolist()
            part = rng.integers(0, 4, len(near))
            node = levels.structure.attackers.nodes
            spared, counted = ([int(node[i]) for i, p in zip(near, part) if p == which] for which in (0, 1))
            return (family, kind.kind, g, q, spared, counted) if near else None
    raise AssertionError(family)


def level_values(levels: Levels, flips: np.ndarray) -> np.ndarray:
    """What the level columns are at given perturbations."""
    values = np.zeros((len(flips), levels.count - levels.structure.columns.count), dtype=np.int64)
    for mine in levels.sets:
        inside = levels.kinds[mine.kind].columns[mine.inside]
        amount = flips[:, inside].sum(axis=1)
        first = mine.start - levels.structure.columns.count
        for t in range(1, mine.levels + 1):
            values[:, first + t - 1] = amount >= t
    return values


def worst(levels: Levels, flips: np.ndarray, row: np.ndarray, group: int | None) -> np.ndarray:
    """The left-hand side at each perturbation, with the dearest point of the row's group that is within reach."""
    columns = levels.structure.columns
    total = flips @ row[columns.flips] + level_values(levels, flips) @ row[columns.count :]
    attack = np.zeros((len(flips), len(levels.structure.attackers.nodes)), dtype=bool)
    for kind in levels.kinds.values():  # those who pay for something are attackers
        if kind.payer is not None:
            pays = np.zeros((len(kind.columns), attack.shape[1]), dtype=np.int64)
            pays[np.arange(len(kind.columns)), kind.payer] = 1
            attack |= flips[:, kind.columns] @ pays > 0
    total = total + attack @ row[columns.attackers]
    if group is None:
        return total
    inside = np.zeros((len(flips), levels.structure.points.amount.shape[1]), dtype=np.int64)
    for k, kind in levels.kinds.items():
        inside[:, k] = flips[:, kind.columns[kind.near(group)]].sum(axis=1)
    start, stop = levels._points[group]
    best = np.zeros(len(flips), dtype=np.int64)
    for place in range(start, stop):
        reached = (inside >= levels.structure.points.amount[place]).all(axis=1)
        best = np.where(reached, np.maximum(best, row[columns.points.start + place]), best)
    return total + best


def group_of(tag: tuple[Any, ...]) -> int | None:
    place = {"in": 2, "conflict": 2, "cover": 2, "shift": 1, "paid": 2}.get(tag[0])
    return tag[place] if place else None


def hard_case(rng: np.random.Generator, *, plain: bool) -> Problem:
    """Sparse graphs and small fields, where fractions pay: one type and nothing else if `plain`."""
    n = int(rng.integers(6, 10))
    graph = random_graph(rng, n, 8, float(rng.uniform(0.15, 0.35)), bool(rng.random() < 0.2))
    names = ["attr_add", "attr_del", "adj_del"]
    axes = tuple(rng.permutation(names)[: 1 if plain or rng.random() < 0.3 else 2].tolist())
    sides = tuple(5 if len(axes) == 1 else 3 for _ in axes)
    instance = Instance(graph, GridBase(random_grid(rng, n, sides), axes), layers=1, edge_field="messages")
    values: dict[str, Any] = {name: int(rng.integers(2, 5 if len(axes) == 1 else 4)) for name in axes}
    for name in axes:
        if rng.random() < 0.3:
            values[f"local_{name}"] = int(rng.integers(1, 3))
    if not plain:
        if rng.random() < 0.4:
            values["sigma"] = int(rng.integers(1, 4))
        if rng.random() < 0.2:
            values["protected"] = np.flatnonzero(rng.random(n) < 0.2)
    return Problem(instance, ThreatModel(**values))


def instance_of(number: int) -> tuple[str, Instance, ThreatModel, int]:
    """What one number stands for: its kind, the instance, the threat model, and the enumerated truth."""
    rng = np.random.default_rng([18, number])
    kind = ("one type", "mixed", "anything")[number % 3]
    if kind == "anything":
        case = plain.random_case(rng)
        return kind, *case.build(), plain.truth(case)
    problem = hard_case(rng, plain=kind == "one type")
    return kind, problem.instance, problem.threat, most_broken(problem.instance, problem.threat)


def judged(number: int) -> Counter[str]:
    """Hold one instance against its truth, and tell what it counts for."""
    kind, instance, threat, most = instance_of(number)
    seen: list[Fraction] = []
    options: dict[str, Any] = {"relaxation": "strong", "rounds": 40, "proof": False}
    strong = certify(instance, threat, progress=lambda step: seen.append(step.bound), **options)
    tight = certify(instance, threat, attack=False, proof=False)
    paper = certify(instance, threat, relaxation="paper", attack=False, proof=False)
    where = f"number {number}: {threat}"
    assert most <= math.floor(strong.bound), where
    assert strong.bound <= tight.bound + Fraction(1, 10**6), where  # two solves of the same rows, each rounded
    assert strong.certified >= tight.certified >= paper.certified, where
    assert seen == sorted(seen, reverse=True), where
    assert all(math.floor(bound) >= most for bound in seen), where
    assert strong.attack is not None, where
    assert strong.attack_found is not None, where
    assert strong.attack_found <= most, where
    assert inadmissible(Problem(instance, threat), strong.attack) is None, where
    found = Counter({"all": 1})
    found["tight is the truth"] = math.floor(tight.bound) == most
    found["strong is the truth"] = math.floor(strong.bound) == most
    found["optimal, proven"] = strong.closed
    return Counter({f"{kind}, {name}": count for name, count in found.items()})
