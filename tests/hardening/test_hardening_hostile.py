"""Files made to do harm by what they hold: each was found to crash, hang, fill the memory or tell too much."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from certcore import (
    Graph,
    GridBase,
    InputError,
    Instance,
    ThreatModel,
    certify,
    load_instance,
    messages,
    read_proof,
    report,
)
from certcore.common.exact import confidence_text, read_alpha
from certcore.common.npz import read_npz
from certcore.common.rounding import share_down
from certcore.figures.escape import clean, for_csv
from certcore.figures.table import make_table
from certcore.instance import fields
from certcore.instance.instance import MAX_CLASSES, MAX_META_DEPTH, instance_to_arrays
from pages.files import bundles, validation
from tests.hardening.fuzz import example

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 2**63 - 1


def packed(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for key, array in arrays.items():
            member = io.BytesIO()
            npy.write_array(member, np.asarray(array), allow_pickle=False)
            archive.writestr(f"{key}.npy", member.getvalue())
    return buffer.getvalue()


def changed(kind: str = "instance", **changes: Any) -> bytes:
    return packed(instance_to_arrays(example(kind)) | changes)


CRASH = """
import sys
from certcore import InputError, load_instance
try:
    load_instance(sys.argv[1])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("key", ["adj_indptr", "attr_indptr", "field_indptr"])
def test_pointers_whose_differences_wrap_around_do_not_crash(key: str, tmp_path: Path) -> None:
    """In a process of its own: it used to write past the end of an array."""
    arrays = instance_to_arrays(example("instance"))
    indices = key.replace("indptr", "indices")
    if key == "field_indptr":  # instead of layers, as in a file of somebody who declares fields
        del arrays["layers"]
        arrays[indices] = np.arange(3)
    end = len(arrays[indices])
    pointers = np.array([0, *[0] * 8, LARGEST, -LARGEST - 1, -1, end], dtype=np.int64)
    assert (np.diff(pointers) >= 0).all()  # what makes it hostile
    path = tmp_path / "hostile.npz"
    path.write_bytes(packed(arrays | {key: pointers}))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", CRASH, str(path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-300:]
    assert f"{key} contains -9223372036854775808" in done.stdout


@pytest.mark.parametrize(
    ("kind", "key", "array", "expected"),
    [
        ("instance", "node_names", np.full(3000, "漢"), "at most 12"),
        ("instance", "class_names", np.full(MAX_CLASSES + 1, "漢"), "at most 100,000"),
        ("instance", "meta", np.array('{"a": [' + "[]," * 400_000 + "1]}"), "characters"),
        ("instance", "meta", np.array('{"a": ' + "[" * 300 + "]" * 300 + "}"), "levels"),
        ("votes", "votes", np.zeros((40_000_000, 1), dtype=np.int8), "more than there is room for"),
        ("instance", "attr_indices", np.zeros(40_000_000, dtype=np.int8), "more than there is room for"),
        ("instance", "base_grid", np.zeros((12, 5000, 5000), dtype=bool), "unpacks to"),
        ("instance", "prediction", np.full(12, 2**62), "prediction contains"),
        ("instance", "prediction", np.full(12, -3), "prediction contains"),
        ("instance", "labels", np.full(12, 2**62), "labels contains"),
        ("votes", "alpha", np.array("1/3"), "no end as a decimal"),
    ],
)
def test_small_files_that_grow_are_refused_before_they_do(kind: str, key: str, array: Any, expected: str) -> None:
    data = changed(kind, **{key: array})
    assert len(data) < 2 * 2**20
    started = time.perf_counter()
    with pytest.raises(InputError, match=expected):
        load_instance(data)
    assert time.perf_counter() - started < 10
    if "unpacks" not in expected and "room" not in expected:
        assert validation.problems(read_npz(data))


def test_meta_as_deep_as_allowed_can_be_reported() -> None:
    deep = '{"a": ' + "[" * (MAX_META_DEPTH - 2) + "]" * (MAX_META_DEPTH - 2) + "}"
    instance = load_instance(changed(meta=np.array(deep)))
    assert report.page(report.build(instance, ThreatModel()))


