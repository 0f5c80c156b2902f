"""How results show themselves: short texts, cards, frames, graphs; names from files do nothing there."""

from __future__ import annotations

import dataclasses
import re
import signal
import types
import xml.etree.ElementTree as ElementTree

import networkx
import numpy as np
import pandas as pd
import pytest

import certcore as cc
from certcore import messages
from certcore.common import interrupt
from certcore.common.errors import InputError
from certcore.notebook.plots import Screen
from certcore.result.states import TargetState
from tests.export.instances import small_instance

EVIL = '<script>alert("1")</script>&\x07\u202e'


@pytest.fixture(scope="module")
def instance():
    plain = small_instance()
    names = tuple(f"{EVIL}{node}" for node in range(plain.graph.n_nodes))
    return dataclasses.replace(plain, node_names=names, meta=plain.meta | {"dataset": EVIL, "model": EVIL})


@pytest.fixture(scope="module")
def certificate(instance):
    return cc.certify(instance, attr_del=4)


@pytest.fixture(scope="module")
def curve(instance):
    return cc.curve(instance, vary="attr_del", values=range(9))


@pytest.fixture(scope="module")
def surface(instance):
    return cc.surface(instance, x="attr_add", x_values=range(2), y="attr_del", y_values=range(4))


def test_plain_arguments_are_the_same_threat_model(instance):
    threat = cc.ThreatModel(attr_del=4, local_attr_del=2, sigma=3)
    for plain in (cc.certify(instance, attr_del=4, local_attr_del=2, sigma=3), cc.certify(instance, threat)):
        assert plain.certified == cc.certify(instance, threat).certified
        assert plain.threat.to_json() == threat.to_json()
    assert cc.certify(instance, edge_del=1).threat.adj_del == 1
    named = cc.certify(instance, attr_del=2, targets="0:3")
    assert named.targets == 4
    assert cc.radius(instance, vary="attr_del", at_least=0.5, sigma=3).value is not None
    fixed = cc.curve(instance, vary="sigma", values=range(3), attr_del=4)
    assert np.array_equal(fixed.certified, cc.curve(instance, cc.ThreatModel(attr_del=4), "sigma", range(3)).certified)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda i: cc.certify(i, attr_del=0.6), r"no number of flips.*smooth\(model, data, attr_del=0.6\)"),
        (lambda i: cc.certify(i, attr_del=1.0), "no number of flips"),
        (lambda i: cc.certify(i, atr_del=1), "did you mean attr_del"),
        (lambda i: cc.certify(i, cc.ThreatModel(attr_del=1), attr_add=1), "one of both"),
        (lambda i: cc.certify(i, edge_del=1, adj_del=1), "the same budget"),
        (lambda i: cc.curve(i, "attr_del", range(3)), "budgets by name"),
        (lambda i: cc.surface(i, x_valeus=range(3)), "no budget"),
        (lambda i: cc.curve(i, vary="attr_del", values=range(3)).plot(backend="gnuplot"), "'plotly' or 'matplotlib'"),
    ],
)
def test_what_is_mixed_up_is_said(call, why, instance):
    with pytest.raises(InputError, match=why):
        call(instance)


def test_texts_are_short(instance, certificate, curve, surface):
    assert f"{certificate.certified} of {certificate.targets}" in repr(certificate)
    assert "attr_del=4" in repr(certificate)
    for shown in (instance, certificate, curve, surface):
        assert len(repr(shown)) < 160
        assert "array" not in repr(shown)


def test_cards_carry_the_guarantee_and_are_escaped(instance, certificate, curve, surface):
    page = certificate._repr_html_()
    assert messages.guarantee(instance, certificate).html in page
    assert messages.bracket(certificate)[0] in page
    for shown in (instance, certificate, curve, surface):
        card = shown._repr_html_()
        assert "<script" not in card
        assert "\x07" not in card
        assert "‮" not in card
        assert ("<svg" in card) is (shown is not instance)
        ElementTree.fromstring(card.replace("&nbsp;", " "))  # every tag is closed
    assert "&lt;script&gt;" in instance._repr_html_()


def test_the_guarantee_on_a_curve_is_one_of_its_points(instance, curve):
    card = curve._repr_html_()
    half = np.flatnonzero(2 * curve.certified >= curve.targets)[-1]
    told = re.search(r"at least <b>([\d,]+) of ([\d,]+)</b>", card)
    assert int(told[1].replace(",", "")) == curve.certified[half]
    single = cc.certify(instance, attr_del=int(curve.values[half]))
    assert messages.guarantee(instance, single).html in card


