"""From the model to the sentence and back: no attack changes more than the proof allows, and mistakes are found."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest

pytest.importorskip("torch_geometric")

import torch
import torch_geometric.nn as geometric

import certcore as cc
from certcore.attack import network_victim
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError, SoundnessError
from certcore.model_attack.counting import count_changed
from certcore.model_attack.flips import Flip, allocation_of, apply_flips
from certcore.model_attack.methods import AttackMethod
from certcore.model_attack.refute import hold_against_certificates
from certcore.model_attack.run import AttackOptions, count_votes, run_attack
from certcore.program.problem import Problem
from certcore.result import tripwire
from certcore.result.allocation import inadmissible
from experiments.convex.certificate import convex_certificate
from experiments.convex.network import GcnNetwork, normalised_adjacency
from tests.model_attack.cases import case
from tests.pipeline import zoo


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tripwire, "_memories", OrderedDict())


def quick(method: str = "greedy", samples: int = 2000, **more) -> AttackOptions:
    return AttackOptions(method, samples, "0.01", **more)


CASES = [
    ("gcn", "attr", {"attr_del": 6}),
    ("gcn", "attr", {"attr_add": 3, "attr_del": 3}),
    ("gcn", "adj", {"adj_del": 5}),
    ("gcn_mean", "joint", {"attr_del": 3, "adj_del": 3}),
    ("gat", "attr", {"attr_del": 6}),
    ("gat", "adj", {"adj_del": 5}),
    ("appnp", "attr", {"attr_del": 6}),
    ("gcn", "attr", {"attr_del": 2, "adj_add": 2}),
]


@pytest.mark.parametrize(("model", "types", "budgets"), CASES)
def test_no_attack_changes_more_than_the_proof_leaves_open(model, types, budgets):
    instance, victim = case(model, types)
    threat = cc.ThreatModel(**budgets)
    found = run_attack(victim, instance, threat, quick())
    certificate = cc.certify(instance, threat)
    assert found.flips
    assert inadmissible(Problem(instance, threat), _replay(instance, threat, found)) is None
    assert found.changed + int(instance.base.abstained.sum()) <= certificate.targets - certificate.certified


def _replay(instance, threat, found):
    return allocation_of(Problem(instance, threat), found.flips, found.attackers)


def test_single_and_double_flips_one_by_one_change_no_label_that_is_certified():
    """By enumeration: every single flip of the graph, and many pairs."""
    instance, victim = case("gcn", "joint")
    graph = instance.graph
    rows, columns = graph.attributes.nonzero()
    bits = [Flip("attr_del", int(n), int(d)) for n, d in zip(rows, columns)][::12]
    edges = [Flip("adj_del", int(i), int(j)) for i, j in graph.edges]
    changed = 0
    pairs = ((a, b) for a, b in islice(product(bits[::5], edges[::9]), 40))
    for flips in [(flip,) for flip in bits + edges] + list(pairs):
        spent = {kind: sum(flip.kind == kind for flip in flips) for kind in cc.TYPES}
        votes = count_votes(victim, apply_flips(graph, flips), 0, 500, threading.Event())
        count = count_changed(instance, np.asarray(instance.targets), votes, "0.01", plain=False)
        hold_against_certificates(instance, cc.ThreatModel(**spent), flips, (), count)
        changed += count.n_changed
    assert changed > 0, "some flips change a label, or nothing was tested"


@pytest.mark.parametrize("method", [str(m) for m in AttackMethod])
def test_every_method_keeps_to_the_whole_threat_model(method):
    instance, victim = case("gcn", "joint")
    threat = cc.ThreatModel(
        attr_add=4, attr_del=6, adj_del=5, local_attr_del=2, local_adj_del=1, sigma=6, protected=[0, 1, 2, 3],
        targets=np.arange(10, 70),
    )  # fmt: skip
    found = run_attack(victim, instance, threat, quick(method, samples=200))
    assert found.flips
    assert inadmissible(Problem(instance, threat), _replay(instance, threat, found)) is None
    assert len(found.attackers) <= 6


def test_gradients_do_better_than_chance():
    instance, victim = case()
    threat = cc.ThreatModel(attr_del=12)
    worth = {m: run_attack(victim, instance, threat, quick(m)).changed for m in ("greedy", "local", "random")}
    assert worth["greedy"] > worth["random"]
    assert worth["local"] >= worth["greedy"]


def test_a_field_one_hop_too_small_is_caught():
    """Somebody two hops away is attacked, whom a field of one hop leaves out."""
    instance, victim = case()
    small = replace(instance, layers=1)
    sure = instance.base.probability
    doubtful = [int(node) for node in np.argsort(sure, kind="stable") if sure[node] > 0.5][:12]
    near = instance.graph.adjacency
    threats = [
        cc.ThreatModel(attr_add=30, protected=[node, *near[[node]].indices.tolist()], targets=[node])
        for node in doubtful
    ]
    refuted = next((threat for threat in threats if _refuted(victim, small, threat)), None)
    assert refuted is not None
    assert not _refuted(victim, instance, refuted), "with two hops nothing is wrong"


def _refuted(victim, instance, threat) -> bool:
    try:
        run_attack(victim, instance, threat, quick())
    except SoundnessError:
        return True
    return False


def test_needs_that_are_too_large_are_caught():
    instance, victim = case()
    n = instance.graph.n_nodes
    votes = np.zeros_like(instance.base.votes)
    votes[np.arange(n), np.asarray(instance.prediction)] = instance.base.n_samples
    base = SmoothingBase(votes, instance.prediction, instance.base.n_samples, "0.01", instance.base.theta)
    with pytest.raises(SoundnessError, match="certificates it leaves in force"):
        run_attack(victim, replace(instance, base=base), cc.ThreatModel(attr_del=12), quick())


def test_a_certified_count_that_the_attack_refutes_is_stopped():
    instance, victim = case()
    threat = cc.ThreatModel(attr_del=12)
    found = run_attack(victim, instance, threat, quick())
    certificate = cc.certify(instance, threat, attack=False)
    assert found.changed > 0
    with pytest.raises(SoundnessError):
        replace(certificate, certified=certificate.targets)


@pytest.mark.parametrize("name", ["GAT", "SAGE", "Tutorial"])
def test_models_of_others_are_attacked_through_smooth(name):
    torch.manual_seed(0)
    data = zoo.as_data()
    make = {
        "GAT": lambda: geometric.GAT(24, 8, 2, 3, heads=2),
        "SAGE": lambda: geometric.GraphSAGE(24, 8, 2, 3),
        "Tutorial": zoo.Tutorial,
    }[name]
    model = zoo.train(make(), data)
    instance = cc.smooth(model, data, attr_add=0.01, attr_del=0.5, adj_del=0.3, samples=2000, check=False)
    found = cc.attack(model, data, instance, attr_del=5, adj_del=5, samples=1000, method="greedy")
    certificate = cc.certify(instance, attr_del=5, adj_del=5)
    assert len(found.flips) == 10
    assert found.changed <= certificate.targets - certificate.certified
    assert found.changed > 0


def test_prbcd_says_that_a_network_reads_no_edges():
    torch.manual_seed(0)
    model, data = geometric.MLP([24, 8, 3], norm=None), zoo.as_data()

    def scores(network, x, edge_index):
        return network(x)

    instance = cc.smooth(model.eval(), data, adj_del=0.3, samples=100, selection=10, wrapper=scores, layers=0)
    with pytest.raises(InputError, match=r"reads no edges.*choose another method"):
        cc.attack(model, data, instance, adj_del=3, samples=100, method="prbcd", wrapper=scores)


def test_another_model_is_refused():
    data = zoo.as_data()
    torch.manual_seed(0)
    model = zoo.train(zoo.Tutorial(), data)
    instance = cc.smooth(model, data, attr_add=0.01, attr_del=0.5, samples=500, check=False)
    torch.manual_seed(7)
    with pytest.raises(InputError, match="another label"):
        cc.attack(zoo.Tutorial(), data, instance, attr_del=5)


def test_the_plain_classifier_of_a_convex_certificate_is_attacked_for_certain():
    instance, victim = case()
    network, graph = victim.model, instance.graph
    weights = [tensor.detach().numpy() for tensor in (network.first, network.bias1, network.second, network.bias2)]
    certificate = convex_certificate(
        GcnNetwork(normalised_adjacency(graph.adjacency), graph.attributes, *weights), local_budget=3
    )
    plain = cc.Instance(graph, certificate.base(), layers=2, edge_field="degrees", labels=instance.labels)
    threat = cc.ThreatModel(attr_add=9, local_attr_add=3)
    found = run_attack(network_victim(network, plain, ""), plain, threat, quick())
    proven = cc.certify(plain, threat)
    assert found.plain
    assert 0 < found.changed <= proven.targets - proven.certified


def test_ballots_are_left_alone():
    instance = cc.load_instance("precomputed/citeseer-decoupled-ballots-s0.npz")
    with pytest.raises(InputError, match="ballots need no attack"):
        run_attack(case()[1], instance, cc.ThreatModel(adj_del=2), quick())
