"""The same words in the terminal, in files and in reports, each about what it may speak about."""

from __future__ import annotations

import csv
import dataclasses
import html
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, certify, export, figures, messages, save_instance
from certcore.cli import main
from certcore.common.rounding import share_down
from certcore.figures.serial import from_json, to_json
from certcore.result.states import FORMER, TargetState
from certcore.solve.status import Status
from certcore.sweep import Session, curve, radius, surface
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


def test_without_a_budget_certify_says_that_nothing_is_attacked(capsys: pytest.CaptureFixture[str], file: str) -> None:
    said = messages.guarantee(small_instance(), certify(small_instance(), ThreatModel()))
    assert said.keys[:2] == ("attacker.none", "guarantee.clean")
    assert out(capsys, "certify", file).splitlines()[0] == str(said)


def test_the_largest_budget_names_the_rest_of_the_attacker(capsys: pytest.CaptureFixture[str], file: str) -> None:
    """Without σ, local and other budgets beside it, it would promise more than was computed."""
    instance = small_instance()

    def told(vary: str, **threat: int) -> messages.Text:
        """What the command says, with the keys of its sentences."""
        options = [word for key, value in threat.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        model = ThreatModel(**threat)
        said = messages.radius(instance, model, radius(instance, model, vary, "0.3"))
        asked = ["radius", file, "--vary", vary, "--at-least", "0.3", *options]
        assert out(capsys, *asked) == f"{said}\n"
        assert json.loads(out(capsys, *asked, "--json"))["guarantee"] == str(said)
        return said

    assert "radius.attacker" not in told("attr_del").keys
    said = told("attr_del", attr_add=1, sigma=2, local_attr_del=1)
    assert said.keys[0] == "radius.attacker"
    others = said.pieces[1].text
    assert re.findall(r"\d+", others) == ["1", "1", "2"]
    assert messages.budget_words((1, 0, 0, 0)) in others
    assert messages.budget_words((0, 1, 0, 0)) in others
    assert "confidence.given" in said.keys
    over = told("sigma", attr_del=3)
    assert over.keys[0] == "radius.attacker"
    assert over.pieces[1].text == messages.threat_words(ThreatModel(attr_del=3))


def test_a_largest_budget_of_nothing_is_no_promise(capsys: pytest.CaptureFixture[str], file: str) -> None:
    instance = small_instance()
    said = messages.radius(instance, ThreatModel(), radius(instance, ThreatModel(), "attr_del", "0"))
    assert said.keys == ("radius.nothing_asked", "guarantee.subject")
    assert out(capsys, "radius", file, "--vary", "attr_del", "--at-least", "0") == f"{said}\n"
    instance = dataclasses.replace(instance, targets=np.zeros(0, dtype=np.int64))
    found = radius(instance, ThreatModel(), "attr_del", "0.5")
    assert messages.radius(instance, ThreatModel(), found).keys == ("guarantee.no_targets",)


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


def test_the_bound_beside_an_unverified_count_begins_with_what_is_proven() -> None:
    exact = certify(small_instance(), ThreatModel(attr_del=4), relaxation="exact")
    proven = exact.targets - exact.verified_certified
    # Without its instance: a claim that an attack refutes does not come into being otherwise.
    exact = dataclasses.replace(exact, instance=None)
    claim = dataclasses.replace(exact, certified=exact.verified_certified + 2, bound=Fraction(proven - 2))
    told, message = messages.limit_words(claim), messages.SENTENCES["limit.solver"].message
    assert told == message(proven, Fraction(proven - 2), "exact", True)
    assert [int(number) for number in re.findall(r"\bat most (\d+)", str(told))] == [proven, proven - 2]
    same = dataclasses.replace(exact, certified=exact.verified_certified, bound=Fraction(proven))
    assert messages.limit_words(same) == message(proven, Fraction(proven), "exact", False)


def test_shares_of_a_base_certificate_are_rounded_down(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    grid = np.ones((2001, 1), dtype=bool)
    grid[0] = False
    graph = Graph.from_edges(2001, np.array([[0, 1]]), np.ones((2001, 1), dtype=np.int8))
    save_instance(tmp_path / "i.npz", Instance(graph, GridBase(grid, ("attr_del",)), layers=0))
    text = out(capsys, "base", str(tmp_path / "i.npz"))
    assert "0: 99.9 %" in text
    assert "100.0" not in text


def test_zero_is_no_guarantee() -> None:
    instance = chain()
    said = messages.guarantee(instance, certify(instance, ThreatModel(attr_del=12)))
    assert "guarantee.nothing" in said.keys


def test_the_verified_number_comes_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    exact = certify(small_instance(), ThreatModel(attr_del=4), relaxation="exact")
    claim = dataclasses.replace(exact, certified=exact.verified_certified + 2, bound=exact.bound - 2, instance=None)
    monkeypatch.setattr("certcore.cli.certify.certify", lambda *a, **k: claim)
    text = out(capsys, "certify", file, "--attr-del", "4", "--relaxation", "exact")
    first = text.splitlines()[0]
    assert first.index(f"{claim.verified_certified} of {claim.targets}") < first.index(f"at least {claim.certified} ")
    assert "solver's claim" in first
    status = next(line for line in text.splitlines() if line.startswith("status"))
    assert "proven" not in status
    assert "verified" in status


@pytest.mark.parametrize("relaxation", ["tight", "paper", "exact"])
def test_no_solver_no_solvers_word(relaxation: str) -> None:
    """Where fields are the whole graph totals decide, also in exact mode."""
    instance = chain(axes=("adj_add",))
    for found in (
        certify(instance, ThreatModel(adj_add=1), relaxation=relaxation),
        Session(instance).certify(ThreatModel(adj_add=1), relaxation=relaxation),
    ):
        assert found.verified
        assert found.unproven == 0
        assert messages.status(found).keys == ("status.totals",)
    everywhere = dataclasses.replace(instance, base=dataclasses.replace(instance.base, global_fields=True))
    assert curve(everywhere, ThreatModel(), "adj_add", [0, 1], relaxation=relaxation).verified.all()
    assert surface(everywhere, ThreatModel(), "adj_add", [0, 1], "sigma", [0, 1], relaxation=relaxation).verified.all()
    assert radius(everywhere, ThreatModel(), "adj_add", "0.5", relaxation=relaxation).verified


def test_uncovered_flips_break_only_whom_they_reach(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    instance = chain()
    found = certify(instance, ThreatModel(attr_add=2))
    assert 0 < found.certified < found.targets, "fields are local"
    save_instance(tmp_path / "i.npz", instance)
    text = out(capsys, "certify", str(tmp_path / "i.npz"), "--attr-add", "2")
    (remark,) = messages.remarks(instance, found.threat)
    assert remark.keys == ("remark.uncovered",)
    assert str(remark) in text
    assert str(remark) in export.guarantee(instance, found)
    assert json.loads(out(capsys, "certify", str(tmp_path / "i.npz"), "--attr-add", "2", "--json"))["remarks"] == [
        str(remark)
    ]
    assert main(["curve", str(tmp_path / "i.npz"), "--vary", "attr_add", "--values", "0:2"]) == 0
    assert str(remark) in capsys.readouterr().err


def test_the_edge_rule_is_named_only_where_an_edge_can_go() -> None:
    instance = dataclasses.replace(chain(axes=("adj_del", "attr_del")), edge_field="messages")
    keys = [remark.keys for remark in messages.remarks(instance, ThreatModel(attr_del=3))]
    assert keys == []
    assert [remark.keys for remark in messages.remarks(instance, ThreatModel(adj_del=3))] == [("remark.messages",)]


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
    message = messages.SENTENCES["confidence.given"].message
    assert message(True) != message(False)
    for instance, told in ((convex, message(True)), (plain, message(False))):
        said = messages.guarantee(instance, certify(instance, threat))
        assert messages.confidence(instance) == told
        assert set(told.pieces) < set(said.pieces)
        assert not {"confidence.sampled", "confidence.ballots"} & set(said.keys)


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
    table = export.allocation(instance, certify(instance, ThreatModel(attr_del=1)))
    shown = [dict(zip(table.columns, row)) for row in table.rows]
    assert any(row["hit"] == "yes" for row in shown)
    by_name = {row["name"]: row for row in rows}
    assert all(by_name[row["name"]][key] == row[key] for row in shown for key in ("state", "hit")), "one vocabulary"


def test_what_was_uncertified_before_is_not_lost_in_the_attack() -> None:
    silent = np.asarray(chain().base.grid).copy()  # type: ignore[attr-defined]
    silent[3:] = False
    instance = dataclasses.replace(chain(), base=GridBase(silent, ("attr_del",)))
    found = certify(instance, ThreatModel(attr_del=1))
    nodes = found.node_columns(instance.base.fronts(), instance.graph.edges)
    lost = nodes["state"] == TargetState.LOST
    assert (nodes["lost"] == lost).all()
    assert found.attack_found == lost.sum() + 9
    rows = export.allocation(instance, found).rows
    assert all(row[1] != TargetState.BEFORE or row[2] == "yes" or any(row[4:]) for row in rows)


def test_figures_kept_under_the_former_names_can_be_read() -> None:
    instance = small_instance()
    figure = figures.graph_figure(instance, certify(instance, ThreatModel(attr_del=3)))
    kept = json.loads(to_json(figure))
    assert set(kept["groups"]) == {str(state) for state in TargetState}
    kept["groups"] = list(FORMER)
    assert from_json(json.dumps(kept)).groups == tuple(str(state) for state in FORMER.values())


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
    assert told.keys == ("accuracy",)
    shares = [share_down(number, 40) for number in (found.right, 40)]
    assert re.findall(r"[\d.]+ %", str(told)) == shares, "the other definition comes after the usual one"


def test_the_report_says_what_the_terminal_says(tmp_path: Path) -> None:
    from certcore.export.report import build_report
    from certcore.export.report_page import report_html

    instance = small_instance()
    report = build_report(instance, ThreatModel(attr_del=3), relaxation="exact", quick=True)
    assert report.guarantee == str(messages.statement(instance, report.certificate))
    claim = dataclasses.replace(report.certificate, certified=report.certificate.verified_certified + 1, instance=None)
    page, without = report_html(dataclasses.replace(report, certificate=claim)), report_html(report)
    proven, told = (f"{number:,} of {claim.targets:,} (" for number in (claim.verified_certified, claim.certified))
    assert told not in without
    assert page.index(proven) < page.index(told), "what is proven comes first"
    right = messages.accuracy(instance)
    assert right is not None
    assert messages.status(claim).keys == ("status.solver",)
    for said in (messages.status(claim), messages.limit_words(claim), messages.accuracy_words(right)):
        assert html.escape(str(said)) in page
