"""The small checker and `certcore verify` say the same of every proof and of every forgery."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from certcore import Instance, ThreatModel, certify, verify_proof
from certcore.program.build import build_structure
from certcore.program.problem import Problem
from certcore.program.structure import Structure
from certcore.verify import proof as proof_module
from tests.checker.cases import accepts, as_seen, forged, signed, votes_case
from tests.oracle.plain import random_case, truth


@contextlib.contextmanager
def each_program_built_once() -> Iterator[None]:
    """`verify` builds the program of a threat model; forgeries that change something else ask for the same one again.

    For one instance only: what it is asked for is told by the rest.
    """
    known: dict[tuple[str, bytes, str], Structure] = {}

    def build(problem: Problem, relaxation: str) -> Structure:
        key = (json.dumps(problem.threat.to_json()), problem.targets.tobytes(), relaxation)
        if key not in known:
            known[key] = build_structure(problem, relaxation)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof_module, "build_structure", build)
        yield


def compare(seed: int, kind: str, forgeries: int) -> tuple[int, int]:
    """Accepted and rejected forgeries of the proofs of one random task; every one judged alike."""
    with each_program_built_once():
        return _compare(seed, kind, forgeries)


def _compare(seed: int, kind: str, forgeries: int) -> tuple[int, int]:
    rng = np.random.default_rng(seed)
    most = None
    if kind == "grid":
        case = random_case(rng)
        (instance, threat), most = case.build(), truth(case)
    else:
        instance, threat = votes_case(rng)
    rule = instance.base.facts.get("rule", "binary")
    seen = as_seen(instance, rule)
    assert seen.digest == instance.digest
    counts = [0, 0]
    for relaxation in ("tight", "paper"):
        proof = json.loads(json.dumps(certify(instance, threat, relaxation=relaxation, attack=False).proof))
        assert accepts(proof, seen), (seed, relaxation)
        assert most is None or proof["targets"] - proof["certified"] >= most
        for _ in range(forgeries):
            claim = forged(rng, proof)
            if claim["base_rule"] != rule:
                continue  # the instance would be read by another rule
            verdict = verify_proof(claim, instance)
            assert accepts(claim, seen) == verdict.accepted, (seed, relaxation, verdict.reason)
            counts[not verdict.accepted] += 1
            same = claim["threat"] == proof["threat"] and claim["target_nodes"] == proof["target_nodes"]
            assert not (verdict.accepted and same and most is not None) or verdict.certified <= len(case.targets) - most
    return counts[0], counts[1]


@pytest.mark.parametrize("kind", ["grid", "votes"])
def test_every_proof_and_every_forgery_is_judged_alike(kind: str) -> None:
    accepted, rejected = np.sum([compare(seed, kind, 4) for seed in range(40)], axis=0)
    assert accepted > 10
    assert rejected > 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["grid", "votes"])
@pytest.mark.parametrize("block", range(2))
def test_thousands_are_judged_alike(kind: str, block: int) -> None:
    for seed in range(1000 + 200 * block, 1200 + 200 * block):
        compare(seed, kind, 6)


def test_what_has_another_form_is_rejected_by_both() -> None:
    """Numbers in another dress, entries too many, lists that do not rise: one thing at a time."""
    rng = np.random.default_rng(3)
    case = random_case(rng)
    while case.whole_graph or case.sigma is None or not case.local or case.mode == "relative":
        case = random_case(rng)
    instance, threat = case.build()
    seen = as_seen(instance)
    proof = json.loads(json.dumps(certify(instance, threat, attack=False).proof))
    assert accepts(proof, seen)
    given, duals = proof["threat"], proof["multipliers"]
    changes: list[dict[str, Any]] = [
        {"bound": [2 * part for part in proof["bound"]]}, {"bound": proof["bound"][0]}, {"bound": None},
        {"certified": float(proof["certified"])}, {"certified": True}, {"targets": str(proof["targets"])},
        {"relaxation": "exact"}, {"relaxation": "strong"}, {"relaxation": None},
        {"target_nodes": [*case.targets, case.targets[0]]}, {"target_nodes": "all"}, {"target_nodes": [0.0]},
        {"threat": given | {"sigma": -1}}, {"threat": given | {"sigma": True}}, {"threat": given | {"note": 1}},
        {"threat": given | {"local": {}}}, {"threat": given | {"local": given["local"] | {"mode": "other"}}},
        {"threat": given | {"protected": []}}, {"threat": given | {"protected": [0, 0]}},
        {"threat": given | {"node_costs": None}}, {"threat": given | {"node_costs": [1] * case.n}},
        {"threat": given | {"attr_del": 10**9 + 1}}, {"threat": {}}, {"threat": None},
        {"multipliers": None}, {"multipliers": duals | {"scale_bits": 41}},
        {"multipliers": duals | {"cuts_touch": [2], "cuts_index": [0]}},
        {"multipliers": duals | {"cuts_touch": [0], "cuts_index": [10**6]}},
        {"multipliers": duals | {"rows": [10**6], "values": [1]}},
        {"multipliers": duals | {"rows": [0], "values": [0]}},
        {"multipliers": duals | {"sets": []}},
    ]  # fmt: skip
    for change in changes:
        claim = signed(proof | change)
        assert not accepts(claim, seen), change
        assert not verify_proof(claim, instance).accepted, change


def test_a_base_certificate_for_smaller_local_budgets_is_refused() -> None:
    from dataclasses import replace

    from certcore import GridBase
    from certcore.base.grid import BaseLocal
    from tests.support import random_graph, random_grid

    rng = np.random.default_rng(1)
    graph = random_graph(rng, 6, 4, 0.5)
    grid = GridBase(random_grid(rng, 6, (4, 4)), ("attr_add", "attr_del"))
    threat = ThreatModel(attr_add=2, attr_del=2, local_attr_add=1, local_attr_del=1)
    for local, fits in (
        (BaseLocal(joint=2), True), (BaseLocal(joint=1), False), (BaseLocal((1, 1, None, None)), True),
        (BaseLocal((None, 0, None, None)), False),
    ):  # fmt: skip
        free = Instance(graph, grid, 1)
        bound = Instance(graph, replace(grid, local=local), 1)
        proof = certify(free, threat, attack=False).proof
        assert proof is not None
        claim = signed(proof | {"instance_digest": bound.digest})
        assert accepts(claim, as_seen(bound)) == verify_proof(claim, bound).accepted == fits
