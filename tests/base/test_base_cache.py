"""Tables on disk are never trusted blindly."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from certcore.base.cache import FORMAT, TableCache
from certcore.base.thresholds import grown_thresholds, table_key, threshold_table
from certcore.common.files import cache_folder
from certcore.domain.noise import Noise

THETA = ("0.002", "0.6", "0", "0.4")
EXTENT = (2, 3, 0, 1)


@pytest.fixture
def cache(tmp_path: Path) -> TableCache:
    return TableCache(tmp_path)


def only_file(cache: TableCache) -> Path:
    (path,) = cache.folder.iterdir()
    return path


def test_a_stored_table_is_used(cache: TableCache, monkeypatch: pytest.MonkeyPatch) -> None:
    first = threshold_table(THETA, EXTENT, cache)
    monkeypatch.setattr("certcore.base.thresholds._fill", lambda *_: pytest.fail("computed again"))
    second = threshold_table(THETA, EXTENT, cache)
    assert np.array_equal(first.values, second.values)


@pytest.mark.parametrize("damage", ["empty", "cut", "noise", "flip", "pickle", "folder"])
def test_damaged_files_are_ignored_and_written_again(damage: str, cache: TableCache) -> None:
    good = threshold_table(THETA, EXTENT, cache).values
    path = only_file(cache)
    content = bytearray(path.read_bytes())
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "noise":
        path.write_bytes(b"PK" + bytes(range(256)))
    elif damage == "flip":
        spot = content.index(np.float64(0.5).tobytes())
        content[spot : spot + 8] = np.float64(0.25).tobytes()
        path.write_bytes(content)
    elif damage == "pickle":
        path.write_bytes(b"\x80\x04N.")
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    assert np.array_equal(threshold_table(THETA, EXTENT, cache).values, good)
    if damage != "folder":
        assert cache.read("x", {}) is None
        assert path.stat().st_size > 100
        assert np.array_equal(threshold_table(THETA, EXTENT, cache).values, good)


@pytest.mark.parametrize("change", ["value", "shape", "type", "extra", "key"])
def test_well_formed_files_with_the_wrong_content_are_ignored(change: str, cache: TableCache) -> None:
    good = threshold_table(THETA, EXTENT, cache).values
    path = only_file(cache)
    with np.load(path) as stored:
        arrays = dict(stored)
    if change == "value":  # a table that would certify everything, under the old checksum
        arrays["values"] = np.zeros_like(arrays["values"])
        np.savez(path, **arrays)
    elif change == "key":  # a valid table of another smoothing under this name
        other = TableCache(cache.folder / "other")
        threshold_table(("0.4", "0.5", "0", "0.4"), EXTENT, other)
        path.write_bytes(only_file(other).read_bytes())
    else:
        values = {"shape": good[..., :1] * 0, "type": (good * 0).astype(np.float32), "extra": good * 0}[change]
        write = {"values": values} | ({"more": values} if change == "extra" else {})
        key = table_key("box", Noise.of(THETA).fractions, EXTENT, 1.0)
        assert cache.path(key) == path
        cache.write(key, write)
    assert np.array_equal(threshold_table(THETA, EXTENT, cache).values, good)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    table = threshold_table(THETA, EXTENT, TableCache(blocked / "below"))
    assert table.values[0, 0, 0, 0] == 0.5


def test_similar_votes_share_a_table(cache: TableCache) -> None:
    grown_thresholds(THETA, 0.9993, cache=cache)
    grown_thresholds(THETA, 0.9994, cache=cache)
    grown_thresholds(THETA, 0.9994, (10**5, 10**5, 10**5, 10**5), cache=cache)
    only_file(cache)


def test_where_tables_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("CERTCORE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "certcore"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "certcore"
    assert FORMAT.startswith("certcore-table-")


def test_two_processes_may_share_a_folder(tmp_path: Path) -> None:
    code = """
import sys
from certcore.base.cache import TableCache
from certcore.base.thresholds import threshold_table
for d in range(12):
    print(threshold_table(("0.002", "0.6", "0", "0.4"), (2, d % 4, 0, 3), TableCache(sys.argv[1])).values.sum())
"""
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(set(outputs)) == 1
    assert len(outputs[0].split()) == 12
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".npz"] * 4
