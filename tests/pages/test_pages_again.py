"""Every command that an export menu gives, run in an empty folder: the file it writes has the numbers on the page."""

from __future__ import annotations

import csv
import io
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import ThreatModel, export, figures
from certcore.cli import main
from certcore.common.numbers import read_numbers
from certcore.figures import PrintStyle
from certcore.sweep.ranges import stops
from pages.canvas import situation
from pages.learn import the_paper
from pages.parts import exports
from tests.pages.conftest import drawer

Open = Callable[..., AppTest]
GRID, VOTES = "ring-gcn-attr-s0", "ring-votes-s0"


@pytest.fixture
def menus(monkeypatch: pytest.MonkeyPatch) -> dict[str, figures.Figure]:
    """The figures whose menus a page shows, as they are in the end."""
    seen: dict[str, figures.Figure] = {}

    def keep(figure: figures.Figure, key: str, *_: object, growing: bool = False, **others: figures.Figure) -> None:
        seen.update({key: figure, **others})

    for name in ("menu", "choices"):
        monkeypatch.setattr(exports, name, keep)
    return seen


def _command(figure: figures.Figure) -> list[str]:
    """The one command of the menu, as words."""
    assert "command" in [format.key for format in export.formats(figure)]
    lines = export.render(figure, "command").decode().splitlines()
    (line,) = [line for line in lines if not line.startswith("#")]
    words = shlex.split(line)
    assert words[:4] == ["python", "-m", "certcore", "draw"]
    return words


