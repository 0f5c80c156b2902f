"""The browser's replay of flips on the certificates gives the engine's own counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certcore as cc
from certcore.domain.perturbations import ADJ_DEL, TYPES
from certcore.domain.threat import ThreatModel
from certcore.instance.instance import Instance
from certcore.program.problem import Problem
from certcore.result.allocation import Allocation, empty_edges, inadmissible
from certcore.result.allocation import replay as replayed
from certcore.result.attack_effects import reach
from certcore.result.certificate import Certificate
from certcore.result.states import TargetState
from certcore.workbench.parts import graph_data
from certcore.workbench.replay import BY_BALLOTS, BY_LENGTH, BY_LIST, limits_data, replay_data
from tests.pages.toys import grid_instance

ROOT = Path(__file__).resolve().parents[2]
NODE = shutil.which("node")
ATTR = (TYPES.index("attr_add"), TYPES.index("attr_del"))
CASES: dict[str, list[ThreatModel]] = {
    "citeseer-gcn-attr-s0": [
        ThreatModel(attr_del=10),
        ThreatModel(attr_add=2, attr_del=6, sigma=4),
        ThreatModel(attr_del=12, local_attr_del=2, protected=[902, 703], targets=np.arange(0, 2110, 3)),
    ],
    "citeseer-gcn-joint-s0": [ThreatModel(attr_add=1, attr_del=5, adj_del=3), ThreatModel(adj_del=4)],
    "citeseer-gcn-adj-s0": [ThreatModel(adj_del=12), ThreatModel(adj_del=9, local_adj_del=1, protected=[5])],
    "citeseer-gcn_mean-adj-s0": [ThreatModel(adj_del=10)],
    "citeseer-gcn-convex-s0": [ThreatModel(attr_add=20)],
    "cora-gcn-joint-s0": [ThreatModel(attr_del=4, local_attr_del=0.5, local_mode="relative")],
}


def spent_by(attack: Allocation, edges: np.ndarray) -> list[tuple[str, dict[str, int]]]:
    """An attack as the browser holds it: sites, with the number of flips by type."""
    spent: dict[str, dict[str, int]] = {}
    for k in ATTR:
        for node in np.flatnonzero(attack.attributes[ATTR.index(k)]):
            spent.setdefault(str(node), {})[TYPES[k]] = int(attack.attributes[ATTR.index(k), node])
    for e in np.flatnonzero(attack.deleted):
        spent[f"{edges[e, 0]}-{edges[e, 1]}"] = {TYPES[ADJ_DEL]: int(attack.deleted[e])}
    return list(spent.items())


def at_random(problem: Problem, rng: np.random.Generator, *, beyond: bool) -> Allocation:
    """Flips at random places, spending all budgets, or one flip more and one edge twice."""
    graph, threat = problem.instance.graph, problem.threat
    attributes, deleted = np.zeros((3, graph.n_nodes), np.int64), np.zeros(graph.n_edges, np.int64)
    few = rng.choice(graph.n_nodes, min(threat.sigma or 4, 4), replace=False)
    for row, k in enumerate(ATTR):
        np.add.at(attributes[row], rng.choice(few, threat.budgets[k] + beyond * (threat.budgets[k] > 0)), 1)
    deleted[rng.choice(graph.n_edges, threat.adj_del, replace=False)] = 1
    if beyond and threat.adj_del > 1:
        twice, not_at_all = np.flatnonzero(deleted)[:2]
        deleted[twice], deleted[not_at_all] = 2, 0
    control = attributes.any(axis=0) if threat.sigma is not None else np.zeros(graph.n_nodes)
    return replayed(problem, attributes, deleted, empty_edges(), control)


def gains(problem: Problem, attack: Allocation, rng: np.random.Generator) -> list[tuple[str, str, int]]:
    """What one more flip takes, replayed by the engine."""
    found = []
    clean = problem.fronts.clean[problem.targets]
    for k in (k for k in ATTR if problem.threat.budgets[k]):
        for node in rng.choice(problem.instance.graph.n_nodes, 5, replace=False):
            more = attack.attributes.copy()
            more[ATTR.index(k), node] += 1
            then = replayed(problem, more, attack.deleted, empty_edges(), attack.attackers)
            found.append((str(node), TYPES[k], int((then.attacked - attack.attacked)[clean].sum())))
    return found


def naive_to(problem: Problem, rng: np.random.Generator) -> list[tuple[int, str, int]]:
    """The largest budget of a type at which a node is certified on its own, tried one by one; -1: none."""
    found = []
    for k in (k for k in (*ATTR, ADJ_DEL) if problem.threat.budgets[k]):
        budgets = list(problem.threat.budgets)
        certified = []
        for budgets[k] in range(160):
            certified.append(problem.fronts.certified(budgets))
        for node in rng.choice(problem.instance.graph.n_nodes, 30, replace=False):
            number = int(np.array(certified)[:, node].sum())
            if number < 160:  # else at any budget, which has no number
                found.append((int(node), TYPES[k], number - 1))
    return found


def expected(problem: Problem, result: Certificate, attack: Allocation, rng: np.random.Generator) -> dict[str, Any]:
    instance, threat = problem.instance, problem.threat
    shown = replace(result, attack=attack)
    admissible = inadmissible(problem, attack) is None
    case: dict[str, Any] = {
        "limits": limits_data(instance, threat, "1"),
        "budgets": dict(zip(TYPES, threat.budgets)) | {"sigma": threat.sigma},
        "spent": spent_by(attack, instance.graph.edges),
        "admissible": admissible,
    }
    if not admissible:
        return case
    found, states = reach(instance, shown), shown.states(instance.base.fronts())
    assert found is not None
    play = [k for k, budget in enumerate(threat.budgets) if budget]
    margin = np.full(instance.graph.n_nodes, -2)
    margin[found.targets] = found.margin
    sites = {
        f"{a},{b}": [int(reached), int(takes), len(found.broken_by(s))]
        for s, ((a, b), reached, takes) in enumerate(zip(found.ends.tolist(), found.reaches(), found.breaks()))
    }
    codes = list(TargetState)
    return case | {
        "lost": np.sort(found.targets[found.lost]).tolist(),
        "state": [codes.index(state) for state in states],
        "margin": margin.tolist(),
        "received": found.received[:, play].ravel().tolist(),
        "needed": found.needed[:, play].ravel().tolist(),
        "uses": (found.uses @ (1 << np.arange(len(TYPES)))).tolist(),
        "sites": sites,
        "gains": gains(problem, attack, rng),
        "naive": naive_to(problem, rng),
    }


def cases(instance: Instance, threats: list[ThreatModel]) -> list[dict[str, Any]]:
    made, rng = [], np.random.default_rng(7)
    for threat in threats:
        result, problem = cc.certify(instance, threat), Problem(instance, threat)
        assert result.attack is not None
        attacks = [result.attack, *(at_random(problem, rng, beyond=k == 3) for k in range(4))]
        made += [expected(problem, result, attack, rng) for attack in attacks]
    return made


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_replay_in_the_browser_is_that_of_the_engine(tmp_path: Path) -> None:
    groups = []
    for name, threats in CASES.items():
        instance = cc.load_instance(ROOT / "precomputed" / f"{name}.npz")
        groups.append({"name": name, "graph": graph_data(instance), "cases": cases(instance, threats)})
    ring = grid_instance()
    groups.append(
        {"name": "ring", "graph": graph_data(ring), "cases": cases(ring, [ThreatModel(attr_add=2, attr_del=5)])}
    )
    tried = [one["admissible"] for group in groups for one in group["cases"]]
    assert 0 < tried.count(False) < tried.count(True), "some break the budgets or the limits"
    assert sum(len(one["lost"]) for group in groups for one in group["cases"] if one["admissible"]) > 300
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(groups))
    environment = dict(os.environ, CERTCORE_CASES=str(path), CERTCORE_SCRIPTS=str(ROOT / "certcore" / "workbench"))
    assert NODE is not None
    command = [NODE, "--test", str(Path(__file__).with_name("replay.test.js"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("citeseer-decoupled-ballots-s0", BY_BALLOTS),
        ("digits-gcn-l2-s0", BY_LENGTH),
        ("citeseer-appnp-attr-s0", BY_LIST),
        ("citeseer-gcn-attr-s0", ""),
    ],
)
def test_where_a_replay_would_not_be_exact_there_is_a_reason(name: str, why: str) -> None:
    instance = cc.load_instance(ROOT / "precomputed" / f"{name}.npz")
    assert replay_data(instance)["why"] == why
    limits = limits_data(instance, ThreatModel(), "1")
    assert limits["why"] == why
    assert ("capacities" in limits) == (not why)
