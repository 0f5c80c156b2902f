"""The end-to-end judge: small trained models are attacked, and nothing that is said about them may be refuted.

Everything on the way from a model to a sentence takes part: training, votes, fields, base certificates, programs,
messages. Attacks come from enumeration (single flips and pairs) and from every method of search; labels are counted by
the exact test at a level at which chance alone refutes nothing in years.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import torch
import torch_geometric.nn as geometric

import certcore as cc
from certcore import messages
from certcore.attack import module_victim, network_victim
from certcore.base.ballots import BallotsBase, whole_ballots
from certcore.data import citation_like
from certcore.domain.graph import Graph
from certcore.domain.noise import Noise
from certcore.domain.perturbations import FLIPS, TYPES
from certcore.instance.fields import hop_fields
from certcore.model_attack.ballots import changed_by_ballots
from certcore.model_attack.counting import Count, count_changed
from certcore.model_attack.flips import Flip, apply_flips
from certcore.model_attack.methods import AttackMethod
from certcore.model_attack.refute import hold_against_certificates
from certcore.model_attack.room import Room
from certcore.model_attack.run import AttackOptions, count_votes, run_attack
from certcore.model_attack.stored import FoundAttack
from certcore.program.problem import Problem
from certcore.votes.moved import network_under
from certcore.votes.run import collect_votes
from experiments.convex.certificate import convex_certificate
from experiments.convex.network import GcnNetwork, normalised_adjacency
from experiments.networks.voters import make_voter
from experiments.training.smoothed import Schedule, train_smoothed
from tests.pipeline import zoo

#: Samples and level of the count; the level of the certificates.
SAMPLES, ALPHA, CERTIFIED = 400, "0.000001", "0.001"
THETAS = (
    ("0.01", "0.5", "0", "0"),
    ("0.05", "0.6", "0", "0"),
    ("0", "0", "0", "0.4"),
    ("0.01", "0.4", "0", "0.3"),
    ("0", "0", "0.01", "0.3"),
)


@dataclass
class Tally:
    """What was tried, and how much of it did anything."""

    instances: int = 0
    attacks: int = 0
    effective: int = 0
    changed: int = 0
    counts: int = 0
    sentences: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        return {**vars(self), "refutations": 0}


def victim_of(rng: np.random.Generator) -> tuple[str, cc.Instance, Any]:
    """A small trained model with its certificates: ours, one of torch-geometric through `smooth`, or a convex one."""
    kind = ("gcn", "gcn_mean", "gat", "appnp", "smooth", "convex", "l2", "l2")[int(rng.integers(8))]
    seed = int(rng.integers(2**31))
    if kind == "l2":
        return kind, *moved_victim(rng, seed)
    dataset = citation_like(int(rng.integers(12, 40)), 12, 3, ones=4, seed=seed)
    theta = THETAS[int(rng.integers(2 if kind == "appnp" else len(THETAS)))]
    torch.manual_seed(seed)
    if kind == "smooth":
        data = zoo.as_data(dataset)
        data.train_mask = torch.arange(dataset.graph.n_nodes) < 8
        data.test_mask = ~data.train_mask
        maker = (lambda: zoo.Tutorial(12), lambda: geometric.GraphSAGE(12, 8, 2, 3))[int(rng.integers(2))]
        model = zoo.train(maker(), data)
        names = dict(zip(FLIPS, map(float, theta)))
        instance = cc.smooth(model, data, **names, samples=1500, alpha=CERTIFIED, check=False)
        return kind, instance, module_victim(model, data, instance)
    name = "gcn" if kind == "convex" else kind
    trained = train_smoothed(dataset, name, Noise(theta), schedule=Schedule.of(name, 15), per_class=2, seed=seed % 1000)
    if kind == "convex":
        weights = [getattr(trained.model, one).detach().numpy() for one in ("first", "bias1", "second", "bias2")]
        graph = dataset.graph
        found = convex_certificate(
            GcnNetwork(normalised_adjacency(graph.adjacency), graph.attributes, *weights), local_budget=2
        )
        plain = cc.Instance(graph, found.base(), layers=2, edge_field="degrees", labels=dataset.labels)
        return kind, plain, network_victim(trained.model, plain, "")
    noise = Noise(theta)
    votes = collect_votes(make_voter(trained.model, dataset.graph, noise, 0), selection=200, estimation=1500, jobs=1)
    read = trained.model.field(dataset.graph, noise)
    rule = "multiclass" if rng.random() < 0.4 else "binary"
    base = cc.SmoothingBase(
        votes.estimation, votes.prediction, votes.n_samples, CERTIFIED, theta, rule=rule, graph=dataset.graph
    )
    instance = cc.Instance(
        dataset.graph, base, layers=read.layers, edge_field=read.edge_field, node_field=read.node_field,
        labels=dataset.labels,
    )  # fmt: skip
    return kind, instance, network_victim(trained.model, instance, "", make_voter)


def moved_victim(rng: np.random.Generator, seed: int, place: str = "") -> tuple[cc.Instance, Any]:
    """A small GCN under Gaussian noise on its attributes, drawn at the input or behind the first map."""
    place = place or ("input", "first_map")[int(rng.integers(2))]
    plain = citation_like(int(rng.integers(12, 40)), 80, 3, ones=6, seed=seed)
    values = plain.graph.attributes.toarray() + 0.2 * rng.normal(size=(plain.graph.n_nodes, 80))
    dataset = replace(plain, graph=plain.graph.with_attributes(values))
    noise = Noise(("0", "0", "0", ("0", "0.3")[int(rng.integers(2))]), "0.5")
    trained = train_smoothed(dataset, "gcn", noise, schedule=Schedule.of("gcn", 25), per_class=2, seed=seed % 1000)
    moved, model = network_under(trained.model, dataset.graph, noise, place)
    votes = collect_votes(make_voter(model, moved.drawn, moved.noise, 0), selection=200, estimation=1500, jobs=1)
    fields = hop_fields(moved.graph, np.arange(moved.graph.n_nodes), 2, "degrees", need_edges=False).nodes
    base = moved.base(votes, CERTIFIED, "multiclass" if rng.random() < 0.4 else "binary", fields)
    instance = cc.Instance(moved.graph, base, layers=2, edge_field="degrees", labels=dataset.labels)
    return instance, network_victim(trained.model, instance, "", make_voter)


def ballots_of(rng: np.random.Generator) -> cc.Instance:
    """Ballots of a few certain and uncertain nodes."""
    graph = citation_like(int(rng.integers(12, 40)), 12, 3, ones=4, seed=int(rng.integers(2**31))).graph
    shares = rng.dirichlet(np.full(3, 0.4), graph.n_nodes)
    return cc.Instance(
        graph, BallotsBase(whole_ballots(shares), weight=int(rng.integers(1, 3))), layers=1, edge_field="messages"
    )


def refute_ballots(rng: np.random.Generator, tally: Tally) -> None:
    """Additions, deletions and new nodes that copy others, drawn at random and found by the search."""
    instance = ballots_of(rng)
    graph, ballots, weight = instance.graph, instance.base.ballots.astype(np.int64), instance.base.weight
    n, targets = graph.n_nodes, np.asarray(instance.targets)
    for _ in range(15):
        matrix = graph.adjacency.toarray().astype(np.int64)
        pairs = [(int(a), int(b)) for a, b in rng.integers(0, n, (int(rng.integers(0, 5)), 2)) if a != b]
        pairs = sorted({(min(pair), max(pair)) for pair in pairs})
        there = [bool(matrix[pair]) for pair in pairs]
        for a, b in pairs:
            matrix[a, b] = matrix[b, a] = 1 - matrix[a, b]
        new, each = int(rng.integers(0, 3)), int(rng.integers(1, 3))
        scores = weight * ballots + matrix @ ballots
        for _ in range(new):
            scores[rng.choice(n, each, replace=False)] += ballots[int(rng.integers(n))]
        if not pairs and not new:
            continue
        changed = (scores.argmax(axis=1) != instance.prediction)[targets]
        threat = cc.ThreatModel(adj_del=sum(there), adj_add=len(pairs) - sum(there), inject=new, inject_edges=each)
        count = Count(targets, changed, np.zeros(len(targets), dtype=bool), None)
        _note(tally, count)
        judge(instance, threat, count, tally)
        found = changed_by_ballots(instance, cc.certify(instance, threat))
        if found is not None:
            _note(tally, found.count)
            judge(instance, threat, found, tally)


def singles(graph: Graph, kinds: list[str], rng: np.random.Generator) -> list[Flip]:
    """Single flips of these types, all deletions and some of the many additions."""
    bits = () if graph.real else zip(*graph.attributes.nonzero())
    flips = [Flip("attr_del", int(n), int(d)) for n, d in bits]
    flips += [Flip("adj_del", int(i), int(j)) for i, j in graph.edges]
    for kind, far in (("attr_add", graph.n_attrs), ("adj_add", graph.n_nodes)):
        for _ in range(40):
            first, second = int(rng.integers(graph.n_nodes)), int(rng.integers(far))
            matrix = graph.attributes if kind == "attr_add" else graph.adjacency
            if not matrix[first, second] and (kind == "attr_add" or first < second):
                flips.append(Flip(kind, first, second))
    return sorted({flip for flip in flips if flip.kind in kinds})


def some_threat(rng: np.random.Generator, instance: cc.Instance, kinds: list[str]) -> cc.ThreatModel:
    """Random budgets, and now and then local budgets, σ, protected nodes or targets."""
    graph = instance.graph
    parts: dict[str, Any] = {kind: int(rng.integers(0, 6)) for kind in kinds}
    if "attr_l2" in parts:
        parts["attr_l2"] = f"{rng.uniform(0.3, 3):.2f}"
    if kinds[0] != "attr_l2":
        parts[kinds[0]] = max(1, parts[kinds[0]])
    if instance.base.local is not None:
        parts |= {f"local_{kind}": 1 for kind in kinds}
    elif rng.random() < 0.3 and kinds[0] == "attr_l2":
        parts["local_attr_l2"] = "0.4"
    elif rng.random() < 0.3:
        parts[f"local_{kinds[0]}"] = int(rng.integers(1, 3))
    if rng.random() < 0.3:
        parts["sigma"] = int(rng.integers(1, 5))
    if rng.random() < 0.2:
        parts["protected"] = rng.choice(graph.n_nodes, 3, replace=False)
    if rng.random() < 0.2:
        parts["targets"] = np.sort(rng.choice(graph.n_nodes, graph.n_nodes // 2, replace=False))
    return cc.ThreatModel(**parts)


def kinds_of(instance: cc.Instance) -> list[str]:
    """Types to attack by: covered ones, and edges where fields may follow them."""
    if instance.base.local is not None:
        return ["attr_add", "attr_del"]
    if instance.graph.real:
        return ["attr_l2", "adj_add", "adj_del"]
    return list(FLIPS[:2]) if instance.node_field is not None else list(FLIPS)


def enumerated(rng: np.random.Generator, instance: cc.Instance) -> Iterator[tuple[cc.ThreatModel, list[Flip]]]:
    """Single flips and pairs, each under the smallest attacker that can make it."""
    flips = singles(instance.graph, kinds_of(instance), rng)
    chosen = [flips[k] for k in rng.permutation(len(flips))[:25]]
    for attack in [[flip] for flip in chosen] + [list(pair) for pair in combinations(chosen[:8], 2)]:
        spent: dict[str, Any] = {kind: sum(flip.kind == kind for flip in attack) for kind in FLIPS}
        if instance.base.local is not None:
            spent |= {f"local_{kind}": 1 for kind in kinds_of(instance)}
        threat = cc.ThreatModel(**spent)
        room = Room(Problem(instance, threat))
        if all(room.fits(flip) and room.take(flip) is None for flip in attack):
            yield threat, attack


def judge(instance: cc.Instance, threat: cc.ThreatModel, found: FoundAttack | Count, tally: Tally) -> None:
    """No count and no sentence may say more than an attack leaves."""
    count = found.count if isinstance(found, FoundAttack) else found
    gone, whole = count.n_changed + int(count.abstaining.sum()), len(count.targets)
    forms = ("tight",) if isinstance(instance.base, BallotsBase) or threat.attr_l2 else ("paper", "tight")
    results = [cc.certify(instance, threat, relaxation=one) for one in forms]
    if not threat.attr_l2:
        results.append(cc.certify(instance, threat, relaxation="strong", rounds=2))
    for result in results:
        tally.counts += 2
        assert result.certified <= whole - gone, "a certified count above what the attack leaves"
        assert result.naive_certified <= whole - gone
        said = [
            str(messages.guarantee(instance, result)),
            str(messages.summary(result)),
            str(messages.short_head(result.certified, whole)),
        ]
        for text in said:
            tally.sentences += 1
            for promised, of in re.findall(r"least ([\d,]+) of ([\d,]+) labels", text):
                assert int(of.replace(",", "")) == whole
                assert int(promised.replace(",", "")) <= whole - gone, text
    kind = next(kind for kind in TYPES if getattr(threat, kind))
    line = cc.curve(instance, threat, vary=kind, values=[0, getattr(threat, kind)])
    tally.counts += 1
    assert int(line.certified[-1]) <= whole - gone


def refute(seed: int, turn: int, tally: Tally) -> None:
    """One model with all its attacks."""
    rng = np.random.default_rng([seed, turn])
    if rng.random() < 0.1:
        tally.instances += 1
        tally.kinds["ballots"] = tally.kinds.get("ballots", 0) + 1
        refute_ballots(rng, tally)
        return
    kind, instance, victim = victim_of(rng)
    tally.instances += 1
    tally.kinds[kind] = tally.kinds.get(kind, 0) + 1
    samples = 1 if victim.plain else SAMPLES
    for threat, flips in enumerated(rng, instance):
        votes = count_votes(victim, apply_flips(instance.graph, flips), turn, samples, threading.Event())
        count = count_changed(instance, np.asarray(instance.targets), votes, ALPHA, plain=victim.plain)
        hold_against_certificates(instance, threat, flips, sorted({e for f in flips for e in f.ends}), count)
        _note(tally, count)
        if count.n_changed:
            judge(instance, threat, count, tally)
    for _ in range(4):
        threat = some_threat(rng, instance, _some(rng, kinds_of(instance)))
        methods = [m for m in AttackMethod if m is not AttackMethod.PRBCD or (threat.adj_add or threat.adj_del)]
        methods = [m for m in methods if m is not AttackMethod.PRBCD or not victim.noise.fractions[2]]
        options = AttackOptions(str(methods[int(rng.integers(len(methods)))]), samples, ALPHA, seed=turn)
        found = run_attack(victim, instance, threat, options).found(instance, threat)
        assert found is not None
        _note(tally, found.count)
        judge(instance, threat, found, tally)


def _some(rng: np.random.Generator, kinds: list[str]) -> list[str]:
    return [
        kinds[k] for k in sorted(rng.choice(len(kinds), int(rng.integers(1, min(3, len(kinds)) + 1)), replace=False))
    ]


def _note(tally: Tally, count: Count) -> None:
    tally.attacks += 1
    tally.effective += bool(count.n_changed)
    tally.changed += count.n_changed
