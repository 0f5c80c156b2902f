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
    costs = {
        "node_costs": rng.integers(1, 4, graph.n_nodes).tolist(),
        "edge_costs": rng.integers(1, 4, graph.n_edges).tolist(),
    }
    add(budgets(5) | {"node_costs": costs["node_costs"]})
    add(budgets(5) | {"edge_costs": costs["edge_costs"]})
    chosen = np.sort(rng.permutation(graph.n_nodes)[:9]).tolist()
    for targets in ("all", "test", "class:1", chosen):
        add(budgets(3), targets)
    # Integer programs that are solved at once: what a time limit cuts off would depend on the machine.
    add(budgets(1), relaxations=("exact",))
    add(budgets(2), chosen, relaxations=("exact",))
    add(budgets(2) | {"sigma": 2}, chosen[:6], relaxations=("exact",))
    add(budgets(2) | local(mode="absolute", **each), chosen[:6], relaxations=("exact",))
    add(budgets(6) | local(mode="absolute", **each) | costs | {"sigma": 3, "protected": protected}, "test")
    if "adj_add" in instance.base.axes:
        for amount in (1, 2):
            add(budgets(1, "adj_add") | {"adj_add": amount})
            add({"adj_add": amount, "sigma": 1})
            add({"adj_add": amount, "local": {"mode": "absolute", "adj_add": 1}, "protected": protected}, "class:0")
        add({"adj_add": 1}, relaxations=("exact",))
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
    add("curve", vary=low, values=[0, 1, 2, 3], relaxation="exact", targets="class:1")
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

    words = ["base", f"precomputed/{name}.npz", "--no-grid", "--base-rule", rule]
    asked.append(_about(name, rule, kind="command", words=words))
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
    words = ["base", f"precomputed/{name}.npz", "--no-grid"]
    return [
        _about(name, "binary", kind="digest"),
        _about(name, "binary", kind="command", words=words),
        _about(name, "binary", kind="certify", threat=first, way="cold", attack=False),
        _about(name, "binary", kind="certify", threat=second, way="cold", attack=False, targets="class:0"),
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
