"""Reports: the files the design names, complete, consistent, and checked by our own verifier."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shlex
import threading
import zipfile
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pypdf
import pytest

from certcore import (
    Graph,
    GridBase,
    InputError,
    Instance,
    ThreatModel,
    certify,
    export,
    figures,
    load_instance,
    messages,
    save_instance,
    verify_proof,
)
from certcore.cli import main
from certcore.common.rounding import share_down
from certcore.export.curve_range import curve_values
from certcore.export.report import build_report, default_threat
from certcore.export.report_page import report_html
from certcore.figures import ViewSpec
from certcore.result.states import TargetState
from tests.export.instances import small_instance
from tests.pages import toys
from tests.support import random_graph, random_grid
from tests.sweep.test_sweep_lengths import instance as lengths


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A report written by the command line."""
    folder = tmp_path_factory.mktemp("report")
    save_instance(folder / "toy.npz", small_instance())
    options = ["--attr-del", "3", "--attr-add", "1", "--quiet", "-o", str(folder / "out")]
    assert main(["report", str(folder / "toy.npz"), *options]) == 0
    return folder


def test_the_named_files_are_there(written: Path) -> None:
    out = written / "out"
    for name in ("report.html", "proof.json", "citation.bib", "provenance.json", "commands.sh", "data/allocation.csv"):
        assert (out / name).stat().st_size > 0
    for ending in ("pdf", "svg", "png", "tex", "html"):
        names = {path.name for path in (out / "figures").glob(f"*.{ending}")}
        wanted = {
            "curve-attr_del",
            "curve-attr_add",
            "contours-attr_add-attr_del",
            "classes",
            "graph",
            "base-attr_add-attr_del",
        }
        if ending == "tex":
            wanted.remove("graph")
            assert "graph.tex" not in names
        assert {f"{name}.{ending}" for name in wanted} <= names
    assert len(pypdf.PdfReader(out / "figures" / "all.pdf").pages) == len(list((out / "figures").glob("*.svg")))
    assert not list(written.rglob("*.part"))


def test_the_zip_holds_the_same_files(written: Path) -> None:
    with zipfile.ZipFile(written / "out.zip") as archive:
        assert archive.testzip() is None
        inside = {name: archive.read(name) for name in archive.namelist()}
    files = {f"out/{path.relative_to(written / 'out').as_posix()}": path for path in (written / "out").rglob("*.*")}
    assert set(inside) == set(files)
    for name, path in files.items():
        assert path.read_bytes() == inside[name]


def test_the_proof_is_accepted_on_its_own(written: Path) -> None:
    out = written / "out"
    assert main(["verify", str(out / "proof.json"), str(out / "data" / "instance.npz")]) == 0
    assert main(["verify", str(out / "proof.json"), str(written / "toy.npz")]) == 0


def test_the_data_are_the_engines_numbers(written: Path) -> None:
    instance = load_instance(written / "toy.npz")
    text = (written / "out" / "data" / "curve-attr_del.csv").read_text(encoding="utf-8-sig")
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["kind"] == "collective"]
    for row in rows[:6]:
        here = certify(instance, ThreatModel(attr_add=1, attr_del=int(row["attr_del"])), attack=False, proof=False)
        assert int(row["certified"]) == here.certified
        assert float(row["certified_ratio"]) == here.ratio
        assert int(row["targets"]) == here.targets
    assert {"3"} <= {row["attr_del"] for row in rows}, "the curve runs through the budget of the report"
    graph = (written / "out" / "data" / "graph.csv").read_text(encoding="utf-8-sig")
    attacked = [
        row for row in csv.DictReader(io.StringIO(graph)) if row["state"] in (TargetState.LOST, TargetState.BEFORE)
    ]
    told = json.loads((written / "out" / "provenance.json").read_text())["certificate"]
    assert len(attacked) == told["attack_found"]