def test_a_solvers_word_is_not_called_proven(instance):
    exact = cc.certify(instance, attr_del=4, relaxation="exact")
    claim = dataclasses.replace(exact, certified=exact.verified_certified + 2, bound=exact.bound - 2, instance=None)
    assert "solver&#x27;s claim" in claim._repr_html_()
    assert "solver's claim" in repr(claim)
    drawn = cc.curve(instance, vary="attr_del", values=range(3), relaxation="exact")
    assert "solver&#x27;s claim" in drawn._repr_html_()
    assert "at least" not in drawn._repr_html_()


def test_frames(certificate, curve, surface):
    assert list(curve.to_frame().columns[:2]) == ["attr_del", "ratio"]
    assert np.array_equal(curve.to_frame()["certified"], curve.certified)
    assert len(surface.to_frame()) == 8
    assert certificate.to_frame().loc[0, "certified"] == certificate.certified


def test_nodes_tell_who_is_hit_loses_received_and_needs(instance, certificate):
    nodes = certificate.nodes
    assert isinstance(nodes, pd.DataFrame)
    assert len(nodes) == instance.graph.n_nodes
    assert int(nodes["loses"].sum() + nodes["uncertified_before"].sum()) == certificate.attack_found
    assert nodes["hit"].sum() == (certificate.attack.spent_at(instance.graph.edges).sum(axis=0) > 0).sum()
    fronts = instance.base.fronts()
    for row in nodes.itertuples():
        points = fronts.of_node(row.node)
        usable = points[points.sum(axis=1) == points[:, 1]]
        assert pd.isna(row.needed) if not len(usable) else row.needed == usable.sum(axis=1).min()
        if row.target and row.loses:
            assert row.received >= row.needed
            assert row.state == TargetState.LOST
    with pytest.raises(InputError, match="node_columns"):
        certificate.nodes(fronts, instance.graph.edges)
    with pytest.raises(InputError, match="does not know its instance"):
        dataclasses.replace(certificate, instance=None).nodes  # noqa: B018


def test_the_attacked_graph_travels(instance, tmp_path):
    certificate = cc.certify(instance, attr_del=4, adj_del=1)
    graph = certificate.graph()
    assert graph.number_of_nodes() == instance.graph.n_nodes
    assert graph.number_of_edges() == instance.graph.n_edges
    assert sum(kept["deleted"] for _, _, kept in graph.edges(data=True)) == certificate.attack.deleted.sum()
    nodes = certificate.nodes
    for node, known in graph.nodes(data=True):
        assert known["state"] == nodes.loc[node, "state"]
        assert known["hit"] == nodes.loc[node, "hit"]
    networkx.write_graphml(graph, tmp_path / "attack.graphml")
    networkx.write_gexf(graph, tmp_path / "attack.gexf")
    again = networkx.read_graphml(tmp_path / "attack.graphml", node_type=int)
    assert again.nodes[0]["name"].startswith('<script>alert("1")</script>&')
    assert "<script" not in (tmp_path / "attack.graphml").read_text()
    assert "<script" not in (tmp_path / "attack.gexf").read_text()
    assert len(networkx.read_gexf(tmp_path / "attack.gexf")) == len(graph)


def test_plots(certificate, curve, surface):
    for shown in (curve, surface):
        assert isinstance(shown.plot(), Screen)
        assert shown.plot(backend="matplotlib").get_axes()


def test_a_plot_shows_itself_without_offering_a_cloud(curve, monkeypatch):
    seen = {}
    monkeypatch.setattr("plotly.io.show", lambda figure, **options: seen.update(options))
    curve.plot()._ipython_display_()
    assert seen["config"]["showSendToCloud"] is False


def test_an_interrupt_in_a_notebook_leaves_what_was_proven(monkeypatch):
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(interrupt.sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))

    def work(cancel):
        signal.raise_signal(signal.SIGINT)  # as the kernel's interrupt button; Python runs handlers in the main thread
        assert cancel.wait(10)
        return "what was proven"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        assert interrupt.interruptible(work, None) == "what was proven"
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.setitem(interrupt.sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert interrupt.interruptible(lambda cancel: cancel, None) is None, "elsewhere Ctrl-C ends the program"
