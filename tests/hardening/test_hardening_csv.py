"""Every CSV that leaves the program, with names that a spreadsheet would run: none of them begins a cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certcore import ThreatModel, certify, figures, report
from certcore.cli import main
from certcore.figures.save import file_bytes
from certcore.figures.table import csv_text, harmless
from certcore.instance.instance import Instance, save_instance
from certcore.result.attack_effects import reach
from certcore.sweep import curve
from pages.canvas import attack
from pages.parts import frames
from tests.pages.toys import N, grid_instance
from tests.support import few_steps

ROOT = Path(__file__).resolve().parents[2]
EVIL = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "a;=1", "＝1")
SIGNS = tuple("=+-@|%\t\r＝＋－＠")
THREAT = ThreatModel(attr_del=6, attr_add=1)


def hostile(**changes: Any) -> Instance:
    names: dict[str, Any] = {
        "node_names": tuple(f"{EVIL[i % len(EVIL)]}{i}" for i in range(N)),
        "class_names": EVIL[:3],
        "meta": {"dataset": EVIL[0], "model": EVIL[3], "split": EVIL[1], "controls": {EVIL[0]: 0.5, EVIL[2]: 0.1}},
    }
    return grid_instance(**(names | changes))


def cells(text: str) -> Iterator[str]:
    for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"))):
        yield from row


def check(text: str) -> None:
    """No cell begins like a formula, nor a part of one where cells end at semicolons; numbers do as they like."""
    assert len(text) > 20
    for cell in cells(text):
        if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell):
            continue
        assert not any(part.lstrip(" ").startswith(SIGNS) for part in cell.split(";")), cell
        assert not set(cell) & set("\t\r\n"), cell


@pytest.fixture(scope="module")
def instance() -> Instance:
    return hostile()


@pytest.fixture(scope="module")
def file(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("csv") / "=1+1.npz"
    save_instance(path, instance)
    return str(path)


def test_the_writer_guards_text_and_leaves_numbers() -> None:
    rows = [[-1, -2.5, "-1"], [np.int64(-3), np.float32(-0.5), "=A1"], [None, float("nan"), "plain"]]
    assert csv_text(["=x", "y", "z"], rows, newline="\n") == (
        "'=x,y,z\n-1,-2.5,'-1\n-3,-0.5,'=A1\n,,plain\n"
    )  # fmt: skip


def test_tables_of_commands(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, loss = ["--attr-del", "6", "--attr-add", "1"], tmp_path / "a.csv"
    with few_steps():
        assert main(["certify", file, *given, "--allocation", str(loss), "--fractional", str(tmp_path / "f.csv")]) == 0
    assert main(["curve", file, "--vary", "attr_del", "--values", "0:2", "-o", str(tmp_path / "c.csv")]) == 0
    grid = ["--x", "attr_add", "--x-values", "0:1", "--y", "attr_del", "--y-values", "0:1"]
    assert main(["surface", file, *grid, "-o", str(tmp_path / "s.csv")]) == 0
    draw = [["curve", "--vary", "attr_del", "--values", "0,1"], ["surface", *grid], ["certify", *given]]
    for k, words in enumerate(draw):
        assert main([words[0], file, *words[1:], "--plot", str(tmp_path / f"d{k}.csv")]) == 0
    capsys.readouterr()
    assert main(["curve", file, "--vary", "attr_del", "--values", "0,1"]) == 0
    check(capsys.readouterr().out)
    written = sorted(tmp_path.glob("*.csv"))
    assert len(written) == 4 + len(draw)
    for path in written:
        check(path.read_text("utf-8"))
    assert "'=cmd" in loss.read_text("utf-8")


def test_tables_of_a_report(instance: Instance) -> None:
    with few_steps():
        made = report.build(instance, THREAT, source="=1+1")
    tables = {name: data for name, data in report.files(made).items() if name.endswith(".csv")}
    assert len(tables) > 3
    for data in tables.values():
        check(data.decode())


def test_tables_of_the_map_and_of_notebooks(instance: Instance) -> None:
    with few_steps():
        result = certify(instance, THREAT)
    found = reach(instance, result)
    assert found is not None
    assert found.lost.any()
    sites, lost = (make(instance, result, found, relaxed=False) for make in (attack.sites_table, attack.lost_table))
    for frame in (sites, lost):
        check(frames.csv(frame).decode())
        # Streamlit's own button writes in the browser what is shown.
        check(frames.harmless(frame).to_csv(index=False))
        pd.testing.assert_index_equal(frame.columns, frames.harmless(frame).columns)
    told = pd.read_csv(io.BytesIO(frames.csv(lost)))
    assert told["node"].tolist() == lost["node"].tolist()
    check(result.frame().to_csv(index=False))
    check(harmless(pd.DataFrame({EVIL[0]: [1], f" {EVIL[0]}": ["-1"]})).to_csv(index=False))


def test_tables_of_several_models() -> None:
    line = curve(hostile(), ThreatModel(), "attr_del", [0, 1, 2])
    figure = figures.curve_figure([line] * 4, vary="attr_del", names=EVIL[:4])
    check(figure.table().csv())
    check(figure.frame().to_csv(index=False))
    check(file_bytes(figure, ".csv").decode())
