"""Results: what is averaged, what is stored, what is done again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, certify, save_instance
from certcore.base.smoothing import SmoothingBase
from certcore.common.errors import InputError
from certcore.domain.threat import ThreatModel
from experiments.claims import Find
from experiments.measure import at_budget, mean_ratio, radius, whole_radius
from experiments.source import RESULTS, Folders, Source
from experiments.store import Result, Results, read_results, write_result, write_results
from experiments.unit import Experiment, Variant, run_experiment, thinned


def result(split: int = 0, samples: int = 1000, **values: Any) -> Result:
    facts = {"targets": 10, "samples": samples, "accuracy": {}}
    return Result("datasets", "toy-gcn-attr", split, "paper", {}, facts, values, {})


def test_average_radius_is_the_papers() -> None:
    assert whole_radius(np.array([1.0, 0.5, 0.5, 0.0])) == pytest.approx((0.5 * 1 + 0.5 * 2) / 2)
    assert whole_radius(np.array([1.0, 0.5])) is None, "a curve that does not end at zero has no r̄"
    assert whole_radius(np.zeros(3)) is None, "0/0 is no radius"


def test_ratios_are_averaged_before_the_radius() -> None:
    long, short = result(certified=[10, 10, 10, 0]), result(1, certified=[5, 0])
    np.testing.assert_allclose(mean_ratio([long, short]), [0.75, 0.5, 0.5, 0.0])
    ours = radius([long, short])
    assert ours is not None
    assert ours.value == pytest.approx(1.5 / 1.75)
    assert ours.spread == pytest.approx(np.std([1.0, 0.0], ddof=1))
    assert ours.splits == 2


def test_a_budget_between_two_takes_the_larger_one() -> None:
    curve = result(budgets=[0, 10, 20], certified=[10, 6, 2])
    for budget, expected in ((0, 1.0), (5, 0.6), (10, 0.6), (11, 0.2), (20, 0.2)):
        ours = at_budget([curve], budget)
        assert ours is not None
        assert ours.value == pytest.approx(expected), "never more than was certified at a budget at least as large"
    assert at_budget([curve], 21) is None, "beyond the end nothing is known while something is still certified"


def test_different_numbers_of_votes_are_never_mixed(tmp_path: Path) -> None:
    for split, samples in ((0, 1000), (1, 10), (2, 1000)):
        write_result(tmp_path, result(split, samples, certified=[1]), "key")
    assert [found.split for found in Results(tmp_path).find("datasets")] == [0, 2]


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    budgets = [*range(40), 50, 50, 50, 50, 50, 7, 8, *[0] * 30]
    before = result(certified=np.array([3, 2]), seconds=0.125, budgets=np.array(budgets))
    other = replace(before, split=1)
    path = write_result(tmp_path, before, "old")
    assert write_result(tmp_path, other, "key") == write_result(tmp_path, before, "new") == path
    found = read_results(path)
    assert [key for _, key in found.values()] == ["new", "key"], "one entry per unit, and others stay"
    after = found[before.name][0]
    assert after.values == {"certified": [3, 2], "seconds": 0.125, "budgets": budgets}
    assert '"0..39", "50x5", 7, 8, "0x30"' in path.read_text()
    path.write_text(path.read_text()[:-20])
    for read in (lambda: read_results(path), lambda: Results(tmp_path), lambda: write_result(tmp_path, before, "key")):
        with pytest.raises(InputError, match="cannot be read as results"):
            read()


def test_stored_results_are_few_and_small() -> None:
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    assert len(files) <= 25
    assert max(path.stat().st_size for path in files) <= 300_000


def toy() -> Instance:
    graph = Graph.from_edges(6, np.array([[0, 1], [1, 2], [2, 3], [4, 5]]), np.ones((6, 3), dtype=np.int8))
    grid = np.arange(3)[None] < np.array([1, 2, 3, 1, 2, 3])[:, None]
    return Instance(graph, GridBase(grid, ("attr_del",)), layers=1, meta={"command": "by hand", "seed": 7})


def test_units_are_done_once_and_again_when_something_changed(tmp_path: Path) -> None:
    calls: list[str] = []

    def work(instance: Instance, *, relaxation: str, budget: int) -> dict[str, Any]:
        calls.append(relaxation)
        done = certify(instance, ThreatModel(attr_del=budget), relaxation=relaxation)
        return {"budgets": [budget], "certified": [done.certified], "naive": [done.naive_certified]}

    source = Source("toy")
    folders = Folders(tmp_path / "bundles", tmp_path / "results")
    save_instance(folders.bundle(source, 0), toy())
    save_instance(folders.bundle(source, 3), toy())

    def run(budget: int, **options: Any) -> list[bool]:
        experiment = Experiment("toy", "Toy", "fig_toy", work, (source,), settings={"budget": budget})
        return [unit.skipped for unit in run_experiment(experiment, folders, **options)]

    assert run(1) == [False] * 4, "two splits in two variants"
    assert run(1) == [True] * 4
    assert run(2) == [False] * 4, "another budget is another result"
    stored = folders.results / "toy.json"
    write_results(stored, {name: one for name, one in read_results(stored).items() if not name.endswith("s3-tight")})
    assert run(2) == [True, True, True, False], "only what is missing is done again"
    assert len(calls) == 9
    assert run(2, force=True) == [False] * 4
    assert len(calls) == 13, "by force everything is computed, not copied"
    found = Results(folders.results).find("toy", "toy-gcn-attr", "tight")
    assert [r.split for r in found] == [0, 3]
    assert found[0].provenance["made_by"] == "by hand"
    assert found[0].provenance["instance"] == toy().digest
    assert found[0].values["certified"][0] >= found[0].values["naive"][0]


def test_variants_change_the_instance(tmp_path: Path) -> None:
    instance = toy()
    assert Variant("tight", "messages").apply(instance).edge_field == "messages"
    assert Variant("paper").apply(instance) is instance
    assert Variant("tight", "messages", "multiclass").name == "tight-messages-multiclass"


def test_more_splits_with_fewer_votes_are_mentioned_apart(tmp_path: Path) -> None:
    for split, counts in enumerate(([10, 10, 0], [10, 5, 0], [10, 5, 0])):
        less = result(split, 10**5, certified=counts, naive=counts)
        write_result(tmp_path, replace(less, variant="paper-100000"), "key")
    write_result(tmp_path, result(0, 10**6, certified=[10, 10, 0], naive=[10, 10, 0]), "key")
    toy = "datasets/toy-gcn-attr/paper"
    ours = Find("average_radius", (toy,), (f"{toy}-100000",))(Results(tmp_path))
    assert ours is not None
    assert (ours.value, ours.splits, ours.samples) == (0.5, 1, 10**6)
    assert ours.also == "With 100,000 votes on 3 splits: 0.40 ± 0.10."


def test_thinned_votes_are_a_sample_of_the_votes() -> None:
    graph = Graph.from_edges(2, np.array([[0, 1]]), np.ones((2, 3), dtype=np.int8))
    votes = np.array([[900, 100, 0], [0, 500, 500]])
    base = SmoothingBase(votes, np.array([0, 1]), 1000, "0.01", ("0", "0.6", "0", "0"), graph=graph)
    fewer = thinned(base, 100)
    assert fewer.n_samples == 100
    assert (fewer.votes.sum(axis=1) == 100).all()
    assert (fewer.votes <= votes).all()
    assert fewer.votes[0, 2] == fewer.votes[1, 0] == 0
    np.testing.assert_array_equal(fewer.votes, thinned(base, 100).votes)
    np.testing.assert_array_equal(fewer.prediction, base.prediction)
    whole = Instance(graph, base, layers=1)
    assert Variant("paper", samples=1000).apply(whole) is whole
    assert not Variant("paper", samples=1001).fits(whole)
