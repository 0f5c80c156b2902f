"""Proofs of format 3: needs are tested, not looked for, and whoever raises one is caught by both checkers."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import certcore_check as small
import certcore_check_real as real
import numpy as np
import pytest

from certcore import Graph, InputError, Instance, ThreatModel, certify, verify_proof
from certcore.base import normal
from certcore.base.gaussian import FINE, GaussianBase
from certcore.instance.instance import save_instance
from tests.checker.cases import accepts, as_seen, signed

CHECKER = Path(real.__file__).with_name("certcore_check.py")


def case(rng: np.random.Generator) -> tuple[Instance, ThreatModel]:
    """Votes under Gaussian noise on a small graph, of every kind, and an attacker of every kind."""
    n, directed = int(rng.integers(2, 9)), bool(rng.random() < 0.3)
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j and rng.random() < 0.3] or [(0, 1)])
    values = rng.integers(1, 60, (n, 2)) / 64
    graph = Graph.from_edges(n, pairs, values, keep_values=True, directed=directed)
    trials = int(rng.choice([300, 10_000]))
    share = rng.dirichlet([0.3, 0.3, 0.3], n) * 0.5
    share[:, 0] += 0.5
    votes = np.stack([rng.multinomial(trials, row) for row in share])
    theta = str(rng.choice(["0", "0.4", "0.9", "1"]))
    mapped = rng.random() < 0.4
    base = GaussianBase(
        votes, np.zeros(n, int), trials, "0.1", ("0", "0", "0", theta), str(rng.choice(["binary", "multiclass"])),
        std=str(rng.choice(["0.06", "1"])), lattice="2^-6", units=int(rng.choice([2**8, 2**12])),
        offsets=rng.integers(0, FINE // 4, n) if mapped else None, factor=FINE + 99 if mapped else None,
    )  # fmt: skip
    length = float(base.std) * float(rng.uniform(0.1, 4))
    local: Any = f"{length / 3:.4f}"
    parts: dict[str, Any] = {"attr_l2": f"{length:.4f}"}
    if rng.random() < 0.6:
        parts |= {"local_attr_l2": local if rng.random() < 0.6 else [local] * n}
        if rng.random() < 0.4:
            parts |= {"local_attr_l2": "0.3", "local_mode": "relative"}
    if rng.random() < 0.6:
        parts["adj_del"] = int(rng.integers(0, 4))
    if rng.random() < 0.4:
        parts["sigma"] = int(rng.integers(0, 4))
    if rng.random() < 0.3:
        parts["protected"] = [0]
    return Instance(graph, base, layers=int(rng.integers(0, 3))), ThreatModel(**parts)


def raised(proof: dict[str, Any]) -> dict[str, Any]:
    """One need larger than the votes allow, by about a millionth of a standard deviation."""
    forged = copy.deepcopy(proof)
    entry = next(entry for entry in forged["needs"] if entry[2])
    entry[2][0] = [entry[2][0][0] + 4096, entry[2][0][1]]
    return signed(forged)


@pytest.mark.parametrize("seed", range(40))
def test_both_accept_proofs_and_reject_raised_needs(seed: int) -> None:
    instance, threat = case(np.random.default_rng(seed))
    seen = as_seen(instance, str(instance.base_rule))
    assert seen.digest == instance.digest
    proof = json.loads(json.dumps(certify(instance, threat, attack=False).proof))
    assert proof["format"] == "certcore-proof-3"
    assert verify_proof(proof, instance).accepted
    assert accepts(proof, seen)
    if any(entry[2] for entry in proof["needs"]):
        assert not verify_proof(raised(proof), instance).accepted
        assert not accepts(raised(proof), seen)
    for change in (
        {"certified": proof["certified"] + 1},
        {"needs": []},
        {"format": "certcore-proof-1"},
        {"threat": proof["threat"] | {"attr_l2": "0.0001"}},
    ):
        forged = signed(proof | change)
        if change == {"needs": []} and not any(entry[2] for entry in proof["needs"]):
            continue  # nothing was claimed
        assert verify_proof(forged, instance).accepted == accepts(forged, seen)
        if "certified" in change:
            assert not accepts(forged, seen)


def plain() -> tuple[Instance, ThreatModel]:
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]), np.full((3, 1), 0.5), keep_values=True)
    votes = np.array([[9_000, 1_000], [9_900, 100], [9_990, 10]])
    base = GaussianBase(
        votes, np.zeros(3, int), 10_000, "0.01", ("0", "0", "0", "0.4"), std="0.06", lattice="2^-9",
        offsets=np.array([0, 10, 20]), factor=FINE + 5,
    )  # fmt: skip
    return Instance(graph, base, layers=1), ThreatModel(attr_l2="0.1", adj_del=1)


def test_a_need_that_is_one_unit_too_large_is_rejected() -> None:
    instance, threat = plain()
    base = instance.base
    assert isinstance(base, GaussianBase)
    proof = json.loads(json.dumps(certify(instance, threat).proof))
    seen = as_seen(instance)
    for entry in proof["needs"]:
        node = int(np.flatnonzero(base.votes[:, 0] == entry[0])[0])
        for d, (z, _) in enumerate(entry[2]):
            want, more = int(base.needs[d, node]) + 1, z
            while base.need(*[np.full(3, more, dtype=object)] * 2)[node] < want:
                more += 64
            forged = copy.deepcopy(proof)
            next(e for e in forged["needs"] if e[0] == entry[0])[2][d] = [more, more]
            assert not accepts(signed(forged), seen)
            assert "need" in verify_proof(signed(forged), instance).reason


@pytest.mark.parametrize(
    "change",
    [
        lambda base: replace(base, std="0.07"),
        lambda base: replace(base, lattice="2^-8"),
        lambda base: replace(base, units=2**13),
        lambda base: replace(base, factor=FINE),
        lambda base: replace(base, offsets=np.zeros(3, int)),
        lambda base: replace(base, alpha="0.1"),
    ],
)
def test_a_proof_holds_for_its_own_noise_only(change: Callable[[Any], Any]) -> None:
    instance, threat = plain()
    proof = json.loads(json.dumps(certify(instance, threat).proof))
    other = replace(instance, base=change(instance.base))
    assert other.digest != instance.digest
    assert not verify_proof(proof, other).accepted
    assert not accepts(proof, as_seen(other))
    told = signed(proof | {"instance_digest": other.digest})  # nor where the digest is changed, too
    same = certify(other, threat, attack=False).bound == Fraction(*proof["bound"])
    assert verify_proof(told, other).accepted <= same
    assert accepts(told, as_seen(other)) == verify_proof(told, other).accepted


def test_off_the_lattice_nothing_is_accepted() -> None:
    graph = Graph.from_edges(1, np.zeros((0, 2), int), np.array([[0.3]]), keep_values=True)
    base = GaussianBase(np.array([[90, 10]]), np.zeros(1, int), 100, "0.01", ("0",) * 4, std="1", lattice="2^-4")
    with pytest.raises(Exception, match="no multiple of the lattice"):
        Instance(graph, base, layers=1)


def test_phi_agrees_with_the_engine() -> None:
    z = [0, 1, 2**20, 2**31, 2**32, 3 * 2**32 + 7, 6 * 2**32, 33 * 2**32, -(2**32), -5 * 2**32]
    for up in (True, False):
        theirs = normal.phi(np.array(z, dtype=object), up=up)
        for value, other in zip(z, theirs):
            mine = Fraction(real.phi(value, up=up), real.SCALE)
            assert abs(mine - Fraction(int(other), normal.ONE)) < Fraction(1, 2**110)
    assert all(real.phi(value, up=False) <= real.phi(value, up=True) for value in z)


def test_the_command_reads_the_second_file(tmp_path: Path) -> None:
    instance, threat = plain()
    save_instance(tmp_path / "real.npz", instance)
    (tmp_path / "proof.json").write_text(json.dumps(certify(instance, threat).proof))
    command = [sys.executable, str(CHECKER), str(tmp_path / "proof.json"), str(tmp_path / "real.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "squares sum to at most 0.1^2" in done.stdout


@pytest.mark.parametrize(("name", "value"), [("attr_l2_sum", "0.1"), ("node_costs", [1, 1, 1]), ("edge_costs", [1, 1])])
def test_what_earlier_versions_knew_is_refused_in_one_sentence(name: str, value: Any) -> None:
    instance, _ = plain()
    proof = json.loads(json.dumps(certify(instance, ThreatModel(attr_l2="0.1", adj_del=1), attack=False).proof))
    old = signed(proof | {"threat": proof["threat"] | {name: value}})
    said = f"the threat model has {name}, but .* are no longer supported; leave {name} out, or use certcore 0.3"
    assert re.search(said, str(verify_proof(old, instance).reason))
    with pytest.raises(Exception, match=said):
        small.check(old, as_seen(instance))
    with pytest.raises(InputError, match=said):
        certify(instance, **{name: value})


@pytest.mark.parametrize("relaxation", ["tight", "strong", "paper"])
def test_both_accept_what_is_written_for_edges_alone(relaxation: str) -> None:
    """Gaussian noise without a budget for lengths: `strong` answers with `tight`, for which there is a format."""
    instance, _ = plain()
    found = certify(instance, ThreatModel(adj_del=1), relaxation=relaxation, time_limit=2)
    proof = json.loads(json.dumps(found.unchecked_proof))
    assert (found.relaxation, proof["relaxation"]) == (("tight" if relaxation == "strong" else relaxation),) * 2
    assert verify_proof(proof, instance).accepted
    assert accepts(proof, as_seen(instance))
