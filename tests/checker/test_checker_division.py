"""Division voting as the small checker sees it: judged as `certcore verify` judges it, forgeries rejected."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import certcore_check as small
import certcore_check_division as division
import numpy as np
import pytest

from certcore import Instance, ThreatModel, certify, load_instance, verify_proof
from certcore.base.division import DivisionBase, PairHash
from certcore.instance.division import division_of
from tests.checker.cases import accepts, as_seen, division_case, forged, signed
from tests.checker.test_checker_files import ALONE, CHECKER, DIVISION, ROOT


def proof_of(instance: Instance, threat: ThreatModel) -> dict[str, Any]:
    proof: dict[str, Any] = json.loads(json.dumps(certify(instance, threat, attack=False).proof))
    return proof


def other_instances(rng: np.random.Generator, instance: Instance) -> list[Instance]:
    """The same with one vote, the salt, the number of groups, a weight, the rule or the layers changed."""
    base = instance.base
    assert isinstance(base, DivisionBase)
    assert instance.layers is not None
    votes = base.votes.copy()
    votes[int(rng.integers(base.n_groups)), int(rng.integers(base.n_nodes))] = int(rng.integers(-1, base.n_classes))
    more = PairHash(base.n_groups + 1, base.hash.salt)
    bases = [
        replace(base, votes=votes),
        replace(base, hash=PairHash(base.n_groups, base.hash.salt ^ 1)),
        replace(base, hash=more, votes=np.concatenate([base.votes, base.votes[:1]])),
        replace(base, n_classes=base.n_classes + 1),
        replace(base, fixed=base.prediction, fixed_weight=int(rng.integers(1, 3))),
    ]
    rule = "degrees" if instance.edge_field == "messages" else "messages"
    return [replace(instance, base=new) for new in bases] + [
        replace(instance, layers=instance.layers + 1),
        replace(instance, edge_field=rule),
    ]


def compare(seed: int, forgeries: int) -> tuple[int, int]:
    """Accepted and rejected forgeries of one random task; the checker and `verify` judge every one alike."""
    rng = np.random.default_rng(seed)
    instance, threat = division_case(rng)
    seen, proof = as_seen(instance), proof_of(instance, threat)
    assert seen.digest == instance.digest
    assert accepts(proof, seen), seed
    counts = [0, 0]
    for _ in range(forgeries):
        claim = forged(rng, proof)
        verdict = verify_proof(claim, instance)
        assert accepts(claim, seen) == verdict.accepted, (seed, verdict.reason)
        counts[not verdict.accepted] += 1
    for other in other_instances(rng, instance):
        changed = as_seen(other)
        assert changed.digest == other.digest
        assert not accepts(proof, changed) or other.digest == instance.digest
        claim = signed(proof | {"instance_digest": other.digest})
        verdict = verify_proof(claim, other)
        assert accepts(claim, changed) == verdict.accepted, (seed, verdict.reason)
        counts[not verdict.accepted] += 1
    return counts[0], counts[1]


def test_every_proof_and_every_forgery_is_judged_alike() -> None:
    accepted, rejected = np.sum([compare(seed, 6) for seed in range(40)], axis=0)
    assert accepted > 10
    assert rejected > 200


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_thousands_are_judged_alike(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        compare(seed, 8)


def test_groups_thresholds_and_fields_are_those_of_the_engine() -> None:
    """Computed twice, from two texts: the hash, the fewest votes that can change a label, who is near whom."""
    for seed in range(60):
        instance, threat = division_case(np.random.default_rng(seed))
        base, seen = instance.base, as_seen(instance)
        assert isinstance(base, DivisionBase)
        assert isinstance(seen.base, division.Division)
        assert [seen.base.group(u, v) for v, u in seen.edges] == base.hash.of(instance.graph.edges).tolist()
        nodes = np.arange(base.n_nodes)
        assert [seen.base.threshold(n) for n in nodes.tolist()] == base.thresholds.tolist()
        wanted = division_of(instance, nodes)
        everything = threat.to_json() | {"attr_add": 0, "attr_del": 0, "adj_add": 40}
        program = seen.base.program(seen, small.Threat(everything, seen), nodes, "tight")
        assert isinstance(program, division.DivisionProgram)
        for node, near in zip(program.nodes, program.near):
            for group, inside in enumerate(near):
                row = wanted.near[group][[node]]
                assert sorted(inside) == sorted(row.indices.tolist())


@pytest.mark.parametrize("name", ["_threshold", "group", "FEW_VOTES", "hops", "one end"])
def test_a_checker_that_is_wrong_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: thresholds off by one, another hash, a row too few, fields too small, one end each."""
    known = division.Division
    match name:
        case "_threshold":
            right = known._threshold
            monkeypatch.setattr(known, "_threshold", lambda self, node: right(self, node) + 1)
        case "group":
            monkeypatch.setattr(known, "group", lambda self, u, v: (u + v) % self.groups)
        case "FEW_VOTES":
            monkeypatch.setattr(division, "FEW_VOTES", 0)
        case "hops":
            near = division.DivisionProgram._near
            alone = lambda self: [[{n} for _ in groups] for n, groups in zip(self.nodes, near(self))]  # noqa: E731
            monkeypatch.setattr(division.DivisionProgram, "_near", alone)
        case "one end":
            each = division._each
            monkeypatch.setattr(division, "_each", lambda columns, coefficient: each(list(columns)[:1], coefficient))
    wrong = 0
    for seed in range(30):
        instance, threat = division_case(np.random.default_rng(seed))
        wrong += not accepts(proof_of(instance, threat), as_seen(instance))
    assert wrong


def test_strong_and_paper_claims_are_refused() -> None:
    instance = load_instance(ROOT / "precomputed" / "citeseer-decoupled-division-s0.npz")
    proof, seen = proof_of(instance, ThreatModel(adj_add=2)), as_seen(instance)
    assert accepts(proof, seen)
    strong = proof["multipliers"] | {"sets": [], "strong_rows": [], "strong_values": []}
    for change in (
        {"relaxation": "paper"}, {"format": "certcore-proof-2", "relaxation": "strong", "multipliers": strong},
        {"base_rule": "multiclass"}, {"multipliers": None},
    ):  # fmt: skip
        assert not accepts(signed(proof | change), seen)
        assert not verify_proof(signed(proof | change), instance).accepted


def test_two_files_in_an_empty_folder_are_enough(tmp_path: Path) -> None:
    """No engine, no scipy; without the second file the answer is a sentence."""
    path = ROOT / "precomputed" / "cora-sage-division-s0.npz"
    proof = proof_of(load_instance(path), ThreatModel(adj_add=2))
    shutil.copy(CHECKER, tmp_path)
    shutil.copy(path, tmp_path / "instance.npz")
    (tmp_path / "good.json").write_text(json.dumps(proof))
    (tmp_path / "forged.json").write_text(json.dumps(signed(proof | {"certified": proof["certified"] + 1})))
    command = [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, '.'); " + ALONE, "certcore_check.py"]

    def run(name: str) -> subprocess.CompletedProcess[str]:
        call = [*command, name, "instance.npz"]
        return subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("good.json")
    assert done.returncode == 2
    assert "certcore_check_division" in done.stderr
    shutil.copy(DIVISION, tmp_path)
    done = run("good.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"accepted: at least {proof['certified']} of 2205")
    assert run("forged.json").returncode == 1
