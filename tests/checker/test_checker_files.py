"""The checker as people run it: one file in an empty folder, with numpy and nothing else, on the shipped bundles."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import certcore_check as small
import numpy as np
import pytest

from certcore import Instance, ThreatModel, certify, load_instance
from tests.checker.cases import accepts, signed

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "certcore" / "standalone" / "certcore_check.py"
BALLOTS = CHECKER.with_name("certcore_check_ballots.py")
BUNDLES = sorted((ROOT / "precomputed").glob("*.npz"))
#: Runs a file as a program in a world without the engine and without scipy.
# What an editable installation offers does not count either: only the folder and numpy do.
ALONE = (
    "import runpy, sys; sys.modules['certcore'] = sys.modules['scipy'] = None; path = sys.argv[1]; "
    "sys.meta_path = [finder for finder in sys.meta_path if 'editable' not in repr(finder)]; "
    "sys.argv = sys.argv[1:]; runpy.run_path(path, run_name='__main__')"
)


def budgets_of(path: Path) -> list[dict[str, Any]]:
    """Three budgets that a bundle speaks about."""
    match path.stem.split("-")[2]:
        case "ballots":
            return [
                {"adj_add": 10, "inject": 2, "inject_edges": 3},
                {"adj_add": 3, "adj_del": 2, "sigma": 2},
                {"adj_add": 4, "local_adj_add": 1, "adj_del": 3, "local_adj_del": 1},
            ]
        case "l2":
            return [{"attr_l2": "0.5"}, {"attr_l2": "2", "local_attr_l2": "0.5"}, {"attr_l2": "1", "sigma": 3}]
        case "l2_joint":
            return [{"attr_l2": "1"}, {"adj_del": 2}, {"attr_l2": "0.5", "adj_del": 2}]
        case "adj":
            return [{"adj_del": 1}, {"adj_del": 4, "local_adj_del": 1}, {"adj_del": 3, "sigma": 2}]
        case "joint":
            return [{"attr_del": 2}, {"adj_del": 1}, {"attr_del": 1, "adj_del": 1}]
        case "convex":
            return [{"attr_add": 1}, {"attr_add": 3, "local_attr_add": 1}, {"attr_add": 20, "local_attr_add": 1}]
        case _:
            return [{"attr_del": 3}, {"attr_add": 1, "attr_del": 2}, {"attr_del": 5, "local_attr_del": 2, "sigma": 3}]


def proof_of(instance: Instance, budgets: dict[str, Any]) -> dict[str, Any]:
    proof: dict[str, Any] = json.loads(json.dumps(certify(instance, ThreatModel(**budgets), attack=False).proof))
    return proof


@cache
def example() -> tuple[Path, dict[str, Any]]:
    path = ROOT / "precomputed" / "citeseer-gcn-attr-s0.npz"
    return path, proof_of(load_instance(path), {"attr_del": 3})


def forgeries(proof: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Claims that are not true, or not proven, each with a digest that fits."""
    duals, threat = proof["multipliers"], proof["threat"]
    name = next(key for key in ("attr_del", "attr_add", "adj_add", "adj_del", "attr_l2") if threat.get(key))
    larger = "9" if name == "attr_l2" else threat[name] + 1
    values = [value + (i == 0) * 2**39 for i, value in enumerate(duals["values"])]
    changes: dict[str, dict[str, Any]] = {
        "count": {"certified": proof["certified"] + 1},
        "bound": {
            "bound": [proof["bound"][0] - proof["bound"][1], proof["bound"][1]],
            "certified": proof["certified"] + 1,
        },
        "budget": {"threat": threat | {name: larger}},
        "targets": {"target_nodes": list(range(proof["targets"]))},
        "multiplier": {"multipliers": duals | {"values": values}},
        "instance": {"instance_digest": "0" * 64},
    }
    return {key: signed(proof | change) for key, change in changes.items()} | {"digest": proof | {"digest": "0" * 64}}


def test_it_can_be_read_in_one_sitting() -> None:
    for path, most in ((CHECKER, 800), (BALLOTS, 300)):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= most
        imports = [line.split()[1] for line in lines if line.lstrip().startswith(("from ", "import "))]
        known = {*sys.stdlib_module_names, "numpy", "certcore_check"}
        assert all(name.split(".")[0] in known for name in imports)


@pytest.mark.parametrize("path", [p for p in BUNDLES if "pubmed" not in p.name], ids=lambda p: p.stem)
def test_it_accepts_the_proofs_of_a_bundle_and_rejects_forgeries(path: Path) -> None:
    instance = load_instance(path)
    seen = small.Instance(small.Arrays.read(str(path)), "binary")
    first = path.stem.endswith("-s0")  # other splits differ in nothing that a proof or a forgery depends on
    for budgets in budgets_of(path) if first else budgets_of(path)[:1]:
        proof = proof_of(instance, budgets)
        assert f"at least {proof['certified']} of {proof['targets']}" in small.check(proof, seen)
    for what, claim in forgeries(proof).items() if first else ():
        assert not accepts(claim, seen), what


@pytest.mark.slow
def test_it_accepts_a_proof_of_pubmed() -> None:
    path = ROOT / "precomputed" / "pubmed-gcn-attr-s0.npz"
    proof = proof_of(load_instance(path), {"attr_del": 2})
    seen = small.Instance(small.Arrays.read(str(path)), "binary")
    assert small.check(proof, seen)
    assert not accepts(signed(proof | {"certified": proof["certified"] + 1}), seen)


def test_votes_are_read_by_the_multi_class_rule_too() -> None:
    path = ROOT / "precomputed" / "cora-gcn-attr-s0.npz"
    instance = load_instance(path, base_rule="multiclass")
    proof = json.loads(json.dumps(certify(instance, ThreatModel(attr_del=2), attack=False).proof))
    seen = small.Instance(small.Arrays.read(str(path)), "multiclass")
    assert accepts(proof, seen)
    assert not accepts(proof, small.Instance(small.Arrays.read(str(path)), "binary"))


def alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", ALONE, "certcore_check.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_copied_alone_it_accepts_rejects_and_reads(tmp_path: Path) -> None:
    """An empty folder, no engine, no scipy: exit codes 0, 1 and 2, and one line each."""
    path, proof = example()
    shutil.copy(CHECKER, tmp_path)
    shutil.copy(path, tmp_path / "instance.npz")
    (tmp_path / "good.json").write_text(json.dumps(proof))
    (tmp_path / "packed.json").write_bytes(gzip.compress(json.dumps(proof).encode()))
    (tmp_path / "forged.json").write_text(json.dumps(forgeries(proof)["bound"]))
    (tmp_path / "broken.json").write_text('{"format": "certcore-proof-1"')
    (tmp_path / "twice.json").write_text(json.dumps(proof)[:-1] + ', "certified": 1870}')
    (tmp_path / "object.npz").write_bytes(b"PK\x03\x04nothing")
    np.savez(tmp_path / "pickled.npz", n_nodes=np.array([{}], dtype=object))
    for name in ("good.json", "packed.json"):
        done = alone(tmp_path, name, "instance.npz")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"accepted: at least {proof['certified']} of 1870")
    done = alone(tmp_path, "forged.json", "instance.npz")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("rejected: the multipliers prove a bound of")
    for arguments in (
        ("broken.json", "instance.npz"), ("twice.json", "instance.npz"), ("missing.json", "instance.npz"),
        ("good.json", "object.npz"), ("good.json", "pickled.npz"), ("good.json",),
    ):  # fmt: skip
        done = alone(tmp_path, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
