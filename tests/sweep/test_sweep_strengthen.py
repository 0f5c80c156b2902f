"""Curves and maps strengthened point by point: never worse, monotone, and the widest bracket first."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from certcore import GridBase, InputError, Instance, ThreatModel, save_instance
from certcore.cli import main
from certcore.program.problem import Problem
from certcore.solve.strong import StrongSearch
from certcore.sweep import Session, curve, strengthen, surface
from tests.support import random_graph, random_grid


def example() -> Instance:
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 40, 6, 0.06)
    return Instance(graph, GridBase(random_grid(rng, 40, (3, 5)), ("attr_add", "attr_del")), 1)


def test_a_strengthened_curve_only_gets_better() -> None:
    session = Session(example())
    tight = curve(session, ThreatModel(), "attr_del", range(6))
    told: list[tuple[int, int]] = []
    last = tight
    for better in strengthen(session, tight, time_limit=1.0, progress=lambda *done: told.append(done)):
        assert (better.certified >= last.certified).all()
        assert (np.diff(better.certified) <= 0).all()
        last = better
    assert last.relaxation == "strong"
    assert last.verified.all()
    assert told[0][0] == 0
    again = list(strengthen(session, tight, time_limit=1.0))  # from memory: nothing is lost
    assert not again or (again[-1].certified >= last.certified).all()


def test_a_strengthened_map_only_gets_better() -> None:
    session = Session(example())
    tight = surface(session, ThreatModel(), "attr_add", [0, 1, 2], "attr_del", [0, 2, 3])
    last = tight
    for better in strengthen(session, tight, time_limit=1.0):
        assert (better.certified >= last.certified).all()
        last = better
    assert (np.diff(last.certified, axis=0) <= 0).all()
    assert (np.diff(last.certified, axis=1) <= 0).all()
    assert last.certified.sum() >= tight.certified.sum()


def test_what_a_solver_says_is_not_strengthened_into_a_proof() -> None:
    """A strengthened curve counts as verified; one that began with bounds of the integer program did so as well."""
    session = Session(example())
    line = curve(session, ThreatModel(), "attr_del", [2, 3], relaxation="exact", time_limit=1)
    plane = surface(session, ThreatModel(), "attr_add", [0, 1], "attr_del", [2], relaxation="exact", time_limit=1)
    for begun in (strengthen(session, line, time_limit=0.1), strengthen(session, plane, time_limit=0.1)):
        with pytest.raises(InputError, match="the solver's claim"):
            list(begun)


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
def test_commands_take_strong_with_seconds_at_each_point(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never worse than tight anywhere, and monotone."""
    file = tmp_path / "instance.npz"
    save_instance(file, example())
    found = []
    for form in (("tight",), ("strong", "--time-limit", "0.3")):
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
    assert all(point["verified"] for point in strong["points"])
    lines: dict[int, list[int]] = {}
    for point in strong["points"]:
        lines.setdefault(point.get("x", 0), []).append(point["certified"])
    assert all(line == sorted(line, reverse=True) for line in lines.values())
