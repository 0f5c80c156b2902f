"""Reports: few files, a page that loads nothing, the engine's numbers, and a proof that is accepted."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
import re
import shlex
import threading
import zipfile
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from certcore import (
    Graph,
    GridBase,
    InputError,
    Instance,
    ThreatModel,
    certify,
    load_instance,
    messages,
    report,
    save_instance,
    verify_proof,
)
from certcore.cli import main
from certcore.common.rounding import share_down
from certcore.domain.perturbations import LABELS
from certcore.figures import CurveFigure
from certcore.result.states import TargetState
from tests.export.instances import small_instance
from tests.pages import toys
from tests.support import random_graph, random_grid

FILES = {"report.html", "proof.json", "instance.npz", "sites.csv"} | {
    f"{name}.{kind}" for name in ("curve", "map", "graph") for kind in ("pdf", "csv")
}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A report written by the command line."""
    folder = tmp_path_factory.mktemp("report")
    save_instance(folder / "toy.npz", small_instance())
    options = ["--attr-del", "3", "--attr-add", "1", "--json", "-o", str(folder / "out")]
    assert main(["report", str(folder / "toy.npz"), *options]) == 0
    return folder


def test_the_named_files_are_there_and_no_others(written: Path) -> None:
    made = {path.name: path for path in (written / "out").iterdir()}
    assert set(made) == FILES
    assert all(path.stat().st_size for path in made.values())
    assert all(made[name].read_bytes().startswith(b"%PDF") for name in made if name.endswith(".pdf"))


def test_the_proof_is_accepted_on_its_own(written: Path) -> None:
    out = written / "out"
    assert main(["verify", str(out / "proof.json"), str(out / "instance.npz")]) == 0
    assert main(["verify", str(out / "proof.json"), str(written / "toy.npz")]) == 0


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_the_data_are_the_engines_numbers(written: Path) -> None:
    instance = load_instance(written / "toy.npz")
    lines = [row for row in table(written / "out" / "curve.csv") if row["certificate"] == "collective"]
    swept = next(name for name in ("attr_add", "attr_del") if LABELS[name] in lines[0])
    assert {"attr_add": "1", "attr_del": "3"}[swept] in {row[LABELS[swept]] for row in lines}
    for row in lines[:6]:
        threat = ThreatModel(attr_add=1, attr_del=3).replace(**{swept: int(row[LABELS[swept]])})
        assert int(row["certified"]) == certify(instance, threat, attack=False, proof=False).certified
    found = certify(instance, ThreatModel(attr_add=1, attr_del=3))
    lost = [
        row for row in table(written / "out" / "graph.csv") if row["state"] in (TargetState.LOST, TargetState.BEFORE)
    ]
    assert len(lost) == found.attack_found


