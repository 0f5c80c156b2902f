"""What the net asks: read by the recorder only. The replay finds every question beside its answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.net.ask import Question, instance_of
from tests.net.toys import SEED

Group = list[Question]


def toy_certificates(name: str, rule: str = "binary") -> Group:
    """One toy under every part of a threat model, both relaxations, cold and through a session."""
    asked: Group = []

    def add(threat: dict[str, Any], targets: Any = None, relaxations: tuple[str, ...] = ("tight", "paper")) -> None:
        for relaxation in relaxations:
            for way in ("cold", "session"):
                asked.append(
                    _about(name, rule, kind="certify", threat=threat, targets=targets, relaxation=relaxation, way=way)
                )

    instance = instance_of(name, rule)
    graph, axes = instance.graph, [a for a in instance.base.axes if a != "adj_add"]
    rng = np.random.default_rng(SEED)
    limits = _limits(name)

    def budgets(amount: int, *extra: str) -> dict[str, Any]:
        return dict.fromkeys([*axes, *extra], amount) | ({"local": limits} if limits else {})

    def local(**values: Any) -> dict[str, Any]:
        return {"local": (limits or {}) | values}

    asked.append(_about(name, rule, kind="digest"))
    for axis in axes:
        for amount in (1, 4):
            add({axis: amount} | ({"local": limits} if limits else {}))
    for amount in (0, 2, 3, 6):
        add(budgets(amount))
    for sigma in (0, 1, 3):
        add(budgets(4) | {"sigma": sigma})
    each = dict.fromkeys(axes, 1)
    add(budgets(5) | local(mode="absolute", **each))
    add(budgets(5) | local(mode="absolute", **each) | {"sigma": 2})
    if not limits:
        add(budgets(5) | local(mode="relative", **dict.fromkeys(axes, "1/3")))
        add(budgets(5) | local(mode="relative", **dict.fromkeys(axes, "1/2")) | {"sigma": 3})
    per_node = {axis: rng.integers(0, 3 if not limits else 2, graph.n_nodes).tolist() for axis in axes}
    add(budgets(5) | local(mode="absolute", **per_node))
    protected = np.sort(rng.permutation(graph.n_nodes)[:6]).tolist()
    add(budgets(4) | {"protected": protected})
    chosen = np.sort(rng.permutation(graph.n_nodes)[:9]).tolist()
    for targets in ("all", "test", "class:1", chosen):
        add(budgets(3), targets)
    add(budgets(6) | local(mode="absolute", **each) | {"sigma": 3, "protected": protected}, "test")
    if "adj_add" in instance.base.axes:
        for amount in (1, 2):
            add(budgets(1, "adj_add") | {"adj_add": amount})
            add({"adj_add": amount, "sigma": 1})
            add({"adj_add": amount, "local": {"mode": "absolute", "adj_add": 1}, "protected": protected}, "class:0")
    return asked


def toy_sweeps(name: str, rule: str = "binary") -> Group:
    """Curves, surfaces, radii, defences and previews of one toy."""
    instance = instance_of(name, rule)
    axes, limits = list(instance.base.axes), _limits(name)
    fixed: dict[str, Any] = {"local": limits} if limits else {}
    first, last = axes[0], axes[-1]
    local_of = first if first != "adj_add" else last
    low = min(axes, key=lambda axis: axis == "adj_add")  # where fields stay local
    asked: Group = []

    def add(kind: str, threat: dict[str, Any] | None = None, **parts: Any) -> None:
        asked.append(_about(name, rule, kind=kind, threat=fixed | (threat or {}), **parts))

    for axis in axes:
        add("curve", vary=axis, values=list(range(9)))
        add("curve", {"sigma": 2}, vary=axis, values=list(range(6)))
    add("curve", vary=first, values=list(range(0, 9, 2)), relaxation="paper")
    add("curve", {low: 5}, vary="sigma", values=list(range(6)))
    add("curve", {local_of: 6}, vary=f"local_{local_of}", values=[0, 1, 2] if limits else [0, 1, 2, 3])
    add("curve", {"protected": [0, 1, 2]}, vary=low, values=[0, 2, 4], targets="class:0")
    if len(axes) > 1:
        add("surface", x=first, x_values=[0, 1, 2, 4], y=last, y_values=[0, 1, 3, 5])
        add("surface", x=first, x_values=[0, 2, 3], y=last, y_values=[0, 2, 4], relaxation="paper")
    add("surface", x=low, x_values=[0, 2, 4], y="sigma", y_values=[0, 1, 2, 4])
    for share in ("0.9", "0.5"):
        add("radius", vary=low, at_least=share)
    add("radius", {low: 4}, vary="sigma", at_least="0.8")
    if not instance.base.global_fields:
        add("defend", {low: 3}, nodes=2)
    add("preview", {low: 7})
    return asked


def bundle(name: str, rule: str = "binary", *, full: bool = True) -> Group:
    """One bundle: what its base certificate says, curves over its types, a few single certificates."""
    instance = instance_of(name, rule)
    axes, local = list(instance.base.axes), instance.base.local
    limits = {"mode": "absolute", "attr_add": 21} if local is not None else None
    fixed: dict[str, Any] = {"local": limits} if limits else {}
    asked: Group = [_about(name, rule, kind="digest")]

    def add(kind: str, threat: dict[str, Any] | None = None, **parts: Any) -> None:
        asked.append(_about(name, rule, kind=kind, threat=fixed | (threat or {}), **parts))

    if "attr_l2" in axes:  # budgets are lengths
        add("curve", vary="attr_l2", values=["0", "0.5", "1", "2", "4"])
        both = {"adj_del": 2} if "adj_del" in axes else {}
        add("certify", {"attr_l2": "1", **both}, way="cold", attack=False)
        add("certify", {"attr_l2": "2", **both, "sigma": 3}, way="session", attack=False, targets="class:2")
        return asked
    if "inject" in axes:  # ballots
        add("curve", vary="adj_add", values=[0, 1, 10, 50])
        add("curve", {"local": {"mode": "absolute", "inject": 5}}, vary="inject", values=[0, 1, 10])
        if not name.startswith("pubmed"):
            add("certify", {"adj_add": 5, "adj_del": 5}, way="cold", attack=False)
            add("certify", {"attr_add": 100, "attr_del": 100, "sigma": 2}, way="cold", attack=False, targets="class:1")
        return asked
    reach = {"attr_add": [0, 1, 2, 4, 6], "attr_del": [0, 1, 2, 4, 7, 10, 15, 20], "adj_del": [0, 1, 2, 4, 6]}
    for axis in axes:
        add("curve", vary=axis, values=reach[axis])
    first, last = axes[0], axes[-1]
    add("certify", {last: 3}, way="cold", attack=False)
    add("certify", {last: 2}, way="cold", targets="class:1")
    add("certify", {last: 5, "sigma": 2}, way="session", attack=False, targets="class:2")
    if full:
        if len(axes) > 1:
            add("surface", x=first, x_values=[0, 1, 2], y=last, y_values=[0, 2, 4], targets="class:0")
        add("curve", {"protected": list(range(0, 200, 5))}, vary=last, values=[0, 2, 5], targets="class:3")
        each = (limits or {"mode": "absolute"}) | {last: 1}
        add("curve", {"local": each}, vary=last, values=[0, 2, 4], targets="class:1")
        add("curve", vary=last, values=[0, 1, 3], relaxation="paper", targets="class:1")
        add("radius", vary=last, at_least="0.8")
    return asked


def large(name: str = "pubmed-gcn-attr-s0") -> Group:
    """The largest bundles: two cheap points."""
    first, second = {
        "attr": ({"attr_del": 1}, {"attr_add": 1}),
        "adj": ({"adj_del": 1}, {"adj_del": 4}),
        "l2": ({"attr_l2": "0.05"}, {"attr_l2": "0.02"}),
    }[name.split("-")[2]]
    return [
        _about(name, "binary", kind="digest"),
        _about(name, "binary", kind="certify", threat=first, way="cold", attack=False),
        _about(name, "binary", kind="certify", threat=second, way="cold", attack=False, targets="class:0"),
    ]


def strong_and_large() -> list[Group]:
    """What the other lists leave out: strong bounds by rounds, PubMed, attacks, long distances, previews."""

    def group(name: str, *asked: Question) -> Group:
        return [{"instance": name, **question} for question in asked]

    def strong(rounds: int, targets: str | None = None, **threat: Any) -> Question:
        question = {"kind": "certify", "threat": threat, "relaxation": "strong", "rounds": rounds, "way": "cold"}
        return question | ({"targets": targets} if targets else {})

    def tight(targets: str | None = None, **threat: Any) -> Question:
        question = {"kind": "certify", "threat": threat, "way": "session", "attack": False}
        return question | ({"targets": targets} if targets else {})

    def asked(kind: str, **threat: Any) -> Question:
        return {"kind": kind, "threat": threat}

    rewritten, linked = {"attr_add": 10**4, "attr_del": 10**4}, {"local": {"mode": "absolute", "inject": 5}}
    budgets = ({"attr_del": 5}, {"attr_del": 12}, {"attr_del": 20}, {"attr_del": 40})
    both = ({"attr_add": 1, "attr_del": 8}, {"attr_add": 3, "attr_del": 15}, {"attr_add": 2, "attr_del": 10})
    payers = ({"attr_del": 15, "sigma": 3}, {"attr_del": 25, "sigma": 5}, {"attr_del": 20, "sigma": 8})
    return [
        group(
            "citeseer-gcn-attr-s1",
            strong(6, attr_del=20),
            strong(3, attr_del=50),
            strong(3, "class:1", attr_add=2, attr_del=20),
        ),
        group("citeseer-gcn-attr-s0", strong(3, "class:2", attr_del=30, sigma=5), strong(3, attr_add=1, attr_del=10)),
        group(
            "citeseer-gcn-joint-s0",
            strong(2, "class:3", attr_del=5, adj_del=3),
            strong(2, "class:1", attr_del=12, adj_del=6),
        ),
        group(
            "citeseer-gcn-adj-s1",
            strong(3, adj_del=20),
            strong(2, "class:1", adj_del=20, sigma=3),
            strong(2, "class:2", adj_del=50, sigma=5),
        ),
        group("cora-gcn-attr-s0", strong(3, attr_del=30)),
        group("digits-gcn-l2_joint-s0", strong(3, adj_del=5)),
        group(
            "pubmed-gcn-attr-s0",
            tight("class:0", attr_del=2, sigma=2),
            tight("class:0", attr_del=8, sigma=2),
            tight("class:0", attr_add=1, attr_del=5),
        ),
        group(
            "pubmed-decoupled-ballots-s0",
            tight("class:0", attr_add=2, attr_del=1),
            tight("class:1", **rewritten, sigma=1),
            tight("class:1", adj_add=20, adj_del=20),
            tight("class:0", adj_add=10, inject=2, **linked),
        ),
        group("pubmed_tfidf-gcn-adj-s0", tight("class:0", adj_del=10)),
        group(
            "citeseer-gcn-attr-s0",
            *(asked("attack", **threat) for threat in (*budgets[1:], both[2], payers[1])),
        ),
        group("citeseer-gcn-adj-s0", asked("attack", adj_del=20), asked("attack", adj_del=20, sigma=3)),
        group("cora-decoupled-ballots-s0", asked("attack", adj_add=20), asked("attack", inject=5, **linked)),
        group("digits-gcn-l2-s0", asked("attack", attr_l2="4"), tight(attr_l2="8"), tight(attr_l2="14")),
        group(
            "digits-gcn-l2_joint-s0",
            tight(attr_l2="1", adj_del=10),
            tight("class:4", attr_l2="2", adj_del=2),
        ),
        group(
            "citeseer-gcn-attr-s0",
            tight(attr_del=20),
            *(asked("preview", **threat) for threat in budgets),
            tight(attr_add=2, attr_del=10),
            *(asked("preview", **threat) for threat in both),
            tight(attr_del=20, sigma=5),
            *(asked("preview", **threat) for threat in payers),
        ),
    ]


def _limits(name: str) -> dict[str, Any] | None:
    """The local budgets without which a toy's base certificate says nothing."""
    return {
        "limited-joint": {"mode": "absolute", "attr_add": 1, "attr_del": 2},
        "limited-adds": {"mode": "absolute", "attr_add": 2},
    }.get(name)


def _about(name: str, rule: str, **parts: Any) -> Question:
    question = {"instance": name, **parts}
    if rule != "binary":
        question["rule"] = rule
    return {key: value for key, value in question.items() if value is not None and value != {}}
