"""The collective certificate against enumeration, and its order relations, on small random graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import Graph, GridBase, Instance, Status, ThreatModel, certify, verify_proof
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.relaxation import Relaxation
from certcore.result.allocation import inadmissible
from certcore.result.attack import find_attack
from tests.oracle.truth import most_broken
from tests.support import random_graph, random_grid, random_instance, random_threat

seeds = st.integers(0, 2**32 - 1)


def case(seed: int, **options: object) -> tuple[Instance, ThreatModel]:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=5)
    return instance, random_threat(rng, instance, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("centre", [0, 5])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("attributes", [0, 1])
def test_an_attacker_outside_the_fields_is_not_forgotten(centre: int, directed: bool, attributes: int) -> None:
    """The one attacker stands in the middle of a star and cuts every edge; no leaf's node field contains it."""
    leaves = [node for node in range(6) if node != centre]
    edges = np.array([(leaf, centre) for leaf in leaves])
    for pairs in (edges, edges[:, ::-1]) if directed else (edges,):
        graph = Graph.from_edges(6, pairs, np.ones((6, 1), dtype=np.int8), directed=directed)
        base = GridBase(np.ones((6, 2, 1), dtype=bool), ("attr_del", "adj_del"))  # one deletion near it breaks a node
        instance = Instance(graph, base, layers=0, targets=np.array(leaves))
        threat = ThreatModel(adj_del=5, attr_del=attributes, sigma=1)
        assert most_broken(instance, threat) == 5
        for relaxation in ("tight", "paper", "exact"):
            assert certify(instance, threat, relaxation=relaxation).certified == 0


@pytest.mark.slow
@given(seeds)
@settings(max_examples=250)
def test_exact_is_enumeration_and_everything_is_in_order(seed: int) -> None:
    instance, threat = case(seed)
    truth = most_broken(instance, threat)
    claim = certify(instance, threat, relaxation="exact")
    tight = certify(instance, threat)
    paper = certify(instance, threat, relaxation="paper")
    assert claim.integer_claim in (None, claim.targets - truth)
    assert claim.certified == tight.certified
    assert tight.attack_found is not None
    assert tight.attack_found <= truth <= tight.bound + 1e-9
    assert tight.bound <= paper.bound + 1e-5
    assert paper.certified <= tight.certified <= tight.targets - truth
    assert paper.naive_certified <= paper.certified
    for certificate in (tight, paper):
        assert certificate.status is Status.OPTIMAL
        assert certificate.attack is not None
        assert inadmissible(Problem(instance, threat), certificate.attack) is None
        assert certificate.attack_found <= truth
        assert verify_proof(certificate.proof, instance).accepted


@given(seeds)
@settings(max_examples=60)
def test_edge_additions_by_totals_never_overstate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = tuple(rng.permutation(["attr_add", "attr_del", "adj_del", "adj_add"])[:2].tolist())
    instance = random_instance(rng, max_nodes=4, axes=axes)
    threat = random_threat(rng, instance, additions=True)
    truth = most_broken(instance, threat)
    certificate = certify(instance, threat)
    assert certificate.targets - certificate.certified >= truth
    assert certificate.attack_found <= truth
    assert certificate.naive_certified <= certificate.certified
    assert verify_proof(certificate.proof, instance).accepted


def test_edge_additions_reach_what_enumeration_reaches() -> None:
    rng = np.random.default_rng(3)
    equal = 0
    for _ in range(40):
        instance = random_instance(rng, max_nodes=4, axes=("adj_add", "attr_del"))
        threat = ThreatModel(adj_add=int(rng.integers(1, 3)), attr_del=int(rng.integers(0, 3)))
        certificate = certify(instance, threat)
        equal += certificate.attack_found == most_broken(instance, threat)
    assert equal >= 38  # without σ and local budgets totals are the truth but for full graphs


@given(seeds, st.sampled_from(["attr_add", "attr_del", "adj_del"]), st.sampled_from(["tight", "paper"]))
@settings(max_examples=80)
def test_monotone_in_every_budget(seed: int, name: str, relaxation: str) -> None:
    instance, threat = case(seed)
    more = threat.replace(**{name: getattr(threat, name) + 1})
    smaller = certify(instance, threat, relaxation=relaxation, attack=False)
    larger = certify(instance, more, relaxation=relaxation, attack=False)
    assert larger.certified <= smaller.certified
    assert larger.bound >= smaller.bound - 1e-5


@given(seeds)
@settings(max_examples=80)
def test_sigma_orders_certificates(seed: int) -> None:
    instance, threat = case(seed)
    n = instance.graph.n_nodes
    counts = [certify(instance, threat.replace(sigma=s), attack=False).certified for s in (0, 1, 2, n)]
    assert counts == sorted(counts, reverse=True)
    everybody = certify(instance, threat.replace(sigma=None), attack=False)
    assert counts[-1] >= everybody.certified
    untouched = certify(instance, ThreatModel(targets=threat.targets), attack=False)
    assert counts[0] == untouched.certified == untouched.naive_certified


@given(seeds)
@settings(max_examples=60)
def test_larger_fields_certify_no_more(seed: int) -> None:
    instance, threat = case(seed)
    wider = Instance(
        instance.graph,
        instance.base,
        (instance.layers or 0) + 1,
        "degrees",
        targets=instance.targets,
        split=instance.split,
    )
    assert certify(wider, threat, attack=False).certified <= certify(instance, threat, attack=False).certified


