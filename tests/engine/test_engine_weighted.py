"""Weights through certify, proofs and the small checker: bytes, forgeries, large numbers and bad input."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, certify, curve, read_proof, verify_proof
from certcore.common.errors import InputError
from certcore.domain.weights import MAX_TOTAL
from certcore.solve import solver
from certcore.sweep import defend, radius
from certcore.verify.proof import proof_bytes
from tests.checker.cases import accepts, as_seen, signed, votes_case
from tests.support import random_graph, random_grid

N = 30


@pytest.fixture(scope="module")
def instance() -> Instance:
    rng = np.random.default_rng(48)
    base = GridBase(random_grid(rng, N, (4, 4)), ("attr_del", "adj_del"))
    return Instance(random_graph(rng, N, 6, 0.1), base, 1, targets=np.arange(2, N))


def given(seed: int, most: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, most, N)


def test_weights_of_one_give_the_same_bytes(instance: Instance) -> None:
    for threat in (ThreatModel(attr_del=3, adj_del=2), ThreatModel(attr_del=3, sigma=2), ThreatModel(adj_del=3)):
        plain = certify(instance, threat)
        for ones in (np.ones(N), [1] * N, np.ones(N, dtype=np.int32)):
            same = certify(instance, threat.replace(weights=ones))
            assert proof_bytes(same.proof or {}, packed=True) == proof_bytes(plain.proof or {}, packed=True)
            assert (same.certified, same.naive_certified, same.attack_found) == (
                plain.certified, plain.naive_certified, plain.attack_found,
            )  # fmt: skip


def test_both_checkers_accept_and_refuse_alike(instance: Instance) -> None:
    seen = as_seen(instance)
    for relaxation in ("tight", "paper", "strong"):
        found = certify(instance, attr_del=3, adj_del=2, sigma=3, weights=given(1), relaxation=relaxation)
        proof = json.loads(json.dumps(found.proof))
        read_proof(json.dumps(proof).encode())
        assert verify_proof(proof, instance).certified == found.certified == proof["kept"][0]
        assert accepts(proof, seen)
        for forged in forgeries(proof):
            assert not verify_proof(forged, instance).accepted, forged
            assert not accepts(forged, seen), forged


def forgeries(proof: dict[str, Any]) -> list[dict[str, Any]]:
    weights, (kept, total), duals = proof["weights"], proof["kept"], proof["multipliers"]
    heavier = [*weights[:-1], weights[-1] + 1]
    changes: list[dict[str, Any]] = [
        {"kept": [kept + 1, total]}, {"kept": [kept, total + 1]}, {"kept": [kept]}, {"kept": [float(kept), total]},
        {"weights": heavier}, {"weights": heavier, "kept": [kept + 2, total + 1]},
        {"weights": weights[:-1]}, {"weights": [*weights, 1]}, {"weights": [0, *weights[1:]]},
        {"weights": [1] * len(weights)}, {"weights": [float(w) for w in weights]}, {"weights": None},
        {"weights": [10**12, *weights[1:]]}, {"weights": [2 * w for w in weights], "kept": [2 * kept, 2 * total]},
        {"of": "certcore-proof-3"}, {"of": "certcore-proof-4"}, {"of": "certcore-proof-6"}, {"of": None},
        {"targets": total}, {"multipliers": duals | {"scale_bits": duals["scale_bits"] - 1}},
        {"multipliers": duals | {"scale_bits": 41}}, {"bound": [proof["bound"][0] - 1, proof["bound"][1]]},
    ]  # fmt: skip
    return [signed(proof | change) for change in changes]


def test_other_weights_prove_only_what_is_true_of_them(instance: Instance) -> None:
    """The dual values may prove something about other weights too; both checkers agree, and it is never too much."""
    seen, accepted = as_seen(instance), 0
    weights = given(1)
    proof = certify(instance, attr_del=3, adj_del=2, weights=weights).proof
    assert proof is not None
    kept, total = proof["kept"]
    for node in range(2, N):
        for more in (-1, 1, 5):
            other = weights.copy()
            other[node] = max(1, other[node] + more)
            added = int(other[node] - weights[node])
            for gain in sorted({0, added}):
                claim = {"weights": other[2:].tolist(), "kept": [kept + gain, total + added]}
                forged = signed(proof | claim)
                holds = verify_proof(forged, instance).accepted
                assert accepts(forged, seen) == holds
                accepted += holds
                if holds:
                    assert (
                        kept + gain <= certify(instance, attr_del=3, adj_del=2, weights=other, attack=False).certified
                    )
    assert accepted


def test_a_weighted_proof_cannot_be_read_as_another(instance: Instance) -> None:
    proof = certify(instance, attr_del=3, weights=given(2)).proof
    assert proof is not None
    plain = {key: value for key, value in proof.items() if key not in ("of", "weights", "kept")}
    renamed = signed(plain | {"format": proof["of"], "certified": proof["kept"][0]})
    assert not verify_proof(renamed, instance).accepted
    assert not accepts(renamed, as_seen(instance))
    for wrong in (proof | {"format": proof["of"]}, proof | {"certified": 1}, proof | {"of": "certcore-proof-9"}):
        with pytest.raises(InputError):
            read_proof(json.dumps(signed(wrong)).encode())


def test_votes_of_every_sort_are_accepted() -> None:
    """Random small instances with votes, where fields, rules and local budgets differ."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        instance, threat = votes_case(rng)
        n = instance.graph.n_nodes
        found = certify(instance, threat.replace(weights=rng.integers(1, 2000, n)), attack=False)
        assert found.proof is not None
        assert accepts(found.proof, as_seen(instance, str(instance.base_rule)))