class _Tags(HTMLParser):
    """Collects every tag with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_loads_and_runs_nothing_and_names_are_harmless(written: Path) -> None:
    """The names of nodes, classes and the model of this instance are scripts and formulas."""
    page = (written / "out" / "report.html").read_text(encoding="utf-8")
    reader = _Tags()
    reader.feed(page)
    allowed = "html head meta link title style body h1 h2 p div span figure figcaption img pre code"
    allowed += " table thead tbody tr th td"
    assert {tag for tag, _ in reader.tags} <= set(allowed.split())
    for tag, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("src") or "data:").startswith("data:")
        assert (attributes.get("href") or "data:").startswith("data:")
    assert "default-src 'none'" in page
    assert len([tag for tag, _ in reader.tags if tag == "img"]) == 3
    assert all(attributes.get("alt") for tag, attributes in reader.tags if tag == "img")


def test_the_page_says_what_a_reviewer_asks(written: Path) -> None:
    instance = load_instance(written / "toy.npz")
    found = certify(instance, ThreatModel(attr_add=1, attr_del=3))
    page = (written / "out" / "report.html").read_text(encoding="utf-8")
    assert f"{found.certified:,} of {found.targets:,} ({share_down(found.certified, found.targets, 1)})" in page
    assert instance.digest in page
    assert found.proof is not None
    assert found.proof["digest"] in page
    for words in (
        "How to check the proof",
        "certcore verify proof.json instance.npz",
        "Settings",
        "versions · certcore",
    ):
        assert words in page, words


def test_the_guarantee_is_short_and_what_limits_it_stands_between_it_and_the_numbers() -> None:
    instance = dataclasses.replace(small_instance(("attr_del", "adj_del")), edge_field="messages")
    threat = ThreatModel(attr_del=2, adj_del=1, attr_add=1)
    page = report.page(report.build(instance, threat, seconds=5))
    remarks = messages.remarks(instance, threat)
    assert len(remarks) == 2
    places = [page.index('class="guarantee"'), *(page.index(html.escape(str(one))) for one in remarks)]
    assert sorted(places) == places
    assert max(places) < page.index('class="bars"')
    assert str(remarks[0]) not in page[places[0] : page.index("</p>", places[0])]


def test_commands_of_a_report_write_its_numbers(written: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    page = (written / "out" / "report.html").read_text(encoding="utf-8")
    (block,) = re.findall(r"compute it again</h2><pre>(.*?)</pre>", page, flags=re.DOTALL)
    commands = [shlex.split(line) for line in block.splitlines()]
    assert [words[1] for words in commands] == ["curve", "surface", "certify"]
    monkeypatch.chdir(tmp_path)
    for words in commands:
        plot = words.index("--plot") + 1
        words[plot] = words[plot].replace(".pdf", ".csv")
        assert main(words[1:]) == 0
        if words[1] != "curve":  # the command looks for more attacks
            assert Path(words[plot]).read_bytes() == (written / "out" / words[plot]).read_bytes(), words
    assert (tmp_path / "proof.json").read_bytes() == (written / "out" / "proof.json").read_bytes()
    wanted, found = (
        [row["certified"] for row in table(folder / "curve.csv")] for folder in (written / "out", tmp_path)
    )
    assert [one for one in found if one][: len(wanted)] == [one for one in wanted if one]


def test_only_the_budgets_of_a_report_without_budgets_are_chosen(tmp_path, capsys) -> None:
    instance = small_instance(("attr_del",), n=12)
    save_instance(tmp_path / "toy.npz", instance)
    command = ["report", str(tmp_path / "toy.npz"), "--json", "-o", str(tmp_path / "out")]
    assert main([*command, "--sigma", "0", "--local-attr-del", "1"]) == 0
    threat = json.loads(capsys.readouterr().out)["threat"]
    assert threat["attr_del"] == report.default_threat(instance).attr_del
    assert threat["sigma"] == 0
    assert threat["local"]["attr_del"] == 1


def test_a_report_is_about_what_the_certificate_is_about() -> None:
    ballots = toys.ballots_instance()
    made = report.build(ballots)
    assert "--vary adj_add" in made.commands[0]
    assert "--y adj_del" in made.commands[1]
    assert made.certificate.threat.adj_add > 0


def test_a_report_can_be_packed_and_cancelled() -> None:
    instance = small_instance(("attr_del",), n=12)
    told: list[str] = []
    made = report.build(instance, ThreatModel(attr_del=2), progress=lambda share, what: told.append(what))
    assert told == ["certificate", "curve", "map", "graph", "done"]
    assert set(made.figures) == {"curve", "graph"}
    with zipfile.ZipFile(io.BytesIO(report.packed(made))) as archive:
        assert {Path(name).name for name in archive.namelist()} == FILES - {"map.pdf", "map.csv"}
    chosen = report.build(instance, ThreatModel(attr_del=2, targets=[1, 4]))
    assert all("--targets 1,4" in command for command in chosen.commands)
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(InputError, match="cancelled"):
        report.build(instance, ThreatModel(attr_del=2), cancel=stopped)


def test_a_report_ends_within_its_time_with_what_is_proven() -> None:
    """A second for a question that takes longer: the counts are bounds, and the curve holds below its end."""
    instance = small_instance(n=300)
    made = report.build(instance, ThreatModel(attr_del=30, attr_add=20), seconds=0.01)
    whole = certify(instance, ThreatModel(attr_del=30, attr_add=20), attack=False)
    assert made.certificate.certified <= whole.certified
    assert "report.html" in report.files(made)


def test_a_report_on_right_labels_speaks_of_certified_accuracy() -> None:
    instance = toys.grid_instance()
    asked, right = instance.select_targets(None), instance.select_targets("correct")
    assert 0 < len(right) < len(asked)
    for made in (
        report.build(instance, ThreatModel(attr_del=2), targets="correct"),
        report.build(instance, ThreatModel(attr_del=2, targets=right), counted=asked),
    ):
        certified = made.certificate.certified
        drawn = made.figures["curve"]
        assert isinstance(drawn, CurveFigure)
        assert drawn.lines[0].ratio[list(drawn.lines[0].values).index(2)] == certified / len(asked)
        assert drawn.clean == len(right) / len(asked), "the line that it begins from"
        page = report.page(made)
        assert f"{certified} of {len(asked)} labels are right and stay" in page
        assert f"{certified} of {len(asked)} ({share_down(certified, len(asked), 1)})" in page
        assert f"({share_down(certified, len(right), 1)})" not in page, "no share that looks like an accuracy"
    assert report.build(instance, ThreatModel(attr_del=2)).accuracy == ""


@pytest.mark.parametrize(
    "arguments",
    [["report", "missing.npz", "-o", "x"], ["report", "{instance}", "-o", "{instance}", "--attr-del", "1"]],
)
def test_bad_requests_end_in_one_line(arguments, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_instance(tmp_path / "toy.npz", small_instance(("attr_del",), n=8))
    assert main([a.format(instance=tmp_path / "toy.npz") for a in arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("certcore: ")


def test_the_numbers_of_a_report_never_promise_too_much() -> None:
    instance = small_instance(("attr_del",), n=12)
    made = report.build(instance, ThreatModel(attr_del=2))
    close = dataclasses.replace(
        made.certificate,
        certified=1999,
        targets=2000,
        bound=Fraction(1000001, 1000000),
        instance=None,
        attack=None,
    )
    page = report.page(dataclasses.replace(made, certificate=close))
    assert "1,999 of 2,000 (99.9 %)" in page
    assert "at most 1.0001 (" in page, "what can be attacked is rounded up"


def test_the_table_of_sites_lists_what_the_attack_spends() -> None:
    instance = small_instance()
    certificate = certify(instance, ThreatModel(attr_del=4, attr_add=1))
    made = report.sites(instance, certificate)
    rows = [dict(zip(made.columns, row)) for row in made.rows]
    for key, kind in (("attribute additions at it", 0), ("attribute deletions at it", 1)):
        assert certificate.attack is not None
        assert sum(row.get(key, 0) for row in rows) == certificate.attack.totals[kind]
    spent = [sum(value for key, value in row.items() if key.endswith(" at it")) for row in rows]
    assert spent == sorted(spent, reverse=True)
    assert not [column for column in made.columns if "_" in column], "no raw names"


def test_indices_in_the_table_of_sites_have_no_separators() -> None:
    n = 1200
    graph = Graph.from_edges(n, np.column_stack([np.arange(n - 1), np.arange(1, n)]), np.ones((n, 3), dtype=np.int8))
    strong = np.zeros((n, 3), dtype=bool)
    strong[:, :2] = True
    strong[1100, 1:] = False
    instance = Instance(graph, GridBase(strong, ("attr_del",)), layers=0, targets=np.array([1100]))
    made = report.sites(instance, certify(instance, ThreatModel(attr_del=1)))
    assert "1100" in made.html()
    assert "1,100" not in made.html()


def test_a_report_on_ballots_shows_models_that_ignore_edges() -> None:
    """With one sentence why; not where other labels are counted too."""
    instance, threat = toys.ballots_instance(), ThreatModel(adj_add=3)
    made, other = (report.build(instance, threat, targets=which) for which in ("correct:test", "test"))
    drawn, plain = made.figures["curve"], other.figures["curve"]
    assert isinstance(drawn, CurveFigure)
    assert isinstance(plain, CurveFigure)
    assert [line.name for line in drawn.lines if line.kind == "control"] == ["MLP without edges"]
    assert str(messages.why_controls()) in drawn.note
    assert not any(line.kind == "control" for line in plain.lines)


def test_a_strong_report_records_its_rounds_and_carries_its_proof() -> None:
    """With rounds instead of seconds its numbers can be made again."""
    rng = np.random.default_rng(3)
    base = GridBase(random_grid(rng, 60, (4, 6)), ("attr_add", "attr_del"))
    instance = Instance(random_graph(rng, 60, 6, 0.05), base, 1)
    threat = ThreatModel(attr_add=2, attr_del=4)
    first, again = (report.build(instance, threat, relaxation="strong", rounds=2) for _ in range(2))
    assert first.certificate.rounds == 2
    assert first.certificate.proof is not None
    assert first.certificate.proof["format"] == "certcore-proof-2"
    assert first.certificate.proof == again.certificate.proof
    assert verify_proof(first.certificate.proof, instance).certified == first.certificate.certified
    assert "--relaxation strong --rounds 2" in first.commands[-1]


def test_the_command_of_a_bundle_is_shown_in_its_new_spelling() -> None:
    instance = small_instance()
    recorded = dataclasses.replace(
        instance, meta=instance.meta | {"command": "certcore bundle cora gcn attr --split 0"}
    )
    page = report.page(report.build(recorded, ThreatModel(attr_del=2)))
    assert "python -m experiments bundle cora gcn attr" in page
    assert "certcore bundle" not in page
