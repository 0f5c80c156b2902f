"""Every command that an export drawer shows, run in another folder: the file it writes has the numbers on the page."""

from __future__ import annotations

import csv
import io
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from certcore import figures
from certcore.cli import main
from certcore.sweep.ranges import stops
from pages.parts import exports
from tests.pages.conftest import drawer

Open = Callable[..., AppTest]
GRID, VOTES = "ring-gcn-attr-s0", "ring-votes-s0"


@pytest.fixture
def menus(monkeypatch: pytest.MonkeyPatch) -> dict[str, figures.Figure]:
    """The figures whose menus a page shows, as they are in the end."""
    seen: dict[str, figures.Figure] = {}

    def keep(figure: figures.Figure, key: str, *, growing: bool = False) -> None:
        seen[key] = figure

    for name in ("menu", "choices"):
        monkeypatch.setattr(exports, name, keep)
    return seen


def command(figure: figures.Figure) -> list[str]:
    return shlex.split(figure.command)


def texts(folder: Path, figure: figures.Figure) -> tuple[str, str]:
    return (folder / "made.csv").read_bytes().decode(), figure.table().csv()


def check(seen: dict[str, figures.Figure], wanted: set[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands work from any folder, and the files they write have the numbers of the figures."""
    assert wanted <= set(seen), seen
    monkeypatch.chdir(folder)
    for key in wanted:
        words = command(seen[key])
        assert words[0] == "certcore"
        assert main([*words[1:], "--plot", "made.csv"]) == 0, words
        made, shown = (list(csv.DictReader(io.StringIO(text, newline=""))) for text in texts(folder, seen[key]))
        assert made == [{name: row[name] for name in made[0]} for row in shown], f"{key}: {shlex.join(words)}"


CURVES = {
    "plain": {"attr_del": "4", "to": "30"},
    "σ": {"attr_del": "4", "vary": "sigma", "to": "3"},
    "local in the sidebar": {
        "attr_del": "4",
        "attr_add": "1",
        "to": "9",
        "local_mode": "absolute",
        "local_attr_del": "2",
    },
    "shares in the sidebar": {"attr_del": "4", "to": "9", "local_mode": "relative", "share_attr_del": "0.5"},
    "targets and protection": {"attr_del": "4", "to": "9", "targets": "chosen", "nodes": "1,4-9", "protect": "2"},
    "a class": {"attr_del": "4", "to": "9", "targets": "class", "class": "1"},
    "right labels": {"attr_del": "4", "to": "9", "right": "1"},
}


@pytest.mark.parametrize("case", CURVES)
def test_curves(case: str, open_page: Open, menus, tmp_path: Path, monkeypatch) -> None:
    open_page("curves", instance=GRID, **CURVES[case])
    check(menus, {"curve"}, tmp_path, monkeypatch)


def test_maps(open_page: Open, menus, tmp_path: Path, monkeypatch) -> None:
    open_page("contours", instance=GRID, attr_del="4", x_to="3", y_to="4")
    check(menus, {"contour"}, tmp_path, monkeypatch)


def test_graphs_with_their_attack(open_page: Open, menus, tmp_path: Path, monkeypatch) -> None:
    drawer(open_page("attack_map", instance=VOTES, attr_del="4"), "export_graph")
    check(menus, {"graph"}, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("page", "key", "more"),
    [
        ("curves", "curve", {"paper": "1"}),
        ("curves", "curve", {"log": "1"}),
        ("curves", "curve", {"family": "sigma", "members": "1,2"}),
        ("contours", "contour", {"show": "naive", "x_to": "2", "y_to": "2"}),
    ],
)
def test_what_no_command_draws_has_none(page: str, key: str, more: dict[str, str], open_page: Open, menus) -> None:
    open_page(page, instance=GRID, attr_del="4", **more)
    assert not menus[key].command


def test_the_shown_command_runs_in_a_shell_in_any_folder(open_page: Open, tmp_path: Path) -> None:
    """As somebody copies it: with the file that it writes, the width and the font."""
    at = open_page("curves", instance=GRID, attr_del="4", to="9")
    at.session_state["_print"] = {"width": "17.5cm", "font": "serif"}
    at.session_state["_export"] = "curve"
    at.run()
    (line,) = [code.value for code in at.code if code.value.startswith("certcore ")]
    assert line.endswith("--plot curve-attr_del.pdf --width 17.5cm --font serif")
    words = f"{shlex.quote(sys.executable)} -m {line}"
    subprocess.run(words, shell=True, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert (tmp_path / "curve-attr_del.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("page", ["curves", "overview"])
def test_the_bracket_of_a_curve_has_steps_at_searched_values(page: str, open_page: Open, menus) -> None:
    """Attacks are looked for at 22, 24, 26, … (at 0, 4, 8, … on the workbench); between them the smaller counts."""
    at = open_page(page, instance=GRID, attr_del="12", **({"to": "40"} if page == "curves" else {}))
    if page == "overview":
        drawer(at, "export_curve")
    line = menus["curve"].lines[0]  # type: ignore[attr-defined]
    assert len(line.values) == int(line.values[-1]) + 1, "every integer"
    searched = stops(40) if page == "curves" else [round(50 * k / 12) for k in range(13)]
    assert set(np.flatnonzero(np.diff(line.leaves)) + 1) <= set(searched)
