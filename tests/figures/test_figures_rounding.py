"""No format shows more than is certified, or less than is attacked; CSV and JSON keep every digit."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from certcore import InputError, export, figures
from certcore.figures.kinds.contour_levels import level_label
from certcore.figures.table import Meaning, format_cell, make_table
from certcore.figures.tabular import tabular
from experiments.measure import at_budget, gain_text, radius
from experiments.store import Result

ALMOST = 1999 / 2000
VALUES = [0, 1]


def _curve(low: bool = False) -> figures.CurveFigure:
    ratio = np.array([ALMOST, 0.89358])
    band = {"low": ratio - 0.00049, "high": np.array([0.99997, 0.99998])} if low else {}
    line = figures.Line(values=VALUES, ratio=ratio, average_radius=1.999, **band)
    return figures.CurveFigure(vary="attr_del", lines=(line,))


def _bars() -> figures.BarFigure:
    return figures.class_figure(["A", "B"], [1999, 89358], [1998, 89357], [2000, 100000])


def _map(show: str = "ratio") -> figures.ContourFigure:
    ratio = np.array([[0.99996, 0.89358], [0.77777, 0.66666]])
    return figures.ContourFigure(
        x="attr_add", y="attr_del", x_values=VALUES, y_values=VALUES, ratio=ratio, reference=ratio / 2, show=show
    )


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


def test_tables_of_a_curve_round_down() -> None:
    source = tabular(_curve())
    assert "0.999" in source
    assert "0.893" in source
    assert "1.000" not in source
    assert "0.894" not in source
    page = _curve().summary().html()
    assert '<td class="number">1.999</td>' in page
    assert "1.000" not in page


def test_words_and_legends_round_down() -> None:
    text = figures.alt_text(_curve())
    assert "0.999 at 0, 0.893 at 1" in text
    assert "r̄ = 1.99)" in text
    assert "from 0.666 to 0.999" in figures.alt_text(_map())
    assert "collective 0.999, naive 0.999" in figures.alt_text(_bars())


def _hovers(figure: figures.Figure) -> str:
    return repr([trace.to_plotly_json().get("customdata") for trace in figures.plotly(figure).data])


@pytest.mark.parametrize(
    "figure", [_curve(True), _map(), _map("difference"), _bars()], ids=["curve", "map", "gain", "bars"]
)
def test_hovers_carry_rounded_text(figure: figures.Figure) -> None:
    for trace in figures.plotly(figure).data:
        assert not re.search(r"%\{[^}]*:[^}]*f\}", trace.hovertemplate or ""), "d3 rounds to the nearest"
    shown = _hovers(figure)
    assert "1.0000" not in shown
    assert "1.000'" not in shown


def test_hover_of_a_map_names_its_number() -> None:
    heat = figures.plotly(_map()).data[0]
    assert "certified ratio (proven together): %{customdata[2]}" in heat.hovertemplate
    assert heat.customdata[0][0][2] == "0.9999"


def test_bars_hover_without_rounding_up() -> None:
    assert figures.plotly(_bars()).data[0].customdata[0][1] == "0.999"


def test_the_table_of_a_comparison_rounds_radii_down_and_keeps_that_in_its_file() -> None:
    figure = figures.CompareFigure(
        lines=_curve().lines,
        columns=("instance", "accuracy", "r̄"),
        meanings=(Meaning.PLAIN, Meaning.PLAIN, Meaning.CERTIFIED),
        rows=(("A", 0.7129, 1.9999),),
    )
    for one in (figure, figures.from_json(figures.to_json(figure))):
        assert r"A & 0.713 & 1.999 \\" in tabular(one)
        assert r"A & 0.713 & 1.999 \\" in export.render(one, "latex").decode()


def test_coordinates_in_latex_are_not_more_than_certified() -> None:
    line = figures.Line(values=VALUES, ratio=np.array([0.99999996, 0.8935678]))
    source = export.render(figures.CurveFigure(lines=(line,)), "latex").decode()
    assert "(0,0.999999)" in source
    assert "(1,0.893567)" in source


def test_files_for_machines_keep_every_digit() -> None:
    assert repr(ALMOST) in export.render(_curve(), "csv").decode()
    assert repr(ALMOST) in export.render(_curve(), "json").decode()


def test_levels_have_all_their_digits() -> None:
    assert level_label(0.5) == "0.5"
    assert level_label(0.99999999) == "0.99999999"
    figure = dataclasses.replace(_map(), levels=(0.99999999,))
    assert "0.99999999" in figures.alt_text(figure)
    assert any(trace.name == "proven together 0.99999999" for trace in figures.plotly(figure).data)


def test_reproduced_numbers_round_down() -> None:
    values = {"budgets": [0, 1, 2], "certified": [1999, 1333, 0], "naive": [1999, 1, 0]}
    result = Result("datasets", "toy-gcn-attr", 0, "paper", {}, {"targets": 2000}, values, {})
    assert at_budget([result], 0).text == "99.9 %"
    assert radius([result]).text == "0.40"
    assert gain_text(0.0999) == "+9.9 %"
    assert gain_text(-0.0001) == "-0.1 %"
    assert gain_text(0.0999, up=True) == "+10.0 %"
