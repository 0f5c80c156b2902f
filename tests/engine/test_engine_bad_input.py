"""Bad input: one clear sentence, exit code 2, no traceback, for every kind we could think of."""

from __future__ import annotations

import importlib
import io
import json
import os
import pickle
import signal
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, certify, load_instance, save_instance
from certcore.base import BaseLocal
from certcore.cli import main
from certcore.common.errors import InputError
from certcore.instance.instance import instance_to_arrays
from tests.support import random_graph, random_grid

Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 6, 4, 0.5)
    base = GridBase(random_grid(rng, 6, (3, 4)), ("attr_add", "attr_del"))
    return instance_to_arrays(Instance(graph, base, 2, split=np.full(6, 2), labels=np.zeros(6, dtype=int)))


def fails(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must fail politely; returns its sentence."""
    code = main(list(argv))
    captured = capsys.readouterr()
    assert code == 2, captured
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.err.startswith("certcore: ")
    return captured.err


def nan_layout(a: Arrays) -> None:
    a["layout"] = np.full((6, 2), np.nan)


def drop(key: str) -> Callable[[Arrays], None]:
    def change(a: Arrays) -> None:
        del a[key]

    return change


def fields_cut_off(a: Arrays) -> None:
    del a["layers"]
    a["field_indptr"], a["field_indices"] = np.array([0]), np.array([0])


def put(**values: Any) -> Callable[[Arrays], None]:
    def change(a: Arrays) -> None:
        a.update({k: v(a[k].copy()) if callable(v) else np.asarray(v) for k, v in values.items()})

    return change


def asymmetric(a: Arrays) -> None:
    a["adj_indptr"], a["adj_indices"] = np.array([0, 1, 1, 1, 1, 1, 1]), np.array([3])


def self_loop(a: Arrays) -> None:
    a["adj_indptr"], a["adj_indices"] = np.array([0, 1, 1, 1, 1, 1, 1]), np.array([0])


def non_monotone(a: Arrays) -> None:
    grid = np.ones((6, 3, 4), dtype=bool)
    grid[2, 1, 1] = False
    a["base_grid"] = grid


def set_first(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array = array.astype(np.int64)
        array[0] = value
        return array

    return change


FILES: dict[str, tuple[Callable[[Arrays], None], str]] = {
    "no nodes": (put(n_nodes=0), "n_nodes is 0"),
    "absurd size": (put(n_nodes=10**15), "n_nodes is"),
    "negative attributes": (put(n_attrs=-3), "n_attrs is -3"),
    "missing adjacency": (drop("adj_indptr"), "no 'adj_indptr'"),
    "missing layers": (drop("layers"), "no 'layers'"),
    "no base certificate": (drop("base_grid"), "no base certificate"),
    "missing axes": (drop("base_axes"), "no 'base_axes'"),
    "negative index": (put(adj_indices=set_first(-1)), "adj_indices contains -1"),
    "index too large": (put(adj_indices=set_first(6)), "adj_indices contains 6"),
    "attribute index too large": (put(attr_indices=set_first(99)), "attr_indices contains 99"),
    "indptr of wrong length": (put(adj_indptr=[0, 0]), "adj_indptr has 2 entries"),
    "indptr falls": (put(attr_indptr=[0, 5, 1, 1, 1, 1, 1]), "attr_indptr does not describe"),
    "real-valued indices": (put(adj_indices=lambda x: x + 0.5), "adj_indices has type float64"),
    "asymmetric adjacency": (asymmetric, "not symmetric"),
    "self loop": (self_loop, "self loop at node 0"),
    "attribute listed twice": (put(attr_indptr=[0, 2, 2, 2, 2, 2, 2], attr_indices=[1, 1]), "twice"),
    "NaN in an array": (nan_layout, "NaN or infinity"),
    "layout of wrong shape": (put(layout=np.zeros((3, 2))), "layout has shape"),
    "non-monotone grid": (non_monotone, "not monotone"),
    "grid value 2": (put(base_grid=np.full((6, 3, 4), 2)), "expected booleans"),
    "grid for other nodes": (put(base_grid=np.ones((5, 3, 4), dtype=bool)), "covers 5 nodes"),
    "grid without budgets": (put(base_grid=np.ones((6, 0, 4), dtype=bool)), "at least one node and one budget"),
    "axis named twice": (put(base_axes=["attr_del", "attr_del"]), "twice"),
    "axis of unknown name": (put(base_axes=["attr_del", "colour"]), "'colour'"),
    "too few axes": (put(base_axes=["attr_del"]), "base_grid has 3 axes"),
    "targets out of range": (put(targets=[0, 17]), "targets contains 17"),
    "targets twice": (put(targets=[1, 1]), "twice"),
    "unknown edge rule": (put(edge_field="hearsay"), "edge_field is 'hearsay'"),
    "too many layers": (put(layers=10**6), "layers is 1000000"),
    "split value 7": (put(split=np.full(6, 7)), "split contains"),
    "labels of wrong length": (put(labels=[0, 1]), "labels has shape"),
    "negative label": (put(labels=[-1, 0, 0, 0, 0, 0]), "labels contains -1"),
    "names of wrong length": (put(node_names=["a"]), "node_names has 1"),
    "meta is no JSON": (put(meta="{nonsense"), "meta is no valid JSON"),
    "meta is a list": (put(meta="[1]"), "no object"),
    "meta with NaN": (put(meta='{"dataset": NaN}'), "meta is no valid JSON"),
    "meta with an infinite number": (put(meta='{"dataset": 1e999}'), "meta is no valid JSON"),
    "meta with half a character": (put(meta='{"dataset": "\\ud800"}'), "meta is no valid JSON"),
    "base_local absurd": (put(base_local=np.array(2**64 - 1, dtype=np.uint64)), "base_local is 18446744073709551615"),
    "booleans that are neither": (
        put(base_grid=np.full((6, 3, 4), 2, dtype=np.uint8).view(bool)),
        "other than 0 and 1",
    ),
    "base_local negative": (put(base_local=-5), "base_local is -5"),
    "base_local of wrong shape": (put(base_local=[1, 2]), "base_local has shape"),
    "fields cut off": (fields_cut_off, "field_indptr has 1 entries"),
    "two declarations of fields": (put(field_indptr=[0] * 7, field_indices=[]), "both layers and explicit fields"),
    "both base certificates": (put(votes=np.ones((6, 2), dtype=int)), "both base_grid and votes"),
    "complex numbers": (put(labels=np.zeros(6, dtype=complex)), "would need unpickling"),
}


@pytest.mark.parametrize("kind", sorted(FILES))
def test_bad_files(kind: str, arrays: Arrays, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, expected = FILES[kind]
    bad = dict(arrays)
    change(bad)
    path = tmp_path / "bad.npz"
    np.savez(path, **bad)
    assert expected in fails(capsys, "certify", str(path), "--attr-del", "1", "--json")


@pytest.fixture(scope="module")
def good(arrays: Arrays, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("good") / "good.npz"
    np.savez(path, **arrays)
    return str(path)


OPTIONS: dict[str, tuple[list[str], str]] = {
    "budget -1": (["--attr-del", "-1"], "--attr-del"),
    "budget in words": (["--attr-del", "many"], "'many' is no whole number"),
    "budget with a fraction": (["--attr-del", "1.5"], "'1.5' is no whole number"),
    "absurd budget": (["--attr-del", "99999999999"], "expected a whole number from 0"),
    "sigma -1": (["--sigma", "-1"], "--sigma"),
    "negative local budget": (["--local-attr-del", "-2"], "expected a whole number of at least 0"),
    "local share without mode": (["--local-attr-del", "0.5"], "--local-mode relative"),
    "nonsense share": (["--local-attr-del", "lots", "--local-mode", "relative"], "expected a decimal share"),
    "exploding share": (["--local-attr-del", "1e999999", "--local-mode", "relative"], "expected a decimal share"),
    "unknown relaxation": (["--relaxation", "loose"], "expected one of paper, tight, strong, exact"),
    "unknown option": (["--frobnicate"], "no option --frobnicate"),
    "rule for votes on a grid": (["--base-rule", "multiclass"], "--base-rule multiclass is about votes"),
    "proof without a name": (["--proof", ""], "cannot write"),
    "time limit 0": (["--time-limit", "0"], "no positive number of seconds"),
    "time limit nan": (["--time-limit", "nan"], "no positive number of seconds"),
    "class without predictions": (["--targets", "class:1"], "no predicted labels"),
    "targets of a missing file": (["--targets", "nowhere.txt"], "class:K"),
    "protect of a missing file": (["--protect", "nowhere.txt"], "nowhere.txt"),
    "proof into a missing folder": (["--proof", "/dev/null/x/proof.json"], "cannot write"),
}


@pytest.mark.parametrize("kind", sorted(OPTIONS))
def test_bad_options(kind: str, good: str, capsys: pytest.CaptureFixture[str]) -> None:
    options, expected = OPTIONS[kind]
    extra = [] if "--attr-del" in options else ["--attr-del", "1"]
    assert expected in fails(capsys, "certify", good, *extra, *options, "--json")


def test_bad_target_files(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "targets.txt"
    for text, expected in (("0\n99\n", "line 2"), ("0\nzero\n", "line 2"), ("1\n1\n", "twice"), ("-1\n", "line 1")):
        path.write_text(text)
        assert expected in fails(capsys, "certify", good, "--attr-del", "1", "--targets", str(path))


class Trap:
    """Unpickling this would leave a mark."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("unpickled"),))


def test_broken_and_hostile_files(
    good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("certcore.common.npz.MAX_ARRAY_BYTES", 10**7)  # the bomb need not be a real one
    data = Path(good).read_bytes()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("n_nodes.npy", b"\0" * 2 * 10**7)
    objects = io.BytesIO()
    np.savez(objects, n_nodes=np.array([Trap()], dtype=object))
    for name, content, expected in (
        ("empty.npz", b"", "no .npz file"),
        ("text.npz", b"hello", "no .npz file"),
        ("pickle.npz", pickle.dumps(Trap()), "no .npz file"),
        ("cut.npz", data[: len(data) // 2], "damaged or cut off"),
        ("flipped.npz", data[:200] + bytes([data[200] ^ 255]) + data[201:], "damaged"),
        ("bomb.npz", bomb.getvalue(), "unpacks to"),
        ("objects.npz", objects.getvalue(), "would need unpickling"),
    ):
        Path(name).write_bytes(content)
        assert expected in fails(capsys, "certify", name, "--attr-del", "1")
    assert "cannot read" in fails(capsys, "certify", "missing.npz", "--attr-del", "1")
    assert "cannot read" in fails(capsys, "certify", str(tmp_path), "--attr-del", "1")
    assert not Path("unpickled").exists()


def test_bad_proofs(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proof.json"
    for text, expected in (
        ("", "no valid JSON"),
        ("[]", "no proof of format"),
        ('{"format": "certcore-proof-1"}', "lacks"),
        ("NaN", "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
    ):
        path.write_text(text)
        assert expected in fails(capsys, "verify", str(path), good)
    assert f"cannot read {tmp_path / 'none.json'}" in fails(capsys, "verify", str(tmp_path / "none.json"), good)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (np.array([[0, 1, 2], [1, 2, 3]]), "shape (2, 3)"),  # torch-geometric's edge_index
        (np.array([0, 1, 2]), "shape (3,)"),
        (np.array([[0.9, 1.2]]), "float64"),
        (np.array([[0, 1], [-7, 2]]), "edges contains -7"),
        (np.array([[0, 1], [2, 4]]), "edges contains 4"),
    ],
)
def test_edges_in_another_form_are_refused(edges: np.ndarray, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        Graph.from_edges(4, edges)
    assert expected in str(caught.value)


def test_endless_files_are_refused(
    good: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device says that it is empty and never ends."""
    monkeypatch.setattr("certcore.verify.proof.MAX_BYTES", 10**5)
    monkeypatch.setattr("certcore.instance.instance.MAX_TARGETS_BYTES", 10**5)
    assert "larger than" in fails(capsys, "verify", "/dev/zero", good)
    for option in ("--targets", "--protect"):
        assert "larger than" in fails(capsys, "certify", good, "--attr-del", "1", option, "/dev/zero")


def test_the_local_budget_of_a_base_is_one_thing() -> None:
    """A file holds either form: what it cannot hold must not be promised in memory."""
    for per_type, joint in (((1, None, None, None), 2), ((-1, None, None, None), None), ((None,) * 4, -1)):
        with pytest.raises(InputError, match="local budget of a base certificate"):
            BaseLocal(per_type, joint)


def test_base_local_is_not_exceeded(arrays: Arrays, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "local.npz"
    np.savez(path, **(arrays | {"base_local": np.array(2)}))
    assert "at most 2 attribute flips per node" in fails(
        capsys, "certify", str(path), "--attr-add", "2", "--attr-del", "2"
    )
    ok = ["--attr-add", "2", "--attr-del", "2", "--local-attr-add", "1", "--local-attr-del", "1", "--json"]
    assert main(["certify", str(path), *ok]) == 0
    capsys.readouterr()
    np.savez(path, **(arrays | {"base_local": np.array([1, -1, -1, -1])}))
    assert "attribute additions per node" in fails(capsys, "certify", str(path), "--attr-add", "2")
    assert main(["certify", str(path), "--attr-del", "2", "--json"]) == 0


def test_unknown_keys_are_ignored(arrays: Arrays, tmp_path: Path) -> None:
    path = tmp_path / "more.npz"
    np.savez(path, **(arrays | {"weather": np.array("sunny")}))
    assert load_instance(path).graph.n_nodes == 6


def test_certify_and_verify_commands(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof, table = tmp_path / "proof.json", tmp_path / "nodes.csv"
    argv = ["certify", good, "--attr-add", "1", "--attr-del", "2", "--sigma", "2", "--targets", "test"]
    assert main([*argv, "--proof", str(proof), "--allocation", str(table), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {
        "targets",
        "certified",
        "ratio",
        "naive_certified",
        "bound",
        "attack_found",
        "relaxation",
        "integer_claim",
    } <= set(result)
    assert result["status"] == "optimal"
    assert len(table.read_text().splitlines()) == 7
    assert main(["verify", str(proof), good]) == 0
    assert "accepted" in capsys.readouterr().out
    forged = json.loads(proof.read_text()) | {"certified": 6}
    proof.write_text(json.dumps(forged))
    assert main(["verify", str(proof), good, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["accepted"] is False
    assert main([*argv, "--verbose", "--relaxation", "exact"]) == 0
    words = capsys.readouterr().out
    assert "paper's formula" in words
    assert "proven in exact arithmetic" in words
    assert "by the integer program, which is not proven" in words


def test_files_survive_a_round_trip(good: str, tmp_path: Path) -> None:
    instance = load_instance(good)
    save_instance(tmp_path / "again.npz", instance)
    again = load_instance(tmp_path / "again.npz")
    assert again.digest == instance.digest
    save_instance(tmp_path / "third.npz", again)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "third.npz").read_bytes()
    from certcore import ThreatModel

    assert certify(again, ThreatModel(attr_del=2)).bound == certify(instance, ThreatModel(attr_del=2)).bound


def test_help_is_there_for_a_newcomer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "certify" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["certify", "--help"])
    assert stop.value.code == 0
    assert "example:" in capsys.readouterr().out


def test_interrupting_certify_reports_what_is_proven(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the middle of a solve: a sound, weaker answer that says so, not a lost one."""
    command = importlib.import_module("certcore.cli.certify")

    def slow(*args: Any, cancel: threading.Event, **options: Any) -> Any:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        assert cancel.wait(20)
        return certify(*args, cancel=cancel, **options)

    monkeypatch.setattr(command, "certify", slow)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in shells' background jobs
    try:
        assert main(["certify", good, "--attr-add", "1", "--attr-del", "2", "--json"]) == 0
    finally:
        signal.signal(signal.SIGINT, before)
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["status"] == "interrupted"
    assert result["naive_certified"] <= result["certified"]
    assert "stopping" in captured.err
