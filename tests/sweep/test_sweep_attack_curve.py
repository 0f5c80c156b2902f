"""The bracket along a curve: attacks never get better with a smaller budget, and never beat the bound."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

from certcore import ThreatModel, figures
from certcore.figures.contour import cell_hover
from certcore.figures.geometry import bracket_area
from certcore.sweep import Session, curve, surface
from certcore.sweep.attack_curve import attacks_over, best_attacks, best_below, best_within
from tests.oracle.truth import most_broken
from tests.support import random_instance


@pytest.mark.parametrize("seed", range(12))
def test_attacks_lie_between_nothing_and_the_truth(seed: int) -> None:
    instance = random_instance(np.random.default_rng(seed), axes=("attr_del",))
    session, values = Session(instance), [0, 1, 2, 3]
    found = best_attacks(session, ThreatModel(), "attr_del", values)
    assert (np.diff(found) >= 0).all()
    line = curve(session, ThreatModel(), "attr_del", values)
    for k, value in enumerate(values):
        truth = most_broken(instance, ThreatModel(attr_del=value))
        assert found[k] <= truth <= float(line.bounds[k])
    figure = figures.curve_figure([line], vary="attr_del", attacks=found)
    band = figure.lines[0]
    assert band.leaves is not None
    assert (band.leaves >= band.ratio).all()
    assert figure.lines[1].leaves is None, "the naive line has no bracket"


def test_between_known_values_the_best_attack_below_counts() -> None:
    below = best_below(np.array([0, 1, 4, 5, 9]), np.array([1, 5]), np.array([2, 7]))
    assert below.tolist() == [0, 2, 2, 7, 7]
    worse = best_below(np.array([9]), np.array([1, 5]), np.array([7, 2]))
    assert worse.tolist() == [7], "a worse attack found later takes nothing back"


@pytest.mark.parametrize("seed", range(4))
def test_the_bracket_of_a_map_holds_the_truth_in_every_cell(seed: int) -> None:
    instance = random_instance(np.random.default_rng(seed), axes=("attr_add", "attr_del"))
    session, values = Session(instance), [0, 1, 2]
    cells = surface(session, ThreatModel(), "attr_add", values, "attr_del", values)
    known = list(attacks_over(session, ThreatModel(), "attr_add", "attr_del", [(0, 0), (1, 2), (2, 1)]))
    attacks = best_within(cells.x_values, cells.y_values, known)
    assert attacks[2, 2] == max(left for *_, left in known)
    assert np.isfinite(attacks).all()
    figure = figures.contour_figure(cells, x="attr_add", y="attr_del", show="bracket", attacks=attacks)
    assert figure.bounds is not None
    data, hover = cell_hover(figure)
    column = {name: int(k) for name, k in re.findall(r"<br>([^:]+): %\{customdata\[(\d+)", hover)}
    columns, rows = figure.table().columns, iter(figure.table().rows)
    for i in values:
        for j in values:
            truth = most_broken(instance, ThreatModel(attr_add=i, attr_del=j))
            assert attacks[i, j] <= truth <= figure.bounds[i, j]
            assert figure.filled[i, j] == (figure.bounds[i, j] - attacks[i, j]) / cells.targets
            told, bound, left = data[i][j], int(figure.bounds[i, j]), int(attacks[i, j])
            assert told[:2] == [i, j]
            assert told[column["can be left uncertified"]] == f"at most {bound} of {cells.targets}"
            assert told[column["certificate attack leaves uncertified"]] == str(left)
            assert told[column["bracket"]] == f"{bound - left} labels wide"
            row = dict(zip(columns, next(rows)))
            assert (row["uncertified at most"], row["certificate attack"]) == (bound, left), "in the table as well"
    assert {"collective", "naive"} <= column.keys()
    unknown = best_within(cells.x_values, cells.y_values, [(1, 1, 3)])
    assert np.isnan(unknown[0]).all()
    assert (unknown[1:, 1:] == 3).all()


def test_the_area_claims_only_what_is_known_between_two_values() -> None:
    x, y = bracket_area(np.array([0.0, 10.0]), np.array([0.9, 0.5]), np.array([1.0, 0.6]))
    half = len(x) // 2
    upper, lower = list(zip(x[:half], y[:half])), list(zip(x[half:], y[half:]))
    assert (10.0, 1.0) in upper, "from 0 on only the attack at 0 is known"
    assert (0.0, 0.5) in lower, "up to 10 only the bound at 10 is proven"


def test_cancelled_searches_keep_the_best_below() -> None:

    instance = random_instance(np.random.default_rng(1), axes=("attr_del",))
    stop = threading.Event()
    stop.set()
    assert best_attacks(instance, ThreatModel(), "attr_del", [0, 1, 2], cancel=stop).tolist() == [0, 0, 0]


def test_accuracy_is_a_share_of_all_targets() -> None:
    instance = random_instance(np.random.default_rng(2), axes=("attr_del",))
    targets = np.asarray(instance.targets)[:1]
    line = curve(Session(instance), ThreatModel(targets=targets), "attr_del", [0, 1])
    figure = figures.curve_figure([line], vary="attr_del", accuracy_of=10, attacks=np.array([0, 1]))
    assert figure.lines[0].ratio.tolist() == [count / 10 for count in line.certified.tolist()]
    assert figure.lines[0].leaves is not None
    assert figure.lines[0].leaves.max() <= 0.1
    assert figure.y_label == "certified accuracy"
    assert figure.clean == 1 / 10
    attacked = curve(Session(instance), ThreatModel(targets=targets), "attr_del", [1, 2])
    begun = figures.curve_figure([attacked], vary="attr_del", accuracy_of=10)
    assert begun.clean == 1 / 10, "without an attack, wherever the line begins and whatever else is attacked"
