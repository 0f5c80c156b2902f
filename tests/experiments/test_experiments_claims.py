"""The table: complete, honest about what was not run, and never older than the results."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.claims import CLAIMS, EXTENSIONS, Claim, Row, rows
from experiments.definitions import BY_NAME, EXPERIMENTS, chosen
from experiments.look_up import READINGS, Find
from experiments.measure import Ours, sub_curve
from experiments.source import RESULTS
from experiments.store import Result, Results, read_results, write_result, write_results
from experiments.table import HEADINGS, cells

#: The numbers the paper states, which must all have a row.
STATED = (
    "7.18", "351.73", "6.54", "265.62", "8.08", "309.32", "17.12", "971.36", "88.3 %", "76.9 %", "74 %", "39", "6",
    "2.0 s", "0.29 s", "336.41 s", "106.90 s", "40.51 s", "0.39 s", "0.105 s", "0.116 s", "4 %", "4.3 %",
    "0.24 s to 64 h", "0.35 s to 94 h", "> 2×", "30 % to 60 %", "21", "≈ 5 %",
)  # fmt: skip


def test_every_number_of_the_paper_has_a_row() -> None:
    papers = {claim.paper for claim in CLAIMS}
    assert not [number for number in STATED if number not in papers]
    names = [claim.name for claim in (*CLAIMS, *EXTENSIONS)]
    assert len(set(names)) == len(names)
    for claim in (*CLAIMS, *EXTENSIONS):
        assert claim.how in BY_NAME or claim.how == "all", claim.name
        assert claim.find.how in READINGS, claim.name
    unused = set(READINGS) - {claim.find.how for claim in (*CLAIMS, *EXTENSIONS)}
    assert not unused, "a reading that no claim names is dead"


def test_the_verdicts_on_the_paper_are_known() -> None:
    verdicts = Counter(row.verdict for row in rows(CLAIMS, Results(RESULTS)))
    assert verdicts == {"reproduced": 32, "better": 4, "differs": 14, "corrected": 5, "bracketed": 3}


@pytest.mark.parametrize("folder", ["nothing", "stored"])
def test_no_row_is_empty(folder: str, tmp_path: Path) -> None:
    results = Results(tmp_path if folder == "nothing" else RESULTS)
    for row in rows((*CLAIMS, *EXTENSIONS), results):
        text = cells(row)
        assert len(text) == len(HEADINGS)
        assert all(cell.strip() for cell in text), row.claim.name
        if row.ours is None:
            assert row.verdict == "not run"
            assert len(row.sentence) > 20, f"{row.claim.name} does not say why it was not run"
        if row.verdict == "differs":
            assert len(row.sentence) > 20, f"{row.claim.name} differs without a word"


@pytest.mark.parametrize(
    ("experiment", "graph"),
    [("datasets", "citeseer"), ("datasets", "cora_ml"), ("texts", "webkb_knn3"), ("texts", "reuters_knn3_d200")],
)
def test_five_splits_and_a_million_votes_stand_behind_the_main_curves(experiment: str, graph: str) -> None:
    found = Results(RESULTS).find(experiment, f"{graph}-gcn-attr", "paper")
    assert [result.split for result in found] == [0, 1, 2, 3, 4]
    assert {result.samples for result in found} == {10**6}


def test_stored_results_tell_where_they_come_from() -> None:
    for result in Results(RESULTS):
        assert re.fullmatch(r"[0-9a-f]{64}", result.provenance["instance"]), result.name
        assert result.provenance["command"].startswith(("certcore reproduce ", "python -m experiments "))
        assert result.provenance["made_by"].startswith("certcore bundle "), result.name
        assert result.experiment in BY_NAME
        text = json.dumps([result.provenance, result.settings])
        assert "/work" not in text
        assert "/home" not in text
        if "certified" in result.values and "naive" in result.values:
            assert (result.ratios("certified") >= result.ratios("naive")).all(), result.name
            assert (result.ratios("certified") <= 1).all(), result.name


@pytest.mark.parametrize(
    ("value", "better", "verdict"),
    [
        (10.5, "equal", "reproduced"),
        (15.0, "equal", "differs"),
        (15.0, "higher", "better"),
        (5.0, "higher", "differs"),
        (5.0, "lower", "better"),
    ],
)
def test_verdicts(value: float, better: str, verdict: str) -> None:
    claim = Claim("x", "here", "a number", "10", Find("stated"), 10.0, better=better)
    assert Row(claim, Ours(value, str(value))).verdict == verdict
    assert Row(claim, None).verdict == "not run"


def test_fewer_votes_are_said_aloud() -> None:
    claim = Claim("x", "here", "a number", "10", Find("stated"), 10.0, how="datasets")
    assert "100,000 votes" in Row(claim, Ours(10.0, "10", samples=10**5)).sentence
    assert Row(claim, Ours(10.0, "10", samples=10**6)).sentence == ""


def made(experiment: str, source: str, variant: str, split: int = 0, **values: Any) -> Result:
    facts = {"targets": 100, "samples": 10**6, "accuracy": {}, "nodes": 2110, "edges": 3668, "degree_over_16": 0.0}
    provenance = {"instance": "0" * 64, "command": "python -m experiments x", "made_by": "certcore bundle x"}
    return Result(experiment, source, split, variant, {"time_limit": 60.0}, facts, values, provenance)


def test_numbers_are_read_off_the_right_results(tmp_path: Path) -> None:
    falling = {"budgets": [0, 1, 2, 3], "certified": [90, 90, 90, 0], "naive": [90, 30, 0, 0], "seconds": 1.0}
    curves = [
        {"local": 1, "budgets": [0, 1000], "certified": [90, 60], "naive": [90, 0]},
        {"local": None, "budgets": [0, 1000], "certified": [90, 20], "naive": [90, 0]},
    ]
    sigma = [{"sigma": 1, "budgets": [0, 5, 9], "certified": [90, 80, 80], "naive": [90, 0, 0]}]
    bracket = [
        {"value": v, "relaxed": 80, "exact": 80 + v, "attack": 20 - v, "solved": s, "exact_seconds": v, "naive": 0}
        for v, s in ((1, True), (12, False))
    ]
    for result in (
        made("datasets", "citeseer-gcn-attr", "paper", **falling),
        made("local", "cora_ml-gcn-adj", "paper-messages", curves=curves),
        made("attackers", "cora_ml-gcn-adj", "paper-messages", curves=sigma),
        made("gap-attributes", "cora_ml-gcn-attr", "strong", rows=bracket),
    ):
        write_result(tmp_path, result, "key")
    found = {row.claim.name: row.ours for row in rows(CLAIMS, Results(tmp_path))}
    assert found["citeseer-collective"] is not None
    assert found["citeseer-collective"].value == pytest.approx(1.0)
    assert found["citeseer-naive"].value == pytest.approx(0.25)  # type: ignore[union-attr]
    assert found["local-doubles"].value == pytest.approx(3.0)  # type: ignore[union-attr]
    assert found["attackers-plateau"].holds is True  # type: ignore[union-attr]
    gap = (
        "12.00 % of the targets, 13.04 % of those the integer program certifies (1 of 2 budgets solved to the end, "
        "the largest 1; largest gap among them 1.00 % of the targets)"
    )
    assert found["gap-attributes"].text == gap  # type: ignore[union-attr]
    assert found["gap-attributes"].holds is False  # type: ignore[union-attr]
    assert found["counts-citeseer"].holds is True  # type: ignore[union-attr]
    assert found["sma-21"] is None


def test_classifiers_are_compared_on_the_votes_that_all_have(tmp_path: Path) -> None:
    """At the same budgets, with few votes and with more; the sentence itself with the most that both have."""
    budgets = {"budgets": [0, 1, 2, 21]}
    for number, naive in ((10**4, [90, 60, 0, 0]), (10**5, [90, 70, 50, 0])):
        for model, certified in (("sma", [90, 80, 80, 60]), ("rgcn", [90, 80, 70, 60])):
            values = budgets | {"certified": certified, "naive": naive}
            result = made("classifiers", f"citeseer-{model}-attr", f"paper-{number}", **values)
            write_result(tmp_path, replace(result, facts=result.facts | {"samples": number}), "key")
    results = Results(tmp_path)
    by_votes = next(claim.find for claim in EXTENSIONS if claim.name == "sma-base-citeseer")(results)
    assert by_votes is not None
    assert by_votes.text == "on average up to 1 deletions: +20.0 % with 10,000 votes, +10.0 % with 100,000"
    pair = tuple(f"classifiers/citeseer-{model}-attr/paper" for model in ("sma", "rgcn"))
    base_close = Find("base_close_to_collective", pair, equal=True, arguments={"almost": 0.1})
    close = base_close(results)
    assert close is not None
    assert close.text.startswith("RGCN collective − SMA naive: +15.0 % on average up to 2 deletions")
    gcn = ("classifiers/citeseer-gcn-attr/paper-{votes}", "classifiers/citeseer-gcn-attr/paper")
    ratio = Find("ratio", ("classifiers/citeseer-rgcn-attr/paper-10000",), gcn, arguments={"budget": 2})
    ours = ratio(results)
    assert ours is not None
    assert (ours.text, ours.also) == ("70.0 %", "")
    write_result(tmp_path, made("classifiers", "citeseer-rgcn-attr", "paper", **values), "key")
    for variant, count in (("paper", 85), ("paper-1000000", 65)):
        values = budgets | {"certified": [90, 90, count, 0], "naive": [90, 0, 0, 0]}
        result = made("classifiers", "citeseer-gcn-attr", variant, **values)
        facts = result.facts | {"samples": 10**7 if variant == "paper" else 10**6}
        write_result(tmp_path, replace(result, facts=facts), "key")
    ours = replace(ratio, of=("classifiers/citeseer-rgcn-attr/paper",))(Results(tmp_path))
    assert ours is not None
    assert "GCN has 65.0 % with as many votes and 85.0 % with 10,000,000 (1 splits)." in ours.also
    stored = tmp_path / "classifiers.json"
    kept = {name: one for name, one in read_results(stored).items() if name != "citeseer-rgcn-attr-s0-paper-100000"}
    write_results(stored, kept)
    fewer = base_close(Results(tmp_path))
    assert fewer is not None
    assert "+20.0 % on average up to 1 deletions" in fewer.text


def test_classifiers_are_compared_on_the_splits_that_all_have(tmp_path: Path) -> None:
    """A second split of one of them would change the order."""
    lists = {"gcn": [90, 10], "gat": [60], "appnp": [30]}
    for model, counts in lists.items():
        for split, count in enumerate(counts):
            values = {"budgets": [0, 1], "certified": [count, count], "naive": [count, 0]}
            result = made("classifiers", f"citeseer-{model}-attr", "paper-100000", split, **values)
            write_result(tmp_path, result, "key")
    order = next(claim.find for claim in EXTENSIONS if claim.name == "models-order-citeseer")
    ours = order(Results(tmp_path))
    assert ours is not None
    assert ours.text.startswith("naive: GCN > GAT > APPNP; collective: GCN > GAT > APPNP")
    assert ours.splits == 1
    values = {"budgets": [0, 1], "certified": [95, 95], "naive": [95, 0]}
    for model in ("gat", "appnp"):
        write_result(tmp_path, made("classifiers", f"citeseer-{model}-attr", "paper-100000", 1, **values), "key")
    ours = order(Results(tmp_path))
    assert ours is not None
    assert (ours.splits, ours.text.split(";")[0]) == (2, "naive: GAT > APPNP > GCN")


def test_more_attackers_leave_no_more() -> None:
    """Curves of one instance: a stronger attacker is never certified better, with σ or without."""
    results = Results(RESULTS)
    for result in results.find("attackers"):
        curves = sorted(result.values["curves"], key=lambda curve: curve["sigma"])
        for few, many in itertools.pairwise(curves):
            assert (np.array(few["certified"]) >= np.array(many["certified"])).all(), result.name
        for other in results.find("local", result.source, result.variant):
            free = sub_curve(other, "local", None)
            assert free is not None
            assert other.provenance["instance"] == result.provenance["instance"]
            known = dict(zip(free.values["budgets"], free.values["certified"]))
            for curve in curves:
                for budget, count in zip(curve["budgets"], curve["certified"]):
                    assert count >= known.get(budget, 0), (result.name, curve["sigma"], budget)


def test_command_lists_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "fig_datasets" in capsys.readouterr().out
    for bad in (["fig_9"], ["keep-votes"], ["table", "x.npz"], ["all", "--data", str(tmp_path / "none")]):
        assert main([*bad]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert chosen("robust_models") == (BY_NAME["classifiers"],)
    assert chosen("all") == EXPERIMENTS


def test_command_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "docs" / "results"
    assert main(["convex", "--bundles", str(tmp_path), "--results", str(results), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["computed"] == 0
    assert "not run" in report["verdicts"]
    assert "971.36" in (tmp_path / "docs" / "reproduction.md").read_text()
