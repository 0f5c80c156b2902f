"""Sites, fields and margins of an attack, against sets and enumeration that share no code with the engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from certcore import GridBase, InputError, ThreatModel, certify
from certcore.domain.graph import Graph
from certcore.domain.perturbations import ADJ_ADD, ADJ_DEL, ATTR_ADD, ATTR_DEL, TYPES
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.attack_effects import NEVER, Reach, nearest_points, reach
from certcore.result.attack_text import attack_text, read_attack
from tests.pages.toys import ballots_instance
from tests.support import edge_field, grid_certified, hops, random_instance, random_threat


def _brute_field(instance: Instance, target: int, ends: tuple[int, int]) -> bool:
    i, j = ends
    if i == j:
        return i in hops(instance.graph, target, instance.layers or 0)
    return instance.graph.edges.tolist().index([i, j]) in edge_field(instance, target)


def _brute_room(instance: Instance, node: int, threat: ThreatModel) -> tuple[int, ...]:
    """How many attributes a field lacks and has, and how many edges are in it."""
    graph = instance.graph
    if threat.adj_add:
        nodes, edges = set(range(graph.n_nodes)), graph.n_edges
    else:
        nodes, edges = hops(graph, node, instance.layers or 0), len(edge_field(instance, node))
    present = sum(int(graph.ones[i]) for i in nodes)
    return len(nodes) * graph.n_attrs - present, present, 10**6, edges


def _brute_margin(instance: Instance, node: int, received: tuple[int, ...], threat: ThreatModel, most: int = 6) -> int:
    """The fewest further flips of the types in play that leave the node uncertified, by trying all its field holds."""
    kinds, room = [k for k in range(4) if threat.budgets[k]], _brute_room(instance, node, threat)
    for number in range(most + 1):
        for choice in itertools.combinations_with_replacement(kinds, number):
            budget = tuple(received[k] + choice.count(k) for k in range(4))
            if all(budget[k] <= room[k] for k in kinds) and not grid_certified(instance, node, budget):
                return number
    return NEVER


def _brute_uses(instance: Instance, node: int, received: tuple[int, ...]) -> set[int]:
    """Types in which a least budget among the uncertified ones within what was received is positive."""

    def broken(budget: tuple[int, ...]) -> bool:
        return not grid_certified(instance, node, budget)

    found: set[int] = set()
    for budget in itertools.product(*(range(number + 1) for number in received)):
        fewer = [tuple(v - (k == t) for t, v in enumerate(budget)) for k in range(4) if budget[k]]
        if broken(budget) and not any(broken(one) for one in fewer):
            found |= {k for k in range(4) if budget[k]}
    return found


@pytest.mark.parametrize("seed", range(60))
def test_sites_fields_and_margins_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng)
    threat = random_threat(rng, instance, additions=seed % 7 == 0)
    result = certify(instance, threat)
    found, attack = reach(instance, result), result.attack
    assert found is not None
    assert attack is not None
    node = found.ends[:, 0] == found.ends[:, 1]
    for row, k in enumerate((ATTR_ADD, ATTR_DEL)):
        spent = np.zeros(instance.graph.n_nodes, dtype=int)
        spent[found.ends[node, 0]] = found.amounts[node, k]
        assert np.array_equal(spent, attack.attributes[row])
    gone = [tuple(e) for e in found.ends[found.amounts[:, ADJ_DEL] > 0].tolist()]
    assert sorted(gone) == sorted(tuple(e) for e in instance.graph.edges[attack.deleted > 0].tolist())
    new = [tuple(e) for e in found.ends[found.amounts[:, ADJ_ADD] > 0].tolist()]
    assert sorted(new) == sorted(tuple(e) for e in attack.added.tolist())
    assert (np.diff(found.flips) <= 0).all(), "most flips first"
    by: dict[int, set[int]] = {}
    for t, target in enumerate(found.targets.tolist()):
        received = tuple(int(v) for v in found.received[t])
        zero = not grid_certified(instance, target, (0, 0, 0, 0))
        broken = not grid_certified(instance, target, received)
        assert bool(found.lost[t]) == (broken and not zero)
        margin = _brute_margin(instance, target, received, threat)
        assert (found.margin[t] == margin) if threat.budgets != (0, 0, 0, 0) else (found.margin[t] in (NEVER, 0))
        if found.lost[t]:
            by[t] = _brute_uses(instance, target, received)
            assert not grid_certified(instance, target, tuple(found.needed[t].tolist()))
            assert (found.needed[t] <= found.received[t]).all()
            assert (found.needed[t] <= np.array(threat.budgets)).all()
        if threat.adj_add:
            assert found.inside is None
            continue
        mine = {s for s in range(len(found.ends)) if _brute_field(instance, target, tuple(found.ends[s].tolist()))}
        assert {s for s in range(len(found.ends)) if t in found.reached_by(s)} == mine
        assert np.array_equal(found.amounts[sorted(mine)].sum(axis=0), found.received[t]), "shares add up"
    for s in range(len(found.ends)):
        kinds = {k for k in range(4) if found.amounts[s, k]}
        expected = {t for t, uses in by.items() if t in found.reached_by(s) and kinds & uses}
        assert set(found.broken_by(s).tolist()) == expected
        assert found.breaks()[s] == len(expected)


def test_a_site_of_a_type_that_was_not_needed_breaks_nobody() -> None:
    """Two deletions are enough for every node, additions never are; one is added all the same."""
    certified = np.ones((3, 4, 4), dtype=bool)
    certified[:, :, 2:] = False
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.tri(3, 4, 1, dtype=np.int8))
    instance = Instance(graph, GridBase(certified, ("attr_add", "attr_del")), layers=2)
    threat = ThreatModel(attr_add=1, attr_del=2)
    text = "attr_add@0x1,attr_del@2x2"
    found = reach(instance, replace(certify(instance, threat), attack=read_attack(instance, threat, text)))
    assert found is not None
    assert found.lost.all()
    assert dict(zip(found.ends[:, 0].tolist(), found.breaks().tolist())) == {2: 3, 0: 0}


def _relaxed() -> tuple[Reach, np.ndarray, np.ndarray]:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, max_nodes=8, axes=("attr_add", "attr_del"))
        result = certify(instance, ThreatModel(attr_add=2, attr_del=3))
        if result.fractional is not None:
            values = result.fractional.attributes
            if (np.abs(values - np.round(values)) > 0.01).any():
                found = reach(instance, result, relaxed=True)
                assert found is not None
                return found, values, result.fractional.attacked
    raise AssertionError("no instance with fractional flips")


def test_fractions_of_the_relaxed_adversary_are_not_rounded() -> None:
    found, values, attacked = _relaxed()
    spent = np.zeros_like(values)
    spent[:2, found.ends[:, 0]] = found.amounts[:, [ATTR_ADD, ATTR_DEL]].T
    assert np.array_equal(spent, np.where(values.sum(axis=0) > 1e-6, values, 0))
    assert np.array_equal(found.broken, attacked)


def test_nothing_was_looked_for_nothing_is_shown() -> None:
    instance = random_instance(np.random.default_rng(3))
    assert reach(instance, certify(instance, ThreatModel(attr_del=1), attack=False)) is None


def test_margins_ignore_types_without_budget() -> None:
    instance = random_instance(np.random.default_rng(5), axes=("attr_add", "attr_del"))
    problem = Problem(instance, ThreatModel(attr_del=5))
    only = nearest_points(problem, np.zeros((len(problem.targets), len(TYPES)), dtype=np.int64))[0]
    assert not only[:, [0, 2, 3]].any()


def test_an_attack_with_new_nodes_is_written_and_read_again() -> None:
    instance = ballots_instance()
    found = certify(instance, inject=3, inject_edges=2, attr_add=1)
    assert found.attack is not None
    text = attack_text(instance, found.threat, found.attack)
    again = read_attack(instance, found.threat, text)
    assert np.array_equal(again.attacked, found.attack.attacked)
    assert np.array_equal(again.injected, found.attack.injected)
    assert "inject_edges=2" in repr(found)
    drawn = found.graph()
    assert sum(node >= instance.graph.n_nodes for node in drawn.nodes) == len(np.unique(found.attack.injected[:, 0]))
    for wrong in ("inject@40-2,inject@41-2,inject@42-2,inject@43-2", "inject@1-2", "inject@40-99", "shows@3-7"):
        with pytest.raises(InputError):
            read_attack(instance, found.threat, wrong)
