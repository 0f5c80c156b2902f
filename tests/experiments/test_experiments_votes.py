"""Votes without their graph, and bundles that can be made again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from certcore import Graph, load_instance, save_instance
from certcore.common.errors import InputError
from certcore.common.npz import read_npz
from certcore.data.dataset import Dataset, save_dataset
from experiments.source import LOCAL, Folders, Source, directed_neighbours, join_votes, keep_votes

#: torch-geometric still compiles with torch.jit when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


def small_dataset(seed: int = 0) -> Dataset:
    """Two classes that differ in their attributes; large enough for a split."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 50)
    attributes = (rng.random((100, 12)) < np.where(labels[:, None] == np.arange(12) % 2, 0.6, 0.1)).astype(np.int8)
    edges = np.array(
        [(i, j) for i in range(100) for j in range(i) if rng.random() < (0.08 if labels[i] == labels[j] else 0.01)]
    )
    return Dataset("small", Graph.from_edges(100, edges, attributes), labels, ("even", "odd"))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundle from 200 samples, and the file of its dataset."""
    pytest.importorskip("torch")
    from experiments.bundle import BundleRecipe, make_bundle

    folder = tmp_path_factory.mktemp("bundle")
    save_dataset(folder / "small.npz", small_dataset())
    recipe = BundleRecipe(str(folder / "small.npz"), samples=200, selection=50, epochs=5)
    path, _ = make_bundle(recipe, folder / "small-gcn-attr-s0.npz", work=folder / "work", jobs=1)
    return path, folder / "small.npz"


def test_the_same_command_gives_the_same_bundle(bundle: tuple[Path, Path], tmp_path: Path) -> None:
    from experiments.bundle import BundleRecipe, make_bundle

    path, data = bundle
    recipe = BundleRecipe(str(data), samples=200, selection=50, epochs=5)
    again, _ = make_bundle(recipe, tmp_path / "again.npz", work=tmp_path / "work", jobs=1)
    first, second = load_instance(path), load_instance(again)
    assert first.digest == second.digest
    assert again.read_bytes() == path.read_bytes(), "also layout and provenance"
    assert "--samples 200" in first.meta["command"]
    other, _ = make_bundle(
        BundleRecipe(str(data), samples=201, selection=50, epochs=5), tmp_path / "o.npz", work=tmp_path / "o", jobs=1
    )
    assert load_instance(other).digest != first.digest


def test_kept_votes_show_no_graph_and_join_to_the_same_instance(bundle: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = bundle
    kept = tmp_path / "kept.npz"
    keep_votes(path, kept)
    arrays = read_npz(kept)
    assert not [key for key in arrays if key.startswith(("adj", "attr", "field", "layout", "labels", "node"))]
    joined = join_votes(kept, small_dataset())
    assert joined.digest == load_instance(path).digest
    assert joined.meta["command"] == load_instance(path).meta["command"]
    with pytest.raises(InputError, match="another version"):
        join_votes(kept, small_dataset(1))


def test_grids_have_no_votes_to_keep(tmp_path: Path) -> None:
    from tests.support import random_instance

    save_instance(tmp_path / "grid.npz", random_instance(np.random.default_rng(0)))
    with pytest.raises(InputError, match="holds no votes"):
        keep_votes(tmp_path / "grid.npz", tmp_path / "kept.npz")


def test_directed_neighbours_receive_from_their_nearest(tmp_path: Path) -> None:
    dataset = small_dataset()
    nearest = np.array([[(i + k) % 100 for k in (1, 2, 3)] for i in range(100)], dtype=np.int32)
    np.savez(tmp_path / "small.npz", knn_directed=nearest)
    graph = directed_neighbours(dataset, tmp_path / "small.npz").graph
    assert graph.directed
    assert graph.n_edges == 300
    np.testing.assert_array_equal(np.sort(graph.adj_indices[:3]), [1, 2, 3])


def test_local_graphs_are_asked_for(tmp_path: Path) -> None:
    folders = Folders(tmp_path, tmp_path)
    assert list(folders.splits(Source("cora_ml"))) == []
    with pytest.raises(InputError, match=r"cora_ml\.npz with --data"):
        folders.load(Source("cora_ml"), 0)


def test_no_local_graph_is_in_the_project() -> None:
    """Neither bundles nor kept votes of the graphs that may not travel with the project."""
    root = Folders()
    for path in root.bundles.glob("*.npz"):
        assert not path.name.startswith(tuple(f"{name}-" for name in LOCAL)), f"{path.name} holds a graph"
        assert not path.name.startswith(tuple(f"{name}_" for name in LOCAL)), f"{path.name} holds a graph"
    for path in root.votes.glob("*.npz"):
        arrays = read_npz(path)
        assert not [key for key in arrays if key.startswith(("adj", "attr", "field", "layout"))], path.name
        assert json.loads(str(arrays["meta"]))["command"].startswith("certcore bundle")
