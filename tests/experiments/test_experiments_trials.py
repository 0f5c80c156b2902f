"""Trials: graphs made from words again, models trained again, each once, and told in tables of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from certcore import Graph, Instance, save_instance
from certcore.base.smoothing import SmoothingBase
from certcore.data.dataset import Dataset
from experiments import computations
from experiments.claims import Find
from experiments.datasets.texts import nearest_neighbours
from experiments.measure import radius
from experiments.source import Folders, Source
from experiments.store import Result, Results, write_result
from experiments.table import text_lines, tier_lines
from experiments.trial_lists import JOINT, TEXT_WITH_PAPER_VOTES, TEXTS
from experiments.trials import Documents, Trial, nearest_by
from experiments.unit import Experiment, run_experiment

WORDS = sp.csr_array((np.random.default_rng(5).random((40, 30)) < 0.2).astype(np.int8))
LABELS = np.arange(40) % 2


def documents() -> Dataset:
    graph = Graph.from_edges(40, np.array([[0, 1]]), WORDS)
    return Dataset("words", graph, LABELS, ("even", "odd"))


def edges_of(graph: Graph) -> set[tuple[int, int]]:
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.adj_indptr))
    return set(zip(rows.tolist(), graph.adj_indices.tolist()))


def test_directions_are_what_they_say() -> None:
    made = {
        name: edges_of(Documents(direction=name).make(documents()).graph)
        for name in ("symmetric", "nearest", "named", "mutual")
    }
    nearest = made["nearest"]
    assert nearest == set(map(tuple, nearest_neighbours(WORDS, 3).tolist()))
    back = {(b, a) for a, b in nearest}
    assert made["named"] == back
    assert made["symmetric"] == nearest | back
    assert made["mutual"] == nearest & back
    assert len(nearest) == 3 * 40


def test_neighbours_are_the_most_similar() -> None:
    dense = WORDS.toarray() > 0
    for node, found in enumerate(nearest_by(WORDS, 2, "cosine")):
        shared = (dense & dense[node]).sum(axis=1)
        score = shared / np.maximum(np.sqrt(dense.sum(axis=1) * dense[node].sum()), 1)
        score[node] = -1
        np.testing.assert_allclose(np.sort(score[found]), np.sort(score)[-2:])


def test_words_and_documents_are_chosen() -> None:
    frequency = np.asarray(WORDS.sum(axis=0)).ravel()
    few = Documents(words=10).make(documents()).graph
    assert few.n_attrs == 10
    assert np.diff(few.attr_indptr).sum() == np.sort(frequency)[-10:].sum()
    telling = WORDS.toarray().copy()
    telling[:, 7] = LABELS
    dataset = replace(documents(), graph=Graph.from_edges(40, np.array([[0, 1]]), sp.csr_array(telling)))
    one = Documents(words=1, chosen="informative", neighbours=1).make(dataset)
    assert (one.labels == 1).all(), "the word that is the class is kept, and only documents that have it"
    long = Documents(at_least=6).make(documents())
    assert long.graph.n_nodes == (np.diff(WORDS.indptr) >= 6).sum() < 40
    assert len(long.labels) == long.graph.n_nodes


def voted() -> Instance:
    graph = Documents().make(documents()).graph
    votes = np.tile([60, 40], (40, 1))
    base = SmoothingBase(votes, LABELS, 100, "0.01", ("0.01", "0.6", "0", "0"), graph=graph)
    meta = {"dataset": "words", "model": "gcn", "split": 0, "command": "by hand"}
    return Instance(graph, base, layers=2, labels=LABELS, class_names=("even", "odd"), meta=meta)


def test_a_trial_is_trained_and_voted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("CERTCORE_CACHE", str(tmp_path / "cache"))
    folders = Folders(tmp_path / "bundles", tmp_path / "results")
    save_instance(folders.bundle(Source("words"), 0), voted())
    trial = Trial(
        "paper", samples=200, label="two", documents=Documents(neighbours=2), per_class=5, schedule={"epochs": 2}
    )
    other = replace(trial, label="noise", theta=("0.01", "0.5", "0", "0"))

    def run(*trials: Trial) -> list[bool]:
        settings: dict[str, Any] = {"vary": "attr_del", "values": [0, 1, 2]}
        experiment = Experiment(
            "trials", "Trials", "fig", computations.log_curve, (Source("words"),), trials, settings
        )  # fmt: skip
        return [unit.skipped for unit in run_experiment(experiment, folders)]

    assert run(trial, other) == [False, False]
    found = Results(folders.results).find("trials", "words-gcn-attr")
    assert [result.variant for result in found] == ["noise-200", "two-200"]
    assert {result.samples for result in found} == {200}
    assert found[0].facts["theta"][1] == "0.5"
    assert found[1].facts["targets"] == 40 - 4 * 5
    later = replace(trial, first=200)
    assert run(later) == [False], "other samples of the same model"
    assert Results(folders.results).find("trials", "words-gcn-attr", "two-200")[0].provenance["trial"]["first"] == 200
    run(trial)
    monkeypatch.setattr(Trial, "apply", lambda *_: pytest.fail("trained again"))
    assert run(trial, other) == [True, True]
    with pytest.raises(pytest.fail.Exception):
        run(replace(trial, per_class=6))


def made(experiment: str, source: str, variant: str, split: int = 0, **values: Any) -> Result:
    facts = {"targets": 100, "samples": 1000, "accuracy": {"smoothed": 0.7}, "nodes": 40, "edges": 90}
    return Result(experiment, source, split, variant, {"share": 0.5}, facts, values, {})


def test_what_was_tried_is_told(tmp_path: Path) -> None:
    names = {trial.label: trial.name for trial in TEXTS}
    source = "webkb_knn3-gcn-attr"
    for label, counts in (("as-is", [90, 90, 0, 0, 0]), ("two", [90, 90, 90, 90, 0]), ("nearest", [90, 30, 0, 0, 0])):
        values = {"budgets": [0, 1, 2, 3, 4], "certified": counts, "naive": [90, 50, 0, 0, 0]}
        write_result(tmp_path, made("text-variants", source, names[label], **values), "key")
    for split, (strong, right) in enumerate(((80, 60), (70, 50))):
        for variant, count in (("tight", 60), ("strong", strong)):
            values = {"budgets": [20], "certified": [count], "naive": [0], "accurate": [right], "attack": [15]}
            write_result(tmp_path, made("tiers", "cora_ml-gcn-attr", variant, split, **values), "key")
    rows = [{"value": v, "certified": c, "naive": 0, "attack": a} for v, c, a in ((8, 55, 40), (9, 45, 51))]
    write_result(tmp_path, made("joint-contour", "cora_ml-gcn-joint", "strong", paper=7, rows=rows), "key")
    for trial, reach in zip(JOINT[:2], (1, 3), strict=True):
        values = {"budgets": [0, 1, 2, 3], "certified": [90] * (reach + 1) + [0] * (3 - reach), "naive": [90, 0, 0, 0]}
        write_result(tmp_path, made("joint-variants", "cora_ml-gcn-joint", trial.name, **values), "key")
    results = Results(tmp_path)
    assert [line[5] for line in text_lines(results)] == ["0.50", "0.25", "1.50"]
    ours = Find("nearest_text", (f"text-variants/{source}",), arguments={"naive": 8.08, "collective": 309.32})(results)
    assert ours is not None
    assert ours.text.startswith("1 of 2 changes raise it; most: two nearest")
    both = Find("meets_both", (f"text-variants/{source}/{TEXT_WITH_PAPER_VOTES.name}",))
    told = {"naive": 0.5, "collective": 1.5}
    assert replace(both, arguments=told)(results) is None, "fewer votes are no verdict"
    values = {"budgets": [0, 1, 2, 3, 4], "certified": [90, 90, 90, 90, 0], "naive": [90, 50, 0, 0, 0]}
    write_result(tmp_path, made("text-variants", source, TEXT_WITH_PAPER_VOTES.name, **values), "key")
    single, together = (
        radius(Results(tmp_path).find("text-variants", source, "two-nearest-1000000"), key).value
        for key in ("naive", "certified")
    )
    for wrong in ((1, 1), (1.3, 1), (1, 1.3)):
        told = {"naive": single * wrong[0], "collective": together * wrong[1]}
        met = replace(both, arguments=told)(Results(tmp_path))
        assert met is not None
        assert met.holds == (wrong == (1, 1))
    at = Find(
        "several",
        ("tiers/cora_ml-gcn-attr/tight", "tiers/cora_ml-gcn-attr/strong"),
        arguments={"names": ["tight", "strong"], "budget": 20, "falling": ["strong", "tight"]},
    )(results)
    assert at is not None
    assert at.text == "tight 60.0 % ± 0.0 %, strong 75.0 % ± 7.1 %"
    left = "85.0 % ± 0.0 %"
    assert tier_lines(results)[1][4:] == ("75.0 % ± 7.1 %", "55.0 % ± 7.1 %", "0.0 % ± 0.0 %", left)
    contour = Find("half_contour", ("joint-contour/cora_ml-gcn-joint/strong",))
    half = contour(results)
    assert half is not None
    assert half.text == "paper's and tight program 7, strong 8 deletions; an attack breaks more than half at 9"
    for paper, holds in ((8, True), (9, False)):
        half = replace(contour, arguments={"paper": paper})(results)
        assert half is not None
        assert half.holds is holds, "less than the paper's is not better"
    for model, count in (("gcn", 76), ("appnp", 50)):
        values = {"budgets": [20], "certified": [count], "naive": [0]}
        write_result(tmp_path, made("classifiers", f"cora_ml-{model}-attr", "paper", 1, **values), "key")
    for votes, paper, holds in ((1000, 0.74, True), (1000, 0.85, False), (10**6, 0.74, None)):
        told = {"budget": 20, "naive": "each", "votes": votes, "paper": {"GCN": paper}, "tolerance": 0.05}
        models = tuple(f"classifiers/cora_ml-{model}-attr/paper" for model in ("gcn", "appnp"))
        by_model = Find("several", models, arguments=told)(Results(tmp_path))
        assert (by_model and by_model.holds) is holds
        assert by_model is None or by_model.text.startswith("GCN 76.0 % (naive 0.0 %; splits 1), APPNP 50.0 %")
    moves = Find("what_moves_the_contour", ("joint-variants/cora_ml-gcn-joint",))(results)
    assert moves is not None
    assert "naive 0, collective 1 with the appendix's settings; up to 0 and 3" in moves.text