@pytest.fixture
def empty(tmp_path: Path, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing but the bundles, where the dashboard says they are."""
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copytree(bundle_folder, folder / "precomputed")
    return folder


def _check(seen: dict[str, figures.Figure], wanted: set[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wanted <= set(seen), seen
    monkeypatch.chdir(folder)
    for key in wanted:
        words = _command(seen[key])
        before = set(folder.iterdir())
        assert words[-1] == export.file_name(seen[key], "pdf")
        words[-1] = export.file_name(seen[key], "csv")  # numbers
        assert main(words[3:]) == 0, words
        (made,) = set(folder.iterdir()) - before
        assert made.read_bytes() == export.render(seen[key], "csv"), f"{key}: {' '.join(words)}"
        made.unlink()


CURVES = {
    "plain": {"attr_del": "4", "to": "30"},
    "every integer, with its end looked for": {"attr_del": "4", "every": "1"},
    "paper": {"attr_del": "4", "to": "9", "paper": "1", "log": "1"},
    "local budgets": {"attr_del": "4", "to": "9", "family": "local", "members": "1, 2, 5"},
    "attackers": {"attr_del": "4", "to": "9", "family": "sigma", "members": "1, 3", "paper": "1"},
    "local budget varied": {"attr_del": "4", "vary": "local_attr_del", "to": "3"},
    "sigma varied": {"attr_del": "4", "vary": "sigma"},
    "splits": {"attr_del": "4", "to": "9", "splits": "1"},
    "splits of test nodes": {"attr_del": "4", "to": "9", "splits": "1", "targets": "test"},
    "paper's relaxation": {"attr_del": "4", "to": "9", "relaxation": "paper"},
    "chosen targets": {"attr_del": "4", "to": "9", "targets": "chosen", "nodes": "3,5-9"},
    "class": {"attr_del": "4", "to": "9", "targets": "class", "class": "1"},
    "protected": {"attr_del": "4", "to": "9", "protect": "0-4,7", "sigma": "3"},
    "local in the sidebar": {"attr_del": "4", "attr_add": "1", "to": "9", "local": "absolute", "local_attr_del": "2"},
    "shares in the sidebar": {"attr_del": "4", "to": "9", "local": "relative", "share_attr_del": "0.5"},
}


@pytest.mark.parametrize("case", CURVES)
def test_curves(case: str, open_page: Open, menus, empty: Path, monkeypatch) -> None:
    open_page("curves", instance=GRID, **CURVES[case])
    if case.startswith("splits"):
        assert menus["curve"].lines[0].low is not None, "there are no splits here"
    _check(menus, {"curve", "classes"} if case == "plain" else {"curve"}, empty, monkeypatch)


@pytest.mark.parametrize("show", ["ratio", "naive", "paper"])
def test_maps(show: str, open_page: Open, menus, empty: Path, monkeypatch) -> None:
    open_page("contours", instance=GRID, attr_del="4", x_to="5", y_to="9", show=show)
    _check(menus, {"contour"}, empty, monkeypatch)


@pytest.mark.parametrize(("page", "key"), [("curves", "curve"), ("overview", "curve")])
def test_the_bracket_of_a_curve_has_steps_between_searched_values(page: str, key: str, open_page: Open, menus) -> None:
    """Attacks are looked for at 22, 24, 26, … (at 0, 4, 8, … on the workbench); between them flips are taken back."""
    at = open_page(page, instance=GRID, attr_del="12", **({"to": "40"} if page == "curves" else {}))
    if page == "overview":
        drawer(at, "export_curve")
    line, spec = menus[key].lines[0], menus[key].spec
    assert len(line.values) == int(line.values[-1]) + 1, "every integer"
    searched = stops(40) if page == "curves" else [round(50 * k / 12) for k in range(13)]
    assert read_numbers(spec["bracket"], "bracket") == searched, "what was asked"
    assert not spec["left"], "and nothing of what was found"
    assert set(np.flatnonzero(np.diff(line.leaves)) + 1) - set(searched)


def test_a_map_of_the_accuracy(open_page: Open, menus, empty: Path, monkeypatch) -> None:
    open_page("contours", instance=GRID, attr_del="4", x_to="5", y_to="9", right="1")
    assert menus["contour"].accuracy, "there are no labels here"
    _check(menus, {"contour"}, empty, monkeypatch)


@pytest.mark.parametrize(
    "more",
    [{}, {"sigma": "2", "protect": "1-3", "colour": "margin"}, {"adversary": "relaxed"}, {"relaxation": "exact"}],
    ids=str,
)
def test_graphs_with_their_attack(more: dict[str, str], open_page: Open, menus, empty: Path, monkeypatch) -> None:
    drawer(open_page("attack_map", instance=GRID, attr_del="6", **more), "export_graph")
    assert menus["graph"].relaxed is ("adversary" in more)
    assert menus["graph"].spent.any()
    assert menus["graph"].palette == more.get("colour", "state")
    _check(menus, {"graph"}, empty, monkeypatch)


def test_two_pictures_are_exported_as_they_stand_on_the_screen(
    open_page: Open, menus, empty: Path, monkeypatch
) -> None:
    kept = situation.write(ThreatModel(attr_del=2))
    at = open_page("attack_map", instance=GRID, attr_del="6", beside=kept, colour="correct", only="lost")
    drawer(at, "export_graph")
    assert [menus[key].tally[1, 2] for key in ("graph", "beside")] == [2, 6]
    assert all(menus[key].palette == "correct" and len(menus[key].faded) for key in ("graph", "beside"))
    menus["beside"] = exports.magnified(menus["beside"])
    _check(menus, {"graph", "beside"}, empty, monkeypatch)
    both = exports.packed([menus["graph"], menus["beside"]], "html", PrintStyle(title=True), False)
    with zipfile.ZipFile(io.BytesIO(both)) as archive:
        assert archive.namelist() == ["left-graph.html", "right-graph.html"]
        for name, told in (("left-graph.html", "of 2 attribute"), ("right-graph.html", "of 6 attribute")):
            text = archive.read(name).decode()
            assert told in text
            assert ("Magnified" in text) == name.startswith("right")
    assert exports.packed([menus["graph"]], "csv", PrintStyle(), False) == export.render(menus["graph"], "csv")


def test_charts_of_the_workbench(open_page: Open, menus, empty: Path, monkeypatch) -> None:
    at = open_page("overview", instance=GRID, attr_del="4")
    for name in ("curve", "map"):
        drawer(at, f"export_{name}")
    _check(menus, {"curve", "map"}, empty, monkeypatch)


def test_one_node(open_page: Open, menus, empty: Path, monkeypatch) -> None:
    open_page("node", instance=VOTES, attr_del="6", node="7")
    _check(menus, {"front", "votes"}, empty, monkeypatch)


def test_base_certificates(open_page: Open, menus, empty: Path, monkeypatch) -> None:
    open_page("base", instance=VOTES, targets="test")
    _check(menus, {"base_map", "p_distribution"}, empty, monkeypatch)
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    open_page("base", instance=GRID, bx="attr_del", by="none")
    _check(menus, {"base_map"}, empty, monkeypatch)


def test_comparisons(open_page: Open, menus, empty: Path, monkeypatch) -> None:
    open_page("compare", instance=GRID, attr_del="4", cmp_to="9", **{"with": VOTES})
    assert len(menus["compare"].lines) == 4
    _check(menus, {"compare"}, empty, monkeypatch)


def test_figures_of_the_paper(open_page: Open, menus, empty: Path, monkeypatch) -> None:
    first = [place["forms"][place["first"]] for one in the_paper.sections() for place in one["places"][:1]]
    drawn = [name for name in first if not name.startswith("joint")] + ["joint-cora-gcn-joint-paper"]
    open_page("the_paper", drawn=",".join(drawn))
    assert {"paper_joint-cora-gcn-joint-paper", "paper_convex"} <= set(menus)
    assert len(menus) == 10, "one for each figure of the paper"
    _check(menus, set(menus), empty, monkeypatch)


def test_the_exported_file_runs_in_a_shell(open_page: Open, menus, empty: Path) -> None:
    open_page("curves", instance=GRID, attr_del="4", to="30", targets="chosen", nodes="3,5-9")
    figure = menus["curve"]
    script = empty / export.file_name(figure, "command")
    script.write_bytes(export.render(figure, "command"))
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        ["sh", script.name], cwd=empty, check=True, env=dict(os.environ) | {"PYTHONPATH": root, "PATH": path}
    )
    assert (empty / export.file_name(figure, "pdf")).read_bytes() == export.render(figure, "pdf"), "the very file"


ADDRESSES = [
    ("curves", "curve", {"attr_del": "4", "to": "30"}),
    ("curves", "curve", {}),
    ("curves", "curve", {"attr_del": "4", "every": "1", "paper": "1", "right": "1"}),
    ("curves", "curve", {"attr_del": "4", "to": "9", "family": "local", "members": "1, 2, 5"}),
    ("curves", "curve", {"attr_del": "4", "to": "9", "splits": "1"}),
    ("contours", "contour", {"attr_del": "4", "x_to": "5", "y_to": "9", "show": "naive", "levels": "0.3"}),
    ("base", "base_map", {"bx": "attr_del", "by": "none", "targets": "test"}),
    ("node", "front", {"attr_del": "6", "node": "7", "picked": "3"}),
    ("compare", "compare", {"attr_del": "4", "cmp_to": "9", "with": VOTES}),
    ("attack_map", "graph", {"attr_del": "6", "sigma": "2", "colour": "margin", "only": "lost"}),
]


@pytest.mark.parametrize(("page", "key", "more"), ADDRESSES, ids=str)
def test_what_the_address_bar_holds_is_drawn(
    page: str, key: str, more: dict[str, str], open_page: Open, menus, empty: Path, monkeypatch
) -> None:
    at = open_page(page, instance=GRID, **more)
    if key == "graph":
        drawer(at, "export_graph")
    address = f"http://localhost:8501/{page}?" + urlencode({"instance": GRID} | more)
    monkeypatch.chdir(empty)
    assert main(["draw", address, "-o", "drawn.csv"]) == 0
    assert _proven((empty / "drawn.csv").read_bytes()) == _proven(_shown(menus[key]))


def _proven(data: bytes) -> list[dict[str, str]]:
    """A table without what attacks leave: which one is found depends on what was solved before."""
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert rows
    drop = ("attack_leaves", "attack_found", "bracket", "bound")
    return [{name: text for name, text in row.items() if name not in drop} for row in rows]


def _shown(figure: figures.Figure) -> bytes:
    """The numbers on the page, with names as a command has them."""
    if isinstance(figure, figures.CompareFigure):
        assert figure.spec is not None
        named = dict(zip(figure.spec.names, figure.spec.instances))
        lines = tuple(replace(line, name=named[line.name]) for line in figure.lines)
        return export.render(replace(figure, lines=lines), "csv")
    return export.render(figure, "csv")