class _Tags(HTMLParser):
    """Collects every tag with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_is_self_contained_and_harmless(written: Path) -> None:
    page = (written / "out" / "report.html").read_text(encoding="utf-8")
    reader = _Tags()
    reader.feed(page)
    known = {
        "html", "head", "meta", "link", "title", "style", "script", "body", "h1", "h2", "p", "div", "table", "thead",
        "tbody", "tr", "th", "td", "figure", "figcaption", "img", "pre", "code", "details", "summary",
    }  # fmt: skip
    assert {tag for tag, _ in reader.tags} <= known
    for tag, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("src") or "data:").startswith("data:")
        assert (attributes.get("href") or "data:").startswith("data:")
    charts = [a for _, a in reader.tags if str(a.get("class")).startswith("chart")]
    assert len(charts) == 7
    assert all(chart["aria-label"] for chart in charts)
    provenance = json.loads((written / "out" / "provenance.json").read_text())
    assert provenance["guarantee"][:40] in page
    assert provenance["instance_digest"] in page


def test_scripts_compute_the_figures_again(written: Path) -> None:
    """The exported Python calls the engine on the instance and gets the same numbers to the last digit."""
    for name in ("curve-attr_del", "contours-attr_add-attr_del", "graph"):
        code = (written / "out" / "data" / f"{name}.py").read_text()
        assert "export.make(" in code, f"{name} is drawn from copied numbers"
        scope: dict = {}
        exec(compile(code.split("for format in")[0], name, "exec"), scope)
        wanted = (written / "out" / "data" / f"{name}.csv").read_bytes()
        assert export.render(scope["figure"], "csv") == wanted


def test_commands_of_a_report_write_its_numbers(written: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    lines = (written / "out" / "commands.sh").read_text().splitlines()[1:]
    commands = [shlex.split(line) for line in lines]
    assert commands[0][3] == "certify"
    kinds = {ViewSpec.from_query(command[4]).kind for command in commands[1:]}
    assert kinds == {"curve", "map", "classes", "graph", "base"}
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert command[:3] == ["python", "-m", "certcore"]
        assert main([*command[3:], "--json"]) == 0
        if command[3] == "draw":
            wanted = written / "out" / "data" / command[-1]
            assert (tmp_path / command[-1]).read_bytes() == wanted.read_bytes(), command[-1]
    assert json.loads(capsys.readouterr().out.splitlines()[0])["targets"] == 37


def test_a_report_without_budgets_takes_the_first_where_naive_is_zero() -> None:
    instance = small_instance()
    threat = default_threat(instance)
    assert threat.attr_del > 0
    assert certify(instance, threat, attack=False).naive_certified == 0
    less = threat.replace(attr_del=threat.attr_del - 1)
    assert instance.base.fronts().certified(less.budgets).any()


def test_only_the_budgets_of_a_report_without_budgets_are_chosen(tmp_path, capsys) -> None:
    instance = small_instance(("attr_del",), n=12)
    save_instance(tmp_path / "toy.npz", instance)
    command = ["report", str(tmp_path / "toy.npz"), "--json", "--quick", "-o", str(tmp_path / "out")]
    assert main([*command, "--sigma", "0", "--local-attr-del", "1"]) == 0
    threat = json.loads(capsys.readouterr().out)["threat"]
    assert threat["attr_del"] == default_threat(instance).attr_del
    assert threat["sigma"] == 0
    assert threat["local"]["attr_del"] == 1


def test_a_report_can_be_zipped_in_memory_and_cancelled() -> None:
    instance = small_instance(("attr_del",), n=12)
    told: list[str] = []
    report = export.build_report(
        instance, ThreatModel(attr_del=2), quick=True, progress=lambda done, total, what: told.append(what)
    )
    assert told[0] == "certificate"
    assert told[-1] == "done"
    assert report.provenance["instance_digest"] == instance.digest
    names = [figure.name for figure in report.figures]
    assert names == ["curve-attr_del", "graph", "graph-relaxed", "base-attr_del"]
    assert "targets" not in "".join(report.commands)
    chosen = export.build_report(instance, ThreatModel(attr_del=2, targets=[1, 4]), quick=True)
    assert all("targets=chosen&nodes=1,4" in command for command in chosen.commands[1:])
    assert "--targets 1,4" in chosen.commands[0]
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(InputError, match="cancelled"):
        export.build_report(instance, ThreatModel(attr_del=2), cancel=stopped)


def test_a_report_on_right_labels_speaks_of_certified_accuracy() -> None:
    instance = toys.grid_instance()
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    assert 0 < len(right) < len(asked)
    for report in (
        export.build_report(instance, ThreatModel(attr_del=2), targets="correct", quick=True),
        export.build_report(instance, ThreatModel(attr_del=2, targets=right), counted=asked, quick=True),
    ):
        share = report.certificate.certified / len(asked)
        drawn = report.figures[0]
        assert drawn.title == "Certified accuracy against attribute deletions"
        assert drawn.lines[0].ratio[list(drawn.lines[0].values).index(2)] == share
        assert drawn.clean == len(right) / len(asked), "the line that it begins from"
        page = report_html(report)
        assert "<h1>Certified accuracy: " in page
        assert f"{report.certificate.certified} of {len(asked)} labels are right and stay" in page
        certified = report.certificate.certified
        assert f"{certified} of {len(right)} correct labels" in page
        assert f"{certified} of {len(asked)} ({share_down(certified, len(asked), 2)})" in page
        assert f"({share_down(certified, len(right), 2)})" not in page, "no share that looks like an accuracy"
        assert "Certified ratio against" not in page
        assert "accuracy at first value" in page
        assert "ratio at first value" not in page
    plain = export.build_report(instance, ThreatModel(attr_del=2), quick=True)
    assert plain.accuracy == ""
    assert plain.figures[0].title == "Certified ratio against attribute deletions"


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "missing.npz", "-o", "x"],
        ["report", "{instance}"],
        ["report", "{instance}", "-o", "{instance}", "--quiet", "--quick"],
    ],
)
def test_bad_requests_end_in_one_line(arguments, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_instance(tmp_path / "toy.npz", small_instance(("attr_del",), n=8))
    filled = [a.format(instance=tmp_path / "toy.npz") for a in arguments]
    assert main(filled) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("certcore: ")


def test_curve_values_pass_through_the_budget() -> None:
    for here in (0, 3, 50, 777, 12345):
        values = curve_values(here)
        assert here in values
        assert values[0] == 0
        assert values[-1] >= 2 * here
        assert len(values) <= 103
        assert np.all(np.diff(values) > 0)


def test_the_numbers_of_a_report_never_promise_too_much() -> None:
    instance = small_instance(("attr_del",), n=12)
    report = export.build_report(instance, ThreatModel(attr_del=2), quick=True)
    close = dataclasses.replace(
        report.certificate, certified=1999, targets=2000, bound=Fraction(1000001, 1000000), verified_certified=1999,
        instance=None,
    )  # fmt: skip
    page = export.report_html(dataclasses.replace(report, certificate=close))
    assert "1,999 of 2,000 (99.95 %)" in page
    assert "at most 1.0001 (" in page, "what can be attacked is rounded up"


def test_indices_in_the_table_of_an_attack_have_no_separators() -> None:
    n = 1200
    graph = Graph.from_edges(n, np.column_stack([np.arange(n - 1), np.arange(1, n)]), np.ones((n, 3), dtype=np.int8))
    strong = np.zeros((n, 3), dtype=bool)
    strong[:, :2] = True
    strong[1100, 1:] = False
    instance = Instance(graph, GridBase(strong, ("attr_del",)), layers=0, targets=np.array([1100]))
    table = export.allocation(instance, certify(instance, ThreatModel(attr_del=1)))
    assert "1100" in table.html()
    assert "1,100" not in table.html()


def test_the_command_of_a_report_has_its_time_limit() -> None:
    """Another limit may give another bound of the integer program."""
    report = export.build_report(
        small_instance(), ThreatModel(attr_del=2), quick=True, relaxation="exact", time_limit=7
    )
    assert report.commands[0].endswith("--attr-del 2 --relaxation exact --time-limit 7")


def test_a_report_on_ballots_shows_models_that_ignore_edges() -> None:
    """With one sentence why, on the page and in every file of the curve; not where other labels are counted too."""
    instance, threat = toys.ballots_instance(), ThreatModel(adj_add=3)
    report = export.build_report(instance, threat, targets="correct:test", quick=True)
    (drawn,) = (figure for figure in report.figures if isinstance(figure, figures.CurveFigure))
    assert [line.name for line in drawn.lines if line.kind == "control"] == ["MLP without edges"]
    why = str(messages.why_controls())
    for text in (report_html(report), *(export.render(drawn, kind).decode() for kind in ("html", "latex"))):
        assert why in text
        assert "MLP without edges" in text
    assert b'id="note"' in export.render(drawn, "svg")
    pages = pypdf.PdfReader(io.BytesIO(export.render(drawn, "pdf")))
    assert why in " ".join(pages.pages[0].extract_text().split())
    assert "MLP without edges" in export.render(drawn, "csv").decode()
    other = export.build_report(instance, threat, targets="test", quick=True)
    assert not any(line.kind == "control" for line in other.figures[0].lines)  # type: ignore[attr-defined]
    assert str(messages.why_accuracy()) in report_html(other)
    assert str(messages.why_accuracy()) not in report_html(report)


def test_a_strong_report_records_its_rounds_and_carries_its_proof() -> None:
    """With rounds instead of seconds its numbers can be made again."""
    rng = np.random.default_rng(3)
    base = GridBase(random_grid(rng, 60, (4, 6)), ("attr_add", "attr_del"))
    instance = Instance(random_graph(rng, 60, 6, 0.05), base, 1)
    threat = ThreatModel(attr_add=2, attr_del=4)
    first, again = (build_report(instance, threat, relaxation="strong", rounds=2, quick=True) for _ in range(2))
    assert first.certificate.rounds == 2
    assert first.certificate.proof is not None
    assert first.certificate.proof["format"] == "certcore-proof-2"
    assert first.certificate.proof == again.certificate.proof
    assert first.certificate.attack_found == again.certificate.attack_found
    assert verify_proof(first.certificate.proof, instance).certified == first.certificate.certified


def test_a_report_on_a_sum_of_norms_varies_the_other_types() -> None:
    """A sum takes the place of `attr_l2`, which can then be on no axis."""
    threat = ThreatModel(attr_l2_sum="0.1", local_attr_l2="0.05", adj_del=1)
    report = export.build_report(lengths(), threat, quick=True)
    assert [figure.name for figure in report.figures if "curve" in figure.name] == ["curve-adj_del"]
