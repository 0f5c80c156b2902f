"""Whatever exists is equal to itself after its way through a file, and belongs to the graph it was made for."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certcore import (
    Graph,
    GridBase,
    InputError,
    Instance,
    ThreatModel,
    certify,
    load_instance,
    read_proof,
    save_instance,
    verify_proof,
)
from certcore.base import BaseLocal, SmoothingBase
from certcore.data import Dataset, load_dataset_file, save_dataset
from certcore.domain.perturbations import FLIPS, TYPES
from certcore.domain.threat import part_names
from certcore.instance.fields import fields_of
from certcore.instance.instance import named
from certcore.program.problem import Problem
from certcore.verify.proof import proof_bytes
from tests.support import random_graph, random_grid, random_threat

FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


def smoothing(rng: np.random.Generator, n: int, graph: Graph | None, *, edges: bool, rule: str) -> SmoothingBase:
    samples = int(rng.integers(50, 3000))
    classes = int(rng.integers(2, 4))
    votes = rng.multinomial(samples, rng.dirichlet(np.full(classes, 0.15)), size=n)
    theta = [("0.05", "0.6", "0", "0"), ("0", "0.3", "0", "0"), (Fraction(1, 8), 0.25, "0", "0")]
    noisy = [("0", "0", "0", "0.3"), ("0", "0", "0.01", "0.4"), ("0.1", "0.3", "0", "0.2")]
    chosen = (noisy if edges else theta)[int(rng.integers(3))]
    alpha = ["0.01", 0.05, Fraction(1, 16)][int(rng.integers(3))]
    return SmoothingBase(votes, votes.argmax(axis=1), samples, alpha, chosen, rule, graph)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 6))
    graph = random_graph(rng, n, draw(st.integers(0, 3)), 0.5, draw(st.booleans()))
    kind = draw(st.sampled_from(["grid", "local", "joint", "global", "binary", "multiclass", "edges"]))
    explicit = draw(st.booleans()) and kind not in ("global", "edges")
    prediction = rng.integers(0, 3, n).astype(draw(st.sampled_from([np.int8, np.uint64, np.int64])))
    base: Any
    if kind in ("binary", "multiclass", "edges"):
        rule = "multiclass" if kind == "multiclass" else "binary"
        base = smoothing(rng, n, draw(st.sampled_from([graph, None])), edges=kind == "edges", rule=rule)
    else:
        axes = tuple(rng.permutation(TYPES[:2] if explicit else FLIPS)[: draw(st.integers(1, 2))].tolist())
        grid = random_grid(rng, n, tuple(int(rng.integers(1, 4)) for _ in axes))
        local = {"local": BaseLocal((1, None, 2, 0)), "joint": BaseLocal(joint=2)}.get(kind)
        if draw(st.booleans()):
            grid = grid.astype(np.uint8)
        chosen = prediction if draw(st.booleans()) else None
        base = GridBase(grid, axes, local, chosen, kind == "global", explicit or draw(st.booleans()))
    field = None
    if explicit:
        # Weights, zeros that are stored and entries in any order, as other programs write them.
        field = sp.csr_array(np.where(rng.random((n, n)) < 0.5, rng.normal(size=(n, n)), 0) + np.eye(n))
        field.data[rng.random(field.nnz) < 0.2] = 0
    return Instance(
        graph,
        base,
        layers=draw(st.integers(0, 3)),
        edge_field=draw(st.sampled_from(["degrees", "messages"])),
        node_field=field,
        targets=draw(st.sampled_from([None, rng.permutation(n)[: n // 2 + 1].astype(np.uint16), []])),
        labels=draw(st.sampled_from([None, rng.integers(0, 3, n).tolist()])),
        class_names=draw(st.none() | st.tuples(names, names, names)),
        node_names=draw(st.none() | st.lists(names, min_size=n, max_size=n).map(tuple)),
        layout=draw(st.sampled_from([None, rng.random((n, 2)), rng.integers(0, 9, (n, 2))])),
        split=draw(st.sampled_from([None, rng.integers(0, 3, n).astype(np.uint8)])),
        meta=draw(st.dictionaries(names, plain, max_size=3)),
    )


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if sp.issparse(a):
        return a.shape == b.shape and np.array_equal(a.toarray(), b.toarray())
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(type(a) is type(b) and a == b)


def assert_same_instance(one: Instance, two: Instance) -> None:
    assert one.digest == two.digest
    for name in ("layers", "edge_field", "node_field", "targets", "labels", "class_names", "node_names", "layout"):
        assert same(getattr(one, name), getattr(two, name)), name
    for name in ("split", "meta", "prediction"):
        assert same(getattr(one, name), getattr(two, name)), name
    assert one.graph.digest == two.graph.digest
    assert one.facts() == two.facts()
    for name in ("axes", "local", "global_fields", "fixed_adjacency"):
        assert getattr(one.base, name) == getattr(two.base, name), name
    for node in range(one.graph.n_nodes):
        assert sorted(one.base.fronts().of_node(node).tolist()) == sorted(two.base.fronts().of_node(node).tolist())
    everyone = np.arange(one.graph.n_nodes)
    edges = one.node_field is None
    first, second = (fields_of(instance, everyone, need_edges=edges) for instance in (one, two))
    assert same(first.nodes, second.nodes)
    assert same(first.edges, second.edges)


@FEW
@given(instance=instances(), seed=st.integers(0, 2**32))
def test_instances_are_themselves_after_a_file(instance: Instance, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "i.npz"
    save_instance(path, instance)
    again = load_instance(path)
    assert_same_instance(instance, again)
    budgets = np.random.default_rng(seed).integers(0, 4, 4).tolist()
    threat = ThreatModel(
        **{name: b for name, b in zip(TYPES, budgets) if instance.node_field is None or "adj" not in name}
    )
    try:
        before = certify(instance, threat, proof=True)
    except InputError as error:
        with pytest.raises(InputError, match=str(error)[:20].replace("(", ".")):
            certify(again, threat)
        return
    after = certify(again, threat, proof=True)
    assert (before.certified, before.bound) == (after.certified, after.bound)
    assert before.proof == after.proof
    assert verify_proof(read_proof(proof_bytes(before.proof, packed=False)), again).accepted
    second = tmp_path / "j.npz"
    save_instance(second, again)
    assert path.read_bytes() == second.read_bytes()


@FEW
@given(
    seed=st.integers(0, 2**32), directed=st.booleans(), texts=st.lists(names, min_size=12, max_size=12), source=plain
)
def test_datasets_are_themselves_after_a_file(
    seed: int, directed: bool, texts: list[str], source: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 5, 3, 0.5, directed)
    split = rng.integers(-1, 3, 5) if texts[11] else None
    labels, five = rng.integers(0, 3, 5).astype(np.uint8), tuple(texts[3:8])
    dataset = Dataset(texts[0] or "d", graph, labels, tuple(texts[8:11]), five, {"from": source}, split)
    save_dataset(tmp_path / "d.npz", dataset)
    again = load_dataset_file(tmp_path / "d.npz")
    assert again.graph.digest == graph.digest
    for name in ("name", "labels", "class_names", "node_names", "source", "split"):
        assert same(getattr(dataset, name), getattr(again, name)), name


@FEW
@given(seed=st.integers(0, 2**32), shares=st.booleans(), per_node=st.booleans())
def test_threat_models_are_themselves_after_json(seed: int, shares: bool, per_node: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 5, 3, 0.5)
    instance = Instance(graph, GridBase(np.ones((5, 2, 2, 2), dtype=bool), ("attr_add", "attr_del", "adj_del")))
    threat = random_threat(rng, instance)
    if shares:
        values: Any = np.round(rng.random(5), 2).astype(np.float32) if per_node else "0.29"
        none = dict.fromkeys((f"local_{name}" for name in TYPES), None)
        threat = threat.replace(**none, local_mode="relative").replace(local_attr_del=values)
    text = json.dumps(threat.to_json())
    again = ThreatModel.from_json(json.loads(text), threat.targets)
    assert again.to_json() == threat.to_json()
    for name in part_names():  # what the text leaves out is the same in both texts
        if not name.startswith(("local_attr", "local_adj")):  # see the capacities below
            assert np.array_equal(getattr(again, name), getattr(threat, name)), name
    assert np.array_equal(again.capacities(graph), threat.capacities(graph))
    assert Problem(instance, again).naive_certified == Problem(instance, threat).naive_certified


def test_shares_of_32_bits_mean_what_they_show() -> None:
    graph = Graph.from_edges(1, [], np.ones((1, 100), dtype=np.int8))
    threat = ThreatModel(local_attr_del=np.array([0.29], dtype=np.float32), local_mode="relative")
    assert threat.local_limits(graph)[1, 0] == 29


def votes_for(n: int) -> dict[str, Any]:
    votes = np.tile([100_000, 0], (n, 1))
    return {
        "votes": votes, "prediction": np.zeros(n, dtype=int), "n_samples": 100_000, "alpha": "0.01",
        "theta": ("0.4", "0.6", "0", "0"),
    }  # fmt: skip


def test_a_base_certificate_of_another_graph_is_refused() -> None:
    few = Graph.from_edges(6, [], np.eye(6, dtype=np.int8))
    many = Graph.from_edges(6, [], np.ones((6, 6), dtype=np.int8))
    with pytest.raises(InputError, match="another graph"):
        Instance(many, SmoothingBase(**votes_for(6), graph=few))
    equal = Graph.from_edges(6, [], np.eye(6, dtype=np.int8))
    assert Instance(few, SmoothingBase(**votes_for(6), graph=equal)).base.graph is not None


def test_votes_without_a_graph_are_bound_to_the_instance(tmp_path: Path) -> None:
    graph = Graph.from_edges(6, [], np.eye(6, dtype=np.int8))
    instance = Instance(graph, SmoothingBase(**votes_for(6)), layers=0)
    save_instance(tmp_path / "i.npz", instance)
    again = load_instance(tmp_path / "i.npz")
    for deletions in (1, 6, 7, 50):
        threat = ThreatModel(attr_del=deletions)
        assert certify(instance, threat).certified == certify(again, threat).certified
    assert instance.base.bits == again.base.bits  # type: ignore[attr-defined]


def test_the_rule_of_the_votes_is_kept(tmp_path: Path) -> None:
    graph = Graph.from_edges(6, [], np.eye(6, dtype=np.int8))
    instance = Instance(graph, SmoothingBase(**votes_for(6), rule="multiclass"))
    save_instance(tmp_path / "i.npz", instance)
    assert load_instance(tmp_path / "i.npz").digest == instance.digest
    binary = load_instance(tmp_path / "i.npz", base_rule="binary")
    assert binary.base.facts["rule"] == "binary"
    assert binary.digest != instance.digest


@pytest.mark.parametrize(
    "wrong",
    [
        {"meta": {"x": float("nan")}},
        {"meta": {"x": np.int64(3)}},
        {"meta": {1: "a", "1": "b"}},
        {"meta": "text"},
        {"class_names": ("a\0",)},
        {"class_names": "ab"},
        {"node_names": ("\ud800", "b")},
        {"layout": np.full((2, 2), 1e300)},
        {"layers": 2.5},
        {"layers": True},
        {"targets": np.array([2**64 - 1], dtype=np.uint64)},
        {"labels": [0, True]},
    ],
)
def test_what_no_file_could_hold_is_refused_at_once(wrong: dict[str, Any]) -> None:
    graph = Graph.from_edges(2, [])
    with pytest.raises(InputError):
        Instance(graph, GridBase(np.ones((2, 2), dtype=bool), ("attr_del",)), **wrong)


def test_nothing_that_was_checked_can_be_changed_afterwards() -> None:
    grid, labels = np.ones((2, 2), dtype=bool), np.array([0, 1])
    instance = Instance(Graph.from_edges(2, []), GridBase(grid, ("attr_del",), prediction=labels), labels=labels)
    digest = instance.digest
    grid[:] = False
    labels[:] = 7
    assert instance.base.arrays()["base_grid"].all()
    assert instance.labels is not None
    assert instance.labels.tolist() == [0, 1]
    assert Instance(instance.graph, instance.base).digest == digest
    threat = ThreatModel(targets=[0], protected=[1], local_attr_del=[1, 2])
    arrays = (threat.targets, threat.protected, threat.local_attr_del)
    for array in (instance.targets, instance.labels, instance.base.grid, *arrays):  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0  # type: ignore[index]


def test_who_normalises_the_matrices_of_a_graph_changes_no_count() -> None:
    """Fields were read from the very matrix that was handed out: divided by degrees, it certified 10 instead of 6."""

    def ring() -> Instance:
        pairs = np.array([(i, (i + 1) % 12) for i in range(12)])
        graph = Graph.from_edges(12, pairs, np.ones((12, 5), dtype=int))
        return Instance(graph, GridBase(np.arange(3) <= np.arange(12)[:, None] % 3, ("attr_del",)), layers=2)

    true = certify(ring(), attr_del=2, local_attr_del=1, attack=False).certified
    instance = ring()
    for matrix in (instance.graph.adjacency, instance.graph.attributes):
        matrix.data = matrix.data / 3
    instance.graph.adjacency.data[:] = 0
    assert certify(instance, attr_del=2, local_attr_del=1, attack=False).certified == true
    assert instance.graph.attributes.sum() == 60
    field = Instance(instance.graph, instance.base, None, node_field=instance.graph.adjacency).node_field
    assert field is not None
    votes = SmoothingBase(np.full((12, 2), 50), np.zeros(12, dtype=int), 100, "0.01", ("0.1", "0.1", "0", "0"))
    kept = (instance.graph.ones, instance.graph.incident, instance.graph.edges, field.data, votes.probability)
    for array in kept:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_graph_without_a_name_gets_that_of_its_file() -> None:
    instance = Instance(Graph.from_edges(2, []), GridBase(np.ones((2, 2), dtype=bool), ("attr_del",)))
    assert named(instance, "mine").meta == {"dataset": "mine"}
    assert named(instance, "mine").digest == instance.digest
    assert named(named(instance, "mine"), "other").meta == {"dataset": "mine"}
