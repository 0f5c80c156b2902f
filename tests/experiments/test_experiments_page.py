"""The page "Paper": opens on the stored results, shows every claim, and says what is missing."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import Graph, GridBase, Instance, save_instance
from certcore.common.errors import InputError
from certcore.figures.paper import paper_file, plain_figure, read_paper, stored_figure
from experiments.claims import CLAIMS, EXTENSIONS
from experiments.pictures import FORMS, mean_lines, shelf
from experiments.source import RESULTS
from experiments.store import Result, Results, write_result
from experiments.stored import write_paper
from pages.learn import the_paper
from tests.pages.opening import at_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def one_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edges(4, np.array([[0, 1], [1, 2], [2, 3]]), np.ones((4, 2), dtype=np.int8))
    grid = np.ones((4, 2), dtype=bool)
    save_instance(tmp_path / "line-gcn-attr-s0.npz", Instance(graph, GridBase(grid, ("attr_del",)), layers=1))
    monkeypatch.setenv("CERTCORE_BUNDLES", str(tmp_path))
    monkeypatch.setenv("CERTCORE_IMPORTS", str(tmp_path / "imported"))
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))


def told(at: AppTest) -> list[tuple[str, ...]]:
    """Verdict and sentence of every row on the page."""
    text = " ".join(part.value for part in at.get("html"))
    rows = re.findall(r"<tr><td>(.*?)</tr>", text)
    found = []
    for row in rows:
        says = re.match(r"(?:<details><summary>)?(.*?)(?:</summary>|</td>)", row)[1]
        found.append((re.search(r'class="verdict [\w-]+">([\w ]+)<', row)[1], re.sub("</?code>", "`", says)))
    return [(verdict, html.unescape(says)) for verdict, says in found]


def drawn_as(at: AppTest, key: str) -> str:
    return str(at.segmented_control(key=key).value)


def test_every_claim_is_on_the_page_and_can_be_filtered() -> None:
    at = at_page("the_paper").run(timeout=60)
    assert not at.exception
    assert at.title[0].value == "Paper"
    assert sorted(says for _, says in told(at)) == sorted(claim.says for claim in CLAIMS + EXTENSIONS)
    chips = [int(option.split()[0]) for option in at.pills(key="verdict").options]
    assert len(chips) == 3
    assert sum(chips) == len(CLAIMS) + len(EXTENSIONS)
    at.pills(key="verdict").set_value(["differs"]).run(timeout=60)
    assert {verdict for verdict, _ in told(at)} == {"differs", "corrected", "bracketed"}
    assert len(told(at)) == chips[2]
    assert at.query_params["verdict"] == "differs"
    one = at_page("the_paper", {"verdict": "corrected"}).run(timeout=60)
    assert {verdict for verdict, _ in told(one)} == {"corrected"}, "older links name one verdict"


def test_no_figure_is_drawn_before_it_is_unfolded() -> None:
    at = at_page("the_paper").run(timeout=60)
    assert not at.get("plotly_chart")
    assert not at.dataframe, "the whole table is made when it is opened"


def test_a_link_shows_one_figure_with_the_program_it_names() -> None:
    link = {"figure": "fig_joint", "drawn": "joint-citeseer-gcn-joint-paper,datasets-tight", "verdict": "differs"}
    at = at_page("the_paper", link).run(timeout=60)
    assert not at.exception
    assert not at.warning
    assert [part.value for part in at.subheader] == ["Attribute and edge deletions"]
    assert drawn_as(at, "place_fig_joint") == "joint-citeseer-gcn-joint"
    assert drawn_as(at, "form_fig_joint") == "paper"
    assert len(at.get("plotly_chart")) == 1
    assert any("not sound" in part.value for part in at.markdown), "the paper's field claims too much"
    at.segmented_control(key="form_fig_joint").set_value("tight").run(timeout=60)
    assert at.query_params["drawn"] == "datasets-tight,joint-citeseer-gcn-joint"
    assert not any("not sound" in part.value for part in at.markdown)
    at.segmented_control(key="place_fig_joint").set_value("joint-cora_ml-gcn-joint").run(timeout=60)
    assert at.query_params["drawn"] == "datasets-tight", "what a section begins with needs no words"
    assert not at.exception


def test_rows_without_a_figure_name_their_commands_too() -> None:
    at = at_page("the_paper", {"figure": "numbers"}).run(timeout=60)
    told = next(part.value for part in at.caption if part.value.startswith("`python -m experiments"))
    assert "`python -m experiments seconds-convex`" in told
    assert "`python -m experiments seconds-joint --data DIR`" in told
    assert told.count("seconds-attributes") == 1


def test_nonsense_in_a_link_is_told() -> None:
    at = at_page("the_paper", {"figure": "fig_none", "drawn": "datasets-tighter"}).run(timeout=60)
    assert not at.exception
    notes: dict[str, str] = at.session_state["_link"].notes
    assert set(notes) == {"figure", "drawn"}
    said = at.warning[0].value.replace("\\", "")
    assert all(note in said for note in notes.values())
    assert all(name in notes["figure"] for name in ("fig_none", "fig_datasets", "fig_joint")), "what it could be"
    assert "datasets-tighter" in notes["drawn"]


def test_every_figure_of_the_results_can_be_drawn_in_every_form() -> None:
    shelves = shelf(Results(RESULTS))
    drawn = [picture for part in shelves.values() for shown in part for picture in shown.pictures.values()]
    names = [picture.figure.name for picture in drawn]
    assert len(set(names)) == len(names), "names are keys of charts"
    assert all(shelves.values()), "every figure of the paper is there"
    for picture in drawn:
        assert picture.caption.endswith(".")
        assert "split" in picture.caption
        assert plain_figure(stored_figure(plain_figure(picture.figure))) == plain_figure(picture.figure), (
            "as it is stored"
        )


def test_the_stored_file_is_as_new_as_the_results(tmp_path: Path) -> None:
    write_paper(Results(RESULTS), tmp_path / "paper.json")
    assert (tmp_path / "paper.json").read_text() == paper_file().read_text(), "run `python -m experiments table`"


def test_without_the_file_the_page_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_paper, "paper_file", lambda: tmp_path / "paper.json")
    at = at_page("the_paper").run(timeout=60)
    assert not at.exception
    assert "python -m experiments table" in at.info[0].value
    (tmp_path / "paper.json").write_text('{"format": "another"}')
    with pytest.raises(InputError, match="certcore-paper-1"):
        read_paper(tmp_path / "paper.json")


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
