"""Figures of the paper, drawn from the stored results: all of them are there, and what is not sound says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.pictures import FORMS, draw, mean_lines, shelf
from experiments.source import RESULTS
from experiments.store import Result, Results, write_result


def test_every_figure_of_the_results_can_be_drawn_in_every_form() -> None:
    shelves = shelf(Results(RESULTS))
    drawn = [picture for part in shelves.values() for shown in part for picture in shown.pictures.values()]
    names = [picture.figure.name for picture in drawn]
    assert len(set(names)) == len(names), "names are keys of charts"
    assert all(shelves.values()), "every figure of the paper is there"
    for picture in drawn:
        assert picture.caption.endswith(".")
        assert "split" in picture.caption


def test_what_is_not_sound_says_so_in_the_figure_itself() -> None:
    for part in shelf(Results(RESULTS)).values():
        for shown in part:
            for form, picture in shown.pictures.items():
                edges = "adj" in str(getattr(picture.figure, "vary", getattr(picture.figure, "y", "")))
                if form == "paper" and edges and shown.spec.forms == FORMS:
                    said = [line.name for line in getattr(picture.figure, "lines", ())] or [picture.figure.title]
                    assert all("not sound" in text for text in said), picture.title


@pytest.mark.parametrize("end", [0, 3])
def test_a_line_of_many_budgets_is_thinned_without_loss(end: int) -> None:
    rng = np.random.default_rng(end)
    counts = [np.maximum(np.sort(rng.integers(0, 9, 400))[::-1], end) for _ in range(3)]
    values = [{"budgets": list(range(400)), "certified": row.tolist(), "naive": row.tolist()} for row in counts]
    facts = {"targets": 10}
    found = [Result("datasets", "toy-gcn-attr", k, "paper", {}, facts, row, {}) for k, row in enumerate(values)]
    line = mean_lines(found, "toy", 0)[0]
    assert len(line.values) < 200
    at = np.searchsorted(line.values, np.arange(400))
    np.testing.assert_allclose(
        line.ratio[at], np.mean(counts, axis=0) / 10, err_msg="as a line is read: the next value"
    )


def test_what_the_strong_search_adds_is_drawn_as_soon_as_it_is_there(tmp_path: Path) -> None:
    facts = {"targets": 10, "samples": 1000}
    for variant, counts in (("tight", [8, 5]), ("strong", [9, 6])):
        values = {"budgets": [5, 10], "certified": counts, "naive": [2, 1]}
        settings = {"time_limit": 8.0}
        write_result(tmp_path, Result("tiers", "citeseer-gcn-attr", 0, variant, settings, facts, values, {}), "key")
    rows = [{"value": 1, "relaxed": 7, "exact": 8, "attack": 2}]
    for variant in ("exact-messages", "strong-messages", "strong-degrees"):
        result = Result("gap-edges", "cora_ml-gcn-adj", 0, variant, {"time_limit": 60.0}, facts, {"rows": rows}, {})
        write_result(tmp_path, result, "key")
    edge = {"budgets": [0, 1, 2, 3], "certified": [9, 5, 4, 3], "naive": [9, 1, 0, 0]}
    strong = {"paper": 1, "rows": [{"value": 2, "certified": 4, "attack": 3}]}
    for dataset, digest in (("citeseer", "same votes"), ("cora_ml", "other votes")):
        edges = Result("joint-edge", f"{dataset}-gcn-joint", 0, "paper", {}, facts, edge, {"instance": "same votes"})
        contour = Result(
            "joint-contour", edges.source, 0, "strong", {"time_limit": 20.0}, facts, strong, {"instance": digest}
        )
        for result in (edges, contour):
            write_result(tmp_path, result, "key")
    found = {s.spec.name: s for part in shelf(Results(tmp_path)).values() for s in part}
    assert set(found) == {"datasets", "tiers-citeseer", "contour-citeseer", "gap-edges", "gap-edges-sound"}
    names = {
        name: [line.name for picture in shown.pictures.values() for line in picture.figure.lines]
        for name, shown in found.items()
    }
    assert names["tiers-citeseer"] == ["tight", "tight", "strong"], "certificate, naive count, strong search"
    assert "strong program, field not sound" in names["gap-edges"]
    assert "strong program" in names["gap-edges-sound"]
    assert list(found["datasets"].pictures) == ["strong"]
    assert found["datasets"].pictures["strong"].caption.startswith("Computed at 5, 10 deletions only, 8 s each.")
    drawn = found["contour-citeseer"].pictures["paper"].figure.lines
    assert [line.name for line in drawn][2:] == ["strong program"]
    assert [line.values.tolist() for line in drawn] == [[0, 1, 2], [0, 1, 2], [2]], "as far as the search went"
    assert [line.ratio[-1] for line in drawn] == [0.4, 0.0, 0.4]
    assert drawn[2].leaves.tolist() == [0.7], "an attack that breaks 3 of 10 is no certificate, but an edge"
    strong, relaxed = found["gap-edges-sound"].pictures["paper"].figure.lines
    assert (strong.kind, strong.ratio.tolist(), strong.leaves.tolist()) == ("collective", [0.8], [0.8])
    assert (relaxed.kind, relaxed.ratio.tolist(), relaxed.leaves) == ("paper", [0.7], None)
    written = {path.stem for path in draw(Results(tmp_path), tmp_path / "drawn") if "<svg" in path.read_text()}
    assert written == {picture.figure.name for shown in found.values() for picture in shown.pictures.values()}
