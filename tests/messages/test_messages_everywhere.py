"""The same words in the terminal, in files and in reports, each about what it may speak about."""

from __future__ import annotations

import csv
import dataclasses
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from certcore import (
    Graph,
    GridBase,
    Instance,
    SmoothingBase,
    ThreatModel,
    certify,
    messages,
    report,
    save_instance,
)
from certcore.cli import main
from certcore.common.errors import InputError
from certcore.common.rounding import share_down
from certcore.result.states import TargetState
from certcore.solve.status import Status
from certcore.sweep import Session, curve, radius, surface
from certcore.sweep.defences import defend
from tests.checker.cases import as_seen, small
from tests.export.instances import small_instance


def chain(n: int = 12, axes: tuple[str, ...] = ("attr_del",), sides: int = 2, **more: object) -> Instance:
    """A path on which every node is certified at budget 0 and one flip in its field breaks it."""
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    graph = Graph.from_edges(n, edges, np.tile(np.eye(3, dtype=np.int8), (n // 3, 1)))
    shape = (n, *([sides] * len(axes)))
    grid = np.zeros(shape, dtype=bool)
    grid[(slice(None), *([0] * len(axes)))] = True
    return Instance(graph, GridBase(grid, axes), layers=1, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("words") / "small.npz"
    save_instance(path, small_instance())
    return str(path)


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_first_line_of_certify_is_the_guarantee(capsys: pytest.CaptureFixture[str], file: str) -> None:
    first = out(capsys, "certify", file, "--attr-del", "4").splitlines()[0]
    instance = small_instance()
    assert first == str(messages.guarantee(instance, certify(instance, ThreatModel(attr_del=4))))
    assert "4 attribute deletions" in first


def test_at_budget_0_certify_says_that_nothing_is_attacked(capsys: pytest.CaptureFixture[str], file: str) -> None:
    said = str(messages.guarantee(small_instance(), certify(small_instance(), ThreatModel())))
    assert said.startswith("Without any attack: ")
    assert "no guarantee against anybody" in said
    assert out(capsys, "certify", file, "--attr-del", "0").splitlines()[0] == said


def test_the_largest_budget_names_the_rest_of_the_attacker(capsys: pytest.CaptureFixture[str], file: str) -> None:
    """Without σ, local and other budgets beside it, it would promise more than was computed."""
    instance = small_instance()

    def told(vary: str, **threat: int) -> messages.Text:
        """What the command says."""
        options = [word for key, value in threat.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        model = ThreatModel(**threat)
        said = messages.radius(instance, model, radius(instance, model, vary, "0.3"))
        asked = ["radius", file, "--vary", vary, "--at-least", "0.3", *options]
        assert out(capsys, *asked) == f"{said}\n"
        assert json.loads(out(capsys, *asked, "--json"))["guarantee"] == str(said)
        return said

    against = "Against an attacker with "
    assert not str(told("attr_del")).startswith(against)
    said = told("attr_del", attr_add=1, sigma=2, local_attr_del=1)
    assert str(said).startswith(against)
    others = said.pieces[1].text
    assert re.findall(r"\d+", others) == ["1", "1", "2"]
    assert messages.budget_words((1, 0, 0, 0)) in others
    assert messages.budget_words((0, 1, 0, 0)) in others
    assert "as far as the base certificate holds" in str(said)
    over = told("sigma", attr_del=3)
    assert str(over).startswith(against)
    assert over.pieces[1].text == messages.threat_words(ThreatModel(attr_del=3))


def test_a_largest_budget_of_nothing_is_no_promise(capsys: pytest.CaptureFixture[str], file: str) -> None:
    instance = small_instance()
    said = messages.radius(instance, ThreatModel(), radius(instance, ThreatModel(), "attr_del", "0"))
    assert str(said).startswith("Nothing was asked for: ")
    assert "This is about " in str(said), "nothing holds for it"
    assert out(capsys, "radius", file, "--vary", "attr_del", "--at-least", "0") == f"{said}\n"
    instance = dataclasses.replace(instance, targets=np.zeros(0, dtype=np.int64))
    found = radius(instance, ThreatModel(), "attr_del", "0.5")
    assert str(messages.radius(instance, ThreatModel(), found)).startswith("There are no targets: ")


def test_defend_begins_with_the_guarantee_and_ends_with_what_was_tried(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    text = out(capsys, "defend", file, "--attr-del", "2", "--sigma", "1", "--nodes", "40", "--tries", "2")
    instance, threat = small_instance(), ThreatModel(attr_del=2, sigma=1)
    assert text.splitlines()[0] == str(messages.guarantee(instance, certify(instance, threat)))
    assert re.findall(r"\d+", text.splitlines()[-1]) == ["2"], "how many were tried, not that no other node helps"


@pytest.mark.parametrize(
    ("status", "relaxation", "said", "option"),
    [
        (Status.FAILED, "tight", "no usable answer", "--relaxation"),
        (Status.TIME_LIMIT, "tight", "time limit ended the search", "--time-limit"),
        (Status.TIME_LIMIT, "strong", "None of the up to 3 candidates", "--time-limit"),
        (Status.INTERRUPTED, "tight", "cancelled", "--tries"),
        (Status.OPTIMAL, "tight", "None of the up to 3 candidates", "--tries"),
    ],
)
def test_defend_says_why_it_ended(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    status: Status,
    relaxation: str,
    said: str,
    option: str,
) -> None:
    solved = Session.certify
    monkeypatch.setattr(Session, "certify", lambda *a, **k: dataclasses.replace(solved(*a, **k), status=status))
    monkeypatch.setattr("certcore.sweep.defences._ranking", lambda look: [])  # no candidate, so it ends at once
    text = out(capsys, "defend", file, "--attr-del", "2", "--nodes", "2", "--relaxation", relaxation)
    last = text.splitlines()[-1]
    assert said in last
    assert f"(option {option})" in last
    assert ("time limit" in last) == (said.startswith("time"))


def test_zero_is_no_guarantee() -> None:
    instance = chain()
    said = messages.guarantee(instance, certify(instance, ThreatModel(attr_del=12)))
    assert str(said).startswith("Nothing is guaranteed at these budgets: 0 of 12 ")


@pytest.mark.parametrize("relaxation", ["tight", "paper", "exact"])
def test_where_fields_are_the_whole_graph_totals_decide(relaxation: str) -> None:
    instance = chain(axes=("adj_add",))
    for found in (
        certify(instance, ThreatModel(adj_add=1), relaxation=relaxation),
        Session(instance).certify(ThreatModel(adj_add=1), relaxation=relaxation),
    ):
        assert found.integer_claim is None
        assert "no solver was needed" in str(messages.status(found))


@pytest.mark.parametrize("work", ["curve", "surface", "radius", "defend"])
def test_the_integer_program_is_part_of_no_sweep(work: str) -> None:
    instance, threat = small_instance(), ThreatModel(attr_del=2)
    calls: dict[str, Callable[[], object]] = {
        "curve": lambda: curve(instance, threat, "attr_del", [0, 1], relaxation="exact"),
        "surface": lambda: surface(instance, threat, "attr_del", [0, 1], "sigma", [0, 1], relaxation="exact"),
        "radius": lambda: radius(instance, threat, "attr_del", "0.5", relaxation="exact"),
        "defend": lambda: defend(instance, threat, 1, relaxation="exact"),
    }
    with pytest.raises(InputError, match="no count that is proven; ask certify for it"):
        calls[work]()


def test_uncovered_flips_break_only_whom_they_reach(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    instance = chain()
    found = certify(instance, ThreatModel(attr_add=2))
    assert 0 < found.certified < found.targets, "fields are local"
    save_instance(tmp_path / "i.npz", instance)
    text = out(capsys, "certify", str(tmp_path / "i.npz"), "--attr-add", "2")
    (remark,) = messages.remarks(instance, found.threat)
    assert "says nothing about attribute additions" in str(remark)
    assert str(remark) in text
    assert str(remark) in str(messages.statement(instance, found))
    assert json.loads(out(capsys, "certify", str(tmp_path / "i.npz"), "--attr-add", "2", "--json"))["remarks"] == [
        str(remark)
    ]
    assert main(["curve", str(tmp_path / "i.npz"), "--vary", "attr_add", "--values", "0:2"]) == 0
    assert str(remark) in capsys.readouterr().err


def test_the_edge_rule_is_named_only_where_an_edge_can_go() -> None:
    instance = dataclasses.replace(chain(axes=("adj_del", "attr_del")), edge_field="messages")
    assert messages.remarks(instance, ThreatModel(attr_del=3)) == []
    (remark,) = messages.remarks(instance, ThreatModel(adj_del=3))
    assert "edge rule messages" in str(remark)


def test_a_local_edge_budget_of_a_directed_graph_says_which_edges_it_counts() -> None:
    instance = chain(axes=("adj_del",))
    arrows = Graph.from_edges(12, instance.graph.edges, instance.graph.attributes, directed=True)
    threat = ThreatModel(adj_del=2, local_adj_del=1)
    both = "(incoming and outgoing edges together)"
    directed = dataclasses.replace(instance, graph=arrows)
    assert both in str(messages.guarantee(directed, certify(directed, threat)))
    assert both not in str(messages.guarantee(instance, certify(instance, threat)))


def test_what_only_the_file_says_is_told_as_such() -> None:
    plain, convex = chain(), chain(meta={"types": "convex"})
    threat = ThreatModel(attr_del=1)
    for instance, told in ((convex, True), (plain, False)):
        said = str(messages.guarantee(instance, certify(instance, threat)))
        assert "as far as the base certificate holds" in said
        assert ("(a convex relaxation, deterministic, according to the file)" in said) == told
        assert "% for all nodes together" not in said


def test_hit_and_lost_are_two_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Flips can be spent at nodes that are not targets; what lies in their fields nobody knows."""
    instance = chain(targets=np.array([0, 5]), node_names=tuple("abcdefghijkl"))
    save_instance(tmp_path / "i.npz", instance)
    out(capsys, "certify", str(tmp_path / "i.npz"), "--attr-del", "1", "--allocation", str(tmp_path / "a.csv"))
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["state"] for row in rows} <= {str(state) for state in TargetState}
    for row in rows:
        spent = any(int(row[f"spent_{k}"]) for k in ("attr_add", "attr_del", "adj_add", "adj_del"))
        assert row["hit"] == ("yes" if spent else "no")
        assert (row["inside_attr_del"] == "") == (row["state"] == TargetState.NOT_A_TARGET)
    table = report.sites(instance, certify(instance, ThreatModel(attr_del=1)))
    shown = [dict(zip(table.columns, row)) for row in table.rows]
    by_name = {row["name"]: row for row in rows}
    assert all(by_name[row["name"]]["state"] == row["state"] for row in shown), "one vocabulary"
    hit = [by_name[row["name"]]["hit"] == "yes" for row in shown]
    assert hit == [row["attribute deletions at it"] > 0 for row in shown]
    assert any(hit)


def test_what_was_uncertified_before_is_not_lost_in_the_attack() -> None:
    silent = np.asarray(chain().base.grid).copy()  # type: ignore[attr-defined]
    silent[3:] = False
    instance = dataclasses.replace(chain(), base=GridBase(silent, ("attr_del",)))
    found = certify(instance, ThreatModel(attr_del=1))
    nodes = found.node_columns(instance.base.fronts(), instance.graph.edges)
    lost = nodes["state"] == TargetState.LOST
    assert (nodes["lost"] == lost).all()
    assert found.attack_found == lost.sum() + 9
    rows = report.sites(instance, found).rows
    assert all(row[1] != TargetState.BEFORE or row[2] == "yes" or any(row[4:]) for row in rows)


def test_accuracy_counts_abstaining_as_wrong_and_names_the_other() -> None:
    instance = small_instance()
    silent = np.asarray(instance.base.grid).copy()
    silent[:10] = False
    quiet = dataclasses.replace(instance, base=GridBase(silent, instance.base.axes, prediction=instance.prediction))
    found = messages.accuracy(quiet)
    assert found is not None
    speaks = quiet.base.fronts().certified((0, 0, 0, 0))
    assert (found.right, found.right_anyway, found.nodes) == (int(speaks.sum()), 40, 40)
    told = messages.accuracy_words(found)
    shares = [share_down(number, 40) for number in (found.right, 40)]
    assert re.findall(r"[\d.]+ %", str(told)) == shares, "the other definition comes after the usual one"


def test_the_report_says_what_the_terminal_says(tmp_path: Path) -> None:
    instance = small_instance()
    made = report.build(instance, ThreatModel(attr_del=3), relaxation="tight")
    assert made.guarantee == str(messages.statement(instance, made.certificate))
    page, found = report.page(made), made.certificate
    for said in (messages.status(found), messages.limit_words(found)):
        assert html.escape(str(said)) in page


def test_a_budget_that_can_be_spent_on_nothing_is_no_attack() -> None:
    """Also in the sentence of the small checker, which decides it by itself."""
    instance = chain()
    for limits in ({"local_attr_del": 0}, {"protected": range(12)}):
        found = certify(instance, attr_del=5, **limits)
        assert "no guarantee against anybody" in str(messages.guarantee(instance, found))
        assert small.check(found.proof, as_seen(instance)).startswith("no attack")
    found = certify(instance, attr_del=5, protected=range(11))
    assert "Whatever an attacker does" in str(messages.guarantee(instance, found))
    assert small.check(found.proof, as_seen(instance)).startswith("at least")


def test_the_mean_over_splits_states_the_confidence_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for split in range(3):
        votes = np.tile([[9_000 + split, 1_000 - split]], (12, 1))
        base = SmoothingBase(votes, np.zeros(12, dtype=int), 10_000, "0.01", ("0", "0.6", "0", "0"))
        files.append(str(tmp_path / f"{split}.npz"))
        save_instance(files[-1], dataclasses.replace(chain(), base=base))
    asked = ["curve", files[0], "--vary", "attr_del", "--values", "0:1", "--splits"]
    assert main([*asked, *files[1:]]) == 0
    assert "all 3 hold together with at least 97 %" in capsys.readouterr().err
    assert main(asked[:-1]) == 0
    assert "hold together" not in capsys.readouterr().err
