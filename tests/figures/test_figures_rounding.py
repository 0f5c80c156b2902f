"""No format shows more than is certified, or less than is attacked; CSV files and frames keep every digit."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certcore import InputError, figures
from certcore.figures.contour import level_label
from certcore.figures.table import Meaning, format_cell, make_table
from experiments.measure import at_budget, gain_text, radius
from experiments.store import Result

ALMOST = 1999 / 2000
VALUES = [0, 1]
ROOT = Path(__file__).parents[2]


def _curve(low: bool = False) -> figures.CurveFigure:
    ratio = np.array([ALMOST, 0.89358])
    band = {"low": ratio - 0.00049, "high": np.array([0.99997, 0.99998])} if low else {}
    line = figures.Line(values=VALUES, ratio=ratio, average_radius=1.999, **band)
    return figures.CurveFigure(vary="attr_del", lines=(line,))


def _map(show: str = "ratio") -> figures.ContourFigure:
    ratio = np.array([[0.99996, 0.89358], [0.77777, 0.66666]])
    return figures.ContourFigure(
        x="attr_add", y="attr_del", x_values=VALUES, y_values=VALUES, ratio=ratio, reference=ratio / 2, show=show
    )


@given(st.integers(1, 10**6), st.data())
def test_every_printed_share_of_a_guarantee_is_at_most_the_fraction_and_of_an_attack_at_least(
    targets: int, data: st.DataObject
) -> None:
    certified = data.draw(st.integers(0, targets))
    left = data.draw(st.integers(certified, targets))
    line = figures.Line(
        values=[0], ratio=[certified / targets], certified=[certified], targets=targets, leaves=[left / targets]
    )
    figure = figures.CurveFigure(lines=(line,))
    table = figure.table()
    cells = dict(zip(table.columns, table.texts(table.rows[0])))
    assert Fraction(cells["certified ratio"]) <= Fraction(certified, targets)
    assert Fraction(cells["certificate attack leaves"]) >= Fraction(left, targets)
    assert Fraction(re.findall(r"0 & ([\d.]+)", figure.tex())[0]) <= Fraction(certified, targets)
    assert Fraction(re.findall(r"([\d.]+) at 0", figure.description())[0]) <= Fraction(certified, targets)
    ((_, ratio, *_),) = next(t for t in figure.plotly().data if t.customdata is not None).customdata
    assert Fraction(ratio) <= Fraction(certified, targets)
    row = next(csv.DictReader(io.StringIO(table.csv())))
    assert float(row["certified ratio"]) == float(figure.frame().loc[0, "certified ratio"]) == certified / targets


def test_the_meaning_of_a_column_chooses_the_direction() -> None:
    assert format_cell(ALMOST, Meaning.CERTIFIED) == "0.999"
    assert format_cell(0.0001, Meaning.ATTACKED) == "0.001"
    assert format_cell(0.7128, Meaning.PLAIN) == "0.713"
    assert format_cell(12345, Meaning.INDEX) == "12345"
    assert format_cell(12345, Meaning.CERTIFIED) == "12,345"
    table = make_table(("a", "b"), [(ALMOST, ALMOST)], (Meaning.CERTIFIED, Meaning.PLAIN))
    assert table.texts(table.rows[0]) == ["0.999", "1.000"]
    with pytest.raises(InputError, match="expected one of"):
        make_table(("a",), [(1,)], ("robust",))  # type: ignore[arg-type]


def test_words_legends_and_tables_round_down() -> None:
    assert "0.999 at 0, 0.893 at 1" in _curve().description()
    assert "from 0.666 to 0.999" in _map().description()
    assert any("r̄ = 1.99)" in str(trace.name) for trace in _curve().plotly().data)
    assert "0.893" in _curve().tex()
    assert "1.000" not in _curve().tex()
    assert '<td class="number">1.999</td>' in _curve().table().html()


@pytest.mark.parametrize("figure", [_curve(True), _map(), _map("difference")], ids=["curve", "map", "gain"])
def test_hovers_carry_rounded_text(figure: figures.Figure) -> None:
    for trace in figure.plotly().data:
        assert not re.search(r"%\{[^}]*:[^}]*f\}", trace.hovertemplate or ""), "d3 rounds to the nearest"
    shown = repr([trace.to_plotly_json().get("customdata") for trace in figure.plotly().data])
    assert "1.0000" not in shown
    assert "1.000'" not in shown


def test_hover_of_a_map_names_its_number() -> None:
    heat = _map().plotly().data[0]
    assert "certified ratio (collective): %{customdata[2]}" in heat.hovertemplate
    assert heat.customdata[0][0][2] == "0.9999"


def test_levels_have_all_their_digits() -> None:
    assert level_label(0.5) == "0.5"
    assert level_label(0.99999999) == "0.99999999"
    figure = dataclasses.replace(_map(), levels=(0.99999999,))
    assert "0.99999999" in figure.description()
    assert any(trace.name == "collective 0.99999999" for trace in figure.plotly().data)


def test_only_one_module_writes_tables() -> None:
    """pandas rounds to the nearest and writes names as formulas."""
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("certcore", "pages", "experiments")
        for path in (ROOT / folder).rglob("*.py")
        for name in ("to_csv", "to_latex", "to_excel")
        if re.search(rf"\.{name}\(", path.read_text(encoding="utf-8"))
    ]
    assert not found


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\t=1", " =1", "\r\n=1"])
def test_no_table_brings_a_formula(text: str) -> None:
    line = figures.Line(values=[0], ratio=[0.5], name=text)
    figure = figures.CurveFigure(lines=(line, dataclasses.replace(line, group=1)))
    cell = list(csv.reader(io.StringIO(figure.table().csv())))[1][0]
    for written in (cell, figure.frame().loc[0, "line"], csv_of(figure.frame())[1][1]):
        assert written.startswith("'")
        assert "\n" not in written
    assert "\\input" not in figure.tex()


def csv_of(frame: object) -> list[list[str]]:
    """What pandas writes of a frame that a user saves."""
    return list(csv.reader(io.StringIO(frame.to_csv())))  # type: ignore[attr-defined]


def test_reproduced_numbers_round_down() -> None:
    values = {"budgets": [0, 1, 2], "certified": [1999, 1333, 0], "naive": [1999, 1, 0]}
    result = Result("datasets", "toy-gcn-attr", 0, "paper", {}, {"targets": 2000}, values, {})
    assert at_budget([result], 0).text == "99.9 %"
    assert radius([result]).text == "0.40"
    assert gain_text(0.0999) == "+9.9 %"
    assert gain_text(-0.0001) == "-0.1 %"
    assert gain_text(0.0999, up=True) == "+10.0 %"
