"""Proofs and lying solvers: nothing that was not proven is ever certified."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore import Graph, GridBase, Instance, ThreatModel, certify, verify_proof
from certcore.cli import main
from certcore.common.errors import SoundnessError
from certcore.instance.instance import save_instance
from certcore.program.build import build_structure
from certcore.program.problem import SCALE_BITS, Problem
from certcore.program.program import Program
from certcore.solve.master import Proposal, WholeProgram
from certcore.solve.status import Status
from certcore.sweep import Session
from certcore.verify.bound import exact_bound
from certcore.verify.proof import digest_of, make_proof
from tests.oracle.truth import most_broken
from tests.support import random_graph, random_grid, random_instance, random_threat

SCALE = 2**SCALE_BITS
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def example() -> tuple[Instance, ThreatModel, dict[str, Any]]:
    rng = np.random.default_rng(11)
    graph = random_graph(rng, 30, 6, 0.12)
    base = GridBase(random_grid(rng, 30, (4, 5, 4)), ("attr_add", "attr_del", "adj_del"))
    instance = Instance(graph, base, 2)
    threat = ThreatModel(attr_add=2, attr_del=3, adj_del=2, local_attr_del=2, sigma=4)
    proof = certify(instance, threat).proof
    assert proof is not None
    assert verify_proof(proof, instance).accepted
    return instance, threat, json.loads(json.dumps(proof))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in leaves(v, (*path, k))]
    if isinstance(value, list) and value:
        return [p for i, v in enumerate(value) for p in leaves(v, (*path, i))]
    return [path]


def changed(proof: dict[str, Any], path: tuple[Any, ...], how: int) -> dict[str, Any] | None:
    result = copy.deepcopy(proof)
    spot: Any = result
    for step in path[:-1]:
        spot = spot[step]
    value = spot[path[-1]]
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        spot[path[-1]] = value + (1, -1, 7, -value)[how]
    elif isinstance(value, str):
        spot[path[-1]] = value + "x"
    elif value is None:
        spot[path[-1]] = 1
    elif value == []:
        spot[path[-1]] = [1]
    return None if spot[path[-1]] == value else result


@pytest.mark.parametrize("fresh_digest", [False, True])
def test_every_mutation_of_a_proof_is_rejected(example: Any, fresh_digest: bool) -> None:
    """Also with a fresh digest: every number in the file is part of the claim or of what proves it."""
    instance, _, proof = example
    rng = np.random.default_rng(0)
    paths = [p for p in leaves(proof) if p not in {("digest",), ("format",)}]
    few = [p for p in paths if p[0] != "multipliers"]
    many = [p for p in paths if p[0] == "multipliers"]
    chosen = few + [many[i] for i in rng.permutation(len(many))[:150]]
    for path in chosen:
        for how in range(4):
            forged = changed(proof, path, how)
            if forged is None:
                continue
            if fresh_digest:
                forged["digest"] = digest_of(forged)
            verdict = verify_proof(forged, instance)
            if verdict.accepted:
                # What is left has to be true: a dual value that costs nothing, or a limit that never binds.
                assert fresh_digest
                assert path[0] == "multipliers" or path[:2] in {("threat", "local"), ("threat", "sigma")}
                claimed = ThreatModel.from_json(forged["threat"])
                assert verdict.certified <= certify(instance, claimed, attack=False).certified


def test_a_proof_does_not_fit_another_instance(example: Any) -> None:
    instance, threat, proof = example
    graph = instance.graph
    others = [
        Instance(Graph.from_edges(30, graph.edges[1:], graph.attributes), instance.base, 2),
        Instance(Graph.from_edges(30, graph.edges, 1 - graph.attributes.toarray()), instance.base, 2),
        Instance(graph, instance.base, 1),
        Instance(graph, instance.base, 2, "messages"),
        Instance(graph, instance.base, 2, targets=np.arange(29)),
        Instance(graph, GridBase(instance.base.grid[::-1], instance.base.axes), 2),
    ]
    for other in others:
        assert other.digest != instance.digest
        assert not verify_proof(proof, other).accepted
        forged = proof | {"instance_digest": other.digest}
        forged["digest"] = digest_of(forged)
        verdict = verify_proof(forged, other)
        if verdict.accepted:  # the same dual values may prove the same count there; then it must be true
            assert verdict.certified <= certify(other, threat).certified


def test_overstating_is_rejected_with_the_reason(example: Any) -> None:
    instance, _, proof = example
    forged = proof | {"certified": proof["certified"] + 1}
    forged["digest"] = digest_of(forged)
    verdict = verify_proof(forged, instance)
    assert not verdict.accepted
    assert "claims" in verdict.reason


def test_numbers_in_another_dress_are_rejected(example: Any) -> None:
    """Floats and truth values that compare equal are not what certify writes; text that JSON cannot hold is told."""
    instance, _, proof = example
    everybody = list(range(30))
    assert verify_proof(proof | fresh(proof | {"target_nodes": everybody}), instance).accepted
    for change in (
        {"target_nodes": [0.5, *everybody[1:]]},
        {"target_nodes": [float(m) for m in everybody]},
        {"target_nodes": [False, *everybody[1:]]},
        {"target_nodes": [*everybody, 30], "targets": 31},
        {"targets": 30.0},
        {"certified": float(proof["certified"])},
        {"bound": [float(proof["bound"][0]), proof["bound"][1]]},
        {"bound": [2 * part for part in proof["bound"]]},
        {"base_rule": "multiclass"},
        {"multipliers": proof["multipliers"] | {"scale_bits": 40.0}},
    ):
        assert not verify_proof(fresh(proof | change), instance).accepted, change
    assert "canonical JSON" in verify_proof(proof | {"relaxation": "\ud800"}, instance).reason


def fresh(proof: dict[str, Any]) -> dict[str, Any]:
    return proof | {"digest": digest_of(proof)}


class Liar(WholeProgram):
    """A solver that answers wrongly in many ways and always says it is optimal."""

    seed = 0
    mode = "noise"

    def solve(self, **options: Any) -> Proposal:
        honest = super().solve(**options)
        rng = np.random.default_rng(self.seed)
        y = np.zeros(1) if honest.y is None else honest.y
        match self.mode:
            case "noise":
                y = y * rng.uniform(0, 2, len(y)) - 0.01
            case "zero":
                y = np.zeros_like(y)
            case "shuffle":
                y = rng.permutation(y)
            case "huge":
                y = y * 1e30
            case "nan":
                y = np.full(len(y), np.nan)
            case "short":
                y = y[:-1]
            case "none":
                return replace(honest, status=Status.OPTIMAL, y=None, x=None)
            case "wild":  # nonsense for values: only pictures and attacks start from them
                x = rng.normal(0, 100, 0 if honest.x is None else len(honest.x))
                return replace(honest, status=Status.OPTIMAL, x=x)
            case "holes":
                x = np.full(0 if honest.x is None else len(honest.x), np.nan)
                return replace(honest, status=Status.OPTIMAL, x=x)
            case "stopped":  # "optimal" on a solve that was stopped at once
                honest = super().solve(**(options | {"time_limit": 0.0}))
                return replace(honest, status=Status.OPTIMAL)
            case "failed":
                return replace(honest, status=Status.FAILED, y=None, x=None)
        return replace(honest, status=Status.OPTIMAL, y=y)


MODES = ["noise", "zero", "shuffle", "huge", "nan", "short", "none", "wild", "holes", "stopped", "failed"]


@pytest.mark.slow
@given(seeds, st.sampled_from(MODES))
@settings(max_examples=200)
def test_a_lying_solver_never_raises_a_count(seed: int, mode: str) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=5)
    threat = random_threat(rng, instance)
    liar = type("ThisLiar", (Liar,), {"seed": seed, "mode": mode})
    most = most_broken(instance, threat)
    for relaxation in ("tight", "paper"):
        honest = certify(instance, threat, relaxation=relaxation, attack=False)
        lied = certify(instance, threat, relaxation=relaxation, factory=liar)
        assert lied.certified <= honest.certified
        assert lied.certified <= lied.targets - most
        assert lied.naive_certified <= lied.certified
        assert verify_proof(lied.proof, instance).accepted


def test_a_stopped_solve_is_not_optimal() -> None:
    import threading

    rng = np.random.default_rng(2)
    graph = random_graph(rng, 60, 6, 0.06)
    instance = Instance(graph, GridBase(random_grid(rng, 60, (4, 6)), ("attr_add", "attr_del")), 2)
    threat = ThreatModel(attr_add=3, attr_del=5)
    stopped = threading.Event()
    stopped.set()
    cancelled = certify(instance, threat, cancel=stopped)
    hurried = certify(instance, threat, time_limit=1e-9)
    full = certify(instance, threat)
    assert full.status == "optimal"
    assert cancelled.status == "interrupted"
    assert hurried.status == "time_limit"
    for certificate in (cancelled, hurried):
        assert certificate.naive_certified <= certificate.certified <= full.certified
        assert verify_proof(certificate.proof, instance).accepted


@given(seeds)
@settings(max_examples=60)
def test_any_multipliers_bound_the_optimum(seed: int) -> None:
    """Weak duality itself: random non-negative integers never give less than a feasible solution achieves."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=5)
    threat = random_threat(rng, instance)
    structure = build_structure(Problem(instance, threat), "tight")
    program = Program(structure, threat.budgets, threat.sigma)
    y = rng.integers(0, SCALE, program.matrix.shape[0]) * rng.integers(0, 2, program.matrix.shape[0])
    bound = structure.constant + exact_bound(program, y)
    assert bound >= most_broken(instance, threat)