def test_hubs_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A star: everybody reaches everybody within two hops. Small limits, so that the test stays small."""
    n = 400
    graph = Graph.from_edges(n, np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1), n_attrs=3)
    instance = Instance(graph, GridBase(np.ones((n, 2), dtype=bool), ("attr_add",)), 2)
    whole = fields.hop_fields(graph, np.arange(n), 2, "degrees")
    monkeypatch.setattr("certcore.instance.fields.MAX_ENTRIES", n * n // 2)
    with pytest.raises(InputError, match="fewer layers"):
        certify(instance, ThreatModel(attr_add=2))
    # What fits is the same, also where it is put together from parts.
    monkeypatch.setattr("certcore.instance.fields.MAX_ENTRIES", n * n)
    monkeypatch.setattr("certcore.instance.fields.BLOCK_TERMS", n * n // 8)
    parts = fields.hop_fields(graph, np.arange(n), 2, "degrees")
    for mine, other in ((parts.nodes, whole.nodes), (parts.edges, whole.edges)):
        assert mine is not None
        assert other is not None
        assert np.array_equal(mine.indptr, other.indptr)
        assert np.array_equal(mine.indices, other.indices)


def test_the_class_of_a_number_is_not_the_class_of_that_name() -> None:
    arrays = instance_to_arrays(example("instance"))
    arrays |= {"prediction": np.arange(12) % 3, "class_names": np.array(["1", "2", "0"])}
    instance = load_instance(packed(arrays))
    assert instance.select_targets("class:1").tolist() == [1, 4, 7, 10]


def test_no_visitor_gets_the_names_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both files have the same digest, which leaves out everything that a certificate does not depend on."""
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path))
    first, second = (changed(class_names=np.array([name] * 3), labels=np.full(12, k)) for k, name in enumerate("ab"))
    one, two = bundles.keep(first, "mine.npz")[0], bundles.keep(second, "mine.npz")[0]
    assert bundles.load(one).digest == bundles.load(two).digest
    assert (bundles.load(one).class_names, bundles.load(two).class_names) == (("a",) * 3, ("b",) * 3)
    assert np.asarray(bundles.load(two).labels).tolist() == [1] * 12
    assert bundles.keep(first, "mine.npz")[0] == one


def test_a_damaged_bundle_does_not_spoil_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    good = changed()
    (tmp_path / "good.npz").write_bytes(good)
    at = good.index(b"base_axes.npy") + len("base_axes.npy")
    (tmp_path / "bad.npz").write_bytes(good[:at] + b"\xff" * 8 + good[at + 8 :])
    with pytest.raises(InputError, match="damaged"):
        bundles._read_coverage(str(tmp_path / "bad.npz"), 0)
    assert bundles.most_alike("good", ["bad"]) == ["bad"]


@pytest.mark.parametrize("key", ["digest", "instance_digest"])
@pytest.mark.parametrize("value", [[], {}, None, 7])
def test_a_digest_that_is_no_text_is_refused(key: str, value: Any) -> None:
    """It is part of a key in the dashboard's memory, where a list would raise an error."""
    proof = certify(example("instance"), ThreatModel(attr_add=1)).proof
    assert proof is not None
    with pytest.raises(InputError, match="is no text"):
        read_proof(json.dumps(proof | {key: value}).encode())


def test_endless_combining_marks_do_not_hang() -> None:
    started = time.perf_counter()
    assert len(clean("a" + "\u0316\u0300" * 500_000)) < 20
    assert len(clean("a" + "\u0316\u0300" * 500_000, 10_000)) < 20
    assert time.perf_counter() - started < 5
    assert clean("Ve\u0301ra") == "Véra"


@pytest.mark.parametrize("name", ["=1+1", "@SUM(1)", "＝1+1", "a;=1+1", "a; @x", "  +1", "\t=1"])
def test_no_name_becomes_a_formula(name: str) -> None:
    for part in for_csv(name).split(";"):
        assert part.strip()[:1] not in tuple("=+-@|%＝＋－＠")
    table = make_table([name], [[name]]).csv()
    assert f"\r\n{name}" not in table


def test_a_guarantee_is_never_rounded_up() -> None:
    assert share_down(1999, 2000) == "99.9 %"
    assert share_down(2000, 2000) == "100.0 %"
    assert share_down(0, 0) == "0.0 %"
    assert share_down(1, 3, 2) == "33.33 %"
    assert confidence_text("0.0000001", 100) == "99.99999"
    assert confidence_text("0.01") == "0.99"
    n = 3000
    grid = np.ones((n, 2), dtype=bool)
    grid[0, 1] = False
    graph = Graph.from_edges(n, np.zeros((0, 2), dtype=int), np.ones((n, 1), dtype=np.int8))
    instance = Instance(graph, GridBase(grid, ("attr_del",)), 1)
    certificate = certify(instance, ThreatModel(attr_del=1))
    assert certificate.certified == n - 1
    text = str(messages.statement(instance, certificate))
    assert "99.9 %" in text
    assert "100" not in text


def test_a_level_without_an_end_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="no end as a decimal"):
        read_alpha("1/3")
    assert float(read_alpha("1/500")) == 0.002
