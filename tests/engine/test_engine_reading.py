"""Whole numbers are compared before they are converted; names and members appear once."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certcore import Graph, GridBase, InputError, Instance, ThreatModel, certify, load_instance
from certcore.base import SmoothingBase
from certcore.base.grid import BaseLocal
from certcore.cli import main
from certcore.common.npz import read_npz
from certcore.common.reading import flag, read_json, whole_number, whole_numbers
from certcore.instance.instance import instance_from_arrays, instance_to_arrays, save_instance
from certcore.verify.proof import digest_of, read_proof, verify_proof

LAST = np.array([0, 2**64 - 1], dtype=np.uint64)  # a cast would make the last node of it
NO_WHOLE = [True, 3.0, 2.5, float("nan"), "3", None, 2**63, -1, np.float64(1), np.bool_(True)]


@pytest.mark.parametrize("value", NO_WHOLE)
def test_what_is_no_whole_number_is_refused_alone_and_in_lists(value: Any) -> None:
    with pytest.raises(InputError):
        whole_number(value, "x", 0, 10)
    for given_ in ([value], [0, value], (1, value)):
        with pytest.raises(InputError):
            whole_numbers(given_, "x", 0, 10)


@given(st.lists(st.integers(-(2**70), 2**70), max_size=5), st.integers(-(2**63), 0), st.integers(0, 2**63 - 1))
def test_lists_of_any_size_are_kept_or_refused(values: list[int], low: int, high: int) -> None:
    if all(low <= v <= high for v in values):
        result = whole_numbers(values, "x", low, high)
        assert result.tolist() == values
        assert not result.flags.writeable
    else:
        with pytest.raises(InputError):
            whole_numbers(values, "x", low, high)


@pytest.mark.parametrize("kind", ["i1", "u1", ">i4", "<u8", "<i8"])
def test_arrays_of_any_whole_type_are_taken(kind: str) -> None:
    assert whole_numbers(np.array([0, 5], dtype=kind), "x", 0, 5).tolist() == [0, 5]
    assert whole_numbers(np.array([]), "x", 0, 5).dtype == np.int64


def test_flags() -> None:
    assert [flag(v, "x") for v in (True, False, np.bool_(True), 0, 1, np.array(1))] == [
        True,
        False,
        True,
        False,
        True,
        True,
    ]
    for wrong in (2, "no", 0.0, None):
        with pytest.raises(InputError):
            flag(wrong, "x")


def test_json_names_appear_once_and_numbers_are_numbers() -> None:
    assert read_json('{"a": {"b": 1}, "c": [{"b": 2}]}', "x") == {"a": {"b": 1}, "c": [{"b": 2}]}
    for wrong in ('{"a": 1, "a": 1}', '[{"x": {"a": 1, "b": 2, "a": 3}}]', "NaN", "[1e5", "[" * 100_000):
        with pytest.raises(InputError):
            read_json(wrong, "x")


@pytest.fixture
def instance() -> Instance:
    graph = Graph.from_edges(4, np.array([(0, 1), (1, 2)]), np.eye(4, dtype=np.int8))
    return Instance(graph, GridBase(np.ones((4, 3), dtype=bool), ("attr_del",), prediction=np.zeros(4, dtype=int)))


@pytest.mark.parametrize(
    "build",
    [
        lambda: ThreatModel(targets=LAST),
        lambda: ThreatModel(protected=LAST),
        lambda: ThreatModel(protected=[2**63]),
        lambda: ThreatModel(protected=[0, 2**70]),
        lambda: ThreatModel(local_attr_del=LAST),
        lambda: ThreatModel(targets=[0, True]),
        lambda: ThreatModel(sigma=np.uint64(2**64 - 1)),
        lambda: Graph.from_edges(4, np.array([LAST], dtype=np.uint64)),
        lambda: Graph(2, 0, [0, 1, 2], LAST[::-1], [0, 0, 0], [], False),
        lambda: Graph(2.5, 0, [0, 0, 0], [], [0, 0, 0], []),
        lambda: Graph(2, 0, [0, 0, 0], [], [0, 0, 0], [], "no"),
        lambda: BaseLocal(joint=2.5),
        lambda: BaseLocal((2.5, None, None, None)),
        lambda: GridBase(np.ones((2, 2), dtype=bool), ("attr_del",), prediction=LAST),
        lambda: GridBase(np.ones((2, 2), dtype=bool), ("attr_del",), prediction=[0.5, 1.5]),
        lambda: SmoothingBase(np.array([[5, 0]]), [2**64 - 1], 5, "0.01", ("0", "0.5", "0", "0")),
        lambda: GridBase(np.ones((2, 2), dtype=bool), ("attr_del",)).fronts().certified((0, 2.9, 0, 0)),
    ],
)  # fmt: skip
def test_numbers_out_of_range_never_become_other_numbers(build: Any) -> None:
    with pytest.raises(InputError):
        build()


@pytest.mark.parametrize(
    "key", ["targets", "labels", "split", "prediction", "adj_indices", "attr_indices", "adj_indptr"]
)
@pytest.mark.parametrize("wrong", ["last", "float", "bool"])
def test_arrays_of_files_are_compared_before_they_are_converted(instance: Instance, key: str, wrong: str) -> None:
    arrays = instance_to_arrays(instance) | {"labels": np.zeros(4, dtype=int), "split": np.zeros(4, dtype=int)}
    assert instance_from_arrays(arrays).targets is not None
    if wrong == "last":
        array = arrays[key].astype(np.uint64)
        array[-1] = 2**64 - 1
    else:
        array = arrays[key].astype(float if wrong == "float" else bool)
    with pytest.raises(InputError, match=key):
        instance_from_arrays(arrays | {key: array})


def forged(instance: Instance, change: dict[str, Any]) -> bytes:
    """A proof with something else in its threat model, signed again."""
    proof = certify(instance, ThreatModel(attr_del=1), proof=True).proof
    assert proof is not None
    proof["threat"] |= change
    proof["digest"] = digest_of(proof)
    return json.dumps(proof).encode()


@pytest.mark.parametrize(
    "change", [{"protected": [2**63]}, {"protected": [2**64 - 1]}, {"sigma": 2**80}, {"local": []}]
)
def test_proofs_with_numbers_out_of_range_are_rejected(instance: Instance, change: dict[str, Any]) -> None:
    verdict = verify_proof(read_proof(forged(instance, change)), instance)
    assert not verdict.accepted


def test_the_command_says_it_without_a_traceback(
    instance: Instance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_instance(tmp_path / "i.npz", instance)
    (tmp_path / "p.json").write_bytes(forged(instance, {"protected": [9223372036854775808]}))
    assert main(["verify", str(tmp_path / "p.json"), str(tmp_path / "i.npz")]) == 1
    assert "9223372036854775808" in capsys.readouterr().out


def test_a_proof_that_says_something_twice_is_unreadable(instance: Instance) -> None:
    text = forged(instance, {}).decode()
    read_proof(text.encode())
    twice = text.replace('"certified": ', '"certified": 4, "certified": ', 1)
    with pytest.raises(InputError, match="twice"):
        read_proof(twice.encode())


def test_provenance_that_says_something_twice_is_refused(instance: Instance) -> None:
    arrays = instance_to_arrays(instance) | {"meta": np.array('{"dataset": "a", "dataset": "b"}')}
    with pytest.raises(InputError, match="twice"):
        instance_from_arrays(arrays)


def test_an_array_that_is_in_a_file_twice_is_refused(instance: Instance, tmp_path: Path) -> None:
    save_instance(tmp_path / "i.npz", instance)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / "i.npz", "a") as archive:
            archive.writestr("targets.npy", buffer.getvalue())
    for source in (tmp_path / "i.npz", (tmp_path / "i.npz").read_bytes()):
        with pytest.raises(InputError, match="twice"):
            load_instance(source)
        with pytest.raises(InputError, match="twice"):
            read_npz(source, keys=("labels",))


def test_what_is_told_to_people_is_no_value_error(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or whoever guards against those of Python and numpy would tell it again in other words."""
    assert not issubclass(InputError, ValueError)
    monkeypatch.setattr("certcore.instance.instance.MAX_TARGETS_BYTES", 2)
    (tmp_path / "targets.txt").write_text("0\n1\n")
    with pytest.raises(InputError, match="is larger than"):
        instance.select_targets(str(tmp_path / "targets.txt"))
