"""Statistics over splits: one deviation for what is printed and what is drawn, one average radius."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from certcore.common.statistics import average_radius
from certcore.domain.threat import ThreatModel
from certcore.figures import CurveFigure, mean_lines
from certcore.sweep import curve
from certcore.sweep.parallel import over_splits
from experiments import measure, pictures
from experiments.store import Result
from tests.sweep.cases import smoothed_like

VALUES = range(0, 60, 5)


def _result(split: int, counts: list[int], targets: int) -> Result:
    values = {"budgets": list(range(len(counts))), "certified": counts, "naive": counts}
    return Result("datasets", "toy-gcn-attr", split, "paper", {}, {"targets": targets}, values, {})


def test_the_printed_deviation_is_the_drawn_band() -> None:
    curves = [curve(smoothed_like(seed, n=60), ThreatModel(), "attr_del", VALUES) for seed in range(3)]
    printed = over_splits(curves)
    drawn = mean_lines(curves)[0]
    assert printed.deviation is not None
    assert drawn.low is not None
    inside = (drawn.low > 0) & (drawn.high < 1)
    assert inside.any()
    assert np.allclose((drawn.ratio - drawn.low)[inside], printed.deviation[inside], rtol=0, atol=1e-12)
    assert np.array_equal(printed.columns()["ratio_deviation"], printed.deviation)


def test_the_reproduction_draws_the_same_band() -> None:
    counts = [[9, 6, 2, 0], [8, 7, 1, 0]]
    line = pictures.mean_lines([_result(k, row, 10) for k, row in enumerate(counts)], "toy", 0)[0]
    sample = np.std(np.array(counts) / 10, axis=0, ddof=1)
    assert np.allclose(line.high - line.ratio, sample)
    spread = measure.at_budget([_result(k, row, 10) for k, row in enumerate(counts)], 1).spread
    assert np.isclose(spread, sample[1])


def test_one_split_has_no_deviation() -> None:
    alone = over_splits([curve(smoothed_like(1, n=60), ThreatModel(), "attr_del", VALUES)])
    assert alone.deviation is None
    assert alone.naive_deviation is None
    assert list(alone.columns()) == ["value", "ratio_mean", "naive_ratio_mean"]
    assert "ratio_deviation" not in alone.to_json()["points"][0]


def test_nothing_certified_has_no_average_radius_anywhere() -> None:
    assert average_radius(np.arange(3), np.zeros(3)) is None
    assert measure.radius([_result(0, [0, 0, 0], 10)]) is None
    assert pictures.mean_lines([_result(0, [0, 0, 0], 10)], "toy", 0)[0].average_radius is None


LINE = curve(smoothed_like(1, n=60), ThreatModel(), "attr_del", range(3))
COUNTS = st.lists(st.lists(st.integers(0, 300), min_size=3, max_size=12), min_size=1, max_size=4)


@given(COUNTS, st.lists(st.integers(300, 2000), min_size=4, max_size=4))
@settings(deadline=None)
def test_no_printed_average_radius_is_above_the_exact_one(rows: list[list[int]], targets: list[int]) -> None:
    """It is a guarantee: in legends, tables and the reproduction it is rounded down."""
    length = max(map(len, rows)) + 1
    counts = [[*sorted(row, reverse=True), *[0] * (length - len(row))] for row in rows]
    mean = [sum(Fraction(row[k], of) for row, of in zip(counts, targets)) for k in range(length)]
    if not any(mean):
        return
    exact = sum(k * part for k, part in enumerate(mean)) / sum(mean)
    lines = [
        replace(
            LINE, axis_values=(np.arange(length),), certified=np.array(row), naive=np.array(row), targets=of,
            done=np.ones(length, bool), bounds=np.array([Fraction(of - count) for count in row]), instance=None,
        )
        for row, of in zip(counts, targets)
    ]  # fmt: skip
    printed = [measure.radius([_result(k, row, of) for k, (row, of) in enumerate(zip(counts, targets))]).text]
    figure = CurveFigure(lines=mean_lines(lines))
    printed += re.findall(r"r̄ = ([\d.,]+)\)", figure.description())
    printed += [str(over_splits(lines).to_json()["average_radius"])]
    assert len(printed) >= 3
    for text in printed:
        assert 0 <= exact - Fraction(text) < Fraction(1, 100)
