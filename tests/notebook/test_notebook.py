"""How results show themselves: short texts, a card, frames, graphs, plots; names from files do nothing there."""

from __future__ import annotations

import dataclasses
import re
import signal
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import certcore as cc
from certcore import messages
from certcore.common import interrupt
from certcore.common.errors import InputError
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
def sweeps(instance):
    return (
        cc.curve(instance, vary="attr_del", values=range(9)),
        cc.surface(instance, x="attr_add", x_values=range(2), y="attr_del", y_values=range(4)),
    )


def test_plain_arguments_are_the_same_threat_model(instance):
    threat = cc.ThreatModel(attr_del=4, local_attr_del=2, sigma=3)
    for plain in (cc.certify(instance, attr_del=4, local_attr_del=2, sigma=3), cc.certify(instance, threat)):
        assert plain.certified == cc.certify(instance, threat).certified
        assert plain.threat.to_json() == threat.to_json()
    assert cc.certify(instance, edge_del=1).threat.adj_del == 1
    assert cc.certify(instance, attr_del=2, targets="0:3").targets == 4
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
    ],
)
def test_what_is_mixed_up_is_said(call, why, instance):
    with pytest.raises(InputError, match=why):
        call(instance)


def test_texts_are_short(instance, certificate, sweeps):
    assert f"{certificate.certified} of {certificate.targets}" in repr(certificate)
    assert "attr_del=4" in repr(certificate)
    for shown in (instance, certificate, *sweeps):
        assert len(repr(shown)) < 160
        assert "array" not in repr(shown)


def test_a_certificate_shows_its_guarantee_a_bar_and_three_numbers(instance, certificate):
    for shown in (certificate, dataclasses.replace(certificate, instance=None)):
        card = shown._repr_html_()
        for number in (shown.certified, shown.naive_certified, messages.bracket(shown)[0]):
            assert str(number) in card
        assert not any(sign in card for sign in ("<script", "\x07", "\u202e"))
        tree = ElementTree.fromstring(card.replace("&nbsp;", " "))  # every tag is closed
        parts = [int(found) for span in tree.iter("span") for found in re.findall(r"flex:(\d+)", span.get("style", ""))]
        assert sum(parts) == shown.targets
        assert parts[0] == shown.certified
        assert parts[2] == shown.attack_found
    assert messages.guarantee(instance, certificate).html in certificate._repr_html_()


def test_frames(instance, certificate, sweeps):
    curve, surface = sweeps
    assert curve.frame().columns[0] == "attr_del"
    assert np.array_equal(curve.frame()["certified"], curve.certified)
    assert len(surface.frame()) == 8
    names = dataclasses.replace(instance, node_names=tuple(f"=cmd{node}" for node in range(instance.graph.n_nodes)))
    frame = dataclasses.replace(certificate, instance=names).frame()
    assert frame["name"].str.startswith("'=cmd").all(), "no spreadsheet reads it as a formula"


def test_the_frame_of_a_certificate_tells_who_is_hit_loses_received_and_needs(instance, certificate):
    nodes = certificate.frame()
    assert len(nodes) == instance.graph.n_nodes
    assert int(nodes["loses"].eq(True).sum() + nodes["uncertified_before"].sum()) == certificate.attack_found
    assert nodes["hit"].sum() == (certificate.attack.spent_at(instance.graph.edges).sum(axis=0) > 0).sum()
    fronts = instance.base.fronts()
    for row in nodes.itertuples():
        points = fronts.of_node(row.node)
        usable = points[points.sum(axis=1) == points[:, 1]]
        assert pd.isna(row.needed) if not len(usable) else row.needed == usable.sum(axis=1).min()
        if row.target and row.loses is True:
            assert row.received >= row.needed
            assert row.state == TargetState.LOST
    with pytest.raises(InputError, match="does not know its instance"):
        dataclasses.replace(certificate, instance=None).frame()


def test_the_attacked_graph_travels(instance, tmp_path):
    certificate = cc.certify(instance, attr_del=4, adj_del=1)
    graph = certificate.graph()
    assert graph.number_of_nodes() == instance.graph.n_nodes
    assert graph.number_of_edges() == instance.graph.n_edges
    assert sum(kept["deleted"] for _, _, kept in graph.edges(data=True)) == certificate.attack.deleted.sum()
    nodes = certificate.frame()
    for node, known in graph.nodes(data=True):
        assert known["state"] == nodes.loc[node, "state"]
        assert known["hit"] == nodes.loc[node, "hit"]
    networkx.write_graphml(graph, tmp_path / "attack.graphml")
    networkx.write_gexf(graph, tmp_path / "attack.gexf")
    again = networkx.read_graphml(tmp_path / "attack.graphml", node_type=int)
    assert again.nodes[0]["name"].startswith('<script>alert("1")</script>&')
    for written in ("attack.graphml", "attack.gexf"):
        assert "<script" not in (tmp_path / written).read_text()
    assert len(networkx.read_gexf(tmp_path / "attack.gexf")) == len(graph)


def test_plots_and_the_workbench(certificate, sweeps):
    assert all(isinstance(shown.plot(), go.Figure) for shown in sweeps)
    assert certificate.plot()._repr_png_().startswith(b"\x89PNG")
    page = certificate.show()._repr_html_()
    assert page.startswith('<iframe srcdoc="')
    assert page.count("<") == 2, "the page is escaped, and the frame closes"


def test_the_engine_is_there_without_the_packages_that_draw():
    code = """
import sys
for name in ("plotly", "matplotlib", "networkx", "pandas", "streamlit"):
    sys.modules[name] = None  # importing it fails
import certcore as cc
from tests.export.instances import small_instance
cc.certify(small_instance(), attr_del=2)._repr_html_()
cc.curve(small_instance(), vary="attr_del", values=range(3))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
