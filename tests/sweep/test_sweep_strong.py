"""Strong certificates in sweeps: searches that start from each other, and commands that take `strong`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from certcore import GridBase, Instance, ThreatModel, save_instance
from certcore.cli import main
from certcore.program.problem import Problem
from certcore.solve.strong import StrongSearch
from tests.support import random_graph, random_grid


def example() -> Instance:
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 40, 6, 0.06)
    return Instance(graph, GridBase(random_grid(rng, 40, (3, 5)), ("attr_add", "attr_del")), 1)


def test_sets_and_covers_of_one_budget_start_the_next() -> None:
    """Both ways: groups and needs differ between budgets, so rows are made anew, and those that do not fit left out."""
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 60, 6, 0.08)
    base = GridBase(random_grid(rng, 60, (9,)), ("adj_del",))
    instance = Instance(graph, base, 2, edge_field="messages")
    searches = {}
    for budget in (8, 12):
        searches[budget] = StrongSearch(Problem(instance, ThreatModel(adj_del=budget, local_adj_del=2)))
        list(searches[budget].run(rounds=12))
    for budget, other in ((8, 12), (12, 8)):
        seeds = searches[other].seeds
        assert seeds.sets
        assert seeds.covers
        cold, warm = (
            StrongSearch(Problem(instance, ThreatModel(adj_del=budget, local_adj_del=2)), None, start)
            for start in (None, seeds)
        )
        for search in (cold, warm):
            list(search.run(rounds=1))  # later both have found sets of their own
            assert search.bound is not None
            assert search.bound >= math.floor(searches[budget].found)
        assert warm._core is not None
        assert len(warm._core.sets) >= len(seeds.sets) // 2
        assert warm.bound < cold.bound


@pytest.mark.parametrize(
    "words",
    [
        ("curve", "--vary", "attr-del", "--values", "0:5:1"),
        ("surface", "--x", "attr-add", "--x-values", "0:2:1", "--y", "attr-del", "--y-values", "0:4:2"),
        ("radius", "--vary", "attr-del", "--at-least", "0.75"),
        ("defend", "--attr-del", "3", "--nodes", "2"),
    ],
)
def test_commands_take_strong_with_rounds_at_each_point(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never worse than tight anywhere, and monotone."""
    file = tmp_path / "instance.npz"
    save_instance(file, example())
    found = []
    for form in (("tight",), ("strong", "--rounds", "4")):
        command, *rest = words
        code = main([command, str(file), *rest, "--relaxation", *form, "--json"])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        found.append(json.loads(out))
    tight, strong = found
    assert strong["relaxation"] == "strong"
    if "points" not in tight:
        name = "value" if words[0] == "radius" else "certified"
        assert strong[name] >= tight[name]
        return
    assert all(a["certified"] >= b["certified"] for a, b in zip(strong["points"], tight["points"]))
    assert sum(a["bound"] for a in strong["points"]) < sum(b["bound"] for b in tight["points"])
    lines: dict[int, list[int]] = {}
    for point in strong["points"]:
        lines.setdefault(point.get("x", 0), []).append(point["certified"])
    assert all(line == sorted(line, reverse=True) for line in lines.values())
