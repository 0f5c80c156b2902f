"""Statistics over splits: one deviation for what is printed and what is drawn, one average radius."""

from __future__ import annotations

import numpy as np

from certcore.common.statistics import average_radius
from certcore.domain.threat import ThreatModel
from certcore.figures import mean_lines
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
