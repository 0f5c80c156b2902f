"""Ballots as the small checker sees them: judged as `certcore verify` judges them, forgeries rejected."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import certcore_check as small
import certcore_check_ballots as checker
import numpy as np
import pytest

from certcore import Instance, ThreatModel, certify, save_instance, verify_proof
from certcore.base.ballots import UNIT, BallotsBase
from tests.checker.cases import accepts, as_seen, ballots_case, forged, signed
from tests.checker.test_checker_files import ALONE, BALLOTS, CHECKER


def proof_of(instance: Instance, threat: ThreatModel) -> dict[str, Any]:
    proof: dict[str, Any] = json.loads(json.dumps(certify(instance, threat, attack=False).proof))
    return proof


def other_instances(rng: np.random.Generator, instance: Instance) -> list[Instance]:
    """The same with one ballot, the weight, the number of classes or what training has read changed."""
    base = instance.base
    assert isinstance(base, BallotsBase)
    ballots = base.ballots.copy()
    ballots[int(rng.integers(base.n_nodes)), int(rng.integers(base.n_classes))] = int(rng.integers(0, UNIT + 1))
    bases = [
        replace(base, ballots=ballots),
        replace(base, weight=base.weight + 1),
        replace(base, ballots=np.concatenate([base.ballots, base.ballots[:, :1]], axis=1)),
        replace(base, weights_read_edges=not base.weights_read_edges),
        replace(base, checked=1 if base.checked is None else None),
    ]
    return [replace(instance, base=new) for new in bases]


def compare(seed: int, forgeries: int) -> tuple[int, int]:
    """Accepted and rejected forgeries of one random task; the checker and `verify` judge every one alike."""
    rng = np.random.default_rng(seed)
    instance, threat = ballots_case(rng)
    seen, proof = as_seen(instance), proof_of(instance, threat)
    assert proof["format"] == "certcore-proof-4"
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
        assert not accepts(proof, changed)
        claim = signed(proof | {"instance_digest": other.digest})
        verdict = verify_proof(claim, other)
        assert accepts(claim, changed) == verdict.accepted, (seed, verdict.reason)
        counts[not verdict.accepted] += 1
    return counts[0], counts[1]


def test_every_proof_and_every_forgery_is_judged_alike() -> None:
    accepted, rejected = np.sum([compare(seed, 6) for seed in range(60)], axis=0)
    assert accepted > 10
    assert rejected > 200


@pytest.mark.slow
def test_thousands_are_judged_alike() -> None:
    for seed in range(1000, 1200):
        compare(seed, 8)


def test_scores_and_labels_are_those_of_the_engine() -> None:
    """Computed twice, from two texts."""
    for seed in range(40):
        instance, _ = ballots_case(np.random.default_rng(seed))
        base, seen = instance.base, as_seen(instance).base
        assert isinstance(base, BallotsBase)
        assert isinstance(seen, checker.Ballots)
        assert seen.scores == base.scores.tolist()
        assert [seen.gaps(n)[0] for n in range(base.n_nodes)] == base.prediction.tolist()


@pytest.mark.parametrize("name", ["ties", "shares", "ends", "edges each", "own ballot"])
def test_a_checker_that_is_wrong_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: ties kept, shares rounded down, one end per edge, a new node's edges, the weight."""
    match name:
        case "ties":
            right = checker.Ballots.gaps
            later = lambda self, n: (right(self, n)[0], {c: gap + 1 for c, gap in right(self, n)[1].items()})  # noqa: E731
            monkeypatch.setattr(checker.Ballots, "gaps", later)
        case "shares":
            full = checker.FULL
            monkeypatch.setattr(checker, "_share", lambda gain, gap: min(max(gain * full // gap, 0), full))
        case "ends":
            each = checker._each
            monkeypatch.setattr(checker, "_each", lambda columns, coefficient: each(list(columns)[:1], coefficient))
        case "edges each":
            made = checker.BallotsThreat.__init__

            def fewer(self: checker.BallotsThreat, *given: Any) -> None:
                made(self, *given)
                self.edges_each -= 1

            monkeypatch.setattr(checker.BallotsThreat, "__init__", fewer)
        case "own ballot":
            read = small.Arrays.number
            one = lambda self, key, *ends: 1 if key == "ballots_weight" else read(self, key, *ends)  # noqa: E731
            monkeypatch.setattr(small.Arrays, "number", one)
    wrong = 0
    for seed in range(40):
        instance, threat = ballots_case(np.random.default_rng(seed))
        wrong += not accepts(proof_of(instance, threat), as_seen(instance))
    assert wrong


def test_claims_of_other_forms_are_refused() -> None:
    instance, _ = ballots_case(np.random.default_rng(0))
    proof, seen = proof_of(instance, ThreatModel(adj_add=2, inject=1, inject_edges=2)), as_seen(instance)
    assert accepts(proof, seen)
    strong = proof["multipliers"] | {"sets": [], "strong_rows": [], "strong_values": []}
    local = proof["threat"]["local"]
    for change in (
        {"relaxation": "paper"}, {"format": "certcore-proof-1"}, {"multipliers": None}, {"base_rule": "multiclass"},
        {"format": "certcore-proof-2", "relaxation": "strong", "multipliers": strong},
        {"threat": proof["threat"] | {"inject": 0}}, {"threat": proof["threat"] | {"inject": 2}},
        {"threat": proof["threat"] | {"inject": True}}, {"threat": proof["threat"] | {"sigma": 1}},
        {"threat": proof["threat"] | {"local": local | {"inject": 3}}},
        {"threat": proof["threat"] | {"local": local | {"inject": "2"}}},
        {"threat": proof["threat"] | {"local": None}},
    ):  # fmt: skip
        claim = signed(proof | change)
        assert not accepts(claim, seen), change
        assert not verify_proof(claim, instance).accepted, change


def test_two_files_in_an_empty_folder_are_enough(tmp_path: Path) -> None:
    """No engine, no scipy; without the second file the answer is a sentence."""
    instance, _ = ballots_case(np.random.default_rng(5))
    proof = proof_of(instance, ThreatModel(inject=1, inject_edges=2, adj_del=1))
    shutil.copy(CHECKER, tmp_path)
    save_instance(tmp_path / "instance.npz", instance)
    (tmp_path / "good.json").write_text(json.dumps(proof))
    (tmp_path / "forged.json").write_text(json.dumps(signed(proof | {"certified": proof["certified"] + 1})))
    command = [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, '.'); " + ALONE, "certcore_check.py"]

    def run(name: str) -> subprocess.CompletedProcess[str]:
        call = [*command, name, "instance.npz"]
        return subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("good.json")
    assert done.returncode == 2
    assert "certcore_check_ballots" in done.stderr
    shutil.copy(BALLOTS, tmp_path)
    done = run("good.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"accepted: at least {proof['certified']} of {proof['targets']}")
    assert "at most 1 new nodes (each with at most 2 edges)" in done.stdout
    assert run("forged.json").returncode == 1
