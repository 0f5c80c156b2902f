"""`--plot FILE` of the commands and `.plot(path)` of their results."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pypdf
import pytest

import certcore as cc
from certcore import save_instance
from certcore.cli import main
from tests.export.instances import small_instance

CURVE = ("curve", "--vary", "attr_del", "--values", "0,1,2,5,10:30:10", "--attr-del", "2")
MAP = ("surface", "--x", "attr_add", "--x-values", "0:3", "--y", "attr_del", "--y-values", "0:4")
ASKED = {"certify": ("certify", "--attr-del", "3"), "curve": CURVE, "surface": MAP}


@pytest.fixture
def toy(tmp_path: Path) -> str:
    save_instance(tmp_path / "toy.npz", small_instance())
    return str(tmp_path / "toy.npz")


def size(path: Path) -> tuple[float, float]:
    box = pypdf.PdfReader(path).pages[0].mediabox
    return float(box.width) / 72 * 2.54, float(box.height) / 72 * 2.54


@pytest.mark.parametrize("name", ASKED)
def test_each_command_draws_in_every_format(name: str, toy: str, tmp_path: Path) -> None:
    heads = {"f.pdf": b"%PDF", "f.svg": b"<?xml", "f.png": b"\x89PNG", "f.tex": b"% ", "f.csv": b""}
    command, *options = ASKED[name]
    for file, head in heads.items():
        assert main([command, toy, *options, "--plot", str(tmp_path / file), "--font", "serif"]) == 0
        assert (tmp_path / file).read_bytes().startswith(head)
    assert size(tmp_path / "f.pdf")[0] == pytest.approx(8.5, abs=0.01)
    assert main([command, toy, *options, "--plot", str(tmp_path / "wide.pdf"), "--width", "17.5cm"]) == 0
    assert size(tmp_path / "wide.pdf")[0] == pytest.approx(17.5, abs=0.01)


def test_the_figure_has_the_numbers_of_the_table(toy: str, tmp_path: Path) -> None:
    plot, table = tmp_path / "plot.csv", tmp_path / "table.csv"
    assert main([CURVE[0], toy, *CURVE[1:], "--plot", str(plot), "-o", str(table)]) == 0
    rows = [list(csv.DictReader(io.StringIO(path.read_text()))) for path in (plot, table)]
    wanted = {int(row["value"]): int(row["certified"]) for row in rows[1]}
    assert list(wanted) == [0, 1, 2, 5, 10, 20, 30]
    named = [row for row in rows[0] if row["certificate"] == "collective"]
    drawn = {int(row["attribute deletions"]): int(row["certified"]) for row in named}
    assert drawn == wanted


def test_results_draw_themselves_into_files(tmp_path: Path) -> None:
    instance = small_instance()
    results = {
        "certificate": cc.certify(instance, attr_del=3),
        "curve": cc.curve(instance, vary="attr_del", values=range(5)),
        "surface": cc.surface(instance, x="attr_add", x_values=range(3), y="attr_del", y_values=range(4)),
    }
    for name, result in results.items():
        assert result.plot(tmp_path / f"{name}.pdf", width="12cm", font="serif") is None
        assert size(tmp_path / f"{name}.pdf")[0] == pytest.approx(12, abs=0.01)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--plot", "f.docx"), "'f.docx'; expected a name that ends in one of .pdf"),
        (("--plot", "f.pdf", "--width", "90cm"), "3 to 60 centimetres"),
        (("--plot", "f.pdf", "--width", "wide"), "3 to 60 centimetres"),
        (("--plot", "/dev/null/f.pdf"), "cannot write"),
    ],
)
@pytest.mark.parametrize("name", ASKED)
def test_what_cannot_be_drawn_is_refused_before_any_work(
    name: str, words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options = ASKED[name]
    assert main([command, "there-is-no-such-file.npz", *options, *words]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
