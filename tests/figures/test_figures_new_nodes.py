"""New nodes of an attack: sites with a place beside the graph, and a line to everything they are joined to."""

from __future__ import annotations

import numpy as np
import pytest

from certcore import InputError, certify, figures, messages
from certcore.domain.perturbations import INJECT
from certcore.figures.geometry import GRAPH_ASPECT
from certcore.figures.kinds.graph_sites import _joined, _with_new, marks_of
from certcore.figures.screen import plotly
from certcore.result.attack_effects import reach
from certcore.result.attack_text import attack_text, read_attack
from certcore.workbench.attack import sent_of
from tests.pages.toys import ballots_instance


def test_every_new_node_has_a_mark_and_its_lines() -> None:
    instance = ballots_instance()
    found = certify(instance, inject=3, inject_edges=2, adj_del=1)
    assert found.attack is not None
    joined = found.attack.injected
    sites = reach(instance, found)
    assert sites is not None
    new = sites.amounts[:, INJECT] > 0
    assert sorted(sites.ends[new, 0].tolist()) == np.unique(joined[:, 0]).tolist()
    n = instance.graph.n_nodes
    for site in np.flatnonzero(new).tolist():
        mine = joined[joined[:, 0] == sites.ends[site, 0], 1]
        assert set(sites.targets[sites.reached_by(site)]) == set(mine) & set(sites.targets)
    said = str(messages.attack_words(sites, str, found.targets - found.certified))
    assert f"adds {new.sum()} new node" in said
    figure = figures.graph_figure(instance, found)
    where = np.random.default_rng(0).random((n, 2))
    marks = marks_of(figure, where, 0.01)
    assert sum(mark.kind == INJECT for mark in marks) == new.sum()
    assert _joined(figure, marks, where).shape == (len(joined), 2, 2)
    assert (_with_new(figure, where)[n:, 0] == GRAPH_ASPECT).all(), "beside the graph"
    assert any("new 1" in str(trace.hovertext) for trace in plotly(figure).data if trace.hovertext)
    assert figures.from_json(figures.to_json(figure)).injected.tolist() == joined.tolist()
    assert sent_of(instance, found)["kinds"][-1]["edge"] is False


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