@given(seeds)
@settings(max_examples=60)
def test_invariant_under_relabelling(seed: int) -> None:
    instance, threat = case(seed)
    rng = np.random.default_rng(seed + 1)
    graph, n = instance.graph, instance.graph.n_nodes
    order = rng.permutation(n)  # new node i is old node order[i]
    place = np.argsort(order)
    moved_edges = place[graph.edges]
    moved = Graph.from_edges(n, moved_edges, graph.attributes[order], directed=graph.directed)
    base = GridBase(instance.base.grid[order], instance.base.axes)  # type: ignore[attr-defined]
    other = Instance(moved, base, instance.layers, instance.edge_field, targets=np.sort(place[instance.targets]))
    changes: dict[str, object] = {"protected": place[np.asarray(threat.protected, dtype=int)]}
    for name in ("local_attr_add", "local_attr_del", "local_adj_del"):
        value = getattr(threat, name)
        if isinstance(value, np.ndarray):
            changes[name] = value[order]
    for relaxation in ("tight", "paper"):
        a = certify(instance, threat, relaxation=relaxation, attack=False)
        b = certify(other, threat.replace(**changes), relaxation=relaxation, attack=False)
        assert a.certified == b.certified
        assert float(a.bound) == pytest.approx(float(b.bound), abs=1e-4)


@given(seeds)
@settings(max_examples=40)
def test_targets_as_a_subset(seed: int) -> None:
    instance, threat = case(seed)
    everybody = np.arange(instance.graph.n_nodes)
    whole = certify(instance, threat.replace(targets=everybody), attack=False)
    subset = everybody[::2]
    part = certify(instance, threat.replace(targets=subset), attack=False)
    assert part.targets == len(subset)
    assert part.bound <= whole.bound + 1e-5
    assert part.targets - part.certified <= whole.targets - whole.certified


def test_no_targets_and_no_budget() -> None:
    instance = random_instance(np.random.default_rng(0))
    nothing = certify(instance, ThreatModel(attr_del=2, targets=np.array([], dtype=int)))
    assert (nothing.targets, nothing.certified, nothing.ratio) == (0, 0, 0.0)
    calm = certify(instance, ThreatModel())
    assert calm.certified == calm.naive_certified


def test_tight_is_strictly_tighter_somewhere() -> None:
    """A node with several front points is not attacked by a part of each."""
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 8, 6, 0.4)
    base = GridBase(random_grid(rng, 8, (4, 4)), ("attr_add", "attr_del"))
    instance = Instance(graph, base, 1)
    gaps = [
        certify(instance, ThreatModel(attr_add=a, attr_del=d), relaxation="paper", attack=False).bound
        - certify(instance, ThreatModel(attr_add=a, attr_del=d), attack=False).bound
        for a in range(1, 4)
        for d in range(1, 4)
    ]
    assert max(gaps) > 0.05


def test_totals_where_fields_are_the_whole_graph() -> None:
    """σ sums are not halved for edges."""
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]), np.ones((4, 2), dtype=np.int8))
    grid = np.arange(5)[None] <= np.arange(4)[:, None]  # node n stands up to n flips
    deletions = Instance(graph, GridBase(grid, ("attr_del",), global_fields=True), 1)
    edges = Instance(graph, GridBase(grid, ("adj_del",), global_fields=True), 1)

    def certified(instance: Instance, **threat: object) -> int:
        certificate = certify(instance, ThreatModel(**threat))  # type: ignore[arg-type]
        assert certificate.attack_found == certificate.targets - certificate.certified  # and it is no more than true
        return certificate.certified

    assert certified(deletions, attr_del=4) == 0
    assert certified(edges, adj_del=3) == 1
    assert certified(edges, adj_del=3, protected=[0]) == 2
    assert certified(edges, adj_del=3, sigma=1) == 2
    assert certified(edges, adj_del=3, local_adj_del=1) == 2


def test_relative_local_budgets_are_exact_decimals() -> None:
    graph = Graph.from_edges(1, np.zeros((0, 2)), np.ones((1, 100), dtype=np.int8))
    assert ThreatModel(local_attr_del="0.29", local_mode="relative").local_limits(graph)[1, 0] == 29
    assert ThreatModel(local_attr_del=0.29, local_mode="relative").local_limits(graph)[1, 0] == 29
    assert ThreatModel(local_attr_add="0.5", local_mode="relative").local_limits(graph)[0, 0] == 50


@pytest.mark.parametrize("edges", [0, 2])
def test_the_papers_program_is_counted_as_its_formula_says(edges: int) -> None:
    """13·Σ|P| + 8N + 2e + 5 rows and 5·Σ|P| + 4N + e columns, over the points of all nodes within the budgets."""
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 12, 5, 0.3)
    instance = Instance(graph, GridBase(random_grid(rng, 12, (4, 4)), ("attr_del", "adj_del")), 2)
    threat = ThreatModel(attr_del=2, adj_del=edges)
    fronts = instance.base.fronts()
    points = [
        point
        for front in fronts.front_of_node
        for point in fronts.points[fronts.indptr[front] : fronts.indptr[front + 1]]
        if all(point <= threat.budgets)
    ]
    size = certify(instance, threat, attack=False).size
    assert size is not None
    in_play = graph.n_edges if edges else 0
    assert points
    assert size.paper_rows == 13 * len(points) + 8 * 12 + 2 * in_play + 5
    assert size.paper_columns == 5 * len(points) + 4 * 12 + in_play


def test_greedy_attacks_stand_on_their_own() -> None:
    """Without a relaxed solution to round and without annealing, they break nearly all that can be broken."""
    broken = possible = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng)
        problem = Problem(instance, random_threat(rng, instance))
        if problem.whole_graph or problem.by_ballots:
            continue
        structure = build_structure(problem, Relaxation.TIGHT)
        found = find_attack(problem, structure, np.zeros(structure.columns.count))
        broken += int(found.attacked.sum())
        possible += most_broken(instance, problem.threat)
    assert 0.9 * possible <= broken <= possible