@pytest.mark.parametrize("factor", [1, 10**3, 10**6, 10**9, MAX_TOTAL // N - 1])
def test_large_weights_change_the_scale_only(instance: Instance, factor: int) -> None:
    """Sums up to 10¹² keep 52 bits together with dual values."""
    plain = certify(instance, attr_del=3, adj_del=2, sigma=3)
    weights = np.full(N, factor)
    weights[5] += 1
    found = certify(instance, attr_del=3, adj_del=2, sigma=3, weights=weights)
    assert float(found.bound) / factor == pytest.approx(float(plain.bound), rel=1e-6, abs=1.01 / factor)
    assert found.proof is not None
    assert found.proof["multipliers"]["scale_bits"] == min(40, 52 - found.targets.bit_length())
    assert accepts(found.proof, as_seen(instance))
    assert abs(found.attack_found - factor * plain.attack_found) <= factor + 1  # type: ignore[operator]


def test_zero_weights_are_left_out(instance: Instance) -> None:
    weights = given(3)
    weights[[4, 9, 11]] = 0
    kept = [node for node in range(2, N) if weights[node]]
    found = certify(instance, attr_del=3, weights=weights)
    alone = certify(instance, attr_del=3, weights=weights, targets=kept)
    assert (found.targets, found.certified, found.proof) == (alone.targets, alone.certified, alone.proof)
    assert found.target_nodes.tolist() == kept


def test_degrees_are_the_numbers_of_edges(instance: Instance) -> None:
    found = certify(instance, attr_del=3, weights="degree")
    degrees = np.asarray(instance.graph.adjacency.sum(axis=1)).ravel()
    assert found.certified == certify(instance, attr_del=3, weights=degrees).certified
    assert found.targets == degrees[2:].sum()


def test_decimals_are_exact(instance: Instance) -> None:
    weights = given(4)
    tenths = certify(instance, attr_del=3, weights=[w / 10 for w in weights.tolist()])
    whole = certify(instance, attr_del=3, weights=weights)
    assert (tenths.certified, tenths.targets) == (whole.certified, whole.targets)
    assert tenths.kept == whole.kept / 10 == Fraction(whole.certified, 10)
    assert tenths.weight == Fraction(int(weights[2:].sum()), 10)
    assert certify(instance, attr_del=3).kept == certify(instance, attr_del=3).certified


def test_sweeps_agree_with_single_questions(instance: Instance) -> None:
    weights = given(5)
    line = curve(instance, vary="attr_del", values=range(6), adj_del=1, weights=weights)
    single = [certify(instance, attr_del=v, adj_del=1, weights=weights, attack=False) for v in range(6)]
    assert line.certified.tolist() == [one.certified for one in single]
    assert line.naive.tolist() == [one.naive_certified for one in single]
    found = radius(instance, vary="attr_del", at_least="0.5", adj_del=1, weights=weights)
    needed = math.ceil(sum(weights[2:].tolist()) / 2)
    assert found.needed == needed
    assert found.value == max(v for v in range(6) if single[v].certified >= needed)


def test_protecting_gains_weight(instance: Instance) -> None:
    threat = ThreatModel(attr_del=3, weights=given(6))
    found = defend(instance, threat, 2)
    assert found.certified == certify(instance, threat).certified
    assert found.steps
    again = certify(instance, threat.replace(protected=found.nodes))
    assert again.certified == found.certified + found.gain


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1] * (N - 1), f"one per node of the graph, {N}"),
        ([1] * (N - 1) + [-1], "weight of node 29 is -1"),
        ([1.0] * 7 + [math.nan] + [1.0] * (N - 8), "weight of node 7 is 'nan'"),
        ([math.inf] * N, "weight of node 0 is 'inf'"),
        (["1"] * N, "weight of node 0"),
        ([True] * N, "weight of node 0 is 'True'"),
        ([None] * N, "weight of node 0"),
        ([0] * N, "are 0"),
        ([10**12] * N, "divide all weights"),
        ([10**13] * N, "divide all weights"),
        ([0.1234567] * N, "6 decimal places"),
        ("pagerank", "'degree'"),
        (3, "one number per node"),
        (np.ones((N, 2)), "one number per node"),
    ],
)
def test_bad_weights_are_refused_in_one_sentence(instance: Instance, weights: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        certify(instance, attr_del=1, weights=weights)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_equal_questions_with_other_weights_have_other_keys(instance: Instance) -> None:
    from certcore.sweep.family import Question, ThreatFamily

    plain = ThreatModel(attr_del=3)
    models = [plain, *(plain.replace(weights=w) for w in (given(7), given(8), given(7) / 10, "degree"))]
    assert len({Question(instance, threat).key for threat in models}) == len(models)
    assert len({ThreatFamily.of(threat) for threat in models}) == len(models)
    assert "weights" not in Question(instance, plain).stored()


def test_an_isolated_graph_has_no_degrees() -> None:
    lonely = Instance(Graph.from_edges(3, np.zeros((0, 2))), GridBase(np.ones((3, 2), bool), ("adj_del",)), 1)
    with pytest.raises(InputError, match="are 0"):
        certify(lonely, adj_del=1, weights="degree")


def test_values_between_used_up_rounds_are_not_told_as_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def rounds(most: int) -> None:
        monkeypatch.setattr(solver, "SOLVER", dataclasses.replace(solver.SOLVER, max_rounds=most))

    rng = np.random.default_rng([4, 436])
    base = GridBase(random_grid(rng, 40, (7, 7)), ("attr_del", "adj_del"))
    case = Instance(random_graph(np.random.default_rng([4, 436]), 40, 12, 0.08), base, 1)
    for sigma in range(2, 6):
        threat = ThreatModel(sigma=sigma, attr_del=2, weights=np.arange(40) % 49 + 1)
        rounds(1)
        early = curve(case, threat, "adj_del", range(40))
        rounds(60)
        late = curve(case, threat, "adj_del", range(40))
        assert early.status == "rounds"
        assert not (early.done & (early.certified < late.certified)).any()
