"""Summaries, grids and the command `certcore base`."""

import json
from pathlib import Path

import numpy as np
import pytest

from certcore.base import GridBase, SmoothingBase, summary
from certcore.base.summary import grid_of, largest_budgets
from certcore.cli import main
from certcore.domain.graph import Graph
from certcore.domain.perturbations import UNLIMITED
from certcore.instance.instance import Instance, load_instance, save_instance


def votes_instance(theta: tuple[str, ...], seed: int = 0, n: int = 12) -> Instance:
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    attributes = (rng.random((n, 30)) < 0.5).astype(np.int8)
    graph = Graph.from_edges(n, pairs[rng.random(len(pairs)) < 0.4], attributes)
    label = rng.integers(5000, 10_001, size=n)
    label[0] = 10_000
    votes = np.stack([label, (10_000 - label) // 2, 10_000 - label - (10_000 - label) // 2], axis=1)
    base = SmoothingBase(votes, np.zeros(n, int), 10_000, "0.01", theta, graph=graph)
    return Instance(graph, base)


@pytest.mark.parametrize(
    "theta", [("0.002", "0.6", "0", "0"), ("0.002", "0.6", "0", "0.4"), ("0.1", "0.4", "0.1", "0.3")]
)
def test_a_grid_certifies_the_same_budgets(theta: tuple[str, ...]) -> None:
    instance = votes_instance(theta)
    base = instance.base
    grid = grid_of(base, base.bits)  # type: ignore[attr-defined]
    assert grid.axes == base.axes
    assert grid.global_fields == base.global_fields
    assert grid.fixed_adjacency == base.fixed_adjacency
    rng = np.random.default_rng(1)
    for budget in [*rng.integers(0, 9, size=(300, 4)).tolist(), [0, 0, 0, 0]]:
        assert np.array_equal(grid.fronts().certified(budget), base.fronts().certified(budget))


def test_a_grid_ends_at_bits_or_at_the_limit_and_stays_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = votes_instance(("0.4", "0.6", "0", "0.4"))
    base = instance.base
    grid = grid_of(base, base.bits, 7)  # type: ignore[attr-defined]
    assert grid.grid.shape[1:3] == (8, 8)
    assert grid.fronts().certified((7, 7, 0, 0))[0]
    assert not grid.fronts().certified((8, 0, 0, 0)).any()
    assert base.fronts().certified((10**6, 10**6, 0, 0))[0]
    monkeypatch.setattr(summary, "MAX_ENTRIES", 12 * 500)
    small = grid_of(base, (10**7, 10**7, 0, 2))
    assert small.grid.size <= 12 * 500
    assert small.fronts().certified((3, 3, 0, 0))[0]
    assert not (small.fronts().certified((3, 3, 0, 2)) & ~base.fronts().certified((3, 3, 0, 2))).any()


def test_largest_budgets_of_each_node() -> None:
    certified = np.array([[[1, 1, 1], [1, 1, 0]], [[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]], dtype=bool)
    fronts = GridBase(certified, ("attr_add", "adj_del")).fronts()
    assert largest_budgets(fronts, 0).tolist() == [1, 0, -1]
    assert largest_budgets(fronts, 3).tolist() == [2, 0, -1]
    assert largest_budgets(fronts, 1).tolist() == [0, 0, -1]
    free = SmoothingBase(np.array([[100, 0], [50, 50]]), np.array([0, 0]), 100, 0.1, ("0.5", "0.5", "0", "0")).fronts()
    assert largest_budgets(free, 0).tolist() == [UNLIMITED, -1]


def test_the_command_prints_the_table_and_writes_the_grid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "votes.npz"
    instance = votes_instance(("0.002", "0.6", "0", "0.4"))
    save_instance(path, instance)
    assert main(["base", str(path)]) == 0
    text = capsys.readouterr().out
    assert "10,000 samples" in text
    assert "α = 0.99" in text
    assert "attribute deletions" in text
    written = load_instance(tmp_path / "votes.grid.npz")
    assert isinstance(written.base, GridBase)
    for budget in [(0, 0, 0, 0), (1, 0, 0, 0), (0, 5, 0, 0), (0, 2, 0, 3), (0, 0, 1, 0)]:
        assert np.array_equal(written.base.fronts().certified(budget), instance.base.fronts().certified(budget))


def test_the_command_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "votes.npz"
    instance = votes_instance(("0.002", "0.6", "0", "0.4"))
    save_instance(path, instance)
    for rule in ("binary", "multiclass"):
        assert main(["base", str(path), "--json", "--no-grid", "--base-rule", rule]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["base"]["rule"] == rule
        fronts = load_instance(path, base_rule=rule).base.fronts()
        for k, entry in enumerate(report["types"].values()):
            assert entry["largest"] == max(int(largest_budgets(fronts, k).max()), 0)
            for point in entry["certified"]:
                budget = [0] * 4
                budget[k] = point["budget"]
                assert point["nodes"] == fronts.certified(budget).sum()
    assert [p.name for p in tmp_path.iterdir()] == ["votes.npz"]


def test_free_types_end_with_the_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "votes.npz"
    instance = votes_instance(("0.4", "0.6", "0", "0"))
    save_instance(path, instance)
    assert main(["base", str(path), "--json", "--grid", str(tmp_path / "g.npz"), "--limit", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["types"]["attr_del"]["largest"] == len(instance.graph.attr_indices)
    assert report["types"]["attr_del"]["ends_with_bits"]
    assert report["grid"]["budgets"] == [3, 3]
    assert main(["base", str(path), "--no-grid"]) == 0
    assert "all the bits there are" in capsys.readouterr().out


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["base", str(tmp_path / "missing.npz")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("certcore: ")
    assert captured.err.count("\n") == 1
