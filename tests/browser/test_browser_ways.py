"""The ways of an attack: along real edges from sites to labels, and rings where they would cover the picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from certcore import ThreatModel, certify
from certcore.base.grid import GridBase
from certcore.domain.graph import Graph
from certcore.instance.instance import Instance
from certcore.result.attack_effects import Reach, reach
from pages.canvas import film
from tests.browser.workbench import Visit, by_itself, drawn, engine


def hub_instance(n: int = 2000) -> Instance:
    """A graph with hubs, two edges for every new node, and labels that need up to six deletions."""
    rng = np.random.default_rng(0)
    edges = np.array(nx.barabasi_albert_graph(n, 2, seed=1).edges())
    graph = Graph.from_edges(n, edges, np.ones((n, 4), dtype=np.int8))
    grid = np.arange(8)[None] < rng.integers(0, 7, n)[:, None]
    base = GridBase(grid, ("attr_del",), None, rng.integers(0, 3, n), fixed_adjacency=True)
    return Instance(graph, base, layers=2, layout=rng.random((n, 2)), class_names=("a", "b", "c"))


def connected(ways: list[list[int]], ends: list[int], label: int) -> bool:
    graph = nx.Graph()
    graph.add_nodes_from([*ends, label])
    graph.add_edges_from((a, b) for a, b, _ in ways)
    return any(nx.has_path(graph, end, label) for end in ends)


def are_edges(instance: Instance, ways: list[list[int]]) -> bool:
    known = {frozenset(edge) for edge in instance.graph.edges.tolist()}
    return all(frozenset((a, b)) in known for a, b, _ in ways)


def test_an_attack_is_drawn_along_edges(visit: Visit, tmp_path: Path) -> None:
    instance, result, found = engine(ThreatModel(attr_del=5))
    panel = drawn(by_itself(visit(), tmp_path, instance, [film.Frame(5, result)]))["panels"][0]
    assert panel["rest"] == "ways"
    assert 0 < panel["cover"] < 0.05
    assert are_edges(instance, panel["ways"])
    assert len({(a, b) for a, b, _ in panel["ways"]}) == len(panel["ways"]), "each edge once"
    for s, ends in enumerate(found.ends.tolist()):
        for label in found.targets[found.broken_by(s)].tolist():
            assert connected(panel["ways"], ends, label)
    # With one step to a field, an edge carries one label, and none from where flips are spent to itself.
    passing = sum(count for *_, count in panel["ways"])
    assert passing == sum(int((found.targets[found.broken_by(s)] != a).sum()) for s, (a, _) in enumerate(found.ends))


@pytest.fixture
def hub(visit: Visit, tmp_path: Path) -> tuple[Any, Instance, Reach]:
    instance = hub_instance()
    result = certify(instance, ThreatModel(attr_del=8, local_attr_del=2))
    found = reach(instance, result)
    assert found is not None
    return by_itself(visit(), tmp_path, instance, [film.Frame(8, result)]), instance, found


def test_at_hubs_sites_have_rings_and_a_chosen_one_its_ways(hub: tuple[Any, Instance, Reach]) -> None:
    page, instance, found = hub
    assert found.lost.sum() > 200
    panel = drawn(page)["panels"][0]
    assert panel["rest"] == "rings"
    assert panel["ways"] == []
    page.evaluate(f"window.certcore.mapView.choose({{ node: {found.ends[0, 0]} }})")
    lit = drawn(page)["panels"][0]
    assert lit["ways"]
    assert are_edges(instance, lit["ways"])
    for label in found.targets[found.broken_by(0)].tolist():
        assert connected(lit["ways"], found.ends[0].tolist(), label)
    page.evaluate("() => window.certcore.mapView.choose(null)")
    assert drawn(page)["panels"][0]["ways"] == []
