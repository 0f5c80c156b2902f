"""What is said of weights: no sentence calls them labels, and whatever counts labels refuses them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certcore import Graph, GridBase, Instance, ThreatModel, certify, curve, messages, surface
from certcore.cli import main
from certcore.cli.weights import read_option
from certcore.common.errors import InputError
from certcore.domain.weights import refuse_weights
from certcore.instance.instance import save_instance
from certcore.sweep import radius
from tests.support import random_graph, random_grid

N = 24


@pytest.fixture(scope="module")
def instance() -> Instance:
    rng = np.random.default_rng(7)
    graph: Graph = random_graph(rng, N, 5, 0.12)
    base = GridBase(random_grid(rng, N, (5,)), ("attr_del",), prediction=np.zeros(N, dtype=int))
    return Instance(graph, base, 1, labels=np.zeros(N, dtype=int))


@pytest.fixture(scope="module")
def file(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("weights") / "i.npz"
    save_instance(path, instance)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("budget", [0, 1, 2, 50])
def test_every_sentence_speaks_of_weight(instance: Instance, budget: int) -> None:
    weights = np.arange(1, N + 1) / 4
    found = certify(instance, attr_del=budget, weights=weights)
    said = [messages.guarantee(instance, found), messages.status(found), messages.limit_words(found)]
    said += [messages.bracket(found)[1], messages.summary(found), messages.gain(found)]
    for text in map(str, said):
        assert not re.search(r"\d[\d,.]*( of \d[\d,.]*)? (\w+ )?(labels|targets)\b", text), text
    first = str(said[0])
    assert f"{float(found.kept):,g} of {float(found.weight):,g}" in first or not found.certified
    assert any(
        "each counts with a weight that was given" in str(one) for one in messages.remarks(instance, found.threat)
    )
    assert f"{found.certified:,} " not in first or found.certified == found.kept


def test_zeros_and_degrees_are_told(instance: Instance) -> None:
    some = np.ones(N)
    some[:3], some[4] = 0, 2
    threat = certify(instance, attr_del=1, weights=some).threat
    assert "3 nodes of weight 0 are left out" in " ".join(map(str, messages.remarks(instance, threat)))
    told = " ".join(map(str, messages.remarks(instance, ThreatModel(attr_del=1, weights="degree"))))
    assert "number of edges at its node in the observed graph" in told


def test_the_largest_budget_is_told_in_weight(instance: Instance) -> None:
    threat = ThreatModel(weights=np.arange(1, N + 1) / 4)
    found = radius(instance, threat, "attr_del", "0.3")
    said = str(messages.radius(instance, threat, found))
    assert f"{found.needed / 4:,g} units of weight" in said
    assert "targets" not in said
    assert found.to_json()["needed"] == found.needed / 4


def test_the_command_reads_files_and_columns(
    instance: Instance, file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    numbers = [f"{n / 100:.2f}" for n in range(1, N + 1)]
    plain, table = tmp_path / "w.txt", tmp_path / "w.csv"
    plain.write_text("\n".join(numbers))
    table.write_text("name,money\n" + "\n".join(f"a{i},{n}" for i, n in enumerate(numbers)))
    found = certify(instance, attr_del=1, weights=[float(n) for n in numbers])
    for given in (str(plain), f"{table}:money"):
        code, out, _ = run(capsys, "certify", file, "--attr-del", "1", "--weights", given, "--json")
        told: dict[str, Any] = json.loads(out)
        assert code == 0
        assert (told["certified"], told["targets"]) == (float(found.kept), float(found.weight))
        assert told["weights"] == "given"
    _, out, _ = run(capsys, "curve", file, "--vary", "attr_del", "--values", "0:2", "--weights", str(plain))
    line = curve(instance, vary="attr_del", values=range(3), weights=[float(n) for n in numbers])
    assert [row.split(",")[1] for row in out.split()[1:]] == [str(c / 100) for c in line.certified.tolist()]


def test_a_weighted_proof_is_told_as_one(file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof = str(tmp_path / "p.json")
    assert run(capsys, "certify", file, "--attr-del", "1", "--weights", "degree", "--proof", proof)[0] == 0
    code, out, _ = run(capsys, "verify", proof, file)
    assert code == 0
    assert "of the weight" in out
    assert "units of weight (recomputed" in out
    assert not re.search(r"of \d+ labels", out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--weights", "{w}", "--targets", "correct"], "give one of both"),
        (["--weights", "{w}", "--plot", "{d}/a.html"], "counts labels"),
        (["--weights", "{d}/missing.txt"], "cannot read"),
        (["--weights", "{c}"], "2 columns"),
        (["--weights", "{c}:monny"], "did you mean money"),
        (["--weights", "{c}:name"], "line 2 of"),
        (["--weights", "{s}"], f"expected one per node of the graph, {N}"),
    ],
)
def test_what_cannot_be_weighed_is_refused(
    file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], said: str
) -> None:
    (tmp_path / "w.txt").write_text("2\n" * N)
    (tmp_path / "s.txt").write_text("2\n" * (N - 1))
    (tmp_path / "c.csv").write_text("name,money\n" + "a,2\n" * N)
    places = {"w": tmp_path / "w.txt", "s": tmp_path / "s.txt", "c": tmp_path / "c.csv", "d": tmp_path}
    given = [option.format(**places) for option in options]
    code, out, err = run(capsys, "certify", file, "--attr-del", "1", *given)
    assert code == 2
    assert not out
    assert said in err
    assert err.count("\n") == 1


def test_whatever_counts_labels_refuses_weights(instance: Instance, tmp_path: Path) -> None:
    from certcore.workbench.standing import workbench_page

    threat = ThreatModel(attr_del=1, weights="degree")
    for ask in (
        lambda: workbench_page(instance, threat), lambda: refuse_weights("degree", "it"),
    ):  # fmt: skip
        with pytest.raises(InputError, match="counts labels, and weights are given"):
            ask()


def test_figures_are_named_after_the_weight(
    instance: Instance, file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from certcore.figures import figure_of
    from certcore.figures.curve import curve_figure

    line = curve(instance, vary="attr_del", values=range(3), weights="degree")
    drawn = figure_of(line)
    assert drawn.y_label == "certified share of the weight"  # type: ignore[attr-defined]
    table = tmp_path / "curve.csv"
    code, _, err = run(capsys, "curve", file, "--vary", "attr_del", "--values", "0:2", "--weights", "degree", "--plot",
                       str(table))  # fmt: skip
    assert code == 0, err
    head, first, *_ = table.read_text().splitlines()
    row = dict(zip(head.split(","), first.split(",")))
    assert (int(row["certified"]), int(row["weight"])) == (line.certified[0], line.targets)
    cells = surface(instance, x="attr_del", x_values=range(3), y="sigma", y_values=range(3), weights="degree")
    assert figure_of(cells).measure_label == "certified share of the weight"  # type: ignore[attr-defined]
    assert figure_of(certify(instance, attr_del=1, weights="degree")).table().rows
    plain = curve(instance, vary="attr_del", values=range(3))
    assert figure_of(plain).y_label == "certified ratio"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="some of these results count labels"):
        curve_figure([line, plain], vary="attr_del", names=["a", "b"])
    with pytest.raises(InputError, match="decimals"):
        figure_of(curve(instance, vary="attr_del", values=range(3), weights=np.arange(N) / 10))


def test_the_report_is_about_weight(instance: Instance) -> None:
    from certcore.report import build, files

    report = build(instance, ThreatModel(attr_del=1, weights="degree"), seconds=20)
    found = certify(instance, attr_del=1, weights="degree")
    page = files(report)["report.html"].decode()
    assert "of the weight stays as it is" in page
    assert f"{found.certified:,} of {found.targets:,} units of weight" in page
    assert b"weight" in files(report)["curve.csv"].splitlines()[0]
    assert not re.search(r"of \d+ labels (stay|certified)", page)
    with pytest.raises(InputError, match="decimals"):
        build(instance, ThreatModel(attr_del=1, weights=np.arange(N) / 10))


def test_tables_have_the_weight_of_each_node(instance: Instance) -> None:
    table = certify(instance, attr_del=1, weights=np.arange(1, N + 1) / 2, targets=[2, 5]).frame()
    assert table["weight"].tolist() == [(i + 1) / 2 if i in (2, 5) else 0 for i in range(N)]
    assert "weight" not in certify(instance, attr_del=1).frame().columns


def test_results_name_the_weight_as_it_was_given(instance: Instance) -> None:
    weights = np.full(N, 0.5)
    weights[3] = 1.5
    assert "of 13.0 certified (weight)" in repr(certify(instance, attr_del=1, weights=weights))
    line = curve(instance, vary="attr_del", values=range(3), weights=weights)
    assert "a weight of 13.0;" in repr(line)
    assert f"{N} targets" in repr(curve(instance, vary="attr_del", values=range(3)))


def test_figures_and_reports_draw_no_labels_from_weights(instance: Instance) -> None:
    from certcore.figures.contour import cell_hover, contour_figure
    from certcore.figures.curve import curve_figure
    from certcore.report import build

    line = curve(instance, vary="attr_del", values=range(3), weights="degree")
    hover = curve_figure([line], vary="attr_del").plotly().data[0].hovertemplate
    assert "units of weight" in hover
    assert "nodes" not in hover
    for more in ({"changed": [0, 0, 0]}, {"accuracy_of": N}):
        with pytest.raises(InputError, match="count weight"):
            curve_figure([line], vary="attr_del", **more)
    cells = surface(instance, x="attr_del", x_values=range(3), y="sigma", y_values=range(3), weights="degree")
    drawn = contour_figure(cells, x="attr_del", y="sigma", attacks=np.zeros((3, 3)))
    assert "units of weight wide" in str(cell_hover(drawn))
    assert "labels wide" not in str(cell_hover(drawn))
    assert "weight" in drawn.table().columns
    assert "targets" not in drawn.table().columns
    with pytest.raises(InputError, match="counts weight"):
        contour_figure(cells, x="attr_del", y="sigma", accuracy_of=N)
    right = ThreatModel(attr_del=1, weights="degree", targets=instance.select_targets("correct"))
    with pytest.raises(InputError, match="certified accuracy counts labels"):
        build(instance, right, targets="correct", seconds=5)


@pytest.mark.parametrize(("name", "text"), [("w.txt", "1\n1,000\n"), ("w.csv:w", "node,w\n0,1\n1,1,000\n")])
def test_a_thousands_separator_is_no_second_column(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name.partition(":")[0]).write_text(text)
    with pytest.raises(InputError, match="thousands separators"):
        read_option(str(tmp_path / name))


def test_a_report_names_targets_of_which_some_weigh_nothing(instance: Instance) -> None:
    from certcore.report import build

    weights = np.full(N, 2)
    weights[3:5] = 0
    threat = ThreatModel(attr_del=1, weights=weights)
    for asked in (threat, threat.weighed(instance.graph, np.asarray(instance.targets))):
        assert build(instance, asked, targets="all", seconds=5).certificate.targets == 2 * (N - 2)
    with pytest.raises(InputError, match="counts other nodes"):
        build(instance, threat.replace(targets=[1, 2]), targets="all", seconds=5)


def test_degrees_are_those_of_the_graph_that_is_certified(instance: Instance) -> None:
    other = Instance(random_graph(np.random.default_rng(8), N, 5, 0.5), instance.base, 1)
    threat = certify(instance, attr_del=1, weights="degree").threat
    found = certify(other, threat, proof=False)
    assert found.targets == other.graph.incident[found.target_nodes].sum()