def test_64_bits_and_python_integers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    import certcore.verify.bound as module

    rng = np.random.default_rng(4)
    instance = random_instance(rng, max_nodes=6, axes=("attr_add", "attr_del"))
    threat = ThreatModel(attr_add=3, attr_del=3)
    program = Program(build_structure(Problem(instance, threat), "tight"), threat.budgets, None)
    for _ in range(20):
        y = rng.integers(0, SCALE, program.matrix.shape[0])
        fast = exact_bound(program, y)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_SAFE", 0.0)
            slow = exact_bound(program, y)
        assert fast == slow


@given(seeds)
@settings(max_examples=60)
def test_warm_is_cold(seed: int) -> None:
    """Moving one model through several budgets gives the same objective as solving each from scratch."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_nodes=6, axes=("attr_del", "adj_del"))
    sigma = None if rng.random() < 0.5 else int(rng.integers(0, 4))
    threat = ThreatModel(attr_del=3, adj_del=3, sigma=sigma)
    structure = build_structure(Problem(instance, threat), "tight", extent=threat.budgets)
    if not len(structure.groups):
        return
    steps: list[Program] = []
    for _ in range(4):
        budgets = ThreatModel(attr_del=int(rng.integers(1, 4)), adj_del=int(rng.integers(1, 4))).budgets
        steps.append(Program(structure, budgets, None if sigma is None else int(rng.integers(0, 4))))
    model = WholeProgram(steps[0])
    for program in steps:
        model.move(program)
        warm = model.solve(time_limit=10)
        cold = WholeProgram(program).solve(time_limit=10)
        assert warm.x is not None
        assert cold.x is not None
        assert program.objective @ warm.x == pytest.approx(program.objective @ cold.x, abs=1e-7)


def test_another_base_rule_is_another_instance() -> None:
    """Caches and proofs go by the digest, so the rule that reads the votes must be in it."""
    from certcore.base.smoothing import SmoothingBase

    rng = np.random.default_rng(0)
    graph = random_graph(rng, 8, 4, 0.4)
    votes = rng.multinomial(1000, [0.85, 0.1, 0.05], size=8)
    digests = set()
    for rule in ("binary", "multiclass"):
        base = SmoothingBase(
            votes=votes, prediction=np.zeros(8, dtype=int), n_samples=1000, alpha=0.01,
            theta=("0.01", "0.6", "0", "0"), rule=rule, graph=graph,
        )  # fmt: skip
        instance = Instance(graph, base, 1)
        digests.add(instance.digest)
        proof = certify(instance, ThreatModel(attr_del=2)).proof
        assert proof is not None
        assert proof["base_rule"] == rule
        assert verify_proof(proof, instance).accepted
    assert len(digests) == 2


@pytest.mark.parametrize("bits", [20, 41, 50, 58, 62])
def test_huge_multipliers_do_not_wrap_around(bits: int) -> None:
    """A forged proof may name dual values whose products do not fit into 64 bits: the bound must not shrink by that."""
    rng = np.random.default_rng(bits)
    for _ in range(20):
        matrix, rhs = rng.integers(-9, 10, (3, 4)), rng.integers(0, 10**9, 3)
        upper, objective = rng.integers(0, 10**9, 4), rng.integers(0, 10**6, 4)
        y = rng.integers(0, 2**bits, 3)
        total = sum(a * b for a, b in zip(y.tolist(), rhs.tolist()))
        for column, c, most in zip(matrix.T.tolist(), objective.tolist(), upper.tolist()):
            paid = sum(a * b for a, b in zip(y.tolist(), column))
            total += max(0, c * SCALE - paid) * most
        program = SimpleNamespace(matrix=sp.csr_array(matrix), rhs=rhs, upper=upper, objective=objective)
        assert exact_bound(program, y) == Fraction(total, SCALE)


def test_a_rejected_proof_is_not_handed_out(
    example: tuple[Instance, ThreatModel, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A proof under the name of another relaxation is neither an attribute nor a file."""

    def wrong(*given: Any) -> dict[str, Any]:
        proof = make_proof(*given) | {"relaxation": "strong"}
        return proof | {"digest": digest_of(proof)}

    monkeypatch.setattr("certcore.result.assemble.make_proof", wrong)
    instance, path = example[0], tmp_path / "small.npz"
    save_instance(path, instance)
    found = Session(instance).certify(ThreatModel(attr_del=2), proof=True, attack=False)
    with pytest.raises(SoundnessError, match="is rejected by the verifier"):
        _ = found.proof
    assert main(["certify", str(path), "--attr-del", "2", "--proof", str(tmp_path / "p.json")]) == 70
    assert "rejected by the verifier" in capsys.readouterr().err
    assert not (tmp_path / "p.json").exists()
